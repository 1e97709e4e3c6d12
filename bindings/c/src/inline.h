
/* --- what the compiler puts where it is called --------------------------------------- */

/** The version of this header as text; livebuf_version() is that of the library. */
#define LIVEBUF_VERSION_STRING "0.1.0"

#ifdef __cplusplus
extern "C" {
/** Stands for the root in every call that takes a place. */
#define LIVEBUF_ROOT (livebuf_node{{0, 0, 0, 0}})
#else
#define LIVEBUF_ROOT ((livebuf_node){{0, 0, 0, 0}})
#endif

static inline size_t livebuf_length_(const char *text) { return text ? strlen(text) : 0; }

/* Reading. Each is the call it names with text that ends with NUL. */

/** The member of an object with this key. As livebuf_get_n. */
static inline livebuf_value livebuf_get(livebuf_value object, const char *key) {
  return livebuf_get_n(object, key, livebuf_length_(key));
}

/** The value at a JSON pointer below this one. As livebuf_pointer_n. */
static inline livebuf_value livebuf_pointer(livebuf_value value, const char *pointer) {
  return livebuf_pointer_n(value, pointer, livebuf_length_(pointer));
}

/** Whether there is a value. */
static inline bool livebuf_exists(livebuf_value value) { return value.tag != 0; }

/** Whether there is a value and it is null. */
static inline bool livebuf_is_null(livebuf_value value) { return value.tag == LIVEBUF_TAG_NULL; }

/** Whether the document was not edited since the value was got. */
static inline bool livebuf_value_is_current(livebuf_value value) {
  return value.doc && value.doc->generation == value.generation;
}

/** Whether the document was not edited since the text was got. */
static inline bool livebuf_str_is_current(const livebuf_doc *doc, livebuf_str text) {
  return doc && text.data && doc->generation == text.generation;
}

/** Whether the document was not edited since the bytes were got. */
static inline bool livebuf_bytes_are_current(const livebuf_doc *doc, livebuf_bytes bytes) {
  return doc && bytes.data && doc->generation == bytes.generation;
}

/** The boolean, or `fallback` where it is none. */
static inline bool livebuf_get_bool_or(livebuf_value value, bool fallback) {
  return value.tag == LIVEBUF_TAG_TRUE ? true : value.tag == LIVEBUF_TAG_FALSE ? false : fallback;
}

/** The integer, or `fallback` where it is none that fits. 1.0 is not an integer. */
static inline int64_t livebuf_get_i64_or(livebuf_value value, int64_t fallback) {
  return value.tag == LIVEBUF_TAG_I64 ? (int64_t)value.cell : fallback;
}

/** The integer, or `fallback` where it is none or negative. 1.0 is not an integer. */
static inline uint64_t livebuf_get_u64_or(livebuf_value value, uint64_t fallback) {
  bool fits = value.tag == LIVEBUF_TAG_U64 ||
              (value.tag == LIVEBUF_TAG_I64 && (int64_t)value.cell >= 0);
  return fits ? value.cell : fallback;
}

/** The number as a double, integers rounded to the nearest; `fallback` where it is none. */
static inline double livebuf_get_f64_or(livebuf_value value, double fallback) {
  double number;
  if (value.tag == LIVEBUF_TAG_F64) {
    memcpy(&number, &value.cell, sizeof number);
    return number;
  }
  if (value.tag == LIVEBUF_TAG_I64) return (double)(int64_t)value.cell;
  if (value.tag == LIVEBUF_TAG_U64) return (double)value.cell;
  return value.tag ? livebuf_number_or(value, fallback) : fallback;
}

/** The boolean, or false. */
static inline bool livebuf_get_bool(livebuf_value value) {
  return livebuf_get_bool_or(value, false);
}

/** The integer, or 0. */
static inline int64_t livebuf_get_i64(livebuf_value value) { return livebuf_get_i64_or(value, 0); }

/** The integer without sign, or 0. */
static inline uint64_t livebuf_get_u64(livebuf_value value) {
  return livebuf_get_u64_or(value, 0);
}

/** The number, or 0. */
static inline double livebuf_get_f64(livebuf_value value) { return livebuf_get_f64_or(value, 0); }

/** The text, or `fallback`, which ends with NUL. */
static inline livebuf_str livebuf_get_str_or(livebuf_value value, const char *fallback) {
  livebuf_str text = livebuf_get_str(value);
  if (!text.data) {
    text.data = fallback;
    text.length = (uint32_t)livebuf_length_(fallback);
  }
  return text;
}

/** The bytes, or `length` bytes of `fallback`. */
static inline livebuf_bytes livebuf_get_bytes_or(livebuf_value value, const void *fallback,
                                                 uint32_t length) {
  livebuf_bytes bytes = livebuf_get_bytes(value);
  if (!bytes.data) {
    bytes.data = (const uint8_t *)fallback;
    bytes.length = length;
  }
  return bytes;
}

/* Checked reading: for where 0 or no text may also be an answer. Each returns LIVEBUF_OK and
   writes `*result`, or says why not and leaves `*result` as it was:
     LIVEBUF_WRONG_TYPE     there is a value, of another type;
     LIVEBUF_NULL_ARGUMENT  `result` is NULL;
     the value's own status where there is none: LIVEBUF_NOT_FOUND, what is damaged,
     LIVEBUF_STALE_HANDLE. livebuf_value_error has the byte offset then. */

static inline livebuf_status livebuf_not_read_(livebuf_value value, const void *result) {
  livebuf_status status = result ? livebuf_value_error(value).status : LIVEBUF_NULL_ARGUMENT;
  if (status == LIVEBUF_OK) status = LIVEBUF_WRONG_TYPE;
  return status;
}

/** The boolean in `*result`. LIVEBUF_WRONG_TYPE where the value is none. */
static inline livebuf_status livebuf_read_bool(livebuf_value value, bool *result) {
  bool is_bool = value.tag == LIVEBUF_TAG_TRUE || value.tag == LIVEBUF_TAG_FALSE;
  if (!result || !is_bool) return livebuf_not_read_(value, result);
  *result = value.tag == LIVEBUF_TAG_TRUE;
  return LIVEBUF_OK;
}

/** The integer in `*result`. LIVEBUF_WRONG_TYPE where the value is no integer, or one that
    int64_t does not hold (livebuf_type_of tells them apart). 1.0 is not an integer. */
static inline livebuf_status livebuf_read_i64(livebuf_value value, int64_t *result) {
  if (!result || value.tag != LIVEBUF_TAG_I64) return livebuf_not_read_(value, result);
  *result = (int64_t)value.cell;
  return LIVEBUF_OK;
}

/** The integer without sign in `*result`. LIVEBUF_WRONG_TYPE where the value is no integer,
    or one that uint64_t does not hold. 1.0 is not an integer. */
static inline livebuf_status livebuf_read_u64(livebuf_value value, uint64_t *result) {
  bool fits = value.tag == LIVEBUF_TAG_U64 ||
              (value.tag == LIVEBUF_TAG_I64 && (int64_t)value.cell >= 0);
  if (!result || !fits) return livebuf_not_read_(value, result);
  *result = value.cell;
  return LIVEBUF_OK;
}

/** The number in `*result`, rounded to the nearest double. LIVEBUF_WRONG_TYPE where the value
    is no number, or one beyond the range of doubles. */
static inline livebuf_status livebuf_read_f64(livebuf_value value, double *result) {
  /* By two fallbacks: a number is what comes out by both. */
  double number = livebuf_get_f64_or(value, 0);
  bool is_number = value.tag == LIVEBUF_TAG_F64 || number < 0 || number > 0 ||
                   livebuf_get_f64_or(value, 1) < 1;
  if (!result || !is_number) return livebuf_not_read_(value, result);
  *result = number;
  return LIVEBUF_OK;
}

/** The text in `*result`. LIVEBUF_WRONG_TYPE where the value is no text. */
static inline livebuf_status livebuf_read_str(livebuf_value value, livebuf_str *result) {
  livebuf_str text = livebuf_get_str(value);
  if (!result || !text.data) return livebuf_not_read_(value, result);
  *result = text;
  return LIVEBUF_OK;
}

/** The bytes in `*result`. LIVEBUF_WRONG_TYPE where the value is no byte string. */
static inline livebuf_status livebuf_read_bytes(livebuf_value value, livebuf_bytes *result) {
  livebuf_bytes bytes = livebuf_get_bytes(value);
  if (!result || !bytes.data) return livebuf_not_read_(value, result);
  *result = bytes;
  return LIVEBUF_OK;
}

/** The text of a number that is kept as text (LIVEBUF_TYPE_NUMBER) in `*result`.
    LIVEBUF_WRONG_TYPE for all else. */
static inline livebuf_status livebuf_read_number_text(livebuf_value value,
                                                      livebuf_str *result) {
  livebuf_str text = livebuf_get_number_text(value);
  if (!result || !text.data) return livebuf_not_read_(value, result);
  *result = text;
  return LIVEBUF_OK;
}

/** Whether text is this, which ends with NUL. */
static inline bool livebuf_str_equals(livebuf_str text, const char *other) {
  size_t length = livebuf_length_(other);
  return text.data && other && text.length == length && !memcmp(text.data, other, length);
}

/** What the last call that failed on this document said. */
static inline livebuf_error livebuf_last_error(const livebuf_doc *doc) {
  livebuf_error none = {LIVEBUF_NULL_ARGUMENT, 0, 0, 0, 0, 0};
  return doc ? doc->error : none;
}

/** Makes a remembered key. As livebuf_key_init_n. */
static inline livebuf_status livebuf_key_init(livebuf_key *key, const char *text) {
  return livebuf_key_init_n(key, text, livebuf_length_(text));
}

/** Members with keys from `low` to before `high`. As livebuf_range_n. */
static inline livebuf_status livebuf_range(livebuf_value object, const char *low,
                                           const char *high, uint32_t flags,
                                           livebuf_iter *iter) {
  return livebuf_range_n(object, low, livebuf_length_(low), high, livebuf_length_(high), flags,
                         iter);
}

/** Members whose keys begin so. As livebuf_prefix_n. */
static inline livebuf_status livebuf_prefix(livebuf_value object, const char *prefix,
                                            uint32_t flags, livebuf_iter *iter) {
  return livebuf_prefix_n(object, prefix, livebuf_length_(prefix), flags, iter);
}

/** The column at a JSON pointer. As livebuf_column_n. */
static inline livebuf_status livebuf_column_find_path(livebuf_value array, const char *pointer,
                                                      livebuf_column *column) {
  return livebuf_column_n(array, pointer, livebuf_length_(pointer), column);
}

/* New values: what to store. They borrow their text until the call that stores them. */

static inline livebuf_new livebuf_new_(uint32_t kind, const void *pointer, size_t length) {
  livebuf_new value;
  value.payload.natural = 0;
  value.payload.pointer = pointer;
  value.length = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
  value.kind = kind;
  return value;
}

/** Null. */
static inline livebuf_new livebuf_null(void) { return livebuf_new_(LIVEBUF_NEW_NULL, NULL, 0); }

/** An integer. */
static inline livebuf_new livebuf_i64(int64_t integer) {
  livebuf_new value;
  value.payload.integer = integer;
  value.length = 0;
  value.kind = LIVEBUF_NEW_I64;
  return value;
}

/** A boolean. */
static inline livebuf_new livebuf_bool(bool boolean) {
  livebuf_new value = livebuf_i64(boolean);
  value.kind = LIVEBUF_NEW_BOOL;
  return value;
}

/** An integer without sign. */
static inline livebuf_new livebuf_u64(uint64_t natural) {
  livebuf_new value = livebuf_i64((int64_t)natural);
  value.kind = LIVEBUF_NEW_U64;
  return value;
}

/** A double, kept by its bits. */
static inline livebuf_new livebuf_f64(double number) {
  livebuf_new value;
  value.payload.number = number;
  value.length = 0;
  value.kind = LIVEBUF_NEW_F64;
  return value;
}

/** Text of `length` bytes. */
static inline livebuf_new livebuf_string_n(const char *text, size_t length) {
  return livebuf_new_(LIVEBUF_NEW_STRING, text, text ? length : 1);
}

/** Text that ends with NUL. */
static inline livebuf_new livebuf_string(const char *text) {
  return livebuf_string_n(text, livebuf_length_(text));
}

/** Bytes. */
static inline livebuf_new livebuf_blob(const void *bytes, size_t length) {
  return livebuf_new_(LIVEBUF_NEW_BYTES, bytes, length);
}

/** A number that only its text holds exactly, which ends with NUL. */
static inline livebuf_new livebuf_number(const char *text) {
  return livebuf_new_(LIVEBUF_NEW_NUMBER, text, livebuf_length_(text));
}

/** An empty object with room for so many members (a guess; it grows). */
static inline livebuf_new livebuf_object(size_t members) {
  return livebuf_new_(LIVEBUF_NEW_OBJECT, NULL, members);
}

/** An empty object with an ordered index from the start, for many members. */
static inline livebuf_new livebuf_map(size_t members) {
  return livebuf_new_(LIVEBUF_NEW_MAP, NULL, members);
}

/** An empty array with room for so many elements of eight bytes (a guess; it grows). */
static inline livebuf_new livebuf_array(size_t elements) {
  return livebuf_new_(LIVEBUF_NEW_ARRAY, NULL, elements);
}

/** A copy of a value of another document, with all below it. */
static inline livebuf_new livebuf_copy(const livebuf_value *value) {
  return livebuf_new_(LIVEBUF_NEW_COPY, value, 0);
}

/** An object of these members, each key once: one call, one allocation of space. At most
    LIVEBUF_MAX_FIELDS, none of which is such an object itself; no text of them lies in the
    document under edit. */
static inline livebuf_new livebuf_fields(const livebuf_field *fields, size_t count) {
  return livebuf_new_(LIVEBUF_NEW_FIELDS, fields, count);
}

/** A member for livebuf_fields. */
static inline livebuf_field livebuf_member(const char *key, livebuf_new value) {
  livebuf_field field;
  field.key = key;
  field.key_length = livebuf_length_(key);
  field.value = value;
  return field;
}

/* Edits with text that ends with NUL, and without asking for the new place. */

/** Whether a call gave a place. */
static inline bool livebuf_node_exists(livebuf_node node) {
  return node.private_words[2] != 0;
}

/** The place of the object or array under a key. As livebuf_child_n. */
static inline livebuf_node livebuf_child(const livebuf_doc *doc, livebuf_node node,
                                         const char *key) {
  return livebuf_child_n(doc, node, key, livebuf_length_(key));
}

/** The place of the object or array at a JSON pointer. As livebuf_find_n. */
static inline livebuf_node livebuf_find(const livebuf_doc *doc, const char *pointer) {
  return livebuf_find_n(doc, pointer, livebuf_length_(pointer));
}

/** Sets a member. As livebuf_set_n. */
static inline livebuf_status livebuf_set(livebuf_doc *doc, livebuf_node node, const char *key,
                                         livebuf_new value) {
  return livebuf_set_n(doc, node, key, livebuf_length_(key), value, NULL);
}

/** Sets the value at a JSON pointer. As livebuf_set_pointer_n. */
static inline livebuf_status livebuf_set_pointer(livebuf_doc *doc, const char *pointer,
                                                 livebuf_new value) {
  return livebuf_set_pointer_n(doc, pointer, livebuf_length_(pointer), value, NULL);
}

/** Takes a member out. As livebuf_remove_n. */
static inline livebuf_status livebuf_remove(livebuf_doc *doc, livebuf_node node,
                                            const char *key) {
  return livebuf_remove_n(doc, node, key, livebuf_length_(key));
}

/** Takes the value at a JSON pointer out. As livebuf_remove_pointer_n. */
static inline livebuf_status livebuf_remove_pointer(livebuf_doc *doc, const char *pointer) {
  return livebuf_remove_pointer_n(doc, pointer, livebuf_length_(pointer));
}

/** Gives a member another key. As livebuf_rename_n. */
static inline livebuf_status livebuf_rename(livebuf_doc *doc, livebuf_node node,
                                            const char *from, const char *to) {
  return livebuf_rename_n(doc, node, from, livebuf_length_(from), to, livebuf_length_(to));
}

/** Sets a member to null. */
static inline livebuf_status livebuf_set_null(livebuf_doc *doc, livebuf_node node,
                                              const char *key) {
  return livebuf_set(doc, node, key, livebuf_null());
}

/** Sets a member to a boolean. */
static inline livebuf_status livebuf_set_bool(livebuf_doc *doc, livebuf_node node,
                                              const char *key, bool value) {
  return livebuf_set(doc, node, key, livebuf_bool(value));
}

/** Sets a member to an integer. */
static inline livebuf_status livebuf_set_i64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, int64_t value) {
  return livebuf_set(doc, node, key, livebuf_i64(value));
}

