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

template <class T, bool kCenters>
Statistics<T> statistics(const T* x, int64_t n, double epsilon) {
  const double count = static_cast<double>(n);
  Statistics<T> found{};
  if constexpr (kCenters) {
    found.exact_mean = row_sum<T>(n, [=](int64_t i) { return x[i]; }) / count;
    found.mean = static_cast<T>(found.exact_mean);
  }
  const T mean = found.mean;
  const double squares = row_sum<T>(n, [=](int64_t i) {
    const T d = x[i] - mean;
    return d * d;
  });
  // The mean is rounded: what it is off by comes out of the squares.
  const double off = found.exact_mean - static_cast<double>(mean);
  found.variance = squares / count - off * off;
  found.factor = static_cast<T>(1.0 / __builtin_sqrt(found.variance + epsilon));
  return found;
}

// kEach: weight and bias are one element a row.
template <class T, bool kCenters, bool kEach>
void forward(const RowBlock& block) {
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    const T* weight = block.read<T>(1, r);
    T* y = block.write<T>(0, r);
    const Statistics<T> s = statistics<T, kCenters>(x, n, block.parameter);
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
}

// With u the normalised row and g = dy * weight: dx = (g - mean(g) - u * mean(g * u)) * factor.
template <class T, bool kCenters, bool kEach>
void backward(const RowBlock& block) {
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    const T* weight = block.read<T>(1, r);
    const T* dy = block.read<T>(2, r);
    T* dx = block.write<T>(0, r);
    T* dweight = block.write<T>(1, r);
    T* dbias = block.write<T>(2, r);
    const Statistics<T> s = statistics<T, kCenters>(x, n, block.parameter);
    const T mean = s.mean;
    const T factor = s.factor;
    const T own_weight = kEach ? weight[0] : T(1);
    double sums[2];
    row_sums<T>(n, sums, [=](int64_t i, T(&terms)[2]) {
      const T g = kEach ? dy[i] : dy[i] * weight[i];
      terms[0] = g;
      terms[1] = g * ((x[i] - mean) * factor);
    });
    const double scale = static_cast<double>(own_weight) / static_cast<double>(n);
    const T mean_g = kCenters ? static_cast<T>(sums[0] * scale) : T(0);
    const T mean_gu = static_cast<T>(sums[1] * scale);
    if constexpr (kEach) {
      for (int64_t i = 0; i < n; ++i) {
        const T u = (x[i] - mean) * factor;
        dx[i] = (dy[i] * own_weight - mean_g - u * mean_gu) * factor;
      }
      *dweight = static_cast<T>(sums[1]);
      if constexpr (kCenters) *dbias = static_cast<T>(sums[0]);
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
