/* 7. Transactions and changed ranges of a document that manages its memory: a batch that is
   taken back, a savepoint, and a second copy that follows. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  livebuf_doc *doc = livebuf_from_json("{\"lap\":55,\"laps\":[88.4,87.9]}", 29, NULL, NULL, NULL);
  if (!doc) return 1;
  uint8_t copy[1024];
  memcpy(copy, doc->bytes, doc->length);

  livebuf_changed ranges[8];
  livebuf_recorder recorder;
  livebuf_record(doc, &recorder, ranges, 8);

  livebuf_begin(doc);
  livebuf_set_pointer(doc, "/lap", livebuf_i64(56));
  livebuf_begin(doc); /* a savepoint */
  livebuf_remove_pointer(doc, "/laps");
  livebuf_rollback(doc); /* the laps are back */
  livebuf_set_pointer(doc, "/laps/-", livebuf_f64(86.5));
  if (livebuf_commit(doc)) return 1;

  livebuf_begin(doc);
  livebuf_clear(doc, LIVEBUF_ROOT);
  livebuf_rollback(doc);
  livebuf_record_end(doc, &recorder);
  livebuf_print_json(livebuf_root(doc));

  /* The copy gets the changed ranges, and reads as the document does. */
  for (size_t i = 0; i < recorder.count; i++) {
    memcpy(copy + ranges[i].offset, doc->bytes + ranges[i].offset, ranges[i].length);
  }
  livebuf_doc follower;
  if (livebuf_read(&follower, copy, recorder.length)) return 1;
  livebuf_print_json(livebuf_root(&follower));
  livebuf_destroy(doc);
  return 0;
}
