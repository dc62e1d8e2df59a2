// The polynomials of math_special.h, as special_coefficients.py makes them.
#pragma once

#include "kernels/math_base.h"

#ifndef TL_INLINE
#define TL_INLINE [[gnu::always_inline]] inline
#endif

namespace tensorlike {
namespace {
namespace vm {

// clang-format off
// ---- printed by special_coefficients.py: begin ----
// erfinv(x) = x P(x^2)
// for t in [9.0949e-13, 0.2501], with an error of 2^-54.36.
TL_INLINE double erfinv_middle(double t) {
  return poly(t, 0x1.c5bf891b4ef6bp-1, 0x1.db29fb2fee5e4p-3, 0x1.053c2c0ab91c2p-3,
              0x1.62847c47dddb6p-4, 0x1.0a13189c5bea4p-4, 0x1.a7c85c91c4742p-5,
              0x1.5eeb1c29c0526p-5, 0x1.2abab49a51d27p-5, 0x1.0396b3e9b0368p-5,
              0x1.caa34d10ef9afp-6, 0x1.97f0f6bba9c75p-6, 0x1.81a2731b95873p-6,
              0x1.f78ce5944f1d1p-7, 0x1.4f75124e03156p-5, -0x1.986a364507a15p-5,
              0x1.463a29d9461f9p-3, -0x1.6d66f8f271efbp-3, 0x1.30d3b129484bfp-3);
}

// erfc(s P(1 / (1 + s))) = exp(-s^2), a first approximation
// for t in [0.035211, 0.54669], with an error of 2^-21.11.
TL_INLINE double erfc_inverse_start(double t) {
  return poly(t, 0x1.000944864d0d7p+0, -0x1.2f6978f3511f2p-6, -0x1.cadab69b731bbp+0,
              0x1.fcbf320c973dp+1, -0x1.47cfc423d66c4p+4, 0x1.070bfc40a4509p+6,
              -0x1.1ec7f814465f2p+7, 0x1.969191ebcb73fp+7, -0x1.4306ae4b80e7bp+7,
              0x1.b15c92e347f44p+5);
}

// i0(x) = 1 + t P(t), t = x^2 / 4
// for t in [9.0949e-13, 16.0], with an error of 2^-56.21.
TL_INLINE double i0_near(double t) {
  return poly(t, 0x1p+0, 0x1p-2, 0x1.c71c71c71c717p-6, 0x1.c71c71c71c7adp-10,
              0x1.23456789ab3c4p-14, 0x1.02e85c08a4673p-19, 0x1.522a43f510a63p-25,
              0x1.522a440eeeec1p-31, 0x1.0b3131313ef8cp-37, 0x1.5601a3ea2fee3p-44,
              0x1.69c8fe59e860bp-51, 0x1.41a984adb8c52p-58, 0x1.e608d5d12fd7cp-66,
              0x1.4454d996df625p-73, 0x1.3c76dd6982f92p-81, 0x1.15b8d6fc92c99p-88);
}

// i0e(x) = P(8 / x) / sqrt(x)
// for t in [0.002, 1.0], with an error of 2^-54.51.
TL_INLINE double i0e_far(double t) {
  return poly(t, 0x1.9884533d4365p-2, 0x1.9884533d46344p-8, 0x1.cb94dd95235d4p-12,
              0x1.debb2144fca0ap-15, 0x1.6e85ce4bca8a5p-17, 0x1.71794d40a4a24p-19,
              0x1.5196557fdc631p-20, -0x1.7d9176b74b7e7p-18, 0x1.fce4107985a5fp-15,
              -0x1.c3e9342457b7bp-12, 0x1.2a1383f4d72ccp-9, -0x1.2b041419d80fdp-7,
              0x1.cfa7c7c46413p-6, -0x1.1851931169a95p-4, 0x1.093e09faca36ap-3,
              -0x1.883c5d5b77b4ap-3, 0x1.c24e8c86e726ap-3, -0x1.8c578e2ecfd3cp-3,
              0x1.05ea17fc87e0bp-3, -0x1.f66397664092ap-5, 0x1.49de31ebde668p-6,
              -0x1.092cefb651035p-8, 0x1.89a1f309d4f39p-12);
}

// i1(x) 2 / x = 1 + t P(t), t = x^2 / 4
// for t in [9.0949e-13, 16.0], with an error of 2^-54.39.
TL_INLINE double i1_near(double t) {
  return poly(t, 0x1p-1, 0x1.5555555555555p-4, 0x1.c71c71c71c71ap-8, 0x1.6c16c16c16c4bp-12,
              0x1.845c8a0ce4affp-17, 0x1.27e4fb7791627p-22, 0x1.522a43f591ea8p-28,
              0x1.2c9758e90a014p-34, 0x1.ab81e8fc6199cp-41, 0x1.f176b4dd5c0b6p-48,
              0x1.e261d56141ea3p-55, 0x1.8bdfff88939ccp-62, 0x1.15d5bf3dd3dd6p-69,
              0x1.59274592f7897p-77, 0x1.403f47fc8552fp-85, 0x1.0159e0d5644aap-92);
}

// i1e(x) = P(8 / x) / sqrt(x)
// for t in [0.002, 1.0], with an error of 2^-53.81.
TL_INLINE double i1e_far(double t) {
  return poly(t, 0x1.9884533d43651p-2, -0x1.32633e6df33dbp-6, -0x1.7efc0e0206f66p-11,
              -0x1.4f1c92b4cefc7p-14, -0x1.d740a8df4d1b1p-17, -0x1.c33205bc375cep-19,
              -0x1.9409f5f16dea9p-20, 0x1.bc9e4f3cc297fp-18, -0x1.2003c1e060e46p-14,
              0x1.f6788b7b6fa2ep-12, -0x1.474c7d18f3b0fp-9, 0x1.453fb4627fd7fp-7,
              -0x1.f4965a0fd78fap-6, 0x1.2cce2f52a2a4ap-4, -0x1.1b2b603bb6f26p-3,
              0x1.a0e71d4133e9ap-3, -0x1.dcc8df72bd427p-3, 0x1.a23789c7347bp-3,
              -0x1.1386df1f454f1p-3, 0x1.07857c2a2a453p-4, -0x1.5930067cbaaa8p-6,
              0x1.14da80bc958d5p-8, -0x1.9a196b83e366ep-12);
}

// j0(x) = (x^2 - z^2) P(x^2 / 12.5 - 1), z its first zero
// for t in [-1.0, 1.0], with an error of 2^-52.7.
TL_INLINE double j0_near(double t) {
  return poly(t, -0x1.d53e8d99876e7p-5, 0x1.309ab8e4cba18p-4, -0x1.0c8428b928722p-5,
              0x1.e362f8d0b5d58p-8, -0x1.09a87b4aa43bp-10, 0x1.8adf23edad364p-14,
              -0x1.a8151133adbf3p-18, 0x1.58d6c0f41bca1p-22, -0x1.b7a52da484f89p-27,
              0x1.c36cef3cd3f87p-32, -0x1.7d6d14a2d0b3bp-37, 0x1.0de83553e9056p-42,
              -0x1.44dcb783cb906p-48, 0x1.4cd6f3ee3f06cp-54);
}

// P of Hankel's expansion is P(25 / x^2)
// for t in [0.0005, 1.0], with an error of 2^-56.5.
TL_INLINE double j0_p(double t) {
  return poly(t, 0x1p+0, -0x1.70a3d70a3b599p-9, 0x1.7851eb746b159p-13, -0x1.335bf14c93f59p-15,
              0x1.04ddc125f16p-16, -0x1.79980f3d8fb43p-17, 0x1.9c69ac1b5da68p-17,
              -0x1.2fa690db114d8p-16, 0x1.07463217835d8p-15, -0x1.d4529cf891ceap-15,
              0x1.800e3c034df91p-14, -0x1.0ed6827cf938cp-13, 0x1.39f46ddeea6f8p-13,
              -0x1.210f673931c7dp-13, 0x1.98eca7263db5p-14, -0x1.aa52c53e916c6p-15,
              0x1.3384f9de4d701p-16, -0x1.118949f1569ep-18, 0x1.c366392f97ac4p-22);
}

// Q of Hankel's expansion times x is P(25 / x^2)
// for t in [0.0005, 1.0], with an error of 2^-55.6.
TL_INLINE double j0_q(double t) {
  return poly(t, -0x1.fffffffffffffp-4, 0x1.7ffffffff86bap-9, -0x1.7d0624bbac9b9p-12,
              0x1.cfc869173a35cp-14, -0x1.05c4ea2348733p-14, 0x1.d902898d19af8p-15,
              -0x1.35b0885a7f59p-14, 0x1.0a37076d31cb2p-13, -0x1.09b7121a51805p-12,
              0x1.0f3d7712da2f5p-11, -0x1.007b6bbeeb656p-10, 0x1.a536eff9d0f41p-10,
              -0x1.205623f33e646p-9, 0x1.3fb5da371dd12p-9, -0x1.17dc1a84f9e6dp-9,
              0x1.77cb2aff742dcp-10, -0x1.741c4c70c6c18p-11, 0x1.fec3a44496b7ap-13,
              -0x1.b13e001124d29p-15, 0x1.55baa476a979cp-18);
}

// j1(x) / x = (x^2 - z^2) P(x^2 / 12.5 - 1), z its first zero
// for t in [-1.0, 1.0], with an error of 2^-52.95.
TL_INLINE double j1_near(double t) {
  return poly(t, -0x1.041c9423ec767p-6, 0x1.acf566aaededbp-7, -0x1.15e32ff822fa4p-8,
              0x1.8bf87b5439002p-11, -0x1.686a2a3c3f229p-14, 0x1.c95360babe43cp-18,
              -0x1.ac92400b199b2p-22, 0x1.35278ce082ad8p-26, -0x1.623701dacd24fp-31,
              0x1.4a45c52bb0941p-36, -0x1.ff29de739dabap-42, 0x1.4da7e536b022ap-47,
              -0x1.74ac4952e1a5bp-53, 0x1.65c8d4d8be824p-59);
}

// P of Hankel's expansion is P(25 / x^2)
// for t in [0.0005, 1.0], with an error of 2^-56.42.
TL_INLINE double j1_p(double t) {
  return poly(t, 0x1p+0, 0x1.333333333218fp-8, -0x1.e3d70a2bd2867p-13, 0x1.6b3e1eeae598cp-15,
              -0x1.27a63ab00d649p-16, 0x1.a15cc9161ba41p-17, -0x1.c072b27cf8da1p-17,
              0x1.46a3b89a5d978p-16, -0x1.194f0723411afp-15, 0x1.f26b55108b741p-15,
              -0x1.97c87b45d5d9ep-14, 0x1.1f295e8a99312p-13, -0x1.4c92a04554835p-13,
              0x1.3203066813d8ep-13, -0x1.b0b6c78ce920ep-14, 0x1.c2fa187175fd5p-15,
              -0x1.45387e3bb0405p-16, 0x1.21393eb83437ep-18, -0x1.dd35b6a8ce44bp-22);
}

// Q of Hankel's expansion times x is P(25 / x^2)
// for t in [0.0005, 1.0], with an error of 2^-54.68.
TL_INLINE double j1_q(double t) {
  return poly(t, 0x1.8p-2, -0x1.0cccccccc8d03p-8, 0x1.d1b22ceb18012p-12, -0x1.0b912a8095398p-13,
              0x1.249109bdc7e26p-14, -0x1.030acfb001044p-14, 0x1.4e95431598a17p-14,
              -0x1.1cf6155c52c4bp-13, 0x1.1ac1122e7ccb9p-12, -0x1.1f9c585be9f28p-11,
              0x1.0f62efc7e6715p-10, -0x1.bd1c498b97fd2p-10, 0x1.306fd94490dacp-9,
              -0x1.515e5428d9181p-9, 0x1.27320c2e045a9p-9, -0x1.8c43ddf10125cp-10,
              0x1.8849fe2edb61cp-11, -0x1.0d2e3a99acef7p-12, 0x1.c894e0e09e82p-15,
              -0x1.6817eef553f28p-18);
}

// t - log(1 + t) = t^2 (1/2 + t P(t))
// for t in [-0.31, 0.31], with an error of 2^-57.8.
TL_INLINE double log1p_rest(double t) {
  return poly(t, -0x1.5555555555553p-2, 0x1p-2, -0x1.999999999a697p-3, 0x1.5555555555714p-3,
              -0x1.24924923e1bf6p-3, 0x1.ffffffffb140dp-4, -0x1.c71c7250827d6p-4,
              0x1.999999c461e21p-4, -0x1.745cf9ec64e71p-4, 0x1.5555499a9f4fep-4,
              -0x1.3b177396d9873p-4, 0x1.24941eb0560f4p-4, -0x1.10c425211a52cp-4,
              0x1.ffa7582e82e48p-5, -0x1.e995690267a21p-5, 0x1.cc3b759b7fcffp-5,
              -0x1.73abffc992607p-5, 0x1.6cb51a3a7a9fap-5, -0x1.3e098b45c8e72p-4,
              0x1.226c49963713fp-4);
}

// The first zeros of j0 and of j1, each as a sum of two numbers.
static constexpr double kJ0ZeroHi = 0x1.33d152e971b3fp+1;
static constexpr double kJ0ZeroLo = 0x1.785631412ed39p-52;
static constexpr double kJ1ZeroHi = 0x1.ea75575af6f08p+1;
static constexpr double kJ1ZeroLo = 0x1.4ff552b1726d5p-52;

// c_k(eta) of DLMF 8.12.10: a row of powers of eta for each k.
static constexpr double kTemme[9][18] = {
    {-0x1.5555555555555p-2,
     0x1.5555555555555p-4,
     -0x1.e573ac901e574p-7,
     0x1.2f684bda12f68p-10,
     0x1.71de3a556c734p-12,
     -0x1.76e06fec7273bp-13,
     0x1.48c5892f7cd83p-15,
     -0x1.255370652afc1p-19,
     -0x1.f1b22f594c6b5p-20,
     0x1.bd6d21e4b4109p-21,
     -0x1.7b5f9a2d0465cp-23,
     0x1.ccf5ceb7f0d9fp-28,
     0x1.6097d55c37c1cp-27,
     -0x1.2d2197c7a2faap-28,
     0x1.f6e66d24d5c8ap-31,
     -0x1.c0d9b6edf2b0bp-36,
     -0x1.0070a87340428p-34,
     0x1.ac9475c463659p-36},
    {-0x1.e573ac901e574p-10,
     -0x1.c71c71c71c71cp-9,
     0x1.5ac056b015acp-9,
     -0x1.0394f6f09e723p-10,
     0x1.af83440e53dbcp-13,
     -0x1.af83440e53dbcp-22,
     -0x1.2fa4ae89e5afp-16,
     0x1.00a9cabd6b83ep-17,
     -0x1.b0bdfcc629cbap-20,
     0x1.3f59230a8357cp-28,
     0x1.280f2cde3f847p-23,
     -0x1.ee23d0cba8aeep-25,
     0x1.9aa7a30de114cp-27,
     -0x1.349fbca3a377bp-36,
     -0x1.1564ecff73d58p-30,
     0x1.c9b434bf3c34ep-32,
     -0x1.78a5056f8ce45p-34,
     0x1.113e3a466db9ep-44},
    {0x1.0ee643b990ee6p-8,
     -0x1.5f7268edab4c8p-9,
     0x1.948b0fcd6e9ep-11,
     0x1.0db20a88f4696p-19,
     -0x1.c253efaa1a932p-14,
     0x1.bbf43daf4fe53p-15,
     -0x1.ac2d05890f2c3p-17,
     0x1.26154ae39151dp-25,
     0x1.7058929663937p-20,
     -0x1.522cb05171911p-21,
     0x1.32ac81c15d3d7p-23,
     -0x1.c24bd0e740a6cp-33,
     -0x1.e437343a46f5dp-27,
     0x1.ac0d455e2536p-28,
     -0x1.77c5829460139p-30,
     0x1.0962774f638bbp-40,
     0x1.1b1056c188672p-33,
     -0x1.e9778dbc61371p-35},
    {0x1.547d93b34e2b6p-11,
     0x1.e13ce465fa859p-13,
     -0x1.ebfb188b7cap-12,
     0x1.18b9b5bf2d984p-12,
     -0x1.3d2a3a29b5d9dp-14,
     -0x1.0152a1871f27ap-22,
     0x1.73df462204ef4p-17,
     -0x1.7cd6f27b3f02p-18,
     0x1.7e0201539310ep-20,
     -0x1.ea23269c140a7p-36,
     -0x1.6c2dcffbefeefp-23,
     0x1.5bde8ef4c4dc7p-24,
     -0x1.4853ced169327p-26,
     0x1.50c3f0dd501ebp-39,
     0x1.1b66a39794ba9p-29,
     -0x1.040c53b2491fp-30,
     0x1.d9b15465daec1p-33,
     -0x1.f46057e1c9d1fp-47},
    {-0x1.c3e0b02da7bf9p-11,
     0x1.9b0ff6874f2c4p-11,
     -0x1.3999a85a4237ap-12,
     -0x1.88f2ae1def9dp-20,
     0x1.16908b48ce058p-14,
     -0x1.4ce3fd902bcadp-15,
     0x1.7db4c02846e81p-17,
     0x1.13b3c5b7cb45ep-32,
     -0x1.c71c074985d3fp-20,
     0x1.de37d9f09164cp-21,
     -0x1.ec676cf33153cp-23,
     0x1.041515bab6adap-35,
     0x1.efe94304ac16bp-26,
     -0x1.e78e449f4e3bep-27,
     0x1.d9a9f1a8b7696p-29,
     -0x1.033ba70791e5ep-42,
     -0x1.b14f212618752p-32,
     0x1.9911dbca7ce93p-33},
    {-0x1.6128ac5a4fa71p-12,
     -0x1.247604839c038p-14,
     0x1.22be87360ef1fp-12,
     -0x1.a2042c5148e27p-13,
     0x1.1d1e9cb24760bp-14,
     0x1.30bdcf208080ep-23,
     -0x1.c823fc1b3cc36p-17,
     0x1.0d0e229150428p-17,
     -0x1.338eb19652fd9p-19,
     -0x1.659cfde0bb2ebp-32,
     0x1.741504e5c87c2p-22,
     -0x1.8c267becd0c0fp-23,
     0x1.9e630225a095bp-25,
     -0x1.4411c5ac40e35p-46,
     -0x1.b15bbf334c8c3p-28,
     0x1.b2a3adb58623dp-29,
     -0x1.af0f32d677057p-31,
     0x1.762c060bd9bdap-48},
    {0x1.168ef1b0931c8p-11,
     -0x1.36773bdb97b48p-11,
     0x1.1c0950d3ecb9dp-12,
     0x1.a8411da6cab49p-21,
     -0x1.5600945495b37p-14,
     0x1.d6bdf83130dc1p-15,
     -0x1.3382f4cf48618p-16,
     -0x1.a74243fa27729p-29,
     0x1.d115d4f5dcc68p-19,
     -0x1.10587854fcb37p-19,
     0x1.36c8903447d35p-21,
     0x1.074e709bf4b8bp-42,
     -0x1.7b2f7de505322p-24,
     0x1.9778c6d79bcc1p-25,
     -0x1.af0ea334cc20ep-27,
     0x1.858ba968e7d04p-44,
     0x1.cf0f99fa070bcp-30,
     -0x1.d77155071f99bp-31},
    {0x1.691879c01efb4p-12,
     0x1.b1d75d3346711p-15,
     -0x1.5f3385098cebfp-12,
     0x1.26eeb5ece1d9fp-12,
     -0x1.cc642787368cep-14,
     -0x1.119c70312e0a2p-23,
     0x1.d179830b113abp-16,
     -0x1.3269164e3e304p-16,
     0x1.8467d794bd7f2p-18,
     0x1.0f82da50cdaeep-31,
     -0x1.1c6acec59f442p-20,
     0x1.4b12ad51452d5p-21,
     -0x1.7929779607d63p-23,
     -0x1.6d32eed259534p-40,
     0x1.cf11fbdf49e99p-26,
     -0x1.f4e88c5d1cae1p-27,
     0x1.0b2830e4dfce1p-28,
     -0x1.65f59322ddf56p-55},
    {-0x1.5629b3187b744p-11,
     0x1.b8239c670e69p-11,
     -0x1.cb967b4446107p-12,
     -0x1.762676b30cfd6p-21,
     0x1.5d1157082916dp-13,
     -0x1.0c16fcea7ddb2p-13,
     0x1.84637d3f583cdp-15,
     0x1.3937992ec9b02p-28,
     -0x1.6384af9ac219dp-17,
     0x1.c738f198ab55p-18,
     -0x1.1adec9530a7adp-19,
     -0x1.2ed3c124b7492p-36,
     0x1.952f970ac9b03p-22,
     -0x1.d599e3b2187a2p-23,
     0x1.0b282393d4893p-24,
     0x1.7c54ec550bd4bp-51,
     -0x1.4985ee872fc56p-27,
     0x1.663fd6d84752ep-28},
};

// ---- printed by special_coefficients.py: end ----
// clang-format on

}  // namespace vm
}  // namespace
}  // namespace tensorlike
