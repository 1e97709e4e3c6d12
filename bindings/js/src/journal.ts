// Journals in files of documents (LOG 9): the changes that a process was about to write when it ended.

import { crc32 } from "./crc.js";
import { HEADER_SIZE } from "./layout.js";

/** Bytes of a journal's end. */
const JOURNAL_END = 32;
/** Equal bytes up to which two changes are written as one. */
const NEAR = 32;

/** Bytes to put to places, which ascend. */
export type Changes = [at: number, bytes: Uint8Array][];

/** Reads bytes of a file. */
export type ReadAt = (start: number, length: number) => Uint8Array;

/** The complete journal at a file's end, if there is one, and the header as it is after the changes. */
export function readJournal(
  readAt: ReadAt,
  size: number,
): { changes: Changes; used: number; head: Uint8Array } | undefined {
  if (size < HEADER_SIZE + JOURNAL_END) return undefined;
  const first = readAt(0, HEADER_SIZE);
  const end = readAt(size - JOURNAL_END, JOURNAL_END);
  const last = new DataView(end.buffer);
  if (new DataView(first.buffer).getUint32(0, true) !== 0x46424cab || first[4] !== 1) return undefined;
  if (last.getUint32(24, true) !== 0x4a424cab || last.getUint32(28, true) !== 1) return undefined;
  const [length, used, count] = [0, 8, 12].map((at) => last.getUint32(at, true)) as [number, number, number];
  const all = Number(last.getBigUint64(0, true));
  if (all !== length || length < JOURNAL_END || length > size - HEADER_SIZE || used > size - length) return undefined;
  const journal = readAt(size - length, length);
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

/** The journal of changes after which a document has so many bytes. */
export function journalOf(changes: Changes, used: number): Uint8Array {
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
export function difference(before: Uint8Array, after: Uint8Array): Changes {
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
