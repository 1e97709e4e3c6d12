// Deciding which arrays become columns, by their values and by the size of each layout (PROFILE 6).
//
// A plan is made from the outside in. The elements of an array are one column. Similar objects in it are a struct, with
// a column for each key; arrays in it are a list, with one column for all their elements; and so on.

import * as L from "../layout.js";
import type { KeyList, Keys, KeyText } from "./keys.js";
import { grown } from "./output.js";
import type { Stack } from "./stack.js";
import * as S from "./stack.js";
import type { Texts } from "./texts.js";

/** The place of a member that a row does not have, or of one below a row or array that is not there. */
export const MISSING = -1;

/** Objects of more key lists than this are not alike, nor are those whose lists have more keys together. */
const MOST_LISTS = 4096;
const MOST_LISTED = 1 << 20;
/** Rows of more columns have no orders of their own: a column's place is a byte of text. */
const MOST_ORDERED = 128;
/** Slots below which a column gets no dictionary and no run. */
const LEAST_TEXTS = 8;
const MOST_TEXTS = 65_536;

/** Kinds of values, a bit for each. */
const NULL = 1;
const BOOL = 2;
const INT = 4;
const FLOAT = 8;
const TEXT = 16;
const OBJECT = 32;
const ARRAY = 64;
const OTHER = 128;
const UUID = 256;
const TENSOR = 512;
/** The columns of kinds whose values are as they are in their cells. */
const DATE = 1024;
const TIME = 2048;
const DATE_TIME = 4096;
const TIMESTAMP = 8192;
const DECIMAL = 16_384;

const KINDS = new Uint16Array(256).fill(OTHER);
for (const [tag, kind] of [
  [L.NOTHING, 0],
  [L.NULL, NULL],
  [L.FALSE, BOOL],
  [L.TRUE, BOOL],
  [L.INT, INT],
  [L.UINT, INT],
  [L.FLOAT, FLOAT],
  [L.TEXT, TEXT],
  [S.WAITING, TEXT],
  [S.LOOSE, TEXT],
  [L.DATE, DATE],
  [L.TIME, TIME],
  [L.DATE_TIME, DATE_TIME],
  [L.TIMESTAMP, TIMESTAMP],
  [L.DECIMAL, DECIMAL],
  [S.LOOSE_UUID, UUID],
  [L.OBJECT_NODE, OBJECT],
  [S.WAITING_OBJECT, OBJECT],
  [L.ARRAY_NODE, ARRAY],
  [S.WAITING_ARRAY, ARRAY],
  [S.TENSOR, TENSOR],
] as const) {
  KINDS[tag] = kind;
}

const MARKED_BOUND = 2 ** 24;
const BOUND = 2 ** 53;

/** Bytes of an object of so many members that is no row: of a record, or else of a map. */
export function objectSize(members: number): number {
  if (members <= L.MAX_FIELDS) return 8 + L.cellsSize(members);
  return L.MAP_SIZE + 8 * members + L.cellsSize(members) + 64 * buckets(members) + 56;
}

/** Buckets of the hash block of a map of so many entries (PROFILE 7). */
export const buckets = (entries: number): number => (entries <= 16 ? 0 : Math.min(Math.ceil(entries / 8), 1 << 26));

/** Bytes of the data of a column that is no struct and no list, without its bitmaps. */
export function dataSize(code: number, count: number): number {
  switch (code) {
    case L.CELLS:
      return L.cellsSize(count);
    case L.BOOL:
      return L.bitmapSize(count);
    case L.MARKED_F32:
    case L.MARKED_F64:
      return L.word(L.WIDTHS[code]! * count) + L.bitmapSize(count);
    case L.DICTIONARY_U8:
    case L.DICTIONARY_U16:
      return L.word(L.WIDTHS[code]! * count) + 16;
    default:
      return L.word(L.WIDTHS[code]! * count);
  }
}

/** The narrowest column for offsets that reach `last`. */
const offsetsCode = (last: number): number => (last <= 0xff ? L.U8 : last <= 0xffff ? L.U16 : L.U32);

/** Whether binary32 holds a float exactly, by its bits. */
function isSingle(value: number, lo: number, hi: number): boolean {
  // A signalling NaN may become quiet on the way.
  if (Number.isNaN(value)) return (lo & 0x1fffffff) === 0 && (hi & 0x80000) !== 0;
  return Math.fround(value) === value;
}

