// livebuf/edit: documents that are edited where their bytes lie.

import { Document, pointerOf, steps } from "./document.js";
import {
  arrange,
  bytesBelow,
  checkTensor,
  closeSlots,
  convert,
  fill,
  freeStorage,
  insertSlots,
  isTensor,
  ownerOf,
  put,
  putCell,
  takesNumber,
} from "./edit/column.js";
import { type Fresh, heightOf, heightOfSlots, Planner } from "./edit/fresh.js";
import { addToRow, costOf, deleteMember, deleteOfRow, renameMember, setMember } from "./edit/object.js";
import { alloc, auxOf, reserve } from "./edit/space.js";
import { LivebufError } from "./error.js";
import { type Key, keyOf } from "./key.js";
import * as L from "./layout.js";
import { load, Memory, type Source } from "./memory.js";
import { plain } from "./object.js";
import { ARRAY, Cursor, columnsOf, extraOf, findInShape, MAP, ROW, SCALAR, wholeIndex } from "./read.js";
import { check } from "./validate.js";
import { indexOf, isView, stateOf, viewAt, walk } from "./view.js";

/** An object or array that is edited: a view of the document, or the path of keys and indexes to it. */
export type Target = object | readonly (string | number)[];

/** How a document is opened for editing. */
export interface EditOptions {
  /**
   * The bytes are known to be a valid document (FORMAT 9), and are not checked. Others may be spoiled further by an edit,
   * which may throw anything, and need not end.
   */
  trusted?: boolean;
}

/**
 * A document that can be changed. Its bytes are changed where they lie as long as they have room, and are moved to other
 * memory when they have none: {@link Document.bytes} has them. An edit that throws has changed nothing.
 *
 * A tensor keeps its type and the lengths of its elements. It gets and loses elements as any array does, but the arrays
 * within it keep their lengths. A row can be given as an array or as a typed array of any type: each of its numbers has to
 * fit. What does not fit throws TensorMismatch.
 *
 * Views follow their values, wherever these go, and throw StaleHandle once they are removed or replaced. An editor keeps
 * the views that it gave for as long as their values are there. Columns and their typed arrays do not follow: take them
 * again after an edit.
 */
export class Editor<T = unknown> extends Document<T> {
  /** @internal By {@link edit}. */
  constructor(memory: Memory) {
    super(memory);
    memory.views = new Map();
  }

