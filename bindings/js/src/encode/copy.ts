// Values of documents, which are encoded as they are: exact, with the kinds that their numbers have.

import { LivebufError } from "../error.js";
import { decode, spanLength, spanStart, textAt } from "../key.js";
import * as L from "../layout.js";
import type { Memory } from "../memory.js";
import {
  ARRAY,
  Cursor,
  cellValue,
  isFloat,
  MAP,
  Members,
  RECORD,
  SCALAR,
  slotValue,
  tensorAt,
  valuesAt,
} from "../read.js";
import type { Builder } from "./builder.js";
import { Tensor } from "./plan.js";
import { scalar } from "./scalars.js";

/** Encodes the value that a cursor is at, with all below it. */
export function copy(builder: Builder, cursor: Cursor, tables: boolean): void {
  new Copy(builder, cursor.m, tables).value(cursor);
}

class Copy {
  /** Values that may still be met, and bytes of their texts. */
  private left: number;
  private leftText: number;

  constructor(
    private readonly builder: Builder,
    private readonly m: Memory,
    private readonly tables: boolean,
  ) {
    this.left = 8 * m.used + 1_000_000;
    this.leftText = L.TEXT_PER_BYTE * m.used;
  }

  value(cursor: Cursor): void {
    const { builder, m } = this;
    this.pay(1, 0);
    if (cursor.kind === SCALAR) {
      this.scalar(cursor);
      return;
    }
    if (cursor.kind === ARRAY) {
      const { at, first, count } = cursor;
      const tensor = this.tensor(cursor);
      if (tensor !== null) {
        builder.tensor(tensor);
        return;
      }
      this.pay(count, 0);
      builder.beginArray();
      const element = new Cursor(m);
      for (let i = 0; i < count; i++) {
        element.toSlot(at, first + i);
        this.value(element);
      }
      builder.endArray();
      return;
    }
    if (this.isMapOfRows(cursor)) builder.beginMapOfRows();
    else builder.beginObject();
    for (const members = new Members(cursor); members.next(); ) {
      builder.key(textAt(m, members.key));
      this.value(members.value);
    }
    builder.endObject();
  }

  /** A damaged document may stand for any number of values. */
  private pay(values: number, text: number): void {
    this.left -= values;
    this.leftText -= text;
    if (this.left < 0 || this.leftText < 0) {
      throw new LivebufError("BudgetExceeded", "the document stands for too many values");
    }
  }

  private scalar({ tag, at, row }: Cursor): void {
    const { builder, m } = this;
    if (row < 0) {
      if (tag >= L.TEXT) this.pay(0, spanLength(m, at));
      if (tag === L.TEXT) builder.string(decode(m, spanStart(m, at), spanLength(m, at)));
      else {
        // It is checked.
        cellValue(m, tag, at);
        if (tag >= L.TEXT) builder.span(tag, m.bytes(spanStart(m, at), spanLength(m, at)));
        else builder.push(tag, m.u32[at >>> 2]!, m.u32[(at >>> 2) + 1]!);
      }
      return;
    }
    if (tag === L.NULL) {
      builder.push(tag, 0, 0);
      return;
    }
    const value = slotValue(m, at, row);
    if (typeof value === "string" || value instanceof Uint8Array) this.pay(0, value.length);
    if (typeof value !== "number") scalar(builder, value);
    else if (Number.isNaN(value)) this.nan(at, row);
    else if (isFloat(m, at, row, value)) builder.float(value);
    else builder.integer(value);
  }

  /** A NaN of a column, by its bits. */
  private nan(header: number, row: number): void {
    const { builder, m } = this;
    const width = L.WIDTHS[m.u8[header + 1]!]!;
    const at = (valuesAt(m, header) + width * row) >>> 2;
    const lo = m.u32[at]!;
    if (width === 8) builder.push(L.FLOAT, lo, m.u32[at + 1]!);
    else builder.push(L.FLOAT, lo << 29, (lo & 0x80000000) | 0x7ff00000 | ((lo & 0x7fffff) >>> 3));
  }

  private tensor(cursor: Cursor): Tensor | null {
    const { m } = this;
    if (m.u8[cursor.at + 3] !== 1) return null;
    const { lengths, header, first, count } = tensorAt(m, cursor.at, cursor.first, cursor.count);
    const code = m.u8[header + 1]!;
    const width = L.WIDTHS[code]!;
    // An empty one has no data.
    if (count === 0) return new Tensor(code, lengths, new Uint8Array(0));
    return new Tensor(code, lengths, m.bytes(valuesAt(m, header) + width * first, width * count));
  }

  /** Whether an object becomes a map whose values may be rows (PROFILE 4). */
  private isMapOfRows(object: Cursor): boolean {
    if (object.kind !== MAP || !this.tables || this.builder.waits || this.recordMembers(object) >= 0) return false;
    let [count, all, most] = [0, 0, 0];
    for (const members = new Members(object); members.next(); count++) {
      const { value } = members;
      if (value.tag === L.NULL) continue;
      const n = value.tag === L.OBJECT_NODE ? this.recordMembers(value) : -1;
      if (n < 0) return false;
      all += n;
      most = Math.max(most, n);
    }
    return count >= 8 && most > 0 && 4 * all >= count * most;
  }

  /** Members of an object that becomes a record; −1 where it becomes a map. */
  private recordMembers(object: Cursor): number {
    const { m } = this;
    if (object.kind === RECORD) return m.u8[object.at + 3]!;
    let count = 0;
    for (const members = new Members(object); members.next(); ) {
      if (++count > L.MAX_FIELDS || spanLength(m, members.key) > L.MAX_KEY) return -1;
    }
    return count;
  }
}
