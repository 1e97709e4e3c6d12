/* 5. JSON in and out, and what JSON becomes: rows that are columns. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  static uint8_t buffer[65536];
  livebuf_doc doc;
  const char *json =
      "{\"race\":\"Brno\",\"laps\":[{\"lap\":1,\"sec\":88.25},{\"lap\":2,\"sec\":87.5},"
      "{\"lap\":3,\"sec\":86.75},{\"lap\":4,\"sec\":88.0},{\"lap\":5,\"sec\":87.0}],"
      "\"exact\":{\"most\":18446744073709551615,\"pi\":3.141592653589793238}}";
  if (livebuf_from_json_into(&doc, buffer, sizeof buffer, json, strlen(json), NULL)) return 1;

  livebuf_value root = livebuf_root(&doc);
  livebuf_value laps = livebuf_get(root, "laps");

  /* The array of similar objects became columns by itself. */
  livebuf_column seconds;
  livebuf_column_find_path(laps, "/sec", &seconds);
  double values[8], sum = 0;
  size_t count = livebuf_column_f64s(&seconds, 0, values, 8, 0);
  for (size_t i = 0; i < count; i++) sum += values[i];
  printf("%zu columns, sum %.2f\n", livebuf_column_count(laps), sum);

  /* It still reads and edits as an array of objects. */
  livebuf_set_pointer(&doc, "/laps/0/sec", livebuf_f64(87.75));
  char text[512];
  size_t length;
  livebuf_status status = livebuf_to_json(livebuf_root(&doc), NULL, text, sizeof text, &length);
  printf("%zu bytes: %s\n", length, status ? livebuf_strerror(status) : text);

  /* Exact: integers to 64 bits, key order, digits that no double holds. */
  livebuf_json_options options = {.indent = 2};
  livebuf_to_json(livebuf_get(livebuf_root(&doc), "exact"), &options, text, sizeof text, NULL);
  printf("%s\n", text);
  printf("12 bytes: %s\n",
         livebuf_strerror(livebuf_to_json(livebuf_root(&doc), NULL, text, 12, &length)));

  /* Errors name the place. */
  livebuf_error error;
  const char *wrong = "{\"lap\": 1,\n \"sec\": 088}";
  livebuf_from_json(wrong, strlen(wrong), NULL, NULL, &error);
  printf("%s: line %u, column %u\n", livebuf_strerror(error.status), (unsigned)error.line,
         (unsigned)error.column);
  return 0;
}
