/* 8. Changes as values: a copy that follows by deltas, undo, a patch and its way back, queries. */
#include <livebuf.h>
#include <stdio.h>
#include <stdlib.h>

static livebuf_doc *parse(const char *text) {
  livebuf_error error;
  livebuf_doc *doc = livebuf_from_json(text, strlen(text), NULL, NULL, &error);
  if (!doc) {
    livebuf_perror("JSON", error);
    exit(1);
  }
  return doc;
}

/* Replication: the copy applies what the document sends. */
static void follow(livebuf_doc *doc) {
  livebuf_set_state(doc, NULL);
  livebuf_doc *copy = livebuf_from_bytes(doc->bytes, doc->length, NULL, NULL);

  livebuf_delta_recorder *recorder = livebuf_delta_begin(doc, 0);
  livebuf_set_i64(doc, LIVEBUF_ROOT, "lap", 3);
  size_t length;
  uint8_t *delta = livebuf_delta_end(doc, recorder, NULL, &length);
  printf("a delta of %d bytes\n", (int)length);
  if (livebuf_delta_apply(copy, delta, length, 0)) livebuf_perror("apply", copy->error);
  printf("the copy is %s\n", memcmp(copy->bytes, doc->bytes, doc->length) ? "another" : "the same");
  /* It fits only once. */
  if (livebuf_delta_apply(copy, delta, length, 0) == LIVEBUF_WRONG_STATE) puts("refused");
  livebuf_free(NULL, delta, length);
  livebuf_destroy(copy);
}

static void undo(livebuf_doc *doc) {
  livebuf_history *history = livebuf_history_begin(doc, 1 << 20);
  livebuf_remove(doc, LIVEBUF_ROOT, "laps");
  livebuf_history_step(doc, history);
  livebuf_print_json(livebuf_root(doc));
  livebuf_undo(doc, history);
  livebuf_print_json(livebuf_root(doc));
  livebuf_history_end(doc, history);
}

static void patch(livebuf_doc *doc) {
  livebuf_doc *before = livebuf_from_bytes(doc->bytes, doc->length, NULL, NULL);
  livebuf_merge_json(doc, "{\"lap\": null, \"note\": \"pit\"}");
  livebuf_doc *back = livebuf_diff(livebuf_root(doc), livebuf_root(before), 0, NULL, NULL);
  livebuf_print_json(livebuf_root(back));
  if (livebuf_patch(doc, livebuf_root(back))) livebuf_perror("patch", doc->error);
  /* What is impossible changes nothing. */
  if (livebuf_patch_json(doc, "[{\"op\": \"remove\", \"path\": \"/note\"}]")) {
    char line[160];
    livebuf_error_text(doc->error, line, sizeof line);
    puts(line);
  }
  livebuf_destroy(back);
  livebuf_destroy(before);
}

static bool faster(void *user, livebuf_value value, livebuf_new *replacement) {
  *replacement = livebuf_f64(livebuf_get_f64(value) - *(double *)user);
  return true;
}

static void ask(livebuf_doc *doc) {
  livebuf_query *query = livebuf_query_new("$.laps[?@.sec < 88].sec", NULL);
  livebuf_matches *found = livebuf_matches_new(query, livebuf_root(doc));
  while (livebuf_matches_next(found)) {
    char place[64];
    livebuf_matches_path(found, place, sizeof place);
    printf("%s: %.2f\n", place, livebuf_get_f64(found->value));
  }
  livebuf_matches_free(found);
  double seconds = 0.25;
  size_t count;
  livebuf_update_all(doc, query, faster, &seconds, &count);
  printf("%d changed\n", (int)count);
  livebuf_query_free(query);
  livebuf_print_json(livebuf_root(doc));
}

int main(void) {
  livebuf_doc *doc = parse("{\"lap\": 2, \"laps\": [{\"by\": \"Ada\", \"sec\": 88.5},"
                           "{\"by\": \"Alan\", \"sec\": 87.5}]}");
  follow(doc);
  undo(doc);
  patch(doc);
  ask(doc);
  livebuf_destroy(doc);
  return 0;
}
