// The package as a browser has it: its modules from a server, in a headless Chromium. The page's policy forbids code that
// is made at run time.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { edit } from "../src/edit.js";
import { encode, fromJSON } from "../src/encode.js";
import { open } from "../src/index.js";
import { isValid } from "../src/validate.js";
import { launch, serve, skip } from "./browser/chromium.js";

type Livebuf = typeof import("../src/index.js") &
  typeof import("../src/edit.js") &
  typeof import("../src/encode.js") &
  typeof import("../src/validate.js") &
  typeof import("../src/partial.js") &
  typeof import("../src/shared.js");
declare global {
  var livebuf: Livebuf;
}

const VECTORS = new URL("../../../../testdata/vectors/", import.meta.url);
const PAGE = `<!doctype html><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'"><script type="module" src="/test.js"></script>`;
const MODULES = ["index", "edit", "encode", "validate", "delta", "log", "partial", "shared"];
const SCRIPT = `${MODULES.map((name) => `import * as ${name} from "/livebuf/${name}.js";`).join("\n")}
globalThis.livebuf = { ${MODULES.map((name) => `...${name}`).join(", ")} };`;
const WORKER = `import { SharedDocument } from "/livebuf/shared.js";
onmessage = ({ data: { buffer, key } }) => {
  const shared = SharedDocument.attach(buffer);
  for (let i = 0; i < 100; i++) {
    shared.edit((document) => {
      document.set([], key, document.get(key) + 1);
      document.set([], "all", document.get("all") + 1);
      document.push(["log"], key + " " + i);
    });
  }
  postMessage(shared.read((root) => root[key]));
};`;

let browser: Browser;
let page: Page;
let server: Awaited<ReturnType<typeof serve>>;
const faults: string[] = [];
const vectors = readdirSync(VECTORS).filter((name) => name.startsWith("y_") && name.endsWith(".lbuf"));

before(async () => {
  if (skip) return;
  const files: Record<string, Uint8Array> = {};
  for (const [name, text] of Object.entries({ "/test.html": PAGE, "/test.js": SCRIPT, "/worker.js": WORKER })) {
    files[name] = new TextEncoder().encode(text);
  }
  const all = vectors.map((name) => readFileSync(new URL(name, VECTORS)).toString("base64"));
  files["/vectors.json"] = new TextEncoder().encode(JSON.stringify(all));
  server = await serve(files);
  browser = await launch();
  page = await browser.newPage();
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => /favicon/.test(message.location().url) || faults.push(message.text()));
  await page.goto(`${server.url}/test.html`);
  await page.waitForFunction(() => globalThis.livebuf !== undefined);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test("documents are read as here", { skip }, async () => {
  const found = await page.evaluate(async () => {
    const vectors = (await (await fetch("/vectors.json")).json()) as string[];
    return vectors.map((text) => {
      try {
        return livebuf.open(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))).toText();
      } catch (error) {
        return (error as { kind?: string }).kind ?? String(error);
      }
    });
  });
  assert.ok(vectors.length > 100);
  vectors.forEach((name, i) => {
    let text: string;
    try {
      text = open(readFileSync(new URL(name, VECTORS))).toText();
    } catch (error) {
      text = (error as { kind?: string }).kind ?? String(error);
    }
    assert.equal(found[i], text, name);
  });
});

const value = {
  users: Array.from({ length: 50 }, (_, i) => ({
    id: i,
    name: `näme ${i}`,
    score: i / 4,
    tags: ["a", "b"].slice(i % 3),
  })),
  constructor: "a key like others",
};

