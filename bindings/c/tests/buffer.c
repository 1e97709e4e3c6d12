/* The buffer API: every call by key, index and pointer, every misuse, and no allocation. The
   linker puts the functions below in the place of malloc and its kin (--wrap). */
#include <livebuf.h>

#include "check.h"

static long allocations = 0;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
void *__wrap_malloc(size_t size) { return allocations++, __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) {
  return allocations++, __real_calloc(count, size);
}
void *__wrap_realloc(void *block, size_t size) {
  return allocations++, __real_realloc(block, size);
}
int __wrap_posix_memalign(void **block, size_t alignment, size_t size) {
  return allocations++, __real_posix_memalign(block, alignment, size);
}

static uint8_t buffer[1 << 16];

static bool is_text(livebuf_value value, const char *text) {
  return livebuf_str_equals(livebuf_get_str(value), text);
}

/* All kinds of values, by key, remembered key, index and pointer. */
static void all_kinds(void) {
  livebuf_doc doc;
  livebuf_node list, map, none;
  livebuf_key key;
  STATUS(livebuf_init(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  CHECK(doc.length == 32 && doc.capacity == sizeof buffer && doc.bytes == buffer);
  STATUS(livebuf_set_root(&doc, livebuf_object(2), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_null(&doc, LIVEBUF_ROOT, "null"), LIVEBUF_OK);
  STATUS(livebuf_set_bool(&doc, LIVEBUF_ROOT, "bool", true), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "i64", INT64_MIN), LIVEBUF_OK);
  STATUS(livebuf_set_u64(&doc, LIVEBUF_ROOT, "u64", UINT64_MAX), LIVEBUF_OK);
  STATUS(livebuf_set_f64(&doc, LIVEBUF_ROOT, "f64", -0.5), LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "text", "a text that is long"), LIVEBUF_OK);
  STATUS(livebuf_set_bytes(&doc, LIVEBUF_ROOT, "bytes", "\0\xFF\0", 3), LIVEBUF_OK);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "number", livebuf_number_text("1e400")), LIVEBUF_OK);
  STATUS(livebuf_set_array(&doc, LIVEBUF_ROOT, "list", 4, &list), LIVEBUF_OK);
  STATUS(livebuf_set_n(&doc, LIVEBUF_ROOT, "m\0p", 3, livebuf_map(10), &map), LIVEBUF_OK);

  livebuf_value root = livebuf_root(&doc);
  CHECK(livebuf_count(root) == 10 && livebuf_kind_of(root) == LIVEBUF_KIND_OBJECT);
  CHECK(livebuf_is_null(livebuf_get(root, "null")));
  CHECK(livebuf_get_bool(livebuf_get(root, "bool")));
  CHECK(livebuf_get_i64(livebuf_get(root, "i64")) == INT64_MIN);
  CHECK(livebuf_get_u64(livebuf_get(root, "u64")) == UINT64_MAX);
  CHECK(livebuf_get_i64_or(livebuf_get(root, "u64"), -7) == -7);
  CHECK(livebuf_get_u64_or(livebuf_get(root, "i64"), 7) == 7);
  CHECK(livebuf_get_f64(livebuf_get(root, "f64")) == -0.5);
  CHECK(livebuf_get_f64(livebuf_get(root, "u64")) == 18446744073709551616.0);
  CHECK(livebuf_get_f64_or(livebuf_get(root, "number"), 3) == 3); /* beyond doubles */
  CHECK(livebuf_get_f64_or(livebuf_get(root, "text"), 3) == 3);
  CHECK(livebuf_str_equals(livebuf_get_number_text(livebuf_get(root, "number")), "1e400"));
  CHECK(is_text(livebuf_get(root, "text"), "a text that is long"));
  livebuf_bytes bytes = livebuf_get_bytes(livebuf_get(root, "bytes"));
  CHECK(bytes.length == 3 && !memcmp(bytes.data, "\0\xFF\0", 3));
  CHECK(livebuf_bytes_are_current(&doc, bytes));
  CHECK(livebuf_get_bytes_or(livebuf_get(root, "text"), "ab", 2).length == 2);
  CHECK(livebuf_kind_of(livebuf_get_n(root, "m\0p", 3)) == LIVEBUF_KIND_OBJECT);
  static const livebuf_kind TYPES[] = {
      LIVEBUF_KIND_NULL, LIVEBUF_KIND_BOOL,   LIVEBUF_KIND_I64,   LIVEBUF_KIND_U64,
      LIVEBUF_KIND_F64,  LIVEBUF_KIND_STRING, LIVEBUF_KIND_BYTES, LIVEBUF_KIND_NUMBER_TEXT,
      LIVEBUF_KIND_ARRAY, LIVEBUF_KIND_OBJECT};
  livebuf_iter it;
  STATUS(livebuf_iterate(root, 0, &it), LIVEBUF_OK);
  while (livebuf_next(&it)) CHECK(livebuf_kind_of(it.value) == TYPES[it.index]);
  CHECK(it.error.status == LIVEBUF_OK && it.index == 9);
  STATUS(livebuf_iterate(root, LIVEBUF_DESCENDING, &it), LIVEBUF_OK);
  CHECK(livebuf_next(&it) && it.key.length == 3 && !memcmp(it.key.data, "m\0p", 3));

  for (int i = 0; i < 5; i++) STATUS(livebuf_push_i64(&doc, list, i), LIVEBUF_OK);
  STATUS(livebuf_push_null(&doc, list), LIVEBUF_OK);
  STATUS(livebuf_push_bool(&doc, list, false), LIVEBUF_OK);
  STATUS(livebuf_push_u64(&doc, list, 1), LIVEBUF_OK);
  STATUS(livebuf_push_f64(&doc, list, 1.5), LIVEBUF_OK);
  STATUS(livebuf_push_str(&doc, list, "x"), LIVEBUF_OK);
  STATUS(livebuf_push_bytes(&doc, list, "x", 1), LIVEBUF_OK);
  STATUS(livebuf_insert(&doc, list, 0, livebuf_object(0), &none), LIVEBUF_OK);
  CHECK(livebuf_node_exists(none));
  STATUS(livebuf_insert(&doc, list, 99, livebuf_i64(0), &none), LIVEBUF_INDEX_OUT_OF_RANGE);
  CHECK(!livebuf_node_exists(none) && doc.error.detail == 12);
  STATUS(livebuf_set_at(&doc, list, 1, livebuf_string("zero"), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_at(&doc, list, 12, livebuf_i64(0), NULL), LIVEBUF_INDEX_OUT_OF_RANGE);
  STATUS(livebuf_swap(&doc, list, 1, 2), LIVEBUF_OK);
  CHECK(is_text(livebuf_pointer(livebuf_root(&doc), "/list/2"), "zero"));
  STATUS(livebuf_remove_at(&doc, list, 2), LIVEBUF_OK);
  STATUS(livebuf_remove_at(&doc, list, 99), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_truncate(&doc, list, 3), LIVEBUF_OK);
  STATUS(livebuf_reserve(&doc, list, 100), LIVEBUF_OK);
  CHECK(livebuf_count(livebuf_node_value(&doc, list)) == 3);
  STATUS(livebuf_clear(&doc, list), LIVEBUF_OK);

  STATUS(livebuf_key_init(&key, "text"), LIVEBUF_OK);
#if LIVEBUF_INLINE
  CHECK(key.private_state == LIVEBUF_KEY_); /* else nothing is found in place */
#endif
  STATUS(livebuf_set_key(&doc, LIVEBUF_ROOT, &key, livebuf_i64(7), NULL), LIVEBUF_OK);
  CHECK(livebuf_get_i64(livebuf_get_key(livebuf_root(&doc), &key)) == 7);
  CHECK(livebuf_get_key_i64_or(livebuf_root(&doc), &key, -1) == 7);
  STATUS(livebuf_rename(&doc, LIVEBUF_ROOT, "text", "seven"), LIVEBUF_OK);
  STATUS(livebuf_rename(&doc, LIVEBUF_ROOT, "text", "eight"), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_rename(&doc, LIVEBUF_ROOT, "seven", "u64"), LIVEBUF_KEY_EXISTS);
  STATUS(livebuf_remove_key(&doc, LIVEBUF_ROOT, &key), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_set_pointer(&doc, "/list/-", livebuf_i64(1)), LIVEBUF_OK);
  STATUS(livebuf_set_pointer(&doc, "/no/way", livebuf_i64(1)), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_set_pointer(&doc, "no", livebuf_i64(1)), LIVEBUF_BAD_POINTER);
  STATUS(livebuf_remove_pointer(&doc, "/seven"), LIVEBUF_OK);
  STATUS(livebuf_remove_pointer(&doc, "/seven"), LIVEBUF_NOT_FOUND);

  uint8_t scratch[sizeof buffer / 4];
  STATUS(livebuf_validate_in(&doc, scratch, 8), LIVEBUF_SCRATCH_TOO_SMALL);
  CHECK(doc.error.detail == livebuf_scratch_size(&doc));
  STATUS(livebuf_validate_in(&doc, scratch, sizeof scratch), LIVEBUF_OK);
}

/* What a checked getter says, and that it writes its variable only then. */
#define READS(call, type, value, result, expected)                       \
  do {                                                                   \
    type out;                                                            \
    memset(&out, 0x5A, sizeof out);                                      \
    STATUS(call(value, &out), LIVEBUF_OK);                               \
    CHECK((result) == (expected));                                         \
    STATUS(call(value, NULL), LIVEBUF_NULL_ARGUMENT);                    \
  } while (0)
#define REFUSES(call, type, value, status)                               \
  do {                                                                   \
    type out, before;                                                    \
    memset(&out, 0x5A, sizeof out);                                      \
    memset(&before, 0x5A, sizeof before);                                \
    STATUS(call(value, &out), status);                                   \
    CHECK(!memcmp(&out, &before, sizeof out));                           \
    STATUS(call(value, NULL), LIVEBUF_NULL_ARGUMENT);                    \
  } while (0)

/* By livebuf_get_i64 a missing member was 0, and so was one of another type: no call told them
   apart from a 0 that is there. The livebuf_read_ calls do. */
static void checked(void) {
  livebuf_doc doc;
  STATUS(livebuf_init(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_object(2), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_null(&doc, LIVEBUF_ROOT, "null"), LIVEBUF_OK);
  STATUS(livebuf_set_bool(&doc, LIVEBUF_ROOT, "no", false), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "zero", 0), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "least", INT64_MIN), LIVEBUF_OK);
  STATUS(livebuf_set_u64(&doc, LIVEBUF_ROOT, "most", UINT64_MAX), LIVEBUF_OK);
  STATUS(livebuf_set_f64(&doc, LIVEBUF_ROOT, "half", 0.5), LIVEBUF_OK);
  STATUS(livebuf_set_f64(&doc, LIVEBUF_ROOT, "nought", 0), LIVEBUF_OK);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "huge", livebuf_number_text("1e400")), LIVEBUF_OK);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "tiny", livebuf_number_text("1e-400")), LIVEBUF_OK);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "long", livebuf_number_text("-18446744073709551616")),
         LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "text", "a text that is long"), LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "empty", ""), LIVEBUF_OK);
  STATUS(livebuf_set_bytes(&doc, LIVEBUF_ROOT, "bytes", "\0\xFF\0", 3), LIVEBUF_OK);
  livebuf_value root = livebuf_root(&doc);
