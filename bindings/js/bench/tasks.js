// The tasks. Each compares all answers before it takes times; a wrong answer of ours or of a peer ends in an error.

import assert from "node:assert/strict";
import { edit } from "../dist/edit.js";
import { encode, fromJSON } from "../dist/encode.js";
import { open } from "../dist/index.js";
import { validate } from "../dist/validate.js";
import { FORMATS, KNOWN, same, toBytes, toText } from "./formats.js";
import { contest } from "./timing.js";

const plain = { bigints: "number" };

/** Rows of five members, the same on every machine. */
export function rowsOf(n) {
  const cities = ["Bergen", "Gdańsk", "Lyon", "Porto", "Tartu"];
  const rows = [];
  for (let i = 0, random = 1; i < n; i++) {
    random = (Math.imul(random, 1103515245) + 12345) >>> 0;
    const score = (random >>> 8) / 1024;
    rows.push({
      id: i,
      name: `user ${random % 100_003}`,
      city: cities[(random >>> 16) % 5],
      score,
      active: random % 3 > 0,
    });
  }
  return { rows };
}

/** A file or a generated value, as text, as plain objects, and stored in each format that gives the same value back. */
export class Input {
  stored = {};

  constructor(name, text, report) {
    this.name = name;
    this.value = JSON.parse(text);
    this.text = JSON.stringify(this.value);
    for (const [format, { encode, decode, inPlace }] of Object.entries(FORMATS)) {
      let bytes;
      let fault;
      try {
        // Ours is the document of the JSON text, with its exact numbers.
        bytes = format === "livebuf" ? fromJSON(text).slice() : encode(this.value).slice();
        const found = decode(bytes);
        if (!same(this.value, inPlace ? JSON.parse(JSON.stringify(found)) : found, inPlace ? 13 : 17))
          fault = "another answer";
      } catch (error) {
        fault = String(error).split("\n")[0];
      }
      if (fault === undefined) this.stored[format] = bytes;
      else if (KNOWN[format]) report.skip(`${format} with ${name}: ${fault}; ${KNOWN[format]}`);
      else report.fail(`${name}: ${format}: ${fault}`);
    }
    if (!same(open(encode(this.value)).toObject(plain), this.value)) report.fail(`${name}: encode gives another value`);
  }

  /** Work for each format that has the value stored. */
  each(work) {
    const works = {};
    for (const [format, bytes] of Object.entries(this.stored)) {
      const made = work(FORMATS[format], bytes, format);
      if (made !== undefined) works[format] = made;
    }
    return works;
  }
}

/** Compares the answers of all works, for the numbers that are given, and then times them. */
function compete(run, task, works, answers, digits = 17) {
  const names = Object.keys(works);
  for (const i of answers) {
    const right = works[names[0]](i);
    for (const name of names) {
      const found = works[name](i);
      if (!same(right, found, name.startsWith("rx") ? Math.min(digits, 13) : digits)) {
        run.report.fail(`${task}: ${name} gives another answer than ${names[0]}`);
        return;
      }
    }
  }
  run.report.result(task, "s", contest(run.effort, works));
}

/** One field out of stored bytes. */
export function deepField(run, input) {
  const paths = {
    "twitter.json": (i) => ["statuses", (i * 37) % 100, "user", "screen_name"],
    "github_events.json": (i) => [(i * 7) % 30, "actor", "login"],
    "random.json": (i) => ["result", (i * 37) % 1000, "phone"],
    rows: (i) => ["rows", (i * 37) % 10_000, "city"],
  };
  const path = paths[input.name];
  const walk = (value, steps) => {
    for (const step of steps) value = value[step];
    return value;
  };
  const works = input.each(({ decode, get }, bytes, format) => {
    if (format === "livebuf") return (i) => open(bytes).get(...path(i));
    return get ? (i) => get(bytes, path(i)) : (i) => walk(decode(bytes), path(i));
  });
  works["livebuf, getters"] = (i) => {
    let value = open(input.stored.livebuf).root;
    for (const step of path(i)) value = typeof step === "number" ? value.at(step) : value[step];
    return value;
  };
  works["JSON, string"] = (i) => walk(JSON.parse(input.text), path(i));
  compete(run, `JavaScript, one deep field/${input.name}`, works, [0, 1, 2, 29]);
}

