#include "kernels/depthwise.h"

#include <algorithm>

#include "kernels/convolution_product.h"
#include "kernels/ways.h"

namespace tensorlike {

namespace {

constexpr int64_t kMostRows = 96 * 1024;  // elements: half of a second-level cache

ScratchPlace t_depthwise_rows;

}  // namespace

double share_inside(const Window& w, int dim) {
  double inside = 0;
  for (int64_t tap = 0; tap < w.kernel[dim]; ++tap) {
    inside += static_cast<double>(std::max<int64_t>(w.last(dim, tap) - w.first(dim, tap), 0));
  }
  return inside / static_cast<double>(w.kernel[dim] * w.out[dim]);
}

DepthwiseRows::DepthwiseRows(const Window& w) : phases(w.stride[2]), planes(w.in[0] * w.in[1]) {
  const int64_t seen = (w.out[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
  length = (std::max(seen, w.in[2] + w.before[2]) - 1) / w.stride[2] + 1 + kSlack;
}

bool has_depthwise(const Convolution& c) {
  const Window& w = c.window;
  if (c.in_channels != 1 || c.out_channels != 1 || w.out_size() == 0) return false;
  if (w.taps() == 1 || w.taps() > DepthwiseRows::kMostTaps) return false;
  if (w.in_size() > kMostRows || w.stride[2] > 16 || w.out[2] > kMostRows) return false;
  return DepthwiseRows(w).count() <= kMostRows;
}

template <class T>
Work depthwise_work(const Convolution& c) {
  const Window& w = c.window;
  const int64_t vectors = detail::ceil_div(w.out[2], gemm_kernels<T>().lanes);
  const int64_t lines = c.images * c.groups * w.out[0] * w.out[1];
  const double taps = static_cast<double>(w.taps()) * share_inside(w, 0) * share_inside(w, 1);
  Work work;
  work.calls = static_cast<double>(lines * detail::ceil_div(vectors, 4));
  work.products = static_cast<double>(lines * vectors) * taps;
  work.loads = static_cast<double>(lines) * taps;
  work.moved = static_cast<double>(c.images * c.groups * w.in_size() * int64_t{sizeof(T)});
  return work;
}
template Work depthwise_work<float>(const Convolution&);
template Work depthwise_work<double>(const Convolution&);

template <class T>
void convolve_depthwise(const Convolution& c, const T* x, const T* weight, const T* bias, T* y) {
  const Window& w = c.window;
  const DepthwiseRows rows(w);
  const DepthwiseKernel kernel = kernel_table().depthwise[dtype_of<T>];
  const int64_t jobs = c.images * c.groups;
  parallel_for(jobs, grain_of(c.work(), jobs), [&](int64_t begin, int64_t end) {
    ScratchLoan loan(t_depthwise_rows);
    T* const space = loan.reserve<T>(rows.count());
    std::fill_n(space, rows.count(), T{0});
    for (int64_t job = begin; job < end; ++job) {
      const int64_t channel = job % c.groups;
      kernel(w, rows, x + job * w.in_size(), weight + channel * w.taps(),
             bias == nullptr ? nullptr : bias + channel, y + job * w.out_size(), space);
    }
  });
}

template void convolve_depthwise<float>(const Convolution&, const float*, const float*,
                                        const float*, float*);
template void convolve_depthwise<double>(const Convolution&, const double*, const double*,
                                         const double*, double*);

}  // namespace tensorlike
