/*
 * LiveBuf: JSON-like documents in one buffer, read without parsing and edited in place.
 * https://github.com/livebuf/livebuf - MIT licence
 *
 *   uint8_t buffer[256];
 *   livebuf_doc doc;
 *   livebuf_init_object(&doc, buffer, sizeof buffer, 2);        // no memory is allocated
 *   livebuf_set_str(&doc, LIVEBUF_ROOT, "event", "lap_complete");
 *   livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 55);
 *   int64_t lap = livebuf_get_i64(livebuf_get(livebuf_root(&doc), "lap"));
 *   livebuf_print_json(livebuf_root(&doc));                     // {"event":"lap_complete",...
 *   send(socket, doc.bytes, doc.length, 0);                     // the bytes are the document
 *
 * What you need first:
 *   begin, open     livebuf_init_object livebuf_init_array livebuf_open livebuf_read
 *   with memory     livebuf_create livebuf_from_bytes livebuf_clone livebuf_load_file
 *                   livebuf_destroy
 *   JSON            livebuf_from_json livebuf_from_json_file livebuf_to_json livebuf_print_json
 *   look up         livebuf_root livebuf_get livebuf_at livebuf_pointer livebuf_foreach
 *   take a value    livebuf_get_i64 livebuf_get_f64 livebuf_get_bool livebuf_get_str
 *   ... or fail     livebuf_read_i64 livebuf_read_f64 livebuf_read_bool livebuf_read_str
 *   set a member    livebuf_set_i64 livebuf_set_f64 livebuf_set_bool livebuf_set_str
 *   nest, append    livebuf_set_object livebuf_set_array livebuf_push_i64 livebuf_push_str
 *   dates, decimals livebuf_read_date livebuf_read_timestamp livebuf_date livebuf_extended
 *   tensors         livebuf_read_tensor livebuf_tensor_of livebuf_tensor_new
 *   take out        livebuf_remove livebuf_remove_at livebuf_clear
 *   all or nothing  livebuf_begin livebuf_commit livebuf_rollback
 *   what changed    livebuf_record livebuf_record_end livebuf_on_change
 *   deltas, undo    livebuf_delta_begin livebuf_delta_end livebuf_delta_apply livebuf_undo
 *   patches, diffs  livebuf_patch livebuf_merge livebuf_diff livebuf_merge_diff
 *   JSONPath        livebuf_query_new livebuf_matches_next livebuf_set_all livebuf_remove_all
 *   untrusted       livebuf_validate (or livebuf_validate_in, which allocates nothing)
 *
 * Sections: 1 types, 2 begin and open, 3 read, 4 set, 5 more reading, 6 more editing, prepared messages,
 * transactions, changed bytes, 7 columns,
 * 8 documents that manage their memory, 9 validate, measure, limit, 10 JSON, 11 deltas and undo,
 * 12 patches and differences, 13 queries, 14 statuses; then the bodies of the inline functions.
 *
 * Two ways to have a document, one set of calls for both:
 *   the buffer API   a livebuf_doc of yours over your memory; nothing is allocated.
 *   the context API  livebuf_create and its kin return a livebuf_doc that manages its memory
 *                    until livebuf_destroy.
 *
 * Rules for every call, beside its own comment:
 *   Memory   A pointer is good for as many bytes as you say. A document outlives its values,
 *            text, iterators and columns, and does not move in memory meanwhile. A comment says
 *            what a call keeps. You may give an edit text that lies in the document itself.
 *   NULL     Every pointer is compared with NULL, which is an error or has a meaning.
 *   Errors   A read that finds nothing gives an empty value with a status inside, so calls
 *            chain: livebuf_get_i64(livebuf_get(livebuf_root(doc), "a")) is 0 then.
 *            livebuf_read_i64 and its kin return a status. Edits return a status, too: 0 is
 *            LIVEBUF_OK. An edit that fails changes nothing. doc->error keeps the last error,
 *            also while later calls succeed: make many edits, then look once
 *            (livebuf_error_text). livebuf_init and livebuf_clear_error clear it.
 *            Values, text, iterators and columns from before an edit are known to be stale. So
 *            are places (livebuf_node) when their container may be gone.
 *   Threads  Any number of threads may read while none edits. During an edit nobody else may
 *            use the document. Different documents are independent.
 *
 * No bytes of a document, however damaged, make a call crash, hang or read elsewhere. There are
 * no globals but one counter. No call looks at the locale or sets errno.
 *
 * Made from bindings/c/src: do not edit. C11, and C++ where livebuf.hpp is not wanted.
 */
#ifndef LIVEBUF_H
#define LIVEBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Streams need <stdio.h>. LIVEBUF_NO_STDIO before the #include leaves it out. */
#if !defined(LIVEBUF_NO_STDIO) && (!defined(__STDC_HOSTED__) || __STDC_HOSTED__)
#define LIVEBUF_STDIO 1
#include <stdio.h>
#include <stdlib.h>
#else
#define LIVEBUF_STDIO 0
#endif

/** Before calls whose failure loses data where nobody looks at the status: livebuf_commit,
    livebuf_flush, and those that save, stamp and validate. Define it empty before the #include
    to be warned of none. */
#if !defined(LIVEBUF_MUST_USE)
#if defined(__GNUC__)
#define LIVEBUF_MUST_USE __attribute__((warn_unused_result))
#else
#define LIVEBUF_MUST_USE
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ==========================================================================================
   1. Types
   ========================================================================================== */

/** How a call went: LIVEBUF_OK (0) or one of enum livebuf_code. */
typedef int livebuf_status;

/** What went wrong and where. */
typedef struct {
  /** The status that the call returned. */
  livebuf_status status;
  /** Line in JSON text or a query, the first is 1; 0 for all else. */
  uint32_t line;
  /** Column there in characters, the first is 1; 0 for all else. */
  uint32_t column;
  /** The operation of a patch, the first is 1; 0 for all else. */
  uint32_t operation;
  /**
   * Byte offset in the document, the JSON text, the query or the delta; 0 where no place
   * applies.
   */
  uint64_t offset;
  /** A number that the status explains: missing bytes, a limit, a length. */
  uint64_t detail;
} livebuf_error;

/**
 * A document in memory, to be read or edited: the caller's own variable.
 *
 * Made good by livebuf_init, livebuf_open or livebuf_read, or got from the context API.
 * The fields may be read at any time and written never. It must not be copied once values
 * were taken from it, since they refer to it by its address.
 */
typedef struct {
  /** The document: send or store `length` bytes from here. */
  const uint8_t *bytes;
  /** Bytes of the document. */
  size_t length;
  /** Bytes of the memory it lies in. */
  size_t capacity;
  /** Another one with every edit, and each time that the document is begun or opened. */
  uint32_t generation;
  /** Private. */
  uint32_t private_state;
  /** What the last call that failed said. */
  livebuf_error error;
  /** Private. */
  uint64_t private_editor[70];
} livebuf_doc;

/**
 * A value of a document: 32 bytes, passed by value. Where there is none, why not.
 *
 * Numbers, booleans, null, dates and times lie in it and stay good for ever. Text, decimals,
 * UUIDs and containers are looked up in the document, and are stale after any edit of it:
 * every call says so then.
 */
typedef struct {
  /** The document; NULL where there is no value. */
  const livebuf_doc *doc;
  /** The number, or where the value lies. Of an error its offset. */
  uint64_t cell;
  /** Private. Of an error the lower half of its detail. */
  uint32_t position;
  /** The document's when the value was got. Of an error the upper half of its detail. */
  uint32_t generation;
  /** One of LIVEBUF_TAG_*; 0 where there is no value. */
  uint32_t tag;
  /** LIVEBUF_OK, or why there is no value. */
  livebuf_status status;
} livebuf_value;

/** What a value is. */
typedef enum {
  /** There is no value. */
  LIVEBUF_KIND_NONE = 0,
  /** JSON null. */
  LIVEBUF_KIND_NULL = 1,
  /** True or false. */
  LIVEBUF_KIND_BOOL = 2,
  /** An integer that fits int64_t. */
  LIVEBUF_KIND_I64 = 3,
  /** An integer that only fits uint64_t. */
  LIVEBUF_KIND_U64 = 4,
  /** A double. */
  LIVEBUF_KIND_F64 = 5,
  /** A number that only its text holds exactly. */
  LIVEBUF_KIND_NUMBER_TEXT = 6,
  /** Text. */
  LIVEBUF_KIND_STRING = 7,
  /** Bytes. */
  LIVEBUF_KIND_BYTES = 8,
  /** An object. */
  LIVEBUF_KIND_OBJECT = 9,
  /** An array. */
  LIVEBUF_KIND_ARRAY = 10,
  /** A value of a kind that this version does not know. */
  LIVEBUF_KIND_RESERVED = 11,
  /** A date. */
  LIVEBUF_KIND_DATE = 12,
  /** A time of day. */
  LIVEBUF_KIND_TIME = 13,
  /** A date and time of day without a time zone. */
  LIVEBUF_KIND_DATE_TIME = 14,
  /** A moment. */
  LIVEBUF_KIND_TIMESTAMP = 15,
  /** A decimal number. */
  LIVEBUF_KIND_DECIMAL = 16,
  /** A UUID. */
  LIVEBUF_KIND_UUID = 17,
} livebuf_kind;

/**
 * Text in a document: not NUL-terminated, good until the next edit (livebuf_str_is_current).
 * In documents that were validated, or written by this library, it is UTF-8.
 */
typedef struct {
  /** The first byte; NULL where there is no text. */
  const char *data;
  /** Count of bytes. */
  uint32_t length;
  /** The document's when the text was got. */
  uint32_t generation;
} livebuf_str;

/** Bytes in a document: good until the next edit (livebuf_bytes_are_current). */
typedef struct {
  /** The first byte; NULL where there are none. */
  const uint8_t *data;
  /** Count of bytes. */
  uint32_t length;
  /** The document's when the bytes were got. */
  uint32_t generation;
} livebuf_bytes;

/**
 * A decimal number: a coefficient of at most 38 digits, `high` * 2^64 + `low`, divided by
 * 10^`scale`. 1.5 and 1.50 are two decimals.
 */
typedef struct {
  /** The lower half of the coefficient, which has 128 bits, in two's complement. */
  uint64_t low;
  /** Its upper half. Of a coefficient that fits int64_t: -1 where it is negative, else 0. */
  int64_t high;
  /** How many of the digits are behind the point, 0 to 38. */
  uint32_t scale;
  /** Zero. Not looked at. */
  uint32_t reserved;
} livebuf_decimal;

/** Most dimensions of a tensor. */
#define LIVEBUF_MAX_DIMENSIONS 16

/**
 * A tensor: numbers of one type, in rows of one shape, behind each other. livebuf_read_tensor
 * lends one of a document, livebuf_tensor_new stores one.
 */
typedef struct {
  /**
   * The type of the numbers: LIVEBUF_COLUMN_I8 to LIVEBUF_COLUMN_F64, LIVEBUF_COLUMN_F16 or
   * LIVEBUF_COLUMN_BOOL8.
   */
  uint32_t column_type;
  /** Count of dimensions, 1 to LIVEBUF_MAX_DIMENSIONS. */
  uint32_t dimensions;
  /** The length of each dimension. Only the first may be 0. */
  uint32_t shape[LIVEBUF_MAX_DIMENSIONS];
  /** The first number. Those of the last dimension are behind each other (row-major order). */
  const void *data;
  /** Count of bytes: the product of the lengths, times the bytes of a number. */
  size_t length;
} livebuf_tensor;

/**
 * A place to edit: an object or array. It stays good when the document grows, when values
 * move and when other containers are freed. It goes stale, and calls say so, when its own
 * container is removed or replaced. A document remembers the last 8 such changes: older
 * places are stale too, but for the last four that edits used. Zeroed (LIVEBUF_ROOT) it is
 * the root. One of another document is stale. Never change the words.
 */
typedef struct {
  /** Private. */
  uint64_t private_place;
  /** Private. */
  uint64_t private_time;
} livebuf_node;

/** What a new value holds. */
typedef union {
  /** Of booleans, integers, dates, times and small decimals. */
  int64_t i64;
  /** Of integers without sign. */
  uint64_t u64;
  /** Of doubles. */
  double f64;
  /** Of all that lies elsewhere. */
  const void *pointer;
} livebuf_payload;

/**
 * A value to be stored: made by livebuf_i64, livebuf_string and their kin, 16 bytes. It
 * borrows what its pointer leads to until the call that stores it returns.
 */
typedef struct {
  /** The value, or where it is. */
  livebuf_payload payload;
  /** Bytes, members or elements; of a decimal its scale. */
  uint32_t length;
  /** One of enum livebuf_new_kind. */
  uint32_t kind;
} livebuf_new;

#ifdef __cplusplus
/** The root's place, in every call that takes a place. */
#define LIVEBUF_ROOT (livebuf_node{0, 0})
#else
#define LIVEBUF_ROOT ((livebuf_node){0, 0})
#endif

/* ==========================================================================================
   2. Begin and open a document in your memory
   ========================================================================================== */

/**
 * Begins an empty document in the caller's memory. At least 32 bytes. Its root is null; it
 * becomes an object when a member of LIVEBUF_ROOT is set, and an array when an element is pushed.
 *
 * Memory: keeps `buffer`, `capacity` bytes that nobody else writes, until the document is
 * not used any more; `doc` needs no clean-up. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
 * LIVEBUF_NO_SPACE. Threads: an edit.
 */
livebuf_status livebuf_init(livebuf_doc *doc,
                            uint8_t *buffer,
                            size_t capacity);

/** Begins a document whose root is an empty object with room for so many members (a guess; it
    grows): livebuf_init, then livebuf_set_root. */
static inline livebuf_status livebuf_init_object(livebuf_doc *doc, uint8_t *buffer,
                                                 size_t capacity, size_t members);

/** Begins a document whose root is an empty array with room for so many elements. */
static inline livebuf_status livebuf_init_array(livebuf_doc *doc, uint8_t *buffer,
                                                size_t capacity, size_t elements);

/**
 * Opens the document in the first `length` bytes of the caller's memory to be edited, in
 * constant time. Until livebuf_validate_in passes it is untrusted: freed space is not reused and
 * columns are not changed.
 *
 * Memory: as livebuf_init. NULL: LIVEBUF_NULL_ARGUMENT. Errors: what is wrong with the
 * header; LIVEBUF_READ_ONLY where this version can read but not edit it.
 * Threads: an edit.
 */
livebuf_status livebuf_open(livebuf_doc *doc,
                            uint8_t *buffer,
                            size_t length,
                            size_t capacity);

/**
 * Opens a document to be read only, in constant time. Its bytes are never written.
 *
 * Memory: keeps `bytes` until the document is not used any more; `doc` needs no clean-up.
 * NULL: LIVEBUF_NULL_ARGUMENT. Errors: what is wrong with the header.
 * Threads: once open, any number may read at once.
 */
livebuf_status livebuf_read(livebuf_doc *doc, const uint8_t *bytes, size_t length);

/* ==========================================================================================
   3. Read
   ========================================================================================== */

/**
 * The root of a document.
 *
 * Memory: borrows the document, which must stay where it is. NULL and documents that are
 * not open: a value that is not there. Errors: in the value. Threads: a read.
 */
livebuf_value livebuf_root(const livebuf_doc *doc);

/** The member of an object with this key. As livebuf_get_n. */
static inline livebuf_value livebuf_get(livebuf_value object, const char *key);

/**
 * The element of an array at an index. Constant time.
 *
 * Memory: borrows as `array`. NULL: none. Errors: in the value: beyond the end, and of what
 * is no array, there are no elements. Threads: a read.
 */
livebuf_value livebuf_at(livebuf_value array, size_t index);

/** The value at a JSON pointer below this one. As livebuf_pointer_n. */
static inline livebuf_value livebuf_pointer(livebuf_value value, const char *pointer);

/** Whether there is a value. */
static inline bool livebuf_exists(livebuf_value value);

/** Whether there is a value and it is null. */
static inline bool livebuf_is_null(livebuf_value value);

/**
 * What a value is.
 *
 * Memory: none. NULL: none; what is not there is LIVEBUF_KIND_NONE. Errors: none.
 * Threads: any.
 */
livebuf_kind livebuf_kind_of(livebuf_value value);

/**
 * Count of an object's members, an array's elements, or the bytes of text; 0 for all else.
 * Counting the members of a table's row takes a step for each column.
 *
 * Memory: none. NULL: none. Errors: 0. Threads: a read.
 */
size_t livebuf_count(livebuf_value value);

/* The value, or 0, false or no text where there is none of that type. */

/** The boolean, or false. */
static inline bool livebuf_get_bool(livebuf_value value);

/** The integer, or 0. */
static inline int64_t livebuf_get_i64(livebuf_value value);

/** The integer without sign, or 0. */
static inline uint64_t livebuf_get_u64(livebuf_value value);

/** The number, or 0. */
static inline double livebuf_get_f64(livebuf_value value);

/**
 * The text of a string; `data` is NULL where it is none. Not NUL-terminated; UTF-8 in
 * documents that were validated or written by this library.
 *
 * Memory: borrows the document's bytes until its next edit. NULL: none. Errors: no text;
 * livebuf_read_str tells why. Threads: a read.
 */
livebuf_str livebuf_get_str(livebuf_value value);

/**
 * The bytes of a byte string; `data` is NULL where it is none.
 *
 * Memory: borrows the document's bytes until its next edit. NULL: none. Errors: no bytes;
 * livebuf_read_bytes tells why. Threads: a read.
 */
livebuf_bytes livebuf_get_bytes(livebuf_value value);

/** printf of text: printf("name " LIVEBUF_FMT "\n", LIVEBUF_ARG(name)) for a livebuf_str `name`,
    a variable. Text that is not there prints as nothing. */
#define LIVEBUF_FMT "%.*s"
/** The arguments for LIVEBUF_FMT. */
#define LIVEBUF_ARG(text) (int)(text).length, ((text).data ? (text).data : "")

/** Whether text is this, which ends with NUL. */
static inline bool livebuf_str_equals(livebuf_str text, const char *other);

/* The value, or a fallback. */

/** The boolean, or `fallback` where it is none. */
static inline bool livebuf_get_bool_or(livebuf_value value, bool fallback);

/** The integer, or `fallback` where it is none that fits. 1.0 is not an integer. */
static inline int64_t livebuf_get_i64_or(livebuf_value value, int64_t fallback);

/** The integer, or `fallback` where it is none or negative. 1.0 is not an integer. */
static inline uint64_t livebuf_get_u64_or(livebuf_value value, uint64_t fallback);

/** The number as a double, integers rounded to the nearest; `fallback` where it is none. */
static inline double livebuf_get_f64_or(livebuf_value value, double fallback);

/** The text, or `fallback`, which ends with NUL. */
static inline livebuf_str livebuf_get_str_or(livebuf_value value, const char *fallback);

/** The bytes, or `length` bytes of `fallback`. */
static inline livebuf_bytes livebuf_get_bytes_or(livebuf_value value, const void *fallback,
                                                 uint32_t length);

/* Checked reading: for where 0 or no text may also be an answer. Each returns LIVEBUF_OK and
   writes `*result`, or says why not and leaves `*result` as it was:
     LIVEBUF_WRONG_TYPE     there is a value, of another type;
     LIVEBUF_NULL_ARGUMENT  `result` is NULL;
     the value's own status where there is none: LIVEBUF_NOT_FOUND, what is damaged,
     LIVEBUF_STALE_HANDLE. livebuf_value_error has the byte offset then. */

/** The boolean in `*result`. LIVEBUF_WRONG_TYPE where the value is none. */
static inline livebuf_status livebuf_read_bool(livebuf_value value, bool *result);

/** The integer in `*result`. LIVEBUF_WRONG_TYPE where the value is no integer, or one that
    int64_t does not hold (livebuf_kind_of tells them apart). 1.0 is not an integer. */
static inline livebuf_status livebuf_read_i64(livebuf_value value, int64_t *result);

/** The integer without sign in `*result`. LIVEBUF_WRONG_TYPE where the value is no integer,
    or one that uint64_t does not hold. 1.0 is not an integer. */
static inline livebuf_status livebuf_read_u64(livebuf_value value, uint64_t *result);

/** The number in `*result`, rounded to the nearest double. LIVEBUF_WRONG_TYPE where the value
    is no number, or one beyond the range of doubles. */
static inline livebuf_status livebuf_read_f64(livebuf_value value, double *result);

/** The text in `*result`. LIVEBUF_WRONG_TYPE where the value is no text. */
static inline livebuf_status livebuf_read_str(livebuf_value value, livebuf_str *result);

/** The bytes in `*result`. LIVEBUF_WRONG_TYPE where the value is no byte string. */
static inline livebuf_status livebuf_read_bytes(livebuf_value value, livebuf_bytes *result);

/** The text of a number that is kept as text (LIVEBUF_KIND_NUMBER_TEXT) in `*result`.
    LIVEBUF_WRONG_TYPE for all else. */
static inline livebuf_status livebuf_read_number_text(livebuf_value value,
                                                      livebuf_str *result);

/* Values that JSON lacks, read in the same way. Dates count days, times microseconds. In a document
   that was not validated they may be damaged: LIVEBUF_BAD_CELL then. */

/** The date in `*days`: days since 1970-01-01, of the years 0001 to 9999. LIVEBUF_WRONG_TYPE where
    the value is none. */
static inline livebuf_status livebuf_read_date(livebuf_value value, int32_t *days);

/** The time of day in `*microseconds`, since midnight. LIVEBUF_WRONG_TYPE where the value is
    none. */
static inline livebuf_status livebuf_read_time(livebuf_value value, int64_t *microseconds);

/** The date and time of day without a time zone in `*microseconds`, since 1970-01-01T00:00:00 of
    the same, unknown, zone. LIVEBUF_WRONG_TYPE where the value is none. */
