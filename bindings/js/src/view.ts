// Views: objects with a getter for each key, and arrays, which read the document when they are asked.

import { type Column, columnOf } from "./column.js";
import { damage, LivebufError } from "./error.js";
import { keyOf, textAt } from "./key.js";
import * as L from "./layout.js";
import type { Memory } from "./memory.js";
import { forJSON, type PlainOptions, plain } from "./object.js";
import {
  ARRAY,
  Cursor,
  cellValue,
  columnsOf,
  gapAt,
  MAP,
  Members,
  RECORD,
  ROW,
  SCALAR,
  shapeCount,
  shapeKeys,
  slotValue,
  wholeIndex,
} from "./read.js";
import type { Decimal, Float, LocalDate, LocalDateTime, LocalTime, NumberText, Timestamp, Uuid } from "./scalar.js";

/** Values that are no containers. */
export type Scalar =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Decimal
  | LocalDate
  | LocalDateTime
  | LocalTime
  | NumberText
  | Timestamp
  | Uuid;

/** A value of type `T` as it is read in place: objects have a getter for each member, arrays are {@link ArrayView}. */
export type View<T> = T extends Scalar
  ? T
  : T extends Date
    ? Timestamp
    : T extends Float
      ? number
      : T extends readonly (infer E)[]
        ? ArrayView<E>
        : T extends { readonly BYTES_PER_ELEMENT: number; [Symbol.iterator](): IterableIterator<infer E> }
          ? ArrayView<E>
          : T extends ReadonlyMap<string, infer E>
            ? ObjectView<Record<string, E>>
            : T extends object
              ? ObjectView<T>
              : unknown;

/** An object of a document. Members are read when they are asked for. It iterates over keys and values. */
export type ObjectView<T = Record<string, unknown>> = { readonly [K in keyof T]: View<T[K]> } & {
  [Symbol.iterator](): IterableIterator<[string, unknown]>;
};

/** By which the console of Node asks for what it shows. */
export const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** A class of objects that have the same keys. */
interface KeyListClass {
  new (state: State): object;
  /** Set if `toJSON` is a key: objects then have properties of their own, as `JSON.stringify` reads them. */
  own?: PropertyDescriptorMap;
}

/**
 * Which value a view is of. A record, a map or an array is known by its home, and a row by its table and its number.
 * All views have a state of this one class, so that engines find its fields at once, whatever the view's own class is.
 */
export class State {
  /** The block or the header of elements, as of this epoch of the document. */
  at = 0;
  epoch = -1;
  first = 0;
  count = 0;
  /** The states of members' or elements' views, so that the same value is always the same view. */
  children: (State | undefined)[] | undefined = undefined;
  /** The same of an object whose members are searched by their keys. */
  members: Map<string, State> | undefined = undefined;
  /** The view itself. */
  view!: object;
  /** How many containers the value is in, itself counted; 0 where that is not known. */
  depth = 0;

  constructor(
    readonly m: Memory,
    public home: number,
    public row: number,
    readonly isArray: boolean,
  ) {}

  /** A cursor at the value. */
  cursor(): Cursor {
    if (this.home === 0) {
      throw new LivebufError(
        "StaleHandle",
        "this value was removed or replaced: ask the document for what is there now",
      );
    }
    const cursor = new Cursor(this.m);
    if (this.isArray) {
      if (this.row < 0) cursor.toArray(this.home);
      else cursor.toSlice(this.home, this.row);
    } else if (this.row < 0) cursor.toObject(this.home);
    else cursor.toRow(this.home, this.row);
    return cursor;
  }

  /** Looks the block up again, where the document has changed. */
  refresh(): void {
    const cursor = this.cursor();
    this.at = cursor.at;
    this.first = cursor.first;
    this.count = cursor.count;
    this.epoch = this.m.epoch;
  }
}

/** What all views have: their state, in a private field, so that no key of a document can be in its way. */
class Base {
  readonly #state: State;

  /** @internal */
  constructor(state: State) {
    this.#state = state;
  }

  /** @internal */
  static is(value: object): value is Base {
    return #state in value;
  }

  /** @internal */
  static state(view: Base): State {
    return view.#state;
  }

