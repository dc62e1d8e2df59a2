// The scalar functions of one declaration file as loops, for one ISA level: the generated file
// lists them, this one turns each into a TileKernel per dtype.
#include "kernels/scalar.h"

#include <tuple>
#include <utility>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

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
  static constexpr List<bool, int32_t, int64_t, float, double> kAll{};
  static constexpr List<int32_t, int64_t, float, double> kNumeric{};
  static constexpr List<int32_t, int64_t, float, double> kRealNumeric{};
  static constexpr List<float, double> kRealFloating{};
  static constexpr List<int32_t, int64_t> kInteger{};
  static constexpr List<bool, int32_t, int64_t> kIntegerOrBoolean{};
  static constexpr List<bool> kBoolean{};
};

template <class F, class T, class... Marks, size_t... I>
void loop(void* const* out, const void* const* in, int64_t n, std::index_sequence<I...>) {
  using Result = decltype(F{}(ArgOf<Marks, T>{}...));
  const auto args = std::tuple{static_cast<const ArgOf<Marks, T>*>(in[I])...};
  if constexpr (requires { std::tuple_size<Result>::value; }) {
    [&]<size_t... O>(std::index_sequence<O...>) {
      const auto results =
          std::tuple{static_cast<std::tuple_element_t<O, Result>*>(out[O])...};
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const Result result = F{}(std::get<I>(args)[i]...);
        ((std::get<O>(results)[i] = std::get<O>(result)), ...);
      }
    }(std::make_index_sequence<std::tuple_size_v<Result>>{});
  } else {
    Result* result = static_cast<Result*>(out[0]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) result[i] = F{}(std::get<I>(args)[i]...);
  }
}

class Table {
 public:
  explicit Table(KernelTable& table) : table_(table) {}

  template <class... Marks, class F, class... T>
  void add(const char* name, List<T...>, F) {
    ByDType<TileKernel>& kernels = table_.scalars[name];
    ((kernels[dtype_of<T>] =
          [](void* const* out, const void* const* in, int64_t n) {
            loop<F, T, Marks...>(out, in, n, std::index_sequence_for<Marks...>{});
          }),
     ...);
  }

 private:
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
