// The explorer of documents (docs/explorer), in a headless Chromium; and its map of all bytes, against the validator's.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { bytesOf, findRegions, KINDS, pathAt, WHAT } from "../../../docs/explorer/regions.js";
import { Document, open } from "../src/document.js";
import { edit } from "../src/edit.js";
import { fromJSON } from "../src/encode.js";
import { CELLS } from "../src/layout.js";
import { Cursor, SCALAR } from "../src/read.js";
import { LocalDate } from "../src/scalar.js";
import { print } from "../src/text.js";
import { isValid } from "../src/validate.js";
import { cursorOf, walk } from "../src/view.js";
import { launch, noBrowser as skip } from "./browser/chromium.js";

const ROOT = new URL("../../../../", import.meta.url);
const SAMPLE = readFileSync(new URL("docs/explorer/sample.json", ROOT), "utf8");

/** Checks that no regions overlap but texts and keys, and that bytes lead to values that have them. */
function checkMap(bytes: Uint8Array, name: string): number {
  const { memory: m } = open(bytes);
  const found = findRegions(m);
  assert.equal(
    found.sums.reduce((a, b) => a + b),
    m.used,
    name,
  );
  let end = 0;
  let own = 0;
  for (let i = 0; i < found.start.length; i++) {
    const [start, size] = [found.start[i]!, found.size[i]!];
    const kind = KINDS[WHAT[found.what[i]!]![0]]!;
    assert.ok(size > 0 && start + size <= m.used, `${name}: ${start} + ${size}`);
    if (kind !== "text" && kind !== "keys") assert.ok(start >= end, `${name}: overlap at ${start}`);
    end = Math.max(end, start + size);
    // Of large documents some.
    if (found.node[i] === 0xffffffff || i % Math.ceil(found.start.length / 300) > 0) continue;
    for (const byte of [start, start + (size >> 1), start + size - 1]) {
      const path = pathAt(found, m, i, byte);
      if (path.includes(null)) continue;
      const value = new Cursor(m).toRoot();
      if (!walk(value, path as string[])) {
        // Only slots of columns, and bytes of a run, have no value where a row or a member is missing.
        assert.ok(kind === "column" || kind === "text", `${name}: byte ${byte}: ${path.join("/")}`);
        continue;
      }
      if (value.kind !== SCALAR || kind === "keys") continue;
      // Tags are not among the bytes of a value.
      const what = WHAT[found.what[i]!]![1];
      if (what === "record" || (what === "column" && m.u8[found.at[found.node[i]!]! + 1] === CELLS)) continue;
      const ranges = bytesOf(m, value);
      const has = ranges.some(([from, to]) => byte >= from && byte < to);
      assert.ok(has, `${name}: byte ${byte} of ${what}: ${path.join("/")}, ${ranges.join(" ")}`);
      own++;
    }
  }
  return own;
}

test("the map of vectors and of edited documents has no overlaps, and leads to values that exist", () => {
  assert.ok(checkMap(fromJSON(SAMPLE), "sample") > 30);
  // A value has its text, also where that is in a dictionary.
  const { memory } = open(fromJSON(SAMPLE));
  JSON.parse(SAMPLE).orders.forEach((order: { city: string }, i: number) => {
    const city = new Cursor(memory).toRoot();
    walk(city, ["orders", i, "city"]);
    const bytes = bytesOf(memory, city).flatMap(([from, to]) => [...memory.u8.subarray(from, to)]);
    assert.ok(new TextDecoder().decode(new Uint8Array(bytes)).includes(order.city), order.city);
  });
  const folder = new URL("testdata/vectors/", ROOT);
  let n = 0;
  for (const name of readdirSync(folder).filter((name) => name.startsWith("y_") && name.endsWith(".lbuf"))) {
    const bytes = new Uint8Array(readFileSync(new URL(name, folder)));
    if (!isValid(bytes)) continue;
    checkMap(bytes, name);
    n++;
  }
  assert.ok(n > 100, `${n} vectors`);
  const shared = new URL("../shared/data/", ROOT);
  if (process.env.LIVEBUF_LONG === undefined || !existsSync(shared)) return;
  for (const name of readdirSync(shared).filter((name) => name.endsWith(".json"))) {
    checkMap(fromJSON(readFileSync(new URL(name, shared))), name);
  }
});

