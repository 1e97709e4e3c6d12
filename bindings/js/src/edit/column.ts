// Columns that are edited (FORMAT 6): slots are opened, closed, set and put in order, in every kind of column.

import { ARRAYS_OF } from "../column.js";
import { damage, LivebufError } from "../error.js";
import { hashOf, isKey, Key, spanLength, spanStart } from "../key.js";
import * as L from "../layout.js";
import type { Memory } from "../memory.js";
import {
  Cursor,
  columnsOf,
  dictionaryTexts,
  findInShape,
  half,
  isNested,
  offsetAt,
  resolve,
  shapeKeys,
  tensorAt,
  valuesAt,
} from "../read.js";
import { endRows, endViews, moveRows, moveView, showMembers } from "../view.js";
import { Fresh, floatOf, intOf, liftAt, setFloat } from "./fresh.js";
import { dropShell, freeObject, freeShape, keysBelow, membersBelow, storeObject } from "./object.js";
import { alloc, extend, free, freeSpan } from "./space.js";

/** Where a list column becomes one of arrays, or a run one of text, instead of moving more than so many bytes. */
const MOST_MOVED = 65_536;

/** From so many rows' extra objects the size of all of them is estimated before an edit. */
const LOOK = 32;

const count = (m: Memory, header: number): number => m.u32[(header >>> 2) + 1]!;
const capacity = (m: Memory, header: number): number => m.u32[(header >>> 2) + 2]!;
const dataOf = (m: Memory, header: number): number => m.u32[(header >>> 2) + 3]!;

/** Whether the arrays of a list or the texts of a run are equally long, so that it has no offsets. */
const isFixed = (m: Memory, list: number): boolean => m.u8[list + 1] === 1;

/** Whether the numbers of a column are those of a tensor, whose type stays (FORMAT 6.6). */
export const isTensor = (m: Memory, header: number): boolean => m.u8[header + 3] === 1;

/** Bytes of the values of c slots, marks and a dictionary's header among them. */
function valuesSize(code: number, c: number): number {
  if (code === L.CELLS) return L.cellsSize(c);
  if (code === L.BOOL) return L.bitmapSize(c);
  const size = L.word(L.WIDTHS[code]! * c);
  return L.isMarked(code) ? size + L.bitmapSize(c) : L.isDictionary(code) ? size + 16 : size;
}

// --- Planes: a column has one or more runs of bits, of bytes, or of cells, with a part for each slot.

export const CELL_BITS = 72;
type Plane = [bits: number, start: number];

function planes(m: Memory, header: number): Plane[] {
  const code = m.u8[header + 1]!;
  const gaps = m.u8[header + 2]!;
  const c = capacity(m, header);
  const found: Plane[] = [];
  let start = dataOf(m, header);
  if (c === 0) return found;
  if (code === L.CELLS) return [[CELL_BITS, start]];
  const nested = isNested(code);
  if (gaps !== 0) {
    if (nested) start = m.u32[(start >>> 2) + 2]!;
    found.push([1, start]);
    if (gaps === 3) found.push([1, start + L.bitmapSize(c)]);
    start += L.bitmapsSize(gaps, c);
  }
  if (nested) return found;
  const width = L.WIDTHS[code]!;
  if (width > 0) found.push([8 * width, start]);
  if (code === L.BOOL) found.push([1, start]);
  if (L.isMarked(code)) found.push([1, start + L.word(width * c)]);
  return found;
}

const bitAt = (u8: Uint8Array, start: number, i: number): number => (u8[start + (i >>> 3)]! >>> (i & 7)) & 1;

function setBit(u8: Uint8Array, start: number, i: number, bit: number): void {
  const at = start + (i >>> 3);
  u8[at] = (u8[at]! & ~(1 << (i & 7))) | (bit << (i & 7));
}

/** Copies the parts of n slots from a plane to another of as many bits, or within one. */
export function copyPart(m: Memory, bits: number, from: number, i: number, to: number, j: number, n: number): void {
  const { u8, u32 } = m;
  if (bits === 1 || bits === CELL_BITS) {
    if (i === 0 && j === 0 && n > 1) {
      // All slots, behind which there are zeros.
      u8.copyWithin(to, from, from + (bits === 1 ? Math.ceil(n / 8) : L.cellsSize(n)));
      return;
    }
    const back = j > i;
    for (let k = 0; k < n; k++) {
      const [a, b] = back ? [i + n - 1 - k, j + n - 1 - k] : [i + k, j + k];
      if (bits === 1) setBit(u8, to, b, bitAt(u8, from, a));
      else {
        u8[to + L.tagAt(b)] = u8[from + L.tagAt(a)]!;
        const [source, target] = [(from + L.cellAt(a)) >>> 2, (to + L.cellAt(b)) >>> 2];
        u32[target] = u32[source]!;
        u32[target + 1] = u32[source + 1]!;
      }
    }
    return;
  }
  const width = bits >>> 3;
  u8.copyWithin(to + width * j, from + width * i, from + width * (i + n));
}

/** Makes the parts of n slots zeros. */
export function zeroPart(m: Memory, bits: number, start: number, i: number, n: number): void {
  const { u8 } = m;
  if (bits === 1) for (let k = i; k < i + n; k++) setBit(u8, start, k, 0);
  else if (bits === CELL_BITS) {
    for (let k = i; k < i + n; k++) {
      u8[start + L.tagAt(k)] = 0;
      m.u32[(start + L.cellAt(k)) >>> 2] = 0;
      m.u32[((start + L.cellAt(k)) >>> 2) + 1] = 0;
    }
  } else u8.fill(0, start + (bits >>> 3) * i, start + (bits >>> 3) * (i + n));
}

