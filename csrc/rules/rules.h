// Gradients and bodies that are written in code, a file for each family of ops.
#pragma once

#include "op/registry.h"

namespace tensorlike {

// Hands them down to the registry, by the names that declarations use.
void register_gradients(Registry& registry);

}  // namespace tensorlike
