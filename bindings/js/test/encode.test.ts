// Encoding values and JSON: what becomes of each, and what is refused. The bytes are those of encode-profile.test.ts.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { create } from "../src/edit.js";
import { decode, encode, fromJSON } from "../src/encode.js";
import {
  type ArrayView,
  Decimal,
  Float,
  LivebufError,
  LocalDate,
  LocalDateTime,
  LocalTime,
  NumberText,
  open,
  Timestamp,
  Uuid,
} from "../src/index.js";

/** Checks that a call ends with an error of this kind, and returns it. */
function fails(call: () => unknown, kind: string): LivebufError {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof LivebufError, String(error));
    assert.equal(error.kind, kind, error.message);
    return error;
  }
  assert.fail(`no error; expected ${kind}`);
}

/** So many containers within each other. */
function nested(levels: number, isArray: (level: number) => boolean): unknown {
  let value: unknown = 1;
  for (let level = levels; level > 0; level--) value = isArray(level) ? [value] : { key: value, more: 1 };
  return value;
}

// First, while no function is compiled yet: frames take most of the stack then.
test("1,000 levels are encoded, and 1,001 are refused", () => {
  for (const isArray of [() => true, () => false, (level: number) => level % 2 === 0]) {
    const document = encode(nested(1000, isArray));
    assert.deepEqual(encode(open(document)), document);
    const error = fails(() => encode(nested(1001, isArray)), "NestingLimit");
    assert.equal(error.path?.split("/").length, 1001);
  }
  for (const [begin, end] of [
    ["[", "]"],
    ['{"a":', "}"],
  ] as const) {
    fromJSON(`${begin.repeat(1000)}1${end.repeat(1000)}`);
    const error = fails(() => fromJSON(`${begin.repeat(1001)}1${end.repeat(1001)}`), "NestingLimit");
    assert.equal(error.offset, 1000 * begin.length);
    fails(() => fromJSON(begin.repeat(1_000_000)), "NestingLimit");
  }
  const circle: Record<string, unknown> = {};
  circle.self = [circle];
  fails(() => encode(circle), "NestingLimit");
});

test("values come back", () => {
  const value = {
    nothing: null,
    yes: true,
    no: false,
    small: [0, 1, -1, 127, -128, 255, 65_536, 2 ** 31, -(2 ** 31), 2 ** 53, -(2 ** 53)],
    floats: [0.5, -0, 1e300, Number.MIN_VALUE, Infinity, -Infinity, NaN],
    bigints: [2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n, 2n ** 64n - 1n],
    text: ["", "seven77", "eight888", "ä€😀", "x".repeat(5000), "\u0000"],
    empty: [{}, [], ""],
    bytes: Uint8Array.of(1, 2, 3),
    dates: [new LocalDate(-1), new LocalTime(1), new LocalDateTime(-1n), new Timestamp(1_000_000n)],
    uuids: [new Uuid(new Uint8Array(16).fill(7)), null],
    decimals: [Decimal.from("19.90"), Decimal.from("-12345678901234567890.5")],
    number: new NumberText("1e999"),
    __proto__x: 1,
  };
  assert.deepEqual(decode(encode(value)), value);
  assert.deepEqual(decode(encode(value, { tables: false })), value);
  for (const scalar of [null, true, "text", 1, 1.5, 2n ** 60n]) assert.deepEqual(decode(encode(scalar)), scalar);
});

test("numbers are integers or floats", () => {
  assert.equal(
    open(encode([1, 1.5, new Float(2), -0, 2 ** 53, 2 ** 53 + 2, 1e21])).toText(),
    "[1,1.5,2.0,-0.0,9007199254740992,9007199254740994.0,1e+21]",
  );
  assert.equal(open(encode([2n ** 64n, -(2n ** 63n) - 1n])).toText(), "[18446744073709551616,-9223372036854775809]");
  assert.deepEqual(encode([2n ** 64n]), fromJSON("[18446744073709551616]"));
});

