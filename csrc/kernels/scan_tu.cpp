// Running sums and products, for one ISA level. Along a row, a vector's own running values do not
// wait for those before it: only one addition per vector does. Floats accumulate in double.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int kLanes = 8;

struct Sum {
  static constexpr int kIdentity = 0;
  template <class V>
  static V combine(V a, V b) {
    return a + b;
  }
};

struct Product {
  static constexpr int kIdentity = 1;
  template <class V>
  static V combine(V a, V b) {
    return a * b;
  }
};

template <class T, class Combine>
struct Loops {
  // Integers wrap around, which only unsigned ones may.
  using Acc = std::conditional_t<kFloats<T>, double, uint64_t>;
  using Vector __attribute__((vector_size(kLanes * 8))) = Acc;
  using Given __attribute__((vector_size(kLanes * sizeof(T)))) = T;
  using Lane __attribute__((vector_size(kLanes * 8))) = int64_t;

  static void start(void* acc, int64_t width) {
    std::fill_n(static_cast<Acc*>(acc), width, Acc(Combine::kIdentity));
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
    std::fill_n(lanes, 4 * kLanes, Acc(Combine::kIdentity));
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

  static Acc run_row(Acc running, T* y, const T* x, int64_t n) {
    const Vector identity = Vector{} + Acc(Combine::kIdentity);
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
    for (; i < n; ++i) {
      running = Combine::combine(running, Acc(x[i]));
      y[i] = static_cast<T>(running);
    }
    return running;
  }
};

template <class T, class Combine>
ScanKernels kernels() {
  using L = Loops<T, Combine>;
  return {L::start, L::total, L::run, L::join};
}

template <class T>
void add(KernelTable& table, DType dtype) {
  table.cumulative_sum[dtype] = kernels<T, Sum>();
  table.cumulative_prod[dtype] = kernels<T, Product>();
}

}  // namespace

void TL_FILL(scans)(KernelTable& table);
void TL_FILL(scans)(KernelTable& table) {
  add<int64_t>(table, DType::kInt64);
  add<float>(table, DType::kFloat32);
  add<double>(table, DType::kFloat64);
}

}  // namespace tensorlike