  /** @internal The getter of member i of the objects of a class. */
  static getter(i: number): (this: Base) => unknown {
    return function () {
      const s = this.#state;
      const { m } = s;
      if (s.epoch !== m.epoch) s.refresh();
      if (s.row >= 0) return slotOf(s, s.at + L.TABLE_SIZE + 16 * i, s.row, i);
      const tag = m.u8[s.at + 8 + L.tagAt(i)]!;
      const cell = s.at + 8 + L.cellAt(i);
      if (tag < L.OBJECT_NODE) return cellValue(m, tag, cell);
      return childOf(s, i, tag, m.u32[cell >>> 2]!, -1);
    };
  }
}

/** Slot `slot` of a column, whose views are child `i`. */
function slotOf(s: State, header: number, slot: number, i: number): unknown {
  const { m } = s;
  const { u8, u32 } = m;
  const at = header >>> 2;
  if (slot >= u32[at + 1]!) throw damage("BadCount", header);
  const code = u8[header + 1]!;
  if (code === L.CELLS) {
    const data = u32[at + 3]!;
    m.reach(data + L.tagAt(slot), 1);
    const tag = u8[data + L.tagAt(slot)]!;
    if (tag < L.OBJECT_NODE) return slotValue(m, header, slot);
    const cell = data + L.cellAt(slot);
    m.reach(cell, 8);
    return childOf(s, i, tag, u32[cell >>> 2]!, -1);
  }
  if (u8[header + 2] !== 0) {
    const gap = gapAt(m, header, slot);
    if (gap >= 0) return gap === L.NULL ? null : undefined;
  }
  if (code < L.OBJECTS || code > L.FIXED_LISTS || code === L.NULLS) return slotValue(m, header, slot);
  if (code >= L.STRUCT) return childOf(s, i, code === L.STRUCT ? L.OBJECT_NODE : L.ARRAY_NODE, u32[at + 3]!, slot);
  const cursor = new Cursor(m);
  cursor.toSlot(header, slot);
  return childOf(s, i, cursor.tag, cursor.home, -1);
}

/** The view of a container, which is child `i`: the one that is there, if it is that of this value. */
function childOf(s: State, i: number, tag: number, home: number, row: number): object {
  s.children ??= [];
  const there = s.children[i];
  if (there !== undefined && there.home === home && there.row === row) return there.view;
  if (tag > L.ARRAY_NODE) throw damage("UnsupportedFeature", s.at);
  const child = stateAt(s.m, home, row, tag === L.ARRAY_NODE, s.depth && s.depth + 1);
  s.children[i] = child;
  return child.view;
}

/** A member of a map or a row, by its key. */
function memberOf(s: State, key: string): unknown {
  const cursor = s.cursor();
  if (!cursor.toMember(keyOf(key))) return undefined;
  if (cursor.kind === SCALAR) return cursor.scalar();
  const there = s.members?.get(key);
  if (there !== undefined && there.home === cursor.home && there.row === rowOf(cursor)) return there.view;
  const child = stateAt(s.m, cursor.home, rowOf(cursor), cursor.kind === ARRAY, s.depth && s.depth + 1);
  // An editor keeps the views itself, and lets those of removed members go.
  if (s.m.views === null) {
    s.members ??= new Map();
    s.members.set(key, child);
  }
  return child.view;
}

/** Element i of an array; from the end if i is negative, and `undefined` if it has none. */
function elementOf(s: State, i: number): unknown {
  if (s.epoch !== s.m.epoch) s.refresh();
  const at = wholeIndex(i, s.count);
  return at >= 0 && at < s.count ? slotOf(s, s.at, s.first + at, at) : undefined;
}

function lengthOf(s: State): number {
  if (s.epoch !== s.m.epoch) s.refresh();
  return s.count;
}

const GETTERS: ((this: Base) => unknown)[] = [];
const getterOf = (i: number): ((this: Base) => unknown) => {
  GETTERS[i] ??= Base.getter(i);
  return GETTERS[i]!;
};

/** What a view is of; for the modules of this package. */
export function stateOf(view: object): State {
  const some = typeof view === "object" && view !== null;
  const state = some ? (Base.is(view) ? Base.state(view) : proxied.get(view)) : undefined;
  if (state === undefined) throw new TypeError("this is no object or array of a document");
  return state;
}

const rowOf = (cursor: Cursor): number => (cursor.kind === ARRAY ? cursor.listRow : cursor.row);

/** A view of the value that a cursor is at, which is in so many containers. */
export function viewAt(cursor: Cursor, depth = 0): unknown {
  if (cursor.kind === SCALAR) return cursor.scalar();
  return stateAt(cursor.m, cursor.home, rowOf(cursor), cursor.kind === ARRAY, depth).view;
}

