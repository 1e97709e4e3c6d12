// Objects that are edited: records and their shapes (FORMAT 4, 5), and maps with their indexes (FORMAT 7).

import { damage } from "../error.js";
import { bucketOf, compareKey, hashOf, isKey, type Key, keyOf, spanLength, spanStart, textAt } from "../key.js";
import * as L from "../layout.js";
import type { Memory } from "../memory.js";
import { columnsOf, extraOf, findInMap, findInShape, isHole, resolve, shapeCount, shapeKeys } from "../read.js";
import { showMembers } from "../view.js";
import {
  addExtra,
  arrange,
  CELL_BITS,
  clear,
  closeSlots,
  copyPart,
  freeCell,
  freeNode,
  freeStorage,
  insertSlots,
  put,
  putCell,
  zeroPart,
} from "./column.js";
import { Fresh, liftCell } from "./fresh.js";
import { alloc, extend, free } from "./space.js";

// --- Shapes

/** Shapes that are looked at, from the newest on. */
const NEWEST = 64;

const shapeSize = (m: Memory, shape: number): number =>
  shapeKeys(m, shape) - shape + 8 * (m.u8[shape] === L.SHAPE ? m.u8[shape + 1]! : m.u32[(shape >>> 2) + 2]!);

/** Where the texts of keys were written. Shapes share them, so they are never freed. */
const written = new WeakMap<Memory, WeakMap<Key, number>>();

/** Writes a key's cell, and its text if that is not in it. In a map the text is owned. */
function writeKey(m: Memory, cell: number, key: Key, owned: boolean): void {
  let { lo, hi } = key;
  const { bytes } = key;
  if (hi === 0) {
    const texts = written.get(m) ?? new WeakMap<Key, number>();
    written.set(m, texts);
    lo = (owned ? undefined : texts.get(key)) ?? 0;
    if (lo === 0) {
      lo = alloc(m, bytes.length);
      m.u8.set(bytes, lo);
      if (!owned) texts.set(key, lo);
    }
    hi = bytes.length | (owned ? 0x40000000 : 0);
  }
  m.u32[cell >>> 2] = lo;
  m.u32[(cell >>> 2) + 1] = hi;
}

const share = (m: Memory, shape: number): void => {
  m.u8[shape + 3]! &= 0xfe;
};

/** One of the newest shapes that begins with these keys, 0 if there is none. */
function findShape(m: Memory, keys: Key[]): number {
  const n = keys.length;
  let shape = m.u32[6]!;
  for (let look = 0; shape !== 0 && look < NEWEST; look++, shape = m.u32[(shape >>> 2) + 1]!) {
    if (m.u8[shape] !== L.SHAPE || m.u8[shape + 2]! < n) continue;
    // Most differ in their last keys.
    let i = n - 1;
    while (i >= 0 && m.u8[shape + 8 + i] === keys[i]!.fingerprint && isKey(m, shapeKeys(m, shape) + 8 * i, keys[i]!))
      i--;
    if (i < 0) return shape;
  }
  return 0;
}

/** A shape that begins with these keys: one that is there, or a new one. The first `known` ones are those of `from`. */
function shapeOf(m: Memory, keys: Key[], from: number, known: number, capacity: number): number {
  const there = findShape(m, keys);
  if (there !== 0) {
    share(m, there);
    return there;
  }
  const shape = alloc(m, L.word(8 + capacity) + 8 * capacity);
  m.u8[shape] = L.SHAPE;
  m.u8[shape + 1] = capacity;
  m.u8[shape + 3] = 1;
  for (let i = 0; i < keys.length; i++) {
    if (i < known) {
      const source = shapeKeys(m, from) + 8 * i;
      m.u8.copyWithin(shapeKeys(m, shape) + 8 * i, source, source + 8);
      m.u8[shape + 8 + i] = keys[i]!.fingerprint;
      m.u8[shape + 2] = i + 1;
    } else addKey(m, shape, keys[i]!);
  }
  m.u32[(shape >>> 2) + 1] = m.u32[6]!;
  m.u32[6] = shape;
  return shape;
}

