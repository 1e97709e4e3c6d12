/* What the blocks of docs/c-api.md need before them. */
#include <livebuf.h>
#include <stdio.h>
#include <string.h>

#define OWNED \
  livebuf_doc *doc = livebuf_from_json(text_of_all, strlen(text_of_all), NULL, NULL, NULL); \
  livebuf_value root = livebuf_root(doc);
#define BUFFER \
  livebuf_doc doc; \
  livebuf_doc *made = livebuf_from_json(text_of_all, strlen(text_of_all), NULL, NULL, NULL); \
  memcpy(buffer, made->bytes, made->length); \
  livebuf_open(&doc, buffer, made->length, sizeof buffer); \
  livebuf_destroy(made); \
  livebuf_value root = livebuf_root(&doc);

static const char *text_of_all =
    "{\"lap\": 55, \"name\": \"Ada\", \"times\": [88.5], \"alice\": 9, \"bob\": 1, \"note\": \"pit\","
    " \"driver\": \"Ada\", \"laps\": [{\"lap\": 1, \"sec\": 87.5, \"driver\": \"Ada\"}]}";
static uint8_t buffer[8192], copy[8192];
static const uint8_t id[16];
static size_t copied;

