/* A megabyte of garbage through every reader and editor: documents that were damaged at random,
   each at the end of a page behind which nothing can be read. Any crash is a failure. The seed
   is printed; an argument repeats it, a second one says how many bytes. */
#define _DEFAULT_SOURCE
#include <livebuf.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static uint64_t state;

static uint64_t any(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* What is read is used, so that the compiler reads it. */
static volatile uint64_t sink;

static void use(livebuf_str text) {
  for (uint32_t i = 0; i < text.length; i++) sink += (uint8_t)text.data[i];
}

/* How many values may still be looked at: damaged documents can hold themselves. */
static int budget;

static void look(livebuf_value value, int depth);

/* All numbers of a tensor can be read, and are aligned in the document. */
static void look_at_tensor(livebuf_tensor tensor, const livebuf_doc *doc) {
  const uint8_t *data = tensor.data;
  size_t numbers = 1;
  for (size_t i = 0; i < tensor.length; i++) sink += data[i];
  CHECK(tensor.dimensions > 0 && tensor.dimensions <= LIVEBUF_MAX_DIMENSIONS);
  for (uint32_t i = 0; i < tensor.dimensions; i++) numbers *= tensor.shape[i];
  if (!tensor.length) return;
  CHECK(tensor.length % numbers == 0 && tensor.length / numbers <= 8);
  CHECK((size_t)(data - doc->bytes) % (tensor.length / numbers) == 0);
}

static void look_at_columns(livebuf_value array) {
  static int64_t integers[64];
  static double numbers[64];
  static livebuf_str texts[64];
  livebuf_column column;
  livebuf_str key;
  size_t width = livebuf_column_count(array), count;
  for (size_t i = 0; i <= width && i < 16; i++) {
    int status = i == width ? livebuf_column_find_path(array, "", &column)
                            : livebuf_column_at(array, i, &key, &column);
    if (status) continue;
    if (i < width) use(key);
    use(livebuf_row_key(array, i));
    const uint8_t *data = livebuf_column_slice(&column, &count);
    size_t bytes = column.column_type == LIVEBUF_COLUMN_UUID  ? 16 * count
                   : column.column_type == LIVEBUF_COLUMN_F16 ? 2 * count
                                                              : count;
    if (data && count) sink += data[bytes - 1];
    size_t first = any() % (column.length + 1);
    livebuf_column_i64s(&column, first, integers, 64, 0);
    livebuf_column_f64s(&column, first, numbers, 64, 0);
    count = livebuf_column_strs(&column, first, texts, 64);
    for (size_t row = 0; row < count; row++) use(texts[row]);
    livebuf_run run;
    if (!livebuf_column_run(&column, &run)) {
      livebuf_str all = {run.bytes, (uint32_t)run.length, 0};
      use(all);
      const uint8_t *offsets = run.offsets;
      for (size_t byte = 0; byte < (run.count + 1) * run.width; byte++) sink += offsets[byte];
    }
    livebuf_tensor tensor;
    if (!livebuf_column_tensor(&column, &tensor)) look_at_tensor(tensor, array.doc);
    livebuf_column_find(&column, livebuf_i64(7));
    livebuf_column_find(&column, livebuf_f64(0.5));
    livebuf_column_find(&column, livebuf_string("a text that is long"));
    livebuf_column_find(&column, livebuf_date(20780));
    livebuf_column_find(&column, livebuf_decimal_i64(1990, 2));
    livebuf_column_find(&column, livebuf_extended("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"));
    livebuf_column_find(&column, livebuf_extended("123456789012345678901234567890.5"));
    sink += livebuf_column_get(&column, first).cell;
  }
}

/* What the header finds in place is what the library finds. */
static void same(livebuf_value one, livebuf_value other) {
  CHECK(one.doc == other.doc && one.tag == other.tag && one.status == other.status);
  if (other.doc) CHECK(one.cell == other.cell && one.generation == other.generation);
}

static void look_in_place(livebuf_value value) {
  static const char *const KEYS[] = {"name", "a key that is longer", "id", "at", "x", "list"};
  livebuf_value found[] = {livebuf_get(value, "name"), livebuf_get(value, "a key that is longer"),
                           livebuf_get(value, "id"), livebuf_get(value, "at"),
                           livebuf_get(value, "x"), livebuf_get(value, "list")};
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    livebuf_value other = livebuf_get_n(value, KEYS[i], strlen(KEYS[i]));
    livebuf_key key;
    livebuf_key_init(&key, KEYS[i]);
    same(found[i], other);
    /* Where keys are damaged, a remembered place may tell another one. */
    sink += livebuf_get_key(value, &key).cell + (livebuf_get_key)(value, &key).cell;
    sink += (uint64_t)livebuf_get_key_i64_or(value, &key, -7);
    sink += (uint64_t)(livebuf_get_key_i64_or)(value, &key, -7);
  }
  for (size_t i = 0; i < 4; i++) {
    /* The library looks at the whole column before, and may find damage there. */
    livebuf_value element = (livebuf_at)(value, i);
    if (livebuf_exists(element)) same(livebuf_at(value, i), element);
  }
  livebuf_str text = livebuf_get_str(value), other = (livebuf_get_str)(value);
  CHECK(text.data == other.data && text.length == other.length);
  livebuf_iter rows, others;
  if (livebuf_iterate(value, 0, &rows) || livebuf_iterate(value, 0, &others)) return;
  bool more = true;
  for (int i = 0; more && i < 20; i++) {
    more = livebuf_next(&rows);
    CHECK(more == (livebuf_next)(&others) && rows.index == others.index);
    if (more) same(rows.value, others.value);
  }
}

