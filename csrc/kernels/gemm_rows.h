// The inner loops of the matrix multiply for few rows, where reading b is all the work: dot
// products with its columns, or sums of its rows. Included by gemm_isa.h only.
#pragma once

#include "kernels/gemm_halves.h"
#include "kernels/gemm_vectors.h"

namespace tensorlike {
namespace {

// The first half of the lanes and the second, lane by lane, and so on until one is left.
template <class T, class V>
TL_INLINE T sum_lanes(V x) {
  constexpr int kCount = static_cast<int>(sizeof(V) / sizeof(T));
  if constexpr (kCount == 16) {
    return sum_lanes<T>(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15));
  } else if constexpr (kCount == 8) {
    return sum_lanes<T>(__builtin_shufflevector(x, x, 0, 1, 2, 3) +
                        __builtin_shufflevector(x, x, 4, 5, 6, 7));
  } else if constexpr (kCount == 4) {
    return sum_lanes<T>(__builtin_shufflevector(x, x, 0, 1) + __builtin_shufflevector(x, x, 2, 3));
  } else {
    return x[0] + x[1];
  }
}

// What a step of dot products reads and how it is added: vectors of what sums are made of,
template <class T>
struct Steps {
  using Left = T;
  using Right = PackedOf<T>;
  using Part = Vector<SumOf<T>>;
  static constexpr int kLength = kLanes<SumOf<T>>;

  template <class From>
  static TL_INLINE Part load(const From* from) {
    return load_wide(from);
  }
  static TL_INLINE void add(Vector<SumOf<T>>& sum, Part left, Part right) { sum += left * right; }
};

#if defined(__AVX512F__)
// or pairs of numbers as they lie in memory.
template <>
struct Steps<BFloat16Pair> {
  using Left = BFloat16;
  using Right = BFloat16;
  using Part = Vector<BFloat16Pair>;
  static constexpr int kLength = 2 * kLanes<float>;

  static TL_INLINE Part load(const BFloat16* from) { return load_bits<Part>(from); }
  static TL_INLINE void add(Vector<float>& sum, Part left, Part right) {
    add_pairs(sum, left, right);
  }
};
#endif

// y[j * y_row + i] = dot(a[i], x[j]), all contiguous along k. One vector of x gets two sums, since
// one alone would wait for the latency of the additions.
template <class T, int kRows, int kOthers>
TL_INLINE void dot_tile(int64_t k, const typename Steps<T>::Left* a, int64_t a_row,
                        const typename Steps<T>::Right* x, int64_t x_row, SumOf<T>* y,
                        int64_t y_row) {
  using V = Vector<SumOf<T>>;
  using Part = typename Steps<T>::Part;
  constexpr int kStep = Steps<T>::kLength;
  constexpr int kSums = kOthers == 1 ? 2 : 1;
  V sum[kRows][kOthers][kSums];
  unrolled<kRows * kOthers * kSums>([&](auto s) __attribute__((always_inline)) {
    sum[s.kValue / kSums / kOthers][s.kValue / kSums % kOthers][s.kValue % kSums] = V{};
  });
  int64_t p = 0;
  for (; p + kSums * kStep <= k; p += kSums * kStep) {
    unrolled<kSums>([&](auto s) __attribute__((always_inline)) {
      const int64_t q = p + s.kValue * kStep;
      Part other[kOthers];
      unrolled<kOthers>([&](auto j) __attribute__((always_inline)) {
        other[j.kValue] = Steps<T>::load(x + j.kValue * x_row + q);
      });
      unrolled<kRows, kOthers>([&](auto i, auto j) __attribute__((always_inline)) {
        const Part row = Steps<T>::load(a + i.kValue * a_row + q);
        Steps<T>::add(sum[i.kValue][j.kValue][s.kValue], row, other[j.kValue]);
      });
    });
  }
#if defined(__AVX512F__)
  if constexpr (__is_same(T, SumOf<T>)) {
    for (; p < k; p += kStep) {
      const uint32_t mask = mask_of<T>(k - p);
      V other[kOthers];
      unrolled<kOthers>([&](auto j) __attribute__((always_inline)) {
        other[j.kValue] = load_masked(mask, x + j.kValue * x_row + p);
      });
      unrolled<kRows, kOthers>([&](auto i, auto j) __attribute__((always_inline)) {
        const V row = load_masked(mask, a + i.kValue * a_row + p);
        sum[i.kValue][j.kValue][0] += row * other[j.kValue];
      });
    }
  }
#endif
  unrolled<kRows, kOthers>([&](auto i, auto j) __attribute__((always_inline)) {
    SumOf<T> tail = 0;
    for (int64_t q = p; q < k; ++q) {
      tail += widened(a[i.kValue * a_row + q]) * widened(x[j.kValue * x_row + q]);
    }
    V total = sum[i.kValue][j.kValue][0];
    if constexpr (kSums == 2) total += sum[i.kValue][j.kValue][1];
    y[j.kValue * y_row + i.kValue] = sum_lanes<SumOf<T>>(total) + tail;
  });
}

template <class T, int kOthers>
TL_INLINE void dot_stripe(int64_t rows, int64_t k, const typename Steps<T>::Left* a, int64_t a_row,
                          const typename Steps<T>::Right* x, int64_t x_row, SumOf<T>* y,
                          int64_t y_row) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    dot_tile<T, 4, kOthers>(k, a + i * a_row, a_row, x, x_row, y + i, y_row);
  }
  for (; i < rows; ++i) {
    dot_tile<T, 1, kOthers>(k, a + i * a_row, a_row, x, x_row, y + i, y_row);
  }
}

