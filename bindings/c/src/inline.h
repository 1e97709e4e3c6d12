
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

/* --- reading in place ------------------------------------------------------------------ */

/* With gcc and clang, on little-endian machines and where the compiler optimises for speed,
   the common look-ups are done here instead of by a call: members of records and of tables'
   rows by a literal key, elements of arrays, text. Each offset is compared with the document's
   length before it is read. Whatever is rare or looks damaged is left to the library, so the
   answers are the same. LIVEBUF_NO_INLINE before the #include leaves all to the library.
   Comments cite the sections of docs/FORMAT.md. */
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(LIVEBUF_NO_INLINE)
#define LIVEBUF_INLINE 1
#else
#define LIVEBUF_INLINE 0
#endif

#if LIVEBUF_INLINE

#define LIVEBUF_ALWAYS_ __attribute__((always_inline)) static inline
#ifndef LIVEBUF_HOT_
#define LIVEBUF_HOT_ static inline
#endif

/* A value without its document. The tag is 0 where there is none, and one of these: */
typedef struct {
  uint64_t cell;
  uint32_t position;
  uint32_t tag;
} livebuf_cell_;

#define LIVEBUF_ASK_ 0x100u /* the library knows */

static inline livebuf_cell_ livebuf_cell_of_(uint32_t tag, uint64_t cell, uint64_t position) {
  livebuf_cell_ made;
  made.cell = cell;
  made.position = (uint32_t)position;
  made.tag = tag;
  return made;
}