#define MEMBER(key) livebuf_get(root, key)
  READS(livebuf_read_bool, bool, MEMBER("no"), out, false);
  READS(livebuf_read_i64, int64_t, MEMBER("zero"), out, 0);
  READS(livebuf_read_i64, int64_t, MEMBER("least"), out, INT64_MIN);
  READS(livebuf_read_u64, uint64_t, MEMBER("zero"), out, 0);
  READS(livebuf_read_u64, uint64_t, MEMBER("most"), out, UINT64_MAX);
  READS(livebuf_read_f64, double, MEMBER("half"), out, 0.5);
  READS(livebuf_read_f64, double, MEMBER("nought"), out, 0.0);
  READS(livebuf_read_f64, double, MEMBER("zero"), out, 0.0);
  READS(livebuf_read_f64, double, MEMBER("least"), out, -9223372036854775808.0);
  READS(livebuf_read_f64, double, MEMBER("most"), out, 18446744073709551616.0);
  READS(livebuf_read_f64, double, MEMBER("tiny"), out, 0.0);
  READS(livebuf_read_f64, double, MEMBER("long"), out, -18446744073709551616.0);
  READS(livebuf_read_str, livebuf_str, MEMBER("text"), out.length, 19);
  READS(livebuf_read_str, livebuf_str, MEMBER("empty"), out.data && !out.length, true);
  READS(livebuf_read_bytes, livebuf_bytes, MEMBER("bytes"), out.data[1], 0xFF);
  READS(livebuf_read_number_text, livebuf_str, MEMBER("huge"), out.length, 5);
  /* Of another type, or beyond the range. */
  REFUSES(livebuf_read_bool, bool, MEMBER("zero"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_i64, int64_t, MEMBER("half"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_i64, int64_t, MEMBER("most"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_i64, int64_t, MEMBER("long"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_i64, int64_t, MEMBER("null"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_i64, int64_t, root, LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_u64, uint64_t, MEMBER("least"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_f64, double, MEMBER("text"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_f64, double, MEMBER("no"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_f64, double, MEMBER("huge"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_str, livebuf_str, MEMBER("half"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_str, livebuf_str, MEMBER("bytes"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_bytes, livebuf_bytes, MEMBER("text"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_number_text, livebuf_str, MEMBER("half"), LIVEBUF_WRONG_TYPE);
  /* Not there: the value's own status. */
  livebuf_value zeroed;
  memset(&zeroed, 0, sizeof zeroed);
  livebuf_value none[] = {MEMBER("nothing"), livebuf_get(MEMBER("text"), "a"),
                          livebuf_pointer(root, "half"), zeroed};
  static const livebuf_status WHY[] = {LIVEBUF_NOT_FOUND, LIVEBUF_NOT_FOUND,
                                       LIVEBUF_BAD_POINTER, LIVEBUF_NULL_ARGUMENT};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    REFUSES(livebuf_read_bool, bool, none[i], WHY[i]);
    REFUSES(livebuf_read_i64, int64_t, none[i], WHY[i]);
    REFUSES(livebuf_read_u64, uint64_t, none[i], WHY[i]);
    REFUSES(livebuf_read_f64, double, none[i], WHY[i]);
    REFUSES(livebuf_read_str, livebuf_str, none[i], WHY[i]);
    REFUSES(livebuf_read_bytes, livebuf_bytes, none[i], WHY[i]);
    REFUSES(livebuf_read_number_text, livebuf_str, none[i], WHY[i]);
  }
  /* Damaged: the words that lead to text lead out of the document. */
  uint32_t text = (uint32_t)(livebuf_get_str(MEMBER("text")).data - (const char *)doc.bytes);
  uint32_t number =
      (uint32_t)(livebuf_get_number_text(MEMBER("long")).data - (const char *)doc.bytes);
  for (size_t at = 32; at + 4 <= doc.length; at += 4) {
    uint32_t word, out_of_it = 0x7FFFFFF8;
    memcpy(&word, buffer + at, 4);
    if (word == text || word == number) memcpy(buffer + at, &out_of_it, 4);
  }
  REFUSES(livebuf_read_str, livebuf_str, MEMBER("text"), LIVEBUF_OUT_OF_BOUNDS);
  REFUSES(livebuf_read_number_text, livebuf_str, MEMBER("long"), LIVEBUF_OUT_OF_BOUNDS);
  REFUSES(livebuf_read_f64, double, MEMBER("long"), LIVEBUF_OUT_OF_BOUNDS);
  /* After an edit numbers stay good, as they lie in the value, and all else is stale. */
  livebuf_value zero = MEMBER("zero"), half = MEMBER("half"), empty = MEMBER("empty");
  STATUS(livebuf_set_bool(&doc, LIVEBUF_ROOT, "no", true), LIVEBUF_OK);
  READS(livebuf_read_i64, int64_t, zero, out, 0);
  REFUSES(livebuf_read_str, livebuf_str, empty, LIVEBUF_STALE_HANDLE);
  REFUSES(livebuf_read_str, livebuf_str, half, LIVEBUF_STALE_HANDLE);
}

static bool error_is(livebuf_error error, const char *expected) {
  char text[160], cut[8];
  size_t length = livebuf_error_text(error, text, sizeof text);
  bool is = length == strlen(expected) && !strcmp(text, expected);
  if (!is) fprintf(stderr, "the text is: %s\n", text);
  /* As snprintf: what has room, with a NUL, and the length of all. */
  memset(cut, 'x', sizeof cut);
  is = is && livebuf_error_text(error, cut, 5) == length && !strncmp(cut, expected, 4);
  is = is && cut[length < 4 ? length : 4] == 0 && cut[5] == 'x';
  is = is && livebuf_error_text(error, cut, 0) == length && cut[5] == 'x';
  return is && livebuf_error_text(error, NULL, 0) == length &&
         livebuf_error_text(error, NULL, 160) == length;
}

/* Of a livebuf_error only the status had a text. */
static void error_texts(void) {
  static uint8_t memory[64];
  livebuf_doc doc;
  livebuf_error error = {LIVEBUF_OK, 0, 0, 0, 0, 0};
  CHECK(error_is(error, "no error"));
  error.status = 1234;
  CHECK(error_is(error, "unknown status"));
  error = (livebuf_error){LIVEBUF_BAD_CELL, 0, 0, 0, 4096, 0};
  CHECK(error_is(error, "a cell holds bits its tag does not allow at offset 4096"));
  error = (livebuf_error){LIVEBUF_JSON_SYNTAX, 2, 7, 0, 33, 0};
  CHECK(error_is(error, "the text is not JSON, at line 2, column 7 (byte 33)"));
  error = (livebuf_error){LIVEBUF_DUPLICATE_KEY, 1, 9, 0, 8, 0};
  CHECK(error_is(error, "a key occurs twice in one object, at line 1, column 9 (byte 8)"));
  error = (livebuf_error){LIVEBUF_NESTING_LIMIT, 1, 5, 0, 4, 3};
  CHECK(error_is(error, "containers are nested deeper than the limit of 3, at line 1, column 5 "
                        "(byte 4)"));
  error.status = LIVEBUF_JSON_OUTPUT_LIMIT;
  error.line = 0;
  CHECK(error_is(error, "the JSON text would be longer than allowed"));
  CHECK(error_is(livebuf_last_error(NULL), "an argument is NULL that must not be"));
  CHECK(error_is(livebuf_value_error(livebuf_root(NULL)), "an argument is NULL that must not be"));
  STATUS(livebuf_init(&doc, memory, 31), LIVEBUF_NO_SPACE);
  CHECK(error_is(doc.error, "the buffer is too small: 1 byte is missing"));
  STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_array(1), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_at(&doc, LIVEBUF_ROOT, 3, livebuf_i64(1), NULL),
         LIVEBUF_INDEX_OUT_OF_RANGE);
  CHECK(error_is(doc.error, "the index is past the end: the length is 0"));
  STATUS(livebuf_read(&doc, (const uint8_t *)"{}", 2), LIVEBUF_NOT_A_DOCUMENT);
  CHECK(error_is(doc.error, "not a LiveBuf document: it does not begin as one does (JSON must be "
                            "converted first)"));
  /* The longest there are: 160 bytes hold any. */
  for (int status = -1; status < 256; status++) {
    for (uint32_t line = 0; line < 2; line++) {
      error = (livebuf_error){status, line * UINT32_MAX, UINT32_MAX, 0, UINT64_MAX, UINT64_MAX};
      CHECK(livebuf_error_text(error, NULL, 0) < 160);
    }
  }
}

/* Edits of what lies in the document itself, which the edit may move. */
static void own_text(void) {
  livebuf_doc doc;
  char text[1200];
  memset(text, 'x', sizeof text);
  STATUS(livebuf_init(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_object(2), NULL), LIVEBUF_OK);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_string_n(text, 200)), LIVEBUF_OK);
  livebuf_str own = livebuf_get_str(livebuf_get(livebuf_root(&doc), "a"));
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "b", livebuf_string_n(own.data, own.length)),
         LIVEBUF_OK);
  own = livebuf_get_str(livebuf_get(livebuf_root(&doc), "b"));
  CHECK(own.length == 200 && !memcmp(own.data, text, 200));
  /* A key of the iteration names what is taken out. */
  livebuf_iter it;
  STATUS(livebuf_iterate(livebuf_root(&doc), 0, &it), LIVEBUF_OK);
  CHECK(livebuf_next(&it));
  STATUS(livebuf_remove_n(&doc, LIVEBUF_ROOT, it.key.data, it.key.length), LIVEBUF_OK);
  CHECK(livebuf_count(livebuf_root(&doc)) == 1);
  CHECK(!livebuf_next(&it) && it.error.status == LIVEBUF_STALE_HANDLE);
  /* A value of the document is not copied into itself. */
  livebuf_value root = livebuf_root(&doc);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "c", livebuf_copy(&root)), LIVEBUF_OVERLAP);
  livebuf_doc other;
  STATUS(livebuf_read(&other, doc.bytes, doc.length), LIVEBUF_OK);
  root = livebuf_root(&other);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "c", livebuf_copy(&root)), LIVEBUF_OVERLAP);
  livebuf_field field = {(const char *)doc.bytes, 4, livebuf_null()};
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "c", livebuf_fields(&field, 1)), LIVEBUF_OVERLAP);
  size_t length;
  STATUS(livebuf_compact_into(&doc, buffer + 64, 1000, &length), LIVEBUF_OVERLAP);
}

static void copies(void) {
  static uint8_t first[4096], second[4096];
  livebuf_doc from, to;
  livebuf_node node;
  STATUS(livebuf_init(&from, first, sizeof first), LIVEBUF_OK);
  STATUS(livebuf_set_root(&from, livebuf_object(1), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_array(&from, LIVEBUF_ROOT, "list", 2, &node), LIVEBUF_OK);
  for (int i = 0; i < 20; i++) STATUS(livebuf_push_i64(&from, node, i), LIVEBUF_OK);
  livebuf_value root = livebuf_root(&from);
  STATUS(livebuf_init(&to, second, sizeof second), LIVEBUF_OK);
  STATUS(livebuf_set_root(&to, livebuf_array(2), NULL), LIVEBUF_OK);
  STATUS(livebuf_push(&to, LIVEBUF_ROOT, livebuf_copy(&root), NULL), LIVEBUF_OK);
  CHECK(livebuf_get_i64(livebuf_pointer(livebuf_root(&to), "/0/list/19")) == 19);
  livebuf_field fields[2] = {livebuf_member("grafted", livebuf_copy(&root)),
                             livebuf_member("flag", livebuf_bool(true))};
  STATUS(livebuf_push(&to, LIVEBUF_ROOT, livebuf_fields(fields, 2), NULL), LIVEBUF_OK);
  CHECK(livebuf_count(livebuf_pointer(livebuf_root(&to), "/1/grafted/list")) == 20);
  STATUS(livebuf_set_i64(&from, LIVEBUF_ROOT, "later", 1), LIVEBUF_OK);
  STATUS(livebuf_push(&to, LIVEBUF_ROOT, livebuf_copy(&root), NULL), LIVEBUF_STALE_HANDLE);
  fields[1] = livebuf_member("grafted", livebuf_null());
  root = livebuf_root(&from);
  STATUS(livebuf_push(&to, LIVEBUF_ROOT, livebuf_fields(fields, 2), NULL),
         LIVEBUF_DUPLICATE_KEY);
  fields[1] = livebuf_member("nested", livebuf_fields(fields, 1));
  STATUS(livebuf_push(&to, LIVEBUF_ROOT, livebuf_fields(fields, 2), NULL), LIVEBUF_UNSUPPORTED);
  livebuf_field many[LIVEBUF_MAX_NEW_FIELDS + 1] = {{0}};
  STATUS(livebuf_push(&to, LIVEBUF_ROOT, livebuf_fields(many, LIVEBUF_MAX_NEW_FIELDS + 1), NULL),
         LIVEBUF_ELEMENT_LIMIT);
  STATUS(livebuf_push(&to, LIVEBUF_ROOT, livebuf_fields(NULL, 1), NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_push(&to, LIVEBUF_ROOT, livebuf_fields(NULL, 0), NULL), LIVEBUF_OK);
}

/* Every pointer may be NULL, every variable zeroed, every handle another's. */
static void misuse(void) {
  static uint8_t memory[2048];
  livebuf_doc doc, zeroed, other;
  livebuf_node node, foreign;
  livebuf_iter it;
  livebuf_column column;
  livebuf_key key;
  livebuf_stats stats;
  size_t length;
  memset(&zeroed, 0, sizeof zeroed);
  memset(&it, 0, sizeof it);
  memset(&column, 0, sizeof column);
  memset(&key, 0, sizeof key);
  livebuf_value none = livebuf_root(NULL);
  CHECK(!livebuf_exists(none) && livebuf_value_error(none).status == LIVEBUF_NULL_ARGUMENT);
  none = livebuf_root(&zeroed);
  CHECK(livebuf_value_error(none).status == LIVEBUF_NOT_OPEN);
  none = livebuf_get(livebuf_at(livebuf_get(none, "a"), 3), "b");
  CHECK(livebuf_value_error(none).status == LIVEBUF_NOT_OPEN); /* the first error stays */
  memset(&none, 0, sizeof none);
  CHECK(livebuf_value_error(livebuf_get(none, "a")).status == LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_value_error(livebuf_get_n(none, "a", 1)).status == LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_value_error(livebuf_get_in_n(&none, "a", 1)).status == LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_value_error(livebuf_get_in_n(NULL, "a", 1)).status == LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_value_error(livebuf_get_in_column(&none, 0, 0)).status == LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_value_error(livebuf_get_in_column(NULL, 0, 0)).status == LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_count(none) == 0 && !livebuf_get_str(none).data && !livebuf_get_bytes(none).data);
  CHECK(livebuf_kind_of(none) == LIVEBUF_KIND_NONE && !livebuf_next(&it) && !livebuf_next(NULL));
  CHECK(livebuf_get_f64_or(none, 2) == 2 && livebuf_number_text_f64_or(none, 2) == 2);
  STATUS(livebuf_init(NULL, memory, 100), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_init(&doc, NULL, 100), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "a", 1), LIVEBUF_NOT_OPEN);
  STATUS(livebuf_init(&doc, memory, 31), LIVEBUF_NO_SPACE);
  CHECK(doc.error.detail == 1);
  STATUS(livebuf_read(&doc, NULL, 5), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_read(NULL, memory, 5), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_read(&doc, (const uint8_t *)"{\"a\":1}", 7), LIVEBUF_NOT_A_DOCUMENT);
  STATUS(livebuf_open(&doc, NULL, 5, 5), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_i64(NULL, LIVEBUF_ROOT, "a", 1), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_i64(&zeroed, LIVEBUF_ROOT, "a", 1), LIVEBUF_NOT_OPEN);
  STATUS(livebuf_validate_in(NULL, NULL, 0), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_validate_in(&zeroed, NULL, 0), LIVEBUF_NOT_OPEN);
  CHECK(livebuf_scratch_size(NULL) == 0 && livebuf_scratch_size(&zeroed) == 0);
  STATUS(livebuf_iterate(none, 0, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_key_init(NULL, "a"), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_key_init(&key, NULL), LIVEBUF_OK); /* no text: the empty key */
  STATUS(livebuf_key_init(&key, "\xC3"), LIVEBUF_BAD_TEXT);
  CHECK(!livebuf_exists(livebuf_get_key(livebuf_root(&doc), &key)));
  CHECK(livebuf_last_error(NULL).status == LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_column_find(&column, livebuf_i64(1)) == -1);
  CHECK(livebuf_column_find(NULL, livebuf_i64(1)) == -1);
  CHECK(!livebuf_exists(livebuf_column_get(&column, 0)) && !livebuf_column_slice(&column, NULL));
  livebuf_run run;
  STATUS(livebuf_column_run(&column, &run), LIVEBUF_NULL_ARGUMENT);
  CHECK(!livebuf_node_exists(livebuf_root_node(NULL)));
  CHECK(!livebuf_is_trusted(NULL));

  STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_object(4), NULL), LIVEBUF_OK);
  /* No place in this document is a table's column, and none beyond it. */
  livebuf_value root = livebuf_root(&doc);
  for (uint64_t at = 0; at < doc.length + 9; at++) {
    CHECK(livebuf_value_error(livebuf_get_in_column(&root, at, 0)).status != LIVEBUF_OK);
  }
  for (uint64_t at = UINT32_MAX - 17; at < (uint64_t)UINT32_MAX + 9; at++) {
    CHECK(!livebuf_exists(livebuf_get_in_column(&root, at, UINT32_MAX)));
  }
  CHECK(!livebuf_exists(livebuf_get_in_column(&root, UINT64_MAX, UINT32_MAX)));
  STATUS(livebuf_set_n(&doc, LIVEBUF_ROOT, NULL, 0, livebuf_i64(1), NULL),
         LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "a", NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "\xFF", "a"), LIVEBUF_BAD_TEXT);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "a", "fine until \xFF"), LIVEBUF_BAD_TEXT);
  CHECK(doc.error.offset == 11);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_number_text("one")), LIVEBUF_BAD_NUMBER);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_copy(NULL)), LIVEBUF_NULL_ARGUMENT);
  livebuf_new odd = livebuf_i64(1);
  odd.kind = 77;
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", odd), LIVEBUF_UNSUPPORTED);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_string_n("", SIZE_MAX)),
         LIVEBUF_STRING_LIMIT);
  STATUS(livebuf_set_n(&doc, LIVEBUF_ROOT, "", SIZE_MAX, livebuf_i64(1), NULL),
         LIVEBUF_STRING_LIMIT);
  STATUS(livebuf_push_i64(&doc, LIVEBUF_ROOT, 1), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_swap(&doc, LIVEBUF_ROOT, 0, 1), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_set_at(&doc, LIVEBUF_ROOT, 0, livebuf_i64(1), NULL), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_set_object(&doc, LIVEBUF_ROOT, "child", 1, &node), LIVEBUF_OK);
  CHECK(livebuf_node_is_current(&doc, node) && livebuf_node_is_current(&doc, LIVEBUF_ROOT));
  foreign = node;
  STATUS(livebuf_remove(&doc, LIVEBUF_ROOT, "child"), LIVEBUF_OK);
  CHECK(!livebuf_node_is_current(&doc, node));
  STATUS(livebuf_set_i64(&doc, node, "a", 1), LIVEBUF_STALE_HANDLE);
  CHECK(livebuf_value_error(livebuf_node_value(&doc, node)).status == LIVEBUF_STALE_HANDLE);
  static uint8_t second[512];
  STATUS(livebuf_init(&other, second, sizeof second), LIVEBUF_OK);
  STATUS(livebuf_set_root(&other, livebuf_array(1), NULL), LIVEBUF_OK);
  STATUS(livebuf_push_i64(&other, livebuf_root_node(&doc), 1), LIVEBUF_STALE_HANDLE);
  STATUS(livebuf_push_i64(&other, foreign, 1), LIVEBUF_STALE_HANDLE);
  CHECK(!livebuf_node_exists(livebuf_node_of(&other, livebuf_root(&doc), LIVEBUF_ROOT)));
  /* Invented places are safe, whatever they hit. */
  for (uint32_t i = 0; i < 512; i++) {
    livebuf_node odd_node = livebuf_root_node(&other);
    odd_node.private_place = i;
    odd_node.private_place |= (uint64_t)i * 77 << 32;
    (void)livebuf_push_i64(&other, odd_node, 1);
    (void)livebuf_count(livebuf_node_value(&other, odd_node));
  }

  livebuf_value value = livebuf_get(livebuf_root(&doc), "a");
  livebuf_value kept = livebuf_root(&doc);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "a", 5), LIVEBUF_OK);
  CHECK(!livebuf_exists(value) && !livebuf_value_is_current(kept));
  CHECK(livebuf_value_error(livebuf_get(kept, "a")).status == LIVEBUF_STALE_HANDLE);
  STATUS(livebuf_iterate(kept, 0, &it), LIVEBUF_STALE_HANDLE);
  STATUS(livebuf_column_find_path(kept, "", &column), LIVEBUF_STALE_HANDLE);
  kept = livebuf_root(&doc);
  STATUS(livebuf_column_find_path(kept, "", &column), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_iterate(livebuf_get(kept, "a"), 0, &it), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_range(livebuf_get(kept, "a"), NULL, NULL, 0, &it), LIVEBUF_WRONG_TYPE);
  CHECK(livebuf_value_error(livebuf_pointer(kept, "a")).status == LIVEBUF_BAD_POINTER);

  /* An overlong key makes a map; beyond the limit of strings it is refused. */
  char long_key[400];
  memset(long_key, 'k', sizeof long_key);
  livebuf_limits limits = {0};
  limits.string = 300;
  STATUS(livebuf_set_limits(&doc, &limits), LIVEBUF_OK);
  STATUS(livebuf_set_limits(&doc, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_n(&doc, LIVEBUF_ROOT, long_key, 301, livebuf_i64(1), NULL),
         LIVEBUF_STRING_LIMIT);
  CHECK(doc.error.detail == 300);
  STATUS(livebuf_set_n(&doc, LIVEBUF_ROOT, long_key, 300, livebuf_i64(1), NULL), LIVEBUF_OK);
  CHECK(livebuf_get_i64(livebuf_get_n(livebuf_root(&doc), long_key, 300)) == 1);

  /* Read only is read only. */
  livebuf_doc view;
  STATUS(livebuf_read(&view, doc.bytes, doc.length), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&view, LIVEBUF_ROOT, "a", 1), LIVEBUF_READ_ONLY);
  STATUS(livebuf_set_wipe(&view, false), LIVEBUF_READ_ONLY);
  CHECK(!livebuf_node_exists(livebuf_find(&view, "")));
  uint8_t scratch[600];
  STATUS(livebuf_validate_in(&view, scratch, sizeof scratch), LIVEBUF_OK);
  STATUS(livebuf_get_stats_in(&view, scratch, sizeof scratch, &stats), LIVEBUF_OK);
  CHECK(stats.used == view.length && stats.objects == 1 && stats.values == 3);
  STATUS(livebuf_get_stats_in(&view, scratch, sizeof scratch, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_compact_into(&view, second, 40, &length), LIVEBUF_NO_SPACE);
  CHECK(view.error.detail > 0);
  STATUS(livebuf_compact_into(&view, NULL, 40, &length), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_read(&view, doc.bytes, doc.length - 8), LIVEBUF_TRUNCATED);
  CHECK(view.error.detail == doc.length);
  STATUS(livebuf_open(&view, memory, doc.length - 8, sizeof memory), LIVEBUF_TRUNCATED);
  CHECK(!strcmp(livebuf_strerror(22), "the buffer is too small"));
  CHECK(!strcmp(livebuf_strerror(-1), "unknown status"));
  CHECK(!strcmp(livebuf_version(), LIVEBUF_VERSION_STRING));
}

