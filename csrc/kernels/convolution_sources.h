// Where the matrix products of a convolution find their operands: the matrix of columns is
// gathered, and images are put side by side, while the product packs them.
#pragma once

#include <algorithm>

#include "base/isa.h"
#include "kernels/gemm.h"
#include "kernels/kernel_table.h"

namespace tensorlike {

template <class T>
const ConvolutionKernels& convolution_kernels() {
  return kernel_table().convolutions[dtype_of<T>];
}

template <class T>
const detail::GemmKernels<T>& gemm_kernels() {
  static const detail::GemmTable& table = detail::gemm_table(isa());
  if constexpr (sizeof(T) == 4) {
    return table.f32;
  } else {
    return table.f64;
  }
}

// The matrices of columns of images side by side: lanes are the pixels of all of them.
template <class T>
class Columns final : public GemmSource<T> {
 public:
  Columns(const Window& window, const T* images, int64_t image_stride)
      : window_(window), images_(images), image_stride_(image_stride) {}

  void pack(T* to, int64_t step, int64_t lane, int64_t from, int64_t count,
            int64_t k) const override {
    const int64_t pixels = window_.out_size();
    for (int64_t i = 0; i < count;) {
      const int64_t pixel = (lane + i) % pixels;
      const int64_t n = std::min(count - i, pixels - pixel);
      convolution_kernels<T>().gather(window_, images_ + (lane + i) / pixels * image_stride_, from,
                                      k, pixel, n, to + i, step);
      i += n;
    }
    for (int64_t p = 0; count < step && p < k; ++p) {
      std::fill(to + p * step + count, to + (p + 1) * step, T{0});
    }
  }

 private:
  const Window& window_;
  const T* images_;
  int64_t image_stride_;
};

// A tensor as it lies in memory, images side by side: lanes are pixels, the sum goes over channels.
template <class T>
class Planes final : public GemmSource<T> {
 public:
  Planes(int64_t pixels, const T* images, int64_t image_stride)
      : pixels_(pixels), images_(images), image_stride_(image_stride) {}

  void pack(T* to, int64_t step, int64_t lane, int64_t from, int64_t count,
            int64_t k) const override {
    for (int64_t p = 0; p < k; ++p) {
      T* row = to + p * step;
      for (int64_t i = 0; i < count;) {
        const int64_t pixel = (lane + i) % pixels_;
        const int64_t n = std::min(count - i, pixels_ - pixel);
        const T* image = images_ + (lane + i) / pixels_ * image_stride_;
        std::copy_n(image + (from + p) * pixels_ + pixel, n, row + i);
        i += n;
      }
      std::fill(row + count, row + step, T{0});
    }
  }

 private:
  int64_t pixels_;
  const T* images_;
  int64_t image_stride_;
};

// The sum goes over the pixels of all images.
template <class T>
class Pixels : public GemmSource<T> {
 public:
  Pixels(int64_t pixels, const T* images, int64_t image_stride)
      : pixels_(pixels), images_(images), image_stride_(image_stride) {}

  void pack(T* to, int64_t step, int64_t lane, int64_t from, int64_t count,
            int64_t k) const override {
    while (k > 0) {
      const int64_t pixel = from % pixels_;
      const int64_t n = std::min(k, pixels_ - pixel);
      pack_image(to, step, images_ + from / pixels_ * image_stride_, lane, pixel, count, n);
      to += n * step;
      from += n;
      k -= n;
    }
  }

 protected:
  // Lanes are the channels of a tensor as it lies in memory.
  virtual void pack_image(T* to, int64_t step, const T* image, int64_t lane, int64_t pixel,
                          int64_t count, int64_t k) const {
    gemm_kernels<T>().pack(to, step, image + lane * pixels_ + pixel, pixels_, 1, count, k);
  }

 private:
  int64_t pixels_;
  const T* images_;
  int64_t image_stride_;
};

// Lanes are the rows of the matrices of columns.
template <class T>
class Rows final : public Pixels<T> {
 public:
  Rows(const Window& window, const T* images, int64_t image_stride)
      : Pixels<T>(window.out_size(), images, image_stride), window_(window) {}

 protected:
  void pack_image(T* to, int64_t step, const T* image, int64_t lane, int64_t pixel, int64_t count,
                  int64_t k) const override {
    constexpr int64_t kPixels = 64;
    constexpr int64_t kLanes = 128;         // of the widest tile
    alignas(64) T block[kLanes * kPixels];  // gathered along the pixels, then turned
    for (int64_t p = 0; p < k; p += kPixels) {
      const int64_t pixels = std::min(kPixels, k - p);
      convolution_kernels<T>().gather(window_, image, lane, count, pixel + p, pixels, block,
                                      kPixels);
      gemm_kernels<T>().pack(to + p * step, step, block, kPixels, 1, count, pixels);
    }
  }

 private:
  const Window& window_;
};

}  // namespace tensorlike
