// Random edits of documents of all kinds, beside a plain model of their values.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { create, type Editor, edit } from "../src/edit.js";
import { encode, fromJSON } from "../src/encode.js";
import {
  type ArrayView,
  Decimal,
  Float,
  get,
  isView,
  LivebufError,
  LocalDate,
  LocalTime,
  open,
  Timestamp,
  toObject,
  Uuid,
} from "../src/index.js";
import * as L from "../src/layout.js";
import { tensorAt } from "../src/read.js";
import { print } from "../src/text.js";
import { validate } from "../src/validate.js";
import { cursorOf } from "../src/view.js";
import { tensorBytes } from "./tensor.js";

const ROOT = new URL("../../../../", import.meta.url);
const ALL = process.env.LIVEBUF_LONG !== undefined;

/** A value: an object, an array, or the text of a scalar. Of an integer that may become a float, with `~` before. */
type Model = Map<string, Model> | Model[] | string;

function parse(text: string): Model {
  const token = /"(?:[^"\\]|\\.)*"|[^\s",:[\]{}]+|[[\]{}]/g;
  let next = token.exec(text)![0];
  const step = (): string => {
    const now = next;
    next = token.exec(text)?.[0] ?? "";
    return now;
  };
  const value = (): Model => {
    const now = step();
    if (now === "[") {
      const array: Model[] = [];
      while (next !== "]") array.push(value());
      step();
      return array;
    }
    if (now !== "{") return now;
    const object = new Map<string, Model>();
    while (next !== "}") {
      const key = JSON.parse(step()) as string;
      object.set(key, value());
    }
    step();
    return object;
  };
  return value();
}

/** Tensors round what they store. */
let rounds = false;

/** Whether a document's value is that of the model, whatever the order of members. */
function same(model: Model, there: Model, path = ""): void {
  // Bytes are an array where they come into a tensor. Those of these tests are zeros.
  if (rounds && Array.isArray(there) && model === JSON.stringify("AAAA".repeat(there.length / 3))) {
    for (const number of there) assert.equal(Number(number), 0, path);
  } else if (typeof model === "string" || typeof there === "string") {
    if (typeof model === "string" && model.startsWith("~") && typeof there === "string") {
      if (rounds && Number.parseFloat(there) === Math.fround(Number(model.slice(1)))) return;
      const float = Number(there) === Number(model.slice(1)) && there.includes(".");
      if (float) return;
      assert.equal(there, model.slice(1), path);
    } else if (!(rounds && Math.abs(Number(there) - Number(model)) <= Math.abs(Number(model)) / 1024)) {
      assert.equal(there, model, path);
    }
  } else if (Array.isArray(model)) {
    assert.ok(Array.isArray(there), path);
    assert.equal(there.length, model.length, path);
    model.forEach((value, i) => {
      same(value, there[i]!, `${path}/${i}`);
    });
  } else {
    assert.ok(there instanceof Map, path);
    assert.deepEqual([...there.keys()].sort(), [...model.keys()].sort(), path);
    for (const [key, value] of model) same(value, there.get(key)!, `${path}/${key.slice(0, 20)}`);
  }
}

/** Takes over whether integers became floats. */
function settle(model: Model, there: Model): Model {
  if (typeof model === "string") return there;
  if (Array.isArray(model)) {
    model.forEach((value, i) => {
      model[i] = settle(value, (there as Model[])[i]!);
    });
  } else for (const [key, value] of model) model.set(key, settle(value, (there as Map<string, Model>).get(key)!));
  return model;
}

/** Memory is refused from so many bytes on. */
let refused = Infinity;
const Bytes = Uint8Array;
globalThis.Uint8Array = new Proxy(Bytes, {
  construct: (made, values: unknown[]) => {
    if (typeof values[0] === "number" && values[0] >= refused) throw new RangeError("no memory");
    return Reflect.construct(made, values) as object;
  },
});

class Random {
  constructor(private seed: number) {}
  below(n: number): number {
    this.seed = (Math.imul(this.seed, 1_664_525) + 1_013_904_223) >>> 0;
    let x = this.seed;
    x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
    x = Math.imul(x ^ (x >>> 12), 0x297a2d39);
    return ((x ^ (x >>> 15)) >>> 0) % n;
  }
  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!;
  }
}

interface Container {
  model: Map<string, Model> | Model[];
  path: (string | number)[];
}

