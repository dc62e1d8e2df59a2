// Blocks of small matrices, one in each lane of a vector: what a number is there, and the way from
// memory and back. All is written over V: a vector, or the number itself where there are too few
// matrices to fill one. Included by lane_matrices_tu.cpp only.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/gemm_vectors.h"
#include "kernels/lane_matrices.h"

namespace tensorlike {
namespace {

constexpr int64_t kSide = LaneKernels<float>::kMostSide;
using Bits = LaneKernels<float>::Bits;

template <class T, class V>
constexpr int64_t kCount = static_cast<int64_t>(sizeof(V) / sizeof(T));
template <class T, class V>
constexpr bool kIsVector = kCount<T, V> > 1;

// What comparing gives: true or false in each lane.
template <class V>
using Mask = decltype(V() < V());

// A square from this on has kept their precision.
template <class T>
constexpr T kLeastSquare = std::numeric_limits<T>::min() /
                           (std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon());

template <class V>
TL_INLINE V absolute(V x) {
  return x < V() ? -x : x;
}

template <class T, class V>
TL_INLINE V root(V x) {
  if constexpr (kIsVector<T, V>) {
    for (int64_t i = 0; i < kCount<T, V>; ++i) x[i] = std::sqrt(x[i]);
    return x;
  } else {
    return std::sqrt(x);
  }
}

// Of the first `count` lanes.
template <class T, class V>
Bits bits_of(Mask<V> mask, int64_t count) {
  if constexpr (kIsVector<T, V>) {
    Bits found = 0;
    for (int64_t i = 0; i < count; ++i) found |= (mask[i] != 0 ? Bits{1} : Bits{0}) << i;
    return found;
  } else {
    return mask ? 1 : 0;
  }
}

// ---- between memory and lanes ------------------------------------------------------------------

// Element (r, c) of all matrices to vector r * columns + c; the first one in lanes that are left.
template <class T, class V>
TL_INLINE void load_block(const LaneOperand<T>& x, int64_t count, int64_t rows, int64_t columns,
                          V* block) {
  T* const to = reinterpret_cast<T*>(block);
  for (int64_t i = 0; i < kCount<T, V>; ++i) {
    const T* const from = x.at[i < count ? i : 0];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        to[(r * columns + c) * kCount<T, V> + i] = from[r * x.row + c * x.column];
      }
    }
  }
}

template <class T, class V>
TL_INLINE void store_block(const V* block, int64_t count, int64_t rows, int64_t columns,
                           const LaneResult<T>& to) {
  const T* const from = reinterpret_cast<const T*>(block);
  for (int64_t i = 0; i < count; ++i) {
    T* const matrix = to.data + i * to.matrix;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        matrix[r * to.row + c * to.column] = from[(r * columns + c) * kCount<T, V> + i];
      }
    }
  }
}

// In order, by rows.
template <class T>
LaneResult<T> in_order(T* to, int64_t rows, int64_t columns) {
  return {to, rows * columns, columns, 1};
}

// The lower triangles of the Hermitian parts, and which are not finite.
template <class T, class V>
Bits load_hermitian(const LaneOperand<T>& x, int64_t count, int64_t n, V* a) {
  load_block(x, count, n, n, a);
  Mask<V> is_infinite{};
  const V half = V() + T(0.5);
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t c = 0; c <= r; ++c) {
      const V mean = half * a[r * n + c] + half * a[c * n + r];
      is_infinite |= mean - mean != V();
      a[r * n + c] = mean;
    }
  }
  return bits_of<T, V>(is_infinite, count);
}

}  // namespace
}  // namespace tensorlike
