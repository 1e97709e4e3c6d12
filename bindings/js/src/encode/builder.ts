// Events become a document (PROFILE): values, keys, and the beginnings and ends of containers, in the order of the text.
//
// One pass, and no object for each value. Text outside of arrays is written when it comes, a container when it ends,
// behind all that it holds. Shapes come last, when the key lists are known. Containers and texts within arrays wait until
// the outermost array ends. Then the plan decides which of them become columns, and all of them are written.

import { LivebufError } from "../error.js";
import { bucketOf, hashOf, keyOf, NO_KEY } from "../key.js";
import * as L from "../layout.js";
import { compareBytes, type KeyList, Keys, type KeyText } from "./keys.js";
import { Output } from "./output.js";
import { buckets, dataSize, isWhole, objectSize, type Plan, Planner, Summary, type Tensor } from "./plan.js";
import * as S from "./stack.js";
import { Stack } from "./stack.js";
import { Texts } from "./texts.js";

/** An open container. */
class Frame {
  /** Its first value on the stack. */
  start = 0;
  kind = L.ARRAY;
  /** The keys of a record so far. */
  node!: KeyList;
  /** Size of the waiting containers in it, as records and plain arrays. */
  plain = 0;
  /** Of a map, where its keys begin among those of all open maps. */
  first = 0;
  /** The keys of an object of very many, so that one that comes twice is found. */
  met: Set<KeyText> | null = null;
}

/** Entries below which a map's values are no rows. */
const LEAST_ROWS = 8;
const NODE_ITEMS = 63;

/** Whether values may be rows: their members, and those of the one with the most (PROFILE 4). */
const areSimilar = (count: number, members: number, most: number): boolean =>
  count >= LEAST_ROWS && most > 0 && 4 * members >= count * most;

export class Builder extends Stack {
  readonly out = new Output();
  readonly texts = new Texts(this.out);
  readonly keys = new Keys();
  private readonly planner = new Planner(this, this.texts, this.keys);
  private readonly frames: Frame[] = [];
  /** The innermost open container. */
  private frame = new Frame();
  /** How many containers are open. */
  depth = 0;
  /** The outermost open array, or map of similar objects, within which all values wait; −1 for none. */
  private outermost = -1;
  /** Span cells of the keys of open maps, two halves each. */
  private mapKeys: number[] = [];
  private tables = true;
  /** Whether a key that comes twice is refused. */
  refuses = false;
  /** Garbage is left, or values should have waited or not: the document is to be encoded anew, from its value. */
  isAnew = false;
  /** Whether it is known which maps are of similar objects. */
  knows = false;
  private readonly summary = new Summary();
  // A value that is about to be written.
  private tag = 0;
  private lo = 0;
  private hi = 0;

  /** Begins a document. */
  begin(tables: boolean): void {
    this.tables = tables;
    this.planner.tables = tables;
    this.out.clear();
    this.texts.clear();
    this.keys.clear();
    this.planner.tensors = [];
    this.planner.used = 0;
    this.top = 0;
    this.depth = 0;
    this.outermost = -1;
    this.mapKeys = [];
    this.isAnew = false;
    this.knows = false;
  }

  /** Bytes of memory that are kept for the next document. */
  get kept(): number {
    return this.out.u8.length + this.texts.kept + 9 * this.tags.length + 4 * this.planner.places.length;
  }

  // --- values

  /** A string. */
  string(text: string): void {
    const n = text.length;
    if (n <= 7) {
      let lo = 0;
      let hi = (0x80 + n) << 24;
      let i = 0;
      for (; i < n; i++) {
        const c = text.charCodeAt(i);
        if (c > 127) break;
        if (i < 4) lo |= c << (8 * i);
        else hi |= c << (8 * (i - 4));
      }
      if (i === n) {
        this.push(L.TEXT, lo, hi);
        return;
      }
    }
    const number = this.texts.find(text, this.outermost >= 0);
    if (number >= 0) this.push(S.WAITING, number, 0);
    else this.text(this.texts.put(text), text);
  }

  /** The text that was put behind those that wait; `string` if it was one, which is not known. */
  text(length: number, string: string | null): void {
    const { texts } = this;
    const waits = this.outermost >= 0;
    if (length <= 7) this.inline(L.TEXT, texts.bytes, texts.used, length);
    else if (length > L.MAX_SHARED || texts.skips()) {
      if (length > L.MAX_SPAN) {
        throw new LivebufError("StringLimit", "a string has more than 2³⁰ − 1 bytes; store it in parts");
      }
      if (waits) this.push(S.LOOSE, texts.keep(length), length);
      else this.push(L.TEXT, this.out.store(texts.bytes, texts.used, length), length | 0x40000000);
    } else this.push(S.WAITING, texts.intern(length, waits, string), 0);
  }

  /** At most seven bytes, which stand in the cell. */
  inline(tag: number, bytes: Uint8Array, at: number, length: number): void {
    let [lo, hi] = [0, (0x80 + length) << 24];
    for (let i = 0; i < length; i++) {
      if (i < 4) lo |= bytes[at + i]! << (8 * i);
      else hi |= bytes[at + i]! << (8 * (i - 4));
    }
    this.push(tag, lo, hi);
  }

  /** Bytes, number text, or what is stored as bytes. */
  span(tag: number, bytes: Uint8Array): void {
    const { length } = bytes;
    if (tag === L.UUID && this.outermost >= 0) {
      // It may become a slot of a column.
      this.texts.putBytes(bytes, 0, length);
      this.push(S.LOOSE_UUID, this.texts.keep(length), length);
    } else if (length <= 7) this.inline(tag, bytes, 0, length);
    else {
      if (length > L.MAX_SPAN) {
        throw new LivebufError("StringLimit", "a value has more than 2³⁰ − 1 bytes; store it in parts");
      }
      this.push(tag, this.out.store(bytes, 0, length), length | 0x40000000);
    }
  }

