// The constants and the polynomials of the vector functions, as remez.py makes them.
#pragma once

#include "kernels/math_base.h"

namespace tensorlike {
namespace {
namespace vm {

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

}  // namespace vm
}  // namespace
}  // namespace tensorlike