/** A cursor at the value of a view. */
export const cursorOf = (view: object): Cursor => stateOf(view).cursor();

/** Whether this is an object or an array of a document. */
export const isView = (value: unknown): value is object =>
  typeof value === "object" && value !== null && (Base.is(value) || proxied.has(value));

// --- Classes of objects, by their keys.

interface KeyList {
  next: Map<string, KeyList>;
  made: KeyListClass | undefined;
}
/** Classes that are kept for all documents. Bytes that are hostile could otherwise fill the memory with them. */
const MOST_CLASSES = 4096;
let classes = 0;
let keyLists: KeyList = { next: new Map(), made: undefined };

function classOf(m: Memory, shape: number, n: number): KeyListClass {
  const name = shape * 65_536 + n;
  const known = m.classes.get(name);
  if (known !== undefined) return known as KeyListClass;
  if (n > shapeCount(m, shape)) throw damage("BadCount", shape);
  const cells = shapeKeys(m, shape);
  if (classes >= MOST_CLASSES) {
    classes = 0;
    keyLists = { next: new Map(), made: undefined };
  }
  let list = keyLists;
  const keys: string[] = [];
  for (let i = 0; i < n; i++) {
    const key = textAt(m, cells + 8 * i);
    keys.push(key);
    let next = list.next.get(key);
    if (next === undefined) {
      next = { next: new Map(), made: undefined };
      list.next.set(key, next);
      classes++;
    }
    list = next;
  }
  list.made ??= makeClass(keys);
  m.classes.set(name, list.made);
  return list.made;
}

function makeClass(keys: string[]): KeyListClass {
  const made: KeyListClass = class extends Base {};
  const { prototype } = made;
  // Nothing is inherited, so no name is taken: not even `constructor`.
  Reflect.deleteProperty(prototype, "constructor");
  Object.setPrototypeOf(prototype, null);
  Object.defineProperties(prototype, METHODS);
  const getters: PropertyDescriptorMap = {};
  keys.forEach((key, i) => {
    const getter = { get: getterOf(i), enumerable: true, configurable: true };
    Object.defineProperty(prototype, key, getter);
    Object.defineProperty(getters, key, { value: getter, enumerable: true, configurable: true });
  });
  if (keys.includes("toJSON")) made.own = getters;
  return made;
}

const METHODS: PropertyDescriptorMap = {
  toJSON: {
    value(this: object) {
      return forJSON(cursorOf(this));
    },
    configurable: true,
  },
  [Symbol.iterator]: {
    value(this: object) {
      return entries(this);
    },
  },
  [INSPECT]: {
    value(this: object) {
      return toObject(this);
    },
  },
};

/** The state of a container with its view: the one that an editor knows, or a new one. */
function stateAt(m: Memory, home: number, row: number, isArray: boolean, depth: number): State {
  const known = m.views === null ? undefined : keptState(m, home, row);
  if (known !== undefined) {
    known.depth ||= depth;
    return known;
  }
  const state = new State(m, home, row, isArray);
  state.refresh();
  state.depth = depth;
  state.view = isArray ? new ArrayView(state) : objectView(state);
  if (m.views !== null) register(m.views, state);
  return state;
}

function objectView(state: State): object {
  const made = classAt(state.cursor());
  if (made === undefined) return proxyOf(state);
  const view = new made(state);
  if (made.own !== undefined) Object.defineProperties(view, made.own);
  return view;
}

/** The class of the object that a cursor is at; `undefined` if its members are searched by their keys. */
function classAt(cursor: Cursor): KeyListClass | undefined {
  const { m, at, kind } = cursor;
  const n = kind === RECORD ? m.u8[at + 2]! : kind === ROW ? columnsOf(m, at) : 0;
  if (kind === MAP || n > L.MAX_FIELDS || (kind === ROW && m.u32[(at >>> 2) + 4] !== 0)) return undefined;
  return n === 0 ? EMPTY : classOf(m, m.u32[(at >>> 2) + 1]!, n);
}

// --- Views of a document that is edited. They are kept where their values are, and told where these go.

/** The state of a value's view; of a row or an array in a list by its number in the table or list `home`. */
export function keptState(m: Memory, home: number, row: number): State | undefined {
  const known = m.views!.get(home);
  return row < 0 ? (known as State | undefined) : (known as Map<number, State> | undefined)?.get(row);
}

