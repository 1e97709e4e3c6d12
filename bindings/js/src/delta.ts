// livebuf/delta: the changes from one state of a document to another, as bytes (DELTA), and digests of values.

import { Document } from "./document.js";
import { damage, LivebufError } from "./error.js";
import { spanLength, spanStart } from "./key.js";
import * as L from "./layout.js";
import { bytesOf, load, type Source } from "./memory.js";
import { ARRAY, Cursor, isFloat, Members, SCALAR, u16At, valuesAt } from "./read.js";
import { Decimal, LocalDate, LocalDateTime, LocalTime, NumberText, Timestamp, Uuid } from "./scalar.js";
import { cursorOf, isView } from "./view.js";

/** Bytes that change together. */
export interface Change {
  /** Where they begin in the document. */
  offset: number;
  /** The bytes afterwards, as far as the document reaches then. */
  bytes: Uint8Array;
  /** The bytes before, as far as the document reached then. `undefined` in a delta without old bytes. */
  old: Uint8Array | undefined;
}

/** A delta: what leads from one state of a document, its base, to another. */
export interface Delta {
  /** The state of the base, and the state afterwards: 16 bytes each. */
  base: Uint8Array;
  state: Uint8Array;
  /** Used bytes of the base, and afterwards. */
  baseLength: number;
  length: number;
  /** By their offsets. */
  changes: Change[];
  /** The SHA-256 of the document afterwards, if the delta has it. */
  digest: Uint8Array | undefined;
}

const bad = (message: string, offset?: number): LivebufError => new LivebufError("BadDelta", message, offset);

/** What no change lies over: 0 to 7, and the count of used bytes. */
const FIXED = [
  [0, 8],
  [20, 24],
] as const;

/**
 * Reads a delta (DELTA 1). Its bytes are not copied.
 *
 * @throws LivebufError of kind BadDelta.
 */
export function readDelta(source: Source): Delta {
  const input = bytesOf(source);
  let at = 0;
  const take = (size: number): Uint8Array => {
    if (at + size > input.length) throw bad("the delta is cut short", input.length);
    at += size;
    return input.subarray(at - size, at);
  };
  const number = (): number => {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = take(1)[0]!;
      value += (byte & 127) * scale;
      if (byte > 127) continue;
      if (value > 0xffffffff || (byte === 0 && scale > 1)) break;
      return value;
    }
    throw bad("the delta is damaged: a number of more than 32 bits, or with bytes that it does not need", at);
  };
  const length = (): number => {
    const bytes = 8 * number();
    if (bytes < L.HEADER_SIZE || bytes > L.MAX_USED) throw bad("the delta is damaged: no document has this length", at);
    return bytes;
  };
  if ([0xab, 0x4c, 0x42, 0x44].some((byte, i) => i < Math.max(input.length, 1) && input[i] !== byte)) {
    throw bad("the bytes are no delta", 0);
  }
  const version = take(5)[4]!;
  if (version !== 1) throw bad(`the delta is of version ${version}, which this package does not read`, 4);
  const flags = take(1)[0]!;
  if (flags > 3) throw bad("the delta has flags that this package does not know", 5);
  const [base, state] = [take(16), take(16)];
  const digest = flags > 1 ? take(32) : undefined;
  const delta: Delta = { base, state, baseLength: length(), length: length(), changes: [], digest };
  const hasOld = (flags & 1) === 1;
  const longer = hasOld ? Math.max(delta.length, delta.baseLength) : delta.length;
  const shorter = Math.min(delta.length, delta.baseLength);
  const damaged = (what: string): LivebufError => bad(`the delta is damaged: ${what}`, at);
  let end = 0;
  for (let left = number(); left > 0; left--) {
    const offset = end + number();
    const size = number();
    if (size === 0) throw damaged("a range is empty");
    if (offset + size > longer) throw damaged("a range leads beyond the document");
    if (FIXED.some(([from, to]) => offset < to && offset + size > from)) {
      throw damaged("a range lies over what no delta changes");
    }
    if (offset > end && offset > shorter) throw damaged("bytes of the longer document are missing");
    end = offset + size;
    const part = (document: number): Uint8Array => take(Math.max(Math.min(end, document) - offset, 0));
    delta.changes.push({ offset, bytes: part(delta.length), old: hasOld ? part(delta.baseLength) : undefined });
  }
  if (longer > shorter && end !== longer) throw damaged("bytes of the longer document are missing");
  if (at !== input.length) throw damaged("bytes are behind it");
  return delta;
}

