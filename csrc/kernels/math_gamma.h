// The logarithm of the gamma function, and its first two derivatives. Left of 0 they are reflected.
// float goes through double: a float's worth of digits is then left even beside a zero on the
// negative axis, where double itself loses digits (the error is that of the two parts which
// cancel).
#pragma once

#include "kernels/math_log.h"
#include "kernels/math_trig.h"

namespace tensorlike {
namespace {
namespace vm {

// sin(pi r) and cos(pi r) for |r| <= 1/2.
TL_INLINE SinCos<double> sin_cos_pi(double r) {
  const double a = vm::abs(r);
  const bool is_steep = a > 0.25;
  const double b = is_steep ? 0.5 - a : a;
  const Pair<double> angle = two_product(b, kPiHi);
  const SinCos<double> v = sin_cos_reduced(angle.hi, mul_add(b, kPiLo, angle.lo));
  return {copysign(is_steep ? v.cos : v.sin, r), is_steep ? v.sin : v.cos};
}

// log(x) to about 2^-57, for positive x.
TL_INLINE Pair<double> log_pair(double x) {
  using C = Constants<double>;
  const LogReduction<double> m = reduce_log(x);
  const LogParts p = log_parts(m.f);
  const Pair<double> sum = fast_two_sum(m.k * C::kLn2Hi, m.f);
  return fast_two_sum(sum.hi, sum.lo - (p.h - mul_add(m.k, C::kLn2Lo, p.tail)));
}

// For a > 0, which is not infinite.
TL_INLINE double lgamma_of_positive(double a) {
  const bool is_small = a < 0.6, is_large = a >= 4.6;
  const Pair<double> log_a = log_pair(a);
  // lgamma(1 + u), with lgamma(a) = lgamma(1 + a) - log(a) next to the pole.
  const double u = is_small ? a : a - 1;
  const double zeros = kHasFma ? mul_add(u, u, -u) : u * (u - 1);
  const double tail = zeros * lgamma_middle((u - 0.625) / (u + 2.625));
  const double middle = mul_add(zeros, 0.5, tail) - (is_small ? log_a.hi + log_a.lo : 0.0);
  const double inverse = 1 / a, factor = a - 0.5;
  const Pair<double> product = two_product(factor, log_a.hi - 1);
  const double rest = mul_add(inverse, lgamma_large(inverse * inverse), kHalfLog2PiOverE);
  // Far out the rest is nothing, and NaN where the product overflows.
  const double low = a < 0x1p500 ? product.lo + mul_add(factor, log_a.lo, rest) : 0.0;
  return is_large ? product.hi + low : middle;
}

TL_INLINE double lgamma(double x) {
  constexpr double infinity = Traits<double>::kInfinity;
  const double a = vm::abs(x);
  const bool is_reflected = x < -0x1p-60;
  const double positive = lgamma_of_positive(a);
  const double sine = vm::abs(sin_cos_pi(a - vm::round(a)).sin);
  const Pair<double> log_sine = log_pair(a * sine * (1 / kPiHi));
  const double reflected = -((positive + log_sine.hi) + log_sine.lo);
  const double result = is_reflected ? reflected : positive;
  const bool is_pole = (a == 0) | (is_reflected & (sine == 0)) | (a == infinity);
  // 0 where lgamma(1) = -0.
  return x == x ? (is_pole ? infinity : result + 0.0) : x;
}

TL_INLINE double digamma(double x) {
  const bool is_negative = x < 0;
  const double b = x < 1 ? (is_negative ? 1 - x : 1 + x) : x;
  const double lost = x < 1 ? (is_negative ? (1 - b) - x : x - (b - 1)) : 0.0;
  const double near = (b - kDigammaZeroHi) - (kDigammaZeroLo - lost);
  const double rest = near * digamma_middle((b - 2.25) / (b + 2.25));
  const double middle = mul_add(near, 0.75, rest);
  const double inverse = 1 / b;
  const double tail = mul_add(inverse, digamma_large(inverse * inverse), 0.5);
  const double positive = b < 5 ? middle : mul_add(-inverse, tail, vm::log(b));
  // digamma(x) = digamma(1 + x) - 1 / x = digamma(1 - x) - pi cot(pi x)
  const SinCos<double> v = sin_cos_pi(x - vm::round(x));
  const double pole = is_negative ? kPiHi * v.cos / v.sin : 1 / x;
  const double result = x < 1 ? positive - pole : positive;
  return is_negative & (v.sin == 0) ? Traits<double>::kNan : result;
}

TL_INLINE double trigamma(double x) {
  const bool is_negative = x < 0;
  const double b = x < 1 ? (is_negative ? 1 - x : 1 + x) : x;
  const double inverse = 1 / b;
  const double tail = mul_add(inverse, trigamma_large(inverse * inverse), 0.5);
  const double rest = inverse * trigamma_middle((b - 2.25) / (b + 2.25));
  const double middle = mul_add(inverse, 1.25, rest);
  const double positive = b < 5 ? middle : mul_add(inverse * inverse, tail, inverse);
  // trigamma(x) = trigamma(1 + x) + 1 / x^2 = pi^2 / sin(pi x)^2 - trigamma(1 - x)
  const double sine = sin_cos_pi(x - vm::round(x)).sin;
  const double root = is_negative ? kPiHi / sine : 1 / x;
  const double other = is_negative ? -positive : positive;
  return x < 1 ? mul_add(root, root, other) : positive;
}

TL_INLINE float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }
TL_INLINE float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }
TL_INLINE float trigamma(float x) { return static_cast<float>(trigamma(static_cast<double>(x))); }

}  // namespace vm
}  // namespace
}  // namespace tensorlike
