// LiveBuf beside its peers in JavaScript: checks all answers, then takes times.
//
//     npm ci --ignore-scripts && npm run bench -- [--quick] [--filter NAME] [--json FILE] [--data FOLDER]

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { absent, versions } from "./formats.js";
import { Report } from "./report.js";
import * as tasks from "./tasks.js";
import { FULL, QUICK } from "./timing.js";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    filter: { type: "string", default: "" },
    json: { type: "string" },
    data: { type: "string", default: fileURLToPath(new URL("../../../../shared/data", import.meta.url)) },
  },
});
const report = new Report();
const run = { report, effort: flags.quick ? QUICK : FULL };
const wanted = (task) => task.includes(flags.filter);
const [TWITTER, ROWS] = ["twitter.json", "rows"];
const FILES = `${TWITTER} citm_catalog.json canada.json github_events.json random.json mesh.json apache_builds.json`;

/** The tasks on a file: the names with which their results begin, and which files they take if not all. */
const ON_FILES = [
  ["JavaScript, one deep field", tasks.deepField, [TWITTER, ROWS, "github_events.json", "random.json"]],
  ["JavaScript, sum of a column", tasks.column, [TWITTER, ROWS]],
  ["JavaScript, numbers of all rows by getters, texts of all rows by getters", tasks.getters, [TWITTER, ROWS]],
  ["JavaScript, to plain objects", tasks.toObject],
  ["JavaScript, encode plain objects", tasks.encoding],
  ["JavaScript, JSON text to bytes", tasks.fromText],
  ["JavaScript, validate", tasks.validation],
  ["JavaScript, bytes", tasks.sizes],
];

function attempt(what, work) {
  try {
    return work();
  } catch (error) {
    // The others still run, and what was measured is kept.
    console.error(error);
    report.fail(`${what} ended with ${String(error).split("\n")[0]}`);
    return undefined;
  }
}

const texts = new Map([[ROWS, () => JSON.stringify(tasks.rowsOf(10_000))]]);
if (existsSync(`${flags.data}/${TWITTER}`)) {
  for (const file of FILES.split(" ").slice(0, flags.quick ? 2 : undefined)) {
    texts.set(file, () => readFileSync(`${flags.data}/${file}`, "utf8"));
  }
} else report.skip("the files of shared/data are not here, so only a generated one was measured");
absent().forEach((reason) => {
  report.skip(reason);
});

const began = performance.now();
for (const [file, text] of texts) {
  const those = ON_FILES.filter(([name, , files]) => wanted(`${name}/${file}`) && (files ?? [file]).includes(file));
  if (those.length === 0) continue;
  const input = attempt(file, () => new tasks.Input(file, text(), report));
  for (const [name, task] of those) attempt(`${name}/${file}`, () => task(run, input));
}
for (const n of [1000, 100_000]) {
  if (wanted(`JavaScript, set a number in an open document, set a text/${n} rows`))
    attempt(n, () => tasks.setting(run, n));
}

const on = (task, file = TWITTER) => `JavaScript, ${task}/${file}`;
report.target("one deep field", on("one deep field"), 1 / 500, "JSON, string");
report.target("a column", on("sum of a column"), 1 / 700, "JSON, string");
for (const file of [TWITTER, ROWS]) {
  report.target(`getters, ${file}`, on("numbers of all rows by getters", file), 1.5, "plain objects in memory");
}
report.target("to plain objects", on("to plain objects"), 1.0, "JSON, bytes");
report.target("to plain objects", on("to plain objects"), 1.2, "JSON, string");
report.target("encode", on("encode plain objects"), 1.2, "msgpackr");
report.target("encode", on("encode plain objects"), 2.0, "JSON, string");
report.target("validate", on("validate"), 0.3, "JSON, string");
for (const n of [1000, 100_000]) {
  report.target(`set a number, ${n} rows`, on("set a number in an open document", `${n} rows`), 5e-6);
}
report.print();
console.error(`${((performance.now() - began) / 1000).toFixed(0)} s`);
if (flags.json !== undefined) report.json(flags.json, versions());
process.exitCode = report.failed.length > 0 ? 1 : 0;
