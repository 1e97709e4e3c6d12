// Deltas and digests: the vectors, frozen ones, and random damage.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { applyDelta, deltaOf, digest, invertDelta, readDelta, sha256, stateOf, writeDelta } from "../src/delta.js";
import { edit } from "../src/edit.js";
import { encode } from "../src/encode.js";
import { get, LivebufError, open } from "../src/index.js";
import { isValid } from "../src/validate.js";

const TESTDATA = new URL("../../../../testdata/", import.meta.url);
const bytesOf = (path: string): Uint8Array => new Uint8Array(readFileSync(new URL(path, TESTDATA)));
const isBad = (error: unknown): boolean => error instanceof LivebufError && error.kind === "BadDelta";
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** The names of all deltas, with the documents that they lead from and to. */
const PAIRS = ["deltas/", "frozen/1-candidate/", "frozen/1-candidate-2/"].flatMap((folder) =>
  readdirSync(new URL(folder, TESTDATA))
    .filter((name) => name.endsWith(".delta") && !name.startsWith("n_"))
    .map((name) => {
      const path = folder + name.replace(".delta", "");
      const [base, after] = ["base", "after"].map((end) =>
        [`${path}.${end}.lbuf`, `${path}.${end}`].find((file) => existsSync(new URL(file, TESTDATA))),
      );
      return { path, delta: bytesOf(`${path}.delta`), base: bytesOf(base!), after: bytesOf(after!) };
    }),
);

test("deltas lead from the base to the document afterwards, in place where it has room", () => {
  assert.ok(PAIRS.length > 4);
  for (const { path, delta, base, after } of PAIRS) {
    const room = new Uint8Array(Math.max(base.length, after.length) + 64);
    room.set(base);
    const made = applyDelta(room, delta);
    assert.equal(made.buffer, room.buffer, path);
    assert.deepEqual(made, after, path);
    assert.deepEqual(applyDelta(base.slice(), readDelta(delta)), after, path);
    assert.deepEqual(writeDelta(readDelta(delta)), delta, path);
    assert.deepEqual(stateOf(after), readDelta(delta).state, path);
  }
});

test("deltas with old bytes lead back", () => {
  let n = 0;
  for (const { path, delta, base, after } of PAIRS) {
    const read = readDelta(delta);
    if (read.changes.some((change) => change.old === undefined)) {
      assert.throws(() => invertDelta(read), isBad, path);
      continue;
    }
    const back = writeDelta(invertDelta(read));
    assert.deepEqual(applyDelta(after.slice(), back), base, path);
    n++;
  }
  assert.ok(n > 0);
});

test("damaged deltas are refused", () => {
  for (const name of readdirSync(new URL("deltas/", TESTDATA)).filter((name) => name.startsWith("n_"))) {
    const delta = bytesOf(`deltas/${name}`);
    if (!name.startsWith("n_apply_")) assert.throws(() => readDelta(delta), isBad, name);
    else {
      // It would lead to no document.
      const [base, document] = [0, 1].map(() => bytesOf("deltas/y_one_byte.base.lbuf"));
      assert.throws(() => applyDelta(document!, readDelta(delta)), isBad, name);
      assert.deepEqual(document, base, name);
    }
  }
});

test("a document with a feature that is unknown has no state", () => {
  for (const at of [6, 7]) {
    const document = bytesOf("deltas/y_one_byte.base.lbuf");
    assert.notEqual(stateOf(document), undefined);
    document[at]! |= 1;
    assert.equal(stateOf(document), undefined);
  }
});

test("a delta for another state, another length or with another digest changes nothing", () => {
  const { delta, base, after } = PAIRS.find(({ path }) => path.endsWith("y_digest"))!;
  assert.throws(() => applyDelta(after.slice(), delta), isBad);
  assert.deepEqual(applyDelta(base.slice(), delta, { digest: true }), after);
  const other = base.slice();
  // A byte of a text, which the delta leaves.
  const text = other.findLastIndex((byte, i) => byte >= 97 && byte <= 122 && after[i] === byte);
  other[text]! ^= 1;
  const before = other.slice();
  assert.throws(() => applyDelta(other, delta, { digest: true }), isBad);
  assert.deepEqual(other, before);
  const one = PAIRS.find(({ path }) => path.endsWith("y_one_byte"))!;
  assert.throws(() => applyDelta(one.base.slice(), one.delta, { digest: true }), isBad);
});

