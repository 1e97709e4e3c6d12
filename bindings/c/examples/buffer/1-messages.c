/* 1. Messages: a document in memory of your own, and what comes of it when it is sent. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  uint8_t buffer[256];
  livebuf_doc doc;

  /* The root of a new document is null: make it an object with room for three members. */
  if (livebuf_init(&doc, buffer, sizeof buffer)) return 1;
  livebuf_set_root(&doc, livebuf_object(3), NULL);
  livebuf_set_str(&doc, LIVEBUF_ROOT, "event", "lap_complete");
  livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 55);
  livebuf_set_f64(&doc, LIVEBUF_ROOT, "time_sec", 88.427);
  printf("a message of %zu bytes\n", doc.length);

  /* It is ready to be sent: doc.bytes, doc.length. The receiver opens it in constant time. */
  uint8_t received[256];
  memcpy(received, doc.bytes, doc.length);
  livebuf_doc message;
  livebuf_status status = livebuf_open(&message, received, doc.length, sizeof received);
  printf("open: %s\n", livebuf_strerror(status));
  printf("lap %lld\n", (long long)livebuf_get_i64(livebuf_get(livebuf_root(&message), "lap")));

  /* Setting what is there changes eight bytes. */
  livebuf_set_i64(&message, LIVEBUF_ROOT, "lap", 56);
  printf("lap %lld, still %zu bytes\n",
         (long long)livebuf_get_i64(livebuf_get(livebuf_root(&message), "lap")), message.length);

  /* A buffer that is full says what is missing, and the document stays as it was. */
  uint8_t small[64];
  livebuf_init(&doc, small, sizeof small);
  status = livebuf_set_root(&doc, livebuf_object(100), NULL);
  printf("%s: %llu bytes are missing\n", livebuf_strerror(status),
         (unsigned long long)doc.error.detail);
  return 0;
}
