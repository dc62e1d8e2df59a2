// Kernels of pooling: planes (an image's channel) in C order, shared out among the threads.
#include <algorithm>
#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/reduce.h"
#include "kernels/kernel_table.h"
#include "kernels/pool_windows.h"
#include "op/families.h"
#include "op/windows.h"

namespace tensorlike {
namespace {

constexpr int64_t kPoolGrain = 16384;  // elements read by a thread at least
constexpr int64_t kShortRow = 512;     // of which sums need no double precision

// What the op says, its windows described by as few lines as can be.
Pooling pools_of(const Op& op, const Dims& x) {
  Pooling p = pooling_of(op, x);
  p.window = in_fewer_lines(p.window);
  return p;
}

// Calls f(kernels, plane) for all planes; each reads about `work` elements.
template <class F>
void for_planes(const Pooling& p, DType dtype, F&& f) {
  const PoolKernels& kernels = kernel_table().pools[dtype];
  const Window& w = p.window;
  const int64_t taps = p.window.is_irregular ? 1 : std::min(w.taps(), w.in_size());
  const int64_t work = std::max<int64_t>(w.in_size(), 1) + w.out_size() * taps;
  BlockingRegion blocking(p.planes * work > 4 * kPoolGrain);
  parallel_for(p.planes, std::max<int64_t>(1, kPoolGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) f(kernels, plane);
  });
}

// The reduction that windows which lie one behind the other are rows of; null where they
// don't, small ones have loops of their own, or sums need double precision.
const ReductionKernel* reduction_of(const Pooling& p, DType dtype, bool is_sum) {
  const PoolWindow& w = p.window;
  if (!are_rows(w) || w.is_side_by_side() || w.divisor != 0) return nullptr;
  if (is_sum && w.kernel[2] > kShortRow) return nullptr;
  const ReductionKernel& found =
      kernel_table().reductions.find(is_sum ? "mean" : "max")->second[dtype];
  return found.accumulator == 0 ? nullptr : &found;
}

// y from planes of x; `is_sum`: means, else maxima.
template <void (*PoolKernels::*kRun)(const PoolWindow&, const void*, void*)>
void reduce(const Op& op, const Array& x, const Array& y, bool is_sum) {
  const Pooling p = pools_of(op, x.shape);
  const int64_t size = static_cast<int64_t>(size_of(y.dtype));
  if (const ReductionKernel* rows = reduction_of(p, y.dtype, is_sum)) {
    const int64_t n = p.window.kernel[2], count = p.planes * p.window.out[2];
    Reducible reducible;
    reducible.shape = {count, n};
    reducible.strides = {n, 1};
    reducible.size = size_of(x.dtype);
    reducible.operands.push_back({x.data, reducible.size, reducible.strides});
    return reduce(reducible, {1}, *rows, y.data, size_of(y.dtype));
  }
  for_planes(p, y.dtype, [&](const PoolKernels& kernels, int64_t plane) {
    (kernels.*kRun)(p.window, x.data + plane * p.window.in_size() * size,
                    y.data + plane * p.window.out_size() * size);
  });
}

void avg_pool(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  reduce<&PoolKernels::mean>(op, *inputs[0], *outputs[0], true);
}

// Of bytes as they are: the largest needs no room.
void max_pool(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const DType own = inputs[0]->dtype;
  const DType wide = kernel_table().pools[own].max != nullptr ? own : compute_of(own);
  const Array x = prepared(*inputs[0], wide, workspace);
  write_as(*outputs[0], wide, workspace,
           [&](const Array& y) { reduce<&PoolKernels::max>(op, x, y, false); });
}

// The wider of the two, so that rounding x does not move its maxima.
DType compared_dtype(DType x, DType result) { return compute_of(promote(x, result)); }

bool is_same_for_planes(const Array& x) {
  return (x.strides[0] == 0 || x.shape[0] == 1) && (x.strides[1] == 0 || x.shape[1] == 1);
}

// The first image's first channel.
Array plane_of(const Array& x) {
  return x.view(Dims(x.shape.begin() + 2, x.shape.end()),
                Dims(x.strides.begin() + 2, x.strides.end()));
}

void max_select(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Pooling p = pools_of(op, inputs[0]->shape);
  const DType wide = compared_dtype(inputs[0]->dtype, outputs[0]->dtype);
  const Array x = prepared(*inputs[0], wide, workspace);
  const bool are_shared = is_same_for_planes(*inputs[1]);
  const Array values = prepared(are_shared ? plane_of(*inputs[1]) : *inputs[1], wide, workspace);
  const int64_t size = static_cast<int64_t>(size_of(wide));
  write_as(*outputs[0], wide, workspace, [&](const Array& y) {
    for_planes(p, wide, [&](const PoolKernels& kernels, int64_t plane) {
      const int64_t at = plane * p.window.in_size() * size;
      kernels.max_select(p.window, x.data + at, values.data + (are_shared ? 0 : at),
                         y.data + plane * p.window.out_size() * size);
    });
  });
}

void max_pool_spread(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Pooling p = pools_of(op, inputs[0]->shape);
  const DType wide = compared_dtype(inputs[0]->dtype, outputs[0]->dtype);
  const Array x = prepared(*inputs[0], wide, workspace);
  const Array dy = prepared(*inputs[1], wide, workspace);
  const int64_t size = static_cast<int64_t>(size_of(wide));
  const int64_t bytes = p.window.in_size() * size;
  write_as(*outputs[0], wide, workspace, [&](const Array& dx) {
    for_planes(p, wide, [&](const PoolKernels& kernels, int64_t plane) {
      std::memset(dx.data + plane * bytes, 0, static_cast<size_t>(bytes));
      kernels.max_spread(p.window, x.data + plane * bytes,
                         dy.data + plane * p.window.out_size() * size, dx.data + plane * bytes);
    });
  });
}

void avg_pool_spread(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const Array& dy = *inputs[0];
  const Array& dx = *outputs[0];
  const Pooling p = pools_of(op, dx.shape);
  const int64_t size = static_cast<int64_t>(size_of(dx.dtype));
  const int64_t bytes = p.window.in_size() * size;
  for_planes(p, dx.dtype, [&](const PoolKernels& kernels, int64_t plane) {
    if (!are_rows(p.window)) {
      std::memset(dx.data + plane * bytes, 0, static_cast<size_t>(bytes));
    }
    kernels.mean_spread(p.window, dy.data + plane * p.window.out_size() * size,
                        dx.data + plane * bytes);
  });
}

constexpr std::pair<std::string_view, KernelRule> kPoolingKernels[] = {
    {"max_pool", max_pool}, {"max_pool_spread", max_pool_spread}, {"max_pool_select", max_select},
    {"avg_pool", avg_pool}, {"avg_pool_spread", avg_pool_spread},
};

}  // namespace

RuleTable<KernelRule> pooling_kernels() { return kPoolingKernels; }

}  // namespace tensorlike
