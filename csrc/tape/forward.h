// Forward mode: the tangents of an op's results, found from its declared gradient.
#pragma once

#include "tape/tape.h"

namespace tensorlike {

struct Forward {
  Values outputs;
  Values tangents;  // one per output; null: nothing flows there
};

// Applies an op to values of any kind, and its derivative to their tangents (null: none), each of
// its value's shape and dtype. False: the op has no rule of its own and is to be taken through its
// body; nothing has been done then.
bool push_forward(const Op& op, Args primals, Args tangents, Forward& out);

}  // namespace tensorlike
