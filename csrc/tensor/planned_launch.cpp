#include "tensor/planned_launch.h"

#include <bit>

#include "base/arguments.h"
#include "op/launch_plan.h"
#include "tensor/kernel_run.h"

namespace tensorlike {
namespace {

// A result of the plan, whose elements are not set, over the first of the available inputs that
// it may be written over.
Ref<RawTensor> place(const LaunchPlan& plan, size_t k, RawArgs inputs, uint32_t& available) {
  if (const uint32_t over = plan.over[k] & available; over != 0) {
    const int first = std::countr_zero(over);
    available &= ~argument_bit(static_cast<size_t>(first));
    return over_tensor(plan.results[k], *inputs[static_cast<size_t>(first)]);
  }
  const Spec& spec = plan.results[k];
  const int64_t count = plan.counts[k];
  Ref<Storage> storage = Storage::allocate(static_cast<size_t>(count) * size_of(spec.dtype));
  if (plan.in_order) {
    return make_ref<RawTensor>(spec.dtype, spec.shape, plan.strides[k], count, std::move(storage));
  }
  char* const data = storage->data();
  return make_ref<RawTensor>(spec.dtype, spec.shape, plan.strides[k], std::move(storage), data);
}

// Whether the op's class still has what the plan was made with.
bool is_valid(const LaunchPlan& plan, const Op& op) {
  return plan.kernel == op.cls.kernel(Device()).run && plan.view == op.cls.view;
}

// Whether all lie as results in memory of their own do; one that was written over may not.
bool lie_as_new(const Op& op, Arrays inputs, const Specs& specs, const Values& results) {
  for (size_t k = 0; k < specs.size(); ++k) {
    const Dims& strides = static_cast<const RawTensor&>(*results[k]).strides;
    if (!(strides == result_strides(op, inputs, specs[k]))) return false;
  }
  return true;
}

}  // namespace

bool may_plan(Arrays inputs, LaunchKey& key) {
  return (!inputs.empty() || default_device.is_cpu()) && key.set(inputs);
}

bool is_planned(const Op& op, Arrays inputs) {
  LaunchKey key;
  return may_plan(inputs, key) &&
         op.plans.find(key, [&](const LaunchPlan& plan) { return is_valid(plan, op); });
}

bool launch_planned(const Op& op, RawArgs inputs, Arrays arrays, uint32_t donated, int64_t holds,
                    const LaunchKey& key, Values& results) {
  bool is_view = false;
  bool is_direct = false;
  const bool is_found = op.plans.find(key, [&](const LaunchPlan& plan) {
    if (!is_valid(plan, op)) return false;
    is_view = !plan.views.empty();
    is_direct = plan.is_direct;
    for (const View& view : plan.views) results.push_back(seen_through(*inputs[0], view));
    uint32_t available = is_view ? 0 : reusable(op, inputs, donated, holds);
    for (size_t k = 0; !is_view && k < plan.results.size(); ++k) {
      results.push_back(place(plan, k, inputs, available));
    }
    return true;
  });
  if (!is_found || is_view) return is_found;
  SmallVector<const Array*, 2> outputs;
  for (const Ref<Value>& result : results) {
    outputs.push_back(static_cast<RawTensor*>(result.get()));
  }
  Workspace workspace;
  const Arrays written(outputs.data(), outputs.size());
  is_direct ? op.cls.kernel(Device()).run(op, arrays, written, workspace)
            : compute(op, arrays, written, workspace);
  return true;
}

Ref<Value> view_planned(const Op& op, RawTensor& x, const LaunchKey& key) {
  Ref<Value> seen;
  op.plans.find(key, [&](const LaunchPlan& plan) {
    if (!is_valid(plan, op) || plan.views.size() != 1) return false;
    seen = seen_through(x, plan.views[0]);
    return true;
  });
  return seen;
}

void plan_launch(const Op& op, RawArgs inputs, const LaunchKey& key, const Specs& specs,
                 const Values& results, bool is_direct) {
  if (results.empty() || !op.plans.comes_again(key)) return;
  auto plan = std::make_unique<LaunchPlan>(key);
  plan->kernel = op.cls.kernel(Device()).run;
  plan->view = op.cls.view;
  plan->results = specs;
  plan->is_direct = is_direct;
  if (op.cls.view == nullptr || !op.cls.view(op, *inputs[0], specs, plan->views)) {
    plan->views.clear();
  }
  if (plan->views.empty()) {
    const SmallVector<const Array*, 12> pointers(inputs.begin(), inputs.end());
    const Arrays arrays(pointers.data(), pointers.size());
    if (!lie_as_new(op, arrays, specs, results)) return;
    plan->over = overwritable(op, arrays, specs);
  }
  for (const Ref<Value>& value : results) {
    const auto& result = static_cast<const RawTensor&>(*value);
    plan->strides.push_back(result.strides);
    plan->counts.push_back(result.count);
    plan->in_order = plan->in_order && result.is_contiguous;
  }
  op.plans.keep(std::move(plan));
}

}  // namespace tensorlike
