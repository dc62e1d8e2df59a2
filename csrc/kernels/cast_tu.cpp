// Conversions, for one ISA level.
#include <cstring>

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

template <class T>
void copy_loop(void* const* out, const void* const* in, int64_t n) {
  std::memcpy(out[0], in[0], static_cast<size_t>(n) * sizeof(T));
}

// Whether a conversion is one loop; the others go through the dtypes that kernels compute in. A
// complex number has no real value unless its owner says which part, but it has a truth.
constexpr bool is_direct(DType from, DType to) {
  if (kind_of(from) == Kind::kComplex && kind_of(to) != Kind::kComplex) return to == DType::kBool;
  const bool both_compute = compute_of(from) == from && compute_of(to) == to;
  const bool is_wide = from == DType::kFloat64 || from == DType::kInt64 || from == DType::kUInt64;
  const bool rounds_once = is_wide && kind_of(to) == Kind::kFloating && compute_of(to) != to;
  return both_compute || rounds_once || compute_of(from) == to || compute_of(to) == from;
}

template <class From, class To>
constexpr TileKernel pick() {
  if constexpr (std::is_same_v<From, To>) {
    return copy_loop<From>;
  } else if constexpr (is_direct(dtype_of<From>, dtype_of<To>)) {
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
