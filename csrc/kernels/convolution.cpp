// Which way a convolution goes: one matrix product where it is one, planes where groups have a
// single channel, else products with blocks of columns that are gathered while they are packed.
#include "kernels/convolution.h"

#include <algorithm>

#include "base/pool.h"
#include "kernels/convolution_sources.h"
#include "kernels/scratch.h"

namespace tensorlike {
namespace {

constexpr double kParallelWork = 2e5;        // multiply-adds worth waking a thread for
constexpr int64_t kBlockRows = 112;          // of the matrix of columns: few enough not to pack dy
constexpr int64_t kBlockBytes = 256 * 1024;  // of a block of it, which stays in the cache

thread_local ScratchBuffer t_block;

// How many of `jobs` equal parts of the work a thread takes at least.
int64_t grain_of(const Convolution& c, int64_t jobs) {
  const double part = c.work() / static_cast<double>(std::max<int64_t>(jobs, 1));
  return static_cast<int64_t>(std::clamp(kParallelWork / std::max(part, 1.0), 1.0, 1e6));
}

// Calls f(image, group) for all of them: each on one thread where there are enough to go round,
// else one after the other, and f shares its own work out.
template <class F>
void for_groups(const Convolution& c, F&& f) {
  const int64_t jobs = c.images * c.groups;
  const bool is_many = jobs >= int64_t{4} * num_threads();
  parallel_for(jobs, is_many ? grain_of(c, jobs) : jobs, [&](int64_t begin, int64_t end) {
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
  parallel_for(c.images * c.groups, grain_of(c, c.images * c.groups),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   if (i > begin) check_interrupt();
                   const int64_t first = i % c.groups * c.out_channels;
                   for (int64_t channel = first; channel < first + c.out_channels; ++channel) {
                     f(i, channel, i / c.groups * outputs + channel);
                   }
                 }
               });
}

// Small images are put side by side, so that the weights are read once for several of them.
int64_t images_at_once(const Convolution& c) {
  constexpr int64_t kPixels = 256;
  const int64_t pixels = c.window.out_size();
  return pixels >= kPixels ? 1 : std::min(c.images, 2 * kPixels / std::max<int64_t>(pixels, 1));
}

template <class T>
void convolve_batches(const Convolution& c, const T* x, const T* weight, const T* bias, T* y) {
  const int64_t pixels = c.window.out_size();
  const int64_t batch = images_at_once(c);
  Convolution batches = c;
  batches.images = (c.images + batch - 1) / batch;
  for_groups(batches, [&](int64_t part, int64_t group) {
    const int64_t first = part * batch;
    const int64_t images = std::min(batch, c.images - first);
    const Columns<T> columns(c.window, x + (first * c.groups + group) * c.x_size(),
                             c.groups * c.x_size());
    ScratchLoan buffer(t_block);
    T* block = buffer.reserve<T>(c.out_channels * images * pixels);
    if (bias != nullptr) {
      fill_channels(block, bias + group * c.out_channels, c.out_channels, images * pixels);
    }
    gemm<T>(c.out_channels, images * pixels, c.rows(),
            {weight + group * c.out_channels * c.rows(), c.rows(), 1}, {nullptr, 0, 0, &columns},
            block, images * pixels, bias != nullptr);
    for (int64_t i = 0; i < images; ++i) {
      T* to = y + ((first + i) * c.groups + group) * c.y_size();
      for (int64_t o = 0; o < c.out_channels; ++o) {
        std::copy_n(block + (o * images + i) * pixels, pixels, to + o * pixels);
      }
    }
  });
}

// A part of dx: whole channels of one group of some images.
struct DataPart {
  int64_t image, images, group, channel, channels;
};

// Products of transposed weights and dy, block by block, added to where their elements come from.
template <class T>
void scatter_products(const Convolution& c, const DataPart& part, const T* dy, const T* weight,
                      T* dx) {
  const Window& w = c.window;
  const int64_t pixels = w.out_size();
  const int64_t first_row = part.channel * w.taps();
  const int64_t rows = part.channels * w.taps();
  const int64_t at_once = std::min(rows, kBlockRows);
  int64_t piece = pixels;
  if (part.images == 1) {
    piece = std::max<int64_t>(kBlockBytes / (at_once * static_cast<int64_t>(sizeof(T))), 64);
    if (piece > w.out[2]) piece -= piece % w.out[2];
    piece = std::min(piece, pixels);
  }
  ScratchLoan buffer(t_block);
  T* block = buffer.reserve<T>(at_once * piece * part.images);
  const int64_t at = part.image * c.groups + part.group;
  const Planes<T> planes(pixels, dy + at * c.y_size(), c.groups * c.y_size());
  for (int64_t pixel = 0; pixel < pixels; pixel += piece) {
    const int64_t count = std::min(piece, pixels - pixel);
    const int64_t columns = count * part.images;
    for (int64_t r = first_row; r < first_row + rows; r += at_once) {
      const int64_t height = std::min(at_once, first_row + rows - r);
      gemm<T>(height, columns, c.out_channels,
              {weight + part.group * c.out_channels * c.rows() + r, 1, c.rows()},
              part.images > 1 ? GemmOperand<T>{nullptr, 0, 0, &planes}
                              : GemmOperand<T>{dy + at * c.y_size() + pixel, 1, pixels},
              block, columns, false);
      for (int64_t i = 0; i < part.images; ++i) {
        convolution_kernels<T>().scatter_add(w, dx + (at + i * c.groups) * c.x_size(), r, height,
                                             pixel, count, block + i * count, columns);
      }
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
      convolution_kernels<T>().plane(w, x + in * w.in_size(), weight + channel * w.taps(), to);
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
  if (images_at_once(c) > 1) {
    convolve_batches(c, x, weight, bias, y);
    return;
  }
  for_groups(c, [&](int64_t image, int64_t group) {
    const int64_t at = image * c.groups + group;
    T* to = y + at * c.y_size();
    if (bias != nullptr) {
      fill_channels(to, bias + group * c.out_channels, c.out_channels, pixels);
    }
    const T* from = x + at * c.x_size();
    const Columns<T> columns(w, from, 0);
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
    parallel_for(
        c.images * c.groups, grain_of(c, c.images * c.groups), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            fill_channels(dx + i * size, bias == nullptr ? bias : bias + i % c.groups, 1, size);
            for (int64_t k = 0; k < c.out_channels; ++k) {
              convolution_kernels<T>().plane_data(
                  w, dy + (i * c.out_channels + k) * pixels,
                  weight + (i % c.groups * c.out_channels + k) * w.taps(), dx + i * size);
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
  // Blocks of channels, since two taps may add to the same element but two channels never do. Jobs
  // that follow each other share the weights of a block.
  const int64_t block = std::clamp<int64_t>(kBlockRows / w.taps(), 1, c.in_channels);
  const int64_t blocks = (c.in_channels + block - 1) / block;
  const int64_t batch = std::max<int64_t>(images_at_once(c), 1);
  const int64_t batches = (c.images + batch - 1) / batch;
  const int64_t jobs = batches * c.groups * blocks;
  parallel_for(jobs, grain_of(c, jobs), [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      if (job > begin) check_interrupt();
      DataPart part;
      part.image = job % batches * batch;
      part.images = std::min(batch, c.images - part.image);
      part.channel = job / batches % blocks * block;
      part.channels = std::min(block, c.in_channels - part.channel);
      part.group = job / batches / blocks;
      for (int64_t i = part.image; i < part.image + part.images; ++i) {
        const int64_t channel = part.group * c.in_channels + part.channel;
        fill_channels(dx + (i * channels + channel) * size, bias == nullptr ? bias : bias + channel,
                      part.channels, size);
      }
      scatter_products(c, part, dy, weight, dx);
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
    parallel_for(channels, grain_of(c, channels), [&](int64_t begin, int64_t end) {
      ScratchLoan buffer(t_block);
      double* sums = buffer.reserve<double>(w.taps());
      for (int64_t channel = begin; channel < end; ++channel) {
        std::fill_n(sums, w.taps(), 0.0);
        for (int64_t n = 0; n < c.images; ++n) {
          convolution_kernels<T>().plane_weight(
              w, x + (n * c.groups + channel / c.out_channels) * w.in_size(),
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
