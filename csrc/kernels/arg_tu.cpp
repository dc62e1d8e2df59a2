// Where the extreme lies, for one ISA level. A row is looked at in blocks: the extreme of a block
// is a plain vectorised reduction, and only the block that wins is searched for the position.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int64_t kBlock = 1024;

struct Largest {
  template <class T>
  static bool beats(T a, T b) {
    return a > b;
  }
};

struct Smallest {
  template <class T>
  static bool beats(T a, T b) {
    return a < b;
  }
};

template <class T, class Order>
struct Loops {
  // Four vectors of 64 bytes, so that their comparisons overlap.
  static constexpr int kLanes = static_cast<int>(256 / sizeof(T));
  using Position = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  static bool is_nan(T x) { return x != x; }

  // The extreme of a block that holds no NaN; else NaN.
  static T extreme_of(const T* x, int64_t n) {
    T best[kLanes];
    Position nan[kLanes] = {};
    const T first = x[0];
    for (T& lane : best) lane = first;
    nan[0] = is_nan(first);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const T value = x[i + l];
        best[l] = Order::beats(value, best[l]) ? value : best[l];
        nan[l] |= is_nan(value) ? 1 : 0;
      }
    }
    for (int l = 0; i < n; ++i, ++l) {
      best[l] = Order::beats(x[i], best[l]) ? x[i] : best[l];
      nan[l] |= is_nan(x[i]) ? 1 : 0;
    }
    T extreme = best[0];
    Position has_nan = nan[0];
    for (int l = 1; l < kLanes; ++l) {
      extreme = Order::beats(best[l], extreme) ? best[l] : extreme;
      has_nan |= nan[l];
    }
    if constexpr (kFloats<T>) {
      if (has_nan != 0) return std::numeric_limits<T>::quiet_NaN();
    }
    return extreme;
  }

  // A row that is not worth filling the lanes for.
  static int64_t short_row(const T* x, int64_t n) {
    int64_t winner = 0;
    T best = x[0];
    for (int64_t i = 1; i < n && !is_nan(best); ++i) {
      const bool wins = static_cast<bool>(static_cast<int>(Order::beats(x[i], best)) |
                                          static_cast<int>(is_nan(x[i])));
      best = wins ? x[i] : best;
      winner = wins ? i : winner;
    }
    return winner;
  }

  static int64_t row(const void* data, int64_t n, void* extreme) {
    const T* x = static_cast<const T*>(data);
    if (n < 2 * kLanes) {
      const int64_t winner = short_row(x, n);
      *static_cast<T*>(extreme) = x[winner];
      return winner;
    }
    int64_t winner = 0;
    T best = extreme_of(x, std::min(n, kBlock));
    for (int64_t at = kBlock; at < n && !is_nan(best); at += kBlock) {
      const T value = extreme_of(x + at, std::min(kBlock, n - at));
      if (Order::beats(value, best) || is_nan(value)) {
        best = value;
        winner = at;
      }
    }
    int64_t i = winner;
    if (is_nan(best)) {
      while (!is_nan(x[i])) ++i;
    } else {
      while (x[i] != best) ++i;
    }
    *static_cast<T*>(extreme) = x[i];
    return i;
  }

  static void rows(void* bests, void* positions, const void* data, int64_t n, int64_t position) {
    T* best = static_cast<T*>(bests);
    Position* at = static_cast<Position*>(positions);
    const T* x = static_cast<const T*>(data);
    const Position here = static_cast<Position>(position);
    if (position == 0) {
      std::copy_n(x, n, best);
      std::fill_n(at, n, Position{0});
      return;
    }
    for (int64_t j = 0; j < n; ++j) {
      const T value = x[j];
      const T old = best[j];
      // Bits, not logic: the loop must stay free of branches.
      const bool wins =
          static_cast<bool>(static_cast<int>(Order::beats(value, old)) |
                            (static_cast<int>(is_nan(value)) & static_cast<int>(!is_nan(old))));
      best[j] = wins ? value : old;
      at[j] = wins ? here : at[j];
    }
  }
};

template <class T, class Order>
ArgKernel kernel() {
  using L = Loops<T, Order>;
  return {sizeof(typename L::Position), L::row, L::rows};
}

template <class T>
void add(KernelTable& table, DType dtype) {
  table.argmax[dtype] = kernel<T, Largest>();
  table.argmin[dtype] = kernel<T, Smallest>();
}

}  // namespace

void TL_FILL(args)(KernelTable& table);
void TL_FILL(args)(KernelTable& table) {
  add<int32_t>(table, DType::kInt32);
  add<int64_t>(table, DType::kInt64);
  add<uint64_t>(table, DType::kUInt64);
  add<float>(table, DType::kFloat32);
  add<double>(table, DType::kFloat64);
}

}  // namespace tensorlike
