// The validator: the vectors, frozen documents, every changed byte beside the reference, and random damage.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ArrayView, entries, get, isView, keys, LivebufError, open } from "../src/index.js";
import { isValid, validate } from "../src/validate.js";

const TESTDATA = new URL("../../../../testdata/", import.meta.url);
const ALL = process.env.LIVEBUF_LONG !== undefined;
const files = (folder: string, ending: string): string[] =>
  readdirSync(new URL(folder, TESTDATA)).filter((name) => name.endsWith(ending));
const bytesOf = (path: string): Uint8Array => new Uint8Array(readFileSync(new URL(path, TESTDATA)));

/** The kind of the error of a call; "" if there is none. */
function kindOf(call: () => void): string {
  try {
    call();
    return "";
  } catch (error) {
    if (error instanceof LivebufError) return error.kind;
    throw error;
  }
}

test("each vector is valid or not, as its name says", () => {
  let named = 0;
  let damaged = 0;
  for (const name of files("vectors/", ".lbuf")) {
    const kind = kindOf(() => validate(bytesOf(`vectors/${name}`)));
    if (name.startsWith("y_")) assert.equal(kind, "", name);
    else {
      assert.notEqual(kind, "", name);
      damaged++;
      const wanted = name.split("_")[1];
      if (kind === wanted) named++;
      else if (ALL) console.log(`${name}: ${kind}`);
    }
  }
  assert.ok(damaged > 400);
  // Names are advice: where a fault breaks several rules, another may be met first.
  assert.ok(named / damaged > 0.95, `${named} of ${damaged} have the name of the vector`);
});

test("frozen documents are valid", () => {
  for (const folder of readdirSync(new URL("frozen/", TESTDATA))) {
    const names = files(`frozen/${folder}/`, ".lbuf");
    assert.ok(names.length > 50);
    for (const name of names) validate(bytesOf(`frozen/${folder}/${name}`));
  }
});

test("bytes behind the document and an odd address do not matter, and other bytes are not valid", () => {
  const bytes = bytesOf("vectors/y_encoded_table.lbuf");
  for (const start of [0, 1, 4, 8]) {
    const longer = new Uint8Array(bytes.length + 64).fill(0xee);
    longer.set(bytes, start);
    assert.ok(isValid(longer.subarray(start)), String(start));
  }
  const shared = new SharedArrayBuffer(bytes.length);
  new Uint8Array(shared).set(bytes);
  assert.ok(isValid(shared));
  assert.ok(!isValid(bytes.subarray(0, bytes.length - 8)));
  assert.ok(!isValid(new TextEncoder().encode('{"lap":55}')));
  assert.ok(!isValid(new Uint8Array(0)));
});

/** Numbers from 0 up to below n, the same in each run. */
let state = 1;
function below(n: number): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % n;
}

const COMMAND = fileURLToPath(new URL("../../../../target/debug/livebuf", import.meta.url));

