// The values of open containers: a tag and a cell for each place.
//
// Each value of an open container takes one place. Within the outermost open array, containers wait as well, each with
// all that it holds behind it:
//
//     array:   [count of places | bytes as a plain array]  values ...
//     object:  [key list | count of places]  [bytes as a record]  values ...

import * as L from "../layout.js";
import { bytesOfSize, grown } from "./output.js";

/** A tensor that became part of a column. */
export const ABSORBED_TENSOR = 0xec;
/** A tensor within an array. The cell is its number among those that wait. */
export const TENSOR = 0xed;
/** A UUID within an array. The cell is where its bytes wait. */
export const LOOSE_UUID = 0xee;
/** Text that is not searched for equal ones: where its bytes wait, and their count. */
export const LOOSE = 0xef;
/** Text that may turn out to be shared. The cell is its number. */
export const WAITING = 0xf0;
/** A waiting array: the count of places of its contents; its size as a plain array, and later its home. */
export const WAITING_ARRAY = 0xf1;
/** A waiting object: its key list, and the count of places of its contents. Where these are not 0, a size follows. */
export const WAITING_OBJECT = 0xf2;
/** The size as a record of the object one place before, and later its home. */
export const WAITING_SIZE = 0xf3;
/** A waiting array or object that became part of a column. */
export const ABSORBED_ARRAY = 0xf4;
export const ABSORBED_OBJECT = 0xf5;

export class Stack {
  tags: Uint8Array<ArrayBuffer> = bytesOfSize(256);
  cells = new Uint32Array(512);
  /** The same cells as floats. */
  floats = new Float64Array(this.cells.buffer);
  top = 0;

  /** Puts a value on the stack. */
  push(tag: number, lo: number, hi: number): void {
    const at = this.top;
    if (at === this.tags.length) this.more();
    this.tags[at] = tag;
    this.cells[2 * at] = lo;
    this.cells[2 * at + 1] = hi;
    this.top = at + 1;
  }

  more(): void {
    this.tags = grown(this.tags, 0);
    const cells = grown(new Uint8Array(this.cells.buffer), 8 * this.tags.length);
    this.cells = new Uint32Array(cells.buffer);
    this.floats = new Float64Array(cells.buffer);
  }

  /** The place behind the value at `at`, and behind all that it holds. */
  behind(at: number): number {
    const tag = this.tags[at]!;
    if (tag < WAITING_ARRAY) return at + 1;
    if (tag === WAITING_ARRAY || tag === ABSORBED_ARRAY) return at + 1 + this.cells[2 * at]!;
    const places = this.cells[2 * at + 1]!;
    return places === 0 ? at + 1 : at + 2 + places;
  }
}

/** The tag of a waiting value when it is written. */
export const finalTag = (tag: number): number => {
  switch (tag) {
    case WAITING:
    case LOOSE:
      return L.TEXT;
    case LOOSE_UUID:
      return L.UUID;
    case WAITING_ARRAY:
      return L.ARRAY_NODE;
    case WAITING_OBJECT:
      return L.OBJECT_NODE;
    default:
      return tag;
  }
};
