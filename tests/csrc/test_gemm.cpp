// Compares the matrix multiply with a plain triple loop in long double: random shapes and those at
// the edges of tiles and blocks, any strides, every instruction set level of this machine, with and
// without the products of pairs that only some processors have, and one thread against several, bit
// by bit. Exits non-zero on the first failures.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "../../csrc/base/isa.h"
#include "../../csrc/base/pool.h"
#include "../../csrc/kernels/gemm.h"

namespace {

using tensorlike::BFloat16;
using tensorlike::Float16;
using tensorlike::Isa;
using tensorlike::SumOf;
using tensorlike::detail::GemmTable;

template <class T>
long double wide(T x) {
  return static_cast<long double>(static_cast<SumOf<T>>(x));
}

int g_failures = 0;
int g_checks = 0;
std::mt19937_64 g_random(20240607);

int64_t draw(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(g_random);
}

enum class Layout { kRows, kColumns, kGap, kReversed, kBothReversed, kSameRow, kStepped, kCount };

// A matrix inside a buffer that is exactly as long as it must be, so that a sanitizer sees any read
// beyond it.
template <class T>
struct Matrix {
  std::vector<T> buffer;
  int64_t start = 0, row_stride = 0, column_stride = 0;

  Matrix(int64_t rows, int64_t columns, Layout layout) {
    switch (layout) {
      case Layout::kRows:
        row_stride = columns, column_stride = 1;
        break;
      case Layout::kColumns:
        row_stride = 1, column_stride = rows;
        break;
      case Layout::kGap:
        row_stride = columns + 5, column_stride = 1;
        break;
      case Layout::kReversed:
        row_stride = -columns, column_stride = 1;
        break;
      case Layout::kBothReversed:
        row_stride = -1, column_stride = -rows - 2;
        break;
      case Layout::kSameRow:
        row_stride = 0, column_stride = 1;
        break;
      default:
        row_stride = 3 * columns + 1, column_stride = 3;
        break;
    }
    int64_t first = 0, last = 0;
    for (const auto& [count, stride] : {std::pair{rows, row_stride}, {columns, column_stride}}) {
      const int64_t reach = std::max<int64_t>(count - 1, 0) * stride;
      (reach < 0 ? first : last) += reach;
    }
    start = -first;
    if (rows > 0 && columns > 0) buffer.resize(static_cast<size_t>(last - first + 1));
    for (T& value : buffer) {
      if constexpr (!std::is_integral_v<T>) {
        value = static_cast<T>(std::uniform_real_distribution<SumOf<T>>(-1, 1)(g_random));
      } else {
        value = static_cast<T>(g_random());
      }
    }
  }

  const T* data() const { return buffer.data() + start; }
  T at(int64_t i, int64_t j) const {
    return buffer[static_cast<size_t>(start + i * row_stride + j * column_stride)];
  }
};

template <class T>
struct Result {  // with a gap after each row that must stay as it is
  int64_t rows, columns, row_stride;
  std::vector<T> buffer;