static inline livebuf_status livebuf_read_date_time(livebuf_value value, int64_t *microseconds);

/** The moment in `*microseconds`, since 1970-01-01T00:00:00Z. LIVEBUF_WRONG_TYPE where the value is
    none. */
static inline livebuf_status livebuf_read_timestamp(livebuf_value value, int64_t *microseconds);

/** The decimal in `*decimal`. LIVEBUF_WRONG_TYPE where the value is none: integers, doubles and
    number text are none. */
static inline livebuf_status livebuf_read_decimal(livebuf_value value, livebuf_decimal *decimal);

/** The UUID in `bytes`, in the order of its text. LIVEBUF_WRONG_TYPE where the value is none. */
static inline livebuf_status livebuf_read_uuid(livebuf_value value, uint8_t bytes[16]);

/** The date as livebuf_read_date has it, or `fallback`. */
static inline int32_t livebuf_get_date_or(livebuf_value value, int32_t fallback);

/** The time of day as livebuf_read_time has it, or `fallback`. */
static inline int64_t livebuf_get_time_or(livebuf_value value, int64_t fallback);

/** The date and time as livebuf_read_date_time has it, or `fallback`. */
static inline int64_t livebuf_get_date_time_or(livebuf_value value, int64_t fallback);

/** The moment as livebuf_read_timestamp has it, or `fallback`. */
static inline int64_t livebuf_get_timestamp_or(livebuf_value value, int64_t fallback);

/**
 * The text of a date, time, decimal or UUID, as JSON has it: "2026-11-23", "08:30:00.250",
 * "2026-11-23T08:30:00Z", "19.90". Returns its length without its NUL, as snprintf does; 0 for
 * all else.
 *
 * Memory: writes at most `capacity` bytes to `text`, a NUL at the end among them; 48 hold any
 * of these texts. NULL: `text` if `capacity` is 0, to ask for the length. Errors: 0 and empty
 * text; livebuf_value_error tells why. Threads: a read.
 */
size_t livebuf_extended_text(livebuf_value value, char *text, size_t capacity);

/**
 * The tensor that an array is, in `*tensor`: all its numbers, without a copy. An array in a
 * tensor is one, too. Constant time.
 *
 * Where the document's memory begins at a multiple of 8, as that of livebuf_create and of mapped
 * files does, `data` is aligned for its type. A tensor that is in no column and in no other tensor
 * then begins at a multiple of 8. In other memory copy the numbers by memcpy. Single numbers are
 * read like elements of any array, and set by livebuf_set_at and the other edits. In a damaged
 * document that was not validated, booleans may be other bytes than 0 and 1.
 *
 * Memory: writes `*tensor` where it returns LIVEBUF_OK; `data` borrows the document's bytes until
 * its next edit, be it of a number of this tensor (livebuf_value_is_current asks). NULL:
 * LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE where the value is no tensor; the value's own
 * status where there is none; what is damaged; LIVEBUF_UNSUPPORTED on big-endian machines.
 * Threads: a read.
 */
livebuf_status livebuf_read_tensor(livebuf_value value,
                                   livebuf_tensor *tensor);

/**
 * An iteration: the caller's own variable. Ends, with LIVEBUF_STALE_HANDLE, when the
 * document is edited.
 */
typedef struct {
  /** The key, where it goes over an object. */
  livebuf_str key;
  /** The member or element. */
  livebuf_value value;
  /** How many were met before this one. */
  size_t index;
  /** LIVEBUF_OK, or why it ended early. */
  livebuf_error error;
  /** Private. */
  const livebuf_doc *private_doc;
  /** Private. */
  uint32_t private_generation;
  /** Private. */
  uint32_t private_flags;
  /**
   * Private: the cell of the next row, where the elements are rows of a table; where members are
   * sorted, which order it is.
   */
  uint64_t private_row;
  /** Private: how many such rows are left. */
  uint64_t private_rows;
  /** Private. */
  uint64_t private_words[36];
} livebuf_iter;

/** Goes over an object's members, or an array's elements, in order:
    livebuf_foreach(lap, laps) sum += livebuf_get_i64(livebuf_get(lap.value, "lap"));
    `lap` is a livebuf_iter: lap.key, lap.value, lap.index. What is no container has none. To
    hear of damage, write the loop with livebuf_iterate and livebuf_next, and look at lap.error. */
#define livebuf_foreach(iter, container)                                                        \
  for (livebuf_iter iter, *iter##_ = (livebuf_iterate((container), 0, &iter), &iter);           \
       livebuf_next(iter##_);)

/**
 * Begins to go over an object's members in insertion order, or an array's elements.
 * `flags`: LIVEBUF_DESCENDING or 0. Then livebuf_next steps to the first.
 *
 * Memory: writes `*iter`, which needs no clean-up; borrows as `value`. NULL:
 * LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE, what is damaged; livebuf_next is false
 * then. Threads: a read.
 */
livebuf_status livebuf_iterate(livebuf_value value, uint32_t flags, livebuf_iter *iter);

/**
 * Steps to the next member or element: `iter->key` and `iter->value`. False at the end, and
 * after an error, which `iter->error` tells.
 *
 * Memory: what it gives borrows the document's bytes until its next edit. NULL: false.
 * Errors: LIVEBUF_STALE_HANDLE after an edit, or what is damaged; false from then on.
 * Threads: a read, and an edit of `*iter`.
 */
bool livebuf_next(livebuf_iter *iter);

/** Begins at the last instead of the first. */
#define LIVEBUF_DESCENDING 1

/* ==========================================================================================
   4. Set
   ========================================================================================== */

/* Members of the object at a place: LIVEBUF_ROOT, or what livebuf_set_object, livebuf_child and
   livebuf_find give. A member that is missing is added. */

/** Sets a member to null. */
static inline livebuf_status livebuf_set_null(livebuf_doc *doc, livebuf_node node,
                                              const char *key);

/** Sets a member to a boolean. */
static inline livebuf_status livebuf_set_bool(livebuf_doc *doc, livebuf_node node,
                                              const char *key, bool value);

/** Sets a member to an integer. */
static inline livebuf_status livebuf_set_i64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, int64_t value);

/** Sets a member to an integer without sign. */
static inline livebuf_status livebuf_set_u64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, uint64_t value);

/** Sets a member to a double. */
static inline livebuf_status livebuf_set_f64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, double value);

/** Sets a member to NUL-terminated text. */
static inline livebuf_status livebuf_set_str(livebuf_doc *doc, livebuf_node node,
                                             const char *key, const char *value);

/** Sets a member to bytes. */
static inline livebuf_status livebuf_set_bytes(livebuf_doc *doc, livebuf_node node,
                                               const char *key, const void *bytes,
                                               size_t length);

/** Sets a member to an empty object, and gives its place. */
static inline livebuf_status livebuf_set_object(livebuf_doc *doc, livebuf_node node,
                                                const char *key, size_t members,
                                                livebuf_node *child);

/** Sets a member to an empty array, and gives its place. */
static inline livebuf_status livebuf_set_array(livebuf_doc *doc, livebuf_node node,
                                               const char *key, size_t elements,
                                               livebuf_node *child);

/** Sets a member. As livebuf_set_n. */
static inline livebuf_status livebuf_set(livebuf_doc *doc, livebuf_node node, const char *key,
                                         livebuf_new value);

/* Elements at the end of the array at a place. */

/** Adds null to an array. */
static inline livebuf_status livebuf_push_null(livebuf_doc *doc, livebuf_node node);

/** Adds a boolean to an array. */
static inline livebuf_status livebuf_push_bool(livebuf_doc *doc, livebuf_node node, bool value);

/** Adds an integer to an array. */
static inline livebuf_status livebuf_push_i64(livebuf_doc *doc, livebuf_node node,
                                              int64_t value);

/** Adds an integer without sign to an array. */
static inline livebuf_status livebuf_push_u64(livebuf_doc *doc, livebuf_node node,
                                              uint64_t value);

/** Adds a double to an array. */
static inline livebuf_status livebuf_push_f64(livebuf_doc *doc, livebuf_node node,
                                              double value);

/** Adds NUL-terminated text to an array. */
static inline livebuf_status livebuf_push_str(livebuf_doc *doc, livebuf_node node,
                                              const char *value);

/** Adds bytes to an array. */
static inline livebuf_status livebuf_push_bytes(livebuf_doc *doc, livebuf_node node,
                                                const void *bytes, size_t length);

/**
 * Adds an element at the end of an array. A root that is null, as after livebuf_init, becomes
 * an array.
 *
 * Memory, NULL, Errors, Threads: as livebuf_set_n.
 */
livebuf_status livebuf_push(livebuf_doc *doc,
                            livebuf_node node,
                            livebuf_new value,
                            livebuf_node *child);

/* Places of containers. */

/** The place of the object or array under a key. As livebuf_child_n. */
static inline livebuf_node livebuf_child(const livebuf_doc *doc, livebuf_node node,
                                         const char *key);

/**
 * The place of the object or array at an index of an array.
 *
 * Memory: none. NULL: a place that is stale. Errors: the same. Threads: a read.
 */
livebuf_node livebuf_child_at(const livebuf_doc *doc, livebuf_node node, size_t index);

/** The place of the object or array at a JSON pointer. As livebuf_find_n. */
static inline livebuf_node livebuf_find(const livebuf_doc *doc, const char *pointer);

/** Whether a call gave a place. */
static inline bool livebuf_node_exists(livebuf_node node);

/* Take out. */

/** Takes a member out. As livebuf_remove_n. */
static inline livebuf_status livebuf_remove(livebuf_doc *doc, livebuf_node node,
                                            const char *key);

/**
 * Takes the element at an index of an array out; those behind it move up.
 *
 * Memory, NULL, Errors, Threads: as livebuf_remove_n.
 */
livebuf_status livebuf_remove_at(livebuf_doc *doc, livebuf_node node, size_t index);

/**
 * Takes all members or elements out; the container stays, empty.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_STALE_HANDLE,
 * LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads: an edit.
 */
livebuf_status livebuf_clear(livebuf_doc *doc, livebuf_node node);

/* New values: what to store. They borrow their text until the call that stores them. */

/** Null. */
static inline livebuf_new livebuf_null(void);

/** A boolean. */
static inline livebuf_new livebuf_bool(bool boolean);

/** An integer. */
static inline livebuf_new livebuf_i64(int64_t integer);

/** An integer without sign. */
static inline livebuf_new livebuf_u64(uint64_t natural);

/** A double, kept by its bits. */
static inline livebuf_new livebuf_f64(double number);

/** NUL-terminated text. */
static inline livebuf_new livebuf_string(const char *text);

/** Text of `length` bytes. */
static inline livebuf_new livebuf_string_n(const char *text, size_t length);

/** Bytes. */
static inline livebuf_new livebuf_bytes_n(const void *bytes, size_t length);

/** A number that only its text holds exactly, which ends with NUL. */
static inline livebuf_new livebuf_number_text(const char *text);

/** A date: days since 1970-01-01. The call that stores it answers LIVEBUF_BAD_VALUE outside of the
    years 0001 to 9999. */
static inline livebuf_new livebuf_date(int32_t days);

/** A time of day: microseconds since midnight. The call that stores it answers LIVEBUF_BAD_VALUE
    where they are negative, or a day or more. */
static inline livebuf_new livebuf_time(int64_t microseconds);

/** A date and time of day without a time zone: microseconds since 1970-01-01T00:00:00 of the same
    zone. Bounds as livebuf_date. */
static inline livebuf_new livebuf_date_time(int64_t microseconds);

/** A moment: microseconds since 1970-01-01T00:00:00Z. Bounds as livebuf_date. */
static inline livebuf_new livebuf_timestamp(int64_t microseconds);

/** A decimal: livebuf_decimal_i64(1990, 2) is 19.90. The call that stores it answers
    LIVEBUF_BAD_VALUE where the scale is more than 38. */
static inline livebuf_new livebuf_decimal_i64(int64_t coefficient, uint32_t scale);

/** A decimal of any size; borrows `*decimal`. The call that stores it answers LIVEBUF_BAD_VALUE
    where it has more than 38 digits, or a scale of more than 38. */
static inline livebuf_new livebuf_decimal_new(const livebuf_decimal *decimal);

/** A UUID: its bytes in the order of its text, which are borrowed. */
static inline livebuf_new livebuf_uuid(const uint8_t bytes[16]);

/** The date, time, decimal or UUID of NUL-terminated text: livebuf_extended("2026-11-23"). As
    livebuf_extended_n. */
static inline livebuf_new livebuf_extended(const char *text);

/** A tensor: an array whose numbers keep their type and shape. Borrows `*tensor` and its data,
    which do not lie in the document under edit (LIVEBUF_OVERLAP). The call that stores it answers
    LIVEBUF_TENSOR_MISMATCH where the shape or the type is none, `length` is not what they say, or
    booleans are neither 0 nor 1; LIVEBUF_UNSUPPORTED on big-endian machines. */
static inline livebuf_new livebuf_tensor_new(const livebuf_tensor *tensor);

/** The tensor of `length` bytes of numbers at `data`, for livebuf_tensor_new; it borrows them, and
    copies the lengths of its `dimensions`:
    livebuf_tensor_of(LIVEBUF_COLUMN_F32, 2, shape, numbers, sizeof numbers). */
static inline livebuf_tensor livebuf_tensor_of(uint32_t column_type, uint32_t dimensions,
                                               const uint32_t *shape, const void *data,
                                               size_t length);

/** An empty object with room for so many members (a guess; it grows). */
static inline livebuf_new livebuf_object(size_t members);

/** An empty object with an ordered index from the start, for many members. */
static inline livebuf_new livebuf_map(size_t members);

/** An empty array with room for so many elements of eight bytes (a guess; it grows). */
static inline livebuf_new livebuf_array(size_t elements);

/**
 * A copy of a value of another document, with all below it.
 *
 * Memory: `value` is read by the call that stores the copy. NULL: that call answers
 * LIVEBUF_NULL_ARGUMENT. Errors: none. Threads: any.
 */
livebuf_new livebuf_copy(const livebuf_value *value);

/** A member of an object that is made at once. */
typedef struct {
  /** The key's first byte. */
  const char *key;
  /** The key's length in bytes. */
  size_t key_length;
  /** The member's value; not LIVEBUF_NEW_FIELDS. */
  livebuf_new value;
} livebuf_field;

/** Most members that LIVEBUF_NEW_FIELDS takes. */
#define LIVEBUF_MAX_NEW_FIELDS 64

/** An object of these members, each key once: one call, one allocation of space. At most
    LIVEBUF_MAX_NEW_FIELDS, none of which is such an object itself; no text of them lies in the
    document under edit. */
static inline livebuf_new livebuf_fields(const livebuf_field *fields, size_t count);

/** A member for livebuf_fields. */
static inline livebuf_field livebuf_member(const char *key, livebuf_new value);

/* Errors. */

/**
 * What a status means, in English: one line without a full stop.
 *
 * Memory: static. NULL: never; an unknown number is "unknown status". Errors: none.
 * Threads: any.
 */
const char *livebuf_strerror(livebuf_status status);

/**
 * An error as one line of English, with its place and detail: "the buffer is too small: 24
 * bytes are missing". Rust has the same words. Returns the length of the whole line without
 * its NUL, as snprintf does.
 *
 * Memory: writes at most `capacity` bytes to `text`, a NUL at the end among them; 160 hold
 * any line. NULL: `text` if `capacity` is 0, to ask for the length. Errors: none; an unknown
 * status is "unknown status". Threads: any.
 */
size_t livebuf_error_text(livebuf_error error, char *text, size_t capacity);

/** What the last call that failed on this document said. */
static inline livebuf_error livebuf_last_error(const livebuf_doc *doc);

/** Forgets the last error. Calls that succeed do not. */
static inline void livebuf_clear_error(livebuf_doc *doc);

/* ==========================================================================================
   5. More reading
   ========================================================================================== */

/**
 * The member of an object with this key of `length` bytes.
 *
 * Memory: borrows as `object`. NULL: a value that is not there. Errors: in the value: a
 * value that is no object has no members. Threads: a read.
 */
livebuf_value livebuf_get_n(livebuf_value object, const char *key, size_t length);

/**
 * The same of the object at an address. The inline livebuf_get and livebuf_get_n call it: the 32
 * bytes of a value that is passed by itself are copied through memory, which takes a third of
 * the time of a look-up.
 *
 * Memory: borrows as `*object`. NULL: a value that is not there. Errors: in the value: a
 * value that is no object has no members. Threads: a read.
 */
livebuf_value livebuf_get_in_n(const livebuf_value *object,
                               const char *key,
                               size_t length);

/**
 * What a table's column has for a row. The inline livebuf_get calls it where it has found the
 * column, and does not read its kind itself.
 *
 * `object`: any value of the document. `column`: the offset of the column's header (FORMAT 6.3).
 *
 * Memory: borrows as `*object`. NULL: a value that is not there. Errors: in the value; any offset
 * may be given. Threads: a read.
 */
livebuf_value livebuf_get_in_column(const livebuf_value *object,
                                    uint64_t column,
                                    uint32_t row);

/**
 * The value at a JSON pointer (RFC 6901) of `length` bytes below this one; "" is itself.
 *
 * Memory: borrows as `value`. NULL: a value that is not there. Errors: in the value,
 * LIVEBUF_BAD_POINTER among them. Threads: a read.
 */
livebuf_value livebuf_pointer_n(livebuf_value value, const char *pointer, size_t length);

/**
 * A key that remembers where it was found, so that finding it again in objects of the same
 * kind is one comparison. Made by livebuf_key_init; any number of threads may use it.
 */
typedef struct {
  /** Private. */
  uint64_t private_state;
  /** Private. */
  uint64_t private_mix;
  /** Private. */
  const char *private_text;
  /** Private. */
  size_t private_length;
  /** Private. */
  uint64_t private_words[7];
} livebuf_key;

/** Makes a remembered key. As livebuf_key_init_n. */
static inline livebuf_status livebuf_key_init(livebuf_key *key, const char *text);

/**
 * Makes a remembered key of `length` bytes of text.
 *
 * Memory: keeps `text`, which must stay as long as the key is used; `key` needs no clean-up.
 * NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BAD_TEXT; the key finds nothing then.
 * Threads: as writing a variable.
 */
livebuf_status livebuf_key_init_n(livebuf_key *key, const char *text, size_t length);

/**
 * The member of an object with a remembered key.
 *
 * Memory: borrows as `object`. NULL and keys that were not made: a value that is not there.
 * Errors: in the value. Threads: a read.
 */
livebuf_value livebuf_get_key(livebuf_value object, const livebuf_key *key);

/**
 * The integer member of an object with a remembered key, or `fallback` where there is none
 * that fits: livebuf_get_i64_or(livebuf_get_key(object, key), fallback) in one call.
 *
 * Memory: none. NULL: `fallback`. Errors: `fallback`. Threads: a read.
 */
int64_t livebuf_get_key_i64_or(livebuf_value object, const livebuf_key *key, int64_t fallback);

/**
 * The text of a number that is kept as text (LIVEBUF_KIND_NUMBER_TEXT); `data` is NULL for all
 * else.
 *
 * Memory: borrows the document's bytes until its next edit. NULL: none. Errors: no text;
 * livebuf_read_number_text tells why. Threads: a read.
 */
livebuf_str livebuf_get_number_text(livebuf_value value);

/**
 * The number in text that no other kind holds exactly (LIVEBUF_KIND_NUMBER_TEXT), rounded to the
 * nearest double; `fallback` beyond the range of doubles and for all else. The inline
 * livebuf_get_f64_or calls it.
 *
 * Memory: none. NULL: none. Errors: `fallback`. Threads: a read.
 */
double livebuf_number_text_f64_or(livebuf_value value,
                                  double fallback);

/**
 * Whether there is a value that can be read. LIVEBUF_OK for a good value of any type: whether
 * it is of the type you want, livebuf_read_i64 and its kin tell (LIVEBUF_WRONG_TYPE).
 *
 * Memory: none. NULL: none. Errors: the value's own status and place; what is damaged in
 * text, bytes, dates, times, decimals, UUIDs or the header of a container;
 * LIVEBUF_STALE_HANDLE after an edit of the document. Threads: a read.
 */
livebuf_error livebuf_value_error(livebuf_value value);

/**
 * The date, time, decimal or UUID in `*result`, where the value is of this `kind`:
 * LIVEBUF_KIND_DATE writes an int32_t, LIVEBUF_KIND_TIME, _DATE_TIME and _TIMESTAMP an int64_t,
 * LIVEBUF_KIND_DECIMAL a livebuf_decimal, LIVEBUF_KIND_UUID 16 bytes. The inline
 * livebuf_read_date and its kin call it.
 *
 * Memory: writes `*result` where it returns LIVEBUF_OK. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
 * LIVEBUF_WRONG_TYPE where the value is of another kind; those of livebuf_value_error.
 * Threads: a read.
 */
livebuf_status livebuf_read_extended(livebuf_value value, uint32_t kind, void *result);

/** Members with keys from `low` to before `high`. As livebuf_range_n. */
static inline livebuf_status livebuf_range(livebuf_value object, const char *low,
                                           const char *high, uint32_t flags,
                                           livebuf_iter *iter);

/** Members whose keys begin so. As livebuf_prefix_n. */
static inline livebuf_status livebuf_prefix(livebuf_value object, const char *prefix,
                                            uint32_t flags, livebuf_iter *iter);

