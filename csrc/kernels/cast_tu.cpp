// Conversions, for one ISA level.
#include <cstring>

#include "base/conversion.h"
#include "kernels/half_loop.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

// A float becomes a narrow integer by way of the one that kernels compute in, so that it wraps
// around.
template <class To, class From>
[[gnu::always_inline]] inline To converted(From x) {
  if constexpr (kFloats<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    using Narrow = std::conditional_t<std::is_same_v<To, uint32_t>, int64_t, int32_t>;
    using Whole = std::conditional_t<compute_of(dtype_of<To>) == dtype_of<To>, To, Narrow>;
    static_assert(compute_of(dtype_of<To>) == dtype_of<Whole>);
    return static_cast<To>(cast<Whole>(x));
  } else {
    return cast<To>(x);
  }
}

template <class From, class To>
void cast_loop(void* const* out, const void* const* in, int64_t n) {
  const From* x = static_cast<const From*>(in[0]);
  To* y = static_cast<To*>(out[0]);
  if constexpr (std::is_same_v<From, bool> && (kFloats<To> || is_half<To>)) {
    // A choice vectorises, a conversion of truths does not.
    const To one = cast<To>(1);
    for (int64_t i = 0; i < n; ++i) y[i] = element(x, i) ? one : To(0);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = converted<To>(element(x, i));
  }
}

// Halves by way of float32, a vector at a time.
template <class From, class To>
void half_cast_loop(void* const* out, const void* const* in, int64_t n) {
  struct Convert {
    auto operator()(float x) const {
      if constexpr (is_half<To>) {
        return x;
      } else {
        return converted<To>(x);
      }
    }
  };
  HalfLoop<Convert, std::tuple<From>, std::tuple<To>>::run(out, in, n);
}

template <class T>
void copy_loop(void* const* out, const void* const* in, int64_t n) {
  std::memcpy(out[0], in[0], static_cast<size_t>(n) * sizeof(T));
}

// Between halves and what float32 holds; from truths a choice is quicker.
template <class From, class To>
constexpr bool kByVectors =
    is_half<From>
        ? std::is_same_v<To, float> || std::is_integral_v<To>
        : is_half<To> &&
              (std::is_same_v<From, float> ||
               (std::is_integral_v<From> && sizeof(From) <= 2 && !std::is_same_v<From, bool>));

template <class From, class To>
constexpr TileKernel pick() {
  if constexpr (std::is_same_v<From, To>) {
    return copy_loop<From>;
  } else if constexpr (kByVectors<From, To>) {
    return half_cast_loop<From, To>;
  } else if constexpr (converts_at_once(dtype_of<From>, dtype_of<To>)) {
    return cast_loop<From, To>;
  } else {
    return nullptr;
  }
}

}  // namespace

void TL_FILL(casts)(KernelTable& table);
void TL_FILL(casts)(KernelTable& table) {
  for (int from = 0; from < kDTypeCount; ++from) {
    visit_dtype(static_cast<DType>(from), [&](auto from_tag) {
      using From = typename decltype(from_tag)::type;
      for (int to = 0; to < kDTypeCount; ++to) {
        visit_dtype(static_cast<DType>(to), [&](auto to_tag) {
          table.casts[from][to] = pick<From, typename decltype(to_tag)::type>();
        });
      }
    });
  }
}

}  // namespace tensorlike
