/* The test vectors through C: y_*.lbuf hold the value of y_*.json, n_<error>_*.lbuf fail so. */
#include <livebuf.h>

#include "check.h"

/* "LIVEBUF_BAD_CELL" for "BadCell": the status that the header gives that name. */
static int named(const char *name, size_t length) {
  static const struct {
    const char *name;
    int status;
  } NAMES[] = {{"NotADocument", LIVEBUF_NOT_A_DOCUMENT},
               {"UnsupportedVersion", LIVEBUF_UNSUPPORTED_VERSION},
               {"UnsupportedFeature", LIVEBUF_UNSUPPORTED_FEATURE},
               {"Truncated", LIVEBUF_TRUNCATED},
               {"OutOfBounds", LIVEBUF_OUT_OF_BOUNDS},
               {"Misaligned", LIVEBUF_MISALIGNED},
               {"WrongBlock", LIVEBUF_WRONG_BLOCK},
               {"BadCode", LIVEBUF_BAD_CODE},
               {"BadCount", LIVEBUF_BAD_COUNT},
               {"BadText", LIVEBUF_BAD_TEXT},
               {"BadCell", LIVEBUF_BAD_CELL},
               {"Overlap", LIVEBUF_OVERLAP},
               {"BadIndex", LIVEBUF_BAD_INDEX},
               {"DuplicateKey", LIVEBUF_DUPLICATE_KEY},
               {"BadFreeList", LIVEBUF_BAD_FREE_LIST},
               {"NotZero", LIVEBUF_NOT_ZERO},
               {"NestingLimit", LIVEBUF_NESTING_LIMIT},
               {"BadNumber", LIVEBUF_BAD_NUMBER}};
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    if (strlen(NAMES[i].name) == length && !memcmp(NAMES[i].name, name, length)) {
      return NAMES[i].status;
    }
  }
  return -1;
}

static char *whole_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(1 << 20);
  *length = file && text ? fread(text, 1, 1 << 20, file) : 0;
  if (file) fclose(file);
  return text;
}

static char *printed(livebuf_doc *doc) {
  size_t length;
  return livebuf_to_json_new(livebuf_root(doc), NULL, NULL, &length, NULL);
}

/* Rows with tensors of one shape are one tensor, whose first dimension is theirs. */
static void look_at_rows(livebuf_doc *doc) {
  livebuf_column column;
  livebuf_tensor all, one;
  livebuf_value rows = livebuf_root(doc);
  size_t count = livebuf_count(rows);
  STATUS(livebuf_column_find_path(rows, "/image", &column), LIVEBUF_OK);
  STATUS(livebuf_column_tensor(&column, &all), LIVEBUF_OK);
  CHECK(all.column_type == LIVEBUF_COLUMN_U8 && all.dimensions == 4 && all.shape[0] == count);
  for (size_t row = 0; row < count; row++) {
    STATUS(livebuf_read_tensor(livebuf_column_get(&column, row), &one), LIVEBUF_OK);
    CHECK(one.dimensions == 3 && !memcmp(one.shape, all.shape + 1, 12));
    CHECK(one.data == (const uint8_t *)all.data + row * one.length);
  }
  CHECK(count > 4 && all.length == count * one.length);
}

int main(int count, char **paths) {
  CHECK(count > 20);
  for (int i = 1; i < count; i++) {
    const char *slash = strrchr(paths[i], '/'), *name = slash ? slash + 1 : paths[i];
    size_t length;
    char *bytes = whole_file(paths[i], &length);
    livebuf_error error;
    livebuf_doc *doc = livebuf_from_bytes((const uint8_t *)bytes, length, NULL, &error);
    int status = doc ? livebuf_validate(doc) : error.status, failed = failures;
    if (name[0] == 'n') {
      const char *end = strchr(name + 2, '_');
      CHECK(end && status == named(name + 2, (size_t)(end - name - 2)));
    } else if (bytes[6]) {
      /* A flag that allows reading alone: here documents are opened to be edited. */
      STATUS(status, LIVEBUF_READ_ONLY);
    } else if (!strncmp(name, "y_reserved_", 11)) {
      /* No JSON says what tags without a meaning hold. */
      STATUS(status, LIVEBUF_OK);
      CHECK(doc && !printed(doc));
    } else {
      STATUS(status, LIVEBUF_OK);
      char other[600];
      snprintf(other, sizeof other, "%.*s.json", (int)(strlen(paths[i]) - 5), paths[i]);
      char *json = whole_file(other, &length);
      /* Decimals are printed with all their digits. */
      livebuf_json_options options = {0};
      if (strstr(name, "_decimal")) options.flags = LIVEBUF_JSON_TEXT_NUMBERS;
      if (strstr(name, "_recognized")) options.flags = LIVEBUF_JSON_RECOGNIZE;
      livebuf_doc *same = livebuf_from_json(json, length, &options, NULL, &error);
      char *one = doc ? printed(doc) : NULL, *two = same ? printed(same) : NULL;
      CHECK(one && two && !strcmp(one, two));
      if (!strcmp(name, "y_tensor_rows.lbuf")) look_at_rows(doc);
      if (one) livebuf_free(NULL, one, strlen(one) + 1);
      if (two) livebuf_free(NULL, two, strlen(two) + 1);
      livebuf_destroy(same);
      free(json);
    }
    if (failures > failed) fprintf(stderr, "  in %s\n", name);
    livebuf_destroy(doc);
    free(bytes);
  }
  return done("vectors");
}
