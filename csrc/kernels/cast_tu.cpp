// Conversions, for one ISA level.
#include <cstring>

#include "base/conversion.h"
#include "kernels/half_loop.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

template <class From, class To>
void cast_loop(void* const* out, const void* const* in, int64_t n) {
  const From* x = static_cast<const From*>(in[0]);
  To* y = static_cast<To*>(out[0]);
  if constexpr (std::is_same_v<From, bool> && (kFloats<To> || is_half<To>)) {
    // A choice vectorises, a conversion of truths does not.
    const To one = cast<To>(1);
    for (int64_t i = 0; i < n; ++i) y[i] = element(x, i) ? one : To(0);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = cast<To>(x[i]);
  }
}

// Halves to float32 and back, a vector at a time.
template <class From, class To>
void half_cast_loop(void* const* out, const void* const* in, int64_t n) {
  struct Same {
    float operator()(float x) const { return x; }
  };
  HalfLoop<Same, std::tuple<From>, std::tuple<To>>::run(out, in, n);
}

template <class T>
void copy_loop(void* const* out, const void* const* in, int64_t n) {
  std::memcpy(out[0], in[0], static_cast<size_t>(n) * sizeof(T));
}

template <class From, class To>
constexpr TileKernel pick() {
  if constexpr (std::is_same_v<From, To>) {
    return copy_loop<From>;
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
