/* The three-field message from a template. */
#include "rows.h"

static livebuf_template message;
static uint8_t memory[1024];

int c_stamp_prepare(void) {
  static const char *const PLACES[] = {"/event", "/lap", "/time_sec"};
  livebuf_field fields[3] = {
      livebuf_member("event", livebuf_string("")),
      livebuf_member("lap", livebuf_i64(0)),
      livebuf_member("time_sec", livebuf_f64(0)),
  };
  return livebuf_template_init(&message, livebuf_fields(fields, 3), PLACES, 3, memory,
                               sizeof memory);
}

int c_stamp(uint8_t *buffer, size_t capacity, size_t *length) {
  livebuf_new values[3] = {livebuf_string("lap_complete"), livebuf_i64(55), livebuf_f64(88.427)};
  return livebuf_stamp(&message, values, 3, buffer, capacity, length);
}

int c_stamp_doc(uint8_t *buffer, size_t capacity, size_t *length) {
  livebuf_doc doc;
  livebuf_new values[3] = {livebuf_string("lap_complete"), livebuf_i64(55), livebuf_f64(88.427)};
  int failed = livebuf_stamp_doc(&message, values, 3, &doc, buffer, capacity);
  *length = doc.length;
  return failed;
}
