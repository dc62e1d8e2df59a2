// Tiles of products of 8-bit integers, for one instruction set level.
//
// Sums are exact: pmaddubsw, which saturates, is not used. Where a processor has no dot products of
// bytes, numbers are widened to 16 bits while they are packed, for pmaddwd. The instructions that
// only some processors of a level have are written as assembly, since the compiler's own are for
// functions that are compiled for such processors alone.
#pragma once

#include <cstring>

#include "kernels/gemm_vectors.h"
#include "kernels/integer_product.h"

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
          int32_t* sums, int64_t sums_row) {
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
      store(sums + i.kValue * sums_row + j.kValue * kLanes<int32_t>, sum[i.kValue][j.kValue]);
    });
  });
}

template <class Multiply>
void row_tile(int64_t groups, const char* a, int64_t, const char* panels, const int32_t* start,
              int32_t* sums, int64_t) {
  constexpr int kPanels = detail::IntegerKernels::kRowPanels;
  const int64_t apart = 4 * kColumns * groups;
  Sums sum[kPanels][kVectors];
  const auto each = [](auto&& visit) __attribute__((always_inline)) {
    unrolled<kPanels>([&](auto i) __attribute__((always_inline)) {
      unrolled<kVectors>([&](auto j) __attribute__((always_inline)) { visit(i.kValue, j.kValue); });
    });
  };
  each([&](int i, int j) __attribute__((always_inline)) {
    sum[i][j] = load<Sums>(start + i * kColumns + j * kLanes<int32_t>);
  });
  for (int64_t p = 0; p < groups; ++p, a += 4, panels += 4 * kColumns) {
    int32_t four;
    std::memcpy(&four, a, sizeof(four));
    const Sums left = four - Sums{};
    each([&](int i, int j) __attribute__((always_inline)) {
      const auto* const panel = reinterpret_cast<const int32_t*>(panels + i * apart);
      sum[i][j] = Multiply::add(sum[i][j], left, load<Sums>(panel + j * kLanes<int32_t>));
    });
  }
  each([&](int i, int j) __attribute__((always_inline)) {
    store(sums + i * kColumns + j * kLanes<int32_t>, sum[i][j]);
  });
}

// The same of weights, `kRows` times four bytes for each group, and an image that is read in place:
// the groups' positions begin at offsets, and follow each other.
template <class Multiply, int kRows>
void window_tile(int64_t groups, const char* weights, const char* image, const int64_t* offsets,
                 const int32_t* start, int32_t* sums) {
  Sums sum[kRows][kVectors];
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      sum[i.kValue][j.kValue] = start[i.kValue] - Sums{};
    });
  });
  for (int64_t p = 0; p < groups; ++p, weights += 4 * kRows) {
    const char* const from = image + offsets[p];
    Sums b[kVectors];
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      b[j.kValue] = load<Sums>(reinterpret_cast<const int32_t*>(from) + j.kValue * kLanes<int32_t>);
    });
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      int32_t four;
      std::memcpy(&four, weights + 4 * i.kValue, sizeof(four));
      const Sums weight = four - Sums{};
      unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
        sum[i.kValue][j.kValue] = Multiply::add(sum[i.kValue][j.kValue], b[j.kValue], weight);
      });
    });
  }
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      store(sums + i.kValue * kColumns + j.kValue * kLanes<int32_t>, sum[i.kValue][j.kValue]);
    });
  });
}

}  // namespace
}  // namespace tensorlike
