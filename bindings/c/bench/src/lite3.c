/* The same tasks through Lite³, from a checkout of it: see main.rs. */
#include "rows.h"

#include <lite3.h>
#include <stdlib.h>
#include <string.h>

/* A Lite³ buffer with the value of a LiveBuf document. */
typedef struct {
  unsigned char *bytes;
  size_t length, capacity;
} lite3_buffer;

static bool copy_all(lite3_buffer *to, size_t at, livebuf_value from);

static bool copy_one(lite3_buffer *to, size_t at, const char *key, livebuf_value value) {
  unsigned char *b = to->bytes;
  size_t *n = &to->length, room = to->capacity, inner;
  livebuf_str text = livebuf_get_str(value);
  switch (livebuf_kind_of(value)) {
    case LIVEBUF_KIND_NULL:
      return !(key ? lite3_set_null(b, n, at, room, key) : lite3_arr_append_null(b, n, at, room));
    case LIVEBUF_KIND_BOOL: {
      bool boolean = livebuf_get_bool(value);
      return !(key ? lite3_set_bool(b, n, at, room, key, boolean)
                   : lite3_arr_append_bool(b, n, at, room, boolean));
    }
    case LIVEBUF_KIND_I64: {
      int64_t integer = livebuf_get_i64(value);
      return !(key ? lite3_set_i64(b, n, at, room, key, integer)
                   : lite3_arr_append_i64(b, n, at, room, integer));
    }
    case LIVEBUF_KIND_F64: {
      double number = livebuf_get_f64(value);
      return !(key ? lite3_set_f64(b, n, at, room, key, number)
                   : lite3_arr_append_f64(b, n, at, room, number));
    }
    case LIVEBUF_KIND_STRING:
      return !(key ? lite3_set_str_n(b, n, at, room, key, text.data, text.length)
                   : lite3_arr_append_str_n(b, n, at, room, text.data, text.length));
    case LIVEBUF_KIND_OBJECT:
      if (key ? lite3_set_obj(b, n, at, room, key, &inner)
              : lite3_arr_append_obj(b, n, at, room, &inner)) {
        return false;
      }
      return copy_all(to, inner, value);
    case LIVEBUF_KIND_ARRAY:
      if (key ? lite3_set_arr(b, n, at, room, key, &inner)
              : lite3_arr_append_arr(b, n, at, room, &inner)) {
        return false;
      }
      return copy_all(to, inner, value);
    default: return false;
  }
}

static bool copy_all(lite3_buffer *to, size_t at, livebuf_value from) {
  bool array = livebuf_kind_of(from) == LIVEBUF_KIND_ARRAY;
  livebuf_iter members;
  char key[256];
  if (livebuf_iterate(from, 0, &members)) return false;
  while (livebuf_next(&members)) {
    if (members.key.length >= sizeof key) return false;
    if (!array) memcpy(key, members.key.data, members.key.length);
    key[members.key.length] = 0;
    if (!copy_one(to, at, array ? NULL : key, members.value)) return false;
  }
  return members.error.status == LIVEBUF_OK;
}

lite3_buffer *lite3_memory(size_t capacity) {
  lite3_buffer *made = malloc(sizeof *made);
  made->bytes = aligned_alloc(64, (capacity + 63) / 64 * 64);
  made->capacity = capacity;
  return made;
}

lite3_buffer *lite3_make(const livebuf_doc *doc, size_t capacity) {
  lite3_buffer *made = lite3_memory(capacity);
  livebuf_value root = livebuf_root(doc);
  bool array = livebuf_kind_of(root) == LIVEBUF_KIND_ARRAY;
  if (array ? lite3_init_arr(made->bytes, &made->length, capacity)
            : lite3_init_obj(made->bytes, &made->length, capacity)) {
    return NULL;
  }
  return copy_all(made, 0, root) ? made : NULL;
}

size_t lite3_length(const lite3_buffer *made) { return made->length; }

int64_t lite3_get_literal(const lite3_buffer *from, size_t times) {
  int64_t sum = 0, value;
  for (size_t i = 0; i < times; i++) {
    OPAQUE(from);
    if (!lite3_get_i64(from->bytes, from->length, 0, "lap", &value)) sum += value;
  }
  return sum;
}

