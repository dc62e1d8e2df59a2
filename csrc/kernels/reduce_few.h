// Reductions of rows of a few elements and of a few columns, for one ISA level: vectors across
// rows, to the bits of the loops along them. Included by reduce_tu.cpp alone.
#pragma once

#include "kernels/halving.h"
#include "kernels/kernel_table.h"
#include "kernels/reduce_types.h"

namespace tensorlike {
namespace {

// L has the loops along rows.
template <class L>
struct FewElements {
  using T = typename L::Element;
  using Lane = typename L::Lane;
  using Acc = typename L::Acc;
  using Combine = typename L::CombineTwo;
  using Map = typename L::MapOne;

  // Numbers of 4 bytes at least.
  using Few = std::conditional_t<(sizeof(Lane) < 4), int32_t, Lane>;
  static constexpr int kLanes = L::kRowLanes;
  static constexpr int kMost = 2 * kLanes;  // elements of a row that is halved as it is
  static constexpr int64_t kRows = 64;      // at once
  static constexpr int64_t kSlack = Halving<Few>::kSlack;
  static constexpr int64_t kBuffer = kRows * kMost + kSlack;
  // Fewer columns fill no vector.
  static constexpr int64_t kMostColumns = kVectorBytes / static_cast<int64_t>(sizeof(Few)) - 1;

  static Few* mapped(Few* buffer, const T* in, int64_t n) {
    // No loop is vectorised that reads bool as what it is.
    using Read = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const Read* from = reinterpret_cast<const Read*>(in);
    for (int64_t i = 0; i < n; ++i) {
      buffer[i] = static_cast<Few>(L::mapped(static_cast<T>(from[i])));
    }
    std::fill_n(buffer + n, kSlack, Few{});
    return buffer;
  }

  // Halves n elements in rows, which `follow` others in memory.
  static void halve_elements(const Halving<Few>& halving, Few* out, const T* in, int64_t n,
                             int64_t rows, int64_t follow) {
    if constexpr (std::is_same_v<T, Few>) {
      if (follow >= kSlack) return halving.template run<Combine, Map, true>(out, in, rows);
    }
    alignas(64) Few buffer[kBuffer];
    halving.template run<Combine, Same, false>(out, mapped(buffer, in, n), rows);
  }

  // The lanes that the loops along rows end with.
  template <int kCount>
  static void lanes_of(Few* out, const T* x, int64_t n, int64_t step) {
    Lane lanes[kCount][L::kLanes];
    L::lanes_of(x, n, step, lanes);
    for (Lane* row : lanes) {
      for (int width = L::kLanes / 2; width >= kLanes; width /= 2) {
        for (int l = 0; l < width; ++l) row[l] = L::combine(row[l], row[l + width]);
      }
      for (int l = 0; l < kLanes; ++l) *out++ = static_cast<Few>(row[l]);
    }
  }

  // Rows of n elements, `step` from one to the next, each combined with its accumulator.
  class Rows {
   public:
    Rows(int64_t n, int64_t step) : n_(n), step_(step), is_short_(n <= kMost && step == n) {
      int64_t length = is_short_ ? n : kLanes;
      while (length > 1) {
        const int64_t half = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length)) / 2);
        halvings_[count_++] = {length, half};
        length = half;
      }
    }

    // kRows at most; others `follow` them.
    void run(Acc* totals, const T* in, int64_t rows, int64_t follow) const {
      alignas(64) Few first[kBuffer];
      alignas(64) Few second[kBuffer];
      Few* from = first;
      Few* to = second;
      int done = 0;
      if (!is_short_) {
        if constexpr (!L::kIsFree) all_lanes(first, in, rows);
      } else if (count_ == 0) {
        mapped(first, in, rows);
      } else {
        halve_elements(halvings_[done++], first, in, rows * n_, rows, follow * n_);
      }
      for (; done < count_; ++done) {
        halvings_[done].template run<Combine, Same, false>(to, from, rows);
        std::swap(from, to);
      }
      for (int64_t r = 0; r < rows; ++r) {
        totals[r] = static_cast<Acc>(Combine{}(totals[r], static_cast<Acc>(from[r])));
      }
    }

   private:
    void all_lanes(Few* out, const T* in, int64_t rows) const {
      int64_t r = 0;
      for (; r + 4 <= rows; r += 4, in += 4 * step_, out += 4 * kLanes) {
        if (step_ == n_) L::fetch(in + 4 * n_, 4 * n_);
        lanes_of<4>(out, in, n_, step_);
      }
      for (; r < rows; ++r, in += step_, out += kLanes) lanes_of<1>(out, in, n_, step_);
      std::fill_n(out, kSlack, Few{});
    }

    const int64_t n_, step_;
    const bool is_short_;
    Halving<Few> halvings_[5];  // of kMost elements
    int count_ = 0;
  };

  // n columns of `groups` times kRowsTogether rows, which follow each other: each two rows are the
  // halves of one twice as long, so that they are combined in pairs, and pairs of these.
  [[gnu::noinline]] static void columns(Acc* acc, const T* in, int64_t n, int64_t groups) {
    alignas(64) Few rows[kBuffer];
    alignas(64) Few other[kBuffer];
    const Halving<Few> halving(2 * n, n);
    Acc sums[kLanes];
    for (int j = 0; j < kLanes; ++j) sums[j] = j < n ? acc[j] : L::first();
    const int64_t of_group = kRowsTogether * n;
    while (groups > 0) {
      const int64_t count = std::min(kRows * kMost / of_group, groups);
      groups -= count;
      static_assert(kRowsTogether == 8);
      halve_elements(halving, rows, in, count * of_group, count * 4, groups * of_group);
      halving.template run<Combine, Same, false>(other, rows, count * 2);
      halving.template run<Combine, Same, false>(rows, other, count);
      for (int64_t g = 0; g < count; ++g) {
#pragma GCC unroll 1  // else the sums are as many numbers, and no vector
        for (int j = 0; j < kLanes; ++j) {
          sums[j] = static_cast<Acc>(Combine{}(sums[j], static_cast<Acc>(rows[g * n + j])));
        }
      }
      in += count * of_group;
    }
    std::copy_n(sums, n, acc);
  }
};

}  // namespace
}  // namespace tensorlike
