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
import type { Builder } from "./builder.js";

/** The codes of typed arrays, which become tensors of one dimension (FORMAT 6.6). */
const TENSORS = new Map<string, number>([
  ["Int8Array", L.I8],
  ["Int16Array", L.I16],
  ["Int32Array", L.I32],
  ["BigInt64Array", L.I64],
  ["Uint8ClampedArray", L.U8],
  ["Uint16Array", L.U16],
  ["Uint32Array", L.U32],
  ["BigUint64Array", L.U64],
  ["Float16Array", L.F16],
  ["Float32Array", L.F32],
  ["Float64Array", L.F64],
]);

/** The code of the tensor that a typed array becomes; `undefined` for bytes. */
export const tensorCode = (value: object): number | undefined =>
  TENSORS.get(Object.prototype.toString.call(value).slice(8, -1));

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
  else if (value instanceof Decimal) decimal(builder, value);
  else if (value instanceof Reserved) {
    throw new LivebufError(
      "Unsupported",
      `a value of tag ${value.tag} is stored only with the view of the object or array that it is in`,
    );
  } else return false;
  return true;
}

/** A number: whole ones of at most 2⁵³ are integers, −0 and all others floats. */
export function number(builder: Builder, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) <= 9007199254740992 && !Object.is(value, -0)) builder.integer(value);
  else builder.float(value);
}

function decimal(builder: Builder, { coefficient, scale }: Decimal): void {
  if (BigInt.asIntN(56, coefficient) === coefficient) {
    builder.wide(L.DECIMAL, (coefficient << 8n) | BigInt(scale));
    return;
  }
  const bytes = new Uint8Array(17);
  for (let i = 0; i < 16; i++) bytes[i] = Number((coefficient >> BigInt(8 * i)) & 255n);
  bytes[16] = scale;
  builder.span(L.LARGE_DECIMAL, bytes);
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
