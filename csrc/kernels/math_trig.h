// Trigonometric functions and their inverses.
#pragma once

#include "kernels/math_coefficients.h"

namespace tensorlike {
namespace {
namespace vm {

// |x| = n pi / 2 + r + low, |r| <= pi / 4; the low bits of quadrant are those of n.
template <Real T>
struct TrigReduction {
  T r, low;
  Uint<T> quadrant;
};

template <Real T>
constexpr T kTrigLimit = sizeof(T) == 4 ? T(0x1p17) : (kHasFma ? T(0x1p30) : T(1e6));

template <Real T>
TL_INLINE TrigReduction<T> reduce_trig(T a) {
  using C = Constants<T>;
  const T magic = mul_add(a, C::kTwoOverPi, kMagic<T>);
  const T n = magic - kMagic<T>;
  if constexpr (kHasFma) {
    const T high = vm::fma(-n, C::kHalfPi1, a);  // exact
    const Pair<T> second = two_product(n, C::kHalfPi2);
    const T r = high - second.hi;
    const T low = ((high - r) - second.hi) - second.lo;
    return {r, vm::fma(-n, C::kHalfPi3, low), to_bits(magic)};
  } else if constexpr (sizeof(T) == 4) {
    using D = Constants<double>;
    const double wide = static_cast<double>(n);
    const double r = (static_cast<double>(a) - wide * D::kHalfPiCut1) - wide * D::kHalfPiCut2;
    return {static_cast<float>(r), 0.0f, to_bits(magic)};
  } else {
    const T high = a - n * C::kHalfPiCut1;  // exact, as is each product
    const T second = n * C::kHalfPiCut2, third = n * C::kHalfPiCut3;
    const T middle = high - second;
    const T r = middle - third;
    const T low = ((high - middle) - second) + ((middle - r) - third);
    return {r, low - n * C::kHalfPiCut4, to_bits(magic)};
  }
}

template <Real T>
struct SinCos {
  T sin, cos;
};

template <Real T>
TL_INLINE SinCos<T> sin_cos_reduced(T r, T low) {
  const T z = r * r, rough_cos = mul_add(z, T(-0.5), T{1});
  return {r + mul_add(r * z, sin_tail(z), low * rough_cos),
          rough_cos + mul_add(z * z, cos_tail(z), -r * low)};
}

// The sign bit of sin (which goes with bit 1 of the quadrant).
template <Real T>
TL_INLINE Uint<T> quadrant_sign(Uint<T> quadrant) {
  return (quadrant << (sizeof(T) * 8 - 2)) & kSignBit<T>;
}

template <Real T>
TL_INLINE T sin(T x) {
  const TrigReduction<T> t = reduce_trig(vm::abs(x));
  const SinCos<T> v = sin_cos_reduced(t.r, t.low);
  const T size = (t.quadrant & 1) != 0 ? v.cos : v.sin;
  return from_bits<T>(to_bits(size) ^ quadrant_sign<T>(t.quadrant) ^ (to_bits(x) & kSignBit<T>));
}

template <Real T>
TL_INLINE T cos(T x) {
  const TrigReduction<T> t = reduce_trig(vm::abs(x));
  const SinCos<T> v = sin_cos_reduced(t.r, t.low);
  const T size = (t.quadrant & 1) != 0 ? v.sin : v.cos;
  return from_bits<T>(to_bits(size) ^ quadrant_sign<T>(t.quadrant + 1));
}

// The quotient of two rounded numbers would be 2.7 ulp off: both keep what they lose.
template <Real T>
TL_INLINE T tan(T x) {
  const TrigReduction<T> t = reduce_trig(vm::abs(x));
  const T z = t.r * t.r, rough_cos = mul_add(z, T(-0.5), T{1});
  const T lost = mul_add(z, T(-0.5), T{1} - rough_cos);
  const Pair<T> sin = fast_two_sum(t.r, mul_add(t.r * z, sin_tail(z), t.low * rough_cos));
  const Pair<T> cos = fast_two_sum(rough_cos, mul_add(z * z, cos_tail(z), lost - t.r * t.low));
  const bool is_odd = (t.quadrant & 1) != 0;
  const Pair<T> above = {is_odd ? -cos.hi : sin.hi, is_odd ? -cos.lo : sin.lo};
  const Pair<T> below = {is_odd ? sin.hi : cos.hi, is_odd ? sin.lo : cos.lo};
  const Pair<T> size = divide_pairs(above, below);
  return from_bits<T>(to_bits(size.hi + size.lo) ^ (to_bits(x) & kSignBit<T>));
}

// Huge arguments: see math.h.
template <Real T>
TL_INLINE bool sin_needs_slow(T x) {
  return vm::abs(x) > kTrigLimit<T>;
}
template <Real T>
TL_INLINE bool cos_needs_slow(T x) {
  return sin_needs_slow(x);
}
template <Real T>
TL_INLINE bool tan_needs_slow(T x) {
  return sin_needs_slow(x);
}
[[gnu::noinline, maybe_unused]] float sin_slow(float x) { return ::sinf(x); }
[[gnu::noinline, maybe_unused]] double sin_slow(double x) { return ::sin(x); }
[[gnu::noinline, maybe_unused]] float cos_slow(float x) { return ::cosf(x); }
[[gnu::noinline, maybe_unused]] double cos_slow(double x) { return ::cos(x); }
[[gnu::noinline, maybe_unused]] float tan_slow(float x) { return ::tanf(x); }
[[gnu::noinline, maybe_unused]] double tan_slow(double x) { return ::tan(x); }

// ---- inverse functions ----

template <Real T>
TL_INLINE T atan_reduced(T t) {
  const T z = t * t;
  return mul_add(t * z, atan_tail(z), t);
}

// steps pi / 4 + angle.
template <Real T>
TL_INLINE T add_quarter_turns(T steps, T angle) {
  using C = Constants<T>;
  return mul_add(steps, C::kQuarterPiHi, mul_add(steps, C::kQuarterPiLo, angle));
}

TL_INLINE float atan(float x) {
  const float a = vm::abs(x);
  const bool is_big = a > 1;
  const float t = (is_big ? -1.0f : a) / (is_big ? a : 1.0f);
  return copysign(add_quarter_turns(is_big ? 2.0f : 0.0f, atan_reduced(t)), x);
}

// tan(a - pi / 4) = (a - 1) / (a + 1) brings the middle range, too, below tan(pi / 8).
TL_INLINE double atan(double x) {
  const double a = vm::abs(x);
  const bool is_big = a > 2.41421356237309504880, is_small = a <= 0.41421356237309504880;
  const double numerator = is_big ? -1 : (is_small ? a : a - 1);
  const double denominator = is_big ? a : (is_small ? 1 : a + 1);
  const double steps = is_big ? 2 : (is_small ? 0 : 1);
  return copysign(add_quarter_turns(steps, atan_reduced(numerator / denominator)), x);
}

// The angle in the first quadrant as steps pi / 4 + atan(numerator / denominator).
template <Real T>
struct Ratio {
  T numerator, denominator, steps;
};
TL_INLINE Ratio<float> atan_ratio(float smaller, float larger) { return {smaller, larger, 0}; }
TL_INLINE Ratio<double> atan_ratio(double smaller, double larger) {
  // smaller + larger may overflow, and the product with tan(pi / 8) be denormal.
  const double factor = larger > 0x1p1000 ? 0x1p-100 : (larger < 0x1p-900 ? 0x1p100 : 1);
  const double low = smaller * factor, high = larger * factor;
  const bool is_small = low <= 0.41421356237309504880 * high;
  return {is_small ? low : low - high, is_small ? high : low + high, is_small ? 0.0 : 1.0};
}

template <Real T>
TL_INLINE T atan2(T y, T x) {
  const T ax = vm::abs(x), ay = vm::abs(y);
  const bool is_steep = ay > ax;
  T larger = is_steep ? ay : ax, smaller = is_steep ? ax : ay;
  smaller =
      larger < Traits<T>::kInfinity ? smaller : (smaller < Traits<T>::kInfinity ? T{0} : T{1});
  larger = larger < Traits<T>::kInfinity ? (larger > T{0} ? larger : T{1}) : T{1};
  const Ratio<T> ratio = atan_ratio(smaller, larger);
  const T angle = atan_reduced(ratio.numerator / ratio.denominator);
  const bool is_left = (to_bits(x) & kSignBit<T>) != 0;
  const T steep_steps = is_steep ? T{2} - ratio.steps : ratio.steps;
  const T steps = is_left ? T{4} - steep_steps : steep_steps;
  const T steep_angle = is_steep ? -angle : angle;
  const T result = copysign(add_quarter_turns(steps, is_left ? -steep_angle : steep_angle), y);
  const T sum = x + y;
  return (x != x) | (y != y) ? sum : result;
}

// asin(a) for a <= 1/2, and asin(sqrt((1 - a) / 2)) above, as a sum that is not rounded.
template <Real T>
TL_INLINE Pair<T> asin_core(T a, bool is_big) {
  const T z = is_big ? T(0.5) * (T{1} - a) : a * a;
  const T t = is_big ? vm::sqrt(z) : a;
  return {t, t * z * asin_tail(z)};
}

template <Real T>
TL_INLINE T asin(T x) {
  const T a = vm::abs(x);
  const bool is_big = a > T(0.5);
  using C = Constants<T>;
  const Pair<T> core = asin_core(a, is_big);
  const T steps = is_big ? T{2} : T{0};
  const T factor = is_big ? T{-2} : T{1};
  const Pair<T> high = fast_two_sum(steps * C::kQuarterPiHi, factor * core.hi);
  const T low = mul_add(steps, C::kQuarterPiLo, factor * core.lo);
  return copysign(high.hi + (high.lo + low), x);
}

template <Real T>
TL_INLINE T acos(T x) {
  const T a = vm::abs(x);
  const bool is_big = a > T(0.5);
  const Pair<T> parts = asin_core(a, is_big);
  const T core = parts.hi + parts.lo;
  const T signed_core = x < T{0} ? -core : core;
  const T big_steps = x < T{0} ? T{4} : T{0};
  return add_quarter_turns(is_big ? big_steps : T{2}, is_big ? T{2} * signed_core : -signed_core);
}

}  // namespace vm
}  // namespace
}  // namespace tensorlike
