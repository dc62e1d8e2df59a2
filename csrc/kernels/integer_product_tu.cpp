// The loops of products of 8-bit integers, for one instruction set level: the tiles of
// integer_tiles.h, and what makes bytes of numbers and numbers of sums.
#include <cstring>
#include <utility>

#include "kernels/gemm_vectors.h"
#include "kernels/integer_product.h"
#include "kernels/integer_tiles.h"
#include "kernels/isa_names.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tensorlike {
namespace {

template <class Multiply, int... kIndices>
constexpr void set_tiles(detail::IntegerKernels& made, std::integer_sequence<int, kIndices...>) {
  ((made.tile[kIndices] = tile<Multiply, kIndices + 1>), ...);
  ((made.window_tile[kIndices] = window_tile<Multiply, kIndices + 1>), ...);
}

template <class Multiply>
constexpr detail::IntegerKernels kernels_with(const char* name, bool is_wide) {
  detail::IntegerKernels made{name, kColumns, kTileRows, is_wide, {}, {}, row_tile<Multiply>};
  set_tiles<Multiply>(made, std::make_integer_sequence<int, kTileRows>{});
  return made;
}

// The bits of absolute values are in the order of these, and those of NaN are the largest.
float largest(const float* x, int64_t n) {
  int32_t most = 0;
  for (int64_t i = 0; i < n; ++i) {
    int32_t bits;
    std::memcpy(&bits, x + i, sizeof(bits));
    bits &= 0x7fffffff;
    most = bits > most ? bits : most;
  }
  float value;
  std::memcpy(&value, &most, sizeof(value));
  return value;
}

// A number from -127 to 127. What is added leaves no bits for fractions, so the sum is rounded, to
// even, and its low bits are the number; NaN gives any.
TL_INLINE int32_t rounded(float x, float inverse) {
  float y = x * inverse;
  y = y > 127.0F ? 127.0F : y;
  y = y < -127.0F ? -127.0F : y;
  y += 12582912.0F;
  int32_t bits;
  std::memcpy(&bits, &y, sizeof(bits));
  return bits;
}

void quantise(char* to, bool is_wide, const float* x, float inverse, int64_t n, int64_t padded) {
  if (is_wide) {
    int16_t* const wide = reinterpret_cast<int16_t*>(to);
    for (int64_t i = 0; i < n; ++i) wide[i] = static_cast<int8_t>(rounded(x[i], inverse));
    for (int64_t i = n; i < padded; ++i) wide[i] = 0;
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<char>(rounded(x[i], inverse) ^ 128);
  for (int64_t i = n; i < padded; ++i) to[i] = 0;
}

int32_t lay_bytes(char* to, bool is_wide, const uint8_t* x, uint8_t flip, int64_t n,
                  int64_t padded) {
  uint32_t sum = 0;
  if (is_wide) {
    int16_t* const wide = reinterpret_cast<int16_t*>(to);
    for (int64_t i = 0; i < n; ++i) sum += static_cast<uint32_t>(wide[i] = x[i] ^ flip);
    for (int64_t i = n; i < padded; ++i) wide[i] = 0;
  } else {
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(to);
    for (int64_t i = 0; i < n; ++i) sum += bytes[i] = x[i] ^ flip;
    for (int64_t i = n; i < padded; ++i) bytes[i] = 0;
  }
  return static_cast<int32_t>(sum);
}

void dequantise(float* y, const int32_t* sums, float row_scale, const float* column_scales,
                const float* bias, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    y[j] = static_cast<float>(sums[j]) * (row_scale * column_scales[j]) + bias[j];
  }
}

// What channels have beside each other, in 32 bits: four bytes, or two numbers of 16 bits.
TL_INLINE int32_t beside(int32_t a, int32_t b, int32_t c, int32_t d) {
  return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24;
}
TL_INLINE int32_t beside(int32_t a, int32_t b) { return (a & 0xffff) | b << 16; }

template <int64_t kStep>
TL_INLINE void join_floats_by(int32_t* to, bool is_wide, const float* const* from, int64_t step,
                              float inverse, int64_t n) {
  if constexpr (kStep != 0) step = kStep;
  const float* const a = from[0];
  const float* const b = from[1];
  if (b == nullptr) {  // what else is in the 32 bits meets no weights
    const int32_t flips = is_wide ? 0 : 128;
    for (int64_t i = 0; i < n; ++i) {
      to[i] = static_cast<int8_t>(rounded(a[i * step], inverse)) ^ flips;
    }
    return;
  }
  if (is_wide) {
    for (int64_t i = 0; i < n; ++i) {
      to[i] = beside(static_cast<int8_t>(rounded(a[i * step], inverse)),
                     static_cast<int8_t>(rounded(b[i * step], inverse)));
    }
    return;
  }
  const float* const c = from[2];
  const float* const d = from[3];
  constexpr int32_t kFlips = static_cast<int32_t>(0x80808080U);  // adds 128 to each
  for (int64_t i = 0; i < n; ++i) {
    to[i] = kFlips ^ beside(rounded(a[i * step], inverse), rounded(b[i * step], inverse),
                            rounded(c[i * step], inverse), rounded(d[i * step], inverse));
  }
}

void join_floats(int32_t* to, bool is_wide, const float* const* from, int64_t step, float inverse,
                 int64_t n) {
  if (step == 1) return join_floats_by<1>(to, is_wide, from, step, inverse, n);
  join_floats_by<0>(to, is_wide, from, step, inverse, n);
}

template <int64_t kStep>
TL_INLINE void join_bytes_by(int32_t* to, bool is_wide, const uint8_t* const* from, int64_t step,
                             uint8_t flip, int32_t zero, int64_t n) {
  if constexpr (kStep != 0) step = kStep;
  const uint8_t* const a = from[0];
  const uint8_t* const b = from[1];
  if (b == nullptr) {
    const int32_t off = is_wide ? zero : 0;
    for (int64_t i = 0; i < n; ++i) to[i] = (a[i * step] ^ flip) - off;
    return;
  }
  if (is_wide) {
    for (int64_t i = 0; i < n; ++i) {
      to[i] = beside((a[i * step] ^ flip) - zero, (b[i * step] ^ flip) - zero);
    }
    return;
  }
  const uint8_t* const c = from[2];
  const uint8_t* const d = from[3];
  const int32_t flips = flip == 0 ? 0 : static_cast<int32_t>(0x80808080U);
  for (int64_t i = 0; i < n; ++i) {
    to[i] = flips ^ beside(a[i * step], b[i * step], c[i * step], d[i * step]);
  }
}

void join_bytes(int32_t* to, bool is_wide, const uint8_t* const* from, int64_t step, uint8_t flip,
                int32_t zero, int64_t n) {
  if (step == 1) return join_bytes_by<1>(to, is_wide, from, step, flip, zero, n);
  join_bytes_by<0>(to, is_wide, from, step, flip, zero, n);
}

void scale_row(float* y, const int32_t* sums, float scale, float bias, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] = static_cast<float>(sums[j]) * scale + bias;
}

