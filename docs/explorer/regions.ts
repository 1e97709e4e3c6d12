// The map of a document: all its blocks and texts, and which value each of them belongs to (FORMAT 3 to 8).

import { spanLength, spanStart, textAt } from "../../bindings/js/src/key.js";
import * as L from "../../bindings/js/src/layout.js";
import type { Memory } from "../../bindings/js/src/memory.js";
import {
  ARRAY,
  type Cursor,
  columnsOf,
  isHole,
  isNested,
  MAP,
  offsetAt,
  RECORD,
  ROW,
  SCALAR,
  shapeCount,
  shapeKeys,
  tableSize,
  valuesAt,
} from "../../bindings/js/src/read.js";

/** What bytes are for, by which they are coloured. */
export const KINDS = ["free", "header", "record", "keys", "column", "text"] as const;

/** What a region is: its number among KINDS, and its name. */
export const WHAT: readonly [number, string][] = [
  [0, "not in use"],
  [1, "header"],
  [2, "record"],
  [2, "map"],
  [2, "forward"],
  [3, "key list"],
  [3, "text of a key"],
  [3, "keys of a map"],
  [3, "index of keys"],
  [4, "head of an array"],
  [4, "table"],
  [4, "list"],
  [4, "column"],
  [4, "bits of gaps"],
  [5, "text"],
  [5, "texts behind each other"],
  [0, "head of the free list"],
  [0, "free block"],
  [0, "state"],
];
const [HEADER, RECORD_BLOCK, MAP_BLOCK, FORWARD, KEYS, KEY_TEXT, MAP_KEYS, INDEX] = [1, 2, 3, 4, 5, 6, 7, 8];
const [HEAD, TABLE, LIST, DATA, BITS, TEXT, RUN, AUX, FREE, STATE] = [9, 10, 11, 12, 13, 14, 15, 16, 17, 18];

/**
 * What a node is: a record, or a column with all its slots. Nodes and slots lead from bytes to values, since each node
 * knows in which slot of which other node it is.
 */
enum Role {
  Record,
  Map,
  Array,
  /** A column of a table, whose node is the parent; the slot of the parent is the column's place. */
  Field,
  Elements,
  /** Numbers or orders: a slot of each belongs to the same slot of the parent. */
  Beside,
  Extras,
  /** Texts of a dictionary. */
  Texts,
}

/** Names of columns' codes (FORMAT 6.1). */
export const CODES = (
  "cells,bool,i8,i16,i32,i64,u8,u16,u32,u64,f32,f64,text,objects,arrays,null,table,list,list of fixed length," +
  "numbers f32,numbers f64,marked f32,marked f64,dictionary u8,dictionary u16,text run,date,time,date and time," +
  "timestamp,decimal,UUID,f16,bool8"
).split(",");

/** No certain slot: of a region that is all of its node, and in a path that holds for all slots. */
const WHOLE = -1;
const ANY = -2;
const NONE = 0xffffffff;
/** Parts of a document that the strip of the page shows. */
export const PARTS = 600;

/** What the walk found; typed arrays only, so that a worker can send it. */
export interface Found {
  /** Of each region, by rising offsets: where it is, its size, what it is, its node and the slot there. */
  start: Uint32Array;
  size: Uint32Array;
  what: Uint32Array;
  node: Uint32Array;
  slot: Int32Array;
  /** Of each node: its role, its block or header, the node that it is in, and the slot there. */
  role: Uint32Array;
  at: Uint32Array;
  parent: Uint32Array;
  parentSlot: Uint32Array;
  /** Bytes of each of KINDS. */
  sums: Float64Array;
  /** Bytes of each of KINDS, in each of so many PARTS of the document. */
  parts: Float32Array;
}

