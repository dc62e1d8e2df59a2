// The constants and the polynomials of the vector functions, as coefficients.py makes them.
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
  // 2 log2(e).
  static constexpr double kTwoLog2eHi = 0x1.71547652b82fep+1;
  static constexpr double kTwoLog2eLo = 0x1.777d0ffda0d24p-55;
  // 1 / 3.
  static constexpr double kThirdHi = 0x1.5555555555555p-2;
  static constexpr double kThirdLo = 0x1.5555555555555p-56;
  // pi.
  static constexpr double kPiHi = 0x1.921fb54442d18p+1;
  static constexpr double kPiLo = 0x1.1a62633145c07p-53;
  // the positive zero of digamma.
  static constexpr double kDigammaZeroHi = 0x1.762d86356be3fp+0;
  static constexpr double kDigammaZeroLo = 0x1.b86a722197829p-54;
  // log(2 pi / e) / 2.
  static constexpr double kHalfLog2PiOverE = 0x1.acfe390c97d69p-2;
};

// exp(t) = 1 + t + t^2 P(t)
// for t in [-0.34661, 0.34661], with an error of 2^-27.98.
TL_INLINE float exp_tail(float t) {
  return poly(t, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558fp-5f, 0x1.1239e4p-7f, 0x1.6a25dp-10f);
}

// exp(t) = 1 + t + t^2 P(t)
// for t in [-0.34661, 0.34661], with an error of 2^-56.34.
TL_INLINE double exp_tail(double t) {
  return poly(t, 0x1.000000000000ap-1, 0x1.55555555554fap-3, 0x1.5555555550879p-5,
              0x1.1111111127af5p-7, 0x1.6c16c1842aab4p-10, 0x1.a01a012aaa6fp-13,
              0x1.a0199a0ad0704p-16, 0x1.71df249aba791p-19, 0x1.28ad744252ed9p-22,
              0x1.ad808c8faa6fap-26);
}

// exp(t) - 1 = t + t^2 P(t)
// for t in [-0.34661, 0.34661], with an error of 2^-28.37.
TL_INLINE float expm1_tail(float t) {
  return poly(t, 0x1p-1f, 0x1.555556p-3f, 0x1.55549ep-5f, 0x1.11101cp-7f, 0x1.6d8358p-10f,
              0x1.a2a4a2p-13f);
}