function register(views: Map<number, State | Map<number, State>>, state: State): void {
  const { home, row } = state;
  const rows = views.get(home) as Map<number, State> | undefined;
  if (row < 0) views.set(home, state);
  else if (rows === undefined) views.set(home, new Map([[row, state]]));
  else rows.set(row, state);
}

function move(state: State, home: number, row: number): void {
  state.home = home;
  state.row = row;
  state.epoch = -1;
}

/** Tells a view of a row or an array in a list where the value is now: at a home, or in another list. */
export function moveView(m: Memory, state: State, home: number, row: number): void {
  (m.views!.get(state.home) as Map<number, State> | undefined)?.delete(state.row);
  move(state, home, row);
  register(m.views!, state);
  showMembers(m, home, row);
}

/** Ends the view of a value that is no more; of a table or list those of all its rows. */
export function endViews(m: Memory, home: number): void {
  const known = m.views!.get(home);
  if (known === undefined) return;
  m.views!.delete(home);
  if (known instanceof Map) for (const state of known.values()) move(state, 0, -1);
  else move(known, 0, -1);
}

/** Ends the views of n rows of a table or list. */
export function endRows(m: Memory, home: number, from: number, n: number): void {
  const rows = m.views!.get(home) as Map<number, State> | undefined;
  if (rows === undefined) return;
  const end = (state: State | undefined, row: number): void => {
    if (state === undefined || row < from || row >= from + n) return;
    move(state, 0, -1);
    rows.delete(row);
  };
  if (n < rows.size) for (let row = from; row < from + n; row++) end(rows.get(row), row);
  else rows.forEach(end);
}

/** Gives the rows of a table or list other numbers; those that get −1 are no more. */
export function moveRows(m: Memory, home: number, to: (row: number) => number): void {
  const rows = m.views!.get(home) as Map<number, State> | undefined;
  if (rows === undefined) return;
  const moved = new Map<number, State>();
  for (const [row, state] of rows) {
    const there = to(row);
    if (there !== row) move(state, there < 0 ? 0 : home, there);
    if (there >= 0) moved.set(there, state);
  }
  m.views!.set(home, moved);
}

/** Gives an object's view a member for each of its keys, after they have changed. */
export function showMembers(m: Memory, home: number, row: number): void {
  const state = keptState(m, home, row);
  if (state === undefined || state.isArray || proxied.has(state.view)) return;
  const { view } = state;
  const made = classAt(state.cursor());
  const prototype = (made?.prototype as object | undefined) ?? SEARCHED;
  if (Object.getPrototypeOf(view) === prototype) return;
  for (const key of Object.keys(view)) Reflect.deleteProperty(view, key);
  Object.setPrototypeOf(view, prototype);
  if (made?.own !== undefined) Object.defineProperties(view, made.own);
}

/** The prototype of objects that had getters, and whose members are searched by their keys now. */
const SEARCHED = new Proxy(Object.create(null) as object, {
  get: (_, key, receiver: object) => propertyOf(stateOf(receiver), key),
});

const EMPTY = makeClass([]);

/** The objects whose members have no getters: maps, and rows with members beside the columns. */
const proxied = new WeakMap<object, State>();

/** A property of an object whose members are searched by their keys. */
function propertyOf(state: State, key: string | symbol): unknown {
  if (typeof key === "symbol") return METHODS[key]?.value;
  const value = memberOf(state, key);
  return value === undefined && key === "toJSON" ? METHODS.toJSON!.value : value;
}

