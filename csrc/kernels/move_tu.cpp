// Copies of two-dimensional blocks, for one ISA level and for every size of element. A transposed
// block goes through vector registers: square tiles are read by columns of the output, their
// elements exchanged in log2(n) rounds, and written as whole rows. Two, three or four columns or
// rows are records, which loops over all their fields write or read.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/move_words.h"
#include "kernels/short_row_words.h"
#include "kernels/square.h"
#include "kernels/stepped_words.h"

namespace tensorlike {
namespace {

// A tile of kRows words of kSize bytes; a row of it is a vector of kBytes.
template <int kSize, int kBytes>
struct Tile : Square<Lane<kSize>, kSize, kBytes> {
  using Words = Square<Lane<kSize>, kSize, kBytes>;
  using typename Words::Vector;
  using Words::kRows;

  static void transpose(char* out, int64_t out_row, const char* in, int64_t in_step) {
    Vector rows[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], in + i * in_step, kBytes);
    Words::turn(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) std::memcpy(out + i * out_row, &rows[i], kBytes);
  }

  // The same for the first `n` rows and `m` columns of the output. `end` is that of the input's
  // memory: before it a whole vector is read, although only n words of it are wanted.
  static void transpose_part(char* out, int64_t out_row, const char* in, int64_t in_step, int64_t n,
                             int64_t m, const char* end) {
    Vector rows[kRows] = {};
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      if (i >= m) break;
      const char* from = in + i * in_step;
      if (from + kBytes <= end) {
        std::memcpy(&rows[i], from, kBytes);
      } else {
        char words[kBytes] = {};
        move_few<kBytes / 2, kSize>(words, from, n * kSize);
        std::memcpy(&rows[i], words, kBytes);
      }
    }
    Words::turn(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      if (i >= n) break;
      char words[kBytes];
      std::memcpy(words, &rows[i], kBytes);
      move_few<kBytes / 2, kSize>(out + i * out_row, words, m * kSize);
    }
  }
};

// More than 16 rows would not fit the registers.
template <int kSize>
inline constexpr int kTileBytes = kVectorBytes < 16 * kSize ? kVectorBytes : 16 * kSize;

template <int kSize>
void transpose_words(const MoveBlock& b) {
  for (int64_t r = 0; r < b.rows; ++r) {
    for (int64_t c = 0; c < b.columns; ++c) {
      move_word<kSize>(b.out + r * b.out_row + c * b.out_step, b.in + r * b.in_row + c * b.in_step);
    }
  }
}

// Whole tiles, the last of which overlap those before.
template <int kSize, int kBytes>
void transpose_tiles(const MoveBlock& b) {
  using Whole = Tile<kSize, kBytes>;
  for (int64_t row = 0; row < b.rows; row += Whole::kRows) {
    const int64_t r = std::min(row, b.rows - Whole::kRows);
    for (int64_t column = 0; column < b.columns; column += Whole::kRows) {
      const int64_t c = std::min(column, b.columns - Whole::kRows);
      Whole::transpose(b.out + r * b.out_row + c * kSize, b.out_row,
                       b.in + r * kSize + c * b.in_step, b.in_step);
    }
  }
}

// With fewer rows or columns than a tile has.
template <int kSize>
void transpose_thin(const MoveBlock& b) {
  using Small = Tile<kSize, 16>;
  const char* end = b.in + std::max<int64_t>(0, (b.columns - 1) * b.in_step) + b.rows * kSize;
  for (int64_t r = 0; r < b.rows; r += Small::kRows) {
    for (int64_t c = 0; c < b.columns; c += Small::kRows) {
      char* out = b.out + r * b.out_row + c * kSize;
      const char* in = b.in + r * kSize + c * b.in_step;
      const int64_t n = std::min<int64_t>(Small::kRows, b.rows - r);
      const int64_t m = std::min<int64_t>(Small::kRows, b.columns - c);
      if (n == Small::kRows && m == Small::kRows) {
        Small::transpose(out, b.out_row, in, b.in_step);
      } else {
        Small::transpose_part(out, b.out_row, in, b.in_step, n, m, end);
      }
    }
  }
}

// kCount columns of any length become records that follow each other.
template <int kSize, int kCount>
void interleave(const MoveBlock& b) {
  auto* const out = reinterpret_cast<Loose<kSize>*>(b.out);
  const auto column = [&](int64_t c) {
    return reinterpret_cast<const Loose<kSize>*>(b.in + c % kCount * b.in_step);
  };
  const auto *x = column(0), *y = column(1), *z = column(2), *w = column(3);
#pragma GCC ivdep
  for (int64_t r = 0; r < b.rows; ++r) {
    out[r * kCount] = x[r];
    out[r * kCount + 1] = y[r];
    if constexpr (kCount > 2) out[r * kCount + 2] = z[r];
    if constexpr (kCount > 3) out[r * kCount + 3] = w[r];
  }
}

// And the other way.
template <int kSize, int kCount>
void separate(const MoveBlock& b) {
  const auto* const in = reinterpret_cast<const Loose<kSize>*>(b.in);
  const auto row = [&](int64_t r) {
    return reinterpret_cast<Loose<kSize>*>(b.out + r % kCount * b.out_row);
  };
  auto *x = row(0), *y = row(1), *z = row(2), *w = row(3);
#pragma GCC ivdep
  for (int64_t c = 0; c < b.columns; ++c) {
    x[c] = in[c * kCount];
    y[c] = in[c * kCount + 1];
    if constexpr (kCount > 2) z[c] = in[c * kCount + 2];
    if constexpr (kCount > 3) w[c] = in[c * kCount + 3];
  }
}

