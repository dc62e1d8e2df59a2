#include "kernels/depthwise_blocks.h"

#include <algorithm>
#include <vector>

#include "kernels/convolution_product.h"
#include "kernels/depthwise.h"
#include "kernels/ways.h"

namespace tensorlike {

namespace {

constexpr int64_t kMostBlockBytes = 8 << 20;  // of a thread's working memory
// Of sums of products: by the problem alone, so that bits are the same.
constexpr int64_t kBlockJobs = 32;

ScratchPlace t_vectors;
ScratchPlace t_parts;

template <class T>
const BlockKernels& kernels_of() {
  return kernel_table().blocks[dtype_of<T>];
}

// A plan and what it points to.
class DepthwisePlan {
 public:
  // Results are windows of the image.
  static DepthwisePlan forward(const Window& w) {
    DepthwisePlan plan(w.in, w.out, w.kernel);
    for (int dim = 0; dim < 2; ++dim) {
      for (int64_t i = 0; i < w.out[dim]; ++i) {
        for (int64_t tap = 0; tap < w.kernel[dim]; ++tap) {
          plan.see(dim, w.position(dim, i, tap));
        }
      }
    }
    std::vector<SeenTap> taps;
    for (int64_t tap = 0; tap < w.kernel[2]; ++tap) taps.push_back({tap, w.position(2, 0, tap)});
    plan.add_columns({0, 1, w.out[2], w.stride[2], nullptr, 0}, std::move(taps));
    return plan.finish();
  }

  // Results are the places of the image, which windows of dy see.
  static DepthwisePlan backward(const Window& w) {
    DepthwisePlan plan(w.out, w.in, w.kernel);
    for (int dim = 0; dim < 2; ++dim) {
      for (int64_t i = 0; i < w.in[dim]; ++i) {
        for (int64_t tap = 0; tap < w.kernel[dim]; ++tap) {
          const int64_t place = i + w.before[dim] - tap * w.dilation[dim];
          plan.see(dim, place % w.stride[dim] == 0 ? place / w.stride[dim] : -1);
        }
      }
    }
    const int64_t step = w.stride[2];
    for (int64_t phase = 0; phase < std::min(step, w.in[2]); ++phase) {
      std::vector<SeenTap> taps;
      for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
        const int64_t place = phase + w.before[2] - tap * w.dilation[2];
        if (place % step == 0) taps.push_back({tap, place / step});
      }
      plan.add_columns({phase, step, (w.in[2] - phase - 1) / step + 1, 1, nullptr, 0},
                       std::move(taps));
    }
    return plan.finish();
  }

  const BlockPlan& operator*() const { return plan_; }

 private:
  DepthwisePlan(const int64_t* in, const int64_t* out, const int64_t* kernel) {
    std::copy_n(in, Window::kDims, plan_.in);
    std::copy_n(out, Window::kDims, plan_.out);
    std::copy_n(kernel, Window::kDims, plan_.kernel);
  }

  void see(int dim, int64_t place) { places_[dim].push_back(place < plan_.in[dim] ? place : -1); }

  void add_columns(SeenColumns columns, std::vector<SeenTap> taps) {
    columns_.push_back(columns);
    column_taps_.push_back(std::move(taps));
  }

  // Zeros around rows, for what columns see outside; then all pointers.
  DepthwisePlan finish() {
    int64_t least = 0;
    int64_t most = plan_.in[2] - 1;
    for (size_t i = 0; i < columns_.size(); ++i) {
      for (const SeenTap& tap : column_taps_[i]) {
        least = std::min(least, tap.place);
        most = std::max(most, tap.place + (columns_[i].count - 1) * columns_[i].seen_step);
      }
    }
    plan_.left = -least;
    plan_.length = most - least + 1;
    for (size_t i = 0; i < columns_.size(); ++i) {
      for (SeenTap& tap : column_taps_[i]) tap.place += plan_.left;
      columns_[i].taps = column_taps_[i].data();
      columns_[i].tap_count = std::ssize(column_taps_[i]);
    }
    for (int dim = 0; dim < 2; ++dim) {
      plan_.places[dim] = places_[dim].data();
    }
    plan_.columns = columns_.data();
    plan_.classes = std::ssize(columns_);
    return std::move(*this);
  }

  BlockPlan plan_{};
  std::vector<int64_t> places_[2];
  std::vector<SeenColumns> columns_;
  std::vector<std::vector<SeenTap>> column_taps_;
};

// Vectors of channels, the last perhaps not full.
template <class T>
detail::Split blocks_of(const Convolution& c) {
  return detail::split_at_most(c.groups, kernels_of<T>().lanes);
}

}  // namespace

template <class T>
bool has_blocks(const Convolution& c) {
  const Window& w = c.window;
  if (c.in_channels != 1 || c.out_channels != 1 || c.images * c.groups == 0) return false;
  if (w.out_size() == 0 || w.in_size() == 0 || w.taps() < 2) return false;
  if (kernels_of<T>().convolve == nullptr) return false;
  constexpr int64_t kMost = kMostBlockBytes / int64_t{sizeof(T)};
  int64_t seen[Window::kDims];
  for (int dim = 0; dim < Window::kDims; ++dim) {
    for (const int64_t n :
         {w.in[dim], w.out[dim], w.kernel[dim], w.dilation[dim], w.stride[dim], w.before[dim]}) {
      if (n < 0 || n > kMost) return false;
    }
    seen[dim] = std::max(w.in[dim] + w.before[dim], (w.out[dim] - 1) * w.stride[dim]) +
                w.kernel[dim] * w.dilation[dim];
    if (seen[dim] > kMost) return false;
  }
  if (w.kernel[0] * w.kernel[1] > BlockPlan::kMostLines) return false;
  const double places = static_cast<double>(w.in[0] * w.in[1]) * static_cast<double>(seen[2]) +
                        static_cast<double>(w.out_size()) + static_cast<double>(w.taps()) +
                        static_cast<double>(w.out[0] * w.out[1] * (w.out[2] + w.kernel[2]));
  return places * kernels_of<T>().lanes <= static_cast<double>(kMost);
}