/** Whether a float would be an integer in a column of numbers of this bound (FORMAT 6.1). */
export const isWhole = (value: number, bound: number): boolean =>
  Math.abs(value) <= bound && Number.isInteger(value) && !Object.is(value, -0);

/** What a column's values have in common. */
export class Summary {
  /** Slots, with and without a value; those where a row has no such member; those that hold a UUID. */
  count = 0;
  missing = 0;
  private uuids = 0;
  kinds = 0;
  /** Bytes of the containers among them as records and plain arrays. */
  plain = 0;
  private low = Infinity;
  private high = -Infinity;
  /** There are integers above 2⁶³ − 1. */
  private large = false;
  /** Four bytes hold all floats. */
  private single = true;
  /** The least magnitude of a float that would be an integer in a column of numbers. */
  private whole = Infinity;
  /** The smallest column without structs and lists, which `leaf` finds. */
  code = L.CELLS;
  size = 0;

  clear(): void {
    this.count = 0;
    this.missing = 0;
    this.uuids = 0;
    this.kinds = 0;
    this.plain = 0;
    this.low = Infinity;
    this.high = -Infinity;
    this.large = false;
    this.single = true;
    this.whole = Infinity;
  }

  /** Adds the value at a place of the stack. */
  add(stack: Stack, tensors: Tensor[], at: number): void {
    this.count++;
    const tag = stack.tags[at]!;
    const kind = KINDS[tag]!;
    this.kinds |= kind;
    if ((kind & (TEXT | BOOL | NULL)) !== 0) return;
    if (kind === INT) this.integer(tag, stack.cells[2 * at]!, stack.cells[2 * at + 1]!);
    else if (kind === FLOAT) this.float(stack.floats[at]!, stack.cells[2 * at]!, stack.cells[2 * at + 1]!);
    else if (kind === UUID) this.uuids++;
    else if (tag === S.WAITING_ARRAY) this.plain += stack.cells[2 * at + 1]!;
    else if (tag === S.WAITING_OBJECT) this.plain += stack.cells[2 * at + 1] === 0 ? 8 : stack.floats[at + 1]!;
    else if (tag === S.TENSOR) this.plain += tensors[stack.cells[2 * at]!]!.arraySize;
  }

  private integer(tag: number, lo: number, hi: number): void {
    if (tag === L.UINT) {
      this.large = true;
      return;
    }
    let value = (hi | 0) * 4294967296 + lo;
    // Above 2⁵³ only the magnitude matters, and 2⁵³ + 1 is rounded to 2⁵³.
    if (lo !== 0 && (value >= BOUND || value <= -BOUND)) value *= 1 + 2 ** -52;
    if (value < this.low) this.low = value;
    if (value > this.high) this.high = value;
  }

  private float(value: number, lo: number, hi: number): void {
    if (this.single && !isSingle(value, lo, hi)) this.single = false;
    const size = Math.abs(value);
    if (size < this.whole && isWhole(value, BOUND)) this.whole = size;
  }

  get gaps(): number {
    return ((this.kinds & NULL) !== 0 ? 1 : 0) + (this.missing > 0 ? 2 : 0);
  }

  /** The narrowest column that holds all values but null (PROFILE 6). */
  private typed(): number {
    const { low, high, single, whole } = this;
    switch (this.kinds & ~NULL) {
      case 0:
        return this.gaps !== 0 ? L.NULLS : L.CELLS;
      case BOOL:
        return L.BOOL;
      case INT: {
        if (this.large) return low < 0 ? L.CELLS : L.U64;
        const most = Math.max(low < 0 ? -low - 1 : low, high < 0 ? -high - 1 : high);
        if (most < 128) return L.I8;
        if (most < 32_768) return low >= 0 && most < 256 ? L.U8 : L.I16;
        if (most < 2 ** 31) return low >= 0 && most < 65_536 ? L.U16 : L.I32;
        return low >= 0 && most < 2 ** 32 ? L.U32 : L.I64;
      }
      case FLOAT:
        return single ? L.F32 : L.F64;
      case INT | FLOAT: {
        const most = Math.max(-low, high);
        if (this.large || most > BOUND) return L.CELLS;
        if (single && most <= MARKED_BOUND) return whole <= MARKED_BOUND ? L.MARKED_F32 : L.NUMBERS_F32;
        return whole <= BOUND ? L.MARKED_F64 : L.NUMBERS_F64;
      }
      case TEXT:
        return L.TEXTS;
      case OBJECT:
        return L.OBJECTS;
      case ARRAY:
      case TENSOR:
      case ARRAY | TENSOR:
        return L.ARRAYS;
      case DATE:
        return L.DATES;
      case TIME:
        return L.TIMES;
      case DATE_TIME:
        return L.DATE_TIMES;
      case TIMESTAMP:
        return L.TIMESTAMPS;
      case DECIMAL:
        return L.DECIMALS;
      case UUID:
        return L.UUIDS;
      default:
        return L.CELLS;
    }
  }

