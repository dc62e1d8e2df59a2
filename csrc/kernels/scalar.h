// The native scalar functions, as the declarations name them. Included once per ISA level, inside
// an anonymous namespace, so that no level's code is merged into another's. No `&&` or `||` and no
// branches: each is a loop body that the compiler must vectorise. Only the functions that take a
// Watch have two forms: without one they are slower, may branch, and are right for every argument.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/complex.h"
#include "base/half.h"
#include "kernels/complex_math.h"
#include "kernels/math.h"

namespace tensorlike {
namespace {

template <class T>
inline constexpr bool kFloats = std::is_floating_point_v<T>;

// Where the fast form of a function reports an argument that it is wrong for (math.h: slow paths).
template <class T>
struct Watch {
  vm::Uint<T> alarm = 0;  // as wide as T, for vectors

  void report(bool needs_slow) { alarm |= needs_slow ? 1u : 0u; }
};

// Integers wrap around, as NumPy's; signed overflow is undefined in C++, unsigned is not.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>,
                                             std::make_unsigned<T>, std::type_identity<T>>::type;

template <class T>
inline bool is_negative(T a) {
  if constexpr (std::is_unsigned_v<T>)
    return false;
  else
    return a < T(0);
}

template <class T>
inline T add(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <class T>
inline T subtract(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <class T>
inline T multiply(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <class T>
inline T negative(T a) {
  if constexpr (kFloats<T>) return -a;
  return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(a));
}
template <class T>
inline T positive(T a) {
  return a;
}
template <class T>
inline T divide(T a, T b) {
  return a / b;
}
template <class T>
inline bool equal(T a, T b) {
  return a == b;
}
template <class T>
inline bool not_equal(T a, T b) {
  return a != b;
}
template <class T>
inline bool less(T a, T b) {
  return a < b;
}
template <class T>
inline bool less_equal(T a, T b) {
  return a <= b;
}
template <class T>
inline bool greater(T a, T b) {
  return a > b;
}
template <class T>
inline bool greater_equal(T a, T b) {
  return a >= b;
}
template <class T>
inline bool logical_and(T a, T b) {
  return static_cast<bool>(static_cast<int>(a != T(0)) & static_cast<int>(b != T(0)));
}
template <class T>
inline bool logical_or(T a, T b) {
  return static_cast<bool>(static_cast<int>(a != T(0)) | static_cast<int>(b != T(0)));
}
template <class T>
inline bool logical_xor(T a, T b) {
  return (a != T(0)) != (b != T(0));
}
template <class T>
inline bool logical_not(T a) {
  return a == T(0);
}
template <class T>
inline T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
inline T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
inline T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
inline T bitwise_invert(T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    return static_cast<T>(~a);
  }
}
// Shifts by the width or more (or by a negative amount) give what infinitely many bits would.
template <class T>
inline T bitwise_left_shift(T a, T b) {
  constexpr T kBits = static_cast<T>(sizeof(T) * 8);
  const bool fits = !is_negative(b) & (b < kBits);
  const Wrapping<T> shifted = static_cast<Wrapping<T>>(a)
                              << static_cast<Wrapping<T>>(fits ? b : T(0));
  return fits ? static_cast<T>(shifted) : T(0);
}
template <class T>
inline T bitwise_right_shift(T a, T b) {
  constexpr T kBits = static_cast<T>(sizeof(T) * 8);
  const bool fits = !is_negative(b) & (b < kBits);
  if constexpr (std::is_unsigned_v<T>) return fits ? static_cast<T>(a >> b) : T(0);
  return static_cast<T>(a >> (fits ? b : kBits - T(1)));
}

// Blends bits: gcc does not vectorise a choice between floats by a stored boolean.
template <class T>
inline T where(bool condition, T a, T b) {
  if constexpr (kFloats<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const Bits mask = Bits(0) - static_cast<Bits>(condition);
    return std::bit_cast<T>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask));
  } else {
    return condition ? a : b;
  }
}

// NaN wins over numbers, as in NumPy and the standard.
template <class T>
inline T minimum(T a, T b) {
  if constexpr (kFloats<T>) {
    const T least = a < b ? a : b;
    return a != a ? a : least;
  }
  return a < b ? a : b;
}
template <class T>
inline T maximum(T a, T b) {
  if constexpr (kFloats<T>) {
    const T most = a > b ? a : b;
    return a != a ? a : most;
  }
  return a > b ? a : b;
}
template <class T>
inline T clip_between(T x, T lower, T upper) {
  return minimum(maximum(x, lower), upper);
}
template <class T>
inline T multiply_add(T x, T y, T z) {
  if constexpr (kFloats<T>) return vm::mul_add(x, y, z);
  return add(multiply(x, y), z);
}
template <class T>
inline T abs(T a) {
  if constexpr (std::is_same_v<T, float>) return __builtin_fabsf(a);
  if constexpr (std::is_same_v<T, double>) return __builtin_fabs(a);
  return is_negative(a) ? negative(a) : a;
}
template <class T>
inline T sign(T a) {
  const T one = static_cast<T>(a > T(0)) - static_cast<T>(is_negative(a));
  if constexpr (kFloats<T>) return a != a ? a : one;
  return one;
}
template <class T>
inline T square(T a) {
  return multiply(a, a);
}
template <class T>
inline T reciprocal(T a) {
  return T(1) / a;
}

// Division that rounds down and its remainder with the divisor's sign, as Python's. An integer
// divisor of 0 gives 0 (NumPy's answer, without the warning); the smallest integer over -1 wraps.
template <class T>
inline T floor_divide(T a, T b) {
  if constexpr (kFloats<T>) {
    // a / b may round up to an integer that it does not reach: what is left over tells, by its
    // sign. Beyond the mantissa one less is not a number.
    const T down = vm::floor(a / b);
    const T rest = down == T(0) ? a : vm::minus_product(a, down, b);
    const bool is_below = ((rest < T(0)) & (b > T(0))) | ((rest > T(0)) & (b < T(0)));
    const bool has_units = abs(down) < T(2) / std::numeric_limits<T>::epsilon();
    return down - static_cast<T>(is_below & has_units);
  } else if constexpr (std::is_unsigned_v<T>) {
    return b == T(0) ? T(0) : a / (b == T(0) ? T(1) : b);
  } else {
    const bool wraps = b == T(-1);
    const T divisor = (b == T(0)) | wraps ? T(1) : b;
    const T quotient = a / divisor;
    const T down =
        quotient - static_cast<T>((a % divisor != T(0)) & ((a < T(0)) != (divisor < T(0))));
    return b == T(0) ? T(0) : (wraps ? negative(a) : down);
  }
}
template <class T>
inline T remainder(T a, T b) {
  if constexpr (kFloats<T>) {
    return vm::remainder_needs_slow(a, b) ? vm::remainder_slow(a, b) : vm::remainder(a, b);
  } else if constexpr (std::is_unsigned_v<T>) {
    return b == T(0) ? T(0) : a % (b == T(0) ? T(1) : b);
  } else {
    const T divisor = (b == T(0)) | (b == T(-1)) ? T(1) : b;
    const T rest = a % divisor;
    return (rest != T(0)) & ((rest < T(0)) != (divisor < T(0))) ? rest + divisor : rest;
  }
}
template <class T>
inline T remainder(T a, T b, Watch<T>& watch) {
  watch.report(vm::remainder_needs_slow(a, b));
  return vm::remainder(a, b);
}

template <class T>
inline bool isnan(T a) {
  return a != a;
}
template <class T>
inline bool isinf(T a) {
  if constexpr (kFloats<T>) return abs(a) == std::numeric_limits<T>::infinity();
  return false;
}
template <class T>
inline bool isfinite(T a) {
  if constexpr (kFloats<T>) return abs(a) < std::numeric_limits<T>::infinity();
  return true;
}

template <class T>
inline bool signbit(T a) {
  return (vm::to_bits(a) & vm::kSignBit<T>) != 0;
}
// Neighbours have neighbouring bits, away from zero as integers grow.
template <class T>
inline T nextafter(T a, T b) {
  const vm::Uint<T> bits = vm::to_bits(a);
  const bool is_outward = (a < b) == (a > T(0));
  const T step = vm::from_bits<T>(is_outward ? bits + 1 : bits - 1);
  const T moved = a == T(0) ? vm::copysign(std::numeric_limits<T>::denorm_min(), b) : step;
  return a != a ? a : (b != b ? b : (a == b ? b : moved));
}

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

// Integers wrap around; what a negative power leaves is not 0 for 1 and -1 only.
template <class T>
[[gnu::always_inline]] inline T pow(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    return vm::pow(a, b);
  } else {
    if (is_negative(b)) {
      if (a != T(1) && a != static_cast<T>(-1)) return T(0);
      return (b & T(1)) != 0 ? a : T(1);
    }
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
  watch.report(vm::exp_is_extreme(a));
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
