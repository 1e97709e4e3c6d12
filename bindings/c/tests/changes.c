/* Changes as values: deltas, undo, patches, differences, queries and edits of all matches. */
#include <livebuf.h>

#include "check.h"

static livebuf_doc *parsed(const char *text) {
  livebuf_error error;
  livebuf_doc *doc = livebuf_from_json(text, strlen(text), NULL, NULL, &error);
  STATUS(error.status, LIVEBUF_OK);
  return doc;
}

static livebuf_doc *copied(const livebuf_doc *doc) {
  livebuf_doc *copy = livebuf_from_bytes(doc->bytes, doc->length, NULL, NULL);
  CHECK(copy);
  return copy;
}

static int same(const livebuf_doc *one, const livebuf_doc *two) {
  return one->length == two->length && !memcmp(one->bytes, two->bytes, one->length);
}

static int is_json(const livebuf_doc *doc, const char *expected) {
  size_t length;
  char *text = livebuf_to_json_new(livebuf_root(doc), NULL, NULL, &length, NULL);
  int equal = text && !strcmp(text, expected);
  if (!equal) fprintf(stderr, "%s, not %s\n", text ? text : "no JSON", expected);
  livebuf_free(NULL, text, length + 1);
  return equal;
}

/* The error of a document as text. */
static int says(livebuf_error error, const char *expected) {
  char line[160];
  livebuf_error_text(error, line, sizeof line);
  if (strcmp(line, expected)) fprintf(stderr, "%s, not %s\n", line, expected);
  return !strcmp(line, expected);
}

