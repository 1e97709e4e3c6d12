/* The context API: allocators that refuse, files, JSON, documents of other languages. */
#include <livebuf.h>

#include "check.h"

typedef struct {
  long blocks, refuse_after;
  size_t bytes;
} counter;

static void *allocate(void *user, size_t size) {
  counter *count = user;
  if (count->refuse_after == 0) return NULL;
  count->refuse_after--;
  count->blocks++;
  count->bytes += size;
  return malloc(size);
}

static void *reallocate(void *user, void *block, size_t old_size, size_t new_size) {
  counter *count = user;
  if (count->refuse_after == 0) return NULL;
  count->refuse_after--;
  count->bytes += new_size - old_size;
  return realloc(block, new_size);
}

static void release(void *user, void *block, size_t size) {
  counter *count = user;
  count->blocks--;
  count->bytes -= size;
  free(block);
}

/* Whatever the allocator refuses, nothing is lost or leaked, and the document stays whole. */
static void allocators(void) {
  for (long refuse_after = 0; refuse_after < 12; refuse_after++) {
    for (int with_reallocate = 0; with_reallocate < 2; with_reallocate++) {
      counter count = {0, refuse_after, 0};
      livebuf_allocator allocator = {allocate, with_reallocate ? reallocate : NULL, release,
                                     &count};
      livebuf_error error;
      livebuf_doc *doc = livebuf_create(&allocator, &error);
      if (!doc) {
        STATUS(error.status, LIVEBUF_IO);
        CHECK(count.blocks == 0 && count.bytes == 0);
        continue;
      }
      STATUS(livebuf_set_root(doc, livebuf_array(0), NULL), LIVEBUF_OK);
      int status = LIVEBUF_OK;
      int64_t pushed = 0;
      while (pushed < 20000 && !(status = livebuf_push_i64(doc, LIVEBUF_ROOT, pushed))) pushed++;
      if (status) {
        STATUS(status, LIVEBUF_IO);
        CHECK(doc->error.detail > doc->capacity);
      }
      livebuf_value root = livebuf_root(doc);
      CHECK((int64_t)livebuf_count(root) == pushed);
      CHECK(!pushed || livebuf_get_i64(livebuf_at(root, (size_t)pushed - 1)) == pushed - 1);
      STATUS(livebuf_validate(doc), LIVEBUF_OK);
      count.refuse_after = -1;
      size_t length;
      uint8_t *bytes = livebuf_export(doc, &allocator, &length);
      CHECK(bytes && length == doc->length && !memcmp(bytes, doc->bytes, length));
      livebuf_free(&allocator, bytes, length);
      livebuf_destroy(doc);
      CHECK(count.blocks == 0 && count.bytes == 0);
    }
  }
  livebuf_allocator broken = {NULL, NULL, NULL, NULL};
  livebuf_error error;
  CHECK(!livebuf_create(&broken, &error) && error.status == LIVEBUF_NULL_ARGUMENT);
  livebuf_destroy(NULL);
  livebuf_free(NULL, NULL, 0);
}

/* The table for users of Lite³ led from lite3_ctx_create_with_size to livebuf_reserve, which
   refuses a new document and else makes the document itself longer. */
static void capacity(void) {
  counter count = {0, -1, 0};
  livebuf_allocator allocator = {allocate, reallocate, release, &count};
  livebuf_error error;
  livebuf_doc *doc = livebuf_create_with_capacity(100000, &allocator, &error);
  STATUS(error.status, LIVEBUF_OK);
  CHECK(doc && doc->capacity == 100000 && doc->length == 32);
  STATUS(livebuf_set_root(doc, livebuf_array(0), NULL), LIVEBUF_OK);
  const uint8_t *before = doc->bytes;
  count.refuse_after = 0; /* It has all the memory that it needs. */
  while (doc->length < 50000) STATUS(livebuf_push_str(doc, LIVEBUF_ROOT, "12345"), LIVEBUF_OK);
  CHECK(doc->bytes == before && doc->capacity == 100000);
  livebuf_destroy(doc);
  CHECK(count.blocks == 0 && count.bytes == 0);
  CHECK(!livebuf_create_with_capacity(100000, &allocator, &error));
  STATUS(error.status, LIVEBUF_IO);
  CHECK(count.blocks == 0 && count.bytes == 0);
  doc = livebuf_create_with_capacity(0, NULL, &error);
  CHECK(doc && doc->capacity >= 32);
  livebuf_destroy(doc);
#if SIZE_MAX > UINT32_MAX
  CHECK(!livebuf_create_with_capacity(SIZE_MAX, NULL, &error));
  STATUS(error.status, LIVEBUF_DOCUMENT_LIMIT);
  CHECK(error.detail == 4294967288);
#endif
}

static void bytes(void) {
  livebuf_error error;
  CHECK(!livebuf_from_bytes(NULL, 3, NULL, &error) && error.status == LIVEBUF_NULL_ARGUMENT);
  CHECK(!livebuf_from_bytes((const uint8_t *)"no document at all, but long enough", 35, NULL,
                            &error));
  STATUS(error.status, LIVEBUF_NOT_A_DOCUMENT);
  CHECK(!livebuf_borrow(NULL, 3, NULL, NULL));
  livebuf_doc *doc = livebuf_from_json("{\"a\":[1,2,{\"b\":null}]}", 22, NULL, NULL, &error);
  STATUS(error.status, LIVEBUF_OK);
  CHECK(livebuf_is_trusted(doc));
  livebuf_doc *copy = livebuf_from_bytes(doc->bytes, doc->length, NULL, &error);
  CHECK(copy && !livebuf_is_trusted(copy));
  STATUS(livebuf_validate(copy), LIVEBUF_OK);
  CHECK(livebuf_is_trusted(copy));
  livebuf_doc *view = livebuf_borrow(doc->bytes, doc->length, NULL, &error);
  STATUS(livebuf_set_pointer(view, "/a/0", livebuf_i64(5)), LIVEBUF_READ_ONLY);
  STATUS(livebuf_validate(view), LIVEBUF_OK);
  STATUS(livebuf_compact(view), LIVEBUF_READ_ONLY);
  STATUS(livebuf_flush(view), LIVEBUF_OK);
  livebuf_destroy(view);

  for (int i = 0; i < 3000; i++) {
    STATUS(livebuf_set_pointer(copy, "/a/-", livebuf_string("a text of some length")), LIVEBUF_OK);
  }
  CHECK(livebuf_count(livebuf_pointer(livebuf_root(copy), "/a")) == 3003);
  STATUS(livebuf_remove_pointer(copy, "/a"), LIVEBUF_OK);
  size_t before = copy->length;
  livebuf_stats stats;
  STATUS(livebuf_get_stats(copy, &stats), LIVEBUF_OK);
  CHECK(stats.free + stats.garbage > 0);
  STATUS(livebuf_compact(copy), LIVEBUF_OK);
  CHECK(copy->length < before && livebuf_count(livebuf_root(copy)) == 0);
  livebuf_destroy(copy);
  livebuf_destroy(doc);
}

