// float16 and bfloat16: every pattern of bits there and back, and rounding at every midpoint,
// against a formula that shares nothing with the conversions.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "base/half.h"

namespace tensorlike {
namespace {

int failures = 0;

void expect(bool holds, const char* what, uint32_t bits) {
  if (holds) return;
  if (++failures < 10) std::printf("FAILED: %s for bits %04x\n", what, bits);
}

// The value by definition: (-1)^s * 2^(e - bias) * 1.m, or 2^(1 - bias) * 0.m where e is 0.
double value_of(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double magnitude = 0;
  if (exponent == (1 << exponent_bits) - 1) {
    magnitude = mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    magnitude = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

template <class Half>
void test_patterns(int exponent_bits, int mantissa_bits) {
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    const double wanted = value_of(bits, exponent_bits, mantissa_bits);
    const float wide = static_cast<float>(half);
    if (std::isnan(wanted)) {
      expect(std::isnan(wide), "NaN widens to NaN", bits);
      expect(std::isnan(static_cast<float>(Half(wide))), "NaN narrows to NaN", bits);
      continue;
    }
    expect(static_cast<double>(wide) == wanted && std::signbit(wide) == std::signbit(wanted),
           "the value is that of the definition", bits);
    expect(Half(wide).bits == bits, "float32 and back", bits);
    expect(Half(wanted).bits == bits, "float64 and back", bits);
    // The number next in magnitude, where infinity stands for the power of two beyond the largest.
    const uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= infinity) continue;
    const double below = value_of(magnitude, exponent_bits, mantissa_bits);
    const int top = 1 << (exponent_bits - 1);
    const double above = magnitude + 1 == infinity
                             ? std::ldexp(1.0, top)
                             : value_of(magnitude + 1, exponent_bits, mantissa_bits);
    const double middle = below + (above - below) / 2;
    const uint32_t sign = bits & 0x8000u;
    const double way = sign != 0 ? -1 : 1;
    const uint32_t even = magnitude + (magnitude & 1);
    expect(Half(way * middle).bits == (sign | even), "midpoints go to the even one", bits);
    expect(Half(way * std::nextafter(middle, 0.0)).bits == (sign | magnitude),
           "below the midpoint goes down", bits);
    expect(Half(way * std::nextafter(middle, HUGE_VAL)).bits == (sign | (magnitude + 1)),
           "above the midpoint goes up", bits);
    const float narrow = static_cast<float>(middle);
    if (static_cast<double>(narrow) != middle) continue;  // a denormal half as fine as float32's
    expect(Half(static_cast<float>(way) * narrow).bits == (sign | even),
           "float32 midpoints go to the even one", bits);
    expect(Half(static_cast<float>(way) * std::nextafterf(narrow, 0.0F)).bits == (sign | magnitude),
           "float32 below the midpoint goes down", bits);
    expect(Half(static_cast<float>(way) * std::nextafterf(narrow, HUGE_VALF)).bits ==
               (sign | (magnitude + 1)),
           "float32 above the midpoint goes up", bits);
  }
  expect(Half(1e300).bits == infinity && Half(-1e300).bits == (infinity | 0x8000u),
         "what is too large is infinite", 0);
  expect(Half(1e-300).bits == 0 && Half(-1e-300).bits == 0x8000u, "what is too small is 0", 0);
}

}  // namespace
}  // namespace tensorlike

int main() {
  tensorlike::test_patterns<tensorlike::Float16>(5, 10);
  tensorlike::test_patterns<tensorlike::BFloat16>(8, 7);
  if (tensorlike::failures == 0) std::printf("halves: all 65536 patterns of both are right\n");
  return tensorlike::failures == 0 ? 0 : 1;
}
