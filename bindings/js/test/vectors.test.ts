// The vectors of the format, and the documents that were frozen with it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { open } from "../src/index.js";

const TESTDATA = new URL("../../../../testdata/", import.meta.url);
const names = (folder: string, ending: string): string[] =>
  readdirSync(new URL(folder, TESTDATA))
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length));

for (const folder of ["vectors/", ...readdirSync(new URL("frozen/", TESTDATA)).map((name) => `frozen/${name}/`)]) {
  test(`${folder}: valid documents print as the JSON beside them`, () => {
    let n = 0;
    for (const name of names(folder, ".json")) {
      // A file whose document has a journal: test/node.test.ts.
      if (name === "journal") continue;
      const text = readFileSync(new URL(`${folder}${name}.json`, TESTDATA), "utf8").trimEnd();
      let bytes: Buffer;
      try {
        bytes = readFileSync(new URL(`${folder}${name}.lbuf`, TESTDATA));
      } catch {
        continue;
      }
      const doc = open(bytes);
      assert.equal(doc.toText({ nonFinite: "null" }), text, name);
      n++;
    }
    assert.ok(n > 50);
  });
}
