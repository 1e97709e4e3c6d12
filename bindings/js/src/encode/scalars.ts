// Values that are no containers, and the strings that are dates, times or UUIDs (PROFILE 8).

import { LivebufError } from "../error.js";
import * as L from "../layout.js";
import {
  Decimal,
  dateParts,
  Float,
  LocalDate,
  LocalDateTime,
  LocalTime,
  NumberText,
  Reserved,
  Timestamp,
  Uuid,
} from "../scalar.js";
import { fromTemporal } from "../temporal.js";
import type { Builder } from "./builder.js";

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0));

/** Encodes a value of a class of this package, or a primitive one. False if it is another object. */
export function scalar(builder: Builder, value: unknown): boolean {
  switch (typeof value) {
    case "string":
      builder.string(value);
      return true;
    case "number":
      number(builder, value);
      return true;
    case "boolean":
      builder.push(value ? L.TRUE : L.FALSE, 0, 0);
      return true;
    case "bigint":
      if (value >= -(2n ** 63n) && value < 2n ** 64n) builder.wide(value < 2n ** 63n ? L.INT : L.UINT, value);
      else builder.span(L.NUMBER_TEXT, ascii(String(value)));
      return true;
  }
  if (value === null) builder.push(L.NULL, 0, 0);
  else if (value instanceof Float) builder.float(value.value);
  else if (value instanceof Timestamp) builder.wide(L.TIMESTAMP, value.microseconds);
  else if (value instanceof LocalDateTime) builder.wide(L.DATE_TIME, value.microseconds);
  else if (value instanceof LocalDate) builder.push(L.DATE, value.days, value.days < 0 ? -1 : 0);
  else if (value instanceof LocalTime) builder.wide(L.TIME, BigInt(value.microseconds));
  else if (value instanceof Uuid) builder.span(L.UUID, value.bytes);
  else if (value instanceof Uint8Array) builder.span(L.BYTES, value);
  else if (value instanceof NumberText) builder.span(L.NUMBER_TEXT, ascii(value.text));
  else if (value instanceof Decimal) {
    const stored = decimal(value);
    if (typeof stored === "bigint") builder.wide(L.DECIMAL, stored);
    else builder.span(L.LARGE_DECIMAL, stored);
  } else if (value instanceof Reserved) {
    throw new LivebufError(
      "Unsupported",
      `a value of tag ${value.tag} is stored only with the view of the object or array that it is in`,
    );
  } else return false;
  return true;
}

/** What is stored in place of an object of the language; `undefined` for other objects. */
export function standsFor(value: object): unknown {
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf();
  if (value instanceof Set || value instanceof WeakMap || value instanceof Promise) {
    throw new LivebufError("BadValue", "a Set, a WeakMap or a Promise is no value of a document; make an array of it");
  }
  if (!(value instanceof Date)) return fromTemporal(value);
  if (Number.isNaN(value.getTime())) throw new LivebufError("BadValue", "a Date is invalid: it has no time");
  return Timestamp.fromDate(value);
}

/** A number: whole ones of at most 2⁵³ are integers, −0 and all others floats. */
export function number(builder: Builder, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) <= 9007199254740992 && !Object.is(value, -0)) builder.integer(value);
  else builder.float(value);
}

/** What a decimal is stored as: its cell, or the bytes of a large one. */
export function decimal({ coefficient, scale }: Decimal): bigint | Uint8Array {
  if (BigInt.asIntN(56, coefficient) === coefficient) return (coefficient << 8n) | BigInt(scale);
  const bytes = new Uint8Array(17);
  for (let i = 0; i < 16; i++) bytes[i] = Number((coefficient >> BigInt(8 * i)) & 255n);
  bytes[16] = scale;
  return bytes;
}

/** Encodes a string as a date, a time or a UUID, if the whole of it is one. */
export function recognize(builder: Builder, text: string): boolean {
  if (text.length === 36) {
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) return false;
    builder.span(L.UUID, Uuid.from(text).bytes);
    return true;
  }
  if (text.length < 10 || text.length > 32 || text[4] !== "-" || text[7] !== "-") return false;
  const found = dateParts(text);
  if (found === undefined) return false;
  if (!found.time) builder.wide(L.DATE, found.micros / 86_400_000_000n);
  else builder.wide(found.zone ? L.TIMESTAMP : L.DATE_TIME, found.micros);
  return true;
}
