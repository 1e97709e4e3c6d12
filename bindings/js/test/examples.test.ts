// The examples, as a user would run them.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { example, launch, serve, skip, unbuilt } from "./browser/chromium.js";

let browser: Browser | undefined;
after(() => browser?.close());

const run = (name: string, ...words: string[]): string =>
  execFileSync(process.execPath, [fileURLToPath(example(name)), ...words], { encoding: "utf8", timeout: 60_000 });

test("a page reads one route of a large manifest", { skip }, async (context) => {
  const { manifest, routeOf } = (await import(example("manifest.js"))) as {
    manifest(count: number): Uint8Array;
    routeOf(i: number): string;
  };
  // 90 MB, or a tenth of it in the ordinary run.
  const count = process.env.LIVEBUF_LONG ? 35_000 : 3500;
  const bytes = manifest(count);
  assert.ok(bytes.length > 2570 * count, `${bytes.length}`);
  const server = await serve({ "/manifest.lbuf": bytes });
  try {
    browser ??= await launch();
    const page = await browser.newPage();
    for (const [route, title] of [
      [routeOf(321), "Page 321"],
      [routeOf(count - 1), `Page ${count - 1}`],
      ["/none", "There is no such route"],
    ]) {
      server.requests.length = 0;
      await page.goto(`${server.url}/manifest.html?route=${route}`);
      await page.waitForFunction(() => document.querySelector("#fetched")!.textContent !== "");
      assert.equal(await page.textContent("h1"), title);
      const fetched = server.requests.filter(({ path }) => path === "/manifest.lbuf");
      const sent = fetched.reduce((sum, request) => sum + request.bytes, 0);
      context.diagnostic(`${route}: ${sent} of ${bytes.length} bytes, in ${fetched.length} requests`);
      assert.ok(sent < 100_000 && fetched.length <= 16, `${route}: ${sent} bytes in ${fetched.length} requests`);
      assert.match((await page.textContent("#fetched"))!, new RegExp(`^${sent.toLocaleString("en")} of `));
    }
  } finally {
    await server.close();
  }
});

test("a pool of workers reads and edits one document", { skip: unbuilt }, () => {
  assert.equal(run("pool.js"), "sum 49997500\nbatches 5 + 5 + 5 + 5\n");
});

test("a service worker answers out of the document that it keeps, and changes it", { skip }, async () => {
  const { encode } = await import("../src/encode.js");
  const contacts = Array.from({ length: 100 }, (_, i) => ({ name: `name ${i}`, city: "Lyon" }));
  const server = await serve({ "/contacts.lbuf": encode({ contacts }) });
  browser ??= await launch();
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const shown = async (text: string): Promise<void> => {
      await page.waitForFunction((text) => document.querySelector("#contact")!.textContent === text, text);
    };
    await page.goto(`${server.url}/offline.html`);
    await shown("name 42, Lyon");
    const answers = await page.evaluate(async () => {
      const change = { method: "PATCH", body: JSON.stringify({ city: "Bergen on the coast", phone: "+47 1" }) };
      const [changed, none] = [await fetch("/contacts/42", change), await fetch("/contacts/100")];
      return [await changed.json(), none.status];
    });
    assert.deepEqual(answers, [{ name: "name 42", city: "Bergen on the coast", phone: "+47 1" }, 404]);

    // What the cache has is the document with the change.
    const { open } = await import("../src/index.js");
    const kept = await page.evaluate(async () => {
      const response = await caches.match("/contacts.lbuf");
      return [...new Uint8Array(await response!.arrayBuffer())];
    });
    assert.equal(open(new Uint8Array(kept)).get("contacts", 42, "city"), "Bergen on the coast");
    await page.reload();
    await shown("name 42, Bergen on the coast");
    assert.equal(server.requests.filter(({ path }) => path.startsWith("/contacts")).length, 1);
  } finally {
    await context.close();
    await server.close();
  }
});

const hasRedis = await new Promise<boolean>((found) => {
  spawn("redis-server", ["--version"])
    .once("error", () => found(false))
    .once("exit", (code) => found(code === 0));
});
const hasClient = await import("redis" as string).then(
  () => true,
  () => false,
);
const noRedis =
  unbuilt ||
  (hasRedis
    ? hasClient
      ? false
      : "the package redis is not installed"
    : "redis-server is not installed, so the example for Redis was NOT tested");

test("two workers change a document in Redis: nothing is lost, and little is sent", { skip: noRedis }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "redis-"));
  const socket = `${folder}/redis.sock`;
  const server = spawn("redis-server", ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]);
  try {
    await new Promise<void>((ready, fail) => {
      server.stdout.on("data", (text: Buffer) => /ready to accept/i.test(text.toString()) && ready());
      server.once("exit", () => fail(new Error("redis-server ended")));
    });
    const said = run("redis.js", `unix://${socket}`);
    const [, edits, sent] = /^rounds 200, scores 200\nedits (\d+), each sent (\d+) of \d+ bytes\n$/.exec(said) ?? [];
    assert.ok(Number(edits) >= 200 && Number(sent) < 1500, said);
  } finally {
    server.removeAllListeners("exit");
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill();
    await ended;
    rmSync(folder, { recursive: true });
  }
});
