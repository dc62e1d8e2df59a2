// Products of matrices of so few elements that a vector holds the results of some. Included by
// gemm_isa.h only, which says why all is in an anonymous namespace.
#pragma once

#include "kernels/gemm_vectors.h"
#include "kernels/lanes.h"

namespace tensorlike {
namespace {

// Matrices lie one behind the other, so each vector of results asks for the same places of the two
// vectors from its first matrix on, for each step along k. Sums are those of tiles.
template <class T>
int64_t multiply_few(int64_t count, int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row,
                     int64_t a_k, const T* b, int64_t b_column, int64_t b_k, T* c) {
  using V = Vector<T>;
  using Places = LaneNumbers<V>;
  using Place = std::remove_reference_t<decltype(Places{}[0])>;
  constexpr int64_t kWidth = kLanes<T>, kMostSteps = 8;
  const int64_t of_a = m * k, of_b = k * n, of_c = m * n;
  const int64_t together = of_c > 0 ? kWidth / of_c : 0;
  if (together == 0 || k > kMostSteps) return 0;
  if (together * of_a > 2 * kWidth || together * of_b > 2 * kWidth) return 0;
  Places left[kMostSteps], right[kMostSteps];
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t lane = 0; lane < kWidth; ++lane) {
      const int64_t each = lane / of_c < together ? lane / of_c : 0;  // else nobody looks at it
      const int64_t row = lane % of_c / n, column = lane % n;
      left[p][lane] = static_cast<Place>(each * of_a + row * a_row + p * a_k);
      right[p][lane] = static_cast<Place>(each * of_b + column * b_column + p * b_k);
    }
  }
  int64_t done = 0;
  const auto fits = [&](int64_t size, int64_t read) { return (count - done) * size >= read; };
  while (fits(of_a, 2 * kWidth) && fits(of_b, 2 * kWidth) && fits(of_c, kWidth)) {
    const T* const x = a + done * of_a;
    const T* const y = b + done * of_b;
    const V x_low = load<V>(x), x_high = load<V>(x + kWidth);
    const V y_low = load<V>(y), y_high = load<V>(y + kWidth);
    V sum{};
    for (int64_t p = 0; p < k; ++p) {
      sum += __builtin_shuffle(x_low, x_high, left[p]) * __builtin_shuffle(y_low, y_high, right[p]);
    }
    store(c + done * of_c, sum);  // what is too much is written over by the next ones
    done += together;
  }
  return done;
}

}  // namespace
}  // namespace tensorlike
