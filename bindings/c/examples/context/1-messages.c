/* 1. Messages: a document that manages its memory, and what comes of it when it is sent. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  livebuf_error error;

  /* The root of a new document is null: make it an object with room for three members. */
  livebuf_doc *doc = livebuf_create(NULL, &error);
  if (!doc) return 1;
  livebuf_set_root(doc, livebuf_object(3), NULL);
  livebuf_set_str(doc, LIVEBUF_ROOT, "event", "lap_complete");
  livebuf_set_i64(doc, LIVEBUF_ROOT, "lap", 55);
  livebuf_set_f64(doc, LIVEBUF_ROOT, "time_sec", 88.427);
  printf("a message of %zu bytes\n", doc->length);

  /* It is ready to be sent: doc->bytes, doc->length. The receiver opens a copy. */
  livebuf_doc *message = livebuf_from_bytes(doc->bytes, doc->length, NULL, &error);
  printf("open: %s\n", livebuf_strerror(error.status));
  printf("lap %lld\n", (long long)livebuf_get_i64(livebuf_get(livebuf_root(message), "lap")));

  /* Setting what is there changes eight bytes. */
  livebuf_set_i64(message, LIVEBUF_ROOT, "lap", 56);
  printf("lap %lld, still %zu bytes\n",
         (long long)livebuf_get_i64(livebuf_get(livebuf_root(message), "lap")), message->length);
  livebuf_destroy(message);

  /* It grows by need; a limit of yours says what is missing when it is met. */
  livebuf_limits limits = {.document = 64};
  livebuf_doc *small = livebuf_create(NULL, &error);
  livebuf_set_limits(small, &limits);
  livebuf_status status = livebuf_set_root(small, livebuf_object(100), NULL);
  printf("%s\n", livebuf_strerror(status));
  livebuf_destroy(small);
  livebuf_destroy(doc);
  return 0;
}
