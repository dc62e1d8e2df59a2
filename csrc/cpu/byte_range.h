// Bytes of numbers by their own range, as the op dynamic_quantize_linear has them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/integer_product.h"

namespace tensorlike {

// NaN where there is one among the numbers.
template <class T>
struct Range {
  T low, high;

  void join(const Range& other) {
    low = other.low < low || other.low != other.low ? other.low : low;
    high = other.high > high || other.high != other.high ? other.high : high;
  }
};

// Of n > 0 numbers.
template <class T>
Range<T> range_of(const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    static const detail::IntegerTable& loops = detail::integer_table(isa());
    const detail::Extremes found = loops.extremes(x, n);
    return {found.low, found.high};
  } else {
    Range<T> found{x[0], x[0]};
    for (int64_t i = 1; i < n; ++i) found.join({x[i], x[i]});
    return found;
  }
}

template <class T>
struct ByteRange {
  T scale, zero;

  // From 0 to 255 for what lies in the range, and 0.
  explicit ByteRange(Range<T> range) {
    const T low = range.low < 0 || range.low != range.low ? range.low : 0;
    const T high = range.high > 0 || range.high != range.high ? range.high : 0;
    const T width = high - low;
    scale = width == 0 ? 1 : width / 255;
    zero = 0 - low / scale;
    zero = zero < 0 ? 0 : zero > 255 ? 255 : zero;
    zero = zero == zero ? std::nearbyint(zero) : 0;
  }

  void convert(uint8_t* to, const T* x, int64_t n) const {
    if constexpr (std::is_same_v<T, float>) {
      static const detail::IntegerTable& loops = detail::integer_table(isa());
      loops.to_bytes(to, x, scale, zero, n);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        const T y = std::nearbyint(x[i] / scale) + zero;
        to[i] = static_cast<uint8_t>(y > 255 ? 255 : y > 0 ? y : 0);
      }
    }
  }
};

}  // namespace tensorlike