/* A failed edit leaves the document as it was, says what is missing, and that is true. */
static void no_space(void) {
  static uint8_t memory[8192], before[8192];
  char text[4000];
  memset(text, 't', sizeof text);
  for (size_t size = 100; size < sizeof text; size += 397) {
    livebuf_doc doc;
    size_t capacity = 200;
    STATUS(livebuf_init(&doc, memory, capacity), LIVEBUF_OK);
    STATUS(livebuf_set_root(&doc, livebuf_object(1), NULL), LIVEBUF_OK);
    size_t length = doc.length;
    memcpy(before, memory, length);
    int status = livebuf_set(&doc, LIVEBUF_ROOT, "text", livebuf_string_n(text, size));
    if (status == LIVEBUF_OK) continue;
    STATUS(status, LIVEBUF_NO_SPACE);
    CHECK(doc.length == length && !memcmp(before, memory, length));
    /* With so many bytes more it fits. */
    livebuf_doc roomy;
    capacity += (size_t)doc.error.detail;
    STATUS(livebuf_open(&roomy, memory, length, capacity), LIVEBUF_OK);
    STATUS(livebuf_set(&roomy, LIVEBUF_ROOT, "text", livebuf_string_n(text, size)), LIVEBUF_OK);
  }
}

static void columns(void) {
  livebuf_doc doc;
  livebuf_column column;
  livebuf_node list;
  int64_t integers[300];
  double numbers[300];
  livebuf_str texts[3];
  size_t count;
  STATUS(livebuf_init(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_array(0), &list), LIVEBUF_OK);
  for (int i = 0; i < 256; i++) STATUS(livebuf_push_i64(&doc, list, i * 1000), LIVEBUF_OK);
  STATUS(livebuf_column_find_path(livebuf_root(&doc), "", &column), LIVEBUF_OK);
  CHECK(column.length == 256);
  CHECK(livebuf_column_i64s(&column, 250, integers, 300, 0) == 6 && integers[5] == 255000);
  CHECK(livebuf_column_f64s(&column, 0, numbers, 300, 0) == 256 && numbers[255] == 255000.0);
  CHECK(livebuf_column_i64s(&column, 999, integers, 300, 0) == 0);
  CHECK(livebuf_column_i64s(&column, SIZE_MAX, integers, SIZE_MAX, 0) == 0);
  CHECK(livebuf_column_i64s(&column, 0, NULL, 300, 0) == 0);
  CHECK(livebuf_column_strs(&column, 0, texts, 3) == 3 && !texts[0].data);
  CHECK(livebuf_column_find(&column, livebuf_i64(7000)) == 7);
  CHECK(livebuf_column_find(&column, livebuf_i64(7)) == -1);
  CHECK(livebuf_column_find(&column, livebuf_string("x")) == -1);
  CHECK(livebuf_column_find(&column, livebuf_object(1)) == -1);
  const void *slice = livebuf_column_slice(&column, &count);
  CHECK(slice && count == 256 && column.column_type == LIVEBUF_COLUMN_I64);
  CHECK(((const int64_t *)slice)[3] == 3000);
  CHECK(livebuf_get_i64(livebuf_column_get(&column, 9)) == 9000);
  CHECK(!livebuf_exists(livebuf_column_get(&column, 256)));
  CHECK(livebuf_column_count(livebuf_root(&doc)) == 0);
  STATUS(livebuf_column_find_path(livebuf_root(&doc), "/a", &column), LIVEBUF_NOT_FOUND);
  CHECK(!livebuf_exists(livebuf_column_get(&column, 0)));
  STATUS(livebuf_column_find_path(livebuf_root(&doc), "", &column), LIVEBUF_OK);
  STATUS(livebuf_push_i64(&doc, list, 1), LIVEBUF_OK);
  CHECK(!livebuf_column_slice(&column, &count) && count == 0);
}

#define DAY_ INT64_C(86400000000)
#define FIRST_DAY_ INT32_C(-719162)
#define LAST_DAY_ INT32_C(2932896)
static const uint8_t ID[16] = {0xF8, 0x1D, 0x4F, 0xAE, 0x7D, 0xEC, 0x11, 0xD0,
                               0xA7, 0x65, 0x00, 0xA0, 0xC9, 0x1E, 0x6B, 0xF6};
/* 38 nines behind the point. */
static const livebuf_decimal MOST = {0x98A223FFFFFFFFFu, 0x4B3B4CA85A86C47A, 38, 0};

static bool is_printed(livebuf_value value, const char *text) {
  char line[48];
  memset(line, 'x', sizeof line);
  return livebuf_extended_text(value, line, sizeof line) == strlen(text) && !strcmp(line, text);
}

/* Dates, times, decimals and UUIDs: what is stored is read again, to its bounds, by the right call
   alone; what is beyond them changes nothing. */
