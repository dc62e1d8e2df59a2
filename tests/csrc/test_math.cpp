// Compares every function of csrc/kernels/math.h with libm in a wider type: double for float, long
// double for double. Prints the largest error found in units in the last place (ulp), and fails
// where it is above the bound, or where a NaN, an infinity or the sign of a zero is wrong.
//
//   g++ -std=c++20 -O2 -march=x86-64-v3 -Icsrc tests/csrc/test_math.cpp -o test_math && ./test_math
//   ./test_math 97      # every 97th float instead of every 499th
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/math.h"

namespace {

namespace vm = tensorlike::vm;

int failures = 0;
std::uint32_t float_stride = 499;

template <class T>
using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;

template <class T>
Wide<T> ulp_of(Wide<T> x) {
  using L = std::numeric_limits<T>;
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(Wide<T>{1}, std::max(exponent, L::min_exponent) - L::digits);
}

// Overflow counts as the next number after the largest one.
template <class T>
Wide<T> finite_stand_in(Wide<T> x) {
  const Wide<T> limit = std::ldexp(Wide<T>{1}, std::numeric_limits<T>::max_exponent);
  return std::clamp(x, -limit, limit);
}

// The error of `got` in ulp; infinite where it is wrong in kind.
template <class T>
double error_in_ulp(T got, Wide<T> expected) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(expected) || std::isnan(got)) {
    return std::isnan(expected) && std::isnan(got) ? 0 : wrong;
  }
  const T rounded = static_cast<T>(expected);
  if (expected == 0) return got == 0 && std::signbit(got) == std::signbit(expected) ? 0 : wrong;
  if (std::isinf(expected)) return got == rounded ? 0 : wrong;
  if (std::signbit(got) != std::signbit(expected)) return wrong;
  const Wide<T> a = finite_stand_in<T>(got), b = finite_stand_in<T>(expected);
  return static_cast<double>(std::abs(a - b) / ulp_of<T>(b));
}

template <class T>
struct Worst {
  double error = 0;
  T x = 0, y = 0, got = 0;
  Wide<T> expected = 0;
};

template <class T>
void report(const char* name, double bound, const Worst<T>& worst) {
  const char* type = sizeof(T) == 4 ? "float" : "double";
  const bool is_failure = !(worst.error <= bound);
  failures += is_failure;
  std::printf("%-6s %-10s %7.3f ulp (bound %.1f)", type, name, worst.error, bound);
  if (is_failure || std::getenv("VERBOSE") != nullptr) {
    std::printf("  %s x=%a y=%a got %a, expected %La", is_failure ? "FAILED" : "",
                static_cast<double>(worst.x), static_cast<double>(worst.y),
                static_cast<double>(worst.got), static_cast<long double>(worst.expected));
  }
  std::printf("\n");
}

// The functions run over blocks, so that the test sees their vectorised code.
constexpr std::size_t kBlock = 1024;

template <class T, class F, class Reference>
void compare_block(const std::vector<T>& x, F f, Reference reference, Worst<T>& worst) {
  T got[kBlock];
  for (std::size_t start = 0; start < x.size(); start += kBlock) {
    const std::size_t count = std::min(kBlock, x.size() - start);
    const T* in = x.data() + start;
    for (std::size_t i = 0; i < count; ++i) got[i] = f(in[i]);
    for (std::size_t i = 0; i < count; ++i) {
      const Wide<T> expected = reference(static_cast<Wide<T>>(in[i]));
      const double error = error_in_ulp<T>(got[i], expected);
      if (error > worst.error) worst = {error, in[i], T{0}, got[i], expected};
    }
  }
}

template <class T, class F, class Reference>
void compare_block(const std::vector<T>& x, const std::vector<T>& y, F f, Reference reference,
                   Worst<T>& worst) {
  T got[kBlock];
  for (std::size_t start = 0; start < x.size(); start += kBlock) {
    const std::size_t count = std::min(kBlock, x.size() - start);
    const T *in = x.data() + start, *other = y.data() + start;
    for (std::size_t i = 0; i < count; ++i) got[i] = f(in[i], other[i]);
    for (std::size_t i = 0; i < count; ++i) {
      const Wide<T> expected =
          reference(static_cast<Wide<T>>(in[i]), static_cast<Wide<T>>(other[i]));
      const double error = error_in_ulp<T>(got[i], expected);
      if (error > worst.error) worst = {error, in[i], other[i], got[i], expected};
    }
  }
}

// ---- arguments ----

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> positive = {
      T{0},         L::denorm_min(), L::min(),  L::max(),  L::infinity(), T{1},  T(0.5), T{2},
      T{3},         T(1.5),          T(2.5),    T{4},      T{7},          T{64}, T{1e9}, T(1e-9),
      L::epsilon(), T(0x1p23),       T(0x1p52), T(0x1p53), T(0x1p24)};
  std::vector<T> result = {L::quiet_NaN()};
  for (const T x : positive) {
    for (const T near : {x, std::nextafter(x, T{0}), std::nextafter(x, L::infinity())}) {
      result.push_back(near);
      result.push_back(-near);
    }
  }
  return result;
}