static inline uint64_t livebuf_load8_(const uint8_t *from) {
  uint64_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

static inline uint32_t livebuf_load4_(const uint8_t *from) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

/* The word that a key's fingerprint is made from; of at most seven bytes its cell (3.3, 4.2).
   Of a literal the compiler knows it. */
LIVEBUF_ALWAYS_ uint64_t livebuf_mix_(const char *key,
                                                                   size_t length) {
  uint64_t mix = (uint64_t)(0x80 | length) << 56, first, last;
  if (length > 7) {
    memcpy(&first, key, 8);
    memcpy(&last, key + length - 8, 8);
    return first ^ (last << 29 | last >> 35) ^ length;
  }
  if (length > 0) mix |= (uint64_t)(uint8_t)key[0];
  if (length > 1) mix |= (uint64_t)(uint8_t)key[1] << 8;
  if (length > 2) mix |= (uint64_t)(uint8_t)key[2] << 16;
  if (length > 3) mix |= (uint64_t)(uint8_t)key[3] << 24;
  if (length > 4) mix |= (uint64_t)(uint8_t)key[4] << 32;
  if (length > 5) mix |= (uint64_t)(uint8_t)key[5] << 40;
  if (length > 6) mix |= (uint64_t)(uint8_t)key[6] << 48;
  return mix;
}

/* Whether `length` bytes, at least eight, are equal. */
static inline bool livebuf_equal_(const uint8_t *one, const char *other, size_t length) {
  const uint8_t *two = (const uint8_t *)other;
  size_t at;
  for (at = 0; at + 8 < length; at += 8) {
    if (livebuf_load8_(one + at) != livebuf_load8_(two + at)) return false;
  }
  return livebuf_load8_(one + length - 8) == livebuf_load8_(two + length - 8);
}

/* Index of a key among the first `used` of a shape (4): -1 where it is not there, -2 for the
   library. */
LIVEBUF_ALWAYS_ int livebuf_in_shape_(
    const uint8_t *bytes, uint64_t size, uint64_t shape, uint32_t used, const char *key,
    size_t length, uint64_t mix) {
  const uint64_t ones = 0x0101010101010101u;
  uint64_t wanted = (mix * 0x9E3779B97F4A7C15u >> 56) * ones, keys;
  uint32_t head, base;
  if (shape + 8 > size) return -2;
  head = livebuf_load4_(bytes + shape);
  if ((head & 0xFF) != 1) return -2;
  if (used > (head >> 16 & 0xFF)) used = head >> 16 & 0xFF;
  keys = shape + ((8 + (head >> 8 & 0xFF) + 7) & ~(uint64_t)7);
  /* The fingerprints end before the keys of as many places do. */
  if (keys + 8 * (uint64_t)used > size) return -2;
  for (base = 0; base < used; base += 8) {
    uint64_t word = livebuf_load8_(bytes + shape + 8 + base) ^ wanted;
    uint64_t marks = (word - ones) & ~word & ones << 7;
    for (; marks; marks &= marks - 1) {
      uint32_t index = base + (uint32_t)__builtin_ctzll(marks) / 8;
      uint64_t cell;
      if (index >= used) break;
      cell = livebuf_load8_(bytes + keys + 8 * (uint64_t)index);
      if (length <= 7) {
        if (cell == mix) return (int)index;
      } else if ((cell >> 32 & 0xBFFFFFFFu) == length) {
        if ((uint32_t)cell + (uint64_t)length > size) return -2;
        if (livebuf_equal_(bytes + (uint32_t)cell, key, length)) return (int)index;
      }
    }
  }
  return -1;
}

/* What the column with this header has in a slot (6.1, 6.2). */
LIVEBUF_ALWAYS_ livebuf_cell_ livebuf_in_column_(
    const uint8_t *bytes, uint64_t size, uint64_t header, uint32_t slot) {
  const livebuf_cell_ ask = livebuf_cell_of_(LIVEBUF_ASK_, 0, 0);
  uint64_t first, second, data, at;
  uint32_t column, gaps;
  float single;
  double number;
  if (header + 16 > size) return ask;
  first = livebuf_load8_(bytes + header);
  second = livebuf_load8_(bytes + header + 8);
  column = first >> 8 & 0xFF;
  gaps = first >> 16 & 0xFF;
  data = second >> 32;
  if ((first & 0xFF) != 5 || slot >= first >> 32) return ask;
  if (gaps) {
    /* Bitmaps of nested columns lie elsewhere, and two of them are rare. */
    if (gaps > 2 || column > 12 || data + slot / 8 + 1 > size) return ask;
    if (!(bytes[data + slot / 8] >> (slot & 7) & 1)) {
      return livebuf_cell_of_(gaps == 1 ? LIVEBUF_TAG_NULL : 0, 0, 0);
    }
    data += ((second & 0xFFFFFFFFu) + 63) / 64 * 8;
  }
  switch (column) {
    case 0: /* tagged cells */
      at = data + 8 + 8 * (uint64_t)slot + 8 * (slot / 8);
      if (at + 8 > size) return ask;
      return livebuf_cell_of_(bytes[data + 72 * (uint64_t)(slot / 8) + slot % 8],
                              livebuf_load8_(bytes + at), at);
    case 2:
      at = data + slot;
      if (at + 1 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, (uint64_t)(int64_t)(int8_t)bytes[at], 0);
    case 3:
      at = data + 2 * (uint64_t)slot;
      if (at + 2 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64,
                              (uint64_t)(int64_t)(int16_t)(bytes[at] | bytes[at + 1] << 8), 0);
    case 4:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64,
                              (uint64_t)(int64_t)(int32_t)livebuf_load4_(bytes + at), 0);
    case 5:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, livebuf_load8_(bytes + at), 0);
    case 6:
      at = data + slot;
      if (at + 1 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, bytes[at], 0);
    case 7:
      at = data + 2 * (uint64_t)slot;
      if (at + 2 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, (uint64_t)(bytes[at] | bytes[at + 1] << 8), 0);
    case 8:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_I64, livebuf_load4_(bytes + at), 0);
    case 9:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      first = livebuf_load8_(bytes + at);
      return livebuf_cell_of_(first >> 63 ? LIVEBUF_TAG_U64 : LIVEBUF_TAG_I64, first, 0);
    case 10:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      memcpy(&single, bytes + at, 4);
      number = single;
      memcpy(&first, &number, 8);
      return livebuf_cell_of_(LIVEBUF_TAG_F64, first, 0);
    case 11:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_F64, livebuf_load8_(bytes + at), 0);
    case 12:
      at = data + 8 * (uint64_t)slot;
      if (at + 8 > size) return ask;
      return livebuf_cell_of_(LIVEBUF_TAG_STRING, livebuf_load8_(bytes + at), at);
    case 13: /* homes of objects, or of arrays */
    case 14:
      at = data + 4 * (uint64_t)slot;
      if (at + 4 > size) return ask;
      return livebuf_cell_of_(column == 13 ? LIVEBUF_TAG_OBJECT : LIVEBUF_TAG_ARRAY,
                              livebuf_load4_(bytes + at), at);
    case 16: /* a row of a table, named by the table and the upper half of the cell */
      return livebuf_cell_of_(LIVEBUF_TAG_OBJECT,
                              data | (uint64_t)(slot | 0x80000000u) << 32, 0);
    default: return ask;
  }
}

