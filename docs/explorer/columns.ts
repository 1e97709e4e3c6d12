// The columns that a value is in, or that it has, as a small table.

import { textAt } from "../../bindings/js/src/key.js";
import * as L from "../../bindings/js/src/layout.js";
import { ARRAY, Cursor, columnsOf, isNested, MAP, offsetAt, ROW, SCALAR, shapeKeys } from "../../bindings/js/src/read.js";
import { jsonOf, make, size } from "./dom.js";
import { CODES } from "./regions.js";
import { summary } from "./tree.js";

/** Most columns that are shown, and most values of each. */
const [COLUMNS, VALUES] = [40, 6];

/** A table with a row for each column; null for a value that has to do with none. */
export function columnsTable(value: Cursor, name: string): HTMLElement | null {
  const { m, at } = value;
  const body = make("tbody");
  const table = (at: number, before: string, first: number, n: number): void => {
    const keys = shapeKeys(m, m.u32[(at >>> 2) + 1]!);
    for (let j = 0; j < columnsOf(m, at) && body.childElementCount < COLUMNS; j++) {
      column(at + L.TABLE_SIZE + 16 * j, before + textAt(m, keys + 8 * j), first, n);
    }
  };
  const column = (h: number, title: string, first: number, n: number): void => {
    const code = m.u8[h + 1]!;
    const [slots, data] = [m.u32[(h >>> 2) + 1]!, m.u32[(h >>> 2) + 3]!];
    if (code === L.STRUCT) table(data, title && `${title}.`, first, n);
    else if (isNested(code) && code !== L.RUN) {
      const from = offsetAt(m, data, first);
      column(data + L.LIST_ELEMENTS, `${title}[]`, from, offsetAt(m, data, first + n) - from);
    } else {
      const width = code === L.CELLS ? 9 : code === L.BOOL ? 1 / 8 : L.WIDTHS[code]!;
      const run = code === L.RUN ? m.u32[(data + L.LIST_ELEMENTS + 4) >>> 2]! : 0;
      const row = make("tr", make("th", title || "values"), make("td", CODES[code]!));
      row.append(make("td.number", size(run + Math.ceil(width * slots))));
      const slot = new Cursor(m);
      for (let i = first; i < first + Math.min(n, VALUES, slots - first); i++) {
        slot.toSlot(h, i);
        const text = slot.tag === L.NOTHING ? "" : slot.kind === SCALAR ? jsonOf(slot, 24) : summary(slot);
        row.append(make("td", text));
      }
      body.append(row);
    }
  };
  if (value.kind === ARRAY) column(at, "", value.first, value.count);
  else if (value.kind === ROW) table(at, "", value.row, 1);
  else if (value.kind === MAP) column(at + L.MAP_VALUES, "", 0, VALUES);
  else if (value.kind === SCALAR && value.row >= 0) column(at, name, value.row, VALUES);
  if (body.childElementCount === 0) return null;
  const heads = ["column", "stored as", "size", "values"].map((text) => make("th", text));
  return make("table", make("thead", make("tr", ...heads)), body);
}
