// How operands of the matrix multiply are packed: lanes side by side, for each step along k.
// Included by gemm_isa.h only, which says why all is in an anonymous namespace.
#pragma once

#include "kernels/gemm.h"
#include "kernels/gemm_vectors.h"

namespace tensorlike {
namespace {

// A lane of pairs holds the bits of both.
template <int kBytes>
struct VectorOf<BFloat16Pair, kBytes> : VectorOf<uint32_t, kBytes> {};

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

// kCount squares of kSquares * kSmallLanes runs along k, one behind the other. Elements consist of
// one or several of what they are read from.
template <class T, int kSquares, int kCount, class From>
TL_INLINE void pack_squares(T* to, int64_t step, const From* from, int64_t lane_stride) {
  constexpr int kSide = kSmallLanes<T>;
  constexpr int kOfEach = sizeof(T) / sizeof(From);
  unrolled<kCount>([&](auto q) __attribute__((always_inline)) {
    Small<T, kSquares> square[kSide];
    unrolled<kSide>([&](auto r) __attribute__((always_inline)) {
      const From* row = from + r.kValue * lane_stride + q.kValue * kSide * kOfEach;
      if constexpr (kSquares == 1) {
        square[r.kValue] = load_bits<Small<T>>(row);
      } else {
        square[r.kValue] =
            joined<T>(load_bits<Small<T>>(row), load_bits<Small<T>>(row + kSide * lane_stride));
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
template <class T, int kSquares, class From>
TL_INLINE void pack_columns(T* to, int64_t step, const From* from, int64_t lane_stride,
                            int64_t count, int64_t k) {
  constexpr int kSide = kSmallLanes<T>;
  constexpr int kOfEach = sizeof(T) / sizeof(From);
  constexpr int kHeight = kSquares * kSide;
  constexpr int kInLine = 64 / kSmallBytes;  // whole cache lines are read
  auto pack_step = [&](int64_t p, auto squares) __attribute__((always_inline)) {
    for (int64_t start = 0; start < count; start += kHeight) {
      const int64_t i = start + kHeight <= count ? start : count - kHeight;
      pack_squares<T, kSquares, squares.kValue>(to + p * step + i, step,
                                                from + i * lane_stride + p * kOfEach, lane_stride);
    }
  };
  int64_t p = 0;
  for (; p + kInLine * kSide <= k; p += kInLine * kSide) pack_step(p, Constant<kInLine>{});
  for (; p + kSide <= k; p += kSide) pack_step(p, Constant<1>{});
  for (; p < k; ++p) {
    for (int64_t i = 0; i < count; ++i) {
      __builtin_memcpy(&to[p * step + i], from + i * lane_stride + p * kOfEach, sizeof(T));
    }
  }
}

// The same of any count.
template <class T, class From>
TL_INLINE void pack_runs(T* to, int64_t step, const From* from, int64_t lane_stride, int64_t count,
                         int64_t k) {
  if (count >= kMostSquares * kSmallLanes<T>) {
    pack_columns<T, kMostSquares>(to, step, from, lane_stride, count, k);
  } else if (count >= kSmallLanes<T>) {
    pack_columns<T, 1>(to, step, from, lane_stride, count, k);
  } else {
    constexpr int kOfEach = sizeof(T) / sizeof(From);
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = 0; i < count; ++i) {
        __builtin_memcpy(&to[p * step + i], from + i * lane_stride + p * kOfEach, sizeof(T));
      }
    }
  }
}

// Zeros for lanes from count to step - 1.
template <class T>
TL_INLINE void clear_lanes(T* to, int64_t step, int64_t count, int64_t k) {
  if (count == step) return;
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t i = count; i < step; ++i) to[p * step + i] = T{};
  }
}

template <class T>
void pack(T* to, int64_t step, const T* from, int64_t lane_stride, int64_t k_stride, int64_t count,
          int64_t k) {
  clear_lanes(to, step, count, k);
  if (lane_stride == 1 && count == 2 * kLanes<T>) {
    pack_rows<T, Vector<T>>(to, step, from, k_stride, 2 * kLanes<T>, k);
  } else if (lane_stride == 1 && count >= kLanes<T>) {
    pack_rows<T, Vector<T>>(to, step, from, k_stride, count, k);
  } else if (lane_stride == 1 && count >= kSmallLanes<T>) {
    pack_short_rows<T>(to, step, from, k_stride, count, k);
  } else if (k_stride == 1) {
    pack_runs(to, step, from, lane_stride, count, k);
  } else {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = 0; i < count; ++i) to[p * step + i] = from[i * lane_stride + p * k_stride];
    }
  }
}

}  // namespace
}  // namespace tensorlike