/** The sum of one member of all rows, out of stored bytes. */
export function column(run, input) {
  const paths = { "twitter.json": ["statuses", "user", "followers_count"], rows: ["rows", "score"] };
  const [list, ...keys] = paths[input.name];
  const sum = (rows) => {
    let all = 0;
    for (let i = 0; i < rows.length; i++) all += keys.length > 1 ? rows[i][keys[0]][keys[1]] : rows[i][keys[0]];
    return all;
  };
  const ours = (rows) => {
    const { values } = rows.column(...keys);
    let all = 0;
    for (let i = 0; i < values.length; i++) all += values[i];
    return all;
  };
  const works = input.each(({ decode }, bytes, format) =>
    format === "livebuf" ? () => ours(open(bytes).get(list)) : () => sum(decode(bytes)[list]),
  );
  works["livebuf, getters"] = () => ours(open(input.stored.livebuf).root[list]);
  works["JSON, string"] = () => sum(JSON.parse(input.text)[list]);
  compete(run, `JavaScript, sum of a column/${input.name}`, works, [0], 12);
}

/**
 * Members of all rows of a document that is open, by getters, beside plain objects that are in memory. One function reads
 * both, and has seen objects of many other keys before, as the code of a program has.
 */
export function getters(run, input) {
  const numbers = (rows) => {
    let all = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows.at(i);
      all += row.score + (row.active ? row.id : 0);
    }
    return all;
  };
  const tweets = (rows) => {
    let all = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows.at(i);
      all += row.retweet_count + row.user.followers_count + (row.favorited ? 1 : 0);
    }
    return all;
  };
  const texts = (rows) => {
    let all = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows.at(i);
      all += row.text.length + row.user.name.length;
    }
    return all;
  };
  const names = (rows) => {
    let all = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows.at(i);
      all += row.name.length + row.city.length;
    }
    return all;
  };
  const [list, ...reads] = { "twitter.json": ["statuses", tweets, texts], rows: ["rows", numbers, names] }[input.name];
  reads.forEach((read, kind) => {
    // Eight other lists of keys, plain and stored, so that the sites of the code know many classes.
    for (let other = 0; other < 8; other++) {
      const rows = input.value[list].slice(0, 20).map((row) => ({ [`other ${other}`]: other, ...row }));
      const views = open(encode({ rows })).root.rows;
      for (let i = 0; i < 200; i++) assert.equal(read(rows), read(views));
    }
    const ours = open(input.stored.livebuf).root[list];
    const plainRows = input.value[list];
    const works = { livebuf: () => read(ours), "plain objects in memory": () => read(plainRows) };
    // An index of a long array takes rx a walk over all before it.
    if (kind === 0 && plainRows.length <= 1000) {
      const proxies = FORMATS.rx.decode(input.stored.rx)[list];
      works["rx, proxies"] = () => read(proxies);
    }
    compete(
      run,
      `JavaScript, ${kind === 0 ? "numbers" : "texts"} of all rows by getters/${input.name}`,
      works,
      [0],
      12,
    );
  });
}

/** All of it as plain objects. */
export function toObject(run, input) {
  const works = input.each(({ decode, inPlace }, bytes) => (inPlace ? undefined : () => decode(bytes)));
  works["JSON, string"] = () => JSON.parse(input.text);
  compete(run, `JavaScript, to plain objects/${input.name}`, works, [0]);
}

/** Plain objects to bytes. What they hold was compared when the input was made. */
export function encoding(run, input) {
  const works = input.each(
    ({ encode }) =>
      () =>
        encode(input.value),
  );
  works["JSON, string"] = () => JSON.stringify(input.value);
  run.report.result(`JavaScript, encode plain objects/${input.name}`, "s", contest(run.effort, works));
}