/** A delta as bytes. */
export function writeDelta(delta: Delta): Uint8Array {
  const hasOld = delta.changes.length > 0 && delta.changes[0]!.old !== undefined;
  const flags = (hasOld ? 1 : 0) | (delta.digest === undefined ? 0 : 2);
  const head = Uint8Array.of(0xab, 0x4c, 0x42, 0x44, 1, flags);
  return concat([head, delta.base, delta.state, delta.digest ?? head.subarray(0, 0), ...content(delta, hasOld)]);
}

/** The parts of a delta from the used bytes of the base on. */
function content(delta: Delta, hasOld: boolean): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const put = (n: number): void => {
    const bytes: number[] = [];
    for (; n > 127; n = Math.floor(n / 128)) bytes.push((n & 127) | 128);
    parts.push(Uint8Array.of(...bytes, n));
  };
  put(delta.baseLength / 8);
  put(delta.length / 8);
  put(delta.changes.length);
  let end = 0;
  for (const { offset, bytes, old } of delta.changes) {
    const size = Math.max(bytes.length, old?.length ?? 0);
    put(offset - end);
    put(size);
    parts.push(bytes);
    if (hasOld) parts.push(old!);
    end = offset + size;
  }
  return parts;
}

function concat(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);
const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Where a document's state lies, 0 for nowhere (FORMAT 8). The header is of `length` used bytes; `read` gives others. */
function placeOf(header: DataView, length: number, read: (at: number, size: number) => DataView): number {
  const aux = header.getUint32(28, true);
  if (aux < L.HEADER_SIZE || aux + 24 > length) return 0;
  const head = read(aux, 24);
  const place = head.getUint32(20, true);
  return head.getUint8(0) === L.AUX && place >= L.HEADER_SIZE && (place & 7) === 0 && place + 16 <= length ? place : 0;
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A document's used bytes, and the place of its state, 0 for none. */
function documentOf(source: Source): { bytes: Uint8Array; place: number } {
  const bytes = bytesOf(source).subarray(0, load(source).used);
  const read = (at: number, size: number): DataView => viewOf(bytes.subarray(at, at + size));
  return { bytes, place: placeOf(read(0, 32), bytes.length, read) };
}

/** The state of a document: 16 bytes that stand for all its bytes (FORMAT 8). `undefined` if it has none. */
export function stateOf(source: Source): Uint8Array | undefined {
  const { bytes, place } = documentOf(source);
  return bytes[6] === 0 && bytes[7] === 2 && place !== 0 ? bytes.slice(place, place + 16) : undefined;
}

/** How a delta is applied. */
export interface ApplyOptions {
  /** Compares the delta's digest with the document that it leads to, before anything is changed. Default: false. */
  digest?: boolean;
}

/**
 * Applies a delta to a document, in place (DELTA 2). Gives the document afterwards: the same bytes, or others where the
 * document grows beyond those that are given. If there is an error, nothing was changed. Trust the document no more than
 * the delta: validate it.
 *
 * @throws LivebufError of kind BadDelta, ReadOnly, or of the document's header.
 */
export function applyDelta(document: Uint8Array, delta: Delta | Source, options: ApplyOptions = {}): Uint8Array {
  const { base, state, baseLength, length, changes, digest } = isDelta(delta) ? delta : readDelta(delta);
  const { bytes } = documentOf(document);
  if (bytes[6] !== 0) {
    throw new LivebufError("ReadOnly", "the document has a flag that only a newer version of this package can edit", 6);
  }
  const had = stateOf(document);
  if (had === undefined || !equal(had, base)) {
    throw bad(`the delta is for state ${hex(base)}; the document has ${had === undefined ? "none" : hex(had)}`);
  }
  if (bytes.length !== baseLength) {
    throw bad(`the delta is for ${baseLength} bytes, but the document has ${bytes.length}`);
  }
  /** Puts what there is afterwards of the bytes from `at` on into `target`. */
  const put = (target: Uint8Array, at: number): void => {
    const end = at + target.length;
    for (const change of changes) {
      const from = Math.max(change.offset, at);
      const to = Math.min(change.offset + change.bytes.length, end);
      if (from < to) target.set(change.bytes.subarray(from - change.offset, to - change.offset), from - at);
    }
  };
  const after = (at: number, size: number): DataView => {
    const part = new Uint8Array(size);
    part.set(bytes.subarray(at, at + size));
    put(part, at);
    return viewOf(part);
  };
  const header = after(0, 32);
  const place = placeOf(header, length, after);
  if (place === 0) throw bad("the delta is damaged: the document would have no place for its state");
  // The root's tag, and the three bytes behind it, which are 0.
  const tag = header.getUint32(16, true);
  if (tag === 0 || tag > 0x2f) throw bad("the delta is damaged: the header would be no document's");
  const finish = (target: Uint8Array): Uint8Array => {
    put(target, 0);
    viewOf(target).setUint32(20, length, true);
    target.set(state, place);
    target[7] = 2;
    return target;
  };
  const copy = (): Uint8Array => {
    const target = new Uint8Array(length);
    target.set(bytes.subarray(0, length));
    return target;
  };
  if (options.digest === true) {
    if (digest === undefined) throw bad("the delta has no digest to compare with");
    if (!equal(sha256(finish(copy())), digest)) {
      throw bad("the document would not have the bytes that the delta was made of");
    }
  }
  return finish(length <= document.length ? document.subarray(0, length) : copy());
}

const isDelta = (delta: Delta | Source): delta is Delta => "changes" in delta;

/**
 * The delta that leads back: from the state afterwards to the base.
 *
 * @throws LivebufError of kind BadDelta, if the delta has no old bytes.
 */
export function invertDelta(delta: Delta): Delta {
  const { base, state, baseLength, length } = delta;
  const changes = delta.changes.map(({ offset, bytes, old }) => {
    if (old === undefined) throw bad("the delta was made without old bytes, so it cannot be inverted");
    return { offset, bytes: old, old: bytes };
  });
  if (changes.length === 0 && length < baseLength) throw bad("the delta was made without old bytes");
  return { base: state, state: base, baseLength: length, length: baseLength, changes, digest: undefined };
}

/** How a delta is made. */
export interface DeltaOptions {
  /** Keeps the old bytes, so that the delta can be inverted. Default: true. */
  old?: boolean;
  /** Adds the SHA-256 of the document afterwards. Default: false. */
  digest?: boolean;
}

/**
 * The delta from a document to what it became, by comparing their bytes. `after` gets the state that the delta leads to
 * (DELTA 3), in place. It must have been edited from a copy of `base`, since it needs a place for its state (FORMAT 8).
 * Takes time by the bytes of both.
 *
 * @throws LivebufError of kind BadDelta, if one of them has no place for a state, or the base has no state.
 */
export function deltaOf(base: Source, after: Uint8Array, options: DeltaOptions = {}): Delta {
  const [before, now] = [documentOf(base), documentOf(after)];
  const state = stateOf(base);
  if (state === undefined) throw bad("the document has no state: beginState of its editor gives one");
  if (now.place === 0) throw bad("the document afterwards has no place for its state: edit a copy");
  const hasOld = options.old !== false;
  const [shorter, end] = [Math.min(before.bytes.length, now.bytes.length), now.bytes.length];
  const longer = hasOld ? Math.max(before.bytes.length, end) : end;
  // The state itself is no change, if it stays in its place. If it does not, both places are.
  const moved = before.place !== now.place;
  const isPlace = (i: number, place: number): boolean => i >= place && i < place + 16;
  const changes: Change[] = [];
  /** Where the range at hand begins, and where its last byte that differs ends; −1 if there is none. */
  let [start, last] = [-1, -1];
  const close = (): void => {
    if (start < 0) return;
    const old = hasOld ? before.bytes.slice(start, last) : undefined;
    changes.push({ offset: start, bytes: now.bytes.slice(start, last), old });
    start = -1;
  };
  for (let i = 8; i < longer; i++) {
    const place = isPlace(i, now.place);
    if ((i >= 20 && i < 24) || (place && !moved)) close();
    else if (i >= shorter || before.bytes[i] !== now.bytes[i] || (moved && (place || isPlace(i, before.place)))) {
      // Two ranges take more bytes than those between them.
      if (start >= 0 && i - last > 2) close();
      if (start < 0) start = i;
      last = i + 1;
    }
  }
  close();
  const delta: Delta = {
    base: state,
    state,
    baseLength: before.bytes.length,
    length: end,
    changes,
    digest: undefined,
  };
  delta.state = sha256(concat([state, ...content(delta, false)])).slice(0, 16);
  now.bytes.set(delta.state, now.place);
  now.bytes[6] = 0;
  now.bytes[7] = 2;
  if (options.digest === true) delta.digest = sha256(now.bytes);
  return delta;
}

// --- digests

/** The constants of SHA-256: bits of the cube roots of the first primes, and of the square roots of the first eight. */
const [ROUNDS, START] = (() => {
  const [rounds, start]: [number[], number[]] = [[], []];
  const bits = (x: number): number => Math.floor((x - Math.floor(x)) * 4294967296);
  for (let n = 2; rounds.length < 64; n++) {
    let prime = true;
    for (let k = 2; k * k <= n; k++) prime &&= n % k !== 0;
    if (!prime) continue;
    if (start.length < 8) start.push(bits(Math.sqrt(n)));
    rounds.push(bits(Math.cbrt(n)));
  }
  return [Uint32Array.from(rounds), Uint32Array.from(start)];
})();

const rotate = (x: number, n: number): number => (x >>> n) | (x << (32 - n));

/** SHA-256 (FIPS 180-4), of bytes that come one after another. */
class Sha256 {
  private readonly h = Int32Array.from(START);
  private readonly w = new Int32Array(64);
  private readonly block = new Uint8Array(64);
  private filled = 0;
  private length = 0;

  update(bytes: Uint8Array): this {
    this.length += bytes.length;
    for (let i = 0; i < bytes.length; i++) {
      this.block[this.filled++] = bytes[i]!;
      if (this.filled === 64) this.mix();
    }
    return this;
  }

  private mix(): void {
    const { h, w, block } = this;
    this.filled = 0;
    for (let i = 0; i < 64; i++) {
      if (i < 16) {
        w[i] = (block[4 * i]! << 24) | (block[4 * i + 1]! << 16) | (block[4 * i + 2]! << 8) | block[4 * i + 3]!;
      } else {
        const x = w[i - 15]!;
        const y = w[i - 2]!;
        const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
        const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
        w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
      }
    }
    let [a, b, c, d] = [h[0]!, h[1]!, h[2]!, h[3]!];
    let [e, f, g, k] = [h[4]!, h[5]!, h[6]!, h[7]!];
    for (let i = 0; i < 64; i++) {
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const t = (k + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i]! + w[i]!) | 0;
      const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      k = g;
      g = f;
      f = e;
      e = (d + t) | 0;
      d = c;
      c = b;
      const majority = (a & c) ^ (a & d) ^ (c & d);
      b = a;
      a = (t + s0 + majority) | 0;
    }
    [a, b, c, d, e, f, g, k].forEach((more, i) => {
      h[i]! += more;
    });
  }

  finish(): Uint8Array {
    const bits = new DataView(new ArrayBuffer(8));
    bits.setUint32(0, Math.floor(this.length / 536870912));
    bits.setUint32(4, (this.length << 3) >>> 0);
    const padding = new Uint8Array(((119 - this.filled) % 64) + 1);
    padding[0] = 0x80;
    this.update(padding).update(new Uint8Array(bits.buffer));
    const result = new Uint8Array(32);
    const view = viewOf(result);
    for (let i = 0; i < 8; i++) view.setInt32(4 * i, this.h[i]!);
    return result;
  }
}