// Every float_stride-th bit pattern.
void append_sweep(std::vector<float>& x) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += float_stride) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
}

void append_sweep(std::vector<double>& x) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300000; ++i) x.push_back(std::bit_cast<double>(random()));
  std::uniform_real_distribution<double> uniform(-1, 1), exponent(-30, 12);
  for (int i = 0; i < 600000; ++i) x.push_back(uniform(random) * std::exp2(exponent(random)));
  for (int i = 0; i < 200000; ++i) x.push_back(uniform(random) * 745);
}

// Points where a function changes its formula, overflows or vanishes.
constexpr double kTurns[] = {1,
                             0.5,
                             0.25,
                             0.75,
                             2,
                             4,
                             1.5,
                             0.93,
                             0.1,
                             0.70710678118654752,
                             1.41421356237309504,
                             0.34657359027997264,
                             0.41421356237309504,
                             2.41421356237309504,
                             709.782712893383973,
                             710.475860073943863,
                             708.396418532264106,
                             745.133219101941207,
                             744.440071921381,
                             88.7228390520683,
                             89.4159862326283,
                             87.3365447504021,
                             103.972083690259,
                             1024,
                             1022,
                             1074,
                             1075,
                             128,
                             126,
                             149,
                             150,
                             5.95,
                             3.93,
                             9.19,
                             10.05,
                             10.1,
                             26.54,
                             26.64,
                             27.2,
                             6,
                             20,
                             10,
                             9.01,
                             19.06,
                             0x1p28,
                             0x1p60,
                             37,
                             17.3,
                             1e6,
                             131072,
                             0x1p30};

// The neighbours of those, and of the multiples of pi / 4 and log(2) / 2.
template <class T>
void append_dense(std::vector<T>& x) {
  std::vector<double> points(std::begin(kTurns), std::end(kTurns));
  for (int n = 1; n < 400; ++n) points.push_back(n * 0.785398163397448309616);
  for (int n = 1; n < 60; ++n) points.push_back(n * 0.346573590279972655);
  for (const double point : points) {
    T up = static_cast<T>(point), down = up;
    for (int i = 0; i < 60; ++i) {
      for (const T value : {up, down}) {
        x.push_back(value);
        x.push_back(-value);
      }
      up = std::nextafter(up, std::numeric_limits<T>::infinity());
      down = std::nextafter(down, T{0});
    }
  }
}

template <class T>
const std::vector<T>& arguments() {
  static const std::vector<T> all = [] {
    std::vector<T> x = special_values<T>();
    append_dense(x);
    append_sweep(x);
    return x;
  }();
  return all;
}

template <class T>
struct Arguments2 {
  std::vector<T> x, y;
  void push(T a, T b) {
    x.push_back(a);
    y.push_back(b);
  }
};

template <class T>
T random_bits(std::mt19937_64& random) {
  return std::bit_cast<T>(static_cast<vm::Uint<T>>(random()));
}

// Special pairs, random bits, pairs of like size, and (x, y) with a moderate x^y.
template <class T>
const Arguments2<T>& arguments2() {
  static const Arguments2<T> all = [] {
    Arguments2<T> pairs;
    for (const T a : special_values<T>()) {
      for (const T b : special_values<T>()) pairs.push(a, b);
    }
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> uniform(-1, 1), size(-40, 40);
    const double exponent_range = std::numeric_limits<T>::max_exponent * 1.1;
    for (int i = 0; i < 150000; ++i) {
      const T bits = random_bits<T>(random);
      pairs.push(bits, random_bits<T>(random));
      pairs.push(bits, bits * static_cast<T>(std::exp2(uniform(random) * 3)));
      pairs.push(static_cast<T>(uniform(random) * 50), static_cast<T>(uniform(random) * 50));
      pairs.push(static_cast<T>(uniform(random) * std::exp2(size(random))),
                 static_cast<T>(uniform(random) * std::exp2(size(random))));
      const T base = static_cast<T>(std::abs(uniform(random)) * std::exp2(size(random)));
      pairs.push(base, static_cast<T>(uniform(random) * exponent_range / std::log2(base)));
      const T near_one = static_cast<T>(1 + uniform(random) * std::exp2(-std::abs(size(random))));
      pairs.push(near_one, static_cast<T>(uniform(random) * exponent_range / std::log2(near_one)));
      pairs.push(static_cast<T>(uniform(random) * 30), static_cast<T>(int(uniform(random) * 30)));
    }
    return pairs;
  }();
  return all;
}

