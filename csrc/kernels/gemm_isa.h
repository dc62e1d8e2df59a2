// The inner loops of the matrix multiply, as templates over the element type and the tile size. The
// vector width follows from the flags that a translation unit is compiled with, so this file is
// compiled once per instruction set level, by gemm_tu.cpp. All is in an anonymous namespace and
// uses no library templates: an inline function that two levels share would be merged by the
// linker, and AVX-512 code would run on machines without it.
#pragma once

#include <cstdint>

#include "kernels/gemm.h"
#include "kernels/gemm_rows.h"
#include "kernels/gemm_vectors.h"

namespace tensorlike {
namespace {

// ---- tiles ------------------------------------------------------------------------------------

template <class T, int kRows, int kVectors>
TL_INLINE void store_tile(const Vector<T> (&sum)[kRows][kVectors], T* c, int64_t c_row,
                          int64_t columns, bool accumulate) {
  using V = Vector<T>;
  constexpr int kStep = kLanes<T>;
  if (columns == kVectors * kStep) {
    if (accumulate) {
      unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
        unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
          T* to = c + i.kValue * c_row + j.kValue * kStep;
          store(to, load<V>(to) + sum[i.kValue][j.kValue]);
        });
      });
    } else {
      unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
        unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
          store(c + i.kValue * c_row + j.kValue * kStep, sum[i.kValue][j.kValue]);
        });
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
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      store(&tile[i.kValue][j.kValue * kStep], sum[i.kValue][j.kValue]);
    });
  });
  for (int i = 0; i < kRows; ++i) {
    T* to = c + i * c_row;
    for (int64_t j = 0; j < columns; ++j) to[j] = accumulate ? to[j] + tile[i][j] : tile[i][j];
  }
#endif
}

// The sums of a tile. A masked load takes a turn of the multiply-adds, so whole tiles have none.
template <class T, int kRows, int kVectors, bool kIsStrided, bool kIsWhole>
TL_INLINE void add_products(Vector<T> (&sum)[kRows][kVectors], int64_t k, const T* a, int64_t a_row,
                            int64_t a_k, const T* b, int64_t b_k,
                            [[maybe_unused]] int64_t columns) {
  using V = Vector<T>;
  constexpr int kStep = kLanes<T>;
#if defined(__AVX512F__)
  uint32_t mask[kVectors];
  unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
    mask[j.kValue] = mask_of<T>(columns - j.kValue * kStep);
  });
#endif
  // b's rows are often in different pages, where the processor's own prefetcher gives up, or in the
  // cache of another core that has just updated them. With few rows less time passes between them.
  constexpr bool kStreams = kVectors > 1;
  [[maybe_unused]] constexpr int64_t kAhead = kRows <= 8 ? 8 : 24;
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
      if constexpr (kStreams) __builtin_prefetch(b + kAhead * b_k + j.kValue * kStep);
    });
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      T factor;
      if constexpr (kIsStrided) {
        factor = *reinterpret_cast<const T*>(group[i.kValue / 3] + i.kValue % 3 * stride);
      } else {
        factor = reinterpret_cast<const T*>(group[0])[i.kValue];
      }
      unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
        sum[i.kValue][j.kValue] += factor * row[j.kValue];
      });
    });
    unrolled<kGroups>([&](auto g)
                          __attribute__((always_inline)) { group[g.kValue] += group_step; });
    b += b_k;
  }
}

template <class T, int kRows, int kVectors, bool kIsStrided>
void multiply_tile(int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b, int64_t b_k, T* c,
                   int64_t c_row, int64_t columns, bool accumulate) {
  using V = Vector<T>;
  constexpr int64_t kColumns = kVectors * kLanes<T>;
  V sum[kRows][kVectors];
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto j)
                           __attribute__((always_inline)) { sum[i.kValue][j.kValue] = V{}; });
  });
  // c arrives while the sums are made: to be added to, or to be written without waiting for it.
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      __builtin_prefetch(c + i.kValue * c_row + j.kValue * kLanes<T>, 1);
    });
  });
  if (!kHasMasks || columns == kColumns) {
    add_products<T, kRows, kVectors, kIsStrided, true>(sum, k, a, a_row, a_k, b, b_k, columns);
  } else {
    add_products<T, kRows, kVectors, kIsStrided, false>(sum, k, a, a_row, a_k, b, b_k, columns);
  }
  store_tile<T, kRows, kVectors>(sum, c, c_row, columns, accumulate);
}