/** Walks over a valid document. Takes time and memory by the count of its blocks and texts. */
export function findRegions(m: Memory): Found {
  const { u8, u32 } = m;
  const regions: number[][] = [[], [], [], [], []];
  const nodes: number[][] = [[], [], [], []];
  const push = (columns: number[][], ...values: number[]): number => {
    for (let i = 0; i < values.length; i++) columns[i]!.push(values[i]!);
    return columns[0]!.length - 1;
  };
  const sums = new Float64Array(KINDS.length);
  const parts = new Float32Array(KINDS.length * PARTS);
  const shared = new Set<number>();
  const shapes = new Set<number>();
  /** Homes that are still to be visited: tag, home, and the node and slot that lead there. */
  const todo: number[] = [];

  const add = (start: number, size: number, what: number, node: number, slot: number): void => {
    if (size === 0) return;
    push(regions, start, size, what, node, slot);
    const kind = WHAT[what]![0];
    sums[kind]! += size;
    const scale = PARTS / m.used;
    const last = Math.min(PARTS - 1, Math.floor((start + size - 1) * scale));
    for (let i = Math.floor(start * scale); i <= last; i++) {
      const from = Math.max(start, i / scale);
      parts[KINDS.length * i + kind]! += Math.min(start + size, (i + 1) / scale) - from;
    }
  };
  const word = (at: number): number => u32[at >>> 2]!;

  const span = (cell: number, what: number, node: number, slot: number): void => {
    const hi = word(cell + 4);
    if (hi >= 0x80000000) return;
    const start = word(cell);
    const size = hi & 0x3fffffff;
    if (hi < 0x40000000) {
      // Texts of others, too.
      const name = start + size * 2 ** 32;
      if (shared.has(name)) return;
      shared.add(name);
    }
    add(start, size, what, node, slot);
  };
  const value = (tag: number, cell: number, node: number, slot: number): void => {
    if (tag >= L.OBJECT_NODE) todo.push(tag, word(cell), node, slot);
    else if (tag >= L.TEXT) span(cell, TEXT, node, slot);
  };
  const shape = (at: number, node: number): void => {
    if (at === 0 || shapes.has(at)) return;
    shapes.add(at);
    const count = shapeCount(m, at);
    const cells = shapeKeys(m, at);
    add(at, cells - at + 8 * (u8[at] === L.SHAPE ? u8[at + 1]! : count), KEYS, node, WHOLE);
    for (let i = 0; i < count; i++) span(cells + 8 * i, KEY_TEXT, node, WHOLE);
  };
  const branch = (at: number, node: number): void => {
    add(at, 256, INDEX, node, WHOLE);
    for (let i = 0; u8[at] !== 0 && i < u8[at + 1]!; i++) branch(word(at + 4 + 4 * i), node);
  };

  const column = (h: number, node: number): void => {
    const code = u8[h + 1]!;
    const gaps = u8[h + 2]!;
    const [count, capacity, data] = [word(h + 4), word(h + 8), word(h + 12)];
    if (data === 0) return;
    if (isNested(code)) {
      if (gaps !== 0 && word(data + 8) !== 0) add(word(data + 8), L.bitmapsSize(gaps, capacity), BITS, node, WHOLE);
      if (code === L.STRUCT) {
        const k = columnsOf(m, data);
        add(data, tableSize(m, data), TABLE, node, WHOLE);
        shape(word(data + 4), node);
        const end = data + tableSize(m, data);
        for (let at = data + L.TABLE_SIZE, j = 0; at < end; at += 16, j++) {
          column(at, push(nodes, j < k ? Role.Field : Role.Beside, at, node, j));
        }
        const extras = word(data + 16);
        if (extras === 0) return;
        const list = push(nodes, Role.Extras, extras, node, 0);
        add(extras, 16, HEAD, list, WHOLE);
        const rows = word(extras + 12);
        if (rows !== 0) add(rows, 8 * word(extras + 8), DATA, list, WHOLE);
        for (let i = 0; i < word(extras + 4); i++)
          todo.push(L.OBJECT_NODE, word(rows + 8 * i), node, word(rows + 8 * i + 4));
        return;
      }
      const form = u8[data + 1];
      add(data, form === 0 ? 48 : 32, LIST, node, WHOLE);
      if (form === 0) column(data + L.LIST_OFFSETS, push(nodes, Role.Beside, data + L.LIST_OFFSETS, node, 0));
      const elements = data + L.LIST_ELEMENTS;
      if (code !== L.RUN) column(elements, push(nodes, Role.Elements, elements, node, 0));
      else if (word(elements + 12) !== 0) add(word(elements + 12), L.word(word(elements + 8)), RUN, node, WHOLE);
      return;
    }
    const width = L.WIDTHS[code]!;
    let size = L.word(width * capacity);
    if (code === L.CELLS) size = L.cellsSize(capacity);
    else if (code === L.BOOL) size = L.bitmapSize(capacity);
    else if (code === L.MARKED_F32 || code === L.MARKED_F64) size += L.bitmapSize(capacity);
    const values = valuesAt(m, h);
    const dictionary = code === L.DICTIONARY_U8 || code === L.DICTIONARY_U16;
    add(data, values - data + size + (dictionary ? 16 : 0), DATA, node, WHOLE);
    if (dictionary) column(values + size, push(nodes, Role.Texts, values + size, node, 0));
    else if (code === L.CELLS) {
      for (let i = 0; i < count; i++) value(u8[data + L.tagAt(i)]!, data + L.cellAt(i), node, i);
    } else if (code === L.TEXTS) {
      for (let i = 0; i < count; i++) span(values + 8 * i, TEXT, node, i);
    } else if (code === L.OBJECTS || code === L.ARRAYS) {
      const tag = code === L.OBJECTS ? L.OBJECT_NODE : L.ARRAY_NODE;
      for (let i = 0; i < count; i++) if (word(values + 4 * i) !== 0) todo.push(tag, word(values + 4 * i), node, i);
    }
  };

  add(0, L.HEADER_SIZE, HEADER, NONE, WHOLE);
  value(u8[16]!, 8, NONE, WHOLE);
  while (todo.length > 0) {
    const slot = todo.pop()!;
    const parent = todo.pop()!;
    let at = todo.pop()!;
    const tag = todo.pop()!;
    const forward = u8[at] === L.FORWARD ? at : 0;
    if (forward !== 0) at = word(at + 4);
    const map = u8[at] === L.MAP;
    const role = tag === L.ARRAY_NODE ? Role.Array : map ? Role.Map : Role.Record;
    const node = push(nodes, role, map ? at + L.MAP_VALUES : at, parent, slot);
    if (forward !== 0) add(forward, 8, FORWARD, node, WHOLE);
    if (role === Role.Record) {
      add(at, 8 + L.cellsSize(u8[at + 1]!), RECORD_BLOCK, node, WHOLE);
      shape(word(at + 4), node);
      for (let i = 0; i < u8[at + 2]!; i++) value(u8[at + 8 + L.tagAt(i)]!, at + 8 + L.cellAt(i), node, i);
      continue;
    }
    if (map) {
      add(at, L.MAP_SIZE, MAP_BLOCK, node, WHOLE);
      const keys = word(at + 20);
      if (keys !== 0) add(keys, 8 * word(at + 16), MAP_KEYS, node, WHOLE);
      for (let i = 0; i < word(at + 36); i++) span(keys + 8 * i, KEY_TEXT, node, i);
      if (word(at + 8) !== 0) add(word(at + 8), 64 * word(at + 12) + 56, INDEX, node, WHOLE);
      if (word(at + 24) !== 0) branch(word(at + 24), node);
      at += L.MAP_VALUES;
    } else add(at, 16, HEAD, node, WHOLE);
    column(at, node);
  }
  for (let at = word(24); at !== 0; at = word(at + 4)) shape(at, NONE);
  const aux = word(28);
  if (aux !== 0) {
    add(aux, 24 + 4 * u8[aux + 1]!, AUX, NONE, WHOLE);
    if (word(aux + 20) !== 0) add(word(aux + 20), 16, STATE, NONE, WHOLE);
    for (let i = 0; i < u8[aux + 1]!; i++) {
      for (let at = word(aux + 24 + 4 * i); at !== 0; at = word(at)) add(at, word(at + 4), FREE, NONE, WHOLE);
    }
  }
  sums[0]! += Math.max(0, m.used - sums.reduce((a, b) => a + b, 0));
  const starts = regions[0]!;
  const order = Uint32Array.from(starts, (_, i) => i).sort((a, b) => starts[a]! - starts[b]!);
  const sorted = (i: number): Uint32Array => order.map((from) => regions[i]![from]!);
  const node = (i: number): Uint32Array => Uint32Array.from(nodes[i]!);
  return {
    ...{ start: sorted(0), size: sorted(1), what: sorted(2), node: sorted(3), slot: new Int32Array(sorted(4)) },
    ...{ role: node(0), at: node(1), parent: node(2), parentSlot: node(3), sums, parts },
  };
}

