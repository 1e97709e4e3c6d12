// Views: objects with a getter for each key, and arrays, which read the document when they are asked.

import { Column, columnOf } from "./column.js";
import { damage } from "./error.js";
import { keyOf, textAt } from "./key.js";
import * as L from "./layout.js";
import type { Memory } from "./memory.js";
import { type PlainOptions, plain } from "./object.js";
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
} from "./read.js";
import type { Decimal, LocalDate, LocalDateTime, LocalTime, NumberText, Timestamp, Uuid } from "./scalar.js";

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
  : T extends readonly (infer E)[]
    ? ArrayView<E>
    : T extends object
      ? ObjectView<T>
      : unknown;

/** An object of a document. Members are read when they are asked for. It iterates over keys and values. */
export type ObjectView<T = Record<string, unknown>> = { readonly [K in keyof T]: View<T[K]> } & {
  [Symbol.iterator](): IterableIterator<[string, unknown]>;
};

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** A class of objects that have the same keys. */
interface KeyListClass {
  new (m: Memory, home: number, row: number): object;
  /** Set if `toJSON` is a key: objects then have properties of their own, as `JSON.stringify` reads them. */
  own?: PropertyDescriptorMap;
}

/**
 * What all views have: the document, and which value of it they are. It is kept in private fields, so that no key of a
 * document can be in their way. A record, a map or an array is known by its home, and a row by its table and its number.
 */
class Base {
  #m: Memory;
  #home: number;
  #row: number;
  /** The block or the header of elements, as of this epoch. */
  #at = 0;
  #epoch = -1;
  #first = 0;
  #count = 0;
  /** Views of members or elements, so that the same value is always the same view. */
  #children: unknown[] | undefined = undefined;
  /** The same of an object whose members are searched by their keys. */
  #members: Map<string, object> | undefined = undefined;

  constructor(m: Memory, home: number, row: number) {
    this.#m = m;
    this.#home = home;
    this.#row = row;
  }

  static is(value: object): value is Base {
    return #m in value;
  }

  static memory(view: Base): Memory {
    return view.#m;
  }

  static home(view: Base): number {
    return view.#home;
  }

  static row(view: Base): number {
    return view.#row;
  }

  static children(view: Base): unknown[] | undefined {
    return view.#children;
  }

  /** Tells a view that its value is elsewhere now: editors do. */
  static move(view: Base, home: number, row: number): void {
    view.#home = home;
    view.#row = row;
    view.#epoch = -1;
  }

  static setChildren(view: Base, children: unknown[] | undefined): void {
    view.#children = children;
  }

  /** Looks an object's block up, again where the document has changed. */
  static #refresh(view: Base): void {
    const cursor = objectCursor(view.#m, view.#home, view.#row);
    view.#at = cursor.at;
    view.#epoch = view.#m.epoch;
  }

  static #refreshArray(view: Base): void {
    const cursor = arrayCursor(view.#m, view.#home, view.#row);
    view.#at = cursor.at;
    view.#first = cursor.first;
    view.#count = cursor.count;
    view.#epoch = view.#m.epoch;
  }

  /** The getter of member i of the objects of a class. */
  static getter(i: number): (this: Base) => unknown {
    return function () {
      const m = this.#m;
      if (this.#epoch !== m.epoch) Base.#refresh(this);
      const at = this.#at;
      if (this.#row < 0) {
        const tag = m.u8[at + 8 + L.tagAt(i)]!;
        const cell = at + 8 + L.cellAt(i);
        if (tag < L.OBJECT_NODE) return cellValue(m, tag, cell);
        return Base.#child(this, i, tag === L.OBJECT_NODE, m.u32[cell >>> 2]!, -1, tag);
      }
      const header = at + L.TABLE_SIZE + 16 * i;
      return Base.#slot(this, header, this.#row, i);
    };
  }

  /** Slot `slot` of a column, whose views are child `i`. */
  static #slot(view: Base, header: number, slot: number, i: number): unknown {
    const m = view.#m;
    if (slot >= m.u32[(header >>> 2) + 1]!) throw damage("BadCount", header);
    const code = m.u8[header + 1]!;
    if (code === L.CELLS) {
      const data = m.u32[(header >>> 2) + 3]!;
      const tag = m.u8[data + L.tagAt(slot)]!;
      if (tag >= L.OBJECT_NODE) {
        const home = m.u32[(data + L.cellAt(slot)) >>> 2]!;
        return Base.#child(view, i, tag === L.OBJECT_NODE, home, -1, tag);
      }
      return slotValue(m, header, slot);
    }
    if (m.u8[header + 2] !== 0) {
      const gap = gapAt(m, header, slot);
      if (gap >= 0) return gap === L.NULL ? null : undefined;
    }
    if (code < L.OBJECTS || code > L.FIXED_LISTS || code === L.NULLS) return slotValue(m, header, slot);
    const data = m.u32[(header >>> 2) + 3]!;
    if (code >= L.STRUCT) return Base.#child(view, i, code === L.STRUCT, data, slot, 0x20);
    const cursor = new Cursor(m);
    cursor.toSlot(header, slot);
    return Base.#child(view, i, code === L.OBJECTS, cursor.home, -1, 0x20);
  }

