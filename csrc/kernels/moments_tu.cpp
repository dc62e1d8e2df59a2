// The squares of the deviations from the mean, added up in one pass over memory, for one ISA level.
// A block is measured from a number near its mean, and what that lacks is taken off; blocks are
// joined by Chan's formula, which does not cancel as the difference of two sums would.
#include "kernels/gemm_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/lanes.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int kSumLanes = 16;
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
  moments.squares += other.squares + apart * (apart * (moments.count * other.count / count));
  moments.count = count;
}

// How far elements are from a number, and the squares of that, in kUsed lanes which are added up in
// halves; lanes without elements change nothing.
template <int kUsed>
struct Deviations {
  alignas(kVectorBytes) double sums[kUsed] = {};
  alignas(kVectorBytes) double squares[kUsed] = {};

  // All of n elements.
  template <class T>
  [[gnu::always_inline]] void measure(const T* x, int64_t n, double from) {
    int64_t i = 0;
    for (; i + kUsed <= n; i += kUsed) {
#pragma GCC unroll 1  // else the lanes are as many numbers, and no vector
      for (int l = 0; l < kUsed; ++l) {
        const double apart = static_cast<double>(x[i + l]) - from;
        sums[l] += apart;
        squares[l] += apart * apart;
      }
    }
    const int left = static_cast<int>(n - i);
    const int some = kLoadsParts ? kUsed : left;
#pragma GCC unroll 1
    for (int l = 0; l < some; ++l) {
      const double apart = static_cast<double>(l < left ? x[i + l] : T{}) - from;
      const double sum = sums[l] + apart;
      const double square = squares[l] + apart * apart;
      sums[l] = l < left ? sum : sums[l];
      squares[l] = l < left ? square : squares[l];
    }
  }

  static Doubles folded(double* lanes) {
#pragma GCC unroll 4
    for (int half = kUsed / 2; half >= kWidth; half /= 2) {
      for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    return load<Doubles>(lanes);
  }
};

// n accumulators: the count that they share, n means, n sums of squares.
template <class T>
struct Loops {
  // Float32 is measured from the first element of a block: at worst, where all others are alike,
  // the squares are a thousand times what is left of them, which costs 10 of the 29 bits that
  // double has more. Double is measured from the mean.
  static constexpr bool kMeasuresTwice = std::is_same_v<T, double>;

  static void start(void* acc, int64_t n) {
    std::fill_n(static_cast<double*>(acc), 2 * n + 1, 0.0);
  }

  static void row(void* acc, const void* data, int64_t n) {
    const T* x = static_cast<const T*>(data);
    double* state = static_cast<double*>(acc);
    Moments total{state[0], state[1], state[2]};
    for (int64_t at = 0; at < n; at += kTile) add(total, block(x + at, std::min(kTile, n - at)));
    state[0] = total.count;
    state[1] = total.mean;
    state[2] = total.squares;
  }

  static Moments block(const T* x, int64_t n) {
    const auto total = [](double* lanes) {
      return joined<kSumLanes>(lanes, [](auto a, auto b) { return a + b; });
    };
    const double count = static_cast<double>(n);
    double from = static_cast<double>(x[0]);
    if constexpr (kMeasuresTwice) {
      Deviations<kSumLanes> lanes;
      lanes.measure(x, n, from);
      from += total(lanes.sums) / count;
    }
    Deviations<kSumLanes> lanes;
    lanes.measure(x, n, from);
    const double sum = total(lanes.sums);
    const double apart = sum / count;
    return {count, from + apart, total(lanes.squares) - sum * apart};
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
      const auto row = [&](int64_t k) { return x + std::min(k, rows - 1) * step; };
      Doubles sums[kWidth], squares[kWidth];
      alignas(kVectorBytes) double found[kWidth];
      const auto measure = [&] {
        for (int64_t k = 0; k < kWidth; ++k) {
          Deviations<kUsed> lanes;
          lanes.measure(row(k), n, found[k]);
          sums[k] = lanes.folded(lanes.sums);
          squares[k] = lanes.folded(lanes.squares);
        }
      };
      for (int64_t k = 0; k < kWidth; ++k) found[k] = static_cast<double>(*row(k));
      if constexpr (kMeasuresTwice) {
        measure();
        store(found, load<Doubles>(found) + join_rows(sums, added) / size);
      }
      measure();
      const Doubles sum = join_rows(sums, added);
      const Doubles apart = sum / size;
      const Doubles means = load<Doubles>(found) + apart;
      // NaN where a mean is infinite, as Chan's formula makes it.
      store(found, join_rows(squares, added) - sum * apart + means * (means * 0.0));
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

  // kRowsTogether rows, measured from the first of them.
  static void next_rows(void* acc, const T* x, int64_t n, int64_t step) {
    constexpr double kRows = kRowsTogether;
    double* count = static_cast<double*>(acc);
    double* means = count + 1;
    double* squares = means + n;
    const double share = kRows / (*count + kRows);
    const double weight = *count * share;
    *count += kRows;
    for (int64_t j = 0; j < n; ++j) {
      const double from = static_cast<double>(x[j]);
      double sum = 0, square = 0;
#pragma GCC unroll 8
      for (int64_t k = 1; k < kRowsTogether; ++k) {
        const double apart = static_cast<double>(x[k * step + j]) - from;
        sum += apart;
        square += apart * apart;
      }
      const double apart = from + sum / kRows - means[j];
      means[j] += apart * share;
      squares[j] += square - sum * (sum / kRows) + apart * (apart * weight);
    }
  }

  static void rows(void* acc, const void* data, int64_t n, int64_t count, int64_t step) {
    const T* x = static_cast<const T*>(data);
    for (; count >= kRowsTogether; count -= kRowsTogether, x += kRowsTogether * step) {
      next_rows(acc, x, n, step);
    }
    for (; count > 0; --count, x += step) next_row(acc, x, n);
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
