// Builds the explorer as one file that needs no server: `node docs/explorer/build.js` makes target/explorer/index.html,
// or index.html in a folder that is named.
// It needs the packages of bindings/js (`npm ci` there).

const { mkdirSync, readFileSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");

const { buildSync } = require("../../bindings/js/node_modules/esbuild");
const here = (name) => join(__dirname, name);
const bundle = (name) => {
  const options = { bundle: true, minify: true, write: false, target: "es2022", format: "iife", charset: "utf8" };
  return buildSync({ ...options, entryPoints: [here(name)] }).outputFiles[0].text.trim();
};

let html = readFileSync(here("index.html"), "utf8");
const put = (name, text) => {
  html = html.replace(`/* ${name} */`, () => text);
};
put("style.css", bundle("style.css"));
put("sample.json", readFileSync(here("sample.json"), "utf8"));
put("page.ts", bundle("page.ts").replaceAll("</script", "<\\/script"));
const folder = process.argv[2] ?? here("../../target/explorer");
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "index.html"), html);
console.log(`${join(folder, "index.html")}: ${Math.round(html.length / 1000)} kB`);
