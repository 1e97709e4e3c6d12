// Values on their way into a document: what a program gives, or what is taken out of its place.

import { Column, tensorCode } from "../column.js";
import { pointerOf } from "../document.js";
import { decimal, standsFor } from "../encode/scalars.js";
import { LivebufError } from "../error.js";
import { encode, type Key, keyOf, NO_KEY, spanLength, spanStart, textAt } from "../key.js";
import * as L from "../layout.js";
import { bytesOf, isSource, Memory, type Source } from "../memory.js";
import { plain } from "../object.js";
import {
  ARRAY,
  type Cursor,
  columnsOf,
  dictionaryCell,
  extraOf,
  gapAt,
  isFloat,
  Members,
  offsetAt,
  orderOf,
  Cursor as Place,
  ROW,
  SCALAR,
  shapeKeys,
  slotValue,
  tensorAt,
  valuesAt,
} from "../read.js";
import {
  Decimal,
  Float,
  LocalDate,
  LocalDateTime,
  LocalTime,
  NumberText,
  Reserved,
  Timestamp,
  Uuid,
} from "../scalar.js";
import { cursorOf, isView, keptState, type State } from "../view.js";

/**
 * A tensor's type and lengths (FORMAT 6.6). Its numbers are the `bytes` of its value. Bytes have one, too, since they can be
 * an array within a tensor.
 */
export interface Tensor {
  code: number;
  lengths: number[];
  /** Its elements as values of their own. */
  items(): Fresh[];
  /** Views of the arrays in it, by the dimension and the number of their array. */
  views: { dimension: number; row: number; state: State }[];
}

/** A value by its tag. What is not in `lo` and `hi`, its cell, is still to be written: bytes, or what is in it. */
export class Fresh {
  lo = 0;
  hi = 0;
  bytes: Uint8Array | null = null;
  /** Elements; of an object the values of `keys`. */
  items: Fresh[] | null = null;
  keys: Key[] | null = null;
  /** The table's shape, where a row becomes a record. */
  shape = 0;
  tensor: Tensor | null = null;
  /** The view of a row or of an array in a list, which it takes along. */
  view: State | undefined = undefined;
  /** A number of a program that has one type of numbers: in a column of floats it may be one. */
  loose = false;

  constructor(public tag: number) {}
}

const f64 = new Float64Array(1);
const halves = new Uint32Array(f64.buffer);

/** Puts a float in a value's cell. */
export function setFloat(node: Fresh, value: number): Fresh {
  f64[0] = value;
  node.tag = L.FLOAT;
  node.lo = halves[0]!;
  node.hi = halves[1]!;
  return node;
}

/** The float of a cell. */
export function floatOf(node: Fresh): number {
  halves[0] = node.lo;
  halves[1] = node.hi;
  return f64[0]!;
}

/** The integer of a cell, rounded beyond 2⁵³. */
export const intOf = (node: Fresh): number => (node.tag === L.UINT ? node.hi : node.hi | 0) * 4294967296 + node.lo;

function setInt(node: Fresh, value: bigint): Fresh {
  node.lo = Number(value & 0xffffffffn);
  node.hi = Number((value >> 32n) & 0xffffffffn);
  return node;
}

function setBytes(node: Fresh, bytes: Uint8Array): Fresh {
  if (bytes.length > L.MAX_SPAN) throw new LivebufError("StringLimit", `a text has at most ${L.MAX_SPAN} bytes`);
  if (bytes.length > 7) node.bytes = bytes;
  else {
    for (let i = bytes.length - 1; i >= 0; i--) {
      if (i > 3) node.hi |= bytes[i]! << (8 * (i - 4));
      else node.lo = ((node.lo << 8) | bytes[i]!) >>> 0;
    }
    node.hi = (node.hi | ((0x80 + bytes.length) << 24)) >>> 0;
  }
  return node;
}