/** The SHA-256 of bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return new Sha256().update(bytes).finish();
}

/**
 * The digest of a value: a SHA-256 that is the same for equal values, in whatever bytes they lie (DELTA 5). The value is a
 * document, or an object or array of one.
 *
 * @throws LivebufError of kind UnsupportedFeature for values of reserved tags, or what is damaged. A damaged document that
 * stands for many values is stopped by BudgetExceeded.
 */
export function digest(value: Document<unknown> | object): Uint8Array {
  const cursor =
    value instanceof Document ? new Cursor(value.memory).toRoot() : isView(value) ? cursorOf(value) : undefined;
  if (cursor === undefined) {
    throw new LivebufError("WrongType", "a digest is that of a document, or of an object or array in one");
  }
  const walk = new Walk(cursor.m.used);
  walk.value(cursor, 0);
  return walk.hash.finish();
}

class Walk {
  readonly hash = new Sha256();
  private readonly head = new Uint8Array(9);
  private readonly words = viewOf(this.head);

  /** Values that may still be hashed, and bytes of their texts and of long keys. */
  private left: number;
  private leftText: number;

  constructor(length: number) {
    this.left = 8 * length + 1_000_000;
    this.leftText = L.TEXT_PER_BYTE * length;
  }

  private pay(values: number, text: number): void {
    this.left -= values;
    this.leftText -= text;
    if (this.left < 0 || this.leftText < 0) {
      throw new LivebufError("BudgetExceeded", "the document stands for more values than one of its size should");
    }
  }

