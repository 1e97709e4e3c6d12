// The code of the pages, block after block, as a reader would run it.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";

const ROOT = new URL("../../../../", import.meta.url);
const FOLDER = new URL("../guide-code/", import.meta.url);

/** What a line's comment says that its expression is: `// "en"`, `// 3`, `// [9.5, 9.75]`. */
const CLAIM = /^(\S.*?);?\s+\/\/ ('[^']*'|"[^"]*"|-?[\d.]+n?|true|false|undefined|\[[^…\]]*\]|\{[^…}]*\})(?=$|[:;,])/;

for (const [page, least] of [
  ["docs/javascript.md", 10],
  ["docs/start.md", 3],
  ["bindings/js/README.md", 2],
] as const) {
  test(`${page}: the code runs, and its expressions are what it says`, async () => {
    const text = readFileSync(new URL(page, ROOT), "utf8");
    const blocks = [...text.matchAll(/```js\n(.*?)```/gs)].map((match) => match[1]!);
    assert.ok(blocks.length > 0);
    let claims = 0;
    const lines = blocks
      .flatMap((block) => block.split("\n"))
      .map((line) => {
        const claim = CLAIM.exec(line);
        if (claim === null || /^(const|let|import|for|export|\/\/)/.test(line)) return line;
        claims++;
        return `assert.deepEqual(plain(${claim[1]}), ${claim[2]});`;
      });
    assert.ok(claims >= least, `${claims} expressions with a value`);
    // Blocks import what they use, so some names come more than once.
    const imported = new Map<string, string>();
    const rest = lines.filter((line) => {
      const match = /^import \{ (.*) \} from "(.*)";$/.exec(line);
      for (const name of match?.[1]?.split(", ") ?? []) imported.set(name, match![2]!);
      return match === null;
    });
    const code = [
      'import assert from "node:assert/strict";',
      ...[...imported].map(([name, module]) => `import { ${name} } from "${module}";`),
      'import { isView as isView_, toObject as toObject_ } from "livebuf";',
      "const plain = (value) => (isView_(value) ? toObject_(value) : value);",
      "console.log = () => {};",
      ...rest,
    ].join("\n");
    mkdirSync(FOLDER, { recursive: true });
    const file = new URL(`${page.replaceAll("/", "-")}.js`, FOLDER);
    writeFileSync(file, code);
    await import(file.href);
  });
}
