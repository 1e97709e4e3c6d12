// Values that JSON lacks, as small classes (FORMAT 3.6). Each prints itself as its JSON text does (FORMAT 13.2).

import { LivebufError } from "./error.js";

/** A float, also where it is whole: `new Float(2)` is stored as 2.0, where 2 is stored as an integer. */
export class Float {
  constructor(readonly value: number) {}
  valueOf(): number {
    return this.value;
  }
  toString(): string {
    return floatText(this.value);
  }
  toJSON(): number {
    return this.value;
  }
}

/** A number that no float and no integer of 64 bits holds, as it was written. */
export class NumberText {
  constructor(readonly text: string) {
    if (typeof text !== "string" || !/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) {
      throw bad("number of JSON as a string", text);
    }
  }
  valueOf(): number {
    return Number(this.text);
  }
  toString(): string {
    return this.text;
  }
  /** The number, exact where the engine has `JSON.rawJSON`, and rounded elsewhere. */
  toJSON(): unknown {
    return raw(this);
  }
}

/** `coefficient` · 10^−`scale`. 1.5 and 1.50 are two values. */
export class Decimal {
  constructor(
    readonly coefficient: bigint,
    readonly scale: number,
  ) {
    const size = coefficient < 0n ? -coefficient : coefficient;
    if (typeof size !== "bigint" || size >= 10n ** 38n || !(scale >= 0 && scale <= 38 && Number.isInteger(scale))) {
      throw bad("decimal of at most 38 digits", `${coefficient}e-${scale}`);
    }
  }
  /** Reads `19.90`: as many digits behind the point as there are. */
  static from(text: string): Decimal {
    const match = /^(-?\d+)(?:\.(\d+))?$/.exec(text);
    if (match === null) throw bad("decimal", text);
    const fraction = match[2] ?? "";
    return new Decimal(BigInt(match[1] + fraction), fraction.length);
  }
  valueOf(): number {
    return Number(this.toString());
  }
  toString(): string {
    const { coefficient, scale } = this;
    const sign = coefficient < 0n ? "-" : "";
    const digits = String(coefficient < 0n ? -coefficient : coefficient).padStart(scale + 1, "0");
    const point = digits.length - scale;
    return sign + digits.slice(0, point) + (scale > 0 ? `.${digits.slice(point)}` : "");
  }
  toJSON(): unknown {
    return raw(this);
  }
}

/** A number of JSON by its digits, where the engine can say it. */
export function raw(number: unknown): unknown {
  const text = String(number);
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  return rawJSON === undefined ? Number(text) : rawJSON(text);
}

const DAY = 86_400_000_000n;

/** A day of the calendar: days since 1970-01-01. */
export class LocalDate {
  constructor(readonly days: number) {
    if (!(days >= -719_162 && days <= 2_932_896 && Number.isInteger(days))) throw bad("date of years 1 to 9999", days);
  }
  /** Reads `2026-11-23`. */
  static from(text: string): LocalDate {
    return new LocalDate(Number(parts(text, "date", false, false) / DAY));
  }
  toString(): string {
    return dateText(this.days);
  }
  toJSON(): string {
    return this.toString();
  }
}

/** A time of day: microseconds since midnight. */
export class LocalTime {
  constructor(readonly microseconds: number) {
    if (!(microseconds >= 0 && microseconds < 86_400_000_000 && Number.isInteger(microseconds))) {
      throw bad("time of day", microseconds);
    }
  }
  /** Reads `08:30:00.250`. */
  static from(text: string): LocalTime {
    return new LocalTime(Number(parts(`1970-01-01T${text}`, "time of day without a time zone", true, false)));
  }
  toString(): string {
    return timeText(this.microseconds);
  }
  toJSON(): string {
    return this.toString();
  }
}

/** The days since 1970-01-01 and the microseconds of the last one. */
function split(microseconds: bigint): [number, number] {
  let days = microseconds / DAY;
  if (days * DAY > microseconds) days--;
  return [Number(days), Number(microseconds - days * DAY)];
}

function checkMicroseconds(microseconds: bigint): void {
  if (!(typeof microseconds === "bigint" && microseconds >= -719_162n * DAY && microseconds < 2_932_897n * DAY)) {
    throw bad("date and time of years 1 to 9999 in microseconds, as a bigint", microseconds);
  }
}

/** A date and a time of a time zone that is not known: microseconds since 1970-01-01T00:00:00 there. */
export class LocalDateTime {
  constructor(readonly microseconds: bigint) {
    checkMicroseconds(microseconds);
  }
  /** Reads `2026-11-23T08:30:00`. */
  static from(text: string): LocalDateTime {
    return new LocalDateTime(parts(text, "date and time without a time zone", true, false));
  }
  toString(): string {
    const [days, time] = split(this.microseconds);
    return `${dateText(days)}T${timeText(time)}`;
  }
  toJSON(): string {
    return this.toString();
  }
}