  /** A letter and a word, by its halves. */
  private word(letter: string, lo: number, hi: number): void {
    this.head[0] = letter.charCodeAt(0);
    this.words.setUint32(1, lo, true);
    this.words.setUint32(5, hi, true);
    this.hash.update(this.head);
  }

  private big(letter: string, value: bigint): void {
    this.word(letter, Number(value & 0xffffffffn), Number((value >> 32n) & 0xffffffffn));
  }

  private bytes(letter: string, bytes: Uint8Array): void {
    // A short key, which a shape may have for many rows, is part of its value.
    this.pay(0, letter === "k" && bytes.length <= L.MAX_KEY ? 0 : bytes.length);
    this.word(letter, bytes.length, 0);
    this.hash.update(bytes);
  }

  value(cursor: Cursor, depth: number): void {
    this.pay(1, 0);
    const { m, at, count, first } = cursor;
    if (cursor.kind === SCALAR) {
      this.scalar(cursor);
      return;
    }
    if (depth >= L.MAX_NESTING) throw damage("NestingLimit", at);
    if (cursor.kind === ARRAY) {
      this.word("[", count, 0);
      const element = new Cursor(m);
      for (let i = 0; i < count; i++) {
        element.toSlot(at, first + i);
        this.value(element, depth + 1);
      }
      return;
    }
    const members: [Uint8Array, Cursor][] = [];
    for (const all = new Members(cursor); all.next(); ) {
      this.pay(1, 0);
      members.push([m.bytes(spanStart(m, all.key), spanLength(m, all.key)), all.value.clone()]);
    }
    members.sort(([a], [b]) => compare(a, b));
    this.word("{", members.length, 0);
    for (const [key, member] of members) {
      this.bytes("k", key);
      this.value(member, depth + 1);
    }
  }

