#include "kernels/convolution_rows.h"

#include <algorithm>

#include "kernels/convolution_product.h"

namespace tensorlike {
namespace {

ScratchPlace t_window_rows;
ScratchPlace t_row_sums;

constexpr int64_t kMostDots = 8;  // windows that are rows
constexpr int64_t kMostRowElements = 1024 * 1024;

// The taps [first, last) of a line of a window that lie within the input.
struct Taps {
  int64_t first, last;
};
Taps taps_inside(const Window& w, int64_t at) {
  int64_t first = 0, last = w.kernel[2];
  while (first < last && w.position(2, at, first) < 0) ++first;
  while (first < last && w.position(2, at, last - 1) >= w.in[2]) --last;
  return {first, last};
}

// What a window at `at` sees of a group's channels, channel by channel, tap by tap.
template <class T>
void gather_window(const Convolution& c, const T* x, const int64_t* at, T* row) {
  const Window& w = c.window;
  const Taps taps = taps_inside(w, at[2]);
  const int64_t begin = w.position(2, at[2], 0), step = w.dilation[2];
  const bool is_inside = taps.first == 0 && taps.last == w.kernel[2];
  for (int64_t channel = 0; channel < c.in_channels; ++channel, x += w.in_size()) {
    for (int64_t plane = 0; plane < w.kernel[0]; ++plane) {
      const int64_t d = w.position(0, at[0], plane);
      for (int64_t line = 0; line < w.kernel[1]; ++line, row += w.kernel[2]) {
        const int64_t h = w.position(1, at[1], line);
        const bool is_there = d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1];
        if (!is_there || !is_inside) std::fill_n(row, w.kernel[2], T{0});
        if (!is_there) continue;
        const T* const from = x + (d * w.in[1] + h) * w.in[2] + begin;
        for (int64_t tap = taps.first; tap < taps.last; ++tap) row[tap] = from[tap * step];
      }
    }
  }
}

template <class T>
void gather_windows(const Convolution& c, const T* x, int64_t group, T* rows) {
  const Window& w = c.window;
  for (int64_t image = 0; image < c.images; ++image) {
    const T* const from = x + (image * c.groups + group) * c.x_size();
    for (int64_t i = 0; i < w.out_size(); ++i, rows += c.rows()) {
      const int64_t line = i / w.out[2];
      const int64_t at[Window::kDims] = {line / w.out[1], line % w.out[1], i % w.out[2]};
      gather_window(c, from, at, rows);
    }
  }
}

}  // namespace

bool has_rows(const Convolution& c) {
  return c.images * c.window.out_size() <= kMostRowElements / std::max<int64_t>(c.rows(), 1);
}

template <class T>
Work rows_work(const Convolution& c) {
  const int64_t count = c.images * c.window.out_size(), n = c.out_channels;
  const bool is_few = count <= kMostDots;
  Work work = is_few ? gemm_work<T>(count, n, c.rows(), c.groups, false)
                     : gemm_work<T>(n, count, c.rows(), c.groups, true);
  const int64_t elements = count * (c.rows() + n);
  work.moved += static_cast<double>(c.groups * elements * int64_t{sizeof(T)});
  work.read = far_bytes(static_cast<double>(c.groups * n * c.rows() * int64_t{sizeof(T)}), 1);
  return work;
}

// Few windows are the rows of the product, so that weights are read as they lie; more are its
// columns, for which weights lie as well.
template <class T>
void convolve_rows(const Convolution& c, const T* x, const T* weight, const T* bias, T* y,
                   KeptForms* forms) {
  const int64_t windows = c.window.out_size(), count = c.images * windows, n = c.out_channels;
  const bool is_few = count <= kMostDots;
  ScratchLoan rows_loan(t_window_rows), sums_loan(t_row_sums);
  T* const rows = rows_loan.reserve<T>(count * c.rows());
  T* const sums = sums_loan.reserve<T>(count * n);
  const int64_t of_window = is_few ? n : 1, of_channel = is_few ? 1 : count;
  for (int64_t group = 0; group < c.groups; ++group) {
    gather_windows(c, x, group, rows);
    for (int64_t channel = 0; bias != nullptr && channel < n; ++channel) {
      for (int64_t i = 0; i < count; ++i) {
        sums[i * of_window + channel * of_channel] = bias[group * n + channel];
      }
    }
    const GemmOperand<T> windows_of{rows, c.rows(), 1};
    const GemmOperand<T> weights{weight + group * n * c.rows(), c.rows(), 1, nullptr, forms};
    if (is_few) {
      gemm<T>(count, n, c.rows(), windows_of, weights, sums, n, bias != nullptr);
    } else {
      gemm<T>(n, count, c.rows(), weights, windows_of, sums, count, bias != nullptr);
    }
    for (int64_t image = 0; image < c.images; ++image) {
      T* const to = y + (image * c.groups + group) * c.y_size();
      for (int64_t channel = 0; channel < n; ++channel) {
        const T* const from = sums + image * windows * of_window + channel * of_channel;
        for (int64_t i = 0; i < windows; ++i) to[channel * windows + i] = from[i * of_window];
      }
    }
  }
}

template Work rows_work<float>(const Convolution&);
template Work rows_work<double>(const Convolution&);
template void convolve_rows<float>(const Convolution&, const float*, const float*, const float*,
                                   float*, KeptForms*);
template void convolve_rows<double>(const Convolution&, const double*, const double*, const double*,
                                    double*, KeptForms*);

}  // namespace tensorlike
