// Rows of any length that are picked, put or added at offsets, and words that indices pick, for one
// ISA level. How a row is moved is found once for all of them, and rows that come soon are fetched.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/isa_names.h"
#include "kernels/move_words.h"
#include "kernels/picked_rows.h"

namespace tensorlike {
namespace {

constexpr int kRunBytes = kVectorBytes < 32 ? kVectorBytes : 32;  // that move together
constexpr int64_t kLongRow = 16384;   // bytes that are worth a call of the C library
constexpr int64_t kRowsAhead = 8;     // which are asked for before they are needed
constexpr int64_t kBytesAhead = 512;  // of each; the processor finds the rest by itself
constexpr int64_t kLeastAhead = 33;   // shorter rows wait for memory side by side

// Calls f(i, the row) for the row of each offset i that is meant. `table` is what offsets point to.
template <class Char, class F>
inline void over_rows(Char* table, PickedRows rows, F f) {
  const auto each = [=](auto place) {
    const int64_t ahead = rows.bytes < kLeastAhead ? 0 : std::min(rows.bytes, kBytesAhead);
    const int64_t fetched = ahead == 0 ? 0 : rows.count - kRowsAhead;
    for (int64_t k = 0; k < rows.count; ++k) {
      if (k < fetched) {
        const char* const next = table + rows.offsets[place(k + kRowsAhead)];
        for (int64_t b = 0; b < ahead; b += 64) {
          __builtin_prefetch(next + b, !std::is_const_v<Char>);
        }
      }
      f(place(k), table + rows.offsets[place(k)]);
    }
  };
  if (rows.places == nullptr) {
    each([](int64_t k) { return k; });
  } else {
    each([places = rows.places](int64_t k) { return int64_t{places[k]}; });
  }
}

// A copy of kMost to 2 * kMost bytes.
template <int kMost>
struct ShortCopy {
  int64_t bytes;
  void operator()(char* out, const char* in) const { move_ends<kMost>(out, in, bytes); }
};

// A copy of more than kRunBytes. The last of them may overlap those before.
struct RunCopy {
  int64_t bytes;
  void operator()(char* out, const char* in) const {
    const int64_t rest = bytes - kRunBytes;
    const auto last = load_bytes<kRunBytes>(in + rest);
    for (int64_t i = 0; i < rest; i += kRunBytes) move_word<kRunBytes>(out + i, in + i);
    store_bytes<kRunBytes>(out + rest, last);
  }
};

struct LongCopy {
  int64_t bytes;
  void operator()(char* out, const char* in) const {
    std::memcpy(out, in, static_cast<size_t>(bytes));
  }
};

// Calls f(copy), where copy(out, in) moves so many bytes.
template <int kMost = kRunBytes, class F>
void with_copy(int64_t bytes, F&& f) {
  if (bytes >= kLongRow) return f(LongCopy{bytes});
  if (bytes > 2 * kRunBytes) return f(RunCopy{bytes});
  if constexpr (kMost > 1) {
    if (bytes < kMost) return with_copy<kMost / 2>(bytes, f);
  }
  f(ShortCopy<kMost>{bytes});
}

void take_rows(char* out, int64_t step, const char* in, const PickedRows& rows) {
  with_copy(rows.bytes, [&](auto copy) {
    over_rows(in, rows, [=](int64_t i, const char* row) { copy(out + i * step, row); });
  });
}

void put_rows(char* out, const char* in, int64_t step, const PickedRows& rows) {
  with_copy(rows.bytes, [&](auto copy) {
    over_rows(out, rows, [=](int64_t i, char* row) { copy(row, in + i * step); });
  });
}

// kBytes of elements, and their sums. The sum of booleans is whether one of them is true.
template <class T, int kBytes>
struct Lanes {
  using Number = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  typedef Number Numbers __attribute__((vector_size(kBytes)));

