// Depthwise convolutions by blocks of channels: as many planes as a vector has lanes are exchanged
// into vectors of channels, so that every load is a whole aligned vector, strides and dilations
// cost nothing, and windows are summed where they lie in the image only. The gradients go the same
// way: that by the image reads dy through windows, that by the weights sums products of both.
#pragma once

#include "base/window.h"

namespace tensorlike {

struct Work;  // kernels/ways.h

// A tap of one dimension, and the place of the source that it sees.
struct SeenTap {
  int64_t tap, place;
};

// Columns of the result that see through the same taps: first, first + step, ...; what they see
// lies `seen_step` columns apart, `place` being that of the first, in rows with zeros around.
struct SeenColumns {
  int64_t first, step, count, seen_step;
  const SeenTap* taps;
  int64_t tap_count;
};

// How results are made of a source: a plain structure, since each ISA level reads it.
struct BlockPlan {
  int64_t in[Window::kDims], out[Window::kDims], kernel[Window::kDims];
  int64_t left, length;  // of a row of the source: zeros in front, and all with zeros behind
  // Of depth and height, [out, kernel]: what a result sees through a tap, -1 where that is nothing.
  const int64_t* places[2];
  const SeenColumns* columns;
  int64_t classes;

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t weights() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t source_size() const { return in[0] * in[1] * length; }
  // Vectors of working memory: weights, a row of zeros, the source and the results.
  int64_t vectors() const { return weights() + length + source_size() + out_size(); }

  static constexpr int64_t kMostLines = 256;  // rows of a kernel
};

// A few planes, side by side in memory.
struct BlockPlanes {
  const void* x;
  const void* weight;  // null: what the call before has left in the working memory
  const void* bias;    // or null
  void* y;
  int64_t channels;
};

// `space` has BlockPlan::vectors() vectors, aligned; zeros at first, then as the kernel left it.
struct BlockKernels {
  using Convolve = void (*)(const BlockPlan& plan, const BlockPlanes& planes, void* space);
  // Adds to sums[channels, weights]; y is dy, and `weight` is not read.
  using AddProducts = void (*)(const BlockPlan& plan, const BlockPlanes& planes, void* sums,
                               void* space);
  int lanes = 1;
  Convolve convolve = nullptr;
  AddProducts add_products = nullptr;
};

// Whether each channel is a group of its own, and a block of them fits the working memory.
template <class T>
bool has_blocks(const Convolution& c);
// Of the result; a gradient's is about as much.
template <class T>
Work blocks_work(const Convolution& c);

// As the functions of convolution.h. Defined for float and double.
template <class T>
void convolve_by_blocks(const Convolution& c, const T* x, const T* weight, const T* bias, T* y);
template <class T>
void data_gradient_by_blocks(const Convolution& c, const T* dy, const T* weight, const T* bias,
                             T* dx);
template <class T>
void weight_gradient_by_blocks(const Convolution& c, const T* x, const T* dy, T* dweight);

}  // namespace tensorlike
