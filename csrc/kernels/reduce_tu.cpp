// The declared reductions as loops, for one ISA level: map and combine come from the generated
// list, this file gives each the loops that the driver asks for.
#include "kernels/half_loop.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/reduce_columns.h"
#include "kernels/reduce_few.h"
#include "kernels/reduce_free.h"
#include "kernels/reduce_halves.h"
#include "kernels/reduce_types.h"

namespace tensorlike {
namespace {

// The dtypes that a reduction takes, by category; booleans count as numbers.
template <class... T>
struct List {};

struct Types {
  using C64 = Complex<float>;
  using C128 = Complex<double>;
  static constexpr List<bool, int32_t, int64_t, uint64_t, float, double, C64, C128> kAll{};
  static constexpr auto kNumeric = kAll;
  static constexpr List<bool, int32_t, int64_t, uint64_t, float, double> kRealNumeric{};
  static constexpr auto kRealOrBoolean = kRealNumeric;
  static constexpr List<float, double, C64, C128> kFloating{};
  static constexpr List<float, double> kRealFloating{};
};

// kInit is a template argument so that each loop knows its identity. What reductions do with their
// totals is none, so that those which differ in that alone share their loops.
template <class T, Init kInit, class Map, class Combine>
struct Loops {
  using Element = T;
  using MapOne = Map;
  using CombineTwo = Combine;
  using Mapped = decltype(Map{}(T{}));
  static constexpr bool kSums = kInit == Init::kZero || kInit == Init::kOne;
  using Acc = Accumulator<Mapped, kSums>;
  using Lane = LaneOf<Mapped, kInit == Init::kZero, Acc>;
  // As many bytes of narrow ones as of others; of truths, only where columns lie side by side.
  static constexpr int kColumns =
      sizeof(Lane) < 4 ? 64 / static_cast<int>(sizeof(Lane)) : kUsualLanes;
  static constexpr int kLanes = std::is_same_v<Lane, bool> ? kUsualLanes : kColumns;
  static constexpr int kRowLanes = kUsualLanes;

  static Acc first() { return first_value<Acc, kInit>(); }
  static void start(void* acc, int64_t n) { std::fill_n(static_cast<Acc*>(acc), n, first()); }

  static constexpr bool kIsExtreme = kInit == Init::kLowest || kInit == Init::kHighest;
  // Whether there is what nothing that follows can change: a yes among any, a no among all.
  static constexpr bool kDecides = kInit == Init::kFalse || kInit == Init::kTrue;
  // Whether elements may be combined in any order, and again, with the same bits.
  static constexpr bool kIsFree = std::is_integral_v<T> && (kIsExtreme || kDecides);
  // Elements of a block. Those of narrow integers have many lanes, which are combined at its end;
  // since what they give is exact, blocks may be longer.
  static constexpr int64_t kRun = kIsExtreme && sizeof(Lane) < 4 ? 8 * kBlock : kBlock;
  // Blocks that are combined side by side, their lanes in half of the registers. Extremes are found
  // block by block: those of several at once were slower from memory, 1.8 ms for 44 MB to 1.1.
  static constexpr int kStreams =
      kIsExtreme ? 1
                 : static_cast<int>(std::clamp<size_t>(kRegisterBytes / 2 / (kLanes * sizeof(Lane)),
                                                       1, kRowsTogether));
  // Elements between what is combined and what memory is asked for (measured there: sums of 44 MB
  // take 1.0 ms for 1.4).
  static constexpr int64_t kAhead = (kStreams > 1 ? kStreams : 2) * kRun;

  static Lane combine(Lane a, Lane b) { return static_cast<Lane>(Combine{}(a, b)); }
  static Lane mapped(T x) { return static_cast<Lane>(Map{}(x)); }
  // No loop is vectorised that reads bool as what it is.
  static Lane mapped_at(const T* x, int64_t i) {
    if constexpr (std::is_same_v<T, bool>) {
      return mapped(reinterpret_cast<const uint8_t*>(x)[i] != 0);
    } else {
      return mapped(x[i]);
    }
  }

  // The first half with the second, lane by lane, until one is left.
  template <int kCount = kLanes>
  [[gnu::always_inline]] static Lane combine_lanes(Lane* lanes) {
    if constexpr (kCount == 1) {
      return lanes[0];
    } else {
      for (int l = 0; l < kCount / 2; ++l) lanes[l] = combine(lanes[l], lanes[l + kCount / 2]);
      return combine_lanes<kCount / 2>(lanes);
    }
  }