static void extended(void) {
  livebuf_doc doc;
  STATUS(livebuf_init_object(&doc, buffer, sizeof buffer, 2), LIVEBUF_OK);
#define SET(key, value) STATUS(livebuf_set(&doc, LIVEBUF_ROOT, key, value), LIVEBUF_OK)
  SET("date", livebuf_date(20780));
  SET("time", livebuf_time(INT64_C(30600250000)));
  SET("date_time", livebuf_date_time(-1));
  SET("timestamp", livebuf_timestamp(INT64_C(1795422600000000)));
  SET("decimal", livebuf_decimal_i64(1990, 2));
  SET("large", livebuf_decimal_new(&MOST));
  SET("uuid", livebuf_uuid(ID));
  SET("text", livebuf_string("2026-11-23"));
  livebuf_value root = livebuf_root(&doc);
  READS(livebuf_read_date, int32_t, MEMBER("date"), out, 20780);
  READS(livebuf_read_time, int64_t, MEMBER("time"), out, INT64_C(30600250000));
  READS(livebuf_read_date_time, int64_t, MEMBER("date_time"), out, -1);
  READS(livebuf_read_timestamp, int64_t, MEMBER("timestamp"), out, INT64_C(1795422600000000));
  READS(livebuf_read_decimal, livebuf_decimal, MEMBER("decimal"),
        out.low == 1990 && !out.high && out.scale == 2 && !out.reserved, true);
  READS(livebuf_read_decimal, livebuf_decimal, MEMBER("large"), memcmp(&out, &MOST, sizeof out), 0);
  uint8_t id[16];
  STATUS(livebuf_read_uuid(MEMBER("uuid"), id), LIVEBUF_OK);
  CHECK(!memcmp(id, ID, sizeof id));
  STATUS(livebuf_read_uuid(MEMBER("uuid"), NULL), LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_get_date_or(MEMBER("date"), 7) == 20780);
  CHECK(livebuf_get_date_or(MEMBER("text"), 7) == 7 && livebuf_get_date_or(MEMBER("no"), 7) == 7);
  CHECK(livebuf_get_time_or(MEMBER("time"), 7) == INT64_C(30600250000));
  CHECK(livebuf_get_time_or(MEMBER("timestamp"), 7) == 7);
  CHECK(livebuf_get_date_time_or(MEMBER("date_time"), 7) == -1);
  CHECK(livebuf_get_date_time_or(MEMBER("time"), 7) == 7);
  CHECK(livebuf_get_timestamp_or(MEMBER("timestamp"), 7) == INT64_C(1795422600000000));
  CHECK(livebuf_get_timestamp_or(MEMBER("date_time"), 7) == 7);

  static const struct {
    const char *key;
    livebuf_kind kind;
    const char *text;
  } KINDS[] = {{"date", LIVEBUF_KIND_DATE, "2026-11-23"},
               {"time", LIVEBUF_KIND_TIME, "08:30:00.250"},
               {"date_time", LIVEBUF_KIND_DATE_TIME, "1969-12-31T23:59:59.999999"},
               {"timestamp", LIVEBUF_KIND_TIMESTAMP, "2026-11-23T08:30:00Z"},
               {"decimal", LIVEBUF_KIND_DECIMAL, "19.90"},
               {"large", LIVEBUF_KIND_DECIMAL, "0.99999999999999999999999999999999999999"},
               {"uuid", LIVEBUF_KIND_UUID, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}};
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
    livebuf_value value = MEMBER(KINDS[i].key);
    char line[5], cut[5];
    CHECK(livebuf_kind_of(value) == KINDS[i].kind && livebuf_exists(value));
    CHECK(is_printed(value, KINDS[i].text));
    CHECK(livebuf_extended_text(value, NULL, 0) == strlen(KINDS[i].text));
    CHECK(livebuf_extended_text(value, line, sizeof line) == strlen(KINDS[i].text));
    memcpy(cut, KINDS[i].text, 4);
    cut[4] = 0;
    CHECK(!strcmp(line, cut));
    STATUS(livebuf_value_error(value).status, LIVEBUF_OK);
    CHECK(livebuf_get_i64_or(value, 7) == 7 && livebuf_count(value) == 0);
    CHECK(!livebuf_get_str(value).data && !livebuf_get_bytes(value).data);
    /* By the call for another kind. */
    if (i != 0) REFUSES(livebuf_read_date, int32_t, value, LIVEBUF_WRONG_TYPE);
    if (i != 3) REFUSES(livebuf_read_timestamp, int64_t, value, LIVEBUF_WRONG_TYPE);
    if (i != 4 && i != 5) {
      REFUSES(livebuf_read_decimal, livebuf_decimal, value, LIVEBUF_WRONG_TYPE);
    }
    REFUSES(livebuf_read_i64, int64_t, value, LIVEBUF_WRONG_TYPE);
    REFUSES(livebuf_read_str, livebuf_str, value, LIVEBUF_WRONG_TYPE);
    /* What the text says is the same value. */
    SET("again", livebuf_extended(KINDS[i].text));
    root = livebuf_root(&doc);
    CHECK(livebuf_kind_of(MEMBER("again")) == KINDS[i].kind);
    CHECK(is_printed(MEMBER("again"), KINDS[i].text));
  }
  REFUSES(livebuf_read_date, int32_t, MEMBER("text"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_date, int32_t, MEMBER("nothing"), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_read_uuid(MEMBER("date"), id), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_read_extended(MEMBER("date"), LIVEBUF_KIND_I64, id), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_read_extended(MEMBER("date"), 12345, id), LIVEBUF_WRONG_TYPE);
  CHECK(!memcmp(id, ID, sizeof id));
  CHECK(is_printed(MEMBER("text"), "") && is_printed(MEMBER("nothing"), ""));

  /* Text to dates, in its place. */
  livebuf_str text = livebuf_get_str(MEMBER("text"));
  SET("text", livebuf_extended_n(text.data, text.length));
  root = livebuf_root(&doc);
  CHECK(livebuf_get_date_or(MEMBER("text"), 7) == 20780);

  /* Dates and times outlive edits, as numbers do; all others say so. */
  livebuf_value date = MEMBER("date"), decimal = MEMBER("decimal"), uuid = MEMBER("uuid");
  livebuf_decimal out;
  SET("more", livebuf_null());
  CHECK(livebuf_get_date_or(date, 7) == 20780 && is_printed(date, "2026-11-23"));
  STATUS(livebuf_read_decimal(decimal, &out), LIVEBUF_STALE_HANDLE);
  STATUS(livebuf_read_uuid(uuid, id), LIVEBUF_STALE_HANDLE);
  CHECK(is_printed(uuid, ""));

  /* To the bounds, and not beyond. */
  const int64_t first = FIRST_DAY_ * DAY_, end = (LAST_DAY_ + 1) * DAY_;
  livebuf_decimal least = MOST, beyond = MOST, wide = MOST, deep = MOST;
  least.low = ~MOST.low + 1;
  least.high = ~MOST.high + (least.low == 0);
  beyond.low++;
  wide.high = INT64_MIN;
  deep.scale = 39;
  const livebuf_new good[] = {
      livebuf_date(FIRST_DAY_),   livebuf_date(LAST_DAY_),      livebuf_time(0),
      livebuf_time(DAY_ - 1),     livebuf_date_time(first),     livebuf_date_time(end - 1),
      livebuf_timestamp(first),   livebuf_timestamp(end - 1),   livebuf_decimal_i64(INT64_MIN, 38),
      livebuf_decimal_new(&least), livebuf_extended("-0.00"),   livebuf_extended("5")};
  static const char *const GOOD[] = {"0001-01-01", "9999-12-31", "00:00:00", "23:59:59.999999",
                                     "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999",
                                     "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
                                     "-0.00000000000000000009223372036854775808",
                                     "-0.99999999999999999999999999999999999999", "0.00", "5"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    SET("bound", good[i]);
    CHECK(is_printed(livebuf_get(livebuf_root(&doc), "bound"), GOOD[i]));
  }
  livebuf_new odd_date = livebuf_date(0), odd_uuid = livebuf_uuid(ID), unknown = livebuf_null();
  livebuf_new odd_decimal = livebuf_decimal_new(&MOST);
  odd_date.payload.i64 = INT64_C(1) << 32;
  odd_uuid.length = 15;
  odd_decimal.length = 23;
  unknown.kind = LIVEBUF_NEW_TENSOR + 1;
  const livebuf_new bad[] = {
      livebuf_date(FIRST_DAY_ - 1), livebuf_date(LAST_DAY_ + 1),      livebuf_date(INT32_MIN),
      livebuf_date(INT32_MAX),      livebuf_time(-1),                 livebuf_time(DAY_),
      livebuf_time(INT64_MIN),      livebuf_date_time(first - 1),     livebuf_date_time(end),
      livebuf_timestamp(first - 1), livebuf_timestamp(end),           livebuf_timestamp(INT64_MAX),
      livebuf_decimal_i64(1, 39),   livebuf_decimal_i64(1, 256),      livebuf_decimal_i64(1, UINT32_MAX),
      livebuf_decimal_new(&beyond), livebuf_decimal_new(&wide),       livebuf_decimal_new(&deep),
      livebuf_extended(""),         livebuf_extended("2026-02-29"),   livebuf_extended("now"),
      livebuf_extended("1e5"),      livebuf_extended_n("12\0", 3),    odd_date,
      odd_uuid,                     odd_decimal};
  livebuf_node list;
  STATUS(livebuf_set_array(&doc, LIVEBUF_ROOT, "list", 1, &list), LIVEBUF_OK);
  STATUS(livebuf_push(&doc, list, livebuf_date(1), NULL), LIVEBUF_OK);
  uint8_t before[4096];
  size_t length = doc.length;
  CHECK(length < sizeof before);
  memcpy(before, doc.bytes, length);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    livebuf_field field = livebuf_member("a", bad[i]);
    STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "bound", bad[i]), LIVEBUF_BAD_VALUE);
    STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "new", bad[i]), LIVEBUF_BAD_VALUE);
    STATUS(livebuf_push(&doc, list, bad[i], NULL), LIVEBUF_BAD_VALUE);
    STATUS(livebuf_set_at(&doc, list, 0, bad[i], NULL), LIVEBUF_BAD_VALUE);
    STATUS(livebuf_set_pointer(&doc, "/list/0", bad[i]), LIVEBUF_BAD_VALUE);
    STATUS(livebuf_push(&doc, list, livebuf_fields(&field, 1), NULL), LIVEBUF_BAD_VALUE);
    CHECK(doc.length == length && !memcmp(before, doc.bytes, length));
  }
  CHECK(!strcmp(livebuf_strerror(LIVEBUF_BAD_VALUE), "not a valid date, time, decimal or UUID"));
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_extended("\xFF")), LIVEBUF_BAD_TEXT);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_extended(NULL)), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_extended_n(NULL, 0)), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_decimal_new(NULL)), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_uuid(NULL)), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", unknown), LIVEBUF_UNSUPPORTED);
  CHECK(doc.length == length && !memcmp(before, doc.bytes, length));

  /* In an object made at once; and copied. */
  livebuf_field fields[] = {livebuf_member("id", livebuf_uuid(ID)),
                            livebuf_member("price", livebuf_decimal_new(&MOST)),
                            livebuf_member("due", livebuf_extended("2026-11-23"))};
  livebuf_doc copy;
  static uint8_t other[1 << 12];
  SET("made", livebuf_fields(fields, 3));
  livebuf_value made = livebuf_get(livebuf_root(&doc), "made");
  STATUS(livebuf_init(&copy, other, sizeof other), LIVEBUF_OK);
  STATUS(livebuf_set_root(&copy, livebuf_copy(&made), NULL), LIVEBUF_OK);
  CHECK(is_printed(livebuf_get(livebuf_root(&copy), "id"), KINDS[6].text));
  CHECK(is_printed(livebuf_get(livebuf_root(&copy), "price"), KINDS[5].text));
  CHECK(is_printed(livebuf_get(livebuf_root(&copy), "due"), "2026-11-23"));
  uint8_t scratch[sizeof buffer / 4];
  STATUS(livebuf_validate_in(&copy, scratch, sizeof scratch), LIVEBUF_OK);
  STATUS(livebuf_validate_in(&doc, scratch, sizeof scratch), LIVEBUF_OK);

  /* Stamped into a prepared message. */
  static const char *const PLACES[] = {"/due"};
  static uint8_t memory[1024];
  livebuf_template due;
  const livebuf_new values[] = {livebuf_date(20780),          livebuf_time(INT64_C(30600250000)),
                                livebuf_date_time(-1),        livebuf_extended(KINDS[3].text),
                                livebuf_decimal_i64(1990, 2), livebuf_decimal_new(&MOST),
                                livebuf_uuid(ID)};
  const livebuf_new none = livebuf_time(-1);
  made = livebuf_root(&copy);
  STATUS(livebuf_template_init(&due, livebuf_copy(&made), PLACES, 1, memory, sizeof memory),
         LIVEBUF_OK);
  for (int i = 0; i < 7; i++) {
    STATUS(livebuf_stamp_doc(&due, &values[i], 1, &copy, other, sizeof other), LIVEBUF_OK);
    CHECK(is_printed(livebuf_get(livebuf_root(&copy), "due"), KINDS[i].text));
    CHECK(is_printed(livebuf_get(livebuf_root(&copy), "id"), KINDS[6].text));
    STATUS(livebuf_validate_in(&copy, scratch, sizeof scratch), LIVEBUF_OK);
    STATUS(livebuf_stamp(&due, &values[i], 1, other, sizeof other, &length), LIVEBUF_OK);
    CHECK(length == copy.length && !memcmp(other, copy.bytes, length));
    STATUS(livebuf_stamp(&due, &values[i], 1, other, length - 1, &length), LIVEBUF_NO_SPACE);
    CHECK(length == copy.length);
  }
  STATUS(livebuf_stamp(&due, &none, 1, other, sizeof other, &length), LIVEBUF_BAD_VALUE);

  /* The same bytes, as they lie in the document under edit. */
  livebuf_column column;
  size_t count;
  STATUS(livebuf_clear(&doc, list), LIVEBUF_OK);
  for (int i = 0; i < 4; i++) STATUS(livebuf_push(&doc, list, livebuf_uuid(ID), NULL), LIVEBUF_OK);
  STATUS(livebuf_column_find_path(livebuf_pointer(livebuf_root(&doc), "/list"), "", &column),
         LIVEBUF_OK);
  const uint8_t *ids = livebuf_column_slice(&column, &count);
  CHECK(ids && count == 4 && !memcmp(ids + 48, ID, 16));
  if (ids) STATUS(livebuf_push(&doc, list, livebuf_uuid(ids + 48), NULL), LIVEBUF_OK);
  CHECK(is_printed(livebuf_pointer(livebuf_root(&doc), "/list/4"), KINDS[6].text));
  STATUS(livebuf_validate_in(&doc, scratch, sizeof scratch), LIVEBUF_OK);
}

/* Cells of dates and times that no writer writes: no call reads more of them than that. */
static void damaged_dates(void) {
  livebuf_doc doc;
  livebuf_decimal decimal;
  livebuf_column column;
  int64_t integers[4];
  STATUS(livebuf_init_object(&doc, buffer, sizeof buffer, 3), LIVEBUF_OK);
  SET("time", livebuf_time(INT64_C(0x0123456789)));
  SET("decimal", livebuf_decimal_i64(INT64_C(0x01234567), 0));
  SET("large", livebuf_decimal_new(&MOST));
  livebuf_node list;
  STATUS(livebuf_set_array(&doc, LIVEBUF_ROOT, "days", 4, &list), LIVEBUF_OK);
  for (int i = 0; i < 4; i++) {
    STATUS(livebuf_push(&doc, list, livebuf_date(0x55555 + i), NULL), LIVEBUF_OK);
  }
  size_t changed = 0;
  for (size_t at = 24; at + 16 <= doc.length; at++) {
    static const uint8_t TIME[] = {0x89, 0x67, 0x45, 0x23, 0x01, 0, 0, 0};
    static const uint8_t SMALL[] = {0x00, 0x67, 0x45, 0x23, 0x01, 0, 0, 0};
    static const uint8_t DATE[] = {0x56, 0x55, 0x05, 0x00};
    if (!memcmp(buffer + at, TIME, 8)) buffer[at + 7] = 0x40, changed++;
    if (!memcmp(buffer + at, SMALL, 8)) buffer[at] = 39, changed++;
    if (!memcmp(buffer + at, DATE, 4)) buffer[at + 3] = 0x7F, changed++;
    if (!memcmp(buffer + at, &MOST, 16)) buffer[at + 15] = 0x7F, changed++;
  }
  CHECK(changed == 4);
  livebuf_doc damaged;
  STATUS(livebuf_read(&damaged, buffer, doc.length), LIVEBUF_OK);
  livebuf_value root = livebuf_root(&damaged);
  CHECK(livebuf_kind_of(MEMBER("time")) == LIVEBUF_KIND_TIME);
  REFUSES(livebuf_read_time, int64_t, MEMBER("time"), LIVEBUF_BAD_CELL);
  REFUSES(livebuf_read_date, int32_t, MEMBER("time"), LIVEBUF_BAD_CELL);
  CHECK(livebuf_get_time_or(MEMBER("time"), 7) == 7 && is_printed(MEMBER("time"), ""));
  STATUS(livebuf_value_error(MEMBER("time")).status, LIVEBUF_BAD_CELL);
  STATUS(livebuf_read_decimal(MEMBER("decimal"), &decimal), LIVEBUF_BAD_CELL);
  STATUS(livebuf_read_decimal(MEMBER("large"), &decimal), LIVEBUF_BAD_CELL);
  CHECK(is_printed(MEMBER("decimal"), "") && is_printed(MEMBER("large"), ""));
  CHECK(livebuf_get_date_or(livebuf_at(MEMBER("days"), 0), 7) == 0x55555);
  CHECK(livebuf_get_date_or(livebuf_at(MEMBER("days"), 1), 7) == 7);
  STATUS(livebuf_column_find_path(MEMBER("days"), "", &column), LIVEBUF_OK);
  CHECK(livebuf_column_i64s(&column, 0, integers, 4, 7) == 4);
  CHECK(integers[0] == 0x55555 && integers[1] == 7 && integers[3] == 0x55558);
  uint8_t scratch[1024];
  STATUS(livebuf_validate_in(&damaged, scratch, sizeof scratch), LIVEBUF_BAD_CELL);
}

/* Columns of dates, times, decimals and UUIDs, with and without gaps. */
static void extended_columns(void) {
  livebuf_doc doc;
  livebuf_column column;
  livebuf_node list;
  int64_t integers[10];
  size_t count;
  const livebuf_new first[] = {livebuf_date(20780), livebuf_time(7), livebuf_date_time(-8),
                               livebuf_timestamp(INT64_C(1795422600000000)),
                               livebuf_decimal_i64(1990, 2), livebuf_uuid(ID)};
  static const int64_t NUMBERS[] = {20780, 7, -8, INT64_C(1795422600000000)};
  for (uint32_t kind = 0; kind < 6; kind++) {
    STATUS(livebuf_init(&doc, buffer, sizeof buffer), LIVEBUF_OK);
    STATUS(livebuf_set_root(&doc, livebuf_array(0), &list), LIVEBUF_OK);
    STATUS(livebuf_push(&doc, list, first[kind], NULL), LIVEBUF_OK);
    STATUS(livebuf_column_find_path(livebuf_root(&doc), "", &column), LIVEBUF_OK);
    CHECK(column.length == 1 && column.column_type == LIVEBUF_COLUMN_DATE + kind);
    CHECK(livebuf_column_find(&column, first[kind]) == 0);
    CHECK(livebuf_column_find(&column, livebuf_i64(NUMBERS[kind % 4])) == -1);
    CHECK(livebuf_column_find(&column, first[(kind + 1) % 6]) == -1);
    const void *slice = livebuf_column_slice(&column, &count);
    CHECK(count == (slice ? 1 : 0) && !slice == (kind == 4));
    if (kind == 0 && slice) CHECK(*(const int32_t *)slice == 20780);
    if (kind > 0 && kind < 4 && slice) CHECK(*(const int64_t *)slice == NUMBERS[kind]);
    if (kind == 5 && slice) CHECK(!memcmp(slice, ID, 16));
    CHECK(livebuf_column_i64s(&column, 0, integers, 10, -7) == 1);
    CHECK(integers[0] == (kind < 4 ? NUMBERS[kind] : -7));
    livebuf_value value = livebuf_column_get(&column, 0);
    livebuf_decimal decimal;
    uint8_t id[16];
    CHECK(livebuf_kind_of(value) == (livebuf_kind)(LIVEBUF_KIND_DATE + kind));
    STATUS(livebuf_read_decimal(value, &decimal), kind == 4 ? LIVEBUF_OK : LIVEBUF_WRONG_TYPE);
    STATUS(livebuf_read_uuid(value, id), kind == 5 ? LIVEBUF_OK : LIVEBUF_WRONG_TYPE);
    /* A number among them: cells of any kind, which find them all the same. */
    STATUS(livebuf_push(&doc, list, livebuf_i64(5), NULL), LIVEBUF_OK);
    STATUS(livebuf_push(&doc, list, first[kind], NULL), LIVEBUF_OK);
    STATUS(livebuf_column_find_path(livebuf_root(&doc), "", &column), LIVEBUF_OK);
    CHECK(column.column_type == LIVEBUF_COLUMN_CELLS && !livebuf_column_slice(&column, NULL));
    CHECK(livebuf_column_find(&column, first[kind]) == 0);
    CHECK(livebuf_column_find(&column, livebuf_i64(5)) == 1);
  }
  CHECK(livebuf_column_find(&column, livebuf_date(INT32_MAX)) == -1);
  CHECK(livebuf_column_find(&column, livebuf_extended("no date")) == -1);
  CHECK(livebuf_column_find(&column, livebuf_uuid(NULL)) == -1);
}

static const float WEIGHTS[] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
static const uint8_t PIXELS[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3};
/* 1, 1.5, -2 and the infinity. */
static const uint16_t HALVES[] = {0x3C00, 0x3E00, 0xC000, 0x7C00};
static const uint8_t BOOLS[] = {1, 0, 0, 1};
static const uint32_t LENGTHS[] = {2, 2, 3}, FOUR[] = {4};

