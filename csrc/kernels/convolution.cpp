// Which way a convolution and its gradient by the image go: one matrix product where windows are
// single elements or cover the image, else products of weights and windows.
#include "kernels/convolution.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/pool.h"
#include "kernels/convolution_apart.h"
#include "kernels/convolution_parts.h"
#include "kernels/convolution_product.h"
#include "kernels/convolution_rows.h"
#include "kernels/convolution_scattered.h"
#include "kernels/depthwise.h"
#include "kernels/depthwise_blocks.h"
#include "kernels/winograd.h"

namespace tensorlike {
namespace {

// channels x size elements, each channel filled with its bias.
template <class T>
void fill_channels(T* to, const T* bias, int64_t channels, int64_t size) {
  for (int64_t i = 0; i < channels; ++i) {
    std::fill_n(to + i * size, size, bias == nullptr ? T{0} : bias[i]);
  }
}

// Windows of one element: for each image and group the product of a matrix of the weights, as
// `weight` says, and the image. Each on one thread where there are enough to go round.
template <class T>
void multiply_pixels(const WindowProduct<T>& p) {
  const int64_t pixels = p.window.out_size();
  const int64_t jobs = p.images * p.groups;
  const bool is_many = jobs >= int64_t{4} * num_threads();
  parallel_for(jobs, is_many ? 1 : jobs, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      if (job > begin) check_interrupt();
      const int64_t group = job % p.groups;
      T* to = p.y + job * p.out_channels * pixels;
      if (p.bias != nullptr) {
        fill_channels(to, p.bias + group * p.out_channels, p.out_channels, pixels);
      }
      gemm<T>(p.out_channels, pixels, p.in_channels,
              {p.weight + group * p.group_step, p.out_step, p.in_step, nullptr, p.forms},
              {p.x + job * p.in_channels * pixels, 1, pixels}, to, pixels, p.bias != nullptr);
    }
  });
}

template <class T>
Work pixels_work(const WindowProduct<T>& p) {
  return gemm_work<T>(p.out_channels, p.window.out_size(), p.in_channels, p.images * p.groups,
                      true);
}

// Tiles, but for what is not finite.
template <class T>
void multiply_tiles(const WindowProduct<T>& product) {
  if (!multiply_winograd(product)) multiply_strips(product);
}

// The way of the result.
template <class T>
Way forward_way(const Convolution& c, const WindowProduct<T>& product, const Parts<T>& parts) {
  const auto apart = [&] {
    const Convolution own = side_by_side(c, c.images);
    const auto like =
        forward_product<T>(own, nullptr, product.weight, nullptr, nullptr, product.forms);
    return apart_work<T>(c, tiles_work(like));
  };
  Choice choice;
  choice.offer(Way::kStrips, [&] { return strips_work(product); });
  if (!parts.empty()) choice.offer(Way::kParts, [&] { return strips_work(product, parts); });
  if (has_blocks<T>(c)) choice.offer(Way::kBlocks, [&] { return blocks_work<T>(c); });
  if (has_depthwise(c)) choice.offer(Way::kAlone, [&] { return depthwise_work<T>(c); });
  if (has_rows(c)) choice.offer(Way::kRows, [&] { return rows_work<T>(c); });
  if (has_winograd(product)) choice.offer(Way::kTiles, [&] { return tiles_work(product); });
  if (c.window.is_identity()) choice.offer(Way::kPixels, [&] { return pixels_work(product); });
  if (has_apart(c)) choice.offer(Way::kApart, apart);
  return choice.best();
}

// Of the gradient by the image; its taps are those of the phases.
template <class T>
WindowProduct<T> gradient_product(const Convolution& c, const T* dy, const T* weight, const T* bias,
                                  T* dx, KeptForms* forms) {
  WindowProduct<T> p;
  p.window = c.window;
  p.images = c.images;
  p.groups = c.groups;
  p.in_channels = c.out_channels;
  p.out_channels = c.in_channels;
  p.x = dy;
  p.weight = weight;
  p.group_step = c.out_channels * c.rows();
  p.out_step = c.window.taps();
  p.in_step = c.rows();
  p.is_mirrored = true;
  p.forms = forms;
  p.bias = bias;
  p.y = dx;
  p.y_size = c.window.in_size();
  return p;
}

// One dimension of the elements of dx that are `phase` modulo the stride: the windows through which
// they see dy, and the taps of the kernel that these are, first, first + step, ...
struct Phase {
  int64_t first, step, count;
};