  /** A whole number of at most 2⁵³. */
  integer(value: number): void {
    this.push(L.INT, value, Math.floor(value / 4294967296));
  }

  float(value: number): void {
    this.push(L.FLOAT, 0, 0x7ff80000);
    // Engines give NaN any bits.
    if (!Number.isNaN(value)) this.floats[this.top - 1] = value;
  }

  /** An integer of up to 64 bits. */
  wide(tag: number, value: bigint): void {
    this.push(tag, Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)));
  }

  /** An array that is a tensor. */
  tensor(tensor: Tensor): void {
    const height = tensor.lengths[0] === 0 ? 1 : tensor.lengths.length;
    if (this.depth + height > L.MAX_NESTING) throw this.tooDeep();
    if (this.outermost < 0) {
      this.push(L.ARRAY_NODE, this.writeTensor(tensor), 0);
      return;
    }
    this.push(S.TENSOR, this.planner.tensors.push(tensor) - 1, 0);
    this.addPlain(tensor.arraySize);
  }

  // --- containers

  private tooDeep(): LivebufError {
    return new LivebufError(
      "NestingLimit",
      "containers are nested more than 1,000 deep; if an object holds itself, leave it out there",
    );
  }

  private open(kind: number): Frame {
    const { depth, frames } = this;
    if (depth >= L.MAX_NESTING) throw this.tooDeep();
    if (depth === frames.length) frames.push(new Frame());
    const frame = frames[depth]!;
    this.depth = depth + 1;
    this.frame = frame;
    frame.kind = kind;
    frame.start = this.top;
    frame.plain = 0;
    return frame;
  }

  private close(): void {
    if (--this.depth > 0) this.frame = this.frames[this.depth - 1]!;
  }

  beginArray(): void {
    if (this.outermost >= 0) this.push(S.WAITING_ARRAY, 0, 0);
    else if (this.tables) this.beginOutermost(this.depth);
    this.open(L.ARRAY);
  }

  private beginOutermost(depth: number): void {
    this.outermost = depth;
    this.keys.wide = 0;
  }

  beginObject(): void {
    if (this.outermost >= 0) {
      this.push(S.WAITING_OBJECT, 0, 0);
      this.push(S.WAITING_SIZE, 0, 0);
    }
    const frame = this.open(L.RECORD);
    frame.node = this.keys.root;
    frame.met = null;
  }

  /** Begins an object that is known to become a map of similar objects. */
  beginMapOfRows(): void {
    this.beginObject();
    this.becomeMap(this.frame);
    this.beginOutermost(this.depth - 1);
  }

  /** The key list that is expected to come next; its text is the key. `null` where there is none. */
  get expected(): KeyList | null {
    const frame = this.frame;
    return frame.kind === L.RECORD ? frame.node.child : null;
  }

  /** The expected key comes. */
  take(child: KeyList): void {
    const frame = this.frame;
    frame.node = child;
    if (frame.met !== null) frame.met.add(child.last_!);
  }

  /** The key of the value that comes next. */
  key(text: string): void {
    const frame = this.frame;
    if (frame.kind === L.RECORD) {
      const { child } = frame.node;
      if (child !== null && child.text === text) {
        frame.node = child;
        if (frame.met !== null) frame.met.add(child.last_!);
        return;
      }
      if (this.otherKey(frame, text)) return;
      this.becomeMap(frame);
    }
    const length = this.texts.put(text);
    this.mapKey(this.texts.bytes, this.texts.used, length);
  }

  /** Whether values wait for the end of an array. */
  get waits(): boolean {
    return this.outermost >= 0;
  }

  /** Whether the innermost object is a map already. */
  get isMap(): boolean {
    return this.frame.kind === L.MAP;
  }

  /** A key that does not follow the way most lately taken. False where the object is no record for it. */
  private otherKey(frame: Frame, text: string): boolean {
    const { keys, outermost } = this;
    const { node } = frame;
    // What waits may become a row.
    if (node.depth >= (outermost >= 0 ? L.MAX_COLUMNS : L.MAX_FIELDS) || text.length > L.MAX_KEY) return false;
    let key = keys.of(text);
    if (key === undefined) {
      let made = keyOf(text);
      if (made.bytes.length > L.MAX_KEY) return false;
      if (made.bytes[0] === NO_KEY) {
        text = this.texts.whole(text);
        made = keyOf(text);
      }
      key = keys.of(text) ?? keys.make(text, made);
    }
    let next = node.find(key);
    // Only a new way can hold a key twice.
    if (next === null && this.hasKey(frame, key)) {
      this.twice(text);
      return false;
    }
    next ??= keys.longer(node, key);
    if (next === null) return false;
    // From the last key of a record on none is expected: what waits may become a row, and what stands by itself a map.
    if (node.depth !== L.MAX_FIELDS) node.child = next;
    frame.node = next;
    if (frame.met !== null) frame.met.add(key);
    return true;
  }

  private hasKey(frame: Frame, key: KeyText): boolean {
    if (frame.node.depth <= L.MAX_FIELDS) return frame.node.has(key);
    frame.met ??= new Set(frame.node.keys());
    return frame.met.has(key);
  }

  private twice(key: string): void {
    if (this.refuses) {
      throw new LivebufError("DuplicateKey", `the key ${JSON.stringify(key.slice(0, 60))} comes twice in an object`);
    }
    this.isAnew = true;
  }

  /** A key of a map, whose bytes are there. */
  mapKey(bytes: Uint8Array, start: number, length: number): void {
    if (length > L.MAX_SPAN) throw new LivebufError("StringLimit", "a key has more than 2³⁰ − 1 bytes");
    if (length > 7) {
      this.mapKeys.push(this.out.store(bytes, start, length), length | 0x40000000);
      return;
    }
    this.inline(L.TEXT, bytes, start, length);
    const at = 2 * --this.top;
    this.mapKeys.push(this.cells[at]!, this.cells[at + 1]!);
  }

  private becomeMap(frame: Frame): void {
    frame.kind = L.MAP;
    frame.first = this.mapKeys.length;
    this.putMapKeys(frame.node);
  }

  private putMapKeys(list: KeyList): void {
    for (const { key } of list.keys()) this.mapKey(key.bytes, 0, key.bytes.length);
  }

  private addPlain(plain: number): void {
    this.frame.plain += plain;
  }

  endObject(): void {
    const frame = this.frame;
    const { start } = frame;
    const waits = this.outermost >= 0;
    let home: number;
    // The keys of many similar objects are those of a map, not of a row.
    if (frame.kind === L.RECORD && frame.node.isWide && this.areRows(start)) this.becomeMap(frame);
    if (frame.kind === L.RECORD) {
      if (waits) {
        this.endWaitingObject(frame);
        return;
      }
      home = this.writeRecord(start, frame.node);
    } else {
      home = this.endMap(frame);
      if (this.outermost === this.depth - 1) this.endOutermost();
      else if (waits) {
        // The place that waited for a record holds the map.
        this.close();
        this.top = start - 2;
        this.push(L.OBJECT_NODE, home, 0);
        return;
      }
    }
    this.close();
    this.top = start;
    this.push(L.OBJECT_NODE, home, 0);
  }

  private endWaitingObject(frame: Frame): void {
    const { start, node } = frame;
    const places = this.top - start;
    const plain = frame.plain + objectSize(node.depth);
    this.close();
    this.cells[2 * (start - 2)] = node.id;
    this.cells[2 * (start - 2) + 1] = places;
    if (places === 0) this.top = start - 1;
    else this.floats[start - 1] = plain;
    this.addPlain(plain);
  }

  endArray(): void {
    const frame = this.frame;
    const { start } = frame;
    if (this.outermost >= 0 && this.outermost < this.depth - 1) {
      const { summary, planner, top } = this;
      summary.clear();
      for (let at = start; at < top; at = this.behind(at)) summary.add(this, planner.tensors, at);
      summary.leaf(true);
      const plain = frame.plain + 16 + summary.size;
      this.close();
      this.cells[2 * (start - 1)] = top - start;
      this.cells[2 * (start - 1) + 1] = Math.min(plain, 0xffffffff);
      this.addPlain(plain);
      return;
    }
    this.outermost = -1;
    const home = this.layOutArray(start);
    this.endOutermost();
    this.close();
    this.top = start;
    this.push(L.ARRAY_NODE, home, 0);
  }

  /** The outermost container within which values waited is laid out. */
  private endOutermost(): void {
    this.outermost = -1;
    this.texts.writeRest();
    // That texts did not repeat here says nothing of those of the next array.
    if (this.tables) this.texts.noPause();
    this.planner.tensors = [];
  }

  // --- the end

  /** Writes the shapes and the header, and returns the document's bytes. */
  finish(): Uint8Array<ArrayBuffer> {
    const { out } = this;
    const newest = this.keys.writeShapes(out);
    this.final(0, 8);
    out.align();
    out.u32[0] = 0x46424cab;
    out.u8[4] = L.VERSION;
    out.u32[2] = this.lo;
    out.u32[3] = this.hi;
    out.u8[16] = this.tag;
    out.u32[5] = out.used;
    out.u32[6] = newest;
    return out.take();
  }

  // --- writing

  /** The tag and cell of a value that is laid out, which comes to lie at `position`. */
  private final(at: number, position: number): void {
    const tag = this.tags[at]!;
    this.tag = tag;
    this.lo = this.cells[2 * at]!;
    this.hi = this.cells[2 * at + 1]!;
    if (tag < S.WAITING) return;
    this.tag = S.finalTag(tag);
    if (tag === S.WAITING) {
      this.hi = this.texts.settle(this.lo, position);
      this.lo = this.texts.offset(this.lo);
    } else if (tag === S.WAITING_ARRAY) {
      this.lo = this.hi;
      this.hi = 0;
    } else if (tag === S.WAITING_OBJECT) {
      if (this.hi !== 0) this.lo = this.cells[2 * at + 2]!;
      this.hi = 0;
    }
  }

  /** Writes values from `start` on as tagged cells, at `place` (FORMAT 3.4). */
  private putTagged(place: number, start: number, count: number): void {
    const { out } = this;
    const { u8, u32 } = out;
    for (let i = 0; i < count; i++) {
      const cell = place + L.cellAt(i);
      this.final(start + i, cell);
      u8[place + L.tagAt(i)] = this.tag;
      u32[cell >>> 2] = this.lo;
      u32[(cell >>> 2) + 1] = this.hi;
    }
  }

  /** Notes that a record or table of this list is at `block`. */
  private use(block: number, list: KeyList): void {
    this.out.u32[(block >>> 2) + 1] = list.latest;
    list.latest = block;
    list.users++;
  }

  private writeRecord(start: number, list: KeyList): number {
    const { out } = this;
    const count = this.top - start;
    out.align();
    const home = out.grow(8 + L.cellsSize(count));
    out.u32[home >>> 2] = L.RECORD | (count << 8) | (count << 16) | (count << 24);
    if (count > 0) this.use(home, list);
    this.putTagged(home + 8, start, count);
    return home;
  }

  /** Lays out the array whose elements are the values from `start` on, with all that waits in it. */
  private layOutArray(start: number): number {
    const listed = this.planner.used;
    const plan = this.plan(start, this.top);
    return this.writePlanned(plan, start, listed, 0);
  }

  private plan(start: number, end: number): Plan {
    const plan = this.planner.array(start, end);
    if (plan.waits) this.absorb(plan);
    return plan;
  }

  /** Writes an array, and what waits among the values from `start` on. `before`: bytes to leave before the header. */
  private writePlanned(plan: Plan, start: number, listed: number, before: number): number {
    if (plan.waits) this.layOut(start, this.top);
    const home = this.writeArray(plan, before);
    this.planner.used = listed;
    return home;
  }

  /** Marks the containers that a plan makes part of columns. */
  private absorb(plan: Plan): void {
    const { tags, planner } = this;
    const { columns, child, tensor } = plan;
    if (columns === null && child === null && tensor === null) return;
    const mark = columns !== null ? S.ABSORBED_OBJECT : child !== null ? S.ABSORBED_ARRAY : S.ABSORBED_TENSOR;
    for (let i = plan.from; i < plan.from + plan.count; i++) {
      const at = planner.places[i]!;
      if (at >= 0 && tags[at] !== L.NULL) tags[at] = mark;
    }
    if (child !== null) this.absorb(child);
    if (columns !== null) for (const column of columns) this.absorb(column);
  }

  /** Lays out all containers from `start` to `end` that are no part of columns, each after its contents. */
  private layOut(start: number, end: number): void {
    const open: { at: number; end: number; plan: Plan | null; listed: number }[] = [];
    const { planner } = this;
    for (let at = start; ; ) {
      while (open.length > 0 && open[open.length - 1]!.end === at) {
        const done = open.pop()!;
        const cell = 2 * done.at;
        if (done.plan !== null) {
          const home = this.writeArray(done.plan, 0);
          planner.used = done.listed;
          this.cells[cell + 1] = home;
        } else {
          const home = this.writeObject(done.at);
          this.cells[this.cells[cell + 1] === 0 ? cell : cell + 2] = home;
        }
      }
      if (at >= end) return;
      switch (this.tags[at]) {
        case S.WAITING_ARRAY: {
          const listed = planner.used;
          const behind = this.behind(at);
          const plan = this.plan(at + 1, behind);
          open.push({ at, end: behind, plan, listed });
          at = plan.waits ? at + 1 : behind;
          break;
        }
        case S.WAITING_OBJECT: {
          const behind = this.behind(at);
          open.push({ at, end: behind, plan: null, listed: 0 });
          at += behind === at + 1 ? 1 : 2;
          break;
        }
        case S.TENSOR:
          this.cells[2 * at] = this.writeTensor(planner.tensors[this.cells[2 * at]!]!);
          this.tags[at++] = L.ARRAY_NODE;
          break;
        case S.ABSORBED_OBJECT:
          at += this.cells[2 * at + 1] === 0 ? 1 : 2;
          break;
        default:
          at++;
      }
    }
  }

  /** Puts the values from `from` to `end`, laid out, behind all others, one place each. */
  private gather(from: number, end: number): void {
    for (let at = from; at < end; ) {
      const here = at;
      at = this.behind(at);
      const tag = this.tags[here]!;
      let lo = this.cells[2 * here]!;
      let hi = this.cells[2 * here + 1]!;
      if (tag === S.WAITING) {
        this.texts.writeFor(tag, lo, hi);
        this.push(tag, lo, hi);
        continue;
      }
      if (tag === S.LOOSE || tag === S.LOOSE_UUID) {
        lo = this.texts.writeFor(tag, lo, hi);
        hi |= 0x40000000;
      } else if (tag === S.WAITING_ARRAY) {
        lo = hi;
        hi = 0;
      } else if (tag === S.WAITING_OBJECT) {
        if (hi !== 0) lo = this.cells[2 * here + 2]!;
        hi = 0;
      }
      this.push(S.finalTag(tag), lo, hi);
    }
  }

  /** Writes the waiting object at `at`, whose contents are laid out already. */
  private writeObject(at: number): number {
    const list = this.keys.lists[this.cells[2 * at]!]!;
    const start = this.top;
    // An empty one has no place for its size.
    this.gather(at + 2, this.behind(at));
    const home = list.isWide ? this.writeWide(start, list) : this.writeRecord(start, list);
    this.top = start;
    return home;
  }

  private writeArray(plan: Plan, before: number): number {
    this.out.align();
    const home = this.out.grow(before + 16) + before;
    this.writeColumn(plan, home, home, 0);
    return home;
  }

  /** Writes a column's data, and its header at a place that is there already. */
  private writeColumn(plan: Plan, header: number, owner: number, place: number): void {
    let data: number;
    if (plan.columns !== null) data = this.writeTable(plan, owner, place);
    else if (plan.child !== null) data = this.writeList(plan, owner, place);
    else if (plan.tensor !== null) data = this.writeTensors(plan, owner, place);
    else if (plan.code === L.RUN) data = this.writeRun(plan, owner, place);
    else data = this.writeLeaf(plan);
    this.out.header(header, plan.code, plan.gaps, 0, plan.count, plan.count === 0 ? 0 : data);
  }

  private writeTable(plan: Plan, owner: number, place: number): number {
    const { out } = this;
    const [keys, columns] = [plan.keys!, plan.columns!];
    const list = this.keys.listOf(keys);
    const table = out.grow(L.TABLE_SIZE + 16 * columns.length);
    const bits = this.writeBits(plan);
    const at = table >>> 2;
    out.u32[at] = L.TABLE | (columns.length > keys.length ? 1 << 8 : 0) | (place << 16);
    this.use(table, list);
    out.u32[at + 2] = bits;
    out.u32[at + 3] = owner;
    out.u32[at + 5] = keys.length;
    for (let i = 0; i < columns.length; i++) this.writeColumn(columns[i]!, table + L.TABLE_SIZE + 16 * i, table, i);
    return table;
  }

  private listHeader(list: number, place: number, form: number, length: number, bits: number, owner: number): void {
    const { u32 } = this.out;
    const at = list >>> 2;
    u32[at] = L.LIST | (form << 8) | (place << 16);
    u32[at + 1] = length;
    u32[at + 2] = bits;
    u32[at + 3] = owner;
  }

  private writeList(plan: Plan, owner: number, place: number): number {
    const { out } = this;
    const { count, ends } = plan;
    const child = plan.child!;
    const list = out.grow(ends === null ? 32 : 48);
    const bits = this.writeBits(plan);
    this.listHeader(list, place, ends === null ? 1 : 0, ends === null ? child.count / count : 0, bits, owner);
    if (ends !== null) {
      const data = out.grow(dataSize(plan.offsets, count + 1));
      // The first offset is 0.
      for (let i = 0; i < count; i++) this.putOffset(plan.offsets, data, i + 1, ends[i]!);
      out.header(list + L.LIST_OFFSETS, plan.offsets, 0, 0, count + 1, data);
    }
    this.writeColumn(child, list + L.LIST_ELEMENTS, list, 0);
    return list;
  }

  private putOffset(code: number, data: number, i: number, offset: number): void {
    const { u8, u32 } = this.out;
    if (code === L.U32) u32[(data >>> 2) + i] = offset;
    else if (code === L.U8) u8[data + i] = offset;
    else {
      u8[data + 2 * i] = offset;
      u8[data + 2 * i + 1] = offset >>> 8;
    }
  }

  /** Writes the list of a run's texts: bitmaps, offsets, and the texts. */
  private writeRun(plan: Plan, owner: number, place: number): number {
    const { out, planner, tags, cells, texts } = this;
    const { count, offsets } = plan;
    const length = offsets === 0 ? plan.bytes / count : 0;
    const list = out.grow(length > 0 ? 32 : 48);
    const bits = this.writeBits(plan);
    this.listHeader(list, place, length > 0 ? 1 : 0, length, bits, owner);
    let data = 0;
    if (length === 0) {
      data = out.grow(dataSize(offsets, count + 1));
      out.header(list + L.LIST_OFFSETS, offsets, 0, 0, count + 1, data);
    }
    const run = out.grow(L.word(plan.bytes));
    out.header(list + L.LIST_ELEMENTS, L.U8, 0, 0, plan.bytes, run);
    let end = 0;
    for (let i = 0; i < count; i++) {
      const at = planner.places[plan.from + i]!;
      if (at >= 0 && tags[at] !== L.NULL) {
        end += texts.writeInRun(tags[at]!, cells[2 * at]!, cells[2 * at + 1]!, run + end);
      }
      if (length > 0) end = (i + 1) * length;
      else this.putOffset(offsets, data, i + 1, end);
    }
    return list;
  }

  /** Writes the bitmaps of a struct's, a list's or a run's gaps; 0 where there are none. */
  private writeBits(plan: Plan): number {
    if (plan.gaps === 0) return 0;
    const bits = this.out.grow(L.bitmapsSize(plan.gaps, plan.count));
    this.putBits(plan, bits);
    return bits;
  }

  private putBits(plan: Plan, bits: number): void {
    const { u8 } = this.out;
    const { tags, planner } = this;
    const nulls = plan.gaps === 3 ? bits + L.bitmapSize(plan.count) : 0;
    for (let i = 0; i < plan.count; i++) {
      const at = planner.places[plan.from + i]!;
      if (at < 0) continue;
      if (tags[at] !== L.NULL) u8[bits + (i >>> 3)]! |= 1 << (i & 7);
      else if (nulls !== 0) u8[nulls + (i >>> 3)]! |= 1 << (i & 7);
    }
  }

  /** Writes the slots of a column without structs and lists, behind the texts that its cells refer to. */
  private writeLeaf(plan: Plan): number {
    const { out, planner, texts, tags, cells, floats } = this;
    const { code, count, from } = plan;
    const { places } = planner;
    if (code === L.TEXTS || code === L.CELLS) {
      for (let i = 0; i < count; i++) {
        const at = places[from + i]!;
        const tag = at < 0 ? 0 : tags[at]!;
        if (tag === S.WAITING) texts.writeFor(tag, cells[2 * at]!, 0);
        else if (tag === S.LOOSE || tag === S.LOOSE_UUID) {
          cells[2 * at] = texts.writeFor(tag, cells[2 * at]!, cells[2 * at + 1]!);
          cells[2 * at + 1]! |= 0x40000000;
          tags[at] = S.finalTag(tag);
        }
      }
      out.align();
    }
    const bits = L.bitmapsSize(plan.gaps, count);
    const data = out.grow(bits + dataSize(code, count));
    if (bits > 0) this.putBits(plan, data);
    const base = data + bits;
    const { u8, u32, f32, f64 } = out;
    const word = base >>> 2;
    switch (code) {
      case L.NULLS:
        break;
      case L.DICTIONARY_U8:
      case L.DICTIONARY_U16:
        this.writeDictionary(plan, base);
        break;
      case L.CELLS:
        for (let i = 0; i < count; i++) {
          const at = places[from + i]!;
          if (at < 0) continue;
          const cell = base + L.cellAt(i);
          this.final(at, cell);
          u8[base + L.tagAt(i)] = this.tag;
          u32[cell >>> 2] = this.lo;
          u32[(cell >>> 2) + 1] = this.hi;
        }
        break;
      case L.TEXTS:
        for (let i = 0; i < count; i++) {
          const at = places[from + i]!;
          if (at < 0) continue;
          this.final(at, base + 8 * i);
          u32[word + 2 * i] = this.lo;
          u32[word + 2 * i + 1] = this.hi;
        }
        break;
      case L.OBJECTS:
      case L.ARRAYS:
        for (let i = 0; i < count; i++) {
          const at = places[from + i]!;
          if (at < 0) continue;
          this.final(at, 0);
          u32[word + i] = this.lo;
        }
        break;
      case L.BOOL:
        for (let i = 0; i < count; i++) {
          const at = places[from + i]!;
          if (at >= 0 && tags[at] === L.TRUE) u8[base + (i >>> 3)]! |= 1 << (i & 7);
        }
        break;
      case L.UUIDS:
        for (let i = 0; i < count; i++) {
          const at = places[from + i]!;
          if (at < 0 || tags[at] !== S.LOOSE_UUID) continue;
          for (let k = 0; k < 16; k++) u8[base + 16 * i + k] = texts.bytes[cells[2 * at]! + k]!;
        }
        break;
      case L.F32:
      case L.F64:
      case L.NUMBERS_F32:
      case L.NUMBERS_F64:
      case L.MARKED_F32:
      case L.MARKED_F64: {
        const narrow = L.WIDTHS[code] === 4;
        const marks = code < L.MARKED_F32 ? 0 : base + L.word(L.WIDTHS[code]! * count);
        for (let i = 0; i < count; i++) {
          const at = places[from + i]!;
          if (at < 0) continue;
          const hi = cells[2 * at + 1]!;
          const isInteger = tags[at] === L.INT;
          const value = isInteger ? (hi | 0) * 4294967296 + cells[2 * at]! : floats[at]!;
          if (Number.isNaN(value)) this.putNaN(word, i, narrow, cells[2 * at]!, hi);
          else if (narrow) f32[word + i] = value;
          else f64[(word >>> 1) + i] = value;
          if (marks !== 0 && tags[at] === L.FLOAT && isWhole(value, narrow ? 2 ** 24 : 2 ** 53)) {
            u8[marks + (i >>> 3)]! |= 1 << (i & 7);
          }
        }
        break;
      }
      default: {
        const width = L.WIDTHS[code]!;
        for (let i = 0; i < count; i++) {
          const at = places[from + i]!;
          if (at < 0) continue;
          const lo = cells[2 * at]!;
          if (width === 1) u8[base + i] = lo;
          else if (width === 2) {
            u8[base + 2 * i] = lo;
            u8[base + 2 * i + 1] = lo >>> 8;
          } else if (width === 4) u32[word + i] = lo;
          else {
            u32[word + 2 * i] = lo;
            u32[word + 2 * i + 1] = cells[2 * at + 1]!;
          }
        }
      }
    }
    return data;
  }

  /** Writes a NaN by its bits. */
  private putNaN(word: number, i: number, narrow: boolean, lo: number, hi: number): void {
    const { u32 } = this.out;
    if (narrow) u32[word + i] = (hi & 0x80000000) | 0x7f800000 | ((hi & 0xfffff) << 3) | (lo >>> 29);
    else {
      u32[word + 2 * i] = lo;
      u32[word + 2 * i + 1] = hi;
    }
  }

  /** Writes the codes of a dictionary at `base`, and its texts' header and cells. */
  private writeDictionary(plan: Plan, base: number): void {
    const { out, texts } = this;
    const codes = plan.codes!;
    const all = plan.texts!.slice();
    for (let i = 0; i < codes.length; i++) {
      this.putOffset(plan.code === L.DICTIONARY_U8 ? L.U8 : L.U16, base, i, codes[i]!);
    }
    const header = base + dataSize(plan.code, plan.count) - 16;
    for (let i = 0; i < all.length; i += 3) {
      const at = texts.writeFor(all[i]!, all[i + 1]!, all[i + 2]!);
      if (all[i] === S.LOOSE) all[i + 1] = at;
    }
    out.align();
    const count = all.length / 3;
    const cells = out.grow(8 * count) >>> 2;
    for (let i = 0; i < count; i++) {
      let lo = all[3 * i + 1]!;
      let hi = all[3 * i + 2]!;
      if (all[3 * i] === S.WAITING) {
        texts.disown(lo);
        hi = texts.length(lo);
        lo = texts.offset(lo);
      }
      out.u32[cells + 2 * i] = lo;
      out.u32[cells + 2 * i + 1] = hi;
    }
    out.header(header, L.TEXTS, 0, 0, count, 4 * cells);
  }

  // --- tensors

  /** Writes a tensor as an array by itself. */
  private writeTensor(tensor: Tensor): number {
    const { out } = this;
    out.align();
    const home = out.grow(tensor.arraySize);
    const { code, lengths, bytes } = tensor;
    const nested = lengths.length > 1;
    out.header(home, nested ? L.FIXED_LISTS : code, 0, 1, lengths[0]!, home + 16);
    const data = nested ? this.tensorLists(tensor, 1, lengths[0]!, home + 16, home, 0, 0) : home + 16;
    out.u8.set(bytes, data);
    return home;
  }

  /**
   * Writes the lists of `rows` arrays of a tensor, of its dimensions from number `i` on. Behind the first list are
   * bitmaps of so many bytes. Returns where the numbers are to lie.
   */
  private tensorLists(
    { code, lengths }: Tensor,
    i: number,
    rows: number,
    list: number,
    owner: number,
    place: number,
    bits: number,
  ): number {
    for (; i < lengths.length; i++) {
      this.listHeader(list, place, 1, lengths[i]!, bits > 0 ? list + 32 : 0, owner);
      rows *= lengths[i]!;
      const data = list + 32 + bits;
      this.out.header(list + 16, i + 1 < lengths.length ? L.FIXED_LISTS : code, 0, 1, rows, rows === 0 ? 0 : data);
      [owner, list, place, bits] = [list, data, 0, 0];
    }
    return list;
  }

  /** Writes a column of tensors of one type and shape. */
  private writeTensors(plan: Plan, owner: number, place: number): number {
    const { out, planner, tags, cells } = this;
    const tensor = plan.tensor!;
    const { count } = plan;
    const bits = L.bitmapsSize(plan.gaps, count);
    const list = out.grow(bits + 32 * tensor.lengths.length + L.word(count * tensor.size));
    let data = this.tensorLists(tensor, 0, count, list, owner, place, bits);
    for (let i = 0; i < count; i++, data += tensor.size) {
      const at = planner.places[plan.from + i]!;
      if (at < 0 || (tags[at] !== S.TENSOR && tags[at] !== S.ABSORBED_TENSOR)) continue;
      out.u8.set(planner.tensors[cells[2 * at]!]!.bytes, data);
    }
    if (bits > 0) this.putBits(plan, list + 32);
    return list;
  }

  // --- maps

  /** The bytes of a key of an open map. */
  private mapKeyBytes(at: number): Uint8Array {
    const [lo, hi] = [this.mapKeys[at]!, this.mapKeys[at + 1]!];
    if (hi < 0x80000000) return this.out.u8.subarray(lo, lo + (hi & 0x3fffffff));
    const bytes = new Uint8Array((hi >>> 24) & 7);
    for (let i = 0; i < bytes.length; i++) bytes[i] = i < 4 ? lo >>> (8 * i) : hi >>> (8 * (i - 4));
    return bytes;
  }

  /**
   * Makes the indexes of a map by its keys: the hash block, and the order of the entries where a tree is needed. Tells
   * `doubles` of entries whose keys came before: the first that has it, and the entry.
   */
  private index(first: number, doubles: Map<number, number>): { block: Uint32Array; sorted: number[] } {
    const count = (this.mapKeys.length - first) / 2;
    const keys: Uint8Array[] = [];
    for (let i = 0; i < count; i++) keys.push(this.mapKeyBytes(first + 2 * i));
    const same = (a: number, b: number): boolean => compareBytes(keys[a]!, keys[b]!) === 0;
    const total = buckets(count);
    const block = new Uint32Array(16 * total);
    const bytes = new Uint8Array(block.buffer);
    let sorted: number[] = [];
    if (total === 0) {
      for (let i = 1; i < count; i++) {
        for (let k = 0; k < i; k++) {
          if (!same(k, i)) continue;
          doubles.set(i, k);
          break;
        }
      }
    }
    const farthest = Math.min(15, total - 1);
    let all = true;
    entries: for (let i = 0; total > 0 && i < count; i++) {
      const [place, fingerprint] = hashOf(keys[i]!);
      const home = bucketOf(place, total);
      let bucket = home;
      for (let distance = 0; distance <= farthest; distance++) {
        for (let k = 0; k < 12; k++) {
          const there = bytes[64 * bucket + k]!;
          if (there === 0) {
            bytes[64 * bucket + k] = fingerprint;
            block[16 * bucket + 4 + k] = i;
            const mark = bytes[64 * home + 12]!;
            bytes[64 * home + 12] = (mark & 16) | Math.max(mark & 15, distance);
            continue entries;
          }
          if (there !== fingerprint) continue;
          const other = block[16 * bucket + 4 + k]!;
          if (same(other, i)) {
            doubles.set(i, other);
            continue entries;
          }
        }
        bucket = bucket + 1 === total ? 0 : bucket + 1;
      }
      bytes[64 * home + 12]! |= 16;
      all = false;
    }
    if (!all) {
      sorted = keys.map((_, i) => i).sort((a, b) => compareBytes(keys[a]!, keys[b]!) || a - b);
      doubles.clear();
      for (let i = 1, kept = sorted[0]!; i < count; i++) {
        if (same(kept, sorted[i]!)) doubles.set(sorted[i]!, kept);
        else kept = sorted[i]!;
      }
    }
    if (doubles.size > 0) {
      let least = count;
      for (const double of doubles.keys()) if (double < least) least = double;
      this.twice(new TextDecoder().decode(keys[least]!));
    }
    return { block, sorted };
  }

  private endMap(frame: Frame): number {
    const { first, start } = frame;
    const doubles = new Map<number, number>();
    let indexes = this.index(first, doubles);
    let home = 0;
    if (this.outermost >= 0) {
      if (this.outermost === this.depth - 1 && !this.knows && !this.areRows(start)) this.isAnew = true;
      if (doubles.size === 0 && (this.mapKeys.length - first) / 2 >= LEAST_ROWS) {
        const listed = this.planner.used;
        const plan = this.planner.array(start, this.top);
        if (plan.code === L.STRUCT) {
          if (plan.waits) this.absorb(plan);
          home = this.writePlanned(plan, start, listed, L.MAP_VALUES) - L.MAP_VALUES;
        } else this.planner.used = listed;
      }
      if (home === 0) {
        // All that waits in it is laid out, and takes one place each.
        const end = this.top;
        this.layOut(start, end);
        this.gather(start, end);
        this.tags.copyWithin(start, end, this.top);
        this.cells.copyWithin(2 * start, 2 * end, 2 * this.top);
        this.top = start + this.top - end;
      }
    } else if (this.mayBeRows(start)) this.isAnew = true;
    if (doubles.size > 0) {
      this.takeDoubles(first, start, doubles);
      doubles.clear();
      indexes = this.index(first, doubles);
    }
    this.out.align();
    if (home === 0) home = this.writeMapCells(start);
    return this.writeMap(home, first, indexes);
  }

  /** Takes doubles out of a map: a key's last value moves to its first place. */
  private takeDoubles(first: number, start: number, doubles: Map<number, number>): void {
    const { mapKeys, tags, cells } = this;
    const count = (mapKeys.length - first) / 2;
    const places: number[] = new Array(count);
    let next = 0;
    for (let i = 0; i < count; i++) {
      const kept = doubles.get(i);
      const to = kept === undefined ? next++ : places[kept]!;
      places[i] = to;
      mapKeys[first + 2 * to] = mapKeys[first + 2 * i]!;
      mapKeys[first + 2 * to + 1] = mapKeys[first + 2 * i + 1]!;
      tags[start + to] = tags[start + i]!;
      cells.copyWithin(2 * (start + to), 2 * (start + i), 2 * (start + i + 1));
    }
    mapKeys.length = first + 2 * next;
    this.top = start + next;
  }

  /** Writes a waiting object of many keys as a map. Its values are laid out, from `start` on. */
  private writeWide(start: number, list: KeyList): number {
    const first = this.mapKeys.length;
    this.putMapKeys(list);
    const indexes = this.index(first, new Map());
    this.out.align();
    return this.writeMap(this.writeMapCells(start), first, indexes);
  }

  /** Writes a map's values as cells, behind the room for its header. */
  private writeMapCells(start: number): number {
    const { out } = this;
    const count = this.top - start;
    const home = out.grow(L.MAP_SIZE);
    const data = out.grow(L.cellsSize(count));
    this.putTagged(data, start, count);
    out.header(home + L.MAP_VALUES, L.CELLS, 0, 0, count, data);
    return home;
  }

  /** Writes the keys, the indexes and the header of a map whose values are written. */
  private writeMap(home: number, first: number, { block, sorted }: { block: Uint32Array; sorted: number[] }): number {
    const { out, mapKeys } = this;
    const count = (mapKeys.length - first) / 2;
    const keys = out.grow(8 * count);
    for (let i = 0; i < 2 * count; i++) out.u32[(keys >>> 2) + i] = mapKeys[first + i]!;
    mapKeys.length = first;
    const root = this.writeTree(sorted);
    const at = home >>> 2;
    out.u32[at] = L.MAP;
    out.u32[at + 1] = count;
    out.u32[at + 4] = count;
    out.u32[at + 5] = keys;
    out.u32[at + 6] = root;
    if (block.length > 0) {
      const hash = out.grow(4 * block.length + 56);
      out.u32.set(block, (Math.ceil(hash / 64) * 64) >>> 2);
      out.u32[at + 2] = hash;
      out.u32[at + 3] = block.length / 16;
    }
    return home;
  }

  /** Writes a tree of full nodes, the leaves first, and returns its root; 0 without entries. */
  private writeTree(sorted: number[]): number {
    const { out } = this;
    let items = sorted;
    for (let level = 0; items.length > 0; level++) {
      const nodes: number[] = [];
      for (let i = 0; i < items.length; i += NODE_ITEMS) {
        const node = out.grow(256);
        const here = items.slice(i, i + NODE_ITEMS);
        out.u8[node] = level;
        out.u8[node + 1] = here.length;
        out.u32.set(here, (node >>> 2) + 1);
        nodes.push(node);
      }
      if (nodes.length === 1) return nodes[0]!;
      items = nodes;
    }
    return 0;
  }

  /** Whether a map's values, which wait, may be rows (PROFILE 4). */
  private areRows(start: number): boolean {
    let [count, members, most] = [0, 0, 0];
    for (let at = start; at < this.top; at = this.behind(at)) {
      count++;
      if (this.tags[at] === L.NULL) continue;
      if (this.tags[at] !== S.WAITING_OBJECT) return false;
      const list = this.keys.lists[this.cells[2 * at]!]!;
      if (list.isWide) return false;
      members += list.depth;
      most = Math.max(most, list.depth);
    }
    return areSimilar(count, members, most);
  }

  /** Whether a map's values, which are written, may be rows when they wait. */
  private mayBeRows(start: number): boolean {
    if (!this.tables) return false;
    const { u8 } = this.out;
    let [members, most] = [0, 0];
    for (let at = start; at < this.top; at++) {
      if (this.tags[at] === L.NULL) continue;
      const home = this.cells[2 * at]!;
      if (this.tags[at] !== L.OBJECT_NODE || u8[home] !== L.RECORD) return false;
      members += u8[home + 2]!;
      most = Math.max(most, u8[home + 2]!);
    }
    return areSimilar(this.top - start, members, most);
  }
}