/** Makes values of what a program gives. It writes nothing, and fails where a value cannot be stored. */
export class Planner {
  /** At most so many bytes the values take. */
  size = 0;
  /** How many containers nest in them. */
  height = 0;
  /** That of the document before the values were looked at, which can run code of the program. */
  readonly epoch: number;
  private readonly path: (string | number)[] = [];

  /** `depth` is that of the container in the document that the values come into; −1 if it is not known. */
  constructor(
    private depth: number,
    private readonly m: Memory,
  ) {
    this.epoch = m.epoch;
  }

  private fail(kind: "BadValue" | "BadText" | "NestingLimit", message: string): LivebufError {
    const path = pointerOf(this.path);
    return new LivebufError(kind, `${message}${path === "" ? "" : ` (at ${path.slice(0, 200)})`}`, undefined, path);
  }

  /** A key of an object. */
  key(text: string): Key {
    const key = keyOf(text);
    if (key.bytes[0] === NO_KEY) throw this.fail("BadText", "a key has half a surrogate");
    this.size += 32 + 2 * key.bytes.length;
    return key;
  }

  value(value: unknown): Fresh {
    switch (typeof value) {
      case "number": {
        if (!Number.isInteger(value) || Math.abs(value) > 2 ** 53 || Object.is(value, -0)) {
          return setFloat(new Fresh(L.FLOAT), value);
        }
        const node = new Fresh(L.INT);
        node.lo = value >>> 0;
        node.hi = Math.floor(value / 4294967296) >>> 0;
        node.loose = true;
        return node;
      }
      case "string": {
        const bytes = encode(value);
        if (bytes.length !== value.length && /\p{Cs}/u.test(value))
          throw this.fail("BadText", "a text has half a surrogate");
        this.size += bytes.length + 8;
        return setBytes(new Fresh(L.TEXT), bytes);
      }
      case "boolean":
        return new Fresh(value ? L.TRUE : L.FALSE);
      case "bigint":
        if (value >= -(2n ** 63n) && value < 2n ** 64n)
          return setInt(new Fresh(value < 2n ** 63n ? L.INT : L.UINT), value);
        return this.span(L.NUMBER_TEXT, encode(String(value)));
      case "undefined":
        return new Fresh(L.NULL);
      case "object":
        return value === null ? new Fresh(L.NULL) : this.object(value);
      default:
        throw this.fail("BadValue", `a ${typeof value} cannot be stored`);
    }
  }

  private span(tag: number, bytes: Uint8Array): Fresh {
    this.size += bytes.length + 8;
    return setBytes(new Fresh(tag), bytes);
  }

