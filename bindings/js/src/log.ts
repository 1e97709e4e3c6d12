// livebuf/log: reading logs, files of rows that only grow (LOG).

import { crc32 } from "./crc.js";
import { Document } from "./document.js";
import { LivebufError } from "./error.js";
import { bytesOf, load, type Source } from "./memory.js";
import { check } from "./validate.js";
import { ArrayView, get, isView, type View } from "./view.js";

/** What is wrong with a log (LOG 6). */
export type LogFault = "NotALog" | "Unsupported" | "CutShort" | "Damaged";

/** An error of kind BadLog. `fault` says which of the four it is, and `offset` where in the file. */
export class LogError extends LivebufError {
  constructor(
    /** NotALog: other bytes; Unsupported: a newer version; CutShort: bytes that were written are gone; Damaged. */
    readonly fault: LogFault,
    message: string,
    offset: number,
  ) {
    super("BadLog", `${fault}: ${message} (at byte ${offset})`, offset);
  }
}

interface Frame {
  kind: number;
  offset: number;
  length: number;
  /** The number of the first row, and how many there are. */
  first: number;
  rows: number;
  /** The CRC of the body. */
  crc: number;
  /** So many bytes of the file were on the disk. */
  durable: number;
}

const HEADER = 64;
const FRAME = 32;
const SINGLE = 0x53;
const ROWS = 0x52;
const GROUP = 0x47;
const INDEX = 0x49;

/** A log that is in memory. Its frames are known; rows are read, and their documents validated, when they are asked for. */
export class Log<T = unknown> {
  readonly #bytes: Uint8Array;
  readonly #data: DataView;
  /** The CRC of the identity, with which other CRCs begin. */
  #identity = 0;
  #durable = 0;
  #end = HEADER;
  #groups: Frame[] = [];
  #tail: Frame[] = [];
  /** The frame whose document was opened last. */
  #open: { frame: Frame; root: unknown } | undefined;

  constructor(source: Source) {
    this.#bytes = bytesOf(source);
    this.#data = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
    this.#header();
    // The mark is a hint. If it is damaged, it says nothing.
    if (crc32(this.#part(32, 28), this.#identity) === this.#word(60)) {
      this.#durable = this.#long(32);
      const index = this.#long(40);
      if (index !== 0) this.#byIndexes(index);
    }
    this.#advance();
  }

  /** How many rows there are. */
  get length(): number {
    const last = this.#tail.at(-1);
    return last === undefined ? this.#settled() : last.first + last.rows;
  }

  /** Bytes at the end that are of no whole frame: a write that a power cut, or this copy, came before (LOG 6). */
  get torn(): number {
    return this.#bytes.length - this.#end;
  }

  /**
   * Row i; from the end if i is negative. `undefined` if there is none. Validates the document that the row is in, unless
   * it is the same as that of the row before.
   *
   * @throws LogError if that document is damaged.
   */
  at(i: number): View<T> | undefined {
    const row = i < 0 ? i + this.length : i;
    const frames = row < this.#settled() ? this.#groups : this.#tail;
    let low = 0;
    let high = frames.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (frames[middle]!.first + frames[middle]!.rows <= row) low = middle + 1;
      else high = middle;
    }
    const frame = frames[low];
    if (frame === undefined || !(row >= 0) || !Number.isInteger(row)) return undefined;
    const root = this.#root(frame);
    return (frame.kind === SINGLE ? root : (root as ArrayView<T>).at(row - frame.first)) as View<T>;
  }

  /** The rows from `start` up to `end`, one after the other. */
  *rows(start = 0, end: number = this.length): IterableIterator<View<T>> {
    for (let i = Math.max(start, 0); i < Math.min(end, this.length); i++) yield this.at(i)!;
  }

  [Symbol.iterator](): IterableIterator<View<T>> {
    return this.rows();
  }

  // --- bytes

