// Eigenvalues and singular values of blocks of matrices, by rotations.
#pragma once

#include <type_traits>

#include "kernels/lane_block.h"

namespace tensorlike {
namespace {

constexpr int kMostSweeps = 15;  // half as many are enough

template <class V>
bool holds_somewhere(Mask<V> mask) {
  if constexpr (std::is_same_v<Mask<V>, bool>) {
    return mask;
  } else {
    uint64_t parts[sizeof(mask) / 8];
    __builtin_memcpy(parts, &mask, sizeof(mask));
    uint64_t any = 0;
    for (const uint64_t part : parts) any |= part;
    return any != 0;
  }
}

// The tangent of the rotation that makes 0 of `beside`, whose neighbours on the diagonal are
// 2 `half` apart.
template <class T, class V>
TL_INLINE V tangent(V half, V beside) {
  const V slope = half / beside;
  const V size = absolute(slope);
  const V found = V() + T(1) / (size + root<T>(size * size + T(1)));
  return beside == V() ? V() : slope < V() ? -found : found;
}

// A rotation, as what it adds to numbers: the smaller the angle, the smaller the error.
template <class T, class V>
struct Rotation {
  explicit Rotation(V tangent) {
    const V cosine = V() + T(1) / root<T>(tangent * tangent + T(1));
    sine = tangent * cosine;
    half = sine / (cosine + T(1));
  }
  void turn(V& x, V& y) const {
    const V before = x;
    x -= sine * (y + half * before);
    y += sine * (before - half * y);
  }

  V sine;
  V half;  // the tangent of half the angle
};

// The first `count` lanes of n vectors, each lane's numbers rising, or falling.
template <class T, class V>
void store_sorted(V* values, int64_t count, int64_t n, bool is_falling, T* to) {
  for (int64_t i = 1; i < n; ++i) {
    for (int64_t j = i; j > 0; --j) {
      const V low = values[j] < values[j - 1] ? values[j] : values[j - 1];
      const V high = values[j] < values[j - 1] ? values[j - 1] : values[j];
      values[j - 1] = is_falling ? high : low;
      values[j] = is_falling ? low : high;
    }
  }
  store_block(values, count, 1, n, in_order(to, 1, n));
}

// Jacobi's method on the lower triangle a: rotations of two rows and columns.
template <class T, class V>
void rotate(V* a, int64_t n, int64_t p, int64_t q) {
  const auto at = [&](int64_t i, int64_t j) -> V& { return i > j ? a[i * n + j] : a[j * n + i]; };
  const V beside = at(q, p);
  const V t = tangent<T>((at(q, q) - at(p, p)) * T(0.5), beside);
  const Rotation<T, V> rotation(t);
  at(p, p) -= t * beside;
  at(q, q) += t * beside;
  at(q, p) = V();
  for (int64_t k = 0; k < n; ++k) {
    if (k != p && k != q) rotation.turn(at(k, p), at(k, q));
  }
}

template <class T, class V>
Bits eigenvalues(const LaneOperand<T>& x, int64_t count, int64_t n, T* to, Bits& infinite) {
  V a[kSide * kSide];
  infinite = load_hermitian(x, count, n, a);
  V most{};
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t c = 0; c <= r; ++c) {
      const V size = absolute(a[r * n + c]);
      most = size > most ? size : most;
    }
  }
  // Sums of two and quotients stay in range.
  const Mask<V> is_safe =
      (most == V()) | ((most >= V() + kLeastSquare<T>)&(most <= V() + T(1) / kLeastSquare<T>));
  const V enough = most * (std::numeric_limits<T>::epsilon() / 16);
  Mask<V> is_done = V() != V();
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    is_done = V() == V();
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < r; ++c) is_done &= absolute(a[r * n + c]) <= enough;
    }
    if (!holds_somewhere<V>(is_safe & (is_done == (V() != V())))) break;
    for (int64_t q = 1; q < n; ++q) {
      for (int64_t p = 0; p < q; ++p) rotate<T>(a, n, p, q);
    }
  }
  V values[kSide];
  for (int64_t i = 0; i < n; ++i) values[i] = a[i * n + i];
  store_sorted(values, count, n, false, to);
  return bits_of<T, V>(is_done & is_safe, count) ^ static_cast<Bits>((uint64_t{1} << count) - 1);
}

// Turns two columns of `length` elements so that they are at right angles; in which lanes they have
// been before.
template <class T, class V>
Mask<V> turn_columns(V* left, V* right, int64_t length) {
  V alpha{};
  V beta{};
  V gamma{};
  for (int64_t i = 0; i < length; ++i) {
    alpha += left[i] * left[i];
    beta += right[i] * right[i];
    gamma += left[i] * right[i];
  }
  const V product = root<T>(alpha) * root<T>(beta);
  const Mask<V> are_apart = absolute(gamma) <= product * std::numeric_limits<T>::epsilon();
  const Rotation<T, V> rotation(tangent<T>((beta - alpha) * T(0.5), are_apart ? V() : gamma));
  for (int64_t i = 0; i < length; ++i) rotation.turn(left[i], right[i]);
  return are_apart;
}

// Hestenes' method: the columns, or the rows where these are fewer, are turned until all are at
// right angles; their lengths are the values.
template <class T, class V>
Bits singular_values(const LaneOperand<T>& x, int64_t count, int64_t m, int64_t n, T* to,
                     Bits& infinite) {
  const int64_t k = m < n ? m : n;
  const int64_t length = m < n ? n : m;
  V a[kSide * kSide];
  load_block(m < n ? x : LaneOperand<T>{x.at, x.column, x.row}, count, k, length, a);
  Mask<V> is_infinite{};
  for (int64_t i = 0; i < k * length; ++i) is_infinite |= a[i] - a[i] != V();
  infinite = bits_of<T, V>(is_infinite, count);
  Mask<V> is_done = V() == V();
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    is_done = V() == V();
    for (int64_t q = 1; q < k; ++q) {
      for (int64_t p = 0; p < q; ++p) {
        is_done &= turn_columns<T>(a + p * length, a + q * length, length);
      }
    }
    if (!holds_somewhere<V>(is_done == (V() != V()))) break;
  }
  V values[kSide];
  Mask<V> is_safe = V() == V();
  for (int64_t j = 0; j < k; ++j) {
    V square{};
    V most{};
    for (int64_t i = 0; i < length; ++i) {
      const V size = absolute(a[j * length + i]);
      most = size > most ? size : most;
      square += size * size;
    }
    is_safe &= (most == V()) |
               ((most * most >= V() + kLeastSquare<T>)&(square <= V() + T(1) / kLeastSquare<T>));
    values[j] = root<T>(square);
  }
  store_sorted(values, count, k, true, to);
  return bits_of<T, V>(is_done & is_safe, count) ^ static_cast<Bits>((uint64_t{1} << count) - 1);
}

}  // namespace
}  // namespace tensorlike
