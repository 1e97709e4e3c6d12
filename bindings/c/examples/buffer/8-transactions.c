/* 8. Transactions and changed ranges: several edits whole or not at all, in memory of your own,
   and only the bytes that changed written to a file. */
#include <livebuf.h>
#include <stdio.h>

/* Both edits or none: the first that fails ends it. */
static livebuf_status transfer(livebuf_doc *doc, const char *to, int64_t amount) {
  livebuf_status status = livebuf_begin(doc);
  if (status) return status;
  int64_t from = livebuf_get_i64(livebuf_pointer(livebuf_root(doc), "/alice"));
  status = livebuf_set_i64(doc, LIVEBUF_ROOT, "alice", from - amount);
  if (!status) status = livebuf_set_pointer(doc, to, livebuf_i64(amount));
  if (!status) status = livebuf_commit(doc);
  if (status) livebuf_rollback(doc);
  return status;
}

static void print(const livebuf_doc *doc) {
  livebuf_value root = livebuf_root(doc);
  printf("alice %lld, bob %lld\n", (long long)livebuf_get_i64(livebuf_get(root, "alice")),
         (long long)livebuf_get_i64(livebuf_get(root, "bob")));
}

int main(void) {
  uint8_t buffer[512], copy[512];
  livebuf_doc doc;
  if (livebuf_init_object(&doc, buffer, sizeof buffer, 2)) return 1;
  livebuf_set_i64(&doc, LIVEBUF_ROOT, "alice", 10);
  livebuf_set_i64(&doc, LIVEBUF_ROOT, "bob", 0);

  /* A file with the document as it is. */
  FILE *file = tmpfile();
  if (!file || fwrite(doc.bytes, 1, doc.length, file) != doc.length) return 1;

  livebuf_changed ranges[4];
  livebuf_recorder recorder;
  livebuf_record(&doc, &recorder, ranges, 4);
  printf("%s\n", livebuf_strerror(transfer(&doc, "/alice/account", 3)));
  print(&doc);
  printf("%s\n", livebuf_strerror(transfer(&doc, "/bob", 3)));
  print(&doc);
  livebuf_record_end(&doc, &recorder);

  /* Only what changed is written. */
  size_t written = 0;
  for (size_t i = 0; i < recorder.count; i++) {
    if (fseek(file, (long)ranges[i].offset, SEEK_SET)) return 1;
    written += fwrite(doc.bytes + ranges[i].offset, 1, ranges[i].length, file);
  }
  printf("%zu of %zu bytes written\n", written, recorder.length);

  rewind(file);
  size_t length = fread(copy, 1, sizeof copy, file);
  fclose(file);
  printf("the file %s the document\n",
         length == doc.length && !memcmp(copy, doc.bytes, length) ? "equals" : "is not");
  return 0;
}