function containers(model: Model, path: (string | number)[] = [], all: Container[] = []): Container[] {
  if (typeof model === "string") return all;
  all.push({ model, path });
  for (const [key, value] of model.entries()) containers(value, [...path, key], all);
  return all;
}

const KEYS = [
  "a",
  "b",
  "c",
  "id",
  "name",
  "x",
  "a longer key",
  "another longer key",
  "",
  "naïve",
  "toJSON",
  "__proto__",
];

class Sequence {
  readonly held: { view: object; model: Model }[] = [];
  model: Model;
  keys: string[];
  readonly doc: Editor;

  constructor(
    bytes: Uint8Array,
    readonly random: Random,
  ) {
    this.doc = edit(bytes);
    this.model = parse(this.doc.toText({ nonFinite: "null" }));
    this.keys = [...KEYS];
    for (const { model } of containers(this.model))
      if (model instanceof Map) this.keys.push(...[...model.keys()].slice(0, 20));
  }

  /** A value and its model. */
  value(depth = 0): [unknown, Model] {
    const { random } = this;
    const int = (n: number): [unknown, Model] => [n, `~${n}`];
    switch (random.below(depth > 2 ? 16 : 22)) {
      case 0:
        return [null, "null"];
      case 1: {
        const bit = random.below(2) === 0;
        return [bit, String(bit)];
      }
      case 2:
        return int(random.below(100));
      case 3:
        return int(random.of([-1, -129, 256, 70_000, 2 ** 31, 2 ** 32, -(2 ** 31) - 1, 2 ** 53, 2 ** 24 + 1]));
      case 4: {
        const n = random.of([2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n), 2n ** 64n, 5n]);
        return [n, String(n)];
      }
      case 5: {
        const x = random.of([0.5, -1.25, 3.5, 1e100, 0.1, -2.5]);
        return [x, new Float(x).toString()];
      }
      case 6: {
        const x = new Float(random.of([2, -0, 3, 16_777_218, 1e15]));
        return [x, x.toString()];
      }
      case 7:
      case 8:
      case 9: {
        const text = random.of([
          "",
          "short",
          "eight888",
          "naïve ünï",
          "another text, longer",
          "F",
          "C",
          "t".repeat(random.below(100)),
        ]);
        return [text, JSON.stringify(text)];
      }
      case 10: {
        const text = "long ".repeat(random.below(4) === 0 ? 300 : 20);
        return [text, JSON.stringify(text)];
      }
      case 11: {
        const x = random.of([
          LocalDate.from("2026-11-23"),
          LocalTime.from("08:30:00.250"),
          Timestamp.from("2026-11-23T08:30:00Z"),
        ]);
        return [x, JSON.stringify(x.toString())];
      }
      case 12: {
        const x = random.of([Decimal.from("19.90"), Decimal.from("12345678901234567890.5")]);
        return [x, x.toString()];
      }
      case 13: {
        const x = Uuid.from("00112233-4455-6677-8899-aabbccddeeff");
        return [x, JSON.stringify(x.toString())];
      }
      case 14: {
        const x = new Uint8Array(3 * random.below(5));
        return [x, JSON.stringify("AAAA".repeat(x.length / 3))];
      }
      case 15: {
        const found = random.of(containers(this.model));
        if (found === undefined || JSON.stringify(found.path).length > 200) return int(1);
        const view = this.doc.get(...found.path);
        if (!isView(view) || size(found.model) > 100) return int(2);
        return [view, parse(print(cursorOf(view), { nonFinite: "null" }))];
      }
      case 16:
      case 17:
      case 18: {
        const n = random.below(5);
        const one = random.below(2) === 0 ? random.below(8) : -1;
        const array: unknown[] = [];
        const model: Model[] = [];
        for (let i = 0; i < n; i++) {
          const [v, m] = one < 0 ? this.value(depth + 1) : one < 4 ? int(random.below(9)) : this.value(3);
          array.push(v);
          model.push(m);
        }
        return [array, model];
      }
      default: {
        const object: [string, unknown][] = [];
        const model = new Map<string, Model>();
        const start = random.below(this.keys.length);
        const n = random.below(40) === 0 ? 300 : random.below(8);
        for (let i = 0; i < n; i++) {
          const key = n === 300 ? `key ${i}` : this.keys[(start + i) % this.keys.length]!;
          if (model.has(key)) continue;
          const [v, m] = this.value(depth + 2);
          object.push([key, v]);
          model.set(key, m);
        }
        return [new Map(object), model];
      }
    }
  }

  step(): string {
    const { random, doc } = this;
    const all = containers(this.model);
    if (all.length === 0 || random.below(150) === 0) {
      const [value, model] = this.value();
      doc.replaceRoot(value);
      this.model = model;
      return "replaceRoot";
    }
    // Mostly near the root or anywhere.
    const { model, path } = random.of(random.below(3) === 0 ? all.slice(0, 5) : all);
    const target = random.below(2) === 0 ? path : (doc.get(...path) as object);
    const where = JSON.stringify(path).slice(0, 100);
    if (random.below(3) === 0) {
      const view = doc.get(...path);
      assert.ok(isView(view));
      if (!this.held.some((other) => other.view === view)) this.held.push({ view, model });
    }
    if (model instanceof Map) {
      const keys = [...model.keys()];
      const key =
        keys.length > 0 && random.below(2) === 0
          ? random.of(keys)
          : random.below(30) === 0
            ? "k".repeat(300)
            : random.of(this.keys);
      switch (random.below(7)) {
        case 0:
        case 1:
          assert.equal(doc.remove(target, key), model.delete(key));
          return `delete ${where} ${key}`;
        case 2: {
          const from = random.of(keys);
          if (from === undefined || model.has(key)) return "nothing";
          const value = model.get(from)!;
          // The views below a row's member do not follow it.
          const below = new Set(containers(value).map((container) => container.model as Model));
          for (let i = this.held.length - 1; i >= 0; i--) if (below.has(this.held[i]!.model)) this.held.splice(i, 1);
          doc.rename(target, from, key);
          model.delete(from);
          model.set(key, value);
          return `rename ${where} ${from} ${key}`;
        }
        default: {
          const [value, m] = this.value();
          doc.set(target, key, value);
          model.set(key, m);
          return `set ${where} ${key} ${JSON.stringify(m)}`;
        }
      }
    }
    const n = model.length;
    switch (random.below(8)) {
      case 0: {
        const [value, m] = this.value();
        doc.push(target, value);
        model.push(m);
        return `push ${where} ${JSON.stringify(m)}`;
      }
      case 1: {
        const at = random.below(n + 1);
        const values = Array.from({ length: 1 + random.below(3) }, () => this.value());
        doc.insert(target, at, ...values.map(([v]) => v));
        model.splice(at, 0, ...values.map(([, m]) => m));
        return `insert ${where} ${at} ${JSON.stringify(values.map(([, m]) => m))}`;
      }
      case 2: {
        const at = random.below(n + 1);
        const count = random.below(4);
        const values = Array.from({ length: random.below(3) }, () => this.value());
        doc.splice(target, at, count, ...values.map(([v]) => v));
        model.splice(at, count, ...values.map(([, m]) => m));
        return `splice ${where} ${at} ${count} ${JSON.stringify(values.map(([, m]) => m))}`;
      }
      case 3: {
        if (n === 0) return "nothing";
        const at = random.below(n);
        doc.remove(target, at);
        model.splice(at, 1);
        return `delete ${where} ${at}`;
      }
      case 4: {
        const order = model.map((_, i) => i);
        for (let i = n - 1; i > 0; i--) {
          const j = random.below(i + 1);
          [order[i], order[j]] = [order[j]!, order[i]!];
        }
        doc.reorder(target, order);
        model.splice(0, n, ...order.map((i) => model[i]!));
        return `reorder ${where}`;
      }
      default: {
        if (n === 0) return "nothing";
        const at = random.below(n);
        const [value, m] = this.value();
        doc.set(target, at, value);
        model[at] = m;
        return `set ${where} ${at} ${JSON.stringify(m)}`;
      }
    }
  }

  check(): void {
    const { doc } = this;
    validate(doc.bytes);
    const there = parse(doc.toText({ nonFinite: "null" }));
    same(this.model, there);
    this.model = settle(this.model, there);
    const alive = new Set<Model>(containers(this.model).map(({ model }) => model));
    for (let i = this.held.length - 1; i >= 0; i--) {
      const { view, model } = this.held[i]!;
      if (alive.has(model)) {
        same(model, parse(print(cursorOf(view), { nonFinite: "null" })), "view");
        if (model instanceof Map) {
          for (const key of [...model.keys()].slice(0, 20)) {
            const value = (view as Record<string, unknown>)[key];
            const other = get(view, key);
            assert.ok(value === other || (!isView(value) && String(value) === String(other)), `view ${key}`);
          }
        } else assert.equal((view as { length: number }).length, model.length);
      } else {
        assert.throws(() => cursorOf(view), { kind: "StaleHandle" });
        this.held.splice(i, 1);
      }
    }
  }
}

