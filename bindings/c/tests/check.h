/* What the C tests check by: a line that fails names itself, and all others still run. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0, checks = 0;

#define CHECK(condition)                                                     \
  do {                                                                       \
    checks++;                                                                \
    if (!(condition)) {                                                      \
      failures++;                                                            \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                        \
  } while (0)

/* A status, with its number when it is another. */
#define STATUS(call, expected)                                                           \
  do {                                                                                   \
    int status_ = (call);                                                                \
    checks++;                                                                            \
    if (status_ != (expected)) {                                                         \
      failures++;                                                                        \
      fprintf(stderr, "%s:%d: %s is %d (%s), not %s\n", __FILE__, __LINE__, #call, status_, \
              livebuf_strerror(status_), #expected);                                     \
    }                                                                                    \
  } while (0)

static int done(const char *name) {
  printf("%s: %d checks, %d failed\n", name, checks, failures);
  return failures != 0;
}

#endif
