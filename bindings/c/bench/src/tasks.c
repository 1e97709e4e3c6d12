/* The C side of the benchmark: small edits and look-ups, and the twitter tasks. */
#include "livebuf.h"

/* The compiler must neither keep nor foresee the value. */
#define OPAQUE(value) __asm__ volatile("" : "+m"(value) : : "memory")

int64_t c_get_literal(const livebuf_doc *doc, size_t times) {
  livebuf_value root = livebuf_root(doc);
  int64_t sum = 0;
  for (size_t i = 0; i < times; i++) {
    OPAQUE(root);
    sum += livebuf_get_i64(livebuf_get(root, "lap"));
  }
  return sum;
}

int64_t c_get_key(const livebuf_doc *doc, const char *text, size_t times) {
  livebuf_value root = livebuf_root(doc);
  livebuf_key key;
  int64_t sum = 0;
  livebuf_key_init(&key, text);
  for (size_t i = 0; i < times; i++) {
    OPAQUE(root);
    sum += livebuf_get_i64(livebuf_get_key(root, &key));
  }
  return sum;
}

int64_t c_get_key_or(const livebuf_doc *doc, const char *text, size_t times) {
  livebuf_value root = livebuf_root(doc);
  livebuf_key key;
  int64_t sum = 0;
  livebuf_key_init(&key, text);
  for (size_t i = 0; i < times; i++) {
    OPAQUE(root);
    sum += livebuf_get_key_i64_or(root, &key, 0);
  }
  return sum;
}

int c_set_literal(livebuf_doc *doc, size_t times) {
  livebuf_node root = livebuf_root_node(doc);
  int failed = 0;
  for (size_t i = 0; i < times; i++) failed |= livebuf_set_i64(doc, root, "lap", (int64_t)i);
  return failed;
}

int c_set_key(livebuf_doc *doc, const char *text, size_t times) {
  livebuf_node root = livebuf_root_node(doc);
  livebuf_key key;
  int failed = livebuf_key_init(&key, text);
  for (size_t i = 0; i < times; i++) {
    failed |= livebuf_set_key(doc, root, &key, livebuf_i64((int64_t)i), NULL);
  }
  return failed;
}

/* Three fields by three calls. */
int c_build(uint8_t *buffer, size_t capacity, const char *const *keys, size_t *length) {
  livebuf_doc doc;
  livebuf_node root;
  int failed = livebuf_init(&doc, buffer, capacity);
  failed |= livebuf_set_root(&doc, livebuf_object(3), &root);
  failed |= livebuf_set_str(&doc, root, keys[0], "lap_complete");
  failed |= livebuf_set_i64(&doc, root, keys[1], 55);
  failed |= livebuf_set_f64(&doc, root, keys[2], 88.427);
  *length = doc.length;
  return failed;
}

/* Three fields by one call. */
int c_build_at_once(uint8_t *buffer, size_t capacity, const char *const *keys, size_t *length) {
  livebuf_doc doc;
  livebuf_field fields[3] = {
      livebuf_member(keys[0], livebuf_string("lap_complete")),
      livebuf_member(keys[1], livebuf_i64(55)),
      livebuf_member(keys[2], livebuf_f64(88.427)),
  };
  int failed = livebuf_init(&doc, buffer, capacity);
  failed |= livebuf_set_root(&doc, livebuf_fields(fields, 3), NULL);
  *length = doc.length;
  return failed;
}

typedef struct {
  livebuf_str text, screen_name;
  uint64_t retweet_count;
} top_tweet;

typedef struct {
  livebuf_str created_at, text, screen_name;
  uint64_t id, in_reply_to_status_id, user_id, retweet_count, favorite_count;
} partial_tweet;

/* Rows that are read at once. */
enum { BATCH = 256 };

static bool column_of(livebuf_value tweets, const char *path, livebuf_column *column) {
  return livebuf_column_find_path(tweets, path, column) == LIVEBUF_OK;
}

/* Remembered as in the Rust tasks. */
static livebuf_key STATUSES, ID, TEXT;

void c_prepare(void) {
  livebuf_key_init(&STATUSES, "statuses");
  livebuf_key_init(&ID, "id");
  livebuf_key_init(&TEXT, "text");
}

static livebuf_value statuses(const livebuf_doc *doc) {
  return livebuf_get_key(livebuf_root(doc), &STATUSES);
}

