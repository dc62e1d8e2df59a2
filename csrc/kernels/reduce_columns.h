// Reductions of columns that lie side by side, for one ISA level: whole rows are combined with a
// row of accumulators. Included by reduce_tu.cpp alone.
#pragma once

#include <algorithm>

#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

// L has the loops along rows.
template <class L>
struct ReducedColumns {
  using T = typename L::Element;
  using Lane = typename L::Lane;
  using Acc = typename L::Acc;
  using Combine = typename L::CombineTwo;
  static constexpr int kColumns = L::kColumns;
  static constexpr int64_t kFar = 8192;  // bytes ahead, of which the second cache is asked

  // kCount rows are combined in pairs, then pairs of these, and then with the accumulators.
  template <int kCount>
  static Lane pairwise(const T* in, int64_t step) {
    if constexpr (kCount == 1) {
      return L::mapped_at(in, 0);
    } else {
      return L::combine(pairwise<kCount / 2>(in, step),
                        pairwise<kCount / 2>(in + kCount / 2 * step, step));
    }
  }

  // The accumulators overlap nothing.
  template <int kCount, int kWidth>
  static void some_columns(Acc* __restrict to, const T* in, int64_t step) {
    for (int j = 0; j < kWidth; ++j) {
      to[j] = static_cast<Acc>(Combine{}(to[j], static_cast<Acc>(pairwise<kCount>(in + j, step))));
    }
  }

  static void one_row(Acc* __restrict to, const T* in, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
      to[j] = static_cast<Acc>(Combine{}(to[j], static_cast<Acc>(L::mapped_at(in, j))));
    }
  }

  static void some_rows(Acc* to, const T* in, int64_t n, int64_t step) {
    constexpr int kCount = kRowsTogether;
    // Rows that follow each other are fetched in their order, ahead of time: by itself the
    // processor sees several streams within a page, and finds no order in them.
    const bool are_together = step == n;
    uintptr_t ahead = reinterpret_cast<uintptr_t>(in + kCount * step);
    const uintptr_t end = are_together ? ahead + kCount * n * sizeof(T) : ahead;
    const bool is_far = kCount * n * static_cast<int64_t>(sizeof(T)) >= kFar;
    auto fetch = [&](uintptr_t until) {
      for (; ahead < until; ahead += 64) {
        const void* const line = reinterpret_cast<const void*>(ahead);
        is_far ? __builtin_prefetch(line, 0, 2) : __builtin_prefetch(line);
      }
    };
    int64_t j = 0;
    for (; j + kColumns <= n; j += kColumns) {
      fetch(std::min(end, ahead + kCount * kColumns * sizeof(T)));
      some_columns<kCount, kColumns>(to + j, in + j, step);
    }
    fetch(end);
    last_columns<kCount, kColumns / 2>(to + j, in + j, n - j, step);
  }

  // n < 2 * kWidth columns.
  template <int kCount, int kWidth>
  static void last_columns(Acc* to, const T* in, int64_t n, int64_t step) {
    if (n >= kWidth) {
      some_columns<kCount, kWidth>(to, in, step);
      to += kWidth;
      in += kWidth;
      n -= kWidth;
    }
    if constexpr (kWidth > 1) {
      if (n > 0) last_columns<kCount, kWidth / 2>(to, in, n, step);
    }
  }
};

}  // namespace
}  // namespace tensorlike
