// livebuf/node: documents in files of Node, Deno and Bun.

import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { crc32 } from "./crc.js";
import { Document } from "./document.js";
import { Editor } from "./edit.js";
import { damage } from "./error.js";
import { HEADER_SIZE } from "./layout.js";
import { load, Memory } from "./memory.js";

/** Bytes of a journal's end (LOG 9). */
const JOURNAL_END = 32;
/** Equal bytes up to which two changes are written as one. */
const NEAR = 32;

/** How a file is opened. */
export interface FileOptions {
  /** Bytes that are read at once, a power of two. Default: 65,536. */
  page?: number;
}

/** A document in a file, of which pages are read when a value in them is asked for. */
export class FileDocument<T = unknown> extends Document<T> {
  readonly #file: number;

  /** By {@link openFile}. */
  constructor(memory: Memory, file: number) {
    super(memory);
    this.#file = file;
  }

  /** Closes the file. What was read before can still be read. */
  close(): void {
    closeSync(this.#file);
  }

  override get bytes(): Uint8Array {
    this.memory.reach(0, this.memory.used);
    return super.bytes;
  }
}

/**
 * Opens a file for reading. A file of any size is opened by its first bytes and its last: others are read when they are
 * needed. Changes that another process left in a journal (LOG 9) are made in memory; nothing is written.
 *
 * @throws LivebufError as `open` does, and what the file system throws.
 */
export function openFile<T = unknown>(path: string, options: FileOptions = {}): FileDocument<T> {
  const page = options.page ?? 65_536;
  const file = openSync(path, "r");
  try {
    const size = fstatSync(file).size;
    const ranges = readJournal(file, size);
    const head = ranges?.head ?? readAt(file, 0, Math.min(HEADER_SIZE, size));
    const used = head.length < HEADER_SIZE ? 0 : new DataView(head.buffer, head.byteOffset).getUint32(20, true);
    if (head.length < HEADER_SIZE || used > size) {
      // Says what is wrong with it.
      load(head.length < HEADER_SIZE ? head : readAt(file, 0, size));
    }
    // Systems give memory only when it is written to.
    const bytes = new Uint8Array(Math.max(used, HEADER_SIZE));
    bytes.set(head);
    load(bytes);
    const memory = new Memory(bytes);
    memory.used = used;
    const here = new Uint8Array(Math.ceil(used / page));
    memory.bring = (start, length) => {
      for (let i = Math.floor(start / page); i * page < start + length; i++) {
        if (here[i] !== 0) continue;
        const end = Math.min((i + 1) * page, used);
        bytes.set(readAt(file, i * page, end - i * page), i * page);
        for (const [at, change] of ranges?.changes ?? []) {
          const from = Math.max(at, i * page);
          const to = Math.min(at + change.length, end);
          if (from < to) bytes.set(change.subarray(from - at, to - at), from);
        }
        here[i] = 1;
      }
    };
    return new FileDocument<T>(memory, file);
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** A file whose document is edited in memory, and written by {@link commit}. */
export class FileEditor<T = unknown> extends Editor<T> {
  readonly #file: number;
  /** The file's bytes, with which those in memory are compared. */
  #written: Uint8Array;

  /** By {@link editFile}. */
  constructor(bytes: Uint8Array, file: number) {
    super(bytes.slice());
    this.#file = file;
    this.#written = bytes;
  }

  /**
   * Writes what has changed, and nothing else. A process that dies in the middle leaves a journal, by which the next one
   * ends the work (LOG 9), so the file is never half old and half new. It takes time for the document's bytes, which are
   * compared, and two waits for the disk.
   *
   * @returns how many bytes were written to their places.
   */
  commit(): number {
    const { bytes } = this;
    const changes = difference(this.#written, bytes);
    if (changes.length === 0 && bytes.length === this.#written.length) return 0;
    const file = this.#file;
    writeAt(file, journalOf(changes, bytes.length), Math.max(bytes.length, this.#written.length));
    fsyncSync(file);
    for (const [at, change] of changes) writeAt(file, change, at);
    fsyncSync(file);
    ftruncateSync(file, bytes.length);
    this.#written = bytes.slice();
    return changes.reduce((sum, [, change]) => sum + change.length, 0);
  }

  /** Closes the file. Edits that were not committed are lost. */
  close(): void {
    closeSync(this.#file);
  }
}

/**
 * Opens a file for editing. Changes that another process left in a journal are made first. Node has no locks that other
 * programs see: see to it that no other process writes the file meanwhile.
 *
 * @throws LivebufError as `edit` does, and what the file system throws.
 */
export function editFile<T = unknown>(path: string): FileEditor<T> {
  const file = openSync(path, "r+");
  try {
    const size = fstatSync(file).size;
    const journal = readJournal(file, size);
    if (journal !== undefined) {
      for (const [at, change] of journal.changes) writeAt(file, change, at);
      fsyncSync(file);
      ftruncateSync(file, journal.used);
    }
    const memory = load(new Uint8Array(readFileSync(file)));
    return new FileEditor<T>(memory.u8.subarray(0, memory.used), file);
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function readAt(file: number, start: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const n = readSync(file, bytes, done, length - done, start + done);
    if (n === 0) throw damage("Truncated", start + done);
    done += n;
  }
  return bytes;
}

function writeAt(file: number, bytes: Uint8Array, start: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, start + done);
}

type Changes = [at: number, bytes: Uint8Array][];

/** The complete journal at a file's end, if there is one (LOG 9). */
function readJournal(file: number, size: number): { changes: Changes; used: number; head: Uint8Array } | undefined {
  if (size < HEADER_SIZE + JOURNAL_END) return undefined;
  const first = readAt(file, 0, HEADER_SIZE);
  const end = readAt(file, size - JOURNAL_END, JOURNAL_END);
  const last = new DataView(end.buffer);
  if (new DataView(first.buffer).getUint32(0, true) !== 0x46424cab || first[4] !== 1) return undefined;
  if (last.getUint32(24, true) !== 0x4a424cab || last.getUint32(28, true) !== 1) return undefined;
  const [length, used, count] = [0, 8, 12].map((at) => last.getUint32(at, true)) as [number, number, number];
  const all = Number(last.getBigUint64(0, true));
  if (all !== length || length < JOURNAL_END || length > size - HEADER_SIZE || used > size - length) return undefined;
  const journal = readAt(file, size - length, length);
  if (crc32(journal.subarray(0, length - 12)) !== last.getUint32(20, true) || last.getUint32(16, true) !== 0) {
    return undefined;
  }
  const fields = new DataView(journal.buffer);
  const changes: Changes = [];
  let at = 0;
  let before = 0;
  for (let i = 0; i < count; i++) {
    if (at + 8 > length - JOURNAL_END) return undefined;
    const start = fields.getUint32(at, true);
    const n = fields.getUint32(at + 4, true);
    if (at + 8 + n > length - JOURNAL_END || start < before || start + n > used) return undefined;
    changes.push([start, journal.subarray(at + 8, at + 8 + n)]);
    before = start + n;
    at += 8 + n;
  }
  if (at !== length - JOURNAL_END) return undefined;
  // The header as it is after the changes must be a document's of these bytes.
  for (const [start, bytes] of changes) {
    if (start < HEADER_SIZE) first.set(bytes.subarray(0, HEADER_SIZE - start), start);
  }
  if (new DataView(first.buffer).getUint32(20, true) !== used) return undefined;
  return { changes, used, head: first };
}

function journalOf(changes: Changes, used: number): Uint8Array {
  const length = changes.reduce((sum, [, bytes]) => sum + 8 + bytes.length, JOURNAL_END);
  const journal = new Uint8Array(length);
  const fields = new DataView(journal.buffer);
  let at = 0;
  for (const [start, bytes] of changes) {
    fields.setUint32(at, start, true);
    fields.setUint32(at + 4, bytes.length, true);
    journal.set(bytes, at + 8);
    at += 8 + bytes.length;
  }
  fields.setBigUint64(at, BigInt(length), true);
  fields.setUint32(at + 8, used, true);
  fields.setUint32(at + 12, changes.length, true);
  fields.setUint32(at + 20, crc32(journal.subarray(0, at + 20)), true);
  fields.setUint32(at + 24, 0x4a424cab, true);
  fields.setUint32(at + 28, 1, true);
  return journal;
}

/** The ranges in which two documents differ, by words of four bytes; those near each other as one. */
function difference(before: Uint8Array, after: Uint8Array): Changes {
  const changes: Changes = [];
  const old = new Uint32Array(before.buffer, before.byteOffset, before.length >>> 2);
  const words = new Uint32Array(after.buffer, after.byteOffset, after.length >>> 2);
  let start = -1;
  let end = -1;
  for (let i = 0; i <= words.length; i++) {
    if (i < words.length && i < old.length && old[i] === words[i]) continue;
    if (start >= 0 && (i === words.length || i - end > NEAR / 4)) {
      changes.push([4 * start, after.slice(4 * start, 4 * end)]);
      start = -1;
    }
    if (start < 0) start = i;
    end = i + 1;
  }
  return changes;
}
