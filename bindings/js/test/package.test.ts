// The package as users get it: what it holds, how it is imported, and how large its parts are.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const run = (command: string, ...words: string[]): string =>
  execFileSync(command, words, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { exports: Record<string, unknown> };
const subpaths = Object.keys(exports)
  .filter((path) => !path.endsWith(".json"))
  .map((path) => path.replace(/^\./, "livebuf"));

test("each subpath is imported and required by its name", async () => {
  const require = createRequire(`${ROOT}package.json`);
  for (const path of subpaths) {
    const module = (await import(path)) as Record<string, unknown>;
    const names = Object.keys(module);
    assert.ok(names.length > 0, path);
    const required = require(path) as Record<string, unknown>;
    // Newer versions of Node have one copy of the package for both.
    const isSame = (process.features as { require_module?: boolean }).require_module === true;
    for (const name of names) {
      assert.equal(typeof required[name], typeof module[name], `${path}: ${name}`);
      for (const value of [required[name], module[name]]) {
        // Bug: consoles showed a `_Timestamp`.
        if (/^class /.test(String(value))) assert.equal((value as { name: string }).name, name, path);
      }
      if (isSame) assert.equal(required[name], module[name], `${path}: ${name}`);
    }
  }
});

test("older versions of Node require a copy of their own", () => {
  const script = `
    const names = ${JSON.stringify(subpaths)}.map((path) => [path, Object.keys(require(path)).length]);
    console.log(JSON.stringify([names, require.resolve("livebuf")]));`;
  const old = process.allowedNodeEnvironmentFlags.has("--no-experimental-require-module")
    ? ["--no-experimental-require-module"]
    : [];
  const [names, file] = JSON.parse(run(process.execPath, ...old, "-e", script)) as [[string, number][], string];
  for (const [path, n] of names) assert.ok(n > 0, path);
  assert.match(file, /dist.cjs.index\.js$/);
});

test("publint and attw find nothing", () => {
  run("node_modules/.bin/publint", "--strict");
  run("node_modules/.bin/attw", "--pack", ".", "--profile", "node16");
});

test("the archive holds what it must, and no more", () => {
  const [packed] = JSON.parse(run("npm", "pack", "--dry-run", "--json", "--ignore-scripts")) as [
    { files: { path: string }[]; unpackedSize: number },
  ];
  const paths = packed.files.map((file) => file.path);
  for (const path of ["LICENSE", "README.md", "package.json", "dist/index.js", "dist/cjs/index.js"]) {
    assert.ok(paths.includes(path), path);
  }
  assert.ok(!paths.some((path) => /^(src|test|build|node_modules)\//.test(path)));
});

/** Bytes of what a page loads that uses these exports: minified, compressed by gzip. */
async function size(source: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: `${ROOT}src` },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
  });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
}

test("what a page loads is small", async (context) => {
  const parts: [string, number, string][] = [
    ["reader, with views and columns", 13_900, 'export { open } from "./index.js";'],
    ["with edits", 35_300, 'export { open } from "./index.js"; export { edit } from "./edit.js";'],
    [
      "all but files",
      60_900,
      ["index", "edit", "encode", "validate", "delta", "log", "partial"]
        .map((x) => `export * from "./${x}.js";`)
        .join(""),
    ],
  ];
  const large: string[] = [];
  for (const [name, most, source] of parts) {
    const bytes = await size(source);
    context.diagnostic(`${name}: ${bytes} bytes of at most ${most}`);
    if (bytes > most) large.push(`${name}: ${bytes} bytes, more than ${most}`);
  }
  assert.deepEqual(large, []);
});
