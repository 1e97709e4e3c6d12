// The bytes of a document, and what its header says (FORMAT 2).

import { damage, LivebufError } from "./error.js";
import { HEADER_SIZE, VERSION } from "./layout.js";
import type { State } from "./view.js";

/** What a document can be read from: any bytes, also those that workers share. */
export type Source = ArrayBuffer | SharedArrayBuffer | ArrayBufferView;

/**
 * The bytes of a document as numbers of every width. They begin at a multiple of 8, so that columns are typed arrays
 * over the same bytes.
 */
export class Memory {
  u8!: Uint8Array;
  u32!: Uint32Array;
  f64!: Float64Array;
  private i64: BigInt64Array | undefined;
  /** Bytes in use (FORMAT 2). */
  used = 0;
  /** Counts what makes a view look its keys up again: a shape or a block that is no longer what it was. */
  epoch = 0;
  /** Classes of views, by the shape and the count of keys (view.ts). */
  readonly classes = new Map<number, unknown>();
  /** Whether the bytes were found valid (FORMAT 9). */
  valid = false;
  /** Of a document that is read in parts: brings bytes before they are read (partial.ts, node.ts). */
  bring: ((offset: number, length: number) => void) | undefined = undefined;
  /**
   * Of a document that is edited, the views that were made, by their homes; those of rows and of arrays in lists by their
   * tables and lists, and their numbers there.
   */
  views: Map<number, State | Map<number, State>> | null = null;

  constructor(bytes: Uint8Array) {
    this.adopt(bytes);
  }

  /** Takes other bytes in place of those that were there, whose address is a multiple of 8. */
  adopt(bytes: Uint8Array): void {
    const { buffer, byteOffset, byteLength } = bytes;
    this.u8 = bytes;
    this.u32 = new Uint32Array(buffer, byteOffset, byteLength >>> 2);
    this.f64 = new Float64Array(buffer, byteOffset, byteLength >>> 3);
    this.i64 = undefined;
  }

  /** Eight bytes as a signed integer. */
  int64(at: number): bigint {
    this.i64 ??= new BigInt64Array(this.u8.buffer, this.u8.byteOffset, this.u8.byteLength >>> 3);
    return this.i64[at >>> 3]!;
  }

  /** Checks that a block lies in the document, at a multiple of 8. Its bytes may be read then. */
  need(offset: number, size: number): void {
    this.within(offset, size);
    this.bring?.(offset, size);
  }

  /** The same for a block that is large: its bytes are asked for one by one. */
  within(offset: number, size: number): void {
    if ((offset & 7) !== 0) throw damage("Misaligned", offset);
    if (!(offset >= HEADER_SIZE && offset + size <= this.used)) throw damage("OutOfBounds", offset);
  }

  /** Checks that bytes lie in the document, before they are read. */
  reach(offset: number, length: number): void {
    if (!(offset >= 0 && offset + length <= this.used)) throw damage("OutOfBounds", offset);
    this.bring?.(offset, length);
  }

  /** The bytes of a span, which lie where the document does. */
  bytes(offset: number, length: number): Uint8Array {
    this.reach(offset, length);
    return this.u8.subarray(offset, offset + length);
  }
}

/** Whether an object is bytes of some kind, or a typed array. */
export const isSource = (value: object): value is Source =>
  ArrayBuffer.isView(value) ||
  value instanceof ArrayBuffer ||
  (typeof SharedArrayBuffer === "function" && value instanceof SharedArrayBuffer);

/** Any bytes as an `Uint8Array` over them. */
export function bytesOf(source: Source): Uint8Array {
  if (ArrayBuffer.isView(source)) {
    return source instanceof Uint8Array && source.constructor === Uint8Array
      ? source
      : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  }
  return new Uint8Array(source);
}

/**
 * Reads a document's header. Bytes that begin at no multiple of 8 are copied, since no typed array can lie over them.
 */
export function load(source: Source): Memory {
  if (typeof source !== "object" || source === null || !isSource(source)) {
    throw new LivebufError(
      "BadValue",
      "a document is bytes, such as a Uint8Array; fromJSON reads text, and Partial.blob a Blob",
    );
  }
  let bytes = bytesOf(source);
  const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 4 || head.getUint32(0, true) !== 0x46424cab) {
    throw bytes.length > 0 && bytes.length < 4 && bytes[0] === 0xab
      ? cutShort(bytes.length, HEADER_SIZE)
      : damage("NotADocument", 0);
  }
  if (bytes.length < HEADER_SIZE) throw cutShort(bytes.length, HEADER_SIZE);
  const version = head.getUint8(4);
  if (version !== VERSION) {
    throw new LivebufError(
      "UnsupportedVersion",
      version === 0
        ? "this document is of a draft, from before version 1; the library that wrote it reads it and prints JSON"
        : `this document is of version ${version}, and this package reads version ${VERSION}; a newer one may read it`,
      4,
    );
  }
  if (head.getUint8(5) !== 0) {
    throw new LivebufError("UnsupportedFeature", "this document needs a newer version of this package", 5);
  }
  const used = head.getUint32(20, true);
  if (used < HEADER_SIZE) throw damage("BadCount", 20);
  if ((used & 7) !== 0) throw damage("Misaligned", 20);
  if (used > bytes.length) throw cutShort(bytes.length, used);
  if ((bytes.byteOffset & 7) !== 0) {
    const copy = new Uint8Array(used);
    copy.set(bytes.subarray(0, used));
    bytes = copy;
  }
  const memory = new Memory(bytes);
  memory.used = used;
  return memory;
}

export function cutShort(length: number, needed: number): LivebufError {
  return new LivebufError("Truncated", `the document has ${needed} bytes, and ${length} are here`, length);
}
