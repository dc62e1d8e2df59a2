// Branch-free scalar math functions, vm::exp(x), vm::pow(x, y), ..., for float and double, which
// gcc vectorises inside plain loops (-O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast).
// Ours and not libm's, because calls do not vectorise, and libm's bits differ between systems. At
// most 1 to 2 ulp for most and 4 for all (tests/csrc/test_math.cpp has the bounds), and right for
// NaN, infinities, signed zeros and denormals. In an anonymous namespace, because the header is
// compiled once per instruction set: merged copies would leak AVX-512 into the baseline.
//
// Slow paths. vm::sin, vm::cos, vm::tan (huge |x|) and vm::remainder (huge quotient) are wrong for
// rare arguments, so that the common loop vectorises. For each of these names there are
// name_needs_slow(x...) (vectorises) and name_slow(x...) (scalar, for any argument). The declared
// functions use them with scalar.h's Watch. Another loop goes through vm::map_with_slow_path, which
// does element by element a block that needs it; y may be x itself:
//   vm::map_with_slow_path(n, [&](std::size_t i) { return vm::sin_needs_slow(x[i]); },
//                          [&](std::size_t i) { y[i] = vm::sin(x[i]); },
//                          [&](std::size_t i) { y[i] = vm::sin_slow(x[i]); });
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#define TL_INLINE [[gnu::always_inline]] inline

