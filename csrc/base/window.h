// The geometry of sliding windows: what convolutions and pooling share. One, two or three spatial
// dimensions are all seen as three (depth, height, width) by leading dimensions of size 1.
#pragma once

#include <cstdint>

namespace tensorlike {

struct Window {
  static constexpr int kDims = 3;
  int64_t in[kDims] = {1, 1, 1};
  int64_t out[kDims] = {1, 1, 1};
  int64_t kernel[kDims] = {1, 1, 1};
  int64_t stride[kDims] = {1, 1, 1};
  int64_t before[kDims] = {0, 0, 0};  // padding in front
  int64_t dilation[kDims] = {1, 1, 1};

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  // The input position that tap `tap` of the window at `at` sees; outside of the input: padding.
  int64_t position(int dim, int64_t at, int64_t tap) const {
    return at * stride[dim] + tap * dilation[dim] - before[dim];
  }
  // The windows [first, last) of [0, out) whose tap `tap` lies within the input.
  int64_t first(int dim, int64_t tap) const {
    const int64_t low = before[dim] - tap * dilation[dim];
    const int64_t at = low <= 0 ? 0 : (low - 1) / stride[dim] + 1;
    return at < out[dim] ? at : out[dim];
  }
  int64_t last(int dim, int64_t tap) const {
    const int64_t high = in[dim] - 1 + before[dim] - tap * dilation[dim];
    const int64_t at = high < 0 ? 0 : high / stride[dim] + 1;
    return at < out[dim] ? at : out[dim];
  }
  // Whether every window is the one element at its own place.
  bool is_identity() const {
    for (int d = 0; d < kDims; ++d) {
      if (kernel[d] != 1 || stride[d] != 1 || before[d] != 0 || in[d] != out[d]) return false;
    }
    return true;
  }
  // Whether there is one window, which covers the input exactly.
  bool is_whole() const {
    for (int d = 0; d < kDims; ++d) {
      if (kernel[d] != in[d] || out[d] != 1 || before[d] != 0) return false;
      if (dilation[d] != 1 && kernel[d] != 1) return false;
    }
    return true;
  }
};

// The windows of pooling.
struct PoolWindow : Window {
  // Window i of a dimension is [i * in / out, ceil((i + 1) * in / out)): they differ in size.
  bool is_irregular = false;
  // Whether padding counts in the number of elements that an average divides by.
  bool counts_padding = true;
  // What an average divides by instead, where it is not 0.
  int64_t divisor = 0;

  // The input positions [begin, end) that the window at `at` covers, for a dilation of 1.
  int64_t begin(int dim, int64_t at) const {
    if (is_irregular) return at * in[dim] / out[dim];
    const int64_t start = at * stride[dim] - before[dim];
    return start > 0 ? start : 0;
  }
  int64_t end(int dim, int64_t at) const {
    if (is_irregular) return ((at + 1) * in[dim] + out[dim] - 1) / out[dim];
    const int64_t stop = at * stride[dim] - before[dim] + kernel[dim];
    return stop < in[dim] ? stop : in[dim];
  }
  // How many elements of the dimension an average counts; it divides by the product of all.
  int64_t count(int dim, int64_t at) const {
    if (divisor != 0) return dim == 0 ? divisor : 1;
    if (is_irregular || !counts_padding) return end(dim, at) - begin(dim, at);
    const int64_t start = at * stride[dim] - before[dim];
    const int64_t stop = start + kernel[dim];
    const int64_t limit = in[dim] + before[dim];
    return (stop < limit ? stop : limit) - start;
  }
  // How far a window reaches along a row.
  int64_t span() const { return (kernel[2] - 1) * dilation[2] + 1; }
  bool is_dense() const { return dilation[0] == 1 && dilation[1] == 1 && dilation[2] == 1; }
  // Whether windows are two or four elements of a row or of two, side by side and within the input.
  bool is_side_by_side() const {
    for (int d = 0; d < kDims; ++d) {
      const int64_t end = (out[d] - 1) * stride[d] + (kernel[d] - 1) * dilation[d] + 1;
      if (before[d] != 0 || end > in[d]) return false;
    }
    constexpr int64_t kFilling = 16;  // with fewer, eight elements each are not in vectors
    const bool is_small = kernel[0] == 1 && kernel[1] <= 2 && (kernel[2] == 2 || kernel[2] == 4) &&
                          (taps() < 8 || out[2] >= kFilling);
    return !is_irregular && is_small && stride[2] == kernel[2] && dilation[2] == 1;
  }
  // Whether windows are better taken one by one than in rows: where they differ, are long or far
  // apart, or few of them are beside each other.
  bool is_by_window() const {
    return is_irregular || out[2] < 4 || kernel[2] > 16 || stride[2] > 16 || span() > kMostSpan ||
           in_size() > kMostPlace;
  }
  static constexpr int64_t kMostSpan = 512;
  static constexpr int64_t kMostPlace = int64_t{1} << 30;
};

// x[images, groups * in_channels, *window.in], y[images, groups * out_channels, *window.out] and
// weight[groups * out_channels, in_channels, *window.kernel].
struct Convolution {
  int64_t images = 0, groups = 1, in_channels = 0, out_channels = 0;  // channels of one group
  Window window;

  int64_t rows() const { return in_channels * window.taps(); }
  int64_t x_size() const { return in_channels * window.in_size(); }  // of a group of an image
  int64_t y_size() const { return out_channels * window.out_size(); }
  double work() const {
    return static_cast<double>(images * groups) * static_cast<double>(out_channels) *
           static_cast<double>(rows()) * static_cast<double>(window.out_size());
  }
};

}  // namespace tensorlike
