// Columns: one member of all elements of an array, as the document stores it.

import { damage } from "./error.js";
import { keyOf } from "./key.js";
import * as L from "./layout.js";
import type { Memory } from "./memory.js";
import {
  bitmapsOf,
  Cursor,
  checkColumn,
  columnsOf,
  dictionaryTexts,
  findInShape,
  gapAt,
  half,
  offsetAt,
  SCALAR,
  slotValue,
  tensorAt,
  valuesAt,
  wholeIndex,
} from "./read.js";
import { Decimal, NumberText } from "./scalar.js";
import { viewAt } from "./view.js";

/**
 * Numbers of a column, over the document's bytes. A `Float16Array`, which many compilers do not know yet, has the type of
 * a `Float32Array`, which holds the same numbers.
 */
export type Numbers =
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

type NumbersClass = {
  name: string;
  new (buffer: ArrayBufferLike, start: number, length: number): Numbers;
  BYTES_PER_ELEMENT: number;
};

/** The typed array of a column, by its code. Dates are days, times microseconds. */
export const ARRAYS_OF: { [code: number]: NumbersClass } = {
  [L.I8]: Int8Array,
  [L.I16]: Int16Array,
  [L.I32]: Int32Array,
  [L.I64]: BigInt64Array,
  [L.U8]: Uint8Array,
  [L.U16]: Uint16Array,
  [L.U32]: Uint32Array,
  [L.U64]: BigUint64Array,
  [L.F32]: Float32Array,
  [L.F64]: Float64Array,
  [L.NUMBERS_F32]: Float32Array,
  [L.NUMBERS_F64]: Float64Array,
  [L.MARKED_F32]: Float32Array,
  [L.MARKED_F64]: Float64Array,
  [L.DATES]: Int32Array,
  [L.TIMES]: BigInt64Array,
  [L.DATE_TIMES]: BigInt64Array,
  [L.TIMESTAMPS]: BigInt64Array,
  [L.DICTIONARY_U8]: Uint8Array,
  [L.DICTIONARY_U16]: Uint16Array,
  [L.F16]: (globalThis as { Float16Array?: NumbersClass }).Float16Array ?? Uint16Array,
  [L.BOOL8]: Uint8Array,
};

/**
 * The code of the tensor that a typed array becomes, and `undefined` for bytes. It is known by its name, since it may be
 * of another realm.
 */
export function tensorCode(value: object): number | undefined {
  const name = Object.prototype.toString.call(value).slice(8, -1);
  for (let code: number = L.I8; code <= L.F16; code++) {
    const known = code === L.U8 ? "Uint8ClampedArray" : ARRAYS_OF[code]?.name;
    if (L.isTensorCode(code) && known === name) return code;
  }
  return undefined;
}

/** The values of one member of all elements of an array. */
export class Column {
  readonly #m: Memory;
  readonly #header: number;
  readonly #first: number;
  /** Values that were gathered, since the document does not store them as a column. */
  readonly #gathered: unknown[] | undefined;
  /** How many values the column has, those that are missing included. */
  readonly length: number;

  /** @internal */
  constructor(m: Memory, header: number, first: number, length: number, gathered?: unknown[]) {
    this.#m = m;
    this.#header = header;
    this.#first = first;
    this.length = length;
    this.#gathered = gathered;
  }

  /** Whether the document stores these values as a column, so that they need not be gathered one by one. */
  get stored(): boolean {
    return this.#gathered === undefined;
  }

