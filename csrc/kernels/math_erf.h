// The error function.
#pragma once

#include "kernels/math_exp.h"

namespace tensorlike {
namespace {
namespace vm {

TL_INLINE float erf(float x) {
  const float a = vm::abs(x);
  const float small = mul_add(a, erf_small(a * a), a);
  const float large = 1.0f + erf_large(at_most(a, 3.93f) - 2.5f);
  return copysign(a < 1 ? small : large, x);
}
TL_INLINE double erf(double x) {
  const double a = vm::abs(x);
  const double small = mul_add(a, erf_small(a * a), a);
  const ExpReduction<double> e = reduce_exp(erf_large(at_most(a, 5.95)));
  const double power = power_of_two(e.magic, 0);
  const double large = (1 - power) - power * expm1_reduced(e.r, 0.0);
  return copysign(a < 1 ? small : large, x);
}

template <Real T>
TL_INLINE T erfc(T x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T center = single ? T(2) : T(3.5);
  const T a = at_most(vm::abs(x), single ? T(10.1) : T(27.3));
  const Pair<T> square = two_product(a, a);
  const ExpReduction<T> e = reduce_exp(-square.hi, -square.lo);
  const Pair<T> power = fast_two_sum(T{1}, expm1_reduced(e.r, e.low));
  const T t = (a + a) / (a + center) - T{1};  // (a - center) / (a + center), better for small a
  // Both factors keep what they lose: else the product would be 2.7 ulp off.
  const T divisor = mul_add(T{2}, a, T{1});
  const T lost = mul_add(T{2}, a, T{1} - divisor);
  const Pair<T> factor = divide_pairs(Pair<T>{erfc_scaled(t), T{0}}, Pair<T>{divisor, lost});
  const T rest = mul_add(power.hi, factor.lo, power.lo * factor.hi);
  const T positive = scale(mul_add(power.hi, factor.hi, rest), e.magic);
  const T far = x < T{0} ? T{2} - positive : positive;
  // Near 0 the result is just under 1, where 1 - erf(x) loses nothing.
  const T near = T{1} - mul_add(x, erf_small(x * x), x);
  return vm::abs(x) < T(0.25) ? near : far;
}

}  // namespace vm
}  // namespace
}  // namespace tensorlike