/** An object whose members are searched by their keys. */
function proxyOf(state: State): object {
  const proxy: object = new Proxy(Object.create(null) as object, {
    get: (_, key) => propertyOf(state, key),
    has: (_, key) => typeof key === "string" && has(proxy, key),
    ownKeys: (): string[] => keys(proxy),
    getOwnPropertyDescriptor: (_, key) => {
      if (typeof key === "symbol" || !has(proxy, key)) return undefined;
      return { value: memberOf(state, key), enumerable: true, configurable: true, writable: false };
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
  });
  proxied.set(proxy, state);
  return proxy;
}

/** An array of a document. Elements are read when they are asked for. */
export class ArrayView<E = unknown> extends Base {
  get length(): number {
    return lengthOf(Base.state(this));
  }
  /** Element i; from the end if i is negative. `undefined` if there is none. */
  at(i: number): View<E> | undefined {
    return elementOf(Base.state(this), i) as View<E> | undefined;
  }
  *[Symbol.iterator](): IterableIterator<View<E>> {
    for (let i = 0; i < this.length; i++) yield this.at(i)!;
  }
  *entries(): IterableIterator<[number, View<E>]> {
    for (let i = 0; i < this.length; i++) yield [i, this.at(i)!];
  }
  forEach(each: (value: View<E>, i: number) => void): void {
    for (let i = 0; i < this.length; i++) each(this.at(i)!, i);
  }
  map<R>(each: (value: View<E>, i: number) => R): R[] {
    return Array.from({ length: this.length }, (_, i) => each(this.at(i)!, i));
  }
  filter(test: (value: View<E>, i: number) => unknown): View<E>[] {
    return [...this].filter(test);
  }
  find(test: (value: View<E>, i: number) => unknown): View<E> | undefined {
    const i = this.findIndex(test);
    return i < 0 ? undefined : this.at(i);
  }
  findIndex(test: (value: View<E>, i: number) => unknown): number {
    for (let i = 0; i < this.length; i++) if (test(this.at(i)!, i)) return i;
    return -1;
  }
  some(test: (value: View<E>, i: number) => unknown): boolean {
    return this.findIndex(test) >= 0;
  }
  every(test: (value: View<E>, i: number) => unknown): boolean {
    return this.findIndex((value, i) => !test(value, i)) < 0;
  }
  reduce<R>(each: (result: R, value: View<E>, i: number) => R, first: R): R {
    let result = first;
    for (let i = 0; i < this.length; i++) result = each(result, this.at(i)!, i);
    return result;
  }
  /** Elements from `start` up to `end`, as an array. */
  slice(start?: number, end?: number): View<E>[] {
    const all = Array.from({ length: this.length }, (_, i) => i);
    return all.slice(start, end).map((i) => this.at(i)!);
  }
  /**
   * The values of all elements at a path of keys, as a column: typed arrays over the document's bytes where it stores
   * them so. Without a path it has the elements themselves.
   */
  column(...path: string[]): Column {
    return columnOf(cursorOf(this), path);
  }
  toJSON(): unknown {
    return forJSON(cursorOf(this));
  }
  [INSPECT](): unknown {
    return toObject(this);
  }
}

// --- Questions to objects. They are functions, since an object may have members of any name.

/** Whether an object has a member. */
export function has(view: object, key: string): boolean {
  return cursorOf(view).toMember(keyOf(key));
}

/** How many members an object, or elements an array, has. */
export function size(view: object): number {
  const cursor = cursorOf(view);
  return cursor.kind === ARRAY ? cursor.count : cursor.size();
}

/** The keys of an object, in its order. */
export function keys(view: object): string[] {
  const cursor = cursorOf(view);
  const found: string[] = [];
  for (const members = new Members(cursor); members.next(); ) found.push(textAt(cursor.m, members.key));
  return found;
}

/** The keys and values of an object, in its order. */
export function* entries(view: object): IterableIterator<[string, unknown]> {
  for (const key of keys(view)) yield [key, get(view, key)];
}

/** The value at a path of keys and indexes below a view; `undefined` if there is none. */
export function get(view: object, ...path: (string | number)[]): unknown {
  const cursor = cursorOf(view);
  const { depth } = stateOf(view);
  return walk(cursor, path) ? viewAt(cursor, depth === 0 ? 0 : depth + path.length) : undefined;
}

/** An index of an array, which may count from the end if it is a number; −1 if it is none. */
export function indexOf(cursor: Cursor, step: string | number): number {
  const i = typeof step === "number" ? step : /^(0|[1-9]\d*)$/.test(step) ? Number(step) : -Infinity;
  const from = i < 0 ? i + cursor.count : i;
  return Number.isInteger(from) && from >= 0 ? from : -1;
}

/** Moves a cursor along a path: false where it ends, at a value that lacks the next step. */
export function walk(cursor: Cursor, path: readonly (string | number)[]): boolean {
  for (const step of path) {
    if (cursor.kind === ARRAY) {
      const i = indexOf(cursor, step);
      if (i < 0 || i >= cursor.count) return false;
      cursor.toElement(i);
    } else if (!cursor.toMember(keyOf(String(step)))) return false;
  }
  return cursor.tag !== L.NOTHING;
}

/** A view as plain objects and arrays. */
export function toObject(view: object, options?: PlainOptions): unknown {
  return plain(cursorOf(view), options);
}