function addKey(m: Memory, shape: number, key: Key): void {
  const i = m.u8[shape + 2]!;
  writeKey(m, shapeKeys(m, shape) + 8 * i, key, false);
  m.u8[shape + 8 + i] = key.fingerprint;
  m.u8[shape + 2] = i + 1;
}

/** Frees a shape whose only record or table is no more. */
export function freeShape(m: Memory, shape: number): void {
  if (shape === 0 || (m.u8[shape + 3]! & 1) === 0) return;
  let previous = 6;
  for (let look = 0; look < NEWEST && m.u32[previous] !== 0; look++) {
    if (m.u32[previous] === shape) {
      m.u32[previous] = m.u32[(shape >>> 2) + 1]!;
      free(m, shape, shapeSize(m, shape));
      m.classes.clear();
      return;
    }
    previous = (m.u32[previous]! >>> 2) + 1;
  }
}

/** The keys of a shape's first n fields. */
function keysOf(m: Memory, shape: number, n: number): Key[] {
  const keys: Key[] = [];
  for (let i = 0; i < n; i++) keys.push(keyOf(textAt(m, shapeKeys(m, shape) + 8 * i)));
  return keys;
}

// --- Objects

/** Writes a new object, and returns its home. */
export function storeObject(m: Memory, node: Fresh): number {
  const keys = node.keys!;
  const items = node.items!;
  const n = keys.length;
  if (n > L.MAX_FIELDS || keys.some((key) => key.bytes.length > L.MAX_KEY)) {
    const map = alloc(m, L.MAP_SIZE);
    fillMap(m, map, keys, items);
    return map;
  }
  const record = alloc(m, 8 + L.cellsSize(n));
  m.u8[record] = L.RECORD;
  m.u8[record + 1] = n;
  let live = 0;
  for (let i = 0; i < n; i++) {
    const item = items[i]!;
    if (item.tag === L.NOTHING) continue;
    putCell(m, record + 8 + L.tagAt(i), record + 8 + L.cellAt(i), item);
    live++;
  }
  if (live > 0) {
    const shape = node.shape === 0 ? shapeOf(m, keys, 0, 0, n) : node.shape;
    if (node.shape !== 0) share(m, shape);
    m.u32[(record >>> 2) + 1] = shape;
    m.u8[record + 2] = n;
    m.u8[record + 3] = live;
  }
  return record;
}

/** Frees an object and all that is in it. */
export function freeObject(m: Memory, home: number): void {
  const block = resolve(m, home);
  if (m.u8[block] === L.MAP) clear(m, block + L.MAP_VALUES, 0, m.u32[(block >>> 2) + 9]!);
  else {
    const used = m.u8[block + 2]!;
    for (let i = 0; i < used; i++) freeCell(m, m.u8[block + 8 + L.tagAt(i)]!, block + 8 + L.cellAt(i));
  }
  dropShell(m, home);
}

/** Frees an object, but not the values in it. */
export function dropShell(m: Memory, home: number): void {
  const block = resolve(m, home);
  if (m.u8[block] === L.MAP) {
    const n = m.u32[(block >>> 2) + 9]!;
    const [capacity, keys] = [m.u32[(block >>> 2) + 4]!, m.u32[(block >>> 2) + 5]!];
    for (let i = 0; i < n; i++) freeCell(m, L.TEXT, keys + 8 * i);
    free(m, keys, 8 * capacity);
    dropIndexes(m, block);
    freeStorage(m, block + L.MAP_VALUES);
    freeNode(m, home, block, L.MAP_SIZE);
    return;
  }
  const shape = m.u32[(block >>> 2) + 1]!;
  freeNode(m, home, block, 8 + L.cellsSize(m.u8[block + 1]!));
  freeShape(m, shape);
}

