/* 2. Reading: calls chain, what is not there is no accident, text is not copied. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  uint8_t buffer[512];
  livebuf_doc doc;
  if (livebuf_init(&doc, buffer, sizeof buffer)) return 1;
  livebuf_field fields[] = {
      livebuf_member("driver", livebuf_string("Ada Lovelace")),
      livebuf_member("laps", livebuf_i64(55)),
      livebuf_member("id", livebuf_u64(18446744073709551615u)),
      livebuf_member("average", livebuf_f64(88.25)),
      livebuf_member("finished", livebuf_bool(true)),
      livebuf_member("penalty", livebuf_null()),
      livebuf_member("photo", livebuf_bytes_n("\x89PNG", 4)),
      livebuf_member("start", livebuf_extended("2026-11-23T08:30:00Z")),
      livebuf_member("prize", livebuf_decimal_i64(199900, 2)),
  };
  livebuf_set_root(&doc, livebuf_fields(fields, 9), NULL);

  /* Read only, from memory that may be constant. */
  livebuf_doc view;
  livebuf_read(&view, doc.bytes, doc.length);
  livebuf_value root = livebuf_root(&view);

  livebuf_str driver = livebuf_get_str(livebuf_get(root, "driver"));
  printf("driver %.*s\n", (int)driver.length, driver.data);
  printf("laps %lld\n", (long long)livebuf_get_i64(livebuf_get(root, "laps")));
  printf("id %llu\n", (unsigned long long)livebuf_get_u64(livebuf_get(root, "id")));
  printf("average %.2f\n", livebuf_get_f64(livebuf_get(root, "average")));
  printf("finished %d\n", livebuf_get_bool(livebuf_get(root, "finished")));
  printf("penalty is null: %d\n", livebuf_is_null(livebuf_get(root, "penalty")));
  printf("photo of %u bytes\n", (unsigned)livebuf_get_bytes(livebuf_get(root, "photo")).length);

  /* Dates, times, decimals and UUIDs: by their numbers, or as text. */
  char text[48];
  livebuf_value start = livebuf_get(root, "start");
  livebuf_extended_text(start, text, sizeof text);
  printf("start %s: %lld us\n", text, (long long)livebuf_get_timestamp_or(start, 0));
  livebuf_extended_text(livebuf_get(root, "prize"), text, sizeof text);
  printf("prize %s\n", text);

  /* What is not there, or of another type, reads as the value you choose. */
  livebuf_value team = livebuf_pointer(root, "/team/name/first");
  printf("team exists: %d, %s\n", livebuf_exists(team),
         livebuf_strerror(livebuf_value_error(team).status));
  printf("laps as text: %s\n", livebuf_get_str_or(livebuf_get(root, "laps"), "none").data);
  printf("rank %lld\n", (long long)livebuf_get_i64_or(livebuf_get(root, "rank"), -1));

  /* Where it must be known why, a status says so, and the variable stays as it is. */
  int64_t rank = -1;
  int status = livebuf_read_i64(livebuf_get(root, "rank"), &rank);
  printf("rank: %s\n", livebuf_strerror(status));
  status = livebuf_read_i64(livebuf_get(root, "driver"), &rank);
  printf("driver: %s\n", livebuf_strerror(status));

  /* A remembered key finds its place again with one comparison. */
  livebuf_key laps;
  livebuf_key_init(&laps, "laps");
  printf("laps %lld\n", (long long)livebuf_get_i64(livebuf_get_key(root, &laps)));

  /* Text is a view of the document, and an edit makes it stale: ask before using it. */
  livebuf_str before = livebuf_get_str(livebuf_get(livebuf_root(&doc), "driver"));
  printf("current: %d\n", livebuf_str_is_current(&doc, before));
  livebuf_set_str(&doc, LIVEBUF_ROOT, "driver", "Augusta Ada King");
  printf("current: %d\n", livebuf_str_is_current(&doc, before));
  return 0;
}
