// Documents in files: pages, commits, and journals that a process left.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { encode } from "../src/encode.js";
import { LivebufError, open } from "../src/index.js";
import { difference, journalOf } from "../src/journal.js";
import { editFile, openFile } from "../src/node.js";
import { validate } from "../src/validate.js";

const folder = mkdtempSync(join(tmpdir(), "livebuf-"));
after(() => rmSync(folder, { recursive: true }));
const COMMAND = fileURLToPath(new URL("../../../../target/debug/livebuf", import.meta.url));
const FROZEN = fileURLToPath(new URL("../../../../testdata/frozen/1-candidate/", import.meta.url));

interface Value {
  users: { name: string; n: number }[];
  note: string;
}
const value: Value = {
  users: Array.from({ length: 5000 }, (_, i) => ({ name: `the user of number ${i}`, n: i })),
  note: "before",
};

let files = 0;
/** A file of its own. */
function fileOf(bytes: Uint8Array): string {
  const path = join(folder, `${files++}.lbuf`);
  writeFileSync(path, bytes);
  return path;
}

test("a file is read by pages", () => {
  const path = fileOf(encode(value));
  const file = openFile<Value>(path, { page: 4096 });
  assert.equal(file.root.users.at(4321)!.name, "the user of number 4321");
  // Cut to nothing, it still has what was read, and nothing else.
  writeFileSync(path, "");
  assert.equal(file.root.users.at(4321)!.name, "the user of number 4321");
  assert.throws(() => file.toObject(), LivebufError);
  file.close();
});

test("everything of a file can be read", () => {
  const file = openFile<Value>(fileOf(encode(value)));
  assert.deepEqual(file.toObject(), value);
  assert.deepEqual(file.bytes, encode(value));
  file.close();
});

test("bytes behind the document are no part of it", () => {
  const path = fileOf(encode(value));
  appendFileSync(path, "and more, which is no journal at all, whatever it looks like");
  const file = openFile<Value>(path);
  assert.equal(file.get("note"), "before");
  file.close();
});

test("a commit writes what has changed", () => {
  const path = fileOf(encode(value));
  const editor = editFile<Value>(path);
  assert.equal(editor.commit(), 0);
  editor.set(["users", 17], "n", 99);
  const written = editor.commit();
  assert.ok(written > 0 && written < 2000, `${written} bytes`);
  editor.set([], "note", "a text that is much longer than the one that was here before");
  editor.push(["users"], { name: "one more", n: -1 });
  editor.commit();
  // What is not committed is not in the file.
  editor.set([], "note", "lost");
  editor.close();
  const bytes = new Uint8Array(readFileSync(path));
  validate(bytes);
  const found = open<Value>(bytes).toObject();
  assert.equal(found.users[17]!.n, 99);
  assert.equal(found.users.length, 5001);
  assert.equal(found.note, "a text that is much longer than the one that was here before");
  assert.equal(statSync(path).size, bytes.length);
});

test("a journal that a process left is made in memory by readers, and in the file by editors", () => {
  for (const change of [
    { ...value, note: "after" },
    { ...value, users: [...value.users, { name: "x".repeat(5000), n: 1 }] },
    { users: [], note: "" },
  ]) {
    const [before, later] = [encode(value), encode(change)];
    const changes = difference(before, later);
    const file = new Uint8Array(Math.max(before.length, later.length));
    file.set(before);
    // As a process leaves it that ended before the first change, and after half of the second one.
    for (const done of [0, 1]) {
      for (const [at, bytes] of changes.slice(0, done)) file.set(bytes.subarray(0, bytes.length >>> 1), at);
      const path = fileOf(file);
      appendFileSync(path, journalOf(changes, later.length));
      const reader = openFile<Value>(path, { page: 1024 });
      assert.deepEqual(reader.bytes, later);
      reader.close();
      if (existsSync(COMMAND)) {
        const text = execFileSync(COMMAND, ["to-json", path], { encoding: "utf8", maxBuffer: 2 ** 26 });
        assert.deepEqual(JSON.parse(text), change);
      }
      assert.ok(statSync(path).size > later.length);
      const editor = editFile<Value>(path);
      assert.equal(statSync(path).size, later.length);
      assert.deepEqual(editor.toObject(), change);
      editor.close();
      assert.deepEqual(new Uint8Array(readFileSync(path)), later);
    }
  }
});

test("a journal of another language is understood", () => {
  const file = openFile(join(FROZEN, "journal.lbuf"));
  assert.equal(file.toText(), readFileSync(join(FROZEN, "journal.json"), "utf8").trimEnd());
  file.close();
});

test("a journal that is damaged anywhere is none", () => {
  const later = encode({ ...value, note: "after" });
  const before = encode(value);
  const journal = journalOf(difference(before, later), later.length);
  for (let at = 0; at < journal.length; at += Math.max(1, journal.length >>> 6)) {
    const path = fileOf(before);
    const damaged = journal.slice();
    damaged[at]! ^= 0x10;
    appendFileSync(path, damaged);
    const file = openFile<Value>(path);
    assert.equal(file.get("note"), "before", `byte ${at}`);
    file.close();
  }
});

test("files that are no documents, and none", () => {
  const kind = (bytes: Uint8Array | string) => {
    const path = join(folder, `${files++}`);
    writeFileSync(path, bytes);
    const kinds = [openFile, editFile].map((opens) => {
      try {
        opens(path).close();
        return "";
      } catch (error) {
        return (error as LivebufError).kind;
      }
    });
    assert.equal(kinds[0], kinds[1]);
    return kinds[0];
  };
  assert.equal(kind('{"a":1}'), "NotADocument");
  assert.equal(kind(""), "NotADocument");
  assert.equal(kind(encode(value).subarray(0, 5000)), "Truncated");
  assert.equal(kind(encode(value).subarray(0, 12)), "Truncated");
  assert.throws(() => openFile(join(folder, "missing")), { code: "ENOENT" });
});

test("a file that was closed is neither read nor written, though the system gives its number to another", () => {
  const [path, other] = [fileOf(encode({ a: "x".repeat(200_000), n: 1 })), fileOf(Buffer.alloc(400_000, "precious "))];
  const before = readFileSync(other);
  const closed = (error: unknown): boolean => error instanceof LivebufError && error.kind === "Io";
  const editor = editFile(path);
  const reader = openFile(path);
  assert.equal(reader.get("n"), 1);
  editor.set(["n"], 2);
  editor.close();
  reader.close();
  const files = [openSync(other, "r+"), openSync(other, "r+")];
  assert.throws(() => editor.commit(), closed);
  assert.throws(() => reader.get("a"), closed);
  assert.equal(reader.get("n"), 1);
  editor.close();
  reader.close();
  assert.ok(readFileSync(other).equals(before));
  for (const file of files) closeSync(file);
  assert.throws(() => openFile(path, { page: NaN }), RangeError);
});