test("a delta that is made of two documents leads from one to the other, and back", () => {
  for (const { path, delta, base, after } of PAIRS) {
    const wanted = readDelta(delta);
    const now = after.slice();
    const made = deltaOf(base, now, { digest: true });
    assert.ok(isValid(now), path);
    const read = readDelta(writeDelta(made));
    assert.deepEqual(applyDelta(base.slice(), read, { digest: true }), now, path);
    assert.deepEqual(applyDelta(now.slice(), invertDelta(read)), base, path);
    // Bytes that were written and stayed the same are in a recorded delta, so its state may be another one.
    if (/y_(one_byte|digest)$/.test(path)) assert.equal(hex(made.state), hex(wanted.state), path);
  }
  const { base, after } = PAIRS[0]!;
  assert.equal(deltaOf(base, after.slice(), { old: false }).changes[0]?.old, undefined);
  assert.throws(() => deltaOf(bytesOf("vectors/y_encoded_null.lbuf"), after.slice()), isBad);
  assert.throws(() => deltaOf(base, bytesOf("vectors/y_encoded_null.lbuf")), isBad);
  assert.equal(stateOf(bytesOf("vectors/y_encoded_null.lbuf")), undefined);
});

test("SHA-256 is that of FIPS 180-4", () => {
  for (let n = 0; n < 200; n++) {
    const bytes = Uint8Array.from({ length: n }, (_, i) => (i * 7 + n) & 255);
    assert.equal(hex(sha256(bytes)), createHash("sha256").update(bytes).digest("hex"));
  }
});

test("equal values have equal digests, in whatever bytes they lie", () => {
  const doc = (name: string) => open(bytesOf(`vectors/${name}.lbuf`));
  const seen = new Map<string, string>();
  for (const name of readdirSync(new URL("vectors/", TESTDATA)).filter((name) => name.endsWith(".json"))) {
    const text = readFileSync(new URL(`vectors/${name}`, TESTDATA), "utf8");
    if (name.startsWith("y_encoded")) {
      const found = hex(digest(doc(name.slice(0, -5))));
      // Other values have other digests.
      assert.equal(seen.get(found) ?? text, text, name);
      seen.set(found, text);
    }
  }
  assert.ok(seen.size > 50);
  // {"a":[1,null]}: DELTA 5.
  const page = Buffer.from(
    `q0xCRgEAAABAAAAAAAAAACAAAABwAAAAWAAAAAAAAAAFAgEAAgAAAAIAAAAwAAAAAQAAAAAAAAABAAAAAAAAAAIBAQFYAAAAIQAAAAAAAAAg
    AAAAAAAAAAEBAQEAAAAAiAAAAAAAAABhAAAAAAAAgQ==`,
    "base64",
  );
  assert.equal(hex(digest(open(page))), "250dc2bc89b19d2c37e5cbf2b13aa71441345312020aa896e836f6b2f656c5a4");
  const table = doc("y_encoded_table");
  const root = table.root as object;
  assert.notEqual(hex(digest(root)), hex(digest(get(root, 0) as object)));
  assert.equal(hex(digest(root)), hex(digest(table)));
  assert.throws(() => digest({}), { kind: "WrongType" });
  assert.throws(() => digest(doc("y_reserved_tags")), { kind: "UnsupportedFeature" });
});

test("damage gives errors of this package, and leaves the document as it was", () => {
  let random = 7;
  const below = (n: number): number => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((random / 4294967296) * n);
  };
  let refused = 0;
  for (let i = 0; i < (process.env.LIVEBUF_LONG ? 50_000 : 2000); i++) {
    const { delta, base } = PAIRS[below(PAIRS.length)]!;
    const copy = below(4) === 0 ? delta.slice(0, below(delta.length)) : delta.slice();
    for (let k = below(3); k >= 0; k--) copy[below(copy.length)]! ^= 1 << below(8);
    const document = base.slice();
    try {
      applyDelta(document, copy);
    } catch (error) {
      assert.ok(error instanceof LivebufError, String(error));
      assert.deepEqual(document, base);
      refused++;
    }
  }
  assert.ok(refused > 500, `${refused} were refused`);
});

test("long keys of many rows are no damage", () => {
  const rows = Array.from({ length: 100_001 }, (_, n) => ({ ["k".repeat(255)]: n < 100_000 }));
  const bytes = encode(rows);
  assert.ok(bytes.length < 20_000);
  assert.equal(digest(open(bytes)).length, 32);
});

test("an editor gives its document a state, from which deltas lead on", () => {
  const source = edit(encode({ lap: 55, rows: [{ t: "a text that is long" }, { t: "another one that is" }] }));
  assert.throws(() => deltaOf(source.bytes, source.bytes.slice()), isBad);
  source.beginState();
  assert.ok(isValid(source.bytes));
  const first = stateOf(source.bytes);
  let copy: Uint8Array = source.bytes.slice();
  for (const change of [
    () => source.set(["lap"], 56),
    () => source.remove(["rows", 0]),
    () => source.push(["rows"], { t: 5, more: [1, 2] }),
  ]) {
    const base = source.bytes.slice();
    change();
    assert.equal(stateOf(source.bytes), undefined);
    const delta = writeDelta(deltaOf(base, source.bytes));
    copy = applyDelta(copy, readDelta(delta));
    assert.equal(hex(copy), hex(source.bytes));
    assert.equal(hex(applyDelta(copy.slice(), invertDelta(readDelta(delta)))), hex(base));
  }
  assert.notEqual(hex(stateOf(copy)!), hex(first!));
});