template <class T>
Work blocks_work(const Convolution& c) {
  const Window& w = c.window;
  const int64_t blocks = c.images * blocks_of<T>(c).count;
  const double taps = static_cast<double>(w.taps()) * share_inside(w, 0) * share_inside(w, 1);
  const int64_t bytes = kernels_of<T>().lanes * int64_t{sizeof(T)};
  Work work;
  work.calls = static_cast<double>(blocks * w.out[0] * w.out[1]);
  work.products = static_cast<double>(blocks * w.out_size()) * taps;
  work.moved = static_cast<double>(blocks * (w.in_size() + w.out_size()) * bytes);
  work.made = static_cast<double>(blocks_of<T>(c).count * w.taps() * bytes);
  return work;
}

namespace {

template <class T>
void over_blocks(const Convolution& c, const BlockPlan& plan, const T* x, const T* weight,
                 const T* bias, T* y) {
  const detail::Split blocks = blocks_of<T>(c);
  const int64_t jobs = c.images * blocks.count;
  const int lanes = kernels_of<T>().lanes;
  parallel_for(jobs, grain_of(c.work(), jobs), [&](int64_t begin, int64_t end) {
    ScratchLoan loan(t_vectors);
    T* const space = loan.reserve<T>(plan.vectors() * lanes);
    std::fill_n(space, (plan.vectors() - plan.out_size()) * lanes, T{0});
    for (int64_t job = begin; job < end; ++job) {
      if (job > begin) check_interrupt();
      const int64_t block = job / c.images;
      const int64_t first = blocks.begin(block);
      const int64_t plane = job % c.images * c.groups + first;
      const bool has_weights = job > begin && job % c.images > 0;  // of the image before
      kernels_of<T>().convolve(
          plan,
          {x + plane * plan.in_size(), has_weights ? nullptr : weight + first * plan.weights(),
           bias == nullptr ? nullptr : bias + first, y + plane * plan.out_size(),
           blocks.size(block)},
          space);
    }
  });
}

}  // namespace

template <class T>
void convolve_by_blocks(const Convolution& c, const T* x, const T* weight, const T* bias, T* y) {
  over_blocks(c, *DepthwisePlan::forward(c.window), x, weight, bias, y);
}

template <class T>
void data_gradient_by_blocks(const Convolution& c, const T* dy, const T* weight, const T* bias,
                             T* dx) {
  over_blocks(c, *DepthwisePlan::backward(c.window), dy, weight, bias, dx);
}

template <class T>
void weight_gradient_by_blocks(const Convolution& c, const T* x, const T* dy, T* dweight) {
  const DepthwisePlan made = DepthwisePlan::forward(c.window);
  const BlockPlan& plan = *made;
  const detail::Split blocks = blocks_of<T>(c);
  const int64_t size = c.groups * plan.weights();
  const detail::Split parts{
      c.images, std::clamp<int64_t>(detail::ceil_div(kBlockJobs, blocks.count), 1, c.images)};
  ScratchLoan loan(t_parts);
  T* const sums = parts.count > 1 ? loan.reserve<T>(size * parts.count) : dweight;
  std::fill_n(sums, size * parts.count, T{0});
  const int64_t jobs = blocks.count * parts.count;
  const int lanes = kernels_of<T>().lanes;
  parallel_for(jobs, grain_of(c.work(), jobs), [&](int64_t begin, int64_t end) {
    ScratchLoan vectors(t_vectors);
    T* const space = vectors.reserve<T>(plan.vectors() * lanes);
    std::fill_n(space, (plan.vectors() - plan.out_size()) * lanes, T{0});
    for (int64_t job = begin; job < end; ++job) {
      const int64_t block = job % blocks.count;
      const int64_t part = job / blocks.count;
      const int64_t first = blocks.begin(block);
      for (int64_t image = parts.begin(part); image < parts.begin(part + 1); ++image) {
        check_interrupt();
        const int64_t plane = image * c.groups + first;
        T* const seen = const_cast<T*>(dy) + plane * plan.out_size();  // read only
        kernels_of<T>().add_products(
            plan, {x + plane * plan.in_size(), nullptr, nullptr, seen, blocks.size(block)},
            sums + part * size + first * plan.weights(), space);
      }
    }
  });
  if (parts.count > 1) sum_parts(sums, parts.count, size, dweight);
}

#define TL_INSTANTIATE(T)                                                                         \
  template bool has_blocks<T>(const Convolution&);                                                \
  template Work blocks_work<T>(const Convolution&);                                               \
  template void convolve_by_blocks<T>(const Convolution&, const T*, const T*, const T*, T*);      \
  template void data_gradient_by_blocks<T>(const Convolution&, const T*, const T*, const T*, T*); \
  template void weight_gradient_by_blocks<T>(const Convolution&, const T*, const T*, T*);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE

}  // namespace tensorlike
