/* Threads: any number read one document, by keys that they share, also over columns; each
   edits a document of its own at the same time. */
#include <livebuf.h>
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, OBJECTS = 400, LAPS = 200 };

static livebuf_doc *shared;
static livebuf_key id, name, missing;

/* Reads all of the shared document, and counts the answers that are wrong. */
static long read_all(void) {
  long wrong = 0;
  livebuf_value list = livebuf_get(livebuf_root(shared), "list");
  wrong += livebuf_count(list) != OBJECTS;
  for (size_t at = 0; at < OBJECTS; at++) {
    char text[32];
    snprintf(text, sizeof text, "a name, %zu", at);
    livebuf_value object = livebuf_at(list, at);
    wrong += livebuf_get_key_i64_or(object, &id, -1) != (int64_t)at;
    wrong += !livebuf_str_equals(livebuf_get_str(livebuf_get_key(object, &name)), text);
    wrong += livebuf_exists(livebuf_get_key(object, &missing));
  }
  livebuf_iter iter;
  size_t met = 0;
  livebuf_iterate(list, 0, &iter);
  while (livebuf_next(&iter)) met += livebuf_get_i64(livebuf_get(iter.value, "id")) == (int64_t)met;
  return wrong + (met != OBJECTS);
}

static void *work(void *result) {
  long *wrong = result;
  livebuf_doc *own = livebuf_create(NULL, NULL);
  *wrong += livebuf_set_root(own, livebuf_object(1), NULL) != LIVEBUF_OK;
  for (int lap = 0; lap < LAPS; lap++) {
    *wrong += read_all();
    *wrong += livebuf_set_i64(own, LIVEBUF_ROOT, "lap", lap) != LIVEBUF_OK;
    *wrong += livebuf_get_key_i64_or(livebuf_root(own), &missing, -1) != -1;
    *wrong += livebuf_get_i64(livebuf_get(livebuf_root(own), "lap")) != lap;
  }
  livebuf_destroy(own);
  return NULL;
}

/* Objects of one kind, or of two in turns. */
static void together(bool alike) {
  static char text[OBJECTS * 64];
  size_t length = (size_t)sprintf(text, "{\"list\":[");
  for (int at = 0; at < OBJECTS; at++) {
    const char *comma = at ? "," : "", *more = alike || at % 2 ? "" : ",\"more\":[]";
    length += (size_t)sprintf(text + length, "%s{\"name\":\"a name, %d\",\"id\":%d%s}", comma,
                              at, at, more);
  }
  length += (size_t)sprintf(text + length, "]}");
  shared = livebuf_from_json(text, length, NULL, NULL, NULL);
  CHECK(shared);
  pthread_t threads[THREADS];
  long wrong[THREADS] = {0};
  for (int at = 0; at < THREADS; at++) {
    CHECK(pthread_create(&threads[at], NULL, work, &wrong[at]) == 0);
  }
  for (int at = 0; at < THREADS; at++) {
    CHECK(pthread_join(threads[at], NULL) == 0);
    CHECK(wrong[at] == 0);
  }
  livebuf_destroy(shared);
}

int main(void) {
  livebuf_key_init(&id, "id");
  livebuf_key_init(&name, "name");
  livebuf_key_init(&missing, "missing");
  together(true);
  together(false);
  return done("threads");
}
