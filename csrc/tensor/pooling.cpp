// Kernels of pooling: planes (an image's channel) in C order, shared out among the threads.
#include <algorithm>
#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/families.h"
#include "op/windows.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;  // elements read by a thread at least

// Calls f(kernels, plane) for all planes; each reads about `work` elements.
template <class F>
void for_planes(const Pooling& p, DType dtype, F&& f) {
  const PoolKernels& kernels = kernel_table().pools[dtype];
  const Window& w = p.window;
  const int64_t taps = p.window.is_irregular ? 1 : std::min(w.taps(), w.in_size());
  const int64_t work = std::max<int64_t>(w.in_size(), 1) + w.out_size() * taps;
  BlockingRegion blocking(p.planes * work > 4 * kGrain);
  parallel_for(p.planes, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) f(kernels, plane);
  });
}

Ref<RawTensor> prepared(const RawTensor& x, DType dtype) {
  return contiguous(*cast_if_needed(x, dtype));
}

// y from planes of x.
template <void (*PoolKernels::*kRun)(const PoolWindow&, const void*, void*)>
Values reduce(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Pooling p = pooling_of(op, inputs[0]->shape);
  const Ref<RawTensor> x = prepared(*inputs[0], dtype);
  Ref<RawTensor> y = RawTensor::empty(dtype, outputs[0].shape);
  const int64_t size = static_cast<int64_t>(size_of(dtype));
  for_planes(p, dtype, [&](const PoolKernels& kernels, int64_t plane) {
    (kernels.*kRun)(p.window, x->data + plane * p.window.in_size() * size,
                    y->data + plane * p.window.out_size() * size);
  });
  return one(cast_if_needed(*y, outputs[0].dtype));
}

// The wider of the two, so that rounding x does not move its maxima.
DType compared_dtype(DType x, DType result) { return compute_of(promote(x, result)); }

Values max_select(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = outputs[0].dtype;
  const Pooling p = pooling_of(op, inputs[0]->shape);
  const DType wide = compared_dtype(inputs[0]->dtype, dtype);
  const Ref<RawTensor> x = prepared(*inputs[0], wide);
  const Ref<RawTensor> values = prepared(*inputs[1], wide);
  Ref<RawTensor> y = RawTensor::empty(wide, outputs[0].shape);
  const int64_t size = static_cast<int64_t>(size_of(wide));
  for_planes(p, wide, [&](const PoolKernels& kernels, int64_t plane) {
    const int64_t at = plane * p.window.in_size() * size;
    kernels.max_select(p.window, x->data + at, values->data + at,
                       y->data + plane * p.window.out_size() * size);
  });
  return one(cast_if_needed(*y, dtype));
}

Values max_pool_spread(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = outputs[0].dtype;
  const Pooling p = pooling_of(op, inputs[0]->shape);
  const DType wide = compared_dtype(inputs[0]->dtype, dtype);
  const Ref<RawTensor> x = prepared(*inputs[0], wide);
  const Ref<RawTensor> dy = prepared(*inputs[1], wide);
  Ref<RawTensor> dx = RawTensor::empty(wide, outputs[0].shape);
  const int64_t size = static_cast<int64_t>(size_of(wide));
  const int64_t bytes = p.window.in_size() * size;
  for_planes(p, wide, [&](const PoolKernels& kernels, int64_t plane) {
    std::memset(dx->data + plane * bytes, 0, static_cast<size_t>(bytes));
    kernels.max_spread(p.window, x->data + plane * bytes,
                       dy->data + plane * p.window.out_size() * size, dx->data + plane * bytes);
  });
  return one(cast_if_needed(*dx, dtype));
}

Values avg_pool_spread(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Pooling p = pooling_of(op, outputs[0].shape);
  const Ref<RawTensor> dy = prepared(*inputs[0], dtype);
  Ref<RawTensor> dx = RawTensor::empty(dtype, outputs[0].shape);
  const int64_t size = static_cast<int64_t>(size_of(dtype));
  const int64_t bytes = p.window.in_size() * size;
  for_planes(p, dtype, [&](const PoolKernels& kernels, int64_t plane) {
    std::memset(dx->data + plane * bytes, 0, static_cast<size_t>(bytes));
    kernels.mean_spread(p.window, dy->data + plane * p.window.out_size() * size,
                        dx->data + plane * bytes);
  });
  return one(cast_if_needed(*dx, outputs[0].dtype));
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"max_pool", reduce<&PoolKernels::max>}, {"max_pool_spread", max_pool_spread},
    {"max_pool_select", max_select},         {"avg_pool", reduce<&PoolKernels::mean>},
    {"avg_pool_spread", avg_pool_spread},
};

}  // namespace

RuleTable<KernelRule> pooling_kernels() { return kKernels; }

}  // namespace tensorlike