  /** Finds the smallest column without structs and lists: its code, and the bytes of its data. */
  leaf(tables: boolean): void {
    const { count, gaps } = this;
    const tagged = L.cellsSize(count);
    this.code = this.typed();
    // The bytes of a UUID itself cost nothing, as text does.
    const values = this.code === L.UUIDS ? 16 * (count - this.uuids) : dataSize(this.code, count);
    this.size = L.bitmapsSize(gaps, count) + values;
    if (this.size > tagged || (gaps !== 0 && !tables)) this.code = L.CELLS;
    if (this.code === L.CELLS) this.size = tagged;
  }
}

/** A tensor: its type, its lengths, and where its numbers are. */
export class Tensor {
  /** How many numbers there are, and their bytes. */
  readonly count: number;
  readonly size: number;

  constructor(
    readonly code: number,
    readonly lengths: number[],
    readonly bytes: Uint8Array,
  ) {
    this.count = lengths.reduce((n, length) => n * length, 1);
    this.size = this.count * L.WIDTHS[code]!;
  }

  /** Bytes of the array by itself. */
  get arraySize(): number {
    return 16 + 32 * (this.lengths.length - 1) + L.word(this.size);
  }

  isLike(other: Tensor): boolean {
    return (
      this.code === other.code &&
      this.lengths.length === other.lengths.length &&
      this.lengths.every((length, i) => length === other.lengths[i])
    );
  }
}

/** How a column is to be laid out. */
export class Plan {
  code: number;
  gaps: number;
  /** Bytes behind the column's header, text and shapes of others apart. */
  size: number;
  /** Containers wait in it, or below it, that are no part of columns. */
  waits: boolean;
  /** Of a table, its keys and its columns; one more has the orders of rows. */
  keys: KeyText[] | null = null;
  columns: Plan[] | null = null;
  /** Of a list, the column of the elements, and where each array ends; no ends where all have one length. */
  child: Plan | null = null;
  ends: Uint32Array | null = null;
  /** Of a list or run, the code of the offsets; 0 where all texts have one length. */
  offsets = 0;
  /** Of a dictionary, the tag and the cell of each text, and the code of each slot. */
  texts: number[] | null = null;
  codes: Uint16Array | null = null;
  /** Bytes of a run's texts. */
  bytes = 0;
  /** The type and shape of a column of tensors. */
  tensor: Tensor | null = null;

  constructor(
    summary: Summary,
    /** The places of the values: the first one in the planner's list, and their count. */
    readonly from: number,
    readonly count: number,
  ) {
    this.code = summary.code;
    this.gaps = summary.code === L.CELLS ? 0 : summary.gaps;
    this.size = summary.size + summary.plain;
    this.waits = (summary.kinds & (OBJECT | ARRAY | TENSOR)) !== 0;
  }
}

/** A set of numbers from which the least one is taken, over and over. */
class Lowest {
  private readonly there: Uint8Array;
  /** How many are there of each 256 numbers. */
  private readonly blocks: Uint16Array;
  /** @param count What all numbers are below. */
  constructor(count: number) {
    this.there = new Uint8Array(count);
    this.blocks = new Uint16Array((count >>> 8) + 1);
  }
  add(number: number): void {
    this.there[number] = 1;
    this.blocks[number >>> 8]!++;
  }
  /** The least number; −1 where there is none. */
  take(): number {
    let block = 0;
    while (this.blocks[block] === 0) block++;
    if (block === this.blocks.length) return -1;
    let number = block << 8;
    while (this.there[number] === 0) number++;
    this.there[number] = 0;
    this.blocks[block]!--;
    return number;
  }
}

