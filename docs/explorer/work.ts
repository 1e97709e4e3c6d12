// What takes long for a large document: encoding, what an edit wrote, the map of its bytes, and sizes in other formats.
// The page has workers do it, which run the same script. One of them keeps a copy of the document, so that the page
// neither copies nor compares it.

import { Document, steps } from "../../bindings/js/src/document.js";
import { Editor, edit } from "../../bindings/js/src/edit.js";
import { fromJSON } from "../../bindings/js/src/encode.js";
import { spanLength } from "../../bindings/js/src/key.js";
import { load } from "../../bindings/js/src/memory.js";
import { ARRAY, Cursor, Members, SCALAR } from "../../bindings/js/src/read.js";
import {
  Decimal,
  Float,
  LocalDate,
  LocalDateTime,
  LocalTime,
  NumberText,
  Timestamp,
  Uuid,
} from "../../bindings/js/src/scalar.js";
import { check } from "../../bindings/js/src/validate.js";
import { walk } from "../../bindings/js/src/view.js";
import { type Found, findRegions, type Range } from "./regions.js";

/** What compresses: zstd, which few browsers have, else gzip. */
export const PACKER = ((): string => {
  try {
    new CompressionStream("zstd" as CompressionFormat);
    return "zstd";
  } catch {
    return "gzip";
  }
})();

/** Bytes of the value in one format, as they are and compressed; 0 where that was not tried. */
export interface Size {
  plain: number;
  packed: number;
  /** The bytes that were asked about. */
  bytes: Uint8Array;
}

/** What an edit changed: the bytes that were there, and how many were in use. */
interface Change {
  used: number;
  old: { at: number; bytes: Uint8Array }[];
}

/** The copy of the document that the page shows. */
interface Mirror {
  /** The number that the page gave the file. */
  file: number;
  doc: Document;
  /** The bytes as they were before the edit that is compared with them. */
  before: Uint8Array;
  changes: Change[];
}

let mirror: Mirror | null = null;
/** One of a file that was opened. The page may show another one still, and says so by its number. */
let opened: Mirror | null = null;

function mirrorOf(file: number): Mirror {
  if (opened?.file === file) [mirror, opened] = [opened, null];
  return mirror!;
}

/** Of an edit that wrote at more places, all bytes between the first and the last are kept for undo. */
const MANY = 10_000;

const tasks = {
  /** The document of a file, with room for edits: that of JSON is made here, any other must be valid. */
  open([bytes, file]: [Uint8Array, number]): Uint8Array {
    const m = load(bytes[0] === 0xab ? bytes : fromJSON(bytes));
    check(m);
    const mine = m.u8.slice(0, m.used);
    opened = { file, doc: new Document(load(mine)), before: mine.slice(), changes: [] };
    const roomy = new Uint8Array(2 * m.used + 65_536);
    roomy.set(mine);
    return roomy;
  },
  /** Does what the page did, and says where that wrote. */
  edit([file, pointer, text]: [number, string, string]): Range[] {
    const mine = mirrorOf(file);
    const editor = editorOf(mine.doc);
    mine.doc = editor;
    setTyped(editor, pointer, text);
    const { used, u8 } = editor.memory;
    const { before } = mine;
    const wrote = difference(before, u8.subarray(0, used));
    const kept: Range[] = wrote.length > MANY ? [[wrote[0]![0], wrote[wrote.length - 1]![1]]] : wrote;
    const old = kept.map(([at, end]) => ({ at, bytes: before.slice(at, end) }));
    if (used < before.length) old.push({ at: used, bytes: before.slice(used) });
    mine.changes.push({ used: before.length, old });
    if (used === before.length) for (const [at, end] of kept) before.set(u8.subarray(at, end), at);
    else mine.before = u8.slice(0, used);
    return wrote;
  },
  /** Takes the last edit back, and says what the page has to put where. */
  undo(file: number): Change & { wrote: Range[] } {
    const mine = mirrorOf(file);
    const change = mine.changes.pop()!;
    const now = mine.before;
    mine.doc = takeBack(mine.doc, change);
    mine.before = mine.doc.bytes.slice();
    return { ...change, wrote: difference(now, mine.before) };
  },
  copy: (file: number): Uint8Array => mirrorOf(file).doc.bytes.slice(),
  map: (bytes: Uint8Array): Found => findRegions(load(bytes)),
  json: (bytes: Uint8Array): Uint8Array =>
    new TextEncoder().encode(new Document(load(bytes)).toText({ nonFinite: "null" })),
  /** It gives the bytes back, as the tasks below do, so that they need not be copied for each. */
  JSON: async (bytes: Uint8Array): Promise<Size> => ({ ...(await sizeOf(tasks.json(bytes))), bytes }),
  MessagePack: (bytes: Uint8Array): Size => ({ plain: packed(new Cursor(load(bytes)).toRoot()), packed: 0, bytes }),
  LiveBuf: async (bytes: Uint8Array): Promise<Size> => ({ ...(await sizeOf(bytes)), bytes }),
};
type Tasks = typeof tasks;
type Input<K extends keyof Tasks> = Parameters<Tasks[K]>[0];
type Answer<K extends keyof Tasks> = Awaited<ReturnType<Tasks[K]>>;

