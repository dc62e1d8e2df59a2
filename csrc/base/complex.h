// Complex numbers with plain arithmetic: std::complex checks every product for infinities, which
// costs a call per element and stops vectorisation. All is inlined by force: kernels are compiled
// for several ISA levels, and the linker must not merge a function of one level into another's.
#pragma once

#include <type_traits>

namespace tensorlike {

template <class T>
struct Complex {
  T re = 0;
  T im = 0;

  constexpr Complex() = default;
  [[gnu::always_inline]] constexpr Complex(T real, T imaginary) : re(real), im(imaginary) {}
  template <class N>
    requires std::is_arithmetic_v<N>
  [[gnu::always_inline]] explicit constexpr Complex(N real) : re(static_cast<T>(real)) {}
  template <class U>
  [[gnu::always_inline]] explicit constexpr Complex(Complex<U> z)
      : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}

  // x y + z, where z is a product, too: which of the two is not rounded must not be left to the
  // compiler, who decides otherwise in a loop than at its end.
  [[gnu::always_inline]] static constexpr T plus_product(T x, T y, T z) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    if constexpr (sizeof(T) == 4) return __builtin_fmaf(x, y, z);
    return __builtin_fma(x, y, z);
#else
    return x * y + z;
#endif
  }

  [[gnu::always_inline]] friend constexpr Complex operator+(Complex a, Complex b) {
    return {a.re + b.re, a.im + b.im};
  }
  [[gnu::always_inline]] friend constexpr Complex operator-(Complex a, Complex b) {
    return {a.re - b.re, a.im - b.im};
  }
  [[gnu::always_inline]] friend constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
  [[gnu::always_inline]] friend constexpr Complex operator*(Complex a, Complex b) {
    return {plus_product(a.re, b.re, -(a.im * b.im)), plus_product(a.re, b.im, a.im * b.re)};
  }
  // Smith's method (1962): neither overflows nor underflows where the quotient does not.
  [[gnu::always_inline]] friend constexpr Complex operator/(Complex a, Complex b) {
    const T re = b.re < 0 ? -b.re : b.re;
    const T im = b.im < 0 ? -b.im : b.im;
    if (im == 0) return {a.re / b.re, a.im / b.re};
    if (re >= im) {
      const T ratio = b.im / b.re;
      const T scale = b.re + b.im * ratio;
      return {(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
    }
    const T ratio = b.re / b.im;
    const T scale = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
  }
  [[gnu::always_inline]] constexpr Complex& operator+=(Complex b) { return *this = *this + b; }
  [[gnu::always_inline]] friend constexpr bool operator==(Complex a, Complex b) {
    return (a.re == b.re) & (a.im == b.im);
  }
  [[gnu::always_inline]] friend constexpr bool operator!=(Complex a, Complex b) {
    return !(a == b);
  }
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

// The type of a number's parts.
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

}  // namespace tensorlike
