// Stacks of matrices as LAPACK wants them: one after the other, in order, by rows or by columns;
// and the loop that shares a stack out among the threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "kernels/lapack.h"
#include "op/linear_solvers.h"
#include "op/op.h"

namespace tensorlike {

template <class T>
T conjugate_of(T x) {
  if constexpr (is_complex<T>) {
    return {x.re, -x.im};
  } else {
    return x;
  }
}

template <class T>
bool is_finite(T x) {
  if constexpr (is_complex<T>) {
    return std::isfinite(x.re) && std::isfinite(x.im);
  } else {
    return std::isfinite(x);
  }
}

// The matrices of a tensor, whose leading dimensions are broadcast to those of a batch.
template <class T>
class Matrices {
 public:
  Matrices(const Array& x, std::span<const int64_t> batch)
      : x_(broadcast_to(x, whole(x, batch))),
        rows(x_.shape[batch.size()]),
        columns(x_.shape[batch.size() + 1]),
        row_stride(x_.strides[batch.size()]),
        column_stride(x_.strides[batch.size() + 1]),
        data_(x_.as<T>()),
        ndim_(batch.size()) {}

 private:
  Array x_;

 public:
  const int64_t rows, columns, row_stride, column_stride;

  const T* at(int64_t i) const {
    int64_t offset = 0;
    for (size_t d = ndim_; d-- > 0;) {
      offset += i % x_.shape[d] * x_.strides[d];
      i /= x_.shape[d];
    }
    return data_ + offset;
  }
  // Where `count` of them begin.
  void places(int64_t first, int64_t count, const T** to) const {
    for (int64_t k = 0; k < count; ++k) {
      to[k] = ndim_ == 1 ? data_ + (first + k) * x_.strides[0] : at(first + k);
    }
  }
  // to[r * to_row + c * to_column] = x[r, c]; whether all elements are finite.
  bool read(int64_t i, T* to, int64_t to_row, int64_t to_column) const {
    const T* from = at(i);
    bool finite = true;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const T value = from[r * row_stride + c * column_stride];
        finite &= is_finite(value);
        to[r * to_row + c * to_column] = value;
      }
    }
    return finite;
  }
  bool read_rows(int64_t i, T* to) const { return read(i, to, columns, 1); }
  bool read_columns(int64_t i, T* to) const { return read(i, to, 1, rows); }
  // The Hermitian part of a square matrix, (x + x^H) / 2, by rows.
  bool read_hermitian(int64_t i, T* to) const {
    const T* from = at(i);
    const T half(Real<T>(0.5));
    bool finite = true;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c <= r; ++c) {
        const T below = from[r * row_stride + c * column_stride];
        const T above = conjugate_of(from[c * row_stride + r * column_stride]);
        const T mean = half * below + half * above;
        finite &= is_finite(mean);
        to[r * columns + c] = mean;
        to[c * columns + r] = conjugate_of(mean);
      }
    }
    return finite;
  }

 private:
  static Dims whole(const Array& x, std::span<const int64_t> batch) {
    Dims shape(batch.begin(), batch.end());
    shape.push_back(x.shape[x.shape.size() - 2]);
    shape.push_back(x.shape.back());
    return shape;
  }

  const T* data_;
  const size_t ndim_;
};

// From columns to rows.
template <class T>
void write_rows(const T* columns, int64_t ld, int64_t m, int64_t n, T* to) {
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t c = 0; c < n; ++c) to[r * n + c] = columns[r + c * ld];
  }
}

template <class T>
void write_identity(T* to, int64_t m, int64_t n) {
  std::fill_n(to, m * n, T(0));
  for (int64_t i = 0; i < std::min(m, n); ++i) to[i * n + i] = T(1);
}

// Complex vectors of factors are determined but for a phase each. Here it is the one that makes the
// first of their (nearly) largest elements real and positive: gradients rest on that (see
// rules/matrix_terms.h), and no library's way of computing shows. Gives what v was multiplied by.
template <class R>
Complex<R> turn_vector(Complex<R>* v, int64_t count, int64_t stride) {
  auto size_of = [&](int64_t i) {
    const Complex<R> x = v[i * stride];
    return x.re * x.re + x.im * x.im;
  };
  R largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, size_of(i));
  int64_t at = 0;
  while (at + 1 < count && size_of(at) < static_cast<R>(kNearlyLargest) * largest) ++at;
  const R size = std::hypot(v[at * stride].re, v[at * stride].im);
  if (!(size > 0)) return Complex<R>(1);
  const Complex<R> turn = {v[at * stride].re / size, -v[at * stride].im / size};
  for (int64_t i = 0; i < count; ++i) v[i * stride] = v[i * stride] * turn;
  v[at * stride] = Complex<R>(size);
  return turn;
}

