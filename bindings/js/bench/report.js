// What was found: a file of results for `bench/run.py`, and tables for people.

import { writeFileSync } from "node:fs";

const UNITS = [
  [1e-6, 1e9, "ns"],
  [1e-3, 1e6, "µs"],
  [1, 1e3, "ms"],
  [Infinity, 1, "s"],
];

function quantity(value, unit) {
  if (unit === "B") return `${value.toLocaleString("en")} B`;
  const [, factor, name] = UNITS.find(([end]) => value < end);
  return `${(value * factor).toPrecision(3)} ${name}`;
}

export class Report {
  results = [];
  skipped = [];
  failed = [];
  targets = [];

  /** Keeps what all competitors of a task took. Their answers were compared before. */
  result(task, unit, competitors) {
    this.results.push({ task, unit, answers_compared: true, competitors });
    const ours = competitors.find((each) => each.name === "livebuf")?.minimum ?? competitors[0].minimum;
    console.log(`\n${task}`);
    for (const { name, minimum, spread } of competitors) {
      const noise = spread > 0.25 ? " ~" : "";
      const ratio = (minimum / ours).toPrecision(3);
      console.log(
        `  ${name.padEnd(34)} ${quantity(minimum, unit).padStart(14)}${noise.padEnd(2)} ${ratio.padStart(9)} ×`,
      );
    }
  }

  /** Bytes of each competitor. */
  sizes(task, sizes) {
    const entry = ([name, minimum]) => ({ name, minimum, median: minimum, spread: 0, runs: 1 });
    this.result(task, "B", Object.entries(sizes).map(entry));
  }

  /** Our time of a task over a peer's, which is to be at most `limit`; without a peer, seconds. */
  target(name, task, limit, peer, ours = "livebuf") {
    const found = this.results.find((each) => each.task === task)?.competitors;
    const time = (name) => found?.find((each) => each.name === name)?.minimum;
    const measured = peer === undefined ? time(ours) : time(ours) / time(peer);
    if (measured > 0) this.targets.push([name, measured, limit, peer]);
  }

  skip(reason) {
    if (!this.skipped.includes(reason)) this.skipped.push(reason);
  }

  fail(reason) {
    console.error(`FAILED: ${reason}`);
    this.failed.push(reason);
  }

  print() {
    if (this.targets.length > 0) console.log("\nTargets");
    for (const [name, measured, limit, peer] of this.targets) {
      const say = (value) => {
        if (peer === undefined) return quantity(value, "s");
        return value < 0.1 ? `1/${(1 / value).toFixed(0)}` : value.toFixed(2);
      };
      const verdict = measured <= limit ? "met" : "MISSED";
      const against = peer === undefined ? "" : ` of ${peer}`;
      console.log(`  ${verdict.padEnd(6)} ${name}: ${say(measured)}${against} (target: ${say(limit)})`);
    }
    for (const reason of this.skipped) console.log(`skipped: ${reason}`);
    for (const reason of this.failed) console.log(`FAILED: ${reason}`);
  }

  json(path, versions) {
    const { results, skipped, failed } = this;
    writeFileSync(path, JSON.stringify({ versions, results, skipped, failed }, null, 1));
  }
}
