/* 4. Iterating: members in order, ranges by key, numbers by column. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  livebuf_doc *doc = livebuf_create(NULL, NULL);
  if (!doc) return 1;

  livebuf_set_root(doc, livebuf_object(0), NULL);
  const char *names[] = {"wheel", "axle", "brake", "bolt", "belt"};
  for (int i = 0; i < 5; i++) livebuf_set_i64(doc, LIVEBUF_ROOT, names[i], 10 * (i + 1));

  /* In the order they were added. */
  livebuf_foreach(part, livebuf_root(doc)) {
    printf("%zu " LIVEBUF_FMT " %lld\n", part.index, LIVEBUF_ARG(part.key),
           (long long)livebuf_get_i64(part.value));
  }

  /* Ordered by key: from "b" to before "c", from the end, and by prefix. */
  livebuf_iter it;
  livebuf_range(livebuf_root(doc), "b", "c", 0, &it);
  while (livebuf_next(&it)) printf("range %.*s\n", (int)it.key.length, it.key.data);
  livebuf_range(livebuf_root(doc), NULL, "brake", LIVEBUF_DESCENDING | LIVEBUF_HIGH_INCLUDED,
                &it);
  while (livebuf_next(&it)) printf("descending %.*s\n", (int)it.key.length, it.key.data);
  livebuf_prefix(livebuf_root(doc), "b", 0, &it);
  while (livebuf_next(&it)) printf("prefix %.*s\n", (int)it.key.length, it.key.data);

  /* An edit ends an iteration: it says so, instead of reading what moved. */
  livebuf_iterate(livebuf_root(doc), 0, &it);
  livebuf_next(&it);
  livebuf_set_i64(doc, LIVEBUF_ROOT, "wheel", 11);
  bool more = livebuf_next(&it);
  printf("next after an edit: %d, %s\n", more, livebuf_strerror(it.error.status));

  /* An array of numbers is a C array. */
  livebuf_node list;
  livebuf_set_array(doc, LIVEBUF_ROOT, "list", 0, &list);
  for (int i = 0; i < 1000; i++) livebuf_push_i64(doc, list, (int64_t)i * i);
  livebuf_column column;
  livebuf_column_find_path(livebuf_get(livebuf_root(doc), "list"), "", &column);
  int64_t squares[1000], sum = 0;
  size_t count = livebuf_column_i64s(&column, 0, squares, 1000, 0);
  for (size_t i = 0; i < count; i++) sum += squares[i];
  printf("%zu numbers, sum %lld, 144 at %td\n", count, (long long)sum,
         livebuf_column_find(&column, livebuf_i64(144)));
  livebuf_destroy(doc);
  return 0;
}