/** Puts another block in place of a node's: its home becomes a forward (FORMAT 3.5). */
function relocate(m: Memory, home: number, block: number, size: number, to: number): void {
  if (block === home) {
    if (size > 8) free(m, home + 8, size - 8);
    m.u32[home >>> 2] = L.FORWARD;
  } else free(m, block, size);
  m.u32[(home >>> 2) + 1] = to;
}

/** At most so many bytes it takes to set a member of an object, which may become a map. */
export function costOf(m: Memory, home: number, key: Key): number {
  const block = resolve(m, home);
  const at = block >>> 2;
  if (m.u8[block] === L.MAP) return 4096 + 40 * m.u32[at + 4]! + 192 * m.u32[at + 3]!;
  const used = m.u8[block + 2]!;
  return used < 200 && key.bytes.length <= L.MAX_KEY ? 256 + 48 * used : 4 * membersBelow(m, home);
}

/** Bytes of n keys, and of what comes with them in an object. */
export function keysBelow(m: Memory, cells: number, n: number): number {
  let size = 64 + 32 * n;
  for (let i = 0; i < n; i++) size += spanLength(m, cells + 8 * i);
  return size;
}

/** The same of all keys of an object. */
export function membersBelow(m: Memory, home: number): number {
  const block = resolve(m, home);
  const at = block >>> 2;
  return m.u8[block] === L.MAP
    ? keysBelow(m, m.u32[at + 5]!, m.u32[at + 9]!)
    : keysBelow(m, shapeKeys(m, m.u32[at + 1]!), m.u8[block + 2]!);
}

/** Sets a member of a record or a map. */
export function setMember(m: Memory, home: number, key: Key, node: Fresh): void {
  const block = resolve(m, home);
  if (m.u8[block] === L.MAP) {
    setEntry(m, block, key, node);
    return;
  }
  const used = m.u8[block + 2]!;
  let i = used === 0 ? -1 : findInShape(m, m.u32[(block >>> 2) + 1]!, used, key);
  if (i < 0) {
    if (used >= L.MAX_FIELDS || key.bytes.length > L.MAX_KEY) {
      toMap(m, home, block);
      setEntry(m, resolve(m, home), key, node);
      showMembers(m, home, -1);
      return;
    }
    i = addField(m, home, block, key);
  }
  // A value that is written may move nothing, so the block stays where it is.
  const record = resolve(m, home);
  const tag = record + 8 + L.tagAt(i);
  if (m.u8[tag] === L.NOTHING) m.u8[record + 3]!++;
  putCell(m, tag, record + 8 + L.cellAt(i), node);
  if (i === used) showMembers(m, home, -1);
}

/** Makes a field for a key that a record does not have. */
function addField(m: Memory, home: number, block: number, key: Key): number {
  const used = m.u8[block + 2]!;
  const old = m.u32[(block >>> 2) + 1]!;
  const all = old === 0 ? 0 : shapeCount(m, old);
  let shape = old;
  if (all > used && isKey(m, shapeKeys(m, old) + 8 * used, key)) {
    // The shape has the key next.
  } else if (all === used && old !== 0 && used < m.u8[old + 1]!) addKey(m, old, key);
  else {
    const keys = keysOf(m, old, used);
    keys.push(key);
    shape = shapeOf(m, keys, old, used, Math.min(L.MAX_FIELDS, Math.max(4, used + 1 + (used >>> 1))));
  }
  const capacity = m.u8[block + 1]!;
  if (used === capacity) {
    const more = Math.min(L.MAX_FIELDS, Math.max(4, used + 1 + (used >>> 1)));
    const [size, wanted] = [8 + L.cellsSize(capacity), 8 + L.cellsSize(more)];
    if (block + size === m.used) extend(m, wanted - size);
    else {
      const to = alloc(m, wanted);
      m.u8.copyWithin(to, block, block + size);
      relocate(m, home, block, size, to);
      block = to;
    }
    m.u8[block + 1] = more;
  }
  m.u32[(block >>> 2) + 1] = shape;
  m.u8[block + 2] = used + 1;
  if (shape !== old) freeShape(m, old);
  return used;
}