const size = (model: Model): number =>
  typeof model === "string" ? 1 : [...model.values()].reduce((sum: number, value) => sum + size(value), 1);

interface Start {
  name: string;
  bytes: Uint8Array;
}

function starts(): Start[] {
  const found: Start[] = [];
  for (const folder of ["testdata/vectors/", "testdata/frozen/1-candidate-2/"]) {
    for (const name of readdirSync(new URL(folder, ROOT)).sort()) {
      if (!name.endsWith(".lbuf") || name.startsWith("n_")) continue;
      const bytes = new Uint8Array(readFileSync(new URL(folder + name, ROOT)));
      try {
        if (bytes[6] !== 0) continue;
        open(bytes).toText({ nonFinite: "null" });
      } catch {
        continue;
      }
      found.push({ name, bytes });
    }
  }
  for (const name of ALL ? ["github_events", "apache_builds", "instruments", "numbers", "twitter"] : []) {
    const file = new URL(`../shared/data/${name}.json`, ROOT);
    if (existsSync(file)) found.push({ name: `real ${name}`, bytes: fromJSON(readFileSync(file)) });
  }
  return [...found, ...encoded()];
}

/** Documents that an encoder makes: tables of many kinds of columns. */
function encoded(): Start[] {
  const found: Start[] = [];
  for (let seed = 0; seed < 40; seed++) {
    const random = new Random(seed + 77);
    const kinds = Array.from({ length: 1 + random.below(9) }, () => random.below(16));
    const gap = random.below(2) === 0 ? 0 : 1 + random.below(6);
    const cell = (kind: number, i: number): unknown => {
      const text = `${"text ".repeat(kind % 5)}${random.below(30)}`;
      const inner = [{ x: i, t: text }, null, [random.below(9), 2]];
      const values = [
        i,
        random.below(300) - 100,
        i / 2,
        [1, 2.5, 3][i % 3],
        `unique ${i} ${text}`,
        ["C", "F", "another unit"][random.below(3)],
        i % 3 === 0,
        Array.from({ length: random.below(4) }, () => random.below(99)),
        [i, i / 4, 3],
        { x: i, y: { z: text } },
        Array.from({ length: random.below(3) }, (_, j) => ({ j, text })),
        inner[random.below(3)],
        LocalDate.from(`2026-11-${10 + (i % 20)}`),
        Uuid.from(`00112233-4455-6677-8899-aabbccddee${10 + (i % 80)}`),
        Decimal.from(`${i}.25`),
        `id-${1000 + i}, text`,
      ];
      return values[kind];
    };
    const row = (i: number): Record<string, unknown> => {
      const members = new Map<string, unknown>();
      kinds.forEach((kind, j) => {
        const missing = gap === 0 ? 9 : random.below(gap + 2);
        if (missing > 0)
          members.set(`member ${j}`.slice(random.below(60) === 0 ? 3 : 0), missing === 1 ? null : cell(kind, i));
      });
      return Object.fromEntries(random.below(9) === 0 ? [...members].reverse() : members);
    };
    const rows = Array.from({ length: 8 + random.below(30) }, (_, i) => (random.below(40) === 0 ? null : row(i)));
    const byKey = Object.fromEntries(rows.map((value, i) => [`key ${i}`, value]));
    found.push({
      name: `encoded ${seed}`,
      bytes: encode(seed % 3 === 0 ? byKey : seed % 3 === 1 ? rows : { a: 1, rows }),
    });
  }
  return found;
}

