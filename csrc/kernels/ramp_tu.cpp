// Numbers that are counted, for one ISA level: start + (first + i) * step. Compiled without fused
// multiply-adds, so that the bits are the same on every level.
#include <type_traits>

#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int64_t kRampRun = 4096;  // numbers that an int32 counts

// Whole numbers wrap, so that those of the dtype's own width give the same bits; bool has no width.
template <class T>
struct RampWord {
  using type = std::make_unsigned_t<T>;
};
template <>
struct RampWord<bool> {
  using type = uint64_t;
};

template <class T>
void whole_ramp(void* out, int64_t n, int64_t first, const Ramp& ramp) {
  using Word = typename RampWord<T>::type;
  T* __restrict__ y = static_cast<T*>(out);
  const Word step = static_cast<Word>(ramp.whole_step);
  Word value = static_cast<Word>(ramp.whole_start + static_cast<uint64_t>(first) * ramp.whole_step);
  for (int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<T>(value);
    value = static_cast<Word>(value + step);
  }
}

// Each from its own place, in double, so that errors do not add up.
template <class T>
void ramp(void* out, int64_t n, int64_t first, const Ramp& ramp) {
  T* __restrict__ y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; i += kRampRun) {
    const int32_t run = static_cast<int32_t>(n - i < kRampRun ? n - i : kRampRun);
    const double before = static_cast<double>(first + i);
    for (int32_t j = 0; j < run; ++j) {
      const double at = before + static_cast<double>(j);
      y[i + j] = static_cast<T>(ramp.start + at * ramp.step);
    }
  }
}

}  // namespace

void TL_FILL(ramps)(KernelTable& table);
void TL_FILL(ramps)(KernelTable& table) {
  for (int d = 0; d < kDTypeCount; ++d) {
    visit_dtype(static_cast<DType>(d), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) {
        table.ramps[static_cast<DType>(d)] = whole_ramp<T>;
      } else {
        table.ramps[static_cast<DType>(d)] = ramp<T>;
      }
    });
  }
}

}  // namespace tensorlike