/**
 * Begins to go over the members of an object whose keys lie from `low` to before `high`,
 * ordered by the keys' bytes. A bound that is NULL is none. `flags`: LIVEBUF_DESCENDING,
 * LIVEBUF_LOW_EXCLUDED, LIVEBUF_HIGH_INCLUDED. O(log n) to begin and O(1) a step in objects that
 * have an index for it (livebuf_order). In other large ones it looks at all keys to begin, and
 * sorts them at the second step, in memory that the thread keeps; the small library, which has
 * none, looks at all keys at each step, as all do in small objects.
 *
 * Memory: writes `*iter`, which needs no clean-up; borrows as `object`, and keeps `low` and
 * `high` until the iteration ends. NULL: `iter` LIVEBUF_NULL_ARGUMENT. Errors:
 * LIVEBUF_WRONG_TYPE, LIVEBUF_BAD_TEXT, what is damaged. Threads: a read.
 */
livebuf_status livebuf_range_n(livebuf_value object,
                               const char *low,
                               size_t low_length,
                               const char *high,
                               size_t high_length,
                               uint32_t flags,
                               livebuf_iter *iter);

/**
 * Begins to go over the members of an object whose keys begin with `prefix`, ordered by the
 * keys' bytes. `flags`: LIVEBUF_DESCENDING or 0. Costs as livebuf_range_n.
 *
 * Memory: writes `*iter`, which needs no clean-up; borrows as `object`, and keeps `prefix`
 * until the iteration ends. NULL: LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_range_n.
 * Threads: a read.
 */
livebuf_status livebuf_prefix_n(livebuf_value object,
                                const char *prefix,
                                size_t length,
                                uint32_t flags,
                                livebuf_iter *iter);

/** `low` itself is left out of a range. */
#define LIVEBUF_LOW_EXCLUDED 2

/** `high` itself is part of a range. */
#define LIVEBUF_HIGH_INCLUDED 4

/** Whether the document was not edited since the value was got. */
static inline bool livebuf_value_is_current(livebuf_value value);

/** Whether the document was not edited since the text was got. */
static inline bool livebuf_str_is_current(const livebuf_doc *doc, livebuf_str text);

/** Whether the document was not edited since the bytes were got. */
static inline bool livebuf_bytes_are_current(const livebuf_doc *doc, livebuf_bytes bytes);

/* What `tag` of a value says; others are of dates, times, decimals, spans and
   containers. */

/** `tag` of null. */
#define LIVEBUF_TAG_NULL 1

/** `tag` of false. */
#define LIVEBUF_TAG_FALSE 2

/** `tag` of true. */
#define LIVEBUF_TAG_TRUE 3

/** `tag` of an integer that fits int64_t: `cell` holds it. */
#define LIVEBUF_TAG_I64 4

/** `tag` of an integer that only fits uint64_t: `cell` holds it. */
#define LIVEBUF_TAG_U64 5

/** `tag` of a double: `cell` holds its bits. */
#define LIVEBUF_TAG_F64 6

/** `tag` of text. */
#define LIVEBUF_TAG_STRING 16

/** `tag` of an object. */
#define LIVEBUF_TAG_OBJECT 32

/** `tag` of an array. */
#define LIVEBUF_TAG_ARRAY 33

/* ==========================================================================================
   6. More editing, prepared messages, transactions, changed bytes
   ========================================================================================== */

/**
 * Replaces the whole document's value. `*child` becomes the place of a new object or array.
 *
 * Memory: copies what `value` refers to. NULL: `doc` LIVEBUF_NULL_ARGUMENT; `child` if it is
 * not wanted. Errors: LIVEBUF_NO_SPACE, limits, text that is not UTF-8; the document is
 * unchanged then. Threads: an edit.
 */
livebuf_status livebuf_set_root(livebuf_doc *doc, livebuf_new value, livebuf_node *child);

/**
 * Sets the member with this key of `length` bytes, adding it where it is missing. A root that is
 * null, as after livebuf_init, becomes an object.
 *
 * Memory: copies key and value. NULL: `doc`, `key` LIVEBUF_NULL_ARGUMENT; `child` if the
 * place of a new object or array is not wanted. Errors: LIVEBUF_STALE_HANDLE,
 * LIVEBUF_WRONG_TYPE, LIVEBUF_NO_SPACE, limits, text that is not UTF-8, and
 * LIVEBUF_TENSOR_MISMATCH where a tensor cannot hold the value; the document
 * is unchanged then. Threads: an edit.
 */
livebuf_status livebuf_set_n(livebuf_doc *doc,
                             livebuf_node node,
                             const char *key,
                             size_t length,
                             livebuf_new value,
                             livebuf_node *child);

/**
 * Sets the member with this key of `length` bytes to an integer: livebuf_set_n, faster.
 *
 * Memory, NULL, Errors, Threads: as livebuf_set_n.
 */
livebuf_status livebuf_set_i64_n(livebuf_doc *doc,
                                 livebuf_node node,
                                 const char *key,
                                 size_t length,
                                 int64_t value);

/**
 * Sets the member with this key of `length` bytes to a double: livebuf_set_n, faster.
 *
 * Memory, NULL, Errors, Threads: as livebuf_set_n.
 */
livebuf_status livebuf_set_f64_n(livebuf_doc *doc,
                                 livebuf_node node,
                                 const char *key,
                                 size_t length,
                                 double value);

/**
 * Sets the member with this key of `length` bytes to text of `text_length` bytes:
 * livebuf_set_n, faster.
 *
 * Memory, NULL, Errors, Threads: as livebuf_set_n.
 */
livebuf_status livebuf_set_str_n(livebuf_doc *doc,
                                 livebuf_node node,
                                 const char *key,
                                 size_t length,
                                 const char *text,
                                 size_t text_length);

/**
 * Sets the member with a remembered key, adding it where it is missing.
 *
 * Memory, NULL, Errors, Threads: as livebuf_set_n; a key that was not made is
 * LIVEBUF_NULL_ARGUMENT.
 */
livebuf_status livebuf_set_key(livebuf_doc *doc,
                               livebuf_node node,
                               const livebuf_key *key,
                               livebuf_new value,
                               livebuf_node *child);

/**
 * Replaces the element at an index of an array.
 *
 * Memory, NULL, Errors, Threads: as livebuf_set_n; LIVEBUF_INDEX_OUT_OF_RANGE from the
 * array's length on.
 */
livebuf_status livebuf_set_at(livebuf_doc *doc,
                              livebuf_node node,
                              size_t index,
                              livebuf_new value,
                              livebuf_node *child);

/** Sets the value at a JSON pointer. As livebuf_set_pointer_n. */
static inline livebuf_status livebuf_set_pointer(livebuf_doc *doc, const char *pointer,
                                                 livebuf_new value);

/**
 * Sets the value at a JSON pointer of `length` bytes. What holds it must be there; the last
 * token names a member (added where it is missing), an element, or "-" behind the last.
 *
 * Memory, NULL, Threads: as livebuf_set_n. Errors: those, LIVEBUF_NOT_FOUND,
 * LIVEBUF_BAD_POINTER.
 */
livebuf_status livebuf_set_pointer_n(livebuf_doc *doc,
                                     const char *pointer,
                                     size_t length,
                                     livebuf_new value,
                                     livebuf_node *child);

/**
 * Adds an element before the one at an index of an array, or at the end; to a root that is null
 * as livebuf_push.
 *
 * Memory, NULL, Errors, Threads: as livebuf_set_n; LIVEBUF_INDEX_OUT_OF_RANGE beyond the end.
 */
livebuf_status livebuf_insert(livebuf_doc *doc,
                              livebuf_node node,
                              size_t index,
                              livebuf_new value,
                              livebuf_node *child);

/**
 * Takes the member with this key of `length` bytes out; what it held is free and wiped.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND,
 * LIVEBUF_STALE_HANDLE, LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads:
 * an edit.
 */
livebuf_status livebuf_remove_n(livebuf_doc *doc,
                                livebuf_node node,
                                const char *key,
                                size_t length);

/**
 * Takes the member with a remembered key out.
 *
 * Memory, NULL, Errors, Threads: as livebuf_remove_n.
 */
livebuf_status livebuf_remove_key(livebuf_doc *doc, livebuf_node node, const livebuf_key *key);

/** Takes the value at a JSON pointer out. As livebuf_remove_pointer_n. */
static inline livebuf_status livebuf_remove_pointer(livebuf_doc *doc, const char *pointer);

/**
 * Takes the value at a JSON pointer of `length` bytes out.
 *
 * Memory, NULL, Errors, Threads: as livebuf_remove_n; LIVEBUF_BAD_POINTER; LIVEBUF_UNSUPPORTED for
 * the root, since a document always has a value: set it to null.
 */
livebuf_status livebuf_remove_pointer_n(livebuf_doc *doc,
                                        const char *pointer,
                                        size_t length);

/**
 * Takes the elements of an array from `length` on out; their room is kept.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_STALE_HANDLE,
 * LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads: an edit.
 */
livebuf_status livebuf_truncate(livebuf_doc *doc, livebuf_node node, size_t length);

/**
 * Exchanges two elements of an array.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_INDEX_OUT_OF_RANGE,
 * LIVEBUF_STALE_HANDLE, LIVEBUF_WRONG_TYPE, LIVEBUF_TENSOR_MISMATCH, what is damaged. Threads:
 * an edit.
 */
livebuf_status livebuf_swap(livebuf_doc *doc, livebuf_node node, size_t first, size_t second);

/** Gives a member another key. As livebuf_rename_n. */
static inline livebuf_status livebuf_rename(livebuf_doc *doc, livebuf_node node,
                                            const char *from, const char *to);

/**
 * Gives a member another key, in its place.
 *
 * Memory: copies the new key. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND,
 * LIVEBUF_KEY_EXISTS, LIVEBUF_STALE_HANDLE, LIVEBUF_NO_SPACE, limits. Threads: an edit.
 */
livebuf_status livebuf_rename_n(livebuf_doc *doc,
                                livebuf_node node,
                                const char *from,
                                size_t from_length,
                                const char *to,
                                size_t to_length);

/**
 * Makes room for `additional` members or elements, so that adding them takes no more space
 * beside their keys and text. The room is part of the document, so this makes it longer; for
 * memory that a document grows into, see livebuf_create_with_capacity.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE (the root of a new
 * document is null, which has no members), LIVEBUF_STALE_HANDLE, LIVEBUF_TENSOR_MISMATCH,
 * LIVEBUF_NO_SPACE, limits. Threads: an edit.
 */
livebuf_status livebuf_reserve(livebuf_doc *doc, livebuf_node node, size_t additional);

/**
 * Gives an object the index that answers for the order of its keys, and keeps it up from then on:
 * livebuf_range and livebuf_prefix then begin in O(log n). Without it they look at all members of
 * a large object, and sort them in memory that the thread keeps meanwhile. Small objects need
 * none. It takes some 4 to 9 bytes for each member.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE,
 * LIVEBUF_STALE_HANDLE, LIVEBUF_NO_SPACE, limits. Threads: an edit.
 */
livebuf_status livebuf_order(livebuf_doc *doc,
                             livebuf_node node);

/**
 * The place of the root; LIVEBUF_ROOT stands for it in every call.
 *
 * Memory: none. NULL, and where the root is no object or array: a place that is stale.
 * Errors: none. Threads: a read.
 */
livebuf_node livebuf_root_node(const livebuf_doc *doc);

/**
 * The place of the object or array under a key of `length` bytes.
 *
 * Memory: none. NULL: a place that is stale. Errors: the same. Threads: a read.
 */
livebuf_node livebuf_child_n(const livebuf_doc *doc,
                             livebuf_node node,
                             const char *key,
                             size_t length);

/**
 * The place of the object or array at a JSON pointer of `length` bytes.
 *
 * Memory: none. NULL: a place that is stale. Errors: the same (livebuf_node_exists).
 * Threads: a read.
 */
livebuf_node livebuf_find_n(const livebuf_doc *doc, const char *pointer, size_t length);

/**
 * The place of an object or array that was got as a value of this document, as a child of
 * the place `parent`.
 *
 * Memory: none. NULL: a place that is stale. Errors: the same, for scalars, values that are
 * stale, of other documents or no child of `parent`. Threads: a read.
 */
livebuf_node livebuf_node_of(const livebuf_doc *doc, livebuf_value value, livebuf_node parent);

/**
 * A place as a value, to be read.
 *
 * Memory: borrows the document. NULL: a value that is not there. Errors: in the value,
 * LIVEBUF_STALE_HANDLE among them. Threads: a read.
 */
livebuf_value livebuf_node_value(const livebuf_doc *doc, livebuf_node node);

/**
 * Whether a place is good in this document.
 *
 * Memory: none. NULL: false. Errors: false. Threads: a read.
 */
bool livebuf_node_is_current(const livebuf_doc *doc, livebuf_node node);

/**
 * The date, time, decimal or UUID that this text of `length` bytes is, as livebuf_extended_text
 * makes it. Digits alone are a decimal.
 *
 * Memory: `text` is read by the call that stores the value. NULL: that call answers
 * LIVEBUF_NULL_ARGUMENT. Errors: none here; for other text that call answers LIVEBUF_BAD_VALUE.
 * Threads: any.
 */
livebuf_new livebuf_extended_n(const char *text, size_t length);

/** Kinds of new values. */
typedef enum {
  /** Null. */
  LIVEBUF_NEW_NULL = 0,
  /** `i64` is 0 or not. */
  LIVEBUF_NEW_BOOL = 1,
  /** `i64` */
  LIVEBUF_NEW_I64 = 2,
  /** `u64` */
  LIVEBUF_NEW_U64 = 3,
  /** `f64` */
  LIVEBUF_NEW_F64 = 4,
  /** `length` bytes of text at `pointer`. */
  LIVEBUF_NEW_STRING = 5,
  /** `length` bytes at `pointer`. */
  LIVEBUF_NEW_BYTES = 6,
  /** A number's text: `length` bytes at `pointer`. */
  LIVEBUF_NEW_NUMBER_TEXT = 7,
  /** An empty object with room for `length` members. */
  LIVEBUF_NEW_OBJECT = 8,
  /** An empty object with an ordered index from the start. */
  LIVEBUF_NEW_MAP = 9,
  /** An empty array with room for `length` elements of eight bytes. */
  LIVEBUF_NEW_ARRAY = 10,
  /** A copy of the livebuf_value at `pointer`, of another document. */
  LIVEBUF_NEW_COPY = 11,
  /** An object of the `length` livebuf_fields at `pointer`. */
  LIVEBUF_NEW_FIELDS = 12,
  /** A date: `i64` days. */
  LIVEBUF_NEW_DATE = 13,
  /** A time of day: `i64` microseconds. */
  LIVEBUF_NEW_TIME = 14,
  /** A date and time of day without a time zone: `i64` microseconds. */
  LIVEBUF_NEW_DATE_TIME = 15,
  /** A moment: `i64` microseconds. */
  LIVEBUF_NEW_TIMESTAMP = 16,
  /** A decimal: `i64` / 10^`length`. */
  LIVEBUF_NEW_DECIMAL = 17,
  /** A decimal: the livebuf_decimal at `pointer`; `length` is its size. */
  LIVEBUF_NEW_LARGE_DECIMAL = 18,
  /** A UUID: the 16 bytes at `pointer`; `length` is 16. */
  LIVEBUF_NEW_UUID = 19,
  /** The date, time, decimal or UUID whose text is `length` bytes at `pointer`. */
  LIVEBUF_NEW_EXTENDED = 20,
  /** A tensor: the livebuf_tensor at `pointer`. */
  LIVEBUF_NEW_TENSOR = 21,
} livebuf_new_kind;

/**
 * A prepared message: made once from an example by livebuf_template_init, then stamped by
 * livebuf_stamp with other values in its places. The caller's own variable; the fields may be
 * read at any time and written never. It may be copied.
 */
typedef struct {
  /**
   * Bytes from the beginning of its memory that the template keeps. The rest may be used for
   * something else.
   */
  size_t size;
  /** Count of places. */
  size_t count;
  /** What livebuf_template_init said. Of a wrong place `detail` is its number, from 0. */
  livebuf_error error;
  /** Private. */
  uint64_t private_state;
  /** Private. */
  uint64_t private_template[3];
} livebuf_template;

/**
 * Prepares messages like `example`: livebuf_copy of a document's root or other value,
 * livebuf_fields, or a single value. `places` are `count` JSON pointers into it, each ended by
 * NUL: what differs from message to message. In the example they must hold no object or array.
 * A stamp gives them any value but these. The example may be a document that was not
 * validated: it is read with every check.
 *
 * Memory: keeps the first `prepared->size` bytes of `memory` until the template is not used
 * any more. It works in all of `memory`, which takes at least twice the example's bytes and
 * eight for each place. Places in columns of narrow numbers need more. `example` does not lie
 * in `memory`. It and `places` are not kept. `prepared` needs no clean-up. NULL:
 * LIVEBUF_NULL_ARGUMENT; `places` may be NULL if `count` is 0. Errors: LIVEBUF_NO_SPACE if
 * `memory` is too small; it needs at least `detail` bytes more. LIVEBUF_NOT_FOUND if the
 * example has no such place. LIVEBUF_WRONG_TYPE if an object or array is there.
 * LIVEBUF_KEY_EXISTS if a later place is the same. LIVEBUF_BAD_POINTER if a place is no JSON
 * pointer. LIVEBUF_TENSOR_MISMATCH if it leads into a tensor. Damage in the example and limits are errors, too. `prepared->error` has the
 * details. Threads: as a read of the example.
 */
livebuf_status livebuf_template_init(livebuf_template *prepared,
                                     livebuf_new example,
                                     const char *const *places,
                                     size_t count,
                                     uint8_t *memory,
                                     size_t capacity);

/**
 * Stamps a document into the caller's memory, with a value for each place in their order: a
 * copy of the example and a few stores. `*length` becomes the document's length; send, store
 * or open that many bytes of `buffer`. The document is valid. Equal to the same edits of the
 * example, it may have other bytes.
 *
 * Memory: writes at most `capacity` bytes to `buffer`, which is neither the template's memory
 * nor text of the values; nothing is kept. NULL: LIVEBUF_NULL_ARGUMENT; `values` if `count` is
 * 0. Errors: LIVEBUF_NO_SPACE; LIVEBUF_INDEX_OUT_OF_RANGE where `count` is not that of the
 * places; LIVEBUF_UNSUPPORTED for objects and arrays; LIVEBUF_BAD_TEXT, LIVEBUF_BAD_NUMBER,
 * LIVEBUF_BAD_VALUE; LIVEBUF_OVERLAP; what is damaged in values that are copied; limits;
 * LIVEBUF_NOT_OPEN. Then `*length` is 0, but for LIVEBUF_NO_SPACE the bytes that the document
 * takes, and `buffer` begins with no document.
 * Threads: any number may stamp from one template at once.
 */
LIVEBUF_MUST_USE
livebuf_status livebuf_stamp(const livebuf_template *prepared,
                             const livebuf_new *values,
                             size_t count,
                             uint8_t *buffer,
                             size_t capacity,
                             size_t *length);

/**
 * The same, and opens the document to be read and edited. It counts as written by this
 * library: livebuf_is_trusted.
 *
 * Memory: as livebuf_init and livebuf_stamp. NULL: as livebuf_stamp. Errors: as livebuf_stamp,
 * in `doc->error`; the document is not open then. Threads: as livebuf_stamp, and an edit of
 * `doc`.
 */
LIVEBUF_MUST_USE
livebuf_status livebuf_stamp_doc(const livebuf_template *prepared,
                                 const livebuf_new *values,
                                 size_t count,
                                 livebuf_doc *doc,
                                 uint8_t *buffer,
                                 size_t capacity);

/* Transactions: several edits whole or not at all. */

/**
 * Begins a transaction: the edits from here on stay if livebuf_commit follows, and are taken
 * back by livebuf_rollback. Within a transaction this begins another one, which can be taken
 * back alone: a savepoint.
 *
 * The edits take place at once, and can be read. Beside them the bytes that they overwrite are
 * kept in a log, never a copy of the document.
 *
 * Memory: over your memory nothing is allocated: until the transaction ends, the log takes
 * the later half of the room behind the document. A document of the context API can grow in
 * transactions; its log is memory from the system. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
 * LIVEBUF_READ_ONLY, LIVEBUF_BROKEN; within a transaction also LIVEBUF_NO_SPACE or LIVEBUF_IO,
 * where the log has no room. An edit whose old bytes do not fit into the log fails with one of
 * these two; then only livebuf_rollback works. Threads: an edit.
 */
livebuf_status livebuf_begin(livebuf_doc *doc);

/**
 * Keeps the edits since the last livebuf_begin, if those are kept that it was called within.
 * Constant time.
 *
 * Memory: the log's memory is free again when the outermost transaction ends. NULL:
 * LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BAD_SEQUENCE where no transaction is open; the error of
 * an edit that did not fit into the log: then the transaction stays open. Threads: an edit.
 */
LIVEBUF_MUST_USE
livebuf_status livebuf_commit(livebuf_doc *doc);

/**
 * Takes back the edits since the last livebuf_begin: the document's bytes are as they were
 * then. All values, iterators and places are stale. Linear in the bytes that the edits
 * overwrote and added.
 *
 * Memory: as livebuf_commit. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BAD_SEQUENCE where no
 * transaction is open. Threads: an edit.
 */
livebuf_status livebuf_rollback(livebuf_doc *doc);

/**
 * How many transactions are open, each within the one before.
 *
 * Memory: none. NULL and documents that are only read: 0. Errors: none. Threads: a read.
 */
uint32_t livebuf_transactions(const livebuf_doc *doc);

/* Which bytes edits change: to be told before each change, or to have the ranges noted. */

