// The profile livebuf-1: the same bytes as the library in Rust, for the vectors, for real files and for random documents.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { decode, encode, fromJSON } from "../src/encode.js";
import { open } from "../src/index.js";
import { Generator } from "./encode/documents.js";

const PROJECT = new URL("../../../../", import.meta.url);
const VECTORS = new URL("testdata/vectors/", PROJECT);
const COMMAND = fileURLToPath(new URL("target/debug/livebuf", PROJECT));
const DATA = new URL("../shared/data/", PROJECT);
const ALL = process.env.LIVEBUF_LONG === "1";

/** Fails where the bytes differ, and says where. */
function same(found: Uint8Array, expected: Uint8Array, name: string): void {
  if (Buffer.compare(found, expected) === 0) return;
  let at = 0;
  while (found[at] === expected[at]) at++;
  assert.fail(`${name}: other bytes from ${at} on (${found.length} bytes, not ${expected.length})`);
}

test("vectors come out byte by byte", () => {
  let n = 0;
  for (const file of readdirSync(VECTORS)) {
    if (!/^y_(encoded|recognized)_.*\.json$/.test(file)) continue;
    const text = readFileSync(new URL(file, VECTORS));
    const name = file.slice(0, -5);
    const recognize = name.startsWith("y_recognized");
    const expected = readFileSync(new URL(`${name}.lbuf`, VECTORS));
    same(fromJSON(text, { recognize }), expected, name);
    same(fromJSON(text.toString(), { recognize }), expected, `${name}, as a string`);
    // A document is encoded by its values.
    same(encode(open(expected)), expected, `${name}, encoded anew`);
    n++;
  }
  assert.ok(n > 60);
});

/** Runs the command, which encodes each line as a document. */
function reference(lines: string[], ...options: string[]): Uint8Array[] {
  const folder = mkdtempSync(join(tmpdir(), "livebuf-"));
  try {
    const [input, out] = [join(folder, "lines"), join(folder, "out")];
    writeFileSync(input, `${lines.join("\n")}\n`);
    execFileSync(COMMAND, ["from-json", "--lines", "--each", ...options, "-o", out, input], { stdio: "pipe" });
    return readdirSync(out)
      .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
      .map((name) => readFileSync(join(out, name)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const without = existsSync(COMMAND) ? false : "target/debug/livebuf is not built (cargo build -p livebuf-cli)";

test("real files have the bytes of the command", {
  skip: without || (existsSync(DATA) ? false : "there is no ../shared/data beside the project"),
}, () => {
  const names = readdirSync(DATA).filter((name) => name.endsWith(".json") && (ALL || name !== "canada.json"));
  for (const name of names) {
    const path = fileURLToPath(new URL(name, DATA));
    const text = readFileSync(path);
    const expected = execFileSync(COMMAND, ["from-json", "-o", "-", path], { maxBuffer: 1 << 24 });
    same(fromJSON(text), expected, name);
    same(encode(open(expected)), expected, `${name}, encoded anew`);
    const value: unknown = JSON.parse(text.toString());
    assert.deepEqual(decode(encode(value), { bigints: "number" }), value, name);
  }
  assert.ok(names.length >= 8);
});

test("random documents have the bytes of the command", { skip: without }, () => {
  const rounds = ALL ? 5 : 1;
  for (let round = 0; round < rounds; round++) {
    const lines = Array.from({ length: ALL ? 1000 : 150 }, (_, i) => new Generator(1000 * round + i).document());
    for (const options of [[], ["--no-tables"], ["--recognize"]]) {
      if (!ALL && options.length > 0) continue;
      const expected = reference(lines, ...options);
      assert.equal(expected.length, lines.length);
      const [tables, recognize] = [!options.includes("--no-tables"), options.includes("--recognize")];
      lines.forEach((line, i) => {
        same(fromJSON(line, { tables, recognize }), expected[i]!, `document ${1000 * round + i} ${options}`);
      });
    }
  }
});

test("values have the bytes of their JSON, and documents those of their values", () => {
  for (let seed = 0; seed < (ALL ? 3000 : 200); seed++) {
    const document = fromJSON(new Generator(seed).document());
    same(encode(open(document)), document, `document ${seed}, encoded anew`);
    const { root } = open(document);
    // A number by itself does not say whether it is a float.
    if (typeof root === "object") same(encode(root), document, `document ${seed}, by its view`);
    // Rounded integers beyond 2⁵³ would be printed as integers, though they are floats.
    const value = JSON.parse(open(document).toText(), (_, v: unknown) =>
      typeof v === "number" && (Math.abs(v) > 2 ** 53 || Object.is(v, -0)) ? 0.5 : v,
    );
    same(encode(value), fromJSON(JSON.stringify(value)), `the value of document ${seed}`);
  }
});
