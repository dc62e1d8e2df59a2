// The inner loops of the matrix multiply for few rows, where reading b is all the work: dot
// products with its columns, or sums of its rows. Included by gemm_isa.h only.
#pragma once

#include "kernels/gemm_halves.h"
#include "kernels/gemm_vectors.h"
#include "kernels/lanes.h"

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

// The first half of the lanes, or the second.
template <class Half, int kWhich, class V, int... kLane>
TL_INLINE Half half_of(V x, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(x, x, (kWhich * kLanesOf<Half> + kLane)...);
}
template <class Half, int kWhich, class V>
TL_INLINE Half half_of(V x) {
  return half_of<Half, kWhich>(x, std::make_integer_sequence<int, kLanesOf<Half>>{});
}

// to[r] = the sum of the lanes of sum[r]; whole vectors are written.
template <class T, class V, int kCount>
TL_INLINE void join_sums(const V (&sum)[kCount], T* to) {
  constexpr int kWidth = kLanesOf<V>;
  const auto add = [](V x, V y) __attribute__((always_inline)) { return x + y; };
  if constexpr (kCount > kWidth) {
    V first[kWidth], rest[kCount - kWidth];
    unrolled<kWidth>([&](auto r)
                         __attribute__((always_inline)) { first[r.kValue] = sum[r.kValue]; });
    unrolled<kCount - kWidth>(
        [&](auto r) __attribute__((always_inline)) { rest[r.kValue] = sum[kWidth + r.kValue]; });
    join_sums<T>(first, to);
    join_sums<T>(rest, to + kWidth);
  } else if constexpr (2 * kCount <= kWidth && kWidth > 2) {
    using Half = typename VectorOf<T, static_cast<int>(sizeof(V)) / 2>::Type;
    Half halves[kCount];
    unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
      halves[r.kValue] = half_of<Half, 0>(sum[r.kValue]) + half_of<Half, 1>(sum[r.kValue]);
    });
    join_sums<T>(halves, to);
  } else {
    V rows[kWidth];
    unrolled<kWidth>([&](auto r) __attribute__((always_inline)) {
      rows[r.kValue] = sum[r.kValue < kCount ? r.kValue : kCount - 1];
    });
    store(to, join_rows(rows, add));
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

// The first `count` elements of a step, and zeros; others are not read.
template <class T, class From>
TL_INLINE typename Steps<T>::Part load_first(const From* from, int64_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(From) >= 4) return load_masked(mask_of<From>(count), from);
#elif defined(__AVX2__)
  if constexpr (sizeof(From) >= 4) {
    using Part = typename Steps<T>::Part;
    using Number = std::remove_reference_t<decltype(LaneNumbers<Part>{}[0])>;
    return load_lanes<Part>(lane_numbers<Part>() < static_cast<Number>(count), from);
  }
#endif
  alignas(kVectorBytes) From some[Steps<T>::kLength] = {};
  for (int64_t i = 0; i < count; ++i) some[i] = from[i];
  return Steps<T>::load(some);
}

// y[j * y_row + i] = dot(a[i], x[j]), all contiguous along k. One vector of x gets two sums, since
// one alone would wait for the latency of the additions.
template <class T, int kRows, int kOthers>
void dot_tile(int64_t k, const typename Steps<T>::Left* a, int64_t a_row,
              const typename Steps<T>::Right* x, int64_t x_row, SumOf<T>* y, int64_t y_row) {
  using V = Vector<SumOf<T>>;
  using Part = typename Steps<T>::Part;
  constexpr int kStep = Steps<T>::kLength;
  constexpr int kSums = kOthers == 1 ? 2 : 1;
  constexpr int kCount = kRows * kOthers;
  V sum[kSums][kCount];
  unrolled<kSums, kCount>([&](auto s, auto r)
                              __attribute__((always_inline)) { sum[s.kValue][r.kValue] = V{}; });
  int64_t p = 0;
  const auto add = [&](auto s, auto&& get) __attribute__((always_inline)) {
    Part other[kOthers];
    unrolled<kOthers>([&](auto j) __attribute__((always_inline)) {
      other[j.kValue] = get(x + j.kValue * x_row);
    });
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      const Part row = get(a + i.kValue * a_row);
      unrolled<kOthers>([&](auto j) __attribute__((always_inline)) {
        Steps<T>::add(sum[s.kValue][j.kValue * kRows + i.kValue], row, other[j.kValue]);
      });
    });
  };
  const auto step = [&](auto s) __attribute__((always_inline)) {
    add(s, [&](auto* from) __attribute__((always_inline)) {
      return Steps<T>::load(from + p + s.kValue * kStep);
    });
  };
  for (; p + kSums * kStep <= k; p += kSums * kStep) unrolled<kSums>(step);
  if constexpr (kSums > 1) {
    for (; p + kStep <= k; p += kStep) step(Constant<0>{});
  }
  if (p < k) {
    add(Constant<0>{},
        [&](auto* from) __attribute__((always_inline)) { return load_first<T>(from + p, k - p); });
  }
  if constexpr (kSums > 1) {
    unrolled<kCount>([&](auto r)
                         __attribute__((always_inline)) { sum[0][r.kValue] += sum[1][r.kValue]; });
  }
  alignas(kVectorBytes) SumOf<T> all[kCount + kLanes<SumOf<T>>];
  join_sums<SumOf<T>>(sum[0], all);
  unrolled<kOthers>([&](auto j) __attribute__((always_inline)) {
    __builtin_memcpy(y + j.kValue * y_row, all + j.kValue * kRows, kRows * sizeof(SumOf<T>));
  });
}

constexpr int kDottedRows = 4;  // of a, so that all rows of x find them in the cache
// As many as the registers hold sums of: each vector that is loaded serves as many sums. Parts of
// more than one have two at least, so that only one by itself has two sums.
template <class T>
constexpr int kDottedOthers = kRegisters < 32               ? 3
                              : std::is_same_v<T, SumOf<T>> ? 6
                                                            : 4;

template <class T>
struct RowDots {
  using Tile = void (*)(int64_t k, const typename Steps<T>::Left* a, int64_t a_row,
                        const typename Steps<T>::Right* x, int64_t x_row, SumOf<T>* y,
                        int64_t y_row);
  Tile tile[kDottedRows][kDottedOthers<T>];  // [rows - 1][others - 1]

  constexpr RowDots() : tile() {
    unrolled<kDottedRows, kDottedOthers<T>>([&](auto i, auto j) {
      tile[i.kValue][j.kValue] = dot_tile<T, i.kValue + 1, j.kValue + 1>;
    });
  }
};

// The first of as few parts of n as can be, whose sizes differ by one at most.
TL_INLINE int64_t next_part(int64_t n, int64_t most) {
  const int64_t count = (n + most - 1) / most;
  return (n + count - 1) / count;
}

template <class T>
void dot_rows(int64_t rows, int64_t k, const typename Steps<T>::Left* a, int64_t a_row,
              const typename Steps<T>::Right* x, int64_t x_rows, int64_t x_row, SumOf<T>* y,
              int64_t y_row) {
  static constexpr RowDots<T> kTiles;
  for (int64_t i = 0, height; i < rows; i += height) {
    height = next_part(rows - i, kDottedRows);
    for (int64_t j = 0, width; j < x_rows; j += width) {
      width = next_part(x_rows - j, kDottedOthers<T>);
      kTiles.tile[height - 1][width - 1](k, a + i * a_row, a_row, x + j * x_row, x_row,
                                         y + j * y_row + i, y_row);
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
