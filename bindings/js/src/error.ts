/**
 * What went wrong. The names are those of every other language:
 * {@link https://github.com/livebuf/livebuf/blob/main/docs/errors.md}.
 */
export type ErrorKind =
  | "NotADocument"
  | "UnsupportedVersion"
  | "UnsupportedFeature"
  | "Truncated"
  | "OutOfBounds"
  | "Misaligned"
  | "WrongBlock"
  | "BadCode"
  | "BadCount"
  | "BadText"
  | "BadCell"
  | "Overlap"
  | "BadIndex"
  | "DuplicateKey"
  | "BadFreeList"
  | "NotZero"
  | "BudgetExceeded"
  | "NestingLimit"
  | "DocumentLimit"
  | "StringLimit"
  | "ElementLimit"
  | "NoSpace"
  | "StaleHandle"
  | "WrongType"
  | "NotFound"
  | "IndexOutOfRange"
  | "KeyExists"
  | "ReadOnly"
  | "BadPointer"
  | "BadNumber"
  | "Io"
  | "Unsupported"
  | "BadValue"
  | "TensorMismatch"
  | "BadJson"
  | "BadDelta"
  | "BadLog";

/** Every error of this package. `kind` says what is wrong, `offset` and `path` say where. */
export class LivebufError extends Error {
  override name = "LivebufError";
  /** What is wrong: a name that stays the same in every version and language. */
  readonly kind: ErrorKind;
  /** The byte of the document, or of the text, where it was found; `undefined` if it has no place. */
  readonly offset: number | undefined;
  /** A JSON pointer to the value that it is about, where one is known. */
  readonly path: string | undefined;

  constructor(kind: ErrorKind, message: string, offset?: number, path?: string) {
    super(message);
    this.kind = kind;
    this.offset = offset;
    this.path = path;
  }
}

/** What is wrong with damaged bytes, in words. */
const WORDS: { [kind in ErrorKind]?: string } = {
  NotADocument: "these bytes are no LiveBuf document; convert JSON by fromJSON",
  OutOfBounds: "an offset or a length leads beyond the document",
  Misaligned: "an offset is no multiple of 8",
  WrongBlock: "a reference leads to a block of another kind",
  BadCode: "a code or a tag is undefined, or not allowed here",
  BadCount: "counts contradict each other",
  BadText: "a text is not UTF-8",
  BadCell: "a cell holds bits that its tag does not allow",
  BadIndex: "an index does not lead to its entries",
  NestingLimit: "values are nested too deeply",
};

/** The error of damaged bytes, for the caller to throw. */
export function damage(kind: ErrorKind, offset: number, words: string = WORDS[kind] ?? kind): LivebufError {
  return new LivebufError(kind, `${words} (${kind} at byte ${offset})`, offset);
}