  Result(int64_t m, int64_t n, int64_t gap)
      : rows(m),
        columns(n),
        row_stride(n + gap),
        buffer(static_cast<size_t>(m * row_stride), T{77}) {}
  T at(int64_t i, int64_t j) const { return buffer[static_cast<size_t>(i * row_stride + j)]; }
};

// Turns every bit of a block: what is done twice, or to a sum that is not complete, shows.
template <class T>
void turn(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const auto& c = *static_cast<const Result<T>*>(context);
  for (int64_t i = row; i < row + rows; ++i) {
    for (int64_t j = column; j < column + columns; ++j) {
      auto* bytes = reinterpret_cast<unsigned char*>(
          const_cast<T*>(&c.buffer[static_cast<size_t>(i * c.row_stride + j)]));
      for (size_t byte = 0; byte < sizeof(T); ++byte) bytes[byte] ^= 0xff;
    }
  }
}

template <class T>
void multiply(const GemmTable& table, int64_t k, const Matrix<T>& a, const Matrix<T>& b,
              Result<SumOf<T>>& c, tensorlike::Epilogue epilogue = {}) {
  tensorlike::detail::gemm_with<T>(table, c.rows, c.columns, k, a.data(), a.row_stride,
                                   a.column_stride, b.data(), b.row_stride, b.column_stride,
                                   c.buffer.data(), c.row_stride, epilogue);
}

template <class T>
bool is_right(SumOf<T> value, const Matrix<T>& a, const Matrix<T>& b, int64_t i, int64_t j,
              int64_t k) {
  if constexpr (!std::is_integral_v<T>) {
    long double sum = 0, scale = 0;
    for (int64_t p = 0; p < k; ++p) {
      const long double product = wide(a.at(i, p)) * wide(b.at(p, j));
      sum += product;
      scale += std::abs(product);
    }
    const long double tolerance = std::numeric_limits<SumOf<T>>::epsilon() * scale *
                                  (2 + std::sqrt(static_cast<long double>(k)));
    return std::abs(static_cast<long double>(value) - sum) <= tolerance;
  } else {
    using U = std::make_unsigned_t<T>;
    U sum = 0;
    for (int64_t p = 0; p < k; ++p) {
      sum += static_cast<U>(a.at(i, p)) * static_cast<U>(b.at(p, j));
    }
    return static_cast<U>(value) == sum;
  }
}

template <class T>
void check(const GemmTable& table, int64_t m, int64_t n, int64_t k, Layout a_layout,
           Layout b_layout, int64_t gap) {
  using S = SumOf<T>;
  const Matrix<T> a(m, k, a_layout);
  const Matrix<T> b(k, n, b_layout);
  Result<S> c(m, n, gap);
  multiply(table, k, a, b, c);
  ++g_checks;
  bool is_ok = true;
  for (int64_t i = 0; i < m && is_ok; ++i) {
    for (int64_t j = 0; j < n && is_ok; ++j) is_ok = is_right(c.at(i, j), a, b, i, j, k);
    for (int64_t j = n; j < n + gap && is_ok; ++j) is_ok = c.at(i, j) == S{77};
  }
  Result<S> alone(m, n, gap);
  const int threads = tensorlike::num_threads();
  tensorlike::set_num_threads(1);
  multiply(table, k, a, b, alone, {turn<S>, &alone});
  tensorlike::set_num_threads(threads);
  turn<S>(&alone, 0, m, 0, n);
  const bool is_same = c.buffer.empty() || std::memcmp(c.buffer.data(), alone.buffer.data(),
                                                       c.buffer.size() * sizeof(S)) == 0;
  if (is_ok && is_same) return;
  if (++g_failures > 20) return;
  std::printf("FAILED (%s): %d lanes, %d bytes, %s, m=%lld n=%lld k=%lld layouts %d %d gap %lld\n",
              is_ok ? "other bits with other threads or with an epilogue" : "wrong value",
              static_cast<int>(table.f32.lanes), static_cast<int>(sizeof(T)),
              std::is_integral_v<T> ? "integer" : "float", static_cast<long long>(m),
              static_cast<long long>(n), static_cast<long long>(k), static_cast<int>(a_layout),
              static_cast<int>(b_layout), static_cast<long long>(gap));
}

int64_t draw_size() {
  static const int64_t kEdges[] = {0,  1,  2,  3,   4,   5,   6,   7,   8,   9,   10,  11, 13,
                                   14, 15, 16, 17,  28,  29,  31,  32,  33,  47,  48,  63, 64,
                                   65, 96, 97, 101, 127, 128, 129, 131, 191, 192, 193, 257};
  if (draw(0, 9) == 0) return draw(0, 150);
  return kEdges[draw(0, static_cast<int64_t>(std::size(kEdges)) - 1)];
}

Layout draw_layout() {
  return static_cast<Layout>(draw(0, static_cast<int64_t>(Layout::kCount) - 1));
}

template <class T>
void check_random(const GemmTable& isa, int count) {
  for (int i = 0; i < count; ++i) {
    int64_t m = draw_size();
    int64_t n = draw_size();
    int64_t k = draw_size();
    const int64_t shape = draw(0, 9);
    if (shape == 0) m = 1;
    if (shape == 1) n = 1;
    if (shape == 2) k = draw(380, 900);
    check<T>(isa, m, n, k, draw_layout(), draw_layout(), draw(0, 1) * 3);
  }
}

// Beyond what is packed at once in every direction, and enough work for several threads.
template <class T>
void check_large(const GemmTable& isa) {
  check<T>(isa, 301, 130, 259, Layout::kRows, Layout::kRows, 0);
  check<T>(isa, 784, 256, 64, Layout::kColumns, Layout::kRows, 0);
  check<T>(isa, 64, 256, 784, Layout::kRows, Layout::kColumns, 1);
  check<T>(isa, 37, 45, 7001, Layout::kRows, Layout::kRows, 0);
  check<T>(isa, 1, 2000, 1500, Layout::kRows, Layout::kRows, 0);
  check<T>(isa, 2, 1003, 1500, Layout::kRows, Layout::kRows, 0);
  check<T>(isa, 5, 2000, 700, Layout::kRows, Layout::kGap, 0);
  check<T>(isa, 8, 1091, 515, Layout::kRows, Layout::kRows, 0);
  check<T>(isa, 7, 4096, 270, Layout::kColumns, Layout::kGap, 3);
  check<T>(isa, 1, 2003, 1501, Layout::kRows, Layout::kColumns, 0);
  check<T>(isa, 2003, 1, 1501, Layout::kRows, Layout::kRows, 0);
  check<T>(isa, 2003, 1, 1501, Layout::kColumns, Layout::kStepped, 2);
  check<T>(isa, 4001, 10, 300, Layout::kRows, Layout::kRows, 0);
  check<T>(isa, 10, 6007, 500, Layout::kGap, Layout::kColumns, 0);
  check<T>(isa, 2100, 12, 4000, Layout::kRows, Layout::kStepped, 0);
}

// A matrix that is seen through a source only, lane by lane.
template <class T>
struct Source final : tensorlike::GemmSource<T> {
  const Matrix<T>& matrix;
  bool lanes_are_rows;
  Source(const Matrix<T>& m, bool rows) : matrix(m), lanes_are_rows(rows) {}
  void pack(T* to, int64_t step, int64_t lane, int64_t from, int64_t count,
            int64_t k) const override {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = 0; i < step; ++i) {
        const int64_t row = lanes_are_rows ? lane + i : from + p;
        const int64_t column = lanes_are_rows ? from + p : lane + i;
        to[p * step + i] = i < count ? matrix.at(row, column) : T{0};
      }
    }
  }
};

