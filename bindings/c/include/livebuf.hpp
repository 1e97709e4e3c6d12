// LiveBuf for C++17: livebuf.h with owners, views, operators and conversions. Header only.
//
//   auto doc = livebuf::document::parse(R"({"laps": [{"lap": 1, "sec": 88.25}]})");
//   double sec = doc["laps"][0]["sec"].value_or(0.0);
//   doc["laps"][0]["sec"] = 87.5;
//   for (livebuf::value lap : doc["laps"].get().elements()) use(lap["lap"].value_or(0));
//
// Owners:     document manages its memory; buffer is over your memory and never
//             allocates. Both move, neither copies (document::copy does).
// Batches:    transaction makes edits whole or not at all, recording notes which bytes change.
// Changes:    delta_recording makes a delta to be sent, history undoes and redoes, doc.patch and
//             doc.merge change documents by others, diff and merge_diff make such patches.
// Queries:    query finds values by JSONPath (RFC 9535), and edits all of them.
// Messages:   prepared writes messages of one kind, each by a copy and a few stores.
// Views:      value, and what comes of it, borrow the document. After an edit they are
//             stale: they read as if nothing were there, and error() says so.
// Errors:     Without exceptions (-fno-exceptions) everything answers: optionals, statuses,
//             values that are not there. With them there are, beside these, the throwing
//             document::parse, value::as<T>(), livebuf::check(status); assigning to
//             doc["a"] throws then, and else is told by doc.error().
// Conversion: your struct converts where this is found beside it:
//               inline auto livebuf_fields(const Lap *) {
//                 return livebuf::fields(livebuf::field("lap", &Lap::lap), ...);
//               }
// Threads:    as in livebuf.h.
#ifndef LIVEBUF_HPP
#define LIVEBUF_HPP

#if !defined(__cplusplus) || (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 201703L
#error "livebuf.hpp needs C++17 or newer (-std=c++17); C and older C++ include livebuf.h"
#else

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "livebuf.h"

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define LIVEBUF_EXCEPTIONS 1
#include <exception>
#else
#define LIVEBUF_EXCEPTIONS 0
#endif

namespace livebuf {

// --- errors -----------------------------------------------------------------------------

/// How a call went; true in a condition where it went well.
class status {
 public:
  constexpr status(livebuf_status code = LIVEBUF_OK) noexcept : code_(code) {}
  constexpr explicit operator bool() const noexcept { return code_ == LIVEBUF_OK; }
  constexpr livebuf_status code() const noexcept { return code_; }
  const char *what() const noexcept { return livebuf_strerror(code_); }
  friend constexpr bool operator==(status a, status b) noexcept { return a.code_ == b.code_; }
  friend constexpr bool operator!=(status a, status b) noexcept { return a.code_ != b.code_; }

 private:
  livebuf_status code_;
};

#if LIVEBUF_EXCEPTIONS
/// What the throwing calls throw.
class exception : public std::exception {
 public:
  explicit exception(livebuf_error error) noexcept : error_(error) {
    livebuf_error_text(error, text_, sizeof text_);
  }
  /// The status alone, of which no place is known.
  explicit exception(status status) noexcept : error_{status.code(), 0, 0, 0, 0, 0} {
    std::strncpy(text_, status.what(), sizeof text_ - 1);
  }
  /// What went wrong, with its place and detail.
  const char *what() const noexcept override { return text_; }
  /// Status, byte offset, and line and column in JSON text.
  const livebuf_error &error() const noexcept { return error_; }

 private:
  livebuf_error error_;
  char text_[160] = {};
};

/// Throws what went wrong, if anything did.
inline void check(status status) {
  if (!status) throw exception(status);
}
#endif

/// An error as one line of English, with its place and detail.
inline std::string text(const livebuf_error &error) {
  std::string line(livebuf_error_text(error, nullptr, 0) + 1, '\0');
  line.resize(livebuf_error_text(error, &line[0], line.size()));
  return line;
}

namespace detail {

inline std::string_view view(livebuf_str text) noexcept {
  return text.data ? std::string_view(text.data, text.length) : std::string_view();
}

/// Throws, where that is wanted; else the document's own error has to do.
inline status settled(const livebuf_doc *doc, status status) {
#if LIVEBUF_EXCEPTIONS
  if (!status) {
    livebuf_error error = livebuf_last_error(doc);
    error.status = status.code();
    throw exception(error);
  }
#else
  (void)doc;
#endif
  return status;
}

template <class T>
struct always_false : std::false_type {};

template <class T>
using described = decltype(livebuf_fields(static_cast<const T *>(nullptr)));

template <class T, class = void>
struct has_fields : std::false_type {};
template <class T>
struct has_fields<T, std::void_t<described<T>>> : std::true_type {};

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T>
struct is_list : std::false_type {};
template <class T, class A>
struct is_list<std::vector<T, A>> : std::true_type {};

template <class T>
struct is_array : std::false_type {};
template <class T, std::size_t N>
struct is_array<std::array<T, N>> : std::true_type {};

template <class T>
struct is_dictionary : std::false_type {};
template <class V, class C, class A>
struct is_dictionary<std::map<std::string, V, C, A>> : std::true_type {};

/// Whole days: std::chrono::sys_days, which C++17 has no name for.
template <class T>
struct is_date : std::false_type {};
template <class Count>
struct is_date<std::chrono::time_point<std::chrono::system_clock,
                                       std::chrono::duration<Count, std::ratio<86400>>>>
    : std::is_integral<Count> {};

}  // namespace detail

/// A date: std::chrono::sys_days is one, too, and goes wherever this goes.
using date = std::chrono::time_point<std::chrono::system_clock,
                                     std::chrono::duration<std::int32_t, std::ratio<86400>>>;

/// A moment: std::chrono::sys_time<std::chrono::microseconds>. Others are cast first, by
/// std::chrono::time_point_cast, so that nothing is lost unseen.
using timestamp =
    std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// A time of day.
struct time_of_day {
  std::chrono::microseconds since_midnight{};
  friend constexpr bool operator==(time_of_day a, time_of_day b) noexcept {
    return a.since_midnight == b.since_midnight;
  }
  friend constexpr bool operator!=(time_of_day a, time_of_day b) noexcept { return !(a == b); }
};

/// A date and time of day without a time zone.
struct date_time {
  std::chrono::microseconds since_1970{};
  friend constexpr bool operator==(date_time a, date_time b) noexcept {
    return a.since_1970 == b.since_1970;
  }
  friend constexpr bool operator!=(date_time a, date_time b) noexcept { return !(a == b); }
};

/// A decimal number: decimal(1990, 2) is 19.90. As text it goes by extended("19.90").
struct decimal {
  constexpr decimal() noexcept : decimal(0) {}
  constexpr explicit decimal(std::int64_t coefficient, std::uint32_t scale = 0) noexcept
      : raw{static_cast<std::uint64_t>(coefficient), coefficient < 0 ? -1 : 0, scale, 0} {}
  constexpr explicit decimal(const livebuf_decimal &parts) noexcept : raw(parts) {}
  /// The same coefficient and scale: 1.5 and 1.50 differ.
  friend constexpr bool operator==(const decimal &a, const decimal &b) noexcept {
    return a.raw.low == b.raw.low && a.raw.high == b.raw.high && a.raw.scale == b.raw.scale;
  }
  friend constexpr bool operator!=(const decimal &a, const decimal &b) noexcept {
    return !(a == b);
  }
  livebuf_decimal raw;
};

/// A UUID: its bytes in the order of its text.
struct uuid {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const uuid &a, const uuid &b) noexcept { return a.bytes == b.bytes; }
  friend bool operator!=(const uuid &a, const uuid &b) noexcept { return !(a == b); }
};

/// Stores the date, time, decimal or UUID of a text: doc["due"] = livebuf::extended("2026-11-23").
struct extended {
  explicit extended(std::string_view of) noexcept : text(of) {}
  std::string_view text;
};

/// A member of your struct, and its key.
template <class Owner, class Member>
struct field_of {
  std::string_view key;
  Member Owner::*member;
};

template <class Owner, class Member>
constexpr field_of<Owner, Member> field(std::string_view key, Member Owner::*member) {
  return {key, member};
}

/// What livebuf_fields answers.
template <class... Fields>
constexpr std::tuple<Fields...> fields(Fields... all) {
  return {all...};
}

