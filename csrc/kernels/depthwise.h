// Convolutions whose channels are groups of their own: no product, but each element times a few
// weights. Sums stay in vectors over all taps, and rows of the kernel outside of the image are left
// out.
#pragma once

#include "base/window.h"

namespace tensorlike {

struct Work;  // kernels/ways.h

// What a kernel works in: the rows of a plane with zeros around, elements that a stride skips in
// copies of their own; zeros at first, and for as long as the window is the same.
struct DepthwiseRows {
  explicit DepthwiseRows(const Window& w);
  int64_t count() const { return phases * planes * length; }

  static constexpr int64_t kSlack = 64;  // what vectors read beyond a row
  static constexpr int64_t kMostTaps = 1024;
  int64_t phases;  // copies: one for each element of a step
  int64_t planes;  // rows, of the plane's whole depth
  int64_t length;
};

// One plane by one window; `space` holds the rows.
using DepthwiseKernel = void (*)(const Window& w, const DepthwiseRows& rows, const void* x,
                                 const void* weight, const void* bias, void* y, void* space);

// The part of the kernel's rows, in all places of a dimension, that lie within the image.
double share_inside(const Window& w, int dim);

// Whether it is one whose rows fit a cache.
bool has_depthwise(const Convolution& c);

// Defined for float and double.
template <class T>
Work depthwise_work(const Convolution& c);
// As `convolve`.
template <class T>
void convolve_depthwise(const Convolution& c, const T* x, const T* weight, const T* bias, T* y);

}  // namespace tensorlike
