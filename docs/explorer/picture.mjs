// Takes docs/images/explorer.webp of the explorer, in a headless Chromium: `node docs/explorer/picture.mjs`.
// It needs the packages of bindings/js (`npm ci` there).

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CHROMIUM } from "../../bindings/js/test/browser/find.js";

const require = createRequire(new URL("../../bindings/js/package.json", import.meta.url));
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "explorer-"));
execFileSync(process.execPath, [here("build.js"), folder]);
const browser = await require("playwright-core").chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme: "light" });
await page.goto(`file://${folder}/index.html`);
await page.waitForSelector("#sizes .bar >> nth=2");
await page.hover('.row:has-text("status") .value >> nth=0');
await page.waitForSelector("#bytes .lit");
// As WebP, which Playwright has no option for: a PNG takes 160 kB.
const session = await page.context().newCDPSession(page);
const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 90 });
writeFileSync(here("../images/explorer.webp"), Buffer.from(data, "base64"));
await browser.close();
rmSync(folder, { recursive: true });
