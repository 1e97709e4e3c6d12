// What every runtime must be able to do with the package: run by Node, Deno and Bun (runtimes.test.ts). It prints what it
// found, which must be the same everywhere.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digest } from "../dist/delta.js";
import { edit } from "../dist/edit.js";
import { encode, fromJSON } from "../dist/encode.js";
import { LivebufError, open, proxy, toObject } from "../dist/index.js";
import { editFile, openFile } from "../dist/node.js";
import { Partial } from "../dist/partial.js";
import { SharedDocument } from "../dist/shared.js";
import { isValid, validate } from "../dist/validate.js";

const users = Array.from({ length: 500 }, (_, i) => ({
  id: i,
  name: `näme ${i}`,
  score: i / 4,
  tags: ["a", "b"].slice(i % 3),
}));
const bytes = encode({ users, big: 2n ** 63n, at: new Date(0) });
validate(bytes);

// Read.
const doc = open(bytes);
assert.equal(doc.root.users.at(42).name, "näme 42");
assert.equal(doc.root.big, 2n ** 63n);
assert.ok(doc.root.users.column("score").values instanceof Float32Array);
assert.deepEqual(toObject(doc.root.users), users);
assert.deepEqual({ ...proxy(doc.root.users.at(1)) }, users[1]);
assert.equal(JSON.stringify(doc.root.users), JSON.stringify(users));
assert.equal(open(fromJSON(doc.toText())).toText(), doc.toText());

// Edit.
const draft = edit(bytes.slice());
const last = draft.root.users.at(-1);
for (let i = 0; i < 100; i++) {
  draft.set(["users", i * 3], "name", `a longer name ${"x".repeat(i)}`);
  draft.push(["users"], { id: 500 + i, name: "new", score: i, tags: [] });
  draft.remove(["users"], i);
}
assert.equal(last.name, "näme 499");
assert.ok(isValid(draft.bytes));
assert.throws(() => validate(draft.bytes.subarray(0, 900)), LivebufError);

// Files and parts.
const folder = mkdtempSync(join(tmpdir(), "livebuf-"));
const path = join(folder, "users.lbuf");
writeFileSync(path, bytes);
const editor = editFile(path);
editor.set(["users", 7], "score", 99.5);
assert.ok(editor.commit() < 1000);
editor.close();
const file = openFile(path, { page: 4096 });
assert.equal(file.get("users", 7, "score"), 99.5);
file.close();
const partial = await Partial.blob(new Blob([readFileSync(path)]), { page: 1024 });
assert.equal(await partial.read((root) => root.users.at(7).score), 99.5);
assert.ok(partial.stats.bytes < bytes.length);
rmSync(folder, { recursive: true });

// Shared memory.
const shared = SharedDocument.create(bytes);
SharedDocument.attach(shared.buffer).edit((document) => document.set(["users", 0], "score", 3.5));
assert.equal(
  shared.read((root) => root.users.at(0).score),
  3.5,
);

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
console.log(hex(digest(open(bytes))), hex(digest(draft)), draft.bytes.length);
