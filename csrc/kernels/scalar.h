// The native scalar functions, as the declarations name them. Included once per ISA level, inside
// an anonymous namespace, so that no level's code is merged into another's. No `&&` or `||` and no
// branches: each is a loop body that the compiler must vectorise. Only the functions that take a
// Watch have two forms: without one they are slower, may branch, and are right for every argument.
#pragma once

#include "kernels/refusals.h"
#include "kernels/scalar_arithmetic.h"

namespace tensorlike {
namespace {

// Always inlined, as is what is generated from the declarations: the longer ones would otherwise
// stay calls, and no loop vectorises around a call.
#define TL_INLINE [[gnu::always_inline]] inline
#define TL_MATH_1(name)   \
  template <class T>      \
  TL_INLINE T name(T a) { \
    return vm::name(a);   \
  }
#define TL_MATH_2(name)        \
  template <class T>           \
  TL_INLINE T name(T a, T b) { \
    return vm::name(a, b);     \
  }
TL_MATH_1(exp2)
TL_MATH_1(expm1)
TL_MATH_1(log)
TL_MATH_1(log1p)
TL_MATH_1(log2)
TL_MATH_1(log10)
TL_MATH_1(sqrt)
TL_MATH_1(rsqrt)
TL_MATH_1(asin)
TL_MATH_1(acos)
TL_MATH_1(atan)
TL_MATH_1(sinh)
TL_MATH_1(cosh)
TL_MATH_1(tanh)
TL_MATH_1(asinh)
TL_MATH_1(acosh)
TL_MATH_1(atanh)
TL_MATH_1(erf)
TL_MATH_1(erfc)
TL_MATH_1(lgamma)
TL_MATH_1(digamma)
TL_MATH_1(trigamma)
TL_MATH_2(atan2)
TL_MATH_2(hypot)
TL_MATH_2(copysign)
#undef TL_MATH_1
#undef TL_MATH_2

#define TL_WATCHED_1(name)                                              \
  template <class T>                                                    \
  TL_INLINE T name(T a) {                                               \
    return vm::name##_needs_slow(a) ? vm::name##_slow(a) : vm::name(a); \
  }                                                                     \
  template <class T>                                                    \
  TL_INLINE T name(T a, Watch<T>& watch) {                              \
    watch.report(vm::name##_needs_slow(a));                             \
    return vm::name(a);                                                 \
  }
TL_WATCHED_1(sin)
TL_WATCHED_1(cos)
TL_WATCHED_1(tan)
#undef TL_WATCHED_1

// Integers wrap around.
template <class T>
[[gnu::always_inline]] inline T pow(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    return vm::pow(a, b);
  } else {
    if (is_negative(b)) refuse_negative_power(static_cast<int64_t>(b));
    Wrapping<T> result = 1;
    Wrapping<T> factor = static_cast<Wrapping<T>>(a);
    for (Wrapping<T> left = static_cast<Wrapping<T>>(b); left != 0; left >>= 1) {
      if ((left & 1) != 0) result *= factor;
      factor *= factor;
    }
    return static_cast<T>(result);
  }
}

template <class T>
TL_INLINE T exp(T a) {
  return vm::exp(a);
}
template <class T>
TL_INLINE T exp(T a, Watch<T>& watch) {
  watch.report_exponent(a);
  return vm::exp_moderate(a);
}
#undef TL_INLINE

// Rounding leaves integers alone.
template <class T>
inline T floor(T a) {
  if constexpr (kFloats<T>) return vm::floor(a);
  return a;
}
template <class T>
inline T ceil(T a) {
  if constexpr (kFloats<T>) return vm::ceil(a);
  return a;
}
template <class T>
inline T trunc(T a) {
  if constexpr (kFloats<T>) return vm::trunc(a);
  return a;
}
template <class T>
inline T round(T a) {
  if constexpr (kFloats<T>) return vm::round(a);
  if constexpr (is_complex<T>) return {vm::round(a.re), vm::round(a.im)};
  return a;
}

// The parts of a number; a real one is its own.
template <class T>
inline T real(T a) {
  return a;
}
template <class T>
inline T imag(T) {
  return T(0);
}
template <class T>
inline T conj(T a) {
  return a;
}

template <class T>
inline T angle(T a) {
  return vm::atan2(T(0), a);
}
template <class T>
inline Complex<T> complex(T re, T im) {
  return {re, im};
}

template <class T>
inline T real(Complex<T> a) {
  return a.re;
}
template <class T>
inline T imag(Complex<T> a) {
  return a.im;
}
template <class T>
inline Complex<T> conj(Complex<T> a) {
  return {a.re, -a.im};
}
template <class T>
inline Complex<T> negative(Complex<T> a) {
  return -a;
}
template <class T>
inline T abs(Complex<T> a) {
  return vm::hypot(a.re, a.im);
}
template <class T>
inline T angle(Complex<T> a) {
  return vm::atan2(a.im, a.re);
}
template <class T>
inline Complex<T> sign(Complex<T> a) {
  const T size = abs(a);
  return size == T(0) ? Complex<T>() : Complex<T>(a.re / size, a.im / size);
}
template <class T>
inline bool isinf(Complex<T> a) {
  return isinf(a.re) | isinf(a.im);
}
template <class T>
inline bool isfinite(Complex<T> a) {
  return isfinite(a.re) & isfinite(a.im);
}
#define TL_COMPLEX(name)                 \
  template <class T>                     \
  inline Complex<T> name(Complex<T> a) { \
    return cm::name(a);                  \
  }
TL_COMPLEX_FUNCTIONS(TL_COMPLEX)
#undef TL_COMPLEX
template <class T>
inline Complex<T> pow(Complex<T> a, Complex<T> b) {
  return cm::pow(a, b);
}

// Conversion. Floats outside an integer's range, and NaN, give its lowest value, as x86 and NumPy;
// beyond the middle of uint64's they wrap around like integers.
template <class To, class From>
inline To cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (kFloats<From> && std::is_same_v<To, uint64_t>) {
    const bool is_high = x >= From(0x1p63);
    const int64_t low = cast<int64_t>(is_high ? x - From(0x1p63) : x);
    return static_cast<uint64_t>(low) + (is_high ? uint64_t{1} << 63 : 0);
  } else if constexpr (kFloats<From> && !kFloats<To> && !is_complex<To> && !is_half<To>) {
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    const bool fits = (x >= kLow) & (x < -kLow);
    return fits ? static_cast<To>(fits ? x : From(0)) : std::numeric_limits<To>::min();
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace
}  // namespace tensorlike
