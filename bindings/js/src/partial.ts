// livebuf/partial: documents that are somewhere else, and of which only the bytes that are read are fetched.

import { Document } from "./document.js";
import { LivebufError } from "./error.js";
import { HEADER_SIZE } from "./layout.js";
import { cutShort, load, Memory } from "./memory.js";
import { isView, toObject, type View } from "./view.js";

/** Where a document's bytes come from. */
export interface ByteSource {
  /** Bytes from `start` up to `end`. Fewer only where they end. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** How many bytes there are, if that is known once the first were read. Documents that claim more are refused. */
  readonly size?: number | undefined;
}

/** How a document is read in parts. */
export interface PartialOptions {
  /** Bytes that are fetched at once, a power of two. Default: 16,384. */
  page?: number;
  /** Most fetches of one call of `read`. Default: 1,000. */
  fetches?: number;
}

/** Thrown while bytes are missing, and caught by `read`. Others see it where they read outside of `read`. */
class Missing extends LivebufError {
  constructor(
    readonly start: number,
    readonly end: number,
  ) {
    // It has a path, though an empty one: in place of errors without one, `encode` throws others that have it.
    super(
      "Unsupported",
      "these bytes were not fetched: ask for them within `read`, and return plain values",
      start,
      "",
    );
  }
}

/**
 * A document of which parts are fetched when they are read:
 *
 * ```ts
 * const doc = await Partial.fetch<Manifest>("https://example.org/manifest.lbuf");
 * const path = await doc.read((root) => root.routes.at(5)?.path);
 * ```
 */
export class Partial<T = unknown> {
  readonly #source: ByteSource;
  readonly #memory: Memory;
  readonly #document: Document<T>;
  readonly #page: number;
  readonly #fetches: number;
  /** A byte for each page: 1 where it is here. */
  readonly #here: Uint8Array;
  /** The requests that bring pages now. */
  readonly #coming = new Map<number, Promise<void>>();
  /** How many requests were made, and how many bytes they brought. */
  readonly stats: { requests: number; bytes: number };

  private constructor(source: ByteSource, head: Uint8Array, used: number, options: PartialOptions) {
    this.#source = source;
    this.#page = options.page ?? 16_384;
    this.#fetches = options.fetches ?? 1000;
    // Systems give memory only when it is written to.
    const bytes = new Uint8Array(used);
    bytes.set(head.subarray(0, used));
    this.#memory = new Memory(bytes);
    this.#memory.used = used;
    this.#here = new Uint8Array(Math.ceil(used / this.#page));
    this.#here.fill(1, 0, head.length >= used ? this.#here.length : Math.floor(head.length / this.#page));
    this.stats = { requests: 1, bytes: head.length };
    this.#memory.bring = (start, length) => this.#bring(start, length);
    this.#document = new Document<T>(this.#memory);
  }

  /**
   * Opens a document of any source by its first page.
   *
   * @throws LivebufError as `open` does, and whatever the source throws.
   */
  static async open<T = unknown>(source: ByteSource, options: PartialOptions = {}): Promise<Partial<T>> {
    const page = pageOf(options.page ?? 16_384);
    const head = (await source.read(0, page)).slice();
    checkHead(head);
    const used = new DataView(head.buffer, head.byteOffset).getUint32(20, true);
    const { size = used } = source;
    if (used > size) throw cutShort(size, used);
    return new Partial<T>(source, head, used, options);
  }

  /** Opens a document of a server that answers requests for ranges (RFC 9110, section 14). */
  static fetch<T = unknown>(
    url: string | URL,
    options: PartialOptions & { init?: RequestInit } = {},
  ): Promise<Partial<T>> {
    return Partial.open<T>(new HttpSource(url, options.init), options);
  }

  /** Opens a document of a `Blob` or a `File`. */
  static blob<T = unknown>(blob: Blob, options: PartialOptions = {}): Promise<Partial<T>> {
    const read = async (start: number, end: number) => new Uint8Array(await blob.slice(start, end).arrayBuffer());
    return Partial.open<T>({ read, size: blob.size }, options);
  }

  /** How many bytes the whole document has. */
  get length(): number {
    return this.#memory.used;
  }

  #bring(start: number, length: number): void {
    const page = this.#page;
    for (let i = Math.floor(start / page); i * page < start + length; i++) {
      if (this.#here[i] === 0) throw new Missing(start, start + length);
    }
  }

