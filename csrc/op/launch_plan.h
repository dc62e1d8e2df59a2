// A launch as it was found to be for inputs of one key, to be made again without asking: valid for
// as long as the op's class has the same kernel. All the rest that inference reads is the op's and
// never changes.
#pragma once

#include "op/launch_plans.h"
#include "op/op.h"

namespace tensorlike {

struct LaunchPlan {
  explicit LaunchPlan(const LaunchKey& key) : key(key) {}

  const LaunchKey key;
  Kernel kernel = nullptr;
  ViewRule view = nullptr;
  Views views;    // what the results are; none: they are computed
  Specs results;  // on the CPU
  SmallVector<Dims, 1> strides;
  SmallVector<int64_t, 2> counts;
  // For each result the inputs over which it may be written.
  SmallVector<uint32_t, 2> over;
  bool in_order = true;  // all results
  // Whether the kernel takes the inputs and fills the results as they are.
  bool is_direct = false;
};

}  // namespace tensorlike