test("what JSON.stringify leaves out or replaces", () => {
  const date = new Date(Date.UTC(2026, 10, 23, 6, 30));
  class Point {
    constructor(
      readonly x: number,
      readonly y: number,
    ) {}
    get sum(): number {
      return this.x + this.y;
    }
  }
  const list: unknown[] = [undefined, 1];
  list[3] = 2;
  const withKey = { toJSON: (key: string) => `at ${key}` };
  assert.equal(
    open(
      encode({
        gone: undefined,
        list,
        date,
        point: new Point(1, 2),
        map: new Map<string, unknown>([
          ["b", 1],
          ["a", new Map()],
          ["gone", undefined],
        ]),
        made: { toJSON: () => ({ toJSON: () => 1, x: [1] }).x },
        keys: [withKey, { withKey }],
        boxed: [Object(1), Object("text"), Object(true)],
        bare: Object.assign(Object.create(null), { y: 1 }),
        inherited: Object.create({ x: 1 }),
      }),
    ).toText(),
    '{"list":[null,1,null,2],"date":"2026-11-23T06:30:00Z","point":{"x":1,"y":2},"map":{"b":1,"a":{}},"made":[1],' +
      '"keys":["at 0",{"withKey":"at withKey"}],"boxed":[1,"text",true],"bare":{"y":1},"inherited":{}}',
  );
  assert.equal(open(encode(undefined)).root, null);
  // A value that encodes another one meanwhile.
  const inner = { toJSON: () => decode(encode({ a: "a text of some length" })) };
  assert.deepEqual(decode(encode(["another text", inner, "another text"])), [
    "another text",
    { a: "a text of some length" },
    "another text",
  ]);
});

test("keys of any name are members", () => {
  const value = JSON.parse(
    '{"__proto__":{"x":1},"constructor":2,"toJSON":3,"toString":4,"hasOwnProperty":5,"":6}',
  ) as object;
  assert.equal(open(encode(value)).toText(), JSON.stringify({ ...value, toJSON: 3 }));
  assert.deepEqual(encode([value, value]), fromJSON(`[${JSON.stringify(value)},${JSON.stringify(value)}]`));
});

test("typed arrays are tensors, bytes are bytes", () => {
  const arrays = [
    new Int8Array([1, -2]),
    new Int16Array([1, -2]),
    new Uint16Array([1, 2]),
    new Int32Array([1, -2]),
    new Uint32Array([1, 2]),
    new BigInt64Array([1n, -2n]),
    new BigUint64Array([1n, 2n ** 64n - 1n]),
    new Float32Array([1.5, 2]),
    new Float64Array([1.5, 2]),
    new Float64Array(0),
  ];
  const root = open<{ list: unknown[]; alone: number[] }>(encode({ list: arrays, alone: arrays[8] })).root as {
    list: { at(i: number): { column(): { tensor: unknown; shape: number[] } } };
    alone: { column(): { tensor: unknown } };
  };
  arrays.forEach((array, i) => {
    assert.deepEqual(root.list.at(i).column().tensor, array);
    assert.deepEqual(root.list.at(i).column().shape, [array.length]);
  });
  assert.deepEqual(root.alone.column().tensor, arrays[8]);
  // Tensors of one type and shape lie behind each other.
  const rows = Array.from({ length: 10 }, (_, i) => ({ id: i, v: new Float32Array([i, 0.5, -i]) }));
  const many = open(encode(rows)).get() as { column(...path: string[]): { lists: { elements: { values: unknown } } } };
  assert.deepEqual(many.column("v").lists.elements.values, Float32Array.from(rows.flatMap((row) => [...row.v])));
  const bytes = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  for (const source of [bytes, bytes.buffer, new DataView(bytes.buffer), Buffer.from(bytes)]) {
    assert.deepEqual(decode(encode({ bytes: source })), { bytes });
  }
});

