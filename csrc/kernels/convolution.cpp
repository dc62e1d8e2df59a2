// Which way a convolution goes: one matrix product where it is one, planes where groups have a
// single channel, else products with blocks of columns that are gathered while they are packed.
#include "kernels/convolution.h"

#include <algorithm>

#include "base/isa.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "kernels/kernel_table.h"
#include "kernels/scratch.h"

namespace tensorlike {
namespace {

constexpr double kParallelWork = 2e5;        // multiply-adds worth waking a thread for
constexpr int64_t kBlockRows = 112;          // of the matrix of columns: few enough not to pack dy
constexpr int64_t kBlockBytes = 256 * 1024;  // of a block of it, which stays in the cache

thread_local ScratchBuffer t_block;

template <class T>
const ConvolutionKernels& kernels() {
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

// The matrix of columns of one image: lanes are pixels.
template <class T>
class Columns final : public GemmSource<T> {
 public:
  Columns(const Window& window, const T* image) : window_(window), image_(image) {}
  void pack(T* to, int64_t step, int64_t lane, int64_t from, int64_t count,
            int64_t k) const override {
    kernels<T>().gather(window_, image_, from, k, lane, count, to, step);
    for (int64_t p = 0; count < step && p < k; ++p) {
      std::fill(to + p * step + count, to + (p + 1) * step, T{0});
    }
  }

 private:
  const Window& window_;
  const T* image_;
};

// Many images side by side: the sum goes over the pixels of all of them.
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
      kernels<T>().gather(window_, image, lane, count, pixel + p, pixels, block, kPixels);
      gemm_kernels<T>().pack(to + p * step, step, block, kPixels, 1, count, pixels);
    }
  }

 private:
  const Window& window_;
};

// Calls f(image, group) for all of them: each on one thread where there are enough to go round,
// else one after the other, and f shares its own work out.
template <class F>
void for_groups(const Convolution& c, F&& f) {
  const int64_t jobs = c.images * c.groups;
  const int64_t grain = static_cast<int64_t>(
      std::clamp(kParallelWork * static_cast<double>(jobs) / std::max(c.work(), 1.0), 1.0, 1e18));
  const bool is_many = jobs >= int64_t{4} * num_threads();
  parallel_for(jobs, is_many ? grain : jobs, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      if (job > begin) check_interrupt();
      f(job / c.groups, job % c.groups);
    }
  });
}

// channels x size elements, each channel filled with its bias.
template <class T>
void fill_channels(T* to, const T* bias, int64_t channels, int64_t size) {
  for (int64_t i = 0; i < channels; ++i) {
    std::fill_n(to + i * size, size, bias == nullptr ? T{0} : bias[i]);
  }
}

bool is_by_channel(const Convolution& c) {
  return c.in_channels == 1 && c.groups > 1 && c.out_channels <= 8;
}

// Planes of a group of one channel: f(x's plane, weight's, y's) for each channel of the result.
template <class F>
void for_planes(const Convolution& c, F&& f) {
  const int64_t outputs = c.groups * c.out_channels;
  const double work = c.work() / static_cast<double>(std::max<int64_t>(c.images * c.groups, 1));
  const int64_t grain = static_cast<int64_t>(std::clamp(kParallelWork / (work + 1), 1.0, 1e18));
  parallel_for(c.images * c.groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i > begin) check_interrupt();
      const int64_t first = i % c.groups * c.out_channels;
      for (int64_t channel = first; channel < first + c.out_channels; ++channel) {
        f(i, channel, i / c.groups * outputs + channel);
      }
    }
  });
}

// dx of one image and group, of whole channels: products of transposed weights and dy, block by
// block, added to where their elements come from.
template <class T>
void scatter_products(const Convolution& c, int64_t row, int64_t rows, const T* dy, const T* weight,
                      T* dx) {
  const Window& w = c.window;
  const int64_t pixels = w.out_size();
  const int64_t at_once = std::min(rows, kBlockRows);
  int64_t piece = std::max<int64_t>(kBlockBytes / (at_once * int64_t{sizeof(T)}), 64);
  if (piece > w.out[2]) piece -= piece % w.out[2];
  piece = std::min(piece, pixels);
  ScratchLoan buffer(t_block);
  T* block = buffer.reserve<T>(at_once * piece);
  for (int64_t pixel = 0; pixel < pixels; pixel += piece) {
    const int64_t count = std::min(piece, pixels - pixel);
    for (int64_t r = row; r < row + rows; r += at_once) {
      const int64_t height = std::min(at_once, row + rows - r);
      gemm<T>(height, count, c.out_channels, {weight + r, 1, c.rows()}, {dy + pixel, 1, pixels},
              block, count, false);
      kernels<T>().scatter_add(w, dx, r, height, pixel, count, block, count);
    }
  }
}

}  // namespace