/**
 * Calls `callback` before each change of the document's bytes, until it is called again with
 * a NULL `callback`. A document has one callback: a recorder is one, too. `bytes` is the
 * document's first byte at that time; the old bytes lie at `bytes + offset`. One edit makes
 * several changes. They may reach behind the document, and the new bytes may equal the old
 * ones. Going back in a transaction is told as well.
 *
 * The callback may read these bytes. It may use other documents, but not this one, and does
 * not leave by longjmp or an exception.
 *
 * Memory: keeps `user` until then; livebuf_init, livebuf_open and livebuf_destroy end it, too.
 * NULL: `callback` ends it; `user` is yours; `doc` LIVEBUF_NULL_ARGUMENT. Errors:
 * LIVEBUF_READ_ONLY, LIVEBUF_NOT_OPEN. Threads: as an edit, but values stay current.
 */
livebuf_status livebuf_on_change(livebuf_doc *doc, void (*callback)(void *user,
                                                                    const uint8_t *bytes,
                                                                    size_t offset,
                                                                    size_t length), void *user);

/** A stretch of a document's bytes. */
typedef struct {
  /** Offset of the first byte. */
  size_t offset;
  /** Count of bytes. */
  size_t length;
} livebuf_changed;

/** Notes which bytes of a document are changed: a variable of yours. */
typedef struct {
  /** Your array: the changed ranges, in order. They neither touch nor overlap. */
  livebuf_changed *ranges;
  /** Count of ranges. */
  size_t count;
  /** Most ranges that the array holds. */
  size_t capacity;
  /** Bytes of the document when livebuf_record_end was called. */
  size_t length;
} livebuf_recorder;

/**
 * Notes from here on which bytes of the document are changed, until livebuf_record_end. Where
 * the array is full, the two ranges with the least between them become one. So the ranges
 * always cover all changes, and a longer array only makes them closer. A document has one
 * recorder or one callback.
 *
 * Memory: writes `*recorder` and all `capacity` elements of `ranges`, and keeps both until
 * livebuf_record_end. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NO_SPACE for a capacity
 * of 0, LIVEBUF_READ_ONLY, LIVEBUF_NOT_OPEN. Threads: as an edit, but values stay current.
 */
livebuf_status livebuf_record(livebuf_doc *doc,
                              livebuf_recorder *recorder,
                              livebuf_changed *ranges,
                              size_t capacity);

/**
 * Ends what livebuf_record began. `recorder->ranges` are the changed bytes of the document as
 * it is now, `recorder->count` of them, and `recorder->length` is its length. No range reaches
 * behind it. Who has the document as it was can copy these bytes, and has it as it is.
 *
 * Memory: the document keeps nothing any more. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
 * LIVEBUF_BAD_SEQUENCE where this recorder does not note this document's changes. Threads: as
 * livebuf_record.
 */
livebuf_status livebuf_record_end(livebuf_doc *doc, livebuf_recorder *recorder);

/* ==========================================================================================
   7. Columns
   ========================================================================================== */

/**
 * How the values of a column are stored. Widths are storage only: each integer reads as
 * any other.
 */
typedef enum {
  /** Any mix of values. */
  LIVEBUF_COLUMN_CELLS = 0,
  /** Booleans as bits. */
  LIVEBUF_COLUMN_BOOL = 1,
  /** int8_t */
  LIVEBUF_COLUMN_I8 = 2,
  /** int16_t */
  LIVEBUF_COLUMN_I16 = 3,
  /** int32_t */
  LIVEBUF_COLUMN_I32 = 4,
  /** int64_t */
  LIVEBUF_COLUMN_I64 = 5,
  /** uint8_t */
  LIVEBUF_COLUMN_U8 = 6,
  /** uint16_t */
  LIVEBUF_COLUMN_U16 = 7,
  /** uint32_t */
  LIVEBUF_COLUMN_U32 = 8,
  /** uint64_t */
  LIVEBUF_COLUMN_U64 = 9,
  /** float */
  LIVEBUF_COLUMN_F32 = 10,
  /** double */
  LIVEBUF_COLUMN_F64 = 11,
  /** Text. */
  LIVEBUF_COLUMN_STRING = 12,
  /** Objects that differ. */
  LIVEBUF_COLUMN_OBJECTS = 13,
  /** Arrays by themselves. */
  LIVEBUF_COLUMN_ARRAYS = 14,
  /** No values at all. */
  LIVEBUF_COLUMN_NULL = 15,
  /** Like objects, as columns of their own. */
  LIVEBUF_COLUMN_STRUCT = 16,
  /** Arrays, their elements behind each other. */
  LIVEBUF_COLUMN_LIST = 17,
  /** The same, all of one length. */
  LIVEBUF_COLUMN_FIXED_LIST = 18,
  /** float: integers and floats; whole values are integers. */
  LIVEBUF_COLUMN_NUMBERS_F32 = 19,
  /** double: integers and floats; whole values are integers. */
  LIVEBUF_COLUMN_NUMBERS_F64 = 20,
  /** float: the same, where some whole values are floats. */
  LIVEBUF_COLUMN_MARKED_F32 = 21,
  /** double: the same, where some whole values are floats. */
  LIVEBUF_COLUMN_MARKED_F64 = 22,
  /** Text: uint8_t codes of texts that are stored once. */
  LIVEBUF_COLUMN_DICTIONARY_U8 = 23,
  /** Text: uint16_t codes of texts that are stored once. */
  LIVEBUF_COLUMN_DICTIONARY_U16 = 24,
  /** Texts behind each other, and where each begins. */
  LIVEBUF_COLUMN_TEXT_RUN = 25,
  /** Dates: int32_t, days since 1970-01-01. */
  LIVEBUF_COLUMN_DATE = 26,
  /** Times of day: int64_t, microseconds since midnight. */
  LIVEBUF_COLUMN_TIME = 27,
  /** Dates and times of day without a time zone: int64_t, microseconds since 1970. */
  LIVEBUF_COLUMN_DATE_TIME = 28,
  /** Moments: int64_t, microseconds since 1970 in UTC. */
  LIVEBUF_COLUMN_TIMESTAMP = 29,
  /** Decimals whose coefficients have at most 56 bits. */
  LIVEBUF_COLUMN_DECIMAL = 30,
  /** UUIDs: 16 bytes. */
  LIVEBUF_COLUMN_UUID = 31,
  /** Floats of two bytes (IEEE 754 binary16), in tensors only: uint16_t, their bits. */
  LIVEBUF_COLUMN_F16 = 32,
  /** Booleans of one byte, in tensors only: uint8_t, 0 or 1. */
  LIVEBUF_COLUMN_BOOL8 = 33,
} livebuf_column_type;

/**
 * The values that all rows of a table have under one key, or the elements of an array: the
 * caller's own variable. Stale after any edit of the document.
 */
typedef struct {
  /** Count of rows. */
  size_t length;
  /** One of enum livebuf_column_type. */
  uint32_t column_type;
  /** Private. */
  uint32_t private_generation;
  /** Private. */
  const livebuf_doc *private_doc;
  /** Private. */
  uint64_t private_words[9];
} livebuf_column;

/**
 * The texts of a column behind each other, and where each begins. The text of a row ends where that
 * of the next row begins; it is empty where the row has no text. Where all texts have one length,
 * `width` is 0: each of the `count` rows has `length` / `count` bytes, zeros where it has no text. In a damaged document that was not
 * validated, an offset may be less than the one before, or more than `length`.
 */
typedef struct {
  /** The texts, without anything between them. */
  const char *bytes;
  /** Count of bytes. */
  size_t length;
  /**
   * Where the text of each row begins, from `bytes` on, and where the last one ends: `count` + 1
   * numbers of uint8_t, uint16_t or uint32_t. The first is more than 0 where the rows are a part
   * of a column, as the elements of an array in an array are. NULL where `width` is 0.
   */
  const void *offsets;
  /** Count of rows. */
  size_t count;
  /** Bytes of one offset: 1, 2 or 4. 0 where all texts have one length, and there are none. */
  uint32_t width;
} livebuf_run;

/** The column at a JSON pointer. As livebuf_column_n. */
static inline livebuf_status livebuf_column_find_path(livebuf_value array, const char *pointer,
                                                      livebuf_column *column);

/**
 * The column at a JSON pointer of `length` bytes in an array of similar objects: "/id", or
 * "/user/id" through objects in them. "" is the array itself, of any values. `array` may also be
 * a large object of similar objects: its members are rows then. livebuf_row_key has their keys.
 *
 * Memory: writes `*column`, which needs no clean-up; borrows as `array`. NULL:
 * LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_WRONG_TYPE for what is no array and no object;
 * LIVEBUF_NOT_FOUND where there is no such column, be it that the objects are not stored as
 * columns: read them by row then. Threads: a read.
 */
livebuf_status livebuf_column_n(livebuf_value array,
                                const char *pointer,
                                size_t length,
                                livebuf_column *column);

/**
 * The column with a remembered key in an array of similar objects: one comparison.
 *
 * Memory, Errors, Threads: as livebuf_column_n. NULL, and keys that were not made:
 * LIVEBUF_NULL_ARGUMENT.
 */
livebuf_status livebuf_column_key(livebuf_value array,
                                  const livebuf_key *key,
                                  livebuf_column *column);

/**
 * Count of the columns of an array of similar objects; 0 where they are not stored as columns.
 *
 * Memory: none. NULL: none. Errors: 0. Threads: a read.
 */
size_t livebuf_column_count(livebuf_value array);

/**
 * The key of the member that is a row in an object's columns. One step.
 *
 * Memory: borrows the document's bytes until its next edit. NULL: a text whose `data` is NULL,
 * for rows that are not there, rows of removed members, arrays, and objects that are not stored
 * as columns. Errors: the same. Threads: a read.
 */
livebuf_str livebuf_row_key(livebuf_value object, size_t row);

/**
 * A column and its key by its number, from 0. Takes a step for each column before it.
 *
 * Memory: as livebuf_column_n; `*key` borrows the document's bytes until its next edit.
 * NULL: `column` LIVEBUF_NULL_ARGUMENT; `key` if it is not wanted. Errors: as
 * livebuf_column_n. Threads: a read.
 */
livebuf_status livebuf_column_at(livebuf_value array,
                                 size_t index,
                                 livebuf_str *key,
                                 livebuf_column *column);

/**
 * The value of a row.
 *
 * Memory: borrows the document. NULL: a value that is not there. Errors: in the value;
 * LIVEBUF_NOT_FOUND where the field is missing. Threads: a read.
 */
livebuf_value livebuf_column_get(const livebuf_column *column, size_t row);

/**
 * The values as a C array of `count` elements of the type that `column->column_type` says.
 * Integers among floats are floats there; of a dictionary it has the codes of texts, which
 * livebuf_column_texts has; of UUIDs their bytes, 16 for each of `count`. NULL where a row
 * has no value, or no number, where the document's memory is not aligned for the type, and
 * where the machine is big-endian. livebuf_column_f64s and the like read all of these. Of
 * decimals, and of texts behind each other it has nothing: livebuf_column_get and
 * livebuf_column_run have them. In a damaged document that was not validated, dates and times
 * may be outside of their bounds, and booleans of a byte may be other bytes than 0 and 1.
 *
 * Memory: borrows the document's bytes until its next edit. NULL: NULL; `count` if it is not
 * wanted. Errors: NULL. Threads: a read.
 */
const void *livebuf_column_slice(const livebuf_column *column, size_t *count);

/**
 * Copies integers of any width: of `count` rows from `first` on, as many as there are.
 * Rows without one that fits int64_t become `fallback`. Of a column of dates it copies the
 * days, of times of day, dates and times, and timestamps the microseconds, as
 * livebuf_read_date and its kin give them.
 *
 * Memory: writes to `values`. NULL: 0. Errors: 0, what is damaged `fallback`.
 * Threads: a read. Returns how many were written.
 */
size_t livebuf_column_i64s(const livebuf_column *column,
                           size_t first,
                           int64_t *values,
                           size_t count,
                           int64_t fallback);

/**
 * Copies numbers as doubles: of `count` rows from `first` on, as many as there are. Rows
 * without a number become `fallback`.
 *
 * Memory: writes to `values`. NULL: 0. Errors: 0, what is damaged `fallback`.
 * Threads: a read. Returns how many were written.
 */
size_t livebuf_column_f64s(const livebuf_column *column,
                           size_t first,
                           double *values,
                           size_t count,
                           double fallback);

/**
 * Copies views of text: of `count` rows from `first` on, as many as there are. Rows without
 * text get a NULL `data`.
 *
 * Memory: writes to `values`, which borrow the document's bytes until its next edit.
 * NULL: 0. Errors: 0, what is damaged is no text. Threads: a read. Returns how many were
 * written.
 */
size_t livebuf_column_strs(const livebuf_column *column,
                           size_t first,
                           livebuf_str *values,
                           size_t count);

/**
 * The texts of a dictionary column: row i is the text of code i. Several may be equal.
 *
 * Memory: writes `*texts`, which needs no clean-up; borrows as `column`. NULL:
 * LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND where the column is no dictionary.
 * Threads: a read.
 */
livebuf_status livebuf_column_texts(const livebuf_column *column, livebuf_column *texts);

/**
 * Texts that lie behind each other, and where each begins: all texts of a column without a call
 * for each. livebuf_column_get tells whether a row with an empty text has one.
 *
 * Memory: writes `*run`, which needs no clean-up; borrows the document's bytes until its next
 * edit. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND where texts are stored
 * otherwise, or offsets cannot be lent as slices can; `*run` is zeroed. Threads: a read.
 */
livebuf_status livebuf_column_run(const livebuf_column *column, livebuf_run *run);

/**
 * All rows of a column as one tensor, in `*tensor`, where each is a tensor of one type and shape:
 * its first dimension is the rows'. Constant time.
 *
 * Memory: as livebuf_read_tensor. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND where
 * rows are anything else, are stored one by one, or a row has no value; all others as
 * livebuf_read_tensor. Threads: a read.
 */
livebuf_status livebuf_column_tensor(const livebuf_column *column,
                                     livebuf_tensor *tensor);

/**
 * The first row that holds this null, boolean, number, text, date, time, decimal or UUID; a
 * scan at memory speed where the column is typed. -1 where there is none.
 *
 * Memory: none. NULL: -1. Errors: -1. Threads: a read.
 */
ptrdiff_t livebuf_column_find(const livebuf_column *column, livebuf_new value);

/* ==========================================================================================
   8. Documents that manage their memory: the context API, files
   ========================================================================================== */

/**
 * Memory from the caller. `reallocate` may be NULL: it is done by the other two then.
 * Alignment as of malloc. The functions are called by the thread that calls the library.
 */
typedef struct {
  /** `size` bytes, or NULL. */
  void *(*allocate)(void *user, size_t size);
  /** The same bytes in a block of `new_size`, or NULL and all stays as it is. */
  void *(*reallocate)(void *user, void *block, size_t old_size, size_t new_size);
  /** Takes a block back, of the size it was allocated or reallocated with. */
  void (*release)(void *user, void *block, size_t size);
  /** Given to each of the functions. */
  void *user;
} livebuf_allocator;

/**
 * A new document that manages its memory; its root is null, as after livebuf_init. It grows as it
 * needs to; livebuf_create_with_capacity is for those who know how far.
 *
 * Memory: livebuf_destroy frees what it returns; copies `*allocator`. NULL: `allocator`
 * stands for the system's; `error` if it is not wanted. Errors: NULL, with LIVEBUF_IO where
 * memory was refused. Threads: any; each document by one at a time.
 */
livebuf_doc *livebuf_create(const livebuf_allocator *allocator,
                            livebuf_error *error);

/**
 * The same with memory for a document of `capacity` bytes from the start: until it is
 * longer, nothing is allocated any more. (livebuf_reserve gives room within the document, to
 * one array or object.)
 *
 * Memory: as livebuf_create. NULL: as livebuf_create. Errors: as livebuf_create, and
 * LIVEBUF_DOCUMENT_LIMIT for more than a document may use. Threads: as livebuf_create.
 */
livebuf_doc *livebuf_create_with_capacity(size_t capacity,
                                          const livebuf_allocator *allocator,
                                          livebuf_error *error);

/**
 * A document that manages its memory, with a copy of these bytes. Untrusted: an edit that needs
 * more than that validates first. A copy of a document at hand is livebuf_clone.
 *
 * Memory: as livebuf_create; the bytes are not needed afterwards. NULL: as livebuf_create;
 * `bytes` LIVEBUF_NULL_ARGUMENT. Errors: NULL: what is wrong with the header, LIVEBUF_IO.
 * Threads: as livebuf_create.
 */
livebuf_doc *livebuf_from_bytes(const uint8_t *bytes,
                                size_t length,
                                const livebuf_allocator *allocator,
                                livebuf_error *error);

/**
 * A copy, which manages its memory, of any document, also of one in your memory. It is trusted
 * where that one is, and keeps to the same bounds and state. Transactions, recorders and
 * histories stay behind.
 *
 * Memory: as livebuf_create; `doc` is not needed afterwards. NULL: as livebuf_create; `doc`
 * LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_NOT_OPEN, LIVEBUF_IO where memory was refused.
 * Threads: a read of `doc`.
 */
livebuf_doc *livebuf_clone(const livebuf_doc *doc,
                           const livebuf_allocator *allocator,
                           livebuf_error *error);

/**
 * A document over the caller's bytes, to be read only.
 *
 * Memory: as livebuf_create; keeps `bytes` until livebuf_destroy. NULL: as
 * livebuf_from_bytes. Errors: NULL: what is wrong with the header, LIVEBUF_IO. Threads: any
 * number may read at once.
 */
livebuf_doc *livebuf_borrow(const uint8_t *bytes,
                            size_t length,
                            const livebuf_allocator *allocator,
                            livebuf_error *error);

/**
 * A document that manages its memory, read from a file.
 *
 * Memory: as livebuf_create; `path` ends with NUL. NULL: as livebuf_create; `path`
 * LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_IO with the system's number, what is wrong
 * with the header. Threads: as livebuf_create.
 */
livebuf_doc *livebuf_load_file(const char *path,
                               const livebuf_allocator *allocator,
                               livebuf_error *error);

/**
 * Writes the document to a new file beside the old one, and renames it. So there is always
 * the old file or the new one, whole. Symbolic links, the file's rights and, where the system
 * allows it, its owner and group stay.
 *
 * Memory: `path` ends with NUL. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_IO with the
 * system's number (11 for a file that is open to be edited), LIVEBUF_NOT_OPEN. Threads: a
 * read, but for `doc->error`.
 */
LIVEBUF_MUST_USE livebuf_status livebuf_save_file(livebuf_doc *doc, const char *path);

/** How a file is mapped. */
typedef enum {
  /** To be read: look-ups bring in the pages they touch and no others. */
  LIVEBUF_MAP_READ = 0,
  /**
   * To be edited in the file itself: every edit is in it at once. A process that dies in an
   * edit, and a crash of the machine, may leave it between two states; validate it then.
   */
  LIVEBUF_MAP_EDIT = 1,
  /** The same, a new file; the root is null. */
  LIVEBUF_MAP_CREATE = 2,
} livebuf_map_mode;

/**
 * A document in a mapped file. Takes the file's lock, shared to read and exclusive to edit;
 * programs that ignore it, and write or cut the file, put the reader at risk.
 *
 * Memory: livebuf_destroy frees what it returns and closes the file; `path` ends with NUL.
 * NULL: `error` if it is not wanted; `path` LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_IO
 * with the system's number (11 for a file that another process holds), what is wrong with
 * the header, LIVEBUF_UNSUPPORTED for other modes. Threads: as livebuf_create.
 */
livebuf_doc *livebuf_map_file(const char *path, uint32_t mode, livebuf_error *error);

/**
 * Waits until a mapped file's edits are on the disk; for other documents nothing is done, those
 * in your memory among them.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_IO with
 * the system's number (2 for a file that was removed or renamed, or whose name is another
 * file's: livebuf_save_file saves the document elsewhere). Threads: a read.
 */
LIVEBUF_MUST_USE livebuf_status livebuf_flush(livebuf_doc *doc);

/**
 * A copy of the document's bytes, `*length` of them, to be kept or given away.
 *
 * Memory: livebuf_free with the same allocator and `*length` frees it. NULL: `allocator`
 * stands for the system's; `doc`, `length`: NULL. Errors: NULL, in `doc->error`.
 * Threads: a read, but for `doc->error`.
 */
uint8_t *livebuf_export(livebuf_doc *doc, const livebuf_allocator *allocator, size_t *length);

/**
 * Frees what livebuf_export, livebuf_to_json_new and the calls that make deltas returned.
 *
 * Memory: gives `block` of `size` bytes back to `allocator`. NULL: `allocator` stands for
 * the system's; a NULL `block` is fine. Errors: none. Threads: any.
 */
void livebuf_free(const livebuf_allocator *allocator, void *block, size_t size);

/**
 * Encodes the document anew in place: the best layout, nothing left over. All places and
 * values go stale.
 *
 * Memory: takes memory from the system while it runs, as much as the document. NULL:
 * LIVEBUF_NULL_ARGUMENT. Errors: what is damaged, LIVEBUF_READ_ONLY, LIVEBUF_NO_SPACE.
 * Threads: an edit.
 */
livebuf_status livebuf_compact(livebuf_doc *doc);

/**
 * Ends a document of the context API, and frees its memory. A mapped file is cut to the
 * document, written to the disk and closed. To learn of errors, call livebuf_flush before.
 * Transactions that are still open are rolled back.
 *
 * A livebuf_doc of your own is left as it is: it needs no clean-up.
 *
 * Memory: `doc`, its values and text are gone. NULL: nothing is done. Errors: none. Threads:
 * nobody else may use it.
 */
void livebuf_destroy(livebuf_doc *doc);

/* ==========================================================================================
   9. Validate, measure, limit
   ========================================================================================== */

/**
 * livebuf_validate_in with scratch memory from the system.
 *
 * Memory: a quarter of the document while it runs. NULL: LIVEBUF_NULL_ARGUMENT. Errors: as
 * livebuf_validate_in. Threads: an edit.
 */