test("the map follows edits", () => {
  let seed = 7;
  const random = (n: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
  const doc = edit<{ orders: unknown[] }>(fromJSON(SAMPLE));
  const keys = ["id", "city", "status", "total", "items", "note", "other", "more"];
  for (let i = 0; i < 200; i++) {
    const values = [random(1000), null, "x".repeat(random(40)), [1, random(9), "a"], { a: 1.5, b: `${i}` }, true];
    const target = ["orders", random(doc.root.orders.length)];
    if (i % 9 === 8) doc.remove(target, keys[random(keys.length)]!);
    else if (i % 40 === 39) doc.splice(["orders"], random(50), 1);
    else doc.set(target, keys[random(keys.length)]!, values[random(values.length)]);
    if (i % 20 === 19) checkMap(doc.bytes.slice(), `edit ${i}`);
  }
});

let folder: string;
let browser: Browser;
let shared: Page | undefined;
const faults: string[] = [];

before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "explorer-"));
  execFileSync(process.execPath, [new URL("docs/explorer/build.js", ROOT).pathname, folder]);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** The page with the sample; what it says on its console is a fault, and so is a request. */
async function begin(width = 1280): Promise<Page> {
  if (shared !== undefined) {
    await shared.setViewportSize({ width, height: 800 });
    return shared;
  }
  const page = await (await browser.newContext({ viewport: { width, height: 800 }, acceptDownloads: true })).newPage();
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => faults.push(message.text()));
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || faults.push(request.url()));
  page.setDefaultTimeout(5000);
  await page.goto(`file://${folder}/index.html`);
  await page.waitForSelector("#sizes .bar >> nth=2");
  shared = page;
  return page;
}
const text = async (page: Page, at: string): Promise<string> => (await page.textContent(at)) ?? "";

/** Waits until an element has a text like this: it has it a frame later, or more where the machine is busy. */
async function shows(page: Page, at: string, like: RegExp): Promise<void> {
  const has = ([at, like]: readonly [string, string]) =>
    new RegExp(like).test(document.querySelector(at)!.textContent!);
  const wait = page.waitForFunction(has, [at, like.source] as const);
  await wait.catch(async () => assert.match(await text(page, at), like));
}

/** The same of the pointer. */
async function leads(page: Page, like: RegExp): Promise<void> {
  const has = (like: string) => new RegExp(like).test(document.querySelector<HTMLInputElement>("#pointer")!.value);
  const wait = page.waitForFunction(has, like.source);
  await wait.catch(async () => assert.match(await page.inputValue("#pointer"), like));
}

/** Types a value over that of a pointer. */
async function set(page: Page, pointer: string, text: string): Promise<void> {
  await page.fill("#pointer", pointer);
  await page.focus("#tree");
  await page.keyboard.press("Enter");
  await page.fill(".edit", text);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".said")!.textContent!.includes(" is now "));
}

async function download(page: Page, button: string): Promise<Uint8Array> {
  const [file] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  return new Uint8Array(readFileSync(await file.path()));
}

test("it opens with the sample, and shows what a look-up reads", { skip }, async () => {
  const page = await begin();
  const total = JSON.parse(SAMPLE).orders[2].total;
  await shows(page, ".said", new RegExp(`^${total} — read at most \\d+ of [\\d,]+ bytes`));
  await page.locator("#bytes .read").first().waitFor();
  await page.fill("#pointer", "/shop");
  await shows(page, ".said", /^"Leaf & Bean"/);
  await shows(page, ".row.selected .value", /^"Leaf & Bean"$/);
  await page.fill("#pointer", "/shops");
  await shows(page, ".said", /^not there/);
  await page.fill("#pointer", "shop");
  await shows(page, ".said", /is no JSON pointer/);
  await shows(page, "#sizes", /LiveBuf.*JSON.*MessagePack/);
  await shows(page, "#legend", /header32 B/);
  await page.fill("#pointer", "/products");
  await shows(page, "#details", /stocki1624 B182/);
});