// The sum wraps.
template <class Byte>
TL_INLINE void requantise_as(Byte* y, float low, float high, const int32_t* sums, int32_t bias,
                             float factor, float zero, int64_t n) {
  const uint32_t more = static_cast<uint32_t>(bias);
  for (int64_t j = 0; j < n; ++j) {
    const int32_t sum = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) + more);
    float real = __builtin_rintf(static_cast<float>(sum) * factor) + zero;
    real = real > high ? high : real;
    real = real > low ? real : low;
    y[j] = static_cast<Byte>(static_cast<int32_t>(real));
  }
}

void requantise(void* y, bool is_signed, const int32_t* sums, int32_t bias, float factor,
                float zero, int64_t n) {
  if (is_signed) {
    requantise_as(static_cast<int8_t*>(y), -128.0F, 127.0F, sums, bias, factor, zero, n);
  } else {
    requantise_as(static_cast<uint8_t*>(y), 0.0F, 255.0F, sums, bias, factor, zero, n);
  }
}

void take_off(int32_t* y, const int32_t* sums, const int32_t* numbers, int32_t factor, int64_t n) {
  const auto* const from = reinterpret_cast<const uint32_t*>(sums);
  const auto* const others = reinterpret_cast<const uint32_t*>(numbers);
  const uint32_t times = static_cast<uint32_t>(factor);
  for (int64_t j = 0; j < n; ++j) y[j] = static_cast<int32_t>(from[j] - times * others[j]);
}