LIVEBUF_MUST_USE livebuf_status livebuf_validate(livebuf_doc *doc);

/**
 * Checks the whole document in one linear pass. From then on every answer is right and all
 * text is UTF-8, and an editor reuses freed space. Untrusted documents need it; those
 * that this library wrote do not.
 *
 * Memory: writes to `scratch` while it runs. NULL: `doc` LIVEBUF_NULL_ARGUMENT; `scratch`
 * if its size is 0. Errors: the first problem, its offset in `doc->error`;
 * LIVEBUF_SCRATCH_TOO_SMALL. Threads: an edit.
 */
LIVEBUF_MUST_USE
livebuf_status livebuf_validate_in(livebuf_doc *doc,
                                   uint8_t *scratch,
                                   size_t scratch_size);

/**
 * Bytes of scratch memory that livebuf_validate_in and livebuf_get_stats_in need: a quarter of the
 * document's.
 *
 * Memory: none. NULL and documents that are not open: 0. Errors: none. Threads: a read.
 */
size_t livebuf_scratch_size(const livebuf_doc *doc);

/**
 * Whether an editor wrote or validated the document, so that freed space is reused.
 *
 * Memory: none. NULL and documents that are only read: false. Errors: none.
 * Threads: a read.
 */
bool livebuf_is_trusted(const livebuf_doc *doc);

/** Where a document's bytes are. All in bytes but the last six. */
typedef struct {
  /** All used bytes. */
  uint64_t used;
  /** Bytes that hold the document's value. */
  uint64_t live;
  /** In the free list, to be reused. */
  uint64_t free;
  /** Neither reachable nor free: compaction gets it back. */
  uint64_t garbage;
  /** Bytes of the header and the aux block. */
  uint64_t overhead;
  /** Shapes (without long keys' text). */
  uint64_t shapes;
  /** Records and forwards. */
  uint64_t records;
  /** Maps' headers and entries. */
  uint64_t maps;
  /** Nodes of maps' indexes. */
  uint64_t index;
  /** Arrays' headers and elements, values of columns among them. */
  uint64_t arrays;
  /** Tables and lists. */
  uint64_t tables;
  /** Text longer than a cell, keys included, each byte once. */
  uint64_t text;
  /** Count of values, containers included. */
  uint64_t values;
  /** Count of objects. */
  uint64_t objects;
  /** Count of arrays. */
  uint64_t array_count;
  /** Count of tables. */
  uint64_t table_count;
  /** Count of columns of tables. */
  uint64_t columns;
  /** Deepest nesting of containers. */
  uint64_t depth;
} livebuf_stats;

/**
 * livebuf_get_stats_in with scratch memory from the system.
 *
 * Memory: a quarter of the document while it runs. NULL: LIVEBUF_NULL_ARGUMENT. Errors: as
 * livebuf_get_stats_in. Threads: an edit.
 */
livebuf_status livebuf_get_stats(livebuf_doc *doc, livebuf_stats *stats);

/**
 * Validates a document and tells where its bytes are. Other than livebuf_validate_in it
 * changes nothing in what an editor may do.
 *
 * Memory: writes `*stats`, and to `scratch` while it runs. NULL: LIVEBUF_NULL_ARGUMENT.
 * Errors: as livebuf_validate_in. Threads: an edit.
 */
livebuf_status livebuf_get_stats_in(livebuf_doc *doc,
                                    uint8_t *scratch,
                                    size_t scratch_size,
                                    livebuf_stats *stats);

/**
 * Writes a compact copy of the document to other memory, without an allocator: holes,
 * garbage and spare room are left behind. `*length` becomes its length.
 *
 * Memory: writes at most `capacity` bytes to `buffer`, which is not the document's own.
 * NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NO_SPACE with the missing bytes, or what is
 * damaged. Threads: an edit.
 */
livebuf_status livebuf_compact_into(livebuf_doc *doc,
                                    uint8_t *buffer,
                                    size_t capacity,
                                    size_t *length);

/** Bounds that edits keep to. 0 stands for the format's own bound. */
typedef struct {
  /** Most bytes a document may use (format: 2^32 - 8). */
  uint64_t document;
  /** Most elements that a walk may visit; 0: 2^33. */
  uint64_t budget;
  /** Most bytes of a string, key or byte string (format: 2^30 - 1). */
  uint32_t string;
  /** Most elements of an array or members of an object (format: 2^31 - 1). */
  uint32_t elements;
  /** Deepest nesting of containers; 0: 1,000, which is the most. */
  uint32_t nesting;
  /** Zero. */
  uint32_t reserved;
} livebuf_limits;

/**
 * Sets the bounds that edits of this document keep to.
 *
 * Memory: copies `*limits`. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_READ_ONLY.
 * Threads: an edit.
 */
livebuf_status livebuf_set_limits(livebuf_doc *doc, const livebuf_limits *limits);

/**
 * Whether freed bytes are zeroed. They are by default.
 *
 * Text that several values share, or that is in a dictionary, is not freed when the last of them
 * goes. To be rid of a secret, compact the document with `livebuf_compact`.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_READ_ONLY. Threads: an edit.
 */
livebuf_status livebuf_set_wipe(livebuf_doc *doc,
                                bool wipe);

/* ==========================================================================================
   10. JSON
   ========================================================================================== */

/** How JSON is read and printed; zeroed it is the default. */
typedef struct {
  /** LIVEBUF_JSON_* */
  uint32_t flags;
  /** Printing: spaces of each level; 0 for all on one line. */
  uint32_t indent;
  /**
   * Printing: most bytes. 0: 2,048 for each byte of the document, or 16,384 if it is trusted
   * (livebuf_is_trusted); only much white space makes sound documents longer.
   */
  uint64_t max_bytes;
  /** Reading: fewest bytes of a number in a column, 1, 2, 4 or 8; 0 stands for 1. */
  uint32_t min_width;
  /** Zero. */
  uint32_t reserved;
  /** Reading: limits of the document; NULL for the usual ones. */
  const livebuf_limits *limits;
} livebuf_json_options;

/** Every number keeps its text, so that printing gives back each literal as it was. */
#define LIVEBUF_JSON_TEXT_NUMBERS 1

/** Equal keys in one object are an error; else the last wins, at the place of the first. */
#define LIVEBUF_JSON_REFUSE_DUPLICATE_KEYS 2

/** Arrays of similar objects do not become columns. */
#define LIVEBUF_JSON_NO_TABLES 4

/** Infinities and NaN are printed as null; else they are an error. */
#define LIVEBUF_JSON_NON_FINITE_NULL 8

/**
 * Reading: text that is a date, a date and time, a timestamp or a UUID becomes such a value;
 * else it stays text. Printed again, a timestamp is in UTC, and a UUID in lower case.
 */
#define LIVEBUF_JSON_RECOGNIZE 16

/** Reading: escapes that are half of a surrogate pair become U+FFFD; else they are an error. */
#define LIVEBUF_JSON_REPLACE_SURROGATES 32

/**
 * A document that manages its memory, made from JSON text (RFC 8259, strictly; a byte order mark
 * is passed over).
 *
 * Memory: livebuf_destroy frees what it returns; the text is not needed afterwards. NULL:
 * `options` for the defaults, `allocator` for the system's, `error` if it is not wanted;
 * `text` LIVEBUF_NULL_ARGUMENT. Errors: NULL: LIVEBUF_JSON_SYNTAX and its kin with line,
 * column and offset in the text; limits. Threads: as livebuf_create.
 */
livebuf_doc *livebuf_from_json(const char *text,
                               size_t length,
                               const livebuf_json_options *options,
                               const livebuf_allocator *allocator,
                               livebuf_error *error);

/**
 * The same in the caller's memory, to be edited there.
 *
 * Memory: as livebuf_init; takes memory from the system while it runs. NULL: `options` for
 * the defaults; others LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_from_json, in `doc->error`;
 * LIVEBUF_NO_SPACE with the missing bytes. Threads: an edit.
 */
livebuf_status livebuf_from_json_into(livebuf_doc *doc,
                                      uint8_t *buffer,
                                      size_t capacity,
                                      const char *text,
                                      size_t length,
                                      const livebuf_json_options *options);

/**
 * A document that manages its memory, made from a file with JSON text.
 *
 * Memory: livebuf_destroy frees what it returns; `path` ends with NUL. NULL: as
 * livebuf_from_json; `path` LIVEBUF_NULL_ARGUMENT. Errors: NULL: as livebuf_from_json;
 * LIVEBUF_IO with the system's number. Threads: as livebuf_create.
 */
livebuf_doc *livebuf_from_json_file(const char *path,
                                    const livebuf_json_options *options,
                                    const livebuf_allocator *allocator,
                                    livebuf_error *error);

/**
 * The same in the caller's memory, to be edited there.
 *
 * Memory: as livebuf_init; takes memory from the system while it runs; `path` ends with NUL.
 * NULL: as livebuf_from_json_into. Errors: as livebuf_from_json_into, and LIVEBUF_IO with the
 * system's number. Threads: an edit.
 */
livebuf_status livebuf_from_json_file_into(livebuf_doc *doc,
                                           uint8_t *buffer,
                                           size_t capacity,
                                           const char *path,
                                           const livebuf_json_options *options);

/**
 * Prints a value as JSON to memory of the caller's. `*length` becomes the text's length,
 * also where it does not fit. A NUL follows the text if there is room.
 *
 * Memory: writes at most `capacity` bytes to `text`; takes memory from the system while it
 * runs. NULL: `options` for the defaults; `length` if it is not wanted; `text` if `capacity`
 * is 0, to ask for the length. Errors: LIVEBUF_NO_SPACE, LIVEBUF_JSON_NOT_FINITE, what is
 * damaged; the value's own status. Threads: a read.
 */
livebuf_status livebuf_to_json(livebuf_value value,
                               const livebuf_json_options *options,
                               char *text,
                               size_t capacity,
                               size_t *length);

/**
 * Prints a value as JSON to new memory; a NUL follows its `*length` bytes.
 *
 * Memory: livebuf_free with the same allocator and `*length + 1` frees it. NULL: `options`
 * for the defaults, `allocator` for the system's, `error` if it is not wanted; `length`:
 * NULL. Errors: NULL: as livebuf_to_json, LIVEBUF_IO. Threads: a read.
 */
char *livebuf_to_json_new(livebuf_value value,
                          const livebuf_json_options *options,
                          const livebuf_allocator *allocator,
                          size_t *length,
                          livebuf_error *error);

/**
 * Prints a value as JSON to a new file beside the old one, and renames it. So there is always
 * the old file or the new one, whole.
 *
 * Memory: takes memory from the system while it runs; `path` ends with NUL. NULL: `options`
 * for the defaults, `error` if it is not wanted; `path` LIVEBUF_NULL_ARGUMENT. Errors: as
 * livebuf_to_json, and LIVEBUF_IO with the system's number. Threads: a read.
 */
LIVEBUF_MUST_USE
livebuf_status livebuf_to_json_file(livebuf_value value,
                                    const livebuf_json_options *options,
                                    const char *path,
                                    livebuf_error *error);

#if LIVEBUF_STDIO

/** A document that manages its memory, from JSON text that is the rest of a stream. As
    livebuf_from_json; LIVEBUF_IO where reading failed, or memory. */
static inline livebuf_doc *livebuf_from_json_stream(FILE *stream,
                                                    const livebuf_json_options *options,
                                                    const livebuf_allocator *allocator,
                                                    livebuf_error *error);

/** Prints a value as JSON to a stream. As livebuf_to_json; LIVEBUF_IO where writing failed. */
static inline livebuf_status livebuf_to_json_stream(livebuf_value value,
                                                    const livebuf_json_options *options,
                                                    FILE *stream);

/** Prints a value as JSON to stdout, and a new line. As livebuf_to_json_stream. */
static inline livebuf_status livebuf_print_json(livebuf_value value);

/** Prints an error to stderr, as perror does: "what: the buffer is too small: ...". */
static inline void livebuf_perror(const char *what, livebuf_error error);

#endif /* LIVEBUF_STDIO */

/* ==========================================================================================
   11. Deltas and undo
   ========================================================================================== */

/** The state of a document: 16 bytes that stand for all of its bytes. */
typedef struct {
  /** As documents and deltas hold them. */
  uint8_t bytes[16];
} livebuf_state;

/**
 * The document's state. Constant time.
 *
 * Memory: writes `*state`. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NO_STATE where it has
 * none, or where an edit ended it; `*state` is zero then. Threads: a read.
 */
livebuf_status livebuf_get_state(const livebuf_doc *doc, livebuf_state *state);

/**
 * Gives the document a state, from which deltas can lead on: this one, or a random one. Copies
 * of its bytes have the same state. The next edit ends it, unless a delta is made of the edit.
 *
 * Memory: the first state takes 16 to 48 bytes of the document. NULL: `state` for a random one;
 * `doc` LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NO_SPACE, LIVEBUF_READ_ONLY. Threads: an edit.
 */
livebuf_status livebuf_set_state(livebuf_doc *doc, const livebuf_state *state);

/** The recorder keeps overwritten bytes: the delta can be inverted. */
#define LIVEBUF_DELTA_OLD 1

/** The delta has the SHA-256 of all bytes afterwards; applying compares it. */
#define LIVEBUF_DELTA_DIGEST 2

/** Notes the changes of a document to make a delta of them: got from livebuf_delta_begin. */
typedef struct livebuf_delta_recorder livebuf_delta_recorder;

/**
 * Notes from here on what edits change, until livebuf_delta_end makes a delta of it. Meanwhile
 * the document has no other recorder, callback or history. `flags`: LIVEBUF_DELTA_OLD,
 * LIVEBUF_DELTA_DIGEST or 0.
 *
 * Memory: livebuf_delta_end or livebuf_delta_cancel frees what it returns; memory from the system,
 * linear in what changes. NULL: `doc`: NULL. Errors: NULL, and in `doc->error` LIVEBUF_NO_STATE
 * (livebuf_set_state first), LIVEBUF_BAD_SEQUENCE where the document tells another one of its
 * changes, or within a transaction, LIVEBUF_READ_ONLY. Threads: an edit.
 */
livebuf_delta_recorder *livebuf_delta_begin(livebuf_doc *doc,
                                            uint32_t flags);

/**
 * Makes a delta of what changed since livebuf_delta_begin, gives the document the state that it
 * leads to, and frees the recorder. Returns the delta's `*length` bytes, encoded as
 * docs/DELTA.md says: to be sent as they are. Linear in the bytes that changed; with
 * LIVEBUF_DELTA_DIGEST in the document.
 *
 * Memory: livebuf_free with the same allocator and `*length` frees it. NULL: `allocator` for the
 * system's; others: NULL. Errors: NULL, and in `doc->error` LIVEBUF_BAD_SEQUENCE within a
 * transaction and where the recorder does not note this document's changes: it is not freed
 * then, nor where an argument is NULL; LIVEBUF_NO_SPACE, LIVEBUF_IO. Threads: an edit.
 */
uint8_t *livebuf_delta_end(livebuf_doc *doc,
                           livebuf_delta_recorder *recorder,
                           const livebuf_allocator *allocator,
                           size_t *length);

/**
 * Frees a recorder without making a delta. The document keeps its edits, and its state ended
 * with the first of them.
 *
 * Memory: `recorder` is gone. NULL: `doc` where the document is gone; `recorder`: nothing is
 * done. Errors: none. Threads: an edit.
 */
void livebuf_delta_cancel(livebuf_doc *doc, livebuf_delta_recorder *recorder);

/**
 * Changes a document from the state that a delta begins at to the one that it leads to, whole or
 * not at all: its bytes are then those of the document that the delta was made of. `flags`:
 * LIVEBUF_DELTA_DIGEST compares the SHA-256 of all bytes first, or 0.
 *
 * Linear in the delta's bytes; with the digest in the document. The delta may be untrusted.
 * So the document is not trusted until livebuf_validate passes. Values and places are stale.
 *
 * Memory: `delta` is not needed afterwards. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
 * LIVEBUF_WRONG_STATE or LIVEBUF_NO_STATE where the document has another state;
 * LIVEBUF_NOT_A_DELTA, LIVEBUF_BAD_DELTA; LIVEBUF_NO_DIGEST, LIVEBUF_WRONG_BYTES;
 * LIVEBUF_NO_SPACE; LIVEBUF_BAD_SEQUENCE while the document has a history or makes a delta. The
 * document is unchanged then. Threads: an edit.
 */
livebuf_status livebuf_delta_apply(livebuf_doc *doc,
                                   const uint8_t *delta,
                                   size_t length,
                                   uint32_t flags);

/** What a delta says. */
typedef struct {
  /** The state that it begins at. */
  livebuf_state base;
  /** The state that it leads to. */
  livebuf_state state;
  /** Bytes of the document before. */
  size_t base_length;
  /** Bytes of the document afterwards. */
  size_t length;
  /** Count of ranges that change. */
  size_t ranges;
  /** LIVEBUF_DELTA_OLD and LIVEBUF_DELTA_DIGEST, if it has these. */
  uint32_t flags;
  /** Zero. */
  uint32_t reserved;
} livebuf_delta_info;

/**
 * Says what a delta of `length` bytes changes.
 *
 * Memory: writes `*info`. NULL: `error` if it is not wanted; others LIVEBUF_NULL_ARGUMENT.
 * Errors: LIVEBUF_NOT_A_DELTA, LIVEBUF_BAD_DELTA with the offset in the delta,
 * LIVEBUF_UNSUPPORTED_VERSION; `*info` is zero then. Threads: any.
 */
livebuf_status livebuf_delta_read(const uint8_t *delta,
                                  size_t length,
                                  livebuf_delta_info *info,
                                  livebuf_error *error);

/**
 * One delta that does what `first` and then `second` do. It has old bytes if both have them.
 *
 * Memory: livebuf_free with the same allocator and `*length` frees it. NULL: `allocator` for the
 * system's, `error` if it is not wanted; others: NULL. Errors: NULL: as livebuf_delta_read;
 * LIVEBUF_WRONG_STATE where the second does not begin where the first ends; LIVEBUF_IO.
 * Threads: any.
 */
uint8_t *livebuf_delta_compose(const uint8_t *first,
                               size_t first_length,
                               const uint8_t *second,
                               size_t second_length,
                               const livebuf_allocator *allocator,
                               size_t *length,
                               livebuf_error *error);

/**
 * The delta that leads back: it takes the changes of this one back.
 *
 * Memory, NULL, Threads: as livebuf_delta_compose. Errors: NULL: as livebuf_delta_read;
 * LIVEBUF_NO_OLD_BYTES: record with LIVEBUF_DELTA_OLD; LIVEBUF_IO.
 */
uint8_t *livebuf_delta_invert(const uint8_t *delta,
                              size_t delta_length,
                              const livebuf_allocator *allocator,
                              size_t *length,
                              livebuf_error *error);

/** Steps of a document that can be undone and redone: got from livebuf_history_begin. */
typedef struct livebuf_history livebuf_history;

/**
 * Begins a history of the document's changes, of at most `max_bytes` bytes: the oldest steps are
 * dropped where all take more. A document without a state gets a random one. Meanwhile the
 * document has no other recorder or callback.
 *
 * Memory: livebuf_history_end frees what it returns; memory from the system. NULL: `doc`: NULL.
 * Errors: NULL, and in `doc->error` LIVEBUF_BAD_SEQUENCE where the document tells another one of
 * its changes, or within a transaction; LIVEBUF_READ_ONLY, LIVEBUF_NO_SPACE. Threads: an edit.
 */
livebuf_history *livebuf_history_begin(livebuf_doc *doc,
                                       size_t max_bytes);

/**
 * Makes one step of all edits since the last one. Where nothing changed, there is no step.
 * What was undone cannot be redone any more.
 *
 * Memory: linear in the bytes that changed. NULL: LIVEBUF_NULL_ARGUMENT. Errors:
 * LIVEBUF_BAD_SEQUENCE within a transaction, and where the history is not this document's.
 * Threads: an edit.
 */
livebuf_status livebuf_history_step(livebuf_doc *doc, livebuf_history *history);

/**
 * Takes the last step back: the document's bytes are as they were before it. Edits since the last
 * step become a step first. Linear in the bytes that the step changed.
 *
 * Memory: none. NULL: LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_NOT_FOUND where there is no step;
 * as livebuf_history_step. Threads: an edit.
 */
livebuf_status livebuf_undo(livebuf_doc *doc,
                            livebuf_history *history);

/**
 * Does the step again that was undone last. An edit since then ends that.
 *
 * Memory, NULL, Errors, Threads: as livebuf_undo.
 */
livebuf_status livebuf_redo(livebuf_doc *doc, livebuf_history *history);

/**
 * How many steps a history can undo (`redo`: redo) now; edits since the last step count as one.
 *
 * Memory: none. NULL: 0. Errors: none. Threads: a read.
 */
size_t livebuf_history_count(const livebuf_doc *doc, const livebuf_history *history, bool redo);

/**
 * The delta of what livebuf_history_step, livebuf_undo or livebuf_redo did last: copies of the
 * document that apply it follow. Returns its `*length` bytes.
 *
 * Memory: livebuf_free with the same allocator and `*length` frees it. NULL: `allocator` for the
 * system's, `error` if it is not wanted; others: NULL. Errors: NULL: LIVEBUF_NOT_FOUND where
 * there was no step yet; LIVEBUF_IO. Threads: a read.
 */
uint8_t *livebuf_history_delta(const livebuf_history *history,
                               const livebuf_allocator *allocator,
                               size_t *length,
                               livebuf_error *error);

/**
 * Ends a history: its steps are forgotten. The document stays as it is.
 *
 * Memory: `history` is gone. NULL: `doc` where the document is gone; `history`: nothing is done.
 * Errors: none. Threads: an edit.
 */