  #part(at: number, length: number): Uint8Array {
    return this.#bytes.subarray(at, at + length);
  }

  #word(at: number): number {
    return this.#data.getUint32(at, true);
  }

  /** A number of 64 bits; those above 2⁵³ are rounded. */
  #long(at: number): number {
    return this.#word(at + 4) * 4294967296 + this.#word(at);
  }

  #header(): void {
    const bytes = this.#bytes;
    const version = bytes[4];
    if (bytes.length < HEADER || this.#word(0) !== 0x4c424cab) throw new LogError("NotALog", "the bytes are no log", 0);
    if (crc32(this.#part(0, 28)) !== this.#word(28)) throw new LogError("NotALog", "the log's header is damaged", 0);
    if (version !== 1) throw new LogError("Unsupported", `the log's version ${version} is not read here`, 4);
    if (bytes[5] !== 0 || this.#part(16, 12).some((byte) => byte !== 0)) {
      throw new LogError("Unsupported", "the log needs a newer version of this package", 5);
    }
    this.#identity = crc32(this.#part(8, 8));
  }

  // --- frames

  #settled(): number {
    const last = this.#groups.at(-1);
    return last === undefined ? 0 : last.first + last.rows;
  }

  /** The header of a frame at an offset; `undefined` if there is no whole one. */
  #frame(offset: number): Frame | undefined {
    if (offset + FRAME > this.#bytes.length || (this.#word(offset) & 0xffffff) !== 0x424cab) return undefined;
    const place = new DataView(new ArrayBuffer(8));
    place.setUint32(0, offset >>> 0, true);
    place.setUint32(4, Math.floor(offset / 4294967296), true);
    const crc = crc32(this.#part(offset, 28), crc32(new Uint8Array(place.buffer), this.#identity));
    if (crc !== this.#word(offset + 28)) return undefined;
    const [kind, length, rows] = [this.#bytes[offset + 3]!, this.#word(offset + 4), this.#word(offset + 16)];
    if (kind !== SINGLE && kind !== ROWS && kind !== GROUP && kind !== INDEX) {
      throw new LogError("Unsupported", "the log has a kind of frame that is not known here", offset);
    }
    const first = this.#long(offset + 8);
    const fits = kind === SINGLE ? rows === 1 : (rows === 0) === (kind === INDEX);
    if (!fits || length < 32 || (length & 7) !== 0 || first >= 2 ** 63) {
      throw new LogError("Damaged", "a frame's header says what no header may say", offset);
    }
    const behind = this.#word(offset + 20);
    const durable = behind === 0xffffffff ? 0 : Math.max(offset - 8 * behind, 0);
    return { kind, offset, length, first, rows, crc: this.#word(offset + 24), durable };
  }

  #hasBody(frame: Frame): boolean {
    return crc32(this.#part(frame.offset + FRAME, frame.length)) === frame.crc;
  }

  /** Walks over frames from where they are known on, and tells a torn end from damage (LOG 6). */
  #advance(): void {
    const length = this.#bytes.length;
    for (let tried = -1; ; tried = this.#end) {
      const before = this.#durable;
      const fault = this.#walk();
      const stopped = this.#end;
      if (length < this.#durable) {
        throw new LogError(
          "CutShort",
          `the log was cut: it had ${this.#durable} bytes, and ${length} are here`,
          length,
        );
      }
      if (stopped === length) return;
      // Headers behind the stop say which bytes were on the disk, too.
      for (let at = stopped + 8; at + FRAME <= length && this.#durable <= stopped; at += 8) {
        try {
          this.#durable = Math.max(this.#durable, this.#frame(at)?.durable ?? 0);
        } catch {
          // What looks like a frame and breaks a rule is none here.
        }
      }
      if (stopped >= this.#durable) return;
      if (tried === stopped && before === this.#durable) throw new LogError("Damaged", fault, stopped);
    }
  }

  #walk(): string {
    const length = this.#bytes.length;
    const found: Frame[] = [];
    let fault = "a frame's header is damaged";
    for (let at = this.#end, frame = this.#frame(at); frame !== undefined; frame = this.#frame(at)) {
      at += FRAME + frame.length;
      if (at > length) {
        fault = "a frame leads beyond the end";
        break;
      }
      this.#durable = Math.max(this.#durable, frame.durable);
      found.push(frame);
    }
    // Only now it is known which bytes were on the disk.
    for (const frame of found) {
      const end = frame.offset + FRAME + frame.length;
      if (end > this.#durable && !this.#hasBody(frame)) return "a frame's body is damaged";
      this.#take(frame);
      this.#end = end;
    }
    return fault;
  }

  #take(frame: Frame): void {
    const { kind, first } = frame;
    const settled = this.#settled();
    const misplaced =
      kind === GROUP
        ? first !== settled || first + frame.rows < this.length
        : kind === INDEX
          ? first !== settled || this.#tail.length > 0
          : first !== this.length;
    if (misplaced) throw new LogError("Damaged", "a frame does not follow the one before it", frame.offset);
    if (kind === GROUP) {
      this.#groups.push(frame);
      this.#tail = [];
    } else if (kind !== INDEX) this.#tail.push(frame);
  }

  /** Takes groups from indexes, newest first, if they keep all rules (LOG 5). */
  #byIndexes(newest: number): void {
    const parts: Frame[][] = [];
    let durable = this.#durable;
    let end = 0;
    /** The first row of the groups that are known. */
    let start = -1;
    try {
      for (let at = newest; at !== 0; ) {
        const index = (at & 7) === 0 ? this.#frame(at) : undefined;
        if (index?.kind !== INDEX || !this.#hasBody(index)) return;
        const behind = at + FRAME + index.length;
        durable = Math.max(durable, index.durable);
        const root = this.#root(index);
        const previous = get(root as object, "previous");
        const listed = get(root as object, "groups");
        if (typeof previous !== "number" || previous >= at || !(listed instanceof ArrayView)) return;
        if (end === 0 && behind <= durable) {
          end = behind;
          start = index.first;
        }
        if (end !== 0) {
          if (index.first !== start) return;
          const groups = this.#listed(listed, at);
          start -= groups.reduce((sum, group) => sum + group.rows, 0);
          let first = start;
          for (const group of groups) {
            group.first = first;
            first += group.rows;
          }
          parts.unshift(groups);
        }
        at = previous;
      }
    } catch {
      // It is no index, or its document is damaged. Without it the frames tell the same.
      return;
    }
    if (end === 0 || start !== 0) return;
    this.#groups = parts.flat();
    this.#durable = durable;
    this.#end = end;
  }

  /** The groups that an index at `end` lists. */
  #listed(listed: ArrayView, end: number): Frame[] {
    return listed.map((group) => {
      const [offset, rows, length, crc] = ["offset", "rows", "bytes", "crc"].map((key) => get(group as object, key));
      const fits = (n: unknown, least: number, most: number): n is number =>
        Number.isInteger(n) && (n as number) >= least && (n as number) <= most;
      if (
        !fits(offset, HEADER, end) ||
        !fits(rows, 1, 0xffffffff) ||
        !fits(length, 0, end - offset - FRAME) ||
        !fits(crc, 0, 0xffffffff)
      ) {
        throw new LogError("Damaged", "an index lists what is no group", end);
      }
      return { kind: GROUP, offset, length, first: 0, rows, crc, durable: 0 };
    });
  }

  /** The root of a frame's document, which is validated. */
  #root(frame: Frame): unknown {
    if (this.#open?.frame === frame) return this.#open.root;
    const { offset, length, kind, rows } = frame;
    const damaged = (why: string): LogError => new LogError("Damaged", `a frame's ${why}`, offset);
    if (!this.#hasBody(frame)) throw damaged("body is damaged");
    let root: unknown;
    try {
      const memory = load(this.#part(offset + FRAME, length));
      if (memory.used !== length) throw damaged("document has other bytes behind it");
      check(memory);
      root = new Document(memory).root;
    } catch (error) {
      if (!(error instanceof LivebufError) || error instanceof LogError) throw error;
      throw damaged(`document is damaged: ${error.message}`);
    }
    const isRows = kind === ROWS || kind === GROUP;
    if (isRows && !(root instanceof ArrayView && root.length === rows))
      throw damaged("rows are not as many as it says");
    if (kind === INDEX && !isView(root)) throw damaged("document is no index");
    this.#open = { frame, root };
    return root;
  }
}

/**
 * Opens a log that is in memory. Its rows are views, as those of documents:
 *
 * ```ts
 * for (const row of openLog<Lap>(await readFile("laps.lblog"))) sum += row.sec;
 * ```
 *
 * Takes time by the count of frames. Bytes behind the last whole frame are no part of the log, if they were never said to
 * be on the disk ({@link Log.torn}).
 *
 * @throws LogError, whose `fault` is NotALog, Unsupported, CutShort or Damaged.
 */
export function openLog<T = unknown>(source: Source): Log<T> {
  return new Log<T>(source);
}