  /** The container that is meant, and in how many containers it is, itself counted. */
  #find(target: Target): { cursor: Cursor; depth: number } {
    const { memory: m } = this;
    if (isView(target as unknown)) {
      const state = stateOf(target as object);
      if (state.m !== m) throw new LivebufError("StaleHandle", "this is a value of another document");
      return { cursor: state.cursor(), depth: state.depth };
    }
    if (!Array.isArray(target))
      throw new LivebufError("WrongType", "a target is a view, or an array of keys and indexes");
    const cursor = new Cursor(m).toRoot();
    if (!walk(cursor, target as (string | number)[]))
      throw new LivebufError("NotFound", `there is no ${pointerOf(target as string[])}`);
    if (cursor.kind === SCALAR)
      throw new LivebufError("WrongType", `${pointerOf(target as string[])} is no object and no array`);
    return { cursor, depth: target.length + 1 };
  }

  #array(target: Target): { cursor: Cursor; depth: number } {
    const found = this.#find(target);
    if (found.cursor.kind !== ARRAY) throw new LivebufError("WrongType", "this is an object, and no array");
    return found;
  }

  /** The path of an edit whose last step is not given by itself, and that step. */
  #path(target: unknown): [(string | number)[], string | number | undefined] {
    if (!Array.isArray(target))
      throw new LivebufError("WrongType", "a target is a view, or an array of keys and indexes");
    return [target.slice(0, -1), target.at(-1) as string | number | undefined];
  }

  /** What values become in a container of such a depth. A view of a column's value does not know how deep it is. */
  #plan(depth: number): Planner {
    return new Planner(depth > 0 ? depth : -1, this.memory);
  }

  /** Begins to change the document, which from here on cannot fail. In what goes so many containers nest. */
  #begin(size: number, planner?: Planner, height = 0): Memory {
    const { memory: m } = this;
    if (planner !== undefined && planner.epoch !== m.epoch) {
      throw new LivebufError("BadValue", "code of the value edited the document");
    }
    try {
      const calls = edits++ < 1000 ? 800 : size > 0 ? 30 : 8;
      descend(calls + 5 * Math.max(planner?.height ?? 0, height));
    } catch {
      throw new LivebufError("NoSpace", "the stack has no room for this edit");
    }
    reserve(m, size + 1024);
    const flags = m.u8[7]!;
    if (flags !== 0) {
      if ((flags & 0xfd) !== 0 && m.u32[7] !== 0) m.u8.fill(0, m.u32[7]! + 16, m.u32[7]! + 24);
      m.u8[7] = 0;
    }
    m.epoch++;
    return m;
  }

  /**
   * Sets a member of an object, or an element of an array; an index below 0 counts from the end. In a column of floats
   * whole numbers become floats; a bigint stays an integer there, and makes the column one of both. A tensor of floats
   * takes the nearest one of its type. O(1), but for a column that has to become wider, and for texts and arrays of tables
   * that lie in the midst of others.
   */
  set(target: Target, key: string | number, value: unknown): void;
  /** The same by the whole path to the value: `doc.set(["users", 0, "name"], "Ada")`. */
  set(path: readonly (string | number)[], value: unknown): void;
  set(target: Target, ...rest: [unknown] | [string | number, unknown]): void {
    if (rest.length === 1) {
      const [path, last] = this.#path(target);
      if (last === undefined) this.replaceRoot(rest[0]);
      else this.set(path, last, rest[0]);
      return;
    }
    const [key, value] = rest;
    const { cursor, depth } = this.#find(target);
    const planner = this.#plan(depth);
    if (value === undefined)
      throw new LivebufError("BadValue", "undefined cannot be stored; remove takes a member away");
    const node = planner.value(value);
    if (cursor.kind === ARRAY) {
      const i = index(cursor, key, cursor.count - 1);
      checkTensor(this.memory, cursor, [node], true);
      const old = new Cursor(this.memory);
      old.toSlot(cursor.at, cursor.first + i);
      const m = this.#begin(planner.size + slotCost(this.memory, cursor.at, node), planner, heightOf(old));
      put(m, cursor.at, cursor.first + i, node);
      return;
    }
    const k = planner.key(String(key));
    const member = cursor.clone();
    const height = member.toMember(k) ? heightOf(member) : 0;
    const m = this.#begin(planner.size + objectCost(this.memory, cursor, k, node), planner, height);
    if (cursor.kind === ROW) addToRow(m, cursor.at, cursor.row, k, node);
    else setMember(m, cursor.home, k, node);
  }

  /** Removes a member of an object, or an element of an array: false if there is none. */
  remove(target: Target, key: string | number): boolean;
  /** The same by the whole path to the value: `doc.remove(["users", 0, "name"])`. */
  remove(path: readonly (string | number)[]): boolean;
  remove(target: Target, ...rest: [] | [string | number]): boolean {
    if (rest.length === 0) {
      const [path, last] = this.#path(target);
      if (last === undefined) throw new LivebufError("Unsupported", "a document always has a value: set null");
      return this.remove(path, last);
    }
    const [key] = rest;
    const { cursor } = this.#find(target);
    if (cursor.kind === ARRAY) {
      const i = indexOf(cursor, key);
      if (i < 0 || i >= cursor.count) return false;
      this.#splice(target, i, 1, []);
      return true;
    }
    const k = keyOf(String(key));
    const old = cursor.clone();
    if (!old.toMember(k)) return false;
    const m = this.#begin(objectCost(this.memory, cursor, k), undefined, heightOf(old));
    return cursor.kind === ROW ? deleteOfRow(m, cursor.at, cursor.row, k) : deleteMember(m, cursor.home, k);
  }

  /** Adds elements to the end of an array. Rows of a tensor may be typed arrays: `doc.push(["t"], new Float32Array(384))`. */
  push(target: Target, ...values: unknown[]): void {
    this.#splice(target, Infinity, 0, values);
  }

  /** Puts elements before that of an index. */
  insert(target: Target, at: number, ...values: unknown[]): void {
    const { cursor } = this.#array(target);
    this.#splice(target, index(cursor, at, cursor.count), 0, values);
  }

  /** Removes elements, and puts others in their place, as `Array.splice` does. Returns those removed, as plain values. */
  splice(target: Target, start: number, ...rest: [] | [deleteCount: number, ...values: unknown[]]): unknown[] {
    const { cursor } = this.#array(target);
    const [deleteCount, ...values] = rest.length === 0 ? [Infinity] : rest;
    const from = Math.min(Math.max(wholeIndex(start, cursor.count), 0), cursor.count);
    const n = Math.max(0, Math.min(Math.trunc(Number(deleteCount)) || 0, cursor.count - from));
    const removed: unknown[] = [];
    const element = new Cursor(this.memory);
    for (let i = from; i < from + n; i++) {
      element.toSlot(cursor.at, cursor.first + i);
      removed.push(plain(element));
    }
    this.#splice(target, from, n, values);
    return removed;
  }

  #splice(target: Target, start: number, n: number, values: unknown[]): void {
    const { cursor, depth } = this.#array(target);
    const from = Math.min(start, cursor.count);
    const planner = this.#plan(depth);
    const items = values.map((value) => planner.value(value));
    if (n === 0 && items.length === 0) return;
    const all = cursor.count - n + items.length;
    if (all > L.MAX_ELEMENTS) throw new LivebufError("ElementLimit", `an array has at most ${L.MAX_ELEMENTS} elements`);
    checkTensor(this.memory, cursor, items, false);
    const cost = listCost(this.memory, cursor) + spaceOf(this.memory, cursor.at);
    const height = heightOfSlots(this.memory, cursor.at, cursor.first + from, n);
    const m = this.#begin(planner.size + cost + 16 * items.length, planner, height);
    const header = detach(m, cursor);
    closeSlots(m, header, from, n);
    if (m.u32[(header >>> 2) + 1] === 0 && !isTensor(m, header)) {
      // An array without elements has no column, if it is no tensor.
      empty(m, header);
      fill(m, header, items);
    } else insertSlots(m, header, from, items);
  }

  /** Puts the elements of an array in another order: element i becomes that of `order[i]`, and each is in it once. */
  reorder(target: Target, order: readonly number[]): void {
    const { cursor } = this.#array(target);
    const { count } = cursor;
    const seen = new Uint8Array(count);
    for (const i of order) {
      if (!(i >= 0 && i < count && Number.isInteger(i)) || seen[i] === 1) break;
      seen[i] = 1;
    }
    if (order.length !== count || seen.includes(0)) {
      throw new LivebufError("BadValue", "an order has the index of each element once");
    }
    checkTensor(this.memory, cursor, [], false);
    const m = this.#begin(listCost(this.memory, cursor) + spaceOf(this.memory, cursor.at));
    const header = detach(m, cursor);
    arrange(m, header, order);
  }

  /**
   * Sorts an array; equal elements stay as they are. The values that are compared are views where they are objects or
   * arrays. Without a function numbers are sorted by their values, NaN last, and texts as JavaScript compares them.
   *
   * @throws LivebufError of kind BadValue if a function is needed, because there are other values or both.
   */
  sort(target: Target, compare: (a: unknown, b: unknown) => number = inOrder): void {
    const { cursor, depth } = this.#array(target);
    const element = new Cursor(this.memory);
    const values = Array.from({ length: cursor.count }, (_, i) => {
      element.toSlot(cursor.at, cursor.first + i);
      return viewAt(element, depth && depth + 1);
    });
    const order = values.map((_, i) => i);
    order.sort((a, b) => compare(values[a], values[b]));
    this.reorder(target, order);
  }

  /**
   * Gives a member another key. In a record or a map it keeps its place; a row of a table stores it with the column of
   * the new key, or behind its other members.
   *
   * @throws LivebufError of kind NotFound, or KeyExists.
   */
  rename(target: Target, from: string, to: string): void {
    const { cursor } = this.#find(target);
    if (cursor.kind === ARRAY) throw new LivebufError("WrongType", "this is an array, and no object");
    const [old, key] = [keyOf(from), new Planner(0, this.memory).key(to)];
    const member = cursor.clone();
    if (!member.toMember(old)) throw new LivebufError("NotFound", `there is no member ${JSON.stringify(from)}`);
    if (from === to) return;
    if (cursor.clone().toMember(key))
      throw new LivebufError("KeyExists", `there is a member ${JSON.stringify(to)} already`);
    if (cursor.kind === ROW) {
      const planner = this.#plan(1);
      const node = planner.copy(member);
      const cost = objectCost(this.memory, cursor, old) + objectCost(this.memory, cursor, key);
      const m = this.#begin(planner.size + cost, planner, heightOf(member));
      deleteOfRow(m, cursor.at, cursor.row, old);
      addToRow(m, cursor.at, cursor.row, key, node);
      return;
    }
    const m = this.#begin(2 * key.bytes.length + objectCost(this.memory, cursor, key));
    renameMember(m, cursor.home, old, key);
  }

  /** Replaces the value of the whole document. */
  replaceRoot(value: unknown): void {
    const planner = new Planner(0, this.memory);
    const node = planner.value(value);
    const m = this.#begin(planner.size, planner, heightOf(new Cursor(this.memory).toRoot()));
    putCell(m, 16, 8, node);
  }

  /** Sets the value at a JSON pointer (RFC 6901), whose last step may be `-`, behind the last element of an array. */
  setPointer(pointer: string, value: unknown): void {
    const path = steps(pointer);
    const array = path.slice(0, -1);
    if (path.at(-1) === "-" && this.#find(array).cursor.kind === ARRAY) this.push(array, value);
    else this.set(path, value);
  }

  /**
   * Gives the document a state, 128 random bits from which deltas can lead on (FORMAT 8). The next edit ends it, so keep a
   * copy of the bytes first: `deltaOf` compares them with those after your edits, and gives these the next state.
   */
  beginState(): void {
    const m = this.#begin(0);
    const aux = auxOf(m) >>> 2;
    if (m.u32[aux + 5] === 0) {
      const place = alloc(m, 16);
      m.u32[aux + 5] = place;
    }
    m.u8.set(crypto.getRandomValues(new Uint8Array(16)), m.u32[aux + 5]);
    m.u8[7] = 2;
  }

  /** Bytes in use, and how many of them are free for further edits; the others hold values, shapes, indexes and spare room. */
  stats(): { used: number; free: number; live: number } {
    const { used, u32 } = this.memory;
    const free = u32[7] === 0 ? 0 : u32[(u32[7]! >>> 2) + 1]!;
    return { used, free, live: used - free };
  }
}

