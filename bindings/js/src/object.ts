// Plain objects and arrays from a document.

import { Column } from "./column.js";
import { damage, LivebufError } from "./error.js";
import { decode, keyOf, spanLength, spanStart, textAt } from "./key.js";
import * as L from "./layout.js";
import type { Memory } from "./memory.js";
import {
  ARRAY,
  Cursor,
  checkColumn,
  columnsOf,
  dictionaryCell,
  dictionaryTexts,
  extraOf,
  gapAt,
  Members,
  offsetAt,
  RECORD,
  SCALAR,
  shapeCount,
  shapeKeys,
  slotValue,
} from "./read.js";
import { base64, NumberText, raw } from "./scalar.js";

/** How values become plain ones. */
export interface PlainOptions {
  /**
   * Integers beyond 2⁵³: `"bigint"`, which is exact, or `"number"`, which rounds them, as `JSON.parse` does.
   * Numbers that were kept as text become numbers with `"number"`, too. Default: `"bigint"`.
   */
  bigints?: "bigint" | "number";
  /**
   * Most values that are made, since a small document may stand for many. Default: eight for each byte of the document,
   * and a million.
   */
  values?: number;
}

/** A value as plain objects, arrays, strings, numbers, and the classes of this package. */
export function plain(cursor: Cursor, options: PlainOptions = {}): unknown {
  return new Plain(cursor.m, options).of(cursor, 0);
}

/** A value as `JSON.stringify` prints it: plain, with numbers that no double holds by their digits. */
export function forJSON(cursor: Cursor): unknown {
  const value = new Plain(cursor.m, {}, raw).of(cursor, 0) as { toJSON?: () => unknown } | null;
  // It does not ask what a `toJSON` returned for its own.
  return cursor.kind === SCALAR && typeof value?.toJSON === "function" ? value.toJSON() : value;
}

/** An object's member, whatever its key is; `undefined` is none. */
function put(object: Record<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) return;
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else object[key] = value;
}

class Plain {
  private left: number;
  private readonly shapes = new Map<number, string[]>();
  private readonly texts = new Map<number, string>();

  constructor(
    private readonly m: Memory,
    options: PlainOptions,
    /** What bigints and number texts become, if they do not stay what they are. */
    private readonly made: ((number: unknown) => unknown) | null = options.bigints === "number" ? Number : null,
  ) {
    this.left = options.values ?? 8 * m.used + 1_000_000;
  }

  /** Pays for values before they are made. */
  private pay(count: number): void {
    this.left -= count;
    if (this.left < 0) {
      throw new LivebufError("BudgetExceeded", "the document stands for more values than `values` allows");
    }
  }

  of(cursor: Cursor, depth: number): unknown {
    if (cursor.kind === SCALAR) {
      this.pay(1);
      return this.scalar(cursor);
    }
    if (depth >= L.MAX_NESTING) throw damage("NestingLimit", cursor.at);
    if (cursor.kind === ARRAY) return this.column(cursor.at, cursor.first, cursor.count, depth + 1);
    this.pay(1);
    const { m, at } = cursor;
    const object: Record<string, unknown> = {};
    if (cursor.kind === RECORD) {
      // As below, with keys that are decoded once.
      const used = m.u8[at + 2]!;
      const keys = used === 0 ? [] : this.keys(m.u32[(at >>> 2) + 1]!, used);
      const field = new Cursor(m);
      for (let i = 0; i < used; i++) {
        field.at = at;
        if (field.toField(i)) put(object, keys[i]!, this.of(field, depth + 1));
      }
      return object;
    }
    const members = new Members(cursor);
    while (members.next()) put(object, textAt(m, members.key), this.of(members.value, depth + 1));
    return object;
  }

  private scalar(cursor: Cursor): unknown {
    if (cursor.row < 0 && cursor.tag === L.TEXT) return this.text(cursor.at);
    const value = cursor.scalar();
    // Many values of a damaged document may be one long text.
    if (typeof value === "string" || value instanceof Uint8Array) this.pay(value.length >>> 6);
    // Bytes of a document that is edited or shared change with it.
    if (value instanceof Uint8Array) return this.made === raw ? base64(value) : value.slice();
    return this.number(value);
  }

  private number(value: unknown): unknown {
    const { made } = this;
    return made !== null && (typeof value === "bigint" || value instanceof NumberText) ? made(value) : value;
  }

  /** A text in a cell. Those that other cells may share are decoded once. */
  private text(cell: number): string {
    const { m } = this;
    const hi = m.u32[(cell >>> 2) + 1]!;
    const length = spanLength(m, cell);
    if (hi >= 0x40000000) {
      this.pay(length >>> 6);
      return decode(m, spanStart(m, cell), length);
    }
    const start = m.u32[cell >>> 2]!;
    const name = start + length * 4294967296;
    let text = this.texts.get(name);
    if (text === undefined) {
      text = decode(m, start, length);
      this.texts.set(name, text);
    }
    return text;
  }