  private object(value: object): Fresh {
    const { path } = this;
    if (Array.isArray(value)) {
      const node = this.container(L.ARRAY_NODE);
      for (let i = 0; i < value.length; i++) {
        path.push(i);
        node.items!.push(this.value(value[i]));
        path.pop();
      }
      this.size += 32 + 12 * value.length;
      return node;
    }
    if (Object.getPrototypeOf(value) !== Object.prototype) {
      const node = this.special(value);
      if (node !== undefined) return node;
    }
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === "function") {
      const plain = toJSON.call(value, String(path.at(-1) ?? "")) as unknown;
      if (plain !== value) {
        if (path.length > 2 * L.MAX_NESTING) throw this.fail("NestingLimit", "toJSON does not end");
        path.push("");
        const node = this.value(plain);
        path.pop();
        return node;
      }
    }
    const node = this.container(L.OBJECT_NODE);
    const keys: Key[] = [];
    node.keys = keys;
    const isMap = value instanceof Map;
    for (const key of isMap ? (value.keys() as Iterable<unknown>) : Object.keys(value)) {
      if (typeof key !== "string") throw this.fail("BadValue", "keys of a Map are strings");
      const member: unknown = isMap ? value.get(key) : (value as Record<string, unknown>)[key];
      if (member === undefined) continue;
      path.push(key);
      keys.push(this.key(key));
      node.items!.push(this.value(member));
      path.pop();
    }
    this.size += 96 + 24 * keys.length;
    return node;
  }

  /** What is neither an array nor a plain object; `undefined` where its members are its value. */
  private special(value: object): Fresh | undefined {
    if (isView(value as unknown)) return this.copy(cursorOf(value));
    const { memory } = value as { memory?: unknown };
    if (memory instanceof Memory) return this.copy(new Place(memory).toRoot());
    if (isSource(value)) return this.binary(value);
    if (value instanceof Column) return this.value(value.toArray());
    let other: unknown;
    try {
      other = standsFor(value);
    } catch (error) {
      throw this.fail("BadValue", (error as Error).message);
    }
    return other === undefined ? this.scalar(value) : this.value(other);
  }

  /** A container, whose depth is checked, so that circles end. */
  private container(tag: number): Fresh {
    // It is at most as deep as any is.
    if (this.depth < 0) this.depth = heightOf(new Place(this.m).toRoot());
    if (this.depth + this.path.length >= L.MAX_NESTING) {
      throw this.fail("NestingLimit", `values are nested in at most ${L.MAX_NESTING} levels; is there a circle?`);
    }
    this.height = Math.max(this.height, this.path.length + 1);
    const node = new Fresh(tag);
    node.items = [];
    return node;
  }

  private binary(value: Source): Fresh {
    const bytes = bytesOf(value).slice();
    const code = tensorCode(value);
    const numbers = value as Int8Array;
    const node = code === undefined ? this.span(L.BYTES, bytes) : this.container(L.ARRAY_NODE);
    if (code !== undefined) {
      node.items = null;
      node.bytes = bytes;
      this.size += bytes.length + 48;
    }
    node.tensor = {
      // A few bytes are in the cell.
      code: code ?? (node.bytes === null ? L.CELLS : L.U8),
      lengths: [numbers.length],
      items: () => this.value(Array.from(numbers)).items!,
      views: [],
    };
    return node;
  }

  private scalar(value: object): Fresh | undefined {
    if (value instanceof Float) return setFloat(new Fresh(L.FLOAT), value.value);
    if (value instanceof NumberText) return this.span(L.NUMBER_TEXT, encode(value.text));
    if (value instanceof LocalDate) return setInt(new Fresh(L.DATE), BigInt(value.days));
    if (value instanceof LocalTime) return setInt(new Fresh(L.TIME), BigInt(value.microseconds));
    if (value instanceof LocalDateTime) return setInt(new Fresh(L.DATE_TIME), value.microseconds);
    if (value instanceof Timestamp) return setInt(new Fresh(L.TIMESTAMP), value.microseconds);
    if (value instanceof Uuid) return this.span(L.UUID, value.bytes.slice());
    if (value instanceof Decimal) {
      const stored = decimal(value);
      return typeof stored === "bigint" ? setInt(new Fresh(L.DECIMAL), stored) : this.span(L.LARGE_DECIMAL, stored);
    }
    if (value instanceof Reserved)
      throw this.fail("BadValue", "a value of a reserved tag can only be copied by its container");
    return undefined;
  }

  /** A copy of a value of a document. */
  copy(cursor: Cursor): Fresh {
    // A damaged document may stand for any number of values, and lead back to itself. Making them plain finds that out.
    if (!cursor.m.valid) plain(cursor);
    const node = lift(cursor, false);
    this.measure(node);
    return node;
  }

  private measure(node: Fresh): void {
    this.size += 48 + (node.bytes?.length ?? 0);
    if (node.items === null) {
      if (node.tag === L.ARRAY_NODE) {
        this.container(node.tag);
        // In a tensor, its numbers may become wider.
        this.size += 8 * node.bytes!.length;
      }
      return;
    }
    this.container(node.tag);
    this.path.push("");
    for (const item of node.items) this.measure(item);
    this.path.pop();
    if (node.keys !== null) for (const key of node.keys) this.size += 48 + 2 * key.bytes.length;
  }
}

/**
 * A value of a document. With `move`, it is taken out: what has a home keeps it, and texts stay where they are. Rows,
 * arrays in lists and texts of runs have to be written anew.
 */
