// Blocks of small matrices, one in each lane of a vector: what a number is there, and the way from
// memory and back. All is written over V: a vector, or the number itself where there are too few
// matrices to fill one. Included by lane_matrices_tu.cpp only.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/complex.h"
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

// Complex numbers, one in each lane.
template <class V>
struct Pair {
  V re, im;
};
template <class V>
struct PartOf {
  using Type = V;
};
template <class V>
struct PartOf<Pair<V>> {
  using Type = V;
};
// The real numbers beside V.
template <class V>
using Part = typename PartOf<V>::Type;

// What comparing gives: true or false in each lane.
template <class V>
using Mask = decltype(Part<V>() < Part<V>());

template <class V, class M>
TL_INLINE V select(M mask, V a, V b) {
  return mask ? a : b;
}
template <class V, class M>
TL_INLINE Pair<V> select(M mask, Pair<V> a, Pair<V> b) {
  return {mask ? a.re : b.re, mask ? a.im : b.im};
}

// A square from this on has kept their precision.
template <class T>
constexpr T kLeastSquare = std::numeric_limits<T>::min() /
                           (std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon());

template <class V>
TL_INLINE V absolute(V x) {
  return x < V() ? -x : x;
}

template <class V>
TL_INLINE Pair<V> operator-(Pair<V> a) {
  return {-a.re, -a.im};
}
template <class V>
TL_INLINE Pair<V> operator+(Pair<V> a, Pair<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
TL_INLINE Pair<V> operator-(Pair<V> a, Pair<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
TL_INLINE Pair<V> operator*(Pair<V> a, Pair<V> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class V>
TL_INLINE Pair<V> operator*(V a, Pair<V> b) {
  return {a * b.re, a * b.im};
}
template <class V>
TL_INLINE Pair<V> operator/(Pair<V> a, V b) {
  return {a.re / b, a.im / b};
}
// Smith's method: by the larger part.
template <class V>
TL_INLINE Pair<V> operator/(Pair<V> a, Pair<V> b) {
  const auto is_turned = absolute(b.im) > absolute(b.re);
  const V large = is_turned ? b.im : b.re;
  const V small = is_turned ? b.re : b.im;
  const V ratio = small / large;
  const V scale = large + small * ratio;
  const V x = is_turned ? a.im : a.re;
  const V y = is_turned ? -a.re : a.im;
  return {(x + (is_turned ? a.re : a.im) * ratio) / scale,
          (y - (is_turned ? -a.im : a.re) * ratio) / scale};
}
template <class V>
TL_INLINE void operator-=(Pair<V>& a, Pair<V> b) {
  a = a - b;
}

template <class V>
TL_INLINE V conjugate(V x) {
  return x;
}
template <class V>
TL_INLINE Pair<V> conjugate(Pair<V> x) {
  return {x.re, -x.im};
}
template <class V>
TL_INLINE V real_part(V x) {
  return x;
}
template <class V>
TL_INLINE V real_part(Pair<V> x) {
  return x.re;
}
template <class V>
TL_INLINE V square_of(V x) {
  return x * x;
}
template <class V>
TL_INLINE V square_of(Pair<V> x) {
  return x.re * x.re + x.im * x.im;
}
// By which pivots are chosen.
template <class V>
TL_INLINE V size_of(V x) {
  return absolute(x);
}
template <class V>
TL_INLINE V size_of(Pair<V> x) {
  return absolute(x.re) + absolute(x.im);
}
template <class V>
TL_INLINE Mask<V> is_infinite(V x) {
  return x - x != V();
}
template <class V>
TL_INLINE Mask<V> is_infinite(Pair<V> x) {
  return is_infinite(x.re) | is_infinite(x.im);
}
// A real number in all lanes.
template <class V, class R>
TL_INLINE V constant(R x) {
  if constexpr (std::is_same_v<V, Part<V>>) {
    return V() + x;
  } else {
    return {Part<V>() + x, Part<V>()};
  }
}
template <class V>
TL_INLINE V of_real(Part<V> x) {
  if constexpr (std::is_same_v<V, Part<V>>) {
    return x;
  } else {
    return {x, Part<V>()};
  }
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
  constexpr int64_t kLane = kCount<T, V>;
  auto* const to = reinterpret_cast<Real<T>*>(block);
  for (int64_t i = 0; i < kLane; ++i) {
    const T* const from = x.at[i < count ? i : 0];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const T value = from[r * x.row + c * x.column];
        const int64_t at = r * columns + c;
        if constexpr (is_complex<T>) {
          to[2 * at * kLane + i] = value.re;
          to[(2 * at + 1) * kLane + i] = value.im;
        } else {
          to[at * kLane + i] = value;
        }
      }
    }
  }
}

template <class T, class V>
TL_INLINE void store_block(const V* block, int64_t count, int64_t rows, int64_t columns,
                           const LaneResult<T>& to) {
  constexpr int64_t kLane = kCount<T, V>;
  const auto* const from = reinterpret_cast<const Real<T>*>(block);
  for (int64_t i = 0; i < count; ++i) {
    T* const matrix = to.data + i * to.matrix;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at = r * columns + c;
        T& value = matrix[r * to.row + c * to.column];
        if constexpr (is_complex<T>) {
          value = {from[2 * at * kLane + i], from[(2 * at + 1) * kLane + i]};
        } else {
          value = from[at * kLane + i];
        }
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
  Mask<V> are_infinite{};
  const Part<V> half = constant<Part<V>>(Real<T>(0.5));
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t c = 0; c <= r; ++c) {
      const V mean = half * a[r * n + c] + half * conjugate(a[c * n + r]);
      are_infinite |= is_infinite(mean);
      a[r * n + c] = mean;
    }
  }
  return bits_of<T, V>(are_infinite, count);
}

}  // namespace
}  // namespace tensorlike
