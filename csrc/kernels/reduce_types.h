// What a reduction starts from, and in which numbers it computes. Included by reduce_tu.cpp alone.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/scalar.h"

namespace tensorlike {
namespace {

enum class Init : unsigned char { kZero, kOne, kLowest, kHighest, kFalse, kTrue };

// What maps elements to themselves.
struct Same {
  template <class T>
  constexpr T operator()(T x) const {
    return x;
  }
};

constexpr int64_t kBlock = 512;  // elements that are summed in the input's own precision
constexpr int kUsualLanes = 16;

#if defined(__AVX512F__)
constexpr size_t kRegisterBytes = 32 * 64;
#elif defined(__AVX2__)
constexpr size_t kRegisterBytes = 16 * 32;
#else
constexpr size_t kRegisterBytes = 16 * 16;
#endif

// Whether vectors of T are loaded in part.
template <class T>
#if defined(__AVX512F__)
constexpr bool kMasks = true;
#elif defined(__AVX2__)
constexpr bool kMasks = sizeof(T) >= 4 && std::is_arithmetic_v<T>;
#else
constexpr bool kMasks = false;
#endif

// What is summed in float within a block is carried in double between blocks, complex numbers
// likewise; integers and booleans accumulate in 64 bits; min, max and logic stay as they are.
template <class T>
struct Wide {
  using type = std::conditional_t<kFloats<T>, double,
                                  std::conditional_t<std::is_same_v<T, uint64_t>, T, int64_t>>;
};
template <class T>
struct Wide<Complex<T>> {
  using type = Complex<double>;
};
template <class Mapped, bool kSums>
using Accumulator =
    typename std::conditional_t<kSums, Wide<Mapped>, std::type_identity<Mapped>>::type;

template <class T>
inline constexpr bool kKeepsType = kFloats<T> || is_complex<T>;

// Within a block: the mapped type for floats; 32 bits for sums of what has at most 16, of which a
// block has too few to fill them; the accumulator for everything else.
template <class Mapped, bool kAdds, class Acc>
using LaneOf = std::conditional_t<
    kKeepsType<Mapped>, Mapped,
    std::conditional_t<kAdds && std::is_integral_v<Mapped> && sizeof(Mapped) <= 2, int32_t, Acc>>;

template <class T, Init kInit>
constexpr T first_value() {
  if constexpr (kInit == Init::kOne || kInit == Init::kTrue) return T(1);
  if constexpr (kInit == Init::kLowest) {
    return kFloats<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  if constexpr (kInit == Init::kHighest) {
    return kFloats<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  return T(0);
}

}  // namespace
}  // namespace tensorlike
