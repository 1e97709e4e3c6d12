// What takes long for a large document: encoding, the map of its bytes, and sizes in other formats. The page has a
// worker do it, which runs the same script.

import { Document } from "../../bindings/js/src/document.js";
import { fromJSON } from "../../bindings/js/src/encode.js";
import { spanLength } from "../../bindings/js/src/key.js";
import { load } from "../../bindings/js/src/memory.js";
import { ARRAY, Cursor, Members, SCALAR } from "../../bindings/js/src/read.js";
import { NumberText } from "../../bindings/js/src/scalar.js";
import { check } from "../../bindings/js/src/validate.js";
import { type Found, findRegions } from "./regions.js";

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

const tasks = {
  /** The document of a file: that of JSON is made here, any other must be valid. */
  open(file: Uint8Array): Uint8Array {
    const bytes = file[0] === 0xab ? file : fromJSON(file);
    const m = load(bytes);
    check(m);
    return m.u8.subarray(0, m.used);
  },
  /** It gives the bytes back, as the tasks below do, so that they need not be copied for each. */
  map: (bytes: Uint8Array): Found & { bytes: Uint8Array } => ({ ...findRegions(load(bytes)), bytes }),
  json: (bytes: Uint8Array): Uint8Array =>
    new TextEncoder().encode(new Document(load(bytes)).toText({ nonFinite: "null" })),
  JSON: async (bytes: Uint8Array): Promise<Size> => ({ ...(await sizeOf(tasks.json(bytes))), bytes }),
  MessagePack: (bytes: Uint8Array): Size => ({ plain: packed(new Cursor(load(bytes)).toRoot()), packed: 0, bytes }),
  LiveBuf: async (bytes: Uint8Array): Promise<Size> => ({ ...(await sizeOf(bytes)), bytes }),
};
type Tasks = typeof tasks;
type Answer<K extends keyof Tasks> = Awaited<ReturnType<Tasks[K]>>;

/** Above so many bytes of a document the worker is asked. */
const LARGE = 1 << 18;
/** One for what the page waits for, and one for sizes. */
const workers: (Worker | null | undefined)[] = [];
let asked = 0;
const answers = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();

/** The memory of an answer, which is sent without a copy. */
const memoryOf = (value: object): ArrayBuffer[] =>
  (value instanceof Uint8Array ? [value] : Object.values(value).filter(ArrayBuffer.isView)).map(
    ({ buffer }) => buffer as ArrayBuffer,
  );

/**
 * Does a task: at once for a small document, else in a worker, where there can be one.
 * The worker takes the bytes away.
 */
export async function run<K extends keyof Tasks>(name: K, bytes: Uint8Array): Promise<Answer<K>> {
  const which = name === "open" || name === "map" ? 0 : 1;
  if (workers[which] === undefined && bytes.length > LARGE) workers[which] = begin();
  const worker = workers[which];
  if (bytes.length <= LARGE || !worker) return (await tasks[name](bytes)) as Answer<K>;
  return new Promise<Answer<K>>((resolve, reject) => {
    answers.set(++asked, { resolve: resolve as (value: never) => void, reject });
    worker.postMessage([asked, name, bytes], [bytes.buffer as ArrayBuffer]);
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
  self.onmessage = async ({ data: [id, name, bytes] }: MessageEvent<[number, keyof Tasks, Uint8Array]>) => {
    try {
      const value = await tasks[name](bytes);
      postMessage([id, value], { transfer: memoryOf(value) });
    } catch (error) {
      postMessage([id, null, (error as Error).message]);
    }
  };
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
