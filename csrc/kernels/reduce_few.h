// Reductions of rows of a few elements and of a few columns, for one ISA level: vectors across
// rows, to the bits of the loops along them. Included by reduce_tu.cpp alone.
#pragma once

#include "kernels/halving.h"
#include "kernels/kernel_table.h"
#include "kernels/reduce_blocks.h"

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
  static constexpr int kWidth = Halving<Few>::kWidth;
  // Whether the lanes of a row are vectors of what is combined.
  static constexpr bool kHalvesLanes = !L::kIsFree && std::is_same_v<Lane, Few> && kWidth <= kLanes;
  // Where lanes are vectors, a longer row has its own.
  static constexpr int kShort = L::kIsExtreme && kHalvesLanes ? kWidth
                                : L::Blocks::kInVectors
                                    ? std::min(kMost, (sizeof(Few) < 8 ? 2 : 1) * kWidth)
                                    : kMost;
  static constexpr int64_t kRows = 64;  // at once
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
    L::Blocks::lanes_of(x, n, step, lanes);
    for (Lane* row : lanes) {
      for (int width = L::kLanes / 2; width >= kLanes; width /= 2) {
        for (int l = 0; l < width; ++l) row[l] = L::combine(row[l], row[l + width]);
      }
      for (int l = 0; l < kLanes; ++l) *out++ = static_cast<Few>(row[l]);
    }
  }

  static constexpr uintptr_t kAhead = 4096;  // bytes, whether or not anything is there

  [[gnu::always_inline]] static Vector<Few> combined(Vector<Few> a, Vector<Few> b) {
    return combined_lanes<L, Few>(a, b);
  }

  // Rows of n elements, `step` from one to the next, each combined with its accumulator.
  class Rows {
   public:
    Rows(int64_t n, int64_t step) : n_(n), step_(step), is_short_(n <= kShort && step == n) {
      if (kHalvesLanes && !is_short_) return;  // lanes are halved in registers
      int64_t length = is_short_ ? n : kLanes;
      while (length > 1) {
        const int64_t half = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length)) / 2);
        halvings_[count_++] = {length, half};
        length = half;
      }
    }

    // kRows at most; others `follow` them. Only short rows are always stored as they are.
    template <class Stored>
    void run(Acc* totals, const Stored* in, int64_t rows, int64_t follow) const {
      if constexpr (kHalvesLanes) {
        if (!is_short_) return run_lanes(totals, in, rows);
      }
      if constexpr (std::is_same_v<Stored, T>) run_short(totals, in, rows, follow);
    }

   private:
    void run_short(Acc* totals, const T* in, int64_t rows, int64_t follow) const {
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

    // As many rows as a vector has lanes: each row's lanes become a vector, and vectors are halved
    // in registers, two and two to one, until there is one of all rows.
    template <class Stored>
    void run_lanes(Acc* totals, const Stored* in, int64_t rows) const {
      for (int64_t r = 0; r < rows; r += kWidth, in += kWidth * step_) {
        const int64_t count = std::min<int64_t>(rows - r, kWidth);
        alignas(kVectorBytes) Few results[kWidth];
        store(results, results_of(in, count));
        for (int64_t k = 0; k < count; ++k) {
          totals[r + k] = static_cast<Acc>(Combine{}(totals[r + k], static_cast<Acc>(results[k])));
        }
      }
    }

    // One lane a row. The last one stands for those that are missing. Extremes are found as in long
    // rows, so that the same one of several zeros wins.
    template <class Stored>
    [[gnu::always_inline]] Vector<Few> results_of(const Stored* in, int64_t rows) const {
      using Vectors = VectorLanes<L, Stored>;
      Vector<Few> made[kWidth];
      const auto row = [&](int64_t r) { return in + std::min(r, rows - 1) * step_; };
      if constexpr (L::kIsExtreme || L::Blocks::kInVectors) {
        if (step_ == n_) RowBlocks<L, Stored>::fetch_beyond(in, rows * n_);
      }
      if constexpr (L::kIsExtreme) {
        typename Vectors::NanWatch nans;
        // Of two vectors the same one of several zeros wins as of four.
        const bool is_few = n_ <= 4 * kWidth;
        for (int64_t r = 0; r < kWidth; ++r) {
          made[r] = is_few ? Vectors::template folded_extreme<2>(row(r), n_, nans)
                           : Vectors::template folded_extreme<4>(row(r), n_, nans);
        }
        for (int64_t r = 0; nans.is_alarmed() && r < kWidth; ++r) {
          typename Vectors::NanWatch own;
          Vectors::template folded_extreme<4>(row(r), n_, own);
          if (own.is_alarmed()) made[r] = Vector<Few>{} + std::numeric_limits<Few>::quiet_NaN();
        }
        return join_rows(made, [](auto a, auto b) { return L::more_extreme(a, b); });
      } else if constexpr (L::Blocks::kInVectors) {
        for (int64_t r = 0; r < kWidth; ++r) made[r] = Vectors::folded(row(r), n_);
      } else {
        fold_rows(made, in, rows);
      }
      return join_rows(made, combined);
    }

    // A vector of each row, of lanes that are no vectors.
    void fold_rows(Vector<Few>* made, const T* in, int64_t rows) const {
      using Vectors = VectorLanes<L, T>;
      alignas(kVectorBytes) Few lanes[kWidth * kLanes] = {};
      lanes_of_rows(lanes, in, rows);
      for (int64_t r = 0; r < kWidth; ++r) {
        typename Vectors::Lanes row;
        for (int v = 0; v < Vectors::kVectors; ++v) {
          row[v] = load<Vector<Few>>(lanes + r * kLanes + v * kWidth);
        }
        made[r] = Vectors::folded(row);
      }
    }

    void all_lanes(Few* out, const T* in, int64_t rows) const {
      lanes_of_rows(out, in, rows);
      std::fill_n(out + rows * kLanes, kSlack, Few{});
    }

    void lanes_of_rows(Few* out, const T* in, int64_t rows) const {
      int64_t r = 0;
      for (; r + 4 <= rows; r += 4, in += 4 * step_, out += 4 * kLanes) {
        if (step_ == n_) L::fetch(in + 4 * n_, 4 * n_);
        lanes_of<4>(out, in, n_, step_);
      }
      for (; r < rows; ++r, in += step_, out += kLanes) lanes_of<1>(out, in, n_, step_);
    }

    const int64_t n_, step_;
    const bool is_short_;
    Halving<Few> halvings_[5];  // of kMost elements
    int count_ = 0;
  };

  // kCount columns of as many groups as fill vectors, in registers: of eight vectors neighbouring
  // rows are combined, three times. How many groups those are.
  template <int kCount>
  static int64_t columns_of(Acc* sums, const T* in, int64_t groups) {
    constexpr int64_t kTogether = kWidth / kCount;
    constexpr std::make_integer_sequence<int, kWidth> kAll;
    int64_t done = 0;
    for (; done + kTogether <= groups; done += kTogether, in += kRowsTogether * kWidth) {
      Vector<Few> rows[kRowsTogether];
#pragma GCC unroll 8
      for (int v = 0; v < kRowsTogether; ++v) {
        const uintptr_t from = reinterpret_cast<uintptr_t>(in + v * kWidth);
        __builtin_prefetch(reinterpret_cast<const void*>(from + kAhead));
        rows[v] = load<Vector<Few>>(in + v * kWidth);
      }
#pragma GCC unroll 4
      for (int left = kRowsTogether / 2; left > 0; left /= 2) {
#pragma GCC unroll 4
        for (int v = 0; v < left; ++v) {
          const Vector<Few> a = rows[2 * v], b = rows[2 * v + 1];
          rows[v] = combined(runs_of<kCount, 0>(a, b, kAll), runs_of<kCount, 1>(a, b, kAll));
        }
      }
      alignas(kVectorBytes) Few made[kWidth];
      store(made, rows[0]);
      for (int64_t g = 0; g < kTogether; ++g) {
        for (int j = 0; j < kCount; ++j) {
          const Few value = made[g * kCount + j];
          sums[j] = static_cast<Acc>(Combine{}(sums[j], static_cast<Acc>(value)));
        }
      }
    }
    return done;
  }

  static int64_t columns_in_registers(Acc* sums, const T* in, int64_t n, int64_t groups) {
    if constexpr (std::is_same_v<T, Few> && std::is_same_v<Map, Same>) {
      if (n == 2 && kWidth > 2) return columns_of<2>(sums, in, groups);
      if constexpr (kWidth > 4) {
        if (n == 4) return columns_of<4>(sums, in, groups);
      }
      if constexpr (kWidth > 8) {
        if (n == 8) return columns_of<8>(sums, in, groups);
      }
    }
    return 0;
  }

  // n columns of `groups` times kRowsTogether rows, which follow each other: each two rows are the
  // halves of one twice as long, so that they are combined in pairs, and pairs of these.
  [[gnu::noinline]] static void columns(Acc* acc, const T* in, int64_t n, int64_t groups) {
    alignas(64) Few rows[kBuffer];
    alignas(64) Few other[kBuffer];
    const Halving<Few> halving(2 * n, n);
    Acc sums[kLanes];
    for (int j = 0; j < kLanes; ++j) sums[j] = j < n ? acc[j] : L::first();
    const int64_t of_group = kRowsTogether * n;
    const int64_t done = columns_in_registers(sums, in, n, groups);
    groups -= done;
    in += done * of_group;
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