template <class T>
void dot_rows(int64_t rows, int64_t k, const typename Steps<T>::Left* a, int64_t a_row,
              const typename Steps<T>::Right* x, int64_t x_rows, int64_t x_row, SumOf<T>* y,
              int64_t y_row) {
  constexpr int64_t kOthers = kRegisters >= 32 ? 4 : 2;
  constexpr int64_t kRowsAtOnce = 4;  // of a, so that all rows of x find them in the cache
  for (int64_t i = 0; i < rows; i += kRowsAtOnce) {
    const int64_t count = rows - i < kRowsAtOnce ? rows - i : kRowsAtOnce;
    int64_t j = 0;
    for (; j + kOthers <= x_rows; j += kOthers) {
      dot_stripe<T, kOthers>(count, k, a + i * a_row, a_row, x + j * x_row, x_row,
                             y + j * y_row + i, y_row);
    }
    // The others share what is read of a.
    const auto* const rest = x + j * x_row;
    SumOf<T>* const to = y + j * y_row + i;
    if constexpr (kOthers > 2) {
      if (x_rows - j == 3) {
        dot_stripe<T, 3>(count, k, a + i * a_row, a_row, rest, x_row, to, y_row);
      } else if (x_rows - j == 2) {
        dot_stripe<T, 2>(count, k, a + i * a_row, a_row, rest, x_row, to, y_row);
      }
    }
    if (x_rows - j == 1) {
      dot_stripe<T, 1>(count, k, a + i * a_row, a_row, rest, x_row, to, y_row);
    }
  }
}

#if defined(__AVX512F__)
constexpr auto dot_pairs = dot_rows<BFloat16Pair>;
#else
constexpr decltype(detail::GemmTable::dot_pairs) dot_pairs = nullptr;
#endif

// y[i][j] = sum over p of x[i][p] * b[p][j]: groups of whole rows of b, so that memory is read in
// long runs, and y passes through the first-level cache once per group.
// kAhead: b is larger than the second-level cache, and the next group is asked for meanwhile.
template <class T, int kGroup, bool kIsSingle, bool kAhead>
TL_INLINE void add_group(int64_t rows, int64_t columns, const PackedOf<T>* x, int64_t x_row,
                         int64_t x_k, const T* b, int64_t b_k, SumOf<T>* y, int64_t y_row,
                         bool accumulate) {
  using V = Vector<SumOf<T>>;
  constexpr int kStep = kLanes<SumOf<T>>;
  SumOf<T> factor[kGroup];  // of a single row of x; those of several do not fit the registers
  unrolled<kGroup>([&](auto r)
                       __attribute__((always_inline)) { factor[r.kValue] = x[r.kValue * x_k]; });
  int64_t j = 0;
  for (; j + kStep <= columns; j += kStep) {
    V row[kGroup];
    unrolled<kGroup>([&](auto r) __attribute__((always_inline)) {
      row[r.kValue] = load_wide(b + r.kValue * b_k + j);
      if constexpr (kAhead) __builtin_prefetch(b + (kGroup + r.kValue) * b_k + j);
    });
    for (int64_t i = 0; i < (kIsSingle ? 1 : rows); ++i) {
      SumOf<T>* to = y + i * y_row + j;
      const PackedOf<T>* from = x + i * x_row;
      V sum = accumulate ? load<V>(to) : V{};
      unrolled<kGroup>([&](auto r) __attribute__((always_inline)) {
        sum += (kIsSingle ? factor[r.kValue] : from[r.kValue * x_k]) * row[r.kValue];
      });
      store(to, sum);
    }
  }
  for (; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      SumOf<T>* to = y + i * y_row + j;
      SumOf<T> sum = accumulate ? *to : SumOf<T>{0};
      unrolled<kGroup>([&](auto r) __attribute__((always_inline)) {
        sum += x[i * x_row + r.kValue * x_k] * widened(b[r.kValue * b_k + j]);
      });
      *to = sum;
    }
  }
}

template <class T, bool kIsSingle, bool kAhead>
void sum_groups(int64_t rows, int64_t columns, int64_t k, const PackedOf<T>* x, int64_t x_row,
                int64_t x_k, const T* b, int64_t b_k, SumOf<T>* y, int64_t y_row) {
  int64_t p = 0;
  for (; p + 8 <= k; p += 8) {
    add_group<T, 8, kIsSingle, kAhead>(rows, columns, x + p * x_k, x_row, x_k, b + p * b_k, b_k, y,
                                       y_row, p > 0);
  }
  for (; p < k; ++p) {
    add_group<T, 1, kIsSingle, false>(rows, columns, x + p * x_k, x_row, x_k, b + p * b_k, b_k, y,
                                      y_row, p > 0);
  }
}

template <class T>
void sum_rows(int64_t rows, int64_t columns, int64_t k, const PackedOf<T>* x, int64_t x_row,
              int64_t x_k, const T* b, int64_t b_k, SumOf<T>* y, int64_t y_row) {
  constexpr int64_t kResident = int64_t{1} << 20;  // bytes
  const bool is_large = k * b_k * static_cast<int64_t>(sizeof(T)) > kResident;
  auto* const sum = rows == 1  ? (is_large ? sum_groups<T, true, true> : sum_groups<T, true, false>)
                    : is_large ? sum_groups<T, false, true>
                               : sum_groups<T, false, false>;
  sum(rows, columns, k, x, x_row, x_k, b, b_k, y, y_row);
}

}  // namespace
}  // namespace tensorlike