/** Edits that failed since there was no memory. */
let without = 0;

/** Leaves a document no room, so that an edit moves its bytes in its midst, or no memory, so that it cannot move them. */
function cramp({ doc, random }: { doc: Editor; random: Random }, used: Uint8Array): void {
  const kind = random.below(3);
  if (kind === 0) return;
  const bytes = new Uint8Array(used.length + 8 * random.below(600) * (kind - 1));
  bytes.set(used);
  doc.memory.adopt(bytes);
  if (kind === 2) refused = Math.max(used.length, 400);
}

function run(start: Start, seed: number, steps: number): Editor {
  const sequence = new Sequence(start.bytes.slice(), new Random(seed));
  const done: string[] = [];
  rounds = /tensor|arrow/.test(start.name);
  try {
    for (let i = 0; i < steps; i++) {
      const { doc } = sequence;
      const used = doc.bytes.slice();
      cramp(sequence, used);
      try {
        done.push(sequence.step());
      } catch (error) {
        const kinds = ["TensorMismatch", "NestingLimit"];
        if (refused < Infinity) kinds.push("NoSpace");
        if (!(error instanceof LivebufError && kinds.includes(error.kind))) throw error;
        if (error.kind === "NoSpace") without++;
        assert.deepEqual(doc.bytes, used);
      } finally {
        refused = Infinity;
      }
      sequence.check();
    }
  } catch (error) {
    console.log(start.name, seed, done.slice(-3));
    throw error;
  }
  return sequence.doc;
}

