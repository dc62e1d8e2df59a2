// The exponential of matrices by scaling and squaring: exp(x) = exp(x / 2**s) ** (2**s), and the
// exponential of the scaled matrix by a quotient of polynomials, the diagonal Padé approximant.
// Each squaring doubles the error: single precision is computed in double. Source: N. Higham, The
// scaling and squaring method for the matrix exponential revisited (2005).
#include <limits>

#include "cpu/matrix_factors.h"
#include "kernels/gemm.h"
#include "op/families.h"

namespace tensorlike {
namespace {

// The approximant of this degree is exact to the last place up to this 1-norm.
struct Degree {
  int degree;
  double norm;
};
constexpr Degree kDegrees[] = {
    {3, 1.495585217958292e-2}, {5, 2.539398330063230e-1}, {7, 9.504178996162932e-1},
    {9, 2.097847961257068e0},  {13, 5.371920351148152e0},
};

// Works on matrices by rows.
template <class T>
class Exponential {
 public:
  Exponential(const Lapack<T>& table, int64_t n)
      : table_(table),
        n_(as_int(n)),
        all_(static_cast<size_t>(n * n)),
        square_(all_),
        power_(all_),
        next_power_(all_),
        odd_(all_),
        even_(all_),
        factors_(table, n) {}

  // In place.
  void operator()(T* x) {
    const double norm = one_norm(x);
    const std::span<const Degree> known(kDegrees);
    size_t i = 0;
    while (i + 1 < known.size() && norm > known[i].norm) ++i;
    int halvings = 0;
    if (norm > known[i].norm) {
      halvings = static_cast<int>(std::ceil(std::log2(norm / known[i].norm)));
      for (size_t j = 0; j < all_; ++j) x[j] = scale(x[j], -halvings);
    }
    approximate(x, known[i].degree);
    for (int step = 0; step < halvings; ++step) {
      multiply(x, x, power_.data());
      std::copy_n(power_.data(), all_, x);
    }
  }

 private:
  static T scale(T x, int exponent) {
    if constexpr (is_complex<T>) {
      return {std::scalbn(x.re, exponent), std::scalbn(x.im, exponent)};
    } else {
      return std::scalbn(x, exponent);
    }
  }
  double one_norm(const T* x) const {
    double largest = 0;
    for (int c = 0; c < n_; ++c) {
      double sum = 0;
      for (int r = 0; r < n_; ++r) {
        const T value =
            x[static_cast<size_t>(c) * static_cast<size_t>(n_) + static_cast<size_t>(r)];
        if constexpr (is_complex<T>) {
          sum += std::hypot(static_cast<double>(value.re), static_cast<double>(value.im));
        } else {
          sum += std::abs(static_cast<double>(value));
        }
      }
      largest = std::max(largest, sum);
    }
    return std::min(largest, std::numeric_limits<double>::max());
  }
  void multiply(const T* a, const T* b, T* to) const {
    if constexpr (is_complex<T>) {  // rows are columns to LAPACK, which has b a then
      const T one(1);
      const T zero(0);
      table_.gemm("N", "N", &n_, &n_, &n_, &one, b, &n_, a, &n_, &zero, to, &n_, 1, 1);
    } else {
      gemm<T>(n_, n_, n_, a, n_, 1, b, n_, 1, to, n_);
    }
  }
  void add_identity(std::vector<T>& to, double factor) const {
    const size_t step = static_cast<size_t>(n_) + 1;
    for (size_t j = 0; j < all_; j += step) to[j] += T(factor);
  }
  // x = (even - odd)^-1 (even + odd), where even and odd are the parts of a polynomial in x.
  void approximate(T* x, int degree) {
    double factor = 1;
    auto next = [&, j = 0]() mutable {
      ++j;
      factor *= static_cast<double>(degree - j + 1) / static_cast<double>((2 * degree - j + 1) * j);
      return factor;
    };
    std::fill(even_.begin(), even_.end(), T(0));
    std::fill(odd_.begin(), odd_.end(), T(0));
    add_identity(even_, factor);
    add_identity(odd_, next());
    multiply(x, x, square_.data());
    power_ = square_;
    for (int j = 2; j < degree; j += 2) {
      const T to_even(next());
      const T to_odd(next());
      for (size_t e = 0; e < all_; ++e) {
        even_[e] += to_even * power_[e];
        odd_[e] += to_odd * power_[e];
      }
      if (j + 2 < degree) {
        multiply(power_.data(), square_.data(), next_power_.data());
        power_.swap(next_power_);
      }
    }
    multiply(x, odd_.data(), square_.data());
    for (size_t e = 0; e < all_; ++e) {
      x[e] = even_[e] + square_[e];
      even_[e] = even_[e] - square_[e];
    }
    factors_.factor(even_.data());
    factors_.solve(x, n_);
  }

  const Lapack<T>& table_;
  int n_;
  size_t all_;
  std::vector<T> square_, power_, next_power_, odd_, even_;
  Factors<T> factors_;
};

void matrix_exp(const Op& op, Arrays inputs, Arrays outputs, Workspace&) {
  with_lapack(outputs[0]->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide = std::conditional_t<is_complex<T>, Complex<double>, double>;
    const Matrices<T> x(*inputs[0], leading(outputs[0]->shape));
    const int64_t n = x.rows;
    if (n == 0) return;
    T* const to = outputs[0]->as<T>();
    const Lapack<Wide>& table = lapack<Wide>(op.name());
    each_matrix(op, element_count(leading(outputs[0]->shape)), cube(n) * 12, [&] {
      return [&, exponential = Exponential<Wide>(table, n),
              wide = std::vector<Wide>(static_cast<size_t>(n * n))](
                 int64_t i) mutable -> const Refusal* {
        T* const given = to + i * n * n;
        if (!x.read_rows(i, given)) return &kNotFinite;
        std::transform(given, given + n * n, wide.begin(),
                       [](T v) { return static_cast<Wide>(v); });
        exponential(wide.data());
        std::transform(wide.begin(), wide.end(), given, [](Wide v) { return static_cast<T>(v); });
        return nullptr;
      };
    });
  });
}

constexpr std::pair<std::string_view, KernelRule> kMatrixExpKernels[] = {
    {"matrix_exp", matrix_exp}};

}  // namespace

RuleTable<KernelRule> matrix_exp_kernels() { return kMatrixExpKernels; }

}  // namespace tensorlike
