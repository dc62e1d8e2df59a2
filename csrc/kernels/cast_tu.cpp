// Conversions, for one ISA level.
#include <algorithm>
#include <cstring>
#include <type_traits>

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
  if constexpr (std::is_same_v<From, bool> && kFloats<To>) {
    // A choice vectorises, a conversion of truths does not.
    const To one = cast<To>(1);
    for (int64_t i = 0; i < n; ++i) y[i] = element(x, i) ? one : To(0);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = converted<To>(element(x, i));
  }
}

// Halves to float32 and back, a vector at a time.
template <class From, class To>
void half_cast_loop(void* const* out, const void* const* in, int64_t n) {
  struct Convert {
    float operator()(float x) const { return x; }
  };
  HalfLoop<Convert, std::tuple<From>, std::tuple<To>>::run(out, in, n);
}

template <class From, class To>
constexpr TileKernel loop_of() {
  if constexpr (is_half<From> || is_half<To>) return half_cast_loop<From, To>;
  return cast_loop<From, To>;
}

// By way of float32, which holds the numbers of both or of the one that they come from.
template <class From, class To>
void loop_by_float(void* const* out, const void* const* in, int64_t n) {
  constexpr int64_t kPiece = 512;
  alignas(64) float buffer[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    const void* from = static_cast<const From*>(in[0]) + i;
    void* to = static_cast<To*>(out[0]) + i;
    void* made = buffer;
    const void* read = buffer;
    loop_of<From, float>()(&made, &from, count);
    loop_of<float, To>()(&to, &read, count);
  }
}

template <class T>
void copy_loop(void* const* out, const void* const* in, int64_t n) {
  std::memcpy(out[0], in[0], static_cast<size_t>(n) * sizeof(T));
}

template <class From, class To>
constexpr bool kGoesByFloat =
    is_half<From> ? std::is_integral_v<To>
                  : is_half<To> && std::is_integral_v<From> && sizeof(From) <= 2;

template <class From, class To>
constexpr TileKernel pick() {
  if constexpr (std::is_same_v<From, To>) {
    return copy_loop<From>;
  } else if constexpr (kGoesByFloat<From, To>) {
    return loop_by_float<From, To>;
  } else if constexpr ((is_half<From> && std::is_same_v<To, float>) ||
                       (std::is_same_v<From, float> && is_half<To>)) {
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
