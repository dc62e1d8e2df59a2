// The product of weights and windows that a convolution is, and also its gradient by the image,
// whose windows lie over the gradient: strip by strip, the operand gathered by the thread that then
// multiplies it, so that it is still in that thread's cache.
#pragma once

#include <algorithm>
#include <vector>

#include "base/isa.h"
#include "base/pool.h"
#include "kernels/convolution_strips.h"
#include "kernels/gemm_plan.h"
#include "kernels/scratch.h"
#include "kernels/ways.h"

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

// y[image, channel, window] = bias[channel] + the sum over x's channels and taps of weight times
// what the window sees through the tap.
template <class T>
struct WindowProduct {
  Window window;
  int64_t images = 0, groups = 1, in_channels = 0, out_channels = 0;  // channels of a group
  const T* x = nullptr;

  // The weight of a tap for a channel of y and one of x lies at group_step * group + out_step *
  // channel + in_step * channel + taps[tap]. `taps` goes up; is_mirrored: from the last tap of the
  // window to its first.
  const T* weight = nullptr;
  int64_t group_step = 0, out_step = 0, in_step = 0;
  std::vector<int64_t> taps;
  bool is_mirrored = false;
  // Of a part of a product: which of the whole's taps these are; else empty.
  std::vector<int64_t> numbers;
  KeptForms* forms = nullptr;  // of weights that never change

  const T* bias = nullptr;  // null: zeros

  // The window at (d, h, w) of a channel of y lies at origin + steps . (d, h, w).
  T* y = nullptr;
  int64_t y_size = 0;  // of a channel
  int64_t origin = 0;
  int64_t steps[Window::kDims] = {0, 0, 0};

  // Whether windows of a plane lie in y one after another, and whether those of a channel do.
  bool has_dense_planes() const {
    return steps[2] == 1 && (steps[1] == window.out[2] || window.out[1] == 1);
  }
  bool is_dense() const {
    const int64_t plane = window.out[1] * window.out[2];
    return has_dense_planes() && (steps[0] == plane || window.out[0] == 1);
  }
  // Where the window with this number in C order lies in a channel of y.
  int64_t place_of(int64_t number) const {
    const int64_t line = number / window.out[2];
    return origin + line / window.out[1] * steps[0] + line % window.out[1] * steps[1] +
           number % window.out[2] * steps[2];
  }
  int64_t depth() const { return in_channels * static_cast<int64_t>(taps.size()); }
  // Which weights these are, in the order of `taps`.
  KeptForms::Key key(std::string_view kind) const;
  double work() const {
    return static_cast<double>(images * groups * out_channels) * static_cast<double>(depth()) *
           static_cast<double>(window.out_size());
  }
};

// What a convolution computes. Defined for float and double.
template <class T>
WindowProduct<T> forward_product(const Convolution& c, const T* x, const T* weight, const T* bias,
                                 T* y, KeptForms* forms);

// What `make(memory)` makes of the weights: kept, where they never change, else in the buffer.
template <class T, class Make>
T* kept_or(const WindowProduct<T>& product, std::string_view kind, ScratchLoan& buffer,
           int64_t count, Make&& make) {
  if (product.forms != nullptr) {
    const auto make_in = [&](char* memory) { make(reinterpret_cast<T*>(memory)); };
    char* kept =
        product.forms->get(product.key(kind), static_cast<size_t>(count) * sizeof(T), make_in);
    if (kept != nullptr) return reinterpret_cast<T*>(kept);
  }
  T* const memory = buffer.reserve<T>(count);
  make(memory);
  return memory;
}

// The weights, in the order in which they are used: for each group and block of channels of x,
// panels of rows, each along k.
template <class T>
class PackedWeights {
 public:
  PackedWeights(const WindowProduct<T>& product, ScratchLoan& buffer);

  int64_t taps() const { return std::ssize(product_.taps); }
  int64_t panels() const { return panels_.count; }
  int64_t row(int64_t panel) const { return panels_.begin(panel); }
  int64_t rows(int64_t panel) const { return panels_.size(panel); }
  int width() const { return width_; }  // log2 of the vectors of a tile
  // Blocks of channels: of as many rows of the operand as the first-level cache holds.
  const detail::Split& blocks() const { return blocks_; }
  T* at(int64_t group, int64_t block, int64_t panel) const {
    const int64_t taps = static_cast<int64_t>(product_.taps.size());
    return packed_ + group * panels_.n * product_.depth() +
           (blocks_.begin(block) * panels_.n + blocks_.size(block) * panels_.begin(panel)) * taps;
  }

