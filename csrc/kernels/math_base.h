// What the vector functions of math.h are built from: bits of floats, rounding, sums and products
// in pairs. Included by them alone; math.h takes TL_INLINE away again.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#define TL_INLINE [[gnu::always_inline]] inline

namespace tensorlike {
namespace {
namespace vm {

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr bool kHasFma = true;
#else
constexpr bool kHasFma = false;
#endif

template <class T>
struct Traits;

template <>
struct Traits<float> {
  using Uint = std::uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr Uint kBias = 127;
  static constexpr float kInfinity = __builtin_inff();
  static constexpr float kNan = __builtin_nanf("");
  static constexpr float kMinNormal = 0x1p-126f;
  static constexpr float kSplitter = 0x1p12f + 1;
};

template <>
struct Traits<double> {
  using Uint = std::uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr Uint kBias = 1023;
  static constexpr double kInfinity = __builtin_inf();
  static constexpr double kNan = __builtin_nan("");
  static constexpr double kMinNormal = 0x1p-1022;
  static constexpr double kSplitter = 0x1p27 + 1;
};

template <class T>
concept Real = requires { typename Traits<T>::Uint; };
template <Real T>
using Uint = typename Traits<T>::Uint;

// Adding kMagic<T> to |t| < 2^21 (2^50) rounds t to an integer, which is then in the low bits.
template <Real T>
constexpr T kMagic = static_cast<T>(3) * (Uint<T>{1} << (Traits<T>::kMantissaBits - 1));
template <Real T>
constexpr Uint<T> kSignBit = Uint<T>{1} << (sizeof(T) * 8 - 1);
template <Real T>
constexpr Uint<T> kMantissaMask = (Uint<T>{1} << Traits<T>::kMantissaBits) - 1;

template <Real T>
TL_INLINE constexpr Uint<T> to_bits(T x) {
  return __builtin_bit_cast(Uint<T>, x);
}
template <Real T>
TL_INLINE constexpr T from_bits(Uint<T> bits) {
  return __builtin_bit_cast(T, bits);
}

TL_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
TL_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

// x * y + z with one rounding where that is free, else with two.
template <Real T>
TL_INLINE T mul_add(T x, T y, T z) {
  if constexpr (kHasFma) {
    return vm::fma(x, y, z);
  } else {
    return x * y + z;
  }
}

// c0 + c1 t + c2 t^2 + ...
template <Real T>
TL_INLINE T poly(T, T c0) {
  return c0;
}
template <Real T, class... Rest>
TL_INLINE T poly(T t, T c0, Rest... rest) {
  return mul_add(t, poly(t, rest...), c0);
}

TL_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
TL_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
TL_INLINE float floor(float x) { return __builtin_floorf(x); }
TL_INLINE double floor(double x) { return __builtin_floor(x); }
TL_INLINE float ceil(float x) { return __builtin_ceilf(x); }
TL_INLINE double ceil(double x) { return __builtin_ceil(x); }
TL_INLINE float trunc(float x) { return __builtin_truncf(x); }
TL_INLINE double trunc(double x) { return __builtin_trunc(x); }
TL_INLINE float round(float x) { return __builtin_rintf(x); }  // half to even
TL_INLINE double round(double x) { return __builtin_rint(x); }
TL_INLINE float abs(float x) { return __builtin_fabsf(x); }
TL_INLINE double abs(double x) { return __builtin_fabs(x); }

template <Real T>
TL_INLINE T copysign(T x, T sign) {
  return from_bits<T>((to_bits(x) & ~kSignBit<T>) | (to_bits(sign) & kSignBit<T>));
}

template <Real T>
TL_INLINE T rsqrt(T x) {
  return T{1} / vm::sqrt(x);
}

// Minimum and maximum that let a NaN in x through.
template <Real T>
TL_INLINE T at_most(T x, T bound) {
  return x > bound ? bound : x;
}
template <Real T>
TL_INLINE T at_least(T x, T bound) {
  return x < bound ? bound : x;
}

// hi + lo, with |lo| of the order of the rounding error of hi.
template <Real T>
struct Pair {
  T hi, lo;
};

// x + y exactly, where |x| >= |y| or x is 0.
template <Real T>
TL_INLINE Pair<T> fast_two_sum(T x, T y) {
  const T hi = x + y;
  return {hi, y - (hi - x)};
}

template <Real T>
TL_INLINE Pair<T> split_in_halves(T x) {
  const T c = x * Traits<T>::kSplitter;
  const T hi = c - (c - x);
  return {hi, x - hi};
}

// x * y exactly (no overflow on the way where |x|, |y| < 2^100, 2^990).
template <Real T>
TL_INLINE Pair<T> two_product(T x, T y) {
  const T hi = x * y;
  if constexpr (kHasFma) {
    return {hi, vm::fma(x, y, -hi)};
  } else {
    const Pair<T> a = split_in_halves(x), b = split_in_halves(y);
    return {hi, ((a.hi * b.hi - hi) + a.hi * b.lo + a.lo * b.hi) + a.lo * b.lo};
  }
}

// x - y z with one rounding, where y z is near x.
template <Real T>
TL_INLINE T minus_product(T x, T y, T z) {
  if constexpr (kHasFma) {
    return vm::fma(-y, z, x);
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<float>(static_cast<double>(x) - static_cast<double>(y) * z);
  } else {
    const Pair<T> product = two_product(y, z);
    return (x - product.hi) - product.lo;
  }
}

// x / (hi + lo) as a pair, good to a few bits beyond T; what x itself lacks may be given.
template <Real T>
TL_INLINE Pair<T> divide_pairs(Pair<T> x, Pair<T> divisor) {
  const T inverse = T{1} / divisor.hi;
  const T quotient = x.hi * inverse;
  const T rest = minus_product(x.hi, quotient, divisor.hi) + (x.lo - quotient * divisor.lo);
  return {quotient, rest * inverse};
}

}  // namespace vm
}  // namespace
}  // namespace tensorlike
