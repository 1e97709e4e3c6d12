/* What the tasks by rows fill, for LiveBuf and Lite³ alike. */
#include "livebuf.h"

/* The compiler must neither keep nor foresee the value. */
#define OPAQUE(value) __asm__ volatile("" : "+m"(value) : : "memory")

typedef struct {
  const char *data;
  size_t length;
} text_span;

typedef struct {
  text_span text, screen_name;
  int64_t retweet_count;
} top_row;

typedef struct {
  text_span created_at, text, screen_name;
  int64_t id, in_reply_to, user_id, retweet_count, favorite_count;
} partial_row;