  static #child(view: Base, i: number, object: boolean, home: number, row: number, tag: number): unknown {
    if (tag > L.ARRAY_NODE || home === undefined) throw damage("UnsupportedFeature", view.#at);
    view.#children ??= [];
    const there = view.#children[i] as Base | undefined;
    if (there !== undefined && same(there, home, row)) return there;
    const child = object ? objectView(view.#m, home, row) : arrayView(view.#m, home, row);
    view.#children[i] = child;
    return child;
  }

  static length(view: Base): number {
    if (view.#epoch !== view.#m.epoch) Base.#refreshArray(view);
    return view.#count;
  }

  static element(view: Base, i: number): unknown {
    if (view.#epoch !== view.#m.epoch) Base.#refreshArray(view);
    if (!(i >= 0 && i < view.#count)) return undefined;
    return Base.#slot(view, view.#at, view.#first + i, i);
  }

  /** A member of a map or a row, by its key. */
  static member(view: Base, key: string): unknown {
    const cursor = objectCursor(view.#m, view.#home, view.#row);
    if (!cursor.toMember(keyOf(key))) return undefined;
    if (cursor.kind === SCALAR) return cursor.scalar();
    view.#members ??= new Map();
    const children = view.#members;
    const there = children.get(key);
    const row = rowOf(cursor);
    if (there !== undefined && same(there, cursor.home, row)) return there;
    const child = viewAt(cursor) as object;
    children.set(key, child);
    return child;
  }
}

const GETTERS: ((this: Base) => unknown)[] = [];
const getterOf = (i: number): ((this: Base) => unknown) => (GETTERS[i] ??= Base.getter(i));

/** Whether a view is that of a value. */
function same(view: object, home: number, row: number): boolean {
  const base = proxied.get(view) ?? (view as Base);
  return Base.home(base) === home && Base.row(base) === row;
}

const rowOf = (cursor: Cursor): number => (cursor.kind === ARRAY ? cursor.listRow : cursor.row);

function objectCursor(m: Memory, home: number, row: number): Cursor {
  const cursor = new Cursor(m);
  if (row < 0) cursor.toObject(home);
  else cursor.toRow(home, row);
  return cursor;
}

function arrayCursor(m: Memory, home: number, row: number): Cursor {
  const cursor = new Cursor(m);
  if (row < 0) cursor.toArray(home);
  else cursor.toSlice(home, row);
  return cursor;
}

/** A view of the value that a cursor is at. */
export function viewAt(cursor: Cursor): unknown {
  if (cursor.kind === SCALAR) return cursor.scalar();
  return cursor.kind === ARRAY
    ? arrayView(cursor.m, cursor.home, cursor.listRow)
    : objectView(cursor.m, cursor.home, cursor.row);
}

/** A cursor at the value of a view. */
export function cursorOf(view: object): Cursor {
  const base = proxied.get(view) ?? view;
  if (!Base.is(base)) throw new TypeError("this is no object or array of a document");
  return base instanceof ArrayView
    ? arrayCursor(Base.memory(base), Base.home(base), Base.row(base))
    : objectCursor(Base.memory(base), Base.home(base), Base.row(base));
}

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
    Object.defineProperty(getters, key, { value: getter, enumerable: true });
  });
  if (keys.includes("toJSON")) made.own = getters;
  return made;
}

const METHODS: PropertyDescriptorMap = {
  toJSON: {
    value(this: object) {
      return toObject(this, { bigints: "number" });
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

function objectView(m: Memory, home: number, row: number): object {
  const known = row < 0 ? m.views?.get(home) : undefined;
  if (known !== undefined) return known;
  const cursor = objectCursor(m, home, row);
  const n = cursor.kind === RECORD ? m.u8[cursor.at + 2]! : cursor.kind === ROW ? columnsOf(m, cursor.at) : 0;
  let view: object;
  if (cursor.kind === MAP || n > L.MAX_FIELDS || (row >= 0 && m.u32[(cursor.at >>> 2) + 4] !== 0)) {
    view = proxyOf(new Base(m, home, row));
  } else {
    const made = n === 0 ? EMPTY : classOf(m, m.u32[(cursor.at >>> 2) + 1]!, n);
    view = new made(m, home, row);
    if (made.own !== undefined) Object.defineProperties(view, made.own);
  }
  if (row < 0) m.views?.set(home, view);
  return view;
}

const EMPTY = makeClass([]);

/** The objects whose members have no getters: maps, and rows with members beside the columns. */
const proxied = new WeakMap<object, Base>();

/** An object whose members are searched by their keys. */
function proxyOf(base: Base): object {
  const proxy: object = new Proxy(Object.create(null) as object, {
    get: (_, key) => {
      if (typeof key === "symbol") return METHODS[key]?.value;
      const value = Base.member(base, key);
      return value === undefined && key === "toJSON" ? METHODS.toJSON!.value : value;
    },
    has: (_, key) => typeof key === "string" && has(proxy, key),
    ownKeys: (): string[] => keys(proxy),
    getOwnPropertyDescriptor: (_, key) => {
      if (typeof key === "symbol" || !has(proxy, key)) return undefined;
      return { value: Base.member(base, key), enumerable: true, configurable: true, writable: false };
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
  });
  proxied.set(proxy, base);
  return proxy;
}

function arrayView(m: Memory, home: number, row: number): ArrayView<unknown> {
  const known = row < 0 ? m.views?.get(home) : undefined;
  if (known !== undefined) return known as ArrayView<unknown>;
  const view = new ArrayView<unknown>(m, home, row);
  Base.length(view);
  if (row < 0) m.views?.set(home, view);
  return view;
}

/** An array of a document. Elements are read when they are asked for. */
export class ArrayView<E = unknown> extends Base {
  get length(): number {
    return Base.length(this);
  }
  /** Element i; from the end if i is negative. `undefined` if there is none. */
  at(i: number): View<E> {
    return Base.element(this, i < 0 ? i + Base.length(this) : i) as View<E>;
  }
  *[Symbol.iterator](): IterableIterator<View<E>> {
    for (let i = 0; i < Base.length(this); i++) yield this.at(i);
  }
  *entries(): IterableIterator<[number, View<E>]> {
    for (let i = 0; i < Base.length(this); i++) yield [i, this.at(i)];
  }
  forEach(each: (value: View<E>, i: number) => void): void {
    for (let i = 0; i < Base.length(this); i++) each(this.at(i), i);
  }
  map<R>(each: (value: View<E>, i: number) => R): R[] {
    return Array.from({ length: Base.length(this) }, (_, i) => each(this.at(i), i));
  }
  filter(test: (value: View<E>, i: number) => unknown): View<E>[] {
    return [...this].filter(test);
  }
  find(test: (value: View<E>, i: number) => unknown): View<E> | undefined {
    const i = this.findIndex(test);
    return i < 0 ? undefined : this.at(i);
  }
  findIndex(test: (value: View<E>, i: number) => unknown): number {
    for (let i = 0; i < Base.length(this); i++) if (test(this.at(i), i)) return i;
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
    for (let i = 0; i < Base.length(this); i++) result = each(result, this.at(i), i);
    return result;
  }
  /** Elements from `start` up to `end`, as an array. */
  slice(start?: number, end?: number): View<E>[] {
    const all = Array.from({ length: Base.length(this) }, (_, i) => i);
    return all.slice(start, end).map((i) => this.at(i));
  }
  /**
   * The values of all elements at a path of keys, as a column: typed arrays over the document's bytes where it stores
   * them so. Without a path it has the elements themselves.
   */
  column(...path: string[]): Column {
    return columnOf(cursorOf(this), path);
  }
  toJSON(): unknown {
    return toObject(this, { bigints: "number" });
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
  return walk(cursor, path) ? viewAt(cursor) : undefined;
}

/** Moves a cursor along a path: false where it ends, at a value that lacks the next step. */
export function walk(cursor: Cursor, path: readonly (string | number)[]): boolean {
  for (const step of path) {
    if (cursor.kind === ARRAY) {
      const i = typeof step === "number" ? step : /^(0|[1-9]\d*)$/.test(step) ? Number(step) : -1;
      if (!Number.isInteger(i) || i >= cursor.count || i < (typeof step === "number" ? -cursor.count : 0)) return false;
      cursor.toElement(i < 0 ? i + cursor.count : i);
    } else if (!cursor.toMember(keyOf(String(step)))) return false;
  }
  return cursor.tag !== L.NOTHING;
}

/** A view as plain objects and arrays. */
export function toObject(view: object, options?: PlainOptions): unknown {
  return plain(cursorOf(view), options);
}

export { Base, Column };