/** Gives a column another capacity, other gaps, or codes of a dictionary two bytes instead of one. */
function relayout(m: Memory, header: number, code: number, gaps: number, c: number): void {
  const h = header >>> 2;
  const [code0, gaps0, c0] = [m.u8[header + 1]!, m.u8[header + 2]!, capacity(m, header)];
  const n = count(m, header);
  const nested = isNested(code);
  const before = planes(m, header);
  const old = nested ? m.u32[(dataOf(m, header) >>> 2) + 2]! : dataOf(m, header);
  const size = L.bitmapsSize(gaps, c) + (nested ? 0 : c === 0 ? 0 : valuesSize(code, c));
  const block = size === 0 ? 0 : alloc(m, size);
  const { u8, u32 } = m;
  u8[header + 1] = code;
  u8[header + 2] = gaps;
  u32[h + 2] = c;
  if (nested) u32[(dataOf(m, header) >>> 2) + 2] = block;
  else u32[h + 3] = block;
  const after = planes(m, header);
  const bitmaps = (g: number): number => (g === 0 ? 0 : g === 3 ? 2 : 1);
  let from = c0 === 0 ? 0 : bitmaps(gaps0);
  let to = c === 0 ? 0 : bitmaps(gaps);
  for (; from < before.length && to < after.length; from++, to++) {
    const [bits, start] = before[from]!;
    if (code !== code0 && to === after.length - 1)
      for (let i = 0; i < n; i++) u8[after[to]![1] + 2 * i] = u8[start + i]!;
    else copyPart(m, bits, start, 0, after[to]![1], 0, n);
  }
  if (gaps !== 0 && c > 0) {
    const start = after[0]![1];
    if (gaps0 === 0) for (let i = 0; i < n; i++) setBit(u8, start, i, 1);
    else if (c0 > 0) {
      copyPart(m, 1, before[0]![1], 0, start, 0, n);
      if (gaps0 === 3) copyPart(m, 1, before[1]![1], 0, after[1]![1], 0, n);
      // What had no value was null.
      if (gaps0 === 1 && gaps === 3) for (let i = 0; i < n; i++) setBit(u8, after[1]![1], i, 1 - bitAt(u8, start, i));
    }
  }
  if (L.isDictionary(code)) {
    const texts = (at: number, g: number, cc: number, wide: boolean): number =>
      at + L.bitmapsSize(g, cc) + L.word((wide ? 2 : 1) * cc);
    const there = texts(old, gaps0, c0, code0 === L.DICTIONARY_U16);
    u8.copyWithin(texts(block, gaps, c, code === L.DICTIONARY_U16), there, there + 16);
  }
  if (old !== 0) free(m, old, L.bitmapsSize(gaps0, c0) + (nested || c0 === 0 ? 0 : valuesSize(code0, c0)));
}

/** Makes room for n slots. */
function makeRoom(m: Memory, header: number, n: number): void {
  const c = capacity(m, header);
  const code = m.u8[header + 1]!;
  const gaps = m.u8[header + 2]!;
  if (n <= c) return;
  if (isNested(code) && gaps === 0) return;
  const size = valuesSize(code, c);
  const single = gaps === 0 && !L.isMarked(code) && !L.isDictionary(code);
  if (single && c > 0 && dataOf(m, header) + size === m.used) {
    // The data ends the document, and grows in place.
    const more = n + (n >>> 4);
    extend(m, valuesSize(code, more) - size);
    m.u32[(header >>> 2) + 2] = more;
    return;
  }
  relayout(m, header, code, gaps, Math.ceil(Math.max(n, (count(m, header) * 3) / 2) / 8) * 8);
}

/** The headers of a table's columns, those of the orders among them: from where, and how many. */
const headersOf = (m: Memory, table: number): number => columnsOf(m, table) + m.u8[table + 1]!;

/** Opens n slots without a value, and leaves them for {@link put}. */
export function openSlots(m: Memory, header: number, at: number, n: number): void {
  if (n === 0) return;
  const old = count(m, header);
  const code = m.u8[header + 1]!;
  makeRoom(m, header, old + n);
  m.u32[(header >>> 2) + 1] = old + n;
  if (at < old) {
    for (const [bits, start] of planes(m, header)) {
      copyPart(m, bits, start, at, start, at + n, old - at);
      zeroPart(m, bits, start, at, n);
    }
  }
  if (!isNested(code)) return;
  if (m.u8[header + 2] === 0) m.u32[(header >>> 2) + 2] = old + n;
  const data = dataOf(m, header);
  if (code === L.STRUCT) {
    const k = headersOf(m, data);
    for (let j = 0; j < k; j++) openSlots(m, data + L.TABLE_SIZE + 16 * j, at, n);
    shiftExtras(m, data, at, n);
    if (at < old) moveRows(m, data, (row) => (row < at ? row : row + n));
    return;
  }
  if (at < old) moveRows(m, data, (row) => (row < at ? row : row + n));
  if (isFixed(m, data)) {
    const l = m.u32[(data >>> 2) + 1]!;
    openSlots(m, data + L.LIST_ELEMENTS, at * l, n * l);
    return;
  }
  const value = offsetAt(m, data, at);
  openSlots(m, data + L.LIST_OFFSETS, at, n);
  offsetsOf(m, data).fill(value, at, at + n);
}

/** The offsets of a list or a run, of whatever width they are. */
function offsetsOf(m: Memory, list: number): Uint32Array {
  const header = list + L.LIST_OFFSETS;
  const made = ARRAYS_OF[m.u8[header + 1]!]!;
  return new made(m.u8.buffer, m.u8.byteOffset + dataOf(m, header), count(m, header)) as Uint32Array;
}

/** Adds to the offsets from number i on. */
function addOffsets(m: Memory, list: number, i: number, more: number): void {
  const header = list + L.LIST_OFFSETS;
  const n = count(m, header);
  const code = m.u8[header + 1]!;
  const most = offsetAt(m, list, n - 1) + more;
  if ((code === L.U8 && most > 0xff) || (code === L.U16 && most > 0xffff)) {
    convert(m, header, most > 0xffff ? L.U32 : L.U16);
  }
  const offsets = offsetsOf(m, list);
  for (; i < n; i++) offsets[i]! += more;
}

/** Numbers the extras of rows anew, from a row on (FORMAT 6.3). */
function shiftExtras(m: Memory, table: number, from: number, by: number): void {
  const extras = m.u32[(table >>> 2) + 4]!;
  if (extras === 0) return;
  const data = dataOf(m, extras) >>> 2;
  for (let i = count(m, extras) - 1; i >= 0; i--) {
    if (m.u32[data + 2 * i + 1]! < from) break;
    m.u32[data + 2 * i + 1]! += by;
  }
}

