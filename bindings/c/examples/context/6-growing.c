/* 6. Deleting and growing in place: space comes back. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  livebuf_doc *doc = livebuf_create(NULL, NULL);
  if (!doc) return 1;

  livebuf_set_root(doc, livebuf_object(2), NULL);
  livebuf_set_str(doc, LIVEBUF_ROOT, "title", "a short title");
  livebuf_set_str(doc, LIVEBUF_ROOT, "secret", "something to forget");

  /* Deleting frees and wipes. */
  livebuf_remove(doc, LIVEBUF_ROOT, "secret");
  int found = 0;
  for (size_t i = 0; i + 9 <= doc->length; i++) {
    found |= !memcmp(doc->bytes + i, "something", 9);
  }
  printf("the secret is in the bytes: %d\n", found);

  /* A text that grows step by step takes the space of what it was before. */
  char title[65] = {0};
  size_t most = 0;
  for (int round = 0; round < 200; round++) {
    for (size_t length = 8; length < sizeof title; length += 8) {
      memset(title, 'a' + round % 26, length);
      title[length] = 0;
      livebuf_set_str(doc, LIVEBUF_ROOT, "title", title);
      if (doc->length > most) most = doc->length;
    }
  }
  printf("1600 texts to 64 bytes took less than 1 KiB: %d\n", most < 1024);

  /* A list as a queue: in at the end, out at the front. */
  livebuf_node queue;
  livebuf_set_array(doc, LIVEBUF_ROOT, "queue", 0, &queue);
  for (int i = 0; i < 10000; i++) {
    livebuf_push_i64(doc, queue, i);
    if (i >= 16) livebuf_remove_at(doc, queue, 0);
  }
  livebuf_value first = livebuf_at(livebuf_node_value(doc, queue), 0);
  printf("%zu waiting, the first %lld\n", livebuf_count(livebuf_node_value(doc, queue)),
         (long long)livebuf_get_i64(first));

  /* What is left over, and a copy without it. */
  uint8_t scratch[1024];
  livebuf_stats stats;
  livebuf_get_stats_in(doc, scratch, sizeof scratch, &stats);
  printf("used = live + free + garbage: %d\n",
         stats.used == stats.live + stats.free + stats.garbage);
  size_t before = doc->length;
  livebuf_compact(doc);
  printf("compact is smaller: %d\n", doc->length < before);
  printf("and the same: %zu waiting\n", livebuf_count(livebuf_get(livebuf_root(doc), "queue")));
  livebuf_destroy(doc);
  return 0;
}
