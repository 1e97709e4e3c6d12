/* A message of two members, as small as a program with LiveBuf gets: see tests/size.sh. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  uint8_t buffer[256];
  livebuf_doc doc;
  livebuf_init_object(&doc, buffer, sizeof buffer, 2);
  livebuf_set_str(&doc, LIVEBUF_ROOT, "event", "lap_complete");
  livebuf_set_i64(&doc, LIVEBUF_ROOT, "lap", 55);
  fwrite(doc.bytes, 1, doc.length, stdout);
  return doc.error.status;
}