static livebuf_tensor weights(void) {
  return livebuf_tensor_of(LIVEBUF_COLUMN_F32, 2, LENGTHS + 1, WEIGHTS, sizeof WEIGHTS);
}
static livebuf_tensor image(void) {
  return livebuf_tensor_of(LIVEBUF_COLUMN_U8, 3, LENGTHS, PIXELS, sizeof PIXELS);
}
static livebuf_tensor halves(void) {
  return livebuf_tensor_of(LIVEBUF_COLUMN_F16, 1, FOUR, HALVES, sizeof HALVES);
}
static livebuf_tensor bools(void) {
  return livebuf_tensor_of(LIVEBUF_COLUMN_BOOL8, 2, LENGTHS, BOOLS, sizeof BOOLS);
}

/* Reads the same type, shape and numbers, from within the document. */
static bool is_tensor(livebuf_value value, livebuf_tensor wanted) {
  livebuf_tensor found;
  if (livebuf_read_tensor(value, &found)) return false;
  const uint8_t *data = found.data, *bytes = value.doc->bytes;
  return found.column_type == wanted.column_type && found.dimensions == wanted.dimensions &&
         !memcmp(found.shape, wanted.shape, sizeof found.shape) && found.length == wanted.length &&
         !memcmp(data, wanted.data, found.length) && data >= bytes &&
         data + found.length <= bytes + value.doc->length;
}

