// Normalising a row and its gradients, for one ISA level. The mean and the variance are computed in
// two passes, since the square of the mean would drown a small variance; backward computes both
// anew, which costs less than reading what forward could have kept.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/norm_vectors.h"
#include "kernels/row_loops.h"

namespace tensorlike {
namespace {

// What forward and backward know of a row: it is normalised by (x - mean) * factor.
template <class T>
struct Statistics {
  T mean;
  T factor;
  double exact_mean;
  double variance;
};

constexpr int kMostRows = 8;  // at once

// Of the rows [first, last).
template <class T, bool kCenters>
void find_statistics(const RowBlock& block, int64_t first, int64_t last, Statistics<T>* found) {
  const int64_t n = block.n;
  const double count = static_cast<double>(n);
  for (int64_t r = first; r < last; ++r) {
    Statistics<T>& s = found[r - first];
    s = {};
    if constexpr (kCenters) {
      const T* x = block.read<T>(0, r);
      s.exact_mean = row_sum<T>(n, [=](int64_t i) { return x[i]; }) / count;
      s.mean = static_cast<T>(s.exact_mean);
    }
  }
  for (int64_t r = first; r < last; ++r) {
    Statistics<T>& s = found[r - first];
    const T* x = block.read<T>(0, r);
    const T mean = s.mean;
    const double squares = row_sum<T>(n, [=](int64_t i) {
      const T d = x[i] - mean;
      return d * d;
    });
    // The mean is rounded: what it is off by comes out of the squares.
    const double off = s.exact_mean - static_cast<double>(mean);
    s.variance = squares / count - off * off;
    s.factor = static_cast<T>(1.0 / __builtin_sqrt(s.variance + block.parameter));
  }
}

// Calls f(begin, end, j) for the elements [begin, end) of a row and the place j of their weight:
// for whole runs; f(0, n, 0) where there are none.
template <Weights kWeights, class F>
inline void over_runs(const RowBlock& block, F&& f) {
  const int64_t run = kWeights == Weights::kRuns ? block.run : block.n;
  int64_t j = 0;
  for (int64_t begin = 0; begin < block.n; begin += run) f(begin, begin + run, j++);
}

// Whether runs are quicker as rows of vectors.
template <Weights kWeights>
inline bool has_short_runs(const RowBlock& block) {
  return kWeights == Weights::kRuns && block.run <= kMostInVectors;
}

template <class T, bool kCenters, Weights kWeights>
void normalise_row(const RowBlock& block, int64_t r, T mean, T factor) {
  if (has_short_runs<kWeights>(block)) return forward_runs<T, kCenters>(block, r, mean, factor);
  const T* x = block.read<T>(0, r);
  const T* weight = block.read<T>(1, r);
  T* y = block.write<T>(0, r);
  const T* bias = kCenters ? block.read<T>(2, r) : nullptr;
  over_runs<kWeights>(block, [=](int64_t begin, int64_t end, int64_t run) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t j = kWeights == Weights::kShared ? i : run;
      if constexpr (kCenters) {
        y[i] = (x[i] - mean) * factor * weight[j] + bias[j];
      } else {
        y[i] = x[i] * factor * weight[j];
      }
    }
  });
}

template <class T, bool kCenters, Weights kWeights>
void forward(const RowBlock& block) {
  if constexpr (kWeights != Weights::kRuns) {
    if (block.n <= kMostInVectors) return forward_in_vectors<T, kCenters, kWeights>(block);
  }
  Statistics<T> statistics[kMostRows];
  in_groups<kMostRows>(block.rows, block.n, [&](int64_t first, int64_t last) {
    find_statistics<T, kCenters>(block, first, last, statistics);
    for (int64_t r = first; r < last; ++r) {
      const Statistics<T>& s = statistics[r - first];
      normalise_row<T, kCenters, kWeights>(block, r, s.mean, s.factor);
      if (block.out[1] != nullptr) {
        *block.write<T>(1, r) = static_cast<T>(s.exact_mean);
        *block.write<T>(2, r) = static_cast<T>(s.variance);
      }
    }
  });
}