/** Whether a region belongs to a value. */
export const isOf = (found: Found, region: number): boolean => found.node[region] !== NONE;

/** The region that has a byte, or −1. */
export function regionAt({ start, size }: Found, byte: number): number {
  let low = 0;
  let high = start.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (start[middle]! <= byte) low = middle + 1;
    else high = middle;
  }
  // Texts that are shared may overlap.
  for (let i = low - 1; i >= 0 && i >= low - 4; i--) if (byte < start[i]! + size[i]!) return i;
  return -1;
}

/** Which of tagged cells has a byte, counted from their beginning. */
const cellOf = (byte: number): number => {
  const rest = byte % 72;
  return Math.floor(byte / 72) * 8 + (rest < 8 ? rest : (rest - 8) >>> 3);
};

/** The path of the value that a byte of a region belongs to; `null` in it stands for all elements or rows. */
export function pathAt(found: Found, m: Memory, region: number, byte: number): (string | null)[] {
  const node = found.node[region]!;
  const h = found.at[node]!;
  let slot = found.slot[region]!;
  if (node === NONE) return [];
  switch (found.what[region]) {
    case RECORD_BLOCK:
      if (byte >= h + 8) slot = cellOf(byte - h - 8);
      if (slot >= m.u8[h + 2]! || m.u8[h + 8 + L.tagAt(slot)] === 0) slot = WHOLE;
      break;
    case MAP_KEYS:
      slot = (byte - found.start[region]!) >>> 3;
      break;
    case TABLE: {
      const place = (byte - found.start[region]! - L.TABLE_SIZE) >> 4;
      if (place < 0 || place >= columnsOf(m, found.start[region]!)) break;
      return [...pathOf(found, m, node, ANY), fieldKey(m, h, place)];
    }
    case BITS:
      slot = 8 * (byte - found.start[region]!);
      break;
    case RUN: {
      const list = m.u32[(h >>> 2) + 3]!;
      slot = rowOf(m, list, m.u32[(h >>> 2) + 1]!, byte - found.start[region]!);
      break;
    }
    case DATA: {
      const code = m.u8[h + 1]!;
      const rest = byte - valuesAt(m, h);
      if (rest < 0) slot = 8 * (byte - found.start[region]!);
      else if (found.role[node] === Role.Extras) slot = rest >>> 3;
      else slot = code === L.CELLS ? cellOf(rest) : code === L.BOOL ? 8 * rest : Math.floor(rest / L.WIDTHS[code]!);
    }
  }
  if (found.role[node] !== Role.Record && slot >= m.u32[(h >>> 2) + 1]!) slot = WHOLE;
  return pathOf(found, m, node, slot);
}

