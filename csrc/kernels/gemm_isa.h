// The inner loops of the matrix multiply, as templates over the element type and the tile size. The
// vector width follows from the flags that a translation unit is compiled with, so this file is
// compiled once per instruction set level, by gemm_tu.cpp. All is in an anonymous namespace and
// uses no library templates: an inline function that two levels share would be merged by the
// linker, and AVX-512 code would run on machines without it.
#pragma once

#include <cstdint>

#include "kernels/gemm.h"
#include "kernels/gemm_few.h"
#include "kernels/gemm_halves.h"
#include "kernels/gemm_packing.h"
#include "kernels/gemm_rows.h"
#include "kernels/gemm_vectors.h"

namespace tensorlike {
namespace {

// ---- tiles ------------------------------------------------------------------------------------

template <class T>
TL_INLINE void add_product(Vector<T>& sum, T factor, Vector<T> row) {
  sum += factor * row;
}

#if defined(__AVX512F__)
TL_INLINE void add_product(Vector<float>& sum, BFloat16Pair factor, Vector<BFloat16Pair> row) {
  add_pairs(sum, row, Vector<BFloat16Pair>{} + factor.bits);
}
#endif

template <class T, int kRows, int kVectors>
TL_INLINE void store_tile(const Vector<T> (&sum)[kRows][kVectors], T* c, int64_t c_row,
                          int64_t columns, bool accumulate) {
  using V = Vector<T>;
  constexpr int kStep = kLanes<T>;
  if (columns == kVectors * kStep) {
    if (accumulate) {
      unrolled<kRows, kVectors>([&](auto i, auto j) __attribute__((always_inline)) {
        T* to = c + i.kValue * c_row + j.kValue * kStep;
        store(to, load<V>(to) + sum[i.kValue][j.kValue]);
      });
    } else {
      unrolled<kRows, kVectors>([&](auto i, auto j) __attribute__((always_inline)) {
        store(c + i.kValue * c_row + j.kValue * kStep, sum[i.kValue][j.kValue]);
      });
    }
    return;
  }
#if defined(__AVX512F__)
  unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
    const uint32_t mask = mask_of<T>(columns - j.kValue * kStep);
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      T* to = c + i.kValue * c_row + j.kValue * kStep;
      V value = sum[i.kValue][j.kValue];
      if (accumulate) value += load_masked(mask, to);
      store_masked(to, mask, value);
    });
  });
#else
  alignas(kVectorBytes) T tile[kRows][kVectors * kStep];
  unrolled<kRows, kVectors>([&](auto i, auto j) __attribute__((always_inline)) {
    store(&tile[i.kValue][j.kValue * kStep], sum[i.kValue][j.kValue]);
  });
  for (int i = 0; i < kRows; ++i) {
    T* to = c + i * c_row;
    for (int64_t j = 0; j < columns; ++j) to[j] = accumulate ? to[j] + tile[i][j] : tile[i][j];
  }
#endif
}

// Goes along what is asked for.
template <class T>
struct Asked {
  const T* at;
  int64_t left;

  TL_INLINE void step(const detail::Ahead<T>& ahead) {
    at += ahead.step;
    if (--left > 0) return;
    at += ahead.jump;
    left = ahead.run;
  }
};

// The sums of a tile. A masked load takes a turn of the multiply-adds, so whole tiles have none.
template <class T, int kRows, int kVectors, bool kIsStrided, bool kIsWhole>
TL_INLINE void add_products(Vector<SumOf<T>> (&sum)[kRows][kVectors], int64_t k, const T* a,
                            int64_t a_row, int64_t a_k, const T* b, int64_t b_k,
                            const detail::Ahead<T>& ahead, [[maybe_unused]] int64_t columns) {
  using V = Vector<T>;
  constexpr int kStep = kLanes<T>;
#if defined(__AVX512F__)
  uint32_t mask[kVectors];
  unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
    mask[j.kValue] = mask_of<T>(columns - j.kValue * kStep);
  });
