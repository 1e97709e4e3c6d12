// Dates and times as objects of Temporal, and the other way round.

import { LivebufError } from "./error.js";
import { LocalDate, LocalDateTime, LocalTime, Timestamp } from "./scalar.js";

const CLASSES = [
  ["Instant", Timestamp],
  ["PlainDate", LocalDate],
  ["PlainTime", LocalTime],
  ["PlainDateTime", LocalDateTime],
] as const;

/** An object of a class of Temporal, where the compiler knows that class. */
type TemporalOf<Name extends string> = typeof globalThis extends {
  Temporal: { [name in Name]: { from(text: string): infer T } };
}
  ? T
  : unknown;

/**
 * A timestamp as a `Temporal.Instant`, a date as a `Temporal.PlainDate`, a time of day as a `Temporal.PlainTime`, and a
 * date and time as a `Temporal.PlainDateTime`.
 *
 * @throws LivebufError of kind Unsupported if there is no `Temporal`, neither the engine's nor that of a polyfill.
 */
export function toTemporal(value: Timestamp): TemporalOf<"Instant">;
export function toTemporal(value: LocalDate): TemporalOf<"PlainDate">;
export function toTemporal(value: LocalTime): TemporalOf<"PlainTime">;
export function toTemporal(value: LocalDateTime): TemporalOf<"PlainDateTime">;
export function toTemporal(value: object): unknown {
  const { Temporal } = globalThis as unknown as { Temporal?: Record<string, { from(text: string): unknown }> };
  if (Temporal === undefined) {
    throw new LivebufError("Unsupported", "there is no Temporal, and no polyfill of it");
  }
  const [name] = CLASSES.find(([, made]) => value instanceof made)!;
  return Temporal[name]!.from(String(value));
}

/**
 * The date or time that an object of Temporal is, cut to microseconds; `undefined` for other objects. It is known by its
 * name, since it may be that of a polyfill.
 */
export function fromTemporal(value: object): Timestamp | LocalDate | LocalTime | LocalDateTime | undefined {
  const tag = (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
  const found = CLASSES.find(([name]) => tag === `Temporal.${name}`);
  return found?.[1].from(String(value).replace(/(\.\d{6})\d+/, "$1"));
}
