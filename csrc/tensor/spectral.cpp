// Singular values, eigenvalues, and what is found by them: least squares and cofactors.
#include "kernels/lapack_calls.h"
#include "op/families.h"
#include "op/linear_solvers.h"
#include "tensor/matrix_stack.h"

namespace tensorlike {
namespace {

// The singular values, and where u and vh are given the vectors, by rows: the factors of the
// transpose, which is what LAPACK sees, are those of the matrix in each other's place.
template <class T>
class RowSingularValues {
 public:
  RowSingularValues(const Lapack<T>& table, char job, int64_t m, int64_t n)
      : values_(table, job, as_int(n), as_int(m)), x_(static_cast<size_t>(m * n)) {}

  const Refusal* operator()(const Matrices<T>& x, int64_t i, T* u, Real<T>* s, T* vh) {
    if (!x.read_rows(i, x_.data())) return &kNotFinite;
    return values_(x_.data(), s, vh, u) == 0 ? nullptr : &kDiverged;
  }

 private:
  SingularValues<T> values_;
  std::vector<T> x_;
};

double svd_work(int64_t m, int64_t n) {
  return 10 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n));
}

Values svd(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  return with_lapack(outputs[0].dtype, outputs, [&](auto tag, const Values& out) {
    using T = typename decltype(tag)::type;
    using R = Real<T>;
    const Matrices<T> x(*in_dtype<T>(*inputs[0]), leading(outputs[0].shape));
    const int64_t m = x.rows;
    const int64_t n = x.columns;
    const int64_t k = std::min(m, n);
    const int64_t left = outputs[0].shape.back();
    const int64_t right = outputs[2].shape[outputs[2].shape.size() - 2];
    const int64_t count = element_count(leading(outputs[0].shape));
    T* const u = elements<T>(out, 0);
    R* const s = elements<R>(out, 1);
    T* const vh = elements<T>(out, 2);
    if (k == 0) {
      for (int64_t i = 0; i < count; ++i) {
        write_identity(u + i * m * left, m, left);
        write_identity(vh + i * right * n, right, n);
      }
      return;
    }
    const Lapack<T>& table = lapack<T>(op.name());
    const char job = op.get<bool>("full_matrices") ? 'A' : 'S';
    each_matrix(op, count, svd_work(m, n), [&] {
      return [&, find = RowSingularValues<T>(table, job, m, n)](int64_t i) mutable {
        return find(x, i, u + i * m * left, s + i * k, vh + i * right * n);
      };
    });
  });
}

// The dtype that is computed in, of a result that has the dtype of the parts, or a complex one.
DType input_dtype(const RawTensor& x, DType result) {
  return kind_of(x.dtype) == Kind::kComplex ? x.dtype : real_of(result);
}

Values svdvals(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = input_dtype(*inputs[0], outputs[0].dtype);
  return with_lapack(dtype, outputs, [&](auto tag, const Values& out) {
    using T = typename decltype(tag)::type;
    using R = Real<T>;
    const Matrices<T> x(*in_dtype<T>(*inputs[0]), leading(outputs[0].shape, 1));
    const int64_t m = x.rows;
    const int64_t n = x.columns;
    const int64_t k = std::min(m, n);
    if (k == 0) return;
    R* const s = elements<R>(out, 0);
    const Lapack<T>& table = lapack<T>(op.name());
    each_matrix(op, element_count(outputs[0].shape) / k, svd_work(m, n) / 4, [&] {
      return [&, find = RowSingularValues<T>(table, 'N', m, n)](int64_t i) mutable {
        return find(x, i, nullptr, s + i * k, nullptr);
      };
    });
  });
}

// Eigenvalues of Hermitian matrices, and their vectors where v is not null.
template <class T>
void hermitian(const Op& op, const Matrices<T>& x, int64_t count, Real<T>* w, T* v) {
  const int64_t n = x.rows;
  if (n == 0) return;
  const Lapack<T>& table = lapack<T>(op.name());
  each_matrix(op, count, cube(n) * (v == nullptr ? 2 : 9), [&] {
    return [&, w, v, a = std::vector<T>(static_cast<size_t>(n * n)),
            find = HermitianEigen<T>(table, v != nullptr, as_int(n))](
               int64_t i) mutable -> const Refusal* {
      if (!x.read_hermitian(i, a.data())) return &kNotFinite;
      if (find(a.data(), w + i * n) != 0) return &kDiverged;
      if (v == nullptr) return nullptr;
      // Rows read as columns are the transpose, whose vectors are the conjugate ones.
      for (T& value : a) value = conjugate_of(value);
      write_rows(a.data(), n, n, n, v + i * n * n);
      return nullptr;
    };
  });
}