/** Removes a member of a record or a map; false if there is none. */
export function deleteMember(m: Memory, home: number, key: Key): boolean {
  const block = resolve(m, home);
  if (m.u8[block] === L.MAP) return deleteEntry(m, block, key);
  const used = m.u8[block + 2]!;
  const shape = m.u32[(block >>> 2) + 1]!;
  const i = used === 0 ? -1 : findInShape(m, shape, used, key);
  if (i < 0 || m.u8[block + 8 + L.tagAt(i)] === L.NOTHING) return false;
  putCell(m, block + 8 + L.tagAt(i), block + 8 + L.cellAt(i), new Fresh(L.NOTHING));
  if (--m.u8[block + 3]! === 0) {
    m.u8[block + 2] = 0;
    m.u32[(block >>> 2) + 1] = 0;
    freeShape(m, shape);
    showMembers(m, home, -1);
  }
  return true;
}

/** Gives a member of a record or a map another key. The object has it, and has no member of that key. */
export function renameMember(m: Memory, home: number, from: Key, to: Key): void {
  let block = resolve(m, home);
  if (m.u8[block] === L.RECORD && to.bytes.length > L.MAX_KEY) {
    toMap(m, home, block);
    block = resolve(m, home);
    showMembers(m, home, -1);
  }
  if (m.u8[block] === L.MAP) {
    const i = findInMap(m, block, from);
    const cell = m.u32[(block >>> 2) + 5]! + 8 * i;
    leave(m, block, i);
    freeCell(m, L.TEXT, cell);
    writeKey(m, cell, to, true);
    enter(m, block, i);
    return;
  }
  // Holes are left out, since one of them may have the key.
  const used = m.u8[block + 2]!;
  const shape = m.u32[(block >>> 2) + 1]!;
  const all = keysOf(m, shape, used);
  const keys: Key[] = [];
  for (let i = 0; i < used; i++) {
    if (m.u8[block + 8 + L.tagAt(i)] === L.NOTHING) continue;
    const j = keys.length;
    keys.push(all[i] === from || isKey(m, shapeKeys(m, shape) + 8 * i, from) ? to : all[i]!);
    if (i === j) continue;
    copyPart(m, CELL_BITS, block + 8, i, block + 8, j, 1);
    zeroPart(m, CELL_BITS, block + 8, i, 1);
  }
  const named = shapeOf(m, keys, 0, 0, keys.length);
  m.u8[block + 2] = keys.length;
  m.u32[(block >>> 2) + 1] = named;
  freeShape(m, shape);
  showMembers(m, home, -1);
}

// --- Rows

/** Sets a member of a row: in its column, or in the row's extra object (FORMAT 6.3). */
export function addToRow(m: Memory, table: number, row: number, key: Key, node: Fresh): void {
  const i = findInShape(m, m.u32[(table >>> 2) + 1]!, columnsOf(m, table), key);
  if (i >= 0) {
    put(m, table + L.TABLE_SIZE + 16 * i, row, node);
    return;
  }
  const extra = extraOf(m, table, row);
  if (extra !== 0) setMember(m, extra, key, node);
  else {
    const object = new Fresh(L.OBJECT_NODE);
    object.keys = [key];
    object.items = [node];
    addExtra(m, table, row, storeObject(m, object));
    showMembers(m, table, row);
  }
}

/** Removes a member of a row, which has it. */
export function deleteOfRow(m: Memory, table: number, row: number, key: Key): boolean {
  const i = findInShape(m, m.u32[(table >>> 2) + 1]!, columnsOf(m, table), key);
  if (i < 0) return deleteMember(m, extraOf(m, table, row), key);
  put(m, table + L.TABLE_SIZE + 16 * i, row, new Fresh(L.NOTHING));
  return true;
}

// --- Maps

