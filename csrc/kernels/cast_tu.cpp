// Conversions, for one ISA level.
#include <cstring>

#include "kernels/half_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own

#include "base/conversion.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/scalar.h"

namespace tensorlike {
namespace {

template <class From, class To>
void cast_loop(void* const* out, const void* const* in, int64_t n) {
  const From* x = static_cast<const From*>(in[0]);
  To* y = static_cast<To*>(out[0]);
  for (int64_t i = 0; i < n; ++i) y[i] = cast<To>(x[i]);
}

template <class Half>
void widen_loop(void* const* out, const void* const* in, int64_t n) {
  const Half* x = static_cast<const Half*>(in[0]);
  float* y = static_cast<float*>(out[0]);
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>) {
    store(y + i, widened_vector(load_bits<Halves>(x + i), Half{}));
  }
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

template <class Half>
void narrow_loop(void* const* out, const void* const* in, int64_t n) {
  const float* x = static_cast<const float*>(in[0]);
  Half* y = static_cast<Half*>(out[0]);
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>) {
    const Halves bits = narrowed_vector(load<Vector<float>>(x + i), Half{});
    __builtin_memcpy(static_cast<void*>(y + i), &bits, sizeof(bits));
  }
  for (; i < n; ++i) y[i] = static_cast<Half>(x[i]);
}

template <class T>
void copy_loop(void* const* out, const void* const* in, int64_t n) {
  std::memcpy(out[0], in[0], static_cast<size_t>(n) * sizeof(T));
}

template <class From, class To>
constexpr TileKernel pick() {
  if constexpr (std::is_same_v<From, To>) {
    return copy_loop<From>;
  } else if constexpr (is_half<From> && std::is_same_v<To, float>) {
    return widen_loop<From>;
  } else if constexpr (std::is_same_v<From, float> && is_half<To>) {
    return narrow_loop<To>;
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
