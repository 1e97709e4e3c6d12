// Keys and their texts: bytes of UTF-8, fingerprints (FORMAT 4.2) and hashes (FORMAT 7.4).

import { damage } from "./error.js";
import type { Memory } from "./memory.js";

const encoder = new TextEncoder();

/** A key as it is searched for: its bytes, its cell if it has at most 7 of them, and its fingerprint. */
export class Key {
  readonly bytes: Uint8Array;
  /** The lower and the higher half of its span cell; 0 and 0 where the text is not in the cell. */
  readonly lo: number;
  readonly hi: number;
  readonly fingerprint: number;
  /** Its string as engines keep it for properties, if plain objects were made with it (object.ts). */
  name: string | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    const n = bytes.length;
    let lo = 0;
    let hi = 0;
    if (n <= 7) {
      lo = number32(bytes, 0);
      hi = (number32(bytes, 4) | ((0x80 + n) << 24)) >>> 0;
      this.fingerprint = fingerprint(lo, hi);
    } else {
      // The last eight bytes, rotated left by 29.
      const low = number32(bytes, n - 8);
      const high = number32(bytes, n - 4);
      this.fingerprint = fingerprint(
        number32(bytes, 0) ^ ((low << 29) | (high >>> 3)) ^ n,
        number32(bytes, 4) ^ ((high << 29) | (low >>> 3)),
      );
    }
    this.lo = lo;
    this.hi = hi;
    this.name = undefined;
  }
}

/** Four bytes as a number; 0 for those that are not there. */
export function number32(bytes: Uint8Array, at: number): number {
  if (at + 4 <= bytes.length) {
    return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
  }
  let number = 0;
  for (let i = bytes.length - 1; i >= at; i--) number = (number << 8) | bytes[i]!;
  return number;
}

/** The top byte of x · 9E3779B97F4A7C15 (FORMAT 4.2), of the lower and the higher half of x. */
export function fingerprint(lo: number, hi: number): number {
  lo >>>= 0;
  // The higher half of lo · 7F4A7C15 is made of halves, since it has up to 63 bits.
  const a = lo * 0x7c15;
  const b = lo * 0x7f4a + Math.floor(a / 65536);
  const carry = Math.floor(b / 65536);
  return ((Math.imul(lo, 0x9e3779b9) + Math.imul(hi, 0x7f4a7c15) + (carry | 0)) >>> 24) & 0xff;
}

/** Most keys that are remembered at once. */
const REMEMBERED = 4096;
let remembered = new Map<string, Key>();

/** The first byte of what is looked for in place of a key that no document has. */
export const NO_KEY = 0xff;

/** The key of a string. Those that were asked for before are remembered. */
export function keyOf(text: string): Key {
  let key = remembered.get(text);
  if (key === undefined) {
    const bytes = encode(text);
    // No document has a key with half a surrogate, and nothing may be found by it: no UTF-8 has this byte.
    if (bytes.length !== text.length && /\p{Cs}/u.test(text)) bytes[0] = NO_KEY;
    key = new Key(bytes);
    if (remembered.size >= REMEMBERED) remembered = new Map();
    // Long ones would keep much memory.
    if (text.length < 256) remembered.set(text, key);
  }
  return key;
}

/** A string as UTF-8. Half surrogates become U+FFFD, as `TextEncoder` has it. */
export function encode(text: string): Uint8Array {
  const n = text.length;
  if (n < 64) {
    const bytes = new Uint8Array(n);
    let i = 0;
    for (; i < n; i++) {
      const c = text.charCodeAt(i);
      if (c > 127) break;
      bytes[i] = c;
    }
    if (i === n) return bytes;
  }
  return encoder.encode(text);
}

/** Two numbers of 32 bits: the place of a key among the buckets, and its fingerprint there (FORMAT 7.4). */
export function hashOf(bytes: Uint8Array): [number, number] {
  const n = bytes.length;
  let a = n;
  let b = 0x9e3779b1 | 0;
  for (let i = 0; ; i += 8) {
    // Behind the last byte, a round of zeros.
    const last = i >= n;
    const x = a ^ (last ? 0 : number32(bytes, i));
    const y = b ^ (last ? 0 : number32(bytes, i + 4));
    a = Math.imul(x ^ (y >>> 14), 0x85ebca6b);
    b = Math.imul(y ^ (x >>> 18), 0xc2b2ae35);
    if (last) break;
  }
  const place = (a ^ b) >>> 0;
  const f = Math.imul(b ^ (a >>> 18), 0xc2b2ae35) >>> 24;
  return [place, f === 0 ? 1 : f];
}

/** The bucket where a key is at home. */
export const bucketOf = (place: number, buckets: number): number =>
  Math.floor((Math.floor(place / 65536) * buckets + Math.floor(((place & 0xffff) * buckets) / 65536)) / 65536);

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Bytes up to which text of ASCII is put together here, which takes less time than a call of the decoder. */
const SHORT = 32;

