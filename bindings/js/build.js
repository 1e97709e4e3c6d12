// Builds the package: `dist` is what users get, as ES modules and CommonJS with types; `build/test` has the tests.
//
//     node build.js              all of it
//     node build.js test NAME    the tests whose files begin with NAME, into build/NAME

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

/** The subpaths of the package. */
const ENTRIES = ["index", "edit", "encode", "validate", "delta", "log", "partial", "shared", "node"].filter((name) =>
  existsSync(`src/${name}.ts`),
);
const common = { bundle: true, target: "es2022", platform: "neutral", logLevel: "warning", external: ["node:*"] };

async function tests(begin, folder) {
  rmSync(folder, { recursive: true, force: true });
  const names = readdirSync("test").filter((name) => name.startsWith(begin) && name.endsWith(".ts"));
  await build({
    ...common,
    entryPoints: names.map((name) => `test/${name}`),
    outdir: folder,
    format: "esm",
    platform: "node",
    splitting: true,
    packages: "external",
    sourcemap: "inline",
  });
}

/** esbuild has `X = class _X` of a class that names itself, and errors and consoles would show that name. */
function keepNames(folder) {
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".js"))) {
    const text = readFileSync(`${folder}/${name}`, "utf8");
    const classes = [...text.matchAll(/^var (\w+) = class _\1\b/gm)].map(([, made]) => made);
    const kept = text.replace(/\b_(\w+)\b/g, (word, made) => (classes.includes(made) ? made : word));
    writeFileSync(`${folder}/${name}`, kept);
  }
}

if (process.argv[2] === "test") {
  await tests(process.argv[3], `build/${process.argv[3]}`);
} else {
  const entryPoints = ENTRIES.map((name) => `src/${name}.ts`);
  rmSync("dist", { recursive: true, force: true });
  await build({ ...common, entryPoints, outdir: "dist", format: "esm", splitting: true });
  // CommonJS has no shared chunks, so all subpaths are one file, and each of them leads to it.
  await build({
    ...common,
    stdin: { contents: entryPoints.map((path) => `export * from "./${path}";`).join("\n"), resolveDir: "." },
    outfile: "dist/cjs/all.js",
    format: "cjs",
  });
  keepNames("dist");
  keepNames("dist/cjs");
  for (const name of ENTRIES) writeFileSync(`dist/cjs/${name}.js`, 'module.exports = require("./all.js");\n');
  const types = ["--emitDeclarationOnly", "--outDir", "dist/types", "-p", "tsconfig.build.json"];
  execFileSync("node_modules/.bin/tsc", types, { stdio: "inherit" });
  // npm packs no links.
  cpSync("../../LICENSE", "LICENSE");
  // The same types, which are those of CommonJS in this folder.
  cpSync("dist/types", "dist/cjs/types", { recursive: true });
  writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
  await tests("", "build/test");
}