/** JSON text, as bytes, to stored bytes. */
export function fromText(run, input) {
  const json = toBytes(input.text);
  const works = input.each(({ encode, inPlace }, _, format) => {
    if (format === "livebuf") return () => fromJSON(json);
    if (inPlace || format === "JSON, bytes" || format === "FlexBuffers") return undefined;
    return () => encode(JSON.parse(toText(json)));
  });
  works["livebuf, by JSON.parse"] = () => encode(JSON.parse(toText(json)));
  run.report.result(`JavaScript, JSON text to bytes/${input.name}`, "s", contest(run.effort, works));
}

/** Whether bytes are right: JSON has no way to find out but parsing. */
export function validation(run, input) {
  const bytes = input.stored.livebuf;
  const json = toBytes(input.text);
  assert.throws(() => validate(bytes.subarray(0, bytes.length - 8)));
  validate(bytes);
  const works = {
    livebuf: () => validate(bytes),
    "JSON, bytes": () => JSON.parse(toText(json)),
    "JSON, string": () => JSON.parse(input.text),
  };
  run.report.result(`JavaScript, validate/${input.name}`, "s", contest(run.effort, works));
}

/** Bytes as stored. */
export function sizes(run, input) {
  const found = {};
  for (const [format, bytes] of Object.entries(input.stored)) found[format] = bytes.length;
  run.report.sizes(`JavaScript, bytes/${input.name}`, found);
}

/** One number in a document that is open, and the bytes again. */
export function setting(run, n) {
  const value = rowsOf(n);
  const draft = edit(encode(value).slice());
  const kept = rowsOf(n);
  const text = JSON.stringify(value);
  const packed = FORMATS.msgpackr.encode(value).slice();
  const at = (i) => (i * 7919) % n;
  const works = {
    livebuf: (i) => {
      draft.set(["rows", at(i)], "score", i + 0.5);
      return draft.bytes;
    },
    "JSON, kept in memory": (i) => {
      kept.rows[at(i)].score = i + 0.5;
      return toBytes(JSON.stringify(kept));
    },
    "JSON, string": (i) => {
      const all = JSON.parse(text);
      all.rows[at(i)].score = i + 0.5;
      return JSON.stringify(all);
    },
    msgpackr: (i) => {
      const all = FORMATS.msgpackr.decode(packed);
      all.rows[at(i)].score = i + 0.5;
      return FORMATS.msgpackr.encode(all);
    },
  };
  const task = `JavaScript, set a number in an open document/${n} rows`;
  for (let i = 0; i < 20; i++) {
    const [ours, theirs] = [works.livebuf(i), works["JSON, kept in memory"](i)];
    validate(ours);
    if (i > 17 && !same(open(ours).toObject(), JSON.parse(toText(theirs)))) run.report.fail(`${task}: another answer`);
  }
  // Others make bytes of all rows each time, so few runs of them tell enough.
  run.report.result(task, "s", contest(n > 10_000 ? { ...run.effort, rounds: 2 } : run.effort, works));
  validate(draft.bytes);
  if (!same(open(draft.bytes).root.rows.length, n)) run.report.fail(`${task}: rows are missing`);

  // A text of another length, by the row's view.
  const rows = draft.root.rows;
  const texts = {
    livebuf: (i) => {
      draft.set(rows.at(at(i) % 1000), "name", `a name of ${"x".repeat(i % 30)} ${i}`);
      return draft.bytes;
    },
  };
  for (let i = 0; i < 20; i++) {
    const row = open(texts.livebuf(i)).root.rows.at(at(i) % 1000);
    if (row.name !== `a name of ${"x".repeat(i % 30)} ${i}`) run.report.fail(`${task}: another text`);
  }
  run.report.result(`JavaScript, set a text in an open document/${n} rows`, "s", contest(run.effort, texts));
  validate(draft.bytes);
}