/** Makes an edit with each room behind the document, and no memory elsewhere, until there is enough. */
function inEachRoom(bytes: Uint8Array, change: (doc: Editor) => void): number {
  for (let room = 0, failed = 0; ; room += 4096, failed++) {
    const doc = edit(bytes.slice());
    const cramped = new Uint8Array(bytes.length + room);
    cramped.set(bytes);
    doc.memory.adopt(cramped);
    refused = bytes.length;
    try {
      change(doc);
      refused = Infinity;
      validate(doc.bytes);
      return failed;
    } catch (error) {
      refused = Infinity;
      assert.equal((error as LivebufError).kind, "NoSpace");
      assert.deepEqual(doc.bytes, bytes, `${room} bytes of room`);
    }
  }
}

test("an object that becomes a map is whole, or as it was", () => {
  // Bug: a map owns the texts of its keys, and there was no room kept for them.
  const members = (n: number, name: string): [string, number][] =>
    Array.from({ length: n }, (_, i) => [`${name} ${i} `.padEnd(200, "x"), i]);
  const record = (n: number) => Object.fromEntries(members(n, "key"));
  const whole = encode(record(255));
  assert.ok(inEachRoom(whole, (doc) => doc.set([], "one more", 1)) > 0);
  assert.ok(inEachRoom(encode(record(100)), (doc) => doc.set([], "z".repeat(300), 1)) > 0);
  assert.ok(inEachRoom(whole, (doc) => doc.rename([], members(1, "key")[0]![0], "z".repeat(300))) > 0);
  // Rows of a table that have a member of their own.
  const rows = edit(encode({ rows: Array.from({ length: 10 }, () => record(255)) }));
  for (let i = 0; i < 10; i++) rows.set(["rows", i], "one more", i);
  assert.ok(inEachRoom(rows.bytes.slice(), (doc) => doc.set(["rows"], 1, "no row")) > 0);
});

/** The library that this package follows: a command that says whether documents are valid. */
const REFERENCE = fileURLToPath(new URL("target/debug/livebuf", ROOT));

/** Which of these documents the command finds valid; `undefined` if there is no command. */
function validated(documents: Uint8Array[]): boolean[] | undefined {
  if (!existsSync(REFERENCE)) return undefined;
  const valid: boolean[] = [];
  const folder = mkdtempSync(join(tmpdir(), "livebuf-"));
  for (let i = 0; i < documents.length; i += 500) {
    const files = documents.slice(i, i + 500).map((bytes, j) => {
      writeFileSync(join(folder, `${i + j}.lbuf`), bytes);
      return join(folder, `${i + j}.lbuf`);
    });
    const { stdout } = spawnSync(REFERENCE, ["validate", ...files], { encoding: "utf8", maxBuffer: 2 ** 26 });
    for (const file of files) valid.push(stdout.includes(`${file}: valid`));
  }
  rmSync(folder, { recursive: true });
  return valid;
}

test("random edits", { timeout: 3_600_000 }, (t) => {
  const all = starts().filter(({ name }) => name.startsWith(process.env.START ?? ""));
  const count = Number(process.env.SEQUENCES ?? (ALL ? 3000 : 25));
  const first = Number(process.env.SEED ?? 1);
  const chosen = Array.from({ length: count }, (_, i) => all[((first + i) * 7919) % all.length]!);
  const edited = chosen.map((start, i) => run(start, first + i, 50).bytes);
  assert.ok(without > 0);
  // A command that was built before does not know all that this encoder writes.
  const known = validated(chosen.map(({ bytes }) => bytes));
  if (known === undefined) {
    t.diagnostic("the command livebuf was not built, and did not validate what edits made");
    return;
  }
  const compared = known.filter((valid) => valid).length;
  t.diagnostic(`${compared} of ${count} documents compared with the command`);
  assert.ok(compared > count / 2 || process.env.START !== undefined);
  validated(edited)!.forEach((valid, i) => {
    assert.ok(valid || !known[i], `${chosen[i]!.name} ${first + i}`);
  });
});

