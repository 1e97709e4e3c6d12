// JSON text in, events out: one pass over bytes, without recursion (FORMAT 13.1).

import { LivebufError } from "../error.js";
import * as L from "../layout.js";
import type { Builder } from "./builder.js";
import { recognize } from "./scalars.js";

/** Powers of ten that a float holds exactly. */
const POWERS = Array.from({ length: 23 }, (_, i) => 10 ** i);

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The end of the bytes that are UTF-8, from `at` to `end` (RFC 3629). */
export function endOfUtf8(u8: Uint8Array, at: number, end: number): number {
  while (at < end) {
    const a = u8[at]!;
    if (a < 0x80) {
      at++;
      continue;
    }
    const n = a < 0xc2 ? 0 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : a < 0xf5 ? 4 : 0;
    if (n === 0 || at + n > end) return at;
    const b = u8[at + 1]!;
    const low = a === 0xe0 ? 0xa0 : a === 0xf0 ? 0x90 : 0x80;
    const high = a === 0xed ? 0x9f : a === 0xf4 ? 0x8f : 0xbf;
    if (b < low || b > high) return at;
    for (let i = 2; i < n; i++) if ((u8[at + i]! & 0xc0) !== 0x80) return at;
    at += n;
  }
  return at;
}

export class JsonReader {
  private at = 0;
  /** The string that was read last: where its bytes are. */
  private from: Uint8Array;
  private start = 0;
  private length = 0;

  constructor(
    private readonly u8: Uint8Array,
    private readonly builder: Builder,
    private readonly recognizes: boolean,
  ) {
    this.from = u8;
  }

  /** Reads the one value of the text. */
  read(): void {
    try {
      const { u8 } = this;
      if (u8[0] === 0xef && u8[1] === 0xbb && u8[2] === 0xbf) this.at = 3;
      this.value();
      if (this.at < u8.length) throw this.wrong("there is more text behind the value");
    } catch (error) {
      if (!(error instanceof LivebufError) || error.offset !== undefined) throw error;
      throw this.wrong(error.message, error.kind);
    }
  }

  private wrong(message: string, kind: LivebufError["kind"] = "BadJson"): LivebufError {
    const { u8, at } = this;
    let [line, column] = [1, 1];
    for (let i = 0; i < at; i++) {
      if (u8[i] === 10) {
        line++;
        column = 1;
      } else if ((u8[i]! & 0xc0) !== 0x80) column++;
    }
    return new LivebufError(kind, `${message} (line ${line}, column ${column}, byte ${at})`, at);
  }

  /** The next byte that is no white space; 0 at the end, which is nowhere allowed. */
  private next(): number {
    const { u8 } = this;
    const end = u8.length;
    let { at } = this;
    while (at < end) {
      const c = u8[at]!;
      if (c > 0x20 || (c !== 0x20 && c !== 10 && c !== 13 && c !== 9)) {
        this.at = at;
        return c;
      }
      at++;
    }
    this.at = at;
    return 0;
  }

  private value(): void {
    const { builder } = this;
    /** 1 for each open container that is an object. */
    const objects = new Uint8Array(L.MAX_NESTING + 1);
    const base = builder.depth;
    let c = this.next();
    for (;;) {
      switch (c) {
        case QUOTE:
          this.at++;
          this.string();
          this.text();
          break;
        case 0x7b: {
          builder.beginObject();
          this.at++;
          c = this.next();
          if (c === 0x7d) {
            this.at++;
            builder.endObject();
            break;
          }
          objects[builder.depth] = 1;
          c = this.key(c);
          continue;
        }
        case 0x5b:
          builder.beginArray();
          this.at++;
          c = this.next();
          if (c === 0x5d) {
            this.at++;
            builder.endArray();
            break;
          }
          objects[builder.depth] = 0;
          continue;
        case 0x74:
          this.word("true");
          builder.push(L.TRUE, 0, 0);
          break;
        case 0x66:
          this.word("false");
          builder.push(L.FALSE, 0, 0);
          break;
        case 0x6e:
          this.word("null");
          builder.push(L.NULL, 0, 0);
          break;
        default:
          if (c !== 0x2d && !(c >= 0x30 && c <= 0x39)) {
            throw this.wrong(
              this.at >= this.u8.length
                ? "the text ends where a value should be"
                : "expected a value: an object, an array, a string, a number, true, false or null",
            );
          }
          this.number();
      }
      // Behind a value: the next element or key, or containers that end.
      for (;;) {
        c = this.next();
        if (builder.depth === base) return;
        const isObject = objects[builder.depth] === 1;
        if (c === 0x2c) {
          this.at++;
          c = this.next();
          if (c === 0x5d || c === 0x7d) throw this.wrong("a comma before the closing bracket; remove it");
          if (isObject) c = this.key(c);
          break;
        }
        if (c !== (isObject ? 0x7d : 0x5d)) {
          const missing = isObject ? "`,` or `}` after a value" : "`,` or `]` after an element";
          throw this.wrong(this.at >= this.u8.length ? `the text ends; expected ${missing}` : `expected ${missing}`);
        }
        this.at++;
        if (isObject) builder.endObject();
        else builder.endArray();
      }
    }
  }

