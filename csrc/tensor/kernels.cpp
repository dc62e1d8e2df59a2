// Kernels that compute row by row; and the table of all kernels by name.
#include <algorithm>
#include <cmath>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "op/families.h"
#include "op/registry.h"
#include "tensor/body.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

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
    {"softmax", rows<&RowKernels::softmax>},
    {"log_softmax", rows<&RowKernels::log_softmax>},
    {"cross_entropy", cross_entropy},
};

}  // namespace

RuleTable<Kernel> row_kernels() { return kKernels; }

Kernel find_kernel(std::string_view name) {
  for (const auto& family : {layout_kernels(), matmul_kernels(), row_kernels(), gather_kernels(),
                             scatter_kernels(), mask_kernels(), pad_kernels()}) {
    for (const auto& [key, kernel] : family) {
      if (key == name) return kernel;
    }
  }
  return nullptr;
}

}  // namespace tensorlike