void livebuf_history_end(livebuf_doc *doc,
                         livebuf_history *history);

/* ==========================================================================================
   12. Patches and differences
   ========================================================================================== */

/**
 * Applies a JSON patch (RFC 6902), whole or not at all: `patch` is an array of operations, as
 * livebuf_from_json or livebuf_diff make it. `test` compares numbers as numbers, so 1 equals 1.0,
 * and objects in any order.
 *
 * Memory: `patch` is not needed afterwards; takes memory from the system while it runs. NULL:
 * `doc` LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BAD_PATCH, LIVEBUF_TEST_FAILED, LIVEBUF_NOT_FOUND
 * and others: `doc->error.operation` says which operation. The document is unchanged then.
 * Threads: an edit.
 */
livebuf_status livebuf_patch(livebuf_doc *doc,
                             livebuf_value patch);

/**
 * livebuf_patch with JSON text of `length` bytes.
 *
 * Memory: `text` is not needed afterwards; takes memory from the system while it runs. NULL:
 * LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_patch; LIVEBUF_JSON_SYNTAX and its kin. Threads: an
 * edit.
 */
livebuf_status livebuf_patch_json_n(livebuf_doc *doc, const char *text, size_t length);

/** livebuf_patch with JSON text. As livebuf_patch_json_n. */
static inline livebuf_status livebuf_patch_json(livebuf_doc *doc, const char *text);

/**
 * Merges a value into a document (RFC 7396), whole or not at all: members of `patch` replace
 * those of the document, objects member by member, and null removes a member.
 *
 * Memory: `patch`, of another document, is not needed afterwards. NULL: `doc`
 * LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_OVERLAP for a value of the same document;
 * LIVEBUF_NO_SPACE, limits. The document is unchanged then. Threads: an edit.
 */
livebuf_status livebuf_merge(livebuf_doc *doc, livebuf_value patch);

/**
 * livebuf_merge with JSON text of `length` bytes.
 *
 * Memory: `text` is not needed afterwards; takes memory from the system while it runs. NULL:
 * LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_merge; LIVEBUF_JSON_SYNTAX and its kin. Threads: an
 * edit.
 */
livebuf_status livebuf_merge_json_n(livebuf_doc *doc, const char *text, size_t length);

/** livebuf_merge with JSON text. As livebuf_merge_json_n. */
static inline livebuf_status livebuf_merge_json(livebuf_doc *doc, const char *text);

/** The order of an object's members counts. */
#define LIVEBUF_DIFF_ORDERED 1

/**
 * The patch (RFC 6902) that makes `one` equal to `two`: a document with an array of operations.
 * Equal values make an empty array. `flags`: LIVEBUF_DIFF_ORDERED or 0.
 *
 * Memory: livebuf_destroy frees what it returns. NULL: `allocator` for the system's, `error` if
 * it is not wanted. Errors: NULL: the values' own, what is damaged, LIVEBUF_IO. Threads: a read
 * of both.
 */
livebuf_doc *livebuf_diff(livebuf_value one,
                          livebuf_value two,
                          uint32_t flags,
                          const livebuf_allocator *allocator,
                          livebuf_error *error);

/**
 * The merge patch (RFC 7396) that makes `one` equal to `two`, as a document.
 *
 * Memory, NULL, Threads: as livebuf_diff. Errors: as livebuf_diff; LIVEBUF_UNSUPPORTED where a
 * null of `two` would be needed, which a merge patch cannot say.
 */
livebuf_doc *livebuf_merge_diff(livebuf_value one,
                                livebuf_value two,
                                const livebuf_allocator *allocator,
                                livebuf_error *error);

/* ==========================================================================================
   13. Queries
   ========================================================================================== */

/** A compiled query: got from livebuf_query_new. Any number of threads may use it. */
typedef struct livebuf_query livebuf_query;

/**
 * Compiles a query's text (RFC 9535) of `length` bytes. `budget` bounds the work of each use:
 * about a step for each value that is looked at; 0 for a bound that grows with the document.
 *
 * Memory: livebuf_query_free frees what it returns; the text is not needed afterwards. NULL:
 * `error` if it is not wanted; `text`: NULL. Errors: NULL: LIVEBUF_BAD_QUERY with the column.
 * Threads: any.
 */
livebuf_query *livebuf_query_new_n(const char *text,
                                   size_t length,
                                   uint64_t budget,
                                   livebuf_error *error);

/** Compiles a query's text. As livebuf_query_new_n, with the usual budget. */
static inline livebuf_query *livebuf_query_new(const char *text, livebuf_error *error);

/**
 * Frees a query. Matches that it found can still be stepped through.
 *
 * Memory: `query` is gone. NULL: nothing is done. Errors: none. Threads: nobody else may use it.
 */
void livebuf_query_free(livebuf_query *query);

/** The values that a query finds, one after the other: got from livebuf_matches_new. */
typedef struct {
  /** The match that livebuf_matches_next stepped to. */
  livebuf_value value;
  /** How many were met before this one. */
  size_t index;
  /** LIVEBUF_OK, or why they ended early. */
  livebuf_error error;
  /** Private. */
  void *private_steps;
} livebuf_matches;

/**
 * Begins to go over the values that a query finds in `value`. Then livebuf_matches_next steps to
 * the first. They are looked for as you ask for them.
 *
 * Memory: livebuf_matches_free frees what it returns, which is never NULL; borrows as `value`.
 * NULL: LIVEBUF_NULL_ARGUMENT in its `error`. Errors: in its `error`: the value's own; there is
 * no match then. Threads: a read.
 */
livebuf_matches *livebuf_matches_new(const livebuf_query *query,
                                     livebuf_value value);

/**
 * Steps to the next match: `matches->value`. False at the end, and where `matches->error` says
 * why it ended early.
 *
 * Memory: none that you free. NULL: false. Errors: in `matches->error`: LIVEBUF_STALE_HANDLE
 * after an edit, LIVEBUF_BUDGET_EXCEEDED, what is damaged. Threads: a read.
 */
bool livebuf_matches_next(livebuf_matches *matches);

/**
 * The place of the match as a normalized path: "$['laps'][1]['sec']". Returns the text's length
 * without its NUL, as snprintf does; 0 where there is no match, and after an edit.
 *
 * Memory: writes at most `capacity` bytes to `text`, a NUL at the end among them. NULL: `text` if
 * `capacity` is 0, to ask for the length; `matches`: 0. Errors: none. Threads: a read.
 */
size_t livebuf_matches_path(const livebuf_matches *matches,
                            char *text,
                            size_t capacity);

/**
 * The place of the match as a JSON pointer: "/laps/1/sec", for livebuf_set_pointer. As
 * livebuf_matches_path; the pointer of the root is empty.
 *
 * Memory, NULL, Errors, Threads: as livebuf_matches_path.
 */
size_t livebuf_matches_pointer(const livebuf_matches *matches, char *text, size_t capacity);

/**
 * Frees matches.
 *
 * Memory: `matches` is gone. NULL: nothing is done. Errors: none. Threads: nobody else may use
 * them.
 */
void livebuf_matches_free(livebuf_matches *matches);

/**
 * The first value that a query finds in `value`.
 *
 * Memory: borrows as `value`. NULL: a value that is not there. Errors: in the value:
 * LIVEBUF_NOT_FOUND, LIVEBUF_BUDGET_EXCEEDED, what is damaged. Threads: a read.
 */
livebuf_value livebuf_query_first(const livebuf_query *query, livebuf_value value);

/**
 * How many values a query finds in `value`.
 *
 * Memory: writes `*count`. NULL: LIVEBUF_NULL_ARGUMENT. Errors: the value's own,
 * LIVEBUF_BUDGET_EXCEEDED, what is damaged; `*count` is 0 then. Threads: a read.
 */
livebuf_status livebuf_query_count(const livebuf_query *query,
                                   livebuf_value value,
                                   size_t *count);

/**
 * Sets all matches of a query in the document to a value, all or none. `*count` becomes how many
 * were set. A match within another one is gone with it, and does not count.
 *
 * Memory: copies what `value` refers to. NULL: `count` if it is not wanted; others
 * LIVEBUF_NULL_ARGUMENT. Errors: LIVEBUF_BUDGET_EXCEEDED; as livebuf_set_pointer. The document is
 * unchanged then. Threads: an edit.
 */
livebuf_status livebuf_set_all(livebuf_doc *doc,
                               const livebuf_query *query,
                               livebuf_new value,
                               size_t *count);

/**
 * Removes all matches of a query from the document, all or none. `*count` becomes how many were
 * removed. A match within another one is gone with it, and does not count.
 *
 * Memory: none that you free. NULL: `count` if it is not wanted; others LIVEBUF_NULL_ARGUMENT.
 * Errors: LIVEBUF_UNSUPPORTED where the root is among them; LIVEBUF_BUDGET_EXCEEDED; as
 * livebuf_remove_pointer. The document is unchanged then. Threads: an edit.
 */
livebuf_status livebuf_remove_all(livebuf_doc *doc, const livebuf_query *query, size_t *count);

/**
 * Calls `update` with each match of a query in the document, and puts `*replacement` in its
 * place, all or none. `update` returns true where it wrote `*replacement`; else the match stays.
 * `*count` becomes how many were set. A match within another one comes before that one.
 *
 * `update` may read the document, but not edit it, and does not leave by longjmp or an exception.
 *
 * Memory: `user` is yours; what `*replacement` refers to is copied when `update` returned. NULL:
 * `count` if it is not wanted; others LIVEBUF_NULL_ARGUMENT. Errors: as livebuf_set_all. Threads:
 * an edit.
 */
livebuf_status livebuf_update_all(livebuf_doc *doc,
                                  const livebuf_query *query,
                                  bool (*update)(void *user,
                                                 livebuf_value value,
                                                 livebuf_new *replacement),
                                  void *user,
                                  size_t *count);

/* ==========================================================================================
   14. Statuses and versions
   ========================================================================================== */

/**
 * The statuses. To 63 they are those of every language. Of the rest, 64 to 95 belong to JSON
 * text, patches, queries and deltas, and 96 on to this interface.
 */
typedef enum {
  /** No error. */
  LIVEBUF_OK = 0,
  /** The bytes do not begin with a LiveBuf header. */
  LIVEBUF_NOT_A_DOCUMENT = 1,
  /**
   * The document is of a version that this library does not read: a draft of before version 1,
   * or newer.
   */
  LIVEBUF_UNSUPPORTED_VERSION = 2,
  /** A flag of the "refuse" class is set that this library does not know. */
  LIVEBUF_UNSUPPORTED_FEATURE = 3,
  /** Fewer bytes than the header says are used; `detail` bytes are needed. */
  LIVEBUF_TRUNCATED = 4,
  /** An offset or length points outside the used bytes. */
  LIVEBUF_OUT_OF_BOUNDS = 5,
  /** An offset that must be a multiple of eight is not. */
  LIVEBUF_MISALIGNED = 6,
  /** A block is not of the kind its reference says. */
  LIVEBUF_WRONG_BLOCK = 7,
  /** A tag, column type or other code is not one this version defines. */
  LIVEBUF_BAD_CODE = 8,
  /** Counts disagree with each other or with the room there is. */
  LIVEBUF_BAD_COUNT = 9,
  /** Text is not UTF-8. */
  LIVEBUF_BAD_TEXT = 10,
  /** A cell holds bits its tag does not allow. */
  LIVEBUF_BAD_CELL = 11,
  /** Two blocks overlap, or a block is reached twice. */
  LIVEBUF_OVERLAP = 12,
  /** A fingerprint or index disagrees with the keys. */
  LIVEBUF_BAD_INDEX = 13,
  /** A key occurs twice in one object. */
  LIVEBUF_DUPLICATE_KEY = 14,
  /** The free list is damaged. */
  LIVEBUF_BAD_FREE_LIST = 15,
  /** Bytes that must be zero are not. */
  LIVEBUF_NOT_ZERO = 16,
  /** The work budget of a walk ran out; `detail` is the budget. */
  LIVEBUF_BUDGET_EXCEEDED = 17,
  /** Containers are nested deeper than the limit in `detail`. */
  LIVEBUF_NESTING_LIMIT = 18,
  /** The document would grow past the limit of bytes in `detail`. */
  LIVEBUF_DOCUMENT_LIMIT = 19,
  /** A string or key is longer than the limit of bytes in `detail`. */
  LIVEBUF_STRING_LIMIT = 20,
  /** An array or object would hold more elements than the limit in `detail`. */
  LIVEBUF_ELEMENT_LIMIT = 21,
  /** A fixed buffer is full: `detail` bytes are missing. */
  LIVEBUF_NO_SPACE = 22,
  /**
   * The handle, value, iterator or column is of another state of the document, or of
   * another document.
   */
  LIVEBUF_STALE_HANDLE = 23,
  /** The value is not of the type the call needs. */
  LIVEBUF_WRONG_TYPE = 24,
  /** No such key, index or path. */
  LIVEBUF_NOT_FOUND = 25,
  /** The index is past the end; `detail` is the length. */
  LIVEBUF_INDEX_OUT_OF_RANGE = 26,
  /** The key is already there. */
  LIVEBUF_KEY_EXISTS = 27,
  /** The document or its storage cannot be written. */
  LIVEBUF_READ_ONLY = 28,
  /** A JSON pointer (RFC 6901) is malformed. */
  LIVEBUF_BAD_POINTER = 29,
  /** A number's text is not a JSON number. */
  LIVEBUF_BAD_NUMBER = 30,
  /** The calls of a transaction, recorder or history came in an impossible order. */
  LIVEBUF_BAD_SEQUENCE = 31,
  /**
   * The system or an allocator refused memory or a file operation; `detail` is the
   * system's error number, or the bytes asked for.
   */
  LIVEBUF_IO = 32,
  /** The operation does not support this value. */
  LIVEBUF_UNSUPPORTED = 33,
  /** The scratch memory given is too small: `detail` bytes are needed. */
  LIVEBUF_SCRATCH_TOO_SMALL = 34,
  /** Not met from C. */
  LIVEBUF_CUSTOM = 35,
  /** The edit changes columns of a document that was not validated. */
  LIVEBUF_NOT_VALIDATED = 36,
  /** An edit ended half way, because memory changed that nobody else may write. */
  LIVEBUF_BROKEN = 37,
  /** A number or text that is no date, time, decimal or UUID. */
  LIVEBUF_BAD_VALUE = 38,
  /**
   * A tensor keeps its type and the lengths of its elements: a value does not fit these, an edit
   * would change the length of an array in it, or a new one is no tensor of this type and shape.
   */
  LIVEBUF_TENSOR_MISMATCH = 39,
  /** The text is not JSON (RFC 8259); the error has line and column. */
  LIVEBUF_JSON_SYNTAX = 64,
  /** The JSON text ends inside a value, or holds none. */
  LIVEBUF_JSON_END = 65,
  /** JSON has no infinity and no NaN. */
  LIVEBUF_JSON_NOT_FINITE = 66,
  /** The printed text would be longer than allowed. */
  LIVEBUF_JSON_OUTPUT_LIMIT = 67,
  /** The value is no JSON patch (RFC 6902); the error has the operation. */
  LIVEBUF_BAD_PATCH = 68,
  /** The value is another one than the `test` of a patch expects. */
  LIVEBUF_TEST_FAILED = 69,
  /** A patch would move a value into itself. */
  LIVEBUF_INTO_ITSELF = 70,
  /** The text is no JSONPath query (RFC 9535); the error has the column. */
  LIVEBUF_BAD_QUERY = 71,
  /** The bytes do not begin as a delta does. */
  LIVEBUF_NOT_A_DELTA = 72,
  /** The delta is damaged or cut short at `offset`. */
  LIVEBUF_BAD_DELTA = 73,
  /** The document has no state, from which deltas lead on. */
  LIVEBUF_NO_STATE = 74,
  /**
   * The delta begins at another state. `offset` and `detail` are the first halves of the
   * document's state and of the delta's, the first byte highest.
   */
  LIVEBUF_WRONG_STATE = 75,
  /** The state is right, but the document has not the bytes that the delta was made of. */
  LIVEBUF_WRONG_BYTES = 76,
  /** The delta has no digest to compare with. */
  LIVEBUF_NO_DIGEST = 77,
  /** The delta was recorded without old bytes, so it cannot be inverted. */
  LIVEBUF_NO_OLD_BYTES = 78,
  /** An argument is NULL that must not be. */
  LIVEBUF_NULL_ARGUMENT = 96,
  /** The document was not initialised or opened. */
  LIVEBUF_NOT_OPEN = 97,
  /** An error of the library itself, caught. */
  LIVEBUF_INTERNAL = 98,
} livebuf_code;

/** First number of a version: rises when programs must be changed. */
#define LIVEBUF_VERSION_MAJOR 0

/** Second number of a version. Before 1.0 programs may have to be changed when it rises. */
#define LIVEBUF_VERSION_MINOR 1

/** Third number of a version: rises when nothing but errors are mended. */
#define LIVEBUF_VERSION_PATCH 0

/** The version of this header as text; livebuf_version() is that of the library. */
#define LIVEBUF_VERSION_STRING "0.1.0"

/**
 * The version of the library that runs, "0.1.0"; LIVEBUF_VERSION_* is that of the header.
 *
 * Memory: static. NULL: never. Errors: none. Threads: any.
 */
const char *livebuf_version(void);

/* ==========================================================================================
   What the inline functions do
   ========================================================================================== */

static inline size_t livebuf_length_(const char *text) { return text ? strlen(text) : 0; }

static inline livebuf_status livebuf_not_read_(livebuf_value value, const void *result) {
  livebuf_status status = result ? livebuf_value_error(value).status : LIVEBUF_NULL_ARGUMENT;
  if (status == LIVEBUF_OK) status = LIVEBUF_WRONG_TYPE;
  return status;
}

static inline livebuf_new livebuf_new_(uint32_t kind, const void *pointer, size_t length) {
  livebuf_new value;
  value.payload.u64 = 0;
  value.payload.pointer = pointer;
  value.length = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
  value.kind = kind;
  return value;
}

/* --- reading in place ------------------------------------------------------------------ */

/* With gcc and clang, on little-endian machines and where the compiler optimises for speed,
   the common look-ups are done here instead of by a call: members of records and of tables'
   rows by a literal or remembered key, elements of arrays, text. Each offset is compared with
   the document's length before it is read. Whatever is rare or looks damaged is left to the
   library, so the answers are the same. LIVEBUF_NO_INLINE before the #include leaves all to the
   library.
   Comments cite the sections of docs/FORMAT.md. */
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(LIVEBUF_NO_INLINE)
#define LIVEBUF_INLINE 1
#else
#define LIVEBUF_INLINE 0
#endif

#if LIVEBUF_INLINE

#define LIVEBUF_ALWAYS_ __attribute__((always_inline)) static inline
#ifndef LIVEBUF_HOT_
#define LIVEBUF_HOT_ static inline
#endif

/* A value without its document. The tag is 0 where there is none, and one of these: */
typedef struct {
  uint64_t cell;
  uint32_t position;
  uint32_t tag;
} livebuf_cell_;

#define LIVEBUF_ASK_ 0x100u        /* the library knows */
#define LIVEBUF_ASK_COLUMN_ 0x101u /* it knows what the column at `cell` has in slot `position` */

/* Kinds of blocks (2.2). */
#define LIVEBUF_KIND_SHAPE_ 1
#define LIVEBUF_KIND_RECORD_ 2
#define LIVEBUF_KIND_ARRAY_ 5
#define LIVEBUF_KIND_TABLE_ 8
#define LIVEBUF_KIND_LIST_ 9

/* The state of a remembered key that was made. */
#define LIVEBUF_KEY_ 0x4C424B4559000002u

static inline livebuf_cell_ livebuf_cell_of_(uint32_t tag, uint64_t cell, uint64_t position) {
  livebuf_cell_ made;
  made.cell = cell;
  made.position = (uint32_t)position;
  made.tag = tag;
  return made;
}

