// The declared reductions as loops, for one ISA level: map and combine come from the generated
// list, this file gives each the loops that the driver asks for.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

enum class Init : unsigned char { kZero, kOne, kLowest, kHighest, kFalse, kTrue };

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

constexpr int64_t kBlock = 512;  // elements that are summed in the input's own precision
constexpr int kUsualLanes = 16;

#if defined(__AVX512F__)
constexpr size_t kRegisterBytes = 32 * 64;
#elif defined(__AVX2__)
constexpr size_t kRegisterBytes = 16 * 32;
#else
constexpr size_t kRegisterBytes = 16 * 16;
#endif

// What is summed in float within a block is carried in double between blocks, complex numbers
// likewise; integers and booleans accumulate in 64 bits; min, max and logic stay as they are.
template <class T>
struct Wide {
  using type = std::conditional_t<kFloats<T>, double,
                                  std::conditional_t<std::is_same_v<T, uint64_t>, T, int64_t>>;
};
template <class T>
struct Wide<Complex<T>> {
  using type = Complex<double>;
};
template <class Mapped, bool kSums>
using Accumulator =
    typename std::conditional_t<kSums, Wide<Mapped>, std::type_identity<Mapped>>::type;

template <class T>
inline constexpr bool kKeepsType = kFloats<T> || is_complex<T>;