int64_t lite3_get_row(const lite3_buffer *from, size_t times) {
  int64_t sum = 0, value;
  size_t row;
  if (lite3_arr_get_obj(from->bytes, from->length, 0, 1, &row)) return -1;
  for (size_t i = 0; i < times; i++) {
    OPAQUE(row);
    if (!lite3_get_i64(from->bytes, from->length, row, "y", &value)) sum += value;
  }
  return sum;
}

int64_t lite3_sum_rows(const lite3_buffer *from) {
  const unsigned char *bytes = from->bytes;
  size_t length = from->length, row;
  int64_t sum = 0, value;
  lite3_iter rows;
  if (lite3_iter_create(bytes, length, 0, &rows)) return -1;
  while (lite3_iter_next(bytes, length, &rows, NULL, &row) == LITE3_ITER_ITEM) {
    if (!lite3_get_i64(bytes, length, row, "x", &value)) sum += value;
    if (!lite3_get_i64(bytes, length, row, "y", &value)) sum += value;
    if (!lite3_get_i64(bytes, length, row, "z", &value)) sum += value;
  }
  return sum;
}

static text_span text_at(const lite3_buffer *from, lite3_str text) {
  text_span span = {LITE3_STR(from->bytes, text), text.len};
  return span;
}

bool lite3_top_tweet(const lite3_buffer *from, int64_t most, top_row *top) {
  const unsigned char *bytes = from->bytes;
  size_t length = from->length, tweets, tweet, user, best = 0;
  int64_t best_count = 0, count;
  lite3_iter each;
  lite3_str text, name;
  if (lite3_get_arr(bytes, length, 0, "statuses", &tweets)) return false;
  if (lite3_iter_create(bytes, length, tweets, &each)) return false;
  while (lite3_iter_next(bytes, length, &each, NULL, &tweet) == LITE3_ITER_ITEM) {
    if (lite3_get_i64(bytes, length, tweet, "retweet_count", &count)) continue;
    if (count <= most && count >= best_count) best_count = count, best = tweet;
  }
  if (!best || lite3_get_str(bytes, length, best, "text", &text)) return false;
  if (lite3_get_obj(bytes, length, best, "user", &user)) return false;
  if (lite3_get_str(bytes, length, user, "screen_name", &name)) return false;
  top->text = text_at(from, text);
  top->screen_name = text_at(from, name);
  top->retweet_count = best_count;
  return true;
}

size_t lite3_partial_tweets(const lite3_buffer *from, partial_row *result, size_t room) {
  const unsigned char *bytes = from->bytes;
  size_t length = from->length, tweets, tweet, user, count = 0;
  lite3_iter each;
  lite3_str text;
  if (lite3_get_arr(bytes, length, 0, "statuses", &tweets)) return 0;
  if (lite3_iter_create(bytes, length, tweets, &each)) return 0;
  while (count < room &&
         lite3_iter_next(bytes, length, &each, NULL, &tweet) == LITE3_ITER_ITEM) {
    partial_row *row = &result[count++];
    if (lite3_get_str(bytes, length, tweet, "created_at", &text)) return 0;
    row->created_at = text_at(from, text);
    if (lite3_get_i64(bytes, length, tweet, "id", &row->id)) return 0;
    if (lite3_get_str(bytes, length, tweet, "text", &text)) return 0;
    row->text = text_at(from, text);
    if (lite3_is_null(bytes, length, tweet, "in_reply_to_status_id")) {
      row->in_reply_to = 0;
    } else if (lite3_get_i64(bytes, length, tweet, "in_reply_to_status_id", &row->in_reply_to)) {
      return 0;
    }
    if (lite3_get_obj(bytes, length, tweet, "user", &user)) return 0;
    if (lite3_get_i64(bytes, length, user, "id", &row->user_id)) return 0;
    if (lite3_get_str(bytes, length, user, "screen_name", &text)) return 0;
    row->screen_name = text_at(from, text);
    if (lite3_get_i64(bytes, length, tweet, "retweet_count", &row->retweet_count)) return 0;
    if (lite3_get_i64(bytes, length, tweet, "favorite_count", &row->favorite_count)) return 0;
  }
  return count;
}