  // Asks for what lies kAhead beyond elements [at, at + kLanes), once for each cache line: in the
  // second cache, since the nearest one has no room for what is that far ahead.
  [[gnu::always_inline]] static void fetch_beyond(const T* x, int64_t at) {
    constexpr int64_t kLine = 64 / sizeof(T);
    if (kLanes < kLine && at % kLine != 0) return;
    const uintptr_t from = reinterpret_cast<uintptr_t>(x) + (at + kAhead) * sizeof(T);
#pragma GCC unroll 4
    for (uintptr_t b = 0; b < kLanes * sizeof(T); b += 64) {
      __builtin_prefetch(reinterpret_cast<const void*>(from + b), 0, 2);
    }
  }

  // What each of kStreams whole blocks gives, which follow each other.
  static void whole_blocks(const T* x, Lane* parts) {
    Lane lanes[kStreams][kLanes];
    for (auto& row : lanes) std::fill_n(row, kLanes, first_value<Lane, kInit>());
    for (int64_t i = 0; i < kRun; i += kLanes) {
#pragma GCC unroll 8
      for (int s = 0; s < kStreams; ++s) {
        fetch_beyond(x, s * kRun + i);
#pragma GCC unroll 1
        for (int l = 0; l < kLanes; ++l) {
          const Lane value = mapped_at(x, s * kRun + i + l);
          // Whether it is NaN, which the first one is asked, waits for nothing.
          lanes[s][l] = kIsExtreme ? combine(value, lanes[s][l]) : combine(lanes[s][l], value);
        }
      }
    }
    for (int s = 0; s < kStreams; ++s) parts[s] = combine_lanes(lanes[s]);
  }

  // n < kLanes elements, each into its lane.
  [[gnu::always_inline]] static void few(Lane* lanes, const T* x, int64_t n) {
    if constexpr (kMasks<T>) {
      // All lanes are written: what is stored in part is slow to load.
      for (int l = 0; l < kLanes; ++l) {
        const T value = l < n ? x[l] : T{};
        const Lane combined = combine(lanes[l], mapped(value));
        lanes[l] = l < n ? combined : lanes[l];
      }
    } else {
      const int count = n < kLanes ? static_cast<int>(n) : kLanes;  // which the compiler can see
      for (int l = 0; l < count; ++l) lanes[l] = combine(lanes[l], mapped_at(x, l));
    }
  }

  // The lanes of kCount blocks of n <= kRun elements, `step` elements from one to the next.
  template <int kCount>
  [[gnu::always_inline]] static void lanes_of(const T* x, int64_t n, int64_t step,
                                              Lane (&lanes)[kCount][kLanes]) {
    for (auto& row : lanes) std::fill_n(row, kLanes, first_value<Lane, kInit>());
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 4
      for (int s = 0; s < kCount; ++s) {
#pragma GCC unroll 1  // else the lanes of extremes are sixteen numbers, and no vector
        for (int l = 0; l < kLanes; ++l) {
          lanes[s][l] = combine(lanes[s][l], mapped_at(x, s * step + i + l));
        }
      }
    }
    for (int s = 0; s < kCount; ++s) {
      if (i < n) few(lanes[s], x + s * step + i, n - i);
    }
  }

  // What these blocks give.
  template <int kCount>
  static void blocks(const T* x, int64_t n, int64_t step, Lane* parts) {
    Lane lanes[kCount][kLanes];
    lanes_of(x, n, step, lanes);
    for (int s = 0; s < kCount; ++s) parts[s] = combine_lanes(lanes[s]);
  }

  static bool is_decided(const void* acc) {
    return kDecides && *static_cast<const Acc*>(acc) != first_value<Acc, kInit>();
  }

  static Acc add_parts(Acc total, const Lane* parts, int n) {
    for (int i = 0; i < n; ++i)
      total = static_cast<Acc>(Combine{}(total, static_cast<Acc>(parts[i])));
    return total;
  }

  // Blocks are combined in their order, however many are looked at together.
  static void row(void* acc, const void* x, int64_t n) {
    const T* in = static_cast<const T*>(x);
    Acc total = *static_cast<Acc*>(acc);
    if constexpr (kIsFree) {
      using Free = FreeElements<T, Combine>;
      for (; n > 0; n -= Free::kPiece, in += Free::kPiece) {
        total = combine(total, Free::of(in, std::min(n, Free::kPiece)));
        if (is_decided(&total)) break;
      }
      *static_cast<Acc*>(acc) = total;
      return;
    } else {
      row_of_blocks(&total, in, n);
      *static_cast<Acc*>(acc) = total;
    }
  }

