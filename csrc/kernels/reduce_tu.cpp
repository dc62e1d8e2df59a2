// The declared reductions as loops, for one ISA level: map and combine come from the generated
// list, this file gives each the loops that the driver asks for.
#include "kernels/half_loop.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/reduce_blocks.h"
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
  // Columns that are looked at together where they lie side by side.
  static constexpr int kColumns = 64 / static_cast<int>(sizeof(Lane));
  // As many bytes of narrow ones as of others, but of truths.
  static constexpr int kLanes =
      sizeof(Lane) < 4 && !std::is_same_v<Lane, bool> ? kColumns : kUsualLanes;
  static constexpr int kRowLanes = kUsualLanes;

  static Lane first_lane() { return first_value<Lane, kInit>(); }
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
  // Of two that are not NaN, or of vectors of them.
  template <class V>
  [[gnu::always_inline]] static V more_extreme(V a, V b) {
    if constexpr (kInit == Init::kLowest) {
      return a > b ? a : b;
    } else {
      return a < b ? a : b;
    }
  }
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

  static bool is_decided(const void* acc) {
    return kDecides && *static_cast<const Acc*>(acc) != first_value<Acc, kInit>();
  }

  using Blocks = RowBlocks<Loops>;

  // Blocks are combined in their order.
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
    } else if constexpr (kIsExtreme) {
      *static_cast<Acc*>(acc) = Blocks::extreme(total, in, n);
    } else {
      *static_cast<Acc*>(acc) = Blocks::row(total, in, n);
    }
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
    if constexpr (kIsFree) {
      const bool is_short = 1 < n && n <= FreeElements<T, Combine>::kMostShort && step == n;
      if (is_short && count >= kTogether) return each_free<true>(finish, to, in, n, count, step);
    }
    if constexpr (kAreFew) {
      const bool is_short = kIsFree ? n <= Few::kMost && step == n : n < kBlock;
      if (n > 0 && is_short && count >= kTogether && !rounds()) {
        return each_short(finish, to, in, n, count, step);
      }
    }
    if constexpr (kIsFree) {
      using Free = FreeElements<T, Combine>;
      if (n >= Free::kWidth && n <= Free::kMostTogether) {
        return each_free<false>(finish, to, in, n, count, step);
      }
    }
    each_long(finish, to, in, n, count, step);
  }

  // Accumulators are elements.
  template <bool kAreShort>
  static void each_free(FinishLoop finish, Out* out, const T* in, int64_t n, int64_t count,
                        int64_t step) {
    constexpr int64_t kResults = 1024;
    using Free = FreeElements<T, Combine>;
    T found[kResults];
    for (int64_t at = 0; at < count; at += kResults) {
      const int64_t results = std::min(kResults, count - at);
      if constexpr (kAreShort) {
        Free::each_short(found, in + at * step, n, results, count - at - results);
      } else {
        Free::each(found, in + at * step, n, results, step);
      }
      finish(out + at, found, results, n);
    }
  }

  // Stored as they are, or, longer than what is halved as it is, as halves.
  template <class Stored>
  static void each_short(FinishLoop finish, Out* out, const Stored* in, int64_t n, int64_t count,
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
    // Fewer elements are looked at in several rows side by side.
    constexpr int64_t kLongRow = kIsFree || kIsExtreme || Blocks::kInVectors ? 0 : kRun;
    Acc totals[kResults];
    [[maybe_unused]] Lane parts[kTogether];
    for (int64_t at = 0; at < count; at += kResults) {
      const int64_t results = std::min(kResults, count - at);
      start(totals, results);
      int64_t r = 0;
      if constexpr (kLongRow > 0) {
        for (; n < kLongRow && r + kTogether <= results; r += kTogether) {
          const T* rows = in + (at + r) * step;
          for (int64_t i = 0; i < n; i += kRun) {
            const int64_t size = std::min(kRun, n - i);
            if (step == n) fetch(rows + kTogether * (n + i), kTogether * size);
            Blocks::template of<kTogether>(rows + i, size, step, parts);
            for (int64_t s = 0; s < kTogether; ++s) {
              totals[r + s] =
                  static_cast<Acc>(Combine{}(totals[r + s], static_cast<Acc>(parts[s])));
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
    if constexpr (kIsFree) {
      using Free = FreeElements<T, Combine>;
      const int64_t done = step == n ? Free::few_columns(to, in, n, count) : 0;
      in += done * n;
      count -= done;
      if (n >= Free::kLeastColumns) return Free::columns(to, in, n, count, step);
    }
    if constexpr (kAreFew) {
      const int64_t groups = count / kRowsTogether;
      if (n <= Few::kMostColumns && step == n && groups > 0 && !rounds()) {
        Few::columns(to, in, n, groups);
        in += groups * kRowsTogether * step;
        count -= groups * kRowsTogether;
      }
    }
    const int64_t groups = count / kRowsTogether;
    if (groups > 0) Columns::rows(to, in, n, groups, step);
    in += groups * kRowsTogether * step;
    for (count %= kRowsTogether; count > 0; --count, in += step) Columns::one_row(to, in, n);
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