  static Lanes at(const char* from) {
    Lanes made;
    std::memcpy(&made, from, sizeof(made));
    return made;
  }
  void store(char* to) const { std::memcpy(to, &numbers, sizeof(numbers)); }
  Lanes operator+(const Lanes& other) const {
    if constexpr (std::is_same_v<T, bool>) return {numbers | other.numbers};
    return {numbers + other.numbers};
  }
  Numbers numbers;
};

template <class T, int kBytes>
inline void add_lanes(char* to, const char* values) {
  using L = Lanes<T, kBytes>;
  (L::at(to) + L::at(values)).store(to);
}

// Fewer than 2 * kBytes, in pieces that don't overlap: a sum that is soon read again is read as it
// was written.
template <class T, int kBytes>
inline void add_few(char* to, const char* values, int64_t bytes) {
  if constexpr (kBytes >= static_cast<int>(sizeof(T))) {
    const int64_t done = bytes & kBytes;
    if (done != 0) add_lanes<T, kBytes>(to, values);
    add_few<T, kBytes / 2>(to + done, values + done, bytes);
  }
}

// Rows that are one vector.
template <class T, int kBytes>
void add_words(char* out, const char* in, int64_t step, const PickedRows& rows) {
  over_rows(out, rows, [=](int64_t i, char* row) { add_lanes<T, kBytes>(row, in + i * step); });
}

template <class T>
void add_rows(char* out, const char* in, int64_t step, const PickedRows& rows) {
  if (rows.bytes == 8) return add_words<T, 8>(out, in, step, rows);
  if (rows.bytes == 16) return add_words<T, 16>(out, in, step, rows);
  if (rows.bytes == kRunBytes) return add_words<T, kRunBytes>(out, in, step, rows);
  over_rows(out, rows, [=, bytes = rows.bytes](int64_t i, char* row) {
    const char* const values = in + i * step;
    int64_t done = 0;
    for (; done + kRunBytes <= bytes; done += kRunBytes) {
      add_lanes<T, kRunBytes>(row + done, values + done);
    }
    add_few<T, kRunBytes / 2>(row + done, values + done, bytes - done);
  });
}

// What complex numbers are added as, too.
template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<Complex<T>> {
  using type = T;
};

// Several words are loaded before the first is stored, so that they wait for memory side by side.
template <int kSize>
[[gnu::always_inline]] inline void take_words_at(char* out, const char* table,
                                                 const int64_t* offsets, int64_t n) {
  constexpr int kAtOnce = kSize <= 8 ? 8 : 4;
  int64_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    typename BytesOf<kSize>::type words[kAtOnce];
#pragma GCC unroll 8
    for (int k = 0; k < kAtOnce; ++k) words[k] = load_bytes<kSize>(table + offsets[i + k]);
#pragma GCC unroll 8
    for (int k = 0; k < kAtOnce; ++k) store_bytes<kSize>(out + (i + k) * kSize, words[k]);
  }
  for (; i < n; ++i) move_word<kSize>(out + i * kSize, table + offsets[i]);
}

typedef int64_t Places __attribute__((vector_size(32)));  // wider ones wait longer for memory
typedef uint64_t Offsets __attribute__((vector_size(32)));
constexpr int64_t kPlaces = 4;

// The offset of each of n words; whether all are in range.
template <class Index, int kSize>
[[gnu::always_inline]] inline bool offsets_of_words(int64_t* offsets, const Index* index, int64_t n,
                                                    int64_t size) {
  typedef Index Given __attribute__((vector_size(kPlaces * sizeof(Index))));
  Places signs{};  // negative once an index is out of range
  int64_t i = 0;
  for (; i + kPlaces <= n; i += kPlaces) {
    Given given;
    std::memcpy(&given, index + i, sizeof(given));
    const Places value = __builtin_convertvector(given, Places);
    const Places place = value + ((value >> 63) & size);
    signs |= place | (size - 1 - place);
    const Offsets offset = reinterpret_cast<Offsets>(place) * uint64_t{kSize};
    std::memcpy(offsets + i, &offset, sizeof(offset));
  }
  int64_t sign = signs[0] | signs[1] | signs[2] | signs[3];
  for (; i < n; ++i) {
    const int64_t value = static_cast<int64_t>(index[i]);
    const int64_t place = value < 0 ? value + size : value;
    sign |= place | (size - 1 - place);
    offsets[i] = static_cast<int64_t>(static_cast<uint64_t>(place) * kSize);
  }
  return sign >= 0;
}

// Few words at a time, so that memory is read and written all along, and both are fetched ahead.
template <class Index, int kSize>
bool take_words(char* out, const char* table, int64_t size, const void* indices, int64_t n) {
  constexpr int64_t kTogether = 32;
  const Index* const index = static_cast<const Index*>(indices);
  int64_t offsets[kTogether];
  int64_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    if (!offsets_of_words<Index, kSize>(offsets, index + i, kTogether, size)) return false;
    take_words_at<kSize>(out + i * kSize, table, offsets, kTogether);
  }
  if (!offsets_of_words<Index, kSize>(offsets, index + i, n - i, size)) return false;
  take_words_at<kSize>(out + i * kSize, table, offsets, n - i);
  return true;
}

template <class Index>
void fill_words(TakeWords* table) {
  table[0] = take_words<Index, 1>;
  table[1] = take_words<Index, 2>;
  table[2] = take_words<Index, 4>;
  table[3] = take_words<Index, 8>;
  table[4] = take_words<Index, 16>;
}

PickTable make_pick_table() {
  PickTable table;
  table.rows.take = take_rows;
  table.rows.put = put_rows;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (compute_of(dtype) != dtype) continue;
    visit_compute(dtype, [&](auto tag) {
      using T = typename PartOf<typename decltype(tag)::type>::type;
      table.rows.add[dtype] = add_rows<T>;
    });
  }
  fill_words<int32_t>(table.take32);
  fill_words<int64_t>(table.take64);
  return table;
}

}  // namespace

namespace detail {

const PickTable& TL_JOIN(pick_table, TL_ISA)();
const PickTable& TL_JOIN(pick_table, TL_ISA)() {
  static const PickTable table = make_pick_table();
  return table;
}

}  // namespace detail

}  // namespace tensorlike
