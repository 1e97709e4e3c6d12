// A document: the bytes, and the ways into them.

import { LivebufError } from "./error.js";
import { load, type Memory, type Source } from "./memory.js";
import { forJSON, type PlainOptions, plain } from "./object.js";
import { Cursor } from "./read.js";
import { print, type TextOptions } from "./text.js";
import { INSPECT, type View, viewAt, walk } from "./view.js";

/** A document that is read where its bytes lie. Opening it reads its header and nothing else. */
export class Document<T = unknown> {
  /** @internal What reads the bytes. */
  readonly memory: Memory;
  #root: { view: unknown; home: number } | undefined;

  /** @internal By {@link open}. */
  constructor(memory: Memory) {
    this.memory = memory;
  }

  #cursor(): Cursor {
    return new Cursor(this.memory).toRoot();
  }

  /** The value of the whole document. The same view each time, as long as it is the same value. */
  get root(): View<T> {
    const cursor = this.#cursor();
    if (cursor.kind === 0) return cursor.scalar() as View<T>;
    // An editor keeps the views itself, and ends those of values that are replaced.
    if (this.memory.views !== null) return viewAt(cursor, 1) as View<T>;
    if (this.#root?.home !== cursor.home) this.#root = { view: viewAt(cursor), home: cursor.home };
    return this.#root!.view as View<T>;
  }

  /** The value at a path of keys and indexes: `doc.get("users", 0, "name")`. `undefined` if there is none. */
  get(...path: (string | number)[]): unknown {
    if (path.length === 0) return this.root;
    const cursor = this.#cursor();
    return walk(cursor, path) ? viewAt(cursor, path.length + 1) : undefined;
  }

  /** The value at a JSON pointer (RFC 6901): `doc.pointer("/users/0/name")`. `undefined` if there is none. */
  pointer(pointer: string): unknown {
    return this.get(...steps(pointer));
  }

  /** The document as plain objects and arrays, exact: integers beyond 2⁵³ are bigints. */
  toObject(options?: PlainOptions): T {
    return plain(this.#cursor(), options) as T;
  }

  /** The document as JSON text, exact and with its keys in their order. */
  toText(options?: TextOptions): string {
    return print(this.#cursor(), options);
  }

  /**
   * What `JSON.stringify` prints. It is exact where the engine has `JSON.rawJSON`. Elsewhere numbers that no double holds
   * are rounded, and {@link toText} is exact.
   */
  toJSON(): unknown {
    return forJSON(this.#cursor());
  }

  /** @internal What the console of Node shows. */
  [INSPECT](): unknown {
    return this.root;
  }

  /** The document's bytes, where they lie. */
  get bytes(): Uint8Array {
    return this.memory.u8.subarray(0, this.memory.used);
  }
}

/**
 * Opens a document that is in memory. Bytes of workers' shared memory can be read, too. They are not copied, unless they
 * begin at an address that is no multiple of 8.
 *
 * @throws LivebufError of kind NotADocument, UnsupportedVersion, UnsupportedFeature or Truncated.
 */
export function open<T = unknown>(source: Source): Document<T> {
  return new Document<T>(load(source));
}

/** The JSON pointer of a path. */
export const pointerOf = (path: readonly (string | number)[]): string =>
  path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** The steps of a JSON pointer (RFC 6901). */
export function steps(pointer: string): string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) {
    throw new LivebufError(
      "BadPointer",
      `${JSON.stringify(pointer)} is no JSON pointer: it begins with / and has ~0 for ~ and ~1 for /`,
    );
  }
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}
