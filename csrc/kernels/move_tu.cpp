// Copies of two-dimensional blocks, for one ISA level and for every size of element. A transposed
// block goes through vector registers: square tiles are read by columns of the output, their
// elements exchanged in log2(n) rounds, and written as whole rows.
#include <cstring>
#include <utility>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tensorlike {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Words of each size. Widened elements may stand at any address.
template <int kSize>
struct WordOf;
template <>
struct WordOf<1> {
  using Lane = uint8_t;
};
template <>
struct WordOf<2> {
  using Lane = uint16_t;
};
template <>
struct WordOf<4> {
  using Lane = uint32_t;
};
template <>
struct WordOf<8> {
  using Lane = uint64_t;
};
template <>
struct WordOf<16> {
  using Lane = uint64_t;
};

template <int kSize>
inline void move_word(char* out, const char* in) {
  std::memcpy(out, in, kSize);
}

// A square tile of kRows words of kSize bytes; a row of it is a vector.
template <int kSize>
struct Tile {
  using Lane = typename WordOf<kSize>::Lane;
  // More than 16 rows would not fit the registers.
  static constexpr int kBytes = kVectorBytes < 16 * kSize ? kVectorBytes : 16 * kSize;
  static constexpr int kRows = kBytes / kSize;
  static constexpr int kLanesPerWord = kSize / static_cast<int>(sizeof(Lane));
  static constexpr int kLanes = kRows * kLanesPerWord;
  typedef Lane Vector __attribute__((vector_size(kBytes)));

  // Lane `lane` of the first (or second) result when rows a and a + kDistance exchange blocks of
  // kDistance words; lanes of the second operand are numbered from kLanes on.
  static constexpr int source(int lane, int distance, bool is_second) {
    const int word = lane / kLanesPerWord;
    const int part = lane % kLanesPerWord;
    const bool from_second = (word & distance) != 0;
    const int from =
        is_second ? (from_second ? word : word + distance) : (from_second ? word - distance : word);
    return from * kLanesPerWord + part + (from_second ? kLanes : 0);
  }

  template <int kDistance, bool kSecond, int... kLane>
  static Vector pick(Vector a, Vector b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(a, b, source(kLane, kDistance, kSecond)...);
  }

  template <int kDistance>
  static void exchange(Vector* rows) {
    using Lanes = std::make_integer_sequence<int, kLanes>;
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      if ((i & kDistance) != 0) continue;
      const Vector a = rows[i];
      const Vector b = rows[i + kDistance];
      rows[i] = pick<kDistance, false>(a, b, Lanes{});
      rows[i + kDistance] = pick<kDistance, true>(a, b, Lanes{});
    }
    if constexpr (kDistance > 1) exchange<kDistance / 2>(rows);
  }

  static void transpose(char* out, int64_t out_row, const char* in, int64_t in_step) {
    Vector rows[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], in + i * in_step, kBytes);
    if constexpr (kRows > 1) exchange<kRows / 2>(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) std::memcpy(out + i * out_row, &rows[i], kBytes);
  }
};

template <int kSize>
void transpose_words(const MoveBlock& b, int64_t row, int64_t rows, int64_t column,
                     int64_t columns) {
  for (int64_t r = row; r < rows; ++r) {
    for (int64_t c = column; c < columns; ++c) {
      move_word<kSize>(b.out + r * b.out_row + c * b.out_step, b.in + r * b.in_row + c * b.in_step);
    }
  }
}

template <int kSize>
void transpose(const MoveBlock& b) {
  constexpr int64_t kTile = Tile<kSize>::kRows;
  const bool has_vectors = b.in_row == kSize && b.out_step == kSize;
  const int64_t rows = b.rows / kTile * kTile;
  const int64_t columns = b.columns / kTile * kTile;
  for (int64_t r = 0; r < rows; r += kTile) {
    for (int64_t c = 0; c < columns; c += kTile) {
      if (has_vectors) {
        Tile<kSize>::transpose(b.out + r * b.out_row + c * kSize, b.out_row,
                               b.in + r * kSize + c * b.in_step, b.in_step);
      } else {
        transpose_words<kSize>(b, r, r + kTile, c, c + kTile);
      }
    }
    transpose_words<kSize>(b, r, r + kTile, columns, b.columns);
  }
  transpose_words<kSize>(b, rows, b.rows, 0, b.columns);
}

// One row, with the steps that vectorise as constants.
template <int kSize>
inline void copy_row(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t n) {
  auto copy = [&](int64_t to, int64_t from) {
    for (int64_t i = 0; i < n; ++i) move_word<kSize>(out + i * to, in + i * from);
  };
  if (out_step != kSize) {
    in_step == kSize ? copy(out_step, kSize) : copy(out_step, in_step);
  } else if (in_step == kSize) {
    n* kSize >= 128 ? static_cast<void>(std::memcpy(out, in, static_cast<size_t>(n) * kSize))
                    : copy(kSize, kSize);
  } else if (in_step == 0) {
    char word[kSize];
    move_word<kSize>(word, in);
    for (int64_t i = 0; i < n; ++i) move_word<kSize>(out + i * kSize, word);
  } else if (in_step == -kSize) {
    copy(kSize, -kSize);
  } else if (in_step == 2 * kSize) {
    copy(kSize, 2 * kSize);
  } else {
    copy(kSize, in_step);
  }
}

template <int kSize>
void copy_rows(const MoveBlock& b) {
  for (int64_t r = 0; r < b.rows; ++r) {
    copy_row<kSize>(b.out + r * b.out_row, b.out_step, b.in + r * b.in_row, b.in_step, b.columns);
  }
}

#if defined(__SSE2__)
constexpr int64_t kLine = 64;

void write_line(char* out, const char* in) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(out), _mm512_loadu_si512(in));
#else
  for (int64_t i = 0; i < kLine; i += kVectorBytes) {
#if defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)));
#else
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
#endif
  }
#endif
}

void stream(char* out, const char* in, int64_t bytes, const char* const* ahead, int64_t count) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(out) % kLine == 0;
  const int64_t end = is_aligned ? bytes / kLine * kLine : 0;
  for (int64_t i = 0; i < end; i += kLine) {
    write_line(out + i, in + i);
    for (int64_t k = 0; k < count; ++k) __builtin_prefetch(ahead[k] + i);
  }
  std::memcpy(out + end, in + end, static_cast<size_t>(bytes - end));
}

void stream_end() { _mm_sfence(); }
#else
void stream(char* out, const char* in, int64_t bytes, const char* const*, int64_t) {
  std::memcpy(out, in, static_cast<size_t>(bytes));
}

void stream_end() {}
#endif

}  // namespace

void TL_FILL(moves)(KernelTable& table);
void TL_FILL(moves)(KernelTable& table) {
  table.moves[0] = {copy_rows<1>, transpose<1>};
  table.moves[1] = {copy_rows<2>, transpose<2>};
  table.moves[2] = {copy_rows<4>, transpose<4>};
  table.moves[3] = {copy_rows<8>, transpose<8>};
  table.moves[4] = {copy_rows<16>, transpose<16>};
  table.stream = stream;
  table.stream_end = stream_end;
}

}  // namespace tensorlike
