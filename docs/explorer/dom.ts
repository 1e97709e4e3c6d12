// Small things for elements and for words.

import { spanLength, spanStart } from "../../bindings/js/src/key.js";
import { TEXT, TEXTS } from "../../bindings/js/src/layout.js";
import { type Cursor, valuesAt } from "../../bindings/js/src/read.js";
import { print } from "../../bindings/js/src/text.js";
import type { Range } from "./regions.js";

export const $ = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

/** An element: `make("td.number", …)` has a class. */
export function make<T extends HTMLElement = HTMLElement>(kind: string, ...inner: (string | Node)[]): T {
  const [tag, ...names] = kind.split(".");
  const made = document.createElement(tag!);
  made.className = names.join(" ");
  made.append(...inner);
  return made as T;
}

const english = new Intl.NumberFormat("en");
export const count = (n: number): string => english.format(n);
export const size = (n: number): string =>
  n < 1000 ? `${n} B` : n < 999_500 ? `${(n / 1000).toPrecision(3)} kB` : `${(n / 1e6).toPrecision(3)} MB`;
export function percent(part: number, all: number): string {
  const p = (100 * part) / all;
  return `${p >= 10 || p === 0 ? Math.round(p) : p.toPrecision(p >= 1 ? 2 : 1)} %`;
}
export const share = (ranges: Range[], used: number): string => {
  const n = ranges.reduce((sum, [start, end]) => sum + end - start, 0);
  return `${count(n)} of ${count(used)} bytes (${percent(n, used)})`;
};
/** A path as a JSON pointer; `null` in it stands for all elements or rows. */
export const pointerOf = (path: readonly (string | null)[]): string =>
  path.map((step) => `/${step === null ? "*" : step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Where the bytes of a text are; null for other values, and for texts of a dictionary. */
export function textOf({ m, at, row, tag }: Cursor): Range | null {
  const cell = row < 0 ? at : m.u8[at + 1] === TEXTS ? valuesAt(m, at) + 8 * row : 0;
  if (tag !== TEXT || cell === 0) return null;
  return [spanStart(m, cell), spanStart(m, cell) + spanLength(m, cell)];
}

/** A value as JSON, or the first characters of it; in place of one that has none a message. */
export function jsonOf(cursor: Cursor, most = Number.POSITIVE_INFINITY): string {
  try {
    const range = textOf(cursor);
    let text: string;
    if (range !== null && range[1] - range[0] > 4 * most) {
      // The rest of a long text is not decoded.
      text = JSON.stringify(new TextDecoder().decode(cursor.m.u8.subarray(range[0], range[0] + 4 * most)));
    } else text = print(cursor, { nonFinite: "null" });
    return text.length > most ? `${text.slice(0, most)}…` : text;
  } catch (error) {
    return `(${(error as Error).message})`;
  }
}