/* Text of the document itself, longer than what is put aside on the stack. */
static void own_text(void) {
  livebuf_doc *doc = livebuf_create(NULL, NULL);
  char text[5000];
  memset(text, 'x', sizeof text);
  STATUS(livebuf_set_root(doc, livebuf_object(1), NULL), LIVEBUF_OK);
  STATUS(livebuf_set(doc, LIVEBUF_ROOT, "a", livebuf_string_n(text, sizeof text)), LIVEBUF_OK);
  for (char key[] = "b"; key[0] < 'z'; key[0]++) {
    livebuf_str own = livebuf_get_str(livebuf_get(livebuf_root(doc), "a"));
    STATUS(livebuf_set(doc, LIVEBUF_ROOT, key, livebuf_string_n(own.data, own.length)),
           LIVEBUF_OK);
    own = livebuf_get_str(livebuf_get(livebuf_root(doc), key));
    CHECK(own.length == sizeof text && !memcmp(own.data, text, own.length));
  }
  livebuf_destroy(doc);
}

static void files(const char *directory) {
  char path[500], other[500];
  livebuf_error error;
  snprintf(path, sizeof path, "%s/mapped.lbuf", directory);
  snprintf(other, sizeof other, "%s/other.lbuf", directory);
  remove(path);
  CHECK(!livebuf_map_file(path, LIVEBUF_MAP_READ, &error) && error.status == LIVEBUF_IO);
  CHECK(error.detail == 2); /* ENOENT */
  CHECK(!livebuf_map_file(NULL, 0, &error) && error.status == LIVEBUF_NULL_ARGUMENT);
  CHECK(!livebuf_map_file(path, 9, &error) && error.status == LIVEBUF_UNSUPPORTED);
  livebuf_doc *doc = livebuf_map_file(path, LIVEBUF_MAP_CREATE, &error);
  STATUS(error.status, LIVEBUF_OK);
  STATUS(livebuf_set_root(doc, livebuf_array(0), NULL), LIVEBUF_OK);
  for (int i = 0; i < 100000; i++) {
    if (livebuf_push_i64(doc, LIVEBUF_ROOT, i)) CHECK(!"pushing");
  }
  STATUS(livebuf_flush(doc), LIVEBUF_OK);
  CHECK(!livebuf_map_file(path, LIVEBUF_MAP_READ, &error) && error.status == LIVEBUF_IO);
  CHECK(error.detail == 11); /* locked */
  size_t length = doc->length;
  livebuf_destroy(doc);

  doc = livebuf_map_file(path, LIVEBUF_MAP_READ, &error);
  CHECK(doc && doc->length == length && livebuf_count(livebuf_root(doc)) == 100000);
  STATUS(livebuf_push_i64(doc, LIVEBUF_ROOT, 1), LIVEBUF_READ_ONLY);
  STATUS(livebuf_save_file(doc, other), LIVEBUF_OK);
  STATUS(livebuf_save_file(doc, "/no/such/directory/a.lbuf"), LIVEBUF_IO);
  STATUS(livebuf_save_file(doc, NULL), LIVEBUF_NULL_ARGUMENT);
  livebuf_destroy(doc);

  doc = livebuf_map_file(path, LIVEBUF_MAP_EDIT, &error);
  STATUS(livebuf_validate(doc), LIVEBUF_OK);
  STATUS(livebuf_set_at(doc, LIVEBUF_ROOT, 7, livebuf_i64(-7), NULL), LIVEBUF_OK);
  livebuf_destroy(doc);
  doc = livebuf_load_file(path, NULL, &error);
  CHECK(doc && livebuf_get_i64(livebuf_at(livebuf_root(doc), 7)) == -7);
  livebuf_destroy(doc);
  doc = livebuf_load_file(other, NULL, &error);
  CHECK(doc && livebuf_get_i64(livebuf_at(livebuf_root(doc), 7)) == 7);
  livebuf_destroy(doc);
  CHECK(!livebuf_load_file("/no/such/file", NULL, &error) && error.status == LIVEBUF_IO);
  remove(path);
  remove(other);
}

static void json(void) {
  livebuf_error error;
  livebuf_json_options options = {0};
  static uint8_t buffer[4096];
  livebuf_doc doc;
  char text[100];
  size_t length;
  const char *deep = "[[[[1]]]]", *twice = "{\"a\":1,\"a\":2}";
  livebuf_limits limits = {0};
  limits.nesting = 3;
  options.limits = &limits;
  CHECK(!livebuf_from_json(deep, strlen(deep), &options, NULL, &error));
  STATUS(error.status, LIVEBUF_NESTING_LIMIT);
  options.flags = LIVEBUF_JSON_REFUSE_DUPLICATE_KEYS;
  CHECK(!livebuf_from_json(twice, strlen(twice), &options, NULL, &error));
  STATUS(error.status, LIVEBUF_DUPLICATE_KEY);
  CHECK(!livebuf_from_json(NULL, 0, NULL, NULL, &error));
  STATUS(error.status, LIVEBUF_NULL_ARGUMENT);
  CHECK(!livebuf_from_json("[1", 2, NULL, NULL, &error) && error.status == LIVEBUF_JSON_END);
  CHECK(!livebuf_from_json("\"\xFF\"", 3, NULL, NULL, &error) && error.status == LIVEBUF_BAD_TEXT);
  CHECK(!livebuf_from_json("{\n\"a\":x}", 8, NULL, NULL, &error));
  CHECK(error.status == LIVEBUF_JSON_SYNTAX && error.line == 2 && error.offset == 6);
  STATUS(livebuf_from_json_into(&doc, buffer, 40, twice, strlen(twice), NULL), LIVEBUF_NO_SPACE);
  CHECK(doc.error.detail > 0);
  STATUS(livebuf_from_json_into(&doc, NULL, 40, twice, strlen(twice), NULL),
         LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_from_json_into(&doc, buffer, sizeof buffer, twice, strlen(twice), NULL),
         LIVEBUF_OK);
  STATUS(livebuf_to_json(livebuf_root(&doc), NULL, NULL, 0, &length), LIVEBUF_NO_SPACE);
  CHECK(length == 7);
  STATUS(livebuf_to_json(livebuf_root(&doc), NULL, text, 7, &length), LIVEBUF_OK);
  STATUS(livebuf_to_json(livebuf_root(&doc), NULL, text, 8, NULL), LIVEBUF_OK);
  CHECK(!strcmp(text, "{\"a\":2}"));
  STATUS(livebuf_to_json(livebuf_root(NULL), NULL, text, 8, &length), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_set_f64(&doc, LIVEBUF_ROOT, "a", 1.0 / (double)(length - length)), LIVEBUF_OK);
  STATUS(livebuf_to_json(livebuf_root(&doc), NULL, text, 99, &length), LIVEBUF_JSON_NOT_FINITE);
  options = (livebuf_json_options){.flags = LIVEBUF_JSON_NON_FINITE_NULL, .indent = 2};
  char *made = livebuf_to_json_new(livebuf_root(&doc), &options, NULL, &length, &error);
  CHECK(made && length == 15 && !strcmp(made, "{\n  \"a\": null\n}"));
  livebuf_free(NULL, made, length + 1);
  options.max_bytes = 5;
  CHECK(!livebuf_to_json_new(livebuf_root(&doc), &options, NULL, &length, &error));
  STATUS(error.status, LIVEBUF_JSON_OUTPUT_LIMIT);
  CHECK(!livebuf_to_json_new(livebuf_root(&doc), NULL, NULL, NULL, &error));
  const char *literal = "[1.50,1E3]";
  options = (livebuf_json_options){.flags = LIVEBUF_JSON_TEXT_NUMBERS | LIVEBUF_JSON_NO_TABLES};
  livebuf_doc *exact = livebuf_from_json(literal, strlen(literal), &options, NULL, NULL);
  STATUS(livebuf_to_json(livebuf_root(exact), NULL, text, sizeof text, NULL), LIVEBUF_OK);
  CHECK(!strcmp(text, literal));
  livebuf_destroy(exact);
  const char *half = "\xEF\xBB\xBF[\"\\ud800\"]";
  CHECK(!livebuf_from_json(half, strlen(half), NULL, NULL, &error));
  CHECK(error.status == LIVEBUF_BAD_TEXT && error.offset == 11);
  options = (livebuf_json_options){.flags = LIVEBUF_JSON_REPLACE_SURROGATES};
  livebuf_doc *whole = livebuf_from_json(half, strlen(half), &options, NULL, NULL);
  STATUS(livebuf_to_json(livebuf_root(whole), NULL, text, sizeof text, NULL), LIVEBUF_OK);
  CHECK(!strcmp(text, "[\"\xEF\xBF\xBD\"]"));
  livebuf_destroy(whole);
}