// Operands that are made while they are packed give what those in memory give, added to c.
template <class T>
void check_sources(int count) {
  for (int i = 0; i < count; ++i) {
    const int64_t m = draw_size(), n = draw_size(), k = i % 4 == 0 ? draw(380, 900) : draw_size();
    const Matrix<T> a(m, k, Layout::kRows);
    const Matrix<T> b(k, n, Layout::kRows);
    const Source<T> a_source(a, true), b_source(b, false);
    const bool makes_a = i % 3 != 0, makes_b = i % 3 != 1;
    Result<T> c(m, n, 2);
    ++g_checks;
    tensorlike::gemm<T>(m, n, k, {a.data(), k, 1, makes_a ? &a_source : nullptr},
                        {b.data(), 1, n, makes_b ? &b_source : nullptr}, c.buffer.data(),
                        c.row_stride, true);
    bool is_ok = true;
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t j = 0; j < n + 2; ++j) {
        long double sum = 77, scale = 77;
        for (int64_t p = 0; j < n && p < k; ++p) {
          sum += static_cast<long double>(a.at(r, p)) * b.at(p, j);
          scale += std::abs(static_cast<long double>(a.at(r, p)) * b.at(p, j));
        }
        const long double tolerance = std::numeric_limits<T>::epsilon() * scale *
                                      (2 + std::sqrt(static_cast<long double>(k)));
        is_ok = is_ok && std::abs(static_cast<long double>(c.at(r, j)) - sum) <= tolerance;
      }
    }
    if (is_ok || ++g_failures > 20) continue;
    std::printf("FAILED: sources, m=%lld n=%lld k=%lld\n", static_cast<long long>(m),
                static_cast<long long>(n), static_cast<long long>(k));
  }
}