// --- Tensors, beside nested arrays

type Part = number | bigint | boolean | Part[];

/** A type of tensors: its numbers, what they become, values that it refuses, and its typed array. */
interface Type {
  code: number;
  numbers: [given: number | bigint | boolean, stored: number | bigint | boolean][];
  refuses: unknown[];
  made?: Made;
}
interface Made {
  from(values: unknown[]): object;
}

const kept = (...values: (number | bigint | boolean)[]): Type["numbers"] => values.map((value) => [value, value]);
const floats = kept(0, -0, 1, -2.5, 0.125, 2048, NaN, Infinity);
const { Float16Array } = globalThis as unknown as { Float16Array?: Made };

const TYPES: Type[] = [
  { code: L.I8, numbers: kept(-128, -1, 0, 5, 127), refuses: [128, -129, 0.5, 1n << 60n, true], made: Int8Array },
  { code: L.I16, numbers: kept(-32_768, -1, 7, 32_767), refuses: [32_768, -0, 1.5], made: Int16Array },
  { code: L.I32, numbers: kept(-(2 ** 31), 2 ** 31 - 1, 0), refuses: [2 ** 31, 2n ** 63n], made: Int32Array },
  {
    code: L.I64,
    numbers: [...kept(-5, 0, 2 ** 53, 2n ** 63n - 1n, -(2n ** 63n)), [3n, 3]],
    refuses: [2n ** 63n, 1.5],
    made: BigInt64Array as unknown as Made,
  },
  { code: L.U8, numbers: kept(0, 1, 255), refuses: [-1, 256, 2.5], made: Uint8ClampedArray },
  { code: L.U16, numbers: kept(0, 65_535), refuses: [-1, 65_536], made: Uint16Array },
  { code: L.U32, numbers: kept(0, 2 ** 32 - 1), refuses: [-1, 2 ** 32, 2n ** 40n], made: Uint32Array },
  {
    code: L.U64,
    numbers: kept(0, 9, 2n ** 64n - 1n, 2n ** 63n),
    refuses: [-1, 0.5, 2n ** 64n],
    made: BigUint64Array as unknown as Made,
  },
  {
    code: L.F32,
    numbers: [...floats, [0.1, Math.fround(0.1)], [2 ** 24 + 1, 2 ** 24], [2n ** 24n, 2 ** 24]],
    refuses: [1e39, 2n ** 24n + 1n],
    made: Float32Array,
  },
  {
    code: L.F64,
    numbers: [...floats, ...kept(0.1, 1e300), [-(2n ** 53n), -(2 ** 53)]],
    refuses: [2n ** 53n + 1n, "1"],
    made: Float64Array,
  },
  {
    code: L.F16,
    numbers: [...floats, [0.1, 0.0999755859375], [2049, 2048], [2051, 2052], [65_519, 65_504], [2048n, 2048]],
    refuses: [65_520, -1e5, 2049n],
    ...(Float16Array && { made: Float16Array }),
  },
  { code: L.BOOL8, numbers: kept(true, false), refuses: [0, 1, "true"] },
];

/** Edits of a tensor. Each is made of the document first, and then of the model. */
class TensorSequence {
  readonly path: string[];
  readonly doc: Editor;
  readonly type: Type;
  /** The lengths of an element. */
  readonly inner: number[];
  readonly model: Part[] = [];
  readonly held: { view: object; model: Part[] }[] = [];

  constructor(
    readonly random: Random,
    seed: number,
  ) {
    this.type = TYPES[seed % TYPES.length]!;
    this.inner = random.of([[], [3], [2, 2], [1], [9], [2, 1, 3]]);
    const size = this.inner.reduce((a, b) => a * b, L.WIDTHS[this.type.code]!);
    const count = random.below(4);
    const bytes = tensorBytes(this.type.code, [count, ...this.inner], new Uint8Array(count * size));
    const zero = typeof this.type.numbers[0]![0] === "boolean" ? false : 0;
    const element = (lengths: number[]): Part =>
      lengths.length === 0 ? zero : Array.from({ length: lengths[0]! }, () => element(lengths.slice(1)));
    for (let i = 0; i < count; i++) this.model.push(element(this.inner));
    // By itself, before other values, or at the document's end.
    const where = random.below(3);
    this.path = where === 0 ? [] : ["t"];
    const before = { before: ["text that is before it"] };
    const t = open(bytes);
    this.doc = (
      where === 0 ? edit(bytes) : create(where === 1 ? { ...before, t, after: "text behind it" } : { ...before, t })
    ) as Editor;
  }

