// Texts of the document that may be shared: equal ones are written once (PROFILE 3). Those of the outermost open array
// wait beside its values, since they may become part of a run.

import { LivebufError } from "../error.js";
import * as L from "../layout.js";
import { grown, type Output } from "./output.js";
import { LOOSE, LOOSE_UUID, WAITING } from "./stack.js";

/** What `cellOf` says of a text: no cell refers to it yet, or one at most; several do. */
const SINGLE = 0;
const SHARED = 0xffffffff;

/** Where a text's bytes are: beside the values of the outermost array; in the document; in a run. */
const WAITS = 0;
const WRITTEN = 1;
const IN_RUN = 2;

/** Texts that are searched before it is judged whether that is worth it. */
const JUDGED = 64;
/** With fewer different texts, all are searched. */
const FEW = 1024;
const SHORTEST_PAUSE = 64;
const LONGEST_PAUSE = 16_384;

/** The seed of the hashes, so that nobody can choose texts that collide. */
const SEED = (Math.random() * 4294967296) | 0;

const encoder = new TextEncoder();
/** Characters from which on the engine's encoder is faster. */
const LONG = 24;

/** Whether a string has half of a surrogate pair. */
export function isBroken(text: string): boolean {
  const { isWellFormed } = text as { isWellFormed?: () => boolean };
  return isWellFormed === undefined ? /\p{Surrogate}/u.test(text) : !isWellFormed.call(text);
}

const broken = (): LivebufError =>
  new LivebufError(
    "BadText",
    'a string has half of a surrogate pair, which no UTF-8 holds; `surrogates: "replace"` puts U+FFFD for it',
  );

export class Texts {
  /** The bytes of texts that wait. Behind them the text is put that is about to be added. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(4096);
  used = 0;
  /** Texts that were searched, four numbers each: offset, length, the position of the only cell, hash. */
  private list = new Uint32Array(1024);
  private places = new Uint8Array(256);
  count = 0;
  /** From which text on some may wait. */
  private unwritten = 0;
  /** Numbers of texts, and 1, by their hashes. */
  private index = new Uint32Array(1024);
  /** Numbers of texts that were given as strings. */
  private readonly known = new Map<string, number>();
  /** Texts that are not searched in this pause, and the length of the next. */
  private pause = 0;
  private next = SHORTEST_PAUSE;
  /** Texts that were searched since the last verdict, and whether one was found. */
  private searched = 0;
  private found = false;
  /** Whether lone surrogates are replaced. */
  replaces = false;

  constructor(private readonly out: Output) {}

  clear(): void {
    if (this.count > 0) {
      if (this.index.length > 65_536) this.index = new Uint32Array(1024);
      else this.index.fill(0);
      this.known.clear();
    }
    this.count = 0;
    this.used = 0;
    this.unwritten = 0;
    this.noPause();
  }

  /** Ends a pause and a group. */
  noPause(): void {
    this.pause = 0;
    this.next = SHORTEST_PAUSE;
    this.searched = 0;
    this.found = false;
  }

  /** Makes room for so many bytes behind those that wait. */
  room(bytes: number): void {
    if (this.used + bytes > this.bytes.length) this.bytes = grown(this.bytes, this.used + bytes);
  }

  /** Puts a string behind the texts that wait, and returns how many bytes it has. */
  put(text: string): number {
    const n = text.length;
    this.room(3 * n);
    const { bytes, used } = this;
    if (n > LONG) {
      const { written } = encoder.encodeInto(text, bytes.subarray(used));
      // The engine puts U+FFFD for half of a surrogate pair. Text of ASCII has none.
      if (written !== n && !this.replaces && isBroken(text)) throw broken();
      return written;
    }
    let at = used;
    for (let i = 0; i < n; i++) {
      let c = text.charCodeAt(i);
      if (c < 0x80) {
        bytes[at++] = c;
        continue;
      }
      if (c < 0x800) {
        bytes[at++] = 0xc0 | (c >> 6);
        bytes[at++] = 0x80 | (c & 63);
        continue;
      }
      if ((c & 0xf800) === 0xd800) {
        const low = i + 1 < n ? text.charCodeAt(i + 1) : 0;
        if (c < 0xdc00 && (low & 0xfc00) === 0xdc00) {
          i++;
          c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
          bytes[at++] = 0xf0 | (c >> 18);
          bytes[at++] = 0x80 | ((c >> 12) & 63);
          bytes[at++] = 0x80 | ((c >> 6) & 63);
          bytes[at++] = 0x80 | (c & 63);
          continue;
        }
        if (!this.replaces) throw broken();
        c = 0xfffd;
      }
      bytes[at++] = 0xe0 | (c >> 12);
      bytes[at++] = 0x80 | ((c >> 6) & 63);
      bytes[at++] = 0x80 | (c & 63);
    }
    return at - used;
  }

