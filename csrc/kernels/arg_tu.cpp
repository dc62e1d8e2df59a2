// Where the first extreme lies, for one ISA level; NaN is the most extreme. A row is looked at in
// blocks: the extreme of a block is a plain vectorised reduction, and only the block that wins is
// searched for the position.
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

  // The more extreme of two; NaN stays, once it is met. No branches, so that lanes are vectors.
  static T more_extreme(T best, T value) {
    const T winner = Order::beats(value, best) ? value : best;
    return is_nan(value) ? value : winner;
  }

  // The upper half of the lanes with the lower one, until one is left.
  template <int kCount = kLanes>
  [[gnu::always_inline]] static T join_lanes(T* lanes) {
    if constexpr (kCount == 1) {
      return lanes[0];
    } else {
      for (int l = 0; l < kCount / 2; ++l) {
        lanes[l] = more_extreme(lanes[l], lanes[l + kCount / 2]);
      }
      return join_lanes<kCount / 2>(lanes);
    }
  }

  // The extreme of a block that holds no NaN; else NaN. The next block is asked for meanwhile.
  static T extreme_of(const T* x, int64_t n) {
    T best[kLanes];
    for (T& lane : best) lane = x[0];
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const uintptr_t ahead = reinterpret_cast<uintptr_t>(x + i) + kBlock * sizeof(T);
#pragma GCC unroll 4
      for (uintptr_t b = 0; b < kLanes * sizeof(T); b += 64) {
        __builtin_prefetch(reinterpret_cast<const void*>(ahead + b));
      }
      for (int l = 0; l < kLanes; ++l) best[l] = more_extreme(best[l], x[i + l]);
    }
    if (i < n && n >= kLanes) {  // some of them again, which changes nothing
      for (int l = 0; l < kLanes; ++l) best[l] = more_extreme(best[l], x[n - kLanes + l]);
    } else {
      for (int l = 0; i < n; ++i, ++l) best[l] = more_extreme(best[l], x[i]);
    }
    return join_lanes(best);
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

  // Where the extreme of n > 0 elements is.
  static int64_t find(const T* x, int64_t n) {
    if (n < 2 * kLanes) return short_row(x, n);
    int64_t winner = 0;
    T best = extreme_of(x, std::min(n, kBlock));
    for (int64_t at = kBlock; at < n && !is_nan(best); at += kBlock) {
      const T value = extreme_of(x + at, std::min(kBlock, n - at));
      if (Order::beats(value, best) || is_nan(value)) {
        best = value;
        winner = at;
      }
    }
    return is_nan(best) ? first_where(x, winner, n, is_nan)
                        : first_where(x, winner, n, [best](T value) { return value == best; });
  }

  // The first of elements [i, n) that is wanted, which there is.
  template <class Wanted>
  static int64_t first_where(const T* x, int64_t i, int64_t n, Wanted&& is_wanted) {
    for (; i + kLanes <= n; i += kLanes) {
      int found = 0;
      for (int l = 0; l < kLanes; ++l) found |= is_wanted(x[i + l]) ? 1 : 0;
      if (found != 0) break;
    }
    while (!is_wanted(x[i])) ++i;
    return i;
  }

  // n accumulators: how many elements each has seen, then their positions, then their extremes.
  // Rows are counted in integers as narrow as the elements, which are widened at the first join.
  struct Head {
    int64_t seen;
    int64_t is_narrow;
  };
  static constexpr size_t kAccumulator = sizeof(Head) + 2 * sizeof(int64_t);
  static Head& head_of(void* acc) { return *static_cast<Head*>(acc); }
  static int64_t* positions_of(void* acc) { return reinterpret_cast<int64_t*>(&head_of(acc) + 1); }
  static T* bests_of(void* acc, int64_t n) { return reinterpret_cast<T*>(positions_of(acc) + n); }

  static void start(void* acc, int64_t) { head_of(acc) = {0, 0}; }

  // Bits, not logic: loops over this must stay free of branches.
  static bool wins(T value, T old) {
    return static_cast<bool>(static_cast<int>(Order::beats(value, old)) |
                             (static_cast<int>(is_nan(value)) & static_cast<int>(!is_nan(old))));
  }

  static void row(void* acc, const void* data, int64_t n) {
    Head& head = head_of(acc);
    const T* x = static_cast<const T*>(data);
    if (n == 0) return;
    const int64_t at = find(x, n);
    T& best = *bests_of(acc, 1);
    if (head.seen == 0 || wins(x[at], best)) {
      best = x[at];
      *positions_of(acc) = head.seen + at;
    }
    head.seen += n;
  }

  static void next_row(void* acc, const T* x, int64_t n) {
    Head& head = head_of(acc);
    T* best = bests_of(acc, n);
    Position* at = reinterpret_cast<Position*>(positions_of(acc));
    const Position here = static_cast<Position>(head.seen++);
    if (here == 0) {
      head.is_narrow = sizeof(Position) < sizeof(int64_t) ? 1 : 0;
      std::copy_n(x, n, best);
      std::fill_n(at, n, Position{0});
      return;
    }
    for (int64_t j = 0; j < n; ++j) {
      const T value = x[j];
      const T old = best[j];
      const bool is_better = wins(value, old);
      best[j] = is_better ? value : old;
      at[j] = is_better ? here : at[j];
    }
  }

  static void rows(void* acc, const void* data, int64_t n, int64_t count, int64_t step) {
    const T* x = static_cast<const T*>(data);
    for (int64_t r = 0; r < count; ++r) next_row(acc, x + r * step, n);
  }

  static int64_t position(const void* acc, int64_t j) {
    const Head& head = *static_cast<const Head*>(acc);
    return head.is_narrow != 0 ? reinterpret_cast<const Position*>(&head + 1)[j]
                               : reinterpret_cast<const int64_t*>(&head + 1)[j];
  }

  static void join(void* acc, const void* other, int64_t n) {
    Head& head = head_of(acc);
    const Head& added = *static_cast<const Head*>(other);
    if (added.seen == 0) return;
    int64_t* at = positions_of(acc);
    T* best = bests_of(acc, n);
    const T* rival = reinterpret_cast<const T*>(reinterpret_cast<const int64_t*>(&added + 1) + n);
    for (int64_t j = n; head.is_narrow != 0 && j-- > 0;) at[j] = position(acc, j);
    head.is_narrow = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (head.seen > 0 && !wins(rival[j], best[j])) continue;
      best[j] = rival[j];
      at[j] = head.seen + position(other, j);
    }
    head.seen += added.seen;
  }

  static void finish(void* out, const void* acc, int64_t n, int64_t) {
    for (int64_t j = 0; j < n; ++j) static_cast<int64_t*>(out)[j] = position(acc, j);
  }
};

template <class T, class Order>
ReductionKernel kernel() {
  using L = Loops<T, Order>;
  constexpr int64_t kFewColumns = 8;
  static_assert(L::kAccumulator <= ReductionKernel::kWidest);
  return {L::kAccumulator, L::start, L::row, L::rows, L::join, L::finish, kFewColumns};
}

template <class T>
void add(KernelTable& table, DType dtype) {
  table.reductions["argmax"][dtype] = kernel<T, Largest>();
  table.reductions["argmin"][dtype] = kernel<T, Smallest>();
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
