// Keys and key lists: a trie while the document is encoded, shapes at its end (PROFILE 5).

import type { Key } from "../key.js";
import * as L from "../layout.js";
import type { Output } from "./output.js";

/** Most lists of more than 255 keys that the objects of an outermost array make. */
const MOST_WIDE_LISTS = 1 << 20;
/** Lists up to which the longer ones are found by going through them. */
const FEW_CHILDREN = 8;

/** A key of the document, and where the text of a long one was written. */
export class KeyText {
  written = 0;
  private plain: boolean | undefined = undefined;

  constructor(
    readonly text: string,
    readonly key: Key,
  ) {}

  /** Whether JSON has the key as it is, without escapes. */
  get isPlain(): boolean {
    this.plain ??= this.key.bytes.every((byte) => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c);
    return this.plain;
  }
}

/** A list of keys: those of the list before, and one more. */
export class KeyList {
  readonly depth: number;
  /** The longer list most lately taken; while shapes are written, the first that is needed. */
  child: KeyList | null = null;
  /** The longer lists, the newest first; where there are many, by their last keys. */
  private last: KeyList | null = null;
  private children = 0;
  private byKey: Map<KeyText, KeyList> | null = null;
  /** The record or table of this list that was written last; each has the place of the one before. */
  latest = 0;
  users = 0;
  private sibling: KeyList | null = null;

  constructor(
    readonly id: number,
    readonly parent: KeyList | null,
    readonly last_: KeyText | null,
    /** The text of the last key. */
    readonly text: string,
  ) {
    this.depth = parent === null ? 0 : parent.depth + 1;
  }

  /** Whether it is too long for a record. */
  get isWide(): boolean {
    return this.depth > L.MAX_FIELDS;
  }

  /** The list with this key more, if it was met. */
  find(key: KeyText): KeyList | null {
    if (this.byKey !== null) return this.byKey.get(key) ?? null;
    let child = this.last;
    while (child !== null && child.last_ !== key) child = child.sibling;
    return child;
  }

  add(child: KeyList): void {
    child.sibling = this.last;
    this.last = child;
    if (++this.children > FEW_CHILDREN) {
      if (this.byKey === null) {
        this.byKey = new Map();
        for (let each = child.sibling; each !== null; each = each.sibling) this.byKey.set(each.last_!, each);
      }
      this.byKey.set(child.last_!, child);
    }
  }

  /** Whether the list has a key. */
  has(key: KeyText): boolean {
    for (let list: KeyList | null = this; list !== null; list = list.parent) if (list.last_ === key) return true;
    return false;
  }

  /** The keys in their order. */
  keys(): KeyText[] {
    const keys: KeyText[] = new Array(this.depth);
    for (let list: KeyList = this; list.parent !== null; list = list.parent) keys[list.depth - 1] = list.last_!;
    return keys;
  }
}

/** The order of bytes as unsigned numbers, a prefix first. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

export class Keys {
  lists: KeyList[] = [];
  private known = new Map<string, KeyText>();
  /** Lists of more than 255 keys that were added since the outermost array began. */
  wide = 0;

  constructor() {
    this.clear();
  }

  clear(): void {
    this.lists = [new KeyList(0, null, null, "")];
    this.known.clear();
    this.wide = 0;
  }

  get root(): KeyList {
    return this.lists[0]!;
  }

  /** The key of a string, if it was met. */
  of(text: string): KeyText | undefined {
    return this.known.get(text);
  }

  /** A new key. */
  make(text: string, made: Key): KeyText {
    const key = new KeyText(text, made);
    this.known.set(text, key);
    return key;
  }

  /** A list, and one key more; `null` where there is no room for longer lists. */
  longer(list: KeyList, key: KeyText): KeyList | null {
    if (list.depth >= L.MAX_FIELDS && this.wide++ >= MOST_WIDE_LISTS) return null;
    return this.add(list, key);
  }

  private add(list: KeyList, key: KeyText): KeyList {
    const child = new KeyList(this.lists.length, list, key, key.text);
    this.lists.push(child);
    list.add(child);
    return child;
  }

  /** The list of these keys, which may be new. */
  listOf(keys: KeyText[]): KeyList {
    let list = this.root;
    for (const key of keys) list = list.find(key) ?? this.add(list, key);
    return list;
  }

  /** Writes a shape for each leaf that has users, and tells the users. Returns the newest shape. */
  writeShapes(out: Output): number {
    const { lists } = this;
    for (const list of lists) list.child = null;
    // Longer lists come behind those that they begin with: so the first one that is needed is found last.
    for (let i = lists.length - 1; i > 0; i--) {
      const list = lists[i]!;
      if (!list.isWide && (list.latest !== 0 || list.child !== null)) list.parent!.child = list;
    }
    let newest = 0;
    for (let i = 1; i < lists.length; i++) {
      const leaf = lists[i]!;
      if (leaf.child !== null || leaf.latest === 0) continue;
      const shape = this.writeShape(out, leaf, newest);
      newest = shape;
      let users = 0;
      let list = leaf;
      for (;;) {
        users += list.users;
        for (let user = list.latest; user !== 0; ) {
          const before = out.u32[(user >>> 2) + 1]!;
          out.u32[(user >>> 2) + 1] = shape;
          user = before;
        }
        const { parent } = list;
        // A wide shape serves its own list alone.
        if (parent === null || parent.parent === null || parent.child !== list) break;
        list = parent;
      }
      if (users === 1) out.u8[shape + 3] = 1;
    }
    return newest;
  }

  private writeShape(out: Output, leaf: KeyList, older: number): number {
    const keys = leaf.keys();
    for (const key of keys) {
      const { bytes } = key.key;
      if (bytes.length <= 7 || key.written !== 0) continue;
      key.written = out.grow(bytes.length);
      out.u8.set(bytes, key.written);
    }
    out.align();
    const n = keys.length;
    const head = leaf.isWide ? L.word(16 + 2 * n) : L.word(8 + n);
    const shape = out.grow(head + 8 * n);
    out.u32[(shape >>> 2) + 1] = older;
    if (leaf.isWide) {
      out.u8[shape] = L.WIDE_SHAPE;
      out.u32[(shape >>> 2) + 2] = n;
      const order = keys.map((_, i) => i).sort((a, b) => compareBytes(keys[a]!.key.bytes, keys[b]!.key.bytes));
      order.forEach((place, i) => {
        out.u8[shape + 16 + 2 * i] = place;
        out.u8[shape + 17 + 2 * i] = place >>> 8;
      });
    } else {
      out.u8[shape] = L.SHAPE;
      out.u8[shape + 1] = n;
      out.u8[shape + 2] = n;
    }
    keys.forEach(({ key, written }, i) => {
      if (!leaf.isWide) out.u8[shape + 8 + i] = key.fingerprint;
      const cell = (shape + head + 8 * i) >>> 2;
      out.u32[cell] = written === 0 ? key.lo : written;
      out.u32[cell + 1] = written === 0 ? key.hi : key.bytes.length;
    });
    return shape;
  }
}