  /** A string without halves of surrogate pairs. */
  whole(text: string): string {
    if (!isBroken(text)) return text;
    if (!this.replaces) throw broken();
    return text.replace(/\p{Surrogate}/gu, "\ufffd");
  }

  /** Puts bytes behind the texts that wait. */
  putBytes(from: Uint8Array, start: number, length: number): void {
    this.room(length);
    const { bytes, used } = this;
    if (length > 64) bytes.set(from.subarray(start, start + length), used);
    else for (let i = 0; i < length; i++) bytes[used + i] = from[start + i]!;
  }

  /** Whether the next text is in a pause. */
  skips(): boolean {
    if (this.pause === 0) return false;
    this.pause--;
    return true;
  }

  private judge(found: boolean): void {
    this.searched++;
    if (found) this.found = true;
    if (this.searched < JUDGED) return;
    if (this.found || this.count < FEW) this.next = SHORTEST_PAUSE;
    else {
      this.pause = this.next;
      this.next = Math.min(2 * this.next, LONGEST_PAUSE);
    }
    this.searched = 0;
    this.found = false;
  }

  /** The number of a string, if it is known and is to be searched; else −1. */
  find(text: string, waits: boolean): number {
    if (this.pause > 0 || this.replaces) return -1;
    const number = this.known.get(text);
    if (number === undefined) return -1;
    this.meet(number, waits);
    return number;
  }

  /** A text is met once more. */
  private meet(number: number, waits: boolean): void {
    this.judge(true);
    this.share(number);
    if (!waits) this.write(number);
  }