Values eigh(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  return with_lapack(outputs[1].dtype, outputs, [&](auto tag, const Values& out) {
    using T = typename decltype(tag)::type;
    const Matrices<T> x(*in_dtype<T>(*inputs[0]), leading(outputs[1].shape));
    hermitian<T>(op, x, element_count(leading(outputs[1].shape)), elements<Real<T>>(out, 0),
                 elements<T>(out, 1));
  });
}

Values eigvalsh(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = input_dtype(*inputs[0], outputs[0].dtype);
  return with_lapack(dtype, outputs, [&](auto tag, const Values& out) {
    using T = typename decltype(tag)::type;
    const std::span<const int64_t> batch = leading(outputs[0].shape, 1);
    const Matrices<T> x(*in_dtype<T>(*inputs[0]), batch);
    hermitian<T>(op, x, element_count(batch), elements<Real<T>>(out, 0), nullptr);
  });
}

// Eigenvalues of any matrices, and their vectors where v is not null.
template <class T>
void general(const Op& op, const Matrices<T>& x, int64_t count, Complex<Real<T>>* w,
             Complex<Real<T>>* v) {
  using C = Complex<Real<T>>;
  const int64_t n = x.rows;
  if (n == 0) return;
  const Lapack<T>& table = lapack<T>(op.name());
  each_matrix(op, count, cube(n) * 20, [&] {
    const size_t size = static_cast<size_t>(n * n);
    return [&, w, v, a = std::vector<T>(size), vectors = std::vector<C>(v == nullptr ? 0 : size),
            find = GeneralEigen<T>(table, v != nullptr, as_int(n))](
               int64_t i) mutable -> const Refusal* {
      if (!x.read_columns(i, a.data())) return &kNotFinite;
      if (find(a.data(), w + i * n, vectors.data()) != 0) return &kDiverged;
      if (v != nullptr) write_rows(vectors.data(), n, n, n, v + i * n * n);
      return nullptr;
    };
  });
}

Values eig(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = input_dtype(*inputs[0], outputs[1].dtype);
  return with_lapack(dtype, outputs, [&](auto tag, const Values& out) {
    using T = typename decltype(tag)::type;
    using C = Complex<Real<T>>;
    const std::span<const int64_t> batch = leading(outputs[1].shape);
    const Matrices<T> x(*in_dtype<T>(*inputs[0]), batch);
    general<T>(op, x, element_count(batch), elements<C>(out, 0), elements<C>(out, 1));
  });
}

Values eigvals(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = input_dtype(*inputs[0], outputs[0].dtype);
  return with_lapack(dtype, outputs, [&](auto tag, const Values& out) {
    using T = typename decltype(tag)::type;
    using C = Complex<Real<T>>;
    const std::span<const int64_t> batch = leading(outputs[0].shape, 1);
    const Matrices<T> x(*in_dtype<T>(*inputs[0]), batch);
    general<T>(op, x, element_count(batch), elements<C>(out, 0), nullptr);
  });
}

// A vector of right sides as a matrix of one column.
Ref<RawTensor> as_column(const RawTensor& b) {
  if (b.shape.size() > 1) return b.view(b.shape, b.strides);
  return b.view({b.shape[0], 1}, {b.strides[0], 0});
}