  /**
   * Calls `with` on the root, again each time bytes were missing and have been fetched, until it ends. So it must only
   * read. What it returns must not read later: a view is returned as plain values.
   */
  async read<R>(reader: (root: View<T>, document: Document<T>) => R): Promise<R> {
    for (let i = 0; i <= this.#fetches; i++) {
      let missing: Missing;
      try {
        const result = reader(this.#document.root, this.#document);
        return (isView(result) ? toObject(result) : result) as R;
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        missing = error;
      }
      await this.#load(missing.start, missing.end);
    }
    throw new LivebufError(
      "BudgetExceeded",
      `more than ${this.#fetches} fetches for one read: set more by the option fetches`,
    );
  }

  /** Fetches a range of bytes ahead, so that reading it needs no further requests. */
  async prefetch(start: number, end: number): Promise<void> {
    if (start < end) await this.#load(start, Math.min(end, this.length));
  }

  async #load(from: number, to: number): Promise<void> {
    const page = this.#page;
    let first = Math.floor(from / page);
    const last = Math.ceil(to / page);
    while (first < last) {
      // Pages that are here already, or on their way to another read; then those of one request.
      const coming = this.#coming.get(first);
      if (coming !== undefined) await coming;
      else if (this.#here[first] !== 0) first++;
      else {
        let end = first + 1;
        while (end < last && this.#here[end] === 0 && !this.#coming.has(end)) end++;
        const fetched = this.#fetch(first, end);
        for (let i = first; i < end; i++) this.#coming.set(i, fetched);
        try {
          await fetched;
        } finally {
          for (let i = first; i < end; i++) this.#coming.delete(i);
        }
        first = end;
      }
    }
  }

  /** Fetches some pages. */
  async #fetch(first: number, end: number): Promise<void> {
    const page = this.#page;
    const start = first * page;
    const stop = Math.min(end * page, this.length);
    const bytes = await this.#source.read(start, stop);
    if (bytes.length < stop - start) {
      throw new LivebufError("Truncated", `the source ends at byte ${start + bytes.length} of ${this.length}`, start);
    }
    this.#memory.u8.set(bytes.subarray(0, stop - start), start);
    this.#here.fill(1, first, end);
    this.stats.requests++;
    this.stats.bytes += bytes.length;
  }
}

/** The size of pages, if it can be one. */
export function pageOf(size: number): number {
  if (size >= 64 && Number.isInteger(Math.log2(size))) return size;
  throw new RangeError("a page is a power of two of at least 64 bytes");
}

/** Checks a header as `open` does, though the rest is not here. */
function checkHead(head: Uint8Array): void {
  try {
    load(head);
  } catch (error) {
    const cut = error instanceof LivebufError && error.kind === "Truncated" && head.length >= HEADER_SIZE;
    if (!cut) throw error;
  }
}

/** A file on a server. It must not change meanwhile, which its ETag shows. */
class HttpSource implements ByteSource {
  size: number | undefined;
  #tag: string | null = null;
  /** All bytes, of a server that knows no ranges and sends them at once. */
  #all: Uint8Array | undefined;

  constructor(
    private readonly url: string | URL,
    private readonly init: RequestInit = {},
  ) {}

  async read(start: number, end: number): Promise<Uint8Array> {
    if (this.#all !== undefined) return this.#all.subarray(start, end);
    const headers = new Headers(this.init.headers);
    headers.set("Range", `bytes=${start}-${end - 1}`);
    const response = await fetch(this.url, { ...this.init, headers });
    const tag = response.headers.get("ETag") ?? response.headers.get("Last-Modified");
    if (this.#tag !== null && tag !== this.#tag) {
      throw new LivebufError("Io", `${this.url} changed while it was read: open it again`);
    }
    this.#tag = tag;
    // A range behind the end is none: there is nothing.
    if (response.status === 416) return new Uint8Array(0);
    if (!response.ok) throw new LivebufError("Io", `${this.url} answered ${response.status} ${response.statusText}`);
    // Browsers hide it from pages of other sites, unless the server allows them to see it.
    const range = /(\d+)-\d+\/(\d*)/.exec(response.headers.get("Content-Range") ?? "");
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (response.status === 206) {
      if (range === null) return bytes;
      if (Number(range[1]) !== start)
        throw new LivebufError("Io", `${this.url} answered with other bytes: ${range[0]}`);
      if (range[2] !== "") this.size = Number(range[2]);
      return bytes;
    }
    this.size = bytes.length;
    this.#all = bytes;
    return bytes.subarray(start, end);
  }
}