/// Numbers side by side in the document, as std::span has them.
template <class T>
class span {
 public:
  constexpr span() noexcept = default;
  constexpr span(const T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  constexpr const T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const T *begin() const noexcept { return data_; }
  constexpr const T *end() const noexcept { return data_ + size_; }
  constexpr const T &operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  const T *data_ = nullptr;
  std::size_t size_ = 0;
};

using bytes_view = span<std::uint8_t>;

/// A key that remembers where it was found. Its text must outlive it, as literals do.
class key {
 public:
  explicit key(std::string_view text) noexcept {
    livebuf_key_init_n(&key_, text.data(), text.size());
  }
  const livebuf_key *get() const noexcept { return &key_; }

 private:
  livebuf_key key_;
};

class value;

// --- iterating --------------------------------------------------------------------------

namespace detail {

struct sentinel {};

/// Steps of a C iterator. The end may also be an error, which range::error tells.
template <class Item>
class steps {
 public:
  using value_type = Item;
  using difference_type = std::ptrdiff_t;
  using pointer = const Item *;
  using reference = Item;
  using iterator_category = std::input_iterator_tag;

  explicit steps(livebuf_iter *iter) noexcept : iter_(iter) { ++*this; }
  steps &operator++() noexcept {
    if (!livebuf_next(iter_)) iter_ = nullptr;
    return *this;
  }
  Item operator*() const noexcept { return Item::of(*iter_); }
  friend bool operator==(const steps &at, sentinel) noexcept { return !at.iter_; }
  friend bool operator!=(const steps &at, sentinel) noexcept { return at.iter_; }

 private:
  livebuf_iter *iter_;
};

}  // namespace detail

/// Something to go over once with a range-for.
template <class Item>
class range {
 public:
  explicit range(const livebuf_iter &iter) noexcept : iter_(iter) {}
  detail::steps<Item> begin() noexcept { return detail::steps<Item>(&iter_); }
  detail::sentinel end() const noexcept { return {}; }
  /// Why it ended early, if it did.
  const livebuf_error &error() const noexcept { return iter_.error; }

 private:
  livebuf_iter iter_;
};

// --- reading ----------------------------------------------------------------------------

/// The texts of a column that lie behind each other, and where each begins.
class run {
 public:
  explicit operator bool() const noexcept { return run_.bytes; }
  /// Count of rows.
  std::size_t size() const noexcept { return run_.count; }
  /// The text of a row; where the row has none, empty or zeros (see livebuf_run). Empty, too, where
  /// damaged offsets say no text.
  std::string_view operator[](std::size_t row) const noexcept {
    if (row >= run_.count) return {};
    const std::size_t begin = offset(row), end = offset(row + 1);
    return end <= run_.length && begin <= end ? std::string_view(run_.bytes + begin, end - begin)
                                              : std::string_view();
  }
  /// All texts, also those before the first row where the rows are a part of a column with offsets.
  std::string_view bytes() const noexcept { return {run_.bytes, run_.length}; }
  /// Where the text of each row begins in bytes(), and where the last one ends: one number more
  /// than rows, if offsets are exactly of this type; else empty.
  template <class T>
  span<T> offsets() const noexcept {
    static_assert(std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t> ||
                      std::is_same_v<T, std::uint32_t>,
                  "offsets<std::uint8_t>, offsets<std::uint16_t> or offsets<std::uint32_t>");
    const bool fits = run_.width == sizeof(T);
    return fits ? span<T>(static_cast<const T *>(run_.offsets), run_.count + 1) : span<T>();
  }

  const livebuf_run *get() const noexcept { return &run_; }

 private:
  friend class column;
  std::size_t offset(std::size_t row) const noexcept {
    switch (run_.width) {
      // All texts have one length.
      case 0: return row * (run_.length / run_.count);
      case 1: return static_cast<const std::uint8_t *>(run_.offsets)[row];
      case 2: return static_cast<const std::uint16_t *>(run_.offsets)[row];
      default: return static_cast<const std::uint32_t *>(run_.offsets)[row];
    }
  }

  livebuf_run run_ = {};
};

namespace detail {

/// The type of a column or tensor whose numbers are of this type.
template <class T>
constexpr livebuf_column_type code() {
  static_assert(!std::is_same_v<T, bool>,
                "booleans are bits: use operator[]; those of tensors are std::uint8_t");
  if constexpr (std::is_same_v<T, uuid>) return LIVEBUF_COLUMN_UUID;
  if constexpr (std::is_same_v<T, float>) return LIVEBUF_COLUMN_F32;
  if constexpr (std::is_same_v<T, double>) return LIVEBUF_COLUMN_F64;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return sizeof(T) == 1   ? LIVEBUF_COLUMN_I8
           : sizeof(T) == 2 ? LIVEBUF_COLUMN_I16
           : sizeof(T) == 4 ? LIVEBUF_COLUMN_I32
                            : LIVEBUF_COLUMN_I64;
  }
  if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    return sizeof(T) == 1   ? LIVEBUF_COLUMN_U8
           : sizeof(T) == 2 ? LIVEBUF_COLUMN_U16
           : sizeof(T) == 4 ? LIVEBUF_COLUMN_U32
                            : LIVEBUF_COLUMN_U64;
  }
}

/// Whether the slots of a column or tensor of this type are a T each.
template <class T>
constexpr bool holds(livebuf_column_type type) {
  if (std::is_same_v<T, float> &&
      (type == LIVEBUF_COLUMN_NUMBERS_F32 || type == LIVEBUF_COLUMN_MARKED_F32)) {
    return true;
  }
  if (std::is_same_v<T, double> &&
      (type == LIVEBUF_COLUMN_NUMBERS_F64 || type == LIVEBUF_COLUMN_MARKED_F64)) {
    return true;
  }
  if (std::is_same_v<T, std::int32_t> && type == LIVEBUF_COLUMN_DATE) return true;
  if (std::is_same_v<T, std::int64_t> &&
      (type == LIVEBUF_COLUMN_TIME || type == LIVEBUF_COLUMN_DATE_TIME ||
       type == LIVEBUF_COLUMN_TIMESTAMP)) {
    return true;
  }
  if (std::is_same_v<T, std::uint16_t> && type == LIVEBUF_COLUMN_F16) return true;
  if (std::is_same_v<T, std::uint8_t> && type == LIVEBUF_COLUMN_BOOL8) return true;
  return type == code<T>();
}

}  // namespace detail

/// Numbers of one type, in rows of one shape: those of a document, by value::get<tensor>(), or
/// those to be stored: doc["weights"] = livebuf::tensor(weights, {2, 3}). It borrows the numbers.
class tensor {
 public:
  /// None: it has no dimensions, and cannot be stored.
  tensor() noexcept = default;
  explicit tensor(const livebuf_tensor &raw) noexcept : raw_(raw) {}
  /// To be stored: as many numbers from `numbers` on as the shape says. Of LIVEBUF_COLUMN_F16 the
  /// bits are std::uint16_t, of LIVEBUF_COLUMN_BOOL8 they are std::uint8_t, 0 or 1; name these.
  /// What cannot be stored is refused by the call that stores it: LIVEBUF_TENSOR_MISMATCH.
  template <class T, class Shape = std::initializer_list<std::size_t>>
  tensor(const T *numbers, const Shape &shape, livebuf_column_type type = detail::code<T>())
      : tensor(numbers, 0, shape, type) {
    raw_.length = size() * sizeof(T);
  }
  /// To be stored: the numbers of a vector, which are as many as the shape says.
  template <class T, class A, class Shape = std::initializer_list<std::size_t>>
  tensor(const std::vector<T, A> &numbers, const Shape &shape,
         livebuf_column_type type = detail::code<T>())
      : tensor(numbers.data(), numbers.size(), shape, type) {}

