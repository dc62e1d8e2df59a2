// Running combinations of elements, for one ISA level. Along a row, a vector's own running values
// do not wait for those before it: only one combination per vector does. Floats accumulate in
// double.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/math.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int kLanes = 8;

// What is combined, for single values and for vectors, and what leaves every value as it is.
struct Sum {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static V combine(V a, V b) {
    return a + b;
  }
};

struct Product {
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class V>
  static V combine(V a, V b) {
    return a * b;
  }
};

// NaN takes the place of everything that is not.
struct Largest {
  template <class T>
  static constexpr T identity() {
    return kFloats<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  template <class V>
  static V combine(V a, V b) {
    return (a > b) | (a != a) ? a : b;
  }
};

struct Smallest {
  template <class T>
  static constexpr T identity() {
    return kFloats<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  template <class V>
  static V combine(V a, V b) {
    return (a < b) | (a != a) ? a : b;
  }
};

struct LogSumExp {
  template <class T>
  static constexpr T identity() {
    return -std::numeric_limits<T>::infinity();
  }
  static double combine(double a, double b) {
    const double largest = Largest::combine(a, b);
    const double apart = std::fabs(a - b);
    // Infinities that are equal have no difference.
    return largest + (a == b ? 0.69314718055994530942 : vm::log1p(vm::exp(-apart)));
  }
  template <class V>
  static V combine(V a, V b) {
    alignas(64) double first[kLanes], second[kLanes];
    __builtin_memcpy(first, &a, sizeof a);
    __builtin_memcpy(second, &b, sizeof b);
    for (int l = 0; l < kLanes; ++l) first[l] = combine(first[l], second[l]);
    __builtin_memcpy(&a, first, sizeof a);
    return a;
  }
};

// Sums and products of integers wrap around, which only unsigned ones may. Extremes stay as they
// are.
template <class T, class Combine>
struct Accumulator {
  static constexpr bool kWraps = std::is_same_v<Combine, Sum> || std::is_same_v<Combine, Product>;
  static constexpr bool kKeeps =
      std::is_same_v<Combine, Largest> || std::is_same_v<Combine, Smallest>;
  using Type = std::conditional_t<
      is_complex<T>, Complex<double>,
      std::conditional_t<
          kKeeps, T,
          std::conditional_t<kFloats<T>, double, std::conditional_t<kWraps, uint64_t, T>>>>;
};

// Takes as many elements of a row as fill vectors, and returns how many those are.
template <class T, class Combine>
struct Vectors {
  using Acc = typename Accumulator<T, Combine>::Type;
  using Vector __attribute__((vector_size(kLanes * sizeof(Acc)))) = Acc;
  using Given __attribute__((vector_size(kLanes * sizeof(T)))) = T;
  using Lane = decltype(Vector{} < Vector{});

  static int64_t run(Acc& running, T* y, const T* x, int64_t n) {
    const Vector identity = Vector{} + Combine::template identity<Acc>();
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      Given given;
      __builtin_memcpy(&given, x + i, sizeof given);
      Vector v = __builtin_convertvector(given, Vector);
      // Lane l takes what ends 1, 2 and 4 lanes before it; index 8 and up are the identity's.
      v = Combine::combine(v, __builtin_shuffle(v, identity, Lane{8, 0, 1, 2, 3, 4, 5, 6}));
      v = Combine::combine(v, __builtin_shuffle(v, identity, Lane{8, 9, 0, 1, 2, 3, 4, 5}));
      v = Combine::combine(v, __builtin_shuffle(v, identity, Lane{8, 9, 10, 11, 0, 1, 2, 3}));
      const Vector out = Combine::combine(v, Vector{} + running);
      running = Combine::combine(running, v[kLanes - 1]);
      given = __builtin_convertvector(out, Given);
      __builtin_memcpy(y + i, &given, sizeof given);
    }
    return i;
  }
};

template <class T, class Combine>
struct Vectors<Complex<T>, Combine> {
  static int64_t run(Complex<double>&, Complex<T>*, const Complex<T>*, int64_t) { return 0; }
};

template <class T, class Combine>
struct Loops {
  using Acc = typename Accumulator<T, Combine>::Type;
  static constexpr Acc kIdentity = Combine::template identity<Acc>();

