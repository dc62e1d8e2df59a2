// The CPU as a backend: its memory is the host's, and what is asked for is done when the call
// returns.
#pragma once

#include "op/registry.h"

namespace tensorlike {

// Adds the device "cpu", its kernels, and the short way for small tensors.
void register_cpu(Registry& registry);

}  // namespace tensorlike
