/* Objects of many members, and arrays of integers, as a user of the library writes them. */
#include "rows.h"

enum { KEY_SIZE = 17 };

/* Gives `count` members the values 0, 1, 2, ... */
int c_map_set(livebuf_doc *doc, const char *keys, size_t count) {
  livebuf_node root = livebuf_root_node(doc);
  int failed = 0;
  for (size_t i = 0; i < count; i++) {
    failed |= livebuf_set_i64(doc, root, keys + i * KEY_SIZE, (int64_t)i);
  }
  return failed;
}

/* No hint says how many members come. */
int c_map_build(livebuf_doc *doc, uint8_t *buffer, size_t capacity, const char *keys,
                size_t count) {
  int failed = livebuf_init_object(doc, buffer, capacity, 0);
  return failed | c_map_set(doc, keys, count);
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

int c_array_build(livebuf_doc *doc, uint8_t *buffer, size_t capacity, size_t count) {
  int failed = livebuf_init_array(doc, buffer, capacity, 0);
  livebuf_node root = livebuf_root_node(doc);
  for (size_t i = 0; i < count; i++) failed |= livebuf_push_i64(doc, root, (int64_t)(i * 7));
  return failed;
}

int64_t c_array_sum(const livebuf_doc *doc, const uint32_t *order, size_t count) {
  livebuf_value root = livebuf_root(doc);
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++) sum += livebuf_get_i64(livebuf_at(root, order[i]));
  return sum;
}