/** Who does what: one worker has the copy, one makes maps, and one finds sizes out. */
const WORKERS = { open: 0, edit: 0, undo: 0, copy: 0, map: 1, json: 2, JSON: 2, MessagePack: 2, LiveBuf: 2 } as const;
const workers: (Worker | null | undefined)[] = [];
let asked = 0;
const answers = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();

/** The memory of bytes and of typed arrays in a value, which is sent without a copy. */
const memoryOf = (value: unknown): ArrayBuffer[] =>
  ArrayBuffer.isView(value)
    ? [value.buffer as ArrayBuffer]
    : Object.values(value ?? {}).flatMap((part) => (ArrayBuffer.isView(part) ? [part.buffer as ArrayBuffer] : []));

/**
 * Does a task: at once for a small document, in a worker for a large one, where there can be one.
 * The worker takes the bytes away.
 */
export async function run<K extends keyof Tasks>(name: K, large: boolean, input: Input<K>): Promise<Answer<K>> {
  const which = WORKERS[name];
  if (workers[which] === undefined && large) workers[which] = begin();
  const worker = workers[which];
  if (!large || !worker) return (await (tasks[name] as (input: Input<K>) => Answer<K>)(input)) as Answer<K>;
  return new Promise<Answer<K>>((resolve, reject) => {
    answers.set(++asked, { resolve: resolve as (value: never) => void, reject });
    worker.postMessage([asked, name, input], memoryOf(input));
  });
}

function begin(): Worker | null {
  try {
    const made = new Worker(URL.createObjectURL(new Blob([document.getElementById("script")!.textContent!])));
    made.onmessage = ({ data: [id, value, error] }) => {
      if (error === undefined) answers.get(id)!.resolve(value as never);
      else answers.get(id)!.reject(new Error(error));
      answers.delete(id);
    };
    return made;
  } catch {
    return null;
  }
}

/** The worker's side. */
export function serve(): void {
  self.onmessage = async ({ data: [id, name, input] }: MessageEvent<[number, keyof Tasks, never]>) => {
    try {
      const value = await tasks[name](input);
      postMessage([id, value], { transfer: memoryOf(value) });
    } catch (error) {
      postMessage([id, null, (error as Error).message]);
    }
  };
}

/** Values that stay of their kind if what is typed can be read so. */
const KEPT = [Decimal, LocalDate, LocalDateTime, LocalTime, Timestamp, Uuid];

/** What was typed over a value: JSON, else text. It is read as documents are, since `JSON.parse` rounds numbers. */
function typed(text: string, old: unknown): unknown {
  try {
    const kind = KEPT.find((kind) => old instanceof kind);
    if (kind !== undefined) return kind.from(text.trim().replace(/^"|"$/g, ""));
  } catch {
    // It is another value.
  }
  try {
    const value: unknown = new Document(load(fromJSON(text))).root;
    // `2.0` stays a float.
    return typeof value === "number" && !/^\s*-?\d+\s*$/.test(text) ? new Float(value) : value;
  } catch {
    return text;
  }
}

