/* Objects of many members, and arrays of integers, as a user of the library writes them. */
#include "rows.h"

enum { KEY_SIZE = 17 };

/* An object of `count` members whose values are 0, 1, 2, ...: no hint says how many come. */
int c_map_build(livebuf_doc *doc, uint8_t *buffer, size_t capacity, const char *keys,
                size_t count) {
  livebuf_node root;
  int failed = livebuf_init(doc, buffer, capacity);
  failed |= livebuf_set_root(doc, livebuf_object(0), &root);
  for (size_t i = 0; i < count; i++) {
    failed |= livebuf_set_i64(doc, root, keys + i * KEY_SIZE, (int64_t)i);
  }
  return failed;
}

/* The sum of the values of those keys that are there, and one for each of them. */
int64_t c_map_sum(const livebuf_doc *doc, const char *keys, size_t count) {
  livebuf_value root = livebuf_root(doc);
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    livebuf_value value = livebuf_get(root, keys + i * KEY_SIZE);
    if (livebuf_exists(value)) sum += livebuf_get_i64(value) + 1;
  }
  return sum;
}

int c_map_overwrite(livebuf_doc *doc, const char *keys, size_t count) {
  livebuf_node root = livebuf_root_node(doc);
  int failed = 0;
  for (size_t i = 0; i < count; i++) {
    failed |= livebuf_set_i64(doc, root, keys + i * KEY_SIZE, (int64_t)i);
  }
  return failed;
}

int c_array_build(livebuf_doc *doc, uint8_t *buffer, size_t capacity, size_t count) {
  livebuf_node root;
  int failed = livebuf_init(doc, buffer, capacity);
  failed |= livebuf_set_root(doc, livebuf_array(0), &root);
  for (size_t i = 0; i < count; i++) failed |= livebuf_push_i64(doc, root, (int64_t)(i * 7));
  return failed;
}

int64_t c_array_sum(const livebuf_doc *doc, const uint32_t *order, size_t count) {
  livebuf_value root = livebuf_root(doc);
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++) sum += livebuf_get_i64(livebuf_at(root, order[i]));
  return sum;
}