test("values light their bytes, and bytes their values", { skip }, async () => {
  const page = await begin();
  await page.fill("#pointer", "/shop");
  await page.click("#copy");
  await page.hover(".row.selected .value");
  await page.waitForSelector("#bytes .lit");
  const letters = await page.locator("#bytes .lit").allInnerTexts();
  assert.ok(letters.join("").includes("Leaf & Bean"), letters.join("|"));
  await page.locator("#bytes .text").first().hover();
  await shows(page, "#where", /^byte \d+: text of \//);
  await page.waitForSelector(".row.pointed");
  await page.focus("#bytes");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await shows(page, "#where", /^byte 16: header/);
});

test("the tree goes by keys", { skip }, async () => {
  const page = await begin();
  await page.focus("#tree");
  await page.keyboard.press("Home");
  for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  await leads(page, /^\/hours$/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await leads(page, /^\/hours\/opens$/);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.waitForSelector('.row.selected[aria-expanded="false"]');
  await leads(page, /^\/hours$/);
  await page.keyboard.press("End");
  await leads(page, /^\/orders/);
});

test("an edit shows the bytes that it wrote, and can be undone; the document can be taken away", { skip }, async () => {
  const page = await begin();
  const before = fromJSON(SAMPLE);
  await set(page, "/orders/2/total", "77.25");
  await shows(page, ".said", /^\/orders\/2\/total is now 77.25 — wrote [1-8] of/);
  await page.locator("#bytes .wrote").first().waitFor();
  await set(page, "/orders/3/city", "a city of a long name");
  await set(page, "/shop", '"Tea"');
  const edited = await download(page, "#document");
  assert.ok(isValid(edited));
  const doc = open(edited);
  assert.deepEqual(
    ["/orders/2/total", "/orders/3/city", "/shop"].map((pointer) => doc.pointer(pointer)),
    [77.25, "a city of a long name", "Tea"],
  );
  assert.equal(new TextDecoder().decode(await download(page, "#json")), new Document(doc.memory).toText());
  // Bug: numbers within an array or an object were rounded.
  const exact = '[9007199254740993,2.0,{"a":1e400}]';
  await set(page, "/shop", exact);
  assert.equal(print(cursorOf(open(await download(page, "#document")).pointer("/shop") as object)), exact);
  await page.focus("#tree");
  await page.keyboard.press("Control+z");
  for (let i = 0; i < 3; i++) await page.click("#undo");
  assert.ok(await page.isDisabled("#undo"));
  assert.deepEqual(await download(page, "#document"), before);
});

test("files are opened, and damaged ones refused with a message", { skip }, async () => {
  const page = await begin(400);
  const put = async (name: string, bytes: string | Uint8Array): Promise<void> => {
    writeFileSync(join(folder, name), bytes);
    await page.setInputFiles("#file", join(folder, name));
  };
  await put("small.json", '{"a":[1,2,{"b":null}]}');
  await page.waitForFunction(() => document.querySelector("#tree")!.textContent!.includes("small.json"));
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(['{"dropped":true}'], "dropped.json"));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await page.waitForFunction(() => document.querySelector("#tree")!.textContent!.includes('"dropped"true'));
  await put("dates.lbuf", fromJSON('{"day":"2026-11-23"}', { recognize: true }));
  await page.waitForFunction(() => document.querySelector("#tree")!.textContent!.includes('"day"'));
  await set(page, "/day", '"2026-11-24"');
  assert.deepEqual(open(await download(page, "#document")).pointer("/day"), LocalDate.from("2026-11-24"));
  await put("bad.json", '{"a":[1,2,}');
  await page.waitForFunction(() =>
    document.querySelector(".said")!.textContent!.startsWith("bad.json cannot be shown"),
  );
  await put("bad.lbuf", fromJSON("[1,2,3]").fill(0x40, 16, 17));
  await page.waitForFunction(() =>
    document.querySelector(".said")!.textContent!.startsWith("bad.lbuf cannot be shown"),
  );
  await shows(page, "#name", /^dates.lbuf$/);
  // A large one, which the worker maps.
  await put(
    "large.lbuf",
    fromJSON(JSON.stringify(Array.from({ length: 60_000 }, (_, i) => ({ i, text: `text ${i}` })))),
  );
  await page.waitForFunction(() => document.querySelector("#tree")!.textContent!.includes("large.lbuf"));
  await page.fill("#pointer", "/59999/text");
  await page.waitForFunction(() => document.querySelector(".said")!.textContent!.startsWith('"text 59999"'));
  await page.waitForSelector("#legend .column");
  assert.ok((await page.locator("#tree .row").count()) < 60);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
  assert.deepEqual(faults, []);
});

test("of a large document only what is seen is drawn and decoded", { skip }, async () => {
  const page = await begin();
  const key = (i: number): string => `a key of more than thirty-two letters, ${i}`;
  const json = JSON.stringify({
    rows: Array.from({ length: 100_000 }, (_, i) => ({ i, text: `text number ${i}`, list: [i, i / 8] })),
    map: Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [key(i), { i }])),
    texts: Array.from({ length: 50_000 }, (_, i) => `another text, number ${i}`),
    long: "long text ".repeat(200_000),
  });
  assert.ok(json.length > 10e6, `${json.length} bytes`);
  await page.evaluate(() => {
    const counts = { drawn: 0, decoded: 0, calls: 0, copied: 0 };
    Object.assign(window, { counts });
    const { set, slice } = Uint8Array.prototype;
    Uint8Array.prototype.set = function (...args) {
      counts.copied += args[0].length;
      set.apply(this, args);
    };
    Uint8Array.prototype.slice = function (...args) {
      const made = slice.apply(this, args);
      counts.copied += made.length;
      return made;
    };
    const { fillRect } = CanvasRenderingContext2D.prototype;
    const { decode } = TextDecoder.prototype;
    CanvasRenderingContext2D.prototype.fillRect = function (...args) {
      counts.drawn++;
      fillRect.apply(this, args);
    };
    TextDecoder.prototype.decode = function (bytes, options) {
      counts.calls++;
      counts.decoded += bytes?.byteLength ?? 0;
      return decode.call(this, bytes, options);
    };
  });
  /** Does something, and says how much was drawn, decoded and copied by the page until it is seen. */
  const did = async (
    action: () => Promise<unknown>,
  ): Promise<{ drawn: number; decoded: number; calls: number; copied: number }> => {
    const counts = "counts" as keyof Window;
    await page.evaluate(
      (counts) => Object.assign(window[counts], { drawn: 0, decoded: 0, calls: 0, copied: 0 }),
      counts,
    );
    await action();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const elements = await page.locator("*").count();
    assert.ok(elements < 2000, `${elements} elements`);
    return page.evaluate((counts) => ({ ...window[counts] }), counts);
  };
  const far = (box: string, part: number): Promise<void> =>
    page.evaluate(
      ([box, part]) => {
        const { scrollHeight } = document.querySelector(box)!;
        document.querySelector(box)!.scrollTop = scrollHeight * part;
      },
      [box, part] as const,
    );

  writeFileSync(join(folder, "all.json"), json);
  await did(async () => {
    await page.setInputFiles("#file", join(folder, "all.json"));
    await page.waitForFunction(() => document.querySelector("#tree")!.textContent!.includes("all.json"));
  });
  await page.waitForSelector("#legend .column");
  await did(() => page.fill("#pointer", "/rows/99999/list/1"));
  await shows(page, ".said", /^12499.875 /);
  for (const part of [0.5, 1, 0.1]) for (const box of ["#tree", "#bytes"]) await did(() => far(box, part));
  await page.fill("#pointer", "/rows");
  await page.focus("#tree");
  for (const pressed of [" ", " ", "Home", "End", "PageUp"]) await did(() => page.keyboard.press(pressed));

  // Bug: a look-up of a text decoded all of it, and so did each key that came to it.
  const long = await did(() => page.fill("#pointer", "/long"));
  await shows(page, ".said", /^"long text .*… — read at most 2,\d+,\d+ of /);
  assert.ok(long.decoded < 100_000, `${long.decoded} bytes decoded`);
  await page.focus("#tree");
  await page.keyboard.press("Enter");
  await shows(page, ".said", /^\/long is too long/);

  // Bug: each byte of a map that the mouse came to had all keys before it decoded.
  await page.fill("#pointer", `/map/${key(29_000)}/i`);
  const pointed = await did(() => page.locator("#bytes .read").last().hover());
  await shows(page, "#where", /^byte [\d,]+: .* of \/map\/a key/);
  assert.ok(pointed.calls < 3000, `${pointed.calls} texts decoded`);

  // Bug: an edit that wrote at many places drew a mark of each on the strip, which took seconds.
  const edited = await did(() => set(page, "/texts/49999", "7"));
  await shows(page, "#report", /wrote .* more$/);
  assert.ok(edited.drawn < 5000, `${edited.drawn} marks`);
  const before = fromJSON(json);
  // Bug: each edit copied the whole document, and compared it, before the page was drawn again.
  for (const [pointer, value] of [
    ["/rows/7/i", "8"],
    ["/rows/50000/text", "shorter"],
  ] as const) {
    const { copied } = await did(() => set(page, pointer, value));
    assert.ok(copied < before.length / 2, `${copied} bytes copied`);
    await shows(page, ".said", / — wrote [\d,]+ of /);
  }
  const doc = edit(before.slice());
  doc.setPointer("/texts/49999", 7);
  doc.setPointer("/rows/7/i", 8);
  doc.setPointer("/rows/50000/text", "shorter");
  assert.ok(Buffer.from(doc.bytes).equals(await download(page, "#document")));
  await page.click("#undo");
  await shows(page, ".said", /^\/rows\/50000\/text is as it was/);
  await page.fill("#pointer", "/rows/7/i");
  await shows(page, ".said", /^8 /);
  for (let i = 0; i < 2; i++) await page.click("#undo");
  assert.ok(Buffer.from(before).equals(await download(page, "#document")));
  assert.deepEqual(faults, []);
});

test("sizes are by zstd where the browser has it, else by gzip", { skip }, async () => {
  assert.match(await text(await begin(), "#sizes"), / (gzip|zstd)/);
  const page = await browser.newPage();
  await page.addInitScript(() => {
    const Gzip = CompressionStream;
    window.CompressionStream = class {
      constructor(format: string) {
        // biome-ignore lint/correctness/noConstructorReturn: it stands for a browser that has zstd.
        return new Gzip(format === "zstd" ? "gzip" : "deflate");
      }
    } as unknown as typeof CompressionStream;
  });
  await page.goto(`file://${folder}/index.html`);
  await page.waitForSelector("#sizes .bar >> nth=2");
  await shows(page, "#sizes", /LiveBuf.* zstd.*JSON.* zstd/);
  await page.close();
});