test("values are encoded to the same bytes; views and columns read them", { skip }, async () => {
  const { bytes, text, ...found } = await page.evaluate((value) => {
    const bytes = livebuf.encode(value);
    const doc = livebuf.open<typeof value>(bytes);
    const numbers = doc.root.users.column("score").values!;
    return {
      bytes: [...bytes],
      text: [...livebuf.fromJSON('{"id": 9007199254740993, "x": [1.5, 2e400]}')],
      name: doc.root.users.at(7)!.name,
      key: doc.root.constructor as unknown,
      kind: numbers.constructor.name,
      sum: (numbers as Float32Array).reduce((a, b) => a + b, 0),
      same: numbers.buffer === bytes.buffer,
    };
  }, value);
  assert.deepEqual(found, {
    name: "näme 7",
    key: "a key like others",
    kind: "Float32Array",
    sum: 306.25,
    same: true,
  });
  assert.deepEqual(new Uint8Array(bytes), encode(value));
  assert.deepEqual(new Uint8Array(text), fromJSON('{"id": 9007199254740993, "x": [1.5, 2e400]}'));
});

test("edits change the same bytes", { skip }, async () => {
  const change = (value: unknown): number[] => {
    // In the page the package is a global one; here it is that of the test.
    const doc = livebuf.edit(livebuf.encode(value));
    const rows = (doc.root as { users: object }).users;
    for (let i = 0; i < 60; i++) {
      doc.set(["users", (i * 7) % 50], "name", `a longer name ${"x".repeat(i)}`);
      doc.push(rows, { id: 100 + i, name: `new ${i}`, score: i, tags: [] });
      if (i % 4 === 0) doc.remove(rows, i);
      if (i % 10 === 0) doc.set([], `key ${i}`, { deep: [i, { er: null }] });
    }
    doc.rename([], "constructor", "toString");
    return [...doc.bytes];
  };
  const found = new Uint8Array(await page.evaluate(change, value));
  globalThis.livebuf = { edit, encode } as unknown as Livebuf;
  assert.deepEqual(found, new Uint8Array(change(value)));
  assert.ok(isValid(found));
});

test("damage is found, and parts of a file are read", { skip }, async () => {
  const found = await page.evaluate(async (value) => {
    const bytes = livebuf.encode(value);
    const kinds = [bytes.slice(0, 100), bytes.slice(8), bytes.slice().fill(255, 40, 60)].map((each) => {
      try {
        livebuf.validate(each);
        return "valid";
      } catch (error) {
        return (error as { name: string; kind: string }).kind;
      }
    });
    const partial = await livebuf.Partial.blob<typeof value>(new Blob([bytes]), { page: 256 });
    const name = await partial.read((root) => root.users.at(30)!.name);
    return { kinds, name, part: partial.stats.bytes < bytes.length };
  }, value);
  assert.deepEqual(found.kinds.slice(0, 2), ["Truncated", "NotADocument"]);
  assert.ok(found.kinds[2] !== "valid" && found.kinds[2] !== undefined, found.kinds[2]);
  assert.deepEqual([found.name, found.part], ["näme 30", true]);
});

test("workers share a document and edit it, while the page reads", { skip }, async () => {
  const found = await page.evaluate(async () => {
    const start = { a: 0, b: 0, all: 0, log: ["begin"] };
    const shared = livebuf.SharedDocument.create<typeof start>(livebuf.encode(start));
    const done = ["a", "b"].map(
      (key) =>
        new Promise((resolve, reject) => {
          const worker = new Worker("/worker.js", { type: "module" });
          worker.onerror = (event) => reject(new Error(event.message));
          worker.onmessage = ({ data }) => resolve(data);
          worker.postMessage({ buffer: shared.buffer, key });
        }),
    );
    let wrong = 0;
    let reads = 0;
    let ended = false;
    const all = Promise.all(done).finally(() => {
      ended = true;
    });
    while (!ended) {
      for (let i = 0; i < 50; i++) {
        const { a, b, all, log } = shared.read((root) => livebuf.toObject(root)) as typeof start;
        if (a + b !== all || log.length !== all + 1) wrong++;
        reads++;
      }
      await new Promise((resolve) => setTimeout(resolve));
    }
    return { counts: await all, wrong, some: reads > 0, end: shared.read((root) => [root.all, root.log.length]) };
  });
  assert.deepEqual(found, { counts: [100, 100], wrong: 0, some: true, end: [200, 201] });
});

test("the page said nothing, and no code was made", { skip }, () => {
  assert.deepEqual(faults, []);
});
