// Reading values where they lie (FORMAT 3 to 7). Every offset is checked before it is followed; nothing is copied.

import { damage } from "./error.js";
import { bucketOf, compareKey, decode, hashOf, isKey, type Key, spanLength, spanStart, textAt } from "./key.js";
import * as L from "./layout.js";
import type { Memory } from "./memory.js";
import { Decimal, LocalDate, LocalDateTime, LocalTime, NumberText, Reserved, Timestamp, Uuid } from "./scalar.js";

/** Where a cursor is. */
export const SCALAR = 0;
export const RECORD = 1;
export const MAP = 2;
export const ROW = 3;
export const ARRAY = 4;

/** The block of a node: its home, or where the forward there leads. */
export function resolve(m: Memory, home: number): number {
  m.need(home, 8);
  if (m.u8[home] !== L.FORWARD) return home;
  const block = m.u32[(home >>> 2) + 1]!;
  m.need(block, 8);
  if (m.u8[block] === L.FORWARD) throw damage("WrongBlock", home);
  return block;
}

/** Two bytes as a number, at any address. */
export const u16At = (u8: Uint8Array, at: number): number => u8[at]! | (u8[at + 1]! << 8);

/** Keys that a shape has. */
export function shapeCount(m: Memory, shape: number): number {
  m.need(shape, 16);
  const kind = m.u8[shape];
  if (kind === L.SHAPE) {
    m.need(shape, L.word(8 + m.u8[shape + 1]!) + 8 * m.u8[shape + 1]!);
    return Math.min(m.u8[shape + 2]!, m.u8[shape + 1]!);
  }
  if (kind !== L.WIDE_SHAPE) throw damage("WrongBlock", shape);
  const count = m.u32[(shape >>> 2) + 2]!;
  if (count > L.MAX_COLUMNS) throw damage("BadCount", shape);
  m.need(shape, L.word(16 + 2 * count) + 8 * count);
  return count;
}

/** Where the span cells of a shape's keys begin. */
export function shapeKeys(m: Memory, shape: number): number {
  return m.u8[shape] === L.SHAPE
    ? shape + L.word(8 + m.u8[shape + 1]!)
    : shape + L.word(16 + 2 * m.u32[(shape >>> 2) + 2]!);
}

/** The place of a key among the first n of a shape, or −1. */
export function findInShape(m: Memory, shape: number, n: number, key: Key): number {
  const count = shapeCount(m, shape);
  const keys = shapeKeys(m, shape);
  const { u8 } = m;
  if (u8[shape] === L.SHAPE) {
    const end = shape + 8 + Math.min(n, count);
    for (let at = shape + 8; at < end; at++) {
      if (u8[at] === key.fingerprint && isKey(m, keys + 8 * (at - shape - 8), key)) return at - shape - 8;
    }
    return -1;
  }
  // A wide shape has the order of its keys.
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = shape + 16 + 2 * middle;
    const place = u16At(u8, at);
    if (place >= count) throw damage("BadIndex", at);
    const order = compareKey(m, keys + 8 * place, key.bytes);
    if (order === 0) return place < n ? place : -1;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1;
}

/** The entry of a map that has a key, or −1. */
export function findInMap(m: Memory, map: number, key: Key): number {
  const at = map >>> 2;
  const [capacity, keys, root] = [m.u32[at + 4]!, m.u32[at + 5]!, m.u32[at + 6]!];
  const [block, buckets, used] = [m.u32[at + 2]!, m.u32[at + 3]!, m.u32[at + 9]!];
  if (used > capacity || capacity > L.MAX_ELEMENTS) throw damage("BadCount", map);
  if (used === 0) return -1;
  m.within(keys, 8 * capacity);
  if (block !== 0) {
    if (buckets === 0 || buckets > 1 << 26) throw damage("BadCount", map);
    m.within(block, 64 * buckets + 56);
    const first = Math.ceil(block / 64) * 64;
    const [place, fingerprint] = hashOf(key.bytes);
    let bucket = bucketOf(place, buckets);
    m.reach(first + 64 * bucket, 64);
    const mark = m.u8[first + 64 * bucket + 12]!;
    for (let left = mark & 15; left >= 0; left--) {
      const here = first + 64 * bucket;
      for (let i = 0; i < 12; i++) {
        if (m.u8[here + i] !== fingerprint) continue;
        const entry = m.u32[((here + 16) >>> 2) + i]!;
        if (entry >= used) throw damage("BadIndex", here);
        m.reach(keys + 8 * entry, 8);
        if (isKey(m, keys + 8 * entry, key)) return entry;
      }
      bucket = bucket + 1 === buckets ? 0 : bucket + 1;
      if (left > 0) m.reach(first + 64 * bucket, 64);
    }
    if ((mark & 16) === 0) return -1;
  }
  if (root !== 0) return findInTree(m, root, keys, used, key);
  // Neither index: at most 16 entries are in use.
  const n = Math.min(used, 16);
  m.reach(keys, 8 * n);
  for (let i = 0; i < n; i++) if (!isHole(m, keys + 8 * i) && isKey(m, keys + 8 * i, key)) return i;
  return -1;
}

