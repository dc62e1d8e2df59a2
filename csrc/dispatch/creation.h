// Ops without arguments have no tensor-like that says what applying them means.
#pragma once

#include "op/op.h"

namespace tensorlike {

// While it is set, it sees such ops before they run, and may have another meaning for one.
inline bool (*apply_creation)(const Op& op, Values& out) = nullptr;

}  // namespace tensorlike
