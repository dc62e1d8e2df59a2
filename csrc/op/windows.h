// What the attributes of convolutions and pooling mean for tensors of given shapes: checked once
// here, for inference and kernels alike.
#pragma once

#include "base/shape.h"
#include "base/window.h"
#include "op/op.h"

namespace tensorlike {

// Each throws when the shapes and attributes do not fit each other.
Convolution convolution_of(const Op& op, const Dims& x, const Dims& weight);
// The convolution whose data gradient this is: its y is our x.
Convolution transposed_convolution_of(const Op& op, const Dims& x, const Dims& weight);
Convolution weight_convolution_of(const Op& op, const Dims& x, const Dims& gradient);

struct Pooling {
  PoolWindow window;
  int64_t planes = 0;
  Dims shape;  // of the result
};
Pooling pooling_of(const Op& op, const Dims& x);

}  // namespace tensorlike
