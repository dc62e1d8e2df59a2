// The attributes of Pad, read.
#pragma once

#include "op/op.h"

namespace tensorlike {

enum class PadMode { kConstant, kEdge, kReflect, kCircular };

// Throws for a mode that is none of these.
PadMode pad_mode(const Op& op);

}  // namespace tensorlike