  /// The type of the numbers.
  livebuf_column_type type() const noexcept {
    return static_cast<livebuf_column_type>(raw_.column_type);
  }
  /// The length of each dimension.
  span<std::uint32_t> shape() const noexcept {
    const bool fits = raw_.dimensions <= LIVEBUF_MAX_DIMENSIONS;
    return span<std::uint32_t>(raw_.shape, fits ? raw_.dimensions : LIVEBUF_MAX_DIMENSIONS);
  }
  /// Count of the numbers.
  std::size_t size() const noexcept {
    std::size_t count = raw_.dimensions ? 1 : 0;
    for (std::uint32_t length : shape()) count *= length;
    return count;
  }
  /// The numbers, the last dimension's behind each other, where they are of this type (as for
  /// column::slice) and aligned for it, as in documents whose memory is; else nullptr. Of a
  /// document, good until its next edit.
  template <class T>
  const T *data() const noexcept {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(raw_.data) % alignof(T) == 0;
    return is_aligned && detail::holds<T>(type()) ? static_cast<const T *>(raw_.data) : nullptr;
  }
  /// The bytes of the numbers.
  bytes_view bytes() const noexcept {
    return {static_cast<const std::uint8_t *>(raw_.data), raw_.length};
  }

  const livebuf_tensor *get() const noexcept { return &raw_; }

 private:
  template <class T, class Shape>
  tensor(const T *numbers, std::size_t count, const Shape &shape, livebuf_column_type type) {
    raw_.column_type = detail::holds<T>(type) ? type : LIVEBUF_COLUMN_CELLS;
    raw_.data = numbers;
    raw_.length = count * sizeof(T);
    for (auto length : shape) {
      if (raw_.dimensions < LIVEBUF_MAX_DIMENSIONS) {
        const auto wide = static_cast<std::uint64_t>(length);
        raw_.shape[raw_.dimensions] =
            wide < UINT32_MAX ? static_cast<std::uint32_t>(wide) : UINT32_MAX;
      }
      raw_.dimensions++;
    }
  }

  livebuf_tensor raw_ = {};
};

/// A column of numbers, text or anything: all rows of a table under one key, or an array.
class column {
 public:
  explicit operator bool() const noexcept { return column_.private_doc; }
  std::size_t size() const noexcept { return column_.length; }
  livebuf_column_type type() const noexcept {
    return static_cast<livebuf_column_type>(column_.column_type);
  }
  value operator[](std::size_t row) const noexcept;

  /// The numbers as they lie in the document, where they are exactly of this type and every
  /// row has one; else empty, and copy() does. Of dates the days are std::int32_t, of times the
  /// microseconds std::int64_t; of UUIDs it is uuid. Of tensors of halves their bits are
  /// std::uint16_t, of booleans they are std::uint8_t.
  template <class T>
  span<T> slice() const noexcept {
    std::size_t count = 0;
    const void *data = livebuf_column_slice(&column_, &count);
    const bool fits = detail::holds<T>(type());
    return data && fits ? span<T>(static_cast<const T *>(data), count) : span<T>();
  }

  /// The codes of a dictionary column as they lie in the document, where they are exactly of
  /// this type and every row has a text; else empty.
  template <class T>
  span<T> codes() const noexcept {
    constexpr auto wide = LIVEBUF_COLUMN_DICTIONARY_U16, narrow = LIVEBUF_COLUMN_DICTIONARY_U8;
    static_assert(std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t>,
                  "codes<std::uint8_t> or codes<std::uint16_t>");
    std::size_t count = 0;
    const void *data = livebuf_column_slice(&column_, &count);
    const bool fits = type() == (sizeof(T) == 1 ? narrow : wide);
    return data && fits ? span<T>(static_cast<const T *>(data), count) : span<T>();
  }

  /// The texts of a dictionary column, by their codes; false where it is none.
  column texts() const noexcept {
    column texts;
    livebuf_column_texts(&column_, &texts.column_);
    return texts;
  }

  /// The texts behind each other, and where each ends; false where texts are stored otherwise.
  livebuf::run run() const noexcept {
    livebuf::run run;
    livebuf_column_run(&column_, &run.run_);
    return run;
  }

  /// All rows as one tensor, where each is a tensor of one type and shape.
  std::optional<livebuf::tensor> tensor() const noexcept {
    livebuf_tensor raw;
    if (livebuf_column_tensor(&column_, &raw) != LIVEBUF_OK) return std::nullopt;
    return livebuf::tensor(raw);
  }

  /// All rows as integers or doubles of the widest kind; `fallback` where there is none. Of dates
  /// the integers are days, of times microseconds.
  template <class T>
  std::vector<T> copy(T fallback = T()) const {
    std::vector<T> values(size());
    std::size_t count = 0;
    if constexpr (std::is_same_v<T, double>) {
      count = livebuf_column_f64s(&column_, 0, values.data(), values.size(), fallback);
    } else {
      static_assert(std::is_same_v<T, std::int64_t>, "copy<double> or copy<std::int64_t>");
      count = livebuf_column_i64s(&column_, 0, values.data(), values.size(), fallback);
    }
    values.resize(count);
    return values;
  }

  /// The first row that holds this.
  template <class T>
  std::optional<std::size_t> find(const T &wanted) const noexcept;

  livebuf_column *get() noexcept { return &column_; }

 private:
  livebuf_column column_ = {};
};

struct member;

/// A value of a document, or the news that there is none. Copying it is cheap.
class value {
 public:
  value() noexcept : value_() {}
  value(livebuf_value raw) noexcept : value_(raw) {}
  static value of(const livebuf_iter &iter) noexcept { return iter.value; }

  livebuf_value raw() const noexcept { return value_; }
  livebuf_kind kind() const noexcept { return livebuf_kind_of(value_); }
  /// Whether there is a value.
  explicit operator bool() const noexcept { return livebuf_exists(value_); }
  bool exists() const noexcept { return livebuf_exists(value_); }
  bool is_null() const noexcept { return livebuf_is_null(value_); }
  bool is_object() const noexcept { return kind() == LIVEBUF_KIND_OBJECT; }
  bool is_array() const noexcept { return kind() == LIVEBUF_KIND_ARRAY; }
  bool is_string() const noexcept { return kind() == LIVEBUF_KIND_STRING; }
  /// Members, elements or bytes of text.
  std::size_t size() const noexcept { return livebuf_count(value_); }
  /// Why there is no value, or what is damaged in it. Of its type read() tells.
  livebuf_error error() const noexcept { return livebuf_value_error(value_); }

  value operator[](std::string_view name) const noexcept {
    return livebuf_get_n(value_, name.data(), name.size());
  }
  value operator[](const char *name) const noexcept { return livebuf_get(value_, name); }
  value operator[](const key &name) const noexcept {
    return livebuf_get_key(value_, name.get());
  }
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  value operator[](I index) const noexcept {
    return livebuf_at(value_, static_cast<std::size_t>(index));
  }
  /// The value at a JSON pointer below this one.
  value pointer(std::string_view pointer) const noexcept {
    return livebuf_pointer_n(value_, pointer.data(), pointer.size());
  }

  /// The value as a T: bool, integers it fits, doubles, std::string_view, std::string,
  /// bytes_view, std::optional, std::vector, std::array, std::map<std::string, T>, value,
  /// date and std::chrono::sys_days, timestamp, time_of_day, date_time, decimal, uuid, tensor,
  /// and structs with livebuf_fields.
  template <class T>
  std::optional<T> get() const {
    std::optional<T> result(std::in_place);
    if (!to(*result)) result.reset();
    return result;
  }

  /// The same, or this.
  template <class T>
  T value_or(T fallback) const {
    T result{};
    return to(result) ? result : fallback;
  }
  std::string_view value_or(const char *fallback) const noexcept {
    return value_or<std::string_view>(fallback);
  }

  /// The same into a variable; false, and the variable may hold a part, where it is not so.
  template <class T>
  bool to(T &result) const;

  /// The same with the reason: LIVEBUF_WRONG_TYPE where there is a value that is no T, or the
  /// value's own status. The variable is as it was where it is not so.
  template <class T>
  status read(T &result) const {
    T made{};
    if (!to(made)) return why_not().status;
    result = std::move(made);
    return status();
  }

#if LIVEBUF_EXCEPTIONS
  /// The same; throws where it is not so.
  template <class T>
  T as() const {
    T result{};
    if (!to(result)) throw exception(why_not());
    return result;
  }
#endif

