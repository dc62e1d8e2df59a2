// Reductions of halves, for one ISA level: the loops of float32, to their bits, over pieces that
// are widened while they are in the nearest cache. Included by reduce_tu.cpp alone.
#pragma once

#include <algorithm>

#include "kernels/half_loop.h"
#include "kernels/kernel_table.h"

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
    alignas(64) float wide[kPiece];
    const Half* in = static_cast<const Half*>(x);
    for (; n > 0; n -= kPiece, in += kPiece) {
      const int64_t count = std::min(n, kPiece);
      convert_halves(wide, in, count);
      L::row(acc, wide, count);
    }
  }

  // Columns do not meet; rows come as many together as L wants them, and in their order, as memory
  // has them.
  static void rows(void* acc, const void* x, int64_t n, int64_t count, int64_t step) {
    constexpr int64_t kColumns = kPiece / kRowsTogether;
    const Half* in = static_cast<const Half*>(x);
    const int64_t together = kPiece / std::min(n, kColumns) / kRowsTogether * kRowsTogether;
    for (int64_t r = 0; r < count; r += together, in += together * step) {
      const int64_t some = std::min(together, count - r);
      for (int64_t at = 0; at < n; at += kColumns) {
        const int64_t width = std::min(kColumns, n - at);
        some_rows(static_cast<Acc*>(acc) + at, in + at, width, some, step);
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
    if (n == 0 || n > kPiece) {
      for (int64_t r = 0; r < count; ++r) {
        Acc acc;
        L::start(&acc, 1);
        row(&acc, in + r * step, n);
        finish(to + r, &acc, 1, n);
      }
      return;
    }
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
