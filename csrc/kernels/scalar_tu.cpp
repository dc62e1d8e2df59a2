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
struct Types {
  struct All {};
  struct Numeric {};
  struct RealNumeric {};
  struct RealFloating {};
  struct Integer {};
  struct IntegerOrBoolean {};
  struct Boolean {};
  static constexpr All kAll{};
  static constexpr Numeric kNumeric{};
  static constexpr RealNumeric kRealNumeric{};
  static constexpr RealFloating kRealFloating{};
  static constexpr Integer kInteger{};
  static constexpr IntegerOrBoolean kIntegerOrBoolean{};
  static constexpr Boolean kBoolean{};
};

template <class... T>
struct List {};

List<bool, int32_t, int64_t, float, double> types_of(Types::All);
List<int32_t, int64_t, float, double> types_of(Types::Numeric);
List<int32_t, int64_t, float, double> types_of(Types::RealNumeric);
List<float, double> types_of(Types::RealFloating);
List<int32_t, int64_t> types_of(Types::Integer);
List<bool, int32_t, int64_t> types_of(Types::IntegerOrBoolean);
List<bool> types_of(Types::Boolean);

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

  template <class... Marks, class Set, class F>
  void add(const char* name, Set set, F) {
    add_types<F, Marks...>(table_.scalars[name], decltype(types_of(set)){});
  }

 private:
  template <class F, class... Marks, class... T>
  void add_types(ByDType<TileKernel>& kernels, List<T...>) {
    ((kernels[dtype_of<T>] =
          [](void* const* out, const void* const* in, int64_t n) {
            loop<F, T, Marks...>(out, in, n, std::index_sequence_for<Marks...>{});
          }),
     ...);
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
