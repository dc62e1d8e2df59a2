// argmax and argmin: a reduction whose result is a place, not a combination.
#pragma once

#include "tensor/raw_tensor.h"

namespace tensorlike {

// Writes the position, along `axes`, of the first extreme of x; NaN is the most extreme. `axes`
// is one axis or all, and not empty of elements. `out` is contiguous, of int64.
void arg_reduce(const RawTensor& x, const Dims& axes, bool wants_largest, RawTensor& out);

}  // namespace tensorlike