/* Tensors of each kind, by every call that stores a value; their numbers lent, read and set. */
static void tensors(void) {
  livebuf_doc doc, other;
  livebuf_node list, node;
  livebuf_key key;
  livebuf_column column;
  livebuf_tensor found;
  size_t count, elements = 0;
  double numbers[4];
  static uint8_t memory[1024], scratch[4096];
  const livebuf_tensor f32 = weights(), u8 = image(), f16 = halves(), bits = bools();
  STATUS(livebuf_init(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_tensor_new(&f32), &node), LIVEBUF_OK);
  CHECK(is_tensor(livebuf_root(&doc), f32) && livebuf_node_is_current(&doc, node));
  const livebuf_field fields[] = {livebuf_member("weights", livebuf_tensor_new(&f32)),
                                  livebuf_member("image", livebuf_tensor_new(&u8)),
                                  livebuf_member("text", livebuf_string("text"))};
  STATUS(livebuf_set_root(&doc, livebuf_fields(fields, 3), NULL), LIVEBUF_OK);
  SET("halves", livebuf_tensor_new(&f16));
  STATUS(livebuf_key_init(&key, "bools"), LIVEBUF_OK);
  STATUS(livebuf_set_key(&doc, LIVEBUF_ROOT, &key, livebuf_tensor_new(&bits), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_array(&doc, LIVEBUF_ROOT, "list", 4, &list), LIVEBUF_OK);
  STATUS(livebuf_push(&doc, list, livebuf_tensor_new(&u8), NULL), LIVEBUF_OK);
  STATUS(livebuf_insert(&doc, list, 0, livebuf_tensor_new(&bits), NULL), LIVEBUF_OK);
  STATUS(livebuf_push(&doc, list, livebuf_null(), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_at(&doc, list, 2, livebuf_tensor_new(&f16), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_pointer(&doc, "/list/-", livebuf_tensor_new(&f32)), LIVEBUF_OK);

  livebuf_value root = livebuf_root(&doc);
  CHECK(is_tensor(MEMBER("weights"), f32) && is_tensor(MEMBER("image"), u8));
  CHECK(is_tensor(MEMBER("halves"), f16) && is_tensor(MEMBER("bools"), bits));
  CHECK(is_tensor(livebuf_pointer(root, "/list/0"), bits));
  CHECK(is_tensor(livebuf_pointer(root, "/list/1"), u8));
  CHECK(is_tensor(livebuf_pointer(root, "/list/2"), f16));
  CHECK(is_tensor(livebuf_pointer(root, "/list/3"), f32));
  STATUS(livebuf_read_tensor(MEMBER("bools"), &found), LIVEBUF_OK);
  CHECK(((const uint8_t *)found.data - doc.bytes) % 8 == 0);
  /* What is in them is one, too, and reads like any array. */
  livebuf_value row = livebuf_at(MEMBER("weights"), 1), half_image = livebuf_at(MEMBER("image"), 1);
  CHECK(is_tensor(row, livebuf_tensor_of(LIVEBUF_COLUMN_F32, 1, LENGTHS + 2, WEIGHTS + 3, 12)));
  CHECK(is_tensor(half_image,
                  livebuf_tensor_of(LIVEBUF_COLUMN_U8, 2, LENGTHS + 1, PIXELS + 6, 6)));
  CHECK(livebuf_count(MEMBER("image")) == 2 && livebuf_count(livebuf_at(half_image, 0)) == 3);
  CHECK(livebuf_get_f64(livebuf_pointer(root, "/weights/1/0")) == 3.5);
  CHECK(livebuf_get_i64(livebuf_pointer(root, "/image/0/1/1")) == 255);
  CHECK(livebuf_get_f64(livebuf_pointer(root, "/halves/2")) == -2);
  CHECK(livebuf_kind_of(livebuf_pointer(root, "/halves/0")) == LIVEBUF_KIND_F64);
  CHECK(livebuf_get_bool(livebuf_pointer(root, "/bools/1/1")));
  CHECK(livebuf_kind_of(livebuf_pointer(root, "/bools/0/1")) == LIVEBUF_KIND_BOOL);
  livebuf_foreach(half, MEMBER("halves")) elements++;
  CHECK(elements == 4);

  /* By column. */
  STATUS(livebuf_column_find_path(MEMBER("halves"), "", &column), LIVEBUF_OK);
  const void *slice = livebuf_column_slice(&column, &count);
  CHECK(column.column_type == LIVEBUF_COLUMN_F16 && count == 4);
  CHECK(slice && !memcmp(slice, HALVES, sizeof HALVES));
  CHECK(livebuf_column_f64s(&column, 0, numbers, 4, 7) == 4 && numbers[1] == 1.5);
  CHECK(livebuf_column_find(&column, livebuf_f64(-2)) == 2);
  CHECK(livebuf_column_find(&column, livebuf_f64(-2.5)) == -1);
  CHECK(livebuf_column_find(&column, livebuf_tensor_new(&f16)) == -1);
  STATUS(livebuf_column_find_path(livebuf_at(MEMBER("bools"), 1), "", &column), LIVEBUF_OK);
  slice = livebuf_column_slice(&column, &count);
  CHECK(column.column_type == LIVEBUF_COLUMN_BOOL8 && count == 2);
  CHECK(slice && !memcmp(slice, BOOLS + 2, 2));
  CHECK(livebuf_column_find(&column, livebuf_bool(true)) == 1);
  CHECK(livebuf_column_find(&column, livebuf_i64(1)) == -1);
  STATUS(livebuf_column_find_path(row, "", &column), LIVEBUF_OK);
  slice = livebuf_column_slice(&column, &count);
  CHECK(column.column_type == LIVEBUF_COLUMN_F32 && count == 3);
  CHECK(slice && !memcmp(slice, WEIGHTS + 3, 12));
  STATUS(livebuf_column_find_path(MEMBER("weights"), "", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_FIXED_LIST && !livebuf_column_slice(&column, &count));
  STATUS(livebuf_column_tensor(&column, &found), LIVEBUF_OK);
  CHECK(found.data && is_tensor(MEMBER("weights"), found));
  STATUS(livebuf_column_tensor(&column, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_column_tensor(NULL, &found), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_column_find_path(MEMBER("list"), "", &column), LIVEBUF_OK);
  STATUS(livebuf_column_tensor(&column, &found), LIVEBUF_NOT_FOUND);

  /* To another document, as a tensor and as a value; not to where its numbers lie. */
  STATUS(livebuf_init_array(&other, memory, sizeof memory, 0), LIVEBUF_OK);
  STATUS(livebuf_read_tensor(MEMBER("image"), &found), LIVEBUF_OK);
  STATUS(livebuf_push(&other, LIVEBUF_ROOT, livebuf_tensor_new(&found), NULL), LIVEBUF_OK);
  STATUS(livebuf_push(&other, LIVEBUF_ROOT, livebuf_copy(&row), NULL), LIVEBUF_OK);
  CHECK(is_tensor(livebuf_at(livebuf_root(&other), 0), u8));
  CHECK(livebuf_read_tensor(row, &found) == LIVEBUF_OK);
  CHECK(is_tensor(livebuf_at(livebuf_root(&other), 1), found));
  STATUS(livebuf_validate_in(&other, scratch, sizeof scratch), LIVEBUF_OK);
  const livebuf_field own = livebuf_member("own", livebuf_tensor_new(&found));
  STATUS(livebuf_push(&doc, list, livebuf_tensor_new(&found), NULL), LIVEBUF_OVERLAP);
  STATUS(livebuf_push(&doc, list, livebuf_fields(&own, 1), NULL), LIVEBUF_OVERLAP);

  /* Numbers are set as they are in any array, rounded to the type. */
  root = livebuf_root(&doc);
  row = MEMBER("weights");
  STATUS(livebuf_read_tensor(row, &found), LIVEBUF_OK);
  CHECK(livebuf_value_is_current(row));
  node = livebuf_find(&doc, "/weights/1");
  STATUS(livebuf_set_at(&doc, node, 0, livebuf_f64(0.1), NULL), LIVEBUF_OK);
  CHECK(!livebuf_value_is_current(row));
  STATUS(livebuf_read_tensor(row, &found), LIVEBUF_STALE_HANDLE);
  STATUS(livebuf_column_tensor(&column, &found), LIVEBUF_STALE_HANDLE);
  STATUS(livebuf_set_at(&doc, node, 2, livebuf_i64(1 << 24), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_pointer(&doc, "/halves/3", livebuf_f64(0.1)), LIVEBUF_OK);
  STATUS(livebuf_set_pointer(&doc, "/bools/0/1", livebuf_bool(true)), LIVEBUF_OK);
  STATUS(livebuf_set_pointer(&doc, "/image/1/1/2", livebuf_i64(4)), LIVEBUF_OK);
  const float weights_now[] = {0.5f, 1.5f, 2.5f, 0.1f, 4.5f, 16777216.0f};
  const uint16_t halves_now[] = {0x3C00, 0x3E00, 0xC000, 0x2E66};
  const uint8_t bools_now[] = {1, 1, 0, 1};
  livebuf_tensor now = f32;
  now.data = weights_now;
  root = livebuf_root(&doc);
  CHECK(is_tensor(MEMBER("weights"), now));
  now = f16;
  now.data = halves_now;
  CHECK(is_tensor(MEMBER("halves"), now));
  now = bits;
  now.data = bools_now;
  CHECK(is_tensor(MEMBER("bools"), now));
  CHECK(livebuf_get_i64(livebuf_pointer(root, "/image/1/1/2")) == 4);
  /* A row by a tensor of its length, whose numbers become those of the type. */
  const double doubles[] = {1, 2, 3};
  now = livebuf_tensor_of(LIVEBUF_COLUMN_F64, 1, LENGTHS + 2, doubles, sizeof doubles);
  STATUS(livebuf_set_pointer(&doc, "/weights/1", livebuf_tensor_new(&now)), LIVEBUF_OK);
  STATUS(livebuf_read_tensor(livebuf_get(livebuf_root(&doc), "weights"), &found), LIVEBUF_OK);
  CHECK(found.column_type == LIVEBUF_COLUMN_F32 && ((const float *)found.data)[5] == 3);
  STATUS(livebuf_validate_in(&doc, scratch, sizeof scratch), LIVEBUF_OK);

  /* In memory that is not aligned the numbers are lent all the same; the slices of columns that
     need it are not. */
  static uint64_t words[256];
  uint8_t *odd = (uint8_t *)words + 1;
  CHECK(doc.length < sizeof words);
  memcpy(odd, doc.bytes, doc.length);
  STATUS(livebuf_read(&other, odd, doc.length), LIVEBUF_OK);
  root = livebuf_root(&other);
  CHECK(is_tensor(livebuf_pointer(root, "/list/3"), f32));
  CHECK(is_tensor(livebuf_pointer(root, "/list/2"), f16));
  STATUS(livebuf_column_find_path(MEMBER("halves"), "", &column), LIVEBUF_OK);
  CHECK(!livebuf_column_slice(&column, &count) && count == 0);

  /* In an example a tensor stays what it is. It is not stamped, nor are its numbers. */
  livebuf_template prepared;
  static const char *const PLACES[] = {"/text"}, *const INSIDE[] = {"/weights/0/0"};
  livebuf_new value = livebuf_string("another text");
  const livebuf_new example = livebuf_fields(fields, 3);
  STATUS(livebuf_template_init(&prepared, example, PLACES, 1, scratch, sizeof scratch), LIVEBUF_OK);
  STATUS(livebuf_stamp(&prepared, &value, 1, memory, sizeof memory, &count), LIVEBUF_OK);
  STATUS(livebuf_read(&other, memory, count), LIVEBUF_OK);
  root = livebuf_root(&other);
  CHECK(is_tensor(MEMBER("weights"), f32) && is_text(MEMBER("text"), "another text"));
  value = livebuf_tensor_new(&f32);
  STATUS(livebuf_stamp(&prepared, &value, 1, memory, sizeof memory, &count), LIVEBUF_UNSUPPORTED);
  STATUS(livebuf_template_init(&prepared, example, INSIDE, 1, scratch, sizeof scratch),
         LIVEBUF_TENSOR_MISMATCH);
}

/* A tensor keeps its type and the lengths of its rows; where an edit is refused, the document is as
   it was. */
static void fixed_tensors(void) {
  livebuf_doc doc;
  const livebuf_tensor f32 = weights(), bits = bools();
  static uint8_t before[1024], scratch[1024], memory[400];
  STATUS(livebuf_init_object(&doc, buffer, sizeof buffer, 2), LIVEBUF_OK);
  SET("weights", livebuf_tensor_new(&f32));
  SET("bools", livebuf_tensor_new(&bits));
  size_t length = doc.length;
  memcpy(before, doc.bytes, length);
#define MISMATCH(call)                                                 \
  do {                                                                 \
    STATUS(call, LIVEBUF_TENSOR_MISMATCH);                             \
    CHECK(doc.length == length && !memcmp(before, doc.bytes, length)); \
  } while (0)
  for (int deep = 0; deep < 2; deep++) {
    livebuf_node node = livebuf_find(&doc, deep ? "/weights/1" : "/weights");
    CHECK(livebuf_node_exists(node));
    MISMATCH(livebuf_push_f64(&doc, node, 1));
    MISMATCH(livebuf_push(&doc, node, livebuf_tensor_new(&f32), NULL));
    MISMATCH(livebuf_insert(&doc, node, 0, livebuf_i64(1), NULL));
    if (deep) {
      MISMATCH(livebuf_push(&doc, node, livebuf_f64(1), NULL));
      MISMATCH(livebuf_remove_at(&doc, node, 0));
      MISMATCH(livebuf_truncate(&doc, node, 1));
      MISMATCH(livebuf_clear(&doc, node));
      MISMATCH(livebuf_swap(&doc, node, 0, 1));
      MISMATCH(livebuf_reserve(&doc, node, 1));
    }
    MISMATCH(livebuf_set_at(&doc, node, 0, livebuf_null(), NULL));
    MISMATCH(livebuf_set_at(&doc, node, 0, livebuf_string("1"), NULL));
    MISMATCH(livebuf_set_at(&doc, node, 0, livebuf_tensor_new(&bits), NULL));
  }
  MISMATCH(livebuf_set_pointer(&doc, "/weights/-", livebuf_f64(1)));
  MISMATCH(livebuf_set_pointer(&doc, "/weights/0/0", livebuf_f64(1e300)));
  MISMATCH(livebuf_set_pointer(&doc, "/weights/0/0", livebuf_i64((1 << 24) + 1)));
  MISMATCH(livebuf_set_pointer(&doc, "/weights/0/0", livebuf_bool(true)));
  MISMATCH(livebuf_set_pointer(&doc, "/weights/0", livebuf_f64(1)));
  MISMATCH(livebuf_set_pointer(&doc, "/bools/0/0", livebuf_i64(1)));
  MISMATCH(livebuf_remove_pointer(&doc, "/weights/0/0"));
#undef MISMATCH
  CHECK(error_is(doc.error, "a tensor keeps its type and the lengths of its elements, and this does not fit them"));
  STATUS(livebuf_set_pointer(&doc, "/weights/9/0", livebuf_f64(1)), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_set_at(&doc, livebuf_find(&doc, "/bools/0"), 2, livebuf_bool(true), NULL),
         LIVEBUF_INDEX_OUT_OF_RANGE);
  /* Rows are added, exchanged and removed; what is left is a tensor, and so is an empty one. */
  static const uint32_t THREE[] = {3};
  static const float ROW[] = {7, 8, 9};
  livebuf_node rows = livebuf_find(&doc, "/weights");
  livebuf_tensor row = livebuf_tensor_of(LIVEBUF_COLUMN_F32, 1, THREE, ROW, sizeof ROW), all;
  STATUS(livebuf_push(&doc, rows, livebuf_tensor_new(&row), NULL), LIVEBUF_OK);
  STATUS(livebuf_insert(&doc, rows, 0, livebuf_tensor_new(&row), NULL), LIVEBUF_OK);
  STATUS(livebuf_swap(&doc, rows, 0, 1), LIVEBUF_OK);
  STATUS(livebuf_remove_at(&doc, rows, 1), LIVEBUF_OK);
  livebuf_value value = livebuf_node_value(&doc, rows);
  STATUS(livebuf_read_tensor(value, &all), LIVEBUF_OK);
  CHECK(all.dimensions == 2 && all.shape[0] == 3 && all.shape[1] == 3 && all.length == 36);
  CHECK(!memcmp(all.data, f32.data, 24) && !memcmp((const uint8_t *)all.data + 24, ROW, 12));
  STATUS(livebuf_clear(&doc, rows), LIVEBUF_OK);
  value = livebuf_node_value(&doc, rows);
  STATUS(livebuf_read_tensor(value, &all), LIVEBUF_OK);
  CHECK(all.dimensions == 2 && all.shape[0] == 0 && all.shape[1] == 3 && all.length == 0);
  /* The whole makes place for anything. */
  STATUS(livebuf_set_pointer(&doc, "/weights", livebuf_string("text")), LIVEBUF_OK);
  STATUS(livebuf_remove(&doc, LIVEBUF_ROOT, "bools"), LIVEBUF_OK);
  STATUS(livebuf_validate_in(&doc, scratch, sizeof scratch), LIVEBUF_OK);

  /* What is missing is said, and true. */
  for (size_t capacity = 40; capacity < 200; capacity += 8) {
    STATUS(livebuf_init(&doc, memory, capacity), LIVEBUF_OK);
    int status = livebuf_set_root(&doc, livebuf_tensor_new(&f32), NULL);
    if (status == LIVEBUF_OK) continue;
    STATUS(status, LIVEBUF_NO_SPACE);
    CHECK(doc.length == 32);
    STATUS(livebuf_init(&doc, memory, capacity + (size_t)doc.error.detail), LIVEBUF_OK);
    STATUS(livebuf_set_root(&doc, livebuf_tensor_new(&f32), NULL), LIVEBUF_OK);
  }
}

/* What is no tensor is neither stored nor read, and changes nothing. */
static void no_tensors(void) {
  livebuf_doc doc;
  livebuf_node list;
  STATUS(livebuf_init_object(&doc, buffer, sizeof buffer, 2), LIVEBUF_OK);
  STATUS(livebuf_set_array(&doc, LIVEBUF_ROOT, "list", 2, &list), LIVEBUF_OK);
  for (int i = 0; i < 3; i++) STATUS(livebuf_push_i64(&doc, list, i), LIVEBUF_OK);
  static const uint8_t ZEROS[64] = {0}, TWO[] = {2, 0, 0, 1};
  static const uint32_t ONES[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  static const uint32_t LARGEST[] = {UINT32_MAX, UINT32_MAX};
  static const uint32_t HOLLOW[] = {2, 0}, NO_ROWS[] = {0, 3};
#define TENSOR(type, dimensions, shape, length) \
  livebuf_tensor_of(LIVEBUF_COLUMN_##type, dimensions, shape, ZEROS, length)
  livebuf_tensor unknown = TENSOR(U8, 1, FOUR, 4);
  unknown.column_type = UINT32_MAX;
  const livebuf_tensor bad[] = {
      TENSOR(F32, 0, FOUR, 4),     TENSOR(F32, 0, FOUR, 0),
      TENSOR(F32, 17, ONES, 4),    TENSOR(F32, 1, NULL, 16),
      TENSOR(F32, 1, FOUR, 15),    TENSOR(F32, 1, FOUR, 17),
      TENSOR(F32, 1, FOUR, 0),     TENSOR(U8, 2, LARGEST, 1),
      TENSOR(U8, 2, HOLLOW, 0),
      TENSOR(CELLS, 1, FOUR, 32),  TENSOR(BOOL, 1, FOUR, 1),
      TENSOR(DATE, 1, FOUR, 16),   TENSOR(NUMBERS_F32, 1, FOUR, 16),
      TENSOR(FIXED_LIST, 1, FOUR, 0), unknown,
      livebuf_tensor_of(LIVEBUF_COLUMN_BOOL8, 1, FOUR, TWO, 4)};
  uint8_t unchanged[512];
  size_t length = doc.length;
  memcpy(unchanged, doc.bytes, length);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const livebuf_field field = livebuf_member("a", livebuf_tensor_new(&bad[i]));
    STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", field.value), LIVEBUF_TENSOR_MISMATCH);
    STATUS(livebuf_push(&doc, list, field.value, NULL), LIVEBUF_TENSOR_MISMATCH);
    STATUS(livebuf_push(&doc, list, livebuf_fields(&field, 1), NULL), LIVEBUF_TENSOR_MISMATCH);
  }
  livebuf_tensor none = TENSOR(U8, 1, FOUR, 4);
  none.data = NULL;
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_tensor_new(&none)), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "a", livebuf_tensor_new(NULL)), LIVEBUF_NULL_ARGUMENT);
  CHECK(doc.length == length && !memcmp(unchanged, doc.bytes, length));

  /* No rows, and as many dimensions as there can be. */
  const livebuf_tensor deep = TENSOR(F64, LIVEBUF_MAX_DIMENSIONS, ONES, 8);
  none = TENSOR(U8, 2, NO_ROWS, 0);
  SET("none", livebuf_tensor_new(&none));
  SET("deep", livebuf_tensor_new(&deep));
  none.data = NULL;
  SET("nothing", livebuf_tensor_new(&none));
  none.data = ZEROS;
#undef TENSOR
  livebuf_value root = livebuf_root(&doc);
  CHECK(is_tensor(MEMBER("none"), none) && is_tensor(MEMBER("nothing"), none));
  CHECK(is_tensor(MEMBER("deep"), deep));
  REFUSES(livebuf_read_tensor, livebuf_tensor, MEMBER("list"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_tensor, livebuf_tensor, livebuf_pointer(root, "/list/0"), LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_tensor, livebuf_tensor, root, LIVEBUF_WRONG_TYPE);
  REFUSES(livebuf_read_tensor, livebuf_tensor, MEMBER("no"), LIVEBUF_NOT_FOUND);
  REFUSES(livebuf_read_tensor, livebuf_tensor, livebuf_root(NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_read_tensor(MEMBER("deep"), NULL), LIVEBUF_NULL_ARGUMENT);
}

/* A document that Rust wrote: rows with tensors of one shape, behind each other in a column. */
static void tensors_in_rows(void) {
  static const uint64_t WORDS[] = {
      0x146424cab,        0x20,               0xf800000021,       0xd8,
      0x500001005,        0x3000000005,       0xd800000008,       0x2000000000,
      0x200000000,        0x500000205,        0x6800000005,       0x500011205,
      0x7000000005,       0x403020100,        0x100010109,        0x3000000090,
      0x501001205,        0x9800000005,       0x17,               0x300000109,
      0x7000000000,       0xf01002005,        0xb80000000f,       0x3c103c023c013c00,
      0x3c213c203c123c11, 0x3c22,             0x3c423c413c40,     0x1020201,
      0xc03a,             0x8200000000006469, 0x8200000000007461};
  livebuf_doc doc;
  livebuf_column column;
  livebuf_tensor found;
  size_t count;
  static uint8_t scratch[1024];
  memcpy(buffer, WORDS, sizeof WORDS);
  STATUS(livebuf_open(&doc, buffer, sizeof WORDS, sizeof buffer), LIVEBUF_OK);
  livebuf_value rows = livebuf_root(&doc);
  STATUS(livebuf_column_find_path(rows, "/at", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_FIXED_LIST && column.length == 5);
  CHECK(!livebuf_column_slice(&column, &count) && count == 0);
  STATUS(livebuf_column_tensor(&column, &found), LIVEBUF_NOT_FOUND); /* a row has none */
  for (uint16_t row = 0; row < 5; row++) {
    const uint16_t half = (uint16_t)(0x3C00 + 16 * row);
    const uint16_t wanted[] = {half, (uint16_t)(half + 1), (uint16_t)(half + 2)};
    static const uint32_t SHAPE[] = {1, 3};
    livebuf_value at = livebuf_column_get(&column, row);
    if (row == 3) {
      CHECK(livebuf_is_null(at) && livebuf_read_tensor(at, &found) == LIVEBUF_WRONG_TYPE);
      continue;
    }
    CHECK(is_tensor(at, livebuf_tensor_of(LIVEBUF_COLUMN_F16, 2, SHAPE, wanted, 6)));
    CHECK(is_tensor(livebuf_at(at, 0),
                    livebuf_tensor_of(LIVEBUF_COLUMN_F16, 1, SHAPE + 1, wanted, 6)));
  }
  STATUS(livebuf_read_tensor(livebuf_column_get(&column, 1), &found), LIVEBUF_OK);
  CHECK(((const uint8_t *)found.data - doc.bytes) % 8 == 6);
  STATUS(livebuf_set_pointer(&doc, "/1/at/0/2", livebuf_f64(-1)), LIVEBUF_OK);
  STATUS(livebuf_validate_in(&doc, scratch, sizeof scratch), LIVEBUF_OK);
  STATUS(livebuf_set_pointer(&doc, "/3/at", livebuf_tensor_new(&found)), LIVEBUF_OVERLAP);
  const livebuf_tensor bits = bools();
  STATUS(livebuf_set_pointer(&doc, "/3/at", livebuf_tensor_new(&bits)), LIVEBUF_OK);
  CHECK(is_tensor(livebuf_pointer(livebuf_root(&doc), "/3/at"), bits));
  CHECK(livebuf_get_f64(livebuf_pointer(livebuf_root(&doc), "/1/at/0/2")) == -1);
  STATUS(livebuf_validate_in(&doc, scratch, sizeof scratch), LIVEBUF_OK);
}

/* With any byte damaged, what is lent lies in the document and is aligned in it. */
static void damaged_tensors(void) {
  livebuf_doc doc;
  const livebuf_tensor f32 = weights(), u8 = image(), f16 = halves(), bits = bools();
  const livebuf_field fields[] = {livebuf_member("image", livebuf_tensor_new(&u8)),
                                  livebuf_member("weights", livebuf_tensor_new(&f32)),
                                  livebuf_member("halves", livebuf_tensor_new(&f16)),
                                  livebuf_member("bools", livebuf_tensor_new(&bits))};
  STATUS(livebuf_init(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_fields(fields, 4), NULL), LIVEBUF_OK);
  static uint64_t words[128];
  uint8_t *bytes = (uint8_t *)words, scratch[2048];
  size_t length = doc.length, lent = 0, misaligned = 0, invalid = 0;
  CHECK(length < sizeof words);
  for (size_t at = 24; at < length; at++) {
    for (int how = 0; how < 9; how++) {
      memcpy(bytes, doc.bytes, length);
      bytes[at] = how < 8 ? (uint8_t)(bytes[at] ^ 1 << how) : 0xFF;
      livebuf_doc damaged;
      if (livebuf_open(&damaged, bytes, length, length)) continue;
      livebuf_value root = livebuf_root(&damaged);
      for (size_t i = 0; i < 4; i++) {
        livebuf_value value = MEMBER(fields[i].key);
        for (int depth = 0; depth < 3; depth++, value = livebuf_at(value, 1)) {
          livebuf_tensor found;
          int status = livebuf_read_tensor(value, &found);
          misaligned += status == LIVEBUF_MISALIGNED;
          if (status) continue;
          const uint8_t *data = found.data;
          size_t numbers = 1;
          CHECK(data >= bytes && data + found.length <= bytes + length);
          CHECK(found.dimensions >= 1 && found.dimensions <= LIVEBUF_MAX_DIMENSIONS);
          for (uint32_t d = 0; d < found.dimensions; d++) numbers *= found.shape[d];
          if (numbers) {
            size_t width = found.length / numbers;
            CHECK(width * numbers == found.length && (size_t)(data - bytes) % width == 0);
          }
          lent++;
        }
      }
      bool valid = !livebuf_validate_in(&damaged, scratch, sizeof scratch);
      invalid += !valid;
      (void)livebuf_set_pointer(&damaged, "/weights/1/1", livebuf_f64(7));
      (void)livebuf_set_pointer(&damaged, "/bools/1/0", livebuf_bool(true));
      (void)livebuf_set_pointer(&damaged, "/image/1", livebuf_tensor_new(&bits));
      (void)livebuf_remove(&damaged, LIVEBUF_ROOT, "halves");
      if (valid) STATUS(livebuf_validate_in(&damaged, scratch, sizeof scratch), LIVEBUF_OK);
    }
  }
  CHECK(lent > 1000 && misaligned > 0 && invalid > 1000);
}

/* Prepared messages: from fields, from a document, and every misuse. */
static void templates(void) {
  static const char *const PLACES[] = {"/event", "/lap", "/sec"};
  static uint8_t memory[1024], out[512];
  livebuf_template lap, other;
  livebuf_doc doc;
  size_t length = 7;
  livebuf_field fields[3] = {livebuf_member("event", livebuf_string("an example")),
                             livebuf_member("lap", livebuf_i64(0)),
                             livebuf_member("sec", livebuf_null())};
  livebuf_new values[3] = {livebuf_string("lap_complete"), livebuf_i64(55), livebuf_f64(88.427)};
  STATUS(livebuf_template_init(&lap, livebuf_fields(fields, 3), PLACES, 3, memory, sizeof memory),
         LIVEBUF_OK);
  CHECK(lap.count == 3 && lap.size > 100 && lap.size < 200 && !lap.error.status);
  memset(memory + lap.size, 0x5A, sizeof memory - lap.size); /* the rest is free again */
  memset(out, 0xA5, sizeof out);
  STATUS(livebuf_stamp(&lap, values, 3, out, sizeof out, &length), LIVEBUF_OK);
  CHECK(length > 100 && length < 200 && out[length] == 0xA5);
  STATUS(livebuf_open(&doc, out, length, sizeof out), LIVEBUF_OK);
  STATUS(livebuf_validate_in(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  CHECK(is_text(livebuf_get(livebuf_root(&doc), "event"), "lap_complete"));
  CHECK(livebuf_get_i64(livebuf_get(livebuf_root(&doc), "lap")) == 55);
  CHECK(livebuf_get_f64(livebuf_get(livebuf_root(&doc), "sec")) == 88.427);

  /* Every kind of value. A copy of the template is one, too. */
  other = lap;
  livebuf_new kinds[][3] = {
      {livebuf_null(), livebuf_bool(true), livebuf_u64(UINT64_MAX)},
      {livebuf_string("short"), livebuf_bytes_n("\0\xFF, and more", 12), livebuf_number_text("1e400")},
      {livebuf_string(""), livebuf_bytes_n(NULL, 0), livebuf_i64(INT64_MIN)}};
  for (int i = 0; i < 3; i++) {
    STATUS(livebuf_stamp_doc(&other, kinds[i], 3, &doc, out, sizeof out), LIVEBUF_OK);
    CHECK(livebuf_is_trusted(&doc) && doc.bytes == out && doc.capacity == sizeof out);
    STATUS(livebuf_validate_in(&doc, buffer, sizeof buffer), LIVEBUF_OK);
    STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "further", i), LIVEBUF_OK);
    CHECK(livebuf_count(livebuf_root(&doc)) == 4);
  }
  CHECK(livebuf_get_bytes(livebuf_get(livebuf_root(&doc), "lap")).length == 0);

  /* Too small, and then large enough. No message of before stays. */
  STATUS(livebuf_stamp(&lap, values, 3, out, sizeof out, &length), LIVEBUF_OK);
  size_t whole = length;
  for (size_t room = 0; room < whole; room++) {
    STATUS(livebuf_stamp(&lap, values, 3, out, room, &length), LIVEBUF_NO_SPACE);
    CHECK(length == whole);
    if (room >= 4) STATUS(livebuf_open(&doc, out, whole, sizeof out), LIVEBUF_NOT_A_DOCUMENT);
  }
  STATUS(livebuf_stamp(&lap, values, 3, out, whole, &length), LIVEBUF_OK);
  STATUS(livebuf_stamp_doc(&lap, values, 3, &doc, out, whole - 1), LIVEBUF_NO_SPACE);
  CHECK(doc.error.detail == 1 && !livebuf_exists(livebuf_root(&doc)));

  STATUS(livebuf_stamp(&lap, values, 2, out, sizeof out, &length), LIVEBUF_INDEX_OUT_OF_RANGE);
  CHECK(length == 0);
  STATUS(livebuf_stamp(&lap, NULL, 3, out, sizeof out, &length), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_stamp(&lap, values, 3, NULL, 0, &length), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_stamp(&lap, values, 3, out, sizeof out, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_stamp(NULL, values, 3, out, sizeof out, &length), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_stamp_doc(&lap, values, 3, NULL, out, sizeof out), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_stamp(&lap, values, 3, memory, sizeof memory, &length), LIVEBUF_OVERLAP);
  STATUS(livebuf_stamp(&lap, values, 3, out, sizeof out, &length), LIVEBUF_OK);
  livebuf_new own = livebuf_string_n((const char *)out + 32, 12);
  livebuf_new wrong[] = {livebuf_object(1), livebuf_array(1), livebuf_fields(fields, 3), own,
                         livebuf_string("\xFF"), livebuf_number_text("1,5"), livebuf_string(NULL)};
  int expected[] = {LIVEBUF_UNSUPPORTED, LIVEBUF_UNSUPPORTED, LIVEBUF_UNSUPPORTED,
                    LIVEBUF_OVERLAP,     LIVEBUF_BAD_TEXT,    LIVEBUF_BAD_NUMBER,
                    LIVEBUF_NULL_ARGUMENT};
  for (int i = 0; i < 7; i++) {
    values[2] = wrong[i];
    STATUS(livebuf_stamp(&lap, values, 3, out, sizeof out, &length), expected[i]);
    CHECK(length == 0 && out[0] == 0);
  }

  /* Copies of values that are neither. */
  livebuf_doc source;
  STATUS(livebuf_init(&source, buffer, sizeof buffer), LIVEBUF_OK);
  STATUS(livebuf_set_root(&source, livebuf_string("text of another document"), NULL),
         LIVEBUF_OK);
  livebuf_value text = livebuf_root(&source);
  values[2] = livebuf_copy(&text);
  STATUS(livebuf_stamp(&lap, values, 3, out, 100, &length), LIVEBUF_NO_SPACE);
  STATUS(livebuf_stamp_doc(&lap, values, 3, &doc, out, length), LIVEBUF_OK);
  CHECK(is_text(livebuf_get(livebuf_root(&doc), "sec"), "text of another document"));
  STATUS(livebuf_set_root(&source, livebuf_object(0), NULL), LIVEBUF_OK);
  STATUS(livebuf_stamp(&lap, values, 3, out, sizeof out, &length), LIVEBUF_STALE_HANDLE);
  text = livebuf_root(&source);
  STATUS(livebuf_stamp(&lap, values, 3, out, sizeof out, &length), LIVEBUF_UNSUPPORTED);

  /* From a document; what is wrong with places is told by their numbers. */
  STATUS(livebuf_init(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_fields(fields, 3), NULL), LIVEBUF_OK);
  livebuf_value root = livebuf_root(&doc);
  livebuf_new example = livebuf_copy(&root);
  STATUS(livebuf_template_init(&other, example, PLACES, 2, memory, sizeof memory), LIVEBUF_OK);
  STATUS(livebuf_stamp(&other, values, 2, out, sizeof out, &length), LIVEBUF_OK);
  static const char *const WRONG[][2] = {
      {"/lap", "/lop"}, {"/lap", ""}, {"/lap", "lap"}, {"/lap", NULL}, {"/lap", "\xFF"}};
  int statuses[] = {LIVEBUF_NOT_FOUND, LIVEBUF_WRONG_TYPE, LIVEBUF_BAD_POINTER,
                    LIVEBUF_NULL_ARGUMENT, LIVEBUF_BAD_TEXT};
  for (int i = 0; i < 5; i++) {
    STATUS(livebuf_template_init(&other, example, WRONG[i], 2, memory, sizeof memory),
           statuses[i]);
    CHECK(other.error.status == statuses[i] && (i > 2 || other.error.detail == 1));
    STATUS(livebuf_stamp(&other, values, 2, out, sizeof out, &length), LIVEBUF_NOT_OPEN);
  }
  STATUS(livebuf_template_init(&other, example, PLACES, 3, memory, 256), LIVEBUF_NO_SPACE);
  STATUS(livebuf_template_init(&other, example, PLACES, 3, memory,
                               256 + (size_t)other.error.detail),
         LIVEBUF_OK);
  STATUS(livebuf_template_init(&other, example, PLACES, 3, NULL, 256), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_template_init(&other, example, PLACES, 3, buffer, sizeof buffer),
         LIVEBUF_OVERLAP);
  STATUS(livebuf_template_init(NULL, example, PLACES, 3, memory, 256), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_template_init(&other, livebuf_i64(1), NULL, 0, memory, sizeof memory),
         LIVEBUF_OK);
  STATUS(livebuf_stamp(&other, NULL, 0, out, sizeof out, &length), LIVEBUF_OK);
  CHECK(length == 32);
}

/* The calls of the first page, and errors that are kept while later calls succeed. */
static void everyday(void) {
  uint8_t memory[512];
  char line[64];
  livebuf_doc doc;
  livebuf_node laps;
  STATUS(livebuf_init_array(&doc, memory, 64, 2), LIVEBUF_OK);
  STATUS(livebuf_push_i64(&doc, LIVEBUF_ROOT, 7), LIVEBUF_OK);
  STATUS(livebuf_init_object(&doc, memory, 32, 2), LIVEBUF_NO_SPACE);
  STATUS(livebuf_init_object(&doc, NULL, 32, 2), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_init_object(&doc, memory, sizeof memory, 2), LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "event", "lap"), LIVEBUF_OK);
  STATUS(livebuf_set_array(&doc, LIVEBUF_ROOT, "laps", 4, &laps), LIVEBUF_OK);
  for (int64_t lap = 1; lap < 5; lap++) livebuf_push_i64(&doc, laps, lap);

  int64_t sum = 0;
  size_t members = 0;
  livebuf_value root = livebuf_root(&doc);
  livebuf_foreach(lap, livebuf_get(root, "laps")) sum += livebuf_get_i64(lap.value);
  livebuf_foreach(member, root) members += member.key.length;
  livebuf_foreach(none, livebuf_get(root, "event")) members += 1000;
  CHECK(sum == 10 && members == 9);

  livebuf_str event = livebuf_get_str(livebuf_get(root, "event"));
  livebuf_str none = livebuf_get_str(livebuf_get(root, "laps"));
  snprintf(line, sizeof line, LIVEBUF_FMT "," LIVEBUF_FMT ";", LIVEBUF_ARG(event),
           LIVEBUF_ARG(none));
  CHECK(!strcmp(line, "lap,;"));

  /* The last error is kept until it is cleared. */
  STATUS(livebuf_remove(&doc, LIVEBUF_ROOT, "nothing"), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 5), LIVEBUF_OK);
  STATUS(doc.error.status, LIVEBUF_NOT_FOUND);
  livebuf_clear_error(&doc);
  STATUS(doc.error.status, LIVEBUF_OK);

  /* Key and text in the document under edit, by each of the typed calls. */
  const char *inside = livebuf_get_str(livebuf_get(livebuf_root(&doc), "event")).data;
  STATUS(livebuf_set_i64_n(&doc, LIVEBUF_ROOT, inside, 3, 6), LIVEBUF_OK);
  CHECK(livebuf_get_i64(livebuf_get(livebuf_root(&doc), "lap")) == 6);
  inside = livebuf_get_str(livebuf_get(livebuf_root(&doc), "event")).data;
  STATUS(livebuf_set_f64_n(&doc, LIVEBUF_ROOT, inside, 3, 1.5), LIVEBUF_OK);
  CHECK(livebuf_get_f64(livebuf_get(livebuf_root(&doc), "lap")) > 1);
  inside = livebuf_get_str(livebuf_get(livebuf_root(&doc), "event")).data;
  STATUS(livebuf_set_str_n(&doc, LIVEBUF_ROOT, inside, 3, inside, 3), LIVEBUF_OK);
  CHECK(livebuf_str_equals(livebuf_get_str(livebuf_get(livebuf_root(&doc), "lap")), "lap"));
  STATUS(livebuf_set_str_n(&doc, LIVEBUF_ROOT, "a", 1, NULL, 0), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_i64_n(&doc, LIVEBUF_ROOT, NULL, 1, 1), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_f64_n(NULL, LIVEBUF_ROOT, "a", 1, 1), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_i64_n(&doc, LIVEBUF_ROOT, "\xFF", 1, 1), LIVEBUF_BAD_TEXT);
}

/* A transaction keeps all edits or none; one within another is a savepoint. */
static void transactions(void) {
  static uint8_t before[1024];
  livebuf_doc doc;
  livebuf_iter iter;
  size_t length;
  STATUS(livebuf_init_object(&doc, buffer, sizeof buffer, 2), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "from", 10), LIVEBUF_OK);
  STATUS(livebuf_set_array(&doc, LIVEBUF_ROOT, "list", 2, NULL), LIVEBUF_OK);
  livebuf_node list = livebuf_child(&doc, LIVEBUF_ROOT, "list");
  STATUS(livebuf_push_i64(&doc, list, 1), LIVEBUF_OK);
  length = doc.length;
  memcpy(before, buffer, length);
  STATUS(livebuf_commit(&doc), LIVEBUF_BAD_SEQUENCE);
  STATUS(livebuf_rollback(&doc), LIVEBUF_BAD_SEQUENCE);
  STATUS(livebuf_begin(NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_commit(NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_rollback(NULL), LIVEBUF_NULL_ARGUMENT);
  CHECK(livebuf_transactions(&doc) == 0 && livebuf_transactions(NULL) == 0);

  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  CHECK(livebuf_transactions(&doc) == 1);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "from", 0), LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "to", "text that is longer than a cell"), LIVEBUF_OK);
  STATUS(livebuf_remove(&doc, LIVEBUF_ROOT, "list"), LIVEBUF_OK);
  livebuf_value from = livebuf_get(livebuf_root(&doc), "from");
  STATUS(livebuf_iterate(livebuf_root(&doc), 0, &iter), LIVEBUF_OK);
  CHECK(livebuf_get_i64_or(from, -1) == 0);
  STATUS(livebuf_rollback(&doc), LIVEBUF_OK);
  CHECK(doc.length == length && !memcmp(doc.bytes, before, length));
  /* All that was got before is stale. */
  CHECK(!livebuf_value_is_current(from));
  CHECK(!livebuf_next(&iter));
  CHECK(!livebuf_node_is_current(&doc, list));
  STATUS(livebuf_push_i64(&doc, list, 2), LIVEBUF_STALE_HANDLE);

  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "from", 9), LIVEBUF_OK);
  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  CHECK(livebuf_transactions(&doc) == 2);
  STATUS(livebuf_clear(&doc, LIVEBUF_ROOT), LIVEBUF_OK);
  STATUS(livebuf_rollback(&doc), LIVEBUF_OK);
  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 1), LIVEBUF_OK);
  STATUS(livebuf_commit(&doc), LIVEBUF_OK);
  STATUS(livebuf_commit(&doc), LIVEBUF_OK);
  CHECK(livebuf_transactions(&doc) == 0);
  CHECK(livebuf_get_i64(livebuf_get(livebuf_root(&doc), "from")) == 9);
  CHECK(livebuf_get_i64(livebuf_get(livebuf_root(&doc), "lap")) == 1);
  CHECK(livebuf_count(livebuf_get(livebuf_root(&doc), "list")) == 1);

  /* A savepoint that was committed goes back with the transaction around it. */
  length = doc.length;
  memcpy(before, buffer, length);
  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  STATUS(livebuf_remove(&doc, LIVEBUF_ROOT, "from"), LIVEBUF_OK);
  STATUS(livebuf_commit(&doc), LIVEBUF_OK);
  STATUS(livebuf_rollback(&doc), LIVEBUF_OK);
  CHECK(doc.length == length && !memcmp(doc.bytes, before, length));

  /* No room for a log; and a log that gets full can only be taken back. A place that is written
     again takes room once, so two places take turns. */
  STATUS(livebuf_open(&doc, buffer, length, length), LIVEBUF_OK);
  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "from", 8), LIVEBUF_NO_SPACE);
  STATUS(livebuf_rollback(&doc), LIVEBUF_OK);
  CHECK(livebuf_transactions(&doc) == 0);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "from", 8), LIVEBUF_OK);
  memcpy(before, buffer, length);
  STATUS(livebuf_open(&doc, buffer, length, length + 160), LIVEBUF_OK);
  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  int status = LIVEBUF_OK;
  for (int i = 0; i < 20 && !status; i++)
    status = livebuf_set_i64(&doc, LIVEBUF_ROOT, i % 2 ? "lap" : "from", i);
  STATUS(status, LIVEBUF_NO_SPACE);
  CHECK(doc.error.detail > 0);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "from", 3), LIVEBUF_NO_SPACE);
  STATUS(livebuf_commit(&doc), LIVEBUF_NO_SPACE);
  STATUS(livebuf_begin(&doc), LIVEBUF_NO_SPACE);
  STATUS(livebuf_rollback(&doc), LIVEBUF_OK);
  CHECK(doc.length == length && !memcmp(doc.bytes, before, length));
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "from", 3), LIVEBUF_OK);

  livebuf_doc reader;
  STATUS(livebuf_read(&reader, buffer, length), LIVEBUF_OK);
  STATUS(livebuf_begin(&reader), LIVEBUF_READ_ONLY);
  CHECK(livebuf_transactions(&reader) == 0);
}