template <int kSize>
void copy_rows(const MoveBlock& b);

template <int kSize>
bool transpose_records(const MoveBlock& b) {
  if constexpr (kSize < 16) {
    const auto columns = [&](int64_t n) { return b.columns == n && b.out_row == n * kSize; };
    const auto rows = [&](int64_t n) { return b.rows == n && b.in_step == n * kSize; };
    if (columns(2)) return interleave<kSize, 2>(b), true;
    if (columns(3)) return interleave<kSize, 3>(b), true;
    if (columns(4)) return interleave<kSize, 4>(b), true;
    if (rows(2)) return kSize < 8 ? separate<kSize, 2>(b) : copy_rows<kSize>(b), true;
    if (rows(3)) return separate<kSize, 3>(b), true;
    if (rows(4)) return separate<kSize, 4>(b), true;
  }
  return false;
}

template <int kSize>
void transpose(const MoveBlock& b) {
  if (b.in_row != kSize || b.out_step != kSize) return transpose_words<kSize>(b);
  if (transpose_records<kSize>(b)) return;
  const int64_t least = std::min(b.rows, b.columns) * kSize;
  if (least >= kTileBytes<kSize>) return transpose_tiles<kSize, kTileBytes<kSize>>(b);
  if constexpr (kTileBytes<kSize> > 32 && kSize < 16) {
    if (least >= 32) return transpose_tiles<kSize, 32>(b);
  }
  if (least >= 16) return transpose_tiles<kSize, 16>(b);
  transpose_thin<kSize>(b);
}

// One row.
template <int kSize>
inline void copy_row(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t n) {
  auto copy = [&](int64_t to, int64_t from) {
    for (int64_t i = 0; i < n; ++i) move_word<kSize>(out + i * to, in + i * from);
  };
  if (out_step != kSize) {
    in_step == kSize ? copy(out_step, kSize) : copy(out_step, in_step);
  } else if (in_step == kSize) {
    move_run<kSize>(out, in, n * kSize);
  } else {
    copy(kSize, in_step);
  }
}

// Short runs, of one length: how to move it is found once.
template <int kMost, int kLeast>
void copy_short_rows(const MoveBlock& b, int64_t bytes) {
  if constexpr (kMost >= kLeast) {
    if (bytes < kMost) return copy_short_rows<kMost / 2, kLeast>(b, bytes);
    for (int64_t r = 0; r < b.rows; ++r) {
      move_ends<kMost>(b.out + r * b.out_row, b.in + r * b.in_row, bytes);
    }
  }
}

// Each row repeats one word. The last vector may overlap the one before.
template <int kSize>
void repeat_words(const MoveBlock& b) {
  constexpr int64_t kLanes = kVectorBytes / kSize;
  typedef Lane<kSize> Vector __attribute__((vector_size(kVectorBytes)));
  for (int64_t r = 0; r < b.rows; ++r) {
    char* const out = b.out + r * b.out_row;
    Lane<kSize> word;
    move_word<kSize>(reinterpret_cast<char*>(&word), b.in + r * b.in_row);
    const Vector words = word - Vector{};
    if (b.columns < kLanes) {
      move_few<kVectorBytes / 2, kSize>(out, reinterpret_cast<const char*>(&words),
                                        b.columns * kSize);
      continue;
    }
    int64_t i = 0;
    for (; i + kLanes <= b.columns; i += kLanes) {
      std::memcpy(out + i * kSize, &words, kVectorBytes);
    }
    if (i == b.columns) continue;
    std::memcpy(out + (b.columns - kLanes) * kSize, &words, kVectorBytes);
  }
}

template <int kSize>
void copy_each_row(const MoveBlock& b) {
  if constexpr (kSize < 16) {
    if (b.out_step == kSize && b.in_step == 0) return repeat_words<kSize>(b);
  }
  const int64_t bytes = b.columns * kSize;
  if (bytes <= 2 * kVectorBytes && b.out_step == kSize && b.in_step == kSize) {
    return copy_short_rows<kVectorBytes, kSize>(b, bytes);
  }
  const bool is_in_steps = b.out_step == kSize && b.in_step != kSize && b.in_step != 0;
  if (is_in_steps) return copy_in_steps<kSize>(b);
  for (int64_t r = 0; r < b.rows; ++r) {
    copy_row<kSize>(b.out + r * b.out_row, b.out_step, b.in + r * b.in_row, b.in_step, b.columns);
  }
}

template <int kSize>
void copy_rows(const MoveBlock& b) {
  if constexpr (kSize < 16) {
    if (const int64_t done = ShortRows<kSize>::copy(b); done > 0) {
      return copy_each_row<kSize>({b.out + done * b.out_row, b.out_row, b.out_step,
                                   b.in + done * b.in_row, b.in_row, b.in_step, b.rows - done,
                                   b.columns});
    }
  }
  copy_each_row<kSize>(b);
}

}  // namespace

void TL_FILL(moves)(KernelTable& table);
void TL_FILL(moves)(KernelTable& table) {
  table.moves[0] = {copy_rows<1>, transpose<1>, step_copy<1>};
  table.moves[1] = {copy_rows<2>, transpose<2>, step_copy<2>};
  table.moves[2] = {copy_rows<4>, transpose<4>, step_copy<4>};
  table.moves[3] = {copy_rows<8>, transpose<8>, step_copy<8>};
  table.moves[4] = {copy_rows<16>, transpose<16>, step_copy<16>};
}

}  // namespace tensorlike
