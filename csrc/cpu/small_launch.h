// The short way of small tensors: see launch_small in tensor/raw_tensor.h.
#pragma once

#include "op/op.h"

namespace tensorlike {

Ref<Value> small_launch(const Op& op, Args args);

}  // namespace tensorlike
