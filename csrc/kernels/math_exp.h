// Exponentials and what is made of them: sinh, cosh, tanh.
#pragma once

#include "kernels/math_coefficients.h"

namespace tensorlike {
namespace {
namespace vm {

// x + x_low = n ln 2 + r, |r| <= ln 2 / 2; low is the rounding error of r; magic holds n in its low
// bits.
template <Real T>
struct ExpReduction {
  T r, low, magic;
};

template <Real T>
TL_INLINE ExpReduction<T> reduce_exp(T x, T x_low = T{0}) {
  using C = Constants<T>;
  const T magic = mul_add(x, C::kLog2e, kMagic<T>);
  const T n = magic - kMagic<T>;
  const T high = mul_add(n, -C::kLn2Hi, x);
  const T low = mul_add(n, -C::kLn2Lo, x_low);
  const T r = high + low;
  return {r, low - (r - high), magic};
}

// exp(r) - 1 for a reduced argument.
template <Real T>
TL_INLINE T expm1_reduced(T r, T low) {
  return r + mul_add(r * r, expm1_tail(r), low);
}

// 2^(n + shift) for the n in magic; the power must be a normal number.
template <Real T>
TL_INLINE T power_of_two(T magic, int shift) {
  const Uint<T> offset = Traits<T>::kBias - to_bits(kMagic<T>) + static_cast<Uint<T>>(shift);
  return from_bits<T>((to_bits(magic) + offset) << Traits<T>::kMantissaBits);
}

// x 2^n for the n in magic, in two steps, so that overflow and denormals come out right.
template <Real T>
TL_INLINE T scale(T x, T magic) {
  constexpr Uint<T> bias = Traits<T>::kBias;
  const Uint<T> both = to_bits(magic) - to_bits(kMagic<T>) + 2 * bias;
  const Uint<T> first = both >> 1;
  const Uint<T> second = both - first;
  return x * from_bits<T>(first << Traits<T>::kMantissaBits) *
         from_bits<T>(second << Traits<T>::kMantissaBits);
}

// 2^n times the first is exp(x), for the n in the second.
template <Real T>
TL_INLINE Pair<T> exp_parts(T x) {
  using C = Constants<T>;
  const T magic = mul_add(x, C::kLog2e, kMagic<T>);
  const T n = magic - kMagic<T>;
  const T r = mul_add(n, -C::kLn2Lo, mul_add(n, -C::kLn2Hi, x));
  return {mul_add(r, mul_add(r, exp_tail(r), T{1}), T{1}), magic};
}

template <Real T>
TL_INLINE T exp(T x) {
  constexpr bool single = sizeof(T) == 4;
  const auto [p, magic] =
      exp_parts(at_least(at_most(x, T(single ? 89 : 710)), T(single ? -105 : -746)));
  return scale(p, magic);
}

// exp at four fifths of the cost, with the same bits, where the result is a normal number.
template <Real T>
TL_INLINE T exp_moderate(T x) {
  const auto [p, magic] = exp_parts(x);
  return from_bits<T>(to_bits(p) + (to_bits(magic) << Traits<T>::kMantissaBits));
}

// The largest |x| of which exp_moderate is right.
template <Real T>
constexpr T kMostModerate = sizeof(T) == 4 ? T(87) : T(708);

template <Real T>
TL_INLINE T exp2_reduced(T r) {
  return mul_add(r, mul_add(r, exp2_tail(r), Constants<T>::kLn2Rounded), T{1});
}

template <Real T>
TL_INLINE T exp2(T x) {
  constexpr bool single = sizeof(T) == 4;
  const T bounded = at_least(at_most(x, T(single ? 129 : 1025)), T(single ? -151 : -1076));
  const T magic = bounded + kMagic<T>;
  const T r = bounded - (magic - kMagic<T>);
  return scale(exp2_reduced(r), magic);
}

template <Real T>
constexpr T kTiny = sizeof(T) == 4 ? T(0x1p-26) : T(0x1p-55);  // where f(x) = x + O(x^2) is x

template <Real T>
TL_INLINE T expm1(T x) {
  constexpr bool single = sizeof(T) == 4;
  const T bounded = at_least(at_most(x, T(single ? 89 : 710)), T(single ? -18 : -38));
  const ExpReduction<T> e = reduce_exp(bounded);
  const T p = expm1_reduced(e.r, e.low);
  const T half_power = power_of_two(e.magic, -1);  // 2^n itself may overflow
  const T result = T{2} * mul_add(half_power, p, half_power - T(0.5));
  return vm::abs(x) < kTiny<T> ? x : result;
}

// (1 - e) / (1 + e) with e = exp(-2 |x|). What rounding loses in reducing -2 |x| is little beside
// 1 - e: there is nothing to reduce where |x| < ln 2 / 4. Float's ln 2 is good to 28 bits.
template <Real T>
TL_INLINE T tanh(T x) {
  using C = Constants<T>;
  const T doubled = T{-2} * at_most(vm::abs(x), T(sizeof(T) == 4 ? 10 : 20));
  const T magic = mul_add(doubled, C::kLog2e, kMagic<T>);
  const T n = magic - kMagic<T>;
  const T r = sizeof(T) == 4 ? mul_add(n, -C::kLn2Rounded, doubled)
                             : mul_add(n, -C::kLn2Lo, mul_add(n, -C::kLn2Hi, doubled));
  const T p = mul_add(r * r, expm1_tail(r), r);
  const T power = power_of_two(magic, 0);
  const T result = mul_add(power, p, power - T{1}) / mul_add(power, p, power + T{1});
  return copysign(result, x);
}

// With q = (exp(|x|) - 1) / 4, which does not overflow before sinh does.
template <Real T>
TL_INLINE T sinh(T x) {
  const T a = vm::abs(x);
  const ExpReduction<T> e = reduce_exp(at_most(a, sizeof(T) == 4 ? T(89.5) : T(710.6)));
  const T p = expm1_reduced(e.r, e.low);
  const T power = power_of_two(e.magic, -2);
  const T q = mul_add(power, p, power - T(0.25));
  const T result = T{2} * (q + q / mul_add(T{4}, q, T{1}));
  return copysign(a < kTiny<T> ? a : result, x);
}

// With q = exp(|x|) / 4.
template <Real T>
TL_INLINE T cosh(T x) {
  const ExpReduction<T> e = reduce_exp(at_most(vm::abs(x), sizeof(T) == 4 ? T(89.5) : T(710.6)));
  const T q = (T{1} + expm1_reduced(e.r, e.low)) * power_of_two(e.magic, -2);
  return T{2} * (q + T(0.0625) / q);
}

}  // namespace vm
}  // namespace
}  // namespace tensorlike