function toMap(m: Memory, home: number, block: number): void {
  const used = m.u8[block + 2]!;
  const shape = m.u32[(block >>> 2) + 1]!;
  const all = keysOf(m, shape, used);
  const keys: Key[] = [];
  const items: Fresh[] = [];
  for (let i = 0; i < used; i++) {
    const tag = m.u8[block + 8 + L.tagAt(i)]!;
    if (tag === L.NOTHING) continue;
    keys.push(all[i]!);
    items.push(liftCell(m, tag, block + 8 + L.cellAt(i), true));
  }
  const map = alloc(m, L.MAP_SIZE);
  fillMap(m, map, keys, items);
  relocate(m, home, block, 8 + L.cellsSize(m.u8[block + 1]!), map);
  freeShape(m, shape);
}

function fillMap(m: Memory, map: number, keys: Key[], items: Fresh[]): void {
  const n = keys.length;
  const [values, cells] = n === 0 ? [0, 0] : [alloc(m, L.cellsSize(n)), alloc(m, 8 * n)];
  const at = map >>> 2;
  m.u8[map] = L.MAP;
  m.u8[map + L.MAP_VALUES] = L.ARRAY;
  m.u32[at + 1] = n;
  m.u32[at + 4] = n;
  m.u32[at + 5] = cells;
  m.u32[at + 9] = n;
  m.u32[at + 10] = n;
  m.u32[at + 11] = values;
  for (let i = 0; i < n; i++) {
    putCell(m, values + L.tagAt(i), values + L.cellAt(i), items[i]!);
    writeKey(m, cells + 8 * i, keys[i]!, true);
  }
  indexMap(m, map);
}

function setEntry(m: Memory, map: number, key: Key, node: Fresh): void {
  const at = map >>> 2;
  const values = map + L.MAP_VALUES;
  const i = findInMap(m, map, key);
  if (i >= 0) {
    put(m, values, i, node);
    return;
  }
  const n = m.u32[at + 9]!;
  const capacity = m.u32[at + 4]!;
  if (n === capacity) {
    const more = Math.max(8, n + (n >>> 1));
    const cells = alloc(m, 8 * more);
    const old = m.u32[at + 5]!;
    m.u8.copyWithin(cells, old, old + 8 * n);
    free(m, old, 8 * capacity);
    m.u32[at + 4] = more;
    m.u32[at + 5] = cells;
  }
  insertSlots(m, values, n, [node]);
  writeKey(m, m.u32[at + 5]! + 8 * n, key, true);
  const live = ++m.u32[at + 1]!;
  const buckets = m.u32[at + 3]!;
  if (buckets > 0 ? live > 8 * buckets : n >= 16 && m.u32[at + 6] === 0) indexMap(m, map);
  else enter(m, map, n);
}

/** Puts an entry into the indexes that a map has. */
function enter(m: Memory, map: number, entry: number): void {
  const placed = place(m, map, entry, true);
  if (m.u32[(map >>> 2) + 6] !== 0) growTree(m, map, entry);
  else if (!placed) indexMap(m, map);
}

/** Takes an entry out of the indexes, while it still has its key. */
function leave(m: Memory, map: number, entry: number): void {
  place(m, map, entry, false);
  if (m.u32[(map >>> 2) + 6] !== 0) shrinkTree(m, map, entry);
}

function deleteEntry(m: Memory, map: number, key: Key): boolean {
  const at = map >>> 2;
  const values = map + L.MAP_VALUES;
  const i = findInMap(m, map, key);
  if (i < 0) return false;
  leave(m, map, i);
  const keys = m.u32[at + 5]!;
  freeCell(m, L.TEXT, keys + 8 * i);
  m.u8.fill(0, keys + 8 * i, keys + 8 * i + 8);
  const used = m.u32[at + 9]!;
  const live = --m.u32[at + 1]!;
  if (i === used - 1) {
    let end = i;
    while (end > 0 && isHole(m, keys + 8 * (end - 1))) end--;
    closeSlots(m, values, end, used - end);
  } else {
    put(m, values, i, new Fresh(L.NULL));
    if (used > 2 * live) {
      const order: number[] = [];
      for (let j = 0; j < used; j++) if (!isHole(m, keys + 8 * j)) order.push(j);
      arrange(m, values, order);
      order.forEach((j, to) => {
        m.u8.copyWithin(keys + 8 * to, keys + 8 * j, keys + 8 * j + 8);
      });
      m.u8.fill(0, keys + 8 * live, keys + 8 * used);
      indexMap(m, map);
    }
  }
  if (live === 0) indexMap(m, map);
  return true;
}

