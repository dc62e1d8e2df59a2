// The scalar functions of one declaration file as loops, for one ISA level: the generated file
// lists them, this one turns each into a TileKernel per dtype.
#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/half_loop.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/math_special.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

// Marks an argument: a boolean, or the promoted dtype.
struct B {};
struct V {};

template <class Mark, class T>
using ArgOf = std::conditional_t<std::is_same_v<Mark, B>, bool, T>;

// The dtypes that a scalar function takes, by the standard's category names.
template <class... T>
struct List {};

struct Types {
  using C64 = Complex<float>;
  using C128 = Complex<double>;
  static constexpr List<bool, int32_t, int64_t, uint64_t, float, double, C64, C128> kAll{};
  static constexpr List<int32_t, int64_t, uint64_t, float, double, C64, C128> kNumeric{};
  static constexpr List<int32_t, int64_t, uint64_t, float, double> kRealNumeric{};
  static constexpr List<bool, int32_t, int64_t, uint64_t, float, double> kRealOrBoolean{};
  static constexpr List<float, double, C64, C128> kFloating{};
  static constexpr List<float, double> kRealFloating{};
  static constexpr List<int32_t, int64_t, uint64_t> kInteger{};
  static constexpr List<bool, int32_t, int64_t, uint64_t> kIntegerOrBoolean{};
  static constexpr List<bool> kBoolean{};
};

// out[k][i] = the k-th result of F for the i-th elements, for i < n.
template <class F, class T, class... Marks, size_t... I, class... Watches>
[[gnu::always_inline]] inline void loop(void* const* out, const void* const* in, int64_t n,
                                        std::index_sequence<I...>, Watches&... watch) {
  using Result = decltype(F{}(ArgOf<Marks, T>{}..., watch...));
  const auto args = std::tuple{static_cast<const ArgOf<Marks, T>*>(in[I])...};
  if constexpr (requires { std::tuple_size<Result>::value; }) {
    [&]<size_t... O>(std::index_sequence<O...>) {
      const auto results = std::tuple{static_cast<std::tuple_element_t<O, Result>*>(out[O])...};
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const Result result = F{}(element(std::get<I>(args), i)..., watch...);
        ((std::get<O>(results)[i] = std::get<O>(result)), ...);
      }
    }(std::make_index_sequence<std::tuple_size_v<Result>>{});
  } else {
    Result* result = static_cast<Result*>(out[0]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) result[i] = F{}(element(std::get<I>(args), i)..., watch...);
  }
}

template <class Result>
struct SizesOf {
  static constexpr std::array kSizes{sizeof(Result)};
};
template <class... Results>
struct SizesOf<std::tuple<Results...>> {
  static constexpr std::array kSizes{sizeof(Results)...};
};

// The pointers, i elements further.
template <class Byte, class Pointer, size_t N>
std::array<Pointer, N> advance(const Pointer* from, const std::array<size_t, N>& sizes, size_t i) {
  std::array<Pointer, N> to;
  for (size_t k = 0; k < N; ++k) to[k] = static_cast<Byte*>(from[k]) + i * sizes[k];
  return to;
}

// The same for an F with a fast form: runs of elements of which one alarms the watch are computed
// again, without one. For this a block of the inputs is kept where the outputs are its memory.
template <class F, class T, class... Marks>
void watched_loop(void* const* out, const void* const* in, int64_t n) {
  constexpr auto& kOut = SizesOf<decltype(F{}(ArgOf<Marks, T>{}...))>::kSizes;
  constexpr std::array kIn{sizeof(ArgOf<Marks, T>)...};
  constexpr size_t kBlock = 1024;
  constexpr size_t kRun = 64;
  constexpr std::index_sequence_for<Marks...> kIndices;
  const auto alarms = [&](const auto& to, const auto& from, size_t count) {
    Watch<T> watch;
    loop<F, T, Marks...>(to.data(), from.data(), static_cast<int64_t>(count), kIndices, watch);
    return watch.is_alarmed();
  };
  alignas(64) char buffers[kIn.size()][kBlock * sizeof(T)];
  for (size_t start = 0; start < static_cast<size_t>(n); start += kBlock) {
    const size_t count = std::min(static_cast<size_t>(n) - start, kBlock);
    const auto to = advance<char>(out, kOut, start);
    const auto from = advance<const char>(in, kIn, start);
    auto kept = from;
    for (size_t k = 0; k < kIn.size(); ++k) {
      if (std::find(to.begin(), to.end(), from[k]) == to.end()) continue;
      kept[k] = std::memcpy(buffers[k], from[k], count * kIn[k]);
    }
    if (!alarms(to, from, count)) continue;
    for (size_t i = 0; i < count; i += kRun) {
      const size_t run = std::min(count - i, kRun);
      const auto run_to = advance<char>(to.data(), kOut, i);
      const auto run_from = advance<const char>(kept.data(), kIn, i);
      if (!alarms(run_to, run_from, run)) continue;
      loop<F, T, Marks...>(run_to.data(), run_from.data(), static_cast<int64_t>(run), kIndices);
    }
  }
}

template <class F, class T, class... Marks>
void kernel(void* const* out, const void* const* in, int64_t n) {
  if constexpr (kFloats<T>) {
    if constexpr (std::is_invocable_v<F, ArgOf<Marks, T>..., Watch<T>&>) {
      return watched_loop<F, T, Marks...>(out, in, n);
    }
  }
  loop<F, T, Marks...>(out, in, n, std::index_sequence_for<Marks...>{});
}

