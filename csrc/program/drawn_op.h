// An op that draws random numbers, with another draw.
#pragma once

#include "program/draws.h"

namespace tensorlike {

// What the op was checked for holds of any draw.
Ref<Op> with_draw(const Op& op, const Draw& draw);

}  // namespace tensorlike
