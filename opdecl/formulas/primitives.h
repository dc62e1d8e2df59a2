// The primitives of the formulas, as CUDA C: what a device gives by itself. Sums and products are
// spelled so that no compiler joins them: formulas say by multiply_add where only one rounding is.
#pragma once
#ifndef __CUDACC__
#include <cmath>
#include <cstring>
#define __device__
#endif

namespace tensorlike {

using int32 = int;
using int64 = long long;
using uint64 = unsigned long long;
using float32 = float;
using float64 = double;
template <class T>
struct Complex {
  T re, im;
};
using complex64 = Complex<float32>;
using complex128 = Complex<float64>;

#define TL_DEVICE __device__ inline

// A value as one of another dtype.
template <class To>
struct As {
  template <class From>
  TL_DEVICE static To of(From x) {
    return static_cast<To>(x);
  }
};
template <class T>
struct As<Complex<T>> {
  template <class From>
  TL_DEVICE static Complex<T> of(From x) {
    return {static_cast<T>(x), T(0)};
  }
  template <class U>
  TL_DEVICE static Complex<T> of(Complex<U> x) {
    return {static_cast<T>(x.re), static_cast<T>(x.im)};
  }
};

TL_DEVICE float64 infinity() {
#ifdef __CUDACC__
  return __longlong_as_double(0x7ff0000000000000ll);
#else
  return __builtin_inf();
#endif
}
TL_DEVICE float64 not_a_number() {
#ifdef __CUDACC__
  return __longlong_as_double(0x7ff8000000000000ll);
#else
  return __builtin_nan("");
#endif
}

// Integers wrap around.
#define TL_WRAPPING(name, sign)                                                          \
  TL_DEVICE int32 name(int32 x, int32 y) { return int32(unsigned(x) sign unsigned(y)); } \
  TL_DEVICE int64 name(int64 x, int64 y) { return int64(uint64(x) sign uint64(y)); }     \
  TL_DEVICE uint64 name(uint64 x, uint64 y) { return x sign y; }
TL_WRAPPING(add, +)
TL_WRAPPING(subtract, -)
TL_WRAPPING(multiply, *)
#undef TL_WRAPPING

#ifdef __CUDA_ARCH__
#define TL_ROUNDED(name, sign, intrinsic)                                            \
  TL_DEVICE float32 name(float32 x, float32 y) { return __f##intrinsic##_rn(x, y); } \
  TL_DEVICE float64 name(float64 x, float64 y) { return __d##intrinsic##_rn(x, y); }
#else
#define TL_ROUNDED(name, sign, intrinsic)                           \
  TL_DEVICE float32 name(float32 x, float32 y) { return x sign y; } \
  TL_DEVICE float64 name(float64 x, float64 y) { return x sign y; }
#endif
TL_ROUNDED(add, +, add)
TL_ROUNDED(subtract, -, sub)
TL_ROUNDED(multiply, *, mul)
TL_ROUNDED(divide, /, div)
#undef TL_ROUNDED

#define TL_REAL_1(name, of32, of64)                       \
  TL_DEVICE float32 name(float32 x) { return ::of32(x); } \
  TL_DEVICE float64 name(float64 x) { return ::of64(x); }
TL_REAL_1(floor, floorf, floor)
TL_REAL_1(round, rintf, rint)
TL_REAL_1(sqrt, sqrtf, sqrt)
TL_REAL_1(exp, expf, exp)
TL_REAL_1(exp2, exp2f, exp2)
TL_REAL_1(log, logf, log)
TL_REAL_1(sin, sinf, sin)
TL_REAL_1(cos, cosf, cos)
TL_REAL_1(atan, atanf, atan)
#undef TL_REAL_1
#define TL_REAL_2(name, of32, of64)                                     \
  TL_DEVICE float32 name(float32 x, float32 y) { return ::of32(x, y); } \
  TL_DEVICE float64 name(float64 x, float64 y) { return ::of64(x, y); }
TL_REAL_2(pow, powf, pow)
TL_REAL_2(copysign, copysignf, copysign)
TL_REAL_2(exact_rest, fmodf, fmod)
#undef TL_REAL_2
TL_DEVICE float32 multiply_add(float32 x, float32 y, float32 z) { return ::fmaf(x, y, z); }
TL_DEVICE float64 multiply_add(float64 x, float64 y, float64 z) { return ::fma(x, y, z); }

// The remainder has the sign of the divisor; by an integer 0 quotient and remainder are 0.
template <class T>
TL_DEVICE T remainder_of_floats(T x, T y) {
  const T rest = exact_rest(x, y);
  if (rest == 0) return copysign(T(0), y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
TL_DEVICE float32 remainder(float32 x, float32 y) { return remainder_of_floats(x, y); }
TL_DEVICE float64 remainder(float64 x, float64 y) { return remainder_of_floats(x, y); }
TL_DEVICE bool is_negative(int32 x) { return x < 0; }
TL_DEVICE bool is_negative(int64 x) { return x < 0; }
TL_DEVICE bool is_negative(uint64) { return false; }
template <class T>
TL_DEVICE T floor_divide(T x, T y) {
  if (y == 0) return T(0);
  if (is_negative(y) && y == T(-1)) return subtract(T(0), x);
  return T(x / y) - T(x % y != 0 && is_negative(x) != is_negative(y));
}
template <class T>
TL_DEVICE T remainder(T x, T y) {
  return y == 0 ? T(0) : subtract(x, multiply(floor_divide(x, y), y));
}

template <class T>
TL_DEVICE bool equal(T x, T y) {
  return x == y;
}
template <class T>
TL_DEVICE bool less(T x, T y) {
  return x < y;
}
template <class T>
TL_DEVICE T where(bool condition, T x, T y) {
  return condition ? x : y;
}
template <class T>
TL_DEVICE T bitwise_and(T x, T y) {
  return T(x & y);
}
template <class T>
TL_DEVICE T bitwise_or(T x, T y) {
  return T(x | y);
}
template <class T>
TL_DEVICE T bitwise_xor(T x, T y) {
  return T(x ^ y);
}
// Shifts by the width or more, or by less than 0, give what infinitely many bits would.
template <class T>
TL_DEVICE T bitwise_left_shift(T x, T y) {
  const bool fits = !is_negative(y) && y < T(sizeof(T) * 8);
  return fits ? T(uint64(x) << uint64(y)) : T(0);
}
template <class T>
TL_DEVICE T bitwise_right_shift(T x, T y) {
  const bool fits = !is_negative(y) && y < T(sizeof(T) * 8);
  return fits ? T(x >> y) : T(is_negative(x) ? -1 : 0);
}

template <class T>
TL_DEVICE Complex<T> complex(T re, T im) {
  return {re, im};
}
template <class T>
TL_DEVICE T real(Complex<T> x) {
  return x.re;
}
template <class T>
TL_DEVICE T imag(Complex<T> x) {
  return x.im;
}

}  // namespace tensorlike