// What a matrix must be and what came instead, for errors.
struct Refusal {
  const char* must;
  const char* got;
};
inline constexpr Refusal kSingular = {"invertible", "a singular matrix"};
inline constexpr Refusal kIndefinite = {"positive definite", "a matrix that is not"};
inline constexpr Refusal kNotFinite = {"finite", "a matrix with NaN or an infinity"};
inline constexpr Refusal kDiverged = {"a matrix for which the iteration converges",
                                      "one for which it does not"};
inline constexpr Refusal kTooLarge = {"small enough for LAPACK, whose integers have 32 bits",
                                      "a matrix that needs more memory than they can count"};

// What the `info` of an iteration means. Arguments are right but for the size of the workspace.
inline const Refusal* outcome(int info) {
  if (info == 0) return nullptr;
  return info < 0 ? &kTooLarge : &kDiverged;
}

// The first matrix of a stack that is refused, whichever thread comes to it, and why.
class FirstRefused {
 public:
  explicit FirstRefused(int64_t count) : count_(count), first_(count) {}

  bool comes_after(int64_t i) const { return i < first_.load(std::memory_order_relaxed); }
  void note(int64_t i, const Refusal* why) {
    while (writing_.test_and_set(std::memory_order_acquire)) {
    }
    if (comes_after(i)) {
      first_.store(i, std::memory_order_relaxed);
      why_ = why;
    }
    writing_.clear(std::memory_order_release);
  }
  // Throws where there is one.
  void tell(const Op& op) const {
    if (why_ == nullptr) return;
    const std::string place =
        count_ == 1 ? std::string() : text(", number ", first_.load(), " of the batch");
    fail(ErrorKind::kMatrix, said::op(op.name()), said::argument(op.cls.spec.args[0].name),
         "must be ", why_->must, said::got(why_->got, place));
  }

 private:
  const int64_t count_;
  std::atomic<int64_t> first_;
  const Refusal* why_ = nullptr;
  std::atomic_flag writing_ = ATOMIC_FLAG_INIT;
};

// What a call of LAPACK costs, however small the matrix, in multiply-adds: it takes a lock.
inline constexpr double kCallCost = 2000;

// Treats `count` matrices, each worth `work` multiply-adds. make() gives what one thread needs: a
// function of the matrix's number, which returns null, or why it refuses.
template <class Make>
void each_matrix(const Op& op, int64_t count, double work, Make&& make) {
  constexpr double kGrain = 2e5;
  work += kCallCost;
  if (count == 0) return;
  FirstRefused refused(count);
  {
    BlockingRegion blocking(work * static_cast<double>(count) > 3e4);
    const double share = std::clamp(kGrain / std::max(work, 1.0), 1.0, 1e6);
    parallel_for(count, static_cast<int64_t>(share), [&](int64_t begin, int64_t end) {
      auto treat = make();
      for (int64_t i = begin; i < end && refused.comes_after(i); ++i) {
        check_interrupt();
        if (const Refusal* why = treat(i)) refused.note(i, why);
      }
    });
  }
  refused.tell(op);
}

// Runs f(TypeTag<T>{}) with the element type of a dtype that LAPACK computes in.
template <class F>
void with_lapack(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f(TypeTag<float>{});
    case DType::kComplex64:
      return f(TypeTag<Complex<float>>{});
    case DType::kComplex128:
      return f(TypeTag<Complex<double>>{});
    default:
      return f(TypeTag<double>{});
  }
}

// All dimensions but the last `count`.
inline std::span<const int64_t> leading(const Dims& shape, size_t count = 2) {
  return {shape.data(), shape.size() - count};
}

inline int as_int(int64_t n) { return static_cast<int>(n); }
inline double cube(int64_t n) { return std::pow(static_cast<double>(n), 3); }

}  // namespace tensorlike
