// Convolutions of 8-bit integers with 32-bit sums, exact on every processor. Images lie with four
// channels side by side (two, where numbers are widened to 16 bits), padding and all, and where
// windows are some elements apart, so do the elements that one place of the kernel meets: in planes
// of their own. So every place of the kernel reads positions that follow each other, at an offset,
// and nothing is gathered.
#pragma once

#include <cstdint>
#include <vector>

#include "base/kept_forms.h"
#include "base/window.h"
#include "kernels/gemm_plan.h"
#include "kernels/integer_product.h"

namespace tensorlike {

// What becomes of the sums, on any thread.
class WindowSums {
 public:
  virtual ~WindowSums() = default;
  // Bytes of an element that is made of a sum: four at most.
  virtual int64_t element_bytes() const { return 4; }
  // n elements of a channel of an image, of their sums.
  virtual void convert(void* to, const int32_t* sums, int64_t image, int64_t channel,
                       int64_t n) const = 0;
  // So many elements of it are there, from one on.
  virtual void finish(int64_t /*image*/, int64_t /*channel*/, int64_t /*from*/,
                      int64_t /*n*/) const {}
};

class IntegerWindows {
 public:
  // Bytes of weights[groups * out_channels, in_channels, *kernel], in order; `flip` as
  // IntegerPanels has it. Takes the form kept with them, or packs into `allocate(bytes)`.
  template <class Allocate>
  IntegerWindows(const Convolution& c, const int8_t* weights, uint8_t flip, KeptForms* forms,
                 Allocate&& allocate)
      : IntegerWindows(c) {
    const auto make = [&](char* memory) { pack(memory, weights, flip); };
    if (forms != nullptr) weights_ = forms->get(key(weights, flip), weight_bytes(), make);
    if (weights_ != nullptr) return;
    char* const memory = allocate(weight_bytes());
    make(memory);
    weights_ = memory;
  }

  bool is_wide() const { return kernels_.is_wide; }
  size_t image_bytes() const;  // of all images
  // Lays images out: floats quantised, in steps of one size for each image, or bytes with a zero
  // point (which flipping has moved, too).
  void lay_out(char* to, const float* x, const float* inverses) const;
  void lay_out(char* to, const uint8_t* x, uint8_t flip, int32_t zero) const;

  // y[images, channels, *windows], of elements as the sums become: of weights times elements less
  // the zero point. `weight_zeros`: a number that is taken off all weights of a channel; null:
  // none.
  void run(const char* images, int32_t zero, const int32_t* weight_zeros, char* y,
           const WindowSums& sums) const;

 private:
  struct Part {  // positions of a channel's plane that are multiplied together
    int64_t from = 0, size = 0;
  };
  struct Run;
  class Worker;

  explicit IntegerWindows(const Convolution& c);
  KeptForms::Key key(const int8_t* weights, uint8_t flip) const;
  size_t weight_bytes() const;
  void pack(char* memory, const int8_t* weights, uint8_t flip) const;
  template <class Join>
  void lay_out_all(char* to, int32_t padding, Join&& join) const;
  int64_t channels_beside() const { return kernels_.is_wide ? 2 : 4; }
  int64_t places() const { return extent_[0] * extent_[1] * extent_[2]; }
  int64_t planes() const;  // of a quad of channels
  const char* tile(int64_t group, int64_t row) const;

  const Convolution c_;
  const detail::IntegerKernels& kernels_;
  int64_t quads_;   // of channels, in a group
  int64_t groups_;  // of four bytes, along the sum
  int64_t extent_[Window::kDims];
  std::vector<int64_t> phases_[Window::kDims];  // of places of the kernel, modulo the stride
  std::vector<int64_t> offsets_;                // in bytes, of each group of four
  int64_t positions_;                           // of the windows, with what lies between lines
  detail::Split tiles_;                         // of a group's channels
  const char* weights_ = nullptr;
};

}  // namespace tensorlike
