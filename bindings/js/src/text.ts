// JSON text from a document (FORMAT 13.2): exact, whatever its numbers are.

import { damage, LivebufError } from "./error.js";
import { textAt } from "./key.js";
import * as L from "./layout.js";
import type { Memory } from "./memory.js";
import { ARRAY, type Cursor, isFloat, Members, Cursor as Place, SCALAR } from "./read.js";
import { base64, floatText } from "./scalar.js";

/** How a document is printed. */
export interface TextOptions {
  /** Prints infinities and NaN as null. Without it they are an error, since JSON has none. */
  nonFinite?: "error" | "null";
  /** Most characters. Default: 2,048 for each byte of the document, and at most 2²⁹ − 24, the longest string of V8. */
  length?: number;
}

/** A value as JSON text. */
export function print(cursor: Cursor, options: TextOptions = {}): string {
  const printer = new Printer(options, cursor.m.used);
  printer.value(cursor, 0);
  return printer.text;
}

class Printer {
  text = "";
  private readonly keys = new Map<number, string>();
  private readonly most: number;
  private readonly nulls: boolean;

  constructor(options: TextOptions, used: number) {
    this.most = options.length ?? Math.min(2048 * used, 2 ** 29 - 24);
    this.nulls = options.nonFinite === "null";
  }

  value(cursor: Cursor, depth: number): void {
    if (this.text.length > this.most) {
      throw new LivebufError("BudgetExceeded", `the JSON has more than ${this.most} characters`);
    }
    if (cursor.kind === SCALAR) {
      this.scalar(cursor);
      return;
    }
    if (depth >= L.MAX_NESTING) throw damage("NestingLimit", cursor.at);
    const { m } = cursor;
    if (cursor.kind === ARRAY) {
      const { at, first, count } = cursor;
      const element = new Place(m);
      this.text += "[";
      for (let i = 0; i < count; i++) {
        if (i > 0) this.text += ",";
        element.toSlot(at, first + i);
        this.value(element, depth + 1);
      }
      this.text += "]";
      return;
    }
    const members = new Members(cursor);
    let between = "{";
    while (members.next()) {
      this.text += between + this.key(members.key, m);
      between = ",";
      this.value(members.value, depth + 1);
    }
    this.text += between === "{" ? "{}" : "}";
  }

  /** A key and the colon behind it, which are made once for each place of a key. */
  private key(cell: number, m: Memory): string {
    let text = this.keys.get(cell);
    if (text === undefined) {
      text = `${quote(textAt(m, cell))}:`;
      this.keys.set(cell, text);
    }
    return text;
  }

  private scalar(cursor: Cursor): void {
    const value = cursor.scalar();
    switch (typeof value) {
      case "string":
        this.text += quote(value);
        break;
      case "number": {
        if (!Number.isFinite(value)) {
          if (!this.nulls) {
            throw new LivebufError("BadNumber", `JSON has no ${value}; print it as null by the option nonFinite`);
          }
          this.text += "null";
          break;
        }
        const { m, at, row, tag } = cursor;
        const float = row < 0 ? tag === L.FLOAT : isFloat(m, at, row, value);
        this.text += float ? floatText(value) : String(value);
        break;
      }
      case "object":
        if (value === null) this.text += "null";
        else if (value instanceof Uint8Array) this.text += `"${base64(value)}"`;
        else if (cursor.tag === L.NUMBER_TEXT || cursor.tag === L.DECIMAL || cursor.tag === L.LARGE_DECIMAL) {
          this.text += value.toString();
        } else this.text += `"${(value as { toJSON(): string }).toJSON()}"`;
        break;
      case "undefined":
        throw damage("BadCode", cursor.at);
      default:
        this.text += String(value);
    }
  }
}

/** A text as JSON. */
const quote = (text: string): string => (ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`);
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON escapes
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