// As multiply_tile, for rows of b that lie anywhere: windows of an image, which are read in place.
template <class T, int kRows, int kVectors>
void multiply_listed(int64_t k, const T* a, const T* b, const int64_t* offsets, const T* start,
                     T* c, int64_t c_row, int64_t columns, bool accumulate) {
  using V = Vector<T>;
  V sum[kRows][kVectors];
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    const T first = accumulate ? T{0} : start[i.kValue];
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      sum[i.kValue][j.kValue] = V{} + first;
      __builtin_prefetch(c + i.kValue * c_row + j.kValue * kLanes<T>, 1);
    });
  });
  constexpr int64_t kAhead = 1024;  // panels follow each other: the next one arrives meanwhile
  for (int64_t p = 0; p < k; ++p, a += kRows) {
    __builtin_prefetch(a + kAhead);
    V row[kVectors];
    unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
      row[j.kValue] = load<V>(b + offsets[p] + j.kValue * kLanes<T>);
    });
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      const T factor = a[i.kValue];
      unrolled<kVectors>([&](auto j) __attribute__((always_inline)) {
        sum[i.kValue][j.kValue] += factor * row[j.kValue];
      });
    });
  }
  store_tile<T, kRows, kVectors>(sum, c, c_row, columns, accumulate);
}

// ---- packing ----------------------------------------------------------------------------------

// Transposes work on squares of 16-byte vectors: on one, or on two at once, side by side in vectors
// of 32 bytes.
constexpr int kSmallBytes = 16;
constexpr int kMostSquares = kVectorBytes >= 32 ? 2 : 1;

template <class T, int kSquares = 1>
using Small = typename VectorOf<T, kSmallBytes * kSquares>::Type;

template <class T>
constexpr int kSmallLanes = kSmallBytes / static_cast<int>(sizeof(T));

template <class T, int kSquares>
TL_INLINE void transpose(Small<T, kSquares> (&x)[kSmallLanes<T>]) {
  using V = Small<T, kSquares>;
  if constexpr (sizeof(T) == 4 && kSquares == 1) {
    const V low01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
    const V high01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    const V low23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
    const V high23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    x[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    x[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
    x[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
  } else if constexpr (sizeof(T) == 4) {
    const V low01 = __builtin_shufflevector(x[0], x[1], 0, 8, 1, 9, 4, 12, 5, 13);
    const V high01 = __builtin_shufflevector(x[0], x[1], 2, 10, 3, 11, 6, 14, 7, 15);
    const V low23 = __builtin_shufflevector(x[2], x[3], 0, 8, 1, 9, 4, 12, 5, 13);
    const V high23 = __builtin_shufflevector(x[2], x[3], 2, 10, 3, 11, 6, 14, 7, 15);
    x[0] = __builtin_shufflevector(low01, low23, 0, 1, 8, 9, 4, 5, 12, 13);
    x[1] = __builtin_shufflevector(low01, low23, 2, 3, 10, 11, 6, 7, 14, 15);
    x[2] = __builtin_shufflevector(high01, high23, 0, 1, 8, 9, 4, 5, 12, 13);
    x[3] = __builtin_shufflevector(high01, high23, 2, 3, 10, 11, 6, 7, 14, 15);
  } else if constexpr (kSquares == 1) {
    const V first = __builtin_shufflevector(x[0], x[1], 0, 2);
    x[1] = __builtin_shufflevector(x[0], x[1], 1, 3);
    x[0] = first;
  } else {
    const V first = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6);
    x[1] = __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7);
    x[0] = first;
  }
}

// Two vectors behind each other.
template <class T>
TL_INLINE Small<T, 2> joined(Small<T> low, Small<T> high) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  } else {
    return __builtin_shufflevector(low, high, 0, 1, 2, 3);
  }
}

// Rows of `count` contiguous elements.
template <class T, class V>
TL_INLINE void pack_rows(T* to, int64_t step, const T* from, int64_t k_stride, int64_t count,
                         int64_t k) {
  constexpr int64_t kStep = static_cast<int64_t>(sizeof(V) / sizeof(T));
  for (int64_t p = 0; p < k; ++p, to += step, from += k_stride) {
    for (int64_t i = 0; i + kStep <= count; i += kStep) store(to + i, load<V>(from + i));
    if (count % kStep != 0) store(to + count - kStep, load<V>(from + count - kStep));
  }
}

