// livebuf: reading documents.

export { Column, type Numbers } from "./column.js";
export { Document, open } from "./document.js";
export { type ErrorKind, LivebufError } from "./error.js";
export type { Source } from "./memory.js";
export type { PlainOptions } from "./object.js";
export { proxy } from "./proxy.js";
export {
  Decimal,
  Float,
  LocalDate,
  LocalDateTime,
  LocalTime,
  NumberText,
  Reserved,
  Timestamp,
  Uuid,
} from "./scalar.js";
export { toTemporal } from "./temporal.js";
export type { TextOptions } from "./text.js";
export {
  ArrayView,
  entries,
  get,
  has,
  isView,
  keys,
  type ObjectView,
  type Scalar,
  size,
  toObject,
  type View,
} from "./view.js";