  /**
   * The number of the text behind those that wait, which is searched; if it is new, it is kept or written. With a
   * string, `find` has searched it.
   */
  intern(length: number, waits: boolean, string: string | null): number {
    const { bytes, used } = this;
    if (string !== null && !this.replaces) {
      this.known.set(string, this.count);
      return this.add(length, waits, 0);
    }
    let hash = SEED ^ length;
    const end = used + length;
    let i = used;
    for (; i + 4 <= end; i += 4) {
      const word = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
      hash = Math.imul(hash ^ word, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    for (; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x85ebca6b);
    hash = (hash ^ (hash >>> 13)) >>> 0;
    const { list, index } = this;
    const mask = index.length - 1;
    let at = hash & mask;
    for (let number = index[at]!; number !== 0; number = index[at]!) {
      const text = 4 * (number - 1);
      if (list[text + 3] === hash && list[text + 1] === length) {
        const from = this.places[number - 1] === WAITS ? bytes : this.out.u8;
        const start = list[text]!;
        let k = 0;
        while (k < length && from[start + k] === bytes[used + k]) k++;
        if (k === length) {
          this.meet(number - 1, waits);
          return number - 1;
        }
      }
      at = (at + 1) & mask;
    }
    this.index[at] = this.count + 1;
    const number = this.add(length, waits, hash);
    if (2 * this.count > this.index.length) this.rehash();
    return number;
  }

  private add(length: number, waits: boolean, hash: number): number {
    const number = this.count++;
    if (4 * number === this.list.length) this.more();
    this.judge(false);
    const offset = waits ? this.keep(length) : this.out.store(this.bytes, this.used, length);
    const text = 4 * number;
    this.list[text] = offset;
    this.list[text + 1] = length;
    this.list[text + 2] = SINGLE;
    this.list[text + 3] = hash;
    this.places[number] = waits ? WAITS : WRITTEN;
    return number;
  }

  private more(): void {
    const list = grown(new Uint8Array(this.list.buffer as ArrayBuffer), 0);
    this.list = new Uint32Array(list.buffer);
    this.places = grown(this.places as Uint8Array<ArrayBuffer>, list.length / 16);
  }

  private rehash(): void {
    const index = new Uint32Array(4 * this.index.length);
    const mask = index.length - 1;
    for (let number = 0; number < this.count; number++) {
      let at = this.list[4 * number + 3]! & mask;
      while (index[at] !== 0) at = (at + 1) & mask;
      index[at] = number + 1;
    }
    this.index = index;
  }

  /** A further cell refers to this text. */
  private share(number: number): void {
    const cell = this.list[4 * number + 2]!;
    if (cell === SHARED) return;
    // The cell that thought itself the owner shares from now on.
    if (cell !== SINGLE) this.out.u32[(cell >>> 2) + 1] = this.list[4 * number + 1]!;
    this.list[4 * number + 2] = SHARED;
  }

  /** Keeps the bytes behind those that wait, and returns where they are. */
  keep(length: number): number {
    const at = this.used;
    this.used += length;
    return at;
  }

  /** Writes a text that a cell is to refer to, where it is not written yet. */
  private write(number: number): void {
    const place = this.places[number]!;
    if (place === WRITTEN) return;
    const text = 4 * number;
    const from = place === WAITS ? this.bytes : this.out.u8;
    this.list[text] = this.out.store(from, this.list[text]!, this.list[text + 1]!);
    this.places[number] = WRITTEN;
  }

  /** Writes the bytes of a value that a cell is to refer to: the place of a text that is not searched, else 0. */
  writeFor(tag: number, lo: number, hi: number): number {
    if (tag === WAITING) this.write(lo);
    else if (tag === LOOSE || tag === LOOSE_UUID) return this.out.store(this.bytes, lo, hi);
    return 0;
  }

  /** Writes all texts that still wait, and forgets their bytes: the array ends. */
  writeRest(): void {
    for (let number = this.unwritten; number < this.count; number++) {
      if (this.places[number] === WAITS) this.write(number);
    }
    this.unwritten = this.count;
    this.used = 0;
  }

  offset(number: number): number {
    return this.list[4 * number]!;
  }

  length(number: number): number {
    return this.list[4 * number + 1]!;
  }

  /** Whether nothing else refers to the text, as far as is known. */
  isSingle(number: number): boolean {
    return this.list[4 * number + 2] === SINGLE;
  }

  /** The upper half of the cell at `position` that refers to a text, which may own it. */
  settle(number: number, position: number): number {
    const text = 4 * number;
    const length = this.list[text + 1]!;
    if (this.list[text + 2] !== SINGLE) return length;
    this.list[text + 2] = position;
    return length | 0x40000000;
  }

  /** From now on no cell owns the text. */
  disown(number: number): void {
    this.list[4 * number + 2] = SHARED;
  }

  /** Writes the bytes of a text into a run, at `to` in the document. Returns how many they are. */
  writeInRun(tag: number, lo: number, hi: number, to: number): number {
    const { out } = this;
    if (tag === L.TEXT) {
      const length = (hi >>> 24) & 0x7f;
      for (let i = 0; i < length; i++) out.u8[to + i] = i < 4 ? lo >>> (8 * i) : hi >>> (8 * (i - 4));
      return length;
    }
    let from = this.bytes;
    let start = lo;
    let length = hi;
    if (tag === WAITING) {
      const text = 4 * lo;
      start = this.list[text]!;
      length = this.list[text + 1]!;
      if (this.places[lo] === WAITS) {
        this.list[text] = to;
        this.places[lo] = IN_RUN;
      } else from = out.u8;
    }
    if (length > 64) out.u8.set(from.subarray(start, start + length), to);
    else for (let i = 0; i < length; i++) out.u8[to + i] = from[start + i]!;
    return length;
  }

  /** Bytes of memory that are kept. */
  get kept(): number {
    return this.bytes.length + this.list.byteLength + this.index.byteLength;
  }
}