/** Sets a member to an integer without sign. */
static inline livebuf_status livebuf_set_u64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, uint64_t value) {
  return livebuf_set(doc, node, key, livebuf_u64(value));
}

/** Sets a member to a double. */
static inline livebuf_status livebuf_set_f64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, double value) {
  return livebuf_set(doc, node, key, livebuf_f64(value));
}

/** Sets a member to text that ends with NUL. */
static inline livebuf_status livebuf_set_str(livebuf_doc *doc, livebuf_node node,
                                             const char *key, const char *value) {
  return livebuf_set(doc, node, key, livebuf_string(value));
}

/** Sets a member to bytes. */
static inline livebuf_status livebuf_set_bytes(livebuf_doc *doc, livebuf_node node,
                                               const char *key, const void *bytes,
                                               size_t length) {
  return livebuf_set(doc, node, key, livebuf_blob(bytes, length));
}

/** Sets a member to an empty object, and gives its place. */
static inline livebuf_status livebuf_set_object(livebuf_doc *doc, livebuf_node node,
                                                const char *key, size_t members,
                                                livebuf_node *child) {
  return livebuf_set_n(doc, node, key, livebuf_length_(key), livebuf_object(members), child);
}

/** Sets a member to an empty array, and gives its place. */
static inline livebuf_status livebuf_set_array(livebuf_doc *doc, livebuf_node node,
                                               const char *key, size_t elements,
                                               livebuf_node *child) {
  return livebuf_set_n(doc, node, key, livebuf_length_(key), livebuf_array(elements), child);
}

