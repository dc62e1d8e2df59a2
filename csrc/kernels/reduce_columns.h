// Reductions of columns that lie side by side, for one ISA level: whole rows are combined with a
// row of accumulators. Included by reduce_tu.cpp alone.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

// Lines of memory that are asked for ahead of time, some for each group of rows: by the second
// cache, since the nearest one has too few requests at a time to wait for memory.
struct FetchedLines {
  [[gnu::always_inline]] void fetch() {
    for (uintptr_t line = at; line < at + bytes; line += 64) {
      __builtin_prefetch(reinterpret_cast<const void*>(line), 0, 2);
    }
    at += step;
  }
  uintptr_t at, bytes, step;
};

// Of some groups of kRowsTogether rows kWidth columns at a time: strip(to, in, step, groups,
// lines). The last strip has some columns again, which give the same as before. Meanwhile as many
// rows that follow are fetched in their order: by itself the processor sees several streams within
// a page, and finds no order in them.
template <int kWidth, class Acc, class Stored, class Strip>
[[gnu::always_inline]] inline void strips_of_groups(Acc* to, const Stored* in, int64_t n,
                                                    int64_t groups, int64_t step, bool fetches,
                                                    Strip&& strip) {
  constexpr int64_t kSize = kRowsTogether * static_cast<int64_t>(sizeof(Stored));
  const uintptr_t next = reinterpret_cast<uintptr_t>(in + groups * kRowsTogether * step);
  const auto ahead = [&](int64_t from, int64_t width) __attribute__((always_inline)) {
    return FetchedLines{next + static_cast<uintptr_t>(from * kSize),
                        fetches ? static_cast<uintptr_t>(width * kSize) : 0,
                        static_cast<uintptr_t>(n * kSize)};
  };
  const int64_t last = n - kWidth;
  Acc again[kWidth];
  std::copy_n(to + last, kWidth, again);
  int64_t j = 0;
  for (; j + kWidth <= n; j += kWidth) strip(to + j, in + j, step, groups, ahead(j, kWidth));
  if (j == n) return;
  strip(again, in + last, step, groups, ahead(j, n - j));
  std::copy_n(again, kWidth, to + last);
}

constexpr int64_t kNever = std::numeric_limits<int32_t>::max();

// n >= kWidth columns. Accumulators stay in registers down as many groups as a near cache has room
// for; of kMany strips and more they are in that cache themselves, and groups go one by one.
template <int kWidth, int64_t kMany, class Acc, class Stored, class Strip>
[[gnu::always_inline]] inline void in_strips(Acc* to, const Stored* in, int64_t n, int64_t groups,
                                             int64_t step, Strip&& strip) {
  constexpr int64_t kNear = 8192;   // bytes of what is walked
  constexpr int64_t kMost = 65536;  // of four groups
  const bool follow = step == n;
  if constexpr (kMany != kNever) {
    if (n >= kMany * kWidth) {
      for (; groups > 0; --groups, in += kRowsTogether * step) {
        strips_of_groups<kWidth>(to, in, n, 1, step, follow && groups > 1, strip);
      }
      return;
    }
  }
  const int64_t size = n * kRowsTogether * static_cast<int64_t>(sizeof(Stored));
  const int64_t together = std::max<int64_t>({1, kNear / size, std::min<int64_t>(4, kMost / size)});
  for (; groups > 0; groups -= together, in += together * kRowsTogether * step) {
    strips_of_groups<kWidth>(to, in, n, std::min(together, groups), step,
                             follow && groups > together, strip);
  }
}

// L has the loops along rows.
template <class L>
struct ReducedColumns {
  using T = typename L::Element;
  using Lane = typename L::Lane;
  using Acc = typename L::Acc;
  using Combine = typename L::CombineTwo;
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

  static void one_row(Acc* __restrict to, const T* in, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
      to[j] = static_cast<Acc>(Combine{}(to[j], static_cast<Acc>(L::mapped_at(in, j))));
    }
  }

  // n > 0 columns of groups of kRowsTogether rows, in strips as wide as there are columns for.
  template <int kWidth = L::kColumns>
  static void rows(Acc* to, const T* in, int64_t n, int64_t groups, int64_t step) {
    if constexpr (kWidth > 1) {
      if (n < kWidth) return rows<kWidth / 2>(to, in, n, groups, step);
    }
    in_strips<kWidth, kNever>(to, in, n, groups, step, strip<kWidth>);
  }

  // Accumulators stay in registers.
  template <int kWidth>
  static void strip(Acc* to, const T* in, int64_t step, int64_t groups, FetchedLines ahead) {
    Acc totals[kWidth];
    std::copy_n(to, kWidth, totals);
    for (; groups > 0; --groups, in += kRowsTogether * step) {
      ahead.fetch();
      for (int j = 0; j < kWidth; ++j) {
        const Acc found = static_cast<Acc>(pairwise<kRowsTogether>(in + j, step));
        totals[j] = static_cast<Acc>(Combine{}(totals[j], found));
      }
    }
    std::copy_n(totals, kWidth, to);
  }
};

}  // namespace
}  // namespace tensorlike
