// The numbers of docs/FORMAT.md. Constants, so that a bundler puts them where they are used.

export const HEADER_SIZE = 32;
export const MAX_USED = 2 ** 32 - 8;
export const VERSION = 1;

/** Kinds of blocks (FORMAT 3.5). */
export const SHAPE = 1;
export const RECORD = 2;
export const FORWARD = 3;
export const MAP = 4;
export const ARRAY = 5;
export const WIDE_SHAPE = 6;
export const AUX = 7;
export const TABLE = 8;
export const LIST = 9;

/** Tags of values (FORMAT 3.2, 3.6). */
export const NOTHING = 0x00;
export const NULL = 0x01;
export const FALSE = 0x02;
export const TRUE = 0x03;
export const INT = 0x04;
export const UINT = 0x05;
export const FLOAT = 0x06;
export const DECIMAL = 0x07;
export const TIMESTAMP = 0x08;
export const DATE = 0x09;
export const TIME = 0x0a;
export const DATE_TIME = 0x0b;
export const TEXT = 0x10;
export const BYTES = 0x11;
export const NUMBER_TEXT = 0x12;
export const UUID = 0x13;
export const LARGE_DECIMAL = 0x14;
export const OBJECT_NODE = 0x20;
export const ARRAY_NODE = 0x21;

/** Codes of columns (FORMAT 6.1). */
export const CELLS = 0;
export const BOOL = 1;
export const I8 = 2;
export const I16 = 3;
export const I32 = 4;
export const I64 = 5;
export const U8 = 6;
export const U16 = 7;
export const U32 = 8;
export const U64 = 9;
export const F32 = 10;
export const F64 = 11;
export const TEXTS = 12;
export const OBJECTS = 13;
export const ARRAYS = 14;
export const NULLS = 15;
export const STRUCT = 16;
export const LISTS = 17;
export const FIXED_LISTS = 18;
export const NUMBERS_F32 = 19;
export const NUMBERS_F64 = 20;
export const MARKED_F32 = 21;
export const MARKED_F64 = 22;
export const DICTIONARY_U8 = 23;
export const DICTIONARY_U16 = 24;
export const RUN = 25;
export const DATES = 26;
export const TIMES = 27;
export const DATE_TIMES = 28;
export const TIMESTAMPS = 29;
export const DECIMALS = 30;
export const UUIDS = 31;
export const F16 = 32;
export const BOOL8 = 33;

export const isDictionary = (code: number): boolean => code === DICTIONARY_U8 || code === DICTIONARY_U16;

export const isMarked = (code: number): boolean => code === MARKED_F32 || code === MARKED_F64;

/** Whether a column of this code can be a tensor (FORMAT 6.6); those of lists apart. */
export const isTensorCode = (code: number): boolean => (code >= I8 && code <= F64) || code >= F16;

/** Bytes of a slot, by the column's code; 0 where slots take bits or nothing. */
export const WIDTHS: readonly number[] = [
  0, 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 4, 4, 0, 0, 0, 0, 4, 8, 4, 8, 1, 2, 0, 4, 8, 8, 8, 8, 16, 2, 1,
];

/** Spans of more bytes are owned (FORMAT 3.3). */
export const MAX_SHARED = 1024;
export const MAX_SPAN = 2 ** 30 - 1;
export const MAX_KEY = 255;
export const MAX_FIELDS = 255;
export const MAX_COLUMNS = 65_535;
export const MAX_ELEMENTS = 2 ** 31 - 1;
export const MAX_NESTING = 1000;
/** Bytes of text that the values of a valid document have at most, for each of its bytes (FORMAT 11). */
export const TEXT_PER_BYTE = 1025;
export const MAX_COLUMN_NESTING = 16;

export const MAP_SIZE = 48;
/** From the beginning of a map to the header of its values. */
export const MAP_VALUES = 32;
export const TABLE_SIZE = 24;
export const LIST_ELEMENTS = 16;
export const LIST_OFFSETS = 32;
export const COLUMN_SIZE = 16;

/** n, rounded up to a multiple of 8. */
export const word = (n: number): number => Math.ceil(n / 8) * 8;

/** Where tag i of tagged cells is, from their beginning (FORMAT 3.4). */
export const tagAt = (i: number): number => (i >>> 3) * 72 + (i & 7);
/** Where cell i of tagged cells is. */
export const cellAt = (i: number): number => 8 + 8 * (i + (i >>> 3));
/** Bytes of n tagged cells. */
export const cellsSize = (n: number): number => 8 * (n + Math.ceil(n / 8));

/** Bytes of the bitmap of c slots. */
export const bitmapSize = (c: number): number => Math.ceil(c / 64) * 8;
/** Bytes of all bitmaps of c slots, by the column's gaps. */
export const bitmapsSize = (gaps: number, c: number): number =>
  gaps === 0 ? 0 : gaps === 3 ? 2 * bitmapSize(c) : bitmapSize(c);