  static void row_of_blocks(Acc* acc, const T* in, int64_t n) {
    Acc total = *acc;
    Lane parts[kStreams];
    for (; n >= kStreams * kRun; n -= kStreams * kRun, in += kStreams * kRun) {
      whole_blocks(in, parts);
      total = add_parts(total, parts, kStreams);
    }
    if constexpr (kStreams > 4) {
      for (; n >= 4 * kRun; n -= 4 * kRun, in += 4 * kRun) {
        blocks<4>(in, kRun, kRun, parts);
        total = add_parts(total, parts, 4);
      }
    }
    for (; n > 0; n -= kRun, in += kRun) {
      blocks<1>(in, std::min(kRun, n), 0, parts);
      total = add_parts(total, parts, 1);
    }
    *acc = total;
  }

  // Asks for elements that come next. Whether there are any does not matter.
  static void fetch(const T* x, int64_t n) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(x);
    for (uintptr_t b = 0; b < static_cast<uintptr_t>(n) * sizeof(T); b += 64) {
      __builtin_prefetch(reinterpret_cast<const void*>(from + b));
    }
  }

  // Elements that are numbers are looked at across short rows, and across rows of few columns; not
  // where what they are mapped to is rounded, or not, as the compiler joins it with a sum.
  static constexpr bool kAreFew = std::is_arithmetic_v<Lane>;
  static bool rounds() { return kFloats<Lane> && static_cast<Lane>(Map{}(T(3))) != Lane(3); }
  struct None {
    static constexpr int64_t kMostColumns = 0;
  };
  using Few = std::conditional_t<kAreFew, FewElements<Loops>, None>;

  using Out = std::conditional_t<kKeepsType<Mapped>, Mapped, Acc>;
  using FinishLoop = void (*)(void* out, const void* acc, int64_t n, int64_t count);
  static constexpr int64_t kTogether = 4;

  // Whole results of several rows: what `row` would give from the identity on.
  static void each(FinishLoop finish, void* out, const void* x, int64_t n, int64_t count,
                   int64_t step) {
    const T* in = static_cast<const T*>(x);
    Out* to = static_cast<Out*>(out);
    if constexpr (kAreFew) {
      const bool is_short = kIsFree ? n <= Few::kMost && step == n : n < kBlock;
      if (n > 0 && is_short && count >= kTogether && !rounds()) {
        return each_short(finish, to, in, n, count, step);
      }
    }
    each_long(finish, to, in, n, count, step);
  }

  static void each_short(FinishLoop finish, Out* out, const T* in, int64_t n, int64_t count,
                         int64_t step) {
    const typename Few::Rows rows(n, step);
    Acc totals[Few::kRows];
    for (int64_t at = 0; at < count; at += Few::kRows) {
      const int64_t results = std::min(Few::kRows, count - at);
      start(totals, results);
      rows.run(totals, in + at * step, results, count - at - results);
      finish(out + at, totals, results, n);
    }
  }

  static void each_long(FinishLoop finish, Out* out, const T* in, int64_t n, int64_t count,
                        int64_t step) {
    constexpr int64_t kResults = 64;
    // Of which one keeps the processor busy by itself: 4 KB, which are fetched in their order.
    // Extremes of whole blocks are found otherwise, NaN first.
    constexpr int64_t kBusy = std::max(kRun, int64_t{4096 / sizeof(T)});
    constexpr int64_t kLongRow = kIsFree ? 0 : (kIsExtreme ? kRun : kBusy);
    Acc totals[kResults];
    [[maybe_unused]] Lane parts[kTogether];
    for (int64_t at = 0; at < count; at += kResults) {
      const int64_t results = std::min(kResults, count - at);
      start(totals, results);
      int64_t r = 0;
      if constexpr (!kIsFree) {
        for (; n < kLongRow && r + kTogether <= results; r += kTogether) {
          const T* rows = in + (at + r) * step;
          for (int64_t i = 0; i < n; i += kRun) {
            const int64_t size = std::min(kRun, n - i);
            if (step == n) fetch(rows + kTogether * (n + i), kTogether * size);
            blocks<kTogether>(rows + i, size, step, parts);
            for (int64_t s = 0; s < kTogether; ++s) {
              totals[r + s] = add_parts(totals[r + s], &parts[s], 1);
            }
          }
        }
      }
      for (; r < results; ++r) row(&totals[r], in + (at + r) * step, n);
      finish(out + at, totals, results, n);
    }
  }

  static void rows(void* acc, const void* x, int64_t n, int64_t count, int64_t step) {
    using Columns = ReducedColumns<Loops>;
    Acc* to = static_cast<Acc*>(acc);
    const T* in = static_cast<const T*>(x);
    if constexpr (kAreFew) {
      const int64_t groups = count / kRowsTogether;
      if (n <= Few::kMostColumns && step == n && groups > 0 && !rounds()) {
        Few::columns(to, in, n, groups);
        in += groups * kRowsTogether * step;
        count -= groups * kRowsTogether;
      }
    }
    for (; count >= kRowsTogether; count -= kRowsTogether, in += kRowsTogether * step) {
      Columns::some_rows(to, in, n, step);
    }
    for (; count > 0; --count, in += step) Columns::one_row(to, in, n);
  }

