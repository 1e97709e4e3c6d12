/* 7. Prepared messages: of one kind, again and again, with other values in some places. */
#include <livebuf.h>
#include <inttypes.h>
#include <stdio.h>

int main(void) {
  /* Once: an example of the message, and what differs from message to message. */
  static const char *const places[] = {"/event", "/lap", "/time_sec"};
  uint8_t memory[1024];
  livebuf_template lap;
  livebuf_field fields[4] = {
      livebuf_member("event", livebuf_null()),
      livebuf_member("lap", livebuf_null()),
      livebuf_member("time_sec", livebuf_null()),
      livebuf_member("version", livebuf_i64(1)), /* the same in all */
  };
  if (livebuf_template_init(&lap, livebuf_fields(fields, 4), places, 3, memory, sizeof memory)) {
    char line[160];
    livebuf_error_text(lap.error, line, sizeof line);
    fprintf(stderr, "place %d: %s\n", (int)lap.error.detail, line);
    return 1;
  }

  /* For every message: a value for each place, in their order. */
  uint8_t buffer[256];
  size_t length;
  for (int64_t number = 55; number <= 56; number++) {
    livebuf_new values[3] = {livebuf_string(number == 55 ? "lap_complete" : "pit"),
                             livebuf_i64(number), livebuf_f64(88.427)};
    livebuf_status status = livebuf_stamp(&lap, values, 3, buffer, sizeof buffer, &length);
    if (status) return 1;
    /* It is ready to be sent: buffer, length. */
    livebuf_doc message;
    livebuf_read(&message, buffer, length);
    livebuf_value root = livebuf_root(&message);
    livebuf_str event = livebuf_get_str(livebuf_get(root, "event"));
    printf("%.*s of lap %" PRId64 ", version %" PRId64 ", %zu bytes\n", (int)event.length,
           event.data, livebuf_get_i64(livebuf_get(root, "lap")),
           livebuf_get_i64(livebuf_get(root, "version")), length);
  }

  /* Or opened at once, to add what only some have. A place takes any value but objects and
     arrays. */
  livebuf_doc doc;
  livebuf_new values[3] = {livebuf_string("crash"), livebuf_i64(57), livebuf_null()};
  if (livebuf_stamp_doc(&lap, values, 3, &doc, buffer, sizeof buffer)) return 1;
  livebuf_set_str(&doc, LIVEBUF_ROOT, "reason", "gearbox");
  printf("%zu members\n", livebuf_count(livebuf_root(&doc)));

  /* What does not fit says how long it would be. */
  if (livebuf_stamp(&lap, values, 3, buffer, 64, &length) == LIVEBUF_NO_SPACE) {
    printf("it takes %zu bytes\n", length);
  }
  return 0;
}