/* A value is of one kind, within its bounds, and has a text; or is none. */
static void look_at_extended(livebuf_value value) {
  int64_t time = 0, date_time = 0, timestamp = 0;
  int32_t date = 0;
  livebuf_decimal decimal = {0, 0, 0, 0};
  uint8_t id[16] = {0};
  char text[48];
  int found = !livebuf_read_date(value, &date) + !livebuf_read_time(value, &time) +
              !livebuf_read_date_time(value, &date_time) +
              !livebuf_read_timestamp(value, &timestamp) +
              !livebuf_read_decimal(value, &decimal) + !livebuf_read_uuid(value, id);
  size_t length = livebuf_extended_text(value, text, sizeof text);
  CHECK(found <= 1 && (length > 0) == (found == 1) && strlen(text) == length);
  CHECK(date >= -719162 && date <= 2932896 && time >= 0 && time < 86400000000);
  CHECK(date_time >= -62135596800000000 && date_time < 253402300800000000);
  CHECK(timestamp >= -62135596800000000 && timestamp < 253402300800000000);
  CHECK(decimal.scale <= 38);
}

static void look(livebuf_value value, int depth) {
  livebuf_iter it;
  if (depth > 40 || --budget < 0) return;
  use(livebuf_get_str(value));
  if (livebuf_get_str(value).data) look_in_place(value);
  use(livebuf_get_number_text(value));
  livebuf_bytes bytes = livebuf_get_bytes(value);
  for (uint32_t i = 0; i < bytes.length; i++) sink += bytes.data[i];
  sink += (uint64_t)livebuf_get_i64(value) + livebuf_get_u64(value) + livebuf_get_bool(value);
  sink += (uint64_t)(livebuf_get_f64(value) > 0) + (uint64_t)livebuf_kind_of(value);
  sink += livebuf_count(value) + (uint64_t)livebuf_value_error(value).status;
  int64_t i64;
  uint64_t u64;
  double f64;
  bool boolean;
  livebuf_str text;
  if (!livebuf_read_i64(value, &i64)) sink += (uint64_t)i64;
  if (!livebuf_read_u64(value, &u64)) sink += u64;
  if (!livebuf_read_f64(value, &f64)) sink += f64 > 0;
  if (!livebuf_read_bool(value, &boolean)) sink += boolean;
  if (!livebuf_read_str(value, &text)) use(text);
  if (!livebuf_read_number_text(value, &text)) use(text);
  if (!livebuf_read_bytes(value, &bytes)) sink += bytes.length;
  look_at_extended(value);
  livebuf_tensor tensor;
  if (!livebuf_read_tensor(value, &tensor)) look_at_tensor(tensor, value.doc);
  char line[160];
  sink += livebuf_error_text(livebuf_value_error(value), line, sizeof line) >= sizeof line;
  livebuf_kind type = livebuf_kind_of(value);
  if (type != LIVEBUF_KIND_OBJECT && type != LIVEBUF_KIND_ARRAY) return;
  look_in_place(value);
  look(livebuf_get(value, "name"), depth + 1);
  look(livebuf_get(value, "a key that is longer"), depth + 1);
  look(livebuf_at(value, any() % 8), depth + 1);
  look(livebuf_pointer(value, "/rows/3/name"), depth + 1);
  for (uint32_t flags = 0; flags < 2 && !livebuf_iterate(value, flags, &it); flags++) {
    while (livebuf_next(&it) && budget > 0) {
      use(it.key);
      look(it.value, depth + 1);
    }
  }
  for (uint32_t flags = 0; flags < 8; flags++) {
    if (!livebuf_range(value, "a", "n", flags, &it)) {
      while (livebuf_next(&it) && --budget > 0) use(it.key);
    }
    if (!livebuf_prefix(value, "na", flags & 1, &it)) {
      while (livebuf_next(&it) && --budget > 0) use(it.key);
    }
  }
  if (type == LIVEBUF_KIND_ARRAY) look_at_columns(value);
}

