// Kernels that compute: matrix products and row programs; and the table of all kernels by name.
#include <algorithm>
#include <cmath>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "kernels/kernel_table.h"
#include "op/families.h"
#include "op/registry.h"
#include "tensor/body.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

// A matrix operand: vectors become matrices of one row (left) or one column (right).
struct Matrix {
  Dims batch_shape, batch_strides;
  int64_t rows, columns, row_stride, column_stride;
};

Matrix as_matrix(const RawTensor& x, bool is_left) {
  const size_t ndim = x.shape.size();
  if (ndim == 1 && is_left) return {{}, {}, 1, x.shape[0], 0, x.strides[0]};
  if (ndim == 1) return {{}, {}, x.shape[0], 1, x.strides[0], 0};
  Matrix m{Dims(x.shape.begin(), x.shape.end() - 2),
           Dims(x.strides.begin(), x.strides.end() - 2),
           x.shape[ndim - 2],
           x.shape[ndim - 1],
           x.strides[ndim - 2],
           x.strides[ndim - 1]};
  return m;
}

int64_t batch_offset(int64_t position, const Dims& common, const Matrix& m) {
  int64_t offset = 0;
  const size_t lead = common.size() - m.batch_shape.size();
  for (size_t i = common.size(); i-- > 0;) {
    const int64_t index = position % common[i];
    position /= common[i];
    if (i >= lead && m.batch_shape[i - lead] != 1) offset += index * m.batch_strides[i - lead];
  }
  return offset;
}

template <class T>
void multiply(const RawTensor& a, const RawTensor& b, RawTensor& out, const Dims& batch) {
  const Matrix left = as_matrix(a, true);
  const Matrix right = as_matrix(b, false);
  const int64_t count = element_count(batch);
  const int64_t size = left.rows * right.columns;
  const double work = static_cast<double>(size) * static_cast<double>(left.columns + 1);
  if (size == 0 || count == 0) return;
  BlockingRegion blocking(work * static_cast<double>(count) > 1e6);
  auto product = [&](int64_t i) {
    gemm<T>(left.rows, right.columns, left.columns, a.as<T>() + batch_offset(i, batch, left),
            left.row_stride, left.column_stride, b.as<T>() + batch_offset(i, batch, right),
            right.row_stride, right.column_stride, out.as<T>() + i * size, right.columns);
  };
  if (count == 1) {
    product(0);
    return;
  }
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(5e5 / work));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) product(i);
  });
}

template <class T>
constexpr bool kHasGemm =
    std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, uint64_t>;

Values matmul(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = outputs[0].dtype;
  const DType loop = compute_of(dtype);
  const Ref<RawTensor> a = cast_if_needed(*inputs[0], loop);
  const Ref<RawTensor> b = cast_if_needed(*inputs[1], loop);
  Ref<RawTensor> out = RawTensor::empty(loop, outputs[0].shape);
  const Dims batch = broadcast_shapes(op.name(), as_matrix(*a, true).batch_shape,
                                      as_matrix(*b, false).batch_shape);
  // uint64 has the bits of int64, which wraps.
  visit_compute(loop == DType::kUInt64 ? DType::kInt64 : loop, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kHasGemm<T>) multiply<T>(*a, *b, *out, batch);
  });
  return one(cast_if_needed(*out, outputs[0].dtype));
}

// Applies a row program along one axis; other axes are moved out of the way first.
template <void (*RowKernels::*kRow)(void*, const void*, int64_t)>
Values rows(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const size_t ndim = outputs[0].shape.size();
  const size_t axis = static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(ndim)));
  Ref<RawTensor> x = cast_if_needed(*inputs[0], dtype);
  auto swap_last = [&](const RawTensor& t) {
    Dims shape = t.shape;
    Dims strides = t.strides;
    std::swap(shape[axis], shape[ndim - 1]);
    std::swap(strides[axis], strides[ndim - 1]);
    return t.view(shape, strides);
  };
  if (axis + 1 != ndim) x = swap_last(*x);
  x = contiguous(*x);
  Ref<RawTensor> out = RawTensor::empty(dtype, x->shape);
  const int64_t n = x->shape[ndim - 1];
  if (x->size() > 0) {
    const int64_t bytes = n * static_cast<int64_t>(size_of(dtype));
    const auto row = kernel_table().rows[dtype].*kRow;
    BlockingRegion blocking(x->size() > 16384);
    parallel_for(x->size() / n, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) row(out->data + r * bytes, x->data + r * bytes, n);
    });
  }
  out = cast_if_needed(*out, outputs[0].dtype);
  return one(axis + 1 == ndim ? out : swap_last(*out));
}

template <class T>
double row_loss(const T* logits, int64_t n, int64_t label) {
  double most = -HUGE_VAL;
  for (int64_t j = 0; j < n; ++j) {
    const double value = static_cast<double>(logits[j]);
    most = value > most || value != value ? value : most;
  }
  double total = 0;
  for (int64_t j = 0; j < n; ++j) total += std::exp(static_cast<double>(logits[j]) - most);
  return std::log(total) + most - static_cast<double>(logits[label]);
}

Values cross_entropy(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Ref<RawTensor> logits = contiguous(*cast_if_needed(*inputs[0], dtype));
  const Ref<RawTensor> labels = contiguous(*cast_if_needed(*inputs[1], DType::kInt64));
  const int64_t n = logits->shape.back();
  const int64_t count = labels->size();
  double total = 0;
  for (int64_t r = 0; r < count; ++r) {
    const int64_t label = labels->as<int64_t>()[r];
    if (label < 0 || label >= n) {
      fail(ErrorKind::kIndex, op.name(), ": labels must be in [0, ", n - 1, "]; got ", label,
           " at position ", r, ".");
    }
    total += dtype == DType::kFloat32 ? row_loss(logits->as<float>() + r * n, n, label)
                                      : row_loss(logits->as<double>() + r * n, n, label);
  }
  return one(RawTensor::scalar(outputs[0].dtype, total / static_cast<double>(count)));
}

constexpr std::pair<std::string_view, Kernel> kKernels[] = {
    {"matmul", matmul},
    {"softmax", rows<&RowKernels::softmax>},
    {"log_softmax", rows<&RowKernels::log_softmax>},
    {"cross_entropy", cross_entropy},
};

}  // namespace

RuleTable<Kernel> linear_algebra_kernels() { return kKernels; }

Kernel find_kernel(std::string_view name) {
  for (const auto& family : {layout_kernels(), linear_algebra_kernels(), gather_kernels(),
                             scatter_kernels(), mask_kernels(), pad_kernels()}) {
    for (const auto& [key, kernel] : family) {
      if (key == name) return kernel;
    }
  }
  return nullptr;
}

}  // namespace tensorlike
