// livebuf/validate: whether bytes are a valid document (FORMAT 9). One pass over all that the root leads to, in which
// each block and each owned span claims its bytes. So nothing overlaps, there are no circles, and the work is bounded.

import { damage, type ErrorKind, LivebufError } from "./error.js";
import {
  bucketOf,
  compareKey,
  fingerprint,
  hashOf,
  isKey,
  Key,
  number32,
  spanLength,
  spanStart,
  textAt,
} from "./key.js";
import * as L from "./layout.js";
import { load, type Memory, type Source } from "./memory.js";
import {
  bitmapsOf,
  cellValue,
  columnsOf,
  findInShape,
  gapAt,
  isHole,
  isNested,
  Members,
  offsetAt,
  Cursor as Place,
  shapeCount,
  shapeKeys,
  tableSize,
  tagOf,
  u16At,
  valuesAt,
} from "./read.js";

/**
 * Checks that bytes are a valid document (FORMAT 9). On a valid document every answer is right, and it can be edited.
 * Takes time by the document's length, and a quarter of its bytes as memory.
 *
 * @throws LivebufError with the kind of the first problem that is met, and its offset.
 */
export function validate(source: Source): void {
  check(load(source));
}

/** Whether bytes are a valid document: what {@link validate} finds, without an error. */
export function isValid(source: Source): boolean {
  try {
    validate(source);
    return true;
  } catch (error) {
    if (error instanceof LivebufError) return false;
    throw error;
  }
}

/** @internal {@link validate} for a document whose header was read. Sets `m.valid`. */
export function check(m: Memory): void {
  m.valid = false;
  new Validator(m).document();
  m.valid = true;
}

const WORDS: { [kind in ErrorKind]?: string } = {
  Overlap: "bytes belong to two blocks or texts, or a block is reached twice",
  DuplicateKey: "a key occurs twice in an object",
  BadFreeList: "the list of free blocks is wrong",
  NotZero: "bytes that must be 0 are not",
  BadNumber: "a number that is kept as text is no number of JSON",
  UnsupportedFeature: "a value is of a tag that a newer version of this package may know",
};

const fault = (kind: ErrorKind, offset: number): LivebufError => damage(kind, offset, WORDS[kind]);

/** Whether two halves of a signed number are microseconds of the years 1 to 9999 (FORMAT 3.6). */
function isMoment(lo: number, hi: number): boolean {
  hi |= 0;
  const begun = hi > -14_467_071 || (hi === -14_467_071 && lo >= 13_910_016);
  return begun && (hi < 58_999_820 || (hi === 58_999_820 && lo < 3_430_113_280));
}

/** Whether a cell holds a value that its tag, one of 07 to 0B, allows. */
function isExtended(tag: number, lo: number, hi: number): boolean {
  switch (tag) {
    case L.DECIMAL:
      return (lo & 0xff) <= 38;
    case L.DATE:
      lo |= 0;
      return (hi | 0) === lo >> 31 && lo >= -719_162 && lo <= 2_932_896;
    case L.TIME:
      return hi * 4294967296 + lo < 86_400_000_000;
    default:
      return isMoment(lo, hi);
  }
}

/** Where the digits end that begin at a byte. */
function digits(u8: Uint8Array, i: number, end: number): number {
  while (i < end && u8[i]! >= 48 && u8[i]! <= 57) i++;
  return i;
}

/** Whether bytes are one number of JSON (RFC 8259, section 6). */
function isNumber(u8: Uint8Array, start: number, end: number): boolean {
  let i = start < end && u8[start] === 45 ? start + 1 : start;
  let j = digits(u8, i, end);
  if (j === i || (j > i + 1 && u8[i] === 48)) return false;
  if (j < end && u8[j] === 46) {
    i = j + 1;
    j = digits(u8, i, end);
    if (j === i) return false;
  }
  if (j < end && (u8[j]! | 32) === 101) {
    i = j + 1;
    if (i < end && (u8[i] === 43 || u8[i] === 45)) i++;
    j = digits(u8, i, end);
    if (j === i) return false;
  }
  return j === end;
}

/** Checks that bytes are UTF-8. */
function checkUtf8(m: Memory, i: number, end: number): void {
  const { u8, u32 } = m;
  while (i < end) {
    const a = u8[i]!;
    if (a < 0x80) {
      i++;
      if ((i & 3) === 0) while (i + 4 <= end && (u32[i >>> 2]! & 0x80808080) === 0) i += 4;
      continue;
    }
    if (a > 0xe0 && a < 0xed && i + 2 < end && (((u8[i + 1]! << 8) | u8[i + 2]!) & 0xc0c0) === 0x8080) {
      i += 3;
      continue;
    }
    const last = i + (a < 0xe0 ? 1 : a < 0xf0 ? 2 : 3);
    const b = u8[i + 1]!;
    const least = a === 0xe0 ? 0xa0 : a === 0xf0 ? 0x90 : 0x80;
    const most = a === 0xed ? 0x9f : a === 0xf4 ? 0x8f : 0xbf;
    if (a < 0xc2 || a > 0xf4 || last >= end || b < least || b > most) throw fault("BadText", i);
    for (i += 2; i <= last; i++) if ((u8[i]! & 0xc0) !== 0x80) throw fault("BadText", i);
  }
}

class Validator {
  private readonly u8: Uint8Array;
  private readonly u32: Uint32Array;
  private readonly used: number;
  /**
   * Two bits for each byte. Of each eight bytes, the lower eight bits say which are claimed, and the higher ones which
   * are of text that may be shared. A shape has both where it begins, and a shared one in its second byte once a record
   * or table uses it.
   */
  private readonly claims: Uint16Array;
  /** Objects and arrays that are still to be checked: home + 1 of an array + 2³² · the containers around it. */
  private readonly pending: number[] = [];
  /** Shared texts that were found to be UTF-8 lately. */
  private readonly texts = new Float64Array(64);
  /** The key before, while a tree is checked. */
  private key: Uint8Array | null = null;