test("each changed byte has the verdict that the reference gives", (t) => {
  if (!existsSync(COMMAND)) {
    t.skip(`no ${COMMAND} to compare with`);
    return;
  }
  const folder = mkdtempSync(`${tmpdir()}/livebuf-validate-`);
  const batch: [string, boolean][] = [];
  let [compared, valid] = [0, 0];
  const compare = (): void => {
    const files = batch.map((_, i) => `${i}.lbuf`);
    const { stdout } = spawnSync(COMMAND, ["validate", ...files], { cwd: folder, maxBuffer: 2 ** 28 });
    const good = new Set(Array.from(String(stdout).matchAll(/^(\d+)\.lbuf: valid/gm), (match) => Number(match[1])));
    batch.forEach(([what, mine], i) => {
      assert.equal(mine, good.has(i), `${what}: ${mine ? "valid" : "not valid"}, but not for the reference`);
    });
    compared += batch.length;
    valid += good.size;
    batch.length = 0;
  };
  try {
    for (const name of files("vectors/", ".lbuf").filter((name) => name.startsWith("y_"))) {
      const bytes = bytesOf(`vectors/${name}`);
      // Each byte of most vectors, and some of long ones.
      const step = ALL ? Math.ceil(bytes.length / 400) : Math.ceil(bytes.length / 12);
      for (let at = below(step); at < bytes.length; at += step) {
        for (const byte of ALL ? [bytes[at]! ^ (1 << below(8)), 0, below(256)] : [bytes[at]! ^ (1 << below(8))]) {
          const copy = bytes.slice();
          copy[at] = byte;
          writeFileSync(`${folder}/${batch.length}.lbuf`, copy);
          batch.push([`${name}, byte ${at} is ${byte}`, isValid(copy)]);
          if (batch.length === 1500) compare();
        }
      }
    }
    compare();
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (ALL) console.log(`${compared} changes compared, ${valid} of them valid`);
  assert.ok(compared > 1000 && valid > 100 && valid < compared);
});

/** Looks at a value by views, down to some depth. */
function look(value: unknown, left: { steps: number }): void {
  if (!isView(value) || left.steps-- < 0) return;
  if (value instanceof ArrayView) {
    for (let i = 0; i < Math.min(value.length, 4); i++) look(value.at(i), left);
    value.at(-1);
    return;
  }
  for (const key of keys(value).slice(0, 8)) look(get(value, key), left);
  get(value, "no such key");
  let n = 0;
  for (const [key] of entries(value)) if (typeof key !== "string" || ++n > 8) break;
}

test("damaged documents give errors of this package and nothing else, and valid ones are printed", () => {
  const names = files("vectors/", ".lbuf").filter((name) => bytesOf(`vectors/${name}`).length < 20_000);
  const documents = names.map((name) => bytesOf(`vectors/${name}`));
  const until = performance.now() + (ALL ? 120_000 : 2500);
  let [rounds, refused, slowest] = [0, 0, 0];
  for (; performance.now() < until && rounds < (ALL ? 1_000_000 : 8000); rounds++) {
    const i = below(documents.length);
    const copy = documents[i]!.slice();
    const words = new Uint32Array(copy.buffer, 0, copy.length >>> 2);
    for (let k = below(3); k >= 0; k--) {
      const at = below(Math.max(words.length, 1));
      if (words.length === 0) break;
      switch (below(5)) {
        case 0:
          words[at] = words[below(words.length)]!;
          break;
        case 1:
          words[at] = 8 * below(words.length / 2 + 4);
          break;
        case 2:
          words[at] = [0, 0x7fffffff, 0xffffffff, 0x80000000, 0x10000][below(5)]!;
          break;
        default:
          copy[4 * at + below(4)]! ^= 1 << below(8);
      }
    }
    const name = names[i]!;
    const start = performance.now();
    const valid = kindOf(() => validate(copy)) === "";
    if (!valid) refused++;
    const errors = [
      kindOf(() => void open(copy).toText({ nonFinite: "null", length: 200_000 })),
      kindOf(() => void open(copy).toObject({ values: 50_000 })),
      kindOf(() => look(open(copy).root, { steps: 200 })),
      kindOf(() => void open(copy).get("a", 0, "b")),
    ];
    // A valid document may be longer than the limits here, or hold values that JSON lacks.
    const fine = ["", "BudgetExceeded", "Unsupported"];
    if (valid)
      assert.ok(
        errors.every((kind) => fine.includes(kind)),
        `${name} is valid: ${errors}`,
      );
    slowest = Math.max(slowest, performance.now() - start);
  }
  if (ALL) console.log(`${rounds} documents, ${refused} damaged; the slowest took ${slowest.toFixed()} ms`);
  assert.ok(refused > rounds / 4 && rounds > 200);
  assert.ok(slowest < 2000, `a document took ${slowest} ms`);
});
