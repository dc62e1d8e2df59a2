// The weights of a product in F(2x2, 3x3): transformed all at once, which may be kept, or some
// panels of columns at a time. Included by winograd.cpp only.
#pragma once

#include "kernels/winograd_tiles.h"

namespace tensorlike {
namespace {

// Some panels of a group's weights, transformed: a matrix for each place.
template <class T>
struct WeightPanels {
  T* data = nullptr;
  int64_t step = 0;              // from place to place
  int64_t first = 0, depth = 0;  // the first panel's column; elements of a column

  T* at(int64_t place, int64_t column) const {
    return data + place * step + (column - first) * depth;
  }
};

// The weights of a product as panels of columns (channels of the result), each along the channels
// that are summed, for one plane of the kernel after the other.
template <class T>
class Weights {
 public:
  explicit Weights(const WindowProduct<T>& product)
      : product_(product),
        lanes_(gemm_kernels<T>().lanes),
        wide_(lanes_ << 1),
        columns_(rounded_up(product.out_channels, lanes_)),
        depth_(product.in_channels * product.window.kernel[0]) {}

  int64_t panels() const { return detail::ceil_div(columns_, wide_); }
  int64_t column(int64_t panel) const { return std::min(panel * wide_, columns_); }
  int64_t columns(int64_t panel) const { return column(panel + 1) - column(panel); }
  int width(int64_t panel) const { return columns(panel) > lanes_ ? 1 : 0; }

  // Place for some panels, at this address.
  int64_t step(int64_t first, int64_t last) const {
    return odd_lines((column(last) - column(first)) * depth_);
  }
  WeightPanels<T> place(int64_t first, int64_t last, T* data) const {
    return {data, step(first, last), column(first), depth_};
  }
  // All columns from `column` on that are one vector.
  void transform(int64_t group, int64_t column, const WeightPanels<T>& to) const {
    const WindowProduct<T>& p = product_;
    const int64_t panel = column / wide_, planes = p.window.kernel[0];
    for (int64_t tap = 0; tap < planes; ++tap) {
      const int64_t from = (p.is_mirrored ? planes - 1 - tap : tap) * kTileTaps;
      winograd_kernels<T>().weights(
          p.weight + group * p.group_step + column * p.out_step + from, p.out_step,
          std::min(lanes_, p.out_channels - column), p.in_step, p.in_channels, p.is_mirrored,
          to.at(0, panel * wide_) + tap * p.in_channels * columns(panel) + column % wide_,
          columns(panel), to.step);
    }
  }
  void transform(int64_t group, int64_t first, int64_t last, const WeightPanels<T>& to) const {
    for (int64_t at = column(first); at < column(last); at += lanes_) transform(group, at, to);
  }

  // All of them, made by all threads.
  T* all(ScratchLoan& buffer) const {
    const int64_t size = kTilePlaces * step(0, panels()), blocks = columns_ / lanes_;
    const int64_t jobs = product_.groups * blocks;
    const auto make = [&](T* memory) {
      const double work = static_cast<double>(product_.groups * size);
      parallel_for(jobs, grain_of(4 * work, jobs), [&](int64_t begin, int64_t end) {
        for (int64_t job = begin; job < end; ++job) {
          const int64_t group = job / blocks;
          transform(group, job % blocks * lanes_, place(0, panels(), memory + group * size));
        }
      });
    };
    return kept_or(product_, "transformed weights", buffer, product_.groups * size, make);
  }

 private:
  const WindowProduct<T>& product_;
  int64_t lanes_, wide_;
  int64_t columns_;
  int64_t depth_;  // of a column: the channels that are summed, for each plane of the kernel
};

}  // namespace
}  // namespace tensorlike
