#include "kernels/convolution_scattered.h"

#include <algorithm>

#include "base/pool.h"
#include "kernels/convolution_product.h"

namespace tensorlike {
namespace {

ScratchPlace t_summands;

// Elements that are written down at once: as many as the second-level cache holds.
constexpr int64_t kMostScattered = 128 * 1024;

// Channels of a group that are made at once.
int64_t channels_at_once(const Convolution& c) {
  const int64_t each = c.window.taps() * c.window.out_size();
  return std::clamp<int64_t>(kMostScattered / std::max<int64_t>(each, 1), 1, c.in_channels);
}

// What the windows hand back through one tap, added to a channel.
template <class T>
void add_tap(const Window& w, const int64_t* tap, const T* from, T* to) {
  const int64_t first = w.first(2, tap[2]), count = w.last(2, tap[2]) - first;
  const int64_t step = w.stride[2];
  const ConvolutionKernels& kernels = convolution_kernels<T>();
  for (int64_t d = w.first(0, tap[0]); d < w.last(0, tap[0]); ++d) {
    for (int64_t h = w.first(1, tap[1]); h < w.last(1, tap[1]); ++h) {
      const T* const line = from + (d * w.out[1] + h) * w.out[2] + first;
      const int64_t place = w.position(0, d, tap[0]) * w.in[1] + w.position(1, h, tap[1]);
      T* const at = to + place * w.in[2] + w.position(2, first, tap[2]);
      if (step == 1) {
        kernels.add(at, line, count);
      } else {
        for (int64_t i = 0; i < count; ++i) at[i * step] += line[i];
      }
    }
  }
}

template <class T>
void add_taps(const Window& w, const T* summands, T* to) {
  int64_t tap[Window::kDims];
  for (tap[0] = 0; tap[0] < w.kernel[0]; ++tap[0]) {
    for (tap[1] = 0; tap[1] < w.kernel[1]; ++tap[1]) {
      for (tap[2] = 0; tap[2] < w.kernel[2]; ++tap[2], summands += w.out_size()) {
        add_tap(w, tap, summands, to);
      }
    }
  }
}

}  // namespace

bool has_scattered(const Convolution& c) {
  return c.window.taps() > 1 && c.window.taps() * c.window.out_size() <= 8 * kMostScattered;
}

template <class T>
Work scattered_work(const Convolution& c) {
  const int64_t at_once = channels_at_once(c), windows = c.window.out_size();
  const int64_t blocks = detail::ceil_div(c.in_channels, at_once);
  const int64_t rows = detail::ceil_div(c.in_channels, blocks) * c.window.taps();
  Work work = gemm_work<T>(rows, windows, c.out_channels, c.images * c.groups * blocks, true);
  const int64_t summands = c.images * c.groups * c.rows() * windows;
  work.moved += static_cast<double>(summands * int64_t{sizeof(T)});
  return work;
}

template <class T>
void data_gradient_scattered(const Convolution& c, const T* dy, const T* weight, const T* bias,
                             T* dx, KeptForms* forms) {
  const Window& w = c.window;
  const int64_t taps = w.taps(), windows = w.out_size(), at_once = channels_at_once(c);
  const int64_t blocks = detail::ceil_div(c.in_channels, at_once);
  const int64_t jobs = c.images * c.groups * blocks;
  // Each on one thread, where there are enough to go round.
  const bool is_many = jobs >= int64_t{4} * num_threads();
  parallel_for(jobs, is_many ? 1 : jobs, [&](int64_t begin, int64_t end) {
    ScratchLoan loan(t_summands);
    T* const summands = loan.reserve<T>(at_once * taps * windows);
    for (int64_t job = begin; job < end; ++job) {
      if (job > begin) check_interrupt();
      const int64_t image = job / blocks / c.groups, group = job / blocks % c.groups;
      const int64_t first = job % blocks * at_once;
      const int64_t channels = std::min(at_once, c.in_channels - first);
      const T* const own = weight + group * c.out_channels * c.rows() + first * taps;
      gemm<T>(channels * taps, windows, c.out_channels,
              {own, 1, c.rows(), nullptr, blocks == 1 ? forms : nullptr},
              {dy + (image * c.groups + group) * c.y_size(), 1, windows}, summands, windows, false);
      const int64_t grain = is_many ? channels : std::max<int64_t>(1, 16384 / (taps * windows));
      parallel_for(channels, grain, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) {
          const int64_t channel = group * c.in_channels + first + i;
          T* const place = dx + (image * c.groups * c.in_channels + channel) * w.in_size();
          std::fill_n(place, w.in_size(), bias == nullptr ? T{0} : bias[channel]);
          add_taps(w, summands + i * taps * windows, place);
        }
      });
    }
  });
}

#define TL_INSTANTIATE(T)                                                                        \
  template Work scattered_work<T>(const Convolution&);                                           \
  template void data_gradient_scattered<T>(const Convolution&, const T*, const T*, const T*, T*, \
                                           KeptForms*);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE

}  // namespace tensorlike
