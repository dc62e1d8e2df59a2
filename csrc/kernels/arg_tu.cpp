// Where the first extreme lies, for one ISA level; NaN is the most extreme. A row is looked at in
// groups of vectors, and only the group that wins is searched for the position. Short rows, and
// rows of few columns, are turned first.
#include <algorithm>
#include <type_traits>

#include "kernels/gemm_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/lanes.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

constexpr int64_t kFewColumns = 16;    // of which rows are turned into columns
constexpr int64_t kTurned = 16 * 256;  // elements at once

// Numbers, or vectors of them. What is chosen stands in one expression, of which compilers make one
// instruction.
struct Largest {
  template <class T>
  [[gnu::always_inline]] static auto beats(T a, T b) {
    return a > b;
  }
  template <class T>
  [[gnu::always_inline]] static T more_extreme(T a, T b) {
    return a > b ? a : b;
  }
};

struct Smallest {
  template <class T>
  [[gnu::always_inline]] static auto beats(T a, T b) {
    return a < b;
  }
  template <class T>
  [[gnu::always_inline]] static T more_extreme(T a, T b) {
    return a < b ? a : b;
  }
};

template <class T, class Order>
struct Loops {
  template <int kBytes>
  using Values = typename VectorOf<T, kBytes>::Type;
  // As wide as the elements, so that one comparison serves both.
  template <int kBytes>
  using Numbers = LaneNumbers<Values<kBytes>>;
  using Number = std::remove_reference_t<decltype(Numbers<kVectorBytes>{}[0])>;
  using Position = std::conditional_t<sizeof(T) <= 4, int32_t, int64_t>;

  static constexpr int64_t kShort = 16;  // of fewer elements rows are looked at side by side
  // Of these many bytes there are kShort elements in a row that is not shorter.
  static constexpr int kLeastBytes =
      static_cast<int>(std::min<size_t>(kShort * sizeof(T), kVectorBytes));
  static constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t kGroup = 4 * kLanes;
  // From so many elements on they are looked at in groups.
  static constexpr int64_t kLong = (sizeof(T) < 4 ? 12 : 24) * kLanes;
  // Groups are counted in integers as wide as the elements.
  static constexpr int64_t kMost =
      kGroup * (std::min<int64_t>(std::numeric_limits<Number>::max(), 1 << 30) - 2);
  static_assert(sizeof(T) > 1 || kLong / kLeastBytes <= 127, "vectors are counted in 8 bits");

  static bool is_nan(T x) { return x != x; }

  // What the lanes have met: the first extreme and the number of the vector that it was in, and
  // whether there was a NaN, which is beaten by nothing and beats nothing.
  template <int kBytes>
  struct Leaders {
    [[gnu::always_inline]] void begin(Values<kBytes> first) {
      best = first;
      look(first);
    }
    [[gnu::always_inline]] void look(Values<kBytes> value) {
      if constexpr (kFloats<T>) nans |= value != value;
    }
    [[gnu::always_inline]] void meet(Values<kBytes> value, Numbers<kBytes> number) {
      look(value);
      keep(value, number);
    }
    [[gnu::always_inline]] void keep(Values<kBytes> value, Numbers<kBytes> number) {
      at = Order::beats(value, best) ? number : at;
      best = Order::more_extreme(value, best);
    }
    Values<kBytes> best;
    Numbers<kBytes> at{}, nans{};
  };