/** Whether a map's key cell is that of a removed entry. */
export const isHole = (m: Memory, cell: number): boolean => m.u32[cell >>> 2] === 0 && m.u32[(cell >>> 2) + 1] === 0;

function findInTree(m: Memory, root: number, keys: number, used: number, key: Key): number {
  /** The first entry below an item. */
  const firstOf = (node: number, i: number): number => {
    for (let depth = 0; depth <= 12; depth++) {
      m.need(node, 256);
      const item = m.u32[(node >>> 2) + 1 + i]!;
      if (m.u8[node] === 0) {
        if (item >= used) throw damage("BadIndex", node);
        return item;
      }
      [node, i] = [item, 0];
    }
    throw damage("BadIndex", node);
  };
  let node = root;
  for (let depth = 0; depth <= 12; depth++) {
    m.need(node, 256);
    const level = m.u8[node]!;
    const count = Math.min(m.u8[node + 1]!, 63);
    // The first item whose first key is greater than the wanted one.
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = firstOf(node, middle);
      m.reach(keys + 8 * entry, 8);
      const order = compareKey(m, keys + 8 * entry, key.bytes);
      if (order === 0 && level === 0) return entry;
      if (order <= 0) low = middle + 1;
      else high = middle;
    }
    if (level === 0) return -1;
    node = m.u32[(node >>> 2) + 1 + Math.max(low - 1, 0)]!;
  }
  throw damage("BadIndex", root);
}

/** Whether a column's data is a table or a list, so that its bitmaps are a block of their own. */
export const isNested = (code: number): boolean => (code >= L.STRUCT && code <= L.FIXED_LISTS) || code === L.RUN;

/** Checks that a header is a column's, and that its slots are no more than a document of this size can have. */
export function checkColumn(m: Memory, header: number): void {
  m.need(header, 16);
  if (m.u8[header] !== L.ARRAY) throw damage("WrongBlock", header);
  if (m.u8[header + 1]! > L.BOOL8 || m.u8[header + 2]! > 3) throw damage("BadCode", header);
  if (m.u32[(header >>> 2) + 1]! > 8 * m.used) throw damage("BadCount", header);
}

const bit = (m: Memory, start: number, i: number): number => {
  const at = start + (i >>> 3);
  m.reach(at, 1);
  return (m.u8[at]! >>> (i & 7)) & 1;
};

/** Where the bitmaps of a column with gaps begin: in its data, or where its table or list says. */
export function bitmapsOf(m: Memory, header: number): number {
  const data = m.u32[(header >>> 2) + 3]!;
  if (!isNested(m.u8[header + 1]!)) return data;
  m.reach(data, 16);
  return m.u32[(data >>> 2) + 2]!;
}

/** The tag that a slot without a value has: NULL, NOTHING where it is missing; −1 where there is a value. */
export function gapAt(m: Memory, header: number, slot: number): number {
  const gaps = m.u8[header + 2]!;
  if (gaps === 0) return -1;
  const bits = bitmapsOf(m, header);
  if (bit(m, bits, slot) === 1) return -1;
  if (gaps === 1) return L.NULL;
  if (gaps === 2) return L.NOTHING;
  return bit(m, bits + L.bitmapSize(m.u32[(header >>> 2) + 2]!), slot) === 1 ? L.NULL : L.NOTHING;
}

