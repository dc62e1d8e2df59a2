// x ** number, where a cheaper op than `pow` gives what `pow` would.
#pragma once

#include "base/ref.h"
#include "op/op.h"

namespace tensorlike {

// x ** exponent for the exponents 2, 3, 1/2 and -1, as products, `sqrt` or `reciprocal`; null where
// it takes `pow`: another exponent, a dtype that `pow` converts, a tensor-like that does not tell
// its dtype.
//
// The dtype is that of `pow`, and so are the values, but that x ** 3 is rounded twice and that
// x ** 0.5 is the square root, which is NaN for -inf and -0 for -0.
Ref<Value> power_of_number(Value& x, const Literal& exponent);

// Throws where an integer would be raised to a negative number: the result is none.
void check_exponent(const Value& x, const Literal& exponent);

}  // namespace tensorlike
