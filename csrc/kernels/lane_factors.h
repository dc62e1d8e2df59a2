// Factors of blocks of matrices, and what is solved with them.
#pragma once

#include <utility>

#include "kernels/lane_block.h"

namespace tensorlike {
namespace {

// ---- Cholesky ----------------------------------------------------------------------------------

template <class T, class V>
Bits cholesky(const LaneOperand<T>& x, int64_t count, int64_t n, bool is_upper, T* to,
              Bits& infinite) {
  V a[kSide * kSide];
  infinite = load_hermitian(x, count, n, a);
  Mask<V> is_indefinite{};
  for (int64_t j = 0; j < n; ++j) {
    V* const row = a + j * n;
    Part<V> diagonal = real_part(row[j]);
    for (int64_t p = 0; p < j; ++p) diagonal -= square_of(row[p]);
    is_indefinite |= !(diagonal > Part<V>());
    diagonal = root<Real<T>>(diagonal);
    row[j] = of_real<V>(diagonal);
    for (int64_t i = j + 1; i < n; ++i) {
      V* const below = a + i * n;
      V sum = below[j];
      for (int64_t p = 0; p < j; ++p) sum -= below[p] * conjugate(row[p]);
      below[j] = sum / diagonal;
    }
    for (int64_t c = j + 1; c < n; ++c) row[c] = V();
  }
  for (int64_t i = 0; i < n * n && is_upper; ++i) a[i] = conjugate(a[i]);
  LaneResult<T> places = in_order(to, n, n);
  if (is_upper) std::swap(places.row, places.column);
  store_block(a, count, n, n, places);
  return bits_of<T, V>(is_indefinite, count);
}

// ---- LU ----------------------------------------------------------------------------------------

// Exchanges x and y in the lanes where the mask is set.
template <class V>
TL_INLINE void exchange(Mask<V> mask, V& x, V& y) {
  const V old = x;
  x = select(mask, y, x);
  y = select(mask, old, y);
}

// The factors of m (n, n), by columns, in its place, and the numbers of the
// pivots; in which lanes one is 0.
template <class T, class V>
Mask<V> factor(V* m, int64_t n, Part<V>* pivots) {
  using P = Part<V>;
  using R = Real<T>;
  Mask<V> is_singular{};
  for (int64_t k = 0; k < n; ++k) {
    V* const column = m + k * n;
    P best = P() + R(k);
    P most = size_of(column[k]);
    for (int64_t i = k + 1; i < n; ++i) {
      const P size = size_of(column[i]);
      const Mask<V> is_larger = size > most;
      best = is_larger ? P() + R(i) : best;
      most = is_larger ? size : most;
    }
    pivots[k] = best;
    is_singular |= most == P();
    for (int64_t i = k + 1; i < n; ++i) {
      const Mask<V> is_pivot = best == P() + R(i);
      if constexpr (!kIsVector<T, V>) {
        if (!is_pivot) continue;
      }
      for (int64_t c = 0; c < n; ++c) exchange<V>(is_pivot, m[c * n + k], m[c * n + i]);
    }
    const V pivot = column[k];
    for (int64_t i = k + 1; i < n; ++i) column[i] = column[i] / pivot;
    for (int64_t c = k + 1; c < n; ++c) {
      V* const other = m + c * n;
      for (int64_t i = k + 1; i < n; ++i) other[i] -= column[i] * other[k];
    }
  }
  return is_singular;
}

// Turns b (n, k) into the solutions with one triangle of m (n, n), by rows.
template <class V>
void substitute(const V* m, int64_t n, bool is_lower, bool is_unit, V* b, int64_t k) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = is_lower ? step : n - 1 - step;
    V* const row = b + i * k;
    for (int64_t j = is_lower ? 0 : i + 1; j < (is_lower ? i : n); ++j) {
      for (int64_t s = 0; s < k; ++s) row[s] -= m[i * n + j] * b[j * k + s];
    }
    if (is_unit) continue;
    for (int64_t s = 0; s < k; ++s) row[s] = row[s] / m[i * n + i];
  }
}

// What is factored is the transpose, which has the rows of x as columns: x^T = b^T u^-1 l^-1 p.
template <class T, class V>
Bits solve(const LaneOperand<T>& x, const LaneOperand<T>& right, int64_t count, int64_t n,
           int64_t k, T* to) {
  V a[kSide * kSide];
  V b[kSide * kSide];
  Part<V> pivots[kSide];
  load_block(x, count, n, n, a);
  if (right.at != nullptr) {
    load_block(right, count, n, k, b);
  } else {
    for (int64_t i = 0; i < n * n; ++i) b[i] = constant<V>(Real<T>(i % (n + 1) == 0 ? 1 : 0));
  }
  const Mask<V> is_singular = factor<T, V>(a, n, pivots);
  substitute(a, n, true, false, b, k);
  substitute(a, n, false, true, b, k);
  for (int64_t i = n; i-- > 0;) {
    for (int64_t other = i + 1; other < n; ++other) {
      const Mask<V> is_pivot = pivots[i] == Part<V>() + Real<T>(other);
      if constexpr (!kIsVector<T, V>) {
        if (!is_pivot) continue;
      }
      for (int64_t s = 0; s < k; ++s) exchange<V>(is_pivot, b[i * k + s], b[other * k + s]);
    }
  }
  store_block(b, count, n, k, in_order(to, n, k));
  return bits_of<T, V>(is_singular, count);
}

