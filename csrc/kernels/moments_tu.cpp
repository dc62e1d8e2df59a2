// Mean and squared deviations in one pass over memory, for one ISA level. A block is summed and
// then measured from its own mean while it is in cache; blocks are joined by Chan's formula, which
// does not cancel as the difference of two sums would.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int64_t kBlock = 2048;
constexpr int kLanes = 32;

template <class T, class F>
double sum_of(const T* x, int64_t n, F&& f) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += f(static_cast<double>(x[i + l]));
  }
  for (int l = 0; i < n; ++i, ++l) lanes[l] += f(static_cast<double>(x[i]));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

template <class T>
Moments row(const void* data, int64_t n) {
  const T* x = static_cast<const T*>(data);
  Moments total;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t size = std::min(kBlock, n - at);
    const double count = static_cast<double>(size);
    const double mean = sum_of(x + at, size, [](double v) { return v; }) / count;
    const double squares =
        sum_of(x + at, size, [mean](double v) { return (v - mean) * (v - mean); });
    join(total, {count, mean, squares});
  }
  return total;
}

template <class T>
void rows(double* means, double* squares, const void* data, int64_t n, int64_t count) {
  const T* x = static_cast<const T*>(data);
  const double weight = 1.0 / static_cast<double>(count);
  for (int64_t j = 0; j < n; ++j) {
    const double value = static_cast<double>(x[j]);
    const double before = value - means[j];
    means[j] += before * weight;
    squares[j] += before * (value - means[j]);
  }
}

}  // namespace

void TL_FILL(moments)(KernelTable& table);
void TL_FILL(moments)(KernelTable& table) {
  table.moments[DType::kFloat32] = {row<float>, rows<float>};
  table.moments[DType::kFloat64] = {row<double>, rows<double>};
}

}  // namespace tensorlike
