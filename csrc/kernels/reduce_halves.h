// Reductions of halves, for one ISA level: the loops of float32, to their bits, over vectors that
// are widened in registers, or over pieces in the nearest cache. Included by reduce_tu.cpp alone.
#pragma once

#include <algorithm>

#include "kernels/half_loop.h"
#include "kernels/kernel_table.h"
#include "kernels/reduce_blocks.h"
#include "kernels/reduce_columns.h"
#include "kernels/reduce_few.h"

namespace tensorlike {
namespace {

template <class From, class To>
void convert_halves(To* to, const From* from, int64_t n) {
  struct Convert {
    float operator()(float x) const { return x; }
  };
  void* const out = to;
  const void* const in = from;
  HalfLoop<Convert, std::tuple<From>, std::tuple<To>>::run(&out, &in, n);
}

// L has the loops of float32, whose accumulators lie in a row; kFinish makes float32 of them.
template <class Half, class L, auto kFinish>
struct ReducedHalves {
  using Acc = typename L::Acc;
  static constexpr int64_t kPiece = 4096;  // elements: several times kTile
  static constexpr int64_t kResults = 256;
  static constexpr int kWidth = kLanes<float>;
  static constexpr bool kInRegisters = L::Blocks::kInVectors || L::kIsExtreme;
  static_assert(kPiece % kTile == 0);

  // Of that of float32.
  static ReductionKernel kernel(ReductionKernel made) {
    made.row = row;
    made.rows = rows;
    made.finish = finish;
    made.each = each;
    return made;
  }

  static void row(void* acc, const void* x, int64_t n) {
    const Half* in = static_cast<const Half*>(x);
    [[maybe_unused]] Acc& total = *static_cast<Acc*>(acc);
    if constexpr (L::kIsExtreme) {
      total = RowBlocks<L, Half>::extreme(total, in, n);
      return;
    } else if constexpr (kInRegisters) {
      total = RowBlocks<L, Half>::row(total, in, n);
      return;
    }
    alignas(64) float wide[kPiece];
    for (; n > 0; n -= kPiece, in += kPiece) {
      const int64_t count = std::min(n, kPiece);
      convert_halves(wide, in, count);
      L::row(acc, wide, count);
    }
  }

  // Columns do not meet: vectors of them are widened in registers, kRowsTogether rows at a time.
  // Results of mapping that a sum may round, or not, are left to the loops of float32.
  static void rows(void* acc, const void* x, int64_t n, int64_t count, int64_t step) {
    Acc* const to = static_cast<Acc*>(acc);
    const Half* in = static_cast<const Half*>(x);
    const int64_t groups = n < kWidth || L::rounds() ? 0 : count / kRowsTogether;
    if (groups > 0) {
      in_strips<kWidth, 4>(to, in, n, groups, step, [](auto... of) __attribute__((always_inline)) {
        L::kIsExtreme ? extreme_strip(of...) : strip(of...);
      });
    }
    count -= groups * kRowsTogether;
    in += groups * kRowsTogether * step;
    if (count > 0) wide_rows(to, in, n, count, step);
  }

  [[gnu::always_inline]] static Vector<float> mapped(const Half* in) {
    alignas(kVectorBytes) float lanes[kWidth];
    store(lanes, widened_vector(load_bits<Halves>(in), Half{}));
#pragma GCC unroll 1
    for (int l = 0; l < kWidth; ++l) lanes[l] = L::mapped(lanes[l]);
    return load<Vector<float>>(lanes);
  }

  // As ReducedColumns has it.
  template <int kCount>
  [[gnu::always_inline]] static Vector<float> pairwise(const Half* in, int64_t step) {
    if constexpr (kCount == 1) {
      return mapped(in);
    } else {
      return combined_lanes<L, float>(pairwise<kCount / 2>(in, step),
                                      pairwise<kCount / 2>(in + kCount / 2 * step, step));
    }
  }

  // A vector of columns, whose accumulators stay in registers.
  [[gnu::always_inline]] static void strip(Acc* to, const Half* in, int64_t step, int64_t groups,
                                           FetchedLines ahead) {
    alignas(kVectorBytes) Acc totals[kWidth];
    std::copy_n(to, kWidth, totals);
    for (; groups > 0; --groups, in += kRowsTogether * step) {
      alignas(kVectorBytes) float lanes[kWidth];
      ahead.fetch();
      store(lanes, pairwise<kRowsTogether>(in, step));
#pragma GCC unroll 1
      for (int l = 0; l < kWidth; ++l) {
        totals[l] =
            static_cast<Acc>(typename L::CombineTwo{}(totals[l], static_cast<Acc>(lanes[l])));
      }
    }
    std::copy_n(totals, kWidth, to);
  }

