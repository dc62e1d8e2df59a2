// Normalising a row and its gradients, for one ISA level. The mean and the variance are computed in
// two passes, since the square of the mean would drown a small variance; backward computes both
// anew, which costs less than reading what forward could have kept.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
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

// Rows go through each step together: the steps of one row wait for each other, those of several
// need not. Together they stay in the first-level cache.
constexpr int64_t kMostRows = 8;
constexpr int64_t kElements = 4096;

template <class F>
void in_groups(const RowBlock& block, F&& f) {
  const int64_t fitting = kElements / (block.n + 1);
  const int64_t together = fitting < 1 ? 1 : fitting < kMostRows ? fitting : kMostRows;
  for (int64_t first = 0; first < block.rows; first += together) {
    f(first, block.rows - first < together ? block.rows : first + together);
  }
}

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

// kEach: weight and bias are one element a row.
template <class T, bool kCenters, bool kEach>
void forward(const RowBlock& block) {
  const int64_t n = block.n;
  Statistics<T> statistics[kMostRows];
  in_groups(block, [&](int64_t first, int64_t last) {
    find_statistics<T, kCenters>(block, first, last, statistics);
    for (int64_t r = first; r < last; ++r) {
      const T* x = block.read<T>(0, r);
      const T* weight = block.read<T>(1, r);
      T* y = block.write<T>(0, r);
      const Statistics<T>& s = statistics[r - first];
      const T mean = s.mean;
      const T factor = s.factor;
      if constexpr (kCenters) {
        const T* bias = block.read<T>(2, r);
        for (int64_t i = 0; i < n; ++i) {
          const int64_t j = kEach ? 0 : i;
          y[i] = (x[i] - mean) * factor * weight[j] + bias[j];
        }
      } else {
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor * weight[kEach ? 0 : i];
      }
      if (block.out[1] != nullptr) {
        *block.write<T>(1, r) = static_cast<T>(s.exact_mean);
        *block.write<T>(2, r) = static_cast<T>(s.variance);
      }
    }
  });
}

// With u the normalised row and g = dy * weight: dx = (g - mean(g) - u * mean(g * u)) * factor.
template <class T, bool kCenters, bool kEach>
void backward(const RowBlock& block) {
  const int64_t n = block.n;
  Statistics<T> statistics[kMostRows];
  double sums[kMostRows][2];  // of g and g * u
  in_groups(block, [&](int64_t first, int64_t last) {
    find_statistics<T, kCenters>(block, first, last, statistics);
    for (int64_t r = first; r < last; ++r) {
      const T* x = block.read<T>(0, r);
      const T* weight = block.read<T>(1, r);
      const T* dy = block.read<T>(2, r);
      const T mean = statistics[r - first].mean;
      const T factor = statistics[r - first].factor;
      row_sums<T>(n, sums[r - first], [=](int64_t i, T(&terms)[2]) {
        const T g = kEach ? dy[i] : dy[i] * weight[i];
        terms[0] = g;
        terms[1] = g * ((x[i] - mean) * factor);
      });
    }
    for (int64_t r = first; r < last; ++r) {
      const T* x = block.read<T>(0, r);
      const T* weight = block.read<T>(1, r);
      const T* dy = block.read<T>(2, r);
      T* dx = block.write<T>(0, r);
      T* dweight = block.write<T>(1, r);
      T* dbias = block.write<T>(2, r);
      const T mean = statistics[r - first].mean;
      const T factor = statistics[r - first].factor;
      const double (&sum)[2] = sums[r - first];
      const T own_weight = kEach ? weight[0] : T(1);
      const double scale = static_cast<double>(own_weight) / static_cast<double>(n);
      const T mean_g = kCenters ? static_cast<T>(sum[0] * scale) : T(0);
      const T mean_gu = static_cast<T>(sum[1] * scale);
      if constexpr (kEach) {
        for (int64_t i = 0; i < n; ++i) {
          const T u = (x[i] - mean) * factor;
          dx[i] = (dy[i] * own_weight - mean_g - u * mean_gu) * factor;
        }
        *dweight = static_cast<T>(sum[1]);
        if constexpr (kCenters) *dbias = static_cast<T>(sum[0]);
      } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) {
          const T u = (x[i] - mean) * factor;
          dx[i] = (dy[i] * weight[i] - mean_g - u * mean_gu) * factor;
          dweight[i] += dy[i] * u;
          if constexpr (kCenters) dbias[i] += dy[i];
        }
      }
    }
  });
}

template <class T, bool kCenters, bool kEach>
constexpr NormPrograms::Affine affine() {
  return {forward<T, kCenters, kEach>, backward<T, kCenters, kEach>};
}

template <class T>
constexpr NormPrograms norm_programs() {
  return {affine<T, true, false>(), affine<T, true, true>(), affine<T, false, false>(),
          affine<T, false, true>()};
}

}  // namespace

void TL_FILL(norms)(KernelTable& table);
void TL_FILL(norms)(KernelTable& table) {
  table.norms[DType::kFloat32] = norm_programs<float>();
  table.norms[DType::kFloat64] = norm_programs<double>();
}

}  // namespace tensorlike
