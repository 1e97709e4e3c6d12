// A headless Chromium for tests, and the server of the examples, which has the package under /livebuf/.

import { existsSync } from "node:fs";
import type { Browser } from "playwright-core";
// @ts-expect-error: it is JavaScript without types.
import { CHROMIUM } from "./find.js";

const playwright = await import("playwright-core").catch(() => null);
const PACKAGE = new URL("../../", import.meta.url);

const isBuilt = existsSync(new URL("dist/index.js", PACKAGE));
/** Why what needs the package's files cannot be tested. */
export const unbuilt = isBuilt ? false : "the package is not built: node build.js";
/** Why there is no browser to test with. */
export const noBrowser =
  playwright === null ? "playwright-core is not installed" : CHROMIUM === undefined ? "there is no Chromium" : false;
/** Why the package cannot be tested in a browser. */
export const skip = unbuilt || noBrowser;

/** A browser that makes no requests of its own. */
export function launch(): Promise<Browser> {
  const flags =
    "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync";
  return playwright!.chromium.launch({
    executablePath: CHROMIUM as string,
    args: flags.split(" ").map((flag) => `--${flag}`),
  });
}

interface Server {
  url: string;
  requests: { path: string; bytes: number }[];
  close(): Promise<void>;
}

/** Where an example is. */
export const example = (name: string): string => new URL(`examples/${name}`, PACKAGE).href;

/** The server of the examples, with files of the test. */
export async function serve(files: Record<string, Uint8Array>): Promise<Server> {
  const module = (await import(example("server.js"))) as { serve(files: unknown): Promise<Server> };
  return module.serve(files);
}
