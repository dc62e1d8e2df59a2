// Factors of matrices, inverses and solutions of equations, by LAPACK; of small ones, in lanes. It
// wants columns where we have rows: most often the transposed problem is solved, which copies
// nothing.
#include "op/linear_solvers.h"

#include "cpu/matrix_lanes.h"
#include "op/families.h"

namespace tensorlike {
namespace {

void cholesky(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> x(*inputs[0], leading(outputs[0]->shape));
    const int64_t n = x.rows;
    if (n == 0) return;
    const Lapack<T>& table = lapack<T>(op.name());
    const bool is_upper = op.get<bool>("upper");
    T* const to = outputs[0]->as<T>();
    const int64_t count = element_count(outputs[0]->shape) / (n * n);
    if (cholesky_in_lanes(op, x, count, is_upper, to)) return;
    each_matrix(op, count, cube(n) / 3, [&] {
      return [&](int64_t i) -> const Refusal* {
        T* const factor = to + i * n * n;
        if (!x.read_hermitian(i, factor)) return &kNotFinite;
        const int size = as_int(n);
        int info = 0;
        table.potrf(is_upper ? "L" : "U", &size, factor, &size, &info, 1);
        if (info != 0) return &kIndefinite;
        for (int64_t r = 0; r < n; ++r) {
          T* const row = factor + r * n;
          is_upper ? std::fill_n(row, r, T(0)) : std::fill_n(row + r + 1, n - r - 1, T(0));
        }
        return nullptr;
      };
    });
  });
}

void inverse(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> x(*inputs[0], leading(outputs[0]->shape));
    const int64_t n = x.rows;
    if (n == 0) return;
    const Lapack<T>& table = lapack<T>(op.name());
    T* const to = outputs[0]->as<T>();
    const int64_t count = element_count(outputs[0]->shape) / (n * n);
    if (solve_in_lanes<T>(op, x, nullptr, count, to)) return;
    each_matrix(op, count, cube(n), [&] {
      return [&, factors = Factors<T>(table, n)](int64_t i) mutable -> const Refusal* {
        if (!factors.factor(x, i)) return &kSingular;
        factors.invert(to + i * n * n);
        return nullptr;
      };
    });
  });
}

// A vector as a matrix of one column, or of one row.
Array as_matrix(const Array& b, bool is_column) {
  if (b.shape.size() > 1) return b;
  const int64_t n = b.shape[0];
  const int64_t stride = b.strides[0];
  return is_column ? b.view({n, 1}, {stride, 0}) : b.view({1, n}, {0, stride});
}

// The batch of a solution: a vector has one dimension, a matrix two.
std::span<const int64_t> batch_of(const Array& solution, const Array& b) {
  return leading(solution.shape, b.shape.size() == 1 ? 1 : 2);
}

void solve(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<const int64_t> batch = batch_of(*outputs[0], *inputs[1]);
    const Matrices<T> a(*inputs[0], batch);
    const Matrices<T> b(as_matrix(*inputs[1], true), batch);
    const int64_t n = a.rows;
    const int64_t k = b.columns;
    if (n == 0) return;
    const Lapack<T>& table = lapack<T>(op.name());
    T* const to = outputs[0]->as<T>();
    const double work = cube(n) / 3 + static_cast<double>(n * n) * static_cast<double>(k);
    const int64_t count = element_count(batch);
    if (solve_in_lanes(op, a, &b, count, to)) return;
    each_matrix(op, count, work, [&] {
      return [&, factors = Factors<T>(table, n),
              factored = static_cast<const T*>(nullptr)](int64_t i) mutable -> const Refusal* {
        // One matrix may meet many right sides.
        if (factored != a.at(i) && !factors.factor(a, i)) return &kSingular;
        factored = a.at(i);
        b.read_rows(i, to + i * n * k);
        factors.solve(to + i * n * k, k);
        return nullptr;
      };
    });
  });
}

void solve_triangular(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  const bool is_left = op.get<bool>("left");
  const bool is_upper = op.get<bool>("upper");
  const bool is_unit = op.get<bool>("unitriangular");
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<const int64_t> batch = batch_of(*outputs[0], *inputs[1]);
    const Matrices<T> a(*inputs[0], batch);
    const Matrices<T> b(as_matrix(*inputs[1], is_left), batch);
    const int64_t n = a.rows;
    const int64_t k = is_left ? b.columns : b.rows;
    if (n == 0 || k == 0) return;
    const Lapack<T>& table = lapack<T>(op.name());
    T* const to = outputs[0]->as<T>();
    const double work = static_cast<double>(n * n) * static_cast<double>(k) / 2;
    const int64_t stack = element_count(batch);
    if (solve_triangular_in_lanes(op, a, b, stack, is_left, is_upper, is_unit, to)) return;
    each_matrix(op, stack, work, [&] {
      return [&, rows = std::vector<T>(static_cast<size_t>(n * n))](
                 int64_t i) mutable -> const Refusal* {
        a.read_rows(i, rows.data());
        for (int64_t d = 0; d < n && !is_unit; ++d) {
          if (rows[static_cast<size_t>(d * n + d)] == T(0)) return &kSingular;
        }
        b.read_rows(i, to + i * n * k);
        const int size = as_int(n);
        if (is_left && is_small(2 * work)) {
          substitute(rows.data(), n, !is_upper, is_unit, to + i * n * k, k, k);
          return nullptr;
        }
        const int ld = as_int(is_left ? k : n);
        const T one(1);
        each_block_of_sides(n, k, [&](int64_t first, int64_t count) {
          const int sides = as_int(count);
          T* const block = to + i * n * k + first * (is_left ? 1 : n);
          table.trsm(is_left ? "R" : "L", is_upper ? "L" : "U", "N", is_unit ? "U" : "N",
                     is_left ? &sides : &size, is_left ? &size : &sides, &one, rows.data(), &size,
                     block, &ld, 1, 1, 1, 1);
        });
        return nullptr;
      };
    });
  });
}