  /** An element, as a program may give it, and what it becomes. */
  element(lengths: number[] = this.inner): [unknown, Part] {
    const { random, type, model } = this;
    if (lengths.length === 0) return random.of(type.numbers);
    if (lengths === this.inner && model.length > 0 && random.below(8) === 0) {
      const i = random.below(model.length);
      return [this.doc.get(...this.path, i), structuredClone(model[i]!)];
    }
    const parts = Array.from({ length: lengths[0]! }, () => this.element(lengths.slice(1)));
    const stored = parts.map(([, part]) => part);
    const given = parts.map(([part]) => part);
    if (lengths.length > 1) return [given, stored];
    const big = type.code === L.I64 || type.code === L.U64;
    switch (random.below(4)) {
      case 0:
        return [type.made?.from(big ? stored.map((x) => BigInt(x as number)) : stored) ?? given, stored];
      case 1:
        if (given.every((x) => typeof x === "number")) return [Float64Array.from(given), stored];
        return [given, stored];
      case 2:
        if (type.code === L.U8) return [Uint8Array.from(given as number[]), stored];
        if (given.every((x) => typeof x === "number" && x === (x | 0) && !Object.is(x, -0)))
          return [Int32Array.from(given as number[]), stored];
        return [given, stored];
      default:
        return [given, stored];
    }
  }

  /** A value that is no element. */
  wrong(): unknown {
    const { random, type, inner } = this;
    const element = this.element();
    if (random.below(3) === 0) return random.of([null, "text", {}, { 0: 1 }, [[[]]], [null]]);
    if (inner.length === 0) return random.below(2) === 0 ? random.of(type.refuses) : [1];
    const given = isView(element[0]) ? toObject(element[0]) : element[0];
    if (random.below(2) === 0) return Array.from(given as unknown[]).slice(1);
    if (random.below(2) === 0) return new Float32Array(inner[0]! + 1);
    // One of its numbers does not fit.
    const replaced = (part: unknown): unknown => {
      if (typeof part !== "object") return random.of(type.refuses);
      const parts = Array.from(part as unknown[]);
      parts[random.below(parts.length)] = replaced(parts[0]);
      return parts;
    };
    return replaced(given);
  }

  step(): string {
    const { random, doc, model, path } = this;
    const n = model.length;
    const target = random.below(2) === 0 ? path : (doc.get(...path) as object);
    const at = random.below(n + 1);
    const few = (): [unknown, Part][] => Array.from({ length: random.below(7) }, () => this.element());
    const inside = this.arrays().filter((array) => array.path.length > path.length);
    if (inside.length > 0 && random.below(2) === 0) {
      const array = random.of(inside);
      const view = doc.get(...array.path) as object;
      if (!this.held.some((other) => other.view === view)) this.held.push({ view, model: array.model });
    }
    switch (random.below(11)) {
      case 0:
      case 1: {
        const [value, part] = this.element();
        doc.push(target, value);
        model.push(part);
        return "push";
      }
      case 2: {
        const elements = few();
        doc.insert(target, at, ...elements.map(([value]) => value));
        model.splice(at, 0, ...elements.map(([, part]) => part));
        return `insert ${at} ${elements.length}`;
      }
      case 3: {
        const elements = few();
        const count = random.below(4);
        const gone = doc.splice(target, at, count, ...elements.map(([value]) => value));
        assert.deepEqual(gone, model.splice(at, count, ...elements.map(([, part]) => part)));
        return `splice ${at} ${count} ${elements.length}`;
      }
      case 4:
        assert.equal(doc.remove(target, at), at < n);
        if (at < n) model.splice(at, 1);
        return `remove ${at}`;
      case 5: {
        if (at === n) return "nothing";
        const [value, part] = this.element();
        doc.set(target, at, value);
        model[at] = part;
        return `set ${at}`;
      }
      case 6: {
        const order = model.map((_, i) => i).sort(() => random.below(3) - 1);
        doc.reorder(target, order);
        model.splice(0, n, ...order.map((i) => model[i]!));
        return `reorder ${order}`;
      }
      case 7: {
        const text = (part: unknown): string => String(isView(part) ? toObject(part) : part);
        const compare = (a: unknown, b: unknown): number => text(a).localeCompare(text(b));
        doc.sort(target, compare);
        model.sort(compare);
        return "sort";
      }
      case 8: {
        // A number of it.
        const { path: to, model: array } = random.of(this.arrays());
        if (array.length === 0 || Array.isArray(array[0])) return "nothing";
        const i = random.below(array.length);
        const [given, stored] = random.of(this.type.numbers);
        doc.set(to, i, given);
        array[i] = stored;
        return `set ${to} ${i}`;
      }
      case 9: {
        const wrong = this.wrong();
        const right = this.element()[0];
        const call = random.of([
          () => doc.push(target, right, wrong),
          () => doc.insert(target, at, wrong, right),
          () => doc.splice(target, at, 2, wrong),
          () => (at < n ? doc.set(target, at, wrong) : doc.push(target, wrong)),
        ]);
        this.refuses(call);
        return "refused";
      }
      default: {
        if (random.below(8) === 0) {
          doc.splice(target, 0);
          model.length = 0;
          return "clear";
        }
        const { path: to, model: array } = random.of(inside) ?? {};
        if (to === undefined) return "nothing";
        const element = array![0];
        const call = random.of([
          () => doc.push(to, element),
          () => doc.insert(to, 0, element),
          () => doc.remove(to, 0),
          () => doc.splice(to, 0, 1, element),
          () => doc.sort(to, () => 0),
        ]);
        this.refuses(call);
        return "refused inside";
      }
    }
  }

