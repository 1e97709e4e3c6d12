/* The tasks by rows, as a port of a program that used Lite³ would read them: look-ups by literal
   keys in each object. lite3.c does the same on a Lite³ buffer. */
#include "rows.h"

#include <string.h>

int64_t c_sum_rows(const livebuf_doc *doc) {
  livebuf_iter rows;
  int64_t sum = 0;
  livebuf_iterate(livebuf_root(doc), 0, &rows);
  while (livebuf_next(&rows)) {
    sum += livebuf_get_i64(livebuf_get(rows.value, "x"));
    sum += livebuf_get_i64(livebuf_get(rows.value, "y"));
    sum += livebuf_get_i64(livebuf_get(rows.value, "z"));
  }
  return sum;
}

int64_t c_get_row(const livebuf_doc *doc, size_t times) {
  livebuf_value row = livebuf_at(livebuf_root(doc), 1);
  int64_t sum = 0;
  for (size_t i = 0; i < times; i++) {
    OPAQUE(row);
    sum += livebuf_get_i64(livebuf_get(row, "y"));
  }
  return sum;
}

static text_span span(livebuf_str text) {
  text_span span = {text.data, text.length};
  return span;
}

bool c_top_tweet_rows(const livebuf_doc *doc, int64_t most, top_row *top) {
  livebuf_value best = {0};
  livebuf_iter tweets;
  int64_t best_count = 0;
  livebuf_iterate(livebuf_get(livebuf_root(doc), "statuses"), 0, &tweets);
  while (livebuf_next(&tweets)) {
    int64_t count = livebuf_get_i64(livebuf_get(tweets.value, "retweet_count"));
    if (count <= most && count >= best_count) best_count = count, best = tweets.value;
  }
  top->text = span(livebuf_get_str(livebuf_get(best, "text")));
  top->screen_name =
      span(livebuf_get_str(livebuf_get(livebuf_get(best, "user"), "screen_name")));
  top->retweet_count = best_count;
  return livebuf_exists(best);
}

size_t c_partial_tweets_rows(const livebuf_doc *doc, partial_row *result, size_t room) {
  livebuf_iter tweets;
  size_t count = 0;
  livebuf_iterate(livebuf_get(livebuf_root(doc), "statuses"), 0, &tweets);
  while (count < room && livebuf_next(&tweets)) {
    livebuf_value tweet = tweets.value, user = livebuf_get(tweet, "user");
    partial_row *row = &result[count++];
    row->created_at = span(livebuf_get_str(livebuf_get(tweet, "created_at")));
    row->id = livebuf_get_i64(livebuf_get(tweet, "id"));
    row->text = span(livebuf_get_str(livebuf_get(tweet, "text")));
    row->in_reply_to = livebuf_get_i64(livebuf_get(tweet, "in_reply_to_status_id"));
    row->user_id = livebuf_get_i64(livebuf_get(user, "id"));
    row->screen_name = span(livebuf_get_str(livebuf_get(user, "screen_name")));
    row->retweet_count = livebuf_get_i64(livebuf_get(tweet, "retweet_count"));
    row->favorite_count = livebuf_get_i64(livebuf_get(tweet, "favorite_count"));
  }
  return count;
}

text_span c_find_tweet_rows(const livebuf_doc *doc, int64_t id) {
  text_span none = {NULL, 0};
  livebuf_iter tweets;
  livebuf_iterate(livebuf_get(livebuf_root(doc), "statuses"), 0, &tweets);
  while (livebuf_next(&tweets)) {
    if (livebuf_get_i64(livebuf_get(tweets.value, "id")) == id) {
      return span(livebuf_get_str(livebuf_get(tweets.value, "text")));
    }
  }
  return none;
}

/* The same by remembered keys. */
static livebuf_key CREATED_AT, ID, TEXT, IN_REPLY_TO, USER, SCREEN_NAME, RETWEETS, FAVORITES;

void c_prepare_rows(void) {
  livebuf_key_init(&CREATED_AT, "created_at");
  livebuf_key_init(&ID, "id");
  livebuf_key_init(&TEXT, "text");
  livebuf_key_init(&IN_REPLY_TO, "in_reply_to_status_id");
  livebuf_key_init(&USER, "user");
  livebuf_key_init(&SCREEN_NAME, "screen_name");
  livebuf_key_init(&RETWEETS, "retweet_count");
  livebuf_key_init(&FAVORITES, "favorite_count");
}

