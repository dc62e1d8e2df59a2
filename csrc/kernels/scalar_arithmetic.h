// Scalar functions that need no series: arithmetic, comparisons, bits, and what tells numbers
// apart. Part of scalar.h, which says how they are written.
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
  vm::Uint<T> alarm = 0;                        // as wide as T, for vectors
  std::make_signed_t<vm::Uint<T>> largest = 0;  // of the exponents' bits without signs; NaN's lead

  void report(bool needs_slow) { alarm |= needs_slow ? 1u : 0u; }
  void report_exponent(T x) {  // in fewer instructions than a comparison
    const auto size = static_cast<decltype(largest)>(vm::to_bits(x) & ~vm::kSignBit<T>);
    largest = largest > size ? largest : size;
  }
  bool is_alarmed() const {
    return alarm != 0 || vm::Uint<T>(largest) > vm::to_bits(vm::kMostModerate<T>);
  }
};

// Integers wrap around, as NumPy's; signed overflow is undefined in C++, unsigned is not. Narrower
// ones are computed in 32 bits, since C++ would make signed numbers of them; vectors stay narrow.
// Every function here gives in a narrow dtype what a wide one would, wrapped around.
template <class T>
struct WrappingOf : std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>,
                                       std::make_unsigned<T>, std::type_identity<T>> {};
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < 4)
struct WrappingOf<T> : std::type_identity<uint32_t> {};
template <class T>
using Wrapping = typename WrappingOf<T>::type;

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
  } else if constexpr (std::is_same_v<T, bool>) {
    return ((static_cast<int>(a) & static_cast<int>(condition)) |
            (static_cast<int>(b) & static_cast<int>(!condition))) != 0;
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
  if constexpr (kFloats<T>) {  // of choices between choices the compiler makes twice as much
    const T most = where(x != x, x, x > lower ? x : lower);
    return where(most != most, most, most < upper ? most : upper);
  }
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
  if constexpr (kFloats<T>) {
    const T one = a > T(0) ? T(1) : (a < T(0) ? T(-1) : T(0));
    return a != a ? a : one;
  } else {
    return static_cast<T>(static_cast<int>(a > T(0)) - static_cast<int>(is_negative(a)));
  }
}
template <class T>
inline T square(T a) {
  return multiply(a, a);
}
template <class T>
inline T reciprocal(T a) {
  return T(1) / a;
}

template <class T>
inline bool is_minus_one(T a) {
  return is_negative(a) & (a == static_cast<T>(-1));
}

// a / b rounded down, of integers of up to 32 bits with b neither 0 nor -1, by floating-point
// numbers with more bits: processors divide vectors of these alone. Of half a unit more than a,
// away from where the divisor's sign turns, the quotient lies further from an integer than its
// reciprocal and the product are rounded by; and one reciprocal serves all that a number divides.
template <class T>
inline T quotient_below(T a, T b) {
  using Real = std::conditional_t<sizeof(T) < 4, float, double>;
  const Real divisor = static_cast<Real>(b);
  const Real half = vm::copysign(Real(0.5), divisor);
  return static_cast<T>(vm::floor((static_cast<Real>(a) + half) * (Real(1) / divisor)));
}

// Whether there are vectors that convert between 64-bit integers and float64.
#if defined(__AVX512DQ__)
constexpr bool kConvertsWide = true;
#else
constexpr bool kConvertsWide = false;
#endif

// a / b rounded down, of integers of 64 bits with b not 0 and, if unsigned, below 2^63. The first
// quotient, of float64, is wrong by half and at most 2^-51 of itself; so what it leaves of a is at
// most half of b and 4096, or the few bits that float64 has no room for are far from the next
// integer, and the quotient of that is right as above. All wraps around, the smallest integer over
// -1 as well.
template <class T>
inline T wide_quotient_below(T a, T b) {
  using Wide = std::make_unsigned_t<T>;
  constexpr double kMost = std::is_unsigned_v<T> ? 0x1p64 - 2048 : 0x1p63 - 1024;
  const double divisor = static_cast<double>(b);
  const double reciprocal = 1.0 / divisor;
  const double near = vm::round(static_cast<double>(a) * reciprocal);
  const T first = static_cast<T>(near < kMost ? near : kMost);
  const Wide rest = static_cast<Wide>(a) - static_cast<Wide>(first) * static_cast<Wide>(b);
  const double half = vm::copysign(0.5, divisor);
  const double more = (static_cast<double>(static_cast<int64_t>(rest)) + half) * reciprocal;
  const auto second = static_cast<int64_t>(vm::floor(more));
  return static_cast<T>(static_cast<Wide>(first) + static_cast<Wide>(second));
}

// The same of any divisor; of 0 it is 0.
template <class T>
inline T wide_floor_divide(T a, T b) {
  if constexpr (std::is_unsigned_v<T>) {
    const bool is_large = b >> 63 != 0;
    const T down = wide_quotient_below(a, (b == T(0)) | is_large ? T(1) : b);
    return b == T(0) ? T(0) : (is_large ? static_cast<T>(a >= b) : down);
  } else {
    const T down = wide_quotient_below(a, b == T(0) ? T(1) : b);
    return b == T(0) ? T(0) : down;
  }
}

// Division that rounds down and its remainder with the divisor's sign, as Python's. An integer
// divisor of 0 gives 0 (NumPy's answer, without the warning); the smallest integer over -1 wraps.
template <class T>
inline T floor_divide(T a, T b) {
  if constexpr (kFloats<T>) {
    // a / b may round up to an integer that it does not reach: what is left over tells, by its
    // sign. Beyond the mantissa one less is not a number. Of an infinite divisor nothing is
    // reached: the Array API standard wants a zero with the sign of the quotient.
    const T down = vm::floor(a / b);
    const T rest = down == T(0) ? a : vm::minus_product(a, down, b);
    const bool is_below = ((rest < T(0)) & (b > T(0))) | ((rest > T(0)) & (b < T(0)));
    const bool has_units = abs(down) < T(2) / std::numeric_limits<T>::epsilon();
    const bool may_fall_short = has_units & (abs(b) < std::numeric_limits<T>::infinity());
    return down - static_cast<T>(is_below & may_fall_short);
  } else if constexpr (sizeof(T) < 8) {
    const bool wraps = is_minus_one(b);
    const T down = quotient_below(a, (b == T(0)) | wraps ? T(1) : b);
    return b == T(0) ? T(0) : (wraps ? negative(a) : down);
  } else if constexpr (kConvertsWide) {
    return wide_floor_divide(a, b);
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
  } else if constexpr (sizeof(T) < 8) {
    const T divisor = (b == T(0)) | is_minus_one(b) ? T(1) : b;
    return subtract(a, multiply(quotient_below(a, divisor), divisor));
  } else if constexpr (kConvertsWide) {
    return b == T(0) ? T(0) : subtract(a, multiply(wide_floor_divide(a, b), b));
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

}  // namespace
}  // namespace tensorlike
