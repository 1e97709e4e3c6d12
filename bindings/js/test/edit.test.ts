// Edits in place: the cases that all implementations share, and random edits beside a plain model.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { create, edit } from "../src/edit.js";
import { open } from "../src/index.js";
import { validate } from "../src/validate.js";

const TESTDATA = new URL("../../../../testdata/", import.meta.url);

interface Case {
  document: string;
  pointer: string;
  value: unknown;
  gives: string;
}

test("the cases of edits.json", () => {
  const cases = JSON.parse(readFileSync(new URL("edits.json", TESTDATA), "utf8")) as Case[];
  assert.ok(cases.length > 50);
  for (const { document, pointer, value, gives } of cases) {
    const doc = edit(new Uint8Array(readFileSync(new URL(`vectors/${document}.lbuf`, TESTDATA))));
    doc.setPointer(pointer, value);
    assert.equal(doc.toText(), gives, `${document} ${pointer}`);
    validate(doc.bytes);
    assert.equal(open(doc.bytes).toText(), gives);
  }
});

test("a new document", () => {
  const doc = create({ a: [1, 2, 3], b: { c: "a longer text than seven" }, d: null });
  assert.equal(doc.toText(), '{"a":[1,2,3],"b":{"c":"a longer text than seven"},"d":null}');
  validate(doc.bytes);
});
