// LU factors and singular values of one matrix of a stack after the other, for kernels that go on
// with them.
#pragma once

#include "cpu/matrix_stack.h"
#include "kernels/lapack_calls.h"

namespace tensorlike {

// Calls f(first, size) for blocks of `count` right sides of equations with n unknowns, on several
// threads where that is worth it. The blocks are always the same ones: how BLAS cuts a matrix shows
// in the last bits.
template <class F>
void each_block_of_sides(int64_t n, int64_t count, F f) {
  constexpr int64_t kBlock = 64;
  constexpr int64_t kWork = 1000000;
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kWork / (n * n * kBlock));
  parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i * kBlock, std::min(kBlock, count - i * kBlock));
  });
}

// Whether loops of our own are done before LAPACK would have begun.
inline bool is_small(double work) { return work <= kCallCost; }

// Turns the right sides b (n, sides), whose rows are ld apart, into the solutions with one triangle
// of m (n, n), by rows.
template <class T>
void substitute(const T* m, int64_t n, bool is_lower, bool is_unit, T* b, int64_t ld,
                int64_t sides) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = is_lower ? step : n - 1 - step;
    T* const row = b + i * ld;
    for (int64_t j = is_lower ? 0 : i + 1; j < (is_lower ? i : n); ++j) {
      const T factor = m[i * n + j];
      const T* const known = b + j * ld;
      for (int64_t s = 0; s < sides; ++s) row[s] = row[s] - factor * known[s];
    }
    if (is_unit) continue;
    const T diagonal = m[i * n + i];
    for (int64_t s = 0; s < sides; ++s) row[s] = row[s] / diagonal;
  }
}

// LU factors in the place of m (n, n), by columns, as LAPACK's getrf gives them; whether no pivot
// is 0.
template <class T>
bool factor_in_place(T* m, int64_t n, int* pivots) {
  auto size_of = [](T x) {
    if constexpr (is_complex<T>) {
      return std::abs(x.re) + std::abs(x.im);
    } else {
      return std::abs(x);
    }
  };
  bool is_regular = true;
  for (int64_t k = 0; k < n; ++k) {
    T* const column = m + k * n;
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (size_of(column[i]) > size_of(column[best])) best = i;
    }
    pivots[k] = as_int(best) + 1;
    if (column[best] == T(0)) {
      is_regular = false;
      continue;
    }
    for (int64_t c = 0; c < n && best != k; ++c) std::swap(m[c * n + k], m[c * n + best]);
    for (int64_t i = k + 1; i < n; ++i) column[i] = column[i] / column[k];
    for (int64_t c = k + 1; c < n; ++c) {
      T* const other = m + c * n;
      for (int64_t i = k + 1; i < n; ++i) other[i] = other[i] - column[i] * other[k];
    }
  }
  return is_regular;
}