 private:
  void pack() const;
  void pack_panels(int64_t group, int64_t block, int64_t first, int64_t last) const;
  void pack_taps(const T* from, int64_t rows, T* to) const;

  const WindowProduct<T>& product_;
  int width_;
  detail::Split panels_;
  detail::Split blocks_;
  T* packed_;
};

// One thread's work on strips.
template <class T>
class StripProduct {
 public:
  StripProduct(const WindowProduct<T>& product, const PackedWeights<T>& weights,
               const Strips& strips);

  // Panels [first, last) of a group's rows.
  void run(int64_t strip, int64_t group, int64_t first, int64_t last);

 private:
  struct Target {  // where the sums go: y itself, or a block that is then moved to its places
    T* data;
    int64_t row_step;
  };
  void arrange(int64_t strip);
  const T* gather(int64_t group, int64_t channel, int64_t channels);
  void multiply(const T* operand, int64_t group, int64_t block, int64_t first, int64_t last,
                const Target& target) const;
  void place(const T* block, int64_t group, int64_t row, int64_t rows) const;

  const WindowProduct<T>& product_;
  const PackedWeights<T>& weights_;
  const Strips& strips_;
  ScratchLoan operand_;
  ScratchLoan block_;
  int64_t current_ = -1;
  Strip strip_{};
  StripLayout layout_;
  int64_t at_once_ = 0;                  // blocks of channels that are gathered together
  std::vector<detail::ListedRow> rows_;  // of a block
  std::vector<PlaceRun> runs_;
};

// to[i] = the sum of the i-th elements of all parts, in their order.
template <class T>
void sum_parts(const T* parts, int64_t count, int64_t size, T* to) {
  for (int64_t i = 0; i < size; ++i) {
    T sum = 0;
    for (int64_t part = 0; part < count; ++part) sum += parts[part * size + i];
    to[i] = sum;
  }
}

// How many of the jobs that make up some multiply-adds are worth waking a thread for.
inline int64_t grain_of(double work, int64_t jobs) {
  constexpr double kParallelWork = 2e5;
  const double part = work / static_cast<double>(std::max<int64_t>(jobs, 1));
  return static_cast<int64_t>(std::clamp(kParallelWork / std::max(part, 1.0), 1.0, 1e6));
}

// worker.run(strip, group, first, last) for all strips and groups, and all panels of rows; each
// thread makes a worker for itself. Where strips are few, their panels are shared out.
template <class T, class F>
void over_strips(const WindowProduct<T>& product, int64_t strips, int64_t panels, F&& make_worker) {
  const int64_t pieces = strips * product.groups;
  const detail::Split shares{
      panels, std::clamp<int64_t>(detail::ceil_div(2 * num_threads(), pieces), 1, panels)};
  const int64_t jobs = pieces * shares.count;
  parallel_for(jobs, grain_of(product.work(), jobs), [&](int64_t begin, int64_t end) {
    auto worker = make_worker();
    for (int64_t job = begin; job < end; ++job) {
      if (job > begin) check_interrupt();
      const int64_t share = job % shares.count;
      const int64_t piece = job / shares.count;
      worker.run(piece / product.groups, piece % product.groups, shares.begin(share),
                 shares.begin(share + 1));
    }
  });
}

// Of a matrix product m x n x k, so many times; `makes_a`: a is packed each time, where there are
// columns enough.
template <class T>
Work gemm_work(int64_t m, int64_t n, int64_t k, int64_t times, bool makes_a);

// Defined for float and double. `parts`: products that together are this one, over its weights.
template <class T>
Work strips_work(const WindowProduct<T>& product);
template <class T>
Work strips_work(const WindowProduct<T>& product, const std::vector<WindowProduct<T>>& parts);
template <class T>
void multiply_strips(WindowProduct<T> product, const std::vector<WindowProduct<T>>& parts);
template <class T>
void multiply_strips(const WindowProduct<T>& product) {
  multiply_strips(product, {product});
}

}  // namespace tensorlike
