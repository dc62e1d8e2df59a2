// Singular values, eigenvalues, and what is found by them: least squares.
#include "cpu/matrix_lanes.h"
#include "op/families.h"
#include "op/linear_solvers.h"

namespace tensorlike {
namespace {

// Singular values below this part of the largest count as 0: the attribute `rtol`, or where that is
// None the precision of the dtype times the larger size.
double least_squares_tolerance(const Op& op, DType dtype, int64_t m, int64_t n) {
  const Attr& given = op.attr("rtol");
  if (std::holds_alternative<Nothing>(given)) {
    const double precision = real_of(compute_of(dtype)) == DType::kFloat32
                                 ? std::numeric_limits<float>::epsilon()
                                 : std::numeric_limits<double>::epsilon();
    return precision * static_cast<double>(std::max(m, n));
  }
  return literal_as<double>(literal_of(given));
}

// The matrices in the dtype that is computed in: what is not complex has that of the result's
// parts.
Array computed(const Array& x, DType result, Workspace& workspace) {
  return kind_of(x.dtype) == Kind::kComplex ? x : cast(x, real_of(result), workspace);
}

// The columns of u and the rows of vh in their phases.
template <class T>
void turn_pairs(T* u, int64_t m, int64_t left, T* vh, int64_t n, int64_t k) {
  if constexpr (is_complex<T>) {
    for (int64_t j = 0; j < k; ++j) {
      const T turn = conjugate_of(turn_vector(u + j, m, left));
      for (int64_t c = 0; c < n; ++c) vh[j * n + c] = vh[j * n + c] * turn;
    }
  }
}

void svd(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const bool wants_vectors = op.get<bool>("compute_vectors");
  const size_t values = wants_vectors ? 1 : 0;
  const Array given = computed(*inputs[0], outputs[values]->dtype, workspace);
  with_lapack(given.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = Real<T>;
    const std::span<const int64_t> batch = leading(outputs[values]->shape, 1);
    const Matrices<T> x(given, batch);
    const int64_t m = x.rows;
    const int64_t n = x.columns;
    const int64_t k = std::min(m, n);
    const int64_t left = wants_vectors ? outputs[0]->shape.back() : 0;
    const int64_t right = wants_vectors ? outputs[2]->shape[outputs[2]->shape.size() - 2] : 0;
    const int64_t count = element_count(batch);
    T* const u = wants_vectors ? outputs[0]->as<T>() : nullptr;
    R* const s = outputs[values]->as<R>();
    T* const vh = wants_vectors ? outputs[2]->as<T>() : nullptr;
    if (k == 0) {
      for (int64_t i = 0; i < count && wants_vectors; ++i) {
        write_identity(u + i * m * left, m, left);
        write_identity(vh + i * right * n, right, n);
      }
      return;
    }
    const Lapack<T>& table = lapack<T>(op.name());
    const char job = !wants_vectors ? 'N' : op.get<bool>("full_matrices") ? 'A' : 'S';
    const auto alone = [&](int64_t i) {
      return RowSingularValues<T>(table, job, m, n)(x, i, nullptr, s + i * k, nullptr);
    };
    if (!wants_vectors && singular_values_in_lanes(op, x, count, s, alone)) return;
    each_matrix(op, count, svd_work(m, n) / (wants_vectors ? 1 : 4), [&] {
      return
          [&, find = RowSingularValues<T>(table, job, m, n)](int64_t i) mutable -> const Refusal* {
            if (!wants_vectors) return find(x, i, nullptr, s + i * k, nullptr);
            T* const columns = u + i * m * left;
            T* const rows = vh + i * right * n;
            if (const Refusal* why = find(x, i, columns, s + i * k, rows)) return why;
            turn_pairs(columns, m, left, rows, n, k);
            return nullptr;
          };
    });
  });
}

// Eigenvalues of Hermitian matrices, and their vectors where they are wanted.
void eigh(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array given = computed(*inputs[0], outputs[0]->dtype, workspace);
  with_lapack(given.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<const int64_t> batch = leading(outputs[0]->shape, 1);
    const Matrices<T> x(given, batch);
    const int64_t n = x.rows;
    if (n == 0) return;
    Real<T>* const w = outputs[0]->as<Real<T>>();
    T* const v = outputs.size() > 1 ? outputs[1]->as<T>() : nullptr;
    const Lapack<T>& table = lapack<T>(op.name());
    const int64_t count = element_count(batch);
    const auto alone = [&](int64_t i) -> const Refusal* {
      std::vector<T> a(static_cast<size_t>(n * n));
      if (!x.read_hermitian(i, a.data())) return &kNotFinite;
      return outcome(HermitianEigen<T>(table, false, as_int(n))(a.data(), w + i * n));
    };
    if (v == nullptr && eigenvalues_in_lanes(op, x, count, w, alone)) return;
    each_matrix(op, count, cube(n) * (v == nullptr ? 2 : 9), [&] {
      return [&, a = std::vector<T>(static_cast<size_t>(n * n)),
              find = HermitianEigen<T>(table, v != nullptr, as_int(n))](
                 int64_t i) mutable -> const Refusal* {
        if (!x.read_hermitian(i, a.data())) return &kNotFinite;
        if (const Refusal* why = outcome(find(a.data(), w + i * n))) return why;
        if (v == nullptr) return nullptr;
        // Rows read as columns are the transpose, whose vectors are the conjugate ones.
        for (T& value : a) value = conjugate_of(value);
        if constexpr (is_complex<T>) {
          for (int64_t j = 0; j < n; ++j) turn_vector(a.data() + j * n, n, 1);
        }
        write_rows(a.data(), n, n, n, v + i * n * n);
        return nullptr;
      };
    });
  });
}