  static void join(void* acc, const void* other, int64_t n) {
    Acc* to = static_cast<Acc*>(acc);
    const Acc* from = static_cast<const Acc*>(other);
    for (int64_t j = 0; j < n; ++j) to[j] = static_cast<Acc>(Combine{}(to[j], from[j]));
  }

  template <class Finish>
  static void finish(void* out, const void* acc, int64_t n, int64_t count) {
    Out* to = static_cast<Out*>(out);
    const Acc* from = static_cast<const Acc*>(acc);
    for (int64_t j = 0; j < n; ++j) {
      to[j] = static_cast<Out>(Finish{}(from[j], static_cast<Acc>(count)));
    }
  }
};

class Table {
 public:
  explicit Table(KernelTable& table) : table_(table) {}

  template <Init kInit, class... T, class Map, class Combine, class Finish>
  void add(const char* name, List<T...>, Map, Combine, Finish) {
    ByDType<ReductionKernel>& kernels = table_.reductions[name];
    (add_one<T, kInit, Map, Combine, Finish>(kernels), ...);
    // What stays as it is stays narrow; sums of it need no room before they leave a block.
    if constexpr (kInit == Init::kLowest || kInit == Init::kHighest) {
      add_narrow<kInit, Map, Combine, Finish>(kernels, Narrow{});
      add_narrow<kInit, Map, Combine, Finish>(kernels, List<uint32_t>{});
    } else if constexpr (kInit == Init::kZero && std::is_same_v<Map, Same> &&
                         (std::is_same_v<T, int32_t> || ...)) {
      add_narrow<kInit, Map, Combine, Finish>(kernels, Narrow{});
    }
  }

 private:
  using Narrow = List<int8_t, int16_t, uint8_t, uint16_t>;

  template <Init kInit, class Map, class Combine, class Finish, class... T>
  static void add_narrow(ByDType<ReductionKernel>& kernels, List<T...>) {
    (add_one<T, kInit, Map, Combine, Finish>(kernels), ...);
  }

  // Elements of which only the truth is asked become truths first: loops of those are enough. They
  // are bytes, 0 or 1, and bytes have vectors; the largest truth is whether any is true.
  template <class T, Init kInit, class Map, class Combine, class Finish>
  static void add_one(ByDType<ReductionKernel>& kernels) {
    constexpr bool kIsAny = kInit == Init::kFalse || kInit == Init::kLowest;
    constexpr bool kIsAll = kInit == Init::kTrue || kInit == Init::kHighest;
    if constexpr (std::is_same_v<T, bool> && (kIsAny || kIsAll)) {
      constexpr Init kFirst = kIsAny ? Init::kFalse : Init::kTrue;
      kernels[DType::kBool] = kernel<Loops<uint8_t, kFirst, Same, Combine>, Finish>();
    } else if constexpr (std::is_same_v<T, bool> || !std::is_same_v<decltype(Map{}(T{})), bool>) {
      using L = Loops<T, kInit, Map, Combine>;
      kernels[dtype_of<T>] = kernel<L, Finish>();
      if constexpr (kConvertsHalves && std::is_same_v<T, float> &&
                    std::is_same_v<typename L::Out, float>) {
        constexpr auto kFinish = L::template finish<Finish>;
        kernels[DType::kFloat16] = ReducedHalves<Float16, L, kFinish>::kernel(kernels[dtype_of<T>]);
        kernels[DType::kBFloat16] =
            ReducedHalves<BFloat16, L, kFinish>::kernel(kernels[dtype_of<T>]);
      }
    }
  }

  template <class L, class Finish>
  static ReductionKernel kernel() {
    constexpr auto kFinish = L::template finish<Finish>;
    ReductionKernel found{sizeof(typename L::Acc), L::start, L::row, L::rows, L::join, kFinish};
    found.each = [](void* out, const void* x, int64_t n, int64_t count, int64_t step) {
      L::each(kFinish, out, x, n, count, step);
    };
    found.is_decided = L::kDecides ? L::is_decided : nullptr;
    return found;
  }

  KernelTable& table_;
};

#include "reductions.inc"

}  // namespace

void TL_FILL(reductions)(KernelTable& kernels);
void TL_FILL(reductions)(KernelTable& kernels) {
  Table table(kernels);
  add_reductions(table);
}

}  // namespace tensorlike