Phase set_phase(const Window& w, int dim, int64_t phase, Window& seen) {
  const int64_t stride = w.stride[dim];
  const int64_t dilation = w.dilation[dim];
  seen.in[dim] = w.out[dim];
  seen.stride[dim] = 1;
  seen.out[dim] = (w.in[dim] - phase - 1) / stride + 1;
  Phase found{0, stride / std::gcd(stride, dilation), 0};
  const int64_t limit = std::min(found.step, w.kernel[dim]);
  const auto meets = [&](int64_t tap) {
    return (phase + w.before[dim] - tap * dilation) % stride == 0;
  };
  while (found.first < limit && !meets(found.first)) ++found.first;
  if (found.first == limit) return found;
  found.count = (w.kernel[dim] - 1 - found.first) / found.step + 1;
  seen.kernel[dim] = found.count;
  seen.dilation[dim] = found.step * dilation / stride;
  const int64_t at = (phase + w.before[dim] - found.first * dilation) / stride;
  seen.before[dim] = (found.count - 1) * seen.dilation[dim] - at;  // the last tap comes first
  return found;
}

// The part of the gradient that lies at `phases` modulo the strides; without taps, where it sees
// nothing.
template <class T>
WindowProduct<T> phase_product(const Convolution& c, const int64_t* phases, WindowProduct<T> p) {
  const Window& w = c.window;
  Phase found[Window::kDims];
  for (int dim = 0; dim < Window::kDims; ++dim) {
    found[dim] = set_phase(w, dim, phases[dim], p.window);
  }
  const int64_t size[Window::kDims] = {w.in[1] * w.in[2], w.in[2], 1};
  for (int dim = 0; dim < Window::kDims; ++dim) {
    p.origin += phases[dim] * size[dim];
    p.steps[dim] = w.stride[dim] * size[dim];
  }
  for (int64_t plane = 0; plane < found[0].count; ++plane) {
    for (int64_t above = 0; above < found[1].count; ++above) {
      const int64_t line = (found[0].first + plane * found[0].step) * w.kernel[1] + found[1].first +
                           above * found[1].step;
      for (int64_t tap = 0; tap < found[2].count; ++tap) {
        p.taps.push_back(line * w.kernel[2] + found[2].first + tap * found[2].step);
      }
    }
  }
  return p;
}

// Elements of dx that are the same modulo the strides see dy through windows of stride 1, over the
// same taps: one product for each such class, and each element is written once.
template <class T>
std::vector<WindowProduct<T>> phase_products(const Convolution& c, const WindowProduct<T>& all) {
  const Window& w = c.window;
  std::vector<WindowProduct<T>> products;
  int64_t at[Window::kDims];
  const auto most = [&](int dim) { return std::min(w.stride[dim], w.in[dim]); };
  for (at[0] = 0; at[0] < most(0); ++at[0]) {
    for (at[1] = 0; at[1] < most(1); ++at[1]) {
      for (at[2] = 0; at[2] < most(2); ++at[2]) products.push_back(phase_product(c, at, all));
    }
  }
  return products;
}

// What each phase is made up of: its parts, or itself. Empty where none has parts.
template <class T>
std::vector<Parts<T>> parts_of_phases(const std::vector<WindowProduct<T>>& phases) {
  std::vector<Parts<T>> all;
  bool are_cut = false;
  for (const WindowProduct<T>& phase : phases) {
    all.push_back(phase.taps.empty() ? Parts<T>{} : parts_of(phase));
    are_cut |= !all.back().empty();
    if (all.back().empty()) all.back().push_back(phase);
  }
  if (!are_cut) all.clear();
  return all;
}

template <class T>
Work phases_work(const std::vector<WindowProduct<T>>& phases, const std::vector<Parts<T>>& parts) {
  Work sum;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].taps.empty()) continue;
    sum += parts.empty() ? strips_work(phases[i]) : strips_work(phases[i], parts[i]);
  }
  return sum;
}

template <class T>
Way backward_way(const Convolution& c, const WindowProduct<T>& all,
                 const std::vector<WindowProduct<T>>& products,
                 const std::vector<Parts<T>>& parts) {
  const WindowProduct<T>& only = products.front();
  const auto apart = [&] {
    const Convolution own = side_by_side(c, c.images);
    const auto like = gradient_product<T>(own, nullptr, all.weight, nullptr, nullptr, all.forms);
    return apart_work<T>(c, tiles_work(phase_products(own, like).front()));
  };
  Choice choice;
  choice.offer(Way::kStrips, [&] { return phases_work(products, {}); });
  if (!parts.empty()) choice.offer(Way::kParts, [&] { return phases_work(products, parts); });
  if (has_blocks<T>(c)) choice.offer(Way::kBlocks, [&] { return blocks_work<T>(c); });
  if (c.window.is_identity()) choice.offer(Way::kPixels, [&] { return pixels_work(all); });
  if (products.size() == 1 && has_winograd(only)) {
    choice.offer(Way::kTiles, [&] { return tiles_work(only); });
  }
  if (has_apart(c)) choice.offer(Way::kApart, apart);
  if (has_scattered(c)) choice.offer(Way::kScattered, [&] { return scattered_work<T>(c); });
  return choice.best();
}

}  // namespace

