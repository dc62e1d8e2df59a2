// Rows of a few elements are halved, many of them at once: element j of a row is combined with
// element j of its second half, in vectors that are full however short the rows are. Included once
// per ISA level, inside an anonymous namespace: see gemm_isa.h.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "kernels/gemm_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own

namespace tensorlike {
namespace {

// Makes rows of `half` elements of rows of `length`, at most twice as many, which follow each other
// as those that are made do. Halves are at most 16, and powers of two where they are longer than a
// vector.
template <class T>
class Halving {
 public:
  static constexpr int kWidth = kLanes<T>;
  // Elements beyond the last that are read, and written: vectors are whole.
  static constexpr int64_t kSlack = 4 * kWidth;

  Halving() = default;
  Halving(int64_t length, int64_t half)
      : length_(length), half_(half), together_(std::min(kWidth / half, 2 * kWidth / length)) {
    if (half > kWidth) {
      for (int lane = 0; lane < kWidth; ++lane) first_[lane] = lane;
      return;
    }
    const Index per = static_cast<Index>(half);
    const Index pairs = static_cast<Index>(length - half);
    const Index rows = static_cast<Index>(together_);
    const Index reciprocal = 256 / per + 1;  // exact of so few lanes
    for (int lane = 0; lane < kWidth; ++lane) {
      const Index row = lane * reciprocal >> 8;
      const Index at = lane - row * per;
      // Lanes beyond the last row do what the first does, so that their numbers are like any.
      const Index first = (row < rows ? row : 0) * static_cast<Index>(length) + at;
      first_[lane] = first;
      second_[lane] = first + (at < pairs ? per : 0);
      is_pair_[lane] = at < pairs ? -1 : 0;
    }
  }

  // Combine takes two numbers, which Map makes of the elements. kFetches: these come from memory.
  template <class Combine, class Map, bool kFetches>
  [[gnu::noinline]] void run(T* __restrict out, const T* __restrict in, int64_t rows) const {
    if (half_ > kWidth) {
      out = run_long<Combine, Map, kFetches>(out, in, rows);
    } else {
      const Vector<Index> first = load<Vector<Index>>(first_);
      const Vector<Index> second = load<Vector<Index>>(second_);
      for (int64_t r = 0; r < rows; r += together_) {
        if (kFetches) fetch(in + r * length_, in + r * length_ + kWidth);
        const Vector<T> low = load<Vector<T>>(in + r * length_);
        const Vector<T> high = load<Vector<T>>(in + r * length_ + kWidth);
        combine<Combine, Map>(out, __builtin_shuffle(low, high, first),
                              __builtin_shuffle(low, high, second), is_pair_);
        out += together_ * half_;
      }
    }
    store(out, Vector<T>{});
    store(out + kWidth, Vector<T>{});
  }

 private:
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

  // Asks for what lies a page beyond, whether or not anything is there.
  [[gnu::always_inline]] static void fetch(const T* low, const T* high) {
    constexpr uintptr_t kAhead = 4096;
    const uintptr_t at[2] = {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(high)};
    __builtin_prefetch(reinterpret_cast<const void*>(at[0] + kAhead));
    __builtin_prefetch(reinterpret_cast<const void*>(at[1] + kAhead));
  }

  template <class Combine, class Map>
  [[gnu::always_inline]] static void combine(T* out, Vector<T> low, Vector<T> high,
                                             const Index* is_pair) {
    alignas(kVectorBytes) T a[kWidth];
    alignas(kVectorBytes) T b[kWidth];
    store(a, low);
    store(b, high);
#pragma GCC unroll 1  // else the lanes are as many numbers, and no vector
    for (int lane = 0; lane < kWidth; ++lane) {
      const T value = static_cast<T>(Map{}(a[lane]));
      const T combined = static_cast<T>(Combine{}(value, static_cast<T>(Map{}(b[lane]))));
      out[lane] = is_pair[lane] != 0 ? combined : value;
    }
  }

  template <class Combine, class Map, bool kFetches>
  [[gnu::always_inline]] T* run_long(T* out, const T* in, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r, in += length_, out += half_) {
      for (int64_t at = 0; at < half_; at += kWidth) {
        if (kFetches) fetch(in + at, in + half_ + at);
        alignas(kVectorBytes) Index is_pair[kWidth];
        store(is_pair, load<Vector<Index>>(first_) < static_cast<Index>(length_ - half_ - at));
        combine<Combine, Map>(out + at, load<Vector<T>>(in + at), load<Vector<T>>(in + half_ + at),
                              is_pair);
      }
    }
    return out;
  }

  int64_t length_ = 0;
  int64_t half_ = 0;
  int64_t together_ = 1;  // rows of one vector
  // Of each lane, in elements from the first row on; of long rows, which lane it is.
  alignas(kVectorBytes) Index first_[kWidth];
  alignas(kVectorBytes) Index second_[kWidth];
  alignas(kVectorBytes) Index is_pair_[kWidth];
};

}  // namespace
}  // namespace tensorlike