// Of one row: sums of g and of g * u, where u is the normalised row and g = dy * weight; where
// weight repeats in the row, its gradient and that of bias, which are such sums.
template <class T, bool kCenters, Weights kWeights>
void sum_row(const RowBlock& block, int64_t r, const Statistics<T>& s, double (&sum)[2]) {
  const T* x = block.read<T>(0, r);
  const T* weight = block.read<T>(1, r);
  const T* dy = block.read<T>(2, r);
  const T mean = s.mean;
  const T factor = s.factor;
  sum[0] = sum[1] = 0;
  if (has_short_runs<kWeights>(block)) {
    return sum_runs<T, kCenters>(block, r, mean, factor, sum);
  }
  over_runs<kWeights>(block, [&](int64_t begin, int64_t end, int64_t run) {
    double found[2];
    row_sums<T>(end - begin, found, [=](int64_t k, T(&terms)[2]) {
      const int64_t i = begin + k;
      const T g = kWeights == Weights::kShared ? dy[i] * weight[i] : dy[i];
      terms[0] = g;
      terms[1] = g * ((x[i] - mean) * factor);
    });
    const double own = kWeights == Weights::kShared ? 1.0 : static_cast<double>(weight[run]);
    sum[0] += found[0] * own;
    sum[1] += found[1] * own;
    if constexpr (kWeights != Weights::kShared) {
      block.write<T>(1, r)[run] = static_cast<T>(found[1]);
      if constexpr (kCenters) block.write<T>(2, r)[run] = static_cast<T>(found[0]);
    }
  });
}

// dx = (g - mean(g) - u * mean(g * u)) * factor.
template <class T, bool kCenters, Weights kWeights>
void gradient_row(const RowBlock& block, int64_t r, T mean, T factor, T mean_g, T mean_gu) {
  if (has_short_runs<kWeights>(block)) {
    return backward_runs<T, kCenters>(block, r, mean, factor, mean_g, mean_gu);
  }
  const T* x = block.read<T>(0, r);
  const T* weight = block.read<T>(1, r);
  const T* dy = block.read<T>(2, r);
  T* dx = block.write<T>(0, r);
  T* dweight = block.write<T>(1, r);
  T* dbias = block.write<T>(2, r);
  over_runs<kWeights>(block, [=](int64_t begin, int64_t end, int64_t run) {
    if constexpr (kWeights != Weights::kShared) {
      const T own = weight[run];
      for (int64_t i = begin; i < end; ++i) {
        const T u = (x[i] - mean) * factor;
        dx[i] = (dy[i] * own - mean_g - u * mean_gu) * factor;
      }
    } else {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) {
        const T u = (x[i] - mean) * factor;
        dx[i] = (dy[i] * weight[i] - mean_g - u * mean_gu) * factor;
        dweight[i] += dy[i] * u;
        if constexpr (kCenters) dbias[i] += dy[i];
      }
    }
  });
}

template <class T, bool kCenters, Weights kWeights>
void backward(const RowBlock& block) {
  if constexpr (kWeights != Weights::kRuns) {
    if (block.n <= kMostInVectors) return backward_in_vectors<T, kCenters, kWeights>(block);
  }
  const double count = static_cast<double>(block.n);
  Statistics<T> statistics[kMostRows];
  double sums[kMostRows][2];
  in_groups<kMostRows>(block.rows, block.n, [&](int64_t first, int64_t last) {
    find_statistics<T, kCenters>(block, first, last, statistics);
    for (int64_t r = first; r < last; ++r) {
      sum_row<T, kCenters, kWeights>(block, r, statistics[r - first], sums[r - first]);
    }
    for (int64_t r = first; r < last; ++r) {
      const Statistics<T>& s = statistics[r - first];
      const double (&sum)[2] = sums[r - first];
      const T mean_g = kCenters ? static_cast<T>(sum[0] / count) : T(0);
      const T mean_gu = static_cast<T>(sum[1] / count);
      gradient_row<T, kCenters, kWeights>(block, r, s.mean, s.factor, mean_g, mean_gu);
    }
  });
}

template <class T, bool kCenters, Weights kWeights>
constexpr NormPrograms::Affine affine() {
  return {forward<T, kCenters, kWeights>, backward<T, kCenters, kWeights>};
}

template <class T>
constexpr NormPrograms norm_programs() {
  return {affine<T, true, Weights::kShared>(), affine<T, true, Weights::kEach>(),
          affine<T, true, Weights::kRuns>(),   affine<T, false, Weights::kShared>(),
          affine<T, false, Weights::kEach>(),  affine<T, false, Weights::kRuns>()};
}

}  // namespace

void TL_FILL(norms)(KernelTable& table);
void TL_FILL(norms)(KernelTable& table) {
  table.norms[DType::kFloat32] = norm_programs<float>();
  table.norms[DType::kFloat64] = norm_programs<double>();
}

}  // namespace tensorlike