#endif
  // b's rows are often in different pages, where the processor's own prefetcher gives up, or in the
  // cache of another core that has just updated them.
  constexpr bool kStreams = kVectors > 1;
  Asked<T> asked = {ahead.at, ahead.run};
  // One pointer per three rows: row, row + stride and row + 2 * stride are one addressing mode
  // each.
  constexpr int kGroups = kIsStrided ? (kRows + 2) / 3 : 1;
  const int64_t stride = a_row * static_cast<int64_t>(sizeof(T));
  const char* group[kGroups];
  unrolled<kGroups>([&](auto g) __attribute__((always_inline)) {
    group[g.kValue] = reinterpret_cast<const char*>(a) + g.kValue * 3 * stride;
  });
  const int64_t group_step = a_k * static_cast<int64_t>(sizeof(T));
  for (int64_t p = 0; p < k; ++p) {
    V row[kVectors];
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
#if defined(__AVX512F__)
      if constexpr (!kIsWhole) {
        row[j.kValue] = load_masked(mask[j.kValue], b + j.kValue * kStep);
      } else
#endif
        row[j.kValue] = load<V>(b + j.kValue * kStep);
      // Of three lines that a row may take the first one was the last of the tile before.
      if constexpr (kStreams) __builtin_prefetch(asked.at + (j.kValue + 1) * kStep - 1);
    });
    unrolled<kRows, kVectors>([&](auto i, auto j) __attribute__((always_inline)) {
      T factor;
      if constexpr (kIsStrided) {
        factor = *reinterpret_cast<const T*>(group[i.kValue / 3] + i.kValue % 3 * stride);
      } else {
        factor = reinterpret_cast<const T*>(group[0])[i.kValue];
      }
      add_product(sum[i.kValue][j.kValue], factor, row[j.kValue]);
    });
    unrolled<kGroups>([&](auto g)
                          __attribute__((always_inline)) { group[g.kValue] += group_step; });
    b += b_k;
    if constexpr (kStreams) asked.step(ahead);
  }
}

template <class T, int kRows, int kVectors, bool kIsStrided>
void multiply_tile(int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b, int64_t b_k,
                   const detail::Ahead<T>& ahead, SumOf<T>* c, int64_t c_row, int64_t columns,
                   bool accumulate) {
  using V = Vector<SumOf<T>>;
  constexpr int64_t kColumns = kVectors * kLanes<T>;
  V sum[kRows][kVectors];
  unrolled<kRows, kVectors>([&](auto i, auto j)
                                __attribute__((always_inline)) { sum[i.kValue][j.kValue] = V{}; });
  // c arrives while the sums are made: to be added to, or to be written without waiting for it. Few
  // steps take no longer than asking.
  constexpr int64_t kFewSteps = 24;
  if (k >= kFewSteps) {
    unrolled<kRows, kVectors>([&](auto i, auto j) __attribute__((always_inline)) {
      __builtin_prefetch(c + i.kValue * c_row + j.kValue * kLanes<T>, 1);
    });
  }
  if (!kHasMasks || columns == kColumns) {
    add_products<T, kRows, kVectors, kIsStrided, true>(sum, k, a, a_row, a_k, b, b_k, ahead,
                                                       columns);
  } else {
    add_products<T, kRows, kVectors, kIsStrided, false>(sum, k, a, a_row, a_k, b, b_k, ahead,
                                                        columns);
  }
  asm("" : "+r"(c_row));  // where rows of c lie is found again, and no register kept for it
  store_tile<SumOf<T>, kRows, kVectors>(sum, c, c_row, columns, accumulate);
}

// As multiply_tile, for rows of b that lie anywhere: windows of an image, which are read in place.
template <class T, int kRows, int kVectors>
void multiply_listed(int64_t k, const T* a, const T* b, const detail::ListedRow* listed,
                     const T* start, T* c, int64_t c_row, int64_t columns, bool accumulate) {
  using V = Vector<T>;
  V sum[kRows][kVectors];
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    const T first = accumulate ? T{0} : start[i.kValue];
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      sum[i.kValue][j.kValue] = V{} + first;
      __builtin_prefetch(c + i.kValue * c_row + (kVectors + j.kValue) * kLanes<T>, 1);
    });
  });
  constexpr int64_t kAhead = 1024;  // panels follow each other: the next one arrives meanwhile
  for (int64_t p = 0; p < k; ++p) {
    const T* const factors = a + listed[p].number * kRows;
    __builtin_prefetch(factors + kAhead);
    V row[kVectors];
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      row[j.kValue] = load<V>(b + listed[p].offset + j.kValue * kLanes<T>);
    });
    unrolled<kRows, kVectors>([&](auto i, auto j) __attribute__((always_inline)) {
      sum[i.kValue][j.kValue] += factors[i.kValue] * row[j.kValue];
    });
  }
  store_tile<T, kRows, kVectors>(sum, c, c_row, columns, accumulate);
}

