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
constexpr int kLanes = 16;

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

  static void start(void* acc, int64_t n) {
    std::fill_n(static_cast<Acc*>(acc), n, first_value<Acc, kInit>());
  }

  static Lane block(const T* x, int64_t n) {
    Lane lanes[kLanes];
    for (Lane& lane : lanes) lane = first_value<Lane, kInit>();
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        lanes[l] = static_cast<Lane>(Combine{}(lanes[l], static_cast<Lane>(Map{}(x[i + l]))));
      }
    }
    for (int l = 0; i < n; ++i, ++l) {
      lanes[l] = static_cast<Lane>(Combine{}(lanes[l], static_cast<Lane>(Map{}(x[i]))));
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) {
        lanes[l] = static_cast<Lane>(Combine{}(lanes[l], lanes[l + width]));
      }
    }
    return lanes[0];
  }

  static void row(void* acc, const void* x, int64_t n) {
    const T* in = static_cast<const T*>(x);
    Acc total = *static_cast<Acc*>(acc);
    for (int64_t at = 0; at < n; at += kBlock) {
      const Lane part = block(in + at, std::min(kBlock, n - at));
      total = static_cast<Acc>(Combine{}(total, static_cast<Acc>(part)));
    }
    *static_cast<Acc*>(acc) = total;
  }

  static void rows(void* acc, const void* x, int64_t n) {
    Acc* to = static_cast<Acc*>(acc);
    const T* in = static_cast<const T*>(x);
    for (int64_t j = 0; j < n; ++j) {
      to[j] = static_cast<Acc>(Combine{}(to[j], static_cast<Acc>(Map{}(in[j]))));
    }
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
  }

 private:
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
