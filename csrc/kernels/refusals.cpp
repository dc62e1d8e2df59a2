#include "kernels/refusals.h"

#include "base/error.h"

namespace tensorlike {

void refuse_negative_power(int64_t exponent) {
  fail(ErrorKind::kOverflow,
       "pow: the exponent must not be negative where integers are raised; got ", exponent,
       "; raise floats: astype(x, float64).");
}

}  // namespace tensorlike