// From the factors of a (m, n), by columns, and its pivots.
template <class T>
void write_lu(const T* lu, const int* pivots, int64_t m, int64_t n, int64_t* order, T* l, T* u) {
  const int64_t k = std::min(m, n);
  for (int64_t i = 0; i < m; ++i) order[i] = i;
  for (int64_t i = 0; i < k; ++i) std::swap(order[i], order[pivots[i] - 1]);
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t c = 0; c < k; ++c) l[r * k + c] = r > c ? lu[r + c * m] : T(r == c ? 1 : 0);
  }
  for (int64_t r = 0; r < k; ++r) {
    for (int64_t c = 0; c < n; ++c) u[r * n + c] = r <= c ? lu[r + c * m] : T(0);
  }
}

void lu(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  with_lapack(outputs[1]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> x(cast(*inputs[0], dtype_of<T>, workspace), leading(outputs[1]->shape));
    const int64_t m = x.rows;
    const int64_t n = x.columns;
    const int64_t k = std::min(m, n);
    int64_t* const order = outputs[0]->as<int64_t>();
    T* const lower = outputs[1]->as<T>();
    T* const upper = outputs[2]->as<T>();
    const Lapack<T>* const table = k == 0 ? nullptr : &lapack<T>(op.name());
    const int64_t count = element_count(leading(outputs[1]->shape));
    each_matrix(op, count, static_cast<double>(m * n) * static_cast<double>(k), [&] {
      return
          [&, a = std::vector<T>(static_cast<size_t>(m * n)),
           pivots = std::vector<int>(static_cast<size_t>(k))](int64_t i) mutable -> const Refusal* {
            x.read_columns(i, a.data());
            const int rows = as_int(m);
            const int columns = as_int(n);
            int info = 0;
            if (k > 0) table->getrf(&rows, &columns, a.data(), &rows, pivots.data(), &info);
            write_lu(a.data(), pivots.data(), m, n, order + i * m, lower + i * m * k,
                     upper + i * k * n);
            return nullptr;
          };
    });
  });
}

// Q and R of one matrix after the other, by LAPACK.
template <class T>
class RowQr {
 public:
  RowQr(const Op& op, const Matrices<T>& x, int64_t width, T* q, T* r)
      : x_(x),
        k_(std::min(x.rows, x.columns)),
        width_(width),
        q_(q),
        r_(r),
        a_(static_cast<size_t>(x.rows * std::max(x.columns, width))),
        factors_(lapack<T>(op.name()), as_int(x.rows), as_int(x.columns), as_int(width)) {}

  void operator()(int64_t i) {
    const int64_t m = x_.rows;
    const int64_t n = x_.columns;
    x_.read_columns(i, a_.data());
    factors_.factor(a_.data());
    for (int64_t row = 0; row < width_; ++row) {
      for (int64_t c = 0; c < n; ++c) {
        r_[(i * width_ + row) * n + c] =
            row <= c && row < k_ ? a_[static_cast<size_t>(row + c * m)] : T(0);
      }
    }
    factors_.make(a_.data());
    write_rows(a_.data(), m, m, width_, q_ + i * m * width_);
  }

 private:
  const Matrices<T>& x_;
  const int64_t k_, width_;
  T *const q_, *const r_;
  std::vector<T> a_;
  QrFactors<T> factors_;
};

void qr(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> x(*inputs[0], leading(outputs[0]->shape));
    const int64_t m = x.rows;
    const int64_t n = x.columns;
    const int64_t width = outputs[0]->shape.back();
    const int64_t count = element_count(leading(outputs[0]->shape));
    T* const q = outputs[0]->as<T>();
    T* const r = outputs[1]->as<T>();
    if (std::min(m, n) == 0) {  // there is no R, and Q, where it is whole, is anything orthogonal
      for (int64_t i = 0; i < count; ++i) write_identity(q + i * m * width, m, width);
      return;
    }
    const auto alone = [&](int64_t i) { RowQr<T>(op, x, width, q, r)(i); };
    if (qr_in_lanes(op, x, count, width, q, r, alone)) return;
    each_matrix(op, count, 2 * static_cast<double>(m * width) * static_cast<double>(n), [&] {
      return [&, find = RowQr<T>(op, x, width, q, r)](int64_t i) mutable -> const Refusal* {
        find(i);
        return nullptr;
      };
    });
  });
}

constexpr std::pair<std::string_view, KernelRule> kLinearSolverKernels[] = {
    {"cholesky", cholesky},
    {"inverse", inverse},
    {"solve", solve},
    {"solve_triangular", solve_triangular},
    {"lu", lu},
    {"qr", qr},
};

}  // namespace

RuleTable<KernelRule> linear_solver_kernels() { return kLinearSolverKernels; }

}  // namespace tensorlike
