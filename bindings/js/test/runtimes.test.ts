// The package in other runtimes, where they are installed: `deno` and `bun`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { unbuilt } from "./browser/chromium.js";

const SCRIPT = fileURLToPath(new URL("../../test/runtimes.js", import.meta.url));

function run(command: string, ...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, [...words, SCRIPT], { encoding: "utf8", timeout: 60_000 });
  assert.equal(status, 0, `${command}: ${stderr}`);
  return stdout;
}
const absent = (command: string): string | false =>
  unbuilt || (spawnSync(command, ["--version"]).status === 0 ? false : `${command} is not installed`);

test("Deno finds what Node finds", { skip: absent("deno") }, () => {
  const rights = ["read", "write", "env", "sys"].map((right) => `--allow-${right}`);
  assert.equal(run("deno", "run", "--no-lock", "--no-remote", ...rights), run(process.execPath));
});

test("Bun finds what Node finds", { skip: absent("bun") }, () => {
  assert.equal(run("bun", "run"), run(process.execPath));
});

test("Node does all of it", { skip: unbuilt }, () => {
  assert.match(run(process.execPath), /^[0-9a-f]{64} [0-9a-f]{64} \d+\n$/);
});