/** Where the values of a column begin, behind its bitmaps. */
export function valuesAt(m: Memory, header: number): number {
  const at = header >>> 2;
  const data = m.u32[at + 3]!;
  const gaps = m.u8[header + 2]!;
  return gaps === 0 ? data : data + L.bitmapsSize(gaps, m.u32[at + 2]!);
}

/** The tag of what a column's slots hold, by its code. Cells have their own. */
const TAGS: readonly number[] = [
  0, 2, 4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 16, 32, 33, 1, 32, 33, 33, 6, 6, 6, 6, 16, 16, 16, 9, 10, 11, 8, 7, 19, 6, 2,
];

/** The tag of a slot's value; NOTHING where it is missing. Booleans are FALSE, numbers of columns 19 to 22 FLOAT. */
export function tagOf(m: Memory, header: number, slot: number): number {
  const code = m.u8[header + 1]!;
  if (code === L.CELLS) return m.u8[cellsTag(m, header, slot)]!;
  const gap = gapAt(m, header, slot);
  return gap >= 0 ? gap : TAGS[code]!;
}

function cellsTag(m: Memory, header: number, slot: number): number {
  const at = m.u32[(header >>> 2) + 3]! + L.tagAt(slot);
  m.reach(at, 1);
  return at;
}

/** Where the data of slot `slot` of a column of so many bytes a slot is. */
function slotAt(m: Memory, header: number, slot: number, width: number): number {
  const at = valuesAt(m, header) + width * slot;
  m.reach(at, width);
  return at;
}

/** Eight bytes as an integer: a number where that is exact, else a bigint. */
export function integer(m: Memory, at: number): number | bigint {
  const lo = m.u32[at >>> 2]!;
  const value = (m.u32[(at >>> 2) + 1]! | 0) * 4294967296 + lo;
  if (value >= -9007199254740992 && value <= 9007199254740992) {
    // Integers beyond 2⁵³ round to it.
    if (Math.abs(value) !== 9007199254740992 || lo === 0) return value;
  }
  return m.int64(at);
}