/** The array of a list that has element i: the last of `rows` that begins at or before it. */
function rowOf(m: Memory, list: number, rows: number, i: number): number {
  if (m.u8[list + 1] === 1) return Math.floor(i / m.u32[(list >>> 2) + 1]!);
  let low = 0;
  let high = rows;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (offsetAt(m, list, middle + 1) <= i) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The key of a column, by the header of its struct column. */
function fieldKey(m: Memory, struct: number, place: number): string {
  const table = m.u32[(struct >>> 2) + 3]!;
  return textAt(m, shapeKeys(m, m.u32[(table >>> 2) + 1]!) + 8 * place);
}

function pathOf(found: Found, m: Memory, node: number, slot: number): (string | null)[] {
  const { u32 } = m;
  if (node === NONE) return [];
  const [role, h, up, there] = [found.role[node], found.at[node]!, found.parent[node]!, found.parentSlot[node]!];
  switch (role) {
    case Role.Field:
      return [...pathOf(found, m, up, slot < 0 ? ANY : slot), fieldKey(m, found.at[up]!, there)];
    case Role.Elements: {
      if (slot < 0) return [...pathOf(found, m, up, ANY), ...(slot === ANY ? [null] : [])];
      const list = u32[(found.at[up]! >>> 2) + 3]!;
      const row = rowOf(m, list, u32[(found.at[up]! >>> 2) + 1]!, slot);
      return [...pathOf(found, m, up, row), String(slot - offsetAt(m, list, row))];
    }
    case Role.Beside:
      return pathOf(found, m, up, slot < 0 || slot >= u32[(found.at[up]! >>> 2) + 1]! ? ANY : slot);
    case Role.Extras:
      return pathOf(found, m, up, slot < 0 ? ANY : u32[(u32[(h >>> 2) + 3]! >>> 2) + 2 * slot + 1]!);
    case Role.Texts:
      return pathOf(found, m, up, ANY);
  }
  const path = pathOf(found, m, up, there);
  if (slot === WHOLE) return path;
  if (role === Role.Array) path.push(slot < 0 ? null : String(slot));
  else if (role === Role.Map) {
    const cell = u32[((h - L.MAP_VALUES) >>> 2) + 5]! + 8 * slot;
    path.push(slot < 0 || isHole(m, cell) ? null : textAt(m, cell));
  }
  if (role === Role.Record && slot >= 0) path.push(textAt(m, shapeKeys(m, u32[(h >>> 2) + 1]!) + 8 * slot));
  return path;
}

/** Bytes from a first one up to another, which is not among them. */
export type Range = [start: number, end: number];
/** Most ranges of one value; a value of more lights in part. */
const MOST = 4096;

/** The bytes of a value itself: of a container its block or its slots, and not what lies in other blocks below it. */
export function bytesOf(m: Memory, value: Cursor): Range[] {
  const ranges: Range[] = [];
  const { at, row } = value;
  if (value.home !== at && value.kind !== SCALAR && value.listRow < 0 && row < 0)
    ranges.push([value.home, value.home + 8]);
  if (value.kind === RECORD) ranges.push([at, at + 8 + L.cellsSize(m.u8[at + 1]!)]);
  else if (value.kind === ROW) fields(m, at, row, 1, ranges);
  else if (value.kind === ARRAY) {
    ranges.push([at, at + 16]);
    slots(m, at, value.first, value.count, ranges);
  } else if (value.kind === MAP) {
    const keys = m.u32[(at >>> 2) + 5]!;
    ranges.push([at, at + L.MAP_SIZE], [keys, keys + 8 * m.u32[(at >>> 2) + 9]!]);
    slots(m, at + L.MAP_VALUES, 0, m.u32[(at >>> 2) + 9]!, ranges);
  } else if (row >= 0) slots(m, at, row, 1, ranges);
  else {
    ranges.push([at, at + 8]);
    if (value.tag >= L.TEXT && value.tag < L.OBJECT_NODE)
      ranges.push([spanStart(m, at), spanStart(m, at) + spanLength(m, at)]);
  }
  return merged(ranges);
}

/** Sorted ranges, of which none touches the next. */
export function merged(ranges: Range[]): Range[] {
  const all: Range[] = [];
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = all[all.length - 1];
    if (end <= start) continue;
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else all.push([start, end]);
  }
  return all;
}

