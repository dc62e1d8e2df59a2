// Launches that repeat: what the first ones found out, by the layout of their inputs (LaunchPlan),
// is not asked again. The kernel runs as it would otherwise; only the way to it is shorter.
#pragma once

#include "op/launch_plans.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

// Whether a launch of these inputs may be planned, by which key.
bool may_plan(Arrays inputs, LaunchKey& key);
// Whether a launch of these inputs has a plan.
bool is_planned(const Op& op, Arrays inputs);
// Makes the results by the op's plan; false: there is none. `donated` and `holds` as for `execute`.
bool launch_planned(const Op& op, RawArgs inputs, Arrays arrays, uint32_t donated, int64_t holds,
                    const LaunchKey& key, Values& results);
// The one view of x that the result is, where the op's plan says so; else null.
Ref<Value> view_planned(const Op& op, RawTensor& x, const LaunchKey& key);
// Keeps a plan of a launch that gave these results, if such a launch comes again. `is_direct`: see
// LaunchPlan.
void plan_launch(const Op& op, RawArgs inputs, const LaunchKey& key, const Specs& specs,
                 const Values& results, bool is_direct);

}  // namespace tensorlike