static inline uint64_t livebuf_load8_(const uint8_t *from) {
  uint64_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

static inline uint16_t livebuf_load2_(const uint8_t *from) {
  uint16_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

static inline uint32_t livebuf_load4_(const uint8_t *from) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

/* The word that a key's fingerprint is made from; of at most seven bytes its cell (3.3, 4.2).
   Of a literal the compiler knows it. */
LIVEBUF_ALWAYS_ uint64_t livebuf_mix_(const char *key,
                                                                   size_t length) {
  uint64_t mix = (uint64_t)(0x80 | length) << 56, first, last;
  if (length > 7) {
    memcpy(&first, key, 8);
    memcpy(&last, key + length - 8, 8);
    return first ^ (last << 29 | last >> 35) ^ length;
  }
  if (length > 0) mix |= (uint64_t)(uint8_t)key[0];
  if (length > 1) mix |= (uint64_t)(uint8_t)key[1] << 8;
  if (length > 2) mix |= (uint64_t)(uint8_t)key[2] << 16;
  if (length > 3) mix |= (uint64_t)(uint8_t)key[3] << 24;
  if (length > 4) mix |= (uint64_t)(uint8_t)key[4] << 32;
  if (length > 5) mix |= (uint64_t)(uint8_t)key[5] << 40;
  if (length > 6) mix |= (uint64_t)(uint8_t)key[6] << 48;
  return mix;
}

/* Whether what lies between the first and the last eight of `length` bytes is equal. */
LIVEBUF_HOT_ bool livebuf_equal_within_(const uint8_t *one, const uint8_t *two, size_t length) {
  size_t at;
  for (at = 8; at + 8 < length; at += 8) {
    if (livebuf_load8_(one + at) != livebuf_load8_(two + at)) return false;
  }
  return true;
}

/* Whether `length` bytes, at least eight, are equal. */
LIVEBUF_ALWAYS_ bool livebuf_equal_(const uint8_t *one, const char *other, size_t length) {
  const uint8_t *two = (const uint8_t *)other;
  return livebuf_load8_(one) == livebuf_load8_(two) &&
         livebuf_load8_(one + length - 8) == livebuf_load8_(two + length - 8) &&
         (length <= 16 || livebuf_equal_within_(one, two, length));
}

/* Index of a key among the first `used` of a shape (4): -1 where it is not there, -2 for the
   library. */
LIVEBUF_ALWAYS_ int livebuf_in_shape_(
    const uint8_t *bytes, uint64_t size, uint64_t shape, uint32_t used, const char *key,
    size_t length, uint64_t mix) {
  const uint64_t ones = 0x0101010101010101u;
  uint64_t wanted = (mix * 0x9E3779B97F4A7C15u >> 56) * ones, keys, word, marks, cell;
  uint32_t head, base, index;
  if (shape + 8 > size) return -2;
  head = livebuf_load4_(bytes + shape);
  if ((head & 0xFF) != LIVEBUF_KIND_SHAPE_) return -2;
  if (used > (head >> 16 & 0xFF)) used = head >> 16 & 0xFF;
  keys = shape + ((8 + (head >> 8 & 0xFF) + 7) & ~(uint64_t)7);
  /* The fingerprints end before the keys of as many places do. */
  if (keys + 8 * (uint64_t)used > size) return -2;
  for (base = 0; base < used; base += 8) {
    word = livebuf_load8_(bytes + shape + 8 + base) ^ wanted;
    for (marks = (word - ones) & ~word & ones << 7; marks; marks &= marks - 1) {
      index = base + (uint32_t)__builtin_ctzll(marks) / 8;
      if (index >= used) return -1;
      cell = livebuf_load8_(bytes + keys + 8 * (uint64_t)index);
      if (length <= 7) {
        if (cell == mix) return (int)index;
      } else if ((cell >> 32 & 0xBFFFFFFFu) == length) {
        if ((uint32_t)cell + (uint64_t)length > size) return -2;
        if (livebuf_equal_(bytes + (uint32_t)cell, key, length)) return (int)index;
      }
    }
  }
  return -1;
}

/* A number of 1, 2 or 4 bytes. */
LIVEBUF_ALWAYS_ uint64_t livebuf_load_(const uint8_t *from, uint64_t width) {
  if (width == 1) return from[0];
  if (width == 2) return livebuf_load2_(from);
  return livebuf_load4_(from);
}

/* The text in a slot of a column whose texts are named by codes (6.1). `values`: where its slots
   begin. `room`: the column's capacity. */
LIVEBUF_HOT_ livebuf_cell_ livebuf_coded_(const uint8_t *bytes, uint64_t size, uint64_t width,
                                          uint64_t values, uint64_t room, uint32_t slot) {
  const livebuf_cell_ ask = livebuf_cell_of_(LIVEBUF_ASK_, 0, 0);
  uint64_t at = values + width * slot, code, cell;
  /* The header of the column of the texts. */
  uint64_t below = values + ((width * room + 7) & ~(uint64_t)7);
  if (at + width > size || below + 16 > size) return ask;
  code = livebuf_load_(bytes + at, width);
  at = livebuf_load4_(bytes + below + 12) + 8 * code;
  if (code >= livebuf_load4_(bytes + below + 4) || at + 8 > size) return ask;
  cell = livebuf_load8_(bytes + at);
  /* The column below owns the text (3.3). */
  if (!(cell >> 63)) cell &= ~((uint64_t)1 << 62);
  return livebuf_cell_of_(LIVEBUF_TAG_STRING, cell, at);
}

/* The text in a slot of a column whose texts lie behind each other, in the list at `list` (6.4). */
LIVEBUF_HOT_ livebuf_cell_ livebuf_run_text_(const uint8_t *bytes, uint64_t size, uint64_t list,
                                             uint32_t slot) {
  const livebuf_cell_ ask = livebuf_cell_of_(LIVEBUF_ASK_, 0, 0);
  uint64_t head, at, width, start, end, data;
  if (list + 32 > size || bytes[list] != LIVEBUF_KIND_LIST_) return ask;
  if (bytes[list + 1]) {
    /* All texts have one length. */
    width = livebuf_load4_(bytes + list + 4);
    if (width > 0x3FFFFFFFu) return ask;
    start = width * slot;
    end = start + width;
  } else {
    /* Offsets of one, two or four bytes without gaps. */
    if (list + 48 > size) return ask;
    head = livebuf_load8_(bytes + list + 32);
    width = (head >> 8 & 0xFF) - LIVEBUF_COLUMN_U8;
    if ((head & 0xFF) != LIVEBUF_KIND_ARRAY_ || width > 2 || head >> 16 & 0xFFFF) return ask;
    width = (uint64_t)1 << width;
    at = livebuf_load4_(bytes + list + 44) + width * slot;
    if ((uint64_t)slot + 1 >= head >> 32 || at + 2 * width > size) return ask;
    start = livebuf_load_(bytes + at, width);
    end = livebuf_load_(bytes + at + width, width);
  }
  data = livebuf_load4_(bytes + list + 28);
  if (end < start || end - start > 0x3FFFFFFFu || data + end > 0xFFFFFFFFu) return ask;
  return livebuf_cell_of_(LIVEBUF_TAG_STRING, (data + start) | (end - start) << 32, 0xFFFFFFFFu);
}

/* A number in a column where whole values are integers (6.1), up to `bound`. */
LIVEBUF_ALWAYS_ livebuf_cell_ livebuf_number_(double number, double bound) {
  uint64_t bits;
  memcpy(&bits, &number, 8);
  if (number >= -bound && number <= bound && (double)(int64_t)number == number &&
      bits != (uint64_t)1 << 63) {
    return livebuf_cell_of_(LIVEBUF_TAG_I64, (uint64_t)(int64_t)number, 0);
  }
  return livebuf_cell_of_(LIVEBUF_TAG_F64, bits, 0);
}

/* A column's code as its type, so that C compilers name a type that a switch leaves out. In C++ a
   code that is no type's must not be converted. */
#ifdef __cplusplus
#define LIVEBUF_TYPE_(column) (column)
#else
#define LIVEBUF_TYPE_(column) (livebuf_column_type)(column)
#endif

/* What the column with this header has in a slot (6.1, 6.2). */
LIVEBUF_ALWAYS_ livebuf_cell_ livebuf_in_column_(const uint8_t *bytes, uint64_t size,
                                                 uint64_t header, uint32_t slot) {
  const livebuf_cell_ ask = livebuf_cell_of_(LIVEBUF_ASK_, 0, 0);
  uint64_t first, second, data, at;
  uint32_t column, gaps;
  float single;
  double number;
  if (header + 16 > size) return ask;
  first = livebuf_load8_(bytes + header);
  second = livebuf_load8_(bytes + header + 8);
  column = first >> 8 & 0xFF;
  gaps = first >> 16 & 0xFF;
  data = second >> 32;
  if ((first & 0xFF) != LIVEBUF_KIND_ARRAY_ || slot >= first >> 32) return ask;
  if (gaps) {
    /* Left to the library: two bitmaps, which are rare, and containers, nulls and extended values.
       The bitmap of a run of texts lies where its list says. */
    uint64_t bits = data;
    if (gaps > 2 || column > LIVEBUF_COLUMN_TEXT_RUN ||
        (column > LIVEBUF_COLUMN_STRING && column < LIVEBUF_COLUMN_NUMBERS_F32)) {
      return ask;
    }
    if (column == LIVEBUF_COLUMN_TEXT_RUN) {
      if (data + 16 > size) return ask;
      bits = livebuf_load4_(bytes + data + 8);
    }
    if (bits + slot / 8 + 1 > size) return ask;
    if (!(bytes[bits + slot / 8] >> (slot & 7) & 1)) {
      return livebuf_cell_of_(gaps == 1 ? LIVEBUF_TAG_NULL : 0, 0, 0);
    }
    if (column != LIVEBUF_COLUMN_TEXT_RUN) data += ((second & 0xFFFFFFFFu) + 63) / 64 * 8;
  }
  switch (LIVEBUF_TYPE_(column)) {
    case LIVEBUF_COLUMN_CELLS:
      at = data + 8 + 8 * (uint64_t)slot + 8 * (slot / 8);
      if (at + 8 > size) return ask;
      return livebuf_cell_of_(bytes[data + 72 * (uint64_t)(slot / 8) + slot % 8],
                              livebuf_load8_(bytes + at), at);
    case LIVEBUF_COLUMN_BOOL:
      at = data + slot / 8;
      if (at + 1 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_FALSE + (bytes[at] >> (slot & 7) & 1u), 0, 0);
    case LIVEBUF_COLUMN_I8:
      at = data + slot;
      if (at + 1 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, (uint64_t)(int64_t)(int8_t)bytes[at], 0);
    case LIVEBUF_COLUMN_I16:
      at = data + 2 * (uint64_t)slot;
      if (at + 2 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64,
                              (uint64_t)(int64_t)(int16_t)livebuf_load2_(bytes + at), 0);
    case LIVEBUF_COLUMN_I32:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64,
                              (uint64_t)(int64_t)(int32_t)livebuf_load4_(bytes + at), 0);
    case LIVEBUF_COLUMN_I64:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, livebuf_load8_(bytes + at), 0);
    case LIVEBUF_COLUMN_U8:
      at = data + slot;
      if (at + 1 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, bytes[at], 0);
    case LIVEBUF_COLUMN_U16:
      at = data + 2 * (uint64_t)slot;
      if (at + 2 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, livebuf_load2_(bytes + at), 0);
    case LIVEBUF_COLUMN_U32:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, livebuf_load4_(bytes + at), 0);
    case LIVEBUF_COLUMN_U64:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      first = livebuf_load8_(bytes + at);
      return livebuf_cell_of_(first >> 63 ? LIVEBUF_TAG_U64 : LIVEBUF_TAG_I64, first, 0);
    case LIVEBUF_COLUMN_F32:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      memcpy(&single, bytes + at, 4);
      number = single;
      memcpy(&first, &number, 8);
      return livebuf_cell_of_(LIVEBUF_TAG_F64, first, 0);
    case LIVEBUF_COLUMN_F64:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_F64, livebuf_load8_(bytes + at), 0);
    case LIVEBUF_COLUMN_STRING:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_STRING, livebuf_load8_(bytes + at), at);
    case LIVEBUF_COLUMN_OBJECTS:
    case LIVEBUF_COLUMN_ARRAYS:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      return livebuf_cell_of_(
          column == LIVEBUF_COLUMN_OBJECTS ? LIVEBUF_TAG_OBJECT : LIVEBUF_TAG_ARRAY,
          livebuf_load4_(bytes + at), at);
    case LIVEBUF_COLUMN_STRUCT:
      /* A row of a table, named by the table and the upper half of the cell. */
      return livebuf_cell_of_(LIVEBUF_TAG_OBJECT,
                              data | (uint64_t)(slot | 0x80000000u) << 32, 0);
    case LIVEBUF_COLUMN_NUMBERS_F32:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      memcpy(&single, bytes + at, 4);
      return livebuf_number_(single, 16777216.0);
    case LIVEBUF_COLUMN_NUMBERS_F64:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      memcpy(&number, bytes + at, 8);
      return livebuf_number_(number, 9007199254740992.0);
    case LIVEBUF_COLUMN_DICTIONARY_U8:
    case LIVEBUF_COLUMN_DICTIONARY_U16:
      return livebuf_coded_(bytes, size, column - LIVEBUF_COLUMN_DICTIONARY_U8 + 1, data,
                            second & 0xFFFFFFFFu, slot);
    case LIVEBUF_COLUMN_TEXT_RUN:
      return livebuf_run_text_(bytes, size, data, slot);
    /* The library reads these. There is no default, so compilers name a type that is missing. */
    case LIVEBUF_COLUMN_NULL:
    case LIVEBUF_COLUMN_LIST:
    case LIVEBUF_COLUMN_FIXED_LIST:
    case LIVEBUF_COLUMN_MARKED_F32:
    case LIVEBUF_COLUMN_MARKED_F64:
    case LIVEBUF_COLUMN_DATE:
    case LIVEBUF_COLUMN_TIME:
    case LIVEBUF_COLUMN_DATE_TIME:
    case LIVEBUF_COLUMN_TIMESTAMP:
    case LIVEBUF_COLUMN_DECIMAL:
    case LIVEBUF_COLUMN_UUID:
    case LIVEBUF_COLUMN_F16:
    case LIVEBUF_COLUMN_BOOL8:
      break;
  }
  return ask;
}

/* The member of an object with a key, by the object's cell: a record (5) or a row (6.3). */
LIVEBUF_ALWAYS_ livebuf_cell_ livebuf_member_in_(const livebuf_doc *doc, uint64_t object,
                                                 const char *key, size_t length, uint64_t mix) {
  const livebuf_cell_ ask = livebuf_cell_of_(LIVEBUF_ASK_, 0, 0);
  const livebuf_cell_ none = livebuf_cell_of_(0, 0, 0);
  const uint8_t *bytes = doc->bytes;
  uint64_t size = doc->length, home = (uint32_t)object, head, at;
  uint32_t row = (uint32_t)(object >> 32), used;
  livebuf_cell_ value;
  int found;
  if (home + 24 > size) return ask;
  head = livebuf_load8_(bytes + home);
  if (row & 0x80000000u) {
    row &= 0x7FFFFFFFu;
    if (home + 40 > size) return ask;
    used = livebuf_load2_(bytes + home + 20);
    /* Each column has as many elements as there are rows. A wide shape is for the library. */
    if ((head & 0xFF) != LIVEBUF_KIND_TABLE_ || !used || used > 255) return ask;
    if (row >= livebuf_load4_(bytes + home + 28)) return ask;
    found = livebuf_in_shape_(bytes, size, head >> 32, used, key, length, mix);
    /* What no column has may be among the extras. */
    if (found < 0) return found == -2 || livebuf_load4_(bytes + home + 16) ? ask : none;
    at = home + 24 + 16 * (uint64_t)found;
    value = livebuf_in_column_(bytes, size, at, row);
    return value.tag == LIVEBUF_ASK_ ? livebuf_cell_of_(LIVEBUF_ASK_COLUMN_, at, row) : value;
  }
  used = head >> 16 & 0xFF;
  if ((head & 0xFF) != LIVEBUF_KIND_RECORD_) return ask;
  if (!used) return none;
  found = livebuf_in_shape_(bytes, size, head >> 32, used, key, length, mix);
  if (found < 0) return found == -2 ? ask : none;
  at = home + 16 + 8 * (uint64_t)found + 8 * ((uint64_t)found / 8);
  if (at + 8 > size) return ask;
  return livebuf_cell_of_(bytes[home + 8 + 72 * ((uint64_t)found / 8) + (uint64_t)found % 8],
                          livebuf_load8_(bytes + at), at);
}

/* The same for keys of at most seven bytes, which their cells hold: fewer values to keep in
   registers. */
LIVEBUF_HOT_ livebuf_cell_ livebuf_member_short_(const livebuf_doc *doc, uint64_t object,
                                                 uint64_t mix) {
  return livebuf_member_in_(doc, object, NULL, 0, mix);
}

LIVEBUF_HOT_ livebuf_cell_ livebuf_member_long_(const livebuf_doc *doc, uint64_t object,
                                                const char *key, size_t length, uint64_t mix) {
  return livebuf_member_in_(doc, object, key, length, mix);
}

/* The element of an array, by the array's cell; arrays in lists and such that moved are left to
   the library. */
static inline livebuf_cell_ livebuf_element_(const livebuf_doc *doc, uint64_t array,
                                             size_t index) {
  const livebuf_cell_ ask = livebuf_cell_of_(LIVEBUF_ASK_, 0, 0);
  livebuf_cell_ found;
  if (array >> 32 || index > 0x7FFFFFFFu) return ask;
  found = livebuf_in_column_(doc->bytes, doc->length, array, (uint32_t)index);
  if (!found.tag) found.tag = LIVEBUF_ASK_;
  return found;
}

/* A value of the same document, or none. */
LIVEBUF_ALWAYS_ livebuf_value livebuf_of_(livebuf_value from, livebuf_cell_ found) {
  livebuf_value value;
  value.doc = found.tag ? from.doc : NULL;
  value.cell = found.cell;
  value.position = found.position;
  value.generation = from.generation;
  value.tag = found.tag;
  value.status = found.tag ? LIVEBUF_OK : LIVEBUF_NOT_FOUND;
  return value;
}

/* The library reads a column. The object is a copy, so that only this way needs its address. */
LIVEBUF_ALWAYS_ livebuf_value livebuf_get_in_column_(livebuf_value object, livebuf_cell_ place) {
  return livebuf_get_in_column(&object, place.cell, place.position);
}

/* Whether this is a value of that tag, and its document was not edited since. */
LIVEBUF_ALWAYS_ bool livebuf_is_(livebuf_value value, uint32_t tag) {
  return value.tag == tag && value.doc && value.doc->generation == value.generation;
}

#endif /* LIVEBUF_INLINE */

/* Calls that choose by what the compiler knows of their arguments. */
#if LIVEBUF_INLINE
#define LIVEBUF_THIN_ LIVEBUF_ALWAYS_
#else
#define LIVEBUF_THIN_ static inline
#endif

#if LIVEBUF_INLINE

/* These have the names of the library's functions, which they call where there is more to do. */

LIVEBUF_ALWAYS_ livebuf_value livebuf_at_(livebuf_value array, size_t index) {
  if (livebuf_is_(array, LIVEBUF_TAG_ARRAY)) {
    livebuf_cell_ found = livebuf_element_(array.doc, array.cell, index);
    if (found.tag != LIVEBUF_ASK_) return livebuf_of_(array, found);
  }
  return livebuf_at(array, index);
}
#define livebuf_at(array, index) livebuf_at_(array, index)

LIVEBUF_ALWAYS_ livebuf_value livebuf_get_n_(livebuf_value object, const char *key,
                                             size_t length) {
  return livebuf_get_in_n(&object, key, length);
}
#define livebuf_get_n(object, key, length) livebuf_get_n_(object, key, length)

LIVEBUF_ALWAYS_ livebuf_value livebuf_get_key_(livebuf_value object, const livebuf_key *key) {
  if (key && key->private_state == LIVEBUF_KEY_ && livebuf_is_(object, LIVEBUF_TAG_OBJECT)) {
    livebuf_cell_ found =
        key->private_length <= 7
            ? livebuf_member_short_(object.doc, object.cell, key->private_mix)
            : livebuf_member_long_(object.doc, object.cell, key->private_text,
                                   key->private_length, key->private_mix);
    if (found.tag < LIVEBUF_ASK_) return livebuf_of_(object, found);
    if (found.tag == LIVEBUF_ASK_COLUMN_) return livebuf_get_in_column_(object, found);
  }
  return livebuf_get_key(object, key);
}
#define livebuf_get_key(object, key) livebuf_get_key_(object, key)

LIVEBUF_ALWAYS_ int64_t livebuf_get_key_i64_or_(livebuf_value object, const livebuf_key *key,
                                                int64_t fallback) {
  livebuf_value found = livebuf_get_key(object, key);
  return found.tag == LIVEBUF_TAG_I64 ? (int64_t)found.cell : fallback;
}
#define livebuf_get_key_i64_or(object, key, fallback) \
  livebuf_get_key_i64_or_(object, key, fallback)

LIVEBUF_ALWAYS_ livebuf_str livebuf_get_str_(livebuf_value value) {
  if (livebuf_is_(value, LIVEBUF_TAG_STRING)) {
    /* 3.3: in the cell itself, or elsewhere. */
    uint32_t word = (uint32_t)(value.cell >> 32);
    bool inside = word >> 31;
    uint64_t at = inside ? value.position : (uint32_t)value.cell;
    uint32_t length = inside ? word >> 24 & 0x7F : word & 0x3FFFFFFF;
    if (at + length <= value.doc->length && (!inside || length <= 7)) {
      livebuf_str text;
      text.data = (const char *)value.doc->bytes + at;
      text.length = length;
      text.generation = value.generation;
      return text;
    }
  }
  return livebuf_get_str(value);
}
#define livebuf_get_str(value) livebuf_get_str_(value)

LIVEBUF_ALWAYS_ bool livebuf_next_(livebuf_iter *iter) {
  if (iter && iter->private_rows && iter->private_doc->generation == iter->private_generation) {
    iter->value.doc = iter->private_doc;
    iter->value.cell = iter->private_row;
    iter->value.position = 0;
    iter->value.generation = iter->private_generation;
    iter->value.tag = LIVEBUF_TAG_OBJECT;
    iter->value.status = LIVEBUF_OK;
    iter->index++;
    iter->private_row += (uint64_t)1 << 32;
    iter->private_rows--;
    return true;
  }
  return livebuf_next(iter);
}
#define livebuf_next(iter) livebuf_next_(iter)

#endif /* LIVEBUF_INLINE */

static inline livebuf_status livebuf_init_object(livebuf_doc *doc, uint8_t *buffer,
                                                 size_t capacity, size_t members) {
  livebuf_status status = livebuf_init(doc, buffer, capacity);
  return status ? status : livebuf_set_root(doc, livebuf_object(members), NULL);
}

static inline livebuf_status livebuf_init_array(livebuf_doc *doc, uint8_t *buffer,
                                                size_t capacity, size_t elements) {
  livebuf_status status = livebuf_init(doc, buffer, capacity);
  return status ? status : livebuf_set_root(doc, livebuf_array(elements), NULL);
}