function fields(m: Memory, table: number, first: number, count: number, ranges: Range[]): void {
  const end = table + tableSize(m, table);
  for (let h = table + L.TABLE_SIZE; h < end; h += 16) slots(m, h, first, count, ranges);
}

/** The bytes of some slots of a column, of the columns within it, and of their texts. */
function slots(m: Memory, h: number, first: number, count: number, ranges: Range[]): void {
  const code = m.u8[h + 1]!;
  const data = m.u32[(h >>> 2) + 3]!;
  if (data === 0 || count === 0 || ranges.length > MOST) return;
  const run = (start: number, width: number): void => {
    ranges.push([start + Math.floor(first * width), start + Math.ceil((first + count) * width)]);
  };
  if (m.u8[h + 2] !== 0) run(isNested(code) ? m.u32[(data >>> 2) + 2]! : data, 1 / 8);
  const values = valuesAt(m, h);
  if (isNested(code)) {
    if (code === L.STRUCT) fields(m, data, first, count, ranges);
    else {
      if (m.u8[data + 1] === 0) slots(m, data + L.LIST_OFFSETS, first, count + 1, ranges);
      const from = offsetAt(m, data, first);
      slots(m, data + L.LIST_ELEMENTS, from, offsetAt(m, data, first + count) - from, ranges);
    }
    return;
  }
  if (code === L.CELLS) {
    const [from, to] = [L.tagAt(first), L.cellAt(first + count - 1) + 8];
    if (count === 1) ranges.push([data + from, data + from + 1], [data + to - 8, data + to]);
    else ranges.push([data + from, data + to]);
  } else run(values, code === L.BOOL ? 1 / 8 : L.WIDTHS[code]!);
  for (let i = first; i < first + count && ranges.length < MOST; i++) {
    let cell = values + 8 * i;
    if (code === L.CELLS) {
      cell = data + L.cellAt(i);
      const tag = m.u8[data + L.tagAt(i)]!;
      if (tag < L.TEXT || tag >= L.OBJECT_NODE) continue;
    } else if (code === L.DICTIONARY_U8 || code === L.DICTIONARY_U16) {
      const at = values + L.WIDTHS[code]! * i;
      const texts = values + L.word(L.WIDTHS[code]! * m.u32[(h >>> 2) + 2]!);
      cell = m.u32[(texts >>> 2) + 3]! + 8 * (code === L.DICTIONARY_U8 ? m.u8[at]! : m.u8[at]! | (m.u8[at + 1]! << 8));
      ranges.push([cell, cell + 8]);
    } else if (code !== L.TEXTS) return;
    ranges.push([spanStart(m, cell), spanStart(m, cell) + spanLength(m, cell)]);
  }
}