/** Adds null to an array. */
static inline livebuf_status livebuf_push_null(livebuf_doc *doc, livebuf_node node) {
  return livebuf_push(doc, node, livebuf_null(), NULL);
}

/** Adds a boolean to an array. */
static inline livebuf_status livebuf_push_bool(livebuf_doc *doc, livebuf_node node, bool value) {
  return livebuf_push(doc, node, livebuf_bool(value), NULL);
}

/** Adds an integer to an array. */
static inline livebuf_status livebuf_push_i64(livebuf_doc *doc, livebuf_node node,
                                              int64_t value) {
  return livebuf_push(doc, node, livebuf_i64(value), NULL);
}

/** Adds an integer without sign to an array. */
static inline livebuf_status livebuf_push_u64(livebuf_doc *doc, livebuf_node node,
                                              uint64_t value) {
  return livebuf_push(doc, node, livebuf_u64(value), NULL);
}

/** Adds a double to an array. */
static inline livebuf_status livebuf_push_f64(livebuf_doc *doc, livebuf_node node,
                                              double value) {
  return livebuf_push(doc, node, livebuf_f64(value), NULL);
}

/** Adds text that ends with NUL to an array. */
static inline livebuf_status livebuf_push_str(livebuf_doc *doc, livebuf_node node,
                                              const char *value) {
  return livebuf_push(doc, node, livebuf_string(value), NULL);
}

/** Adds bytes to an array. */
static inline livebuf_status livebuf_push_bytes(livebuf_doc *doc, livebuf_node node,
                                                const void *bytes, size_t length) {
  return livebuf_push(doc, node, livebuf_blob(bytes, length), NULL);
}

#ifdef __cplusplus
}
#endif

#endif /* LIVEBUF_H */