  /// Elements of an array, or an object's values.
  range<value> elements(bool descending = false) const noexcept {
    return range<value>(iterate(descending));
  }
  /// Members of an object in the order they were added.
  range<member> members(bool descending = false) const noexcept {
    return range<member>(iterate(descending));
  }
  /// Members with keys from `low` to before `high`, ordered by key. The texts must outlive it.
  range<member> between(std::string_view low, std::string_view high,
                        std::uint32_t flags = 0) const noexcept {
    livebuf_iter iter;
    livebuf_range_n(value_, low.data(), low.size(), high.data(), high.size(), flags, &iter);
    return range<member>(iter);
  }
  /// Members whose keys begin so, ordered by key. The text must outlive it.
  range<member> prefix(std::string_view prefix, std::uint32_t flags = 0) const noexcept {
    livebuf_iter iter;
    livebuf_prefix_n(value_, prefix.data(), prefix.size(), flags, &iter);
    return range<member>(iter);
  }

  /// A column of an array of similar objects: "/user/id"; "" is the array itself.
  livebuf::column column(std::string_view pointer) const noexcept {
    livebuf::column found;
    livebuf_column_n(value_, pointer.data(), pointer.size(), found.get());
    return found;
  }
  template <class T>
  span<T> column(std::string_view pointer) const noexcept {
    return column(pointer).slice<T>();
  }

  /// The text of a date, time, decimal or UUID; empty for all else.
  std::string extended_text() const {
    char text[48];
    return std::string(text, livebuf_extended_text(value_, text, sizeof text));
  }

  /// JSON text; empty where the value is not there or cannot be printed.
  std::string json(std::uint32_t indent = 0) const {
    livebuf_json_options options = {};
    options.indent = indent;
    std::size_t length = 0;
    std::string text;
    if (livebuf_to_json(value_, &options, nullptr, 0, &length) != LIVEBUF_NO_SPACE) return text;
    text.resize(length);
    if (livebuf_to_json(value_, &options, &text[0], length, &length)) text.clear();
    return text;
  }

 private:
  /// Why `to` failed: no value, or of another type.
  livebuf_error why_not() const noexcept {
    livebuf_error error = this->error();
    if (error.status == LIVEBUF_OK) error.status = LIVEBUF_WRONG_TYPE;
    return error;
  }

  livebuf_iter iterate(bool descending) const noexcept {
    livebuf_iter iter;
    livebuf_iterate(value_, descending ? LIVEBUF_DESCENDING : 0, &iter);
    return iter;
  }

  livebuf_value value_;
};

/// A member of an object: for (auto [name, child] : object.members()).
struct member {
  std::string_view key;
  livebuf::value value;

  static member of(const livebuf_iter &iter) noexcept {
    return {detail::view(iter.key), iter.value};
  }
};

inline value column::operator[](std::size_t row) const noexcept {
  return livebuf_column_get(&column_, row);
}

template <class T>
bool value::to(T &result) const {
  if constexpr (std::is_same_v<T, value>) {
    result = *this;
    return exists();
  } else if constexpr (std::is_same_v<T, bool>) {
    result = livebuf_get_bool(value_);
    return kind() == LIVEBUF_KIND_BOOL;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    std::int64_t integer = livebuf_get_i64(value_);
    result = static_cast<T>(integer);
    return kind() == LIVEBUF_KIND_I64 && result == integer;
  } else if constexpr (std::is_integral_v<T>) {
    std::uint64_t integer = livebuf_get_u64(value_);
    result = static_cast<T>(integer);
    bool is_number = integer || livebuf_get_i64_or(value_, -1) == 0;
    return is_number && result == integer;
  } else if constexpr (std::is_floating_point_v<T>) {
    result = static_cast<T>(livebuf_get_f64(value_));
    livebuf_kind held = kind();
    return held == LIVEBUF_KIND_F64 || held == LIVEBUF_KIND_I64 || held == LIVEBUF_KIND_U64 ||
           (held == LIVEBUF_KIND_NUMBER_TEXT && livebuf_get_f64_or(value_, 1) == result);
  } else if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>) {
    livebuf_str text = livebuf_get_str(value_);
    result = T(detail::view(text));
    return text.data != nullptr;
  } else if constexpr (std::is_same_v<T, bytes_view>) {
    livebuf_bytes bytes = livebuf_get_bytes(value_);
    result = bytes_view(bytes.data, bytes.length);
    return bytes.data != nullptr;
  } else if constexpr (detail::is_date<T>::value) {
    std::int32_t days = 0;
    const bool is_date = livebuf_read_date(value_, &days) == LIVEBUF_OK;
    result = T(typename T::duration(days));
    return is_date;
  } else if constexpr (std::is_same_v<T, timestamp> || std::is_same_v<T, time_of_day> ||
                       std::is_same_v<T, date_time>) {
    std::int64_t count = 0;
    constexpr auto kind = std::is_same_v<T, timestamp>     ? LIVEBUF_KIND_TIMESTAMP
                          : std::is_same_v<T, time_of_day> ? LIVEBUF_KIND_TIME
                                                           : LIVEBUF_KIND_DATE_TIME;
    const bool is_time = livebuf_read_extended(value_, kind, &count) == LIVEBUF_OK;
    result = T{std::chrono::microseconds(count)};
    return is_time;
  } else if constexpr (std::is_same_v<T, decimal>) {
    return livebuf_read_decimal(value_, &result.raw) == LIVEBUF_OK;
  } else if constexpr (std::is_same_v<T, uuid>) {
    return livebuf_read_uuid(value_, result.bytes.data()) == LIVEBUF_OK;
  } else if constexpr (std::is_same_v<T, tensor>) {
    livebuf_tensor raw;
    if (livebuf_read_tensor(value_, &raw) != LIVEBUF_OK) return false;
    result = tensor(raw);
    return true;
  } else if constexpr (detail::is_optional<T>::value) {
    result.reset();
    if (!exists() || is_null()) return livebuf_value_error(value_).status != LIVEBUF_STALE_HANDLE;
    return to(result.emplace());
  } else if constexpr (detail::is_list<T>::value) {
    result.clear();
    if (!is_array()) return false;
    result.reserve(size() < 1024 ? size() : 1024);  // The count is the document's word.
    auto all = elements();
    for (value each : all) {
      typename T::value_type element{};
      if (!each.to(element)) return false;
      result.push_back(std::move(element));
    }
    return all.error().status == LIVEBUF_OK;
  } else if constexpr (detail::is_array<T>::value) {
    if (!is_array() || size() != result.size()) return false;
    std::size_t at = 0;
    auto all = elements();
    for (value each : all) {
      if (at == result.size() || !each.to(result[at++])) return false;
    }
    return at == result.size();
  } else if constexpr (detail::is_dictionary<T>::value) {
    result.clear();
    if (!is_object()) return false;
    auto all = members();
    for (auto [name, each] : all) {
      if (!each.to(result[std::string(name)])) return false;
    }
    return all.error().status == LIVEBUF_OK;
  } else if constexpr (detail::has_fields<T>::value) {
    if (!is_object()) return false;
    auto all = livebuf_fields(static_cast<const T *>(nullptr));
    return std::apply(
        [&](const auto &...each) {
          return (... && (*this)[each.key].to(result.*(each.member)));
        },
        all);
  } else {
    static_assert(detail::always_false<T>::value, "no conversion: give it livebuf_fields");
    return false;
  }
}

// --- editing ----------------------------------------------------------------------------

/// Stores null: doc["a"] = livebuf::null.
struct null_type {};
inline constexpr null_type null{};

/// Stores an empty object or array with room: doc["a"] = livebuf::object(3).
struct object {
  explicit object(std::size_t room = 0) : members(room) {}
  std::size_t members;
};
struct array {
  explicit array(std::size_t room = 0) : elements(room) {}
  std::size_t elements;
};

