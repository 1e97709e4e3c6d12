// livebuf/encode: documents from values and from JSON. The bytes are those of the profile livebuf-1 (PROFILE).

import { open } from "./document.js";
import { Builder } from "./encode/builder.js";
import { copy } from "./encode/copy.js";
import { Input } from "./encode/input.js";
import { JsonReader } from "./encode/json.js";
import { isBroken } from "./encode/texts.js";
import { LivebufError } from "./error.js";
import { bytesOf, load, type Source } from "./memory.js";
import type { PlainOptions } from "./object.js";
import { Cursor } from "./read.js";

/** How values become a document. */
export interface EncodeOptions {
  /**
   * Whether arrays of similar objects become tables, and their members columns. Such documents are smaller, and their
   * columns are read at once. Default: true.
   */
  tables?: boolean;
  /** Stores strings that are dates, dates and times (RFC 3339) or UUIDs as such values (PROFILE 8). Default: false. */
  recognize?: boolean;
  /** Half of a surrogate pair, which no UTF-8 holds: an error, or U+FFFD in its place. Default: `"error"`. */
  surrogates?: "error" | "replace";
}

/** How JSON becomes a document. */
export interface JsonOptions extends EncodeOptions {
  /** If a key comes twice in an object, its last value counts, or the JSON is refused. Default: `"last"`. */
  duplicates?: "last" | "error";
}

/** Memory that is kept from one document to the next, and its most bytes. */
let idle: Builder | null = null;
const MOST_KEPT = 4 << 20;

function run(options: JsonOptions, fill: (builder: Builder) => void): Uint8Array<ArrayBuffer> {
  const builder = idle ?? new Builder();
  // A value's `toJSON` may encode another one.
  idle = null;
  const tables = options.tables ?? true;
  try {
    builder.begin(tables);
    builder.refuses = options.duplicates === "error";
    builder.texts.replaces = options.surrogates === "replace";
    fill(builder);
    let bytes = builder.finish();
    if (builder.isAnew) {
      builder.begin(tables);
      builder.knows = true;
      copy(builder, new Cursor(load(bytes)).toRoot(), tables);
      bytes = builder.finish();
    }
    return bytes;
  } finally {
    builder.begin(tables);
    if (builder.kept <= MOST_KEPT) idle = builder;
  }
}

/**
 * Encodes a value as a document, and returns its bytes.
 *
 * Objects, arrays, strings, booleans, null: as in JSON; members that are `undefined` are left out, and `undefined` in an
 * array is null. Objects with a `toJSON` are what that returns. Maps with keys that are strings are objects.
 * Numbers: whole ones up to 2⁵³ are integers, −0 and all others floats; a `Float` is always a float. Bigints:
 * integers from −2⁶³ to 2⁶⁴ − 1, others are kept as number text. `Date`: a timestamp; the instants, plain dates and times
 * of Temporal: what they are, cut to microseconds. `Uint8Array`, `DataView` and `ArrayBuffer`: bytes. Other typed arrays:
 * tensors of one dimension, which keep their type. The classes of this package, views and documents: as they are.
 *
 * O(size of the value).
 *
 * @throws LivebufError, with the path to the value: BadValue (functions, symbols), BadText (half of a surrogate pair),
 * NestingLimit (more than 1,000 containers within each other, also where an object holds itself), DocumentLimit,
 * StringLimit.
 */
export function encode(value: unknown, options: EncodeOptions = {}): Uint8Array<ArrayBuffer> {
  return run(options, (builder) => {
    const input = new Input(builder, options.tables ?? true, options.recognize ?? false);
    try {
      input.value(value, 0);
    } catch (error) {
      throw input.located(error, builder.depth);
    }
  });
}

/**
 * Encodes JSON (RFC 8259) as a document, exactly: integers of 64 bits, and numbers that no float holds, keep their
 * digits (FORMAT 13.1). A byte order mark is passed over. O(length).
 *
 * @throws LivebufError with the byte in the text: BadJson, NestingLimit (more than 1,000 containers within each other),
 * DuplicateKey (where the options refuse them), DocumentLimit, StringLimit.
 */
export function fromJSON(text: string | Source, options: JsonOptions = {}): Uint8Array<ArrayBuffer> {
  if (typeof text === "string" && options.surrogates !== "replace" && isBroken(text)) {
    throw new LivebufError(
      "BadJson",
      'the text has half of a surrogate pair; `surrogates: "replace"` puts U+FFFD for it',
    );
  }
  let bytes = typeof text === "string" ? new TextEncoder().encode(text) : bytesOf(text);
  // Others might change shared memory meanwhile, and decoders of browsers take none.
  if (!(bytes.buffer instanceof ArrayBuffer)) bytes = bytes.slice();
  return run(options, (builder) => new JsonReader(bytes, builder, options.recognize ?? false).read());
}

/**
 * A document's value as plain objects and arrays: what {@link encode} was given. `open` reads in place and is faster
 * where not all of it is needed.
 *
 * @throws LivebufError, as `open` and for damaged documents.
 */
export function decode<T = unknown>(bytes: Source, options?: PlainOptions): T {
  return open<T>(bytes).toObject(options);
}
