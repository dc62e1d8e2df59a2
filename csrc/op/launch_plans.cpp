#include "op/launch_plans.h"

#include "op/launch_plan.h"

namespace tensorlike {

bool LaunchKey::set(Arrays inputs) {
  size_t words = inputs.size();
  for (const Array* x : inputs) {
    if (!x->device.is_cpu()) return false;
    words += 2 * x->shape.size();
  }
  if (words > kMost) return false;
  for (const Array* x : inputs) {
    const size_t ndim = x->shape.size();
    add(static_cast<uint64_t>(x->dtype) << 8 | ndim);
    const int64_t* const shape = x->shape.data();
    const int64_t* const strides = x->strides.data();
    for (size_t i = 0; i < ndim; ++i) {
      add(static_cast<uint64_t>(shape[i]));
      add(static_cast<uint64_t>(strides[i]));
    }
  }
  hash_ ^= hash_ >> 29;
  hash_ *= 0xBF58476D1CE4E5B9ULL;
  return true;
}

LaunchPlans::LaunchPlans() = default;
LaunchPlans::~LaunchPlans() = default;

const LaunchPlan* LaunchPlans::plan_of(const LaunchKey& key) const {
  const LaunchPlan* const plan = slots_[place_of(key.hash())].plan.get();
  return plan != nullptr && plan->key == key ? plan : nullptr;
}

bool LaunchPlans::comes_again(const LaunchKey& key) {
  const Hold hold(is_busy_);
  if (!hold) return false;
  const uint64_t hash = key.hash() | 1;  // 0: none yet
  if (slots_.empty()) {
    const uint64_t first = std::exchange(first_, hash);
    if (first == 0) return false;
    slots_.resize(kSlots);
    return first == hash;
  }
  return std::exchange(slots_[place_of(hash)].missed, hash) == hash;
}

void LaunchPlans::keep(std::unique_ptr<LaunchPlan> plan) {
  const Hold hold(is_busy_);
  if (!hold || slots_.empty()) return;
  Slot& slot = slots_[place_of(plan->key.hash())];
  slot.plan = std::move(plan);
}

}  // namespace tensorlike
