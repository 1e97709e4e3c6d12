/* 3. Nesting and arrays: places that stay good while the document grows. */
#include <livebuf.h>
#include <stdio.h>

int main(void) {
  uint8_t buffer[2048];
  livebuf_doc doc;
  if (livebuf_init(&doc, buffer, sizeof buffer)) return 1;

  livebuf_node laps, lap, times;
  livebuf_set_root(&doc, livebuf_object(2), NULL);
  livebuf_set_str(&doc, LIVEBUF_ROOT, "race", "Brno");
  livebuf_set_array(&doc, LIVEBUF_ROOT, "laps", 0, &laps);
  for (int i = 1; i <= 3; i++) {
    livebuf_push(&doc, laps, livebuf_object(2), &lap);
    livebuf_set_i64(&doc, lap, "lap", i);
    livebuf_set_array(&doc, lap, "sectors", 3, &times);
    for (int sector = 0; sector < 3; sector++) {
      livebuf_push_f64(&doc, times, 30.0 + i + sector / 4.0);
    }
  }
  livebuf_value root = livebuf_root(&doc);
  printf("%zu laps\n", livebuf_count(livebuf_get(root, "laps")));
  printf("sector %.2f\n", livebuf_get_f64(livebuf_pointer(root, "/laps/1/sectors/2")));

  /* Elements are set, inserted and removed by index; a pointer names any place. */
  livebuf_insert(&doc, times, 0, livebuf_string("start"), NULL);
  livebuf_set_at(&doc, times, 1, livebuf_i64(34), NULL);
  livebuf_remove_at(&doc, times, 3);
  livebuf_set_pointer(&doc, "/laps/0/sectors/-", livebuf_bool(true));
  livebuf_set_pointer(&doc, "/winner", livebuf_object(1));
  livebuf_set_pointer(&doc, "/winner/name", livebuf_string("Grace"));
  root = livebuf_root(&doc);
  livebuf_value sectors = livebuf_pointer(root, "/laps/2/sectors");
  printf("%zu sectors, the first %s\n", livebuf_count(sectors),
         livebuf_str_equals(livebuf_get_str(livebuf_at(sectors, 0)), "start") ? "start" : "?");
  printf("winner %.*s\n", 5, livebuf_get_str(livebuf_pointer(root, "/winner/name")).data);

  /* A place is found again by key or pointer. Freeing a container makes places stale. */
  livebuf_node winner = livebuf_find(&doc, "/winner");
  printf("winner found: %d\n", livebuf_node_exists(winner));
  livebuf_remove(&doc, LIVEBUF_ROOT, "winner");
  printf("%s\n", livebuf_strerror(livebuf_set_i64(&doc, winner, "points", 25)));
  return 0;
}