bool c_top_tweet_keys(const livebuf_doc *doc, int64_t most, top_row *top) {
  livebuf_value best = {0};
  livebuf_iter tweets;
  int64_t best_count = 0;
  livebuf_iterate(livebuf_get(livebuf_root(doc), "statuses"), 0, &tweets);
  while (livebuf_next(&tweets)) {
    int64_t count = livebuf_get_key_i64_or(tweets.value, &RETWEETS, 0);
    if (count <= most && count >= best_count) best_count = count, best = tweets.value;
  }
  top->text = span(livebuf_get_str(livebuf_get_key(best, &TEXT)));
  top->screen_name =
      span(livebuf_get_str(livebuf_get_key(livebuf_get_key(best, &USER), &SCREEN_NAME)));
  top->retweet_count = best_count;
  return livebuf_exists(best);
}

size_t c_partial_tweets_keys(const livebuf_doc *doc, partial_row *result, size_t room) {
  livebuf_iter tweets;
  size_t count = 0;
  livebuf_iterate(livebuf_get(livebuf_root(doc), "statuses"), 0, &tweets);
  while (count < room && livebuf_next(&tweets)) {
    livebuf_value tweet = tweets.value, user = livebuf_get_key(tweet, &USER);
    partial_row *row = &result[count++];
    row->created_at = span(livebuf_get_str(livebuf_get_key(tweet, &CREATED_AT)));
    row->id = livebuf_get_key_i64_or(tweet, &ID, 0);
    row->text = span(livebuf_get_str(livebuf_get_key(tweet, &TEXT)));
    row->in_reply_to = livebuf_get_key_i64_or(tweet, &IN_REPLY_TO, 0);
    row->user_id = livebuf_get_key_i64_or(user, &ID, 0);
    row->screen_name = span(livebuf_get_str(livebuf_get_key(user, &SCREEN_NAME)));
    row->retweet_count = livebuf_get_key_i64_or(tweet, &RETWEETS, 0);
    row->favorite_count = livebuf_get_key_i64_or(tweet, &FAVORITES, 0);
  }
  return count;
}

text_span c_find_tweet_keys(const livebuf_doc *doc, int64_t id) {
  text_span none = {NULL, 0};
  livebuf_iter tweets;
  livebuf_iterate(livebuf_get(livebuf_root(doc), "statuses"), 0, &tweets);
  while (livebuf_next(&tweets)) {
    if (livebuf_get_key_i64_or(tweets.value, &ID, 0) == id) {
      return span(livebuf_get_str(livebuf_get_key(tweets.value, &TEXT)));
    }
  }
  return none;
}

/* Text of another length over text, by a literal key. */
int c_set_other_text(livebuf_doc *doc, size_t times) {
  int failed = 0;
  for (size_t i = 0; i < times; i++) {
    failed |= livebuf_set_str(doc, LIVEBUF_ROOT, "event", i & 1 ? "lap_complete" : "the_lap_is_over");
  }
  return failed;
}

/* Text of the same length over text, by a literal key. */
int c_set_text(livebuf_doc *doc, size_t times) {
  int failed = 0;
  for (size_t i = 0; i < times; i++) {
    failed |= livebuf_set_str(doc, LIVEBUF_ROOT, "event", i & 1 ? "lap_complete" : "lap_finished");
  }
  return failed;
}

bool c_event_is(const livebuf_doc *doc, const char *text) {
  livebuf_str found = livebuf_get_str(livebuf_get(livebuf_root(doc), "event"));
  return found.length == strlen(text) && !memcmp(found.data, text, found.length);
}

/* Three fields by three calls with literal keys. */
int c_build_literal(uint8_t *buffer, size_t capacity, const char *const *keys, size_t *length) {
  livebuf_doc doc;
  int failed = livebuf_init(&doc, buffer, capacity);
  (void)keys;
  failed |= livebuf_set_root(&doc, livebuf_object(3), NULL);
  failed |= livebuf_set_str(&doc, LIVEBUF_ROOT, "event", "lap_complete");
  failed |= livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 55);
  failed |= livebuf_set_f64(&doc, LIVEBUF_ROOT, "time_sec", 88.427);
  *length = doc.length;
  return failed;
}

int c_build_literal_at_once(uint8_t *buffer, size_t capacity, const char *const *keys,
                            size_t *length) {
  livebuf_doc doc;
  livebuf_field fields[3] = {
      livebuf_member("event", livebuf_string("lap_complete")),
      livebuf_member("lap", livebuf_i64(55)),
      livebuf_member("time_sec", livebuf_f64(88.427)),
  };
  int failed = livebuf_init(&doc, buffer, capacity);
  (void)keys;
  failed |= livebuf_set_root(&doc, livebuf_fields(fields, 3), NULL);
  *length = doc.length;
  return failed;
}
