// Logarithms and what is made of them: asinh, acosh, atanh.
#pragma once

#include "kernels/math_coefficients.h"

namespace tensorlike {
namespace {
namespace vm {

// x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2).
template <Real T>
struct LogReduction {
  T f, k;
  Uint<T> biased_exponent;
};

template <Real T>
TL_INLINE LogReduction<T> reduce_log_of_normal(T x) {
  constexpr Uint<T> root = to_bits(static_cast<T>(0.70710678118654752440));
  constexpr T integer = static_cast<T>(Uint<T>{1} << Traits<T>::kMantissaBits);
  const Uint<T> shifted = to_bits(x) + (to_bits(T{1}) - root);
  const Uint<T> exponent = shifted >> Traits<T>::kMantissaBits;
  const T k = from_bits<T>(exponent | to_bits(integer)) - (integer + T(Traits<T>::kBias));
  const Uint<T> mantissa = shifted & kMantissaMask<T>;
  return {from_bits<T>(mantissa + root) - T{1}, k, exponent};
}

template <Real T>
TL_INLINE LogReduction<T> reduce_log(T x) {
  constexpr int shift = Traits<T>::kMantissaBits + 2;
  constexpr T scale_up = static_cast<T>(Uint<T>{1} << shift);
  const bool is_small = x < Traits<T>::kMinNormal;
  LogReduction<T> result = reduce_log_of_normal(is_small ? x * scale_up : x);
  result.k -= is_small ? T(shift) : T{0};
  return result;
}

// log(1 + f) + k log(2).
TL_INLINE float log_of_reduced(float f, float k) {
  using C = Constants<float>;
  const float tail = mul_add(f, log_tail(f), -0.5f) * (f * f);
  return mul_add(k, C::kLn2Hi, f + mul_add(k, C::kLn2Lo, tail));
}

// log(1 + f) = f - h + s (h + R(s^2)), with s = f / (2 + f) and h = f^2 / 2.
struct LogParts {
  double h, tail;
};
TL_INLINE LogParts log_parts(double f) {
  const double s = f / (2 + f), z = s * s, h = 0.5 * f * f;
  return {h, s * mul_add(z, log_tail(z), h)};
}
TL_INLINE double log_of_reduced(double f, double k) {
  using C = Constants<double>;
  const LogParts p = log_parts(f);
  return mul_add(k, C::kLn2Hi, f - (p.h - mul_add(k, C::kLn2Lo, p.tail)));
}

// (log(1 + f) + k log(2)) scale, where scale = hi + lo and unit = scale log(2).
TL_INLINE double scaled_log(double f, double k, Pair<double> scale, Pair<double> unit) {
  const LogParts p = log_parts(f);
  const double hi = from_bits<double>(to_bits(f - p.h) & 0xffffffff00000000u);
  const double lo = (f - hi) - p.h + p.tail;
  const double high = hi * scale.hi, whole = k * unit.hi;
  const double low = mul_add(k, unit.lo, mul_add(lo + hi, scale.lo, lo * scale.hi));
  const double sum = whole + high;
  return sum + (low + ((whole - sum) + high));
}

template <Real T>
TL_INLINE T log_special_cases(T x, T result) {
  using L = Traits<T>;
  const T not_positive = x == T{0} ? -L::kInfinity : L::kNan;
  return x > T{0} ? (x < L::kInfinity ? result : x) : not_positive;
}

template <Real T>
TL_INLINE T log(T x) {
  const LogReduction<T> m = reduce_log(x);
  return log_special_cases(x, log_of_reduced(m.f, m.k));
}

TL_INLINE float log2(float x) {
  const LogReduction<float> m = reduce_log(x);
  const float tail = m.f * log2_tail(m.f);
  return log_special_cases(x, m.k + mul_add(m.f, Constants<float>::kLog2e, tail));
}
TL_INLINE double log2(double x) {
  using C = Constants<double>;
  const LogReduction<double> m = reduce_log(x);
  return log_special_cases(x, scaled_log(m.f, m.k, {C::kLog2eSplitHi, C::kLog2eSplitLo}, {1, 0}));
}

TL_INLINE float log10(float x) {
  using C = Constants<float>;
  const LogReduction<float> m = reduce_log(x);
  const float tail = mul_add(m.k, C::kLog10Of2Lo, m.f * log10_tail(m.f));
  return log_special_cases(x, mul_add(m.k, C::kLog10Of2Hi, mul_add(m.f, C::kLog10e, tail)));
}
TL_INLINE double log10(double x) {
  using C = Constants<double>;
  const LogReduction<double> m = reduce_log(x);
  return log_special_cases(x, scaled_log(m.f, m.k, {C::kLog10eSplitHi, C::kLog10eSplitLo},
                                         {C::kLog10Of2Hi, C::kLog10Of2Lo}));
}

// log(1 + x + low) + extra log(2). The rounding error of 1 + x is scaled and added to the reduced
// argument, which is then x itself where no scaling happens.
template <Real T>
TL_INLINE T log1p_plus(T x, T extra, T low = T{0}) {
  const T u = T{1} + x;
  const T rest = u - x;
  const T error = ((T{1} - rest) + (x - (u - rest))) + low;
  const LogReduction<T> m = reduce_log_of_normal(u);
  constexpr Uint<T> bias = Traits<T>::kBias;
  const Uint<T> inverse = (2 * bias - m.biased_exponent) << Traits<T>::kMantissaBits;
  const T correction = x < T(0x1p60) ? error * from_bits<T>(inverse) : T{0};
  const T result = log_of_reduced(m.f + correction, m.k + extra);
  return vm::abs(x) < kTiny<T> ? x : log_special_cases(u, result);
}

template <Real T>
TL_INLINE T log1p(T x) {
  return log1p_plus(x, T{0});
}

template <Real T>
TL_INLINE T asinh(T x) {
  const T a = vm::abs(x), square = a * a;
  const bool is_big = a > T(0x1p28);
  const T small = a + square / (T{1} + vm::sqrt(T{1} + square));
  return copysign(log1p_plus(is_big ? a - T{1} : small, is_big ? T{1} : T{0}), x);
}

template <Real T>
TL_INLINE T acosh(T x) {
  const T t = x - T{1};
  const bool is_big = x > T(0x1p28);
  const T small = t + vm::sqrt(mul_add(t, t, T{2} * t));
  const T result = log1p_plus(is_big ? t : small, is_big ? T{1} : T{0});
  return x < T{1} ? Traits<T>::kNan : result;
}

// Half of log1p(2 a / (1 - a)); the quotient is taken as a pair, since its rounding would be seen.
template <Real T>
TL_INLINE T atanh(T x) {
  const T a = vm::abs(x);
  const T divisor = T{1} - a;
  const Pair<T> q = divide_pairs<T>({T{2} * a, T{0}}, {divisor, (T{1} - divisor) - a});
  const bool is_pair = vm::abs(q.hi) < Traits<T>::kInfinity;  // else the lower part is NaN
  return copysign(T(0.5) * log1p_plus(q.hi, T{0}, is_pair ? q.lo : T{0}), x);
}

}  // namespace vm
}  // namespace
}  // namespace tensorlike