// Rows of fewer elements than a vector has.
template <class T>
TL_INLINE void pack_short_rows(T* to, int64_t step, const T* from, int64_t k_stride, int64_t count,
                               int64_t k) {
#if defined(__AVX512F__)
  const uint32_t mask = mask_of<T>(count);
  for (int64_t p = 0; p < k; ++p, to += step, from += k_stride) {
    __builtin_prefetch(from + 8 * k_stride);  // rows are in different pages
    store_masked(to, mask, load_masked(mask, from));
  }
#else
  pack_rows<T, Small<T>>(to, step, from, k_stride, count, k);
#endif
}

// kCount squares of kSquares * kSmallLanes runs along k, one behind the other.
template <class T, int kSquares, int kCount>
TL_INLINE void pack_squares(T* to, int64_t step, const T* from, int64_t lane_stride) {
  constexpr int kSide = kSmallLanes<T>;
  unrolled<kCount>([&](auto q) __attribute__((always_inline)) {
    Small<T, kSquares> square[kSide];
    unrolled<kSide>([&](auto r) __attribute__((always_inline)) {
      const T* row = from + r.kValue * lane_stride + q.kValue * kSide;
      if constexpr (kSquares == 1) {
        square[r.kValue] = load<Small<T>>(row);
      } else {
        square[r.kValue] =
            joined<T>(load<Small<T>>(row), load<Small<T>>(row + kSide * lane_stride));
      }
    });
    transpose<T, kSquares>(square);
    unrolled<kSide>([&](auto r) __attribute__((always_inline)) {
      store(to + (q.kValue * kSide + r.kValue) * step, square[r.kValue]);
    });
  });
}

// Columns of `count` >= kSquares * kSmallLanes contiguous runs along k: squares, transposed in
// registers. The last ones overlap those before them if the count asks for it.
template <class T, int kSquares>
TL_INLINE void pack_columns(T* to, int64_t step, const T* from, int64_t lane_stride, int64_t count,
                            int64_t k) {
  constexpr int kSide = kSmallLanes<T>;
  constexpr int kHeight = kSquares * kSide;
  constexpr int kInLine = 64 / kSmallBytes;  // whole cache lines are read
  auto pack_step = [&](int64_t p, auto squares) __attribute__((always_inline)) {
    for (int64_t start = 0; start < count; start += kHeight) {
      const int64_t i = start + kHeight <= count ? start : count - kHeight;
      pack_squares<T, kSquares, squares.kValue>(to + p * step + i, step, from + i * lane_stride + p,
                                                lane_stride);
    }
  };
  int64_t p = 0;
  for (; p + kInLine * kSide <= k; p += kInLine * kSide) pack_step(p, Constant<kInLine>{});
  for (; p + kSide <= k; p += kSide) pack_step(p, Constant<1>{});
  for (; p < k; ++p) {
    for (int64_t i = 0; i < count; ++i) to[p * step + i] = from[i * lane_stride + p];
  }
}

template <class T>
void pack(T* to, int64_t step, const T* from, int64_t lane_stride, int64_t k_stride, int64_t count,
          int64_t k) {
  if (count < step) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = count; i < step; ++i) to[p * step + i] = 0;
    }
  }
  if (lane_stride == 1 && count == 2 * kLanes<T>) {
    pack_rows<T, Vector<T>>(to, step, from, k_stride, 2 * kLanes<T>, k);
  } else if (lane_stride == 1 && count >= kLanes<T>) {
    pack_rows<T, Vector<T>>(to, step, from, k_stride, count, k);
  } else if (lane_stride == 1 && count >= kSmallLanes<T>) {
    pack_short_rows<T>(to, step, from, k_stride, count, k);
  } else if (k_stride == 1 && count >= kMostSquares * kSmallLanes<T>) {
    pack_columns<T, kMostSquares>(to, step, from, lane_stride, count, k);
  } else if (k_stride == 1 && count >= kSmallLanes<T>) {
    pack_columns<T, 1>(to, step, from, lane_stride, count, k);
  } else {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = 0; i < count; ++i) to[p * step + i] = from[i * lane_stride + p * k_stride];
    }
  }
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
  return kernels;
}

}  // namespace
}  // namespace tensorlike

#undef TL_INLINE