export class Planner {
  /** The places of all columns' values. */
  places = new Int32Array(1024);
  used = 0;
  tables = true;
  /** Tensors that wait. */
  tensors: Tensor[] = [];
  /** Codes, and 1, of a dictionary's texts by their cells. */
  private table = new Uint32Array(64);

  constructor(
    private readonly stack: Stack,
    private readonly texts: Texts,
    private readonly keys: Keys,
  ) {}

  /** Takes room for so many places, and returns the first. */
  private room(count: number): number {
    const from = this.used;
    if (from + count > this.places.length) {
      const bytes = new Uint8Array(this.places.buffer);
      this.places = new Int32Array(grown(bytes, 4 * (from + count)).buffer);
    }
    this.used = from + count;
    return from;
  }

  /** The plan for the values from `start` to `end` as one array's column. */
  array(start: number, end: number): Plan {
    const { stack } = this;
    const summary = new Summary();
    const from = this.room(end - start);
    const { places } = this;
    for (let at = start; at < end; at = stack.behind(at)) {
      places[from + summary.count] = at;
      summary.add(stack, this.tensors, at);
    }
    this.used = from + summary.count;
    return this.column(summary, from, 0);
  }

  /** The smallest plan for these values, with `depth` structs and lists around them. */
  private column(summary: Summary, from: number, depth: number): Plan {
    const { count } = summary;
    const kinds = summary.kinds & ~NULL;
    const end = this.used;
    summary.leaf(this.tables);
    const plain = new Plan(summary, from, count);
    if (!this.tables) {
      plain.waits = false;
      return plain;
    }
    if (count >= 2 && depth < L.MAX_COLUMN_NESTING && (kinds === OBJECT || kinds === ARRAY || kinds === TENSOR)) {
      const bits = L.bitmapsSize(summary.gaps, count);
      const size = plain.size - bits;
      summary.code = L.STRUCT;
      const other = new Plan(summary, from, count);
      const found =
        kinds === OBJECT
          ? this.struct(other, depth, size)
          : kinds === ARRAY
            ? this.list(other, depth)
            : this.tensor(other, depth);
      if (found && other.size <= size) {
        other.size += bits;
        return other;
      }
      this.used = end;
    }
    if (kinds === TEXT && count >= LEAST_TEXTS) this.text(plain, summary.gaps);
    return plain;
  }

  // --- texts

  /** Makes a column of texts a dictionary or a run, where that is smaller. */
  private text(plan: Plan, gaps: number): void {
    const { count } = plan;
    const bits = L.bitmapsSize(gaps, count);
    const texts: number[] = [];
    const codes = this.dictionary(plan, texts, Math.floor((plan.size - bits - L.word(count) - 16) / 8));
    if (codes !== null) {
      const code = texts.length <= 3 * 256 ? L.DICTIONARY_U8 : L.DICTIONARY_U16;
      const size = bits + dataSize(code, count) + 8 * (texts.length / 3);
      if (size < plan.size) {
        plan.code = code;
        plan.gaps = gaps;
        plan.size = size;
        plan.texts = texts;
        plan.codes = codes;
      }
    }
    const { stack, places } = this;
    let [bytes, more, there, first, uniform] = [0, 0, 0, 0, true];
    for (let i = 0; i < count; i++) {
      const at = places[plan.from + i]!;
      if (at < 0) continue;
      const tag = stack.tags[at]!;
      if (tag === L.NULL) continue;
      const lo = stack.cells[2 * at]!;
      const hi = stack.cells[2 * at + 1]!;
      const length = tag === S.WAITING ? this.texts.length(lo) : tag === S.LOOSE ? hi : (hi >>> 24) & 0x7f;
      if (length > L.MAX_SHARED) return;
      bytes += length;
      if (there++ === 0) first = length;
      else if (length !== first) uniform = false;
      if (tag === L.TEXT || (tag === S.WAITING && !this.texts.isSingle(lo))) more += length;
    }
    const absent = (count - there) * first;
    const fixed = uniform && bytes > 0 && absent <= bytes;
    const offsets = fixed ? 0 : offsetsCode(bytes);
    if (fixed) bytes += absent;
    const own = fixed ? 32 + absent : 48 + dataSize(offsets, count + 1);
    const size = bits + own + more + L.word(bytes) - bytes;
    if (size >= plan.size || bytes > L.MAX_SPAN) return;
    plan.code = L.RUN;
    plan.gaps = gaps;
    plan.size = size;
    plan.offsets = offsets;
    plan.bytes = bytes;
    plan.texts = null;
    plan.codes = null;
  }

