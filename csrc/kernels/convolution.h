// Convolutions over memory in C order: the product with the weights, and its two gradients. Work is
// cut by the problem alone, so that results have the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "kernels/window.h"

namespace tensorlike {

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

// Defined for float and double. Sizes may be 0. A bias has one element per channel of the result;
// null stands for zeros.
template <class T>
void convolve(const Convolution& c, const T* x, const T* weight, const T* bias, T* y);

// dx: what reaches x from dy.
template <class T>
void convolve_data_gradient(const Convolution& c, const T* dy, const T* weight, const T* bias,
                            T* dx);

template <class T>
void convolve_weight_gradient(const Convolution& c, const T* x, const T* dy, T* dweight);

}  // namespace tensorlike
