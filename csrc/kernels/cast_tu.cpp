// Conversions between all pairs of dtypes, for one ISA level.
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

}  // namespace

void TL_FILL(casts)(KernelTable& table);
void TL_FILL(casts)(KernelTable& table) {
  for (int from = 0; from < kDTypeCount; ++from) {
    visit_dtype(static_cast<DType>(from), [&](auto from_tag) {
      for (int to = 0; to < kDTypeCount; ++to) {
        visit_dtype(static_cast<DType>(to), [&](auto to_tag) {
          table.casts[from][to] =
              cast_loop<typename decltype(from_tag)::type, typename decltype(to_tag)::type>;
        });
      }
    });
  }
}

}  // namespace tensorlike