LIVEBUF_THIN_ livebuf_value livebuf_get(livebuf_value object, const char *key) {
  size_t length = livebuf_length_(key);
#if LIVEBUF_INLINE
  if (__builtin_constant_p(length) && livebuf_is_(object, LIVEBUF_TAG_OBJECT)) {
    uint64_t mix = livebuf_mix_(key, length);
    livebuf_cell_ found = length <= 7
                              ? livebuf_member_short_(object.doc, object.cell, mix)
                              : livebuf_member_long_(object.doc, object.cell, key, length, mix);
    if (found.tag < LIVEBUF_ASK_) return livebuf_of_(object, found);
    if (found.tag == LIVEBUF_ASK_COLUMN_) return livebuf_get_in_column_(object, found);
  }
#endif
  return livebuf_get_n(object, key, length);
}

static inline livebuf_value livebuf_pointer(livebuf_value value, const char *pointer) {
  return livebuf_pointer_n(value, pointer, livebuf_length_(pointer));
}

static inline bool livebuf_exists(livebuf_value value) { return value.tag != 0; }

static inline bool livebuf_is_null(livebuf_value value) { return value.tag == LIVEBUF_TAG_NULL; }

static inline bool livebuf_get_bool(livebuf_value value) {
  return livebuf_get_bool_or(value, false);
}

static inline int64_t livebuf_get_i64(livebuf_value value) { return livebuf_get_i64_or(value, 0); }

static inline uint64_t livebuf_get_u64(livebuf_value value) {
  return livebuf_get_u64_or(value, 0);
}

static inline double livebuf_get_f64(livebuf_value value) { return livebuf_get_f64_or(value, 0); }

static inline bool livebuf_str_equals(livebuf_str text, const char *other) {
  size_t length = livebuf_length_(other);
  return text.data && other && text.length == length && !memcmp(text.data, other, length);
}

static inline bool livebuf_get_bool_or(livebuf_value value, bool fallback) {
  return value.tag == LIVEBUF_TAG_TRUE ? true : value.tag == LIVEBUF_TAG_FALSE ? false : fallback;
}

static inline int64_t livebuf_get_i64_or(livebuf_value value, int64_t fallback) {
  return value.tag == LIVEBUF_TAG_I64 ? (int64_t)value.cell : fallback;
}

static inline uint64_t livebuf_get_u64_or(livebuf_value value, uint64_t fallback) {
  bool fits = value.tag == LIVEBUF_TAG_U64 ||
              (value.tag == LIVEBUF_TAG_I64 && (int64_t)value.cell >= 0);
  return fits ? value.cell : fallback;
}

static inline double livebuf_get_f64_or(livebuf_value value, double fallback) {
  double number;
  if (value.tag == LIVEBUF_TAG_F64) {
    memcpy(&number, &value.cell, sizeof number);
    return number;
  }
  if (value.tag == LIVEBUF_TAG_I64) return (double)(int64_t)value.cell;
  if (value.tag == LIVEBUF_TAG_U64) return (double)value.cell;
  return value.tag ? livebuf_number_text_f64_or(value, fallback) : fallback;
}

static inline livebuf_str livebuf_get_str_or(livebuf_value value, const char *fallback) {
  livebuf_str text = livebuf_get_str(value);
  if (!text.data) {
    text.data = fallback;
    text.length = (uint32_t)livebuf_length_(fallback);
  }
  return text;
}

static inline livebuf_bytes livebuf_get_bytes_or(livebuf_value value, const void *fallback,
                                                 uint32_t length) {
  livebuf_bytes bytes = livebuf_get_bytes(value);
  if (!bytes.data) {
    bytes.data = (const uint8_t *)fallback;
    bytes.length = length;
  }
  return bytes;
}

static inline livebuf_status livebuf_read_bool(livebuf_value value, bool *result) {
  bool is_bool = value.tag == LIVEBUF_TAG_TRUE || value.tag == LIVEBUF_TAG_FALSE;
  if (!result || !is_bool) return livebuf_not_read_(value, result);
  *result = value.tag == LIVEBUF_TAG_TRUE;
  return LIVEBUF_OK;
}

static inline livebuf_status livebuf_read_i64(livebuf_value value, int64_t *result) {
  if (!result || value.tag != LIVEBUF_TAG_I64) return livebuf_not_read_(value, result);
  *result = (int64_t)value.cell;
  return LIVEBUF_OK;
}

static inline livebuf_status livebuf_read_u64(livebuf_value value, uint64_t *result) {
  bool fits = value.tag == LIVEBUF_TAG_U64 ||
              (value.tag == LIVEBUF_TAG_I64 && (int64_t)value.cell >= 0);
  if (!result || !fits) return livebuf_not_read_(value, result);
  *result = value.cell;
  return LIVEBUF_OK;
}

static inline livebuf_status livebuf_read_f64(livebuf_value value, double *result) {
  /* By two fallbacks: a number is what comes out by both. */
  double number = livebuf_get_f64_or(value, 0);
  bool is_number = value.tag == LIVEBUF_TAG_F64 || number < 0 || number > 0 ||
                   livebuf_get_f64_or(value, 1) < 1;
  if (!result || !is_number) return livebuf_not_read_(value, result);
  *result = number;
  return LIVEBUF_OK;
}

static inline livebuf_status livebuf_read_str(livebuf_value value, livebuf_str *result) {
  livebuf_str text = livebuf_get_str(value);
  if (!result || !text.data) return livebuf_not_read_(value, result);
  *result = text;
  return LIVEBUF_OK;
}

static inline livebuf_status livebuf_read_bytes(livebuf_value value, livebuf_bytes *result) {
  livebuf_bytes bytes = livebuf_get_bytes(value);
  if (!result || !bytes.data) return livebuf_not_read_(value, result);
  *result = bytes;
  return LIVEBUF_OK;
}

static inline livebuf_status livebuf_read_number_text(livebuf_value value,
                                                      livebuf_str *result) {
  livebuf_str text = livebuf_get_number_text(value);
  if (!result || !text.data) return livebuf_not_read_(value, result);
  *result = text;
  return LIVEBUF_OK;
}

static inline livebuf_status livebuf_read_date(livebuf_value value, int32_t *days) {
  return livebuf_read_extended(value, LIVEBUF_KIND_DATE, days);
}

static inline livebuf_status livebuf_read_time(livebuf_value value, int64_t *microseconds) {
  return livebuf_read_extended(value, LIVEBUF_KIND_TIME, microseconds);
}

static inline livebuf_status livebuf_read_date_time(livebuf_value value, int64_t *microseconds) {
  return livebuf_read_extended(value, LIVEBUF_KIND_DATE_TIME, microseconds);
}

static inline livebuf_status livebuf_read_timestamp(livebuf_value value, int64_t *microseconds) {
  return livebuf_read_extended(value, LIVEBUF_KIND_TIMESTAMP, microseconds);
}

static inline livebuf_status livebuf_read_decimal(livebuf_value value, livebuf_decimal *decimal) {
  return livebuf_read_extended(value, LIVEBUF_KIND_DECIMAL, decimal);
}

static inline livebuf_status livebuf_read_uuid(livebuf_value value, uint8_t bytes[16]) {
  return livebuf_read_extended(value, LIVEBUF_KIND_UUID, bytes);
}

static inline int32_t livebuf_get_date_or(livebuf_value value, int32_t fallback) {
  (void)livebuf_read_date(value, &fallback);
  return fallback;
}

static inline int64_t livebuf_get_time_or(livebuf_value value, int64_t fallback) {
  (void)livebuf_read_time(value, &fallback);
  return fallback;
}

static inline int64_t livebuf_get_date_time_or(livebuf_value value, int64_t fallback) {
  (void)livebuf_read_date_time(value, &fallback);
  return fallback;
}

static inline int64_t livebuf_get_timestamp_or(livebuf_value value, int64_t fallback) {
  (void)livebuf_read_timestamp(value, &fallback);
  return fallback;
}

static inline livebuf_status livebuf_set_null(livebuf_doc *doc, livebuf_node node,
                                              const char *key) {
  return livebuf_set(doc, node, key, livebuf_null());
}

static inline livebuf_status livebuf_set_bool(livebuf_doc *doc, livebuf_node node,
                                              const char *key, bool value) {
  return livebuf_set(doc, node, key, livebuf_bool(value));
}

static inline livebuf_status livebuf_set_i64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, int64_t value) {
  return livebuf_set_i64_n(doc, node, key, livebuf_length_(key), value);
}

static inline livebuf_status livebuf_set_u64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, uint64_t value) {
  return livebuf_set(doc, node, key, livebuf_u64(value));
}

static inline livebuf_status livebuf_set_f64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, double value) {
  return livebuf_set_f64_n(doc, node, key, livebuf_length_(key), value);
}

static inline livebuf_status livebuf_set_str(livebuf_doc *doc, livebuf_node node,
                                             const char *key, const char *value) {
  return livebuf_set_str_n(doc, node, key, livebuf_length_(key), value, livebuf_length_(value));
}

static inline livebuf_status livebuf_set_bytes(livebuf_doc *doc, livebuf_node node,
                                               const char *key, const void *bytes,
                                               size_t length) {
  return livebuf_set(doc, node, key, livebuf_bytes_n(bytes, length));
}

static inline livebuf_status livebuf_set_object(livebuf_doc *doc, livebuf_node node,
                                                const char *key, size_t members,
                                                livebuf_node *child) {
  return livebuf_set_n(doc, node, key, livebuf_length_(key), livebuf_object(members), child);
}

static inline livebuf_status livebuf_set_array(livebuf_doc *doc, livebuf_node node,
                                               const char *key, size_t elements,
                                               livebuf_node *child) {
  return livebuf_set_n(doc, node, key, livebuf_length_(key), livebuf_array(elements), child);
}

static inline livebuf_status livebuf_set(livebuf_doc *doc, livebuf_node node, const char *key,
                                         livebuf_new value) {
  return livebuf_set_n(doc, node, key, livebuf_length_(key), value, NULL);
}

static inline livebuf_status livebuf_push_null(livebuf_doc *doc, livebuf_node node) {
  return livebuf_push(doc, node, livebuf_null(), NULL);
}

static inline livebuf_status livebuf_push_bool(livebuf_doc *doc, livebuf_node node, bool value) {
  return livebuf_push(doc, node, livebuf_bool(value), NULL);
}

static inline livebuf_status livebuf_push_i64(livebuf_doc *doc, livebuf_node node,
                                              int64_t value) {
  return livebuf_push(doc, node, livebuf_i64(value), NULL);
}

static inline livebuf_status livebuf_push_u64(livebuf_doc *doc, livebuf_node node,
                                              uint64_t value) {
  return livebuf_push(doc, node, livebuf_u64(value), NULL);
}

static inline livebuf_status livebuf_push_f64(livebuf_doc *doc, livebuf_node node,
                                              double value) {
  return livebuf_push(doc, node, livebuf_f64(value), NULL);
}

static inline livebuf_status livebuf_push_str(livebuf_doc *doc, livebuf_node node,
                                              const char *value) {
  return livebuf_push(doc, node, livebuf_string(value), NULL);
}

static inline livebuf_status livebuf_push_bytes(livebuf_doc *doc, livebuf_node node,
                                                const void *bytes, size_t length) {
  return livebuf_push(doc, node, livebuf_bytes_n(bytes, length), NULL);
}

static inline livebuf_node livebuf_child(const livebuf_doc *doc, livebuf_node node,
                                         const char *key) {
  return livebuf_child_n(doc, node, key, livebuf_length_(key));
}

static inline livebuf_node livebuf_find(const livebuf_doc *doc, const char *pointer) {
  return livebuf_find_n(doc, pointer, livebuf_length_(pointer));
}

static inline bool livebuf_node_exists(livebuf_node node) {
  return (uint32_t)node.private_time != 0;
}

static inline livebuf_status livebuf_remove(livebuf_doc *doc, livebuf_node node,
                                            const char *key) {
  return livebuf_remove_n(doc, node, key, livebuf_length_(key));
}

static inline livebuf_new livebuf_null(void) { return livebuf_new_(LIVEBUF_NEW_NULL, NULL, 0); }

static inline livebuf_new livebuf_bool(bool boolean) {
  livebuf_new value = livebuf_i64(boolean);
  value.kind = LIVEBUF_NEW_BOOL;
  return value;
}

static inline livebuf_new livebuf_i64(int64_t integer) {
  livebuf_new value;
  value.payload.i64 = integer;
  value.length = 0;
  value.kind = LIVEBUF_NEW_I64;
  return value;
}

static inline livebuf_new livebuf_u64(uint64_t natural) {
  livebuf_new value = livebuf_i64((int64_t)natural);
  value.kind = LIVEBUF_NEW_U64;
  return value;
}

static inline livebuf_new livebuf_f64(double number) {
  livebuf_new value;
  value.payload.f64 = number;
  value.length = 0;
  value.kind = LIVEBUF_NEW_F64;
  return value;
}

static inline livebuf_new livebuf_string(const char *text) {
  return livebuf_string_n(text, livebuf_length_(text));
}

static inline livebuf_new livebuf_string_n(const char *text, size_t length) {
  return livebuf_new_(LIVEBUF_NEW_STRING, text, text ? length : 1);
}

static inline livebuf_new livebuf_bytes_n(const void *bytes, size_t length) {
  return livebuf_new_(LIVEBUF_NEW_BYTES, bytes, length);
}

static inline livebuf_new livebuf_number_text(const char *text) {
  return livebuf_new_(LIVEBUF_NEW_NUMBER_TEXT, text, livebuf_length_(text));
}

static inline livebuf_new livebuf_date(int32_t days) {
  livebuf_new value = livebuf_i64(days);
  value.kind = LIVEBUF_NEW_DATE;
  return value;
}

static inline livebuf_new livebuf_time(int64_t microseconds) {
  livebuf_new value = livebuf_i64(microseconds);
  value.kind = LIVEBUF_NEW_TIME;
  return value;
}

static inline livebuf_new livebuf_date_time(int64_t microseconds) {
  livebuf_new value = livebuf_i64(microseconds);
  value.kind = LIVEBUF_NEW_DATE_TIME;
  return value;
}

static inline livebuf_new livebuf_timestamp(int64_t microseconds) {
  livebuf_new value = livebuf_i64(microseconds);
  value.kind = LIVEBUF_NEW_TIMESTAMP;
  return value;
}

static inline livebuf_new livebuf_decimal_i64(int64_t coefficient, uint32_t scale) {
  livebuf_new value = livebuf_i64(coefficient);
  value.length = scale;
  value.kind = LIVEBUF_NEW_DECIMAL;
  return value;
}

static inline livebuf_new livebuf_decimal_new(const livebuf_decimal *decimal) {
  return livebuf_new_(LIVEBUF_NEW_LARGE_DECIMAL, decimal, sizeof *decimal);
}

static inline livebuf_new livebuf_uuid(const uint8_t bytes[16]) {
  return livebuf_new_(LIVEBUF_NEW_UUID, bytes, 16);
}

static inline livebuf_new livebuf_extended(const char *text) {
  return livebuf_extended_n(text, livebuf_length_(text));
}

static inline livebuf_new livebuf_tensor_new(const livebuf_tensor *tensor) {
  return livebuf_new_(LIVEBUF_NEW_TENSOR, tensor, 0);
}

static inline livebuf_tensor livebuf_tensor_of(uint32_t column_type, uint32_t dimensions,
                                               const uint32_t *shape, const void *data,
                                               size_t length) {
  livebuf_tensor tensor;
  uint32_t index;
  memset(&tensor, 0, sizeof tensor);
  tensor.column_type = column_type;
  tensor.dimensions = shape ? dimensions : 0;
  for (index = 0; index < tensor.dimensions && index < LIVEBUF_MAX_DIMENSIONS; index++) {
    tensor.shape[index] = shape[index];
  }
  tensor.data = data;
  tensor.length = length;
  return tensor;
}

static inline livebuf_new livebuf_object(size_t members) {
  return livebuf_new_(LIVEBUF_NEW_OBJECT, NULL, members);
}

static inline livebuf_new livebuf_map(size_t members) {
  return livebuf_new_(LIVEBUF_NEW_MAP, NULL, members);
}

static inline livebuf_new livebuf_array(size_t elements) {
  return livebuf_new_(LIVEBUF_NEW_ARRAY, NULL, elements);
}

static inline livebuf_new livebuf_fields(const livebuf_field *fields, size_t count) {
  return livebuf_new_(LIVEBUF_NEW_FIELDS, fields, count);
}

static inline livebuf_field livebuf_member(const char *key, livebuf_new value) {
  livebuf_field field;
  field.key = key;
  field.key_length = livebuf_length_(key);
  field.value = value;
  return field;
}

static inline livebuf_error livebuf_last_error(const livebuf_doc *doc) {
  livebuf_error none = {LIVEBUF_NULL_ARGUMENT, 0, 0, 0, 0, 0};
  return doc ? doc->error : none;
}

static inline void livebuf_clear_error(livebuf_doc *doc) {
  if (doc) memset(&doc->error, 0, sizeof doc->error);
}

static inline livebuf_status livebuf_key_init(livebuf_key *key, const char *text) {
  return livebuf_key_init_n(key, text, livebuf_length_(text));
}

static inline livebuf_status livebuf_range(livebuf_value object, const char *low,
                                           const char *high, uint32_t flags,
                                           livebuf_iter *iter) {
  return livebuf_range_n(object, low, livebuf_length_(low), high, livebuf_length_(high), flags,
                         iter);
}

static inline livebuf_status livebuf_prefix(livebuf_value object, const char *prefix,
                                            uint32_t flags, livebuf_iter *iter) {
  return livebuf_prefix_n(object, prefix, livebuf_length_(prefix), flags, iter);
}

static inline bool livebuf_value_is_current(livebuf_value value) {
  return value.doc && value.doc->generation == value.generation;
}

static inline bool livebuf_str_is_current(const livebuf_doc *doc, livebuf_str text) {
  return doc && text.data && doc->generation == text.generation;
}

static inline bool livebuf_bytes_are_current(const livebuf_doc *doc, livebuf_bytes bytes) {
  return doc && bytes.data && doc->generation == bytes.generation;
}

static inline livebuf_status livebuf_set_pointer(livebuf_doc *doc, const char *pointer,
                                                 livebuf_new value) {
  return livebuf_set_pointer_n(doc, pointer, livebuf_length_(pointer), value, NULL);
}

static inline livebuf_status livebuf_remove_pointer(livebuf_doc *doc, const char *pointer) {
  return livebuf_remove_pointer_n(doc, pointer, livebuf_length_(pointer));
}

static inline livebuf_status livebuf_rename(livebuf_doc *doc, livebuf_node node,
                                            const char *from, const char *to) {
  return livebuf_rename_n(doc, node, from, livebuf_length_(from), to, livebuf_length_(to));
}

static inline livebuf_status livebuf_column_find_path(livebuf_value array, const char *pointer,
                                                      livebuf_column *column) {
  return livebuf_column_n(array, pointer, livebuf_length_(pointer), column);
}

#if LIVEBUF_STDIO
static inline livebuf_doc *livebuf_from_json_stream(FILE *stream,
                                                    const livebuf_json_options *options,
                                                    const livebuf_allocator *allocator,
                                                    livebuf_error *error) {
  char *text = NULL;
  size_t length = 0, capacity = 0;
  bool failed = !stream;
  livebuf_doc *doc = NULL;
  while (!failed) {
    size_t count;
    if (length == capacity) {
      size_t wanted = capacity ? 2 * capacity : 4096;
      char *more = (char *)realloc(text, wanted);
      failed = !more;
      if (failed) break;
      text = more;
      capacity = wanted;
    }
    count = fread(text + length, 1, capacity - length, stream);
    length += count;
    if (!count) break;
  }
  failed = failed || ferror(stream);
  if (!failed) {
    doc = livebuf_from_json(text, length, options, allocator, error);
  } else if (error) {
    memset(error, 0, sizeof *error);
    error->status = stream ? LIVEBUF_IO : LIVEBUF_NULL_ARGUMENT;
  }
  free(text);
  return doc;
}
#endif

#if LIVEBUF_STDIO
static inline livebuf_status livebuf_to_json_stream(livebuf_value value,
                                                    const livebuf_json_options *options,
                                                    FILE *stream) {
  livebuf_error error;
  livebuf_status status = LIVEBUF_OK;
  size_t length;
  char *text;
  if (!stream) return LIVEBUF_NULL_ARGUMENT;
  text = livebuf_to_json_new(value, options, NULL, &length, &error);
  if (!text) return error.status;
  if (fwrite(text, 1, length, stream) != length) status = LIVEBUF_IO;
  livebuf_free(NULL, text, length + 1);
  return status;
}
#endif

#if LIVEBUF_STDIO
static inline livebuf_status livebuf_print_json(livebuf_value value) {
  livebuf_status status = livebuf_to_json_stream(value, NULL, stdout);
  if (!status && putchar('\n') == EOF) status = LIVEBUF_IO;
  return status;
}
#endif

#if LIVEBUF_STDIO
static inline void livebuf_perror(const char *what, livebuf_error error) {
  char line[160];
  livebuf_error_text(error, line, sizeof line);
  fprintf(stderr, "%s%s%s\n", what ? what : "", what && *what ? ": " : "", line);
}
#endif

static inline livebuf_status livebuf_patch_json(livebuf_doc *doc, const char *text) {
  return livebuf_patch_json_n(doc, text, livebuf_length_(text));
}

static inline livebuf_status livebuf_merge_json(livebuf_doc *doc, const char *text) {
  return livebuf_merge_json_n(doc, text, livebuf_length_(text));
}

static inline livebuf_query *livebuf_query_new(const char *text, livebuf_error *error) {
  return livebuf_query_new_n(text, livebuf_length_(text), 0, error);
}

#ifdef __cplusplus
}
#endif

#endif /* LIVEBUF_H */