function dropIndexes(m: Memory, map: number): void {
  const at = map >>> 2;
  if (m.u32[at + 2] !== 0) free(m, m.u32[at + 2]!, 64 * m.u32[at + 3]! + 56);
  if (m.u32[at + 6] !== 0) freeTree(m, m.u32[at + 6]!);
  m.u32[at + 2] = m.u32[at + 3] = m.u32[at + 6] = 0;
}

function freeTree(m: Memory, node: number): void {
  if (m.u8[node]! > 0) for (let i = 0; i < m.u8[node + 1]!; i++) freeTree(m, m.u32[(node >>> 2) + 1 + i]!);
  free(m, node, 256);
}

/** Makes the indexes of a map anew: a hash block, and a tree only where keys collide in it (FORMAT 7.4). */
function indexMap(m: Memory, map: number): void {
  const at = map >>> 2;
  dropIndexes(m, map);
  const [live, used] = [m.u32[at + 1]!, m.u32[at + 9]!];
  if (used <= 16) return;
  const buckets = Math.min(2 * Math.ceil(live / 8), 2 ** 26);
  const block = alloc(m, 64 * buckets + 56);
  m.u32[at + 2] = block;
  m.u32[at + 3] = buckets;
  const keys = m.u32[at + 5]!;
  const entries: number[] = [];
  let all = true;
  for (let i = 0; i < used; i++) {
    if (isHole(m, keys + 8 * i)) continue;
    entries.push(i);
    if (!place(m, map, i, true)) all = false;
  }
  if (all) return;
  entries.sort((a, b) => compareKey(m, keys + 8 * a, keyBytes(m, map, b)));
  let items = entries;
  for (let level = 0; level === 0 || items.length > 1; level++) {
    const nodes: number[] = [];
    for (let i = 0; i < items.length; i += 63) {
      const part = items.slice(i, i + 63);
      const node = alloc(m, 256);
      m.u8[node] = level;
      m.u8[node + 1] = part.length;
      m.u32.set(part, (node >>> 2) + 1);
      nodes.push(node);
    }
    items = nodes;
  }
  m.u32[at + 6] = items[0]!;
}

function keyBytes(m: Memory, map: number, entry: number): Uint8Array {
  const cell = m.u32[(map >>> 2) + 5]! + 8 * entry;
  return m.u8.subarray(spanStart(m, cell), spanStart(m, cell) + spanLength(m, cell));
}

type Step = [node: number, item: number];

/** The nodes from the root to the leaf where an entry's key is or would be, and the item in each (FORMAT 7.3). */
function pathTo(m: Memory, map: number, entry: number): Step[] {
  const bytes = keyBytes(m, map, entry);
  const keys = m.u32[(map >>> 2) + 5]!;
  const path: Step[] = [];
  let left = 13 * 64;
  for (let node = m.u32[(map >>> 2) + 6]!; ; ) {
    const leaf = m.u8[node] === 0;
    let low = 0;
    let high = m.u8[node + 1]!;
    while (low < high) {
      const middle = (low + high) >>> 1;
      let [first, i] = [node, middle];
      for (; m.u8[first] !== 0 && left > 0; i = 0, left--) first = m.u32[(first >>> 2) + 1 + i]!;
      const order = compareKey(m, keys + 8 * m.u32[(first >>> 2) + 1 + i]!, bytes);
      if (leaf ? order < 0 : order <= 0) low = middle + 1;
      else high = middle;
    }
    const item = leaf ? low : Math.max(low - 1, 0);
    path.push([node, item]);
    if (leaf) return path;
    if (left-- <= 0) throw damage("BadIndex", node);
    node = m.u32[(node >>> 2) + 1 + item]!;
  }
}

