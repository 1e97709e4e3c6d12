// What JavaScript's values become.

import { Column, tensorCode } from "../column.js";
import { Document, pointerOf } from "../document.js";
import { LivebufError } from "../error.js";
import * as L from "../layout.js";
import { bytesOf, isSource, type Source } from "../memory.js";
import { Cursor } from "../read.js";
import { cursorOf, isView } from "../view.js";
import type { Builder } from "./builder.js";
import { copy } from "./copy.js";
import { Tensor } from "./plan.js";
import { number, recognize, scalar, standsFor } from "./scalars.js";

export class Input {
  /** The keys and indexes of the members and elements that are being encoded. */
  private readonly trail: (string | number)[] = [];

  /** How many values are within each other that a `toJSON` returned. */
  private made = 0;

  /** Whether ordinary objects inherit members that are enumerable. */
  private readonly inherits: boolean = false;

  constructor(
    private readonly builder: Builder,
    private readonly tables: boolean,
    private readonly recognizes: boolean,
  ) {
    for (const _ in Object.prototype) this.inherits = true;
  }

  /** Encodes a value, with so many containers around it. */
  value(value: unknown, depth: number): void {
    const { builder } = this;
    if (typeof value === "string") {
      if (!this.recognizes || !recognize(builder, value)) builder.string(value);
    } else if (typeof value === "number") {
      if ((value | 0) === value && value !== 0) builder.push(L.INT, value, value >> 31);
      else number(builder, value);
    } else if (typeof value === "object" && value !== null) {
      if (Array.isArray(value)) this.array(value, depth);
      else this.object(value, depth);
    } else if (value === undefined) builder.push(L.NULL, 0, 0);
    else if (!scalar(builder, value)) {
      throw new LivebufError(
        "BadValue",
        `a ${typeof value} is no value of a document; leave it out, or encode what it stands for`,
      );
    }
  }

  private array(array: unknown[], depth: number): void {
    const { builder, trail } = this;
    builder.beginArray();
    for (let i = 0; i < array.length; i++) {
      trail[depth] = i;
      this.value(array[i], depth + 1);
    }
    builder.endArray();
  }

  private object(value: object, depth: number): void {
    const { builder, trail } = this;
    const prototype: unknown = Object.getPrototypeOf(value);
    let { inherits } = this;
    if (prototype !== Object.prototype || typeof (value as { toJSON?: unknown }).toJSON === "function") {
      const plain = this.special(value, depth);
      if (plain === undefined) return;
      if (plain !== value) {
        // What `toJSON` returned may be a value of any kind, and have a `toJSON`.
        if (++this.made > L.MAX_NESTING) throw new LivebufError("NestingLimit", "toJSON does not end");
        this.value(plain, depth);
        this.made--;
        return;
      }
      inherits = true;
    }
    if (value instanceof Map) {
      this.map(value, depth);
      return;
    }
    builder.beginObject();
    for (const key in value) {
      // Nothing is inherited from an ordinary object, as a rule.
      if (inherits && !Object.hasOwn(value, key)) continue;
      const member = (value as Record<string, unknown>)[key];
      if (member === undefined) continue;
      trail[depth] = key;
      builder.key(key);
      this.value(member, depth + 1);
    }
    builder.endObject();
  }

  private map(map: Map<unknown, unknown>, depth: number): void {
    const { builder, trail } = this;
    builder.beginObject();
    // An iterator would make the frame large.
    const keys = Array.from(map.keys());
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      const member = map.get(key);
      if (typeof key !== "string") {
        throw new LivebufError("BadValue", "a Map has a key that is no string; make strings of the keys");
      }
      if (member === undefined) continue;
      trail[depth] = key;
      builder.key(key);
      this.value(member, depth + 1);
    }
    builder.endObject();
  }

  /** Encodes an object that is no plain one. Returns what to encode in its place; `undefined` if that is done. */
  private special(value: unknown, depth: number): unknown {
    const { builder, tables } = this;
    if (isView(value) || value instanceof Document) {
      const cursor = value instanceof Document ? new Cursor(value.memory).toRoot() : cursorOf(value);
      try {
        copy(builder, cursor, tables);
      } catch (error) {
        throw this.located(error, depth);
      }
      return undefined;
    }
    if (scalar(builder, value)) return undefined;
    if (isSource(value as object)) {
      const bytes = bytesOf(value as Source);
      const code = tensorCode(value as object);
      if (code === undefined) builder.span(L.BYTES, bytes);
      else {
        const { length } = value as Int8Array;
        builder.tensor(new Tensor(code, [length], builder.waits ? bytes.slice() : bytes));
      }
      return undefined;
    }
    if (value instanceof Map) return value;
    if (value instanceof Column) return value.toArray();
    const other = standsFor(value as object);
    if (other !== undefined) {
      this.value(other, depth);
      return undefined;
    }
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function") return value;
    const made: unknown = toJSON.call(value, depth > 0 ? String(this.trail[depth - 1]) : "");
    return made === undefined ? null : made;
  }

  /** An error, with the path to the value that it is about. */
  located(error: unknown, depth: number): unknown {
    if (!(error instanceof LivebufError) || error.path !== undefined) return error;
    const path = pointerOf(this.trail.slice(0, depth));
    const where = path.length > 100 ? `${path.slice(0, 100)}…` : path;
    return new LivebufError(
      error.kind,
      path === "" ? error.message : `${error.message} (at ${where})`,
      undefined,
      path,
    );
  }
}