  /** The keys of a shape, decoded once. */
  private keys(shape: number, n: number): string[] {
    const { m } = this;
    let keys = this.shapes.get(shape);
    if (keys === undefined) {
      const count = shapeCount(m, shape);
      const cells = shapeKeys(m, shape);
      keys = Array.from({ length: count }, (_, i) => {
        const text = textAt(m, cells + 8 * i);
        const key = keyOf(text);
        // The string that engines keep for a property's name, by which they find it at once.
        key.name ??= Object.keys({ [text]: 0 })[0]!;
        return key.name;
      });
      this.shapes.set(shape, keys);
    }
    if (n > keys.length) throw damage("BadCount", shape);
    return keys;
  }

  /** The values of some slots of a column; `undefined` for those that are missing. */
  private column(header: number, first: number, count: number, depth: number): unknown[] {
    const { m } = this;
    this.pay(count + 1);
    const code = m.u8[header + 1]!;
    if (code === L.STRUCT) return this.rows(header, first, count, depth);
    const values: unknown[] = new Array(count);
    if (L.isDictionary(code) && count > 4) {
      const cells = dictionaryTexts(m, header);
      const texts: string[] = [];
      for (let i = 0; i < count; i++) {
        const gap = gapAt(m, header, first + i);
        if (gap >= 0) {
          values[i] = gap === L.NULL ? null : undefined;
          continue;
        }
        const cell = dictionaryCell(m, header, first + i);
        const text = (cell - m.u32[(cells >>> 2) + 3]!) >>> 3;
        values[i] = texts[text] ??= textAt(m, cell);
      }
      return values;
    }
    const whole = m.u8[header + 2] === 0;
    if (whole && count > 8 && ((code >= L.I8 && code <= L.F64) || (code >= L.NUMBERS_F32 && code <= L.MARKED_F64))) {
      const numbers = new Column(m, header, first, count).values!;
      if (!(numbers instanceof BigInt64Array || numbers instanceof BigUint64Array)) return Array.from(numbers);
    }
    if (whole && code >= L.BOOL && code <= L.F64) {
      // No slot without a value, and nothing to decode.
      for (let i = 0; i < count; i++) values[i] = this.number(slotValue(m, header, first + i));
      return values;
    }
    if (code === L.LISTS || code === L.FIXED_LISTS) {
      this.lists(header, first, values, depth);
      return values;
    }
    const cursor = new Cursor(m);
    for (let i = 0; i < count; i++) {
      cursor.toSlot(header, first + i);
      values[i] = cursor.kind === SCALAR ? this.scalar(cursor) : this.of(cursor, depth);
    }
    return values;
  }

  /** The arrays of a list column, cut out of their elements, which are made together. */
  private lists(header: number, first: number, values: unknown[], depth: number): void {
    const { m } = this;
    if (depth >= L.MAX_NESTING) throw damage("NestingLimit", header);
    const count = values.length;
    if (count === 0) return;
    const cursor = new Cursor(m);
    const list = m.u32[(header >>> 2) + 3]!;
    // Checks the list, and that it has these arrays.
    cursor.toSlice(list, first);
    cursor.toSlice(list, first + count - 1);
    const start = offsetAt(m, list, first);
    const end = offsetAt(m, list, first + count);
    if (end < start) throw damage("BadIndex", list);
    const elements = this.column(list + L.LIST_ELEMENTS, start, end - start, depth + 1);
    for (let i = 0; i < count; i++) {
      const gap = gapAt(m, header, first + i);
      values[i] =
        gap < 0
          ? elements.slice(offsetAt(m, list, first + i) - start, offsetAt(m, list, first + i + 1) - start)
          : gap === L.NULL
            ? null
            : undefined;
    }
  }

  /** The rows of a table, made column by column. */
  private rows(header: number, first: number, count: number, depth: number): unknown[] {
    const { m } = this;
    if (depth > L.MAX_NESTING) throw damage("NestingLimit", header);
    const table = m.u32[(header >>> 2) + 3]!;
    const cursor = new Cursor(m);
    cursor.toRow(table, 0);
    const k = columnsOf(m, table);
    const keys = this.keys(m.u32[(table >>> 2) + 1]!, k);
    const ordered = m.u8[table + 1] !== 0;
    const columns: unknown[][] = [];
    for (let j = 0; j < k && !ordered; j++) {
      const at = table + L.TABLE_SIZE + 16 * j;
      checkColumn(m, at);
      if (first + count > m.u32[(at >>> 2) + 1]!) throw damage("BadCount", at);
      columns.push(this.column(at, first, count, depth + 1));
    }
    const rows: unknown[] = new Array(count);
    for (let i = 0; i < count; i++) {
      const gap = gapAt(m, header, first + i);
      if (gap >= 0) {
        rows[i] = gap === L.NULL ? null : undefined;
      } else if (ordered) {
        cursor.toRow(table, first + i);
        rows[i] = this.of(cursor, depth);
      } else {
        const row: Record<string, unknown> = {};
        for (let j = 0; j < k; j++) put(row, keys[j]!, columns[j]![i]);
        rows[i] = row;
      }
    }
    if (!ordered && m.u32[(table >>> 2) + 4] !== 0) {
      for (let i = 0; i < count; i++) {
        const extra = extraOf(m, table, first + i);
        if (extra === 0 || !rows[i]) continue;
        cursor.toObject(extra);
        Object.entries(this.of(cursor, depth) as object).forEach(([key, value]) => {
          put(rows[i] as Record<string, unknown>, key, value);
        });
      }
    }
    return rows;
  }
}
