// float16 (IEEE 754 binary16) and bfloat16 as they are stored: 16 bits without arithmetic.
// Conversions are branch-free, so that loops over them vectorise at every ISA level; they round to
// the nearest, halves to even, and are right for denormals, infinities and NaN. Inlined by force,
// as complex.h says.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace tensorlike {

// kExponent bits of exponent, kMantissa of mantissa.
template <int kExponent, int kMantissa>
struct HalfFloat {
  uint16_t bits = 0;

  constexpr HalfFloat() = default;
  template <class N>
    requires std::is_arithmetic_v<N>
  [[gnu::always_inline]] explicit constexpr HalfFloat(N value)
      : bits(std::is_same_v<N, float> ? narrow<float, uint32_t, 23, 127>(static_cast<float>(value))
                                      : narrow<double, uint64_t, 52, 1023>(as_double(value))) {}
  [[gnu::always_inline]] explicit constexpr operator float() const { return widen(); }
  [[gnu::always_inline]] explicit constexpr operator double() const {
    return static_cast<double>(widen());
  }
  [[gnu::always_inline]] friend constexpr bool operator==(HalfFloat a, HalfFloat b) {
    return a.widen() == b.widen();
  }

 private:
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;

  // What rounds to the same half as the value: of integers that double would round, the lowest bits
  // are joined to one that says whether there were any.
  template <class N>
  [[gnu::always_inline]] static constexpr double as_double(N value) {
    if constexpr (std::is_integral_v<N> && sizeof(N) == 8) {
      constexpr N kExact = N(1) << 53;
      const bool is_exact = value <= kExact && (std::is_unsigned_v<N> || value >= N(0) - kExact);
      const N joined = (value >> 11) | static_cast<N>((value & 2047) != 0);
      return is_exact ? static_cast<double>(value) : static_cast<double>(joined) * 2048;
    } else {
      return static_cast<double>(value);
    }
  }

  // A number of another bias is a power of two away from what its bits say, and multiplying by
  // that power is exact, for denormals too. Infinity and NaN have the highest exponent.
  [[gnu::always_inline]] constexpr float widen() const {
    const uint32_t wide = static_cast<uint32_t>(bits);
    const uint32_t magnitude = (wide & 0x7fffu) << (23 - kMantissa);
    const float scale = std::bit_cast<float>(static_cast<uint32_t>(254 - kBias) << 23);
    const float value =
        kBias == 127 ? std::bit_cast<float>(magnitude) : std::bit_cast<float>(magnitude) * scale;
    constexpr uint32_t kTop = ((1u << kExponent) - 1) << 23;
    const bool is_finite = magnitude < kTop;
    const uint32_t body = is_finite ? std::bit_cast<uint32_t>(value) : magnitude | 0x7f800000u;
    return std::bit_cast<float>(body | (wide & 0x8000u) << 16);
  }

  template <class Wide, class Bits, int kWideMantissa, int kWideBias>
  [[gnu::always_inline]] static constexpr uint16_t narrow(Wide value) {
    constexpr int kShift = kWideMantissa - kMantissa;
    constexpr int kWidth = static_cast<int>(sizeof(Bits)) * 8;
    constexpr Bits kSign = Bits(1) << (kWidth - 1);
    constexpr Bits kInfinity = ((Bits(1) << (kWidth - 1 - kWideMantissa)) - 1) << kWideMantissa;
    const Bits all = std::bit_cast<Bits>(value);
    const Bits magnitude = all & ~kSign;
    const Bits sign = (all & kSign) >> (kWidth - 16);
    // Normal numbers: another bias, then rounding at the last bit kept.
    constexpr Bits kRebias = Bits(kWideBias - kBias) << kWideMantissa;
    const Bits odd = (magnitude >> kShift) & 1;
    const Bits normal = (magnitude - kRebias + ((Bits(1) << (kShift - 1)) - 1) + odd) >> kShift;
    // Denormals: adding a number whose last bit is theirs rounds in hardware.
    constexpr Bits kMagic = Bits(kWideBias + 1 - kBias - kMantissa + kWideMantissa)
                            << kWideMantissa;
    const Wide moved = std::bit_cast<Wide>(magnitude) + std::bit_cast<Wide>(kMagic);
    const Bits denormal = std::bit_cast<Bits>(moved) - kMagic;
    constexpr Bits kLeast = Bits(kWideBias + 1 - kBias) << kWideMantissa;
    constexpr Bits kOverflow = Bits(kWideBias + 1 + kBias) << kWideMantissa;
    constexpr Bits kTop = ((Bits(1) << kExponent) - 1) << kMantissa;
    constexpr Bits kNaN = kTop | Bits(1) << (kMantissa - 1);
    Bits result = magnitude < kLeast ? denormal : normal;
    result = magnitude < kOverflow ? result : kTop;
    result = magnitude > kInfinity ? kNaN : result;
    return static_cast<uint16_t>(result | sign);
  }
};

using Float16 = HalfFloat<5, 10>;
using BFloat16 = HalfFloat<8, 7>;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

}  // namespace tensorlike