// Eigenvalues of any matrices, and their vectors where they are wanted.
void eig(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array given = computed(*inputs[0], outputs[0]->dtype, workspace);
  with_lapack(given.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Complex<Real<T>>;
    const std::span<const int64_t> batch = leading(outputs[0]->shape, 1);
    const Matrices<T> x(given, batch);
    const int64_t n = x.rows;
    if (n == 0) return;
    C* const w = outputs[0]->as<C>();
    C* const v = outputs.size() > 1 ? outputs[1]->as<C>() : nullptr;
    const Lapack<T>& table = lapack<T>(op.name());
    each_matrix(op, element_count(batch), cube(n) * 20, [&] {
      const size_t size = static_cast<size_t>(n * n);
      return [&, a = std::vector<T>(size), vectors = std::vector<C>(v == nullptr ? 0 : size),
              find = GeneralEigen<T>(table, v != nullptr, as_int(n))](
                 int64_t i) mutable -> const Refusal* {
        if (!x.read_columns(i, a.data())) return &kNotFinite;
        if (const Refusal* why = outcome(find(a.data(), w + i * n, vectors.data()))) return why;
        if (v == nullptr) return nullptr;
        for (int64_t j = 0; j < n; ++j) turn_vector(vectors.data() + j * n, n, 1);
        write_rows(vectors.data(), n, n, n, v + i * n * n);
        return nullptr;
      };
    });
  });
}

// A vector of right sides as a matrix of one column.
Array as_column(const Array& b) {
  if (b.shape.size() > 1) return b;
  return b.view({b.shape[0], 1}, {b.strides[0], 0});
}

void lstsq(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = Real<T>;
    const Dims& batch = outputs[1]->shape;
    const Matrices<T> a(*inputs[0], batch);
    const Matrices<T> b(as_column(*inputs[1]), batch);
    const int64_t m = a.rows;
    const int64_t n = a.columns;
    const int64_t sides = b.columns;
    const int64_t count = element_count(batch);
    T* const to = outputs[0]->as<T>();
    int64_t* const ranks = outputs[1]->as<int64_t>();
    R* const values = outputs[2]->as<R>();
    const int64_t k = std::min(m, n);
    if (k == 0) {
      std::fill_n(to, count * n * sides, T(0));
      std::fill_n(ranks, count, 0);
      return;
    }
    const R tolerance = static_cast<R>(least_squares_tolerance(op, dtype_of<R>, m, n));
    const Lapack<T>& table = lapack<T>(op.name());
    const int64_t ld = std::max(m, n);
    const int64_t held = std::max<int64_t>(sides, 1);  // LAPACK refuses to find values alone
    each_matrix(op, count, svd_work(m, n), [&] {
      return [&, matrix = std::vector<T>(static_cast<size_t>(m * n)),
              right = std::vector<T>(static_cast<size_t>(ld * held)),
              find = LeastSquares<T>(table, as_int(m), as_int(n), as_int(held), tolerance)](
                 int64_t i) mutable -> const Refusal* {
        const bool is_finite = a.read_columns(i, matrix.data());
        if (!b.read(i, right.data(), 1, ld) || !is_finite) return &kNotFinite;
        int rank = 0;
        if (const Refusal* why = outcome(find(matrix.data(), right.data(), values + i * k, rank)))
          return why;
        ranks[i] = rank;
        write_rows(right.data(), ld, n, sides, to + i * n * sides);
        return nullptr;
      };
    });
  });
}

constexpr std::pair<std::string_view, KernelRule> kSpectralKernels[] = {
    {"svd", svd}, {"eigh", eigh}, {"eig", eig}, {"least_squares", lstsq}};

}  // namespace

RuleTable<KernelRule> spectral_kernels() { return kSpectralKernels; }

}  // namespace tensorlike