  // The more extreme of two that are not NaN.
  template <int kCount, class Watch>
  [[gnu::always_inline]] static Vector<float> most_extreme(const Half* in, int64_t step,
                                                           Watch& nans) {
    if constexpr (kCount == 1) {
      const Halves bits = load_bits<Halves>(in);
      nans.see(bits);
      return widened_vector(bits, Half{});
    } else {
      const Vector<float> first = most_extreme<kCount / 2>(in, step, nans);
      return L::more_extreme(first, most_extreme<kCount / 2>(in + kCount / 2 * step, step, nans));
    }
  }

  // The same of extremes, to its bits: one instruction finds the more extreme of two. Where any is
  // NaN, all of it is done again.
  [[gnu::always_inline]] static void extreme_strip(Acc* to, const Half* in, int64_t step,
                                                   int64_t groups, FetchedLines ahead) {
    if constexpr (L::kIsExtreme) {
      Vector<float> totals = load<Vector<float>>(to);
      const bool is_nan = any_bit(totals != totals);
      typename VectorLanes<L, Half>::NanWatch nans;
      const Half* row = in;
      for (int64_t g = 0; g < groups; ++g, row += kRowsTogether * step) {
        ahead.fetch();
        totals = L::more_extreme(totals, most_extreme<kRowsTogether>(row, step, nans));
      }
      if (!is_nan && !nans.is_alarmed()) return store(to, totals);
    }
    strip(to, in, step, groups, ahead);
  }

  // Rows come as many together as L wants them, and in their order, as memory has them.
  static void wide_rows(Acc* acc, const Half* in, int64_t n, int64_t count, int64_t step) {
    constexpr int64_t kColumns = kPiece / kRowsTogether;
    const int64_t together = kPiece / std::min(n, kColumns) / kRowsTogether * kRowsTogether;
    for (int64_t r = 0; r < count; r += together, in += together * step) {
      const int64_t some = std::min(together, count - r);
      for (int64_t at = 0; at < n; at += kColumns) {
        const int64_t width = std::min(kColumns, n - at);
        some_rows(acc + at, in + at, width, some, step);
      }
    }
  }

  static void some_rows(Acc* acc, const Half* in, int64_t n, int64_t count, int64_t step) {
    alignas(64) float wide[kPiece];
    if (n == step) {
      convert_halves(wide, in, count * n);
    } else {
      for (int64_t r = 0; r < count; ++r) convert_halves(wide + r * n, in + r * step, n);
    }
    L::rows(acc, wide, n, count, n);
  }

  static void each(void* out, const void* x, int64_t n, int64_t count, int64_t step) {
    const Half* in = static_cast<const Half*>(x);
    Half* to = static_cast<Half*>(out);
    if (n == 0 || n > kPiece || (kInRegisters && n >= kBlock)) {
      return one_by_one(to, in, n, count, step);
    }
    if constexpr (kInRegisters) {
      if (n > L::Few::kMost && !L::rounds()) return in_registers(to, in, n, count, step);
    }
    in_pieces(to, in, n, count, step);
  }

  static void one_by_one(Half* to, const Half* in, int64_t n, int64_t count, int64_t step) {
    Acc totals[kResults];
    for (int64_t at = 0; at < count; at += kResults) {
      const int64_t some = std::min(kResults, count - at);
      L::start(totals, some);
      for (int64_t r = 0; r < some; ++r) row(totals + r, in + (at + r) * step, n);
      finish(to + at, totals, some, n);
    }
  }

  static void in_registers(Half* to, const Half* in, int64_t n, int64_t count, int64_t step) {
    float results[kResults];
    for (int64_t r = 0; r < count; r += kResults) {
      const int64_t some = std::min(kResults, count - r);
      L::each_short(kFinish, results, in + r * step, n, some, step);
      convert_halves(to + r, results, some);
    }
  }

  static void in_pieces(Half* to, const Half* in, int64_t n, int64_t count, int64_t step) {
    alignas(64) float wide[kPiece];
    float results[kResults];
    const int64_t together = std::min(kPiece / n, kResults);
    for (int64_t r = 0; r < count; r += together, in += together * step) {
      const int64_t some = std::min(together, count - r);
      if (step == n) {
        convert_halves(wide, in, some * n);
      } else {
        for (int64_t k = 0; k < some; ++k) convert_halves(wide + k * n, in + k * step, n);
      }
      L::each(kFinish, results, wide, n, some, n);
      convert_halves(to + r, results, some);
    }
  }

  static void finish(void* out, const void* acc, int64_t n, int64_t count) {
    float results[kResults];
    for (int64_t at = 0; at < n; at += kResults) {
      const int64_t some = std::min(n - at, kResults);
      kFinish(results, static_cast<const Acc*>(acc) + at, some, count);
      convert_halves(static_cast<Half*>(out) + at, results, some);
    }
  }
};

}  // namespace
}  // namespace tensorlike