/* Twelve numbers of some type and shape. */
static livebuf_tensor some_tensor(void) {
  static const uint64_t NUMBERS[12] = {1, 0, 1, 1 << 10, 257, 3, 4, 5, 6, 7, 8, 9};
  static const uint32_t SHAPES[][3] = {{2, 2, 3}, {3, 4, 1}, {12, 1, 1}, {2, 6, 1}};
  static const struct {
    uint32_t type, width;
  } TYPES[] = {{LIVEBUF_COLUMN_F32, 4}, {LIVEBUF_COLUMN_F16, 2}, {LIVEBUF_COLUMN_BOOL8, 1},
               {LIVEBUF_COLUMN_U8, 1},  {LIVEBUF_COLUMN_I64, 8}, {LIVEBUF_COLUMN_F64, 8}};
  size_t type = any() % 6, shape = any() % 4;
  return livebuf_tensor_of(TYPES[type].type, 3, SHAPES[shape], NUMBERS, 12 * TYPES[type].width);
}

static void change(livebuf_doc *doc) {
  livebuf_node child = LIVEBUF_ROOT;
  livebuf_tensor tensor;
  for (int i = 0; i < 24; i++) {
    livebuf_node node = any() % 2 ? LIVEBUF_ROOT : child;
    switch (any() % 20) {
      case 0: (void)livebuf_set_i64(doc, node, "name", 5); break;
      case 1: (void)livebuf_set_str(doc, node, "a key that is longer", "a text that is long"); break;
      case 2: (void)livebuf_push(doc, node, livebuf_f64(0.5), &child); break;
      case 3: (void)livebuf_set_object(doc, node, "new", 3, &child); break;
      case 4: (void)livebuf_remove(doc, node, "name"); break;
      case 5: (void)livebuf_remove_at(doc, node, any() % 4); break;
      case 6: (void)livebuf_insert(doc, node, any() % 4, livebuf_array(2), &child); break;
      case 7: (void)livebuf_set_pointer(doc, "/rows/2/name", livebuf_null()); break;
      case 8: (void)livebuf_truncate(doc, node, any() % 4); break;
      case 9: (void)livebuf_rename(doc, node, "name", "other"); break;
      case 10: (void)livebuf_clear(doc, node); break;
      case 11: (void)livebuf_push(doc, node, livebuf_extended("19.90"), &child); break;
      case 12: (void)livebuf_set(doc, node, "at", livebuf_date((int32_t)any())); break;
      case 13: {
        livebuf_new id = livebuf_uuid((const uint8_t *)"sixteen bytes...");
        (void)livebuf_insert(doc, node, any() % 4, id, NULL);
        break;
      }
      case 14: {
        livebuf_decimal large = {any(), (int64_t)(any() >> 4), 3, 0};
        (void)livebuf_set_at(doc, node, any() % 4, livebuf_decimal_new(&large), NULL);
        break;
      }
      case 15:
        tensor = some_tensor();
        (void)livebuf_set(doc, node, "at", livebuf_tensor_new(&tensor));
        break;
      case 16:
        tensor = some_tensor();
        (void)livebuf_push(doc, node, livebuf_tensor_new(&tensor), &child);
        break;
      case 17: (void)livebuf_set_pointer(doc, "/x/1/0/0", livebuf_f64(0.1)); break;
      case 18: (void)livebuf_set_pointer(doc, "/rows/2/at/0", livebuf_bool(true)); break;
      default: (void)livebuf_swap(doc, node, 0, any() % 4); break;
    }
    if (any() % 3 == 0) child = livebuf_find(doc, any() % 2 ? "/rows" : "/x/1");
  }
}

