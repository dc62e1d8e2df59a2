// What inference and kernels of linear solvers both need to know.
#pragma once

#include "op/op.h"

namespace tensorlike {

// The attribute `rtol` of least squares with (m, n) matrices: singular values below it, relative
// to the largest, count as 0. None is the precision of the dtype times the larger size.
double least_squares_tolerance(const Op& op, DType dtype, int64_t m, int64_t n);

}  // namespace tensorlike