/** Text of the document as a string. */
export function decode(m: Memory, start: number, length: number): string {
  m.reach(start, length);
  const u8 = m.u8;
  if (length <= SHORT) {
    let text = "";
    let i = start;
    const end = start + length;
    for (; i + 8 <= end; i += 8) {
      const a = u8[i]!;
      const b = u8[i + 1]!;
      const c = u8[i + 2]!;
      const d = u8[i + 3]!;
      const e = u8[i + 4]!;
      const f = u8[i + 5]!;
      const g = u8[i + 6]!;
      const h = u8[i + 7]!;
      if ((a | b | c | d | e | f | g | h) > 127) return decodeLong(m, start, length);
      text += String.fromCharCode(a, b, c, d, e, f, g, h);
    }
    let or = 0;
    for (let k = i; k < end; k++) or |= u8[k]!;
    if (or > 127) return decodeLong(m, start, length);
    switch (end - i) {
      case 1:
        return text + String.fromCharCode(u8[i]!);
      case 2:
        return text + String.fromCharCode(u8[i]!, u8[i + 1]!);
      case 3:
        return text + String.fromCharCode(u8[i]!, u8[i + 1]!, u8[i + 2]!);
      case 4:
        return text + String.fromCharCode(u8[i]!, u8[i + 1]!, u8[i + 2]!, u8[i + 3]!);
      case 5:
        return text + String.fromCharCode(u8[i]!, u8[i + 1]!, u8[i + 2]!, u8[i + 3]!, u8[i + 4]!);
      case 6:
        return text + String.fromCharCode(u8[i]!, u8[i + 1]!, u8[i + 2]!, u8[i + 3]!, u8[i + 4]!, u8[i + 5]!);
      case 7:
        return (
          text + String.fromCharCode(u8[i]!, u8[i + 1]!, u8[i + 2]!, u8[i + 3]!, u8[i + 4]!, u8[i + 5]!, u8[i + 6]!)
        );
      default:
        return text;
    }
  }
  return decodeLong(m, start, length);
}

function decodeLong(m: Memory, start: number, length: number): string {
  // Decoders of browsers take no bytes that workers share.
  const shared = !(m.u8.buffer instanceof ArrayBuffer);
  const bytes = shared ? m.u8.slice(start, start + length) : m.u8.subarray(start, start + length);
  try {
    return decoder.decode(bytes);
  } catch {
    throw damage("BadText", start);
  }
}

/** Text or bytes of a span cell: where they begin, and how many they are. */
export function spanStart(m: Memory, cell: number): number {
  return m.u32[(cell >>> 2) + 1]! >= 0x80000000 ? cell : m.u32[cell >>> 2]!;
}

export function spanLength(m: Memory, cell: number): number {
  const hi = m.u32[(cell >>> 2) + 1]!;
  if (hi < 0x80000000) return hi & 0x3fffffff;
  const n = (hi >>> 24) & 0x7f;
  if (n > 7) throw damage("BadCell", cell);
  return n;
}

/** The text of a span cell. */
export function textAt(m: Memory, cell: number): string {
  const hi = m.u32[(cell >>> 2) + 1]!;
  if (hi < 0x80000000) return decode(m, m.u32[cell >>> 2]!, hi & 0x3fffffff);
  const lo = m.u32[cell >>> 2]!;
  const n = (hi >>> 24) & 0x7f;
  // Short text of ASCII, out of the two halves of the cell.
  if (((lo & 0x80808080) | (hi & 0x00808080)) !== 0 || n > 7) return decode(m, cell, spanLength(m, cell));
  const a = lo & 0xff;
  const b = (lo >>> 8) & 0xff;
  const c = (lo >>> 16) & 0xff;
  const d = lo >>> 24;
  switch (n) {
    case 0:
      return "";
    case 1:
      return String.fromCharCode(a);
    case 2:
      return String.fromCharCode(a, b);
    case 3:
      return String.fromCharCode(a, b, c);
    case 4:
      return String.fromCharCode(a, b, c, d);
    case 5:
      return String.fromCharCode(a, b, c, d, hi & 0xff);
    case 6:
      return String.fromCharCode(a, b, c, d, hi & 0xff, (hi >>> 8) & 0xff);
    default:
      return String.fromCharCode(a, b, c, d, hi & 0xff, (hi >>> 8) & 0xff, (hi >>> 16) & 0xff);
  }
}

/** Whether a span cell of text is this key. */
export function isKey(m: Memory, cell: number, key: Key): boolean {
  const at = cell >>> 2;
  const lo = m.u32[at]!;
  const hi = m.u32[at + 1]!;
  if (key.hi !== 0) return lo === key.lo && hi === key.hi;
  const { bytes } = key;
  if (hi >= 0x80000000 || (hi & 0x3fffffff) !== bytes.length) return false;
  return equal(m, lo, bytes);
}

function equal(m: Memory, start: number, bytes: Uint8Array): boolean {
  const { u8 } = m;
  m.reach(start, bytes.length);
  for (let i = 0; i < bytes.length; i++) if (u8[start + i] !== bytes[i]) return false;
  return true;
}

/** The order of two texts by their bytes: below 0 where that of the cell comes first. */
export function compareKey(m: Memory, cell: number, bytes: Uint8Array): number {
  const start = spanStart(m, cell);
  const length = spanLength(m, cell);
  m.reach(start, length);
  const n = Math.min(length, bytes.length);
  for (let i = 0; i < n; i++) {
    const difference = m.u8[start + i]! - bytes[i]!;
    if (difference !== 0) return difference;
  }
  return length - bytes.length;
}