template <class T>
void check_special_values(const GemmTable& isa) {  // they must come through wherever they stand
  using S = SumOf<T>;
  const S infinity = std::numeric_limits<S>::infinity();
  for (const int64_t n : {1, 3, 10, 32, 40, 100}) {
    for (const int64_t m : {1, 5, 40}) {
      const int64_t k = 19;
      Matrix<T> a(m, k, Layout::kRows);
      Matrix<T> b(k, n, Layout::kRows);
      for (Matrix<T>* x : {&a, &b}) {
        for (T& value : x->buffer) value = T(std::abs(static_cast<S>(value)) + S(0.1));
      }
      a.buffer[static_cast<size_t>((m - 1) * k + 3)] = T(std::numeric_limits<S>::quiet_NaN());
      b.buffer[static_cast<size_t>(18 * n + n - 1)] = T(-infinity);
      Result<S> c(m, n, 0);
      multiply(isa, k, a, b, c);
      ++g_checks;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const S value = c.at(i, j);
          const bool is_ok = i == m - 1   ? std::isnan(value)
                             : j == n - 1 ? value == -infinity
                                          : std::isfinite(value);
          if (is_ok) continue;
          if (++g_failures <= 20) {
            std::printf("FAILED: special values, m=%d n=%d\n", static_cast<int>(m),
                        static_cast<int>(n));
          }
          return;
        }
      }
    }
  }
}

template <class T>
void check_halves(const GemmTable& isa) {
  check_random<T>(isa, 700);
  check_large<T>(isa);
  check_special_values<T>(isa);
}

// Denormal numbers are numbers to all ways but that of pairs, which may take them as 0.
void check_denormals() {
  const GemmTable& table = tensorlike::detail::gemm_table(tensorlike::isa());
  GemmTable plain = table;
  plain.pairs = {};
  for (const int64_t m : {1, 3, 40}) {
    Matrix<BFloat16> a(m, 96, Layout::kRows);
    Matrix<BFloat16> b(96, 40, Layout::kColumns);
    for (BFloat16& value : a.buffer) value = BFloat16(1e-39F);
    for (BFloat16& value : b.buffer) value = BFloat16(1.0F);
    Result<float> c(m, 40, 0), whole(m, 40, 0);
    multiply(table, 96, a, b, c);
    multiply(plain, 96, a, b, whole);
    ++g_checks;
    const float sum = 96 * static_cast<float>(BFloat16(1e-39F));
    const bool is_ok = std::abs(whole.at(0, 0) - sum) <= 1e-5F * sum && c.at(0, 0) >= 0 &&
                       c.at(0, 0) <= whole.at(0, 0);
    if (!is_ok && ++g_failures <= 20) std::printf("FAILED: denormals, m=%d\n", static_cast<int>(m));
  }
}

}  // namespace

int main() {
  tensorlike::set_num_threads(3);
  for (int level = 0; level <= static_cast<int>(tensorlike::isa()); ++level) {
    const GemmTable& isa = tensorlike::detail::gemm_table(static_cast<Isa>(level));
    check_random<float>(isa, 700);
    check_random<double>(isa, 500);
    check_random<int32_t>(isa, 200);
    check_random<int64_t>(isa, 200);
    check_large<float>(isa);
    check_large<double>(isa);
    check_large<int32_t>(isa);
    check_special_values<float>(isa);
    check_special_values<double>(isa);
    check_halves<Float16>(isa);
    check_halves<BFloat16>(isa);
    if (isa.pairs.lanes == 0) continue;
    GemmTable without_pairs = isa;
    without_pairs.pairs = {};
    check_halves<BFloat16>(without_pairs);
  }
  check_sources<float>(200);
  check_sources<double>(200);
  check_denormals();
  std::printf("test_gemm: %d checks, %d failures\n", g_checks, g_failures);
  return g_failures == 0 ? 0 : 1;
}
