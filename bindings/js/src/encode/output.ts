// The document that is written: blocks are appended, and words are patched later.

import { LivebufError } from "../error.js";
import * as L from "../layout.js";

/** New bytes, all 0. An error of this package where there is no memory for them. */
export function bytesOfSize(size: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(size);
  } catch {
    throw new LivebufError("NoSpace", `there is no memory for ${size} bytes more; encode the value in parts`);
  }
}

/** More bytes that begin with these: twice as many, or as many as are needed. */
export function grown(bytes: Uint8Array<ArrayBuffer>, needed: number): Uint8Array<ArrayBuffer> {
  const more = bytesOfSize(L.word(Math.max(2 * bytes.length, needed, 1024)));
  more.set(bytes);
  return more;
}

/** The bytes of the document so far, behind room for its header. All bytes that are not in use are 0. */
export class Output {
  u8!: Uint8Array<ArrayBuffer>;
  u32!: Uint32Array;
  f32!: Float32Array;
  f64!: Float64Array;
  used = L.HEADER_SIZE;

  constructor() {
    this.adopt(bytesOfSize(4096));
  }

  private adopt(bytes: Uint8Array<ArrayBuffer>): void {
    this.u8 = bytes;
    this.u32 = new Uint32Array(bytes.buffer);
    this.f32 = new Float32Array(bytes.buffer);
    this.f64 = new Float64Array(bytes.buffer);
  }

  /** Appends bytes, which are 0, and returns where they begin. */
  grow(size: number): number {
    const start = this.used;
    if (start + size > this.u8.length) this.more(start + size);
    this.used = start + size;
    return start;
  }

  private more(needed: number): void {
    if (needed > L.MAX_USED) {
      throw new LivebufError("DocumentLimit", "the document would have more than 4 GiB; make several of it");
    }
    this.adopt(grown(this.u8, needed));
  }

  align(): void {
    this.used = L.word(this.used);
    if (this.used > this.u8.length) this.more(this.used);
  }

  /** Appends bytes that one cell will own, and returns where they begin (PROFILE 3). */
  store(from: Uint8Array, start: number, length: number): number {
    // An owned span at a multiple of eight would own padding (FORMAT 3.3).
    if ((this.used & 7) === 0 && (length & 7) !== 0) this.grow(1);
    const at = this.grow(length);
    if (length > 64) this.u8.set(from.subarray(start, start + length), at);
    else for (let i = 0; i < length; i++) this.u8[at + i] = from[start + i]!;
    return at;
  }

  /** Writes the header of a column (FORMAT 6.1). */
  header(at: number, code: number, gaps: number, tensor: number, count: number, data: number): void {
    const i = at >>> 2;
    this.u32[i] = L.ARRAY | (code << 8) | (gaps << 16) | (tensor << 24);
    this.u32[i + 1] = count;
    this.u32[i + 2] = count;
    this.u32[i + 3] = count === 0 && code !== L.FIXED_LISTS ? 0 : data;
  }

  /** The document's bytes by themselves. What was written is 0 again here. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.u8.slice(0, this.used);
    this.clear();
    return bytes;
  }

  clear(): void {
    this.u8.fill(0, 0, this.used);
    this.used = L.HEADER_SIZE;
  }
}