/** A point in time: microseconds since 1970-01-01T00:00:00Z. */
export class Timestamp {
  constructor(readonly microseconds: bigint) {
    checkMicroseconds(microseconds);
  }
  /** Reads `2026-11-23T06:30:00Z`, or another offset than `Z`. */
  static from(text: string): Timestamp {
    return new Timestamp(parts(text, "timestamp with Z or an offset", true, true));
  }
  static fromDate(date: Date): Timestamp {
    return new Timestamp(BigInt(date.getTime()) * 1000n);
  }
  /** The same point in time, cut to milliseconds. */
  toDate(): Date {
    // A number would round what is near the end of a day.
    const [days, time] = split(this.microseconds);
    return new Date(days * 86_400_000 + Math.floor(time / 1000));
  }
  toString(): string {
    const [days, time] = split(this.microseconds);
    return `${dateText(days)}T${timeText(time)}Z`;
  }
  toJSON(): string {
    return this.toString();
  }
}

/** 128 bits, by the text of RFC 9562. */
export class Uuid {
  /** 16 bytes, in the order of the text. */
  constructor(readonly bytes: Uint8Array) {
    if (!(bytes instanceof Uint8Array && bytes.length === 16)) throw bad("UUID of 16 bytes", bytes);
  }
  static from(text: string): Uuid {
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) throw bad("UUID", text);
    const digits = text.replaceAll("-", "");
    return new Uuid(Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16)));
  }
  toString(): string {
    const digits = Array.from(this.bytes, (byte) => (256 + byte).toString(16).slice(1)).join("");
    return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }
  toJSON(): string {
    return this.toString();
  }
}

/** A value of a tag that a later version defined (FORMAT 3.2). It can be copied, and nothing else. */
export class Reserved {
  constructor(readonly tag: number) {}
  toJSON(): never {
    throw new LivebufError(
      "Unsupported",
      `a value of tag ${this.tag} has no JSON; a newer version of this package may know it`,
    );
  }
}

const two = (n: number): string => (n < 10 ? `0${n}` : `${n}`);

function dateText(days: number): string {
  // Eras of 400 years, which begin on the first of March.
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const doe = z - era * 146_097;
  const yoe = Math.floor((doe - Math.floor(doe / 1460) + Math.floor(doe / 36_524) - Math.floor(doe / 146_096)) / 365);
  const doy = doe - (365 * yoe + Math.floor(yoe / 4) - Math.floor(yoe / 100));
  const mp = Math.floor((5 * doy + 2) / 153);
  const day = doy - Math.floor((153 * mp + 2) / 5) + 1;
  const month = mp < 10 ? mp + 3 : mp - 9;
  const year = yoe + era * 400 + (month <= 2 ? 1 : 0);
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

function daysOf(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yoe = y - era * 400;
  const doy = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return era * 146_097 + yoe * 365 + Math.floor(yoe / 4) - Math.floor(yoe / 100) + doy - 719_468;
}

function timeText(microseconds: number): string {
  const seconds = Math.floor(microseconds / 1e6);
  const fraction = microseconds - seconds * 1e6;
  const text = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  if (fraction === 0) return text;
  const digits = String(fraction).padStart(6, "0");
  return `${text}.${digits.endsWith("000") ? digits.slice(0, 3) : digits}`;
}

const PARTS = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:(Z)|([+-])(\d\d):(\d\d))?)?$/;

/** A date, perhaps with a time and a zone (RFC 3339), as microseconds; in UTC if there is a zone. */
export function dateParts(text: string): { micros: bigint; zone: boolean; time: boolean } | undefined {
  const match = PARTS.exec(text);
  if (match === null) return undefined;
  const n = (i: number): number => Number(match[i] ?? 0);
  const [year, month, day] = [n(1), n(2), n(3)];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const last = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > last) return undefined;
  if (n(4) > 23 || n(5) > 59 || n(6) > 59 || n(10) > 23 || n(11) > 59) return undefined;
  const offset = (match[9] === "-" ? -1 : 1) * (n(10) * 60 + n(11));
  const minutes = n(4) * 60 + n(5) - offset;
  const micros = BigInt(minutes * 60 + n(6)) * 1_000_000n + BigInt((match[7] ?? "").padEnd(6, "0"));
  const all = BigInt(daysOf(year, month, day)) * DAY + micros;
  if (all < -719_162n * DAY || all >= 2_932_897n * DAY) return undefined;
  return { micros: all, zone: match[8] !== undefined || match[9] !== undefined, time: match[4] !== undefined };
}

/** The microseconds of a text that has a time and a zone, or has none. */
function parts(text: string, what: string, time: boolean, zone: boolean): bigint {
  const found = dateParts(text);
  if (found === undefined || found.time !== time || found.zone !== zone) throw bad(what, text);
  return found.micros;
}

function bad(what: string, value: unknown): LivebufError {
  return new LivebufError("BadValue", `${String(value).slice(0, 60)} is no ${what}`);
}

/** The text of a finite float by the rule of FORMAT 13.2: never that of an integer, and read as the same float again. */
export function floatText(x: number): string {
  const size = Math.abs(x);
  if (size < 1e16 && (size >= 1e-5 || size === 0)) {
    if (Object.is(x, -0)) return "-0.0";
    const text = String(x);
    return Number.isInteger(x) ? `${text}.0` : text;
  }
  // `toExponential` has as many digits as are needed, too.
  return x.toExponential();
}

/** Bytes as base64 (RFC 4648, section 4). */
export const base64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