namespace detail {

/// Values that one call stores.
template <class T>
constexpr bool is_simple() {
  return std::is_arithmetic_v<T> || std::is_same_v<T, null_type> ||
         std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, object> ||
         std::is_same_v<T, array> || std::is_same_v<T, bytes_view> || is_date<T>::value ||
         std::is_same_v<T, timestamp> || std::is_same_v<T, time_of_day> ||
         std::is_same_v<T, date_time> || std::is_same_v<T, decimal> ||
         std::is_same_v<T, uuid> || std::is_same_v<T, extended> || std::is_same_v<T, tensor> ||
         std::is_convertible_v<const T &, std::string_view>;
}

template <class T>
void simple(const T &from, livebuf_new &to) noexcept {
  if constexpr (std::is_same_v<T, null_type> || std::is_same_v<T, std::nullptr_t>) {
    to = livebuf_null();
  } else if constexpr (std::is_same_v<T, bool>) {
    to = livebuf_bool(from);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    to = livebuf_i64(from);
  } else if constexpr (std::is_integral_v<T>) {
    to = livebuf_u64(from);
  } else if constexpr (std::is_floating_point_v<T>) {
    to = livebuf_f64(static_cast<double>(from));
  } else if constexpr (std::is_same_v<T, object>) {
    to = livebuf_object(from.members);
  } else if constexpr (std::is_same_v<T, array>) {
    to = livebuf_array(from.elements);
  } else if constexpr (std::is_same_v<T, bytes_view>) {
    to = livebuf_bytes_n(from.data(), from.size());
  } else if constexpr (is_date<T>::value) {
    // The days may be of any width.
    to = livebuf_i64(static_cast<std::int64_t>(from.time_since_epoch().count()));
    to.kind = LIVEBUF_NEW_DATE;
  } else if constexpr (std::is_same_v<T, timestamp>) {
    to = livebuf_timestamp(from.time_since_epoch().count());
  } else if constexpr (std::is_same_v<T, time_of_day>) {
    to = livebuf_time(from.since_midnight.count());
  } else if constexpr (std::is_same_v<T, date_time>) {
    to = livebuf_date_time(from.since_1970.count());
  } else if constexpr (std::is_same_v<T, decimal>) {
    to = livebuf_decimal_new(&from.raw);
  } else if constexpr (std::is_same_v<T, uuid>) {
    to = livebuf_uuid(from.bytes.data());
  } else if constexpr (std::is_same_v<T, extended>) {
    to = livebuf_extended_n(from.text.data() ? from.text.data() : "", from.text.size());
  } else if constexpr (std::is_same_v<T, tensor>) {
    to = livebuf_tensor_new(from.get());
  } else {
    std::string_view text(from);
    to = livebuf_string_n(text.data() ? text.data() : "", text.size());
  }
}

/// Stores what `put(new, child)` puts in its place, and then what is in it. Where a part does
/// not fit, what was stored before it stays.
template <class T, class Put>
status store(livebuf_doc *doc, const T &from, Put &&put) {
  [[maybe_unused]] livebuf_node child;
  if constexpr (is_simple<T>()) {
    livebuf_new made;
    simple(from, made);
    return put(made, nullptr);
  } else if constexpr (std::is_same_v<T, value>) {
    livebuf_value raw = from.raw();
    return put(livebuf_copy(&raw), nullptr);
  } else if constexpr (is_optional<T>::value) {
    if (!from) return put(livebuf_null(), nullptr);
    return store(doc, *from, std::forward<Put>(put));
  } else if constexpr (is_list<T>::value || is_array<T>::value) {
    status went = put(livebuf_array(from.size()), &child);
    for (const auto &each : from) {
      if (!went) break;
      went = store(doc, each, [&](livebuf_new part, livebuf_node *at) {
        return livebuf_push(doc, child, part, at);
      });
    }
    return went;
  } else if constexpr (is_dictionary<T>::value) {
    status went = put(livebuf_object(from.size()), &child);
    for (const auto &each : from) {
      if (!went) break;
      went = store(doc, each.second, [&](livebuf_new part, livebuf_node *at) {
        return livebuf_set_n(doc, child, each.first.data(), each.first.size(), part, at);
      });
    }
    return went;
  } else if constexpr (has_fields<T>::value) {
    auto all = livebuf_fields(static_cast<const T *>(nullptr));
    status went = put(livebuf_object(std::tuple_size_v<decltype(all)>), &child);
    auto one = [&](const auto &each) {
      went = store(doc, from.*(each.member), [&](livebuf_new part, livebuf_node *at) {
        return livebuf_set_n(doc, child, each.key.data(), each.key.size(), part, at);
      });
      return static_cast<bool>(went);
    };
    if (went) std::apply([&](const auto &...each) { (void)(... && one(each)); }, all);
    return went;
  } else {
    static_assert(always_false<T>::value, "no conversion: give it livebuf_fields");
    return status();
  }
}

}  // namespace detail

template <class T>
std::optional<std::size_t> column::find(const T &wanted) const noexcept {
  livebuf_new sought;
  detail::simple(wanted, sought);
  std::ptrdiff_t row = livebuf_column_find(&column_, sought);
  return row < 0 ? std::nullopt : std::optional<std::size_t>(static_cast<std::size_t>(row));
}

/// A place in a document, to be read or assigned to: doc["laps"][0]["sec"] = 87.5. It names
/// what holds it, which must be there; a member may be new. Good until the next edit.
class place {
 public:
  place operator[](std::string_view name) const { return place(doc_, node(), name); }
  place operator[](const char *name) const { return place(doc_, node(), name); }
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  place operator[](I index) const {
    return place(doc_, node(), static_cast<std::size_t>(index));
  }

  /// The value there now.
  value get() const noexcept {
    if (is_root_) return livebuf_root(doc_);
    livebuf_value holds = livebuf_node_value(doc_, holder_);
    return by_name_ ? livebuf_get_n(holds, name_.data(), name_.size())
                    : livebuf_at(holds, index_);
  }
  operator value() const noexcept { return get(); }
  explicit operator bool() const noexcept { return get().exists(); }
  template <class T>
  T value_or(T fallback) const {
    return get().value_or(std::move(fallback));
  }
  std::string_view value_or(const char *fallback) const noexcept {
    return get().value_or(fallback);
  }
#if LIVEBUF_EXCEPTIONS
  template <class T>
  T as() const {
    return get().template as<T>();
  }
#endif

  /// Stores; the status. What value::get takes goes, and values of other documents.
  template <class T>
  status set(const T &from) const {
    return detail::store(doc_, from, [&](livebuf_new made, livebuf_node *child) -> status {
      if (is_root_) return livebuf_set_root(doc_, made, child);
      if (by_name_) {
        return livebuf_set_n(doc_, holder_, name_.data(), name_.size(), made, child);
      }
      return livebuf_set_at(doc_, holder_, index_, made, child);
    });
  }
  /// Stores; throws where it cannot, if exceptions are on.
  template <class T>
  const place &operator=(const T &from) const {
    detail::settled(doc_, set(from));
    return *this;
  }
  const place &operator=(const place &from) const { return *this = from.get(); }
  place(const place &) = default;

  /// Adds an element at the end of the array here; the status.
  template <class T>
  status push(const T &from) const {
    livebuf_node here = node();
    return detail::store(doc_, from, [&](livebuf_new made, livebuf_node *child) {
      return status(livebuf_push(doc_, here, made, child));
    });
  }
  /// Adds an element before the one at an index; the status.
  template <class T>
  status insert(std::size_t index, const T &from) const {
    livebuf_node here = node();
    return detail::store(doc_, from, [&](livebuf_new made, livebuf_node *child) {
      return status(livebuf_insert(doc_, here, index, made, child));
    });
  }
  /// Takes out what is here; the status.
  status remove() const {
    if (is_root_) return livebuf_set_root(doc_, livebuf_null(), nullptr);
    if (by_name_) return livebuf_remove_n(doc_, holder_, name_.data(), name_.size());
    return livebuf_remove_at(doc_, holder_, index_);
  }
  /// Takes out all that is in the object or array here; the status.
  status clear() const { return livebuf_clear(doc_, node()); }

  /// The handle of the object or array here, for the calls of livebuf.h.
  livebuf_node node() const noexcept {
    if (is_root_) return livebuf_root_node(doc_);
    return by_name_ ? livebuf_child_n(doc_, holder_, name_.data(), name_.size())
                    : livebuf_child_at(doc_, holder_, index_);
  }

 private:
  template <class Doc>
  friend class editing;
  explicit place(livebuf_doc *doc) : doc_(doc), is_root_(true) {}
  place(livebuf_doc *doc, livebuf_node holder, std::string_view name)
      : doc_(doc), holder_(holder), name_(name), by_name_(true) {}
  place(livebuf_doc *doc, livebuf_node holder, std::size_t index)
      : doc_(doc), holder_(holder), index_(index) {}

  livebuf_doc *doc_;
  livebuf_node holder_ = {};
  std::string_view name_ = {};
  std::size_t index_ = 0;
  bool by_name_ = false;
  bool is_root_ = false;
};