typedef struct {
  uint8_t *copy;
  int calls;
  bool differ;
} told;

/* The old bytes are there when the callback is called. */
static void tell(void *user, const uint8_t *bytes, size_t offset, size_t length) {
  told *known = user;
  known->calls++;
  if (memcmp(bytes + offset, known->copy + offset, 1)) known->differ = true;
  (void)length;
}

/* The ranges of a recorder: sorted, apart from each other, within the document. */
static bool in_order(const livebuf_recorder *recorder, const livebuf_doc *doc) {
  size_t end = 0;
  for (size_t i = 0; i < recorder->count; i++) {
    const livebuf_changed *range = &recorder->ranges[i];
    if (!range->length || (i && range->offset <= end)) return false;
    end = range->offset + range->length;
  }
  return end <= doc->length && recorder->length == doc->length;
}

/* Whether the copy gets equal by the bytes of the ranges. */
static bool carried(uint8_t *copy, const livebuf_recorder *recorder,
                    const livebuf_doc *doc) {
  if (!in_order(recorder, doc)) return false;
  for (size_t i = 0; i < recorder->count; i++) {
    const livebuf_changed *range = &recorder->ranges[i];
    memcpy(copy + range->offset, doc->bytes + range->offset, range->length);
  }
  return !memcmp(copy, doc->bytes, doc->length);
}

