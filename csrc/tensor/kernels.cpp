// Matrix products; and the table of all kernels by name.
#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/gemm.h"
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

constexpr std::pair<std::string_view, Kernel> kKernels[] = {
    {"matmul", matmul},
};

}  // namespace

RuleTable<Kernel> linear_algebra_kernels() { return kKernels; }

Kernel find_kernel(std::string_view name) {
  for (const auto& family : {
           layout_kernels(),
           linear_algebra_kernels(),
           gather_kernels(),
           scatter_kernels(),
           mask_kernels(),
           pad_kernels(),
           row_kernels(),
           attention_kernels(),
           convolution_kernels(),
           pooling_kernels(),
       }) {
    for (const auto& [key, kernel] : family) {
      if (key == name) return kernel;
    }
  }
  return nullptr;
}

}  // namespace tensorlike
