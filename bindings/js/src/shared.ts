// livebuf/shared: a document that workers share, read without copies and edited by one of them at a time.

import { Document } from "./document.js";
import { type Editor, edit } from "./edit.js";
import { damage, LivebufError } from "./error.js";
import { difference } from "./journal.js";
import { bytesOf, load, type Source } from "./memory.js";
import { isView, toObject, type View } from "./view.js";

/** Bytes before the document: a sequence number, the lock of the writers, and how many writes there were. */
const HEAD = 64;
const SEQUENCE = 0;
const LOCK = 1;
/** Milliseconds that readers wait for one change, and writers for each other. A change takes microseconds. */
const WAIT = 10_000;

/** What a reader or writer returned, by itself: a view as plain values, and bytes in memory of their own. */
function owned<R>(result: R): R {
  if (isView(result)) return toObject(result) as R;
  return result instanceof Uint8Array ? (result.slice() as R) : result;
}

/** How a shared document is made. */
export interface SharedOptions {
  /** Bytes that the document can grow to. Default: four times its bytes, and at least 64 KiB. */
  maxBytes?: number;
}

/**
 * A document in a `SharedArrayBuffer`. Post {@link buffer} to a worker, which attaches to it.
 *
 * Readers take no lock: a sequence number, which is odd while bytes change, tells a reader that it must read again
 * (a *seqlock*). A writer edits a copy of its own, and then changes the bytes that differ, so readers rarely wait, and an
 * edit that throws has changed nothing. A worker that is ended while it changes the bytes leaves a document that must be
 * shared anew: others wait for it, and then throw an error that says so.
 */