/// What both owners can do.
template <class Owner>
class editing {
 public:
  /// The root, to be read.
  value root() const noexcept { return livebuf_root(raw()); }
  /// The root as a place, to be assigned to.
  place at_root() noexcept { return place(raw()); }
  place operator[](std::string_view name) { return at_root()[name]; }
  place operator[](const char *name) { return at_root()[name]; }
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  place operator[](I index) {
    return at_root()[index];
  }
  value operator[](std::string_view name) const noexcept { return root()[name]; }
  value operator[](const char *name) const noexcept { return root()[name]; }
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  value operator[](I index) const noexcept {
    return root()[index];
  }
  value pointer(std::string_view pointer) const noexcept { return root().pointer(pointer); }

  /// Stores at a JSON pointer; the status.
  template <class T>
  status set(std::string_view pointer, const T &from) {
    return detail::store(raw(), from, [&](livebuf_new made, livebuf_node *child) {
      return status(livebuf_set_pointer_n(raw(), pointer.data(), pointer.size(), made, child));
    });
  }
  /// Takes the value at a JSON pointer out; the status.
  status remove(std::string_view pointer) {
    return livebuf_remove_pointer_n(raw(), pointer.data(), pointer.size());
  }

  /// Applies a JSON patch (RFC 6902), whole or not at all: an array of operations, as a value or
  /// as JSON text. error().operation says which one failed, counted from 1.
  [[nodiscard]] status patch(value operations) noexcept { return livebuf_patch(raw(), operations.raw()); }
  [[nodiscard]] status patch(std::string_view json) noexcept {
    return livebuf_patch_json_n(raw(), json.data(), json.size());
  }
  /// Merges a value of another document (RFC 7396), or JSON text, whole or not at all.
  [[nodiscard]] status merge(value with) noexcept { return livebuf_merge(raw(), with.raw()); }
  [[nodiscard]] status merge(std::string_view json) noexcept {
    return livebuf_merge_json_n(raw(), json.data(), json.size());
  }
  /// Changes the document as a delta says; `checked` compares the digest of all bytes first.
  [[nodiscard]] status apply(bytes_view delta, bool checked = false) noexcept {
    return livebuf_delta_apply(raw(), delta.data(), delta.size(),
                               checked ? LIVEBUF_DELTA_DIGEST : 0);
  }
  /// Gives the document a random state, from which deltas can lead on.
  status set_state() noexcept { return livebuf_set_state(raw(), nullptr); }
  /// The document's state, if it has one.
  std::optional<livebuf_state> state() const noexcept {
    livebuf_state state;
    return livebuf_get_state(raw(), &state) ? std::nullopt : std::optional<livebuf_state>(state);
  }

  /// The document's bytes, to be sent or stored.
  bytes_view bytes() const noexcept {
    const livebuf_doc *doc = raw();
    return doc ? bytes_view(doc->bytes, doc->length) : bytes_view();
  }
  std::size_t size() const noexcept { return bytes().size(); }
  /// What the last call that failed said; livebuf::text makes a line of it.
  livebuf_error error() const noexcept { return livebuf_last_error(raw()); }
  std::string json(std::uint32_t indent = 0) const { return root().json(indent); }

  livebuf_doc *raw() noexcept { return static_cast<Owner *>(this)->handle(); }
  const livebuf_doc *raw() const noexcept { return static_cast<const Owner *>(this)->handle(); }

 protected:
  editing() = default;
};

/// A document that manages its memory. False where making it failed.
class document : public editing<document> {
 public:
  /// Empty: the root is null.
  document() noexcept : doc_(livebuf_create(nullptr, nullptr)) {}
  explicit document(livebuf_doc *doc) noexcept : doc_(doc) {}
  document(document &&other) noexcept : doc_(std::exchange(other.doc_, nullptr)) {}
  document &operator=(document &&other) noexcept {
    std::swap(doc_, other.doc_);
    return *this;
  }
  document(const document &) = delete;
  document &operator=(const document &) = delete;
  ~document() { livebuf_destroy(doc_); }

  explicit operator bool() const noexcept { return doc_; }

  /// Empty, with memory for so many bytes from the start.
  static document with_capacity(std::size_t capacity) noexcept {
    return document(livebuf_create_with_capacity(capacity, nullptr, nullptr));
  }
  /// From JSON text; `error` says what is wrong with it.
  static document from_json(std::string_view text, livebuf_error *error = nullptr,
                            const livebuf_json_options *options = nullptr) noexcept {
    return document(livebuf_from_json(text.data(), text.size(), options, nullptr, error));
  }
  /// A copy of a document's bytes, untrusted: an edit that needs more than that validates first.
  static document from_bytes(const void *bytes, std::size_t length,
                             livebuf_error *error = nullptr) noexcept {
    return document(
        livebuf_from_bytes(static_cast<const std::uint8_t *>(bytes), length, nullptr, error));
  }
  /// A mapped file.
  static document map(const char *path, livebuf_map_mode mode,
                      livebuf_error *error = nullptr) noexcept {
    return document(livebuf_map_file(path, mode, error));
  }
#if LIVEBUF_EXCEPTIONS
  /// From JSON text; throws what is wrong with it.
  static document parse(std::string_view text) {
    livebuf_error error;
    document made = from_json(text, &error);
    if (!made) throw exception(error);
    return made;
  }
#endif

  /// A copy that stays trusted where this is. False where memory was refused.
  document copy() const noexcept { return document(livebuf_clone(doc_, nullptr, nullptr)); }
  [[nodiscard]] status validate() noexcept { return livebuf_validate(doc_); }
  status compact() noexcept { return livebuf_compact(doc_); }

  livebuf_doc *handle() noexcept { return doc_; }
  const livebuf_doc *handle() const noexcept { return doc_; }

 private:
  livebuf_doc *doc_;
};

/// A document over your memory: nothing is allocated, nothing is freed. Values refer to
/// it by its address, so it does not move.
class buffer : public editing<buffer> {
 public:
  /// Begins an empty document.
  buffer(void *memory, std::size_t capacity) noexcept {
    livebuf_init(&doc_, static_cast<std::uint8_t *>(memory), capacity);
  }
  /// Opens the document in the first `length` bytes to be edited.
  buffer(void *memory, std::size_t length, std::size_t capacity) noexcept {
    livebuf_open(&doc_, static_cast<std::uint8_t *>(memory), length, capacity);
  }
  /// Opens a document to be read.
  explicit buffer(bytes_view bytes) noexcept {
    livebuf_read(&doc_, bytes.data(), bytes.size());
  }
  buffer(const buffer &) = delete;
  buffer &operator=(const buffer &) = delete;

  explicit operator bool() const noexcept { return doc_.length; }
  [[nodiscard]] status validate(void *scratch, std::size_t size) noexcept {
    return livebuf_validate_in(&doc_, static_cast<std::uint8_t *>(scratch), size);
  }
  std::size_t scratch_size() const noexcept { return livebuf_scratch_size(&doc_); }

  livebuf_doc *handle() noexcept { return &doc_; }
  const livebuf_doc *handle() const noexcept { return &doc_; }

 private:
  livebuf_doc doc_;
};

/// Edits that happen whole or not at all: what is not committed at the end of the scope is
/// rolled back, also where an exception leaves it. One within another is a savepoint.
///
///   livebuf::transaction batch(doc);
///   doc["from"] = 0;
///   doc["to"] = 10;
///   livebuf::check(batch.commit());
class transaction {
 public:
  /// Begins it. Where it cannot begin, it throws, or without exceptions is false.
  template <class Owner>
  explicit transaction(editing<Owner> &doc) : transaction(doc.raw()) {}
  explicit transaction(livebuf_doc *doc) : doc_(doc) {
    if (detail::settled(doc, livebuf_begin(doc))) depth_ = livebuf_transactions(doc);
  }
  transaction(const transaction &) = delete;
  transaction &operator=(const transaction &) = delete;
  ~transaction() { (void)rollback(); }

