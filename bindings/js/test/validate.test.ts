// The validator: the vectors, frozen documents, every changed byte beside the reference, and random damage.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { create, edit } from "../src/edit.js";
import { encode, fromJSON } from "../src/encode.js";
import { ArrayView, type Column, entries, get, isView, keys, LivebufError, open } from "../src/index.js";
import { ARRAY, CELLS, cellAt } from "../src/layout.js";
import { isValid, validate } from "../src/validate.js";
import { cursorOf } from "../src/view.js";

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

/** How many damaged documents, whatever time they take: LIVEBUF_ROUNDS. They begin with LIVEBUF_SEED. */
const ROUNDS = Number(process.env.LIVEBUF_ROUNDS ?? 0);
const SEED = Number(process.env.LIVEBUF_SEED ?? 1);

/** Numbers from 0 up to below n, the same in each run. */
let state = SEED;
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

/** Asks a column everything. */
function ask(column: Column, kinds: Set<string>, depth = 0): void {
  const answer = <T>(question: (column: Column) => T): T | undefined => {
    let found: T | undefined;
    const kind = kindOf(() => {
      found = question(column);
    });
    kinds.add(kind);
    return found;
  };
  answer(({ values }) => values);
  answer(({ valid }) => valid);
  answer(({ codes }) => codes);
  answer(({ texts }) => texts);
  answer(({ shape }) => shape);
  answer(({ tensor }) => tensor);
  answer((column) => [column.at(-1), column.isValid(0)]);
  if (column.length < 1000) answer((column) => [column.toArray(), column.toFloat64Array()]);
  const lists = answer(({ lists }) => lists);
  if (lists && depth < 4) ask(lists.elements, kinds, depth + 1);
}

/** Looks at a value by views and columns, down to some depth. The kinds of errors of columns are collected. */
function look(value: unknown, left: { steps: number; kinds: Set<string> }): void {
  if (!isView(value) || left.steps-- < 0) return;
  if (value instanceof ArrayView) {
    ask(value.column(), left.kinds);
    for (let i = 0; i < Math.min(value.length, 4); i++) look(value.at(i), left);
    value.at(-1);
    const first = value.at(0);
    if (!isView(first) || first instanceof ArrayView || value.length > 1000) return;
    for (const key of keys(first).slice(0, 8)) ask(value.column(key), left.kinds);
    return;
  }
  for (const key of keys(value).slice(0, 8)) look(get(value, key), left);
  get(value, "no such key");
  let n = 0;
  for (const [key] of entries(value)) if (typeof key !== "string" || ++n > 8) break;
}

/** The kinds of errors that a document gives, however it is looked at; "" is among them. */
function kindsOf(bytes: Uint8Array): Set<string> {
  const left = { steps: 200, kinds: new Set<string>() };
  for (const call of [
    () => void open(bytes).toText({ nonFinite: "null", length: 200_000 }),
    () => void open(bytes).toObject({ values: 50_000 }),
    () => look(open(bytes).root, left),
    () => void open(bytes).get("a", 0, "b"),
    () => void encode(open(bytes)),
    () => void create(open(bytes)),
  ]) {
    left.kinds.add(kindOf(call));
  }
  return left.kinds;
}

/** Edits a valid document, which stays one. */
function change(bytes: Uint8Array): void {
  const doc = edit(bytes);
  const { root } = doc;
  const values = [below(300), `a text ${"x".repeat(below(40))}`, null, [1.5, "a"], { a: 1 }];
  const value = values[below(values.length)];
  const edits =
    root instanceof ArrayView
      ? [
          () => doc.push(root, value),
          () => doc.set(root, below(root.length), value),
          () => doc.splice(root, below(root.length), below(3), value, value),
          () => doc.remove(root, 0),
        ]
      : isView(root)
        ? [
            () => doc.set(root, "a", value),
            () => doc.set(root, keys(root)[0] ?? "b", value),
            () => doc.rename(root, keys(root)[0] ?? "c", "a new name"),
            () => doc.remove(root, keys(root)[0] ?? "d"),
          ]
        : [() => doc.replaceRoot(value)];
  for (const one of edits) {
    const kind = kindOf(one);
    assert.ok(["", "TensorMismatch", "NestingLimit", "IndexOutOfRange", "NotFound", "KeyExists"].includes(kind), kind);
    validate(doc.bytes);
  }
}

