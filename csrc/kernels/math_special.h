// Special functions, in double: float goes through it, so that a float's worth of digits is left
// everywhere. Those with branches do not vectorise; sums end when a term no longer counts.
#pragma once

#include "kernels/scalar.h"

#define TL_INLINE [[gnu::always_inline]] inline  // scalar.h takes it away

namespace tensorlike {
namespace {
namespace vm {

constexpr double kSpecialInfinity = Traits<double>::kInfinity;
constexpr double kSpecialNan = Traits<double>::kNan;
constexpr double kHalfSqrtPi = 0x1.c5bf891b4ef6bp-1;
constexpr double kSqrt1_2Hi = 0x1.6a09e667f3bcdp-1, kSqrt1_2Lo = -0x1.bdd3413b26456p-55;
constexpr double kSqrt2 = 0x1.6a09e667f3bcdp+0;
constexpr double kSqrtPi = 0x1.c5bf891b4ef6bp+0;
constexpr double kTwoPi = 0x1.921fb54442d18p+2;

// exp(x^2) erfc(x) for x >= 0.
TL_INLINE double erfcx_of_positive(double x) {
  const double a = at_most(x, 27.0);
  const double t = (a + a) / (a + 3.5) - 1.0;
  const double divisor = mul_add(2.0, a, 1.0);
  const double lost = mul_add(2.0, a, 1.0 - divisor);
  const double near = erfc_scaled(t) / divisor * (1.0 - lost / divisor);
  const double z = 0.5 / x / x;
  const double rest = 1 - z * (1 - z * 3 * (1 - z * 5 * (1 - z * 7 * (1 - z * 9 * (1 - z * 11)))));
  return x < 27 ? near : rest / kSqrtPi / x;
}

TL_INLINE double exp_of_square(double x) {
  const Pair<double> square = two_product(x, x);
  const double power = vm::exp(square.hi);
  return power < kSpecialInfinity ? mul_add(power, square.lo, power) : power;
}

TL_INLINE double erfcx(double x) {
  const double positive = erfcx_of_positive(vm::abs(x));
  return x < 0 ? 2 * exp_of_square(x) - positive : (x == x ? positive : x);
}

// The share of the normal distribution below x: erfc's argument keeps what rounding takes.
TL_INLINE double ndtr(double x) {
  const Pair<double> a = two_product(-x, kSqrt1_2Hi);
  const double low = a.lo - x * kSqrt1_2Lo;
  const double slope = vm::exp(-a.hi * a.hi) / kHalfSqrtPi;
  const double moved = vm::abs(x) < 40 ? low * slope : 0.0;
  return 0.5 * (vm::erfc(a.hi) - moved);
}

// x where erfc(x) = q, for 0 < q <= 1/2: an approximation, then Halley's method.
inline double erfc_inverse(double q) {
  const double s = vm::sqrt(-vm::log(q));
  double x = s * erfc_inverse_start(1 / (1 + s));
  for (int step = 0; step < 2; ++step) {
    const double power = vm::exp(0.5 * x * x);
    const double newton = kHalfSqrtPi * (erfcx_of_positive(x) - q * power * power);
    x += newton / (1 - x * newton);
  }
  return x;
}

// As far as the inverse is below 1/2, where the errors of a step from 1 - |x| would be twice as
// many units, and a little further.
constexpr double kErfinvMiddle = 0.5625;

inline double erfinv(double x) {
  const double a = vm::abs(x);
  if (!(a <= 1)) return kSpecialNan;
  if (a <= kErfinvMiddle) return x * erfinv_middle(x * x);
  return vm::copysign(a == 1 ? kSpecialInfinity : erfc_inverse(1 - a), x);
}

inline double ndtri(double p) {
  if (!(p >= 0) || p > 1) return kSpecialNan;
  if (p == 0 || p == 1) return p == 0 ? -kSpecialInfinity : kSpecialInfinity;
  const double y = 2 * p - 1;
  if (vm::abs(y) <= kErfinvMiddle) {
    return kSqrt2 * (y * erfinv_middle(y * y));
  }
  const double tail = kSqrt2 * erfc_inverse(2 * (p < 0.5 ? p : 1 - p));
  return p < 0.5 ? -tail : tail;
}

TL_INLINE double i0(double x) {
  const double a = vm::abs(x), t = 0.25 * a * a;
  const double near = mul_add(t, i0_near(at_most(t, 16.0)), 1.0);
  const double power = vm::exp(0.5 * a);
  const double far = power * (i0e_far(8 / a) / vm::sqrt(a)) * power;
  return a <= 8 ? near : (a == kSpecialInfinity ? a : far);
}
TL_INLINE double i0e(double x) {
  const double a = vm::abs(x), t = 0.25 * a * a;
  const double near = mul_add(t, i0_near(at_most(t, 16.0)), 1.0) * vm::exp(-a);
  return a <= 8 ? near : i0e_far(8 / a) / vm::sqrt(a);
}
TL_INLINE double i1(double x) {
  const double a = vm::abs(x), t = 0.25 * a * a;
  const double near = 0.5 * a * mul_add(t, i1_near(at_most(t, 16.0)), 1.0);
  const double power = vm::exp(0.5 * a);
  const double far = power * (i1e_far(8 / a) / vm::sqrt(a)) * power;
  return vm::copysign(a <= 8 ? near : (a == kSpecialInfinity ? a : far), x);
}
TL_INLINE double i1e(double x) {
  const double a = vm::abs(x), t = 0.25 * a * a;
  const double near = 0.5 * a * mul_add(t, i1_near(at_most(t, 16.0)), 1.0) * vm::exp(-a);
  return vm::copysign(a <= 8 ? near : i1e_far(8 / a) / vm::sqrt(a), x);
}

// sqrt(2 / (pi x)) (p cos(x - shift) - q sin(x - shift)), where the cosine and the sine of x differ
// from those of x - shift by a turn of 45 degrees.
inline double bessel_far(double x, double p, double q, bool is_first) {
  const double sine = vm::sin_needs_slow(x) ? vm::sin_slow(x) : vm::sin(x);
  const double cosine = vm::cos_needs_slow(x) ? vm::cos_slow(x) : vm::cos(x);
  const double even = is_first ? sine - cosine : cosine + sine;
  const double odd = is_first ? -(cosine + sine) : sine - cosine;
  return (p * even - q / x * odd) / (kSqrtPi * vm::sqrt(x));
}

inline double bessel_j0(double x) {
  const double a = vm::abs(x);
  if (a == kSpecialInfinity) return 0;
  if (a > 5) return bessel_far(a, j0_p(25 / (a * a)), j0_q(25 / (a * a)), false);
  const double z = (a - kJ0ZeroHi - kJ0ZeroLo) * (a + kJ0ZeroHi);
  return a == a ? z * j0_near(a * a / 12.5 - 1) : a;
}

inline double bessel_j1(double x) {
  const double a = vm::abs(x);
  if (a == kSpecialInfinity) return vm::copysign(0.0, x);
  if (a > 5) {
    return vm::copysign(1.0, x) * bessel_far(a, j1_p(25 / (a * a)), j1_q(25 / (a * a)), true);
  }
  const double z = (a - kJ1ZeroHi - kJ1ZeroLo) * (a + kJ1ZeroHi);
  return x == x ? x * (z * j1_near(a * a / 12.5 - 1)) : x;
}

// B(2 k) / (2 k)!, of Euler's and Maclaurin's formula.
constexpr double kEulerMaclaurin[] = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0,
    43867.0 / 5109094217170944000.0,
    -174611.0 / 802857662698291200000.0,
};

// (q + k)^-x of the exact sum: what rounding takes from it counts x times.
inline double power_of_sum(double q, double k, double x) {
  const double total = q + k, part = total - q;
  const double lost = (q - (total - part)) + (k - part);
  return vm::pow(total, -x) * (1 - x * (lost / total));
}

inline double zeta(double x, double q) {
  if (x != x || q != q || x < 1) return kSpecialNan;
  if (x == 1) return kSpecialInfinity;
  if (q <= 0) return q == vm::floor(q) ? kSpecialInfinity : kSpecialNan;
  if (x == kSpecialInfinity) return q < 1 ? x : (q == 1 ? 1.0 : 0.0);
  // The other terms are below a unit; q^-x alone may be a denormal, with few digits.
  if (q > 1e20) return vm::pow(q, 1 - x) / (x - 1);
  constexpr int kTerms = 12;
  double head = 0;
  for (int k = kTerms; k-- > 1;) head += power_of_sum(q, k, x);  // the smallest first
  const double w = q + kTerms, last = power_of_sum(q, kTerms, x);
  double tail = 0;
  if (last > 0 && x < 400) {
    tail = w / (x - 1) + 0.5;
    double factor = x / w;
    for (int k = 0; k < 10; ++k) {
      tail += kEulerMaclaurin[k] * factor;
      factor *= (x + 2 * k + 1) * ((x + 2 * k + 2) / (w * w));
    }
  }
  return vm::pow(q, -x) + (last * tail + head);
}

// t - log(1 + t), without cancellation.
inline double minus_log1p(double t) {
  if (vm::abs(t) > 0.3) return t - vm::log1p(t);
  return t * t * mul_add(t, log1p_rest(t), 0.5);
}

// (x / a)^a exp(a - x), at most 1. Its logarithm is a difference of numbers as large as a, of which
// only the last digits are left; as a pair it keeps a double's worth of them.
inline double gamma_power(double a, double x) {
  const double log2e_hi = 0.5 * kTwoLog2eHi, log2e_lo = 0.5 * kTwoLog2eLo;
  const double ratio = x / a, mu = (x - a) / a;
  if (vm::abs(mu) < 0x1p-6) {
    // -a (mu - log(1 + mu)) = -(x - a) mu (1/2 + ...), where a - x has no error.
    const double difference = x - a;
    const Pair<double> back = two_product(mu, a);
    const double mu_low = ((difference - back.hi) - back.lo) / a;
    const Pair<double> square = two_product(difference, mu);
    const double square_low = square.lo + difference * mu_low;
    const Pair<double> factor = fast_two_sum(0.5, mu * log1p_rest(mu));
    const Pair<double> product = two_product(square.hi, factor.hi);
    const double low = product.lo + square.hi * factor.lo + square_low * factor.hi;
    const Pair<double> scaled = two_product(product.hi, log2e_hi);
    return exp2_of_pair(-scaled.hi, -(scaled.lo + product.hi * log2e_lo + low * log2e_hi));
  }
  if (a > 0x1p25) return 0;  // before what is as large as a overflows
  const Pair<double> log_ratio = log2_pair(ratio);
  const Pair<double> product = two_product(a, log_ratio.hi);
  const Pair<double> back = two_product(ratio, a);
  const double lost = ((x - back.hi) - back.lo) / ratio;  // a log(1 + what the ratio has lost)
  const double difference = a - x, grown = a - difference;
  const double difference_low = (a - (difference + grown)) + (grown - x);
  const Pair<double> scaled = two_product(difference, log2e_hi);
  const double low = product.lo + a * log_ratio.lo + scaled.lo + difference * log2e_lo +
                     (lost + difference_low) * log2e_hi;
  const double sum = product.hi + scaled.hi, part = sum - product.hi;
  const double sum_low = (product.hi - (sum - part)) + (scaled.hi - part);
  return exp2_of_pair(sum, sum_low + low);
}

// x^a exp(-x) / gamma(a + 1), for positive numbers.
inline double gamma_term(double a, double x) {
  if (a < 5) {
    const double root = vm::exp(-0.5 * x);  // exp(-x) may be denormal where the result is not
    if (root == 0) return 0;                // where the power may be infinite
    return vm::pow(x, a) * root / vm::exp(vm::lgamma(a + 1)) * root;
  }
  const double inverse = 1 / a;
  const double scaled = vm::exp(inverse * lgamma_large(inverse * inverse));
  return gamma_power(a, x) / (vm::sqrt(kTwoPi) * vm::sqrt(a) * scaled);
}

inline double gamma_density(double a, double x) {
  if (!(a >= 0 && x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return a == 0;
  if (std::isinf(a) || std::isinf(x)) return 0;
  return gamma_term(a, x);
}

// Temme's expansion around x = a, for large a: the lower function, or the upper one. The smaller
// of the two is a multiple of exp(-root^2).
inline double gamma_transition(double a, double x, bool is_upper) {
  const double mu = (x - a) / a;
  const double eta = vm::copysign(vm::sqrt(2 * minus_log1p(mu)), mu);
  const double rows[] = {temme_0(eta), temme_1(eta), temme_2(eta), temme_3(eta), temme_4(eta),
                         temme_5(eta), temme_6(eta), temme_7(eta), temme_8(eta)};
  double sum = 0;
  for (int k = 9; k-- > 0;) sum = sum / a + rows[k];
  const double rest = sum / vm::sqrt(kTwoPi * a);
  const double root = vm::abs(eta) * vm::sqrt(0.5 * a);
  const bool is_right = mu > 0;  // the upper function is the smaller one
  const double half = 0.5 * erfcx_of_positive(root);
  const double smaller = gamma_power(a, x) * (is_right ? half + rest : half - rest);
  return is_upper == is_right ? smaller : 1 - smaller;
}

inline double gamma_series(double a, double x) {
  double term = 1, sum = 1;
  for (int n = 1; n < 5000 && term > sum * 0x1p-54; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return gamma_term(a, x) * sum;
}

// The continued fraction of the upper function, from its end, so that errors do not add up; as many
// terms as a and x need, found by trying (x > 1.1 and x > a, where a < 200 or x > 1.3 a).
inline double gamma_fraction(double a, double x) {
  const double near = a / x;
  const double terms = 12 + 90 / x + 3 * vm::sqrt(a) * near * near;
  double rest = 0;
  for (int n = static_cast<int>(at_most(terms, 100.0)); n > 0; --n) {
    rest = n * (n - a) / (x - a + (2 * n + 1) - rest);
  }
  return gamma_term(a, x) * a / (x - a + 1 - rest);
}

// The upper function where x is small, without cancellation. What 1 + a loses counts: a may be
// small.
inline double gamma_upper_of_small(double a, double x) {
  double term = 1, sum = 0;
  for (int n = 1; n < 200; ++n) {
    term *= -x / n;
    const double part = term / (a + n);
    sum += part;
    if (vm::abs(part) <= vm::abs(sum) * 0x1p-55) break;
  }
  // 1 - x^a / gamma(1 + a) (1 + a sum)
  const double b = 1 + a, lost = a - (b - 1);
  const double log_power = a * vm::log(x) - (vm::lgamma(b) + lost * vm::digamma(b));
  return -vm::expm1(log_power) - a * sum * vm::exp(log_power);
}

inline double incomplete_gamma(double a, double x, bool is_upper) {
  if (a != a || x != x || a < 0 || x < 0) return kSpecialNan;
  if (a == 0) return x == 0 ? kSpecialNan : (is_upper ? 0.0 : 1.0);
  if (x == 0 || a == kSpecialInfinity) {
    return a == kSpecialInfinity && x == kSpecialInfinity ? kSpecialNan : (is_upper ? 1.0 : 0.0);
  }
  if (x == kSpecialInfinity) return is_upper ? 0.0 : 1.0;
  if (x > 2 * a + 2000) return is_upper ? 0.0 : 1.0;  // the upper function underflows
  if (a >= 200 && vm::abs(x - a) < 0.3 * a) return gamma_transition(a, x, is_upper);
  if (x > 1.1 && x > a) {
    const double upper = gamma_fraction(a, x);
    return is_upper ? upper : 1 - upper;
  }
  if (is_upper && x <= 1.1 && a < 1) return gamma_upper_of_small(a, x);
  const double lower = gamma_series(a, x);
  return is_upper ? 1 - lower : lower;
}

inline double igamma(double a, double x) { return incomplete_gamma(a, x, false); }
inline double igammac(double a, double x) { return incomplete_gamma(a, x, true); }

}  // namespace vm
#undef TL_INLINE

#define TL_SPECIAL_1(name)                                                    \
  [[gnu::always_inline]] inline double name(double a) { return vm::name(a); } \
  [[gnu::always_inline]] inline float name(float a) {                         \
    return static_cast<float>(vm::name(static_cast<double>(a)));              \
  }
#define TL_SPECIAL_2(name)                                                               \
  inline double name(double a, double b) { return vm::name(a, b); }                      \
  inline float name(float a, float b) {                                                  \
    return static_cast<float>(vm::name(static_cast<double>(a), static_cast<double>(b))); \
  }
TL_SPECIAL_1(erfinv)
TL_SPECIAL_1(erfcx)
TL_SPECIAL_1(ndtr)
TL_SPECIAL_1(ndtri)
TL_SPECIAL_1(i0)
TL_SPECIAL_1(i0e)
TL_SPECIAL_1(i1)
TL_SPECIAL_1(i1e)
TL_SPECIAL_1(bessel_j0)
TL_SPECIAL_1(bessel_j1)
TL_SPECIAL_2(zeta)
TL_SPECIAL_2(gamma_density)
TL_SPECIAL_2(igamma)
TL_SPECIAL_2(igammac)
#undef TL_SPECIAL_1
#undef TL_SPECIAL_2

// Of the sizes, by Euclid's algorithm. The lowest integer wraps around, as its size does.
template <class T>
inline Wrapping<T> divisor_of(Wrapping<T> a, Wrapping<T> b) {
  while (b != 0) {
    const Wrapping<T> rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
template <class T>
inline Wrapping<T> size_of(T a) {
  const auto wide = static_cast<Wrapping<T>>(a);
  return is_negative(a) ? Wrapping<T>(0) - wide : wide;
}
template <class T>
inline T gcd(T a, T b) {
  return static_cast<T>(divisor_of<T>(size_of(a), size_of(b)));
}
template <class T>
inline T lcm(T a, T b) {
  const Wrapping<T> divisor = divisor_of<T>(size_of(a), size_of(b));
  return divisor == 0 ? T(0) : static_cast<T>(size_of(a) / divisor * size_of(b));
}

}  // namespace
}  // namespace tensorlike