  constructor(private readonly m: Memory) {
    this.u8 = m.u8;
    this.u32 = m.u32;
    this.used = m.used;
    this.claims = new Uint16Array(m.used >>> 3);
  }

  document(): void {
    const { u8, pending } = this;
    this.zero(17, 20);
    this.claim(0, L.HEADER_SIZE);
    this.aux(this.u32[7]!);
    this.shapes();
    if (u8[16] === L.NOTHING) throw fault("BadCode", 16);
    this.value(u8[16]!, 8, 0);
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      // What is in the container has one more around it.
      const depth = Math.floor(node / 4294967296) + 1;
      const home = (node & ~1) >>> 0;
      if ((node & 1) === 0) this.object(home, depth);
      else {
        const block = this.block(home);
        if (u8[block] !== L.ARRAY) throw fault("WrongBlock", block);
        this.claim(block, L.COLUMN_SIZE);
        this.column(block, 0, 0, 0, 0, depth, this.u32[(block >>> 2) + 1]! > 0);
      }
    }
  }

  // --- bytes

  /** Claims a block. */
  private claim(offset: number, size: number): void {
    const { claims } = this;
    if ((offset & 7) !== 0) throw fault("Misaligned", offset);
    if (offset + size > this.used) throw fault("OutOfBounds", offset);
    const end = (offset + size) / 8;
    for (let i = offset >>> 3; i < end; i++) {
      if (claims[i] !== 0) throw fault("Overlap", 8 * i);
      claims[i] = 0xff;
    }
  }

  /** Claims the bytes of a span, for one cell or for those that share it. */
  private claimSpan(start: number, end: number, shared: boolean): void {
    const { claims } = this;
    const last = (end - 1) >>> 3;
    let mask = (0xff << (start & 7)) & 0xff;
    for (let i = start >>> 3; i <= last; i++) {
      if (i === last) mask &= 0xff >>> (-end & 7);
      if ((claims[i]! & (shared ? mask : mask * 0x101)) !== 0) throw fault("Overlap", start);
      claims[i]! |= shared ? mask << 8 : mask;
      mask = 0xff;
    }
  }

  /** Checks that bytes of the document are 0. */
  private zero(i: number, end: number): void {
    const { u8, u32 } = this;
    while (i < end) {
      if ((i & 3) === 0 && i + 4 <= end && u32[i >>> 2] === 0) i += 4;
      else if (u8[i++] !== 0) throw fault("NotZero", i - 1);
    }
  }

  /** Checks that the bits from `count` on are 0. */
  private zeroBits(bits: number, count: number, end: number): void {
    const at = bits + (count >>> 3);
    if ((count & 7) !== 0 && this.u8[at]! >>> (count & 7) !== 0) throw fault("NotZero", at);
    this.zero(bits + Math.ceil(count / 8), end);
  }

  private hasBit(bits: number, i: number): boolean {
    return ((this.u8[bits + (i >>> 3)]! >>> (i & 7)) & 1) === 1;
  }

  /** Checks the tags and cells behind the last of `count` tagged cells that are used. */
  private unused(base: number, count: number, capacity: number): void {
    const end = base + L.cellsSize(capacity);
    const tags = base + L.tagAt(count);
    if ((count & 7) === 0) this.zero(tags, end);
    else {
      this.zero(tags, tags + 8 - (count & 7));
      this.zero(base + L.cellAt(count), end);
    }
  }

  // --- free space and shapes

  private aux(aux: number): void {
    const { u8, u32 } = this;
    const flags = u8[6]! | (u8[7]! << 8);
    const stated = flags === 0x200;
    if (aux === 0) {
      if (stated) throw fault("BadCode", 7);
      return;
    }
    this.m.need(aux, 24);
    if (u8[aux] !== L.AUX) throw fault("WrongBlock", aux);
    const classes = u8[aux + 1]!;
    if (classes === 0 || classes > 18 || (classes & 1) === 1) throw fault("BadCount", aux + 1);
    this.claim(aux, 24 + 4 * classes);
    this.zero(aux + 2, aux + 4);
    const at = aux >>> 2;
    // Flags that are not known may give these fields a meaning.
    if (flags === 0 || stated) {
      this.zero(aux + 16, aux + 20);
      const state = u32[at + 5]!;
      if (state !== 0) this.claim(state, 16);
      else if (stated) throw fault("BadCode", 7);
    }
    let bytes = 0;
    let blocks = 0;
    for (let i = 0; i < classes; i++) {
      for (let block = u32[at + 6 + i]!; block !== 0; block = u32[block >>> 2]!) {
        this.m.need(block, 8);
        const size = u32[(block >>> 2) + 1]!;
        if (size < 8 || (size & 7) !== 0 || Math.min(31 - Math.clz32(size >>> 3), classes - 1) !== i) {
          throw fault("BadFreeList", block);
        }
        this.claim(block, size);
        bytes += size;
        blocks++;
      }
    }
    if (u32[at + 1] !== bytes || u32[at + 2] !== blocks) throw fault("BadFreeList", aux + 4);
  }

  private shapes(): void {
    const { m, u8, u32, claims } = this;
    for (let shape = u32[6]!; shape !== 0; shape = u32[(shape >>> 2) + 1]!) {
      const count = shapeCount(m, shape);
      const keys = shapeKeys(m, shape);
      const wide = u8[shape] === L.WIDE_SHAPE;
      const capacity = wide ? count : u8[shape + 1]!;
      if (wide ? count <= L.MAX_FIELDS : u8[shape + 2]! > capacity || capacity === 0) throw fault("BadCount", shape);
      this.claim(shape, keys + 8 * capacity - shape);
      claims[shape >>> 3]! |= 0x100;
      if (u8[shape + 3]! > 1) throw fault("BadCode", shape + 3);
      for (let i = 0; i < count; i++) {
        const cell = keys + 8 * i;
        const hi = u32[(cell >>> 2) + 1]!;
        if (hi < 0x80000000 && (hi & 0x7fffffff) > L.MAX_KEY) throw fault("BadCell", cell);
        this.span(L.TEXT, cell);
      }
      this.zero(keys + 8 * count, keys + 8 * capacity);
      if (wide) {
        this.zero(shape + 1, shape + 3);
        this.zero(shape + 12, shape + 16);
        this.zero(shape + 16 + 2 * count, keys);
        this.order(shape, count, keys);
      } else {
        this.zero(shape + 8 + count, keys);
        this.fingerprints(shape, count, keys);
      }
    }
  }

  private fingerprints(shape: number, count: number, keys: number): void {
    const { m, u8, u32 } = this;
    let clash = false;
    for (let i = 0; i < count; i++) {
      const at = (keys >>> 2) + 2 * i;
      let lo = u32[at]!;
      let hi = u32[at + 1]!;
      if (hi < 0x80000000) {
        // A longer key: FORMAT 4.2.
        const [start, length] = [lo, hi & 0x3fffffff];
        const low = number32(u8, start + length - 8);
        const high = number32(u8, start + length - 4);
        lo = number32(u8, start) ^ ((low << 29) | (high >>> 3)) ^ length;
        hi = number32(u8, start + 4) ^ ((high << 29) | (low >>> 3));
      }
      const here = shape + 8 + i;
      if (u8[here] !== fingerprint(lo, hi)) throw fault("BadIndex", here);
      clash ||= u8.indexOf(u8[here]!, shape + 8) < here;
    }
    // Keys that are equal have equal fingerprints.
    const known = new Set<string>();
    for (let i = 0; i < count && clash; i++) {
      const cell = keys + 8 * i;
      if (known.size === known.add(textAt(m, cell)).size) throw fault("DuplicateKey", cell);
    }
  }

  /** Checks the order of a wide shape's keys. */
  private order(shape: number, count: number, keys: number): void {
    let before: Uint8Array | null = null;
    for (let at = shape + 16; at < shape + 16 + 2 * count; at += 2) {
      const place = u16At(this.u8, at);
      const cell = keys + 8 * place;
      const order = place >= count ? -1 : before === null ? 1 : compareKey(this.m, cell, before);
      if (order <= 0) throw order === 0 ? fault("DuplicateKey", cell) : fault("BadIndex", at);
      before = this.bytes(cell);
    }
  }

  /** Checks that a record or table at `offset` may use `count` keys of a shape. */
  private useShape(shape: number, count: number, offset: number): void {
    const { claims, u8 } = this;
    const i = shape >>> 3;
    if ((shape & 7) !== 0 || (claims[i]! & 0x101) !== 0x101) throw fault("WrongBlock", offset + 4);
    const wide = count > L.MAX_FIELDS;
    if (wide !== (u8[shape] === L.WIDE_SHAPE)) throw fault("WrongBlock", offset + 4);
    const has = wide ? this.u32[(shape >>> 2) + 2]! : u8[shape + 2]!;
    if (wide ? has !== count : has < count) throw fault("BadCount", offset);
    // The shape's second bit says that another one used it.
    if ((claims[i]! & 0x200) !== 0 && (u8[shape + 3]! & 1) !== 0) throw fault("BadCount", shape + 3);
    claims[i]! |= 0x200;
  }

  // --- values

  /** Checks a value by its tag and cell, with so many containers around it. Objects and arrays are put off. */
  private value(tag: number, cell: number, depth: number): void {
    const lo = this.u32[cell >>> 2]!;
    const hi = this.u32[(cell >>> 2) + 1]!;
    if (tag < L.TEXT) {
      if (tag === L.INT || tag === L.FLOAT) return;
      const fits =
        tag <= L.TRUE
          ? (lo | hi) === 0
          : tag === L.UINT
            ? hi >= 0x80000000
            : tag > L.DATE_TIME || isExtended(tag, lo, hi);
      if (!fits) throw fault("BadCell", cell);
    } else if (tag < L.OBJECT_NODE) this.span(tag, cell);
    else {
      if (tag >= 0x30) throw fault("BadCode", cell);
      if (tag > L.ARRAY_NODE) throw fault("UnsupportedFeature", cell);
      if (hi !== 0) throw fault("BadCell", cell);
      this.node(tag, lo, depth);
    }
  }

  private node(tag: number, home: number, depth: number): void {
    if (depth >= L.MAX_NESTING) throw fault("NestingLimit", home);
    if (home === 0) throw fault("WrongBlock", home);
    if ((home & 7) !== 0) throw fault("Misaligned", home);
    this.pending.push(depth * 4294967296 + home + (tag === L.ARRAY_NODE ? 1 : 0));
  }

  /** Checks tagged cells. Gives how many of them have a value. */
  private cells(base: number, count: number, depth: number, mayMiss: boolean): number {
    const { u8, u32 } = this;
    let values = 0;
    for (let i = 0; i < count; i++) {
      const tag = u8[base + L.tagAt(i)]!;
      const cell = base + L.cellAt(i);
      if (tag !== L.NOTHING) {
        values++;
        this.value(tag, cell, depth);
      } else if (!mayMiss) throw fault("BadCode", cell);
      else if (u32[cell >>> 2] !== 0 || u32[(cell >>> 2) + 1] !== 0) throw fault("NotZero", cell);
    }
    return values;
  }

  /** Checks a span by its tag and cell, and claims its bytes. */
  private span(tag: number, cell: number): void {
    const { u8, u32 } = this;
    const lo = u32[cell >>> 2]!;
    const hi = u32[(cell >>> 2) + 1]!;
    let start = cell;
    let length: number;
    let known = false;
    if (hi >= 0x80000000) {
      length = (hi >>> 24) & 0x7f;
      const high = hi & 0xffffff;
      const rest = length < 4 ? (lo >>> (8 * length)) | high : high >>> (8 * (length - 4));
      if (length > 7 || rest !== 0) throw fault("BadCell", cell);
      known = ((lo | high) & 0x80808080) === 0;
    } else {
      start = lo;
      length = hi & 0x3fffffff;
      const end = start + length;
      if (end > this.used) throw fault("OutOfBounds", cell);
      if (length <= 7) throw fault("BadCell", cell);
      if (hi >= 0x40000000) {
        if ((start & 7) === 0) {
          const padded = L.word(end);
          this.claim(start, padded - start);
          this.zero(end, padded);
        } else this.claimSpan(start, end, false);
      } else {
        if (length > L.MAX_SHARED) throw fault("BadCell", cell);
        this.claimSpan(start, end, true);
        const name = start + length * 4294967296;
        const place = ((start >>> 3) ^ length) & 63;
        known = this.texts[place] === name;
        if (tag === L.TEXT && !known) {
          checkUtf8(this.m, start, end);
          this.texts[place] = name;
          return;
        }
      }
    }
    if (tag === L.TEXT || tag === L.NUMBER_TEXT) {
      if (!known) checkUtf8(this.m, start, start + length);
      if (tag === L.NUMBER_TEXT && !isNumber(u8, start, start + length)) throw fault("BadNumber", start);
    } else if (tag === L.UUID) {
      if (length !== 16) throw fault("BadCell", cell);
    } else if (tag === L.LARGE_DECIMAL) {
      const { coefficient } = cellValue(this.m, tag, cell) as { coefficient: bigint };
      if (BigInt.asIntN(56, coefficient) === coefficient) throw fault("BadCell", cell);
    }
  }

  /** The bytes of a span that was checked. */
  private bytes(cell: number): Uint8Array {
    return this.m.bytes(spanStart(this.m, cell), spanLength(this.m, cell));
  }

  /** The block of a home. A forward is claimed. */
  private block(home: number): number {
    const { m, u8 } = this;
    m.need(home, 8);
    if (u8[home] !== L.FORWARD) return home;
    this.claim(home, 8);
    this.zero(home + 1, home + 4);
    const block = this.u32[(home >>> 2) + 1]!;
    m.need(block, 8);
    if (u8[block] === L.FORWARD) throw fault("WrongBlock", home);
    return block;
  }

  /** Checks an object, whose members have so many containers around them. Gives its block. */
  private object(home: number, depth: number): number {
    const { u8 } = this;
    const block = this.block(home);
    if (u8[block] === L.MAP) this.map(block, depth);
    else if (u8[block] === L.RECORD) {
      const capacity = u8[block + 1]!;
      const used = u8[block + 2]!;
      const shape = this.u32[(block >>> 2) + 1]!;
      this.claim(block, 8 + L.cellsSize(capacity));
      if (used > capacity || (used === 0) !== (shape === 0)) throw fault("BadCount", block);
      if (used > 0) this.useShape(shape, used, block);
      if (this.cells(block + 8, used, depth, true) !== u8[block + 3]) throw fault("BadCount", block + 3);
      this.unused(block + 8, used, capacity);
    } else throw fault("WrongBlock", block);
    return block;
  }

  // --- columns

  /**
   * Checks a column by its header, which is claimed, and all in it.
   *
   * @param parent The table or list that it is in, 0 for none, and its place there.
   * @param above The header of the column above, where slots of that one without a value are missing in this one, else 0.
   * @param level Struct and list columns around it.
   * @param depth Containers around its values.
   * @param live Whether it has slots below rows and arrays that are there.
   * @returns Its dimensions, if it is a tensor, else 0.
   */
  private column(
    h: number,
    parent: number,
    place: number,
    above: number,
    level: number,
    depth: number,
    live: boolean,
  ): number {
    const { u8, u32 } = this;
    if (u8[h] !== L.ARRAY) throw fault("WrongBlock", h);
    const code = u8[h + 1]!;
    const gaps = u8[h + 2]!;
    const count = u32[(h >>> 2) + 1]!;
    const capacity = u32[(h >>> 2) + 2]!;
    const data = u32[(h >>> 2) + 3]!;
    const tensor = u8[h + 3]!;
    const nested = isNested(code);
    const inTable = parent !== 0 && u8[parent] === L.TABLE;
    const mayMiss = inTable || above !== 0;
    if (code > L.BOOL8 || gaps > (code === L.CELLS ? 0 : 3) || (gaps > 1 && !mayMiss)) throw fault("BadCode", h + 1);
    if (tensor > 1) throw fault("NotZero", h + 3);
    if (count > capacity || count > L.MAX_ELEMENTS) throw fault("BadCount", h);
    // Slots that take a bit or nothing are bounded by the document.
    if ((nested || gaps > 0) && count > 8 * this.used) throw fault("BadCount", h);
    const without = capacity === 0 && !nested;
    if (without !== (data === 0) || (without && L.isDictionary(code))) throw fault("BadCount", h);
    if (nested ? gaps === 0 && capacity !== count : gaps === 0 && code === L.NULLS) throw fault("BadCount", h);
    if (tensor === 1 && (inTable || gaps > 0)) throw fault("BadCode", h + 3);
    if (code === L.STRUCT || !nested) {
      if (tensor === 1 ? !L.isTensorCode(code) : code >= L.F16) throw fault("BadCode", h + 3);
    }
    if (without) return tensor;
    if (!nested) {
      this.leaf(h, depth, mayMiss);
      this.missing(h, above);
      return tensor;
    }
    if (level === L.MAX_COLUMN_NESTING && code !== L.RUN) throw fault("NestingLimit", h);
    this.m.need(data, code === L.STRUCT ? L.TABLE_SIZE : 32);
    const size = code === L.STRUCT ? tableSize(this.m, data) : u8[data + 1] === 0 ? 48 : 32;
    if (u8[data] !== (code === L.STRUCT ? L.TABLE : L.LIST)) throw fault("WrongBlock", data);
    this.claim(data, size);
    if (u32[(data >>> 2) + 3] !== (parent === 0 ? h : parent)) throw fault("WrongBlock", data + 12);
    if ((u8[data + 2]! | (u8[data + 3]! << 8)) !== place) throw fault("WrongBlock", data + 2);
    const bits = u32[(data >>> 2) + 2]!;
    if ((bits === 0) !== (gaps === 0 || capacity === 0)) throw fault("BadCount", data + 8);
    if (bits !== 0) {
      this.claim(bits, L.bitmapsSize(gaps, capacity));
      this.bitmaps(h, bits);
    }
    let some = live;
    if (gaps > 0) {
      some = false;
      for (let i = 0; i < count >>> 3 && !some; i++) some = u8[bits + i] !== 0;
      for (let i = count & ~7; i < count && !some; i++) some = this.hasBit(bits, i);
    }
    if (some && code !== L.RUN && depth >= L.MAX_NESTING) throw fault("NestingLimit", h);
    return code === L.STRUCT
      ? this.table(h, data, above, level + 1, depth + 1, some)
      : this.list(h, data, above, level + 1, depth + 1, some);
  }

  /** Checks the data of a column that is no table and no list, and claims it. */
  private leaf(h: number, depth: number, mayMiss: boolean): void {
    const { u8, u32 } = this;
    const code = u8[h + 1]!;
    const gaps = u8[h + 2]!;
    const count = u32[(h >>> 2) + 1]!;
    const capacity = u32[(h >>> 2) + 2]!;
    const data = u32[(h >>> 2) + 3]!;
    const width = L.WIDTHS[code]!;
    const values = valuesAt(this.m, h);
    /** Behind the values come marks, or the header of a dictionary's texts. */
    const behind = values + (code === L.CELLS ? L.cellsSize(capacity) : L.word(width * capacity));
    const bits = code === L.BOOL || L.isMarked(code);
    const end = behind + (bits ? L.bitmapSize(capacity) : L.isDictionary(code) ? L.COLUMN_SIZE : 0);
    this.claim(data, end - data);
    this.bitmaps(h, data);
    if (code === L.CELLS) {
      this.unused(values, count, capacity);
      this.cells(values, count, depth, mayMiss);
      return;
    }
    this.zero(values + width * count, behind);
    if (bits) this.zeroBits(behind, count, end);
    // No slot of a column of nulls has a value.
    if (code === L.NULLS) this.zero(data, data + L.bitmapSize(capacity));
    if (L.isDictionary(code)) this.dictionary(values, width, count, behind);
    if (code >= L.DATES) this.extended(code, values, width, count);
    const references = code === L.TEXTS || code === L.OBJECTS || code === L.ARRAYS;
    if (!references && (gaps === 0 || code === L.NULLS)) return;
    for (let i = 0; i < count; i++) {
      const slot = values + width * i;
      if (gaps > 0 && !this.hasBit(data, i)) {
        this.zero(slot, slot + width);
        if (bits && this.hasBit(behind, i)) throw fault("NotZero", behind + (i >>> 3));
      } else if (code === L.TEXTS) this.span(L.TEXT, slot);
      else if (references) this.node(code === L.OBJECTS ? L.OBJECT_NODE : L.ARRAY_NODE, u32[slot >>> 2]!, depth);
    }
  }

  /** Checks the values of columns of codes 26 to 33. */
  private extended(code: number, values: number, width: number, count: number): void {
    const { u8, u32 } = this;
    if (code === L.UUIDS || code === L.F16) return;
    const tag = [L.DATE, L.TIME, L.DATE_TIME, L.TIMESTAMP, L.DECIMAL][code - L.DATES]!;
    for (let i = 0; i < count; i++) {
      const at = (values + width * i) >>> 2;
      const lo = u32[at]!;
      const fits =
        code === L.BOOL8 ? u8[values + i]! <= 1 : isExtended(tag, lo, code === L.DATES ? (lo | 0) >> 31 : u32[at + 1]!);
      if (!fits) throw fault("BadCell", values + width * i);
    }
  }

  /** Checks the bitmaps of a column's gaps, which are claimed. */
  private bitmaps(h: number, bits: number): void {
    const { u8, u32 } = this;
    const gaps = u8[h + 2]!;
    if (gaps === 0) return;
    const count = u32[(h >>> 2) + 1]!;
    const nulls = bits + L.bitmapSize(u32[(h >>> 2) + 2]!);
    this.zeroBits(bits, count, nulls);
    if (gaps < 3) return;
    const size = nulls - bits;
    this.zeroBits(nulls, count, nulls + size);
    for (let i = 0; i < size; i++) if ((u8[bits + i]! & u8[nulls + i]!) !== 0) throw fault("NotZero", nulls + i);
  }

  /** Checks that a column's slots are missing where those of the column above have no value (FORMAT 6.2). */
  private missing(h: number, above: number): void {
    if (above === 0) return;
    const { m, u8, u32 } = this;
    const count = u32[(h >>> 2) + 1]!;
    const list = u8[above + 1] === L.FIXED_LISTS;
    if (!list && u8[h + 2]! > 1) {
      // The same by eight slots: no slot has a value, or is null, where the row above has none.
      const rows = bitmapsOf(m, above);
      const values = bitmapsOf(m, h);
      const nulls = values + (u8[h + 2] === 3 ? L.bitmapSize(u32[(h >>> 2) + 2]!) : 0);
      for (let i = 0; 8 * i < count; i++) {
        if (((u8[values + i]! | u8[nulls + i]!) & ~u8[rows + i]!) !== 0) throw fault("BadCode", h + 2);
      }
      return;
    }
    const per = list ? u32[(u32[(above >>> 2) + 3]! >>> 2) + 1]! : 1;
    let left = 0;
    let gap = false;
    for (let i = 0, row = 0; i < count; i++) {
      if (left === 0) {
        gap = gapAt(m, above, row++) >= 0;
        left = per;
      }
      left--;
      // Elements of an array that is there are there, too.
      if ((gap || list) && (tagOf(m, h, i) === L.NOTHING) !== gap) {
        throw fault(gap && u8[h + 1] === L.CELLS ? "NotZero" : "BadCode", h + 2);
      }
    }
  }

  /** Checks the texts of a dictionary by their header, and claims them. Checks that each code has a text. */
  private dictionary(values: number, width: number, count: number, texts: number): void {
    const { u8, u32 } = this;
    if (u8[texts] !== L.ARRAY) throw fault("WrongBlock", texts);
    if (u8[texts + 1] !== L.TEXTS || u8[texts + 2] !== 0) throw fault("BadCode", texts);
    this.zero(texts + 3, texts + 4);
    const n = u32[(texts >>> 2) + 1]!;
    const capacity = u32[(texts >>> 2) + 2]!;
    const data = u32[(texts >>> 2) + 3]!;
    if (n === 0 || n > Math.min(capacity, width === 1 ? 256 : 65_536)) throw fault("BadCount", texts);
    this.claim(data, 8 * capacity);
    this.zero(data + 8 * n, data + 8 * capacity);
    for (let cell = data; cell < data + 8 * n; cell += 8) {
      const hi = u32[(cell >>> 2) + 1]!;
      if (hi >= 0x40000000 && hi < 0x80000000) throw fault("BadCell", cell);
      this.span(L.TEXT, cell);
    }
    for (let i = 0; i < count; i++) {
      const code = width === 1 ? u8[values + i]! : u16At(u8, values + 2 * i);
      if (code >= n) throw fault("BadIndex", values + width * i);
    }
  }

  private table(h: number, table: number, above: number, level: number, depth: number, live: boolean): number {
    const { u8, u32 } = this;
    const rows = u32[(h >>> 2) + 1]!;
    const columns = columnsOf(this.m, table);
    const ordered = u8[table + 1]!;
    if (ordered > 1) throw fault("BadCode", table + 1);
    this.zero(table + 22, table + 24);
    if (columns === 0) throw fault("BadCount", table);
    this.missing(h, above);
    this.useShape(u32[(table >>> 2) + 1]!, columns, table);
    const below = u8[h + 2] === 0 ? 0 : h;
    for (let i = 0; i < columns + ordered; i++) {
      const header = table + L.TABLE_SIZE + 16 * i;
      const orders = i === columns;
      if (u32[(header >>> 2) + 1] !== rows) throw fault("BadCount", header);
      if (orders && (!L.isDictionary(u8[header + 1]!) || (u8[header + 2]! & 1) !== 0)) throw fault("BadCode", header);
      this.column(header, table, i, below, level, depth, live);
      if (orders) this.orders(header, columns);
    }
    const extras = u32[(table >>> 2) + 4]!;
    if (extras !== 0) this.extras(h, table, extras, depth);
    return 0;
  }

  /** Checks the orders that rows have their members in. */
  private orders(header: number, columns: number): void {
    const { u32 } = this;
    const width = L.WIDTHS[this.u8[header + 1]!]!;
    const texts = valuesAt(this.m, header) + L.word(width * u32[(header >>> 2) + 2]!);
    const data = u32[(texts >>> 2) + 3]!;
    /** Where the text begins that named a column last. */
    const named = new Float64Array(Math.min(columns, 128));
    for (let cell = data; cell < data + 8 * u32[(texts >>> 2) + 1]!; cell += 8) {
      for (const place of this.bytes(cell)) {
        if (place >= named.length || named[place] === cell) throw fault("BadIndex", cell);
        named[place] = cell;
      }
    }
  }

  /** Checks the members that single rows have beside the columns. */
  private extras(h: number, table: number, extras: number, depth: number): void {
    const { m, u8, u32 } = this;
    this.claim(extras, L.COLUMN_SIZE);
    if (u8[extras + 1] !== L.U64 || u8[extras + 2] !== 0) throw fault("WrongBlock", extras);
    this.zero(extras + 3, extras + 4);
    this.column(extras, 0, 0, 0, 0, 0, false);
    const shape = u32[(table >>> 2) + 1]!;
    const columns = columnsOf(m, table);
    const data = u32[(extras >>> 2) + 3]!;
    let next = 0;
    for (let at = data; at < data + 8 * u32[(extras >>> 2) + 1]!; at += 8) {
      const home = u32[at >>> 2]!;
      const row = u32[(at >>> 2) + 1]!;
      if (row < next || row >= u32[(h >>> 2) + 1]! || gapAt(m, h, row) >= 0) throw fault("BadIndex", at);
      next = row + 1;
      if ((home & 7) !== 0) throw fault("Misaligned", home);
      const block = this.object(home, depth);
      if (u8[block] === L.MAP && (u8[block + L.MAP_VALUES + 1] !== L.CELLS || u8[block + L.MAP_VALUES + 2] !== 0)) {
        throw fault("BadCode", block + L.MAP_VALUES);
      }
      const object = new Place(m);
      object.toObject(home);
      for (const members = new Members(object); members.next(); ) {
        const key = new Key(this.bytes(members.key));
        if (findInShape(m, shape, columns, key) >= 0) throw fault("DuplicateKey", extras);
      }
    }
  }

  private list(h: number, list: number, above: number, level: number, depth: number, live: boolean): number {
    const { u8, u32 } = this;
    const code = u8[h + 1]!;
    const rows = u32[(h >>> 2) + 1]!;
    const gaps = u8[h + 2]!;
    const fixed = code === L.FIXED_LISTS || (code === L.RUN && u8[list + 1] === 1);
    const length = u32[(list >>> 2) + 1]!;
    if (u8[list + 1] !== (fixed ? 1 : 0)) throw fault("BadCode", list + 1);
    if (fixed ? length === 0 : length !== 0) throw fault(fixed ? "BadCount" : "NotZero", list + 4);
    const child = list + L.LIST_ELEMENTS;
    const count = u32[(child >>> 2) + 1]!;
    if ((fixed ? length * rows : this.offsets(h, list)) !== count) throw fault("BadCount", child);
    this.missing(h, above);
    const tensor = u8[child + 3]!;
    const mayHoldTensors = code === L.FIXED_LISTS;
    if (mayHoldTensors ? u8[h + 3]! > tensor : u8[h + 3] !== 0 || tensor !== 0) throw fault("BadCode", h + 3);
    if (code === L.RUN) {
      this.column(child, list, 0, 0, level, depth, false);
      this.run(list, rows);
      if (fixed && gaps > 0) this.absent(h, child);
      return 0;
    }
    const missing = fixed && gaps > 0 && tensor === 0 ? h : 0;
    const dimensions = this.column(child, list, 0, missing, level, depth, fixed ? live : count > 0);
    if (gaps > 0 && tensor === 1) this.absent(h, child);
    if (dimensions === 0) return 0;
    if (dimensions + u8[h + 3]! > 16) throw fault("NestingLimit", h);
    return u8[h + 3] === 0 ? 0 : dimensions + 1;
  }

  /** Checks that elements of slots without a value are 0, in a run of fixed length or where a list has tensors. */
  private absent(h: number, child: number): void {
    const { m, u32 } = this;
    const rows = u32[(h >>> 2) + 1]!;
    let numbers = child;
    while (this.u8[numbers + 1] === L.FIXED_LISTS) numbers = u32[(numbers >>> 2) + 3]! + L.LIST_ELEMENTS;
    const data = u32[(numbers >>> 2) + 3]!;
    const size = (u32[(numbers >>> 2) + 1]! / rows) * L.WIDTHS[this.u8[numbers + 1]!]!;
    for (let i = 0; i < rows; i++) if (gapAt(m, h, i) >= 0) this.zero(data + i * size, data + (i + 1) * size);
  }

  /** Checks the offsets of a list or run. Gives the last of them. */
  private offsets(h: number, list: number): number {
    const { m, u8, u32 } = this;
    const header = list + L.LIST_OFFSETS;
    const code = u8[header + 1]!;
    const known = code === L.U8 || code === L.U16 || code === L.U32;
    if (!known || u8[header + 2] !== 0) throw fault("WrongBlock", header);
    this.zero(header + 3, header + 4);
    this.column(header, list, 0, 0, 0, 0, false);
    const rows = u32[(h >>> 2) + 1]!;
    if (u32[(header >>> 2) + 1] !== rows + 1) throw fault("BadCount", header);
    const gaps = u8[h + 2]!;
    let last = 0;
    for (let i = 0; i <= rows; i++) {
      const offset = this.offset(header, i);
      if (offset < last || (i === 0 && offset !== 0)) throw fault("BadIndex", header);
      // An array without a value has no elements.
      if (gaps > 0 && offset > last && gapAt(m, h, i - 1) >= 0) throw fault("BadCount", header);
      last = offset;
    }
    return last;
  }

  /** Number i of offsets that were checked. */
  private offset(header: number, i: number): number {
    const { u8, u32 } = this;
    const data = u32[(header >>> 2) + 3]!;
    const code = u8[header + 1]!;
    if (code === L.U8) return u8[data + i]!;
    return code === L.U16 ? u16At(u8, data + 2 * i) : u32[(data >>> 2) + i]!;
  }

  /** Checks that the bytes of a run are UTF-8, and that each text begins between two characters. */
  private run(list: number, rows: number): void {
    const { m, u8, u32 } = this;
    const bytes = list + L.LIST_ELEMENTS;
    const [count, data] = [u32[(bytes >>> 2) + 1]!, u32[(bytes >>> 2) + 3]!];
    if (u8[bytes + 1] !== L.U8 || u8[bytes + 2] !== 0) throw fault("BadCode", bytes);
    if (count > L.MAX_SPAN) throw fault("BadCount", bytes);
    checkUtf8(m, data, data + count);
    for (let i = 0; i <= rows; i++) {
      const offset = offsetAt(m, list, i);
      if (offset < count && (u8[data + offset]! & 0xc0) === 0x80) throw fault("BadText", data + offset);
    }
  }

  // --- maps

  private map(map: number, depth: number): void {
    const { m, u8, u32 } = this;
    m.need(map, L.MAP_SIZE);
    const at = map >>> 2;
    const header = map + L.MAP_VALUES;
    const [live, block, buckets] = [u32[at + 1]!, u32[at + 2]!, u32[at + 3]!];
    const [capacity, keys, root, used] = [u32[at + 4]!, u32[at + 5]!, u32[at + 6]!, u32[at + 9]!];
    this.claim(map, L.MAP_SIZE);
    this.zero(map + 1, map + 4);
    this.zero(map + 28, map + 32);
    if (
      used > capacity ||
      (capacity === 0) !== (keys === 0) ||
      (block === 0) !== (buckets === 0) ||
      (live === 0 && root !== 0) ||
      (block === 0 && root === 0 && used > 16)
    ) {
      throw fault("BadCount", map);
    }
    this.claim(keys, capacity === 0 ? 0 : 8 * capacity);
    let entries = 0;
    for (let i = 0; i < used; i++) {
      if (isHole(m, keys + 8 * i)) continue;
      entries++;
      this.span(L.TEXT, keys + 8 * i);
    }
    if (entries !== live || (used > 0 && isHole(m, keys + 8 * (used - 1)))) throw fault("BadCount", map);
    this.zero(keys + 8 * used, keys + 8 * capacity);
    if (root !== 0) {
      this.key = null;
      if (this.tree(root, -1, keys, used) !== live) throw fault("BadCount", map);
    } else if (block === 0) {
      for (let i = 0; i < used; i++) {
        if (isHole(m, keys + 8 * i)) continue;
        const key = new Key(this.bytes(keys + 8 * i));
        for (let other = 0; other < i; other++) {
          if (isKey(m, keys + 8 * other, key)) throw fault("DuplicateKey", keys + 8 * i);
        }
      }
    }
    if (block !== 0) this.hash(block, buckets, keys, used, root !== 0);
    this.column(header, 0, 0, 0, 0, depth, used > 0);
    if (u8[header + 3] !== 0) throw fault("BadCode", header);
    for (let i = 0; i < used; i++) {
      if (isHole(m, keys + 8 * i) && tagOf(m, header, i) !== L.NULL) throw fault("BadCount", keys + 8 * i);
    }
  }

  /** Checks a node of a tree and those below it, which lie on the level below `above`. Gives how many entries it has. */
  private tree(node: number, above: number, keys: number, used: number): number {
    const { m, u8, u32 } = this;
    m.need(node, 256);
    const level = u8[node]!;
    const count = u8[node + 1]!;
    const fits = above < 0 ? level === 0 || count > 1 : level === above - 1;
    if (level > 11 || count === 0 || count > 63 || !fits) throw fault("BadIndex", node);
    this.zero(node + 2, node + 4);
    this.zero(node + 4 + 4 * count, node + 256);
    this.claim(node, 256);
    let entries = 0;
    for (let i = 1; i <= count; i++) {
      const item = u32[(node >>> 2) + i]!;
      if (level > 0) {
        entries += this.tree(item, level, keys, used);
        continue;
      }
      const cell = keys + 8 * item;
      if (item >= used || isHole(m, cell)) throw fault("BadIndex", node);
      const order = this.key === null ? 1 : compareKey(m, cell, this.key);
      if (order <= 0) throw fault(order === 0 ? "DuplicateKey" : "BadIndex", node);
      this.key = this.bytes(cell);
      entries++;
    }
    return entries;
  }

  private hash(block: number, buckets: number, keys: number, used: number, tree: boolean): void {
    const { m, u8, u32 } = this;
    const size = 64 * buckets + 56;
    if (buckets > 1 << 26) throw fault("BadCount", block);
    this.claim(block, size);
    const first = Math.ceil(block / 64) * 64;
    this.zero(block, first);
    this.zero(first + 64 * buckets, block + size);
    let places = 0;
    for (let i = 0; i < buckets; i++) {
      const here = first + 64 * i;
      const mark = u8[here + 12]!;
      if (mark > 31) throw fault("NotZero", here + 12);
      this.zero(here + 13, here + 16);
      if ((mark & 15) >= buckets || (mark > 15 && !tree)) throw fault("BadIndex", here);
      for (let k = 0; k < 12; k++) {
        if (u8[here + k] !== 0) places++;
        else if (u32[((here + 16) >>> 2) + k] !== 0) throw fault("NotZero", here);
      }
    }
    for (let entry = 0; entry < used; entry++) {
      if (isHole(m, keys + 8 * entry)) continue;
      const bytes = this.bytes(keys + 8 * entry);
      const [place, fingerprint] = hashOf(bytes);
      let bucket = bucketOf(place, buckets);
      const mark = u8[first + 64 * bucket + 12]!;
      let found = false;
      for (let left = mark & 15; left >= 0 && !found; left--) {
        const here = first + 64 * bucket;
        for (let k = 0; k < 12 && !found; k++) {
          if (u8[here + k] !== fingerprint) continue;
          const other = u32[((here + 16) >>> 2) + k]!;
          found = other === entry;
          // Of two entries with one key, one finds the other here. A tree shows them by itself.
          if (!found && !tree && other < used && isKey(m, keys + 8 * other, new Key(bytes))) {
            throw fault("DuplicateKey", here);
          }
        }
        bucket = bucket + 1 === buckets ? 0 : bucket + 1;
      }
      if (found) places--;
      else if (mark < 16) throw fault("BadIndex", first + 64 * bucket);
    }
    // A place of no entry, or of one that has another.
    if (places !== 0) throw fault("BadIndex", block);
  }
}
