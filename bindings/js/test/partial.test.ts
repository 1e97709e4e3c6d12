// Documents of which parts are fetched, by HTTP from a server of this test and out of a Blob.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { encode, fromJSON } from "../src/encode.js";
import {
  type ArrayView,
  type Column,
  type Document,
  get,
  has,
  isView,
  keys,
  LivebufError,
  open,
  toObject,
} from "../src/index.js";
import { Partial } from "../src/partial.js";

interface Routes {
  routes: { path: string; weight: number; next: number[] }[];
  byName: Record<string, { n: number }>;
  title: string;
}

const value: Routes = {
  routes: Array.from({ length: 20_000 }, (_, i) => ({
    path: `/a/path/of/the/manifest/${i}/${(i * 7919) % 10_007}`,
    weight: i / 4,
    next: Array.from({ length: i % 4 }, (_, k) => i + k),
  })),
  byName: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`name ${i}`, { n: i }])),
  title: "a manifest",
};
const bytes = fromJSON(JSON.stringify(value));

/** Serves bytes by ranges, as `answer` changes them. */
async function serve(
  run: (url: string, requests: string[]) => Promise<void>,
  answer?: (request: IncomingMessage, response: ServerResponse) => boolean,
): Promise<void> {
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(String(request.headers.range));
    if (answer?.(request, response)) return;
    const [from, to] = /bytes=(\d+)-(\d+)/.exec(String(request.headers.range))!.slice(1).map(Number) as [
      number,
      number,
    ];
    const part = bytes.subarray(from, to + 1);
    response.writeHead(206, {
      ETag: '"1"',
      "Content-Range": `bytes ${from}-${from + part.length - 1}/${bytes.length}`,
    });
    response.end(part);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}/manifest.lbuf`, requests);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const rejects = (promise: Promise<unknown>, kind: string, message?: RegExp) =>
  assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof LivebufError, String(error));
    assert.equal(error.kind, kind);
    if (message) assert.match(error.message, message);
    return true;
  });

test("a few values of a large document take a few requests", async () => {
  await serve(async (url, requests) => {
    const doc = await Partial.fetch<Routes>(url, { page: 4096 });
    assert.equal(doc.length, bytes.length);
    assert.equal(await doc.read((root) => root.title), "a manifest");
    assert.equal(await doc.read((root) => root.routes.at(12_345)!.path), value.routes[12_345]!.path);
    assert.deepEqual(await doc.read((root) => root.routes.at(777)), value.routes[777]);
    assert.deepEqual(await doc.read((root) => toObject(root.byName["name 4321"]!)), { n: 4321 });
    assert.equal(await doc.read((root) => has(root.byName, "name 5000")), false);
    assert.equal(await doc.read((_root, document) => document.get("routes", 19_999, "next", 2)), 20_001);
    assert.ok(doc.stats.bytes < bytes.length / 8, `${doc.stats.bytes} of ${bytes.length} bytes`);
    assert.equal(doc.stats.requests, requests.length);
    // What is here is not fetched again.
    const before = requests.length;
    assert.equal(await doc.read((root) => root.routes.at(12_345)!.path), value.routes[12_345]!.path);
    assert.equal(requests.length, before);
  });
});

test("everything can be read in the end", async () => {
  const doc = await Partial.blob<Routes>(new Blob([bytes]), { page: 65_536 });
  assert.deepEqual(await doc.read((root) => root), value);
  assert.deepEqual(await doc.read((root) => keys(root.byName)), Object.keys(value.byName));
  assert.deepEqual(
    await doc.read((root) => root.routes.column("weight").toArray()),
    value.routes.map((route) => route.weight),
  );
});

test("a column is fetched as a whole", async () => {
  const doc = await Partial.blob<Routes>(new Blob([bytes]), { page: 1024 });
  const sum = await doc.read((root) => {
    const { values } = root.routes.column("weight");
    return (values as Float32Array).reduce((a, b) => a + b);
  });
  assert.equal(
    sum,
    value.routes.reduce((total, route) => total + route.weight, 0),
  );
  assert.ok(doc.stats.requests < 20, `${doc.stats.requests} requests`);
});

// Bug: `valid` of columns of objects and arrays, `shape` and `tensor` read a block before it was fetched, and answered out
// of its zeros.
test("each question to a column has the answer of the whole document", async () => {
  const rows = Array.from({ length: 400 }, (_, i) => ({
    id: i * 1000,
    city: `a city with a long name, number ${i % 5}`,
    note: i % 3 === 0 ? null : `a note on row ${i}`,
    user: i % 5 === 0 ? null : { followers: i, name: `user number ${i}` },
    tags: i % 7 === 0 ? null : Array.from({ length: i % 4 }, (_, k) => k * i),
    pair: i % 6 === 0 ? null : [i, i / 2],
    vector: Float32Array.from([i, i / 2, i / 4]),
    mixed: i % 2 === 0 ? i : `${i}`,
  }));
  const vector = new URL("../../../../testdata/vectors/y_tensor_dimensions.lbuf", import.meta.url);
  const tensor = open(new Uint8Array(readFileSync(vector))).root;
  const vectors = rows.map((row) => row.vector);
  // At different places in a page, so that some of them go over its end.
  const bytes = encode({ rows, vectors, tensors: [...new Array(8).fill(tensor), "and a text"] });
  const plain = (value: unknown): unknown => (isView(value) ? toObject(value) : value);
  const questions: Record<string, (column: Column) => unknown> = {
    values: (column) => column.values,
    valid: (column) => column.valid,
    codes: (column) => column.codes,
    texts: (column) => column.texts,
    lists: ({ lists }) =>
      lists && [lists.offsets, lists.elements.toArray().map(plain), lists.elements.valid, lists.elements.shape],
    shape: (column) => column.shape,
    tensor: (column) => column.tensor,
    one: (column) => [column.isValid(20), plain(column.at(7))],
    floats: (column) => column.toFloat64Array(),
    all: (column) => column.toArray().map(plain),
  };
  const members = [[], ...Object.keys(rows[0]!).map((key) => [key]), ["user", "followers"], ["user", "name"]];
  const columns: [array: (string | number)[], path: string[]][] = [[["vectors"], []]];
  for (const path of members) columns.push([["rows"], path]);
  for (let i = 0; i < 8; i++) columns.push([["tensors", i], []]);
  const whole = open(bytes);
  let answers = 0;
  for (const [array, path] of columns) {
    for (const [name, question] of Object.entries(questions)) {
      const ask = (document: Document) => question((document.get(...array) as ArrayView).column(...path));
      const doc = await Partial.blob(new Blob([bytes]), { page: 64 });
      const found = await doc.read((_, document) => structuredClone(ask(document)));
      assert.deepEqual(found, ask(whole), `${name} of ${array.join("/")}: ${path.join("/")}`);
      if (found !== null) answers++;
    }
  }
  assert.ok(answers > 80, `${answers} answers`);
});

// Bug: what was thrown was no Error, and had no message.
test("what is read outside of read says so, and encode reads within it", async () => {
  const doc = await Partial.blob<Routes>(new Blob([bytes]), { page: 1024 });
  await rejects(
    doc.read(async (root) => {
      await null;
      return root.routes.at(9000)!.path;
    }),
    "Unsupported",
    /within/,
  );
  const [routes] = await doc.read((root) => [root.routes]);
  assert.throws(
    () => routes!.at(15_000)!.path,
    (error) => error instanceof LivebufError,
  );
  const part = await doc.read((root) => encode(root.routes.at(4003)));
  assert.deepEqual(open(part).toObject(), value.routes[4003]);
});

test("prefetch brings bytes before they are asked for", async () => {
  await serve(async (url, requests) => {
    const doc = await Partial.fetch<Routes>(url);
    await doc.prefetch(0, doc.length);
    const before = requests.length;
    assert.deepEqual(await doc.read((root) => root), value);
    assert.equal(requests.length, before);
  });
});

test("a server that knows no ranges sends all once", async () => {
  await serve(
    async (url, requests) => {
      const doc = await Partial.fetch<Routes>(url);
      assert.deepEqual(await doc.read((root) => get(root, "routes", 19_000)), value.routes[19_000]);
      assert.equal(requests.length, 1);
    },
    (_, response) => {
      response.end(bytes);
      return true;
    },
  );
});

/** All of a document that a server has. */
const wholeOf = async (url: string) => (await Partial.fetch<Routes>(url)).read((root) => root);

test("a file that changes while it is read is an error", async () => {
  let n = 0;
  await serve(
    async (url) => {
      await rejects(wholeOf(url), "Io", /changed/);
    },
    (_, response) => {
      response.setHeader("ETag", `"${n++}"`);
      const [from, to] = /bytes=(\d+)-(\d+)/.exec(String(_.headers.range))!.slice(1).map(Number) as [number, number];
      response.writeHead(206);
      response.end(bytes.subarray(from, to + 1));
      return true;
    },
  );
});

test("what is no document, or is cut short, says so", async () => {
  await rejects(Partial.blob(new Blob(['{"a":1}'])), "NotADocument");
  await rejects(Partial.blob(new Blob([])), "NotADocument");
  const part = bytes.subarray(0, 100_000);
  await rejects(Partial.blob(new Blob([part])), "Truncated");
  // A source that does not say its size is believed until it ends.
  const cut = await Partial.open({ read: async (start, end) => part.subarray(start, end) });
  await rejects(
    cut.read((root) => root),
    "Truncated",
  );
  await serve(
    async (url) => rejects(Partial.fetch(url), "Io", /404/),
    (_, response) => {
      response.writeHead(404);
      response.end();
      return true;
    },
  );
  await assert.rejects(Partial.blob(new Blob([bytes]), { page: 1000 }), RangeError);
});

// Bug: 32 bytes that claim 4 GiB got 4 GiB of memory.
test("a document has no more bytes than its source", async () => {
  const head = bytes.slice(0, 32);
  new DataView(head.buffer).setUint32(20, 0xfffffff8, true);
  await rejects(Partial.blob(new Blob([head])), "Truncated", /4294967288 bytes, and 32/);
  await serve(
    async (url) => rejects(Partial.fetch(url), "Truncated"),
    (_, response) => {
      response.writeHead(206, { "Content-Range": "bytes 0-31/32" });
      response.end(head);
      return true;
    },
  );
});

// Bug: the bytes of an answer were taken for those that were asked for.
test("an answer with other bytes is an error", async () => {
  await serve(
    async (url) => {
      await rejects(wholeOf(url), "Io", /other bytes: 0-16383/);
    },
    (_, response) => {
      response.writeHead(206, { "Content-Range": `bytes 0-16383/${bytes.length}` });
      response.end(bytes.subarray(0, 16_384));
      return true;
    },
  );
});

test("errors of the reader reach the caller, and a read that would never end is stopped", async () => {
  await assert.rejects(
    (await Partial.blob(new Blob([bytes]))).read(() => {
      throw new SyntaxError("mine");
    }),
    SyntaxError,
  );
  const doc = await Partial.blob<Routes>(new Blob([bytes]), { page: 64, fetches: 3 });
  await rejects(
    doc.read((root) => root),
    "BudgetExceeded",
    /fetches/,
  );
});

test("reads at the same time fetch a page once", async () => {
  await serve(async (url, requests) => {
    const doc = await Partial.fetch<Routes>(url, { page: 4096 });
    const read = (): Promise<string> => doc.read((root) => root.routes.at(19_999)!.path);
    const paths = await Promise.all(Array.from({ length: 50 }, read));
    assert.deepEqual([...new Set(paths)], [value.routes[19_999]!.path]);
    assert.ok(requests.length < 12, `${requests.length} requests`);
    assert.equal(doc.stats.requests, requests.length);
  });
});