  private word(word: string): void {
    for (let i = 0; i < word.length; i++, this.at++) {
      if (this.u8[this.at] !== word.charCodeAt(i)) throw this.wrong("expected `true`, `false` or `null`");
    }
  }

  /** Reads a key, whose quote is here, and its colon. Returns the byte that begins its value. */
  private key(c: number): number {
    const { u8, builder } = this;
    if (c !== QUOTE) throw this.wrong("expected a key in quotes");
    const start = ++this.at;
    const { expected } = builder;
    if (expected !== null && expected.last_!.isPlain) {
      const { bytes } = expected.last_!.key;
      const n = bytes.length;
      let i = 0;
      while (i < n && u8[start + i] === bytes[i]) i++;
      if (i === n && u8[start + n] === QUOTE) {
        builder.take(expected);
        this.at = start + n + 1;
        return this.colon();
      }
    }
    this.string();
    if (builder.isMap) builder.mapKey(this.from, this.start, this.length);
    else builder.key(this.decoded());
    return this.colon();
  }

  private colon(): number {
    if (this.next() !== 0x3a) throw this.wrong("expected `:` after a key");
    this.at++;
    return this.next();
  }

  private decoded(): string {
    const { from, start, length } = this;
    return decoder.decode(from.subarray(start, start + length));
  }

  private text(): void {
    const { builder, from } = this;
    if (this.recognizes && this.length >= 10 && this.length <= 36 && recognize(builder, this.decoded())) return;
    if (from !== builder.texts.bytes) {
      if (this.length <= 7) {
        builder.inline(L.TEXT, from, this.start, this.length);
        return;
      }
      builder.texts.putBytes(from, this.start, this.length);
    }
    builder.text(this.length, null);
  }

  /** Where the characters end that stand for themselves: at a quote, a backslash or a control character. */
  private plainEnd(at: number): number {
    const { u8 } = this;
    const end = u8.length;
    const start = at;
    let or = 0;
    while (at < end) {
      const c = u8[at]!;
      if (c < 0x20 || c === QUOTE || c === BACKSLASH) break;
      or |= c;
      at++;
    }
    if (or > 127) {
      const good = endOfUtf8(u8, start, at);
      if (good < at) {
        this.at = good;
        throw this.wrong("the text is not UTF-8; convert it first");
      }
    }
    return at;
  }

  /** Reads the string whose first character is here, and past its quote. */
  private string(): void {
    const { u8 } = this;
    const start = this.at;
    const end = this.plainEnd(start);
    this.at = end;
    if (u8[end] === QUOTE) {
      this.from = u8;
      this.start = start;
      this.length = end - start;
      this.at = end + 1;
      return;
    }
    this.escaped(start);
  }

  /** Decodes a string with escapes; characters from `plain` on are plain until here. */
  private escaped(plain: number): void {
    const { u8 } = this;
    const { texts } = this.builder;
    let n = 0;
    for (;;) {
      const length = this.at - plain;
      texts.room(n + length + 4);
      texts.bytes.set(u8.subarray(plain, this.at), texts.used + n);
      n += length;
      const c = u8[this.at];
      if (c === QUOTE) break;
      if (c !== BACKSLASH) {
        throw this.wrong(
          this.at >= u8.length
            ? "the text ends inside a string"
            : "a control character in a string; write it as an escape, such as `\\n`",
        );
      }
      this.at++;
      const character = this.escape();
      const { bytes } = texts;
      let to = texts.used + n;
      if (character < 0x80) bytes[to++] = character;
      else {
        if (character < 0x800) bytes[to++] = 0xc0 | (character >> 6);
        else {
          if (character < 0x10000) bytes[to++] = 0xe0 | (character >> 12);
          else {
            bytes[to++] = 0xf0 | (character >> 18);
            bytes[to++] = 0x80 | ((character >> 12) & 63);
          }
          bytes[to++] = 0x80 | ((character >> 6) & 63);
        }
        bytes[to++] = 0x80 | (character & 63);
      }
      n = to - texts.used;
      plain = this.at;
      this.at = this.plainEnd(plain);
    }
    this.at++;
    this.from = texts.bytes;
    this.start = texts.used;
    this.length = n;
  }