  // Elements before the first whole vector that begins where one in memory does: what crosses a
  // line of the cache is read twice.
  static int64_t before_aligned(const T* x) {
    return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(x) % kVectorBytes / sizeof(T));
  }

  // The place of the first extreme of n elements, kLong to kMost of them. Four vectors are a group,
  // whose number the lanes keep; only the group that wins is searched. The last one may have some
  // elements again. Of what follows some lines are asked for meanwhile.
  static int64_t first_in_groups(const T* x, int64_t n) {
    using V = Values<kVectorBytes>;
    Leaders<kVectorBytes> leader;
    Numbers<kVectorBytes> number{};
    leader.begin(load<V>(x));
    meet_group(leader, x, number);
    const int64_t start = before_aligned(x);
    int64_t i = start;
    for (; i + kGroup <= n; i += kGroup) {
      const uintptr_t ahead = reinterpret_cast<uintptr_t>(x + i) + kAhead;
      __builtin_prefetch(reinterpret_cast<const void*>(ahead), 0, 2);
      meet_group(leader, x + i, ++number);
    }
    if (i < n) meet_group(leader, x + n - kGroup, ++number);
    if (kFloats<T> && any_bit(leader.nans)) return first_nan(x);
    const auto [extreme, first] = winner_of(leader);
    const int64_t begin = first == 0 ? 0 : std::min(start + (first - 1) * kGroup, n - kGroup);
    return begin + first_equal(x + begin, extreme);
  }
  static constexpr uintptr_t kAhead = 16384;  // bytes

  [[gnu::always_inline]] static void meet_group(Leaders<kVectorBytes>& leader, const T* x,
                                                Numbers<kVectorBytes> number) {
    using V = Values<kVectorBytes>;
    V some[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      some[v] = load<V>(x + v * kLanes);
      leader.look(some[v]);
    }
    leader.keep(Order::more_extreme(Order::more_extreme(some[0], some[1]),
                                    Order::more_extreme(some[2], some[3])),
                number);
  }

  // The place of the first element of a group that is `wanted`; there is one.
  static int64_t first_equal(const T* x, T wanted) {
    using V = Values<kVectorBytes>;
    const V all = V{} + wanted;
    for (int64_t i = 0;; i += kLanes) {
      const Numbers<kVectorBytes> found = load<V>(x + i) == all;
      if (any_bit(found)) return i + first_set(found);
    }
  }

  // The extreme, and the first number that a lane has which met it.
  template <int kBytes>
  [[gnu::always_inline]] static std::pair<T, int64_t> winner_of(const Leaders<kBytes>& leader) {
    using V = Values<kBytes>;
    using N = Numbers<kBytes>;
    const V extreme = join_lanes(leader.best, [](V a, V b) { return Order::more_extreme(a, b); });
    const N at = leader.best == extreme ? leader.at : N{} + std::numeric_limits<Number>::max();
    return {extreme[0], join_lanes(at, [](N a, N b) { return a < b ? a : b; })[0]};
  }

  static int64_t first_of_few(const T* x, int64_t n) {
    int64_t winner = 0;
    for (int64_t i = 1; i < n; ++i) winner = wins(x[i], x[winner]) ? i : winner;
    return winner;
  }

  // The place of the first extreme among n elements, of which a vector has no more; kLong at most.
  // The last vector has some of them again, which are found where they were met first.
  template <int kBytes>
  static int64_t first_in_lanes(const T* x, int64_t n) {
    using V = Values<kBytes>;
    using N = Numbers<kBytes>;
    constexpr int64_t kCount = kBytes / sizeof(T);
    Leaders<kBytes> leader;
    leader.begin(load<V>(x));
    N number{};
    int64_t i = kCount;
    for (; i + kCount <= n; i += kCount) leader.meet(load<V>(x + i), ++number);
    if (i < n) leader.meet(load<V>(x + n - kCount), ++number);
    if (kFloats<T> && any_bit(leader.nans)) return first_nan(x);
    const V extreme = join_lanes(leader.best, [](V a, V b) { return Order::more_extreme(a, b); });
    // Of the lanes that have it, the first vector, and of these the first lane.
    constexpr Number kMost = std::numeric_limits<Number>::max();
    const N at = leader.best == extreme ? leader.at : N{} + kMost;
    const N first = join_lanes(at, [](N a, N b) { return a < b ? a : b; });
    const int64_t place = first[0] * kCount + first_set(at == first);
    return place < i ? place : place - i + n - kCount;
  }

  static int64_t first_nan(const T* x) {
    int64_t i = 0;
    while (!is_nan(x[i])) ++i;
    return i;
  }

  // Where the extreme of n > 0 elements is.
  static int64_t find(const T* x, int64_t n) {
    if (n < kShort) return first_of_few(x, n);
    if constexpr (kLeastBytes < kVectorBytes) {
      if (n < kLanes) return first_in_lanes<kLeastBytes>(x, n);
    }
    if (n < kLong) return first_in_lanes<kVectorBytes>(x, n);
    const int64_t size = (n - 1) / ((n - 1) / kMost + 1) + 1;
    int64_t winner = first_in_groups(x, size);
    for (int64_t at = size; at < n && !is_nan(x[winner]); at += size) {
      const int64_t begin = std::min(at, n - size);  // some of them again, which do not win
      const int64_t place = begin + first_in_groups(x + begin, size);
      winner = wins(x[place], x[winner]) ? place : winner;
    }
    return winner;
  }

  // n columns of `count` rows, which lie `step` elements apart, one after the other.
  static void turn(T* columns, const T* x, int64_t n, int64_t count, int64_t step) {
    constexpr int64_t kSize = sizeof(T);
    move_kernels(kSize).transpose({reinterpret_cast<char*>(columns), count * kSize, kSize,
                                   reinterpret_cast<const char*>(x), kSize, step * kSize, n,
                                   count});
  }

  // Rows of n < kShort elements: their first ones side by side, then their second ones.
  static void short_rows(int64_t* out, const T* x, int64_t n, int64_t count, int64_t step) {
    using V = Values<kVectorBytes>;
    constexpr int64_t kRows = std::max<int64_t>(64, kLanes);
    alignas(kVectorBytes) T columns[kShort * kRows];
    alignas(kVectorBytes) Number places[kRows];
    for (int64_t done = 0; done < count; done += kRows) {
      // The last ones with some of those before, of which there may be none.
      const int64_t r = std::min(done, count - kRows);
      if (r < 0) {
        for (int64_t row = 0; row < count; ++row) out[row] = first_of_few(x + row * step, n);
        return;
      }
      const T* const from = x + r * step;
      turn(columns, from, n, kRows, step);
      Numbers<kVectorBytes> nans{};
      for (int64_t row = 0; row < kRows; row += kLanes) {
        Leaders<kVectorBytes> leaders;
        leaders.begin(load<V>(columns + row));
        Numbers<kVectorBytes> number{};
        for (int64_t j = 1; j < n; ++j) leaders.meet(load<V>(columns + j * kRows + row), ++number);
        store(places + row, leaders.at);
        nans |= leaders.nans;
      }
      if (kFloats<T> && any_bit(nans)) {
        for (int64_t row = 0; row < kRows; ++row) places[row] = first_of_few(from + row * step, n);
      }
      for (int64_t row = 0; row < kRows; ++row) out[r + row] = places[row];
    }
  }

  static void each(void* out, const void* data, int64_t n, int64_t count, int64_t step) {
    const T* x = static_cast<const T*>(data);
    int64_t* const to = static_cast<int64_t*>(out);
    if (n == 0) {
      std::fill_n(to, count, int64_t{0});
    } else if (n < kShort) {
      short_rows(to, x, n, count, step);
    } else {
      for (int64_t r = 0; r < count; ++r) to[r] = find(x + r * step, n);
    }
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
    if (n < kFewColumns) return few_columns(acc, x, n, count, step);
    for (int64_t r = 0; r < count; ++r) next_row(acc, x + r * step, n);
  }

  static void few_columns(void* acc, const T* x, int64_t n, int64_t count, int64_t step) {
    Head& head = head_of(acc);
    int64_t* const at = positions_of(acc);
    T* const best = bests_of(acc, n);
    alignas(kVectorBytes) T columns[kTurned];
    const int64_t together = kTurned / n;
    for (int64_t r = 0; r < count; r += together, x += together * step) {
      const int64_t size = std::min(together, count - r);
      turn(columns, x, n, size, step);
      for (int64_t j = 0; j < n; ++j) {
        const T* const column = columns + j * size;
        const int64_t place = find(column, size);
        if (head.seen > 0 && !wins(column[place], best[j])) continue;
        best[j] = column[place];
        at[j] = head.seen + place;
      }
      head.seen += size;
    }
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
  static_assert(L::kAccumulator <= ReductionKernel::kWidest);
  ReductionKernel made{L::kAccumulator, L::start, L::row, L::rows, L::join, L::finish};
  made.each = L::each;
  return made;
}

template <class... T>
void add(KernelTable& table) {
  ((table.reductions["argmax"][dtype_of<T>] = kernel<T, Largest>()), ...);
  ((table.reductions["argmin"][dtype_of<T>] = kernel<T, Smallest>()), ...);
}

}  // namespace

void TL_FILL(args)(KernelTable& table);
void TL_FILL(args)(KernelTable& table) {
  add<int8_t, int16_t, int32_t, int64_t>(table);
  add<uint8_t, uint16_t, uint32_t, uint64_t>(table);
  add<float, double>(table);
}

}  // namespace tensorlike
