// The programs around the softmax of a row, for one ISA level. Gradients of cross entropy compute
// the softmax anew: the row is in cache, and nothing has to be kept between the passes.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/row_loops.h"

namespace tensorlike {
namespace {

// y = exp(x - shift); its sum.
template <class T>
double exp_shifted(T* y, const T* x, T shift, int64_t n) {
  return row_sum<T>(n, [=](int64_t i) {
    const T value = vm::exp(x[i] - shift);
    y[i] = value;
    return value;
  });
}

// The logarithm of the sum of exponentials, less `shift`.
template <class T>
double log_of_sum(const T* x, T shift, int64_t n) {
  return __builtin_log(row_sum<T>(n, [=](int64_t i) { return vm::exp(x[i] - shift); }));
}

template <class T>
void softmax(const RowBlock& block) {
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    T* y = block.write<T>(0, r);
    const T scale = static_cast<T>(1.0 / exp_shifted(y, x, row_maximum(x, n), n));
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

template <class T>
void log_softmax(const RowBlock& block) {
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    T* y = block.write<T>(0, r);
    const T shift = row_maximum(x, n);
    const T total = static_cast<T>(log_of_sum(x, shift, n));
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] - shift - total;
  }
}

template <class T>
void softmax_grad(const RowBlock& block) {
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* y = block.read<T>(0, r);
    const T* dy = block.read<T>(1, r);
    T* dx = block.write<T>(0, r);
    const T total = static_cast<T>(row_sum<T>(n, [=](int64_t i) { return dy[i] * y[i]; }));
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - total);
  }
}

template <class T>
void log_softmax_grad(const RowBlock& block) {
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* y = block.read<T>(0, r);
    const T* dy = block.read<T>(1, r);
    T* dx = block.write<T>(0, r);
    const T total = static_cast<T>(row_sum<T>(n, [=](int64_t i) { return dy[i]; }));
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - vm::exp(y[i]) * total;
  }
}

template <class T>
void cross_entropy(const RowBlock& block) {
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    const T shift = row_maximum(x, block.n);
    const double of_label = double{x[*block.read<int64_t>(1, r)]} - double{shift};
    *block.write<T>(0, r) = static_cast<T>(log_of_sum(x, shift, block.n) - of_label);
  }
}

template <class T>
void cross_entropy_grad(const RowBlock& block) {
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    const T dy = *block.read<T>(2, r);
    T* dx = block.write<T>(0, r);
    const double total = exp_shifted(dx, x, row_maximum(x, n), n);
    const T scale = static_cast<T>(1.0 / total);
    const int64_t label = *block.read<int64_t>(1, r);
    const T of_label = dx[label] * scale - T(1);
    for (int64_t i = 0; i < n; ++i) dx[i] = dx[i] * scale * dy;
    dx[label] = of_label * dy;
  }
}

template <class T>
constexpr RowPrograms row_programs() {
  RowPrograms programs;
  programs.softmax = softmax<T>;
  programs.log_softmax = log_softmax<T>;
  programs.softmax_grad = softmax_grad<T>;
  programs.log_softmax_grad = log_softmax_grad<T>;
  programs.cross_entropy = cross_entropy<T>;
  programs.cross_entropy_grad = cross_entropy_grad<T>;
  return programs;
}

}  // namespace

void TL_FILL(rows)(KernelTable& table);
void TL_FILL(rows)(KernelTable& table) {
  table.rows[DType::kFloat32] = row_programs<float>();
  table.rows[DType::kFloat64] = row_programs<double>();
}

}  // namespace tensorlike
