// A document that threads share: one or two edit it, others read it, all the time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { Editor } from "../src/edit.js";
import { encode } from "../src/encode.js";
import { type LivebufError, Uuid } from "../src/index.js";
import { SharedDocument } from "../src/shared.js";
import { isValid } from "../src/validate.js";

interface Value {
  a: number;
  b: number;
  text: string;
  rows: { n: number; name: string }[];
}
const value = (n: number): Value => ({
  a: n,
  b: n,
  text: String.fromCharCode(97 + (n % 26)).repeat(n % 400),
  rows: Array.from({ length: 20 }, (_, i) => ({ n: n + i, name: `row ${n + i}` })),
});

/** Whether what was read is one state, and no mixture of two. */
function isWhole(found: Value): boolean {
  const { a, b, text, rows } = found;
  return (
    a === b &&
    text === String.fromCharCode(97 + (a % 26)).repeat(a % 400) &&
    rows.length === 20 &&
    rows.every((row, i) => row.n === a + i && row.name === `row ${a + i}`)
  );
}

const SECONDS = Number(process.env.LIVEBUF_SECONDS ?? (process.env.LIVEBUF_LONG ? 60 : 2));

if (!isMainThread) {
  const { buffer, task } = workerData as { buffer: SharedArrayBuffer; task: "write" | "read" };
  const shared = SharedDocument.attach<Value>(buffer);
  const end = Date.now() + SECONDS * 1000;
  let n = 0;
  while (Date.now() < end) {
    n++;
    if (task === "read") {
      const found = shared.read((_root, document) => document.toObject());
      if (!isWhole(found)) throw new Error(`a mixture was read: ${JSON.stringify(found).slice(0, 300)}`);
      continue;
    }
    shared.edit((document) => {
      const next = (document.get("a") as number) + 1;
      for (const [key, member] of Object.entries(value(next))) document.set([], key, member);
    });
  }
  parentPort!.postMessage(n);
} else {
  const start = (buffer: SharedArrayBuffer, task: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { buffer, task } });
      worker.once("message", resolve);
      worker.once("error", reject);
    });

  test(`two writers and two readers for ${SECONDS} s`, async (context) => {
    const shared = SharedDocument.create<Value>(encode(value(0)), { maxBytes: 1 << 20 });
    const [w1, w2, r1, r2] = await Promise.all(
      ["write", "write", "read", "read"].map((task) => start(shared.buffer, task)),
    );
    context.diagnostic(`${w1! + w2!} edits, ${r1! + r2!} readings`);
    assert.equal(
      shared.read((root) => root.a),
      w1! + w2!,
    );
    assert.equal(shared.version, w1! + w2!);
    assert.ok(r1! > 0 && r2! > 0);
    assert.ok(isWhole(shared.read((root) => root) as unknown as Value));
    assert.ok(isValid(new Uint8Array(shared.buffer.slice(64))));
  });

  test("an edit that throws, or that outgrows the buffer, changes nothing", () => {
    const shared = SharedDocument.create<Value>(encode(value(3)), { maxBytes: 4096 });
    const before = shared.read((root) => root);
    assert.throws(
      () =>
        shared.edit((document) => {
          document.set([], "a", 99);
          throw new SyntaxError("mine");
        }),
      SyntaxError,
    );
    assert.throws(
      () => shared.edit((document) => document.set([], "text", "x".repeat(5000))),
      (error: LivebufError) => error.kind === "NoSpace",
    );
    assert.deepEqual(
      shared.read((root) => root),
      before,
    );
    shared.edit((document) => document.set([], "a", 4));
    assert.equal(
      shared.read((root) => root.a),
      4,
    );
  });

  test("changes are told", async () => {
    const shared = SharedDocument.create<Value>(encode(value(3)));
    const { version } = shared;
    assert.equal(await shared.changed(version, 10), false);
    const told = shared.changed(version, 5000);
    SharedDocument.attach<Value>(shared.buffer).edit((document) => document.set([], "a", 5));
    assert.equal(await told, true);
  });

  // Bug: readers waited for up to 17 minutes, or gave up after a million looks where they may not sleep.
  test("a change that does not end is an error at the time that was said", () => {
    const shared = SharedDocument.create<Value>(encode(value(3)));
    const head = new Int32Array(shared.buffer);
    const sequence = Atomics.add(head, 0, 1);
    const start = performance.now();
    assert.throws(
      () => shared.read((root) => root.a, 50),
      (error: LivebufError) => error.kind === "Io" && /share the document anew/.test(error.message),
    );
    const took = performance.now() - start;
    assert.ok(took >= 50 && took < 5000, `${took} ms`);
    Atomics.store(head, 0, sequence);
    assert.equal(
      shared.read((root) => root.a, 50),
      3,
    );
  });

  test("a lock that is held for ever is an error, and so is a buffer without a document", () => {
    const shared = SharedDocument.create<Value>(encode(value(3)));
    Atomics.store(new Int32Array(shared.buffer), 1, 1);
    assert.throws(
      () => shared.edit(() => {}, 20),
      (error: LivebufError) => error.kind === "Io",
    );
    assert.throws(
      () => SharedDocument.attach(new SharedArrayBuffer(256)),
      (error: LivebufError) => error.kind === "NotADocument",
    );
  });
  test("what is read stays as it was, and an edit is no async function", async () => {
    const [first, second] = ["550e8400-e29b-41d4-a716-446655440000", "00000000-0000-0000-0000-000000000001"];
    const bytes = (of: number): Uint8Array => new Uint8Array(9).fill(of);
    const shared = SharedDocument.create<{ u: Uuid; b: Uint8Array; n: number }>(
      encode({ u: Uuid.from(first), b: bytes(1), n: 0 }),
    );
    const [u, b] = [shared.read((root) => root.u), shared.read((root) => root.b)];
    shared.edit((document) => {
      document.set(["u"], Uuid.from(second));
      document.set(["b"], bytes(2));
    });
    assert.deepEqual([String(u), b], [first, bytes(1)]);
    const late = async (document: Editor<{ n: number }>): Promise<void> => {
      document.set(["n"], 7);
      await null;
      document.set(["n"], 8);
    };
    assert.throws(
      () => shared.edit(late as never),
      (error: LivebufError) => error.kind === "BadValue",
    );
    await new Promise((resolve) => setTimeout(resolve, 5));
    shared.edit((document) => document.set(["b"], bytes(3)));
    assert.equal(
      shared.read((root) => root.n),
      0,
    );
    assert.throws(
      () => SharedDocument.attach(new SharedArrayBuffer(8)),
      (error: LivebufError) => error.kind === "NotADocument",
    );
  });
}