/** The editor of a document that was opened, and so is valid. It takes the bytes from the document. */
export const editorOf = (doc: Document): Editor => (doc instanceof Editor ? doc : edit(doc, { trusted: true }));

/** Sets the value at a pointer to what was typed. */
export function setTyped(editor: Editor, pointer: string, text: string): void {
  const old = new Cursor(editor.memory).toRoot();
  walk(old, steps(pointer));
  editor.setPointer(pointer, typed(text, old.scalar()));
}

/** Puts the bytes back that were there before an edit. */
export function takeBack(doc: Document, { used, old }: Change): Document {
  let { u8 } = doc.memory;
  if (u8.length < used) {
    u8 = new Uint8Array(used);
    u8.set(doc.bytes);
  }
  for (const { at, bytes } of old) u8.set(bytes, at);
  return new Document(load(u8));
}

/** The first number from i on that differs. */
function different(a: Uint32Array, b: Uint32Array, i: number): number {
  const n = a.length;
  while (i < n && a[i] === b[i]) i++;
  return i;
}

/** Where two runs of bytes differ; bytes of the second behind the end of the first are all new. */
function difference(before: Uint8Array, after: Uint8Array): Range[] {
  const ranges: Range[] = [];
  const shared = Math.min(before.length, after.length);
  const a = new Uint32Array(before.buffer, before.byteOffset, shared >>> 2);
  const b = new Uint32Array(after.buffer, after.byteOffset, shared >>> 2);
  for (let i = different(a, b, 0); i < a.length; i = different(a, b, i + 1)) {
    for (let k = 4 * i; k < 4 * i + 4; k++) {
      const last = ranges[ranges.length - 1];
      if (before[k] === after[k]) continue;
      if (last?.[1] === k) last[1]++;
      else ranges.push([k, k + 1]);
    }
  }
  if (after.length > shared) ranges.push([shared, after.length]);
  return ranges;
}

async function sizeOf(bytes: Uint8Array): Promise<Omit<Size, "bytes">> {
  let packed = 0;
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new CompressionStream(PACKER as CompressionFormat));
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return { plain: bytes.length, packed };
    packed += value.length;
  }
}

/** Bytes of a value as MessagePack. Values that it lacks are text, as in JSON. */
function packed(cursor: Cursor): number {
  /** A head and what it is of: up to `few` are said in one byte; texts have a form of two. */
  const head = (n: number, few: number, two: boolean): number =>
    n < few ? 1 : two && n < 256 ? 2 : n < 65_536 ? 3 : 5;
  const text = (n: number): number => head(n, 32, true) + n;
  if (cursor.kind === ARRAY) {
    const inner = new Cursor(cursor.m);
    let sum = head(cursor.count, 16, false);
    for (let i = 0; i < cursor.count; i++) {
      inner.toSlot(cursor.at, cursor.first + i);
      sum += packed(inner);
    }
    return sum;
  }
  if (cursor.kind !== SCALAR) {
    let sum = head(cursor.size(), 16, false);
    for (const members = new Members(cursor); members.next(); ) {
      sum += text(spanLength(cursor.m, members.key)) + packed(members.value);
    }
    return sum;
  }
  const value = cursor.scalar();
  if (value === null || typeof value === "boolean") return 1;
  if (value instanceof Uint8Array) return head(value.length, 0, true) + value.length;
  if (typeof value === "number" && !Number.isInteger(value)) return 9;
  if (typeof value === "number" || typeof value === "bigint") {
    const x = Number(value);
    return x >= -32 && x < 128
      ? 1
      : x >= -128 && x < 256
        ? 2
        : x >= -32_768 && x < 65_536
          ? 3
          : x >= -(2 ** 31) && x < 2 ** 32
            ? 5
            : 9;
  }
  return value instanceof NumberText ? 9 : text(new TextEncoder().encode(String(value)).length);
}