  private scalar(cursor: Cursor): void {
    const { m, at, row, tag } = cursor;
    if (row < 0 && (tag === L.TEXT || tag === L.NUMBER_TEXT || tag === L.BYTES)) {
      const letter = tag === L.TEXT ? "s" : tag === L.BYTES ? "b" : "#";
      this.bytes(letter, m.bytes(spanStart(m, at), spanLength(m, at)));
      return;
    }
    const value = cursor.scalar();
    if (value === null) this.hash.update(Uint8Array.of(110));
    else if (typeof value === "boolean") this.hash.update(Uint8Array.of(value ? 116 : 102));
    else if (typeof value === "string") this.bytes("s", new TextEncoder().encode(value));
    else if (typeof value === "bigint") this.big(value >> 63n === 1n ? "u" : "i", value);
    else if (typeof value === "number") {
      if (row < 0 ? tag === L.FLOAT : isFloat(m, at, row, value)) this.float(cursor, value);
      else this.word("i", value >>> 0, Math.floor(value / 4294967296) >>> 0);
    } else if (value instanceof NumberText) this.bytes("#", new TextEncoder().encode(value.text));
    else if (value instanceof LocalDate) this.big("D", BigInt(value.days));
    else if (value instanceof LocalTime) this.big("T", BigInt(value.microseconds));
    else if (value instanceof LocalDateTime) this.big("L", value.microseconds);
    else if (value instanceof Timestamp) this.big("Z", value.microseconds);
    else if (value instanceof Uuid) this.hash.update(Uint8Array.of(85)).update(value.bytes);
    else if (value instanceof Decimal) {
      this.word("c", value.scale, 0);
      const coefficient = new DataView(new ArrayBuffer(16));
      coefficient.setBigUint64(0, BigInt.asUintN(64, value.coefficient), true);
      coefficient.setBigInt64(8, BigInt.asIntN(64, value.coefficient >> 64n), true);
      this.hash.update(new Uint8Array(coefficient.buffer));
    } else throw new LivebufError("UnsupportedFeature", "a value of a reserved tag has no digest", at);
  }

  /** A double by its bits: engines may change those of a NaN when they read it. */
  private float(cursor: Cursor, value: number): void {
    const { m, at, row } = cursor;
    const code = row < 0 ? L.F64 : m.u8[at + 1]!;
    const slot = row < 0 ? at : valuesAt(m, at) + L.WIDTHS[code]! * row;
    const bits = m.u32[slot >>> 2]!;
    if (L.WIDTHS[code] === 8) this.word("d", bits, m.u32[(slot >>> 2) + 1]!);
    else if (!Number.isNaN(value)) {
      const double = new DataView(new ArrayBuffer(8));
      double.setFloat64(0, value);
      this.word("d", double.getUint32(4), double.getUint32(0));
    } else if (code === L.F16) {
      const half = u16At(m.u8, slot);
      this.word("d", 0, (((half & 0x8000) << 16) | 0x7ff00000 | ((half & 0x3ff) << 10)) >>> 0);
    } else this.word("d", bits << 29, ((bits & 0x80000000) | 0x7ff00000 | ((bits & 0x7fffff) >>> 3)) >>> 0);
  }
}

/** The order of two keys by their bytes. */
function compare(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