// ---- the table --------------------------------------------------------------------------------

template <class T>
constexpr bool kIsFloat = static_cast<T>(0.5) != 0;

// How many rows of `vectors` vectors fit in the registers, beside a row of b and a factor.
template <class T>
constexpr int fitting_rows(int vectors) {
  if (!kIsFloat<T> && vectors > 2) return 0;  // integers are not worth that much code
  if (vectors == 8) return kRegisters >= 32 ? 2 : 1;
  const int rows = (kRegisters - 1 - vectors) / vectors;
  const int limit = !kIsFloat<T> ? 4 : kRegisters >= 32 ? 14 : 6;
  return rows < limit ? rows : limit;
}

#if defined(__AVX512F__)
template <int kWidth>
TL_INLINE constexpr void add_pair_tiles(detail::GemmKernels<BFloat16Pair>& kernels) {
  constexpr int kVectors = 1 << kWidth;
  constexpr int kRows = fitting_rows<float>(kVectors);
  kernels.max_rows[kWidth] = kRows;
  unrolled<kRows>([&](auto i) {
    kernels.tile[kWidth][0][i.kValue] = multiply_tile<BFloat16Pair, i.kValue + 1, kVectors, false>;
  });
}
#endif

// Pairs are packed always.
constexpr detail::GemmKernels<BFloat16Pair> pair_kernels() {
  detail::GemmKernels<BFloat16Pair> kernels{};
#if defined(__AVX512F__)
  kernels.lanes = kLanes<float>;
  kernels.reads_partial_b = true;
  add_pair_tiles<0>(kernels);
  add_pair_tiles<1>(kernels);
  add_pair_tiles<2>(kernels);
  add_pair_tiles<3>(kernels);
#endif
  return kernels;
}

// Numbers of 16 bits have no tiles of their own: packed, they are float32 or pairs.
template <class T>
constexpr detail::GemmKernels<T> half_kernels() {
  detail::GemmKernels<T> kernels{};
  kernels.pack = widen<T>;
  kernels.dot_rows = dot_rows<T>;
  kernels.sum_rows = sum_rows<T>;
  return kernels;
}

template <class T, int kWidth>
TL_INLINE constexpr void add_tiles(detail::GemmKernels<T>& kernels) {
  constexpr int kVectors = 1 << kWidth;
  constexpr int kRows = fitting_rows<T>(kVectors);
  kernels.max_rows[kWidth] = kRows;
  unrolled<kRows>([&](auto i) {
    kernels.tile[kWidth][0][i.kValue] = multiply_tile<T, i.kValue + 1, kVectors, false>;
    kernels.tile[kWidth][1][i.kValue] = multiply_tile<T, i.kValue + 1, kVectors, true>;
    if constexpr (kIsFloat<T>) {
      kernels.listed[kWidth][i.kValue] = multiply_listed<T, i.kValue + 1, kVectors>;
    }
  });
}

template <class T>
constexpr detail::GemmKernels<T> gemm_kernels() {
  detail::GemmKernels<T> kernels{};
  kernels.lanes = kLanes<T>;
  kernels.reads_partial_b = kHasMasks;
  add_tiles<T, 0>(kernels);
  add_tiles<T, 1>(kernels);
  add_tiles<T, 2>(kernels);
  add_tiles<T, 3>(kernels);
  kernels.pack = pack<T>;
  kernels.dot_rows = dot_rows<T>;
  kernels.sum_rows = sum_rows<T>;
#if defined(__AVX2__)
  if constexpr (kIsFloat<T>) kernels.multiply_few = multiply_few<T>;
#endif
  return kernels;
}

}  // namespace
}  // namespace tensorlike

#undef TL_INLINE
