// Logs: the vectors, frozen ones, and random damage.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { LivebufError } from "../src/index.js";
import { LogError, openLog } from "../src/log.js";
import { print } from "../src/text.js";
import { cursorOf } from "../src/view.js";

const TESTDATA = new URL("../../../../testdata/", import.meta.url);
const bytesOf = (path: string): Uint8Array => new Uint8Array(readFileSync(new URL(path, TESTDATA)));
const files = (folder: string): string[] =>
  readdirSync(new URL(folder, TESTDATA)).filter((name) => name.endsWith(".lblog"));

/** The rows of a log as lines of JSON. */
function linesOf(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  for (const row of openLog(bytes)) {
    lines.push(
      typeof row === "object" && row !== null ? print(cursorOf(row), { nonFinite: "null" }) : JSON.stringify(row),
    );
  }
  return lines;
}

test("vectors are read, or refused as their names say", () => {
  for (const name of files("logs/")) {
    const [verdict, fault] = name.split("_");
    if (verdict === "y") {
      const text = readFileSync(new URL(`logs/${name.replace(".lblog", ".ndjson")}`, TESTDATA), "utf8");
      assert.deepEqual(linesOf(bytesOf(`logs/${name}`)), text.split("\n").slice(0, -1), name);
    } else {
      assert.throws(
        () => linesOf(bytesOf(`logs/${name}`)),
        (error) => error instanceof LogError && error.fault === fault && error.kind === "BadLog",
        name,
      );
    }
  }
});

test("frozen logs are read", () => {
  const folder = "frozen/1-candidate/";
  let n = 0;
  for (const name of files(folder)) {
    const lines = new URL(`${folder}${name.replace(".lblog", ".ndjson")}`, TESTDATA);
    if (!existsSync(lines)) continue;
    assert.deepEqual(linesOf(bytesOf(folder + name)), readFileSync(lines, "utf8").split("\n").slice(0, -1), name);
    n++;
  }
  assert.ok(n > 0);
});

test("rows are found by their numbers", () => {
  const log = openLog<{ lap: number }>(bytesOf("logs/y_indexes.lblog"));
  const all = [...log].map((row) => JSON.stringify(row));
  assert.ok(log.length > 3 && all.length === log.length);
  for (let i = log.length - 1; i >= 0; i--) assert.equal(JSON.stringify(log.at(i)), all[i]);
  assert.equal(JSON.stringify(log.at(-1)), all.at(-1));
  assert.equal(log.at(log.length), undefined);
  assert.equal(log.at(-log.length - 1), undefined);
  assert.equal(log.at(0.5), undefined);
  assert.deepEqual(
    [...log.rows(1, 3)].map((row) => JSON.stringify(row)),
    all.slice(1, 3),
  );
});

test("torn ends are no part of a log", () => {
  const torn = openLog(bytesOf("logs/y_torn.lblog"));
  assert.ok(torn.torn > 0);
  assert.equal(openLog(bytesOf("logs/y_rows.lblog")).torn, 0);
});

test("damage gives errors of this package, or rows that were there", () => {
  let random = 1;
  const below = (n: number): number => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((random / 4294967296) * n);
  };
  let refused = 0;
  for (let round = 0; round < (process.env.LIVEBUF_LONG ? 40 : 2); round++) {
    for (const name of files("logs/").filter((name) => name.startsWith("y_"))) {
      const bytes = bytesOf(`logs/${name}`);
      const known = new Set(linesOf(bytes));
      for (let i = 0; i < 40; i++) {
        const copy = below(4) === 0 ? bytes.slice(0, below(bytes.length)) : bytes.slice();
        for (let k = below(3); k >= 0 && copy.length > 0; k--) copy[below(copy.length)]! ^= 1 << below(8);
        try {
          for (const line of linesOf(copy)) assert.ok(known.has(line), name);
        } catch (error) {
          assert.ok(error instanceof LivebufError, String(error));
          refused++;
        }
      }
    }
  }
  assert.ok(refused > 100);
});