text_span lite3_find_tweet(const lite3_buffer *from, int64_t id) {
  const unsigned char *bytes = from->bytes;
  size_t length = from->length, tweets, tweet;
  text_span none = {NULL, 0};
  int64_t found;
  lite3_iter each;
  lite3_str text;
  if (lite3_get_arr(bytes, length, 0, "statuses", &tweets)) return none;
  if (lite3_iter_create(bytes, length, tweets, &each)) return none;
  while (lite3_iter_next(bytes, length, &each, NULL, &tweet) == LITE3_ITER_ITEM) {
    if (!lite3_get_i64(bytes, length, tweet, "id", &found) && found == id) {
      if (lite3_get_str(bytes, length, tweet, "text", &text)) return none;
      return text_at(from, text);
    }
  }
  return none;
}

int lite3_build(uint8_t *buffer, size_t capacity, size_t *length) {
  int failed = lite3_init_obj(buffer, length, capacity);
  failed |= lite3_set_str(buffer, length, 0, capacity, "event", "lap_complete");
  failed |= lite3_set_i64(buffer, length, 0, capacity, "lap", 55);
  failed |= lite3_set_f64(buffer, length, 0, capacity, "time_sec", 88.427);
  return failed;
}

static bool event_is(const uint8_t *bytes, size_t length, const char *text) {
  lite3_str found;
  return !lite3_get_str(bytes, length, 0, "event", &found) && found.len == strlen(text) &&
         !memcmp(LITE3_STR(bytes, found), text, found.len);
}

bool lite3_event_is(const lite3_buffer *from, const char *text) {
  return event_is(from->bytes, from->length, text);
}

/* Whether it is what lite3_build builds. */
bool lite3_message_is_right(const uint8_t *bytes, size_t length) {
  int64_t lap;
  double seconds;
  return event_is(bytes, length, "lap_complete") &&
         !lite3_get_i64(bytes, length, 0, "lap", &lap) && lap == 55 &&
         !lite3_get_f64(bytes, length, 0, "time_sec", &seconds) && seconds == 88.427;
}

int lite3_set_literal(lite3_buffer *to, size_t times) {
  int failed = 0;
  for (size_t i = 0; i < times; i++) {
    failed |= lite3_set_i64(to->bytes, &to->length, 0, to->capacity, "lap", (int64_t)i);
  }
  return failed;
}

int lite3_set_text(lite3_buffer *to, size_t times) {
  int failed = 0;
  for (size_t i = 0; i < times; i++) {
    failed |= lite3_set_str(to->bytes, &to->length, 0, to->capacity, "event",
                            i & 1 ? "lap_complete" : "lap_finished");
  }
  return failed;
}

int lite3_set_other_text(lite3_buffer *to, size_t times) {
  int failed = 0;
  for (size_t i = 0; i < times; i++) {
    failed |= lite3_set_str(to->bytes, &to->length, 0, to->capacity, "event",
                            i & 1 ? "lap_complete" : "the_lap_is_over");
  }
  return failed;
}

/* --- maps.c through Lite³ */

enum { KEY_SIZE = 17 };

int lite3_map_set(lite3_buffer *to, const char *keys, size_t count) {
  int failed = 0;
  for (size_t i = 0; i < count; i++) {
    failed |= lite3_set_i64(to->bytes, &to->length, 0, to->capacity, keys + i * KEY_SIZE,
                            (int64_t)i);
  }
  return failed;
}

int lite3_map_build(lite3_buffer *to, const char *keys, size_t count) {
  int failed = lite3_init_obj(to->bytes, &to->length, to->capacity);
  return failed | lite3_map_set(to, keys, count);
}

int64_t lite3_map_sum(const lite3_buffer *from, const char *keys, size_t count) {
  int64_t sum = 0, value;
  for (size_t i = 0; i < count; i++) {
    if (!lite3_get_i64(from->bytes, from->length, 0, keys + i * KEY_SIZE, &value)) {
      sum += value + 1;
    }
  }
  return sum;
}

int lite3_array_build(lite3_buffer *to, size_t count) {
  int failed = lite3_init_arr(to->bytes, &to->length, to->capacity);
  for (size_t i = 0; i < count; i++) {
    failed |= lite3_arr_append_i64(to->bytes, &to->length, 0, to->capacity, (int64_t)(i * 7));
  }
  return failed;
}

int64_t lite3_array_sum(const lite3_buffer *from, const uint32_t *order, size_t count) {
  int64_t sum = 0, value;
  for (size_t i = 0; i < count; i++) {
    if (!lite3_arr_get_i64(from->bytes, from->length, 0, order[i], &value)) sum += value;
  }
  return sum;
}