export class SharedDocument<T = unknown> {
  /** What workers attach to. */
  readonly buffer: SharedArrayBuffer;
  readonly #head: Int32Array;
  #seen: { sequence: number; document: Document<T> } | undefined;
  #draft: { sequence: number; editor: Editor<T> } | undefined;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#head = new Int32Array(buffer, 0, HEAD / 4);
  }

  /** Shares a document, which is copied and validated once. */
  static create<T = unknown>(source: Source, options: SharedOptions = {}): SharedDocument<T> {
    const bytes = edit(bytesOf(source).slice()).bytes;
    const size = Math.max(options.maxBytes ?? Math.max(4 * bytes.length, 65_536), bytes.length);
    const buffer = new SharedArrayBuffer(HEAD + Math.ceil(size / 8) * 8);
    new Uint8Array(buffer).set(bytes, HEAD);
    return new SharedDocument<T>(buffer);
  }

  /** The document in a buffer that {@link create} made, in this thread or in another one. */
  static attach<T = unknown>(buffer: SharedArrayBuffer): SharedDocument<T> {
    if (buffer.byteLength < HEAD) throw damage("NotADocument", 0);
    load(new Uint8Array(buffer, HEAD));
    return new SharedDocument<T>(buffer);
  }

  /** How often the document was changed. It wraps around. */
  get version(): number {
    return Atomics.load(this.#head, SEQUENCE) >>> 1;
  }

  /**
   * Calls `reader` with the root, again if a writer changed the document meanwhile. What it returns must not read later:
   * a view is returned as plain values, and bytes are copied.
   *
   * @throws LivebufError of kind Io if a change has not ended after `timeout` milliseconds (default: 10,000).
   */
  read<R>(reader: (root: View<T>, document: Document<T>) => R, timeout = WAIT): R {
    let change = 0;
    let end = 0;
    for (;;) {
      const sequence = Atomics.load(this.#head, SEQUENCE);
      if ((sequence & 1) !== 0) {
        if (sequence !== change) [change, end] = [sequence, performance.now() + timeout];
        this.#pause(sequence, end);
        continue;
      }
      let result: R | undefined;
      let error: unknown;
      let failed = false;
      try {
        if (this.#seen?.sequence !== sequence) {
          this.#seen = { sequence, document: new Document<T>(load(new Uint8Array(this.buffer, HEAD))) };
        }
        const { document } = this.#seen;
        result = reader(document.root, document);
        result = owned(result);
      } catch (thrown) {
        [error, failed] = [thrown, true];
      }
      // What was read before must not be read after the number: a write to another place keeps them in order.
      Atomics.add(this.#fence, 0, 1);
      if (Atomics.load(this.#head, SEQUENCE) !== sequence) {
        this.#seen = undefined;
        continue;
      }
      if (failed) throw error;
      return result as R;
    }
  }

  readonly #fence = new Int32Array(new SharedArrayBuffer(4));

  #pause(sequence: number, end: number): void {
    if (performance.now() > end) {
      throw new LivebufError(
        "Io",
        "a thread has begun to change the shared document and does not go on; if it was ended, share the document anew",
      );
    }
    try {
      Atomics.wait(this.#head, SEQUENCE, sequence, 1);
    } catch {
      // The main thread of a browser may not sleep. Writers need microseconds.
    }
  }

  /**
   * Calls `writer` with an editor, and then makes its changes seen by all. Writers take turns. It takes time for the
   * document's bytes, which are compared. What `writer` throws ends the edit: then nothing has changed.
   *
   * @throws LivebufError of kind NoSpace if the document outgrows the buffer, and Io if another writer holds the lock for
   * longer than `timeout` milliseconds (default: 10,000). Browsers do not let their main thread wait for a lock.
   */
  edit<R>(writer: (document: Editor<T>) => R, timeout = WAIT): R {
    const head = this.#head;
    const end = performance.now() + timeout;
    while (Atomics.compareExchange(head, LOCK, 0, 1) !== 0) {
      const left = end - performance.now();
      if (left <= 0) {
        throw new LivebufError(
          "Io",
          "another thread has held the lock of the shared document for too long; if it was ended, share the document anew",
        );
      }
      Atomics.wait(head, LOCK, 1, left);
    }
    try {
      const sequence = Atomics.load(head, SEQUENCE);
      const shared = new Uint8Array(this.buffer, HEAD);
      let draft = this.#draft;
      if (draft?.sequence !== sequence) {
        const bytes = load(shared);
        draft = { sequence, editor: edit<T>(bytes.u8.slice(0, bytes.used), { trusted: true }) };
      }
      this.#draft = undefined;
      const result = writer(draft.editor);
      if (typeof (result as { then?: unknown } | null)?.then === "function") {
        throw new LivebufError(
          "BadValue",
          "an edit of a shared document is no async function: it ends before it returns",
        );
      }
      const { bytes } = draft.editor;
      if (bytes.length > shared.length) {
        throw new LivebufError(
          "NoSpace",
          `the document has ${bytes.length} bytes, and the buffer room for ${shared.length}: share it with larger maxBytes`,
        );
      }
      const changes = difference(shared.subarray(0, bytes.length), bytes);
      if (changes.length > 0) {
        Atomics.store(head, SEQUENCE, sequence + 1);
        for (const [at, change] of changes) shared.set(change, at);
        Atomics.store(head, SEQUENCE, sequence + 2);
        Atomics.notify(head, SEQUENCE);
      }
      this.#draft = { sequence: Atomics.load(head, SEQUENCE), editor: draft.editor };
      return owned(result);
    } finally {
      Atomics.store(head, LOCK, 0);
      Atomics.notify(head, LOCK, 1);
    }
  }

  /**
   * Waits until the document has another {@link SharedDocument.version} than this one. False if it has none after so many milliseconds.
   * It does not block the thread where the engine has `Atomics.waitAsync`, and looks every few milliseconds elsewhere.
   */
  async changed(version: number, timeout = Infinity): Promise<boolean> {
    const end = Date.now() + timeout;
    while (this.version === version) {
      const left = end - Date.now();
      if (left <= 0) return false;
      const { waitAsync } = Atomics as unknown as {
        waitAsync?: (array: Int32Array, at: number, value: number, timeout: number) => { value: unknown };
      };
      const sequence = Atomics.load(this.#head, SEQUENCE);
      if (sequence >>> 1 !== version) break;
      // A timer, too: a promise of `waitAsync` alone does not keep a program of Node alive.
      const pause = Math.min(left, waitAsync === undefined ? 5 : 50);
      let timer: ReturnType<typeof setTimeout> | undefined;
      const wakes: unknown[] = [new Promise((resolve) => (timer = setTimeout(resolve, pause)))];
      if (waitAsync !== undefined) wakes.push(waitAsync(this.#head, SEQUENCE, sequence, pause).value);
      await Promise.race(wakes);
      clearTimeout(timer);
    }
    return true;
  }
}