/* A document with a bit of everything. */
static size_t sample(uint8_t *memory, size_t capacity, int which) {
  static const char *const TEXTS[] = {
      "{\"name\":\"a text that is long\",\"list\":[1,2,300,-5],\"mixed\":[null,true,\"x\",1.5,{}],"
      "\"a key that is longer\":{\"deep\":[[1],[2,3],[]]},\"big\":1e400}",
      "{\"rows\":[{\"id\":1,\"name\":\"first of the rows\",\"at\":{\"x\":1.5,\"y\":[1,2]}},"
      "{\"id\":2,\"name\":\"second of the rows\",\"at\":{\"x\":2.5,\"y\":[]}},"
      "{\"id\":3,\"name\":null,\"at\":{\"x\":3.5,\"y\":[3]}},{\"id\":4,\"name\":\"n\"},"
      "{\"id\":5,\"name\":\"fifth of the rows\",\"at\":null},{\"id\":6,\"name\":\"s\"}]}",
      "[[1.5,2.5],[3.5,4.5],[5.5,6.5],[7.5,8.5],[9.5,1.5],[2.5,3.5],[4.5,5.5],[6.5,7.5]]",
      /* Texts behind each other, and texts by their codes. */
      "{\"id\":[\"AB\",\"CD\",null,\"EF\",\"GH\",\"IJ\",\"KL\",\"MN\",\"OP\",\"QR\"],"
      "\"list\":[\"Ada\",null,\"Bo\",\"Cy\",\"Dora\",\"Eve\",\"a text that is long\",\"Gus\"],"
      "\"name\":[[\"a\",\"b\"],[\"c\",\"d\",\"e\"],[\"f\"],[\"g\",\"h\",\"i\"]],"
      "\"at\":[\"open\",\"held\",\"open\",\"open\",\"held\",\"open\",\"held\",\"open\",\"open\"]}",
      /* The same in rows of a table, and numbers of which some are whole. */
      "{\"rows\":[{\"id\":\"AB\",\"name\":\"Ada\",\"at\":\"open\",\"x\":1.5,\"list\":true},"
      "{\"id\":\"CD\",\"name\":\"\",\"at\":\"held\",\"x\":2,\"list\":false},"
      "{\"id\":\"EF\",\"name\":\"a text that is long\",\"at\":\"open\",\"x\":-0.25,\"list\":true},"
      "{\"id\":null,\"at\":\"open\",\"x\":null},{\"id\":\"GH\",\"name\":\"Bo\",\"at\":null,\"x\":7},"
      "{\"id\":\"IJ\",\"name\":null,\"at\":\"held\",\"x\":1e16,\"list\":false},"
      "{\"id\":\"KL\",\"name\":\"Cy\",\"at\":\"open\",\"x\":0.5,\"list\":null},"
      "{\"id\":\"MN\",\"name\":\"Dora\",\"at\":\"open\",\"x\":3,\"list\":true}],"
      "\"x\":[0.1,2,3.5,-4,5e17,6.5,null,8.25],\"id\":[0.5,1,2.5,3,4.5,5,6.5,7]}",
      /* Dates, times and UUIDs, in columns and by themselves. */
      "{\"name\":\"2026-11-23\",\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\",\"x\":"
      "[\"2026-11-23\",\"2026-11-24\",null,\"2026-11-25\"],\"list\":[\"2026-11-23T08:30:00Z\","
      "\"2026-11-23T08:30:00.5Z\"],\"at\":[\"2026-11-23T08:30:00\",\"0001-01-01T00:00:00\"],"
      "\"rows\":[{\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\",\"at\":\"2026-11-23T08:30:00Z\"},"
      "{\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf7\",\"at\":\"2026-11-23T08:30:01Z\"},"
      "{\"id\":null,\"at\":\"2026-11-23T08:30:02Z\"},{\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf8\"},"
      "{\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf9\",\"at\":\"2026-11-23T08:30:03Z\"},"
      "{\"id\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bfa\",\"at\":\"2026-11-23T08:30:04Z\"}]}"};
  livebuf_doc doc;
  if (which < 6) {
    livebuf_json_options options = {0};
    options.flags = LIVEBUF_JSON_RECOGNIZE;
    if (livebuf_from_json_into(&doc, memory, capacity, TEXTS[which], strlen(TEXTS[which]),
                               &options)) {
      return 0;
    }
    if (which == 5) {
      /* Times of day and decimals, which no text is read as. */
      livebuf_node list;
      livebuf_decimal large = {0, (int64_t)1 << 40, 9, 0};
      livebuf_set_array(&doc, LIVEBUF_ROOT, "a key that is longer", 4, &list);
      for (int i = 0; i < 5; i++) livebuf_push(&doc, list, livebuf_decimal_i64(i * 7, 2), NULL);
      livebuf_set(&doc, LIVEBUF_ROOT, "large", livebuf_decimal_new(&large));
      livebuf_set_array(&doc, LIVEBUF_ROOT, "times", 4, &list);
      for (int i = 0; i < 5; i++) livebuf_push(&doc, list, livebuf_time(i * 1000), NULL);
    }
  } else if (which == 6) {
    /* Tensors by themselves, and in rows that become a table. */
    static const char *const KEYS[] = {"name", "x", "list", "a key that is longer", "id", "at"};
    static uint8_t first[4096];
    livebuf_node rows;
    livebuf_tensor tensor = some_tensor();
    livebuf_field row[] = {livebuf_member("id", livebuf_i64(7)),
                           livebuf_member("at", livebuf_tensor_new(&tensor))};
    if (livebuf_init_object(&doc, first, sizeof first, 8)) return 0;
    livebuf_set_array(&doc, LIVEBUF_ROOT, "rows", 6, &rows);
    for (int i = 0; i < 6; i++) livebuf_push(&doc, rows, livebuf_fields(row, 2), NULL);
    for (int i = 0; i < 6; i++) {
      tensor = some_tensor();
      livebuf_set(&doc, LIVEBUF_ROOT, KEYS[i], livebuf_tensor_new(&tensor));
    }
    size_t length;
    return livebuf_compact_into(&doc, memory, capacity, &length) ? 0 : length;
  } else if (which == 7) {
    /* Texts behind each other, in rows and in arrays: enough of them that they take less so. */
    static char text[4096];
    int at = sprintf(text, "{\"rows\":[");
    for (int i = 0; i < 24; i++) {
      at += sprintf(text + at, "%s{\"name\":\"%.*s%d\",\"id\":", i ? "," : "", i % 9, "a name of",
                    i);
      at += sprintf(text + at, i % 5 ? "\"id %d\"}" : "null}", i * 7919);
    }
    at += sprintf(text + at, "],\"list\":[\"first\"");
    for (int i = 0; i < 24; i++) at += sprintf(text + at, ",\"%d of the list\"", i * 104729);
    at += sprintf(text + at, "]}");
    if (livebuf_from_json_into(&doc, memory, capacity, text, (size_t)at, NULL)) return 0;
  } else {
    /* An object with an index, and with free space. */
    if (livebuf_init(&doc, memory, capacity)) return 0;
    livebuf_set_root(&doc, livebuf_map(0), NULL);
    for (int i = 0; i < 80; i++) {
      char name[30];
      snprintf(name, sizeof name, i % 2 ? "name of %d" : "n%d", i * 7919 % 100);
      livebuf_set_str(&doc, LIVEBUF_ROOT, name, "a text that is long");
    }
    for (int i = 0; i < 30; i++) {
      char name[30];
      snprintf(name, sizeof name, "n%d", i * 2);
      livebuf_remove(&doc, LIVEBUF_ROOT, name);
    }
  }
  return doc.length;
}

