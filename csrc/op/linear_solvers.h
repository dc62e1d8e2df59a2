// What inference and kernels of linear solvers both need to know.
#pragma once

#include "op/op.h"

namespace tensorlike {

// Of the elements of a complex vector, those whose squared sizes reach this part of the largest one
// count as the largest: which of equals is chosen must not hang on their last bits.
inline constexpr double kNearlyLargest = 0.998;

}  // namespace tensorlike
