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

/* The document of a file, validated. */
static livebuf_doc *document(const char *path, livebuf_error *error) {
  size_t length;
  char *bytes = whole_file(path, &length);
  livebuf_doc *doc = livebuf_from_bytes((const uint8_t *)bytes, length, NULL, error);
  free(bytes);
  if (doc && livebuf_validate(doc) && doc->error.status != LIVEBUF_READ_ONLY) {
    *error = doc->error;
    livebuf_destroy(doc);
    return NULL;
  }
  return doc;
}

/* The text of a request's word, ended by a 0; "" where there is none. */
static void word(livebuf_value request, size_t index, char *text, size_t size) {
  livebuf_str found = livebuf_get_str_or(livebuf_at(request, index), "");
  snprintf(text, size, "%.*s", (int)found.length, found.data);
}

static void no(livebuf_error error) { printf("no %s\n", livebuf_strerror(error.status)); }

static void answer(livebuf_value request) {
  static char what[16], source[4096], third[4096], fourth[1 << 16], out[4096];
  word(request, 0, what, sizeof what);
  word(request, 1, source, sizeof source);
  word(request, 2, third, sizeof third);
  word(request, 3, fourth, sizeof fourth);
  word(request, 4, out, sizeof out);
  livebuf_error error = {0};
  if (!strcmp(what, "encode")) {
    size_t length;
    char *text = whole_file(source, &length);
    livebuf_json_options options = {0};
    if (!strcmp(fourth, "recognize")) options.flags = LIVEBUF_JSON_RECOGNIZE;
    livebuf_doc *made = livebuf_from_json(text, length, &options, NULL, &error);
    if (made && livebuf_save_file(made, third)) error = made->error;
    if (!made || error.status) no(error);
    else puts("ok");
    livebuf_destroy(made);
    free(text);
    return;
  }
  livebuf_doc *doc = document(source, &error);
  if (!doc) {
    no(error);
  } else if (!strcmp(what, "read")) {
    size_t length;
    char *text = livebuf_to_json_new(livebuf_root(doc), NULL, NULL, &length, &error);
    if (text) printf("ok %s\n", text);
    else no(error);
    if (text) livebuf_free(NULL, text, length + 1);
  } else if (!strcmp(what, "set")) {
    livebuf_doc *value = livebuf_from_json(fourth, strlen(fourth), NULL, NULL, &error);
    livebuf_value root = livebuf_root(value);
    if (livebuf_set_pointer(doc, third, livebuf_copy(&root)) || livebuf_save_file(doc, out)) {
      no(doc->error);
    } else {
      puts("ok");
    }
    livebuf_destroy(value);
  } else {
    puts(strcmp(what, "validate") ? "skip" : "ok");
  }
  livebuf_destroy(doc);
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