Values lstsq(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  return with_lapack(outputs[0].dtype, outputs, [&](auto tag, const Values& out) {
    using T = typename decltype(tag)::type;
    using R = Real<T>;
    const Dims& batch = outputs[1].shape;
    const Matrices<T> a(*in_dtype<T>(*inputs[0]), batch);
    const Matrices<T> b(*as_column(*in_dtype<T>(*inputs[1])), batch);
    const int64_t m = a.rows;
    const int64_t n = a.columns;
    const int64_t sides = b.columns;
    const int64_t count = element_count(batch);
    T* const to = elements<T>(out, 0);
    int64_t* const ranks = elements<int64_t>(out, 1);
    R* const values = elements<R>(out, 2);
    const int64_t k = std::min(m, n);
    if (k == 0) {
      std::fill_n(to, count * n * sides, T(0));
      std::fill_n(ranks, count, 0);
      return;
    }
    const R tolerance = static_cast<R>(least_squares_tolerance(op, dtype_of<R>, m, n));
    const Lapack<T>& table = lapack<T>(op.name());
    const int64_t ld = std::max(m, n);
    each_matrix(op, count, svd_work(m, n), [&] {
      return [&, matrix = std::vector<T>(static_cast<size_t>(m * n)),
              right = std::vector<T>(static_cast<size_t>(ld * sides)),
              find = LeastSquares<T>(table, as_int(m), as_int(n), as_int(sides), tolerance)](
                 int64_t i) mutable -> const Refusal* {
        const bool is_finite = a.read_columns(i, matrix.data());
        if (!b.read(i, right.data(), 1, ld) || !is_finite) return &kNotFinite;
        int rank = 0;
        if (find(matrix.data(), right.data(), values + i * k, rank) != 0) return &kDiverged;
        ranks[i] = rank;
        write_rows(right.data(), ld, n, sides, to + i * n * sides);
        return nullptr;
      };
    });
  });
}

// 1 or -1, or the complex number of modulus 1, that the determinant of an orthogonal matrix is.
template <class T>
T unit_determinant(const Lapack<T>& table, const T* x, int64_t n, std::vector<T>& lu,
                   std::vector<int>& pivots) {
  const int size = as_int(n);
  int info = 0;
  std::copy_n(x, n * n, lu.data());
  table.getrf(&size, &size, lu.data(), &size, pivots.data(), &info);
  T product(1);
  for (int i = 0; i < size; ++i) {
    product = product * lu[static_cast<size_t>(i) * static_cast<size_t>(size + 1)];
    if (pivots[static_cast<size_t>(i)] != i + 1) product = -product;
  }
  if constexpr (is_complex<T>) {
    return product;
  } else {
    return product < 0 ? T(-1) : T(1);
  }
}

// The adjoint of the adjugate of x = u s vh: where s is replaced by the products of the others.
// Unlike det(x) x^-H it is right for singular matrices too.
Values cofactor(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  return with_lapack(outputs[0].dtype, outputs, [&](auto tag, const Values& out) {
    using T = typename decltype(tag)::type;
    using R = Real<T>;
    const Matrices<T> x(*in_dtype<T>(*inputs[0]), leading(outputs[0].shape));
    const int64_t n = x.rows;
    if (n == 0) return;
    T* const to = elements<T>(out, 0);
    const Lapack<T>& table = lapack<T>(op.name());
    const int64_t count = element_count(leading(outputs[0].shape));
    each_matrix(op, count, svd_work(n, n), [&] {
      const size_t all = static_cast<size_t>(n * n);
      const size_t size = static_cast<size_t>(n);
      return
          [&, n, u = std::vector<T>(all), vh = std::vector<T>(all), lu = std::vector<T>(all),
           s = std::vector<R>(size), rest = std::vector<R>(size), pivots = std::vector<int>(size),
           find = RowSingularValues<T>(table, 'S', n, n)](int64_t i) mutable -> const Refusal* {
            if (const Refusal* why = find(x, i, u.data(), s.data(), vh.data())) return why;
            R running(1);
            for (size_t j = 0; j < s.size(); ++j) {
              rest[j] = running;
              running *= s[j];
            }
            running = 1;
            for (size_t j = s.size(); j-- > 0;) {
              rest[j] *= running;
              running *= s[j];
            }
            const T phase = conjugate_of(unit_determinant(table, u.data(), n, lu, pivots) *
                                         unit_determinant(table, vh.data(), n, lu, pivots));
            for (size_t j = 0; j < u.size(); ++j) u[j] = u[j] * T(rest[j % s.size()]) * phase;
            const int sides = as_int(n);
            const T one(1);
            const T zero(0);
            table.gemm("N", "N", &sides, &sides, &sides, &one, vh.data(), &sides, u.data(), &sides,
                       &zero, to + i * n * n, &sides, 1, 1);
            return nullptr;
          };
    });
  });
}

constexpr std::pair<std::string_view, Kernel> kKernels[] = {
    {"svd", svd}, {"svdvals", svdvals}, {"eigh", eigh},   {"eigvalsh", eigvalsh},
    {"eig", eig}, {"eigvals", eigvals}, {"lstsq", lstsq}, {"cofactor", cofactor},
};

}  // namespace

RuleTable<Kernel> spectral_kernels() { return kKernels; }

}  // namespace tensorlike