  /// Whether it is open.
  explicit operator bool() const noexcept {
    return depth_ && livebuf_transactions(doc_) >= depth_;
  }
  /// Keeps the edits. Those within that are still open are rolled back. Where an edit did not
  /// fit into the log, this fails, and the end of the scope rolls back.
  [[nodiscard]] status commit() noexcept {
    if (!*this) return LIVEBUF_BAD_SEQUENCE;
    while (livebuf_transactions(doc_) > depth_) {
      if (status ended = livebuf_rollback(doc_); !ended) return ended;
    }
    status ended = livebuf_commit(doc_);
    if (ended) depth_ = 0;
    return ended;
  }
  /// Takes the edits back.
  status rollback() noexcept {
    if (!*this) return LIVEBUF_BAD_SEQUENCE;
    while (livebuf_transactions(doc_) >= depth_) {
      if (status ended = livebuf_rollback(doc_); !ended) return ended;
    }
    depth_ = 0;
    return LIVEBUF_OK;
  }

 private:
  livebuf_doc *doc_;
  /// How many are open with it; 0 where it is not open.
  std::uint32_t depth_ = 0;
};

/// Which bytes of a document are changed in its lifetime, or until end().
///
///   livebuf::recording changes(doc);
///   doc["lap"] = 56;
///   for (livebuf_changed range : changes.end()) send(range.offset, range.length);
class recording {
 public:
  /// Begins it. At most `capacity` ranges are told apart: when there are more, neighbours become
  /// one. Where it cannot begin, it throws, or without exceptions is false.
  template <class Owner>
  explicit recording(editing<Owner> &doc, std::size_t capacity = 64)
      : recording(doc.raw(), capacity) {}
  explicit recording(livebuf_doc *doc, std::size_t capacity = 64)
      : doc_(doc), ranges_(capacity) {
    is_open_ = bool(detail::settled(
        doc, livebuf_record(doc, &recorder_, ranges_.data(), ranges_.size())));
  }
  recording(const recording &) = delete;
  recording &operator=(const recording &) = delete;
  ~recording() { stop(); }

  explicit operator bool() const noexcept { return is_open_; }
  /// Ends it. The changed ranges of the document as it is now, in order: what lies between them
  /// is as it was.
  const std::vector<livebuf_changed> &end() {
    stop();
    return ranges_;
  }
  /// Bytes of the document when it ended.
  std::size_t length() const noexcept { return recorder_.length; }

 private:
  void stop() noexcept {
    if (!is_open_) return;
    livebuf_record_end(doc_, &recorder_);
    is_open_ = false;
    ranges_.resize(recorder_.count);
  }

  livebuf_doc *doc_;
  std::vector<livebuf_changed> ranges_;
  livebuf_recorder recorder_ = {};
  bool is_open_ = false;
};

/// A prepared message: a livebuf_template and its memory. Made once from an example, it writes
/// messages with other values in its places. Any number of threads may stamp from one.
class prepared {
 public:
  /// `places`: JSON pointers into the example, each NUL-terminated.
  prepared(value example, std::initializer_list<const char *> places) {
    livebuf_value raw = example.raw();
    for (std::size_t capacity = 1024;;) {
      memory_.resize(capacity);
      livebuf_template_init(&template_, livebuf_copy(&raw), places.begin(), places.size(),
                            memory_.data(), capacity);
      std::size_t missing = static_cast<std::size_t>(template_.error.detail);
      if (template_.error.status != LIVEBUF_NO_SPACE) break;
      capacity += missing > capacity ? missing : capacity;
    }
  }
  prepared(prepared &&) = default;
  prepared &operator=(prepared &&) = default;

  /// Whether the example had all places; else error() has the number of a wrong one.
  explicit operator bool() const noexcept { return template_.error.status == LIVEBUF_OK; }
  const livebuf_error &error() const noexcept { return template_.error; }
  /// Count of places.
  std::size_t size() const noexcept { return template_.count; }

  /// Writes a message into your memory, with a value for each place. `length` becomes the
  /// message's, or the length that it takes where it does not fit.
  template <class... Values>
  [[nodiscard]] status stamp(void *memory, std::size_t capacity, std::size_t &length,
               const Values &...values) const noexcept {
    static_assert((... && detail::is_simple<Values>()), "places take what one call stores");
    std::array<livebuf_new, sizeof...(Values)> news;
    std::size_t at = 0;
    (void)at;
    (..., detail::simple(values, news[at++]));
    return livebuf_stamp(&template_, news.data(), news.size(),
                         static_cast<std::uint8_t *>(memory), capacity, &length);
  }

  /// The same into a vector, which becomes as long as the message. Its memory is used again.
  template <class... Values>
  [[nodiscard]] status stamp_into(std::vector<std::uint8_t> &message, const Values &...values) const {
    message.resize(message.capacity() < 64 ? 64 : message.capacity());
    std::size_t length = 0;
    status done = stamp(message.data(), message.size(), length, values...);
    if (done == status(LIVEBUF_NO_SPACE)) {
      message.resize(length);
      done = stamp(message.data(), message.size(), length, values...);
    }
    message.resize(done ? length : 0);
    return done;
  }

 private:
  std::vector<std::uint8_t> memory_;
  livebuf_template template_;
};

// --- changes as values -------------------------------------------------------------------

/// The patch (RFC 6902) that makes `one` equal to `two`: a document with an array of operations.
/// The order of members counts if `ordered`.
inline document diff(value one, value two, bool ordered = false,
                     livebuf_error *error = nullptr) noexcept {
  return document(livebuf_diff(one.raw(), two.raw(), ordered ? LIVEBUF_DIFF_ORDERED : 0, nullptr,
                               error));
}

/// The merge patch (RFC 7396) that makes `one` equal to `two`. False where a null of `two` would
/// be needed, which a merge patch cannot say.
inline document merge_diff(value one, value two, livebuf_error *error = nullptr) noexcept {
  return document(livebuf_merge_diff(one.raw(), two.raw(), nullptr, error));
}

namespace detail {

/// Bytes that a call returned, which are freed.
inline std::vector<std::uint8_t> taken(std::uint8_t *bytes, std::size_t length) {
  struct owner {
    std::uint8_t *bytes;
    std::size_t length;
    ~owner() { livebuf_free(nullptr, bytes, length); }
  } owned{bytes, bytes ? length : 0};
  return std::vector<std::uint8_t>(owned.bytes, owned.bytes + owned.length);
}

}  // namespace detail

/// Notes the changes of a document to make a delta of them.
///
///   livebuf::delta_recording changes(doc);
///   doc["lap"] = 56;
///   std::vector<std::uint8_t> delta = changes.end();          // for copies: copy.apply(delta)
class delta_recording {
 public:
  /// Begins it. `flags`: LIVEBUF_DELTA_OLD, LIVEBUF_DELTA_DIGEST. Where it cannot begin, as in a
  /// document without a state, it throws, or without exceptions is false.
  template <class Owner>
  explicit delta_recording(editing<Owner> &doc, std::uint32_t flags = 0)
      : delta_recording(doc.raw(), flags) {}
  explicit delta_recording(livebuf_doc *doc, std::uint32_t flags = 0)
      : doc_(doc), recorder_(livebuf_delta_begin(doc, flags)) {
    if (!recorder_) detail::settled(doc, livebuf_last_error(doc).status);
  }
  delta_recording(const delta_recording &) = delete;
  delta_recording &operator=(const delta_recording &) = delete;
  ~delta_recording() { livebuf_delta_cancel(doc_, recorder_); }

  explicit operator bool() const noexcept { return recorder_; }
  /// Ends it. The delta; where it cannot be made it throws, or without exceptions is empty. Within
  /// a transaction it goes on.
  std::vector<std::uint8_t> end() {
    std::size_t length = 0;
    std::uint8_t *made = livebuf_delta_end(doc_, recorder_, nullptr, &length);
    status went = made ? LIVEBUF_OK : livebuf_last_error(doc_).status;
    if (went != status(LIVEBUF_BAD_SEQUENCE)) recorder_ = nullptr;
    detail::settled(doc_, went);
    return detail::taken(made, length);
  }

 private:
  livebuf_doc *doc_;
  livebuf_delta_recorder *recorder_;
};

/// One delta that does what `first` and then `second` do; empty where that is none.
inline std::vector<std::uint8_t> compose(bytes_view first, bytes_view second,
                                         livebuf_error *error = nullptr) {
  std::size_t length = 0;
  std::uint8_t *made = livebuf_delta_compose(first.data(), first.size(), second.data(),
                                             second.size(), nullptr, &length, error);
  return detail::taken(made, length);
}

