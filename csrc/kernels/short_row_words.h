// Short rows of words in any steps, copied to words that follow each other, many rows at a time.
// Which words make a vector depends on where in a row it begins, so there are as many choices as
// vectors until one begins with a row again. Nothing is read after the last of the words. For one
// ISA level (move_tu.cpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <numeric>
#include <type_traits>

#include "kernels/kernel_table.h"
#include "kernels/scratch.h"
#include "kernels/stepped_words.h"

namespace tensorlike {
namespace {

template <int kSize>
class ShortRows {
#if defined(__AVX512BW__)
  static constexpr int kBytes = kSize == 1 ? 16 : kVectorBytes;
#else
  static constexpr int kBytes = kSize <= 2 ? 16 : kVectorBytes;  // are chosen by one instruction
#endif
  using Words = typename WordsOf<kSize, kBytes>::Vector;

 public:
  static constexpr int64_t kLanes = kBytes / kSize;

  // How many rows were copied, from the first on.
  static int64_t copy(const MoveBlock& b) {
    const bool are_short = b.out_step == kSize && b.out_row == b.columns * kSize && b.columns > 1 &&
                           b.columns <= most_columns(b.in_step) &&
                           b.rows * b.columns >= 4 * kLanes && b.in_row > 0 &&
                           b.in_row % kSize == 0 && b.in_step % kSize == 0;
    if (!are_short) return 0;
    const Choices& c = choices(b.columns, b.in_row / kSize, b.in_step / kSize);
    if (c.reach >= 2 * kLanes) return 0;
    return c.reach < kLanes ? copy_vectors<1>(b, c) : copy_vectors<2>(b, c);
  }

 private:
  // Longer rows are as quick one by one, but where a word is repeated or small.
  static int64_t most_columns(int64_t step) {
    return step == 0 || kSize == 1 ? kLanes - 1 : kLanes / 2;
  }

  // Of each vector: its first word in memory, and each word as one of those from there on.
  struct Choices {
    int64_t columns, row, step;  // in words; no columns: nothing is kept there
    int64_t count;
    int64_t advance;  // words until the first choice comes again
    int64_t reach;    // the last word of any, from its first on
    int64_t first[kLanes];
    Words words[kLanes];

    void make();
  };

  // Those of the last blocks are kept: the next ones are mostly of the same rows, by turns.
  static const Choices& choices(int64_t columns, int64_t row, int64_t step) {
    struct Kept {
      Choices all[4];
      size_t next;
    };
    static_assert(std::is_trivially_copyable_v<Kept>);  // and begins as zeros
    const ScratchPlace& place = kept_short_rows[std::countr_zero(unsigned{kSize})];
    auto& kept = *static_cast<Kept*>(place.reserve(sizeof(Kept)));
    for (const Choices& c : kept.all) {
      if (c.columns == columns && c.row == row && c.step == step) return c;
    }
    Choices& made = kept.all[kept.next++ % std::size(kept.all)];
    made.columns = columns;
    made.row = row;
    made.step = step;
    made.make();
    return made;
  }

  template <int kVectors>
  static int64_t copy_vectors(const MoveBlock& b, const Choices& c) {
    const int64_t last = (b.rows - 1) * b.in_row +
                         std::max<int64_t>(b.columns - 1, 0) * std::max<int64_t>(b.in_step, 0);
    const char* const end = b.in + last + kSize - kVectors * kBytes;  // of vectors' begins
    const char* in = b.in;
    const int64_t all = b.rows * b.columns;
    int64_t done = 0;
    for (int64_t k = 0; done + kLanes <= all; done += kLanes) {
      const char* const from = in + c.first[k] * kSize;
      if (from > end) break;
      Words words, more;
      std::memcpy(&words, from, kBytes);
      if constexpr (kVectors == 2) {
        std::memcpy(&more, from + kBytes, kBytes);
        words = __builtin_shuffle(words, more, c.words[k]);
      } else {
        words = __builtin_shuffle(words, c.words[k]);
      }
      std::memcpy(b.out + done * kSize, &words, kBytes);
      if (++k < c.count) continue;
      k = 0;
      in += c.advance * kSize;
    }
    return done / b.columns;
  }
};

template <int kSize>
void ShortRows<kSize>::Choices::make() {
  count = columns / std::gcd(columns, kLanes);
  advance = reach = 0;
  int64_t column = 0;
  for (int64_t k = 0; k < count; ++k) {
    int64_t place[kLanes];
    for (int64_t& at : place) {
      at = advance + column * step;
      if (++column < columns) continue;
      column = 0;
      advance += row;
    }
    first[k] = *std::min_element(place, place + kLanes);
    reach = std::max(reach, *std::max_element(place, place + kLanes) - first[k]);
    for (int64_t i = 0; i < kLanes; ++i) {
      words[k][i] = static_cast<Lane<kSize>>(place[i] - first[k]);
    }
  }
}

}  // namespace
}  // namespace tensorlike