/** The first of the extras whose row is not below this one. */
function findExtra(m: Memory, extras: number, row: number): number {
  const data = dataOf(m, extras) >>> 2;
  let low = 0;
  let high = count(m, extras);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (m.u32[data + 2 * middle + 1]! < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Gives a row an extra object. */
export function addExtra(m: Memory, table: number, row: number, home: number): void {
  let extras = m.u32[(table >>> 2) + 4]!;
  if (extras === 0) {
    extras = alloc(m, 16);
    m.u8[extras] = L.ARRAY;
    m.u8[extras + 1] = L.U64;
    m.u32[(table >>> 2) + 4] = extras;
  }
  const i = findExtra(m, extras, row);
  openSlots(m, extras, i, 1);
  const data = dataOf(m, extras) >>> 2;
  m.u32[data + 2 * i] = home;
  m.u32[data + 2 * i + 1] = row;
}

/** Takes the extra objects of n rows away. With `shells`, what is in them is elsewhere already. */
function dropExtras(m: Memory, table: number, row: number, n: number, shells: boolean): void {
  const extras = m.u32[(table >>> 2) + 4]!;
  if (extras === 0) return;
  const [from, to] = [findExtra(m, extras, row), findExtra(m, extras, row + n)];
  for (let i = from; i < to; i++) {
    const home = m.u32[(dataOf(m, extras) >>> 2) + 2 * i]!;
    if (shells) dropShell(m, home);
    else freeObject(m, home);
  }
  shut(m, extras, from, to - from);
}

/** Frees the values of n slots: they are as if they had just been opened. */
export function clear(m: Memory, header: number, at: number, n: number): void {
  if (n <= 0) return;
  const code = m.u8[header + 1]!;
  const data = dataOf(m, header);
  const end = at + n;
  switch (code) {
    case L.CELLS:
      for (let i = at; i < end; i++) {
        const tag = m.u8[data + L.tagAt(i)]!;
        if (tag >= L.TEXT) freeCell(m, tag, data + L.cellAt(i));
      }
      break;
    case L.TEXTS: {
      const values = valuesAt(m, header);
      for (let i = at; i < end; i++) freeCell(m, L.TEXT, values + 8 * i);
      break;
    }
    case L.OBJECTS:
    case L.ARRAYS: {
      const values = valuesAt(m, header) >>> 2;
      for (let i = at; i < end; i++) {
        const home = m.u32[values + i]!;
        if (home === 0) continue;
        if (code === L.OBJECTS) freeObject(m, home);
        else freeArray(m, home);
      }
      break;
    }
    case L.STRUCT: {
      const k = headersOf(m, data);
      for (let j = 0; j < k; j++) clear(m, data + L.TABLE_SIZE + 16 * j, at, n);
      dropExtras(m, data, at, n, false);
      endRows(m, data, at, n);
      break;
    }
    case L.LISTS:
    case L.FIXED_LISTS:
    case L.RUN: {
      endRows(m, data, at, n);
      if (isFixed(m, data)) {
        const l = m.u32[(data >>> 2) + 1]!;
        clear(m, data + L.LIST_ELEMENTS, at * l, n * l);
        break;
      }
      const [a, b] = [offsetAt(m, data, at), offsetAt(m, data, end)];
      closeSlots(m, data + L.LIST_ELEMENTS, a, b - a);
      if (b > a) {
        offsetsOf(m, data).fill(a, at + 1, end);
        addOffsets(m, data, end, a - b);
      }
    }
  }
  for (const [bits, start] of planes(m, header)) zeroPart(m, bits, start, at, n);
}

/** Removes n slots that have no values any more. */
function shut(m: Memory, header: number, at: number, n: number): void {
  if (n <= 0) return;
  const old = count(m, header);
  const end = at + n;
  for (const [bits, start] of planes(m, header)) {
    copyPart(m, bits, start, end, start, at, old - end);
    zeroPart(m, bits, start, old - n, n);
  }
  const left = old - n;
  m.u32[(header >>> 2) + 1] = left;
  const code = m.u8[header + 1]!;
  const gaps = m.u8[header + 2]!;
  if (isNested(code) && gaps === 0) m.u32[(header >>> 2) + 2] = left;
  else if (capacity(m, header) >= Math.max(64, 4 * left)) {
    // Most of the room is given back.
    relayout(m, header, code, gaps, L.word(Math.max(8, 2 * left)));
  }
  if (!isNested(code)) return;
  const data = dataOf(m, header);
  if (code === L.STRUCT) {
    const k = headersOf(m, data);
    for (let j = 0; j < k; j++) shut(m, data + L.TABLE_SIZE + 16 * j, at, n);
    shiftExtras(m, data, end, -n);
  } else if (isFixed(m, data)) {
    const l = m.u32[(data >>> 2) + 1]!;
    shut(m, data + L.LIST_ELEMENTS, at * l, n * l);
  } else shut(m, data + L.LIST_OFFSETS, at, n);
  if (end < old) moveRows(m, data, (row) => (row < end ? row : row - n));
}

/** Removes n slots and their values. */
export function closeSlots(m: Memory, header: number, at: number, n: number): void {
  clear(m, header, at, n);
  shut(m, header, at, n);
}

/** Makes slots that were cleared null or missing, and all below them missing (FORMAT 6.2). */
function absent(m: Memory, header: number, at: number, n: number, tag: number): void {
  if (n === 0) return;
  const code = m.u8[header + 1]!;
  if (code === L.CELLS) {
    for (let i = at; i < at + n; i++) m.u8[dataOf(m, header) + L.tagAt(i)] = tag;
    return;
  }
  const gaps = m.u8[header + 2]! | (tag === L.NULL ? 1 : 2);
  // Slots that were opened, and have no value yet, are marked as if they had one.
  if (gaps !== m.u8[header + 2]) relayout(m, header, code, gaps, Math.max(capacity(m, header), count(m, header)));
  const [value, nulls] = planes(m, header);
  for (let i = at; i < at + n; i++) {
    setBit(m.u8, value![1], i, 0);
    if (gaps === 3) setBit(m.u8, nulls![1], i, tag === L.NULL ? 1 : 0);
  }
  const data = dataOf(m, header);
  if (code === L.STRUCT) {
    const k = headersOf(m, data);
    for (let j = 0; j < k; j++) absent(m, data + L.TABLE_SIZE + 16 * j, at, n, L.NOTHING);
  } else if (code === L.FIXED_LISTS && !isTensor(m, data + L.LIST_ELEMENTS)) {
    const l = m.u32[(data >>> 2) + 1]!;
    absent(m, data + L.LIST_ELEMENTS, at * l, n * l, L.NOTHING);
  }
}

// --- Values

/** Frees the value of a cell, whose bits stay as they are. */
export function freeCell(m: Memory, tag: number, cell: number): void {
  const [lo, hi] = [m.u32[cell >>> 2]!, m.u32[(cell >>> 2) + 1]!];
  if (tag < L.TEXT) return;
  if (tag < L.OBJECT_NODE) freeSpan(m, lo, hi);
  else if (tag === L.OBJECT_NODE) freeObject(m, lo);
  else freeArray(m, lo);
}

/** Frees the block of a node, and a forward to it. */
export function freeNode(m: Memory, home: number, block: number, size: number): void {
  free(m, block, size);
  if (block !== home) free(m, home, 8);
  endViews(m, home);
}

function freeArray(m: Memory, home: number): void {
  const block = resolve(m, home);
  clear(m, block, 0, count(m, block));
  freeStorage(m, block);
  freeNode(m, home, block, 16);
}

/** Frees all that a column takes but its header. Its values were freed, or are elsewhere. */
export function freeStorage(m: Memory, header: number): void {
  const code = m.u8[header + 1]!;
  const gaps = m.u8[header + 2]!;
  const c = capacity(m, header);
  const data = dataOf(m, header);
  if (!isNested(code)) {
    if (L.isDictionary(code)) freeStorage(m, dictionaryTexts(m, header));
    if (c > 0) free(m, data, L.bitmapsSize(gaps, c) + valuesSize(code, c));
    return;
  }
  free(m, m.u32[(data >>> 2) + 2]!, L.bitmapsSize(gaps, c));
  endViews(m, data);
  if (code === L.STRUCT) {
    const k = headersOf(m, data);
    for (let j = 0; j < k; j++) freeStorage(m, data + L.TABLE_SIZE + 16 * j);
    dropExtras(m, data, 0, count(m, header), true);
    const extras = m.u32[(data >>> 2) + 4]!;
    if (extras !== 0) {
      freeStorage(m, extras);
      free(m, extras, 16);
    }
    const shape = m.u32[(data >>> 2) + 1]!;
    free(m, data, L.TABLE_SIZE + 16 * k);
    freeShape(m, shape);
    return;
  }
  freeStorage(m, data + L.LIST_ELEMENTS);
  if (isFixed(m, data)) free(m, data, 32);
  else {
    freeStorage(m, data + L.LIST_OFFSETS);
    free(m, data, 48);
  }
}

/** Writes what a value's cell does not hold yet; then its cell is ready. */
export function settle(m: Memory, node: Fresh): void {
  if (node.tag < L.TEXT) return;
  const { bytes } = node;
  if (node.tag === L.ARRAY_NODE && (node.items !== null || node.tensor !== null)) node.lo = storeArray(m, node);
  else if (node.items !== null) node.lo = storeObject(m, node);
  else if (bytes !== null) {
    const at = alloc(m, bytes.length);
    m.u8.set(bytes, at);
    node.lo = at;
    node.hi = bytes.length | 0x40000000;
    node.bytes = null;
    return;
  } else return;
  if (node.view !== undefined) moveView(m, node.view, node.lo, -1);
  node.items = null;
  node.tensor = null;
}

/** Puts a value in place of another that has a tag and a cell. */
export function putCell(m: Memory, tagAt: number, cell: number, node: Fresh): void {
  replace(m, m.u8[tagAt]!, cell, node);
  m.u8[tagAt] = node.tag;
}

function replace(m: Memory, old: number, cell: number, node: Fresh): void {
  const at = cell >>> 2;
  const { bytes } = node;
  const [lo, hi] = [m.u32[at]!, m.u32[at + 1]!];
  if (old >= L.TEXT) {
    if (bytes !== null && old < L.OBJECT_NODE && node.tag < L.OBJECT_NODE && hi >>> 30 === 1 && (lo & 7) === 0) {
      const [room, size] = [L.word(hi & 0x3fffffff), L.word(bytes.length)];
      if (size <= room && 2 * size >= room) {
        // A text goes over the old one.
        m.u8.set(bytes, lo);
        m.u8.fill(0, lo + bytes.length, lo + size);
        m.u32[at + 1] = bytes.length | 0x40000000;
        if (room > size) free(m, lo + size, room - size);
        return;
      }
    }
    freeCell(m, old, cell);
  }
  settle(m, node);
  m.u32[at] = node.lo;
  m.u32[at + 1] = node.hi;
}

/** A new array by itself. */
function storeArray(m: Memory, node: Fresh): number {
  const home = alloc(m, 16);
  m.u8[home] = L.ARRAY;
  if (node.tensor !== null) storeTensor(m, home, node);
  else fill(m, home, node.items!);
  return home;
}

function storeTensor(m: Memory, header: number, node: Fresh): void {
  const { code, lengths, views } = node.tensor!;
  let owner = header;
  let n = 1;
  for (let dimension = 1; dimension <= lengths.length; dimension++) {
    const h = header >>> 2;
    const last = dimension === lengths.length;
    n *= lengths[dimension - 1]!;
    m.u8[header] = L.ARRAY;
    m.u8[header + 1] = last ? code : L.FIXED_LISTS;
    m.u8[header + 3] = 1;
    m.u32[h + 1] = m.u32[h + 2] = n;
    if (last) {
      if (n === 0) return;
      const data = alloc(m, valuesSize(code, n));
      m.u32[h + 3] = data;
      m.u8.set(node.bytes!, data);
      return;
    }
    const list = alloc(m, 32);
    m.u8[list] = L.LIST;
    m.u8[list + 1] = 1;
    m.u32[(list >>> 2) + 1] = lengths[dimension]!;
    m.u32[(list >>> 2) + 3] = owner;
    m.u32[h + 3] = list;
    for (const view of views) if (view.dimension === dimension) moveView(m, view.state, list, view.row);
    owner = list;
    header = list + L.LIST_ELEMENTS;
  }
}

/** Gives an array without elements a column of these values. */
export function fill(m: Memory, header: number, items: Fresh[]): void {
  const n = items.length;
  if (n === 0) return;
  let code = -1;
  let gaps = 0;
  for (const item of items) {
    if (item.tag === L.NULL) gaps = 1;
    else code = joined(code, codeOf(item), items);
  }
  if (code < 0) code = L.NULLS;
  if (code === L.CELLS) gaps = 0;
  const data = alloc(m, L.bitmapsSize(gaps, n) + valuesSize(code, n));
  m.u8[header + 1] = code;
  m.u8[header + 2] = gaps;
  const h = header >>> 2;
  m.u32[h + 1] = n;
  m.u32[h + 2] = n;
  m.u32[h + 3] = data;
  for (let i = 0; i < n; i++) putNew(m, header, i, items[i]!);
}

/** The columns of first elements, by their immediate tags. */
const CODES = [
  L.CELLS,
  L.NULLS,
  L.BOOL,
  L.BOOL,
  L.I64,
  L.U64,
  L.F64,
  L.DECIMALS,
  L.TIMESTAMPS,
  L.DATES,
  L.TIMES,
  L.DATE_TIMES,
];

/** The column of a first element. */
function codeOf({ tag }: Fresh): number {
  if (tag === L.TEXT) return L.TEXTS;
  if (tag === L.UUID) return L.UUIDS;
  if (tag >= L.OBJECT_NODE) return tag === L.OBJECT_NODE ? L.OBJECTS : L.ARRAYS;
  return CODES[tag] ?? L.CELLS;
}

function joined(a: number, b: number, items: Fresh[]): number {
  if (a < 0 || a === b) return b;
  const numbers = (code: number): boolean => code === L.I64 || code === L.F64 || code === L.MARKED_F64;
  if (!numbers(a) || !numbers(b)) return L.CELLS;
  return items.every((item) => item.tag !== L.INT || isSafe(item)) ? L.MARKED_F64 : L.CELLS;
}

/** Whether a float holds an integer exactly. One beyond 2⁵³ may be rounded to it, and has other bits. */
const isSafe = (node: Fresh): boolean => Math.abs(intOf(node)) <= 2 ** 53 - (node.lo === 0 ? 0 : 1);

/** Whether a float is a whole number, which a column of both would take for an integer. */
const isWhole = (x: number, bound: number): boolean => Number.isInteger(x) && !Object.is(x, -0) && Math.abs(x) <= bound;

/** The code that a column must have to hold a value; the one that it has, if it does. */
function codeFor(m: Memory, header: number, node: Fresh): number {
  const code = m.u8[header + 1]!;
  const { tag } = node;
  if (code === L.CELLS) return code;
  if (code === L.NULLS) return codeOf(node);
  if (tag === L.TEXT) return code === L.TEXTS || code === L.RUN || L.isDictionary(code) ? code : L.CELLS;
  if (tag === L.OBJECT_NODE) return code === L.STRUCT || code === L.OBJECTS ? code : L.CELLS;
  if (tag === L.ARRAY_NODE) {
    if (code !== L.LISTS && code !== L.FIXED_LISTS) return code === L.ARRAYS ? code : L.CELLS;
    const list = dataOf(m, header);
    if (isTensor(m, list + L.LIST_ELEMENTS)) return takesBytes(m, header, node) ? code : L.ARRAYS;
    const fixed = code === L.FIXED_LISTS && node.items?.length !== m.u32[(list >>> 2) + 1]!;
    // What has a home is not taken apart, and a tensor stays one.
    return node.items === null || fixed ? L.ARRAYS : code;
  }
  const integers = code >= L.I8 && code <= L.U64;
  if (tag === L.UINT) return code === L.U64 ? code : code >= L.U8 && code <= L.U32 ? L.U64 : L.CELLS;
  if (tag === L.INT) {
    if (node.loose && (code === L.F64 || code === L.F32)) {
      setFloat(node, intOf(node));
      return codeFor(m, header, node);
    }
    if (integers) {
      if (code === L.I64) return code;
      if (code === L.U64) return node.hi < 0x80000000 ? code : L.CELLS;
      // As many values as the width has, half of them below 0 if there are such.
      const all = 2 ** (8 * L.WIDTHS[code]!);
      const value = intOf(node) + (code < L.U8 ? all / 2 : 0);
      return value >= 0 && value < all ? code : L.I64;
    }
    if (!isSafe(node)) return L.CELLS;
    if (code < L.F32 || code > L.MARKED_F64 || (code > L.F64 && code < L.NUMBERS_F32)) return L.CELLS;
    const narrow = code === L.NUMBERS_F32 || code === L.MARKED_F32;
    const holds = narrow ? Math.abs(intOf(node)) <= 2 ** 24 : code >= L.NUMBERS_F64;
    return holds ? code : L.MARKED_F64;
  }
  if (tag === L.FLOAT) {
    const x = floatOf(node);
    const narrow = !Number.isNaN(x) && Object.is(Math.fround(x), x);
    if (integers) {
      for (let i = count(m, header) - 1; i >= 0 && (code === L.I64 || code === L.U64); i--) {
        const at = (valuesAt(m, header) + 8 * i) >>> 2;
        const top = code === L.I64 ? m.u32[at + 1]! | 0 : m.u32[at + 1]!;
        if (top >= 2 ** 21 || top < -(2 ** 21)) return L.CELLS;
      }
      return L.MARKED_F64;
    }
    switch (code) {
      case L.F64:
      case L.MARKED_F64:
        return code;
      case L.F32:
        return narrow ? code : L.F64;
      case L.MARKED_F32:
        return narrow ? code : L.MARKED_F64;
      case L.NUMBERS_F32:
        return narrow && !isWhole(x, 2 ** 24) ? code : L.MARKED_F64;
      case L.NUMBERS_F64:
        return isWhole(x, 2 ** 53) ? L.MARKED_F64 : code;
      default:
        return L.CELLS;
    }
  }
  return codeOf(node) === code ? code : L.CELLS;
}

/** Whether a slot takes a value as the column is, a tensor or one of numbers, so that no byte more is needed. */
export function takesNumber(m: Memory, header: number, node: Fresh): boolean {
  if (isTensor(m, header)) return true;
  const code = m.u8[header + 1]!;
  return code in ARRAYS_OF && code <= L.MARKED_F64 && node.tag > L.NULL && codeFor(m, header, node) === code;
}

/** Whether a list's slot takes a tensor, its bytes as they are: one of the type and the lengths of those that are there. */
function takesBytes(m: Memory, header: number, { tensor }: Fresh): boolean {
  const { lengths, header: numbers } = tensorAt(m, header, 0, 1);
  return tensor?.code === m.u8[numbers + 1] && `1,${tensor!.lengths}` === `${lengths}`;
}

/** Whether a tensor's slot takes a value (EDITING 11); numbers are made what it stores. */
function fitsTensor(m: Memory, header: number, node: Fresh): boolean {
  const code = m.u8[header + 1]!;
  if (code === L.FIXED_LISTS) {
    if (takesBytes(m, header, node)) return true;
    if (node.tensor !== null) {
      // Numbers of another type are taken one by one.
      node.tag = L.ARRAY_NODE;
      node.items = node.tensor.items();
      node.tensor = node.bytes = null;
    }
    const list = dataOf(m, header);
    return (
      node.tag === L.ARRAY_NODE &&
      node.items?.length === m.u32[(list >>> 2) + 1]! &&
      node.items.every((item) => fitsTensor(m, list + L.LIST_ELEMENTS, item))
    );
  }
  if (code === L.BOOL8) return node.tag === L.TRUE || node.tag === L.FALSE;
  if (code === L.F16 || code === L.F32 || code === L.F64) {
    const bits = code === L.F16 ? 11 : code === L.F32 ? 24 : 53;
    if (node.tag === L.INT && (node.loose || (isSafe(node) && Math.abs(intOf(node)) <= 2 ** bits)))
      setFloat(node, intOf(node));
    if (node.tag !== L.FLOAT) return false;
    const x = floatOf(node);
    const rounded = code === L.F16 ? half(toHalf(x)) : code === L.F32 ? Math.fround(x) : x;
    return Number.isFinite(rounded) || !Number.isFinite(x);
  }
  return (node.tag === L.INT || node.tag === L.UINT) && codeFor(m, header, node) === code;
}

/** The bits of the float of 16 bits that is nearest, of two the even one. */
function toHalf(x: number): number {
  const size = Math.abs(x);
  const sign = Object.is(x, size) ? 0 : 0x8000;
  if (Number.isNaN(x)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(Math.floor(Math.log2(size)), -14);
  // A sum from 2⁵² on is rounded to a whole number.
  const whole = size / 2 ** (exponent - 10) + 2 ** 52 - 2 ** 52;
  // Where it is rounded up to the next power, the carry goes into the exponent.
  return sign | (whole + (exponent + 14) * 1024);
}

/**
 * Refuses what a tensor does not take, before anything is changed: values that do not fit, and for an array in a list, which
 * keeps its length and its order, all that is not `overwritten`.
 */
export function checkTensor(m: Memory, { at, listRow }: Cursor, items: Fresh[], overwritten: boolean): void {
  if (!isTensor(m, at)) return;
  if ((overwritten || listRow < 0) && items.every((item) => fitsTensor(m, at, item))) return;
  throw new LivebufError(
    "TensorMismatch",
    "a tensor keeps its type and the lengths of its elements; replace it as a whole",
  );
}

/** Sets a slot of a column to a value, or null, or makes it missing. One that is empty has nothing to free. */
export function put(m: Memory, header: number, slot: number, node: Fresh, empty = false): void {
  if (node.tag <= L.NULL) {
    // An empty slot, too: it has a value if the column was converted since it was opened.
    clear(m, header, slot, 1);
    absent(m, header, slot, 1, node.tag);
    return;
  }
  if (!isTensor(m, header)) {
    const code = codeFor(m, header, node);
    if (code !== m.u8[header + 1]) {
      clear(m, header, slot, 1);
      convert(m, header, code, slot);
    }
  }
  const code = m.u8[header + 1]!;
  if (code === L.STRUCT) putRow(m, header, slot, node, empty);
  else if (code === L.LISTS || code === L.FIXED_LISTS) putList(m, header, slot, node, empty);
  else if (code === L.RUN) putRun(m, header, slot, node);
  else if (L.isDictionary(code)) putText(m, header, slot, node);
  else putNew(m, header, slot, node);
}

/** Writes a value that the column holds as it is; what was there is freed. Null is for slots that were empty. */
function putNew(m: Memory, header: number, slot: number, node: Fresh): void {
  const code = m.u8[header + 1]!;
  if (code === L.CELLS) {
    const data = dataOf(m, header);
    putCell(m, data + L.tagAt(slot), data + L.cellAt(slot), node);
    return;
  }
  if (node.tag <= L.NULL) {
    absent(m, header, slot, 1, node.tag);
    return;
  }
  if (code === L.TEXTS) replace(m, L.TEXT, valuesAt(m, header) + 8 * slot, node);
  else if (code === L.OBJECTS || code === L.ARRAYS) {
    const at = valuesAt(m, header) + 4 * slot;
    const old = m.u32[at >>> 2]!;
    if (old !== 0) {
      if (code === L.OBJECTS) freeObject(m, old);
      else freeArray(m, old);
    }
    settle(m, node);
    m.u32[at >>> 2] = node.lo;
  } else writeNumber(m, header, code, slot, node);
  setValue(m, header, slot);
}

/** Says that a slot has a value. */
function setValue(m: Memory, header: number, slot: number): void {
  const gaps = m.u8[header + 2]!;
  if (gaps === 0) return;
  const [value, nulls] = planes(m, header);
  setBit(m.u8, value![1], slot, 1);
  if (gaps === 3) setBit(m.u8, nulls![1], slot, 0);
}

const scratch = new DataView(new ArrayBuffer(4));

function writeNumber(m: Memory, header: number, code: number, slot: number, node: Fresh): void {
  const { u8, u32 } = m;
  const values = valuesAt(m, header);
  const width = L.WIDTHS[code]!;
  const at = values + width * slot;
  let { lo, hi } = node;
  if (code === L.BOOL) {
    setBit(u8, values, slot, node.tag - L.FALSE);
    return;
  }
  if (code === L.BOOL8) lo = node.tag - L.FALSE;
  if (code === L.UUIDS) {
    if (node.bytes !== null) u8.set(node.bytes, at);
    else {
      u8.copyWithin(at, lo, lo + 16);
      freeSpan(m, lo, hi);
    }
    return;
  }
  const marked = L.isMarked(code);
  if (marked || code === L.F32 || code === L.NUMBERS_F32 || code === L.NUMBERS_F64 || code === L.F16) {
    const x = node.tag === L.FLOAT ? floatOf(node) : intOf(node);
    const float = node.tag === L.FLOAT;
    if (width === 8) ({ lo, hi } = setFloat(new Fresh(0), x));
    else if (code === L.F16) lo = toHalf(x);
    else {
      scratch.setFloat32(0, x);
      lo = scratch.getUint32(0);
    }
    if (marked) setBit(u8, values + L.word(width * capacity(m, header)), slot, float && Number.isInteger(x) ? 1 : 0);
  }
  if (width > 2) {
    u32[at >>> 2] = lo;
    if (width === 8) u32[(at >>> 2) + 1] = hi;
  } else {
    u8[at] = lo;
    if (width === 2) u8[at + 1] = lo >>> 8;
  }
}

/** A row of a table gets the members of an object, and no others. */
function putRow(m: Memory, header: number, row: number, node: Fresh, empty: boolean): void {
  const table = dataOf(m, header);
  const k = columnsOf(m, table);
  const shape = m.u32[(table >>> 2) + 1]!;
  if (!empty) clear(m, header, row, 1);
  setValue(m, header, row);
  const fields: (Fresh | undefined)[] = new Array(k);
  const rest = { keys: [] as Key[], items: [] as Fresh[] };
  node.keys!.forEach((key, i) => {
    const place = findInShape(m, shape, k, key);
    if (place >= 0) fields[place] = node.items![i]!;
    else {
      rest.keys.push(key);
      rest.items.push(node.items![i]!);
    }
  });
  const missing = new Fresh(L.NOTHING);
  for (let j = 0; j < k; j++) put(m, table + L.TABLE_SIZE + 16 * j, row, fields[j] ?? missing, true);
  if (m.u8[table + 1] === 1) absent(m, table + L.TABLE_SIZE + 16 * k, row, 1, L.NOTHING);
  if (rest.keys.length > 0) {
    addExtra(m, table, row, storeObject(m, Object.assign(new Fresh(L.OBJECT_NODE), rest)));
    showMembers(m, table, row);
  }
}

/** An array comes into a list: its elements among those of the others. */
function putList(m: Memory, header: number, slot: number, node: Fresh, empty: boolean): void {
  const list = dataOf(m, header);
  const elements = list + L.LIST_ELEMENTS;
  const { bytes } = node;
  const items = node.items!;
  if (!empty) clear(m, header, slot, 1);
  setValue(m, header, slot);
  if (m.u8[header + 1] === L.LISTS) {
    insertSlots(m, elements, offsetAt(m, list, slot), items);
    addOffsets(m, list, slot + 1, items.length);
  } else if (bytes !== null) {
    m.u8.set(bytes, valuesAt(m, tensorAt(m, header, 0, 1).header) + slot * bytes.length);
  } else for (let i = 0; i < items.length; i++) put(m, elements, slot * items.length + i, items[i]!, true);
}

/** Puts new slots with values among those of a column. */
export function insertSlots(m: Memory, header: number, at: number, items: Fresh[]): void {
  const tensor = isTensor(m, header);
  if (!tensor && isNested(m.u8[header + 1]!)) {
    // One by one, since columns below may be converted while a slot has no value. Many come to the end first.
    const old = count(m, header);
    const behind = at < old && items.length > 4;
    items.forEach((item, i) => {
      openSlots(m, header, (behind ? old : at) + i, 1);
      put(m, header, (behind ? old : at) + i, item, true);
    });
    if (behind) {
      const n = items.length;
      const slot = (i: number): number => (i < at ? i : i < at + n ? old + i - at : i - n);
      arrange(
        m,
        header,
        Array.from({ length: old + n }, (_, i) => slot(i)),
      );
    }
    return;
  }
  // The column is converted while all its slots have their values.
  for (const item of items) {
    if (tensor || item.tag <= L.NULL) continue;
    const code = codeFor(m, header, item);
    if (code !== m.u8[header + 1]) convert(m, header, code);
  }
  openSlots(m, header, at, items.length);
  for (let i = 0; i < items.length; i++) put(m, header, at + i, items[i]!, true);
}

/** A text comes into a run. */
function putRun(m: Memory, header: number, slot: number, node: Fresh): void {
  const list = dataOf(m, header);
  const elements = list + L.LIST_ELEMENTS;
  const bytes = textBytes(m, node);
  const [start, end, all] = [offsetAt(m, list, slot), offsetAt(m, list, slot + 1), count(m, elements)];
  const moved = all - end + 4 * (count(m, header) - slot);
  if (bytes.length !== end - start) {
    if (isFixed(m, list) || moved > MOST_MOVED || all + bytes.length > L.MAX_SPAN) {
      clear(m, header, slot, 1);
      convert(m, header, L.TEXTS, slot);
      putNew(m, header, slot, node);
      return;
    }
    const more = bytes.length - (end - start);
    if (more > 0) openSlots(m, elements, end, more);
    else closeSlots(m, elements, end + more, -more);
    addOffsets(m, list, slot + 1, more);
  }
  m.u8.set(bytes, dataOf(m, elements) + start);
  setValue(m, header, slot);
}

/** The bytes of a text that is not written yet. */
function textBytes(m: Memory, node: Fresh): Uint8Array {
  const { bytes, lo, hi } = node;
  if (bytes !== null) return bytes;
  if (hi < 0x80000000) return m.bytes(lo, hi & 0x3fffffff);
  const n = (hi >>> 24) & 7;
  return Uint8Array.from({ length: n }, (_, i) => (i < 4 ? lo >>> (8 * i) : hi >>> (8 * (i - 4))) & 255);
}

/** A text comes into a dictionary. */
function putText(m: Memory, header: number, slot: number, node: Fresh): void {
  const bytes = textBytes(m, node);
  const texts = dictionaryTexts(m, header);
  const n = count(m, texts);
  let code = bytes.length > L.MAX_SHARED ? -2 : findText(m, header, bytes);
  if (code === -1) {
    if (n >= 65_536 || (n >= count(m, header) && n >= 8)) code = -2;
    else {
      openSlots(m, texts, n, 1);
      const cell = valuesAt(m, texts) + 8 * n;
      if (node.bytes !== null) {
        settle(m, node);
        node.hi &= 0xbfffffff;
      }
      m.u32[cell >>> 2] = node.lo;
      m.u32[(cell >>> 2) + 1] = node.hi;
      code = n;
      if (n === 256 && m.u8[header + 1] === L.DICTIONARY_U8) {
        relayout(m, header, L.DICTIONARY_U16, m.u8[header + 2]!, capacity(m, header));
      }
    }
  }
  if (code === -2) {
    convert(m, header, L.TEXTS, slot);
    putNew(m, header, slot, node);
    return;
  }
  node.lo = code;
  writeNumber(m, header, m.u8[header + 1]!, slot, node);
  setValue(m, header, slot);
}

/** Texts up to which a dictionary is searched one by one. */
const FEW = 64;
/**
 * Where the texts of larger dictionaries are, by their hashes: for each column, how many are known, and their codes. It is
 * a hint, which is checked: a text that it misses comes into the dictionary once more, which is allowed (FORMAT 6.1).
 */
const hints = new WeakMap<Memory, Map<number, { n: number; codes: Map<number, number> }>>();

/** The code of a text in a dictionary, −1 if it has none. */
function findText(m: Memory, header: number, bytes: Uint8Array): number {
  const texts = dictionaryTexts(m, header);
  const cells = valuesAt(m, texts);
  const n = count(m, texts);
  const key = new Key(bytes);
  if (n <= FEW) {
    for (let i = 0; i < n; i++) if (isKey(m, cells + 8 * i, key)) return i;
    return -1;
  }
  const columns = hints.get(m) ?? new Map<number, { n: number; codes: Map<number, number> }>();
  hints.set(m, columns);
  let hint = columns.get(header);
  if (hint === undefined || hint.n > n) {
    hint = { n: 0, codes: new Map() };
    columns.set(header, hint);
  }
  for (; hint.n < n; hint.n++) {
    const cell = cells + 8 * hint.n;
    hint.codes.set(hashOf(m.bytes(spanStart(m, cell), spanLength(m, cell)))[0], hint.n);
  }
  const code = hint.codes.get(hashOf(bytes)[0]);
  return code !== undefined && isKey(m, cells + 8 * code, key) ? code : -1;
}

/** Gives a column another code that can hold all its values. Slot `but` is left without one. */
export function convert(m: Memory, header: number, code: number, but = -1): void {
  const n = count(m, header);
  const gaps = code === L.CELLS ? 0 : m.u8[header + 2]!;
  // The new column is made behind a header of its own, which then takes the old one's place.
  const made = alloc(m, 16);
  const h = made >>> 2;
  const c = isNested(m.u8[header + 1]!) ? n : capacity(m, header);
  m.u8[made] = L.ARRAY;
  m.u8[made + 1] = code;
  m.u8[made + 2] = gaps;
  m.u32[h + 1] = n;
  m.u32[h + 2] = c;
  const data = c === 0 ? 0 : alloc(m, L.bitmapsSize(gaps, c) + valuesSize(code, c));
  m.u32[h + 3] = data;
  const cursor = new Cursor(m);
  for (let i = 0; i < n; i++) {
    if (i !== but) putNew(m, made, i, liftAt(cursor, header, i, true));
  }
  freeStorage(m, header);
  m.u8.copyWithin(header, made, made + 16);
  free(m, made, 16);
}

// --- Order

/** Puts the slots of a column in another order: slot i gets the value of slot `order[i]`. Those left out have none. */
export function arrange(m: Memory, header: number, order: ArrayLike<number>): void {
  const n = order.length;
  const code = m.u8[header + 1]!;
  for (const [bits, start] of planes(m, header)) {
    const old = count(m, header);
    const size = bits === 1 ? L.bitmapSize(old) : bits === CELL_BITS ? L.cellsSize(old) : L.word((bits >>> 3) * old);
    const copy = alloc(m, size);
    m.u8.copyWithin(copy, start, start + size);
    zeroPart(m, bits, start, 0, old);
    for (let i = 0; i < n; i++) copyPart(m, bits, copy, order[i]!, start, i, 1);
    free(m, copy, size);
  }
  m.u32[(header >>> 2) + 1] = n;
  if (!isNested(code)) return;
  if (m.u8[header + 2] === 0) m.u32[(header >>> 2) + 2] = n;
  const data = dataOf(m, header);
  const places = new Map<number, number>();
  for (let i = 0; i < n; i++) places.set(order[i]!, i);
  moveRows(m, data, (row) => places.get(row) ?? -1);
  const elements = data + L.LIST_ELEMENTS;
  if (code === L.STRUCT) {
    const k = headersOf(m, data);
    for (let j = 0; j < k; j++) arrange(m, data + L.TABLE_SIZE + 16 * j, order);
    const extras = m.u32[(data >>> 2) + 4]!;
    if (extras === 0) return;
    const at = dataOf(m, extras) >>> 2;
    const all = Array.from({ length: count(m, extras) }, (_, i) => [
      places.get(m.u32[at + 2 * i + 1]!)!,
      m.u32[at + 2 * i]!,
    ]);
    all.sort((a, b) => a[0]! - b[0]!);
    all.forEach(([row, home], i) => {
      m.u32[at + 2 * i] = home!;
      m.u32[at + 2 * i + 1] = row!;
    });
  } else if (isFixed(m, data)) {
    const l = m.u32[(data >>> 2) + 1]!;
    arrange(
      m,
      elements,
      Array.from({ length: n * l }, (_, i) => order[Math.floor(i / l)]! * l + (i % l)),
    );
  } else {
    const inner: number[] = [];
    const offsets = [0];
    for (let i = 0; i < n; i++) {
      const end = offsetAt(m, data, order[i]! + 1);
      for (let e = offsetAt(m, data, order[i]!); e < end; e++) inner.push(e);
      offsets.push(inner.length);
    }
    arrange(m, elements, inner);
    shut(m, data + L.LIST_OFFSETS, n + 1, count(m, data + L.LIST_OFFSETS) - n - 1);
    offsetsOf(m, data).set(offsets);
  }
}

/** The header of the column that a table or a list is the data of. */
export function ownerOf(m: Memory, data: number): number {
  const owner = m.u32[(data >>> 2) + 3]!;
  const kind = m.u8[owner];
  if (kind === L.TABLE) return owner + L.TABLE_SIZE + 16 * (m.u8[data + 2]! | (m.u8[data + 3]! << 8));
  if (kind === L.LIST) return owner + L.LIST_ELEMENTS;
  if (kind !== L.ARRAY) throw damage("WrongBlock", data);
  return owner;
}

/** Bytes of a column and of all columns below it. */
export function bytesBelow(m: Memory, header: number): number {
  const code = m.u8[header + 1]!;
  const [n, data] = [capacity(m, header), dataOf(m, header)];
  if (data === 0) return 64;
  if (!isNested(code)) return 32 + (L.WIDTHS[code]! + 10) * n;
  if (code !== L.STRUCT) {
    const list = isFixed(m, data) ? 0 : bytesBelow(m, data + L.LIST_OFFSETS);
    return list + n + bytesBelow(m, data + L.LIST_ELEMENTS);
  }
  let size = 64 + 32 * n;
  const k = columnsOf(m, data);
  for (let i = k + m.u8[data + 1]! - 1; i >= 0; i--) size += bytesBelow(m, data + L.TABLE_SIZE + 16 * i);
  const extras = m.u32[(data >>> 2) + 4]!;
  if (extras === 0) return size;
  // A row that has an extra object may become a map, which owns the texts of all its keys. The sizes of more than a few
  // are estimated, so that no edit goes through all rows.
  const texts = keysBelow(m, shapeKeys(m, m.u32[(data >>> 2) + 1]!), k);
  const rows = count(m, extras);
  const step = Math.max(1, rows / LOOK);
  for (let i = 0; i < rows; i += step)
    size += step * (texts + membersBelow(m, m.u32[(dataOf(m, extras) >>> 2) + 2 * Math.trunc(i)]!));
  return size + bytesBelow(m, extras);
}
