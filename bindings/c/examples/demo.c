/* A message in 256 bytes of stack: built, sent, edited, shortened and grown, without malloc. */
#include <livebuf.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
  enum { TIMES = 200000 };
  char buf[256], wire[256], json[256];
  livebuf_doc doc, got;
  livebuf_node times;
  int failed = 0;
  double start = now();
  for (int i = 0; i < TIMES; i++) { /* build */
    livebuf_field fields[] = {livebuf_member("event", livebuf_string("lap_complete")),
                              livebuf_member("lap", livebuf_i64(i)),
                              livebuf_member("times", livebuf_array(0))};
    failed |= livebuf_init(&doc, (uint8_t *)buf, sizeof buf);
    failed |= livebuf_set_root(&doc, livebuf_fields(fields, 3), NULL);
  }
  printf("build  %3zu bytes %6.1f ns\n", doc.length, (now() - start) / TIMES);
  memcpy(wire, doc.bytes, doc.length); /* "send" */
  failed |= livebuf_open(&got, (uint8_t *)wire, doc.length, sizeof wire);
  start = now();
  for (int i = 0; i < TIMES; i++) failed |= livebuf_set_i64(&got, LIVEBUF_ROOT, "lap", i);
  printf("edit   %3zu bytes %6.1f ns\n", got.length, (now() - start) / TIMES);
  failed |= livebuf_remove(&got, LIVEBUF_ROOT, "event"); /* delete */
  times = livebuf_find(&got, "/times");
  while (!livebuf_push_f64(&got, times, 88.427)) continue; /* grow in place, until it is full */
  printf("grown  %3zu bytes, then %s\n", got.length, livebuf_strerror(got.error.status));
  failed |= livebuf_to_json(livebuf_root(&got), NULL, json, sizeof json, NULL);
  printf("%s\n", json);
  return failed;
}
