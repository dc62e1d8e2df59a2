// The short ways of small tensors: see launch_small in tensor/raw_tensor.h, and
// tensor/small_assignment.h.
#pragma once

#include "op/op.h"

namespace tensorlike {

Ref<Value> small_launch(const Op& op, Args args);
bool set_few(const Op& op, RawTensor& x, const Array& value);

}  // namespace tensorlike