  /** The codes of texts, of which there are at most so many; `null` if there can be no dictionary. */
  private dictionary(plan: Plan, texts: number[], most: number): Uint16Array | null {
    const { stack, places } = this;
    const { count, from } = plan;
    if (most > MOST_TEXTS) most = MOST_TEXTS;
    if (most < 1) return null;
    let size = 64;
    while (size < 2 * Math.min(most, count)) size *= 2;
    let { table } = this;
    if (table.length < size) {
      table = new Uint32Array(size);
      this.table = table;
    } else table.fill(0, 0, size);
    const codes = new Uint16Array(count);
    let n = 0;
    let latestLo = 0;
    let latestHi = 0;
    let latest = -1;
    for (let i = 0; i < count; i++) {
      const at = places[from + i]!;
      if (at < 0) continue;
      const tag = stack.tags[at]!;
      if (tag === L.NULL) continue;
      const lo = stack.cells[2 * at]!;
      const hi = stack.cells[2 * at + 1]!;
      if (latest >= 0 && lo === latestLo && hi === latestHi) {
        codes[i] = latest;
        continue;
      }
      let code = -1;
      if (tag === S.LOOSE && hi > L.MAX_SHARED) return null;
      // What was met once equals no other.
      if (tag === L.TEXT || (tag === S.WAITING && !this.texts.isSingle(lo))) {
        let place = (Math.imul(lo ^ Math.imul(hi, 0x85ebca6b), 0x9e3779b1) >>> 8) & (size - 1);
        while (table[place] !== 0) {
          const there = table[place]! - 1;
          if (texts[3 * there + 1] === lo && texts[3 * there + 2] === hi) {
            code = there;
            break;
          }
          place = (place + 1) & (size - 1);
        }
        if (code < 0) table[place] = n + 1;
      }
      if (code < 0) {
        if (n >= most) return null;
        code = n++;
        texts.push(tag, lo, hi);
      }
      codes[i] = code;
      latestLo = lo;
      latestHi = hi;
      latest = code;
    }
    return n === 0 ? null : codes;
  }

  // --- structs

  /** Makes a struct of objects; false if it would take more than `size` bytes, or cannot be had. */
  private struct(plan: Plan, depth: number, size: number): boolean {
    const { stack } = this;
    const { count, from } = plan;
    const { lists } = this.keys;
    // The different key lists as they are met, and the number of each.
    const met: KeyList[] = [];
    const numbers = new Map<number, number>();
    let [filled, listed, latest] = [0, 0, -1];
    for (let i = 0; i < count; i++) {
      const at = this.places[from + i]!;
      if (at < 0 || stack.tags[at] === L.NULL) continue;
      // A map among the objects has no key list.
      if (stack.tags[at] !== S.WAITING_OBJECT) return false;
      const id = stack.cells[2 * at]!;
      filled += lists[id]!.depth;
      if (id === latest) continue;
      latest = id;
      if (numbers.has(id)) continue;
      numbers.set(id, met.length);
      met.push(lists[id]!);
      listed += lists[id]!.depth;
    }
    if (met.length > MOST_LISTS || (met.length > 1 && listed > MOST_LISTED)) return false;
    // Keys that few rows have make wide tables of nothing.
    const most = Math.min(Math.floor((4 * filled) / count), L.MAX_COLUMNS);
    const orders: number[][] = [];
    const keys = met.length === 1 ? met[0]!.keys() : this.merge(met, most, orders);
    if (keys === null) return false;
    const width = keys.length;
    if (width === 0 || width > most) return false;
    const below = this.room(width * count);
    const { places } = this;
    places.fill(MISSING, below, below + width * count);
    const columns: Summary[] = [];
    for (let i = 0; i < width; i++) columns.push(new Summary());
    for (let i = 0; i < count; i++) {
      const row = places[from + i]!;
      if (row < 0 || stack.tags[row] !== S.WAITING_OBJECT) continue;
      const end = stack.behind(row);
      const order = met.length > 1 ? orders[numbers.get(stack.cells[2 * row]!)!]! : null;
      for (let at = row + 2, k = 0; at < end; at = stack.behind(at), k++) {
        const column = order === null ? k : order[k]!;
        places[below + column * count + i] = at;
        columns[column]!.add(stack, this.tensors, at);
      }
    }
    // What the columns take at least, so that those of no use are not planned.
    plan.size = L.TABLE_SIZE + 16 * width + (met.length > 1 ? this.shapeSize(width) : 0);
    let least = plan.size;
    for (const column of columns) {
      column.missing = count - column.count;
      column.count = count;
      least += this.least(column);
    }
    plan.keys = keys;
    plan.columns = [];
    plan.waits = false;
    for (let i = 0; i < width; i++) {
      if (least > size) return false;
      least -= this.least(columns[i]!);
      const column = this.column(columns[i]!, below + i * count, depth + 1);
      plan.columns.push(column);
      plan.size += column.size;
      least += column.size;
      if (column.waits) plan.waits = true;
    }
    if (orders.some((order) => !isSorted(order))) {
      const own = this.orders(plan, orders, numbers);
      plan.columns.push(own);
      plan.size += 16 + own.size;
    }
    return true;
  }