  #code(): number {
    return this.#gathered === undefined ? this.#m.u8[this.#header + 1]! : -1;
  }

  /**
   * The numbers where they lie in the document: nothing is copied, and an edit shows. `null` if the column has no
   * numbers, or is not {@link stored}. Slots without a value are 0. Dates are days since 1970-01-01, times and
   * timestamps microseconds, a dictionary's texts the {@link codes}. Floats of 16 bits, which are in tensors only, are a
   * `Float16Array`; an engine that has none gets a copy of them as a `Float32Array`, which is exact.
   */
  get values(): Numbers | null {
    return L.isDictionary(this.#code()) ? null : this.#array();
  }

  #array(): Numbers | null {
    const made = ARRAYS_OF[this.#code()];
    if (made === undefined) return null;
    const m = this.#m;
    const start = valuesAt(m, this.#header) + made.BYTES_PER_ELEMENT * this.#first;
    if (start % made.BYTES_PER_ELEMENT !== 0) throw damage("Misaligned", this.#header);
    m.reach(start, made.BYTES_PER_ELEMENT * this.length);
    const numbers = new made(m.u8.buffer, m.u8.byteOffset + start, this.length);
    return this.#code() === L.F16 && made === Uint16Array ? Float32Array.from(numbers as Uint16Array, half) : numbers;
  }

  /** Of a dictionary, which of its {@link texts} each value is. `null` for other columns. */
  get codes(): Uint8Array | Uint16Array | null {
    return L.isDictionary(this.#code()) ? (this.#array() as Uint8Array | Uint16Array) : null;
  }

  /** The texts of a dictionary, each once. `null` for other columns. */
  get texts(): string[] | null {
    if (this.codes === null) return null;
    const m = this.#m;
    const header = dictionaryTexts(m, this.#header);
    checkColumn(m, header);
    const count = m.u32[(header >>> 2) + 1]!;
    return Array.from({ length: count }, (_, i) => slotValue(m, header, i) as string);
  }

  /**
   * A bit for each value, the lowest of a byte first: 1 where there is a value, 0 where it is null or missing. `null` if
   * every value is there, or the column is not {@link stored}.
   */
  get valid(): Uint8Array | null {
    const m = this.#m;
    // Cells have tags in place of bits.
    const cells = this.#code() === L.CELLS;
    if (this.#gathered !== undefined || (m.u8[this.#header + 2] === 0 && !cells)) return null;
    if (!cells && this.#first % 8 === 0) {
      return m.bytes(bitmapsOf(m, this.#header) + this.#first / 8, Math.ceil(this.length / 8));
    }
    const copy = new Uint8Array(Math.ceil(this.length / 8));
    let all = true;
    for (let i = 0; i < this.length; i++) {
      if (this.isValid(i)) copy[i >>> 3]! |= 1 << (i & 7);
      else all = false;
    }
    return all ? null : copy;
  }

  /** Whether value i is there, and is not null; from the end if i is negative. */
  isValid(i: number): boolean {
    i = wholeIndex(i, this.length);
    if (this.#gathered !== undefined) return this.#gathered[i] !== undefined && this.#gathered[i] !== null;
    return i >= 0 && i < this.length && this.#cursor(i).tag > L.NULL;
  }

  #cursor(i: number): Cursor {
    const cursor = new Cursor(this.#m);
    cursor.toSlot(this.#header, this.#first + i);
    return cursor;
  }

  /** Value i, from the end if i is negative: `undefined` where it is missing, `null` where it is null. */
  at(i: number): unknown {
    i = wholeIndex(i, this.length);
    if (!(i >= 0 && i < this.length)) return undefined;
    if (this.#gathered !== undefined) return this.#gathered[i];
    const gap = gapAt(this.#m, this.#header, this.#first + i);
    if (gap >= 0) return gap === L.NULL ? null : undefined;
    const code = this.#code();
    const container = code === L.CELLS || (code >= L.OBJECTS && code <= L.FIXED_LISTS);
    return container ? viewAt(this.#cursor(i)) : slotValue(this.#m, this.#header, this.#first + i);
  }

  *[Symbol.iterator](): IterableIterator<unknown> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }

  /** All values as an array. Texts of a dictionary are decoded once each. */
  toArray(): unknown[] {
    if (this.#gathered !== undefined) return [...this.#gathered];
    const { codes, texts, length } = this;
    const whole = codes !== null && this.valid === null;
    return Array.from({ length }, (_, i) =>
      codes !== null && (whole || this.isValid(i)) ? texts![codes[i]!] : this.at(i),
    );
  }

  /**
   * The values as floats in memory of their own: NaN where there is no number. It works however the document stores
   * them, and rounds decimals and integers beyond 2⁵³.
   */
  toFloat64Array(): Float64Array {
    const { values } = this;
    if (values !== null && this.valid === null && this.#code() <= L.MARKED_F64) {
      return Float64Array.from(values as ArrayLike<number | bigint>, Number);
    }
    return Float64Array.from({ length: this.length }, (_, i) => {
      const value = this.at(i);
      const isNumber = value instanceof Decimal || value instanceof NumberText;
      return isNumber || typeof value === "number" || typeof value === "bigint" ? Number(value) : NaN;
    });
  }

  /** Of a column of arrays stored behind each other: all their elements, and where each array begins. Else `null`. */
  get lists(): { offsets: Uint32Array; elements: Column } | null {
    const code = this.#code();
    if (code !== L.LISTS && code !== L.FIXED_LISTS) return null;
    const m = this.#m;
    const list = m.u32[(this.#header >>> 2) + 3]!;
    const elements = list + L.LIST_ELEMENTS;
    checkColumn(m, elements);
    const offsets = Uint32Array.from({ length: this.length + 1 }, (_, i) => offsetAt(m, list, this.#first + i));
    return { offsets, elements: new Column(m, elements, 0, m.u32[(elements >>> 2) + 1]!) };
  }

  /** The lengths of a tensor in each dimension, the column's first; `null` if it is none. */
  get shape(): number[] | null {
    if (this.#gathered !== undefined || this.#m.u8[this.#header + 3] !== 1) return null;
    return tensorAt(this.#m, this.#header, this.#first, this.length).lengths;
  }

  /** All numbers of a tensor, those of the last dimension next to each other; `null` if the column is none. */
  get tensor(): Numbers | null {
    if (this.shape === null) return null;
    const { header, first, count } = tensorAt(this.#m, this.#header, this.#first, this.length);
    return new Column(this.#m, header, first, count).#array();
  }
}

/** The column at a path of keys below an array's elements. */
export function columnOf(array: Cursor, path: string[]): Column {
  const { m, first, count } = array;
  let header = array.at;
  for (const step of path) {
    const code = m.u8[header + 1]!;
    const table = m.u32[(header >>> 2) + 3]!;
    if (code !== L.STRUCT) return gather(array, path);
    const cursor = new Cursor(m);
    cursor.toRow(table, 0);
    const k = columnsOf(m, table);
    const i = findInShape(m, m.u32[(table >>> 2) + 1]!, k, keyOf(step));
    // The member may be beside the columns of a few rows.
    if (i < 0) return gather(array, path);
    header = table + L.TABLE_SIZE + 16 * i;
    checkColumn(m, header);
    if (first + count > m.u32[(header >>> 2) + 1]!) throw damage("BadCount", header);
  }
  return new Column(m, header, first, count);
}

/** The same where the values are no column: elements one by one. */
function gather(array: Cursor, path: string[]): Column {
  const { m, count } = array;
  const cursor = new Cursor(m);
  const steps = path.map(keyOf);
  const values = Array.from({ length: count }, (_, i) => {
    cursor.copy(array);
    cursor.toElement(i);
    for (const step of steps) if (!cursor.toMember(step)) return undefined;
    return cursor.kind === SCALAR ? cursor.scalar() : viewAt(cursor);
  });
  return new Column(m, 0, 0, count, values);
}
