/* What reads that message. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  static uint8_t buffer[4096];
  livebuf_doc doc;
  if (livebuf_read(&doc, buffer, fread(buffer, 1, sizeof buffer, stdin))) return 1;
  livebuf_value root = livebuf_root(&doc);
  livebuf_str event = livebuf_get_str(livebuf_get(root, "event"));
  printf(LIVEBUF_FMT " %lld\n", LIVEBUF_ARG(event),
         (long long)livebuf_get_i64(livebuf_get(root, "lap")));
  return 0;
}
