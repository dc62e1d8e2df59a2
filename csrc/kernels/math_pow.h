// Powers, roots, and the remainder with the sign of the divisor (Python's %).
#pragma once

#include "kernels/math_exp.h"
#include "kernels/math_log.h"

namespace tensorlike {
namespace {
namespace vm {

// An approximate inverse cube root from dividing the exponent by 3, two polynomial steps, and a
// last Newton step on the root itself. x is positive and normal.
TL_INLINE float cbrt_of_normal(float x) {
  const float third = static_cast<float>(static_cast<std::int32_t>(to_bits(x))) * (1.0f / 3.0f);
  float inverse =
      from_bits<float>(0x54a21d2au - static_cast<std::uint32_t>(static_cast<std::int32_t>(third)));
  float error = 1.0f - (x * inverse) * (inverse * inverse);
  inverse += inverse * error * inverse_cbrt(error);
  error = 1.0f - (x * inverse) * (inverse * inverse);
  inverse += inverse * error * (1.0f / 3.0f);
  const float root = x * inverse * inverse;
  const Pair<float> square = two_product(root, root);
  const float residual = mul_add(square.hi, -root, x) - square.lo * root;
  return root + residual * (inverse * inverse) * (1.0f / 3.0f);
}

TL_INLINE double cbrt_of_normal(double x) {
  constexpr std::uint64_t integer = to_bits(0x1p52);
  const double top = from_bits<double>((to_bits(x) >> 32) | integer) - 0x1p52;
  const double start = (0x553ef0ff + 0x1p52) - top * (1.0 / 3.0);
  double inverse = from_bits<double>(to_bits(start) << 32);
  double error = 1 - (x * inverse) * (inverse * inverse);
  inverse += inverse * error * inverse_cbrt(error);
  error = 1 - (x * inverse) * (inverse * inverse);
  inverse += inverse * error * mul_add(error, 2.0 / 9.0, 1.0 / 3.0);
  const double root = x * inverse * inverse;
  const Pair<double> square = two_product(root, root), cube = two_product(square.hi, root);
  const double residual = (x - cube.hi) - (cube.lo + square.lo * root);
  return root + residual * (inverse * inverse) * (1.0 / 3.0);
}

template <Real T>
TL_INLINE T cbrt(T x) {
  const T a = vm::abs(x);
  const bool is_small = a<T(0x1p-60), is_big = a> T(0x1p60);
  const T before = is_small ? T(0x1p90) : (is_big ? T(0x1p-90) : T{1});
  const T after = is_small ? T(0x1p-30) : (is_big ? T(0x1p30) : T{1});
  const T result = copysign(cbrt_of_normal(a * before) * after, x);
  return a > T{0} ? (a < Traits<T>::kInfinity ? result : x) : x;
}

// Scaled by a power of two, so that neither square overflows nor both underflow.
template <Real T>
TL_INLINE T hypot(T x, T y) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T huge = single ? T(0x1p60f) : T(0x1p500), step = single ? T(0x1p90f) : T(0x1p600);
  const T ax = vm::abs(x), ay = vm::abs(y), larger = ax > ay ? ax : ay;
  const bool is_big = larger > huge, is_small = larger < T{1} / huge;
  const T before = is_big ? T{1} / step : (is_small ? step : T{1});
  const T after = is_big ? step : (is_small ? T{1} / step : T{1});
  const T a = ax * before, b = ay * before;
  const T result = vm::sqrt(mul_add(a, a, b * b)) * after;
  const bool is_infinite = (ax == Traits<T>::kInfinity) | (ay == Traits<T>::kInfinity);
  return is_infinite ? Traits<T>::kInfinity : result;
}

// |x|^y in double, for float: log2 to 2^-37 is enough for an exponent of at most 150.
TL_INLINE float pow_of_abs(float a, float y) {
  const LogReduction<double> m = reduce_log_of_normal(static_cast<double>(a));
  const double s = m.f / (2 + m.f);
  const double exponent = static_cast<double>(y) * mul_add(s, log2_for_float(s * s), m.k);
  const double bounded = at_least(at_most(exponent, 200.0), -200.0);
  const double magic = bounded + kMagic<double>;
  const double r = bounded - (magic - kMagic<double>);
  return static_cast<float>(mul_add(r, exp2_for_float(r), 1.0) * power_of_two(magic, 0));
}

// log2(x) to about 2^-65: s = f / (2 + f) and the first two terms of atanh(s) as pairs.
TL_INLINE Pair<double> log2_pair(double x) {
  const LogReduction<double> m = reduce_log(x);
  const Pair<double> denominator = fast_two_sum(2.0, m.f);
  const double inverse = 1 / denominator.hi, s = m.f * inverse;
  const Pair<double> back = two_product(s, denominator.hi);
  const double s_low = (((m.f - back.hi) - back.lo) - s * denominator.lo) * inverse;
  const Pair<double> square = two_product(s, s);
  const double square_low = square.lo + 2 * s * s_low;
  const double tail = mul_add(square.hi, pow_log_tail(square.hi), kThirdLo);
  const Pair<double> third = fast_two_sum(kThirdHi, tail);
  const Pair<double> cubic = two_product(square.hi, third.hi);
  const double cubic_low = cubic.lo + (square.hi * third.lo + square_low * third.hi);
  const Pair<double> product = two_product(s, cubic.hi);
  const double product_low = product.lo + (s * cubic_low + s_low * cubic.hi);
  const Pair<double> sum = fast_two_sum(s, product.hi);
  const double sum_low = sum.lo + (s_low + product_low);
  const Pair<double> scaled = two_product(sum.hi, kTwoLog2eHi);
  const double scaled_low = scaled.lo + (sum.hi * kTwoLog2eLo + sum_low * kTwoLog2eHi);
  const Pair<double> result = fast_two_sum(m.k, scaled.hi);
  return fast_two_sum(result.hi, result.lo + scaled_low);
}

// 2^(hi + lo), where lo is small beside hi; it does not count where the result is 0 or infinite.
TL_INLINE double exp2_of_pair(double hi, double lo) {
  const double bounded = at_least(at_most(hi, 1100.0), -1100.0);
  const double low = vm::abs(hi) < 1100 ? lo : 0.0;
  const double magic = bounded + kMagic<double>;
  const double r = (bounded - (magic - kMagic<double>)) + low;
  return scale(exp2_reduced(r), magic);
}

TL_INLINE double pow_of_abs(double a, double y) {
  const Pair<double> l = log2_pair(a);
  const double bounded_y = at_least(at_most(y, 0x1p80), -0x1p80);
  const Pair<double> product = two_product(bounded_y, l.hi);
  return exp2_of_pair(product.hi, product.lo + bounded_y * l.lo);
}

// One of two by its bits: `?:` would become a branch around what costs, and the loop no vector.
template <Real T>
TL_INLINE T chosen(bool is_first, T first, T second) {
  const Uint<T> mask = Uint<T>{0} - Uint<T>(is_first);
  return from_bits<T>((to_bits(first) & mask) | (to_bits(second) & ~mask));
}

// The special cases of C99: pow(x, 0) = pow(1, y) = 1 even for NaN, and so on.
template <Real T>
TL_INLINE T pow(T x, T y) {
  constexpr T infinity = Traits<T>::kInfinity;
  const T a = vm::abs(x), half = T(0.5) * y;
  const bool is_integer = vm::floor(y) == y;
  const bool is_odd = is_integer & (vm::floor(half) != half);
  const T extreme = chosen((y < T{0}) == (a == T{0}), infinity, T{0});
  T size = chosen((a == T{0}) | (a == infinity), extreme, pow_of_abs(a, y));
  size = chosen((x < T{0}) & (a < infinity) & !is_integer, Traits<T>::kNan, size);
  size = chosen((x != x) | (y != y), x + y, size);
  const bool is_one = (y == T{0}) | (x == T{1}) | ((x == T{-1}) & (vm::abs(y) == infinity));
  const Uint<T> sign = to_bits(x) & kSignBit<T> & (Uint<T>{0} - Uint<T>(is_odd));
  return chosen(is_one, T{1}, from_bits<T>(to_bits(size) ^ sign));
}

// ---- remainder ----

// x - trunc(x / y) y, exact where remainder_needs_slow is false.
TL_INLINE float fmod_fast(float x, float y) {
  const double wide_x = x, wide_y = y;
  return static_cast<float>(mul_add(-vm::trunc(wide_x / wide_y), wide_y, wide_x));
}
TL_INLINE double fmod_fast(double x, double y) { return minus_product(x, vm::trunc(x / y), y); }

// x, or x + step where x is not 0 and its sign is not that of `like`.
template <Real T>
TL_INLINE T move_to_sign(T x, T like, T step) {
  const Uint<T> differs = (to_bits(x) ^ to_bits(like)) & kSignBit<T>;
  const T moved = differs != 0 ? x + step : x;
  return x == T{0} ? x : moved;
}

template <Real T>
TL_INLINE T remainder(T x, T y) {
  // The quotient may have been rounded up to an integer: then the sign is not that of x.
  const T exact = move_to_sign(fmod_fast(x, y), x, copysign(y, x));
  const T bounded_x = vm::abs(x) < Traits<T>::kInfinity ? x : Traits<T>::kNan;
  const T rest = vm::abs(y) < Traits<T>::kInfinity ? exact : (y == y ? bounded_x : y);
  const T result = move_to_sign(rest, y, y);
  return result == T{0} ? copysign(T{0}, y) : result;
}

// Where the quotient does not fit the fast formula (2^28 y is exact in double, and 2^51 y nearly).
TL_INLINE bool remainder_needs_slow(float x, float y) { return vm::abs(x) > 0x1p28f * vm::abs(y); }
TL_INLINE bool remainder_needs_slow(double x, double y) {
  const bool is_far = vm::abs(x) > 0x1p51 * vm::abs(y);
  if constexpr (kHasFma) return is_far;
  return is_far | (vm::abs(x) > 0x1p990) | (vm::abs(y) > 0x1p990);  // two_product would overflow
}

[[gnu::noinline, maybe_unused]] float remainder_slow(float x, float y) {
  const float rest = ::fmodf(x, y);
  if (rest == 0) return copysign(0.0f, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
[[gnu::noinline, maybe_unused]] double remainder_slow(double x, double y) {
  const double rest = ::fmod(x, y);
  if (rest == 0) return copysign(0.0, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

}  // namespace vm
}  // namespace
}  // namespace tensorlike