namespace tensorlike {
namespace {
namespace vm {

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr bool kHasFma = true;
#else
constexpr bool kHasFma = false;
#endif

template <class T>
struct Traits;

template <>
struct Traits<float> {
  using Uint = std::uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr Uint kBias = 127;
  static constexpr float kInfinity = __builtin_inff();
  static constexpr float kNan = __builtin_nanf("");
  static constexpr float kMinNormal = 0x1p-126f;
  static constexpr float kSplitter = 0x1p12f + 1;
};

template <>
struct Traits<double> {
  using Uint = std::uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr Uint kBias = 1023;
  static constexpr double kInfinity = __builtin_inf();
  static constexpr double kNan = __builtin_nan("");
  static constexpr double kMinNormal = 0x1p-1022;
  static constexpr double kSplitter = 0x1p27 + 1;
};

template <class T>
concept Real = requires { typename Traits<T>::Uint; };
template <Real T>
using Uint = typename Traits<T>::Uint;

// Adding kMagic<T> to |t| < 2^21 (2^50) rounds t to an integer, which is then in the low bits.
template <Real T>
constexpr T kMagic = static_cast<T>(3) * (Uint<T>{1} << (Traits<T>::kMantissaBits - 1));
template <Real T>
constexpr Uint<T> kSignBit = Uint<T>{1} << (sizeof(T) * 8 - 1);
template <Real T>
constexpr Uint<T> kMantissaMask = (Uint<T>{1} << Traits<T>::kMantissaBits) - 1;

template <Real T>
TL_INLINE constexpr Uint<T> to_bits(T x) {
  return __builtin_bit_cast(Uint<T>, x);
}
template <Real T>
TL_INLINE constexpr T from_bits(Uint<T> bits) {
  return __builtin_bit_cast(T, bits);
}

TL_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
TL_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

// x * y + z with one rounding where that is free, else with two.
template <Real T>
TL_INLINE T mul_add(T x, T y, T z) {
  if constexpr (kHasFma) {
    return vm::fma(x, y, z);
  } else {
    return x * y + z;
  }
}

// c0 + c1 t + c2 t^2 + ...
template <Real T>
TL_INLINE T poly(T, T c0) {
  return c0;
}
template <Real T, class... Rest>
TL_INLINE T poly(T t, T c0, Rest... rest) {
  return mul_add(t, poly(t, rest...), c0);
}

template <class T>
struct Constants;

// clang-format off
// ---- printed by remez.py: begin ----
template <>
struct Constants<float> {
  // log2(e).
  static constexpr float kLog2e = 0x1.715476p+0f;
  // log(2); n Hi is exact for every exponent n.
  static constexpr float kLn2Hi = 0x1.62e4p-1f;
  static constexpr float kLn2Lo = 0x1.7f7d1cp-20f;
  // log10(e).
  static constexpr float kLog10e = 0x1.bcb7b2p-2f;
  // log(2).
  static constexpr float kLn2Rounded = 0x1.62e43p-1f;
  // 2 / pi.
  static constexpr float kTwoOverPi = 0x1.45f306p-1f;
  // pi / 2 in three full parts.
  static constexpr float kHalfPi1 = 0x1.921fb4p+0f;
  static constexpr float kHalfPi2 = 0x1.4442dp-24f;
  static constexpr float kHalfPi3 = 0x1.84698ap-48f;
  // pi / 4; n Hi is exact for n <= 4.
  static constexpr float kQuarterPiHi = 0x1.921fbp-1f;
  static constexpr float kQuarterPiLo = 0x1.5110b4p-23f;
  // log10(2); n Hi is exact for every exponent n.
  static constexpr float kLog10Of2Hi = 0x1.344p-2f;
  static constexpr float kLog10Of2Lo = 0x1.3509f8p-18f;
};

template <>
struct Constants<double> {
  // log2(e).
  static constexpr double kLog2e = 0x1.71547652b82fep+0;
  // log(2); n Hi is exact for every exponent n.
  static constexpr double kLn2Hi = 0x1.62e42fefa3p-1;
  static constexpr double kLn2Lo = 0x1.3de6af278ece6p-42;
  // log10(e).
  static constexpr double kLog10e = 0x1.bcb7b1526e50ep-2;
  // log(2).
  static constexpr double kLn2Rounded = 0x1.62e42fefa39efp-1;
  // 2 / pi.
  static constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  // pi / 2 in three full parts.
  static constexpr double kHalfPi1 = 0x1.921fb54442d18p+0;
  static constexpr double kHalfPi2 = 0x1.1a62633145c06p-54;
  static constexpr double kHalfPi3 = 0x1.c1cd129024e09p-107;
  // pi / 4; n Hi is exact for n <= 4.
  static constexpr double kQuarterPiHi = 0x1.921fb54442d18p-1;
  static constexpr double kQuarterPiLo = 0x1.1a62633145c07p-55;
  // log10(2); n Hi is exact for every exponent n.
  static constexpr double kLog10Of2Hi = 0x1.34413509f7p-2;
  static constexpr double kLog10Of2Lo = 0x1.3fde623e2566bp-43;
  // log2(e); f Hi is exact where f has 32 bits.
  static constexpr double kLog2eSplitHi = 0x1.71546p+0;
  static constexpr double kLog2eSplitLo = 0x1.652b82fe1777dp-20;
  // log10(e); f Hi is exact where f has 32 bits.
  static constexpr double kLog10eSplitHi = 0x1.bcb7ap-2;
  static constexpr double kLog10eSplitLo = 0x1.1526e50e32a6bp-22;
  // pi / 2; n times a part is exact for n < 2^20.
  static constexpr double kHalfPiCut1 = 0x1.921fb544p+0;
  static constexpr double kHalfPiCut2 = 0x1.0b4611a6p-34;
  static constexpr double kHalfPiCut3 = 0x1.3198a2ep-69;
  static constexpr double kHalfPiCut4 = 0x1.b839a252049c1p-104;
  // 2 log2(e).
  static constexpr double kTwoLog2eHi = 0x1.71547652b82fep+1;
  static constexpr double kTwoLog2eLo = 0x1.777d0ffda0d24p-55;
  // 1 / 3.
  static constexpr double kThirdHi = 0x1.5555555555555p-2;
  static constexpr double kThirdLo = 0x1.5555555555555p-56;
};

// exp(t) = 1 + t + t^2 P(t)
// for t in [-0.34661, 0.34661], with an error of 2^-28.37.
TL_INLINE float exp_tail(float t) {
  return poly(t, 0x1p-1f, 0x1.555556p-3f, 0x1.55549ep-5f, 0x1.11101cp-7f, 0x1.6d8358p-10f,
              0x1.a2a4a2p-13f);
}

// exp(t) = 1 + t + t^2 P(t)
// for t in [-0.34661, 0.34661], with an error of 2^-56.2.
TL_INLINE double exp_tail(double t) {
  return poly(t, 0x1.0000000000001p-1, 0x1.5555555555557p-3, 0x1.5555555554d3ep-5,
              0x1.11111111100e7p-7, 0x1.6c16c16f09f47p-10, 0x1.a01a01abe2bbbp-13,
              0x1.a019f397aa10ap-16, 0x1.71de023fe7e13p-19, 0x1.28022409bdbdap-22,
              0x1.af4dcf64fb5cfp-26, 0x1.e6325f5bf1459p-30);
}

// exp2(t) = 1 + log(2) t + t^2 P(t)
// for t in [-0.50001, 0.50001], with an error of 2^-24.81.
TL_INLINE float exp2_tail(float t) {
  return poly(t, 0x1.ebfbdep-3f, 0x1.c6b042p-5f, 0x1.3b32f6p-7f, 0x1.5e72aap-10f, 0x1.391e6ap-13f);
}

// exp2(t) = 1 + log(2) t + t^2 P(t)
// for t in [-0.50001, 0.50001], with an error of 2^-58.49.
TL_INLINE double exp2_tail(double t) {
  return poly(t, 0x1.ebfbdff82c58ep-3, 0x1.c6b08d704a1d5p-5, 0x1.3b2ab6fba5154p-7,
              0x1.5d87fe7874149p-10, 0x1.430912f76aa35p-13, 0x1.ffcbfd4ab114ep-17,
              0x1.62c026db5fd88p-20, 0x1.b5232e751c32ep-24, 0x1.e4bca6b2f483fp-28,
              0x1.ec77c35917f49p-32, 0x1.df7431832c705p-36);
}

// log((1 + s) / (1 - s)) = 2 s + s t P(t), t = s^2
// for t in [9.0949e-13, 0.029437], with an error of 2^-58.97.
TL_INLINE double log_tail(double t) {
  return poly(t, 0x1.5555555555592p-1, 0x1.999999997fdc1p-2, 0x1.24924941f0ffp-2,
              0x1.c71c5209454dp-3, 0x1.74663ef5f3f5dp-3, 0x1.39a1b8acda327p-3,
              0x1.2f057d6adae86p-3);
}

// log(1 + t) = t - t^2 / 2 + t^3 P(t)
// for t in [-0.29289, 0.41421], with an error of 2^-26.95.
TL_INLINE float log_tail(float t) {
  return poly(t, 0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a00ap-3f, -0x1.547242p-3f, 0x1.22d9ecp-3f,
              -0x1.0d851ap-3f, 0x1.055cc2p-3f, -0x1.38b9ccp-4f);
}

// log2(1 + t) = log2(e) t + t P(t)
// for t in [-0.29289, 0.41421], with an error of 2^-26.58.
TL_INLINE float log2_tail(float t) {
  return poly(t, 0x1.49d576p-26f, -0x1.71547p-1f, 0x1.ec7096p-2f, -0x1.715a76p-2f, 0x1.277e3ap-2f,
              -0x1.eabc84p-3f, 0x1.a30558p-3f, -0x1.874bb4p-3f, 0x1.7d4b18p-3f, -0x1.c25fc6p-4f);
}

// log10(1 + t) = log10(e) t + t P(t)
// for t in [-0.29289, 0.41421], with an error of 2^-26.96.
TL_INLINE float log10_tail(float t) {
  return poly(t, -0x1.5bc44ap-27f, -0x1.bcb7aap-3f, 0x1.287a72p-3f, -0x1.bcbeecp-4f, 0x1.63cf2p-4f,
              -0x1.2773e6p-4f, 0x1.f88d28p-5f, -0x1.d72acp-5f, 0x1.cb1f78p-5f, -0x1.0f26f8p-5f);
}

// sin(r) = r + r t P(t), t = r^2
// for t in [9.0949e-13, 0.61697], with an error of 2^-26.86.
TL_INLINE float sin_tail(float t) {
  return poly(t, -0x1.555546p-3f, 0x1.11073ap-7f, -0x1.99438ap-13f);
}

// sin(r) = r + r t P(t), t = r^2
// for t in [9.0949e-13, 0.61697], with an error of 2^-56.41.
TL_INLINE double sin_tail(double t) {
  return poly(t, -0x1.5555555555548p-3, 0x1.111111110f7cap-7, -0x1.a01a019bfd1d3p-13,
              0x1.71de35670dcfap-19, -0x1.ae5e59eda96a6p-26, 0x1.5d8fa00c67442p-33);
}

// cos(r) = 1 - t / 2 + t^2 P(t), t = r^2
// for t in [9.0949e-13, 0.61697], with an error of 2^-32.56.
TL_INLINE float cos_tail(float t) {
  return poly(t, 0x1.55554ap-5f, -0x1.6c0c32p-10f, 0x1.99eb32p-16f);
}

// cos(r) = 1 - t / 2 + t^2 P(t), t = r^2
// for t in [9.0949e-13, 0.61697], with an error of 2^-59.61.
TL_INLINE double cos_tail(double t) {
  return poly(t, 0x1.555555555554bp-5, -0x1.6c16c16c14f8ap-10, 0x1.a01a019c8394dp-16,
              -0x1.27e4f7ea3a524p-22, 0x1.1ee9d7545bb1bp-29, -0x1.8fa466cb50596p-37);
}

// atan(r) = r + r t P(t), t = r^2
// for t in [9.0949e-13, 1.0], with an error of 2^-26.78.
TL_INLINE float atan_tail(float t) {
  return poly(t, -0x1.55553ep-2f, 0x1.9991fcp-3f, -0x1.2421b2p-3f, 0x1.c099e6p-4f, -0x1.583454p-4f,
              0x1.dac93cp-5f, -0x1.fed058p-6f, 0x1.65a582p-7f, -0x1.d62ed2p-10f);
}

// atan(r) = r + r t P(t), t = r^2
// for t in [9.0949e-13, 0.17157], with an error of 2^-57.38.
TL_INLINE double atan_tail(double t) {
  return poly(t, -0x1.555555555553dp-2, 0x1.99999999957cdp-3, -0x1.24924922aa4f9p-3,
              0x1.c71c70e50f13p-4, -0x1.745cf8c38ef35p-4, 0x1.3b111796fce0dp-4,
              -0x1.10eba8da4c0f8p-4, 0x1.df0e80e2bbc89p-5, -0x1.9ccf8069f0f91p-5,
              0x1.37ce1e8734359p-5, -0x1.255b2f772a97dp-6);
}

// asin(r) = r + r t P(t), t = r^2
// for t in [9.0949e-13, 0.25], with an error of 2^-27.35.
TL_INLINE float asin_tail(float t) {
  return poly(t, 0x1.5555c8p-3f, 0x1.3301e4p-4f, 0x1.747e4ap-5f, 0x1.8c2834p-6f, 0x1.596d34p-5f);
}

// asin(r) = r + r t P(t), t = r^2
// for t in [9.0949e-13, 0.25], with an error of 2^-55.65.
TL_INLINE double asin_tail(double t) {
  return poly(t, 0x1.5555555555391p-3, 0x1.333333336e73fp-4, 0x1.6db6db4281656p-5,
              0x1.f1c72c36faa6dp-6, 0x1.6e89f46b17561p-6, 0x1.1c6bdf5bab8dep-6,
              0x1.c6fdeae08706cp-7, 0x1.8ec205cf38223p-7, 0x1.abd6fa9eda272p-8,
              0x1.3fefe71ee5b43p-6, -0x1.09cc563ee57d4p-6, 0x1.056b4a68879a4p-5);
}

// erf(x) = x + x P(t), t = x^2
// for t in [9.0949e-13, 1.0], with an error of 2^-28.78.
TL_INLINE float erf_small(float t) {
  return poly(t, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90ep-6f, 0x1.5405bp-8f,
              -0x1.a3f6eep-11f, 0x1.4969eap-14f);
}

// erf(x) = x + x P(t), t = x^2
// for t in [9.0949e-13, 1.0], with an error of 2^-56.3.
TL_INLINE double erf_small(double t) {
  return poly(t, 0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b2p-4,
              -0x1.b82ce3128499fp-6, 0x1.565bcd0db0351p-8, -0x1.c02db3d8ee55ep-11,
              0x1.f9a321a13ff43p-14, -0x1.f4d1df3bcfae9p-17, 0x1.b9def1bda804bp-20,
              -0x1.5f1d37c9f472cp-23, 0x1.f7a41d0980032p-27, -0x1.386ae19c205efp-30,
              0x1.057a0194ec288p-34);
}

// erf(2.5 + t) = 1 + P(t)
// for t in [-1.5, 1.43], with an error of 2^-24.82.
TL_INLINE float erf_large(float t) {
  return poly(t, -0x1.aab26ep-12f, 0x1.1d7bdap-9f, -0x1.64f4cp-8f, 0x1.11b92ap-7f, -0x1.1a4b34p-7f,
              0x1.8ff444p-8f, -0x1.717fe4p-9f, 0x1.2b52aap-11f, 0x1.2d5a22p-12f, -0x1.24c1bep-12f,
              0x1.01dea6p-14f, 0x1.61f68p-16f, -0x1.2fd4dcp-17f);
}

// erf(t) = 1 - exp(P(t))
// for t in [1.0, 5.95], with an error of 2^-58.48.
TL_INLINE double erf_large(double t) {
  return poly(t, -0x1.81c47c9ab024dp-23, -0x1.20dd562df8ffcp+0, -0x1.45f42b5ec5b6bp-1,
              -0x1.a4da4cc01fa4dp-4, 0x1.38938eb01f43bp-6, 0x1.261fdf38e04adp-12,
              -0x1.cfbc7536372cdp-10, 0x1.502a4a41c1ed8p-11, -0x1.7811a23268a1ap-15,
              -0x1.271e4cba791fap-14, 0x1.79c812ae9b4ap-15, -0x1.150b282b5b47ep-16,
              0x1.225dc5bd8c11cp-18, -0x1.c89e7ed96732bp-21, 0x1.0dedfbf3b5656p-23,
              -0x1.d42be15681cc3p-27, 0x1.19ea978c294f2p-30, -0x1.a5d1ee59c680ep-35,
              0x1.27685e7910b1p-40);
}

// erfc(x) = exp(-x^2) P(t) / (1 + 2 x), t = (x - 2.0) / (x + 2.0)
// for t in [-1.0, 0.66942], with an error of 2^-25.03.
TL_INLINE float erfc_scaled(float t) {
  return poly(t, 0x1.46e80ep+0f, -0x1.7bf616p-4f, -0x1.540848p-3f, 0x1.4ffc4p-3f, -0x1.bc0aa4p-5f,
              -0x1.081b22p-7f, 0x1.1ad7a6p-7f, 0x1.58549ep-10f, -0x1.4269d4p-10f, -0x1.a405e8p-12f);
}

// erfc(x) = exp(-x^2) P(t) / (1 + 2 x), t = (x - 3.5) / (x + 3.5)
// for t in [-1.0, 0.77273], with an error of 2^-54.72.
TL_INLINE double erfc_scaled(double t) {
  return poly(t, 0x1.3e0a99a0ee914p+0, -0x1.1ebd220ea5937p-3, -0x1.59e2c284b0bfdp-7,
              0x1.8f702ec6b2ecfp-4, -0x1.d76830c355ee7p-4, 0x1.68610604785bep-4,
              -0x1.8ff5ef764a5fap-5, 0x1.38ec666ec3ccp-6, -0x1.143c4cdc46cd9p-8,
              -0x1.3cf364789a5e2p-12, 0x1.27e6713172e95p-11, -0x1.fda97246d39a8p-14,
              -0x1.66e5c60a3a845p-15, 0x1.970e145a08819p-16, 0x1.39329dc27ab04p-19,
              -0x1.002ce21963bd9p-18, -0x1.d49c0034769c5p-25, 0x1.442b63f20d9d3p-21,
              0x1.4c41261256388p-28, -0x1.9a842d86bb854p-24, -0x1.1fdb36a2e90aep-27,
              0x1.7fc5cbacf68d4p-27, 0x1.7546da4874feep-29);
}

// (1 - t)^(-1/3) = 1 + t P(t)
// for t in [-0.12, 0.12], with an error of 2^-12.37.
TL_INLINE float inverse_cbrt(float t) {
  return poly(t, 0x1.5a28cep-2f, 0x1.ca535cp-3f, -0x1.0c6774p-2f);
}

// (1 - t)^(-1/3) = 1 + t P(t)
// for t in [-0.12, 0.12], with an error of 2^-20.86.
TL_INLINE double inverse_cbrt(double t) {
  return poly(t, 0x1.554f946c9b81dp-2, 0x1.c7189c74e4f78p-3, 0x1.6e711e9aea676p-3,
              0x1.2b1f21a622361p-3, -0x1.b1c8ac46594fp-3);
}

// atanh(s) = s + s t (1/3 + t P(t)), t = s^2
// for t in [9.0949e-13, 0.029437], with an error of 2^-66.3.
TL_INLINE double pow_log_tail(double t) {
  return poly(t, 0x1.9999999999996p-3, 0x1.2492492493034p-3, 0x1.c71c71c5808a5p-4,
              0x1.745d183242fadp-4, 0x1.3b1362ba2b936p-4, 0x1.1120b50403d0cp-4,
              0x1.de33899a45e06p-5, 0x1.eb10517767897p-5);
}

// log2((1 + s) / (1 - s)) = s P(t), t = s^2
// for t in [9.0949e-13, 0.029437], with an error of 2^-37.79.
TL_INLINE double log2_for_float(double t) {
  return poly(t, 0x1.71547652bedd7p+1, 0x1.ec709d12ed127p-1, 0x1.27777fd4906ebp-1,
              0x1.a58d917ec916bp-2, 0x1.5ce7ba0969852p-2);
}

// exp2(t) = 1 + t P(t)
// for t in [-0.50001, 0.50001], with an error of 2^-28.54.
TL_INLINE double exp2_for_float(double t) {
  return poly(t, 0x1.62e431171b402p-1, 0x1.ebfbe2c28e595p-3, 0x1.c6ae7303073a5p-5,
              0x1.3b27110df694dp-7, 0x1.5f72676cbdd2p-10, 0x1.4709181892f1dp-13);
}

// ---- printed by remez.py: end ----
// clang-format on

TL_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
TL_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
TL_INLINE float floor(float x) { return __builtin_floorf(x); }
TL_INLINE double floor(double x) { return __builtin_floor(x); }
TL_INLINE float ceil(float x) { return __builtin_ceilf(x); }
TL_INLINE double ceil(double x) { return __builtin_ceil(x); }
TL_INLINE float trunc(float x) { return __builtin_truncf(x); }
TL_INLINE double trunc(double x) { return __builtin_trunc(x); }
TL_INLINE float round(float x) { return __builtin_rintf(x); }  // half to even
TL_INLINE double round(double x) { return __builtin_rint(x); }
TL_INLINE float abs(float x) { return __builtin_fabsf(x); }
TL_INLINE double abs(double x) { return __builtin_fabs(x); }

template <Real T>
TL_INLINE T copysign(T x, T sign) {
  return from_bits<T>((to_bits(x) & ~kSignBit<T>) | (to_bits(sign) & kSignBit<T>));
}

template <Real T>
TL_INLINE T rsqrt(T x) {
  return T{1} / vm::sqrt(x);
}

// Minimum and maximum that let a NaN in x through.
template <Real T>
TL_INLINE T at_most(T x, T bound) {
  return x > bound ? bound : x;
}
template <Real T>
TL_INLINE T at_least(T x, T bound) {
  return x < bound ? bound : x;
}

// hi + lo, with |lo| of the order of the rounding error of hi.
template <Real T>
struct Pair {
  T hi, lo;
};

// x + y exactly, where |x| >= |y| or x is 0.
template <Real T>
TL_INLINE Pair<T> fast_two_sum(T x, T y) {
  const T hi = x + y;
  return {hi, y - (hi - x)};
}

template <Real T>
TL_INLINE Pair<T> split_in_halves(T x) {
  const T c = x * Traits<T>::kSplitter;
  const T hi = c - (c - x);
  return {hi, x - hi};
}

// x * y exactly (no overflow on the way where |x|, |y| < 2^100, 2^990).
template <Real T>
TL_INLINE Pair<T> two_product(T x, T y) {
  const T hi = x * y;
  if constexpr (kHasFma) {
    return {hi, vm::fma(x, y, -hi)};
  } else {
    const Pair<T> a = split_in_halves(x), b = split_in_halves(y);
    return {hi, ((a.hi * b.hi - hi) + a.hi * b.lo + a.lo * b.hi) + a.lo * b.lo};
  }
}

// x - y z with one rounding, where y z is near x.
template <Real T>
TL_INLINE T minus_product(T x, T y, T z) {
  if constexpr (kHasFma) {
    return vm::fma(-y, z, x);
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<float>(static_cast<double>(x) - static_cast<double>(y) * z);
  } else {
    const Pair<T> product = two_product(y, z);
    return (x - product.hi) - product.lo;
  }
}

// ---- exponentials ----

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
  return r + mul_add(r * r, exp_tail(r), low);
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

template <Real T>
TL_INLINE T exp(T x) {
  constexpr bool single = sizeof(T) == 4;
  const T bounded = at_least(at_most(x, T(single ? 89 : 710)), T(single ? -105 : -746));
  const ExpReduction<T> e = reduce_exp(bounded);
  return scale(T{1} + expm1_reduced(e.r, T{0}), e.magic);
}

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

// (1 - e) / (1 + e) with e = exp(-2 |x|).
template <Real T>
TL_INLINE T tanh(T x) {
  const T doubled = T{-2} * at_most(vm::abs(x), T(sizeof(T) == 4 ? 10 : 20));
  const ExpReduction<T> e = reduce_exp(doubled);
  const T p = expm1_reduced(e.r, e.low);
  const T power = power_of_two(e.magic, 0);
  const T result = mul_add(-power, p, T{1} - power) / mul_add(power, p, T{1} + power);
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

// ---- logarithms ----

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

// log(1 + x) + extra log(2). The rounding error of 1 + x is scaled and added to the reduced
// argument, which is then x itself where no scaling happens.
template <Real T>
TL_INLINE T log1p_plus(T x, T extra) {
  const T u = T{1} + x;
  const T rest = u - x;
  const T error = (T{1} - rest) + (x - (u - rest));
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

template <Real T>
TL_INLINE T atanh(T x) {
  const T a = vm::abs(x);
  return copysign(T(0.5) * log1p_plus(T{2} * a / (T{1} - a), T{0}), x);
}

// ---- trigonometric functions ----

// |x| = n pi / 2 + r + low, |r| <= pi / 4; the low bits of quadrant are those of n.
template <Real T>
struct TrigReduction {
  T r, low;
  Uint<T> quadrant;
};

template <Real T>
constexpr T kTrigLimit = sizeof(T) == 4 ? T(0x1p17) : (kHasFma ? T(0x1p30) : T(1e6));

template <Real T>
TL_INLINE TrigReduction<T> reduce_trig(T a) {
  using C = Constants<T>;
  const T magic = mul_add(a, C::kTwoOverPi, kMagic<T>);
  const T n = magic - kMagic<T>;
  if constexpr (kHasFma) {
    const T high = vm::fma(-n, C::kHalfPi1, a);  // exact
    const Pair<T> second = two_product(n, C::kHalfPi2);
    const T r = high - second.hi;
    const T low = ((high - r) - second.hi) - second.lo;
    return {r, vm::fma(-n, C::kHalfPi3, low), to_bits(magic)};
  } else if constexpr (sizeof(T) == 4) {
    using D = Constants<double>;
    const double wide = static_cast<double>(n);
    const double r = (static_cast<double>(a) - wide * D::kHalfPiCut1) - wide * D::kHalfPiCut2;
    return {static_cast<float>(r), 0.0f, to_bits(magic)};
  } else {
    const T high = a - n * C::kHalfPiCut1;  // exact, as is each product
    const T second = n * C::kHalfPiCut2, third = n * C::kHalfPiCut3;
    const T middle = high - second;
    const T r = middle - third;
    const T low = ((high - middle) - second) + ((middle - r) - third);
    return {r, low - n * C::kHalfPiCut4, to_bits(magic)};
  }
}

template <Real T>
struct SinCos {
  T sin, cos;
};

template <Real T>
TL_INLINE SinCos<T> sin_cos_reduced(T r, T low) {
  const T z = r * r, rough_cos = mul_add(z, T(-0.5), T{1});
  return {r + mul_add(r * z, sin_tail(z), low * rough_cos),
          rough_cos + mul_add(z * z, cos_tail(z), -r * low)};
}

// The sign bit of sin (which goes with bit 1 of the quadrant).
template <Real T>
TL_INLINE Uint<T> quadrant_sign(Uint<T> quadrant) {
  return (quadrant << (sizeof(T) * 8 - 2)) & kSignBit<T>;
}

template <Real T>
TL_INLINE T sin(T x) {
  const TrigReduction<T> t = reduce_trig(vm::abs(x));
  const SinCos<T> v = sin_cos_reduced(t.r, t.low);
  const T size = (t.quadrant & 1) != 0 ? v.cos : v.sin;
  return from_bits<T>(to_bits(size) ^ quadrant_sign<T>(t.quadrant) ^ (to_bits(x) & kSignBit<T>));
}

template <Real T>
TL_INLINE T cos(T x) {
  const TrigReduction<T> t = reduce_trig(vm::abs(x));
  const SinCos<T> v = sin_cos_reduced(t.r, t.low);
  const T size = (t.quadrant & 1) != 0 ? v.sin : v.cos;
  return from_bits<T>(to_bits(size) ^ quadrant_sign<T>(t.quadrant + 1));
}

template <Real T>
TL_INLINE T tan(T x) {
  const TrigReduction<T> t = reduce_trig(vm::abs(x));
  const SinCos<T> v = sin_cos_reduced(t.r, t.low);
  const bool is_odd = (t.quadrant & 1) != 0;
  const T size = (is_odd ? -v.cos : v.sin) / (is_odd ? v.sin : v.cos);
  return from_bits<T>(to_bits(size) ^ (to_bits(x) & kSignBit<T>));
}

// ---- inverse trigonometric functions ----

template <Real T>
TL_INLINE T atan_reduced(T t) {
  const T z = t * t;
  return mul_add(t * z, atan_tail(z), t);
}

// steps pi / 4 + angle.
template <Real T>
TL_INLINE T add_quarter_turns(T steps, T angle) {
  using C = Constants<T>;
  return mul_add(steps, C::kQuarterPiHi, mul_add(steps, C::kQuarterPiLo, angle));
}

TL_INLINE float atan(float x) {
  const float a = vm::abs(x);
  const bool is_big = a > 1;
  const float t = (is_big ? -1.0f : a) / (is_big ? a : 1.0f);
  return copysign(add_quarter_turns(is_big ? 2.0f : 0.0f, atan_reduced(t)), x);
}

// tan(a - pi / 4) = (a - 1) / (a + 1) brings the middle range, too, below tan(pi / 8).
TL_INLINE double atan(double x) {
  const double a = vm::abs(x);
  const bool is_big = a > 2.41421356237309504880, is_small = a <= 0.41421356237309504880;
  const double numerator = is_big ? -1 : (is_small ? a : a - 1);
  const double denominator = is_big ? a : (is_small ? 1 : a + 1);
  const double steps = is_big ? 2 : (is_small ? 0 : 1);
  return copysign(add_quarter_turns(steps, atan_reduced(numerator / denominator)), x);
}

// The angle in the first quadrant as steps pi / 4 + atan(numerator / denominator).
template <Real T>
struct Ratio {
  T numerator, denominator, steps;
};
TL_INLINE Ratio<float> atan_ratio(float smaller, float larger) { return {smaller, larger, 0}; }
TL_INLINE Ratio<double> atan_ratio(double smaller, double larger) {
  // smaller + larger may overflow, and the product with tan(pi / 8) be denormal.
  const double factor = larger > 0x1p1000 ? 0x1p-100 : (larger < 0x1p-900 ? 0x1p100 : 1);
  const double low = smaller * factor, high = larger * factor;
  const bool is_small = low <= 0.41421356237309504880 * high;
  return {is_small ? low : low - high, is_small ? high : low + high, is_small ? 0.0 : 1.0};
}

template <Real T>
TL_INLINE T atan2(T y, T x) {
  const T ax = vm::abs(x), ay = vm::abs(y);
  const bool is_steep = ay > ax;
  T larger = is_steep ? ay : ax, smaller = is_steep ? ax : ay;
  smaller =
      larger < Traits<T>::kInfinity ? smaller : (smaller < Traits<T>::kInfinity ? T{0} : T{1});
  larger = larger < Traits<T>::kInfinity ? (larger > T{0} ? larger : T{1}) : T{1};
  const Ratio<T> ratio = atan_ratio(smaller, larger);
  const T angle = atan_reduced(ratio.numerator / ratio.denominator);
  const bool is_left = (to_bits(x) & kSignBit<T>) != 0;
  const T steep_steps = is_steep ? T{2} - ratio.steps : ratio.steps;
  const T steps = is_left ? T{4} - steep_steps : steep_steps;
  const T steep_angle = is_steep ? -angle : angle;
  const T result = copysign(add_quarter_turns(steps, is_left ? -steep_angle : steep_angle), y);
  const T sum = x + y;
  return (x != x) | (y != y) ? sum : result;
}

// asin(a) for a <= 1/2, and asin(sqrt((1 - a) / 2)) above.
template <Real T>
TL_INLINE T asin_core(T a, bool is_big) {
  const T z = is_big ? T(0.5) * (T{1} - a) : a * a;
  const T t = is_big ? vm::sqrt(z) : a;
  return mul_add(t * z, asin_tail(z), t);
}

template <Real T>
TL_INLINE T asin(T x) {
  const T a = vm::abs(x);
  const bool is_big = a > T(0.5);
  const T core = asin_core(a, is_big);
  return copysign(add_quarter_turns(is_big ? T{2} : T{0}, is_big ? T{-2} * core : core), x);
}

template <Real T>
TL_INLINE T acos(T x) {
  const T a = vm::abs(x);
  const bool is_big = a > T(0.5);
  const T core = asin_core(a, is_big);
  const T signed_core = x < T{0} ? -core : core;
  const T big_steps = x < T{0} ? T{4} : T{0};
  return add_quarter_turns(is_big ? big_steps : T{2}, is_big ? T{2} * signed_core : -signed_core);
}

// ---- error function ----

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
  const T power = T{1} + expm1_reduced(e.r, e.low);
  const T t = (a + a) / (a + center) - T{1};  // (a - center) / (a + center), better for small a
  const T factor = erfc_scaled(t) / mul_add(T{2}, a, T{1});
  const T positive = scale(power * factor, e.magic);
  const T far = x < T{0} ? T{2} - positive : positive;
  // Near 0 the result is just under 1, where 1 - erf(x) loses nothing.
  const T near = T{1} - mul_add(x, erf_small(x * x), x);
  return vm::abs(x) < T(0.25) ? near : far;
}

// ---- powers and roots ----

// An approximate inverse cube root from dividing the exponent by 3, two polynomial steps, and a
// last Newton step on the root itself. x is positive and normal.
TL_INLINE float cbrt_of_normal(float x) {
  const float third = static_cast<float>(static_cast<std::int32_t>(to_bits(x))) * (1.0f / 3.0f);
  float inverse =
      from_bits<float>(0x54a21d2au - static_cast<std::uint32_t>(static_cast<std::int32_t>(third)));
  float error = 1.0f - (x * inverse) * (inverse * inverse);
  inverse += inverse * error * inverse_cbrt(error);
  error = 1.0f - (x * inverse) * (inverse * inverse);
  inverse += inverse * error * (1.0f / 3.0f);
  const float root = x * inverse * inverse;
  const Pair<float> square = two_product(root, root);
  const float residual = mul_add(square.hi, -root, x) - square.lo * root;
  return root + residual * (inverse * inverse) * (1.0f / 3.0f);
}

TL_INLINE double cbrt_of_normal(double x) {
  constexpr std::uint64_t integer = to_bits(0x1p52);
  const double top = from_bits<double>((to_bits(x) >> 32) | integer) - 0x1p52;
  const double start = (0x553ef0ff + 0x1p52) - top * (1.0 / 3.0);
  double inverse = from_bits<double>(to_bits(start) << 32);
  double error = 1 - (x * inverse) * (inverse * inverse);
  inverse += inverse * error * inverse_cbrt(error);
  error = 1 - (x * inverse) * (inverse * inverse);
  inverse += inverse * error * mul_add(error, 2.0 / 9.0, 1.0 / 3.0);
  const double root = x * inverse * inverse;
  const Pair<double> square = two_product(root, root), cube = two_product(square.hi, root);
  const double residual = (x - cube.hi) - (cube.lo + square.lo * root);
  return root + residual * (inverse * inverse) * (1.0 / 3.0);
}

template <Real T>
TL_INLINE T cbrt(T x) {
  const T a = vm::abs(x);
  const bool is_small = a<T(0x1p-60), is_big = a> T(0x1p60);
  const T before = is_small ? T(0x1p90) : (is_big ? T(0x1p-90) : T{1});
  const T after = is_small ? T(0x1p-30) : (is_big ? T(0x1p30) : T{1});
  const T result = copysign(cbrt_of_normal(a * before) * after, x);
  return a > T{0} ? (a < Traits<T>::kInfinity ? result : x) : x;
}

// Scaled by a power of two, so that neither square overflows nor both underflow.
template <Real T>
TL_INLINE T hypot(T x, T y) {
  constexpr bool single = sizeof(T) == 4;
  constexpr T huge = single ? T(0x1p60f) : T(0x1p500), step = single ? T(0x1p90f) : T(0x1p600);
  const T ax = vm::abs(x), ay = vm::abs(y), larger = ax > ay ? ax : ay;
  const bool is_big = larger > huge, is_small = larger < T{1} / huge;
  const T before = is_big ? T{1} / step : (is_small ? step : T{1});
  const T after = is_big ? step : (is_small ? T{1} / step : T{1});
  const T a = ax * before, b = ay * before;
  const T result = vm::sqrt(mul_add(a, a, b * b)) * after;
  const bool is_infinite = (ax == Traits<T>::kInfinity) | (ay == Traits<T>::kInfinity);
  return is_infinite ? Traits<T>::kInfinity : result;
}

// |x|^y in double, for float: log2 to 2^-37 is enough for an exponent of at most 150.
TL_INLINE float pow_of_abs(float a, float y) {
  const LogReduction<double> m = reduce_log_of_normal(static_cast<double>(a));
  const double s = m.f / (2 + m.f);
  const double exponent = static_cast<double>(y) * mul_add(s, log2_for_float(s * s), m.k);
  const double bounded = at_least(at_most(exponent, 200.0), -200.0);
  const double magic = bounded + kMagic<double>;
  const double r = bounded - (magic - kMagic<double>);
  return static_cast<float>(mul_add(r, exp2_for_float(r), 1.0) * power_of_two(magic, 0));
}

// log2(x) to about 2^-65: s = f / (2 + f) and the first two terms of atanh(s) as pairs.
TL_INLINE Pair<double> log2_pair(double x) {
  using C = Constants<double>;
  const LogReduction<double> m = reduce_log(x);
  const Pair<double> denominator = fast_two_sum(2.0, m.f);
  const double inverse = 1 / denominator.hi, s = m.f * inverse;
  const Pair<double> back = two_product(s, denominator.hi);
  const double s_low = (((m.f - back.hi) - back.lo) - s * denominator.lo) * inverse;
  const Pair<double> square = two_product(s, s);
  const double square_low = square.lo + 2 * s * s_low;
  const double tail = mul_add(square.hi, pow_log_tail(square.hi), C::kThirdLo);
  const Pair<double> third = fast_two_sum(C::kThirdHi, tail);
  const Pair<double> cubic = two_product(square.hi, third.hi);
  const double cubic_low = cubic.lo + (square.hi * third.lo + square_low * third.hi);
  const Pair<double> product = two_product(s, cubic.hi);
  const double product_low = product.lo + (s * cubic_low + s_low * cubic.hi);
  const Pair<double> sum = fast_two_sum(s, product.hi);
  const double sum_low = sum.lo + (s_low + product_low);
  const Pair<double> scaled = two_product(sum.hi, C::kTwoLog2eHi);
  const double scaled_low = scaled.lo + (sum.hi * C::kTwoLog2eLo + sum_low * C::kTwoLog2eHi);
  const Pair<double> result = fast_two_sum(m.k, scaled.hi);
  return fast_two_sum(result.hi, result.lo + scaled_low);
}

TL_INLINE double pow_of_abs(double a, double y) {
  const Pair<double> l = log2_pair(a);
  const double bounded_y = at_least(at_most(y, 0x1p80), -0x1p80);
  const Pair<double> product = two_product(bounded_y, l.hi);
  const double bounded = at_least(at_most(product.hi, 1100.0), -1100.0);
  const double low = vm::abs(product.hi) < 1100 ? product.lo + bounded_y * l.lo : 0.0;
  const double magic = bounded + kMagic<double>;
  const double r = (bounded - (magic - kMagic<double>)) + low;
  return scale(exp2_reduced(r), magic);
}

// The special cases of C99: pow(x, 0) = pow(1, y) = 1 even for NaN, and so on.
template <Real T>
TL_INLINE T pow(T x, T y) {
  constexpr T infinity = Traits<T>::kInfinity;
  const T a = vm::abs(x), half = T(0.5) * y;
  const bool is_integer = vm::floor(y) == y;
  const bool is_odd = is_integer & (vm::floor(half) != half);
  const T extreme = (y < T{0}) == (a == T{0}) ? infinity : T{0};
  const T finite = pow_of_abs(a, y);
  T size = (a == T{0}) | (a == infinity) ? extreme : finite;
  size = (x < T{0}) & (a < infinity) & !is_integer ? Traits<T>::kNan : size;
  size = (x != x) | (y != y) ? x + y : size;
  const bool is_one = (y == T{0}) | (x == T{1}) | ((x == T{-1}) & (vm::abs(y) == infinity));
  const T flipped = from_bits<T>(to_bits(size) ^ (is_odd ? to_bits(x) & kSignBit<T> : Uint<T>{0}));
  return is_one ? T{1} : flipped;
}

// ---- remainder with the sign of the divisor (Python's %) ----

// x - trunc(x / y) y, exact where remainder_needs_slow is false.
TL_INLINE float fmod_fast(float x, float y) {
  const double wide_x = x, wide_y = y;
  return static_cast<float>(mul_add(-vm::trunc(wide_x / wide_y), wide_y, wide_x));
}
TL_INLINE double fmod_fast(double x, double y) { return minus_product(x, vm::trunc(x / y), y); }

// x, or x + step where x is not 0 and its sign is not that of `like`.
template <Real T>
TL_INLINE T move_to_sign(T x, T like, T step) {
  const Uint<T> differs = (to_bits(x) ^ to_bits(like)) & kSignBit<T>;
  const T moved = differs != 0 ? x + step : x;
  return x == T{0} ? x : moved;
}

template <Real T>
TL_INLINE T remainder(T x, T y) {
  // The quotient may have been rounded up to an integer: then the sign is not that of x.
  const T exact = move_to_sign(fmod_fast(x, y), x, copysign(y, x));
  const T bounded_x = vm::abs(x) < Traits<T>::kInfinity ? x : Traits<T>::kNan;
  const T rest = vm::abs(y) < Traits<T>::kInfinity ? exact : (y == y ? bounded_x : y);
  const T result = move_to_sign(rest, y, y);
  return result == T{0} ? copysign(T{0}, y) : result;
}

// Where the quotient does not fit the fast formula (2^28 y is exact in double, and 2^51 y nearly).
TL_INLINE bool remainder_needs_slow(float x, float y) { return vm::abs(x) > 0x1p28f * vm::abs(y); }
TL_INLINE bool remainder_needs_slow(double x, double y) {
  const bool is_far = vm::abs(x) > 0x1p51 * vm::abs(y);
  if constexpr (kHasFma) return is_far;
  return is_far | (vm::abs(x) > 0x1p990) | (vm::abs(y) > 0x1p990);  // two_product would overflow
}

[[gnu::noinline, maybe_unused]] float remainder_slow(float x, float y) {
  const float rest = ::fmodf(x, y);
  if (rest == 0) return copysign(0.0f, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
[[gnu::noinline, maybe_unused]] double remainder_slow(double x, double y) {
  const double rest = ::fmod(x, y);
  if (rest == 0) return copysign(0.0, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

// ---- slow paths ----

template <Real T>
TL_INLINE bool sin_needs_slow(T x) {
  return vm::abs(x) > kTrigLimit<T>;
}
template <Real T>
TL_INLINE bool cos_needs_slow(T x) {
  return sin_needs_slow(x);
}
template <Real T>
TL_INLINE bool tan_needs_slow(T x) {
  return sin_needs_slow(x);
}
[[gnu::noinline, maybe_unused]] float sin_slow(float x) { return ::sinf(x); }
[[gnu::noinline, maybe_unused]] double sin_slow(double x) { return ::sin(x); }
[[gnu::noinline, maybe_unused]] float cos_slow(float x) { return ::cosf(x); }
[[gnu::noinline, maybe_unused]] double cos_slow(double x) { return ::cos(x); }
[[gnu::noinline, maybe_unused]] float tan_slow(float x) { return ::tanf(x); }
[[gnu::noinline, maybe_unused]] double tan_slow(double x) { return ::tan(x); }

// Calls fast(i) for i < n, but slow(i) where needs_slow(i). The calls must be independent of each
// other, so that the compiler need not check whether input and output overlap.
template <class NeedsSlow, class Fast, class Slow>
TL_INLINE void map_with_slow_path(std::size_t n, NeedsSlow needs_slow, Fast fast, Slow slow) {
  constexpr std::size_t block = 256;
  for (std::size_t start = 0; start < n; start += block) {
    const std::size_t stop = n - start < block ? n : start + block;
    unsigned any = 0;
    for (std::size_t i = start; i < stop; ++i) any |= needs_slow(i) ? 1u : 0u;
    if (any == 0) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
      for (std::size_t i = start; i < stop; ++i) fast(i);
    } else {
      for (std::size_t i = start; i < stop; ++i) needs_slow(i) ? slow(i) : fast(i);
    }
  }
}

}  // namespace vm
}  // namespace
}  // namespace tensorlike

#undef TL_INLINE
