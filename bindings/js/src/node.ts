// livebuf/node: documents in files of Node, Deno and Bun.

import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { Document } from "./document.js";
import { type EditOptions, Editor, edit } from "./edit.js";
import { damage, LivebufError } from "./error.js";
import { difference, journalOf, readJournal } from "./journal.js";
import { HEADER_SIZE } from "./layout.js";
import { load, Memory } from "./memory.js";
import { pageOf } from "./partial.js";

/** How a file is opened. */
export interface FileOptions {
  /** Bytes that are read at once, a power of two of at least 64. Default: 65,536. */
  page?: number;
}

/** An open file. Once it is closed, the system gives its number to others. */
class OpenFile {
  constructor(private number: number) {}

  get descriptor(): number {
    if (this.number < 0) throw new LivebufError("Io", "the file was closed: open it again");
    return this.number;
  }

  close(): void {
    const { number } = this;
    this.number = -1;
    if (number >= 0) closeSync(number);
  }
}

/** A document in a file, of which pages are read when a value in them is asked for. */
export class FileDocument<T = unknown> extends Document<T> {
  readonly #file: OpenFile;

  /** @internal By {@link openFile}. */
  constructor(memory: Memory, file: OpenFile) {
    super(memory);
    this.#file = file;
  }

  /** Closes the file. What was read before can still be read, and what was not throws LivebufError of kind Io. */
  close(): void {
    this.#file.close();
  }

  override get bytes(): Uint8Array {
    this.memory.reach(0, this.memory.used);
    return super.bytes;
  }
}

/**
 * Opens a file for reading. A file of any size is opened by its first bytes and its last: others are read when they are
 * needed. Changes that another process left in a journal (LOG 9) are made in memory; nothing is written. The file must
 * not change while it is open: pages that are read later would not fit those that are here.
 *
 * @throws LivebufError as `open` does, and what the file system throws.
 */
export function openFile<T = unknown>(path: string, options: FileOptions = {}): FileDocument<T> {
  const page = pageOf(options.page ?? 65_536);
  const file = new OpenFile(openSync(path, "r"));
  try {
    const size = fstatSync(file.descriptor).size;
    const ranges = readJournal((start, length) => readAt(file, start, length), size);
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
    file.close();
    throw error;
  }
}

/** A file whose document is edited in memory, and written by {@link commit}. */
export class FileEditor<T = unknown> extends Editor<T> {
  readonly #file: OpenFile;
  /** The file's bytes, with which those in memory are compared. */
  #written: Uint8Array;

  /** @internal By {@link editFile}. */
  constructor(memory: Memory, file: OpenFile) {
    super(memory);
    this.#file = file;
    this.#written = this.bytes.slice();
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
    const { descriptor } = this.#file;
    const changes = difference(this.#written, bytes);
    if (changes.length === 0 && bytes.length === this.#written.length) return 0;
    writeAt(descriptor, journalOf(changes, bytes.length), Math.max(bytes.length, this.#written.length));
    fsyncSync(descriptor);
    for (const [at, change] of changes) writeAt(descriptor, change, at);
    fsyncSync(descriptor);
    ftruncateSync(descriptor, bytes.length);
    this.#written = bytes.slice();
    return changes.reduce((sum, [, change]) => sum + change.length, 0);
  }

  /** Closes the file. Edits that were not committed are lost. */
  close(): void {
    this.#file.close();
  }
}

/**
 * Opens a file for editing. Changes that another process left in a journal are made first. Node has no locks that other
 * programs see: see to it that no other process writes the file meanwhile.
 *
 * @throws LivebufError as `edit` does, and what the file system throws.
 */
export function editFile<T = unknown>(path: string, options: EditOptions = {}): FileEditor<T> {
  const file = new OpenFile(openSync(path, "r+"));
  const { descriptor } = file;
  try {
    const size = fstatSync(descriptor).size;
    const journal = readJournal((start, length) => readAt(file, start, length), size);
    if (journal !== undefined) {
      for (const [at, change] of journal.changes) writeAt(descriptor, change, at);
      fsyncSync(descriptor);
      ftruncateSync(descriptor, journal.used);
    }
    const memory = load(new Uint8Array(readFileSync(descriptor)));
    return new FileEditor<T>(edit(memory.u8, options).memory, file);
  } catch (error) {
    file.close();
    throw error;
  }
}

function readAt(file: OpenFile, start: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const n = readSync(file.descriptor, bytes, done, length - done, start + done);
    if (n === 0) throw damage("Truncated", start + done);
    done += n;
  }
  return bytes;
}

function writeAt(file: number, bytes: Uint8Array, start: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, start + done);
}
