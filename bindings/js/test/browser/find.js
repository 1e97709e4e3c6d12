// Which Chromium the tests take. JavaScript, since the Makefile asks, too.

import { existsSync } from "node:fs";

export const CHROMIUM = ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"]
  .map((name) => `/usr/bin/${name}`)
  .find(existsSync);