int main(int count, char **arguments) {
  enum { ROOM = 1 << 15 };
  uint64_t seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 0;
  size_t wanted = count > 2 ? (size_t)strtoull(arguments[2], NULL, 10) : 1 << 20;
  static uint8_t good[ROOM], scratch[ROOM];
  static char json[ROOM];
  size_t done_bytes = 0, opened = 0, valid = 0, documents = 0;
  if (!seed) seed = (uint64_t)time(NULL) * 2654435761u | 1;
  state = seed;
  printf("garbage: seed %llu\n", (unsigned long long)seed);
  fflush(stdout);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *memory = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + ROOM, page, PROT_NONE)) return 2;
  while (done_bytes < wanted) {
    size_t length = sample(good, sizeof good, (int)(documents++ % 9));
    CHECK(length > 0);
    uint8_t *bytes = memory + ROOM - length;
    memcpy(bytes, good, length);
    /* Every tenth is garbage throughout but for the first bytes. */
    size_t damage = documents % 10 ? 1 + any() % 6 : length;
    for (size_t i = 0; i < damage; i++) {
      size_t at = damage == length ? (i < 24 ? 4 : i) : any() % length;
      uint8_t odd[] = {(uint8_t)any(), 0, 0xFF, 0x80, (uint8_t)(bytes[at] ^ (1 << any() % 8))};
      bytes[at] = odd[any() % sizeof odd];
    }
    if (damage == length) memcpy(bytes, good, 24);
    done_bytes += length;
    livebuf_doc doc;
    if (livebuf_read(&doc, bytes, length)) continue;
    opened++;
    budget = 4000;
    look(livebuf_root(&doc), 0);
    livebuf_stats stats;
    bool is_valid = !livebuf_get_stats_in(&doc, scratch, sizeof scratch, &stats);
    CHECK(is_valid == !livebuf_validate_in(&doc, scratch, sizeof scratch));
    livebuf_json_options options = {0};
    options.max_bytes = sizeof json;
    (void)livebuf_to_json(livebuf_root(&doc), &options, json, sizeof json, NULL);
    size_t compact;
    (void)livebuf_compact_into(&doc, scratch, sizeof scratch, &compact);
    /* Edited as far as it lets itself be; validated first every other time. */
    if (!livebuf_open(&doc, bytes, length, length)) {
      bool passed = any() % 2 && !livebuf_validate_in(&doc, scratch, sizeof scratch);
      bool trusted = livebuf_is_trusted(&doc);
      CHECK(trusted == passed);
      change(&doc);
      if (trusted) {
        valid++;
        STATUS(livebuf_validate_in(&doc, scratch, sizeof scratch), LIVEBUF_OK);
      }
      budget = 1000;
      look(livebuf_root(&doc), 0);
    }
  }
  CHECK(opened > documents / 2);
  printf("%zu bytes in %zu documents, %zu opened, %zu valid after all\n", done_bytes, documents,
         opened, valid);
  return done("garbage");
}
