// The constants and the float polynomials of the vector functions, as coefficients.py makes them;
// those for double are generated from opdecl/formulas/coefficients.yaml.
#pragma once

#include "kernels/math_base.h"

namespace tensorlike {
namespace {
namespace vm {

template <class T>
struct Constants;

// clang-format off
// ---- printed by coefficients.py: begin ----
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
};

// exp(t) = 1 + t + t^2 P(t)
// for t in [-0.34661, 0.34661], with an error of 2^-27.98.
TL_INLINE float exp_tail(float t) {
  return poly(t, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558fp-5f, 0x1.1239e4p-7f, 0x1.6a25dp-10f);
}

// exp(t) - 1 = t + t^2 P(t)
// for t in [-0.34661, 0.34661], with an error of 2^-28.37.
TL_INLINE float expm1_tail(float t) {
  return poly(t, 0x1p-1f, 0x1.555556p-3f, 0x1.55549ep-5f, 0x1.11101cp-7f, 0x1.6d8358p-10f,
              0x1.a2a4a2p-13f);
}

// exp2(t) = 1 + log(2) t + t^2 P(t)
// for t in [-0.50001, 0.50001], with an error of 2^-24.81.
TL_INLINE float exp2_tail(float t) {
  return poly(t, 0x1.ebfbdep-3f, 0x1.c6b042p-5f, 0x1.3b32f6p-7f, 0x1.5e72aap-10f, 0x1.391e6ap-13f);
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

// cos(r) = 1 - t / 2 + t^2 P(t), t = r^2
// for t in [9.0949e-13, 0.61697], with an error of 2^-32.56.
TL_INLINE float cos_tail(float t) {
  return poly(t, 0x1.55554ap-5f, -0x1.6c0c32p-10f, 0x1.99eb32p-16f);
}

// atan(r) = r + r t P(t), t = r^2
// for t in [9.0949e-13, 1.0], with an error of 2^-26.78.
TL_INLINE float atan_tail(float t) {
  return poly(t, -0x1.55553ep-2f, 0x1.9991fcp-3f, -0x1.2421b2p-3f, 0x1.c099e6p-4f, -0x1.583454p-4f,
              0x1.dac93cp-5f, -0x1.fed058p-6f, 0x1.65a582p-7f, -0x1.d62ed2p-10f);
}

// asin(r) = r + r t P(t), t = r^2
// for t in [9.0949e-13, 0.25], with an error of 2^-27.35.
TL_INLINE float asin_tail(float t) {
  return poly(t, 0x1.5555c8p-3f, 0x1.3301e4p-4f, 0x1.747e4ap-5f, 0x1.8c2834p-6f, 0x1.596d34p-5f);
}

// erf(x) = x + x P(t), t = x^2
// for t in [9.0949e-13, 1.0], with an error of 2^-28.78.
TL_INLINE float erf_small(float t) {
  return poly(t, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90ep-6f, 0x1.5405bp-8f,
              -0x1.a3f6eep-11f, 0x1.4969eap-14f);
}

// erf(2.5 + t) = 1 + P(t)
// for t in [-1.5, 1.43], with an error of 2^-24.82.
TL_INLINE float erf_large(float t) {
  return poly(t, -0x1.aab26ep-12f, 0x1.1d7bdap-9f, -0x1.64f4cp-8f, 0x1.11b92ap-7f, -0x1.1a4b34p-7f,
              0x1.8ff444p-8f, -0x1.717fe4p-9f, 0x1.2b52aap-11f, 0x1.2d5a22p-12f, -0x1.24c1bep-12f,
              0x1.01dea6p-14f, 0x1.61f68p-16f, -0x1.2fd4dcp-17f);
}

// erfc(x) = exp(-x^2) P(t) / (1 + 2 x), t = (x - 2.0) / (x + 2.0)
// for t in [-1.0, 0.66942], with an error of 2^-25.03.
TL_INLINE float erfc_scaled(float t) {
  return poly(t, 0x1.46e80ep+0f, -0x1.7bf616p-4f, -0x1.540848p-3f, 0x1.4ffc4p-3f, -0x1.bc0aa4p-5f,
              -0x1.081b22p-7f, 0x1.1ad7a6p-7f, 0x1.58549ep-10f, -0x1.4269d4p-10f, -0x1.a405e8p-12f);
}

// (1 - t)^(-1/3) = 1 + t P(t)
// for t in [-0.12, 0.12], with an error of 2^-12.37.
TL_INLINE float inverse_cbrt(float t) {
  return poly(t, 0x1.5a28cep-2f, 0x1.ca535cp-3f, -0x1.0c6774p-2f);
}

// ---- printed by coefficients.py: end ----
// clang-format on

#include "coefficients.inc"

}  // namespace vm
}  // namespace
}  // namespace tensorlike