/** Objects and arrays in each other, as deep as a document allows. */
const deep = (): Uint8Array => fromJSON(`${'[{"a":'.repeat(499)}[[1,"text"],"text"]${"}]".repeat(499)}`);

test("a document of 1,000 levels that leads back to itself ends somewhere", () => {
  const bytes = deep();
  assert.deepEqual([...kindsOf(bytes)], [""]);
  let innermost = open(bytes).root as object;
  const path = Array.from({ length: 998 }, (_, i) => (i % 2 === 0 ? 0 : "a"));
  innermost = get(innermost, ...path) as object;
  const { m, at } = cursorOf(innermost);
  assert.equal(m.u8[at + 1], CELLS);
  const cell = (m.u32[(at >>> 2) + 3]! + cellAt(0)) >>> 2;
  assert.equal(m.u8[m.u32[cell]!], ARRAY);
  m.u32[cell] = m.u32[2]!;
  const kinds = kindsOf(bytes);
  assert.ok(kinds.has("NestingLimit"), [...kinds].join(" "));
  assert.ok(!isValid(bytes));
});

test("offsets that are no multiples of 8 give errors of this package and nothing else", () => {
  const kinds = new Set<string>();
  for (const name of files("vectors/", ".lbuf").filter((name) => name.startsWith("y_"))) {
    const bytes = bytesOf(`vectors/${name}`);
    if (bytes.length > 5000) continue;
    const words = new Uint32Array(bytes.buffer, 0, bytes.length >>> 2);
    words.forEach((word, i) => {
      if (word < 32 || word >= bytes.length || word % 8 !== 0 || (!ALL && below(4) > 0)) return;
      const copy = bytes.slice();
      copy[4 * i]! ^= 1 << below(3);
      try {
        for (const kind of kindsOf(copy)) kinds.add(kind);
      } catch (error) {
        throw new Error(`${name}, byte ${4 * i}`, { cause: error });
      }
    });
  }
  assert.ok(kinds.has("Misaligned"));
});

test("damaged documents give errors of this package and nothing else, and valid ones are printed and edited", () => {
  const names = files("vectors/", ".lbuf").filter((name) => bytesOf(`vectors/${name}`).length < 20_000);
  const documents = names.map((name) => bytesOf(`vectors/${name}`));
  names.push("1,000 levels");
  documents.push(deep());
  const until = ROUNDS > 0 ? Infinity : performance.now() + (ALL ? 120_000 : 2500);
  const most = ROUNDS || (ALL ? 1_000_000 : 8000);
  let [rounds, refused, slowest] = [0, 0, 0];
  for (; performance.now() < until && rounds < most; rounds++) {
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
    try {
      const valid = kindOf(() => validate(copy)) === "";
      if (!valid) refused++;
      const kinds = [...kindsOf(copy)];
      // A valid document may be longer than the limits here, or hold values that JSON lacks.
      const fine = ["", "BudgetExceeded", "Unsupported"];
      if (valid) {
        assert.ok(
          kinds.every((kind) => fine.includes(kind)),
          `it is valid: ${kinds}`,
        );
        if (copy[6] === 0) change(copy);
      }
    } catch (error) {
      throw new Error(`${name}, round ${rounds} of LIVEBUF_SEED=${SEED}`, { cause: error });
    }
    slowest = Math.max(slowest, performance.now() - start);
  }
  if (ALL) console.log(`${rounds} documents, ${refused} damaged; the slowest took ${slowest.toFixed()} ms`);
  assert.ok(refused > rounds / 4 && rounds > 200);
  assert.ok(slowest < 2000, `a document took ${slowest} ms`);
});