template <class T, Init kInit>
constexpr T first_value() {
  if constexpr (kInit == Init::kOne || kInit == Init::kTrue) return T(1);
  if constexpr (kInit == Init::kLowest) {
    return kFloats<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  if constexpr (kInit == Init::kHighest) {
    return kFloats<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  return T(0);
}

// kInit is a template argument so that each loop knows its identity.
template <class T, Init kInit, class Map, class Combine, class Finish>
struct Loops {
  using Mapped = decltype(Map{}(T{}));
  static constexpr bool kSums = kInit == Init::kZero || kInit == Init::kOne;
  using Acc = Accumulator<Mapped, kSums>;
  // Within a block: the mapped type for floats, the accumulator for everything else.
  using Lane = std::conditional_t<kKeepsType<Mapped>, Mapped, Acc>;
  // As many bytes of narrow ones as of others.
  static constexpr int kLanes = sizeof(Lane) < 4 && !std::is_same_v<Lane, bool>
                                    ? 64 / static_cast<int>(sizeof(Lane))
                                    : kUsualLanes;

  static void start(void* acc, int64_t n) {
    std::fill_n(static_cast<Acc*>(acc), n, first_value<Acc, kInit>());
  }

  // Blocks that are combined side by side, their lanes in half of the registers. Memory answers
  // sooner when several pages are asked at once: the processor fetches ahead within a page alone.
  static constexpr int kStreams = static_cast<int>(
      std::clamp<size_t>(kRegisterBytes / 2 / (kLanes * sizeof(Lane)), 1, kRowsTogether));
  static constexpr int64_t kStretch = 1024;  // elements between streams
  static_assert(kStretch == 2 * kBlock);

  static Lane combine(Lane a, Lane b) { return static_cast<Lane>(Combine{}(a, b)); }
  static Lane mapped(T x) { return static_cast<Lane>(Map{}(x)); }

  static Lane combine_lanes(Lane* lanes) {
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) lanes[l] = combine(lanes[l], lanes[l + width]);
    }
    return lanes[0];
  }

  // What kCount whole blocks give, `apart` elements from one to the next, into every `step`th part.
  template <int kCount>
  static void whole_blocks(const T* x, int64_t apart, Lane* parts, int step) {
    Lane lanes[kCount][kLanes];
    for (auto& row : lanes) std::fill_n(row, kLanes, first_value<Lane, kInit>());
    for (int64_t i = 0; i < kBlock; i += kLanes) {
#pragma GCC unroll 8
      for (int s = 0; s < kCount; ++s) {
#pragma GCC unroll 1
        for (int l = 0; l < kLanes; ++l) {
          lanes[s][l] = combine(lanes[s][l], mapped(x[s * apart + i + l]));
        }
      }
    }
    for (int s = 0; s < kCount; ++s) parts[s * step] = combine_lanes(lanes[s]);
  }

  static Lane block(const T* x, int64_t n) {
    Lane lanes[kLanes];
    std::fill_n(lanes, kLanes, first_value<Lane, kInit>());
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 1  // else the lanes of extremes are sixteen numbers, and no vector
      for (int l = 0; l < kLanes; ++l) lanes[l] = combine(lanes[l], mapped(x[i + l]));
    }
    for (int l = 0; i < n; ++i, ++l) lanes[l] = combine(lanes[l], mapped(x[i]));
    return combine_lanes(lanes);
  }

  static Acc add_parts(Acc total, const Lane* parts, int n) {
    for (int i = 0; i < n; ++i)
      total = static_cast<Acc>(Combine{}(total, static_cast<Acc>(parts[i])));
    return total;
  }

  // Blocks are combined in their order, however many are looked at together.
  static void row(void* acc, const void* x, int64_t n) {
    constexpr int kFew = std::min(kStreams, 4);
    const T* in = static_cast<const T*>(x);
    Acc total = *static_cast<Acc*>(acc);
    Lane parts[2 * kStreams];
    for (; n >= kStreams * kStretch; n -= kStreams * kStretch, in += kStreams * kStretch) {
      whole_blocks<kStreams>(in, kStretch, parts, 2);
      whole_blocks<kStreams>(in + kBlock, kStretch, parts + 1, 2);
      total = add_parts(total, parts, 2 * kStreams);
    }
    for (; n >= kFew * kBlock; n -= kFew * kBlock, in += kFew * kBlock) {
      whole_blocks<kFew>(in, kBlock, parts, 1);
      total = add_parts(total, parts, kFew);
    }
    for (; n > 0; n -= kBlock, in += kBlock) {
      parts[0] = block(in, std::min(kBlock, n));
      total = add_parts(total, parts, 1);
    }
    *static_cast<Acc*>(acc) = total;
  }

  // kCount rows are combined in pairs, then pairs of these, and then with the accumulators.
  template <int kCount>
  static Lane pairwise(const T* in, int64_t step) {
    if constexpr (kCount == 1) {
      return mapped(*in);
    } else {
      return combine(pairwise<kCount / 2>(in, step),
                     pairwise<kCount / 2>(in + kCount / 2 * step, step));
    }
  }

  template <int kCount>
  static void some_rows(Acc* to, const T* in, int64_t n, int64_t step) {
    for (int64_t j = 0; j < n; ++j) {
      to[j] = static_cast<Acc>(Combine{}(to[j], static_cast<Acc>(pairwise<kCount>(in + j, step))));
    }
  }

  static void rows(void* acc, const void* x, int64_t n, int64_t count, int64_t step) {
    Acc* to = static_cast<Acc*>(acc);
    const T* in = static_cast<const T*>(x);
    for (; count >= kRowsTogether; count -= kRowsTogether, in += kRowsTogether * step) {
      some_rows<kRowsTogether>(to, in, n, step);
    }
    for (; count > 0; --count, in += step) some_rows<1>(to, in, n, step);
  }

  static void join(void* acc, const void* other, int64_t n) {
    Acc* to = static_cast<Acc*>(acc);
    const Acc* from = static_cast<const Acc*>(other);
    for (int64_t j = 0; j < n; ++j) to[j] = static_cast<Acc>(Combine{}(to[j], from[j]));
  }

  static void finish(void* out, const void* acc, int64_t n, int64_t count) {
    using Out = std::conditional_t<kKeepsType<Mapped>, Mapped, Acc>;
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
    ((kernels[dtype_of<T>] = kernel<Loops<T, kInit, Map, Combine, Finish>>()), ...);
    // What stays as it is stays narrow.
    if constexpr (kInit == Init::kLowest || kInit == Init::kHighest) {
      add_narrow<kInit, Map, Combine, Finish>(kernels, Narrow{});
    }
  }

 private:
  using Narrow = List<int8_t, int16_t, uint8_t, uint16_t, uint32_t>;

  template <Init kInit, class Map, class Combine, class Finish, class... T>
  static void add_narrow(ByDType<ReductionKernel>& kernels, List<T...>) {
    ((kernels[dtype_of<T>] = kernel<Loops<T, kInit, Map, Combine, Finish>>()), ...);
  }

  template <class L>
  static ReductionKernel kernel() {
    return {sizeof(typename L::Acc), L::start, L::row, L::rows, L::join, L::finish};
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