// NaN where there is one.
detail::Extremes extremes(const float* x, int64_t n) {
  using Floats = Vector<float>;
  constexpr int64_t kStep = kLanes<float>;
  float low = x[0], high = x[0];
  bool is_odd = false;
  int64_t i = 0;
  if (n >= kStep) {
    Floats lows = load<Floats>(x), highs = lows;
    auto odd = lows != lows;
    for (; i + kStep <= n; i += kStep) {
      const Floats at = load<Floats>(x + i);
      lows = at < lows ? at : lows;
      highs = at > highs ? at : highs;
      odd |= at != at;
    }
    for (int64_t j = 0; j < kStep; ++j) {
      low = lows[j] < low ? lows[j] : low;
      high = highs[j] > high ? highs[j] : high;
      is_odd |= odd[j] != 0;
    }
  }
  for (; i < n; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
    is_odd |= x[i] != x[i];
  }
  if (is_odd) low = high = __builtin_nanf("");
  return {low, high};
}

// Limited before it is rounded, by what is added to it, as above; NaN gives 0.
void to_bytes(uint8_t* to, const float* x, float scale, float zero, int64_t n) {
  using Floats = Vector<float>;
  constexpr int64_t kStep = kLanes<float>;
  using Bytes = VectorOf<uint8_t, kStep>::Type;
  const auto converted = [&](Floats at) __attribute__((always_inline)) {
    const auto limited = [](Floats y, float low, float high) __attribute__((always_inline)) {
      y = y > high ? high - Floats{} : y;
      return y > low ? y : low - Floats{};
    };
    const Floats y = limited(at / scale, -300.0F, 300.0F) + 12582912.0F;
    const Floats whole = limited(y - 12582912.0F + zero, 0.0F, 255.0F);
    return __builtin_convertvector(__builtin_convertvector(whole, Sums), Bytes);
  };
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    const Bytes made = converted(load<Floats>(x + i));
    std::memcpy(to + i, &made, sizeof(made));
  }
  if (i == n) return;
  float rest[kStep] = {};
  std::memcpy(rest, x + i, static_cast<size_t>(n - i) * sizeof(float));
  const Bytes made = converted(load<Floats>(rest));
  std::memcpy(to + i, &made, static_cast<size_t>(n - i));
}

void look_up(uint8_t* to, const uint8_t* from, const uint8_t* table, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = table[from[i]];
}

#if defined(__AVX512BW__)
// Two halves of the table are looked up, and the highest bit says which one it is.
void permute(uint8_t* to, const uint8_t* from, const uint8_t* table, int64_t n) {
  __m512i parts[4];
  for (int i = 0; i < 4; ++i) parts[i] = _mm512_loadu_si512(table + 64 * i);
  const auto looked_up = [&](__m512i x) __attribute__((always_inline)) {
    __m512i low = x, high = x;
    asm("vpermi2b %2, %1, %0" : "+v"(low) : "v"(parts[0]), "v"(parts[1]));
    asm("vpermi2b %2, %1, %0" : "+v"(high) : "v"(parts[2]), "v"(parts[3]));
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
  };
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    _mm512_storeu_si512(to + i, looked_up(_mm512_loadu_si512(from + i)));
  }
  look_up(to + i, from + i, table, n - i);
}
#endif

}  // namespace

namespace detail {

const IntegerTable& TL_JOIN(integer_table, TL_ISA)() {
  static constexpr IntegerTable kTable{kernels_with<Plain>("plain", true),
#if defined(__AVX512F__)
                                       kernels_with<Dot>("AVX512-VNNI", false),
#elif defined(__AVX2__)
                                       kernels_with<Dot>("AVX-VNNI", false),
#else
                                       {},
#endif
                                       largest,
                                       quantise,
                                       lay_bytes,
                                       dequantise,
                                       join_floats,
                                       join_bytes,
                                       scale_row,
                                       requantise,
                                       take_off,
                                       extremes,
                                       to_bytes,
                                       look_up,
#if defined(__AVX512BW__)
                                       permute};
#else
                                       nullptr};
#endif
  return kTable;
}

}  // namespace detail
}  // namespace tensorlike
