// Dates and times of Temporal. Few engines have it, so a stub with its names stands for it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { create, edit } from "../src/edit.js";
import { encode } from "../src/encode.js";
import {
  type Document,
  LivebufError,
  LocalDate,
  LocalDateTime,
  LocalTime,
  open,
  Timestamp,
  toTemporal,
} from "../src/index.js";

/** A class of Temporal as far as it is used: made from a text, and printed as one. */
const stub = (name: string) =>
  class Stub {
    constructor(readonly text: string) {}
    static from(text: string): Stub {
      return new Stub(text);
    }
    get [Symbol.toStringTag](): string {
      return `Temporal.${name}`;
    }
    toString(): string {
      return this.text;
    }
    toJSON(): string {
      return this.text;
    }
  };
const Temporal = {
  Instant: stub("Instant"),
  PlainDate: stub("PlainDate"),
  PlainTime: stub("PlainTime"),
  PlainDateTime: stub("PlainDateTime"),
  Duration: stub("Duration"),
};

const cases = [
  ["Instant", "2026-11-23T06:30:00Z", Timestamp.from("2026-11-23T06:30:00Z")],
  ["Instant", "2026-11-23T06:30:00.123456789Z", Timestamp.from("2026-11-23T06:30:00.123456Z")],
  ["PlainDate", "2026-11-23", LocalDate.from("2026-11-23")],
  ["PlainTime", "08:30:00.250", LocalTime.from("08:30:00.250")],
  ["PlainTime", "08:30:00.0000009", LocalTime.from("08:30:00")],
  ["PlainDateTime", "2026-11-23T08:30:00", LocalDateTime.from("2026-11-23T08:30:00")],
] as const;

test("objects of Temporal are stored as dates and times", () => {
  for (const [name, text, value] of cases) {
    const made = new Temporal[name](text);
    const edited = edit<{ x: unknown }>(encode({ x: null }));
    edited.set(["x"], made);
    for (const doc of [open(encode({ x: made })), create({ x: made }), edited] as Document<{ x: unknown }>[]) {
      assert.deepEqual(doc.get("x"), value);
    }
  }
  // What documents have no kind for is what its toJSON says, as before.
  assert.equal(open(encode([new Temporal.Duration("P1D")])).toText(), '["P1D"]');
  for (const make of [encode, create]) {
    assert.throws(
      () => make([new Temporal.PlainDate("2026-11-23[u-ca=hebrew]")]),
      (error) => error instanceof LivebufError && error.kind === "BadValue",
    );
  }
});

test("dates and times become objects of Temporal, where there is one", () => {
  const place = globalThis as { Temporal?: unknown };
  const before = place.Temporal;
  try {
    place.Temporal = undefined;
    assert.throws(
      () => toTemporal(LocalDate.from("2026-11-23")),
      (error) => error instanceof LivebufError && error.kind === "Unsupported",
    );
    place.Temporal = Temporal;
    for (const [name, , value] of cases) {
      const made = toTemporal(value as Timestamp) as { text: string };
      assert.ok(made instanceof Temporal[name]);
      assert.equal(made.text, String(value));
    }
  } finally {
    place.Temporal = before;
  }
});