  /** The character of the escape whose backslash is before. */
  private escape(): number {
    const c = this.u8[this.at] ?? 0;
    const i = '"\\/bfnrt'.indexOf(String.fromCharCode(c));
    if (i >= 0) {
      this.at++;
      return '"\\/\b\f\n\r\t'.charCodeAt(i);
    }
    if (c !== 0x75) throw this.wrong("no such escape in strings; write `\\\\` for a backslash");
    this.at++;
    const first = this.unit();
    if (first < 0xd800 || first > 0xdfff) return first;
    const half = this.at;
    if (first < 0xdc00 && this.u8[half] === BACKSLASH && this.u8[half + 1] === 0x75) {
      this.at += 2;
      const second = this.unit();
      if (second >= 0xdc00 && second <= 0xdfff) return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
      this.at = half;
    }
    if (this.builder.texts.replaces) return 0xfffd;
    throw this.wrong('an escape of half of a surrogate pair; `surrogates: "replace"` puts U+FFFD for it');
  }

  private unit(): number {
    let unit = 0;
    for (let i = 0; i < 4; i++) {
      const c = this.u8[this.at] ?? 0;
      const digit = c >= 0x30 && c <= 0x39 ? c - 0x30 : (c | 32) >= 0x61 && (c | 32) <= 0x66 ? (c | 32) - 0x57 : -1;
      if (digit < 0) throw this.wrong("no such escape in strings; `\\u` has four hexadecimal digits");
      unit = unit * 16 + digit;
      this.at++;
    }
    return unit;
  }

  private number(): void {
    const { u8, builder } = this;
    const start = this.at;
    const isNegative = u8[start] === 0x2d;
    const first = isNegative ? start + 1 : start;
    let at = first;
    let value = 0;
    // Digits that count: all but leading zeros.
    let digits = 0;
    let c = u8[at] ?? 0;
    while (c >= 0x30 && c <= 0x39) {
      value = value * 10 + (c - 0x30);
      if (value !== 0) digits++;
      c = u8[++at] ?? 0;
    }
    this.at = at;
    if (at === first || (at > first + 1 && u8[first] === 0x30)) throw this.notNumber(Math.min(at, first + 1));
    if (c !== 0x2e && (c | 32) !== 0x65) {
      if (digits <= 15 && !(isNegative && value === 0)) builder.integer(isNegative ? -value : value);
      else this.longInteger(start, isNegative && value === 0);
      return;
    }
    if (c === 0x2e) {
      const point = at;
      c = u8[++at] ?? 0;
      while (c >= 0x30 && c <= 0x39) {
        value = value * 10 + (c - 0x30);
        if (digits > 0 || c !== 0x30) digits++;
        c = u8[++at] ?? 0;
      }
      this.at = at;
      const places = at - point - 1;
      if (places === 0) throw this.notNumber(at);
      if ((c | 32) !== 0x65 && value < 9007199254740992 && places <= 22 && digits <= 17) {
        // Both are exact, so their quotient is rounded once.
        value /= POWERS[places]!;
        builder.float(isNegative ? -value : value);
        return;
      }
    }
    if ((c | 32) === 0x65) {
      c = u8[++at] ?? 0;
      if (c === 0x2b || c === 0x2d) c = u8[++at] ?? 0;
      const exponent = at;
      while (c >= 0x30 && c <= 0x39) c = u8[++at] ?? 0;
      this.at = at;
      if (at === exponent) throw this.notNumber(at);
    }
    if (digits <= 17) {
      value = Number(this.literal(start));
      if (Number.isFinite(value) && (value !== 0 || digits === 0)) {
        builder.float(value);
        return;
      }
    }
    builder.span(L.NUMBER_TEXT, u8.subarray(start, at));
  }

  private notNumber(at: number): LivebufError {
    this.at = at;
    return this.wrong("not a JSON number (digits first, no leading zero, digits after `.` and `e`)");
  }

  /** The characters of a number. */
  private literal(start: number): string {
    const bytes = this.u8.subarray(start, this.at);
    // A call with very many arguments would overflow the stack.
    if (bytes.length > 64) return decoder.decode(bytes);
    return String.fromCharCode.apply(null, bytes as unknown as number[]);
  }

  private longInteger(start: number, isMinusZero: boolean): void {
    const { builder } = this;
    if (isMinusZero) builder.float(-0);
    else {
      // Beyond 20 digits it is no integer of 64 bits.
      const value = this.at - start <= 20 ? BigInt(this.literal(start)) : 2n ** 64n;
      if (value < 2n ** 64n && value >= -(2n ** 63n)) builder.wide(value < 2n ** 63n ? L.INT : L.UINT, value);
      else builder.span(L.NUMBER_TEXT, this.u8.subarray(start, this.at));
    }
  }
}
