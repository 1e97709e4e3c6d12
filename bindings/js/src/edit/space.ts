// Space of a document that is edited: taking blocks, freeing them, and growing the bytes (FORMAT 8).

import { LivebufError } from "../error.js";
import * as L from "../layout.js";
import type { Memory } from "../memory.js";

/** Free blocks that a request looks at in each class. */
const LOOK = 32;
const CLASSES = 18;

type Growable = ArrayBuffer & {
  resizable?: boolean;
  growable?: boolean;
  maxByteLength: number;
  resize(size: number): void;
  grow(size: number): void;
};

/** Memory that documents will move to. */
const spares = new WeakMap<Memory, Uint8Array>();

/**
 * Sees to it that so many bytes can be taken without an error. Where the bytes have no such room, there is other memory
 * then, to which the document moves only when it needs it.
 */
export function reserve(m: Memory, size: number): void {
  const needed = m.used + size;
  if (needed <= m.u8.length || needed <= (spares.get(m)?.length ?? 0)) return;
  if (needed > L.MAX_USED) {
    throw new LivebufError("NoSpace", `a document has at most ${L.MAX_USED} bytes, and this edit may need ${needed}`);
  }
  const wanted = L.word(Math.min(Math.max(2 * m.used, needed * 1.25), L.MAX_USED));
  try {
    spares.set(m, new Uint8Array(wanted));
  } catch {
    throw new LivebufError("NoSpace", `there is no memory for a document of ${wanted} bytes`);
  }
}

/** Makes the bytes longer: where they are if their buffer can grow, else in other memory. */
function grow(m: Memory, needed: number): void {
  const { u8 } = m;
  const { byteOffset, length } = u8;
  const buffer = u8.buffer as Growable;
  if ((buffer.resizable || buffer.growable) && byteOffset + length === buffer.byteLength) {
    const size = Math.min(byteOffset + Math.max(L.word(needed), 2 * m.used), buffer.maxByteLength);
    if (byteOffset + needed <= size) {
      try {
        if (buffer.growable) buffer.grow(size);
        else buffer.resize(size);
        m.adopt(new Uint8Array(buffer, byteOffset, size - byteOffset));
        return;
      } catch {
        // There is other memory.
      }
    }
  }
  reserve(m, needed - m.used);
  const bytes = spares.get(m)!;
  spares.delete(m);
  bytes.set(u8.subarray(0, m.used));
  m.adopt(bytes);
}

function setUsed(m: Memory, used: number): void {
  m.used = used;
  m.u32[5] = used;
}

/** Takes a block of zeros. Its size is rounded up to a multiple of 8. */
export function alloc(m: Memory, bytes: number): number {
  const size = L.word(bytes);
  const aux = m.u32[7]! >>> 2;
  if (aux !== 0 && m.u32[aux + 1]! >= size) {
    const [free, blocks, since] = [m.u32[aux + 1]!, m.u32[aux + 2]!, m.u32[aux + 3]!];
    if (8 * free > m.used && since >= Math.max(8, blocks >>> 2)) merge(m);
    let at = take(m, size);
    if (at === 0 && m.u32[aux + 3]! > 0 && (blocks <= 64 || (16 * size > free && 16 * since > blocks))) {
      merge(m);
      at = take(m, size);
    }
    if (at !== 0) return at;
  }
  const at = m.used;
  if (at + size > m.u8.length) grow(m, at + size);
  m.u8.fill(0, at, at + size);
  setUsed(m, at + size);
  return at;
}

/** Makes the block that ends the document longer by so many bytes. */
export const extend = (m: Memory, size: number): void => {
  const at = m.used;
  if (at + size > m.u8.length) grow(m, at + size);
  m.u8.fill(0, at, at + size);
  setUsed(m, at + size);
};

const classOf = (m: Memory, size: number): number => Math.min(31 - Math.clz32(size >>> 3), m.u8[m.u32[7]! + 1]! - 1);