  private shapeSize(keys: number): number {
    return (keys > L.MAX_FIELDS ? L.word(16 + 2 * keys) : L.word(8 + keys)) + 8 * keys;
  }

  /** Bytes that a column of these values takes at least. */
  private least(summary: Summary): number {
    const kinds = summary.kinds & ~NULL;
    if (kinds === TEXT || kinds === OBJECT || kinds === ARRAY || kinds === TENSOR) return 0;
    summary.leaf(true);
    return summary.size;
  }

  /** The column with the orders of rows whose members are not in that of the columns. */
  private orders(table: Plan, orders: number[][], numbers: Map<number, number>): Plan {
    const { stack, texts } = this;
    const { count } = table;
    const summary = new Summary();
    const [found, listCodes]: [number[], number[]] = [[], []];
    let textSize = 0;
    for (const order of orders) {
      if (isSorted(order)) {
        listCodes.push(-1);
        continue;
      }
      listCodes.push(found.length / 3);
      const n = order.length;
      if (n <= 7) {
        let [lo, hi] = [0, (0x80 + n) << 24];
        order.forEach((column, i) => {
          if (i < 4) lo |= column << (8 * i);
          else hi |= column << (8 * (i - 4));
        });
        found.push(L.TEXT, lo >>> 0, hi >>> 0);
      } else {
        textSize += n;
        texts.putBytes(Uint8Array.from(order), 0, n);
        found.push(S.LOOSE, texts.keep(n), n);
      }
    }
    const codes = new Uint16Array(count);
    const from = this.room(count);
    for (let i = 0; i < count; i++) {
      const row = this.places[table.from + i]!;
      const isRow = row >= 0 && stack.tags[row] === S.WAITING_OBJECT;
      const code = isRow ? listCodes[numbers.get(stack.cells[2 * row]!)!]! : -1;
      this.places[from + i] = code < 0 ? MISSING : row;
      if (code < 0) summary.missing++;
      else codes[i] = code;
    }
    summary.code = found.length <= 3 * 256 ? L.DICTIONARY_U8 : L.DICTIONARY_U16;
    summary.size =
      L.bitmapsSize(summary.gaps, count) + dataSize(summary.code, count) + 8 * (found.length / 3) + textSize;
    const plan = new Plan(summary, from, count);
    plan.texts = found;
    plan.codes = codes;
    return plan;
  }