template <class T, class F, class Reference>
void check_type(const char* name, double bound, F f, Reference reference) {
  Worst<T> worst;
  compare_block(arguments<T>(), f, reference, worst);
  report(name, bound, worst);
}

template <class F, class Reference>
void check(const char* name, double float_bound, double double_bound, F f, Reference reference) {
  check_type<float>(name, float_bound, f, reference);
  check_type<double>(name, double_bound, f, reference);
}

template <class T, class F, class Reference>
void check2_type(const char* name, double bound, F f, Reference reference) {
  Worst<T> worst;
  compare_block(arguments2<T>().x, arguments2<T>().y, f, reference, worst);
  report(name, bound, worst);
}

template <class F, class Reference>
void check2(const char* name, double float_bound, double double_bound, F f, Reference reference) {
  check2_type<float>(name, float_bound, f, reference);
  check2_type<double>(name, double_bound, f, reference);
}

template <class W>
W python_remainder(W x, W y) {
  const W rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(W{0}, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

#define TL_CHECK(name, float_bound, double_bound)                           \
  check(                                                                    \
      #name, float_bound, double_bound, [](auto x) { return vm::name(x); }, \
      [](auto x) { return std::name(x); })
#define TL_CHECK_SLOW(name, float_bound, double_bound)                                    \
  check(                                                                                  \
      #name, float_bound, double_bound,                                                   \
      [](auto x) { return vm::name##_needs_slow(x) ? vm::name##_slow(x) : vm::name(x); }, \
      [](auto x) { return std::name(x); })
#define TL_CHECK2(name, float_bound, double_bound)                                     \
  check2(                                                                              \
      #name, float_bound, double_bound, [](auto x, auto y) { return vm::name(x, y); }, \
      [](auto x, auto y) { return std::name(x, y); })

void check_exponentials() {
  TL_CHECK(exp, 1.0, 1.0);
  TL_CHECK(exp2, 1.2, 1.2);
  TL_CHECK(expm1, 1.5, 1.5);
  TL_CHECK(tanh, 2.0, 2.0);
  TL_CHECK(sinh, 3.0, 3.0);
  TL_CHECK(cosh, 2.0, 2.0);
}

void check_logarithms() {
  TL_CHECK(log, 1.0, 1.0);
  TL_CHECK(log1p, 1.5, 1.5);
  TL_CHECK(log2, 2.0, 1.5);
  TL_CHECK(log10, 2.0, 1.5);
  TL_CHECK(asinh, 3.0, 3.0);
  TL_CHECK(acosh, 3.0, 3.0);
  TL_CHECK(atanh, 3.0, 3.0);
}

void check_trigonometric() {
  TL_CHECK_SLOW(sin, 1.8, 1.5);
  TL_CHECK_SLOW(cos, 1.8, 1.5);
  TL_CHECK_SLOW(tan, 4.0, 3.0);
  TL_CHECK(asin, 3.0, 3.0);
  TL_CHECK(acos, 3.0, 3.0);
  TL_CHECK(atan, 3.0, 3.0);
  TL_CHECK2(atan2, 3.5, 3.5);
}

void check_others() {
  TL_CHECK(erf, 1.5, 1.5);
  TL_CHECK(erfc, 4.5, 4.5);
  // Next to its zeros on the negative axis the double lgamma keeps only the absolute error small.
  check(
      "lgamma", 0.6, 2.7, [](auto x) { return vm::lgamma(vm::abs(x)); },
      [](auto x) { return std::lgamma(std::abs(x)); });
  TL_CHECK(cbrt, 1.0, 1.0);
  TL_CHECK(sqrt, 0.5, 0.5);
  TL_CHECK(floor, 0.0, 0.0);
  TL_CHECK(ceil, 0.0, 0.0);
  TL_CHECK(trunc, 0.0, 0.0);
  check("round", 0, 0, [](auto x) { return vm::round(x); }, [](auto x) { return std::rint(x); });
  check(
      "rsqrt", 1.5, 1.5, [](auto x) { return vm::rsqrt(x); },
      [](auto x) { return decltype(x){1} / std::sqrt(x); });
  TL_CHECK2(pow, 1.0, 1.5);
  TL_CHECK2(hypot, 1.5, 1.5);
  TL_CHECK2(copysign, 0.0, 0.0);
  check2(
      "remainder", 0.5, 0.5,
      [](auto x, auto y) {
        return vm::remainder_needs_slow(x, y) ? vm::remainder_slow(x, y) : vm::remainder(x, y);
      },
      [](auto x, auto y) { return python_remainder(x, y); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) float_stride = static_cast<std::uint32_t>(std::max(1, std::atoi(argv[1])));
  check_exponentials();
  check_logarithms();
  check_trigonometric();
  check_others();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