export function lift(cursor: Cursor, move: boolean): Fresh {
  const { m, kind, tag, at } = cursor;
  if (kind === SCALAR) return cursor.row < 0 ? liftCell(m, tag, at, move) : liftSlot(m, at, cursor.row, tag, move);
  const node = new Fresh(tag);
  const place = new Place(m);
  if (kind === ARRAY) {
    const { first, count, listRow } = cursor;
    if (move && listRow < 0) {
      node.lo = cursor.home;
      return node;
    }
    if (move) node.view = keptState(m, cursor.home, listRow);
    const items = (): Fresh[] => Array.from({ length: count }, (_, i) => liftAt(place, at, first + i, move));
    if (m.u8[at + 3] === 1) return liftTensor(node, m, at, first, count, move, items);
    node.items = items();
    return node;
  }
  if (move && kind !== ROW) {
    node.lo = cursor.home;
    return node;
  }
  node.keys = [];
  node.items = [];
  if (move) {
    node.view = keptState(m, at, cursor.row);
    const k = columnsOf(m, at);
    const shape = m.u32[(at >>> 2) + 1]!;
    if (orderOf(m, at, cursor.row) === null && extraOf(m, at, cursor.row) === 0) {
      // A record has holes, so that it can share the table's shape.
      const holes = k <= L.MAX_FIELDS;
      if (holes) node.shape = shape;
      for (let i = 0; i < k; i++) {
        const item = liftAt(place, at + L.TABLE_SIZE + 16 * i, cursor.row, true);
        if (item.tag === L.NOTHING && !holes) continue;
        node.keys.push(keyOf(textAt(m, shapeKeys(m, shape) + 8 * i)));
        node.items.push(item);
      }
      return node;
    }
  }
  for (const members = new Members(cursor); members.next(); ) {
    node.keys.push(keyOf(textAt(m, members.key)));
    node.items.push(lift(members.value, move));
  }
  return node;
}

/**
 * The same of a slot. Where objects or arrays have their places, a slot that was opened has none until its value comes:
 * it counts as null.
 */
export function liftAt(cursor: Cursor, header: number, slot: number, move: boolean): Fresh {
  const { m } = cursor;
  const code = m.u8[header + 1]!;
  const hasHomes = code === L.OBJECTS || code === L.ARRAYS;
  if (move && hasHomes && gapAt(m, header, slot) < 0 && m.u32[(valuesAt(m, header) >>> 2) + slot] === 0) {
    return new Fresh(L.NULL);
  }
  cursor.toSlot(header, slot);
  return lift(cursor, move);
}

/** The same of a value that has a cell. */
export function liftCell(m: Memory, tag: number, cell: number, move: boolean): Fresh {
  const node = new Fresh(tag);
  const at = cell >>> 2;
  if (!move && tag >= L.TEXT && m.u32[at + 1]! < 0x80000000) {
    node.bytes = m.bytes(spanStart(m, cell), spanLength(m, cell)).slice();
    return node;
  }
  node.lo = m.u32[at]!;
  node.hi = m.u32[at + 1]!;
  return node;
}

