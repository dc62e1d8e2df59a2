// The squares of the deviations from the mean, added up in one pass over memory, for one ISA level.
// A block is summed and then measured from its own mean while it is in cache; blocks are joined by
// Chan's formula, which does not cancel as the difference of two sums would.
#include "kernels/gemm_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/lanes.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int kSumLanes = 32;
constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(double));
using Doubles = Vector<double>;
// Whether vectors are loaded in part.
#if defined(__AVX2__)
constexpr bool kLoadsParts = true;
#else
constexpr bool kLoadsParts = false;
#endif

// Of some elements: how many, their mean, and the sum of the squares of what is left.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;
};

// Chan's formula: as if the elements of both had been looked at together.
inline void add(Moments& moments, const Moments& other) {
  if (other.count == 0) return;
  const double count = moments.count + other.count;
  const double apart = other.mean - moments.mean;
  moments.mean += apart * (other.count / count);
  moments.squares += other.squares + apart * apart * (moments.count * other.count / count);
  moments.count = count;
}

template <class T, class F>
double sum_of(const T* x, int64_t n, F&& f) {
  double lanes[kSumLanes] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (int l = 0; l < kSumLanes; ++l) lanes[l] += f(static_cast<double>(x[i + l]));
  }
  for (int l = 0; i < n; ++i, ++l) lanes[l] += f(static_cast<double>(x[i]));
  return joined<kSumLanes>(lanes, [](auto a, auto b) { return a + b; });
}

// The lanes of sum_of, of which no more than kUsed have elements, as one vector: the first half
// added to the second, and so on.
template <int kUsed, class T, class F>
[[gnu::always_inline]] inline Doubles lanes_of(const T* x, int64_t n, F&& f) {
  alignas(kVectorBytes) double lanes[kUsed] = {};
  int64_t i = 0;
  for (; i + kUsed <= n; i += kUsed) {
#pragma GCC unroll 1  // else the lanes are as many numbers, and no vector
    for (int l = 0; l < kUsed; ++l) lanes[l] += f(static_cast<double>(x[i + l]));
  }
  const int left = static_cast<int>(n - i);
  const int some = kLoadsParts ? kUsed : left;
#pragma GCC unroll 1
  for (int l = 0; l < some; ++l) {
    const double value = static_cast<double>(l < left ? x[i + l] : T{});
    const double added = lanes[l] + f(value);
    lanes[l] = l < left ? added : lanes[l];
  }
#pragma GCC unroll 4
  for (int half = kUsed / 2; half >= kWidth; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return load<Doubles>(lanes);
}

// n accumulators: the count that they share, n means, n sums of squares.
template <class T>
struct Loops {
  static void start(void* acc, int64_t n) {
    std::fill_n(static_cast<double*>(acc), 2 * n + 1, 0.0);
  }

  static void row(void* acc, const void* data, int64_t n) {
    const T* x = static_cast<const T*>(data);
    double* state = static_cast<double*>(acc);
    Moments total{state[0], state[1], state[2]};
    for (int64_t at = 0; at < n; at += kTile) {
      const int64_t size = std::min(kTile, n - at);
      const double count = static_cast<double>(size);
      // From an element on: what is left of equal ones is 0, without rounding.
      const double first = static_cast<double>(x[at]);
      const double mean =
          first + sum_of(x + at, size, [first](double v) { return v - first; }) / count;
      const double squares =
          sum_of(x + at, size, [mean](double v) { return (v - mean) * (v - mean); });
      add(total, {count, mean, squares});
    }
    state[0] = total.count;
    state[1] = total.mean;
    state[2] = total.squares;
  }

  // Whole results of rows of n elements each, to the bits of `row`.
  static void each(void* out, const void* data, int64_t n, int64_t count, int64_t step) {
    const T* x = static_cast<const T*>(data);
    double* to = static_cast<double*>(out);
    if (n == 0 || n > kTile) {
      for (int64_t r = 0; r < count; ++r) {
        double acc[3] = {};
        row(acc, x + r * step, n);
        to[r] = acc[2];
      }
    } else if (n <= 8) {
      each_of<8>(to, x, n, count, step);
    } else if (n <= 16) {
      each_of<16>(to, x, n, count, step);
    } else {
      each_of<kSumLanes>(to, x, n, count, step);
    }
  }

  // As many rows at a time as a vector has lanes; the last one stands for those that are missing.
  template <int kUsed>
  static void each_of(double* out, const T* x, int64_t n, int64_t count, int64_t step) {
    const auto added = [](Doubles a, Doubles b) { return a + b; };
    const double size = static_cast<double>(n);
    for (int64_t r = 0; r < count; r += kWidth, x += kWidth * step) {
      const int64_t rows = std::min<int64_t>(kWidth, count - r);
      Doubles sums[kWidth];
      alignas(kVectorBytes) double found[kWidth];
      for (int64_t k = 0; k < kWidth; ++k) {
        const T* from = x + std::min(k, rows - 1) * step;
        const double first = static_cast<double>(*from);
        found[k] = first;
        sums[k] = lanes_of<kUsed>(from, n, [first](double v) { return v - first; });
      }
      const Doubles means = load<Doubles>(found) + join_rows(sums, added) / size;
      store(found, means);
      for (int64_t k = 0; k < kWidth; ++k) {
        const double mean = found[k];
        sums[k] = lanes_of<kUsed>(x + std::min(k, rows - 1) * step, n,
                                  [mean](double v) { return (v - mean) * (v - mean); });
      }
      // NaN where a mean is infinite, as Chan's formula makes it.
      store(found, join_rows(sums, added) + means * means * 0.0);
      std::copy_n(found, rows, out + r);
    }
  }

  static void next_row(void* acc, const T* x, int64_t n) {
    double* count = static_cast<double*>(acc);
    double* means = count + 1;
    double* squares = means + n;
    const double weight = 1.0 / (*count += 1);
    for (int64_t j = 0; j < n; ++j) {
      const double value = static_cast<double>(x[j]);
      const double before = value - means[j];
      means[j] += before * weight;
      squares[j] += before * (value - means[j]);
    }
  }

  static void rows(void* acc, const void* data, int64_t n, int64_t count, int64_t step) {
    const T* x = static_cast<const T*>(data);
    for (int64_t r = 0; r < count; ++r) next_row(acc, x + r * step, n);
  }

  static void join(void* acc, const void* other, int64_t n) {
    double* to = static_cast<double*>(acc);
    const double* from = static_cast<const double*>(other);
    for (int64_t j = 1; j <= n; ++j) {
      Moments total{to[0], to[j], to[j + n]};
      add(total, {from[0], from[j], from[j + n]});
      to[j] = total.mean;
      to[j + n] = total.squares;
    }
    to[0] += from[0];
  }

  static void finish(void* out, const void* acc, int64_t n, int64_t) {
    std::copy_n(static_cast<const double*>(acc) + 1 + n, n, static_cast<double*>(out));
  }
};

template <class T>
ReductionKernel kernel() {
  using L = Loops<T>;
  constexpr int64_t kFewColumns = 8;
  static_assert(sizeof(Moments) <= ReductionKernel::kWidest);
  ReductionKernel made{sizeof(Moments), L::start, L::row, L::rows, L::join, L::finish, kFewColumns};
  made.each = L::each;
  return made;
}

}  // namespace

void TL_FILL(moments)(KernelTable& table);
void TL_FILL(moments)(KernelTable& table) {
  table.square_deviations[DType::kFloat32] = kernel<float>();
  table.square_deviations[DType::kFloat64] = kernel<double>();
}

}  // namespace tensorlike