// exp(t) - 1 = t + t^2 P(t)
// for t in [-0.34661, 0.34661], with an error of 2^-56.2.
TL_INLINE double expm1_tail(double t) {
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

// lgamma(x) = (x - 1) (x - 2) (0.5 + P(t)), t = (x - 1.625) / (x + 1.625)
// for t in [-0.46067, 0.47791], with an error of 2^-55.24.
TL_INLINE double lgamma_middle(double t) {
  return poly(t, -0x1.1816632bbffd3p-5, -0x1.b5e5170d6dd79p-2, 0x1.059bbeec251b5p-3,
              -0x1.2df5897785c93p-3, 0x1.5b087f19f308p-4, -0x1.76ec8d3b70094p-4,
              0x1.0408ed1f4b73fp-4, -0x1.11426e4d83f9ep-4, 0x1.9f52670a591acp-5,
              -0x1.ae815b630be07p-5, 0x1.598415fe51981p-5, -0x1.634e1b65d6008p-5,
              0x1.27be04e00f366p-5, -0x1.2ea43054bf6bap-5, 0x1.02692744502cfp-5,
              -0x1.0679610c3f03dp-5, 0x1.cbca01b2449fp-6, -0x1.e38c88a0dbe78p-6,
              0x1.9b79d6997451fp-6, -0x1.42ef1b0ebf8a3p-6, 0x1.688d95ce24162p-6,
              -0x1.7479487443d79p-5, 0x1.d73028a4c00f3p-6, 0x1.017e29f2934d4p-5,
              -0x1.0f5682676c508p-7, -0x1.5990fcd84a992p-4, 0x1.0082ae8724d61p-4);
}

// lgamma(x) = (x - 1/2) (log(x) - 1) + log(2 pi / e) / 2 + P(t) / x, t = 1 / x^2
// for t in [1.0e-8, 0.047259], with an error of 2^-60.66.
TL_INLINE double lgamma_large(double t) {
  return poly(t, 0x1.555555555554cp-4, -0x1.6c16c16bde444p-9, 0x1.a01a00b37c57cp-11,
              -0x1.381303624d21cp-11, 0x1.b92adcae5c54ep-11, -0x1.f2e3a8fe5d9fdp-10,
              0x1.85d911369cb5fp-8, -0x1.45460264442a1p-6, 0x1.63ffbb8bba5a7p-5);
}

// digamma(x) = (x - zero) (0.75 + P(t)), t = (x - 2.25) / (x + 2.25)
// for t in [-0.38462, 0.37931], with an error of 2^-55.59.
TL_INLINE double digamma_middle(double t) {
  return poly(t, -0x1.853cfb649d60ap-6, -0x1.eda624f986bbap-1, 0x1.46d2564afbfc7p-1,
              -0x1.4ed67403efd7ep-1, 0x1.365efc590ec8ap-1, -0x1.3d4ea7aed0a65p-1,
              0x1.35485a5e75748p-1, -0x1.39c6242916403p-1, 0x1.35d8001b302e8p-1,
              -0x1.38b87b01c3c65p-1, 0x1.365285ea0574ep-1, -0x1.384390aab4503p-1,
              0x1.36a023a68fe0ep-1, -0x1.380562da71fbbp-1, 0x1.36d45a2a3204bp-1,
              -0x1.37b69730f6e15p-1, 0x1.36c0a9d677f77p-1, -0x1.39834dd97d56cp-1,
              0x1.394d24234708p-1, -0x1.28bc261d12768p-1, 0x1.24b3e5718b489p-1,
              -0x1.8c71b34a40ac6p-1, 0x1.9b13f93b7182cp-1, -0x1.2887adaf31bc1p-6,
              -0x1.d73d5fb41d561p-5, -0x1.bc9d2db1d61f8p+0, 0x1.d1c901e992953p+0);
}

// digamma(x) = log(x) - 1 / (2 x) - t P(t), t = 1 / x^2
// for t in [1.0e-8, 0.04], with an error of 2^-62.11.
TL_INLINE double digamma_large(double t) {
  return poly(t, 0x1.5555555555532p-4, -0x1.11111110d1cb8p-7, 0x1.041040604ef2bp-8,
              -0x1.1110a68df101ap-8, 0x1.f05405eb2dea1p-8, -0x1.573df181c5d44p-6,
              0x1.3ed7c9e108854p-4, -0x1.3959d087b4901p-2, 0x1.94f0c70ecafd9p-1);
}

// trigamma(x) = (1.25 + P(t)) / x, t = (x - 2.25) / (x + 2.25)
// for t in [-0.38462, 0.37931], with an error of 2^-56.11.
TL_INLINE double trigamma_middle(double t) {
  return poly(t, 0x1.05871e5c0dd69p-8, -0x1.22805ff5513bp-1, 0x1.59cddf2c04a8p-1,
              -0x1.84959b9a6f83p-1, 0x1.a1ddb2f03dce9p-1, -0x1.b3c1859709d32p-1,
              0x1.bda59b7ac3651p-1, -0x1.c2b05e754e81ep-1, 0x1.c51c199268bc4p-1,
              -0x1.c639c67ef4498p-1, 0x1.c6b9e04939b27p-1, -0x1.c6f209dd140b6p-1,
              0x1.c70a2e5b3f24ep-1, -0x1.c717cc8d16e4cp-1, 0x1.c7205580802fbp-1,
              -0x1.c6e708ec974a5p-1, 0x1.c6ad5d8abbdedp-1, -0x1.c9a0f36583556p-1,
              0x1.cbd749843cccep-1, -0x1.b1ae43060c958p-1, 0x1.a33a75eb3226bp-1,
              -0x1.209c79319cc46p+0, 0x1.3f0b46335c324p+0, -0x1.22fee0ec701a9p-5,
              -0x1.05ee1c94d57b1p-2, -0x1.436759521d6a3p+1, 0x1.6bcbc8dd20befp+1);
}

// trigamma(x) = 1 / x + 1 / (2 x^2) + P(t) / x^3, t = 1 / x^2
// for t in [1.0e-8, 0.04], with an error of 2^-58.95.
TL_INLINE double trigamma_large(double t) {
  return poly(t, 0x1.5555555555491p-3, -0x1.11111110484d9p-5, 0x1.86185f5075ae6p-6,
              -0x1.11104cb85334dp-5, 0x1.36269b7503199p-4, -0x1.00ce6999f0c9cp-2,
              0x1.12d3f7c08df27p+0, -0x1.2a849556c39b7p+2, 0x1.9bb2659aa5154p+3);
}

// ---- printed by coefficients.py: end ----
// clang-format on

}  // namespace vm
}  // namespace
}  // namespace tensorlike
