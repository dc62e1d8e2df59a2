#include "kernels/convolution_apart.h"

#include <algorithm>

#include "kernels/convolution_product.h"
#include "kernels/winograd_tiles.h"

namespace tensorlike {
namespace {

constexpr int64_t kMostApartBytes = 8
                                    << 20;  // of images and results that are written down together

ScratchPlace t_images;
ScratchPlace t_results;
ScratchPlace t_apart_sums;

// One dimension, for the results `phase`, phase + dilation, ...: position p of the image of its own
// is that of the whole at first + p * dilation.
int64_t first_of_image(const Window& w, int dim, int64_t phase) {
  const int64_t before = w.before[dim] / w.dilation[dim];
  return phase - w.before[dim] + before * w.dilation[dim];
}

// Where the elements of phases lie in a whole plane: rows and columns from `first` on, a dilation
// apart, of which those within the plane are there.
struct Places {
  int64_t first[2], step[2], whole[2], own[2];

  int64_t begin(int dim) const { return first[dim] < 0 ? 1 : 0; }
  int64_t end(int dim) const {
    const int64_t count = detail::ceil_div(whole[dim] - first[dim], step[dim]);
    return std::clamp<int64_t>(count, begin(dim), own[dim]);
  }
  // f(whole, own, count) for each row: elements step[1] apart there lie side by side here.
  template <class F>
  void over_rows(F&& f) const {
    const int64_t low = begin(1), high = end(1);
    for (int64_t row = begin(0); row < end(0); ++row) {
      f((first[0] + row * step[0]) * whole[1] + first[1] + low * step[1], row * own[1] + low,
        high - low);
    }
  }
};

// Images as phases see them, or results as they are phases'.
struct Phases {
  const Convolution& c;
  bool is_image;

  int64_t count() const { return c.window.dilation[1] * c.window.dilation[2]; }
  int64_t channels() const { return c.groups * (is_image ? c.in_channels : c.out_channels); }
  Places places(int64_t phase) const {
    const Window& w = c.window;
    const Convolution own = side_by_side(c, 1);
    const int64_t at[2] = {phase / w.dilation[2], phase % w.dilation[2]};
    Places found;
    for (int i = 0; i < 2; ++i) {
      const int dim = i + 1;
      found.first[i] = is_image ? first_of_image(w, dim, at[i]) : at[i];
      found.step[i] = w.dilation[dim];
      found.whole[i] = is_image ? w.in[dim] : w.out[dim];
      found.own[i] = is_image ? own.window.in[dim] : own.window.out[dim];
    }
    return found;
  }
  int64_t whole_size() const { return is_image ? c.window.in_size() : c.window.out_size(); }
  int64_t own_size() const {
    const Window w = side_by_side(c, 1).window;
    return is_image ? w.in_size() : w.out_size();
  }
  int64_t elements(int64_t images) const { return images * count() * channels() * own_size(); }