static void deltas(void) {
  livebuf_doc *doc = parsed("{\"lap\":55,\"laps\":[1,2,3],\"driver\":\"Ada\"}");
  livebuf_state state, other;
  livebuf_error error;
  size_t length, second_length;

  STATUS(livebuf_get_state(doc, &state), LIVEBUF_NO_STATE);
  CHECK(!livebuf_delta_begin(doc, 0));
  STATUS(doc->error.status, LIVEBUF_NO_STATE);
  CHECK(!livebuf_delta_begin(NULL, 0));
  memset(state.bytes, 0xAB, sizeof state.bytes);
  STATUS(livebuf_set_state(doc, &state), LIVEBUF_OK);
  STATUS(livebuf_get_state(doc, &other), LIVEBUF_OK);
  CHECK(!memcmp(&state, &other, sizeof state));
  /* A random one. */
  STATUS(livebuf_set_state(doc, NULL), LIVEBUF_OK);
  STATUS(livebuf_get_state(doc, &other), LIVEBUF_OK);
  CHECK(memcmp(&state, &other, sizeof state));
  livebuf_doc *copy = copied(doc), *old = copied(doc);

  livebuf_delta_recorder *recorder =
      livebuf_delta_begin(doc, LIVEBUF_DELTA_OLD | LIVEBUF_DELTA_DIGEST);
  CHECK(recorder);
  CHECK(!livebuf_delta_begin(doc, 0));
  STATUS(doc->error.status, LIVEBUF_BAD_SEQUENCE);
  CHECK(!livebuf_history_begin(doc, 1000));
  STATUS(doc->error.status, LIVEBUF_BAD_SEQUENCE);
  STATUS(livebuf_set_i64(doc, LIVEBUF_ROOT, "lap", 56), LIVEBUF_OK);
  STATUS(livebuf_begin(doc), LIVEBUF_OK);
  CHECK(!livebuf_delta_end(doc, recorder, NULL, &length)); /* It stays open. */
  STATUS(doc->error.status, LIVEBUF_BAD_SEQUENCE);
  STATUS(livebuf_commit(doc), LIVEBUF_OK);
  CHECK(!livebuf_delta_end(copy, recorder, NULL, &length)); /* Another document's. */
  uint8_t *first = livebuf_delta_end(doc, recorder, NULL, &length);
  CHECK(first && length <= 72 + 32 + 8);
  CHECK(!livebuf_delta_end(doc, NULL, NULL, &length));

  recorder = livebuf_delta_begin(doc, LIVEBUF_DELTA_OLD);
  for (int i = 0; i < 300; i++)
    STATUS(livebuf_set_pointer(doc, "/laps/-", livebuf_i64(i)), LIVEBUF_OK);
  uint8_t *second = livebuf_delta_end(doc, recorder, NULL, &second_length);
  CHECK(second);

  livebuf_delta_info info;
  STATUS(livebuf_delta_read(first, length, &info, &error), LIVEBUF_OK);
  CHECK(info.flags == (LIVEBUF_DELTA_OLD | LIVEBUF_DELTA_DIGEST) && info.ranges == 1);
  CHECK(info.base_length == copy->length && info.length == copy->length);
  STATUS(livebuf_get_state(copy, &other), LIVEBUF_OK);
  CHECK(!memcmp(&info.base, &other, sizeof other));

  /* In their order, each once, and back. */
  STATUS(livebuf_delta_apply(copy, second, second_length, 0), LIVEBUF_WRONG_STATE);
  CHECK(copy->error.offset && copy->error.detail && copy->error.offset != copy->error.detail);
  char line[160];
  livebuf_error_text(copy->error, line, sizeof line);
  CHECK(strstr(line, "the delta begins at another state: ") && strstr(line, "..., not "));
  CHECK(same(copy, old));
  STATUS(livebuf_delta_apply(copy, first, length, LIVEBUF_DELTA_DIGEST), LIVEBUF_OK);
  CHECK(!livebuf_is_trusted(copy));
  STATUS(livebuf_delta_apply(copy, first, length, 0), LIVEBUF_WRONG_STATE);
  STATUS(livebuf_delta_apply(copy, second, second_length, LIVEBUF_DELTA_DIGEST),
         LIVEBUF_NO_DIGEST);
  STATUS(livebuf_delta_apply(copy, second, second_length, 0), LIVEBUF_OK);
  CHECK(same(copy, doc));
  STATUS(livebuf_validate(copy), LIVEBUF_OK);

  size_t both_length, back_length;
  uint8_t *both = livebuf_delta_compose(first, length, second, second_length, NULL, &both_length,
                                        &error);
  CHECK(both);
  CHECK(!livebuf_delta_compose(second, second_length, first, length, NULL, &both_length, &error));
  STATUS(error.status, LIVEBUF_WRONG_STATE);
  both_length = both ? both_length : 0;
  livebuf_free(NULL, both, both_length);
  both = livebuf_delta_compose(first, length, second, second_length, NULL, &both_length, NULL);
  uint8_t *back = livebuf_delta_invert(both, both_length, NULL, &back_length, &error);
  CHECK(back);
  STATUS(livebuf_delta_apply(copy, back, back_length, 0), LIVEBUF_OK);
  CHECK(same(copy, old));
  STATUS(livebuf_delta_apply(copy, both, both_length, 0), LIVEBUF_OK);
  CHECK(same(copy, doc));

  /* Cut short and damaged anywhere: nothing is changed, or what is there is a document. */
  for (size_t cut = 0; cut < length; cut++) {
    livebuf_doc *victim = copied(old);
    CHECK(livebuf_delta_apply(victim, first, cut, 0) != LIVEBUF_OK && same(victim, old));
    uint8_t *damaged = malloc(length);
    memcpy(damaged, first, length);
    damaged[cut] ^= 0x55;
    if (livebuf_delta_apply(victim, damaged, length, 0))
      CHECK(same(victim, old));
    else
      CHECK(livebuf_validate(victim) != LIVEBUF_INTERNAL);
    CHECK(livebuf_delta_read(damaged, length, &info, NULL) != LIVEBUF_INTERNAL);
    free(damaged);
    livebuf_destroy(victim);
  }
  STATUS(livebuf_delta_read(first, 10, &info, &error), LIVEBUF_BAD_DELTA);
  CHECK(error.offset == 10 && info.length == 0);
  STATUS(livebuf_delta_read((const uint8_t *)"{\"no\":1}", 8, &info, NULL), LIVEBUF_NOT_A_DELTA);
  STATUS(livebuf_delta_read(NULL, 8, &info, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_delta_apply(NULL, first, length, 0), LIVEBUF_NULL_ARGUMENT);
  CHECK(!livebuf_delta_invert(NULL, 0, NULL, &back_length, NULL));

  /* Without old bytes there is no way back. */
  recorder = livebuf_delta_begin(copy, 0);
  STATUS(livebuf_set_i64(copy, LIVEBUF_ROOT, "lap", 57), LIVEBUF_OK);
  livebuf_free(NULL, both, both_length);
  both = livebuf_delta_end(copy, recorder, NULL, &both_length);
  CHECK(!livebuf_delta_invert(both, both_length, NULL, &second_length, &error));
  STATUS(error.status, LIVEBUF_NO_OLD_BYTES);
  livebuf_free(NULL, both, both_length);
  livebuf_free(NULL, back, back_length);

  /* No delta is applied while one is made: the state would be another one. */
  livebuf_doc *third = copied(doc);
  STATUS(livebuf_set_i64(third, LIVEBUF_ROOT, "lap", 0), LIVEBUF_OK); /* Has no state now. */
  STATUS(livebuf_delta_apply(third, first, length, 0), LIVEBUF_NO_STATE);
  livebuf_destroy(third);
  third = copied(old);
  recorder = livebuf_delta_begin(third, 0);
  STATUS(livebuf_delta_apply(third, first, length, 0), LIVEBUF_BAD_SEQUENCE);
  CHECK(same(third, old));
  livebuf_delta_cancel(third, recorder);
  STATUS(livebuf_delta_apply(third, first, length, 0), LIVEBUF_OK);
  livebuf_destroy(third);

  /* What nobody ends is freed by cancel, before or after the document. */
  recorder = livebuf_delta_begin(doc, 0);
  livebuf_delta_cancel(doc, recorder);
  recorder = livebuf_delta_begin(doc, LIVEBUF_DELTA_OLD);
  CHECK(recorder);
  livebuf_destroy(doc);
  livebuf_delta_cancel(NULL, recorder);
  livebuf_delta_cancel(NULL, NULL);
  livebuf_free(NULL, first, length);
  livebuf_free(NULL, second, second_length);
  livebuf_destroy(copy);
  livebuf_destroy(old);

  /* Over memory of the caller's. */
  static uint8_t buffer[4096], other_buffer[4096];
  livebuf_doc mine, follows;
  STATUS(livebuf_init_object(&mine, buffer, sizeof buffer, 2), LIVEBUF_OK);
  STATUS(livebuf_set_i64(&mine, LIVEBUF_ROOT, "lap", 55), LIVEBUF_OK);
  STATUS(livebuf_set_state(&mine, NULL), LIVEBUF_OK);
  memcpy(other_buffer, buffer, mine.length);
  STATUS(livebuf_open(&follows, other_buffer, mine.length, sizeof other_buffer), LIVEBUF_OK);
  recorder = livebuf_delta_begin(&mine, 0);
  STATUS(livebuf_set_str(&mine, LIVEBUF_ROOT, "driver", "Ada King, Countess of Lovelace"), 0);
  first = livebuf_delta_end(&mine, recorder, NULL, &length);
  STATUS(livebuf_delta_apply(&follows, first, length, 0), LIVEBUF_OK);
  CHECK(same(&mine, &follows));
  livebuf_free(NULL, first, length);
  /* Where the new length has no room, the copy stays as it was. */
  STATUS(livebuf_open(&follows, other_buffer, mine.length, mine.length), LIVEBUF_OK);
  recorder = livebuf_delta_begin(&mine, 0);
  STATUS(livebuf_set_str(&mine, LIVEBUF_ROOT, "team", "a text that needs some room"), LIVEBUF_OK);
  first = livebuf_delta_end(&mine, recorder, NULL, &length);
  static uint8_t before[4096];
  memcpy(before, other_buffer, follows.length);
  STATUS(livebuf_delta_apply(&follows, first, length, 0), LIVEBUF_NO_SPACE);
  CHECK(follows.length < mine.length && !memcmp(before, other_buffer, follows.length));
  livebuf_free(NULL, first, length);
}

static void histories(void) {
  livebuf_doc *doc = parsed("{\"text\":\"a\"}");
  livebuf_history *history = livebuf_history_begin(doc, 1 << 20);
  CHECK(history);
  livebuf_error error;
  size_t length;
  CHECK(!livebuf_history_delta(history, NULL, &length, &error));
  STATUS(error.status, LIVEBUF_NOT_FOUND);
  livebuf_doc *copy = copied(doc), *empty = copied(doc);

  STATUS(livebuf_undo(doc, history), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_set_str(doc, LIVEBUF_ROOT, "text", "ab"), LIVEBUF_OK);
  STATUS(livebuf_set_i64(doc, LIVEBUF_ROOT, "length", 2), LIVEBUF_OK);
  STATUS(livebuf_history_step(doc, history), LIVEBUF_OK);
  STATUS(livebuf_history_step(doc, history), LIVEBUF_OK); /* Nothing changed: no step. */
  CHECK(livebuf_history_count(doc, history, false) == 1);
  uint8_t *delta = livebuf_history_delta(history, NULL, &length, NULL);
  STATUS(livebuf_delta_apply(copy, delta, length, 0), LIVEBUF_OK);
  CHECK(same(copy, doc));
  livebuf_free(NULL, delta, length);

  /* An edit that no step was made of becomes one. */
  STATUS(livebuf_set_str(doc, LIVEBUF_ROOT, "text", "abc"), LIVEBUF_OK);
  CHECK(livebuf_history_count(doc, history, false) == 2);
  STATUS(livebuf_undo(doc, history), LIVEBUF_OK);
  CHECK(is_json(doc, "{\"text\":\"ab\",\"length\":2}"));
  CHECK(livebuf_is_trusted(doc));
  STATUS(livebuf_undo(doc, history), LIVEBUF_OK);
  CHECK(same(doc, empty) && is_json(doc, "{\"text\":\"a\"}"));
  delta = livebuf_history_delta(history, NULL, &length, NULL);
  STATUS(livebuf_delta_apply(copy, delta, length, 0), LIVEBUF_OK);
  CHECK(same(copy, empty));
  livebuf_free(NULL, delta, length);
  STATUS(livebuf_undo(doc, history), LIVEBUF_NOT_FOUND);
  CHECK(livebuf_history_count(doc, history, true) == 2);
  STATUS(livebuf_redo(doc, history), LIVEBUF_OK);
  STATUS(livebuf_redo(doc, history), LIVEBUF_OK);
  STATUS(livebuf_redo(doc, history), LIVEBUF_NOT_FOUND);
  CHECK(is_json(doc, "{\"text\":\"abc\",\"length\":2}"));
  STATUS(livebuf_validate(doc), LIVEBUF_OK);

  /* An edit after an undo ends what could be redone. */
  STATUS(livebuf_undo(doc, history), LIVEBUF_OK);
  STATUS(livebuf_set_i64(doc, LIVEBUF_ROOT, "length", 3), LIVEBUF_OK);
  CHECK(livebuf_history_count(doc, history, true) == 0);
  STATUS(livebuf_redo(doc, history), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_begin(doc), LIVEBUF_OK);
  STATUS(livebuf_undo(doc, history), LIVEBUF_BAD_SEQUENCE);
  STATUS(livebuf_rollback(doc), LIVEBUF_OK);
  STATUS(livebuf_undo(copy, history), LIVEBUF_BAD_SEQUENCE);
  STATUS(livebuf_undo(doc, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_undo(NULL, history), LIVEBUF_NULL_ARGUMENT);

  /* A document that is not trusted does not become so by undo and redo. */
  livebuf_history_end(doc, history);
  livebuf_doc *foreign = copied(doc);
  history = livebuf_history_begin(foreign, 1 << 20);
  STATUS(livebuf_set_i64(foreign, LIVEBUF_ROOT, "length", 4), LIVEBUF_OK);
  STATUS(livebuf_delta_apply(foreign, NULL, 0, 0), LIVEBUF_BAD_SEQUENCE);
  STATUS(livebuf_undo(foreign, history), LIVEBUF_OK);
  CHECK(!livebuf_is_trusted(foreign) && is_json(foreign, "{\"text\":\"ab\",\"length\":3}"));
  STATUS(livebuf_validate(foreign), LIVEBUF_OK);
  STATUS(livebuf_redo(foreign, history), LIVEBUF_OK);
  CHECK(!livebuf_is_trusted(foreign));
  livebuf_history_end(foreign, history);
  livebuf_destroy(foreign);
  history = livebuf_history_begin(doc, 1 << 20);

  /* A bound of bytes drops the oldest. */
  livebuf_history_end(doc, history);
  history = livebuf_history_begin(doc, 2000);
  for (int i = 0; i < 200; i++) {
    STATUS(livebuf_set_i64(doc, LIVEBUF_ROOT, "length", i), LIVEBUF_OK);
    STATUS(livebuf_history_step(doc, history), LIVEBUF_OK);
  }
  size_t kept = livebuf_history_count(doc, history, false);
  CHECK(kept > 2 && kept < 100);
  for (size_t i = 0; i < kept; i++) STATUS(livebuf_undo(doc, history), LIVEBUF_OK);
  STATUS(livebuf_undo(doc, history), LIVEBUF_NOT_FOUND);
  livebuf_destroy(doc);
  livebuf_history_end(NULL, history);
  livebuf_history_end(NULL, NULL);
  livebuf_destroy(copy);
  livebuf_destroy(empty);
}

static void patches(void) {
  livebuf_doc *doc = parsed("{\"driver\":\"Ada\",\"laps\":[88.4,87.5],\"lap\":2}");
  livebuf_doc *before = copied(doc);
  STATUS(livebuf_patch_json(doc,
                            "[{\"op\":\"test\",\"path\":\"/lap\",\"value\":2.0},"
                            "{\"op\":\"add\",\"path\":\"/laps/-\",\"value\":87},"
                            "{\"op\":\"replace\",\"path\":\"/lap\",\"value\":3}]"),
         LIVEBUF_OK);
  CHECK(is_json(doc, "{\"driver\":\"Ada\",\"laps\":[88.4,87.5,87],\"lap\":3}"));

  /* One impossible operation: no byte changes. */
  livebuf_doc *after = copied(doc);
  STATUS(livebuf_patch_json(doc,
                            "[{\"op\":\"remove\",\"path\":\"/driver\"},"
                            "{\"op\":\"test\",\"path\":\"/lap\",\"value\":2}]"),
         LIVEBUF_TEST_FAILED);
  CHECK(doc->error.operation == 2 && same(doc, after));
  CHECK(says(doc->error,
             "the value is not the one that the patch expects, in operation 2 of the patch "
             "(the first is 1)"));
  STATUS(livebuf_patch_json(doc, "[{\"op\":\"remove\",\"path\":\"/none\"}]"), LIVEBUF_NOT_FOUND);
  STATUS(livebuf_patch_json(doc, "[{\"op\":\"add\",\"path\":\"/laps/7\",\"value\":0}]"),
         LIVEBUF_INDEX_OUT_OF_RANGE);
  STATUS(livebuf_patch_json(doc, "[{\"op\":\"move\",\"from\":\"/laps\",\"path\":\"/laps/0\"}]"),
         LIVEBUF_INTO_ITSELF);
  STATUS(livebuf_patch_json(doc, "[{\"op\":\"add\",\"path\":\"/lap/x\",\"value\":0}]"),
         LIVEBUF_WRONG_TYPE);
  STATUS(livebuf_patch_json(doc, "[{\"op\":\"fly\",\"path\":\"/lap\"}]"), LIVEBUF_BAD_PATCH);
  CHECK(doc->error.operation == 1);
  STATUS(livebuf_patch_json(doc, "{}"), LIVEBUF_BAD_PATCH);
  CHECK(doc->error.operation == 0);
  STATUS(livebuf_patch_json(doc, "[{"), LIVEBUF_JSON_END);
  CHECK(doc->error.line == 1);
  STATUS(livebuf_patch_json(doc, NULL), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_patch_json(NULL, "[]"), LIVEBUF_NULL_ARGUMENT);
  CHECK(same(doc, after));

  /* A difference is a document, and a patch. */
  livebuf_error error;
  livebuf_doc *patch =
      livebuf_diff(livebuf_root(before), livebuf_root(doc), 0, NULL, &error);
  CHECK(is_json(patch, "[{\"op\":\"add\",\"path\":\"/laps/2\",\"value\":87},"
                       "{\"op\":\"replace\",\"path\":\"/lap\",\"value\":3}]"));
  STATUS(livebuf_patch(before, livebuf_root(patch)), LIVEBUF_OK);
  livebuf_destroy(patch);
  patch = livebuf_diff(livebuf_root(before), livebuf_root(doc), LIVEBUF_DIFF_ORDERED, NULL, NULL);
  CHECK(is_json(patch, "[]"));
  livebuf_destroy(patch);
  CHECK(!livebuf_diff(livebuf_root(NULL), livebuf_root(doc), 0, NULL, &error));
  STATUS(error.status, LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_patch(doc, livebuf_root(NULL)), LIVEBUF_NULL_ARGUMENT);
  /* A patch within the document that it patches. */
  livebuf_doc *self = parsed("{\"a\":1,\"p\":[{\"op\":\"remove\",\"path\":\"/p\"}]}");
  STATUS(livebuf_patch(self, livebuf_get(livebuf_root(self), "p")), LIVEBUF_OK);
  CHECK(is_json(self, "{\"a\":1}"));

  /* Merging. */
  STATUS(livebuf_merge_json(doc, "{\"driver\":null,\"team\":{\"name\":\"A\",\"x\":null}}"),
         LIVEBUF_OK);
  CHECK(is_json(doc, "{\"laps\":[88.4,87.5,87],\"lap\":3,\"team\":{\"name\":\"A\"}}"));
  patch = livebuf_merge_diff(livebuf_root(before), livebuf_root(doc), NULL, &error);
  CHECK(is_json(patch, "{\"driver\":null,\"team\":{\"name\":\"A\"}}"));
  STATUS(livebuf_merge(before, livebuf_root(patch)), LIVEBUF_OK);
  livebuf_destroy(patch);
  patch = livebuf_diff(livebuf_root(before), livebuf_root(doc), 0, NULL, &error);
  CHECK(is_json(patch, "[]"));
  livebuf_destroy(patch);
  STATUS(livebuf_merge(doc, livebuf_get(livebuf_root(doc), "team")), LIVEBUF_OVERLAP);
  STATUS(livebuf_merge_json(doc, "{\"a\":"), LIVEBUF_JSON_END);
  STATUS(livebuf_set_null(self, LIVEBUF_ROOT, "a"), LIVEBUF_OK);
  CHECK(!livebuf_merge_diff(livebuf_root(doc), livebuf_root(self), NULL, &error));
  STATUS(error.status, LIVEBUF_UNSUPPORTED);
  livebuf_destroy(self);
  livebuf_destroy(after);
  livebuf_destroy(before);
  livebuf_destroy(doc);
}

static bool faster(void *user, livebuf_value value, livebuf_new *replacement) {
  double *factor = user;
  double sec = livebuf_get_f64(value);
  if (sec < 0) return false;
  *replacement = sec == 999 ? livebuf_i64((int64_t)1 << 40) : livebuf_f64(sec * *factor);
  return true;
}

static bool wrong(void *user, livebuf_value value, livebuf_new *replacement) {
  int *left = user;
  (void)value;
  *replacement = (*left)-- > 0 ? livebuf_i64(0) : livebuf_string("\xFF");
  return true;
}

static void queries(void) {
  livebuf_error error;
  livebuf_doc *doc = parsed(
      "{\"laps\":[{\"by\":\"Ada\",\"sec\":88.5},{\"by\":\"Alan\",\"sec\":-1.0},"
      "{\"by\":\"Grace\",\"sec\":87.25}]}");
  livebuf_query *query = livebuf_query_new("$.laps[?@.sec > 0]['by','sec']", &error);
  CHECK(query);
  char line[64];
  static const char *paths[] = {"$['laps'][0]['by']", "$['laps'][0]['sec']", "$['laps'][2]['by']",
                                "$['laps'][2]['sec']"};
  livebuf_matches *found = livebuf_matches_new(query, livebuf_root(doc));
  CHECK(livebuf_matches_path(found, line, sizeof line) == 0 && !*line);
  size_t count = 0;
  while (livebuf_matches_next(found)) {
    CHECK(found->index == count);
    CHECK(livebuf_matches_path(found, line, sizeof line) == strlen(paths[count]));
    CHECK(!strcmp(line, paths[count]));
    count++;
    if (count == 4) {
      CHECK(livebuf_get_f64(found->value) == 87.25);
      CHECK(livebuf_matches_pointer(found, line, 8) == strlen("/laps/2/sec"));
      CHECK(!strcmp(line, "/laps/2"));
      CHECK(livebuf_matches_pointer(found, NULL, 0) == strlen("/laps/2/sec"));
    }
  }
  CHECK(count == 4 && found->error.status == LIVEBUF_OK && !livebuf_matches_next(found));
  livebuf_matches_free(found);

  /* A query may be freed before its matches; an edit ends them. */
  found = livebuf_matches_new(query, livebuf_root(doc));
  livebuf_query_free(query);
  CHECK(livebuf_matches_next(found));
  STATUS(livebuf_set_i64(doc, LIVEBUF_ROOT, "note", 1), LIVEBUF_OK);
  CHECK(livebuf_matches_path(found, line, sizeof line) == 0);
  CHECK(!livebuf_matches_next(found));
  STATUS(found->error.status, LIVEBUF_STALE_HANDLE);
  livebuf_matches_free(found);

  /* Below a value; the first; the count. */
  query = livebuf_query_new("$[*].sec", &error);
  livebuf_value laps = livebuf_get(livebuf_root(doc), "laps");
  CHECK(livebuf_get_f64(livebuf_query_first(query, laps)) == 88.5);
  STATUS(livebuf_query_count(query, laps, &count), LIVEBUF_OK);
  CHECK(count == 3);
  STATUS(livebuf_query_count(query, livebuf_root(NULL), &count), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_query_count(NULL, laps, &count), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_query_first(query, livebuf_root(doc)).status, LIVEBUF_NOT_FOUND);
  livebuf_query_free(query);

  /* No queries, and those that take too long. */
  CHECK(!livebuf_query_new("$.laps[", &error));
  STATUS(error.status, LIVEBUF_BAD_QUERY);
  CHECK(error.line == 1 && error.column == 8 && error.offset == 7);
  CHECK(says(error, "the text is no JSONPath query, at line 1, column 8 (byte 7)"));
  CHECK(!livebuf_query_new(NULL, &error) && error.status == LIVEBUF_NULL_ARGUMENT);
  CHECK(!livebuf_query_new_n("$.\xFF", 3, 0, &error) && error.status == LIVEBUF_BAD_TEXT);
  query = livebuf_query_new_n("$..*..*", 7, 5, &error);
  found = livebuf_matches_new(query, livebuf_root(doc));
  while (livebuf_matches_next(found)) continue;
  STATUS(found->error.status, LIVEBUF_BUDGET_EXCEEDED);
  livebuf_matches_free(found);
  STATUS(livebuf_set_all(doc, query, livebuf_null(), &count), LIVEBUF_BUDGET_EXCEEDED);
  livebuf_query_free(query);
  found = livebuf_matches_new(NULL, livebuf_root(doc));
  CHECK(found && !livebuf_matches_next(found));
  STATUS(found->error.status, LIVEBUF_NULL_ARGUMENT);
  livebuf_matches_free(found);
  livebuf_matches_free(NULL);
  livebuf_query_free(NULL);
  CHECK(!livebuf_matches_next(NULL));

  /* Edits of all matches. */
  double factor = 2;
  query = livebuf_query_new("$.laps[*].sec", NULL);
  STATUS(livebuf_update_all(doc, query, faster, &factor, &count), LIVEBUF_OK);
  CHECK(count == 2);
  CHECK(is_json(doc, "{\"laps\":[{\"by\":\"Ada\",\"sec\":177.0},{\"by\":\"Alan\",\"sec\":-1.0},"
                     "{\"by\":\"Grace\",\"sec\":174.5}],\"note\":1}"));
  livebuf_doc *before = copied(doc);
  int left = 1;
  STATUS(livebuf_update_all(doc, query, wrong, &left, &count), LIVEBUF_BAD_TEXT);
  CHECK(count == 0 && same(doc, before) && livebuf_transactions(doc) == 0);
  STATUS(livebuf_update_all(doc, query, NULL, NULL, &count), LIVEBUF_NULL_ARGUMENT);
  livebuf_query_free(query);
  query = livebuf_query_new("$.laps[?@.sec < 0].sec", NULL);
  STATUS(livebuf_set_all(doc, query, livebuf_null(), &count), LIVEBUF_OK);
  CHECK(count == 1);
  STATUS(livebuf_set_all(doc, query, livebuf_null(), NULL), LIVEBUF_OK);
  livebuf_query_free(query);
  /* A text of the document itself, in all places. */
  query = livebuf_query_new("$.laps[*].by", NULL);
  livebuf_str own = livebuf_get_str(livebuf_query_first(query, livebuf_root(doc)));
  STATUS(livebuf_set_all(doc, query, livebuf_string_n(own.data, own.length), &count), LIVEBUF_OK);
  CHECK(count == 3);
  livebuf_query_free(query);
  query = livebuf_query_new("$.laps[?@.sec == null]", NULL);
  STATUS(livebuf_remove_all(doc, query, &count), LIVEBUF_OK);
  CHECK(count == 1);
  CHECK(is_json(doc, "{\"laps\":[{\"by\":\"Ada\",\"sec\":177.0},{\"by\":\"Ada\",\"sec\":174.5}],"
                     "\"note\":1}"));
  livebuf_query_free(query);
  query = livebuf_query_new("$", NULL);
  STATUS(livebuf_remove_all(doc, query, &count), LIVEBUF_UNSUPPORTED);
  STATUS(livebuf_remove_all(NULL, query, &count), LIVEBUF_NULL_ARGUMENT);
  STATUS(livebuf_remove_all(doc, NULL, NULL), LIVEBUF_NULL_ARGUMENT);
  livebuf_query_free(query);
  STATUS(livebuf_validate(doc), LIVEBUF_OK);
  livebuf_destroy(before);
  livebuf_destroy(doc);
}

int main(void) {
  deltas();
  histories();
  patches();
  queries();
  return done("changes");
}