test("what cannot be stored is refused with its path", () => {
  assert.equal(fails(() => encode({ a: [1, { "b/c~": () => 1 }] }), "BadValue").path, "/a/1/b~1c~0");
  assert.equal(fails(() => encode([Symbol("s")]), "BadValue").path, "/0");
  assert.equal(fails(() => encode({ a: new Map([[1, 2]]) }), "BadValue").path, "/a");
  assert.equal(fails(() => encode({ a: new Date(NaN) }), "BadValue").path, "/a");
  assert.equal(fails(() => encode([new Set([1])]), "BadValue").path, "/0");
  for (const text of ["\ud800", "\udc00 and more text", `${"x".repeat(500)}\ud83d`, "\ude00\ud83d"]) {
    assert.equal(fails(() => encode({ a: text }), "BadText").path, "/a");
    assert.equal(fails(() => encode({ a: { [text]: 1 } }), "BadText").path, `/a/${text}`);
    fails(() => fromJSON(`["${text}"]`), "BadJson");
    const replaced = text.replace(/\p{Surrogate}/gu, "\ufffd");
    assert.deepEqual(decode(encode([text, { [text]: text }], { surrogates: "replace" })), [
      replaced,
      { [replaced]: replaced },
    ]);
    assert.deepEqual(decode(fromJSON(`["${text}"]`, { surrogates: "replace" })), [replaced]);
  }
  // Keys that become equal.
  const keys = { "\ud800": 1, "\ud801": 2, "\ufffd": 3 };
  assert.equal(open(encode(keys, { surrogates: "replace" })).toText(), '{"\ufffd":3}');
  // What failed leaves nothing behind.
  assert.deepEqual(encode([1, "a text of some length"]), fromJSON('[1,"a text of some length"]'));
});

test("strings may be recognized", () => {
  const texts = [
    "2026-11-23",
    "2026-11-23T08:30:00Z",
    "2026-11-23T08:30:00",
    "2026-02-30",
    "123e4567-e89b-12d3-a456-426614174000",
    "08:30:00",
  ];
  const [date, timestamp, dateTime, none, uuid, time] = decode<unknown[]>(encode(texts, { recognize: true }));
  assert.ok(date instanceof LocalDate && timestamp instanceof Timestamp && dateTime instanceof LocalDateTime);
  assert.ok(uuid instanceof Uuid && typeof none === "string" && typeof time === "string");
  assert.deepEqual(encode(texts, { recognize: true }), fromJSON(JSON.stringify(texts), { recognize: true }));
});