/* A table that was opened is validated by the first edit that needs it, in the room behind. */
static void opened_tables(void) {
  static const char *const TEXT = "[{\"a\":1,\"b\":2},{\"a\":3,\"b\":4},{\"a\":5,\"b\":6},"
                                  "{\"a\":7,\"b\":8},{\"a\":9,\"b\":1},{\"a\":2,\"b\":3}]";
  uint8_t made[1024], buffer[1024];
  livebuf_doc from, doc;
  STATUS(livebuf_from_json_into(&from, made, sizeof made, TEXT, strlen(TEXT), NULL), LIVEBUF_OK);
  CHECK(livebuf_column_count(livebuf_root(&from)) == 2);
  for (int room = 0; room < 2; room++) {
    memcpy(buffer, from.bytes, from.length);
    STATUS(livebuf_open(&doc, buffer, from.length, from.length + (room ? 512 : 0)), LIVEBUF_OK);
    CHECK(!livebuf_is_trusted(&doc));
    livebuf_node row = livebuf_child_at(&doc, LIVEBUF_ROOT, 1);
    STATUS(livebuf_set_i64(&doc, row, "a", 70000), room ? LIVEBUF_OK : LIVEBUF_NOT_VALIDATED);
    CHECK(livebuf_is_trusted(&doc) == (room == 1));
    int64_t held = livebuf_get_i64(livebuf_get(livebuf_at(livebuf_root(&doc), 1), "a"));
    CHECK(held == (room ? 70000 : 3));
  }
}

/* JSON from and to files and streams. */
static void json_files(const char *directory) {
  char path[512], text[128];
  uint8_t buffer[512];
  livebuf_error error;
  livebuf_doc local;
  snprintf(path, sizeof path, "%s/lap.json", directory);
  remove(path);
  CHECK(!livebuf_from_json_file(path, NULL, NULL, &error));
  STATUS(error.status, LIVEBUF_IO);
  CHECK(error.detail == 2);
  FILE *file = fopen(path, "wb");
  CHECK(file && fputs("{\"lap\": 55, \"times\": [1.5, 2]}\n", file) >= 0 && !fclose(file));
  livebuf_doc *doc = livebuf_from_json_file(path, NULL, NULL, &error);
  CHECK(doc && livebuf_get_i64(livebuf_get(livebuf_root(doc), "lap")) == 55);
  STATUS(livebuf_from_json_file_into(&local, buffer, sizeof buffer, path, NULL), LIVEBUF_OK);
  CHECK(livebuf_count(livebuf_get(livebuf_root(&local), "times")) == 2);
  STATUS(livebuf_from_json_file_into(&local, buffer, 40, path, NULL), LIVEBUF_NO_SPACE);
  STATUS(livebuf_from_json_file_into(&local, buffer, 40, NULL, NULL), LIVEBUF_NULL_ARGUMENT);
  livebuf_set_i64(doc, LIVEBUF_ROOT, "lap", 56);
  STATUS(livebuf_to_json_file(livebuf_root(doc), NULL, path, &error), LIVEBUF_OK);
  STATUS(livebuf_to_json_file(livebuf_root(doc), NULL, "/no/such/place", &error), LIVEBUF_IO);
  STATUS(livebuf_to_json_file(livebuf_root(NULL), NULL, path, NULL), LIVEBUF_NULL_ARGUMENT);
  livebuf_destroy(doc);

  file = fopen(path, "rb");
  doc = file ? livebuf_from_json_stream(file, NULL, NULL, &error) : NULL;
  CHECK(doc && livebuf_get_i64(livebuf_get(livebuf_root(doc), "lap")) == 56);
  if (file) fclose(file);
  file = fopen(path, "w+b");
  STATUS(livebuf_to_json_stream(livebuf_root(doc), NULL, file), LIVEBUF_OK);
  if (file) rewind(file);
  size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
  text[length] = 0;
  CHECK(!strcmp(text, "{\"lap\":56,\"times\":[1.5,2]}"));
  /* Long text comes in pieces; at its end there is nothing more. */
  if (file) rewind(file);
  fputs("[", file);
  for (int i = 0; i < 9000; i++) fprintf(file, "%d,", i);
  fputs("0]", file);
  rewind(file);
  livebuf_doc *longer = livebuf_from_json_stream(file, NULL, NULL, &error);
  CHECK(longer && livebuf_count(livebuf_root(longer)) == 9001);
  CHECK(!livebuf_from_json_stream(file, NULL, NULL, &error));
  STATUS(error.status, LIVEBUF_JSON_END);
  CHECK(!livebuf_from_json_stream(NULL, NULL, NULL, &error));
  STATUS(error.status, LIVEBUF_NULL_ARGUMENT);
  livebuf_destroy(longer);
  fclose(file);
  file = fopen(path, "rb");
  STATUS(livebuf_to_json_stream(livebuf_root(doc), NULL, file), LIVEBUF_IO);
  STATUS(livebuf_to_json_stream(livebuf_root(doc), NULL, NULL), LIVEBUF_NULL_ARGUMENT);
  if (file) fclose(file);
  STATUS(livebuf_print_json(livebuf_root(doc)), LIVEBUF_OK);
  livebuf_perror("as it should be", error);
  livebuf_destroy(doc);
}

/* What is printed is bounded by the document's bytes, by more of them if it is known to be
   valid: a thousand booleans in one byte for each eight, in 40 arrays with wide indentation. */
static void bounds(void) {
  livebuf_error error;
  livebuf_json_options options = {0};
  char json[8192] = "";
  size_t length = 0;
  for (int i = 0; i < 40; i++) json[length++] = '[';
  for (int i = 0; i < 1000; i++) length += (size_t)snprintf(json + length, 6, "true,");
  length--;
  for (int i = 0; i < 40; i++) json[length++] = ']';
  livebuf_doc *doc = livebuf_from_json(json, length, NULL, NULL, &error);
  STATUS(error.status, LIVEBUF_OK);
  livebuf_doc *view = livebuf_borrow(doc->bytes, doc->length, NULL, &error);
  CHECK(livebuf_is_trusted(doc) && !livebuf_is_trusted(view));
  options.indent = 64;
  STATUS(livebuf_to_json(livebuf_root(doc), &options, NULL, 0, &length), LIVEBUF_NO_SPACE);
  CHECK(length > 1024 * doc->length && length < 8192 * doc->length);
  STATUS(livebuf_to_json(livebuf_root(view), &options, NULL, 0, NULL), LIVEBUF_JSON_OUTPUT_LIMIT);
  options.max_bytes = length;
  STATUS(livebuf_to_json(livebuf_root(view), &options, NULL, 0, NULL), LIVEBUF_NO_SPACE);
  options.max_bytes = length - 1;
  STATUS(livebuf_to_json(livebuf_root(doc), &options, NULL, 0, NULL), LIVEBUF_JSON_OUTPUT_LIMIT);
  livebuf_destroy(view);
  livebuf_destroy(doc);
}

