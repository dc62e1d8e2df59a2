// What kernels refuse of elements, which nobody has seen before them. Defined once, not per ISA
// level, so that no level's code is merged into another's.
#pragma once

#include <cstdint>

namespace tensorlike {

// Integers to a negative power are no integers.
[[noreturn]] void refuse_negative_power(int64_t exponent);

}  // namespace tensorlike