template <class T, class V>
Bits determinant(const LaneOperand<T>& x, int64_t count, int64_t n, T* to) {
  V a[kSide * kSide];
  Part<V> pivots[kSide];
  load_block(x, count, n, n, a);
  factor<T, V>(a, n, pivots);
  using P = Part<V>;
  using R = Real<T>;
  V product = constant<V>(R(1));
  Mask<V> is_normal = P() == P();
  for (int64_t k = 0; k < n; ++k) {
    product = product * a[k * n + k];
    product = select(pivots[k] == P() + R(k), product, -product);
    const P size = size_of(product);
    is_normal &= size >= P() + std::numeric_limits<R>::min();
    is_normal &= size <= P() + std::numeric_limits<R>::max();
  }
  store_block(&product, count, 1, 1, in_order(to, 1, 1));
  return bits_of<T, V>(is_normal, count) ^ static_cast<Bits>((uint64_t{1} << count) - 1);
}

template <class T, class V>
Bits solve_triangular(const LaneOperand<T>& x, const LaneOperand<T>& right, int64_t count,
                      int64_t n, int64_t k, bool is_lower, bool is_unit, const LaneResult<T>& to) {
  V a[kSide * kSide];
  V b[kSide * kSide];
  load_block(x, count, n, n, a);
  load_block(right, count, n, k, b);
  Mask<V> is_singular{};
  for (int64_t i = 0; i < n && !is_unit; ++i) is_singular |= size_of(a[i * n + i]) == Part<V>();
  substitute(a, n, is_lower, is_unit, b, k);
  store_block(b, count, n, k, to);
  return bits_of<T, V>(is_singular, count);
}

// ---- QR ----------------------------------------------------------------------------------------

// x[j:, c] of `columns` columns from `first` on: what the reflection 1 - tau v v^T makes of them.
template <class V>
TL_INLINE void reflect(V* x, int64_t m, int64_t columns, int64_t j, int64_t first, const V* v,
                       V tau) {
  for (int64_t c = first; c < columns; ++c) {
    V dot = x[j * columns + c];
    for (int64_t i = j + 1; i < m; ++i) dot += v[i] * x[i * columns + c];
    dot *= tau;
    x[j * columns + c] -= dot;
    for (int64_t i = j + 1; i < m; ++i) x[i * columns + c] -= v[i] * dot;
  }
}

// As LAPACK does it, but that squares are not scaled.
template <class T, class V>
Bits qr(const LaneOperand<T>& x, int64_t count, int64_t m, int64_t n, int64_t width, T* q, T* r) {
  const V least = V() + kLeastSquare<T>;
  const V greatest = V() + T(1) / kLeastSquare<T>;
  V a[kSide * kSide];
  V b[kSide * kSide];
  V v[kSide][kSide];
  V tau[kSide];
  load_block(x, count, m, n, a);
  Mask<V> is_safe = V() == V();
  const int64_t steps = m < n ? m : n;
  for (int64_t j = 0; j < steps; ++j) {
    const V alpha = a[j * n + j];
    V below{};
    V most{};
    for (int64_t i = j + 1; i < m; ++i) {
      v[j][i] = a[i * n + j];
      const V size = absolute(v[j][i]);
      most = size > most ? size : most;
      below += v[j][i] * v[j][i];
    }
    const V square = below + alpha * alpha;
    const Mask<V> is_done = below == V();  // the column is as it should be
    const Mask<V> is_seen = (most == V()) | (below > V());
    is_safe &= is_seen & (square <= greatest) & (is_done | (square >= least));
    const V norm = root<T>(square);
    const V beta = alpha < V() ? norm : -norm;
    tau[j] = is_done ? V() : (beta - alpha) / beta;
    const V scale = V() + T(1) / (alpha - beta);
    for (int64_t i = j + 1; i < m; ++i) v[j][i] = is_done ? V() : v[j][i] * scale;
    a[j * n + j] = is_done ? alpha : beta;
    for (int64_t i = j + 1; i < m; ++i) a[i * n + j] = V();
    reflect(a, m, n, j, j + 1, v[j], tau[j]);
  }
  for (int64_t i = m * n; i < width * n; ++i) a[i] = V();
  store_block(a, count, width, n, in_order(r, width, n));
  for (int64_t i = 0; i < m * width; ++i) b[i] = V() + T(i / width == i % width ? 1 : 0);
  for (int64_t j = steps; j-- > 0;) reflect(b, m, width, j, j, v[j], tau[j]);
  store_block(b, count, m, width, in_order(q, m, width));
  return bits_of<T, V>(is_safe, count) ^ static_cast<Bits>((uint64_t{1} << count) - 1);
}

}  // namespace
}  // namespace tensorlike
