// Ops that make something of sizes alone: constants, ranges, broadcasts of constants. No
// tensor-like among their arguments says what applying them means, where one of the sizes is not
// known.
#pragma once

#include "op/op.h"

namespace tensorlike {

// While it is set, it sees such ops on RawTensors, and those without arguments, before they run,
// and may have another meaning for one.
inline bool (*apply_creation)(const Op& op, Args args, Values& out) = nullptr;

}  // namespace tensorlike
