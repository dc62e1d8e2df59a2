// LAPACK's algorithms as objects: made for matrices of one size, they ask once how much memory the
// routine wants, and are then called for one matrix after the other. Matrices lie column by column
// unless it is said. Each call gives LAPACK's `info`: 0 when all is well.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/lapack.h"

namespace tensorlike {

// The size that a workspace query has answered. In float, a large one may have been rounded down.
template <class T>
int workspace_size(T answer) {
  double size;
  if constexpr (is_complex<T>) {
    size = static_cast<double>(std::nextafter(answer.re, INFINITY));
  } else {
    size = static_cast<double>(std::nextafter(answer, static_cast<T>(INFINITY)));
  }
  return std::max(1, static_cast<int>(std::min(size, 2147483647.0)));
}

inline constexpr int kQuery = -1;

// Q and R: Q has `width` columns, R lies in the first `k` rows of what was factored.
template <class T>
class QrFactors {
 public:
  QrFactors(const Lapack<T>& table, int m, int n, int width)
      : table_(table), m_(m), n_(n), width_(width), k_(std::min(m, n)) {
    tau_.resize(static_cast<size_t>(std::max(1, k_)));
    T answer;
    T none;
    int info = 0;
    const int lda = std::max(1, m);
    table.geqrf(&m, &n, &none, &lda, tau_.data(), &answer, &kQuery, &info);
    int size = workspace_size(answer);
    table.orgqr(&m, &width, &k_, &none, &lda, tau_.data(), &answer, &kQuery, &info);
    size = std::max(size, workspace_size(answer));
    work_.resize(static_cast<size_t>(size));
  }
  // Turns a (m, n) into R and the reflections.
  int factor(T* a) { return run_factor(a); }
  // Turns the reflections, the first columns of q (m, width), into Q.
  int make(T* q) {
    int info = 0;
    const int lwork = static_cast<int>(work_.size());
    table_.orgqr(&m_, &width_, &k_, q, &m_, tau_.data(), work_.data(), &lwork, &info);
    return info;
  }

 private:
  int run_factor(T* a) {
    int info = 0;
    const int lwork = static_cast<int>(work_.size());
    table_.geqrf(&m_, &n_, a, &m_, tau_.data(), work_.data(), &lwork, &info);
    return info;
  }
  const Lapack<T>& table_;
  int m_, n_, width_, k_;
  std::vector<T> tau_, work_;
};

// job: 'N' values alone, 'S' as many vectors as values, 'A' all vectors.
template <class T>
class SingularValues {
 public:
  SingularValues(const Lapack<T>& table, char job, int m, int n)
      : table_(table), job_(job), m_(m), n_(n) {
    const size_t small = static_cast<size_t>(std::min(m, n));
    const size_t large = static_cast<size_t>(std::max(m, n));
    iwork_.resize(8 * small);
    if (is_complex<T>) {
      rwork_.resize(job == 'N' ? 7 * small
                               : std::max(5 * small * (small + 1),
                                          2 * large * small + 2 * small * small + small));
    }
    work_.resize(1);
    run(nullptr, nullptr, nullptr, nullptr, kQuery);
    work_.resize(static_cast<size_t>(workspace_size(work_[0])));
  }
  // Destroys a.
  int operator()(T* a, Real<T>* s, T* u, T* vt) {
    return run(a, s, u, vt, static_cast<int>(work_.size()));
  }

 private:
  int run(T* a, Real<T>* s, T* u, T* vt, int lwork) {
    int info = 0;
    const int ldvt = job_ == 'S' ? std::min(m_, n_) : n_;
    if constexpr (is_complex<T>) {
      table_.gesdd(&job_, &m_, &n_, a, &m_, s, u, &m_, vt, &ldvt, work_.data(), &lwork,
                   rwork_.data(), iwork_.data(), &info, 1);
    } else {
      table_.gesdd(&job_, &m_, &n_, a, &m_, s, u, &m_, vt, &ldvt, work_.data(), &lwork,
                   iwork_.data(), &info, 1);
    }
    return info;
  }
  const Lapack<T>& table_;
  char job_;
  int m_, n_;
  std::vector<T> work_;
  std::vector<Real<T>> rwork_;
  std::vector<int> iwork_;
};

// Of Hermitian matrices: values in rising order; where wanted, vectors as columns in the place of
// a.
template <class T>
class HermitianEigen {
 public:
  HermitianEigen(const Lapack<T>& table, bool wants_vectors, int n)
      : table_(table), job_(wants_vectors ? 'V' : 'N'), n_(n), work_(1), rwork_(1), iwork_(1) {
    run(nullptr, nullptr, kQuery, kQuery, kQuery);
    work_.resize(static_cast<size_t>(workspace_size(work_[0])));
    if (is_complex<T>) rwork_.resize(static_cast<size_t>(workspace_size(rwork_[0])));
    iwork_.resize(static_cast<size_t>(std::max(1, iwork_[0])));
  }
  int operator()(T* a, Real<T>* w) {
    return run(a, w, static_cast<int>(work_.size()), static_cast<int>(rwork_.size()),
               static_cast<int>(iwork_.size()));
  }