// The LU factors of one matrix after the other, by the rows of the matrix: of its transpose.
template <class T>
class Factors {
 public:
  Factors(const Lapack<T>& table, int64_t n)
      : table_(table), n_(as_int(n)), lu_(static_cast<size_t>(n * n)), pivots_(lu_.size()) {
    pivots_.resize(static_cast<size_t>(n));
  }
  // Whether the matrix is invertible.
  bool factor(const Matrices<T>& x, int64_t i) {
    x.read_rows(i, lu_.data());
    return factor();
  }
  bool factor(const T* x) {
    std::copy_n(x, lu_.size(), lu_.data());
    return factor();
  }
  // Turns the right sides b (n, count), by rows, into the solutions. What was factored is the
  // transpose, so that x^T = b^T u^-1 l^-1 p.
  void solve(T* b, int64_t count) const {
    if (is_small(static_cast<double>(n_) * n_ * static_cast<double>(count))) {
      substitute(lu_.data(), n_, true, false, b, count, count);
      substitute(lu_.data(), n_, false, true, b, count, count);
      reorder(b, count, count);
      return;
    }
    each_block_of_sides(n_, count, [&](int64_t first, int64_t sides) {
      T* const block = b + first;
      const int width = as_int(sides);
      const int ld = as_int(count);
      const T one(1);
      for (const char* part : {"U", "L"}) {
        table_.trsm("R", part, "N", *part == 'U' ? "N" : "U", &width, &n_, &one, lu_.data(), &n_,
                    block, &ld, 1, 1, 1, 1);
      }
      reorder(block, count, sides);
    });
  }
  // The inverse, by rows. LAPACK's own way takes two thirds of the work of solving for the columns
  // of the identity, but runs on one thread: large matrices are solved for, in blocks.
  void invert(T* to) {
    constexpr int kLargest = 512;
    if (n_ > kLargest || is_small(static_cast<double>(n_) * n_ * n_)) {
      write_identity(to, n_, n_);
      solve(to, n_);
      return;
    }
    std::copy(lu_.begin(), lu_.end(), to);
    work_.resize(static_cast<size_t>(n_) * 64);
    const int lwork = as_int(static_cast<int64_t>(work_.size()));
    int info = 0;
    table_.getri(&n_, to, &n_, pivots_.data(), work_.data(), &lwork, &info);
  }
  // The determinant as mantissa * 2**exponent, so that it overflows no sooner than it must.
  std::pair<T, int64_t> determinant() const {
    T mantissa(1);
    int64_t exponent = 0;
    for (int i = 0; i < n_; ++i) {
      const size_t at = static_cast<size_t>(i);
      mantissa = mantissa * lu_[at * static_cast<size_t>(n_) + at];
      if (pivots_[at] != i + 1) mantissa = -mantissa;
      exponent += normalise(mantissa);
    }
    return {mantissa, exponent};
  }

 private:
  bool factor() {
    if (is_small(cube(n_) / 3)) return factor_in_place(lu_.data(), n_, pivots_.data());
    int info = 0;
    table_.getrf(&n_, &n_, lu_.data(), &n_, pivots_.data(), &info);
    return info == 0;
  }
  // The rows of the solutions, which come in the order of the pivots.
  void reorder(T* rows, int64_t ld, int64_t sides) const {
    for (int64_t i = n_; i-- > 0;) {
      const int64_t other = pivots_[static_cast<size_t>(i)] - 1;
      if (other == i) continue;
      std::swap_ranges(rows + i * ld, rows + i * ld + sides, rows + other * ld);
    }
  }
  // Takes out a power of two.
  static int normalise(T& x) {
    if constexpr (is_complex<T>) {
      const auto size = std::max(std::abs(x.re), std::abs(x.im));
      if (size == 0 || !is_finite(x)) return 0;
      const int exponent = std::ilogb(size);
      x = {std::scalbn(x.re, -exponent), std::scalbn(x.im, -exponent)};
      return exponent;
    } else {
      if (x == 0 || !is_finite(x)) return 0;
      const int exponent = std::ilogb(x);
      x = std::scalbn(x, -exponent);
      return exponent;
    }
  }

  const Lapack<T>& table_;
  int n_;
  std::vector<T> lu_, work_;
  std::vector<int> pivots_;
};

// In multiply-adds.
inline double svd_work(int64_t m, int64_t n) {
  return 10 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n));
}

// The singular values, and the vectors where u and vh are given. LAPACK reads rows as columns, so
// it factors the transpose: its u is our vh, and its vh our u.
template <class T>
class RowSingularValues {
 public:
  RowSingularValues(const Lapack<T>& table, char job, int64_t m, int64_t n)
      : values_(table, job, as_int(n), as_int(m)), x_(static_cast<size_t>(m * n)) {}

  const Refusal* operator()(const Matrices<T>& x, int64_t i, T* u, Real<T>* s, T* vh) {
    if (!x.read_rows(i, x_.data())) return &kNotFinite;
    return outcome(values_(x_.data(), s, vh, u));
  }

 private:
  SingularValues<T> values_;
  std::vector<T> x_;
};

}  // namespace tensorlike
