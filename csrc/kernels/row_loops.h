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
// that are small beside a weight of 1.
template <class T>
inline T exp_of_negative(T x) {
  constexpr T kLeast = sizeof(T) == 4 ? T(-87.3) : T(-708.3);
  const auto [p, magic] = vm::exp_parts(x);
  const T y = p * vm::power_of_two(magic, 0);
  return x < kLeast ? T(0) : y;
}

// The sums of kSums functions over a row: f(i, terms) sets the terms of element i.
template <class T, int kSums, class F>
inline void row_sums(int64_t n, double (&totals)[kSums], F&& f) {
  for (double& total : totals) total = 0;
  for (int64_t at = 0; at < n; at += kRowBlock) {
    const int64_t end = at + kRowBlock < n ? at + kRowBlock : n;
    T lanes[kSums][kRowLanes] = {};
    int64_t i = at;
    for (; i + kRowLanes <= end; i += kRowLanes) {
      for (int l = 0; l < kRowLanes; ++l) {
        T terms[kSums];
        f(i + l, terms);
        for (int s = 0; s < kSums; ++s) lanes[s][l] += terms[s];
      }
    }
    for (int l = 0; i < end; ++i, ++l) {
      T terms[kSums];
      f(i, terms);
      for (int s = 0; s < kSums; ++s) lanes[s][l] += terms[s];
    }
    for (int s = 0; s < kSums; ++s) {
      const T total = joined<kRowLanes>(lanes[s], [](auto a, auto b) { return a + b; });
      totals[s] += static_cast<double>(total);
    }
  }
}

// The sum of f(i) over a row.
template <class T, class F>
inline double row_sum(int64_t n, F&& f) {
  double total[1];
  row_sums<T>(n, total, [&](int64_t i, T(&term)[1]) { term[0] = f(i); });
  return total[0];
}

// The largest of f(i); -inf for an empty row. It may pass over NaN, which shows in the sum of
// exponentials that follows.
template <class T, class F>
inline T row_largest(int64_t n, F&& f) {
  T lanes[kRowLanes];
  for (T& lane : lanes) lane = -std::numeric_limits<T>::infinity();
  auto keep = [](T& most, T x) { most = most > x ? most : x; };
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) {
    for (int l = 0; l < kRowLanes; ++l) keep(lanes[l], f(i + l));
  }
  for (int l = 0; i < n; ++i, ++l) keep(lanes[l], f(i));
  return joined<kRowLanes>(lanes, [](auto a, auto b) { return a > b ? a : b; });
}

template <class T>
inline T row_largest(const T* x, int64_t n) {
  return row_largest<T>(n, [=](int64_t i) { return x[i]; });
}

}  // namespace
}  // namespace tensorlike