/**
 * Opens a document to edit it. Its bytes are checked first, and are changed in place; bytes at an address that is no
 * multiple of 8 are copied. A document that was opened to read is read through the editor from now on.
 *
 * @throws LivebufError of the kind that `validate` finds; ReadOnly if only a newer version may edit it.
 */
export function edit<T = unknown>(source: Source | Document<T>, options: EditOptions = {}): Editor<T> {
  let m = source instanceof Document ? source.memory : load(source);
  if (m.bring !== undefined) throw new LivebufError("Unsupported", "a document that is read in parts cannot be edited");
  if (m.u8[6] !== 0)
    throw new LivebufError("ReadOnly", "this document needs a newer version of this package to be edited", 6);
  if (options.trusted !== true && !m.valid) check(m);
  m.valid = true;
  if (source instanceof Document) m = takeOver(m);
  return new Editor<T>(m);
}

/** The bytes of a document that was opened to be read. It is read through the editor from then on. */
function takeOver(from: Memory): Memory {
  const m = new Memory(from.u8);
  m.used = from.used;
  m.valid = from.valid;
  // The views that it gave do not follow their values, so they end.
  from.bring = () => {
    throw new LivebufError("StaleHandle", "this document is edited now: read it through its editor");
  };
  from.epoch++;
  return m;
}