function growTree(m: Memory, map: number, entry: number): void {
  const path = pathTo(m, map, entry);
  let value = entry;
  for (let depth = path.length - 1; depth >= 0; depth--) {
    let [node, i] = path[depth]!;
    if (depth < path.length - 1) i++;
    const n = m.u8[node + 1]!;
    if (n < 63) {
      insertItem(m, node, i, value);
      return;
    }
    // The node splits: at the end where the new item comes behind all others.
    const kept = i === n ? n : 32;
    const made = alloc(m, 256);
    m.u8[made] = m.u8[node]!;
    for (let k = kept; k < n; k++) insertItem(m, made, k - kept, m.u32[(node >>> 2) + 1 + k]!);
    m.u32.fill(0, (node >>> 2) + 1 + kept, (node >>> 2) + 64);
    m.u8[node + 1] = kept;
    if (i > kept || kept === n) insertItem(m, made, i - kept, value);
    else insertItem(m, node, i, value);
    value = made;
  }
  const root = alloc(m, 256);
  m.u8[root] = m.u8[path[0]![0]]! + 1;
  insertItem(m, root, 0, path[0]![0]);
  insertItem(m, root, 1, value);
  m.u32[(map >>> 2) + 6] = root;
}

function insertItem(m: Memory, node: number, i: number, value: number): void {
  const at = (node >>> 2) + 1;
  const n = m.u8[node + 1]!++;
  m.u32.copyWithin(at + i + 1, at + i, at + n);
  m.u32[at + i] = value;
}

function shrinkTree(m: Memory, map: number, entry: number): void {
  const path = pathTo(m, map, entry);
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const [node, i] = path[depth]!;
    const at = (node >>> 2) + 1;
    const n = --m.u8[node + 1]!;
    m.u32.copyWithin(at + i, at + i + 1, at + n + 1);
    m.u32[at + n] = 0;
    if (n > 0) break;
    free(m, node, 256);
    if (depth === 0) m.u32[(map >>> 2) + 6] = 0;
  }
  // A root that is left with one child is replaced by it.
  for (let root = m.u32[(map >>> 2) + 6]!; root !== 0 && m.u8[root] !== 0 && m.u8[root + 1] === 1; ) {
    const child = m.u32[(root >>> 2) + 1]!;
    free(m, root, 256);
    m.u32[(map >>> 2) + 6] = child;
    root = child;
  }
}

/** Gives an entry a place in the hash block, or takes it away, while the entry has its key; false if there is none. */
function place(m: Memory, map: number, entry: number, enters: boolean): boolean {
  const at = map >>> 2;
  const [block, n] = [m.u32[at + 2]!, m.u32[at + 3]!];
  if (block === 0) return true;
  const [hash, f] = hashOf(keyBytes(m, map, entry));
  const first = Math.ceil(block / 64) * 64;
  const home = bucketOf(hash, n);
  const state = first + 64 * home + 12;
  for (let reach = 0; reach < Math.min(16, n); reach++) {
    const bucket = first + 64 * ((home + reach) % n);
    for (let i = 0; i < 12; i++) {
      const word = (bucket >>> 2) + 4 + i;
      if (enters ? m.u8[bucket + i] !== 0 : m.u8[bucket + i] !== f || m.u32[word] !== entry) continue;
      m.u8[bucket + i] = enters ? f : 0;
      m.u32[word] = enters ? entry : 0;
      if (enters && (m.u8[state]! & 15) < reach) m.u8[state] = (m.u8[state]! & 16) | reach;
      return true;
    }
  }
  if (enters) m.u8[state]! |= 16;
  return false;
}
