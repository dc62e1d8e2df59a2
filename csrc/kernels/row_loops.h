// Passes over a row, for the row programs. Included once per ISA level, inside an anonymous
// namespace. Sums are made in the row's own precision within blocks and carried in double between
// them, as reductions do.
#pragma once

#include "kernels/lanes.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int kRowLanes = 32;
constexpr int64_t kRowBlock = 512;

// exp(x) for x <= 0, where what is no normal number is 0 (and its parts mean nothing): for weights
// that are small beside a weight of 1. Always inline: compilers may call it for each element once
// it has several users, which takes three times as long.
template <class T>
[[gnu::always_inline]] inline T exp_of_negative(T x) {
  constexpr T kLeast = sizeof(T) == 4 ? T(-87.3) : T(-708.3);
  const auto [p, magic] = vm::exp_parts(x);
  const T y = p * vm::power_of_two(magic, 0);
  return x < kLeast ? T(0) : y;
}

// Joins what f gives for the elements [begin, end) from `first` on: f(i, terms) sets the terms of
// element i, for kSums totals. Elements go as many together as there are. Those that are left then
// are the last of kCount, of which the others are looked at twice, but joined once; unless `kOnce`:
// then f is called once for each element.
template <bool kOnce, int kCount = kRowLanes, class T, int kSums, class F, class Join>
inline void fold(T first, int64_t begin, int64_t end, T (&totals)[kSums], F&& f, Join&& join) {
  if constexpr (kCount > 2) {
    if (end - begin < kCount) return fold<kOnce, kCount / 2>(first, begin, end, totals, f, join);
    T lanes[kSums][kCount];
    for (auto& row : lanes) {
      for (T& lane : row) lane = first;
    }
    for (; begin + kCount <= end; begin += kCount) {
#pragma GCC unroll 1  // else the compiler sees sixteen numbers, and no vector
      for (int l = 0; l < kCount; ++l) {
        T terms[kSums];
        f(begin + l, terms);
        for (int s = 0; s < kSums; ++s) lanes[s][l] = join(lanes[s][l], terms[s]);
      }
    }
    [[maybe_unused]] T rest[kSums];
    if constexpr (kOnce) {
      fold<kOnce, kCount / 2>(first, begin, end, rest, f, join);
    } else if (begin < end) {
      const int met = static_cast<int>(begin + kCount - end);
#pragma GCC unroll 1
      for (int l = 0; l < kCount; ++l) {
        T terms[kSums];
        f(end - kCount + l, terms);
        for (int s = 0; s < kSums; ++s) {
          const T both = join(lanes[s][l], terms[s]);
          lanes[s][l] = l < met ? lanes[s][l] : both;
        }
      }
    }
    for (int s = 0; s < kSums; ++s) {
      totals[s] = joined<kCount>(lanes[s], join);
      if constexpr (kOnce) totals[s] = join(totals[s], rest[s]);
    }
  } else {
    for (T& total : totals) total = first;
    for (; begin < end; ++begin) {
      T terms[kSums];
      f(begin, terms);
      for (int s = 0; s < kSums; ++s) totals[s] = join(totals[s], terms[s]);
    }
  }
}

// The sums of kSums functions over a row: f(i, terms) sets the terms of element i. `kOnce`: f
// writes over what it reads.
template <class T, int kSums, bool kOnce = false, class F>
inline void row_sums(int64_t n, double (&totals)[kSums], F&& f) {
  for (double& total : totals) total = 0;
  for (int64_t at = 0; at < n; at += kRowBlock) {
    T sums[kSums];
    fold<kOnce>(T(0), at, at + kRowBlock < n ? at + kRowBlock : n, sums, f,
                [](auto a, auto b) { return a + b; });
    for (int s = 0; s < kSums; ++s) totals[s] += static_cast<double>(sums[s]);
  }
}

// The sum of f(i) over a row.
template <class T, bool kOnce = false, class F>
inline double row_sum(int64_t n, F&& f) {
  double total[1];
  row_sums<T, 1, kOnce>(n, total, [&](int64_t i, T(&term)[1]) { term[0] = f(i); });
  return total[0];
}

// The largest of f(i); -inf for an empty row. It may pass over NaN, which shows in the sum of
// exponentials that follows.
template <class T, class F>
inline T row_largest(int64_t n, F&& f) {
  T most[1];
  fold<false>(
      -std::numeric_limits<T>::infinity(), 0, n, most,
      [&](int64_t i, T(&term)[1]) { term[0] = f(i); },
      [](auto a, auto b) { return a > b ? a : b; });
  return most[0];
}

template <class T>
inline T row_largest(const T* x, int64_t n) {
  return row_largest<T>(n, [=](int64_t i) { return x[i]; });
}

}  // namespace
}  // namespace tensorlike
