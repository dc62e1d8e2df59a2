#include "kernels/complex_math.h"

#include <cmath>
#include <complex>
#include <numbers>

namespace tensorlike::cm {
namespace {

template <class T>
using Std = std::complex<T>;

template <class T>
Std<T> rsqrt(Std<T> z) {
  return T(1) / std::sqrt(z);
}

template <class T>
Std<T> exp2(Std<T> z) {
  const T size = std::exp2(z.real());
  const T angle = z.imag() * std::numbers::ln2_v<T>;
  if (z.imag() == 0) return {size, z.imag()};
  return {size * std::cos(angle), size * std::sin(angle)};
}

// exp(x) cos(y) - 1 without cancellation: expm1(x) cos(y) + (cos(y) - 1).
template <class T>
Std<T> expm1(Std<T> z) {
  const T x = z.real();
  const T y = z.imag();
  if (!std::isfinite(x) || !std::isfinite(y)) return std::exp(z) - T(1);
  const T half = std::sin(y / 2);
  const T cosine = std::cos(y);
  const T grown = std::expm1(x);
  return {grown * cosine - 2 * half * half, (grown + 1) * std::sin(y)};
}

// log |1 + z| = log1p(x (2 + x) + y * y) / 2.
template <class T>
Std<T> log1p(Std<T> z) {
  const T x = z.real();
  const T y = z.imag();
  const T moved = x + 1;
  if (!(std::abs(x) < T(0.5)) || !(std::abs(y) < T(0.5))) return std::log(Std<T>(moved, y));
  return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, moved)};
}

template <class T>
Std<T> log2(Std<T> z) {
  const Std<T> natural = std::log(z);
  return {natural.real() * std::numbers::log2e_v<T>, natural.imag() * std::numbers::log2e_v<T>};
}

using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atanh;
using std::cos;
using std::cosh;
using std::exp;
using std::log;
using std::log10;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;

template <class T>
Complex<T> back(Std<T> z) {
  return {z.real(), z.imag()};
}

}  // namespace

#define TL_DEFINE(name)                                                                \
  Complex<float> name(Complex<float> z) { return back(name(Std<float>(z.re, z.im))); } \
  Complex<double> name(Complex<double> z) { return back(name(Std<double>(z.re, z.im))); }
TL_COMPLEX_FUNCTIONS(TL_DEFINE)
#undef TL_DEFINE

// Whole small exponents are exact products, as NumPy's.
template <class T>
static Complex<T> power(Complex<T> x, Complex<T> y) {
  const int n = static_cast<int>(y.re);
  if (y.im == 0 && y.re == static_cast<T>(n) && n > -100 && n < 100) {
    Complex<T> out(T(1), T(0));
    Complex<T> base = x;
    for (int left = n < 0 ? -n : n; left > 0; left >>= 1) {
      if ((left & 1) != 0) out = out * base;
      base = base * base;
    }
    return n < 0 ? Complex<T>(T(1), T(0)) / out : out;
  }
  return back(std::pow(Std<T>(x.re, x.im), Std<T>(y.re, y.im)));
}
Complex<float> pow(Complex<float> x, Complex<float> y) { return power(x, y); }
Complex<double> pow(Complex<double> x, Complex<double> y) { return power(x, y); }

}  // namespace tensorlike::cm
