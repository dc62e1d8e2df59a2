// Determinants, their signs and logarithms, and cofactors.
#include <numbers>

#include "cpu/matrix_lanes.h"
#include "op/families.h"

namespace tensorlike {
namespace {

template <class T>
T scaled(T x, int64_t exponent) {
  if (exponent == 0) return x;
  const int power = static_cast<int>(std::clamp<int64_t>(exponent, -100000, 100000));
  if constexpr (is_complex<T>) {
    return {std::scalbn(x.re, power), std::scalbn(x.im, power)};
  } else {
    return std::scalbn(x, power);
  }
}

// Calls found(i, mantissa, exponent) with each determinant.
template <class T, class Found>
void each_determinant(const Op& op, const Array& input, const Array& output, Found found) {
  const Matrices<T> x(input, output.shape);
  const int64_t n = x.rows;
  const int64_t count = element_count(output.shape);
  if (n == 0) {
    for (int64_t i = 0; i < count; ++i) found(i, T(1), 0);
    return;
  }
  const Lapack<T>& table = lapack<T>(op.name());
  const auto find_scaled = [&](Factors<T>& factors, int64_t i) {
    factors.factor(x, i);  // that of a singular matrix is 0
    const auto [mantissa, exponent] = factors.determinant();
    found(i, mantissa, exponent);
  };
  const auto is_done = determinants_in_lanes(
      op, x, count, [&](int64_t i, T value) { found(i, value, 0); },
      [&](int64_t i) {
        Factors<T> factors(table, n);
        find_scaled(factors, i);
      });
  if (is_done) return;
  each_matrix(op, count, cube(n) / 3, [&] {
    return [&, factors = Factors<T>(table, n)](int64_t i) mutable -> const Refusal* {
      find_scaled(factors, i);
      return nullptr;
    };
  });
}

void det(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const to = outputs[0]->as<T>();
    each_determinant<T>(op, *inputs[0], *outputs[0], [to](int64_t i, T mantissa, int64_t exponent) {
      to[i] = scaled(mantissa, exponent);
    });
  });
}

void slogdet(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = Real<T>;
    T* const sign = outputs[0]->as<T>();
    R* const log = outputs[1]->as<R>();
    each_determinant<T>(op, *inputs[0], *outputs[0], [=](int64_t i, T mantissa, int64_t exponent) {
      R size;
      if constexpr (is_complex<T>) {
        size = std::hypot(mantissa.re, mantissa.im);
      } else {
        size = std::abs(mantissa);
      }
      sign[i] = size == 0 ? T(0) : mantissa / T(size);
      const double whole = static_cast<double>(exponent) * std::numbers::ln2;
      log[i] = static_cast<R>(std::log(static_cast<double>(size)) + whole);
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
void cofactor(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = Real<T>;
    const Matrices<T> x(*inputs[0], leading(outputs[0]->shape));
    const int64_t n = x.rows;
    if (n == 0) return;
    T* const to = outputs[0]->as<T>();
    const Lapack<T>& table = lapack<T>(op.name());
    const int64_t count = element_count(leading(outputs[0]->shape));
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

void determinant(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const std::string& mode = op.get<std::string>("mode");
  const Kernel kernel = mode == "value" ? det : mode == "logarithm" ? slogdet : cofactor;
  kernel(op, inputs, outputs, workspace);
}

constexpr std::pair<std::string_view, KernelRule> kDeterminantKernels[] = {
    {"determinant", determinant}};

}  // namespace

RuleTable<KernelRule> determinant_kernels() { return kDeterminantKernels; }

}  // namespace tensorlike