bool c_top_tweet(const livebuf_doc *doc, uint64_t most, top_tweet *top) {
  livebuf_value tweets = statuses(doc);
  livebuf_column counts, text, names;
  int64_t values[BATCH];
  size_t best = SIZE_MAX, first = 0, count;
  uint64_t best_count = 0;
  if (!column_of(tweets, "/retweet_count", &counts)) return false;
  for (; (count = livebuf_column_i64s(&counts, first, values, BATCH, -1)); first += count) {
    for (size_t row = 0; row < count; row++) {
      uint64_t value = (uint64_t)values[row];
      if (value <= most && value >= best_count) best_count = value, best = first + row;
    }
  }
  if (best == SIZE_MAX || !column_of(tweets, "/text", &text) ||
      !column_of(tweets, "/user/screen_name", &names)) {
    return false;
  }
  top->text = livebuf_get_str(livebuf_column_get(&text, best));
  top->screen_name = livebuf_get_str(livebuf_column_get(&names, best));
  top->retweet_count = best_count;
  return true;
}

size_t c_partial_tweets(const livebuf_doc *doc, partial_tweet *result, size_t room) {
  static const char *const NUMBERS[] = {"/id", "/in_reply_to_status_id", "/user/id",
                                        "/retweet_count", "/favorite_count"};
  static const char *const TEXTS[] = {"/created_at", "/text", "/user/screen_name"};
  livebuf_value tweets = statuses(doc);
  livebuf_column numbers[5], texts[3];
  int64_t number[5][BATCH];
  livebuf_str text[3][BATCH];
  size_t done = 0;
  for (int i = 0; i < 5; i++) {
    if (!column_of(tweets, NUMBERS[i], &numbers[i])) return 0;
  }
  for (int i = 0; i < 3; i++) {
    if (!column_of(tweets, TEXTS[i], &texts[i])) return 0;
  }
  while (done < room) {
    size_t count = room - done < BATCH ? room - done : BATCH, found = 0;
    for (int i = 0; i < 5; i++) {
      found = livebuf_column_i64s(&numbers[i], done, number[i], count, 0);
    }
    for (int i = 0; i < 3; i++) livebuf_column_strs(&texts[i], done, text[i], count);
    for (size_t row = 0; row < found; row++) {
      partial_tweet *tweet = &result[done + row];
      tweet->created_at = text[0][row];
      tweet->text = text[1][row];
      tweet->screen_name = text[2][row];
      tweet->id = (uint64_t)number[0][row];
      tweet->in_reply_to_status_id = (uint64_t)number[1][row];
      tweet->user_id = (uint64_t)number[2][row];
      tweet->retweet_count = (uint64_t)number[3][row];
      tweet->favorite_count = (uint64_t)number[4][row];
    }
    done += found;
    if (!found) break;
  }
  return done;
}

livebuf_str c_find_tweet(const livebuf_doc *doc, uint64_t id) {
  livebuf_value tweets = statuses(doc);
  livebuf_column ids, texts;
  livebuf_str none = {NULL, 0, 0};
  if (livebuf_column_key(tweets, &ID, &ids)) return none;
  ptrdiff_t row = livebuf_column_find(&ids, livebuf_u64(id));
  if (row < 0 || livebuf_column_key(tweets, &TEXT, &texts)) return none;
  return livebuf_get_str(livebuf_column_get(&texts, (size_t)row));
}

size_t c_distinct_user_id(const livebuf_doc *doc, uint64_t *result, size_t room) {
  livebuf_value tweets = statuses(doc);
  livebuf_column users, retweeted;
  int64_t values[BATCH];
  size_t done = 0, first = 0, count;
  if (!column_of(tweets, "/user/id", &users)) return 0;
  for (; (count = livebuf_column_i64s(&users, first, values, BATCH, -1)); first += count) {
    for (size_t row = 0; row < count && done < room; row++) result[done++] = (uint64_t)values[row];
  }
  if (column_of(tweets, "/retweeted_status/user/id", &retweeted)) {
    for (first = 0; (count = livebuf_column_i64s(&retweeted, first, values, BATCH, -1));
         first += count) {
      for (size_t row = 0; row < count && done < room; row++) {
        if (values[row] >= 0) result[done++] = (uint64_t)values[row];
      }
    }
  } else if (column_of(tweets, "/retweeted_status", &retweeted)) {
    for (size_t row = 0; row < retweeted.length && done < room; row++) {
      livebuf_value tweet = livebuf_column_get(&retweeted, row);
      if (livebuf_exists(tweet)) {
        result[done++] = livebuf_get_u64(livebuf_get(livebuf_get(tweet, "user"), "id"));
      }
    }
  }
  return done;
}
