// Calls into libraries: the rules of every op whose kernel a library has.
#pragma once

#include "op/op.h"

namespace tensorlike {

void run_of_library(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace);
Specs infer_of_library(const Op& op, std::span<const Spec> inputs);

}  // namespace tensorlike