/* The member of an object with a key, by the object's cell: a record (5) or a row (6.3). */
LIVEBUF_HOT_ livebuf_cell_ livebuf_member_(const livebuf_doc *doc, uint64_t object,
                                                  const char *key, size_t length,
                                                  uint64_t mix) {
  const livebuf_cell_ ask = livebuf_cell_of_(LIVEBUF_ASK_, 0, 0);
  const livebuf_cell_ none = livebuf_cell_of_(0, 0, 0);
  const uint8_t *bytes = doc->bytes;
  uint64_t size = doc->length, home = (uint32_t)object, head, at;
  uint32_t row = (uint32_t)(object >> 32), used;
  int found;
  if (home + 24 > size) return ask;
  head = livebuf_load8_(bytes + home);
  if (row & 0x80000000u) {
    row &= 0x7FFFFFFFu;
    used = head >> 8 & 0xFF;
    if ((head & 0xFF) != 8 || !used || row >= livebuf_load4_(bytes + home + 8)) return ask;
    found = livebuf_in_shape_(bytes, size, head >> 32, used, key, length, mix);
    /* What no column has may be among the extras. */
    if (found < 0) return found == -2 || livebuf_load4_(bytes + home + 20) ? ask : none;
    return livebuf_in_column_(bytes, size, home + 24 + 16 * (uint64_t)found, row);
  }
  used = head >> 16 & 0xFF;
  if ((head & 0xFF) != 2) return ask;
  if (!used) return none;
  found = livebuf_in_shape_(bytes, size, head >> 32, used, key, length, mix);
  if (found < 0) return found == -2 ? ask : none;
  at = home + 16 + 8 * (uint64_t)found + 8 * ((uint64_t)found / 8);
  if (at + 8 > size) return ask;
  return livebuf_cell_of_(bytes[home + 8 + 72 * ((uint64_t)found / 8) + (uint64_t)found % 8],
                          livebuf_load8_(bytes + at), at);
}

/* The element of an array, by the array's cell; arrays in lists and such that moved are left to
   the library. */
static inline livebuf_cell_ livebuf_element_(const livebuf_doc *doc, uint64_t array,
                                             size_t index) {
  livebuf_cell_ found;
  if (array >> 32 || index > 0x7FFFFFFFu) return livebuf_cell_of_(LIVEBUF_ASK_, 0, 0);
  found = livebuf_in_column_(doc->bytes, doc->length, array, (uint32_t)index);
  if (!found.tag) found.tag = LIVEBUF_ASK_;
  return found;
}

/* A value of the same document, or none. */
LIVEBUF_ALWAYS_ livebuf_value livebuf_of_(livebuf_value from, livebuf_cell_ found) {
  livebuf_value value;
  value.doc = found.tag ? from.doc : NULL;
  value.cell = found.cell;
  value.position = found.position;
  value.generation = from.generation;
  value.tag = found.tag;
  value.status = found.tag ? LIVEBUF_OK : LIVEBUF_NOT_FOUND;
  return value;
}

/* Whether this is a value of that tag, and its document was not edited since. */
LIVEBUF_ALWAYS_ bool livebuf_is_(livebuf_value value, uint32_t tag) {
  return value.tag == tag && value.doc && value.doc->generation == value.generation;
}