template <class T>
void convolve(const Convolution& c, const T* x, const T* weight, const T* bias, T* y,
              KeptForms* forms) {
  const Window& w = c.window;
  const int64_t channels = c.groups * c.out_channels;
  if (c.images * channels * w.out_size() == 0) return;
  if (c.rows() == 0) {
    for (int64_t i = 0; i < c.images; ++i) {
      fill_channels(y + i * channels * w.out_size(), bias, channels, w.out_size());
    }
    return;
  }
  if (w.is_whole()) {  // images are the rows of one product
    for (int64_t i = 0; bias != nullptr && i < c.images; ++i) {
      std::copy_n(bias, channels, y + i * channels);
    }
    for (int64_t g = 0; g < c.groups; ++g) {
      gemm<T>(c.images, c.out_channels, c.rows(), {x + g * c.rows(), c.groups * c.rows(), 1},
              {weight + g * c.out_channels * c.rows(), c.rows(), 1, nullptr, forms},
              y + g * c.out_channels, channels, bias != nullptr);
    }
    return;
  }
  const WindowProduct<T> product = forward_product(c, x, weight, bias, y, forms);
  const Parts<T> parts = parts_of(product);
  switch (forward_way(c, product, parts)) {
    case Way::kParts:
      return multiply_strips(product, parts);
    case Way::kBlocks:
      return convolve_by_blocks(c, x, weight, bias, y);
    case Way::kAlone:
      return convolve_depthwise(c, x, weight, bias, y);
    case Way::kRows:
      return convolve_rows(c, x, weight, bias, y, forms);
    case Way::kPixels:
      return multiply_pixels(product);
    case Way::kApart:
      return convolve_apart<T>(c, x, y, [&](const Convolution& own, const T* from, T* to) {
        multiply_tiles(forward_product(own, from, weight, bias, to, forms));
      });
    case Way::kTiles:
      return multiply_tiles(product);
    default:
      multiply_strips(product);
  }
}

template <class T>
void convolve_data_gradient(const Convolution& c, const T* dy, const T* weight, const T* bias,
                            T* dx, KeptForms* forms) {
  const Window& w = c.window;
  const int64_t channels = c.groups * c.in_channels;
  if (c.images * channels * w.in_size() == 0) return;
  const auto fill = [&] {
    for (int64_t i = 0; i < c.images; ++i) {
      fill_channels(dx + i * channels * w.in_size(), bias, channels, w.in_size());
    }
  };
  if (c.out_channels * w.out_size() == 0) return fill();
  const WindowProduct<T> p = gradient_product(c, dy, weight, bias, dx, forms);
  const std::vector<WindowProduct<T>> products = phase_products(c, p);
  const std::vector<Parts<T>> parts = parts_of_phases(products);
  const Way way = backward_way(c, p, products, parts);
  switch (way) {
    case Way::kBlocks:
      return data_gradient_by_blocks(c, dy, weight, bias, dx);
    case Way::kPixels:
      return multiply_pixels(p);
    case Way::kApart:
      fill();
      return data_gradient_apart<T>(c, dy, dx, [&](const Convolution& own, const T* from, T* to) {
        const auto like = gradient_product(own, from, weight, bias, to, forms);
        multiply_tiles(phase_products(own, like).front());
      });
    case Way::kTiles:
      return multiply_tiles(products.front());
    case Way::kScattered:
      return data_gradient_scattered(c, dy, weight, bias, dx, forms);
    default:
      break;
  }
  const auto sees_nothing = [](const WindowProduct<T>& each) { return each.taps.empty(); };
  if (std::any_of(products.begin(), products.end(), sees_nothing)) fill();
  for (size_t i = 0; i < products.size(); ++i) {
    if (products[i].taps.empty()) continue;
    if (way == Way::kParts) {
      multiply_strips(products[i], parts[i]);
    } else {
      multiply_strips(products[i]);
    }
  }
}

#define TL_INSTANTIATE(T)                                                                       \
  template void convolve<T>(const Convolution&, const T*, const T*, const T*, T*, KeptForms*);  \
  template void convolve_data_gradient<T>(const Convolution&, const T*, const T*, const T*, T*, \
                                          KeptForms*);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE

}  // namespace tensorlike