/** A new document of a value, to be edited further. */
export function create<T = unknown>(value: T): Editor<T> {
  const bytes = new Uint8Array(256);
  const m = new Memory(bytes);
  m.u32[0] = 0x46424cab;
  m.u32[1] = L.VERSION;
  m.u8[16] = L.NULL;
  m.u32[5] = m.used = L.HEADER_SIZE;
  m.valid = true;
  const editor = new Editor<T>(m);
  editor.replaceRoot(value);
  return editor;
}

/** How many edits there were. The first ones take more of the stack, since engines compile what they call. */
let edits = 0;

/** Makes so many calls within each other. They have small frames, so an edit's calls are worth some of them each. */
function descend(calls: number): number {
  return calls > 0 ? descend(calls - 1) + 1 : 0;
}

/** The order of two numbers or of two texts. */
function inOrder(a: unknown, b: unknown): number {
  const kind = (value: unknown): string => (typeof value === "bigint" ? "number" : typeof value);
  if (kind(a) !== kind(b) || !["number", "string"].includes(kind(a))) {
    throw new LivebufError("BadValue", "only numbers, or only texts, need no function");
  }
  const [x, y] = [a as number, b as number];
  return x < y ? -1 : x > y ? 1 : Number(Number.isNaN(x)) - Number(Number.isNaN(y));
}

