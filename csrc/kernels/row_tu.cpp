// Row programs, for one ISA level: softmax and its logarithm over one contiguous row, which stays
// in cache between the passes.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int kLanes = 16;

template <class T>
T row_maximum(const T* x, int64_t n) {
  T lanes[kLanes];
  for (T& lane : lanes) lane = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] = maximum(lanes[l], x[i + l]);
  }
  for (; i < n; ++i) lanes[0] = maximum(lanes[0], x[i]);
  for (int l = 1; l < kLanes; ++l) lanes[0] = maximum(lanes[0], lanes[l]);
  return lanes[0];
}

template <class T>
double row_sum(const T* x, int64_t n) {
  double total = 0;
  for (int64_t at = 0; at < n; at += 512) {
    const int64_t end = at + 512 < n ? at + 512 : n;
    T lanes[kLanes] = {};
    int64_t i = at;
    for (; i + kLanes <= end; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] += x[i + l];
    }
    for (int l = 0; i < end; ++i, ++l) lanes[l] += x[i];
    for (T lane : lanes) total += static_cast<double>(lane);
  }
  return total;
}

template <class T>
double exp_shifted(T* y, const T* x, T shift, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = vm::exp(x[i] - shift);
  return row_sum(y, n);
}

template <class T>
void softmax_row(void* out, const void* in, int64_t n) {
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in);
  const T scale = static_cast<T>(1.0 / exp_shifted(y, x, row_maximum(x, n), n));
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

template <class T>
void log_softmax_row(void* out, const void* in, int64_t n) {
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in);
  const T shift = row_maximum(x, n);
  const T total = static_cast<T>(__builtin_log(exp_shifted(y, x, shift, n)));
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - shift - total;
}

}  // namespace

void TL_FILL(rows)(KernelTable& table);
void TL_FILL(rows)(KernelTable& table) {
  table.rows[DType::kFloat32] = {softmax_row<float>, log_softmax_row<float>};
  table.rows[DType::kFloat64] = {softmax_row<double>, log_softmax_row<double>};
}

}  // namespace tensorlike