/** The same of a column's slot, which holds no container. */
function liftSlot(m: Memory, header: number, slot: number, tag: number, move: boolean): Fresh {
  const node = new Fresh(tag);
  if (tag <= L.NULL) return node;
  const code = m.u8[header + 1]!;
  switch (code) {
    case L.BOOL:
    case L.BOOL8:
      node.tag = slotValue(m, header, slot) ? L.TRUE : L.FALSE;
      return node;
    case L.DICTIONARY_U8:
    case L.DICTIONARY_U16:
      return liftCell(m, tag, dictionaryCell(m, header, slot), move);
    case L.RUN: {
      const list = m.u32[(header >>> 2) + 3]!;
      const start = offsetAt(m, list, slot);
      const run = m.u32[((list + L.LIST_ELEMENTS) >>> 2) + 3]!;
      return setBytes(node, m.bytes(run + start, offsetAt(m, list, slot + 1) - start).slice());
    }
    case L.UUIDS:
      return setBytes(node, m.bytes(valuesAt(m, header) + 16 * slot, 16).slice());
    case L.TEXTS:
    case L.I64:
    case L.U64:
    case L.F64:
    case L.TIMES:
    case L.DATE_TIMES:
    case L.TIMESTAMPS:
    case L.DECIMALS: {
      const at = valuesAt(m, header) + 8 * slot;
      m.reach(at, 8);
      return liftCell(m, code === L.U64 && m.u8[at + 7]! > 127 ? L.UINT : tag, at, move);
    }
    case L.DATES:
      return setInt(node, BigInt((slotValue(m, header, slot) as LocalDate).days));
    default: {
      const value = slotValue(m, header, slot) as number;
      if (isFloat(m, header, slot, value)) return setFloat(node, value);
      node.tag = L.INT;
      node.lo = value >>> 0;
      node.hi = Math.floor(value / 4294967296) >>> 0;
      return node;
    }
  }
}

function liftTensor(
  node: Fresh,
  m: Memory,
  at: number,
  first: number,
  count: number,
  move: boolean,
  items: Tensor["items"],
): Fresh {
  const { lengths, ...numbers } = tensorAt(m, at, first, count);
  const views: Tensor["views"] = [];
  for (let dimension = 1; move && dimension < lengths.length; dimension++) {
    const list = m.u32[(at >>> 2) + 3]!;
    const rows = m.views!.get(list) as Map<number, State> | undefined;
    rows?.forEach((state, row) => {
      if (row >= first && row < first + count) views.push({ dimension, row: row - first, state });
    });
    at = list + L.LIST_ELEMENTS;
    first *= lengths[dimension]!;
    count *= lengths[dimension]!;
  }
  const code = m.u8[numbers.header + 1]!;
  const width = L.WIDTHS[code]!;
  node.tensor = { code, lengths, items, views };
  node.bytes = m.bytes(valuesAt(m, numbers.header) + width * numbers.first, width * numbers.count).slice();
  return node;
}

/** How deep containers are within each other, at most. */
export function heightOf(cursor: Cursor): number {
  const { m, kind, at } = cursor;
  if (kind === SCALAR) return 0;
  if (kind === ARRAY) return heightOfSlots(m, at, cursor.first, cursor.count) + 1;
  let most = 0;
  for (const members = new Members(cursor); members.next(); ) most = Math.max(most, heightOf(members.value));
  return most + 1;
}

/**
 * The same of the values in some slots of a column. Tables and lists are gone through by columns, as they are freed, so
 * their rows and arrays count whether or not they have a value.
 */
export function heightOfSlots(m: Memory, header: number, first: number, count: number): number {
  const code = m.u8[header + 1]!;
  const below = m.u32[(header >>> 2) + 3]!;
  if (count === 0) return 0;
  if (code === L.LISTS || code === L.FIXED_LISTS) {
    const start = offsetAt(m, below, first);
    return heightOfSlots(m, below + L.LIST_ELEMENTS, start, offsetAt(m, below, first + count) - start) + 1;
  }
  const inner = new Place(m);
  const isTable = code === L.STRUCT;
  let most = 0;
  for (let j = isTable ? columnsOf(m, below) : 0; j-- > 0; ) {
    most = Math.max(most, heightOfSlots(m, below + L.TABLE_SIZE + 16 * j, first, count));
  }
  const each = isTable ? m.u32[(below >>> 2) + 4] : code === L.CELLS || code === L.OBJECTS || code === L.ARRAYS;
  for (let i = first; each && i < first + count; i++) {
    if (isTable) {
      // Members beside the columns.
      const extra = extraOf(m, below, i);
      if (extra === 0) continue;
      inner.toObject(extra);
    } else inner.toSlot(header, i);
    most = Math.max(most, heightOf(inner) - Number(isTable));
  }
  return most + Number(isTable);
}