// The same of arguments some of which are one number each, as is_number says.
template <size_t kNumber, class F, class T, size_t... I>
[[gnu::always_inline]] inline void number_loop(void* const* out, const void* const* in, int64_t n,
                                               std::index_sequence<I...>) {
  using Result = decltype(F{}((static_cast<void>(I), T{})...));
  const std::array<const T*, sizeof...(I)> x{static_cast<const T*>(in[I])...};
  const std::array<T, sizeof...(I)> first{x[I][0]...};
  Result* const result = static_cast<Result*>(out[0]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    result[i] = F{}((is_number<kNumber>(I) ? first[I] : x[I][i])...);
  }
}

template <size_t kNumber, size_t kArguments, class F, class T>
void number_kernel(void* const* out, const void* const* in, int64_t n) {
  if (n > 0) number_loop<kNumber, F, T>(out, in, n, std::make_index_sequence<kArguments>{});
}

template <class... T>
constexpr bool takes_integers(List<T...>) {
  return (std::is_same_v<T, int32_t> || ...);
}

// A function of float32 as a loop over halves, where it has one form and the level converts; of one
// number where kNumber is an argument's place.
template <class F, class Half, size_t kNumber, class... Marks>
constexpr TileKernel half_kernel() {
  if constexpr (kConvertsHalves && !std::is_invocable_v<F, ArgOf<Marks, float>..., Watch<float>&>) {
    using Results = HalfResults<Half, decltype(F{}(ArgOf<Marks, float>{}...))>;
    if constexpr (Results::kAreReal) {
      using Loop = HalfLoop<F, std::tuple<ArgOf<Marks, Half>...>, typename Results::Stored>;
      return Loop::template run<kNumber>;
    }
  }
  return nullptr;
}

template <class F, class T, class... Marks>
constexpr NumberLoops number_loops() {
  constexpr size_t kArguments = sizeof...(Marks);
  NumberLoops made;
  if constexpr (is_half<T>) {
    if constexpr (kArguments == 2) {  // compilers make sixteen numbers of vectors beside two
      made.beside[0] = half_kernel<F, T, 0, Marks...>();
      made.beside[1] = half_kernel<F, T, 1, Marks...>();
    }
    return made;
  } else {
    if constexpr (kFloats<T>) {
      if constexpr (std::is_invocable_v<F, ArgOf<Marks, T>..., Watch<T>&>) return made;
    }
    if constexpr (kArguments == 2) made.beside[0] = number_kernel<0, kArguments, F, T>;
    made.beside[1] = number_kernel<1, kArguments, F, T>;
    return made;
  }
}

class Table {
 public:
  explicit Table(KernelTable& table) : table_(table) {}

  // Of those written in C++, which are right in integers of any width, see scalar_arithmetic.h.
  template <class... Marks, class L, class F>
  void add_native(const char* name, L types, F function) {
    add<Marks...>(name, types, function);
    if constexpr (takes_integers(L{})) {
      add<Marks...>(name, Narrow{}, function);
    }
    // Functions of real floating-point numbers alone take longer than a number takes to repeat.
    constexpr bool kIsShort =
        !std::is_same_v<L, std::remove_const_t<decltype(Types::kRealFloating)>>;
    constexpr size_t kArguments = sizeof...(Marks);
    if constexpr (kIsShort && (kArguments == 2 || kArguments == 3) &&
                  (std::is_same_v<Marks, V> && ...)) {
      add_beside_numbers<Marks...>(name, types, function);
      if constexpr (takes_integers(L{})) add_beside_numbers<Marks...>(name, Narrow{}, function);
    }
  }

  template <class... Marks, class F, class... T>
  void add(const char* name, List<T...>, F) {
    ByDType<TileKernel>& kernels = table_.scalars[name];
    ((kernels[dtype_of<T>] = kernel<F, T, Marks...>), ...);
    if constexpr ((std::is_same_v<T, float> || ...)) {
      kernels[DType::kFloat16] = half_kernel<F, Float16, kNoNumber, Marks...>();
      kernels[DType::kBFloat16] = half_kernel<F, BFloat16, kNoNumber, Marks...>();
    }
  }

 private:
  using Narrow = List<int8_t, int16_t, uint8_t, uint16_t, uint32_t>;

  template <class... Marks, class F, class... T>
  void add_beside_numbers(const char* name, List<T...>, F) {
    ByDType<NumberLoops>& loops = table_.numbers[name];
    const auto add_one = [&]<class One>(List<One>) {
      if constexpr (std::is_arithmetic_v<One> && !std::is_same_v<One, bool>) {
        loops[dtype_of<One>] = number_loops<F, One, Marks...>();
      }
      if constexpr (std::is_same_v<One, float>) {
        loops[DType::kFloat16] = number_loops<F, Float16, Marks...>();
        loops[DType::kBFloat16] = number_loops<F, BFloat16, Marks...>();
      }
    };
    (add_one(List<T>{}), ...);
  }

  KernelTable& table_;
};

#define TL_STEM_FILE TL_STRING(TL_JOIN(scalars, TL_STEM).inc)
#include TL_STEM_FILE
#undef TL_STEM_FILE

}  // namespace

void TL_FILL(TL_STEM)(KernelTable& kernels);
void TL_FILL(TL_STEM)(KernelTable& kernels) {
  Table table(kernels);
  TL_JOIN(add_scalars, TL_STEM)(table);
}

}  // namespace tensorlike
