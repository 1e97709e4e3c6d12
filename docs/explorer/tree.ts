// The values as rows of a tree: which rows there are, and which value each of them has.

import { isKey, keyOf, textAt } from "../../bindings/js/src/key.js";
import type { Memory } from "../../bindings/js/src/memory.js";
import { ARRAY, Cursor, Members, SCALAR } from "../../bindings/js/src/read.js";
import { count } from "./dom.js";

/** An object or array that is open. */
interface Branch {
  cursor: Cursor;
  parent: Branch | null;
  index: number;
  count: number;
  /** The cells of an object's keys. */
  keys: Uint32Array | null;
  /** The children that are open, by rising indexes. */
  open: Branch[];
  /** Rows below its own one. */
  rows: number;
}

/** A row: a value, in which container it is and where there. */
export interface Row {
  cursor: Cursor;
  branch: Branch | null;
  index: number;
  path: string[];
  open: boolean;
}

export class Tree {
  private root: Branch | null = null;

  constructor(private m: Memory) {
    this.refresh(m);
  }

  get rows(): number {
    return 1 + (this.root?.rows ?? 0);
  }

  /** Looks everything up again in changed bytes. What was open stays open. */
  refresh(m: Memory): void {
    this.m = m;
    const again = (old: Branch | null, cursor: Cursor, parent: Branch | null, index: number): Branch | null => {
      if (cursor.kind === SCALAR) return null;
      const made = branchAt(cursor, parent, index);
      for (const child of old?.open ?? []) {
        const there = child.index < made.count ? again(child, this.child(made, child.index), made, child.index) : null;
        if (there === null) continue;
        made.open.push(there);
        made.rows += there.rows;
      }
      return made;
    };
    this.root = again(this.root, new Cursor(m).toRoot(), null, 0);
  }

  private child(branch: Branch, index: number): Cursor {
    const cursor = branch.cursor.clone();
    if (branch.keys === null) cursor.toElement(index);
    else cursor.toMember(keyOf(textAt(this.m, branch.keys[index]!)));
    return cursor;
  }

  private name(branch: Branch, index: number): string {
    return branch.keys === null ? String(index) : textAt(this.m, branch.keys[index]!);
  }

  /** Row i. Takes time by how much is open before it. */
  row(i: number): Row {
    const path: string[] = [];
    if (i === 0 || this.root === null) {
      return { cursor: new Cursor(this.m).toRoot(), branch: null, index: 0, path, open: this.root !== null };
    }
    let branch = this.root;
    let left = i - 1;
    for (;;) {
      let before = 0;
      let inside: Branch | undefined;
      for (const child of branch.open) {
        const at = child.index + before;
        if (left <= at) break;
        if (left <= at + child.rows) {
          inside = child;
          left -= at + 1;
          break;
        }
        before += child.rows;
      }
      if (inside === undefined) {
        const index = left - before;
        path.push(this.name(branch, index));
        return {
          cursor: this.child(branch, index),
          branch,
          index,
          path,
          open: branch.open.some((b) => b.index === index),
        };
      }
      path.push(this.name(branch, inside.index));
      branch = inside;
    }
  }

  /** Opens or closes a row that has a container. */
  toggle({ cursor, branch, index, open }: Row): void {
    if (branch === null || cursor.kind === SCALAR) return;
    if (open) {
      const i = branch.open.findIndex((b) => b.index === index);
      const [closed] = branch.open.splice(i, 1);
      grow(branch, -closed!.rows);
    } else this.enter(branch, index, cursor);
  }

  private enter(branch: Branch, index: number, cursor: Cursor): Branch {
    const made = branchAt(cursor, branch, index);
    const i = branch.open.findIndex((b) => b.index > index);
    branch.open.splice(i < 0 ? branch.open.length : i, 0, made);
    grow(branch, made.rows);
    return made;
  }

  /** The row of a path; opens what it is in, or stops at what is closed. −1 if there is no such value. */
  find(path: readonly (string | null)[], opens: boolean): number {
    let branch = this.root;
    let row = 0;
    for (const [depth, step] of path.entries()) {
      if (branch === null || step === null) break;
      let index = -1;
      if (branch.keys === null) index = /^(0|[1-9]\d*)$/.test(step) && Number(step) < branch.count ? Number(step) : -1;
      else {
        // A map has very many keys, which are not decoded for this.
        const key = keyOf(step);
        index = branch.keys.findIndex((cell) => isKey(this.m, cell, key));
      }
      if (index < 0) return -1;
      row += 1 + index;
      let next: Branch | null = null;
      for (const child of branch.open) {
        if (child.index < index) row += child.rows;
        else if (child.index === index) next = child;
      }
      if (next === null && opens && depth < path.length - 1) {
        const cursor = this.child(branch, index);
        if (cursor.kind !== SCALAR) next = this.enter(branch, index, cursor);
      }
      branch = next;
    }
    return row;
  }
}

function branchAt(cursor: Cursor, parent: Branch | null, index: number): Branch {
  let keys: Uint32Array | null = null;
  if (cursor.kind !== ARRAY) {
    keys = new Uint32Array(cursor.size());
    const members = new Members(cursor);
    for (let i = 0; members.next(); i++) keys[i] = members.key;
  }
  const count = keys?.length ?? cursor.count;
  return { cursor, parent, index, count, keys, open: [], rows: count };
}

function grow(branch: Branch | null, rows: number): void {
  for (; branch !== null; branch = branch.parent) branch.rows += rows;
}

/** How much is in a container, in a few words. */
export function summary(cursor: Cursor): string {
  const n = cursor.kind === ARRAY ? cursor.count : cursor.size();
  const [one, many] = cursor.kind === ARRAY ? ["element", "elements"] : ["member", "members"];
  const text = `${count(n)} ${n === 1 ? one : many}`;
  return cursor.kind === ARRAY ? `[ ${text} ]` : `{ ${text} }`;
}