#endif /* LIVEBUF_INLINE */

/* Calls that choose by what the compiler knows of their arguments. */
#if LIVEBUF_INLINE
#define LIVEBUF_THIN_ LIVEBUF_ALWAYS_
#else
#define LIVEBUF_THIN_ static inline
#endif

/* Reading. Each is the call it names with text that ends with NUL. */

/** The member of an object with this key. As livebuf_get_n. */
LIVEBUF_THIN_ livebuf_value livebuf_get(livebuf_value object, const char *key) {
  size_t length = livebuf_length_(key);
#if LIVEBUF_INLINE
  if (__builtin_constant_p(length) && livebuf_is_(object, LIVEBUF_TAG_OBJECT)) {
    livebuf_cell_ found =
        livebuf_member_(object.doc, object.cell, key, length, livebuf_mix_(key, length));
    if (found.tag != LIVEBUF_ASK_) return livebuf_of_(object, found);
  }
#endif
  return livebuf_get_n(object, key, length);
}

#if LIVEBUF_INLINE

/* These have the names of the library's functions, which they call where there is more to do. */

LIVEBUF_ALWAYS_ livebuf_value livebuf_at_(livebuf_value array, size_t index) {
  if (livebuf_is_(array, LIVEBUF_TAG_ARRAY)) {
    livebuf_cell_ found = livebuf_element_(array.doc, array.cell, index);
    if (found.tag != LIVEBUF_ASK_) return livebuf_of_(array, found);
  }
  return livebuf_at(array, index);
}
#define livebuf_at(array, index) livebuf_at_(array, index)

LIVEBUF_ALWAYS_ livebuf_str livebuf_get_str_(livebuf_value value) {
  if (livebuf_is_(value, LIVEBUF_TAG_STRING)) {
    /* 3.3: in the cell itself, or elsewhere. */
    uint32_t word = (uint32_t)(value.cell >> 32);
    bool inside = word >> 31;
    uint64_t at = inside ? value.position : (uint32_t)value.cell;
    uint32_t length = inside ? word >> 24 & 0x7F : word & 0x3FFFFFFF;
    if (at + length <= value.doc->length && (!inside || length <= 7)) {
      livebuf_str text;
      text.data = (const char *)value.doc->bytes + at;
      text.length = length;
      text.generation = value.generation;
      return text;
    }
  }
  return livebuf_get_str(value);
}
#define livebuf_get_str(value) livebuf_get_str_(value)

LIVEBUF_ALWAYS_ bool livebuf_next_(livebuf_iter *iter) {
  if (iter && iter->private_rows && iter->private_doc->generation == iter->private_generation) {
    iter->value.doc = iter->private_doc;
    iter->value.cell = iter->private_row;
    iter->value.position = 0;
    iter->value.generation = iter->private_generation;
    iter->value.tag = LIVEBUF_TAG_OBJECT;
    iter->value.status = LIVEBUF_OK;
    iter->index++;
    iter->private_row += (uint64_t)1 << 32;
    iter->private_rows--;
    return true;
  }
  return livebuf_next(iter);
}
#define livebuf_next(iter) livebuf_next_(iter)

#endif /* LIVEBUF_INLINE */

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
  return livebuf_set_i64_n(doc, node, key, livebuf_length_(key), value);
}

/** Sets a member to an integer without sign. */
static inline livebuf_status livebuf_set_u64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, uint64_t value) {
  return livebuf_set(doc, node, key, livebuf_u64(value));
}

/** Sets a member to a double. */
static inline livebuf_status livebuf_set_f64(livebuf_doc *doc, livebuf_node node,
                                             const char *key, double value) {
  return livebuf_set_f64_n(doc, node, key, livebuf_length_(key), value);
}

/** Sets a member to text that ends with NUL. */
static inline livebuf_status livebuf_set_str(livebuf_doc *doc, livebuf_node node,
                                             const char *key, const char *value) {
  return livebuf_set_str_n(doc, node, key, livebuf_length_(key), value, livebuf_length_(value));
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