  // f(places, plane of the whole, plane of the phase) for all planes of so many images.
  template <class F>
  void over_planes(int64_t images, F&& f) const {
    const int64_t jobs = images * channels();
    const double work = static_cast<double>(elements(images));
    parallel_for(jobs, grain_of(4 * work, jobs), [&](int64_t begin, int64_t end) {
      for (int64_t phase = 0; phase < count(); ++phase) {
        const Places at = places(phase);
        for (int64_t job = begin; job < end; ++job) {
          const int64_t image = job / channels(), channel = job % channels();
          f(at, job * whole_size(),
            ((image * count() + phase) * channels() + channel) * own_size());
        }
      }
    });
  }
  template <class T>
  void take_apart(const T* whole, int64_t images, T* own) const {
    std::fill_n(own, elements(images), T{0});
    over_planes(images, [&](const Places& at, int64_t from, int64_t to) {
      at.over_rows([&](int64_t there, int64_t here, int64_t n) {
        for (int64_t i = 0; i < n; ++i) own[to + here + i] = whole[from + there + i * at.step[1]];
      });
    });
  }
  template <class T>
  void put_together(const T* own, int64_t images, T* whole) const {
    over_planes(images, [&](const Places& at, int64_t to, int64_t from) {
      at.over_rows([&](int64_t there, int64_t here, int64_t n) {
        for (int64_t i = 0; i < n; ++i) whole[to + there + i * at.step[1]] = own[from + here + i];
      });
    });
  }
};

// f(first, count) for all images, as many at a time as are written down together.
template <class T, class F>
void over_images(const Convolution& c, F&& f) {
  const int64_t size = Phases{c, true}.elements(1) + Phases{c, false}.elements(1);
  const int64_t bytes = size * int64_t{sizeof(T)};
  const detail::Split parts =
      detail::split_at_most(c.images, std::max<int64_t>(1, kMostApartBytes / bytes));
  for (int64_t part = 0; part < parts.count; ++part) f(parts.begin(part), parts.size(part));
}

// What one side's phases hold, multiplied to the other side's.
template <class T>
void multiply_apart(const Phases& given, const Phases& made, const T* from, T* to,
                    const OwnProduct<T>& multiply) {
  const Convolution& c = given.c;
  ScratchLoan given_loan(t_images), made_loan(t_results);
  over_images<T>(c, [&](int64_t first, int64_t count) {
    T* const own = given_loan.reserve<T>(given.elements(count));
    T* const found = made_loan.reserve<T>(made.elements(count));
    given.take_apart(from + first * given.channels() * given.whole_size(), count, own);
    multiply(side_by_side(c, count), own, found);
    made.put_together(found, count, to + first * made.channels() * made.whole_size());
  });
}

}  // namespace

bool has_apart(const Convolution& c) {
  const Window& w = c.window;
  if (w.dilation[1] * w.dilation[2] == 1 || c.images * w.in_size() * w.out_size() == 0)
    return false;
  if (w.before[1] < 0 || w.before[2] < 0) return false;
  const Window own = side_by_side(c, 1).window;
  return own.in[1] > 0 && own.in[2] > 0 && w.dilation[1] <= w.out[1] && w.dilation[2] <= w.out[2] &&
         is_flat(own) && has_tiles(own);
}

Convolution side_by_side(const Convolution& c, int64_t images) {
  Convolution own = c;
  own.images = images * c.window.dilation[1] * c.window.dilation[2];
  for (int dim = 1; dim < Window::kDims; ++dim) {
    const int64_t dilation = c.window.dilation[dim];
    own.window.dilation[dim] = 1;
    own.window.before[dim] = c.window.before[dim] / dilation;
    own.window.out[dim] = detail::ceil_div(c.window.out[dim], dilation);
    own.window.in[dim] = own.window.out[dim] + c.window.kernel[dim] - 1 - own.window.before[dim];
  }
  return own;
}

template <class T>
Work apart_work(const Convolution& c, Work work) {
  const int64_t size = Phases{c, true}.elements(c.images) + Phases{c, false}.elements(c.images);
  work.moved += 2 * static_cast<double>(size * int64_t{sizeof(T)});
  return work;
}

template <class T>
void convolve_apart(const Convolution& c, const T* x, T* y, const OwnProduct<T>& multiply) {
  multiply_apart({c, true}, {c, false}, x, y, multiply);
}

template <class T>
void data_gradient_apart(const Convolution& c, const T* dy, T* dx, const OwnProduct<T>& multiply) {
  multiply_apart({c, false}, {c, true}, dy, dx, multiply);
}

template <class T>
void weight_gradient_apart(const Convolution& c, const T* x, const T* dy, T* dweight,
                           const OwnDots<T>& multiply) {
  const Phases images{c, true}, results{c, false};
  ScratchLoan images_loan(t_images), results_loan(t_results), sums_loan(t_apart_sums);
  const int64_t size = c.groups * c.out_channels * c.rows();
  over_images<T>(c, [&](int64_t first, int64_t count) {
    T* const own_x = images_loan.reserve<T>(images.elements(count));
    T* const own_dy = results_loan.reserve<T>(results.elements(count));
    images.take_apart(x + first * c.groups * c.x_size(), count, own_x);
    results.take_apart(dy + first * c.groups * c.y_size(), count, own_dy);
    T* const sums = first == 0 ? dweight : sums_loan.reserve<T>(size);
    multiply(side_by_side(c, count), own_x, own_dy, sums);
    for (int64_t i = 0; first > 0 && i < size; ++i) dweight[i] += sums[i];
  });
}

#define TL_INSTANTIATE(T)                                                                       \
  template Work apart_work<T>(const Convolution&, Work);                                        \
  template void convolve_apart<T>(const Convolution&, const T*, T*, const OwnProduct<T>&);      \
  template void data_gradient_apart<T>(const Convolution&, const T*, T*, const OwnProduct<T>&); \
  template void weight_gradient_apart<T>(const Convolution&, const T*, const T*, T*,            \
                                         const OwnDots<T>&);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE

}  // namespace tensorlike