/** An index of an array, from 0 to `most`. */
function index(cursor: Cursor, key: string | number, most: number): number {
  const i = indexOf(cursor, key);
  if (i >= 0 && i <= most) return i;
  throw new LivebufError("IndexOutOfRange", `the array has ${cursor.count} elements, and no index ${key}`);
}

/** The array by itself, so that its length can change: a list that it is in becomes a column of arrays. */
function detach(m: Memory, cursor: Cursor): number {
  if (cursor.listRow < 0) return cursor.at;
  const header = ownerOf(m, cursor.home);
  const row = cursor.listRow;
  convert(m, header, L.ARRAYS);
  const element = new Cursor(m);
  element.toSlot(header, row);
  return element.at;
}

/** An array without elements forgets its column. */
function empty(m: Memory, header: number): void {
  freeStorage(m, header);
  m.u32[header >>> 2] = L.ARRAY;
  m.u32[(header >>> 2) + 2] = 0;
  m.u32[(header >>> 2) + 3] = 0;
}

/** At most so many bytes it takes to change a column, which may have to move or, if it is no tensor, to be converted. */
function spaceOf(m: Memory, header: number): number {
  return (isTensor(m, header) ? 1 : 4) * bytesBelow(m, header);
}

/** The same for one slot. A number takes nothing in a column that can hold it. */
const slotCost = (m: Memory, header: number, node: Fresh | undefined): number =>
  node !== undefined && takesNumber(m, header, node) ? 0 : spaceOf(m, header);

/** The same for an array in a list, which may have to become one of arrays. */
function listCost(m: Memory, { listRow, home }: Cursor): number {
  if (listRow < 0) return 0;
  const owner = ownerOf(m, home);
  return spaceOf(m, owner) + 64 * m.u32[(owner >>> 2) + 1]!;
}

/** The same for a member of an object, to which a value comes or from which it goes. */
function objectCost(m: Memory, cursor: Cursor, key: Key, node?: Fresh): number {
  const { at, home, row } = cursor;
  if (cursor.kind === MAP) return costOf(m, home, key) + spaceOf(m, at + L.MAP_VALUES);
  if (cursor.kind !== ROW) return costOf(m, home, key);
  const i = findInShape(m, m.u32[(at >>> 2) + 1]!, columnsOf(m, at), key);
  if (i >= 0) return slotCost(m, at + L.TABLE_SIZE + 16 * i, node);
  const [extras, extra] = [m.u32[(at >>> 2) + 4]!, extraOf(m, at, row)];
  return 512 + (extras === 0 ? 0 : spaceOf(m, extras)) + (extra === 0 ? 0 : costOf(m, extra, key));
}