static void recording(void) {
  static uint8_t copy[2048];
  livebuf_changed ranges[16];
  livebuf_recorder recorder, other;
  livebuf_doc doc;
  told known = {copy, 0, false};
  STATUS(livebuf_init_object(&doc, buffer, sizeof buffer, 4), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 55), LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "event", "lap_complete_or_not"), LIVEBUF_OK);
  memcpy(copy, buffer, sizeof copy);
  size_t length = doc.length;

  /* One number: eight bytes. */
  livebuf_value lap = livebuf_get(livebuf_root(&doc), "lap");
  STATUS(livebuf_record(&doc, &recorder, ranges, 16), LIVEBUF_OK);
  CHECK(livebuf_value_is_current(lap));
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 56), LIVEBUF_OK);
  STATUS(livebuf_record_end(&doc, &other), LIVEBUF_BAD_SEQUENCE);
  STATUS(livebuf_record_end(&doc, &recorder), LIVEBUF_OK);
  STATUS(livebuf_record_end(&doc, &recorder), LIVEBUF_BAD_SEQUENCE);
  CHECK(recorder.count == 1 && recorder.ranges[0].length <= 8);
  CHECK(carried(copy, &recorder, &doc));
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 57), LIVEBUF_OK);
  CHECK(recorder.count == 1);

  /* Nothing changed: nothing noted. */
  STATUS(livebuf_record(&doc, &recorder, ranges, 16), LIVEBUF_OK);
  STATUS(livebuf_record_end(&doc, &recorder), LIVEBUF_OK);
  CHECK(recorder.count == 0 && recorder.length == doc.length);

  /* Within a transaction: only the document, not the log behind it. */
  memcpy(copy, buffer, sizeof copy);
  STATUS(livebuf_record(&doc, &recorder, ranges, 16), LIVEBUF_OK);
  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "note", "which makes the document longer"), LIVEBUF_OK);
  STATUS(livebuf_rollback(&doc), LIVEBUF_OK);
  STATUS(livebuf_begin(&doc), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 58), LIVEBUF_OK);
  STATUS(livebuf_commit(&doc), LIVEBUF_OK);
  STATUS(livebuf_record_end(&doc, &recorder), LIVEBUF_OK);
  CHECK(doc.length == length && carried(copy, &recorder, &doc));

  /* Misuse. */
  STATUS(livebuf_record(NULL, &recorder, ranges, 16), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_record(&doc, NULL, ranges, 16), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_record(&doc, &recorder, NULL, 16), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_record(&doc, &recorder, ranges, 0), LIVEBUF_NO_SPACE);
  STATUS(livebuf_record_end(NULL, &recorder), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_record_end(&doc, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_on_change(NULL, tell, &known), LIVEBUF_NULL_ARGUMENT);
  livebuf_doc reader;
  STATUS(livebuf_read(&reader, copy, doc.length), LIVEBUF_OK);
  STATUS(livebuf_on_change(&reader, tell, &known), LIVEBUF_READ_ONLY);
  STATUS(livebuf_record(&reader, &recorder, ranges, 16), LIVEBUF_READ_ONLY);

  /* The callback, and that it ends. */
  memcpy(copy, buffer, sizeof copy);
  STATUS(livebuf_on_change(&doc, tell, &known), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 200), LIVEBUF_OK);
  CHECK(known.calls == 1 && !known.differ);
  STATUS(livebuf_on_change(&doc, NULL, NULL), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 201), LIVEBUF_OK);
  CHECK(known.calls == 1);
}

static uint32_t seed;
static uint32_t random_below(uint32_t bound) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)seed * bound) >> 32);
}

/* An edit of any kind; what it answers does not matter. */
static int any_edit(livebuf_doc *doc) {
  static const char *const KEYS[] = {"a", "b", "list", "text", "a longer key than a cell holds", "f"};
  static const char TEXT[] = "some text of which a part is taken, so that lengths differ much";
  const char *key = KEYS[random_below(6)];
  livebuf_node list = livebuf_child(doc, LIVEBUF_ROOT, "list");
  switch (random_below(9)) {
    case 0: case 1: return livebuf_set_i64(doc, LIVEBUF_ROOT, key, random_below(1000));
    case 2: return livebuf_set_str_n(doc, LIVEBUF_ROOT, key, strlen(key), TEXT, random_below(60));
    case 3: return livebuf_remove(doc, LIVEBUF_ROOT, key);
    case 4: return livebuf_set_array(doc, LIVEBUF_ROOT, "list", random_below(4), NULL);
    case 5: case 6: return livebuf_push_i64(doc, list, random_below(100));
    case 7: return livebuf_remove_at(doc, list, random_below(3));
    default: return livebuf_set_object(doc, LIVEBUF_ROOT, key, random_below(3), NULL);
  }
}

/* Beside copies: whatever is edited in however little room, what is rolled back leaves every
   byte as it was; and the ranges of any recorder carry what is kept to a copy. */
static void random_transactions(void) {
  static uint8_t before[6][4096], copy[4096], scratch[4096];
  size_t lengths[6];
  int rolled = 0, full = 0, joined = 0;
  for (uint32_t round = 1; round <= 600; round++) {
    seed = round * 7919u;
    size_t capacity = 200 + random_below(random_below(3) ? 600 : 3800);
    livebuf_doc doc;
    livebuf_changed ranges[12];
    livebuf_recorder recorder;
    uint32_t depth = 0;
    bool well = true;
    STATUS(livebuf_init_object(&doc, buffer, capacity, 3), LIVEBUF_OK);
    for (int i = 0; i < 10; i++) any_edit(&doc);
    memcpy(copy, buffer, doc.length);
    size_t array = 1 + random_below(12);
    STATUS(livebuf_record(&doc, &recorder, ranges, array), LIVEBUF_OK);
    for (int i = 0; i < 60; i++) {
      uint32_t what = random_below(10);
      if (what == 0 && depth < 6) {
        memcpy(before[depth], doc.bytes, doc.length);
        lengths[depth] = doc.length;
        if (!livebuf_begin(&doc)) depth++;
      } else if (what == 1 && depth) {
        /* It fails where the log is full. */
        if (livebuf_commit(&doc)) {
          full++;
        } else {
          depth--;
        }
      } else if (what == 2 && depth) {
        depth--;
        rolled++;
        well = well && !livebuf_rollback(&doc) && doc.length == lengths[depth] &&
               !memcmp(doc.bytes, before[depth], doc.length);
      } else {
        any_edit(&doc);
      }
      well = well && livebuf_transactions(&doc) == depth;
    }
    while (depth) {
      depth--;
      well = well && !livebuf_rollback(&doc) && doc.length == lengths[depth] &&
             !memcmp(doc.bytes, before[depth], doc.length);
    }
    well = well && !livebuf_record_end(&doc, &recorder);
    if (recorder.count == array) joined++;
    well = well && carried(copy, &recorder, &doc);
    well = well && !livebuf_validate_in(&doc, scratch, sizeof scratch);
    if (!well) fprintf(stderr, "random transactions: round %u\n", round);
    CHECK(well);
  }
  CHECK(rolled > 500 && full > 10 && joined > 100);
}

/* The root of a document that was just begun is null. The first member or element that is set
   in it makes it what it has to be; it was refused as a value of another type. */
static void first_values(void) {
  static uint8_t memory[512];
  livebuf_doc doc;
  livebuf_node child;
  livebuf_key key;
  livebuf_value root;
  CHECK(livebuf_key_init(&key, "remembered") == LIVEBUF_OK);
  STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
  CHECK(livebuf_is_null(livebuf_root(&doc)));
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "a", 1), LIVEBUF_OK);
  STATUS(livebuf_set_array(&doc, LIVEBUF_ROOT, "list", 0, &child), LIVEBUF_OK);
  STATUS(livebuf_push_i64(&doc, child, 2), LIVEBUF_OK);
  root = livebuf_root(&doc);
  CHECK(livebuf_count(root) == 2 && livebuf_get_i64(livebuf_get(root, "a")) == 1);
  CHECK(livebuf_get_i64(livebuf_pointer(root, "/list/0")) == 2);
  STATUS(livebuf_push_i64(&doc, LIVEBUF_ROOT, 1), LIVEBUF_WRONG_TYPE);

  STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
  STATUS(livebuf_set_object(&doc, LIVEBUF_ROOT, "o", 0, &child), LIVEBUF_OK);
  STATUS(livebuf_set_bool(&doc, child, "b", true), LIVEBUF_OK);
  CHECK(livebuf_get_bool(livebuf_pointer(livebuf_root(&doc), "/o/b")));
  STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
  STATUS(livebuf_set_key(&doc, LIVEBUF_ROOT, &key, livebuf_f64(0.5), NULL), LIVEBUF_OK);
  CHECK(livebuf_get_f64(livebuf_get(livebuf_root(&doc), "remembered")) == 0.5);
  STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
  STATUS(livebuf_push_str(&doc, LIVEBUF_ROOT, "first"), LIVEBUF_OK);
  STATUS(livebuf_insert(&doc, LIVEBUF_ROOT, 0, livebuf_null(), NULL), LIVEBUF_OK);
  CHECK(is_text(livebuf_at(livebuf_root(&doc), 1), "first"));
  STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
  STATUS(livebuf_insert(&doc, LIVEBUF_ROOT, 0, livebuf_object(0), &child), LIVEBUF_OK);
  CHECK(livebuf_node_is_current(&doc, child) && livebuf_count(livebuf_root(&doc)) == 1);

  /* What cannot be stored leaves the root null, and the calls that need a container say so. */
  STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
  STATUS(livebuf_insert(&doc, LIVEBUF_ROOT, 1, livebuf_null(), NULL),
         LIVEBUF_INDEX_OUT_OF_RANGE);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "bad", "\xFF"), LIVEBUF_BAD_TEXT);
  STATUS(livebuf_set(&doc, LIVEBUF_ROOT, "number", livebuf_number_text("1e")),
         LIVEBUF_BAD_NUMBER);
  STATUS(livebuf_set_bytes(&doc, LIVEBUF_ROOT, "much", buffer, 4096), LIVEBUF_NO_SPACE);
  STATUS(livebuf_set_at(&doc, LIVEBUF_ROOT, 0, livebuf_null(), NULL), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_remove(&doc, LIVEBUF_ROOT, "a"), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_clear(&doc, LIVEBUF_ROOT), LIVEBUF_WRONG_TYPE);
  CHECK(livebuf_is_null(livebuf_root(&doc)));
  STATUS(livebuf_validate_in(&doc, buffer, sizeof buffer), LIVEBUF_OK);
  STATUS(livebuf_set_root(&doc, livebuf_string("text"), NULL), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "a", 1), LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_push_i64(&doc, LIVEBUF_ROOT, 1), LIVEBUF_WRONG_TYPE);
  CHECK(is_text(livebuf_root(&doc), "text"));
  for (size_t room = 32; room < 120; room++) {
    STATUS(livebuf_init(&doc, memory, room), LIVEBUF_OK);
    int status = livebuf_set_i64(&doc, LIVEBUF_ROOT, "a", 1);
    CHECK(status == LIVEBUF_OK || status == LIVEBUF_NO_SPACE);
    CHECK(livebuf_is_null(livebuf_root(&doc)) == (status != LIVEBUF_OK));
  }
}

static int by_number(const void *one, const void *other) {
  uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
  return (a > b) - (a < b);
}

/* A program that receives has one livebuf_doc for all messages. Each call that opens began with
   the generation 1, so a value that was kept from one message read the next one, and counted as
   current. */
static void generations(void) {
  enum { MESSAGES = 5000, EDITS = 3 };
  static uint32_t seen[MESSAGES * (EDITS + 2)];
  static uint8_t memory[256], other[256];
  livebuf_doc doc;
  size_t count = 0, length, same = 0;
  STATUS(livebuf_init_object(&doc, other, sizeof other, 1), LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "user", "mallory another"), LIVEBUF_OK);
  length = doc.length;
  STATUS(livebuf_init_object(&doc, memory, sizeof memory, 1), LIVEBUF_OK);
  STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "user", "alice the first"), LIVEBUF_OK);
  for (int way = 0; way < 4; way++) {
    STATUS(livebuf_read(&doc, memory, length), LIVEBUF_OK);
    livebuf_value user = livebuf_get(livebuf_root(&doc), "user");
    livebuf_str name = livebuf_get_str(user);
    livebuf_iter members;
    livebuf_iterate(livebuf_root(&doc), 0, &members);
    CHECK(livebuf_value_is_current(user) && livebuf_str_is_current(&doc, name));
    if (way == 0) {
      STATUS(livebuf_read(&doc, other, length), LIVEBUF_OK);
    } else if (way == 1) {
      STATUS(livebuf_open(&doc, other, length, sizeof other), LIVEBUF_OK);
    } else if (way == 2) {
      STATUS(livebuf_init_object(&doc, memory, sizeof memory, 1), LIVEBUF_OK);
      STATUS(livebuf_set_str(&doc, LIVEBUF_ROOT, "user", "mallory another"), LIVEBUF_OK);
    } else {
      STATUS(livebuf_read(&doc, memory, 7), LIVEBUF_TRUNCATED);
    }
    CHECK(!livebuf_value_is_current(user) && !livebuf_str_is_current(&doc, name));
    CHECK(!livebuf_get_str(user).data && !livebuf_next(&members));
    STATUS(livebuf_value_error(user).status, LIVEBUF_STALE_HANDLE);
  }
  for (int message = 0; message < MESSAGES; message++) {
    STATUS(livebuf_read(&doc, other, length), LIVEBUF_OK);
    seen[count++] = doc.generation;
    STATUS(livebuf_init(&doc, memory, sizeof memory), LIVEBUF_OK);
    seen[count++] = doc.generation;
    for (int edit = 0; edit < EDITS; edit++) {
      STATUS(livebuf_set_i64(&doc, LIVEBUF_ROOT, "n", edit), LIVEBUF_OK);
      seen[count++] = doc.generation;
    }
  }
  qsort(seen, count, sizeof *seen, by_number);
  for (size_t at = 1; at < count; at++) same += seen[at] == seen[at - 1];
  CHECK(same == 0);
}

int main(void) {
  long before = allocations;
  first_values();
  generations();
  everyday();
  all_kinds();
  checked();
  error_texts();
  own_text();
  copies();
  misuse();
  no_space();
  columns();
  extended();
  damaged_dates();
  extended_columns();
  tensors();
  fixed_tensors();
  no_tensors();
  tensors_in_rows();
  damaged_tensors();
  templates();
  transactions();
  recording();
  random_transactions();
  CHECK(allocations == before);
  return done("buffer");
}