  private refuses(call: () => void): void {
    const before = this.doc.bytes.slice();
    assert.throws(call, { kind: "TensorMismatch" });
    assert.deepEqual(this.doc.bytes, before);
  }

  /** The tensor and all arrays in it. */
  private arrays(model: Part[] = this.model, path: (string | number)[] = this.path): TensorArray[] {
    const below = model.flatMap((part, i) => (Array.isArray(part) ? this.arrays(part, [...path, i]) : []));
    return [{ path, model }, ...below];
  }

  check(): void {
    const { doc, model, path, type, inner, held } = this;
    validate(doc.bytes);
    const view = doc.get(...path) as ArrayView & object;
    assert.deepEqual(toObject(view), model);
    const { m, at, first, count } = cursorOf(view);
    const { lengths, header } = tensorAt(m, at, first, count);
    assert.deepEqual(lengths, [model.length, ...inner]);
    assert.equal(m.u8[header + 1], type.code);
    assert.equal(m.u8[header + 3], 1);
    assert.deepEqual(view.column().shape, lengths);
    if (path.length > 0) assert.equal(doc.get("before", 0), "text that is before it");
    const alive = new Set(this.arrays().map((array) => array.model));
    this.held.splice(
      0,
      held.length,
      ...held.filter(({ view, model }) => {
        if (alive.has(model)) {
          assert.deepEqual(toObject(view), model);
          return true;
        }
        assert.throws(() => cursorOf(view), { kind: "StaleHandle" });
        return false;
      }),
    );
  }
}

interface TensorArray {
  path: (string | number)[];
  model: Part[];
}

test("random edits of tensors", { timeout: 3_600_000 }, (t) => {
  const count = Number(process.env.SEQUENCES ?? (ALL ? 6000 : 240));
  const first = Number(process.env.SEED ?? 1);
  const edited: Uint8Array[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const sequence = new TensorSequence(new Random(seed), seed);
    const { doc } = sequence;
    const done: string[] = [];
    try {
      sequence.check();
      for (let i = 0; i < 40; i++) {
        const used = doc.bytes.slice();
        cramp(sequence, used);
        try {
          done.push(sequence.step());
        } catch (error) {
          if (!(error instanceof LivebufError && error.kind === "NoSpace")) throw error;
          assert.ok(refused < Infinity);
          assert.deepEqual(doc.bytes, used);
        } finally {
          refused = Infinity;
        }
        sequence.check();
        if (i % 10 === 9) edited.push(doc.bytes.slice());
      }
    } catch (error) {
      console.log(seed, sequence.type.code, sequence.inner, done.slice(-3));
      throw error;
    }
  }
  const valid = validated(edited);
  t.diagnostic(`${valid?.length ?? 0} documents validated by the command`);
  valid?.forEach((is, i) => {
    assert.ok(is, `${first + Math.floor(i / 4)}`);
  });
});
