// The loops of products of 8-bit integers, for one instruction set level.
//
// Sums are exact: pmaddubsw, which saturates, is not used. Where a processor has no dot products of
// bytes, numbers are widened to 16 bits while they are packed, for pmaddwd. The instructions that
// only some processors of a level have are written as assembly, since the compiler's own are for
// functions that are compiled for such processors alone.
#include <cstring>

#include "kernels/gemm_vectors.h"
#include "kernels/integer_product.h"
#include "kernels/isa_names.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tensorlike {
namespace {

using Sums = Vector<int32_t>;
constexpr int kVectors = 2;  // of a panel's columns
constexpr int64_t kColumns = kVectors * kLanes<int32_t>;
constexpr int kTileRows = kRegisters == 32 ? 14 : kVectorBytes == 32 ? 6 : 5;

// sum + the products of two numbers of 16 bits in each lane.
struct Plain {
  static TL_INLINE Sums add(Sums sum, Sums a, Sums b) {
#if defined(__AVX512BW__)
    return sum + reinterpret_cast<Sums>(
                     _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
    return sum + reinterpret_cast<Sums>(
                     _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__x86_64__)
    return sum + reinterpret_cast<Sums>(
                     _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
    return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
  }
};

#if defined(__AVX2__)
// sum + the products of four unsigned bytes of a with four signed ones of b in each lane.
struct Dot {
  static TL_INLINE Sums add(Sums sum, Sums a, Sums b) {
#if defined(__AVX512F__)
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#else
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
#endif
    return sum;
  }
};
#endif

template <class Multiply, int kRows>
void tile(int64_t groups, const char* a, int64_t a_row, const char* panel, const int32_t* start,
          int32_t* sums) {
  Sums sum[kRows][kVectors];
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      sum[i.kValue][j.kValue] = load<Sums>(start + j.kValue * kLanes<int32_t>);
    });
  });
  for (int64_t p = 0; p < groups; ++p, a += 4, panel += 4 * kColumns) {
    Sums b[kVectors];
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      b[j.kValue] =
          load<Sums>(reinterpret_cast<const int32_t*>(panel) + j.kValue * kLanes<int32_t>);
    });
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      int32_t four;
      std::memcpy(&four, a + i.kValue * a_row, sizeof(four));
      const Sums left = four - Sums{};
      unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
        sum[i.kValue][j.kValue] = Multiply::add(sum[i.kValue][j.kValue], left, b[j.kValue]);
      });
    });
  }
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      store(sums + i.kValue * kColumns + j.kValue * kLanes<int32_t>, sum[i.kValue][j.kValue]);
    });
  });
}

template <class Multiply>
constexpr detail::IntegerKernels kernels_with(const char* name, bool is_wide) {
  detail::IntegerKernels made{name, kColumns, kTileRows, is_wide, {}};
  made.tile[0] = tile<Multiply, 1>;
  made.tile[1] = tile<Multiply, 2>;
  made.tile[2] = tile<Multiply, 3>;
  made.tile[3] = tile<Multiply, 4>;
  made.tile[4] = tile<Multiply, 5>;
  if constexpr (kTileRows > 5) made.tile[5] = tile<Multiply, 6>;
  if constexpr (kTileRows > 6) {
    made.tile[6] = tile<Multiply, 7>;
    made.tile[7] = tile<Multiply, 8>;
    made.tile[8] = tile<Multiply, 9>;
    made.tile[9] = tile<Multiply, 10>;
    made.tile[10] = tile<Multiply, 11>;
    made.tile[11] = tile<Multiply, 12>;
    made.tile[12] = tile<Multiply, 13>;
    made.tile[13] = tile<Multiply, 14>;
  }
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

void dequantise(float* y, const int32_t* sums, float row_scale, const float* column_scales,
                const float* bias, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    y[j] = static_cast<float>(sums[j]) * (row_scale * column_scales[j]) + bias[j];
  }
}

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
                                       largest, quantise, dequantise};
  return kTable;
}

}  // namespace detail
}  // namespace tensorlike