  static void start(void* acc, int64_t width) {
    std::fill_n(static_cast<Acc*>(acc), width, kIdentity);
  }

  static void join(void* acc, const void* other, int64_t width) {
    Acc* to = static_cast<Acc*>(acc);
    const Acc* from = static_cast<const Acc*>(other);
    for (int64_t j = 0; j < width; ++j) to[j] = Combine::combine(to[j], from[j]);
  }

  static void total(void* acc, const void* x, int64_t rows, int64_t width, int64_t step) {
    Acc* to = static_cast<Acc*>(acc);
    const T* from = static_cast<const T*>(x);
    if (width == 1 && step == 1) return total_of_row(*to, from, rows);
    if (width == 1 && step == -1) return total_of_row(*to, from - (rows - 1), rows);
    for (int64_t r = 0; r < rows; ++r, from += step) {
      for (int64_t j = 0; j < width; ++j) to[j] = Combine::combine(to[j], Acc(from[j]));
    }
  }

  static void total_of_row(Acc& acc, const T* x, int64_t n) {
    Acc lanes[4 * kLanes];
    std::fill_n(lanes, 4 * kLanes, kIdentity);
    int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      for (int l = 0; l < 4 * kLanes; ++l) lanes[l] = Combine::combine(lanes[l], Acc(x[i + l]));
    }
    for (; i < n; ++i) lanes[0] = Combine::combine(lanes[0], Acc(x[i]));
    for (Acc lane : lanes) acc = Combine::combine(acc, lane);
  }

  static void run(void* acc, void* y, const void* x, int64_t rows, int64_t width, int64_t step) {
    Acc* running = static_cast<Acc*>(acc);
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    if (width == 1 && step == 1) {
      *running = run_row(*running, to, from, rows);
      return;
    }
    for (int64_t r = 0; r < rows; ++r, from += step, to += step) {
      for (int64_t j = 0; j < width; ++j) {
        running[j] = Combine::combine(running[j], Acc(from[j]));
        to[j] = static_cast<T>(running[j]);
      }
    }
  }

  static void lines(void* y, int64_t y_line, const void* x, int64_t x_line, int64_t n,
                    int64_t count, int64_t step) {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    for (int64_t line = 0; line < count; ++line, from += x_line, to += y_line) {
      Acc acc = kIdentity;
      run(&acc, to, from, n, 1, step);
    }
  }

  static Acc run_row(Acc running, T* y, const T* x, int64_t n) {
    for (int64_t i = Vectors<T, Combine>::run(running, y, x, n); i < n; ++i) {
      running = Combine::combine(running, Acc(x[i]));
      y[i] = static_cast<T>(running);
    }
    return running;
  }
};

template <class Combine, class... T>
ByDType<ScanKernels> kernels() {
  ByDType<ScanKernels> all;
  ((all[dtype_of<T>] = {Loops<T, Combine>::start, Loops<T, Combine>::total, Loops<T, Combine>::run,
                        Loops<T, Combine>::join, Loops<T, Combine>::lines}),
   ...);
  return all;
}

}  // namespace

void TL_FILL(scans)(KernelTable& table);
void TL_FILL(scans)(KernelTable& table) {
  table.scans["cumulative_sum"] =
      kernels<Sum, int64_t, float, double, Complex<float>, Complex<double>>();
  table.scans["cumulative_prod"] =
      kernels<Product, int64_t, float, double, Complex<float>, Complex<double>>();
  table.scans["cumulative_max"] = kernels<Largest, int64_t, uint64_t, float, double>();
  table.scans["cumulative_min"] = kernels<Smallest, int64_t, uint64_t, float, double>();
  table.scans["logcumsumexp"] = kernels<LogSumExp, float, double>();
}

}  // namespace tensorlike
