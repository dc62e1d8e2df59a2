// What inference and kernels of linear solvers both need to know.
#pragma once

#include "op/op.h"

namespace tensorlike {

// The attribute `rtol` of least squares with (m, n) matrices: singular values below it, relative
// to the largest, count as 0. None is the precision of the dtype times the larger size.
double least_squares_tolerance(const Op& op, DType dtype, int64_t m, int64_t n);

// Of the elements of a complex vector, those whose squared sizes reach this part of the largest one
// count as the largest: which of equals is chosen must not hang on their last bits.
inline constexpr double kNearlyLargest = 0.998;

}  // namespace tensorlike