  /**
   * Merges key lists into one of all their keys, and fills `orders` with the places of each list's keys in it. `null`
   * where there are more than `most` keys, or more than 128 in lists that contradict each other.
   */
  private merge(lists: KeyList[], most: number, orders: number[][]): KeyText[] | null {
    const keys: KeyText[] = [];
    const numbers = new Map<KeyText, number>();
    const followers: number[][] = [];
    const before: number[] = [];
    for (const list of lists) {
      const order: number[] = [];
      for (const key of list.keys()) {
        let number = numbers.get(key);
        if (number === undefined) {
          number = keys.length;
          if (number >= most) return null;
          numbers.set(key, number);
          keys.push(key);
          followers.push([]);
          before.push(0);
        }
        if (order.length > 0) {
          followers[order[order.length - 1]!]!.push(number);
          before[number]!++;
        }
        order.push(number);
      }
      orders.push(order);
    }
    const free = new Lowest(keys.length);
    before.forEach((count, key) => {
      if (count === 0) free.add(key);
    });
    const place: number[] = new Array(keys.length);
    const merged: KeyText[] = [];
    while (merged.length < keys.length) {
      let next = free.take();
      if (next < 0) {
        if (keys.length > MOST_ORDERED) return null;
        next = before.findIndex((count) => count >= 0);
      }
      // It is placed.
      before[next] = -1;
      place[next] = merged.length;
      merged.push(keys[next]!);
      for (const to of followers[next]!) {
        if (before[to]! > 0 && --before[to]! === 0) free.add(to);
      }
    }
    for (const order of orders) for (let i = 0; i < order.length; i++) order[i] = place[order[i]!]!;
    return merged;
  }

  // --- lists and tensors

  /** Makes a list of arrays; false if it cannot be had. */
  private list(plan: Plan, depth: number): boolean {
    const { stack } = this;
    const { count, from } = plan;
    const elements = new Summary();
    const ends = new Uint32Array(count);
    const begin = this.used;
    let [length, absent, uniform] = [-1, 0, true];
    for (let i = 0; i < count; i++) {
      const row = this.places[from + i]!;
      if (row >= 0 && stack.tags[row] === S.WAITING_ARRAY) {
        const first = elements.count;
        const end = stack.behind(row);
        let to = this.room(end - row - 1);
        const { places } = this;
        for (let at = row + 1; at < end; at = stack.behind(at)) {
          places[to++] = at;
          elements.add(stack, this.tensors, at);
        }
        this.used = to;
        const here = elements.count - first;
        if (length < 0) length = here;
        else if (length !== here) uniform = false;
      } else if (row >= 0 && stack.tags[row] !== L.NULL) {
        // An array that was laid out already cannot be part of a list.
        return false;
      } else absent++;
      ends[i] = elements.count;
    }
    const total = elements.count;
    if (total === 0 && count < 4) return false;
    const fixed = uniform && length > 0 && absent * length <= total;
    if (fixed && absent > 0) {
      // Spread from the last, each behind those that are missing before it.
      let end = this.used;
      this.room(absent * length);
      const { places } = this;
      for (let i = count - 1; i >= 0; i--) {
        const to = begin + i * length;
        const row = places[from + i]!;
        if (row >= 0 && stack.tags[row] === S.WAITING_ARRAY) {
          end -= length;
          places.copyWithin(to, end, end + length);
        } else places.fill(MISSING, to, to + length);
      }
      elements.missing = absent * length;
      elements.count = count * length;
    }
    const child = this.column(elements, begin, depth + 1);
    plan.child = child;
    plan.waits = child.waits;
    plan.code = fixed ? L.FIXED_LISTS : L.LISTS;
    plan.size = (fixed ? 32 : 48) + child.size;
    if (!fixed) {
      plan.ends = ends;
      plan.offsets = offsetsCode(total);
      plan.size += dataSize(plan.offsets, count + 1);
    }
    return true;
  }

  /** Makes a list of tensors of one type and shape; false if it cannot be had. */
  private tensor(plan: Plan, depth: number): boolean {
    const { stack } = this;
    const { count, from } = plan;
    let first: Tensor | null = null;
    let there = 0;
    for (let i = 0; i < count; i++) {
      const at = this.places[from + i]!;
      if (at < 0 || stack.tags[at] !== S.TENSOR) continue;
      const tensor = this.tensors[stack.cells[2 * at]!]!;
      first ??= tensor;
      if (!tensor.isLike(first)) return false;
      there++;
    }
    const d = first!.lengths.length;
    const numbers = count * first!.count;
    if (first!.count === 0 || depth + d > L.MAX_COLUMN_NESTING || numbers > L.MAX_ELEMENTS) return false;
    if (count - there > there) return false;
    plan.code = L.FIXED_LISTS;
    plan.size = 32 * d + L.word(count * first!.size);
    plan.tensor = first;
    plan.waits = false;
    return true;
  }
}

function isSorted(order: number[]): boolean {
  for (let i = 1; i < order.length; i++) if (order[i]! < order[i - 1]!) return false;
  return true;
}
