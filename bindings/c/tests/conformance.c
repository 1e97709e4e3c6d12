/* Answers the requests of testdata/conformance.py (testdata/README.md, "The protocol"). */
#include <livebuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All bytes of a file, to be freed. */
static char *whole_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) exit(2);
  long size = ftell(file);
  char *bytes = malloc(size > 0 ? (size_t)size : 1);
  rewind(file);
  *length = bytes ? fread(bytes, 1, (size_t)size, file) : 0;
  fclose(file);
  return bytes;
}

/* The text of a request's word, ended by a 0; "" where there is none. */
static void word(livebuf_value request, size_t index, char *text, size_t size) {
  livebuf_str found = livebuf_get_str_or(livebuf_at(request, index), "");
  snprintf(text, size, "%.*s", (int)found.length, found.data);
}

/* The statuses have no names that the vectors have, so it says none. */
static void no(void) { puts("no"); }

static void answer(livebuf_value request) {
  static char what[16], source[4096], third[4096], fourth[1 << 16], out[4096];
  word(request, 0, what, sizeof what);
  word(request, 1, source, sizeof source);
  word(request, 2, third, sizeof third);
  word(request, 3, fourth, sizeof fourth);
  word(request, 4, out, sizeof out);
  size_t length;
  char *bytes = whole_file(source, &length);
  livebuf_doc *made = NULL, read;
  livebuf_status status = LIVEBUF_OK;
  if (!strcmp(what, "encode")) {
    livebuf_json_options options = {0};
    if (!strcmp(fourth, "recognize")) options.flags = LIVEBUF_JSON_RECOGNIZE;
    made = livebuf_from_json(bytes, length, &options, NULL, NULL);
    if (made && !livebuf_save_file(made, third)) puts("ok");
    else no();
  } else if (!strcmp(what, "set")) {
    made = livebuf_from_bytes((const uint8_t *)bytes, length, NULL, NULL);
    livebuf_doc *other = livebuf_from_json(fourth, strlen(fourth), NULL, NULL, NULL);
    livebuf_value value = livebuf_root(other);
    status = made ? livebuf_validate(made) : LIVEBUF_TRUNCATED;
    if (!status) status = livebuf_set_pointer(made, third, livebuf_copy(&value));
    if (!status && !livebuf_save_file(made, out)) puts("ok");
    else no();
    livebuf_destroy(other);
  } else {
    char *text = NULL;
    size_t size;
    status = livebuf_read(&read, (const uint8_t *)bytes, length);
    if (!status) status = livebuf_validate(&read);
    if (!status && !strcmp(what, "read")) {
      text = livebuf_to_json_new(livebuf_root(&read), NULL, NULL, &size, NULL);
    }
    if (text) printf("ok %s\n", text);
    else if (status || !strcmp(what, "read")) no();
    else puts(strcmp(what, "validate") ? "skip" : "ok");
    if (text) livebuf_free(NULL, text, size + 1);
  }
  livebuf_destroy(made);
  free(bytes);
}

int main(void) {
  static char line[1 << 17];
  while (fgets(line, sizeof line, stdin)) {
    livebuf_doc *request = livebuf_from_json(line, strlen(line), NULL, NULL, NULL);
    if (!request) return 1;
    answer(livebuf_root(request));
    fflush(stdout);
    livebuf_destroy(request);
  }
  return 0;
}