template <class T>
void convolve(const Convolution& c, const T* x, const T* weight, const T* bias, T* y) {
  const Window& w = c.window;
  const int64_t pixels = w.out_size();
  const int64_t channels = c.groups * c.out_channels;
  if (c.images * channels * pixels == 0) return;
  if (is_by_channel(c)) {
    for_planes(c, [&](int64_t in, int64_t channel, int64_t out) {
      T* to = y + out * pixels;
      fill_channels(to, bias == nullptr ? bias : bias + channel, 1, pixels);
      kernels<T>().plane(w, x + in * w.in_size(), weight + channel * w.taps(), to);
    });
    return;
  }
  if (w.is_whole()) {  // images are the rows of one product
    for (int64_t i = 0; bias != nullptr && i < c.images; ++i) {
      std::copy_n(bias, channels, y + i * channels);
    }
    for (int64_t g = 0; g < c.groups; ++g) {
      gemm<T>(c.images, c.out_channels, c.rows(), {x + g * c.rows(), c.groups * c.rows(), 1},
              {weight + g * c.out_channels * c.rows(), c.rows(), 1}, y + g * c.out_channels,
              channels, bias != nullptr);
    }
    return;
  }
  for_groups(c, [&](int64_t image, int64_t group) {
    const int64_t at = image * c.groups + group;
    T* to = y + at * c.y_size();
    if (bias != nullptr) {
      fill_channels(to, bias + group * c.out_channels, c.out_channels, pixels);
    }
    const T* from = x + at * c.x_size();
    const Columns<T> columns(w, from);
    gemm<T>(
        c.out_channels, pixels, c.rows(), {weight + group * c.out_channels * c.rows(), c.rows(), 1},
        w.is_identity() ? GemmOperand<T>{from, 1, pixels} : GemmOperand<T>{nullptr, 0, 0, &columns},
        to, pixels, bias != nullptr);
  });
}

template <class T>
void convolve_data_gradient(const Convolution& c, const T* dy, const T* weight, const T* bias,
                            T* dx) {
  const Window& w = c.window;
  const int64_t pixels = w.out_size();
  const int64_t size = w.in_size();
  const int64_t channels = c.groups * c.in_channels;
  if (c.images * channels * size == 0) return;
  if (is_by_channel(c)) {
    parallel_for(c.images * c.groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        fill_channels(dx + i * size, bias == nullptr ? bias : bias + i % c.groups, 1, size);
        for (int64_t k = 0; k < c.out_channels; ++k) {
          kernels<T>().plane_data(w, dy + (i * c.out_channels + k) * pixels,
                                  weight + (i % c.groups * c.out_channels + k) * w.taps(),
                                  dx + i * size);
        }
      }
    });
    return;
  }
  if (w.is_identity()) {
    for_groups(c, [&](int64_t image, int64_t group) {
      const int64_t at = image * c.groups + group;
      T* to = dx + at * c.x_size();
      if (bias != nullptr) fill_channels(to, bias + group * c.in_channels, c.in_channels, size);
      gemm<T>(c.in_channels, pixels, c.out_channels,
              {weight + group * c.out_channels * c.rows(), 1, c.rows()},
              {dy + at * c.y_size(), 1, pixels}, to, pixels, bias != nullptr);
    });
    return;
  }
  // Blocks of channels, since two taps may add to the same element but two channels never do.
  const int64_t block =
      std::clamp<int64_t>(kBlockRows / std::max<int64_t>(w.taps(), 1), 1, c.in_channels);
  const int64_t blocks = (c.in_channels + block - 1) / block;
  parallel_for(c.images * c.groups * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      if (job > begin) check_interrupt();
      const int64_t at = job / blocks;
      const int64_t channel = job % blocks * block;
      const int64_t count = std::min(block, c.in_channels - channel);
      const int64_t group = at % c.groups;
      T* to = dx + at * c.x_size();
      fill_channels(to + channel * size,
                    bias == nullptr ? bias : bias + group * c.in_channels + channel, count, size);
      scatter_products(c, channel * w.taps(), count * w.taps(), dy + at * c.y_size(),
                       weight + group * c.out_channels * c.rows(), to);
    }
  });
}

template <class T>
void convolve_weight_gradient(const Convolution& c, const T* x, const T* dy, T* dweight) {
  const Window& w = c.window;
  const int64_t pixels = w.out_size();
  const int64_t channels = c.groups * c.out_channels;
  if (channels * c.rows() == 0) return;
  if (is_by_channel(c)) {
    parallel_for(channels, 1, [&](int64_t begin, int64_t end) {
      ScratchLoan buffer(t_block);
      double* sums = buffer.reserve<double>(w.taps());
      for (int64_t channel = begin; channel < end; ++channel) {
        std::fill_n(sums, w.taps(), 0.0);
        for (int64_t n = 0; n < c.images; ++n) {
          kernels<T>().plane_weight(w, x + (n * c.groups + channel / c.out_channels) * w.in_size(),
                                    dy + (n * channels + channel) * pixels, sums);
        }
        std::copy_n(sums, w.taps(), dweight + channel * w.taps());
      }
    });
    return;
  }
  const int64_t x_stride = c.groups * c.x_size();
  const int64_t y_stride = c.groups * c.y_size();
  const bool is_many = c.groups >= int64_t{4} * num_threads();
  parallel_for(c.groups, is_many ? 1 : c.groups, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const T* from = x + g * c.x_size();
      const Pixels<T> a(pixels, dy + g * c.y_size(), y_stride);
      const Pixels<T> plain(pixels, from, x_stride);
      const Rows<T> rows(w, from, x_stride);
      const GemmSource<T>* b = &rows;
      if (w.is_identity()) b = &plain;
      gemm<T>(c.out_channels, c.rows(), c.images * pixels, {nullptr, 0, 0, &a}, {nullptr, 0, 0, b},
              dweight + g * c.out_channels * c.rows(), c.rows(), false);
    }
  });
}

#define TL_INSTANTIATE(T)                                                                        \
  template void convolve<T>(const Convolution&, const T*, const T*, const T*, T*);               \
  template void convolve_data_gradient<T>(const Convolution&, const T*, const T*, const T*, T*); \
  template void convolve_weight_gradient<T>(const Convolution&, const T*, const T*, T*);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE

}  // namespace tensorlike
