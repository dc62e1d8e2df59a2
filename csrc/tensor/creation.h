// Ops that make something of sizes alone: constants, ranges, broadcasts of constants. No
// tensor-like among their arguments says what applying them means, where one of the sizes is not
// known.
#pragma once

#include <atomic>

#include "op/op.h"

namespace tensorlike {

// While it is set, it sees such ops on RawTensors, and those without arguments, before they run,
// and may have another meaning for one.
using CreationRule = bool (*)(const Op& op, Args args, Values& out);
inline std::atomic<CreationRule> apply_creation = nullptr;

inline bool applies_creation(const Op& op, Args args, Values& out) {
  const CreationRule rule = apply_creation.load(std::memory_order_relaxed);
  return rule != nullptr && rule(op, args, out);
}

}  // namespace tensorlike