/** A block of the free list, 0 if none is large enough. */
function take(m: Memory, size: number): number {
  const { u32 } = m;
  const aux = u32[7]! >>> 2;
  const k = m.u8[u32[7]! + 1]!;
  for (let c = classOf(m, size); c < k; c++) {
    let best = 0;
    let before = 0;
    let bestSize = 2 ** 33;
    let previous = aux + 6 + c;
    for (let look = 0; look < LOOK; look++) {
      const block = u32[previous]!;
      if (block === 0) break;
      const there = u32[(block >>> 2) + 1]!;
      if (there >= size && there < bestSize) {
        [best, before, bestSize] = [block, previous, there];
        if (there === size) break;
      }
      previous = block >>> 2;
    }
    if (best === 0) continue;
    u32[before] = u32[best >>> 2]!;
    u32[aux + 1]! -= bestSize;
    u32[aux + 2]!--;
    if (bestSize > size) list(m, best + size, bestSize - size);
    // Free blocks may hold anything (FORMAT 8): other editors need not wipe them.
    m.u8.fill(0, best, best + size);
    return best;
  }
  return 0;
}

/** Puts bytes into the free list. */
function list(m: Memory, at: number, size: number): void {
  const { u32 } = m;
  const aux = u32[7]! >>> 2;
  const head = aux + 6 + classOf(m, size);
  u32[at >>> 2] = u32[head]!;
  u32[(at >>> 2) + 1] = size;
  u32[head] = at;
  u32[aux + 1]! += size;
  u32[aux + 2]!++;
}

/** Frees a block. Its size is rounded up to a multiple of 8. */
export function free(m: Memory, at: number, bytes: number): void {
  const size = L.word(bytes);
  if (size === 0) return;
  m.u8.fill(0, at, at + size);
  if (at + size === m.used) {
    setUsed(m, at);
    return;
  }
  const aux = auxOf(m);
  list(m, at, size);
  m.u32[(aux >>> 2) + 3]!++;
}

/** The block that says what is free, and where the state is; made if there is none. */
export function auxOf(m: Memory): number {
  if (m.u32[7] === 0) {
    const aux = alloc(m, 24 + 4 * CLASSES);
    m.u8[aux] = L.AUX;
    m.u8[aux + 1] = CLASSES;
    m.u32[7] = aux;
  }
  return m.u32[7]!;
}

/** Joins free blocks that are neighbours, and gives back the end of the document. */
function merge(m: Memory): void {
  const { u32 } = m;
  const aux = u32[7]! >>> 2;
  const blocks = new Uint32Array(u32[aux + 2]!);
  let n = 0;
  for (let c = m.u8[u32[7]! + 1]! - 1; c >= 0; c--) {
    for (let at = u32[aux + 6 + c]!; at !== 0 && n < blocks.length; at = u32[at >>> 2]!) blocks[n++] = at;
    u32[aux + 6 + c] = 0;
  }
  blocks.sort();
  u32[aux + 1] = u32[aux + 2] = u32[aux + 3] = 0;
  for (let i = 0; i < n; ) {
    const at = blocks[i]!;
    let end = at;
    do {
      const word = blocks[i++]! >>> 2;
      end += u32[word + 1]!;
      u32[word] = u32[word + 1] = 0;
    } while (i < n && blocks[i] === end);
    if (end === m.used) setUsed(m, at);
    else list(m, at, end - at);
  }
}

/** Frees what a span cell owns (FORMAT 3.3): whole words only, since the bytes around them may be others'. */
export function freeSpan(m: Memory, lo: number, hi: number): void {
  if (hi >= 0x80000000 || (hi & 0x40000000) === 0) return;
  const end = lo + (hi & 0x3fffffff);
  if ((lo & 7) === 0) free(m, lo, end - lo);
  else {
    const from = L.word(lo);
    const to = end - (end & 7);
    if (to > from) free(m, from, to - from);
  }
}