/* Rows of a table: read by row and by column, edited in place. */
static void tables(void) {
  char text[20000] = "[";
  for (int i = 0; i < 300; i++) {
    snprintf(text + strlen(text), 60, "%s{\"n\":%d,\"at\":{\"x\":%d.5},\"s\":\"row %d\"}",
             i ? "," : "", i, i, i);
  }
  strcat(text, "]");
  livebuf_doc *doc = livebuf_from_json(text, strlen(text), NULL, NULL, NULL);
  livebuf_value root = livebuf_root(doc);
  livebuf_column column;
  livebuf_str key, texts[300];
  livebuf_key name;
  double numbers[300];
  size_t count;
  CHECK(livebuf_column_count(root) == 3);
  STATUS(livebuf_column_at(root, 1, &key, &column), LIVEBUF_OK);
  CHECK(livebuf_str_equals(key, "at") && column.column_type == LIVEBUF_COLUMN_STRUCT);
  STATUS(livebuf_column_at(root, 3, &key, &column), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_column_find_path(root, "/at/x", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_F32 && column.length == 300);
  const float *floats = livebuf_column_slice(&column, &count);
  CHECK(floats && count == 300 && floats[299] == 299.5f);
  CHECK(livebuf_column_f64s(&column, 298, numbers, 300, 0) == 2 && numbers[1] == 299.5);
  STATUS(livebuf_column_find_path(root, "/s", &column), LIVEBUF_OK);
  CHECK(livebuf_column_strs(&column, 0, texts, 300) == 300);
  CHECK(livebuf_str_equals(texts[42], "row 42"));
  CHECK(livebuf_column_find(&column, livebuf_string("row 77")) == 77);
  livebuf_key_init(&name, "n");
  STATUS(livebuf_column_key(root, &name, &column), LIVEBUF_OK);
  CHECK(livebuf_column_find(&column, livebuf_i64(123)) == 123);
  /* Small integers are two bytes each: `livebuf_column_i64s` widens them. */
  CHECK(column.column_type == LIVEBUF_COLUMN_I16 && livebuf_column_slice(&column, NULL));

  livebuf_node row = livebuf_child_at(doc, LIVEBUF_ROOT, 5);
  STATUS(livebuf_set_i64(doc, row, "n", 1000), LIVEBUF_OK);
  STATUS(livebuf_set_pointer(doc, "/5/at/x", livebuf_f64(0.25)), LIVEBUF_OK);
  STATUS(livebuf_remove_at(doc, LIVEBUF_ROOT, 0), LIVEBUF_OK);
  /* The row's place follows it. */
  CHECK(livebuf_get_i64(livebuf_pointer(livebuf_root(doc), "/4/n")) == 1000);
  STATUS(livebuf_set_i64(doc, row, "n", 1), LIVEBUF_OK);
  root = livebuf_root(doc);
  CHECK(livebuf_get_f64(livebuf_pointer(root, "/4/at/x")) == 0.25);
  CHECK(livebuf_get_i64(livebuf_pointer(root, "/4/n")) == 1);
  livebuf_node first = livebuf_child_at(doc, LIVEBUF_ROOT, 0);
  STATUS(livebuf_remove_at(doc, LIVEBUF_ROOT, 0), LIVEBUF_OK);
  STATUS(livebuf_set_i64(doc, first, "n", 1), LIVEBUF_STALE_HANDLE);
  STATUS(livebuf_insert(doc, LIVEBUF_ROOT, 0, livebuf_object(1), NULL), LIVEBUF_OK);
  root = livebuf_root(doc);
  /* An element got by reading, edited by its place. */
  livebuf_node fourth = livebuf_node_of(doc, livebuf_at(root, 4), LIVEBUF_ROOT);
  STATUS(livebuf_set_str(doc, fourth, "s", "edited"), LIVEBUF_OK);
  CHECK(livebuf_str_equals(livebuf_get_str(livebuf_pointer(livebuf_root(doc), "/4/s")), "edited"));
  STATUS(livebuf_validate(doc), LIVEBUF_OK);
  livebuf_destroy(doc);
}

/* An object of similar objects: by columns, each row with a key. */
static void maps(void) {
  char text[20000] = "{";
  for (int i = 0; i < 300; i++) {
    snprintf(text + strlen(text), 60, "%s\"id %d\":{\"n\":%d,\"s\":\"row %d\"}", i ? "," : "", i, i,
             i);
  }
  strcat(text, "}");
  livebuf_doc *doc = livebuf_from_json(text, strlen(text), NULL, NULL, NULL);
  livebuf_value root = livebuf_root(doc);
  livebuf_column column;
  livebuf_str key;
  CHECK(livebuf_column_count(root) == 2);
  STATUS(livebuf_column_at(root, 1, &key, &column), LIVEBUF_OK);
  CHECK(livebuf_str_equals(key, "s") && column.length == 300);
  ptrdiff_t row = livebuf_column_find(&column, livebuf_string("row 77"));
  CHECK(row == 77 && livebuf_str_equals(livebuf_row_key(root, (size_t)row), "id 77"));
  CHECK(!livebuf_row_key(root, 300).data);
  CHECK(livebuf_get_i64(livebuf_pointer(root, "/id 77/n")) == 77);
  STATUS(livebuf_column_find_path(root, "", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_STRUCT);
  STATUS(livebuf_column_find_path(livebuf_pointer(root, "/id 1"), "", &column), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_column_find_path(livebuf_pointer(root, "/id 1/n"), "", &column),
         LIVEBUF_WRONG_TYPE);
  CHECK(!livebuf_row_key(livebuf_pointer(root, "/id 1"), 0).data);

  STATUS(livebuf_remove(doc, LIVEBUF_ROOT, "id 77"), LIVEBUF_OK);
  root = livebuf_root(doc);
  STATUS(livebuf_column_find_path(root, "/n", &column), LIVEBUF_OK);
  /* Its row stays, and has no key. */
  CHECK(column.length == 300 && !livebuf_row_key(root, 77).data);
  CHECK(livebuf_str_equals(livebuf_row_key(root, 78), "id 78"));
  STATUS(livebuf_validate(doc), LIVEBUF_OK);
  livebuf_destroy(doc);
}

/* Texts that repeat: codes, and each text once. */
static void dictionaries(void) {
  const char *json = "[\"C\",\"F\",\"C\",\"C\",\"a longer unit\",\"a longer unit\","
                     "\"a longer unit\",\"C\"]";
  livebuf_doc *doc = livebuf_from_json(json, strlen(json), NULL, NULL, NULL);
  livebuf_column column, texts;
  size_t count;
  STATUS(livebuf_column_find_path(livebuf_root(doc), "", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_DICTIONARY_U8);
  const uint8_t *codes = livebuf_column_slice(&column, &count);
  CHECK(codes && count == 8 && codes[0] == 0 && codes[1] == 1 && codes[4] == 2);
  STATUS(livebuf_column_texts(&column, &texts), LIVEBUF_OK);
  CHECK(texts.length == 3);
  CHECK(livebuf_str_equals(livebuf_get_str(livebuf_column_get(&texts, 2)), "a longer unit"));
  CHECK(livebuf_column_find(&column, livebuf_string("F")) == 1);
  CHECK(livebuf_column_find(&column, livebuf_string("K")) == -1);
  CHECK(livebuf_column_i64s(&column, 0, (int64_t[8]){0}, 8, -1) == 8);
  STATUS(livebuf_column_texts(&texts, &column), LIVEBUF_NOT_FOUND);
  CHECK(!livebuf_column_slice(&column, &count));
  STATUS(livebuf_column_texts(NULL, &texts), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_column_texts(&texts, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_push_str(doc, LIVEBUF_ROOT, "K"), LIVEBUF_OK);
  STATUS(livebuf_column_texts(&texts, &column), LIVEBUF_STALE_HANDLE);
  STATUS(livebuf_validate(doc), LIVEBUF_OK);
  livebuf_destroy(doc);
}

static size_t offset_of(const livebuf_run *run, size_t row) {
  switch (run->width) {
    case 1: return ((const uint8_t *)run->offsets)[row];
    case 2: return ((const uint16_t *)run->offsets)[row];
    default: return ((const uint32_t *)run->offsets)[row];
  }
}

/* A run says of each row what the row says. */
static void same_texts(const livebuf_column *column, const livebuf_run *run) {
  CHECK(run->count == column->length);
  for (size_t row = 0; row < run->count; row++) {
    livebuf_str text = livebuf_get_str(livebuf_column_get(column, row));
    size_t start = offset_of(run, row), end = offset_of(run, row + 1);
    CHECK(text.length == end - start && end <= run->length);
    CHECK(start == end || text.data == run->bytes + start);
  }
}

/* Texts behind each other: with offsets of each width, with a null, and of an array in an array,
   whose texts begin behind those of the array before it. */
static void runs(void) {
  const char *json = "[\"Ada\",\"Bo\",\"Cy\",null,\"Dora\",\"\",\"Eve\",\"Fay\",\"Al\",\"Bea\","
                     "\"Cid\",\"Don\",\"Emma\",\"Flo\",\"Guy\",\"Hans\"]";
  livebuf_doc *doc = livebuf_from_json(json, strlen(json), NULL, NULL, NULL);
  livebuf_column column, texts;
  livebuf_run run;
  size_t count;
  STATUS(livebuf_column_find_path(livebuf_root(doc), "", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_TEXT_RUN);
  STATUS(livebuf_column_run(&column, &run), LIVEBUF_OK);
  CHECK(run.width == 1 && run.count == 16 && offset_of(&run, 0) == 0 && run.length == 42);
  CHECK(!memcmp(run.bytes, "AdaBoCyDoraEveFay", 17));
  same_texts(&column, &run);
  CHECK(!livebuf_column_slice(&column, &count) && count == 0);
  STATUS(livebuf_column_texts(&column, &texts), LIVEBUF_NOT_FOUND);
  CHECK(livebuf_column_find(&column, livebuf_string("Dora")) == 4);
  CHECK(livebuf_column_find(&column, livebuf_string("")) == 5);
  CHECK(livebuf_column_find(&column, livebuf_string("Do")) == -1);
  CHECK(livebuf_column_find(&column, livebuf_null()) == 3);
  STATUS(livebuf_column_run(NULL, &run), LIVEBUF_NULL_ARGUMENT);
  CHECK(!run.bytes && !run.offsets && run.count == 0);
  STATUS(livebuf_column_run(&column, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_push_str(doc, LIVEBUF_ROOT, "Gus"), LIVEBUF_OK);
  STATUS(livebuf_column_run(&column, &run), LIVEBUF_STALE_HANDLE);
  CHECK(!run.bytes && !run.offsets && run.count == 0);
  STATUS(livebuf_column_find_path(livebuf_root(doc), "", &column), LIVEBUF_OK);
  STATUS(livebuf_column_run(&column, &run), LIVEBUF_OK);
  CHECK(run.count == 17 && !memcmp(run.bytes + 42, "Gus", 3));
  livebuf_destroy(doc);

  const char *lists = "[[\"Ada\",\"Bo\",\"Cy\"],[\"Dora\",\"Eve\"],"
                      "[\"Fay\",\"Gus\",\"Hal\",\"Ian\",\"Jo\",\"Kim\",\"Liz\",\"Mo\",\"Ned\"],[]]";
  doc = livebuf_from_json(lists, strlen(lists), NULL, NULL, NULL);
  STATUS(livebuf_column_find_path(livebuf_at(livebuf_root(doc), 1), "", &column), LIVEBUF_OK);
  STATUS(livebuf_column_run(&column, &run), LIVEBUF_OK);
  CHECK(run.count == 2 && offset_of(&run, 0) == 7 && !memcmp(run.bytes + 7, "DoraEve", 7));
  same_texts(&column, &run);
  STATUS(livebuf_column_find_path(livebuf_at(livebuf_root(doc), 3), "", &column), LIVEBUF_OK);
  STATUS(livebuf_column_run(&column, &run), LIVEBUF_OK);
  CHECK(run.count == 0 && offset_of(&run, 0) == 39);
  livebuf_destroy(doc);

  static char long_json[1 << 18];
  static const size_t rows[] = {60, 12000};
  for (size_t i = 0; i < 2; i++) {
    size_t used = 0;
    for (size_t row = 0; row < rows[i]; row++) {
      used += (size_t)sprintf(long_json + used, "%s\"number %zu\"", row ? "," : "[", row);
    }
    long_json[used++] = ']';
    doc = livebuf_from_json(long_json, used, NULL, NULL, NULL);
    STATUS(livebuf_column_find_path(livebuf_root(doc), "", &column), LIVEBUF_OK);
    CHECK(column.column_type == LIVEBUF_COLUMN_TEXT_RUN);
    STATUS(livebuf_column_run(&column, &run), LIVEBUF_OK);
    CHECK(run.width == (i ? 4 : 2) && run.count == rows[i]);
    same_texts(&column, &run);
    livebuf_destroy(doc);
  }

  /* Of one length, with a null: no offsets. */
  const char *ids = "[\"id 00001\",null,\"id 00002\",\"id 00003\",\"id 00004\",\"id 00005\","
                    "\"id 00006\",\"id 00007\",\"id 00008\",\"id 00009\"]";
  doc = livebuf_from_json(ids, strlen(ids), NULL, NULL, NULL);
  STATUS(livebuf_column_find_path(livebuf_root(doc), "", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_TEXT_RUN);
  STATUS(livebuf_column_run(&column, &run), LIVEBUF_OK);
  CHECK(run.width == 0 && !run.offsets && run.count == 10 && run.length == 80);
  CHECK(!memcmp(run.bytes, "id 00001\0\0\0\0\0\0\0\0id 00002", 24));
  CHECK(livebuf_str_equals(livebuf_get_str(livebuf_at(livebuf_root(doc), 9)), "id 00009"));
  CHECK(livebuf_get_str(livebuf_column_get(&column, 3)).data == run.bytes + 24);
  CHECK(livebuf_column_find(&column, livebuf_string("id 00004")) == 4);
  CHECK(livebuf_column_find(&column, livebuf_string("id")) == -1);
  CHECK(livebuf_column_find(&column, livebuf_null()) == 1);
  livebuf_destroy(doc);

  /* What is stored otherwise. */
  doc = livebuf_from_json("[1,2]", 5, NULL, NULL, NULL);
  STATUS(livebuf_column_find_path(livebuf_root(doc), "", &column), LIVEBUF_OK);
  STATUS(livebuf_column_run(&column, &run), LIVEBUF_NOT_FOUND);
  livebuf_destroy(doc);
}

/* Dates, times and UUIDs that JSON text has, in columns with and without gaps; and printed. */
static void recognized(void) {
  const char *json =
      "[{\"due\":\"2026-11-23\",\"at\":\"2026-11-23T08:30:00Z\",\"local\":\"2026-11-23T08:30:00\","
      "\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\",\"price\":\"19.90\"},"
      "{\"due\":null,\"at\":\"2026-11-23T08:30:00.250Z\",\"local\":\"2026-11-23T08:31:00\","
      "\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf7\",\"price\":\"20\"},"
      "{\"due\":\"2026-11-25\",\"at\":\"2026-11-24T00:00:00Z\",\"local\":\"2026-11-23T08:32:00\","
      "\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf8\",\"price\":\"30\"},"
      "{\"due\":\"2026-11-26\",\"at\":\"2026-11-24T00:00:01Z\",\"local\":\"2026-11-23T08:33:00\","
      "\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf9\",\"price\":\"40\"}]";
  livebuf_json_options options = {0};
  livebuf_column column;
  size_t count;
  int64_t integers[3];
  char text[1000];
  livebuf_doc *doc = livebuf_from_json(json, strlen(json), &options, NULL, NULL);
  livebuf_value root = livebuf_root(doc);
  CHECK(livebuf_kind_of(livebuf_pointer(root, "/0/due")) == LIVEBUF_KIND_STRING);
  livebuf_destroy(doc);
  options.flags = LIVEBUF_JSON_RECOGNIZE;
  doc = livebuf_from_json(json, strlen(json), &options, NULL, NULL);
  STATUS(livebuf_validate(doc), LIVEBUF_OK);
  root = livebuf_root(doc);
  STATUS(livebuf_to_json(root, NULL, text, sizeof text, NULL), LIVEBUF_OK);
  CHECK(!strcmp(text, json));
  CHECK(livebuf_kind_of(livebuf_pointer(root, "/0/price")) == LIVEBUF_KIND_STRING);
  STATUS(livebuf_column_find_path(root, "/due", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_DATE && !livebuf_column_slice(&column, &count));
  CHECK(livebuf_column_i64s(&column, 0, integers, 3, -1) == 3);
  CHECK(integers[0] == 20780 && integers[1] == -1 && integers[2] == 20782);
  CHECK(livebuf_column_i64s(&column, 2, integers, 3, -1) == 2 && integers[1] == 20783);
  CHECK(livebuf_column_find(&column, livebuf_extended("2026-11-25")) == 2);
  STATUS(livebuf_column_find_path(root, "/at", &column), LIVEBUF_OK);
  const int64_t *moments = livebuf_column_slice(&column, &count);
  CHECK(column.column_type == LIVEBUF_COLUMN_TIMESTAMP && moments && count == 4);
  CHECK(moments && moments[1] == INT64_C(1795422600250000));
  STATUS(livebuf_column_find_path(root, "/local", &column), LIVEBUF_OK);
  CHECK(column.column_type == LIVEBUF_COLUMN_DATE_TIME);
  CHECK(livebuf_column_i64s(&column, 0, integers, 3, -1) == 3);
  CHECK(integers[0] == INT64_C(1795422600000000));
  STATUS(livebuf_column_find_path(root, "/id", &column), LIVEBUF_OK);
  const uint8_t *ids = livebuf_column_slice(&column, &count);
  CHECK(column.column_type == LIVEBUF_COLUMN_UUID && ids && count == 4 && ids[47] == 0xF8);
  CHECK(ids && livebuf_column_find(&column, livebuf_uuid(ids + 32)) == 2);

  /* A row of the table takes such values, and refuses others. */
  livebuf_node row = livebuf_child_at(doc, LIVEBUF_ROOT, 1);
  STATUS(livebuf_set(doc, row, "due", livebuf_date(20781)), LIVEBUF_OK);
  STATUS(livebuf_set(doc, row, "due", livebuf_date(INT32_MIN)), LIVEBUF_BAD_VALUE);
  STATUS(livebuf_set(doc, row, "price", livebuf_decimal_i64(1990, 2)), LIVEBUF_OK);
  STATUS(livebuf_set(doc, row, "id", livebuf_uuid((const uint8_t *)"sixteen bytes...")), LIVEBUF_OK);
  STATUS(livebuf_validate(doc), LIVEBUF_OK);
  STATUS(livebuf_to_json(livebuf_at(livebuf_root(doc), 1), NULL, text, sizeof text, NULL),
         LIVEBUF_OK);
  CHECK(!strcmp(text, "{\"due\":\"2026-11-24\",\"at\":\"2026-11-23T08:30:00.250Z\",\"local\":"
                      "\"2026-11-23T08:31:00\",\"id\":\"73697874-6565-6e20-6279-7465732e2e2e\","
                      "\"price\":19.90}"));
  livebuf_destroy(doc);
}

/* Documents that manage their memory grow in transactions; destroying rolls back. */
static void transactions(const char *directory) {
  char path[512];
  livebuf_error error;
  livebuf_doc *doc = livebuf_from_json("{\"from\":10,\"list\":[1,2]}", 24, NULL, NULL, NULL);
  size_t length = doc->length;
  uint8_t *before = malloc(length);
  memcpy(before, doc->bytes, length);
  STATUS(livebuf_begin(doc), LIVEBUF_OK);
  livebuf_node list = livebuf_child(doc, LIVEBUF_ROOT, "list");
  for (int i = 0; i < 10000; i++) STATUS(livebuf_push_i64(doc, list, i), LIVEBUF_OK);
  STATUS(livebuf_begin(doc), LIVEBUF_OK);
  STATUS(livebuf_clear(doc, LIVEBUF_ROOT), LIVEBUF_OK);
  STATUS(livebuf_rollback(doc), LIVEBUF_OK);
  CHECK(livebuf_count(livebuf_get(livebuf_root(doc), "list")) == 10002);
  STATUS(livebuf_rollback(doc), LIVEBUF_OK);
  CHECK(doc->length == length && !memcmp(doc->bytes, before, length));
  STATUS(livebuf_compact(doc), LIVEBUF_OK);

  /* What is open at the end: its log is freed, too. */
  STATUS(livebuf_begin(doc), LIVEBUF_OK);
  STATUS(livebuf_set_str(doc, LIVEBUF_ROOT, "from", "text that is longer than a cell"), LIVEBUF_OK);
  livebuf_destroy(doc);
  free(before);

  /* Ranges of a document that moves in memory. */
  doc = livebuf_create(NULL, &error);
  livebuf_changed ranges[8];
  livebuf_recorder recorder;
  STATUS(livebuf_set_root(doc, livebuf_array(0), NULL), LIVEBUF_OK);
  uint8_t *copy = malloc(1 << 16);
  memcpy(copy, doc->bytes, doc->length);
  STATUS(livebuf_record(doc, &recorder, ranges, 8), LIVEBUF_OK);
  for (int i = 0; i < 1000; i++) STATUS(livebuf_push_i64(doc, LIVEBUF_ROOT, i), LIVEBUF_OK);
  STATUS(livebuf_record_end(doc, &recorder), LIVEBUF_OK);
  CHECK(recorder.length == doc->length && doc->length <= 1 << 16 && recorder.count > 0);
  for (size_t i = 0; i < recorder.count; i++)
    memcpy(copy + ranges[i].offset, doc->bytes + ranges[i].offset, ranges[i].length);
  CHECK(!memcmp(copy, doc->bytes, doc->length));
  /* And by compacting it. */
  STATUS(livebuf_record(doc, &recorder, ranges, 8), LIVEBUF_OK);
  STATUS(livebuf_compact(doc), LIVEBUF_OK);
  STATUS(livebuf_record_end(doc, &recorder), LIVEBUF_OK);
  for (size_t i = 0; i < recorder.count; i++)
    memcpy(copy + ranges[i].offset, doc->bytes + ranges[i].offset, ranges[i].length);
  CHECK(!memcmp(copy, doc->bytes, doc->length));
  /* A recorder that is gone before the document is not written. */
  {
    livebuf_recorder *gone = malloc(sizeof *gone);
    livebuf_changed *array = malloc(4 * sizeof *array);
    STATUS(livebuf_record(doc, gone, array, 4), LIVEBUF_OK);
    STATUS(livebuf_begin(doc), LIVEBUF_OK);
    STATUS(livebuf_push_i64(doc, LIVEBUF_ROOT, 7), LIVEBUF_OK);
    free(array);
    free(gone);
    livebuf_destroy(doc);
  }

  /* A file keeps nothing of a transaction that nobody ended. */
  snprintf(path, sizeof path, "%s/transaction.lbuf", directory);
  remove(path);
  doc = livebuf_map_file(path, LIVEBUF_MAP_CREATE, &error);
  CHECK(doc);
  STATUS(livebuf_set_root(doc, livebuf_array(0), NULL), LIVEBUF_OK);
  STATUS(livebuf_push_i64(doc, LIVEBUF_ROOT, 1), LIVEBUF_OK);
  length = doc->length;
  memcpy(copy, doc->bytes, length);
  STATUS(livebuf_begin(doc), LIVEBUF_OK);
  for (int i = 0; i < 5000; i++) STATUS(livebuf_push_i64(doc, LIVEBUF_ROOT, i), LIVEBUF_OK);
  livebuf_destroy(doc);
  doc = livebuf_load_file(path, NULL, &error);
  CHECK(doc && doc->length == length && !memcmp(doc->bytes, copy, length));
  livebuf_destroy(doc);
  free(copy);
}

static void *failing(void *user, size_t size) {
  size_t *left = user;
  if (*left < size) return NULL;
  *left -= size;
  return malloc(size);
}

static void freeing(void *user, void *block, size_t size) {
  (void)user;
  (void)size;
  free(block);
}

/* Memory that is refused within a transaction: it goes on, and can be taken back. */
static void refused_in_transaction(void) {
  size_t left = 4096;
  livebuf_allocator allocator = {failing, NULL, freeing, &left};
  livebuf_doc *doc = livebuf_create(&allocator, NULL);
  CHECK(doc);
  STATUS(livebuf_set_root(doc, livebuf_array(0), NULL), LIVEBUF_OK);
  size_t length = doc->length;
  uint8_t before[256];
  memcpy(before, doc->bytes, length);
  STATUS(livebuf_begin(doc), LIVEBUF_OK);
  int status = LIVEBUF_OK, count = 0;
  while (!status && count < 10000) {
    status = livebuf_push_i64(doc, LIVEBUF_ROOT, count);
    if (!status) count++;
  }
  STATUS(status, LIVEBUF_IO);
  CHECK(count > 8 && livebuf_count(livebuf_root(doc)) == (size_t)count);
  STATUS(livebuf_set_at(doc, LIVEBUF_ROOT, 0, livebuf_i64(7), NULL), LIVEBUF_OK);
  STATUS(livebuf_rollback(doc), LIVEBUF_OK);
  CHECK(doc->length == length && !memcmp(doc->bytes, before, length));
  livebuf_destroy(doc);
}

/* livebuf_destroy and livebuf_flush took any document for one of theirs, and called what lies
   behind the caller's variable. */
static void own_documents(void) {
  struct {
    livebuf_doc doc;
    uint8_t behind[512];
  } own;
  static uint8_t memory[256];
  memset(&own, 0x5A, sizeof own);
  livebuf_destroy(&own.doc);
  STATUS(livebuf_flush(&own.doc), LIVEBUF_NOT_OPEN);
  STATUS(livebuf_flush(NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_init_object(&own.doc, memory, sizeof memory, 2), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&own.doc, LIVEBUF_ROOT, "a", 1), LIVEBUF_OK);
  STATUS(livebuf_flush(&own.doc), LIVEBUF_OK);
  livebuf_destroy(&own.doc);
  STATUS(livebuf_set_i64(&own.doc, LIVEBUF_ROOT, "b", 2), LIVEBUF_OK);
  CHECK(livebuf_count(livebuf_root(&own.doc)) == 2);
  size_t length = own.doc.length;
  STATUS(livebuf_read(&own.doc, memory, length), LIVEBUF_OK);
  STATUS(livebuf_flush(&own.doc), LIVEBUF_OK);
  livebuf_destroy(&own.doc);
  CHECK(livebuf_count(livebuf_root(&own.doc)) == 2);
}

/* A copy by its bytes alone was untrusted, and an edit of columns was refused there, where Rust
   validates by itself. */
static void clones(const char *directory) {
  livebuf_error error;
  const char *json = "[{\"id\":1,\"n\":\"Ada\"},{\"id\":2,\"n\":\"Bo\"},{\"id\":3,\"n\":\"Cy\"}]";
  const char *change = "/1/n", *text = "a name that no column had";
  livebuf_doc *doc = livebuf_from_json(json, strlen(json), NULL, NULL, &error);
  STATUS(error.status, LIVEBUF_OK);
  livebuf_limits limits = {0, 0, 30, 0, 0, 0};
  STATUS(livebuf_set_limits(doc, &limits), LIVEBUF_OK);
  counter count = {0, -1, 0};
  livebuf_allocator allocator = {allocate, reallocate, release, &count};
  livebuf_doc *copy = livebuf_clone(doc, &allocator, &error);
  STATUS(error.status, LIVEBUF_OK);
  CHECK(copy && livebuf_is_trusted(copy) && count.blocks == 2);
  STATUS(livebuf_set_pointer(copy, change, livebuf_string(text)), LIVEBUF_OK);
  STATUS(livebuf_set_pointer(copy, change,
                             livebuf_string("a name that is longer than the bound")),
         LIVEBUF_STRING_LIMIT);
  CHECK(livebuf_str_equals(livebuf_get_str(livebuf_pointer(livebuf_root(copy), change)), text));
  CHECK(livebuf_str_equals(livebuf_get_str(livebuf_pointer(livebuf_root(doc), change)), "Bo"));
  livebuf_destroy(copy);
  CHECK(count.blocks == 0 && count.bytes == 0);

  /* Of a document in your memory, and of one that is only read. */
  static uint8_t memory[4096];
  livebuf_doc own;
  memcpy(memory, doc->bytes, doc->length);
  STATUS(livebuf_read(&own, memory, doc->length), LIVEBUF_OK);
  copy = livebuf_clone(&own, NULL, &error);
  CHECK(copy && !livebuf_is_trusted(copy));
  STATUS(livebuf_set_pointer(copy, change, livebuf_string(text)), LIVEBUF_OK);
  livebuf_destroy(copy);
  STATUS(livebuf_init_object(&own, memory, sizeof memory, 1), LIVEBUF_OK);
  copy = livebuf_clone(&own, NULL, &error);
  CHECK(copy && livebuf_is_trusted(copy) && copy->bytes != memory);
  livebuf_destroy(copy);

  /* It validates by itself: rows, and a row that is pushed. */
  livebuf_value rows = livebuf_root(doc);
  copy = livebuf_from_bytes(doc->bytes, doc->length, NULL, &error);
  CHECK(copy && !livebuf_is_trusted(copy));
  STATUS(livebuf_push(copy, LIVEBUF_ROOT, livebuf_object(0), NULL), LIVEBUF_OK);
  CHECK(livebuf_is_trusted(copy) && livebuf_count(livebuf_root(copy)) == livebuf_count(rows) + 1);
  livebuf_destroy(copy);
  char path[4200];
  snprintf(path, sizeof path, "%s/rows.lbuf", directory);
  STATUS(livebuf_save_file(doc, path), LIVEBUF_OK);
  copy = livebuf_map_file(path, LIVEBUF_MAP_EDIT, &error);
  CHECK(copy && !livebuf_is_trusted(copy));
  STATUS(livebuf_push(copy, LIVEBUF_ROOT, livebuf_object(0), NULL), LIVEBUF_OK);
  CHECK(livebuf_is_trusted(copy));
  livebuf_destroy(copy);

  /* Damage is found then, and nothing is edited. */
  uint8_t *bytes = memory;
  size_t length = doc->length;
  for (size_t at = 32; at < length; at++) {
    memcpy(bytes, doc->bytes, length);
    bytes[at] ^= 0xFF;
    copy = livebuf_from_bytes(bytes, length, NULL, &error);
    if (!copy) continue;
    int status = livebuf_remove_at(copy, LIVEBUF_ROOT, 1);
    CHECK(status != LIVEBUF_NOT_VALIDATED);
    CHECK(!status || !memcmp(copy->bytes, bytes, length));
    livebuf_destroy(copy);
  }

  CHECK(!livebuf_clone(NULL, NULL, &error) && error.status == LIVEBUF_NULL_ARGUMENT);
  memset(&own, 0, sizeof own);
  CHECK(!livebuf_clone(&own, NULL, &error) && error.status == LIVEBUF_NOT_OPEN);
  count.refuse_after = 1;
  CHECK(!livebuf_clone(doc, &allocator, &error) && error.status == LIVEBUF_IO);
  CHECK(count.blocks == 0 && count.bytes == 0);
  livebuf_destroy(doc);
}

/* Keys of 16 bytes that all have one hash (docs/FORMAT.md 7.4). */
static void colliding(char keys[][17], size_t count) {
  for (uint64_t number = 1, found = 0; found < count; number++) {
    uint64_t step = 0x9E3779B97F4A7C15, mask = 0x0F0F0F0F0F0F0F0F;
    uint64_t first = ((number * step) & mask) | 0x3030303030303030;
    uint32_t x = 16 ^ (uint32_t)first, y = 0x9E3779B1 ^ (uint32_t)(first >> 32);
    uint32_t a = (x ^ y >> 14) * 0x85EBCA6B, b = (y ^ x >> 18) * 0xC2B2AE35;
    uint64_t second = (a | (uint64_t)b << 32) ^ 0x123456789ABCDEF0;
    int ascii = 1;
    for (int at = 0; at < 8; at++) {
      keys[found][at] = (char)(first >> (8 * at));
      keys[found][8 + at] = (char)(second >> (8 * at));
      ascii &= keys[found][8 + at] > 0;
    }
    keys[found][16] = 0;
    found += (uint64_t)ascii;
  }
}

static size_t walk(livebuf_value object, uint32_t flags, size_t stop) {
  livebuf_iter it, other;
  char last[17] = "";
  size_t count = 0;
  STATUS(livebuf_range(object, NULL, NULL, flags, &it), LIVEBUF_OK);
  while (count < stop && livebuf_next(&it)) {
    int order = memcmp(last, it.key.data, 16);
    CHECK(it.key.length == 16 && it.index == count);
    CHECK(count == 0 || (flags ? order > 0 : order < 0));
    memcpy(last, it.key.data, 16);
    count++;
    /* Others in between, that end early. */
    STATUS(livebuf_prefix(object, "", flags, &other), LIVEBUF_OK);
    CHECK(livebuf_next(&other) && livebuf_next(&other) && livebuf_next(&other));
  }
  CHECK(count == stop || it.error.status == LIVEBUF_OK);
  return count;
}

/* Ranges of a large object without an index for them, and with one; keys that collide. */
static void ordered(void) {
  static char keys[230][17];
  colliding(keys, 230);
  for (int way = 0; way < 3; way++) {
    livebuf_doc *doc = livebuf_create(NULL, NULL);
    STATUS(livebuf_set_root(doc, livebuf_map(0), NULL), LIVEBUF_OK);
    size_t count = way == 0 ? 150 : 200;
    for (size_t at = 0; at < count; at++) {
      STATUS(livebuf_set_i64(doc, LIVEBUF_ROOT, keys[at], (int64_t)at), LIVEBUF_OK);
    }
    if (way == 1) STATUS(livebuf_order(doc, livebuf_root_node(doc)), LIVEBUF_OK);
    STATUS(livebuf_validate(doc), LIVEBUF_OK);
    livebuf_value root = livebuf_root(doc);
    CHECK(walk(root, 0, count) == count && walk(root, LIVEBUF_DESCENDING, count) == count);
    CHECK(walk(root, 0, 7) == 7);
    for (size_t at = 0; at < 230; at++) {
      CHECK(livebuf_exists(livebuf_get(root, keys[at])) == (at < count));
    }
    for (size_t at = 0; at < count; at += 2) {
      STATUS(livebuf_remove(doc, LIVEBUF_ROOT, keys[at]), LIVEBUF_OK);
    }
    STATUS(livebuf_validate(doc), LIVEBUF_OK);
    CHECK(walk(livebuf_root(doc), 0, count) == count / 2);
    STATUS(livebuf_order(doc, LIVEBUF_ROOT), LIVEBUF_OK);
    STATUS(livebuf_set_root(doc, livebuf_array(0), NULL), LIVEBUF_OK);
    STATUS(livebuf_order(doc, LIVEBUF_ROOT), LIVEBUF_WRONG_TYPE);
    STATUS(livebuf_order(NULL, LIVEBUF_ROOT), LIVEBUF_NULL_ARGUMENT);
    livebuf_destroy(doc);
  }
}

int main(int count, char **arguments) {
  ordered();
  own_documents();
  clones(count > 1 ? arguments[1] : ".");
  allocators();
  capacity();
  bytes();
  own_text();
  files(count > 1 ? arguments[1] : ".");
  json();
  opened_tables();
  dictionaries();
  runs();
  recognized();
  json_files(count > 1 ? arguments[1] : ".");
  bounds();
  tables();
  maps();
  transactions(count > 1 ? arguments[1] : ".");
  refused_in_transaction();
  return done("context");
}