/** A float of 16 bits. */
export function half(bits: number): number {
  const sign = bits >>> 15 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const scratch = new DataView(new ArrayBuffer(8));

export function f32At(m: Memory, at: number): number {
  scratch.setUint32(0, m.u32[at >>> 2]!);
  return scratch.getFloat32(0);
}

/** A value that is no container, from its tag and where its cell is. */
export function cellValue(m: Memory, tag: number, cell: number): unknown {
  switch (tag) {
    case L.NOTHING:
      return undefined;
    case L.NULL:
      return null;
    case L.FALSE:
      return false;
    case L.TRUE:
      return true;
    case L.INT:
      return integer(m, cell);
    case L.UINT:
      return BigInt.asUintN(64, m.int64(cell));
    case L.FLOAT:
      return m.f64[cell >>> 3]!;
    case L.TEXT:
      return textAt(m, cell);
    default:
      return rareValue(m, tag, cell);
  }
}

function rareValue(m: Memory, tag: number, cell: number): unknown {
  try {
    switch (tag) {
      case L.BYTES:
        return m.bytes(spanStart(m, cell), spanLength(m, cell));
      case L.NUMBER_TEXT:
        return new NumberText(textAt(m, cell));
      case L.DECIMAL: {
        // A signed number of 56 bits above the scale.
        return new Decimal(m.int64(cell) >> 8n, m.u8[cell]!);
      }
      case L.TIMESTAMP:
        return new Timestamp(m.int64(cell));
      case L.DATE:
        return new LocalDate(Number(m.int64(cell)));
      case L.TIME:
        return new LocalTime(Number(m.int64(cell)));
      case L.DATE_TIME:
        return new LocalDateTime(m.int64(cell));
      case L.UUID:
        return new Uuid(m.bytes(spanStart(m, cell), spanLength(m, cell)).slice());
      case L.LARGE_DECIMAL: {
        const bytes = m.bytes(spanStart(m, cell), spanLength(m, cell));
        if (bytes.length !== 17) throw damage("BadCell", cell);
        let coefficient = 0n;
        for (let i = 15; i >= 0; i--) coefficient = (coefficient << 8n) | BigInt(bytes[i]!);
        return new Decimal(BigInt.asIntN(128, coefficient), bytes[16]!);
      }
      default:
        if (tag < 0x20) return new Reserved(tag);
        throw damage(tag < 0x30 ? "UnsupportedFeature" : "BadCode", cell);
    }
  } catch (error) {
    // What the classes refuse is no value of the format, either.
    if ((error as { kind?: string }).kind === "BadValue") throw damage("BadCell", cell);
    throw error;
  }
}

/** A value of a column that is no container. Its slot has one, and is among the column's. */
export function slotValue(m: Memory, header: number, slot: number): unknown {
  const code = m.u8[header + 1]!;
  switch (code) {
    case L.CELLS: {
      const tag = cellsTag(m, header, slot);
      const cell = m.u32[(header >>> 2) + 3]! + L.cellAt(slot);
      m.reach(cell, 8);
      return cellValue(m, m.u8[tag]!, cell);
    }
    case L.BOOL:
      return bit(m, valuesAt(m, header), slot) === 1;
    case L.I8:
      return (m.u8[slotAt(m, header, slot, 1)]! << 24) >> 24;
    case L.U8:
      return m.u8[slotAt(m, header, slot, 1)]!;
    case L.I16:
      return (u16At(m.u8, slotAt(m, header, slot, 2)) << 16) >> 16;
    case L.U16:
      return u16At(m.u8, slotAt(m, header, slot, 2));
    case L.I32:
      return m.u32[slotAt(m, header, slot, 4) >>> 2]! | 0;
    case L.U32:
      return m.u32[slotAt(m, header, slot, 4) >>> 2]!;
    case L.I64:
      return integer(m, slotAt(m, header, slot, 8));
    case L.U64: {
      const at = slotAt(m, header, slot, 8);
      return m.u32[(at >>> 2) + 1]! < 0x80000000 ? integer(m, at) : BigInt.asUintN(64, m.int64(at));
    }
    case L.F32:
    case L.NUMBERS_F32:
    case L.MARKED_F32:
      return f32At(m, slotAt(m, header, slot, 4));
    case L.F64:
    case L.NUMBERS_F64:
    case L.MARKED_F64:
      return m.f64[slotAt(m, header, slot, 8) >>> 3]!;
    case L.TEXTS:
      return textAt(m, slotAt(m, header, slot, 8));
    case L.DICTIONARY_U8:
    case L.DICTIONARY_U16:
      return textAt(m, dictionaryCell(m, header, slot));
    case L.RUN: {
      const list = m.u32[(header >>> 2) + 3]!;
      const start = offsetAt(m, list, slot);
      const length = offsetAt(m, list, slot + 1) - start;
      return decode(m, m.u32[((list + L.LIST_ELEMENTS) >>> 2) + 3]! + start, length);
    }
    case L.DATES: {
      return dateValue(m.u32[slotAt(m, header, slot, 4) >>> 2]! | 0, header);
    }
    case L.TIMES:
      return cellValue(m, L.TIME, slotAt(m, header, slot, 8));
    case L.DATE_TIMES:
      return cellValue(m, L.DATE_TIME, slotAt(m, header, slot, 8));
    case L.TIMESTAMPS:
      return cellValue(m, L.TIMESTAMP, slotAt(m, header, slot, 8));
    case L.DECIMALS:
      return cellValue(m, L.DECIMAL, slotAt(m, header, slot, 8));
    case L.UUIDS:
      return new Uuid(m.bytes(slotAt(m, header, slot, 16), 16).slice());
    case L.F16:
      return half(u16At(m.u8, slotAt(m, header, slot, 2)));
    case L.BOOL8:
      return m.u8[slotAt(m, header, slot, 1)] !== 0;
    default:
      throw damage("BadCode", header);
  }
}

function dateValue(days: number, at: number): LocalDate {
  if (days < -719_162 || days > 2_932_896) throw damage("BadCell", at);
  return new LocalDate(days);
}

/** The cell of a slot's text in a dictionary. */
export function dictionaryCell(m: Memory, header: number, slot: number): number {
  const wide = m.u8[header + 1] === L.DICTIONARY_U16;
  const at = slotAt(m, header, slot, wide ? 2 : 1);
  const code = wide ? u16At(m.u8, at) : m.u8[at]!;
  const texts = dictionaryTexts(m, header);
  if (code >= m.u32[(texts >>> 2) + 1]!) throw damage("BadIndex", at);
  const cell = m.u32[(texts >>> 2) + 3]! + 8 * code;
  m.need(cell, 8);
  return cell;
}

/** The header of a dictionary's texts, behind the codes of all slots. */
export function dictionaryTexts(m: Memory, header: number): number {
  const width = m.u8[header + 1] === L.DICTIONARY_U16 ? 2 : 1;
  const texts = valuesAt(m, header) + L.word(width * m.u32[(header >>> 2) + 2]!);
  m.need(texts, 16);
  return texts;
}

/** Where array i of a list, or text i of a run, begins among its elements: number i of the offsets, if it has some. */
export function offsetAt(m: Memory, list: number, i: number): number {
  m.need(list, 32);
  if (m.u8[list + 1] !== 0) return i * m.u32[(list >>> 2) + 1]!;
  m.need(list, 48);
  const at = (list + L.LIST_OFFSETS) >>> 2;
  if (i >= m.u32[at + 1]!) throw damage("BadCount", list);
  const data = m.u32[at + 3]!;
  switch (m.u8[list + L.LIST_OFFSETS + 1]) {
    case L.U8:
      m.reach(data + i, 1);
      return m.u8[data + i]!;
    case L.U16:
      m.reach(data + 2 * i, 2);
      return u16At(m.u8, data + 2 * i);
    case L.U32:
      m.reach(data + 4 * i, 4);
      return m.u32[(data >>> 2) + i]!;
    default:
      throw damage("WrongBlock", list);
  }
}

/** A tensor's lengths in each dimension, and its numbers: the header of their column, which is the first, how many. */
export function tensorAt(
  m: Memory,
  header: number,
  first: number,
  count: number,
): { lengths: number[]; header: number; first: number; count: number } {
  const lengths = [count];
  while (m.u8[header + 1] === L.FIXED_LISTS) {
    const list = m.u32[(header >>> 2) + 3]!;
    m.need(list, 32);
    const length = m.u32[(list >>> 2) + 1]!;
    // Only the first can be 0. Lists of a damaged document may lead back to themselves.
    if (length === 0 || lengths.push(length) > L.MAX_COLUMN_NESTING) throw damage("BadCount", list);
    header = list + L.LIST_ELEMENTS;
    checkColumn(m, header);
    first *= length;
    count *= length;
  }
  if (!L.isTensorCode(m.u8[header + 1]!)) throw damage("BadCode", header);
  return { lengths, header, first, count };
}

/** Whether a number of a slot is a float and no integer, which only its text shows (FORMAT 6.1). */
export function isFloat(m: Memory, header: number, slot: number, value: number): boolean {
  const code = m.u8[header + 1]!;
  const narrow = code === L.NUMBERS_F32 || code === L.MARKED_F32;
  if (!narrow && code !== L.NUMBERS_F64 && code !== L.MARKED_F64) return TAGS[code] === L.FLOAT;
  const bound = narrow ? 16_777_216 : 9_007_199_254_740_992;
  if (!Number.isInteger(value) || Object.is(value, -0) || Math.abs(value) > bound) return true;
  if (code < L.MARKED_F32) return false;
  const capacity = m.u32[(header >>> 2) + 2]!;
  return bit(m, valuesAt(m, header) + (narrow ? L.word(4 * capacity) : 8 * capacity), slot) === 1;
}

/** A number as an index of an array, as `Array.at` takes it: cut to a whole one, and from the end if it is below 0. */
export function wholeIndex(i: number, count: number): number {
  const whole = Math.trunc(i) || 0;
  return whole < 0 ? whole + count : whole;
}

/**
 * A place in a document: a value, which the cursor's fields describe. It is moved from a container to what is in it.
 * A container has the address of its block: of a record, of a map, of a row's table, of the header of an array's elements.
 */
export class Cursor {
  kind = SCALAR;
  /** The value's tag; NOTHING where there is no value. */
  tag = 0;
  /** The block; of a scalar its cell, or the header of its column. */
  at = 0;
  /** The row in a table; of a scalar in a column its slot, else −1. */
  row = -1;
  /** The first element of an array in its column, and how many it has. */
  first = 0;
  count = 0;
  /** The home of a record, a map or an array, by which edits know it; of an array in a list that list. */
  home = 0;
  /** The row of an array in a list; else −1. */
  listRow = -1;

  constructor(readonly m: Memory) {}

  copy(from: Cursor): this {
    this.kind = from.kind;
    this.tag = from.tag;
    this.at = from.at;
    this.row = from.row;
    this.first = from.first;
    this.count = from.count;
    this.home = from.home;
    this.listRow = from.listRow;
    return this;
  }

  clone(): Cursor {
    return new Cursor(this.m).copy(this);
  }

  toRoot(): this {
    this.toCell(this.m.u8[16]!, 8);
    if (this.tag === L.NOTHING) throw damage("BadCode", 16);
    return this;
  }

  /** To a value that has a tag and a cell of its own. */
  toCell(tag: number, cell: number): void {
    this.tag = tag;
    if (tag === L.OBJECT_NODE) this.toObject(this.m.u32[cell >>> 2]!);
    else if (tag === L.ARRAY_NODE) this.toArray(this.m.u32[cell >>> 2]!);
    else {
      this.kind = SCALAR;
      this.at = cell;
      this.row = -1;
    }
  }

  toObject(home: number): void {
    const { m } = this;
    const block = resolve(m, home);
    this.tag = L.OBJECT_NODE;
    this.home = home;
    this.at = block;
    this.row = -1;
    if (m.u8[block] === L.RECORD) {
      this.kind = RECORD;
      m.need(block, 8 + L.cellsSize(m.u8[block + 1]!));
      if (m.u8[block + 2]! > m.u8[block + 1]!) throw damage("BadCount", block);
    } else if (m.u8[block] === L.MAP) {
      this.kind = MAP;
      m.need(block, L.MAP_SIZE);
      checkColumn(m, block + L.MAP_VALUES);
    } else throw damage("WrongBlock", block);
  }

  toArray(home: number): void {
    const block = resolve(this.m, home);
    this.home = home;
    this.listRow = -1;
    this.toElements(block, 0, -1);
  }

  private toElements(header: number, first: number, count: number): void {
    const { m } = this;
    checkColumn(m, header);
    const all = m.u32[(header >>> 2) + 1]!;
    if (count >= 0 && first + count > all) throw damage("BadCount", header);
    this.kind = ARRAY;
    this.tag = L.ARRAY_NODE;
    this.at = header;
    this.row = -1;
    this.first = first;
    this.count = count < 0 ? all : count;
  }

  toRow(table: number, row: number): void {
    const { m } = this;
    m.need(table, L.TABLE_SIZE);
    if (m.u8[table] !== L.TABLE) throw damage("WrongBlock", table);
    m.need(table, tableSize(m, table));
    this.kind = ROW;
    this.tag = L.OBJECT_NODE;
    this.home = table;
    this.at = table;
    this.row = row;
  }

  /** To array `row` of a list. */
  toSlice(list: number, row: number): void {
    const { m } = this;
    m.need(list, 32);
    if (m.u8[list] !== L.LIST) throw damage("WrongBlock", list);
    const first = offsetAt(m, list, row);
    const count = offsetAt(m, list, row + 1) - first;
    if (count < 0) throw damage("BadIndex", list);
    this.home = list;
    this.listRow = row;
    this.toElements(list + L.LIST_ELEMENTS, first, count);
  }

  /** To a slot of a column, which is among its slots. */
  toSlot(header: number, slot: number): void {
    const { m } = this;
    const code = m.u8[header + 1]!;
    if (code === L.CELLS) {
      const data = m.u32[(header >>> 2) + 3]!;
      const cell = data + L.cellAt(slot);
      if ((data & 7) !== 0) throw damage("Misaligned", header);
      m.reach(data + L.tagAt(slot), 1);
      m.reach(cell, 8);
      this.toCell(m.u8[data + L.tagAt(slot)]!, cell);
      return;
    }
    const gap = gapAt(m, header, slot);
    if (gap >= 0) {
      this.kind = SCALAR;
      this.tag = gap;
      this.at = header;
      this.row = slot;
      return;
    }
    const data = m.u32[(header >>> 2) + 3]!;
    if (code === L.STRUCT) this.toRow(data, slot);
    else if (code === L.LISTS || code === L.FIXED_LISTS) this.toSlice(data, slot);
    else if (code === L.OBJECTS) this.toObject(m.u32[slotAt(m, header, slot, 4) >>> 2]!);
    else if (code === L.ARRAYS) this.toArray(m.u32[slotAt(m, header, slot, 4) >>> 2]!);
    else {
      this.kind = SCALAR;
      this.tag = TAGS[code]!;
      this.at = header;
      this.row = slot;
    }
  }

  /** To a column or a row's slot of it: false where the row has no such member. */
  toColumn(header: number, row: number): boolean {
    checkColumn(this.m, header);
    if (row >= this.m.u32[(header >>> 2) + 1]!) throw damage("BadCount", header);
    this.toSlot(header, row);
    return this.tag !== L.NOTHING;
  }

  /** To the value of a key, if the cursor is at an object that has it; else the cursor stays. */
  toMember(key: Key): boolean {
    const { m, at, row } = this;
    switch (this.kind) {
      case RECORD: {
        const used = m.u8[at + 2]!;
        const shape = m.u32[(at >>> 2) + 1]!;
        const i = used === 0 ? -1 : findInShape(m, shape, used, key);
        return i >= 0 && this.toField(i);
      }
      case ROW: {
        const i = findInShape(m, m.u32[(at >>> 2) + 1]!, columnsOf(m, at), key);
        if (i >= 0) {
          if (tagOf(m, at + L.TABLE_SIZE + 16 * i, row) === L.NOTHING) return false;
          return this.toColumn(at + L.TABLE_SIZE + 16 * i, row);
        }
        const extra = extraOf(m, at, row);
        if (extra === 0) return false;
        const { kind, home } = this;
        this.toObject(extra);
        if (this.toMember(key)) return true;
        [this.kind, this.home, this.at, this.row, this.tag] = [kind, home, at, row, L.OBJECT_NODE];
        return false;
      }
      case MAP: {
        const i = findInMap(m, at, key);
        if (i < 0) return false;
        this.toSlot(at + L.MAP_VALUES, i);
        return true;
      }
      default:
        return false;
    }
  }

  /** To field i of the record that the cursor is at; false where it is a hole. */
  toField(i: number): boolean {
    const { at } = this;
    const tag = this.m.u8[at + 8 + L.tagAt(i)]!;
    if (tag === L.NOTHING) return false;
    this.toCell(tag, at + 8 + L.cellAt(i));
    return true;
  }

  /** To element i of the array that the cursor is at, which has so many. */
  toElement(i: number): void {
    this.toSlot(this.at, this.first + i);
  }

  /** A value that is no container. */
  scalar(): unknown {
    if (this.row < 0) return cellValue(this.m, this.tag, this.at);
    if (this.tag === L.NULL) return null;
    if (this.tag === L.NOTHING) return undefined;
    return slotValue(this.m, this.at, this.row);
  }

  /** How many members an object has. */
  size(): number {
    const { m, at } = this;
    if (this.kind === RECORD) return m.u8[at + 3]!;
    if (this.kind === MAP) return m.u32[(at >>> 2) + 1]!;
    let n = 0;
    for (const members = new Members(this); members.next(); ) n++;
    return n;
  }
}

/** The members of an object, one after the other, in its order. */
export class Members {
  /** The cell of the key that `next` came to. */
  key = 0;
  /** A cursor at its value. */
  readonly value: Cursor;
  private at = 0;
  private kind = SCALAR;
  private row = -1;
  private i = 0;
  private n = 0;
  private keys = 0;
  private order: Uint8Array | null = null;

  /** The cursor is at an object. It may be moved meanwhile, and the object must not change. */
  constructor(object: Cursor) {
    this.value = new Cursor(object.m);
    this.start(object);
  }

  private start(object: Cursor): void {
    const { m, at } = object;
    this.kind = object.kind;
    this.at = at;
    this.row = object.row;
    this.order = null;
    this.i = 0;
    this.n = 0;
    if (this.kind === RECORD) {
      this.n = m.u8[at + 2]!;
      if (this.n > 0) this.shape(m, m.u32[(at >>> 2) + 1]!);
    } else if (this.kind === MAP) {
      this.n = m.u32[(at >>> 2) + 9]!;
      this.keys = m.u32[(at >>> 2) + 5]!;
      if (this.n > 0) m.within(this.keys, 8 * this.n);
    } else if (this.kind === ROW) {
      this.n = columnsOf(m, at);
      this.shape(m, m.u32[(at >>> 2) + 1]!);
      this.order = orderOf(m, at, this.row);
      if (this.order !== null) this.i = -this.order.length;
    }
  }

  private shape(m: Memory, shape: number): void {
    if (this.n > shapeCount(m, shape)) throw damage("BadCount", shape);
    this.keys = shapeKeys(m, shape);
  }

  /** Goes on to the next member; false behind the last. */
  next(): boolean {
    const { value, at, order } = this;
    const { m } = value;
    while (this.i < this.n) {
      const i = this.i++;
      if (this.kind === RECORD) {
        value.at = at;
        if (!value.toField(i)) continue;
        this.key = this.keys + 8 * i;
        return true;
      }
      if (this.kind === MAP) {
        this.key = this.keys + 8 * i;
        m.reach(this.key, 8);
        if (isHole(m, this.key)) continue;
        value.toSlot(at + L.MAP_VALUES, i);
        return true;
      }
      // First come the columns of the row's own order.
      const place = i < 0 ? order![i + order!.length]! : i;
      if (i >= 0 && order?.includes(i)) continue;
      if (!value.toColumn(at + L.TABLE_SIZE + 16 * place, this.row)) continue;
      this.key = this.keys + 8 * place;
      return true;
    }
    if (this.kind !== ROW) return false;
    const extra = extraOf(m, at, this.row);
    this.kind = SCALAR;
    if (extra === 0) return false;
    value.toObject(extra);
    this.start(value);
    return this.next();
  }
}

/** How many columns a table has. */
export const columnsOf = (m: Memory, table: number): number => u16At(m.u8, table + 20);

/** Bytes of a table: its fields, the headers of its columns and of its orders. */
export const tableSize = (m: Memory, table: number): number =>
  L.TABLE_SIZE + 16 * (columnsOf(m, table) + (m.u8[table + 1] === 1 ? 1 : 0));

/** The places of the columns that a row's members begin with, where it has an order of its own. */
export function orderOf(m: Memory, table: number, row: number): Uint8Array | null {
  if (m.u8[table + 1] === 0) return null;
  const header = table + L.TABLE_SIZE + 16 * columnsOf(m, table);
  checkColumn(m, header);
  if (row >= m.u32[(header >>> 2) + 1]!) throw damage("BadCount", header);
  if (gapAt(m, header, row) >= 0) return null;
  const cell = dictionaryCell(m, header, row);
  const order = m.bytes(spanStart(m, cell), spanLength(m, cell));
  const k = columnsOf(m, table);
  // The bytes are text, and none is there twice. More would take the time of their square.
  if (order.length > 128) throw damage("BadIndex", cell);
  for (const place of order) if (place >= k) throw damage("BadIndex", cell);
  return order;
}

/** The home of a row's extra object, 0 for none (FORMAT 6.3). */
export function extraOf(m: Memory, table: number, row: number): number {
  const extras = m.u32[(table >>> 2) + 4]!;
  if (extras === 0) return 0;
  checkColumn(m, extras);
  const at = extras >>> 2;
  const [count, data] = [m.u32[at + 1]!, m.u32[at + 3]!];
  if (count > 0) m.need(data, 8 * count);
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const there = m.u32[(data >>> 2) + 2 * middle + 1]!;
    if (there === row) return m.u32[(data >>> 2) + 2 * middle]!;
    if (there < row) low = middle + 1;
    else high = middle;
  }
  return 0;
}