test("JSON: numbers keep what they say", () => {
  const texts: [string, string][] = [
    ["0", "0"],
    ["-0", "-0.0"],
    ["-0.0", "-0.0"],
    ["0e5", "0.0"],
    ["9007199254740993", "9007199254740993"],
    ["-9007199254740993", "-9007199254740993"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["-9223372036854775809", "-9223372036854775809"],
    ["18446744073709551615", "18446744073709551615"],
    ["18446744073709551616", "18446744073709551616"],
    ["9007199254740993.0", "9007199254740992.0"],
    ["0.1234567890123456789", "0.1234567890123456789"],
    ["0.12345678901234567", "0.12345678901234566"],
    ["1.0000000000000000", "1.0"],
    ["1.00000000000000000", "1.00000000000000000"],
    ["0.000000000000000000000000000000000001", "1e-36"],
    ["1e400", "1e400"],
    ["-1E-400", "-1E-400"],
    ["5e-324", "5e-324"],
    ["2e-324", "2e-324"],
    ["1.7976931348623157e308", "1.7976931348623157e+308"],
    ["1.5E+3", "1500.0"],
    ["12345678901234567890", "12345678901234567890"],
    ["123456789012345.6", "123456789012345.6"],
  ];
  for (const [text, printed] of texts) assert.equal(open(fromJSON(text)).toText(), printed, text);
});

test("JSON: floats are the nearest ones", () => {
  let state = 1;
  for (let i = 0; i < 20_000; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const digits = String(state) + String(state % 99_991);
    const text = `${digits.slice(0, i % 5) || "0"}.${digits.slice(i % 5, 3 + (i % 13)) || "5"}`;
    const number = text.replace(/^0+(?=\d)/, "");
    assert.equal(decode(fromJSON(number)), Number(number), number);
  }
});

test("JSON: objects, strings and their escapes", () => {
  assert.equal(open(fromJSON('\ufeff \n{"b":1, "a":2 ,"b":3}\t')).toText(), '{"b":3,"a":2}');
  assert.equal(open(fromJSON('[{"b":1,"a":[{"x":1,"x":2}],"b":null}]')).toText(), '[{"b":null,"a":[{"x":2}]}]');
  const twice = fails(() => fromJSON('[{"b":1,"a":2,"b":3}]', { duplicates: "error" }), "DuplicateKey");
  assert.match(twice.message, /"b".*line 1, column 18, byte 17/);
  const keys = Array.from({ length: 300 }, (_, i) => `"k${i}":${i}`).join();
  fails(() => fromJSON(`{${keys},"k7":1}`, { duplicates: "error" }), "DuplicateKey");
  assert.equal(open(fromJSON(`{${keys},"k7":1}`)).get("k7"), 1);
  assert.deepEqual(decode(fromJSON('["\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00"]')), [
    '"\\/\b\f\n\r\täð\u009f\u0098\u0080'.replace("ð\u009f\u0098\u0080", "😀"),
  ]);
  // Keys with escapes, which later objects expect.
  const odd = '[{"a\\"b":1,"c\\\\d":2,"\\u0061":3},{"a\\"b":1,"c\\\\d":2,"a":3},{"a\\"b":1,"c\\\\d":2,"\\u0061":3}]';
  assert.deepEqual(encode(JSON.parse(odd)), fromJSON(odd));
  fails(() => fromJSON('[{"a\\"b":1},{"a"b":1}]'), "BadJson");
  fails(() => fromJSON('["\\ud800"]'), "BadJson");
  assert.deepEqual(
    decode(fromJSON('["\\ud800","\\ud800\\u0041","\\udc00\\ud800\\udc00"]', { surrogates: "replace" })),
    ["\ufffd", "\ufffdA", "\ufffd\u{10000}"],
  );
});

test("maps of very many keys, and of keys that come twice very often", () => {
  const keys = Array.from({ length: 150_000 }, (_, i) => `"k${i % 2000}":${i}`).join();
  const document = open<Record<string, number>>(fromJSON(`{${keys}}`));
  assert.equal(document.get("k1999"), 149_999);
  assert.equal(document.get("k0"), 148_000);
  const value = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key ${i}`, { i }]));
  const rows = encode(value);
  assert.deepEqual(rows, fromJSON(JSON.stringify(value)));
  assert.deepEqual(decode(rows), value);
});

test("JSON in shared memory", () => {
  const shared = new Uint8Array(new SharedArrayBuffer(24));
  shared.set(new TextEncoder().encode('{"a":"äöü"}  '));
  assert.deepEqual(decode(fromJSON(shared.subarray(0, 16))), { a: "äöü" });
});

test("JSON that is none is refused where it is wrong", () => {
  const texts: [string, number][] = [
    ["", 0],
    [" ", 1],
    ["[1,]", 3],
    ["[1 2]", 3],
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ["{a:1}", 1],
    ["[1", 2],
    ['{"a":1', 6],
    ['"abc', 4],
    ['"a\nb"', 2],
    ['"\\x"', 2],
    ['"\\u12g4"', 5],
    ["tru", 3],
    ["nul1", 3],
    ["01", 1],
    ["-", 1],
    ["1.", 2],
    ["1e", 2],
    ["1e+", 3],
    [".5", 0],
    ["+1", 0],
    ["NaN", 0],
    ["1 2", 2],
    ["[]]", 2],
    ["\ufeff\ufeff1", 3],
  ];
  for (const [text, offset] of texts) {
    const error = fails(() => fromJSON(text), "BadJson");
    assert.equal(error.offset, offset, `${text}: ${error.message}`);
  }
  assert.match(fails(() => fromJSON('{\n "ä": tru}'), "BadJson").message, /line 2, column 10/);
  // Bytes that are not UTF-8, in strings and elsewhere.
  for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]]) {
    fails(() => fromJSON(Uint8Array.of(0x22, ...bytes, 0x22)), "BadJson");
    fails(() => fromJSON(Uint8Array.of(0x5b, ...bytes, 0x5d)), "BadJson");
    fails(() => fromJSON(Uint8Array.of(0x7b, 0x22, ...bytes, 0x22, 0x3a, 0x31, 0x7d)), "BadJson");
  }
});

const SUITE = new URL("../../../../../shared/suites/JSONTestSuite/test_parsing/", import.meta.url);

test("JSONTestSuite", { skip: existsSync(SUITE) ? false : "there is no ../shared/suites beside the project" }, () => {
  let n = 0;
  for (const name of readdirSync(SUITE)) {
    const text = readFileSync(new URL(encodeURIComponent(name), SUITE));
    if (name.startsWith("y_")) {
      const document = open(fromJSON(text));
      assert.deepEqual(document.toObject({ bigints: "number" }), JSON.parse(text.toString()), name);
    } else if (name.startsWith("n_")) {
      const error = fails(
        () => fromJSON(text),
        /structure_(100000_opening|open_array_object)/.test(name) ? "NestingLimit" : "BadJson",
      );
      assert.ok(error.offset !== undefined, name);
    } else {
      try {
        fromJSON(text);
      } catch (error) {
        assert.ok(error instanceof LivebufError, name);
      }
    }
    n++;
  }
  assert.ok(n > 300);
});

test("text and keys that are cut or changed anywhere never crash", () => {
  const text = Buffer.from('{"a":[1,-2.5e3,"t\\u00e4xt",{"b":null,"c":[true,false]}],"a long key":"ä€😀","x":{}}');
  for (let i = 0; i < text.length; i++) {
    fails(() => fromJSON(text.subarray(0, i)), "BadJson");
    for (const byte of [0, 0x22, 0x5c, 0x7b, 0x5d, 0x2c, 0x30, 0x2d, 0x80, 0xc3, 0xff]) {
      const changed = Buffer.from(text);
      changed[i] = byte;
      let document: Uint8Array;
      try {
        document = fromJSON(changed);
      } catch (error) {
        assert.ok(error instanceof LivebufError && error.kind === "BadJson", `${changed}: ${String(error)}`);
        continue;
      }
      // What is taken is JSON for others, too.
      JSON.parse(changed.toString());
      assert.deepEqual(encode(open(document)), document);
    }
  }
});

test("what toJSON returns is encoded as the value that it is", () => {
  const view = open(encode({ a: [1, 2], b: "x" })).root as object;
  const other = open(encode([1]));
  for (const [made, text] of [
    [view, '{"a":[1,2],"b":"x"}'],
    [other, "[1]"],
    [new Date(0), '"1970-01-01T00:00:00Z"'],
    [new Uint8Array([1, 2]), '"AQI="'],
    [Decimal.from("1.5"), "1.5"],
    [new Number(5), "5"],
    [undefined, "null"],
    [{ toJSON: () => [1n] }, "[1]"],
  ] as const) {
    const value = { v: { toJSON: () => made } };
    assert.equal(open(encode(value)).toText(), `{"v":${text}}`);
    assert.equal(create(value).toText(), `{"v":${text}}`);
  }
  const endless = (): object => ({ toJSON: endless });
  fails(() => encode(endless()), "NestingLimit");
  const rows = open(encode([{ x: 1 }, { x: 2 }])).root as ArrayView;
  assert.equal(open(encode({ c: rows.column("x") })).toText(), '{"c":[1,2]}');
});

test("classes take no other types than they say", () => {
  fails(() => new NumberText(5 as unknown as string), "BadValue");
  fails(() => new Timestamp(5 as unknown as bigint), "BadValue");
  fails(() => new LocalDateTime(5 as unknown as bigint), "BadValue");
  fails(() => new Decimal(5 as unknown as bigint, 0), "BadValue");
  fails(() => new Uuid("0123456789abcdef" as unknown as Uint8Array), "BadValue");
  fails(() => open("text" as unknown as Uint8Array), "BadValue");
  fails(() => open(null as unknown as Uint8Array), "BadValue");
});