/// The delta that leads back; empty where this one has no old bytes.
inline std::vector<std::uint8_t> invert(bytes_view delta, livebuf_error *error = nullptr) {
  std::size_t length = 0;
  std::uint8_t *made =
      livebuf_delta_invert(delta.data(), delta.size(), nullptr, &length, error);
  return detail::taken(made, length);
}

/// Undo and redo of a document. It ends before the document does.
///
///   livebuf::history history(doc);
///   doc["text"] = "ab";
///   history.undo();
class history {
 public:
  /// Begins it, of at most `max_bytes`. Where it cannot begin, it throws, or without exceptions is
  /// false.
  template <class Owner>
  explicit history(editing<Owner> &doc, std::size_t max_bytes = 64 << 20)
      : history(doc.raw(), max_bytes) {}
  explicit history(livebuf_doc *doc, std::size_t max_bytes = 64 << 20)
      : doc_(doc), history_(livebuf_history_begin(doc, max_bytes)) {
    if (!history_) detail::settled(doc, livebuf_last_error(doc).status);
  }
  history(const history &) = delete;
  history &operator=(const history &) = delete;
  ~history() { livebuf_history_end(doc_, history_); }

  explicit operator bool() const noexcept { return history_; }
  /// Makes one step of all edits since the last one.
  status step() noexcept { return livebuf_history_step(doc_, history_); }
  /// Takes the last step back; LIVEBUF_NOT_FOUND where there is none.
  status undo() noexcept { return livebuf_undo(doc_, history_); }
  /// Does the step again that was undone last; LIVEBUF_NOT_FOUND where there is none.
  status redo() noexcept { return livebuf_redo(doc_, history_); }
  std::size_t undo_count() const noexcept { return livebuf_history_count(doc_, history_, false); }
  std::size_t redo_count() const noexcept { return livebuf_history_count(doc_, history_, true); }
  /// The delta of the last step, undo or redo: copies that apply it follow. Empty before the first.
  std::vector<std::uint8_t> delta() const {
    std::size_t length = 0;
    std::uint8_t *made = livebuf_history_delta(history_, nullptr, &length, nullptr);
    return detail::taken(made, length);
  }

 private:
  livebuf_doc *doc_;
  livebuf_history *history_;
};

/// A value that a query found. Its place is that of the match that was stepped to last.
class match {
 public:
  explicit match(livebuf_matches *matches) noexcept : matches_(matches) {}
  livebuf::value value() const noexcept { return matches_->value; }
  /// The normalized path: $['laps'][1]['sec'].
  std::string path() const { return text(livebuf_matches_path); }
  /// The JSON pointer: /laps/1/sec.
  std::string pointer() const { return text(livebuf_matches_pointer); }

 private:
  std::string text(std::size_t (*print)(const livebuf_matches *, char *, std::size_t)) const {
    std::string line(print(matches_, nullptr, 0) + 1, '\0');
    line.resize(print(matches_, &line[0], line.size()));
    return line;
  }

  livebuf_matches *matches_;
};

/// The values that a query finds, to be stepped through once.
class matches {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = match;
    using difference_type = std::ptrdiff_t;
    using pointer = const match *;
    using reference = match;

    explicit iterator(livebuf_matches *matches) noexcept : matches_(matches) { ++*this; }
    match operator*() const noexcept { return match(matches_); }
    iterator &operator++() noexcept {
      if (!livebuf_matches_next(matches_)) matches_ = nullptr;
      return *this;
    }
    friend bool operator==(iterator a, iterator b) noexcept { return a.matches_ == b.matches_; }
    friend bool operator!=(iterator a, iterator b) noexcept { return !(a == b); }

   private:
    livebuf_matches *matches_;
  };

  explicit matches(livebuf_matches *raw) noexcept : matches_(raw) {}
  matches(matches &&other) noexcept : matches_(std::exchange(other.matches_, nullptr)) {}
  matches &operator=(matches &&other) noexcept {
    std::swap(matches_, other.matches_);
    return *this;
  }
  ~matches() { livebuf_matches_free(matches_); }

  iterator begin() noexcept { return iterator(matches_); }
  iterator end() noexcept { return iterator(nullptr); }
  /// Why they ended early, if they did.
  livebuf_error error() const noexcept { return matches_->error; }

 private:
  livebuf_matches *matches_;
};

/// A compiled JSONPath query (RFC 9535).
///
///   livebuf::query fast("$.laps[?@.sec < 88]");
///   for (livebuf::match lap : fast.find(doc.root())) use(lap.path(), lap.value());
///   fast.remove_all(doc);
class query {
 public:
  /// Compiles it. `budget` bounds the work of each use, 0 for the usual bound. Where the text is
  /// no query, it throws, or without exceptions is false; error() has the column.
  explicit query(std::string_view text, std::uint64_t budget = 0)
      : query_(livebuf_query_new_n(text.data() ? text.data() : "", text.size(), budget, &error_)) {
#if LIVEBUF_EXCEPTIONS
    if (!query_) throw exception(error_);
#endif
  }
  query(query &&other) noexcept
      : error_(other.error_), query_(std::exchange(other.query_, nullptr)) {}
  query &operator=(query &&other) noexcept {
    std::swap(query_, other.query_);
    std::swap(error_, other.error_);
    return *this;
  }
  ~query() { livebuf_query_free(query_); }

  explicit operator bool() const noexcept { return query_; }
  const livebuf_error &error() const noexcept { return error_; }

  /// The values that it finds, with their places, one after the other.
  matches find(value in) const noexcept { return matches(livebuf_matches_new(query_, in.raw())); }
  /// The first one.
  value first(value in) const noexcept { return livebuf_query_first(query_, in.raw()); }
  /// How many it finds.
  std::optional<std::size_t> count(value in) const noexcept {
    std::size_t count;
    return livebuf_query_count(query_, in.raw(), &count) ? std::nullopt
                                                         : std::optional<std::size_t>(count);
  }

  /// Sets all that it finds in a document to a value, all or none. `count` becomes how many.
  template <class Owner, class T>
  status set_all(editing<Owner> &doc, const T &from, std::size_t *count = nullptr) const {
    return detail::store(doc.raw(), from, [&](livebuf_new made, livebuf_node *child) {
      static_assert(detail::is_simple<T>() || std::is_same_v<T, value>,
                    "set_all takes what one call stores, or a value of another document");
      (void)child;
      return status(livebuf_set_all(doc.raw(), query_, made, count));
    });
  }
  /// Removes all that it finds in a document, all or none.
  template <class Owner>
  status remove_all(editing<Owner> &doc, std::size_t *count = nullptr) const noexcept {
    return livebuf_remove_all(doc.raw(), query_, count);
  }
  /// Sets each value that it finds to `change(value)`, all or none. `change` returns an optional:
  /// nothing leaves the value as it is. What it throws undoes all.
  template <class Owner, class Change>
  status update_all(editing<Owner> &doc, Change &&change, std::size_t *count = nullptr) const {
    using made = std::decay_t<decltype(*change(std::declval<value>()))>;
    struct caller {
      std::remove_reference_t<Change> &change;
      std::optional<made> kept;
#if LIVEBUF_EXCEPTIONS
      std::exception_ptr thrown;
#endif
    } state{change, std::nullopt
#if LIVEBUF_EXCEPTIONS
            , nullptr
#endif
    };
    auto call = [](void *user, livebuf_value found, livebuf_new *replacement) -> bool {
      caller &self = *static_cast<caller *>(user);
#if LIVEBUF_EXCEPTIONS
      try {
#endif
        self.kept = self.change(value(found));
        if (!self.kept) return false;
        detail::simple(*self.kept, *replacement);
        return true;
#if LIVEBUF_EXCEPTIONS
      } catch (...) {
        self.thrown = std::current_exception();
        // No such kind: the edit fails, and all is taken back.
        replacement->kind = UINT32_MAX;
        return true;
      }
#endif
    };
    status went = livebuf_update_all(doc.raw(), query_, call, &state, count);
#if LIVEBUF_EXCEPTIONS
    if (state.thrown) std::rethrow_exception(state.thrown);
#endif
    return went;
  }

 private:
  livebuf_error error_ = {};
  livebuf_query *query_;
};

}  // namespace livebuf

#endif  // C++17
#endif  // LIVEBUF_HPP