 private:
  int run(T* a, Real<T>* w, int lwork, int lrwork, int liwork) {
    int info = 0;
    if constexpr (is_complex<T>) {
      table_.heevd(&job_, "L", &n_, a, &n_, w, work_.data(), &lwork, rwork_.data(), &lrwork,
                   iwork_.data(), &liwork, &info, 1, 1);
    } else {
      table_.heevd(&job_, "L", &n_, a, &n_, w, work_.data(), &lwork, iwork_.data(), &liwork, &info,
                   1, 1);
    }
    return info;
  }
  const Lapack<T>& table_;
  char job_;
  int n_;
  std::vector<T> work_;
  std::vector<Real<T>> rwork_;
  std::vector<int> iwork_;
};

// Of any square matrices: complex values, and, where wanted, vectors of length 1 as columns.
template <class T>
class GeneralEigen {
 public:
  using C = Complex<Real<T>>;
  GeneralEigen(const Lapack<T>& table, bool wants_vectors, int n)
      : table_(table), job_(wants_vectors ? 'V' : 'N'), n_(n), work_(1) {
    const size_t size = static_cast<size_t>(n);
    parts_.resize(2 * size);
    if (wants_vectors && !is_complex<T>) vectors_.resize(size * size);
    run(nullptr, nullptr, vectors_.data(), kQuery);
    work_.resize(static_cast<size_t>(workspace_size(work_[0])));
  }
  // Destroys a; v may be null where no vectors are wanted.
  int operator()(T* a, C* w, C* v) {
    const int lwork = static_cast<int>(work_.size());
    if constexpr (is_complex<T>) {
      return run(a, w, v, lwork);
    } else {
      const int info = run(a, nullptr, vectors_.data(), lwork);
      if (info != 0) return info;
      for (int i = 0; i < n_; ++i) w[i] = {parts_[at(i)], parts_[at(n_ + i)]};
      if (job_ == 'V') join(w, v);
      return 0;
    }
  }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }
  // A pair of conjugate values has the real and the imaginary parts of its vectors in two columns.
  void join(const C* w, C* v) const {
    for (int j = 0; j < n_; ++j) {
      const auto* column = vectors_.data() + at(j) * at(n_);
      C* out = v + at(j) * at(n_);
      if (w[j].im == 0) {
        for (int i = 0; i < n_; ++i) out[i] = C(column[i]);
        continue;
      }
      for (int i = 0; i < n_; ++i) {
        out[i] = C{column[i], column[n_ + i]};
        out[n_ + i] = C{column[i], -column[n_ + i]};
      }
      ++j;
    }
  }
  int run(T* a, C* w, auto* v, int lwork) {
    int info = 0;
    if constexpr (is_complex<T>) {
      table_.geev("N", &job_, &n_, a, &n_, w, nullptr, &n_, v, &n_, work_.data(), &lwork,
                  parts_.data(), &info, 1, 1);
    } else {
      table_.geev("N", &job_, &n_, a, &n_, parts_.data(), parts_.data() + n_, nullptr, &n_, v, &n_,
                  work_.data(), &lwork, &info, 1, 1);
    }
    return info;
  }
  const Lapack<T>& table_;
  char job_;
  int n_;
  std::vector<T> work_, vectors_;
  std::vector<Real<T>> parts_;
};

// The least squares solution of least norm.
template <class T>
class LeastSquares {
 public:
  LeastSquares(const Lapack<T>& table, int m, int n, int count, Real<T> rcond)
      : table_(table), m_(m), n_(n), count_(count), rcond_(rcond), work_(1), rwork_(1), iwork_(1) {
    is_nothing_kept_ = rcond >= 1;  // which LAPACK takes for the precision
    int rank = 0;
    run(nullptr, nullptr, nullptr, rank, kQuery);
    work_.resize(static_cast<size_t>(workspace_size(work_[0])));
    if (is_complex<T>) rwork_.resize(static_cast<size_t>(workspace_size(rwork_[0])));
    iwork_.resize(static_cast<size_t>(std::max(1, iwork_[0])));
  }
  // b has max(m, n) rows: the right sides in, the solutions out. Destroys a.
  int operator()(T* a, T* b, Real<T>* s, int& rank) {
    const int info = run(a, b, s, rank, static_cast<int>(work_.size()));
    if (is_nothing_kept_) {
      rank = 0;
      std::fill_n(b, static_cast<size_t>(std::max(m_, n_)) * static_cast<size_t>(count_), T(0));
    }
    return info;
  }

 private:
  int run(T* a, T* b, Real<T>* s, int& rank, int lwork) {
    int info = 0;
    const int ldb = std::max(m_, n_);
    if constexpr (is_complex<T>) {
      table_.gelsd(&m_, &n_, &count_, a, &m_, b, &ldb, s, &rcond_, &rank, work_.data(), &lwork,
                   rwork_.data(), iwork_.data(), &info);
    } else {
      table_.gelsd(&m_, &n_, &count_, a, &m_, b, &ldb, s, &rcond_, &rank, work_.data(), &lwork,
                   iwork_.data(), &info);
    }
    return info;
  }
  const Lapack<T>& table_;
  int m_, n_, count_;
  Real<T> rcond_;
  bool is_nothing_kept_ = false;
  std::vector<T> work_;
  std::vector<Real<T>> rwork_;
  std::vector<int> iwork_;
};

}  // namespace tensorlike
