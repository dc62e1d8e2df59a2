#include "tensor/body_plan.h"

#include <algorithm>

namespace tensorlike {
namespace {

bool is_zero(const Literal& literal) {
  return std::visit([](auto value) { return value == decltype(value)(0); }, literal);
}

bool is_call_of(const CompiledStep& step, std::string_view name) {
  return step.op && step.op->scalar != nullptr && step.op->scalar->spec.name == name;
}

}  // namespace

const CompiledStep& BodyPlan::step_of(int slot) const {
  const auto behind =
      std::upper_bound(body_.steps.begin(), body_.steps.end(), slot,
                       [](int wanted, const CompiledStep& step) { return wanted < step.slot; });
  return *std::prev(behind);
}

bool BodyPlan::is_absent(int slot) const {
  if (is_made()) return at(slot).is_absent;
  return slot < std::min(body_.inputs, 64) && (absent_ >> slot & 1U) != 0;
}

bool BodyPlan::runs(const CompiledStep& step) const {
  if (!is_made()) return true;
  for (int k = 0; k < step.outputs; ++k) {
    if (at(step.slot + k).is_live) return !at(step.slot).is_absent;
  }
  return false;
}

// What becomes of a step whose arguments are known.
void BodyPlan::follow(const CompiledStep& step, StepAttrs& attrs) {
  Slot& result = at(step.slot);
  if (step.kind == CompiledStep::Kind::kChoice) {
    result.same_as = step.args[attrs.holds(step.attrs[0].second) ? 0 : 1];
    result.is_absent = at(result.same_as).is_absent || at(result.same_as).is_zero;
    return;
  }
  uint32_t absent = 0;
  uint32_t zeros = 0;
  for (size_t k = 0; k < step.args.size() && k < 32; ++k) {
    if (at(step.args[k]).is_absent) absent |= 1U << k;
    if (at(step.args[k]).is_zero) zeros |= 1U << k;
  }
  if (absent == 0) return;
  const bool is_gone = std::any_of(step.linear.begin(), step.linear.end(), [&](uint32_t group) {
    return (group & absent) != 0 && (group & ~(absent | zeros)) == 0;
  });
  if (is_gone) {
    for (int k = 0; k < step.outputs; ++k) at(step.slot + k).is_absent = true;
  } else if (is_call_of(step, "add")) {
    result.same_as = step.args[absent == 1 ? 1 : 0];
  } else if (is_call_of(step, "subtract") && absent == 2) {
    result.same_as = step.args[0];
  }
}

// The shapes that an attribute reads.
void BodyPlan::read_shapes(const AttrExpr& expr) {
  const bool is_of_slot = expr.kind == AttrExpr::Kind::kShape ||
                          expr.kind == AttrExpr::Kind::kDim || expr.kind == AttrExpr::Kind::kRank;
  if (is_of_slot) at(expr.slot).has_reader = true;
  for (const AttrExpr& part : expr.parts) read_shapes(part);
}

// What a live step needs.
void BodyPlan::ask_for(const CompiledStep& step) {
  const Slot& result = at(step.slot);
  if (result.same_as >= 0) {
    at(result.same_as).is_live = true;
    at(result.same_as).has_reader |= result.has_reader;
    return;
  }
  for (const int slot : step.args) at(slot).is_live = at(slot).has_reader = true;
  for (const auto& [index, expr] : step.attrs) read_shapes(expr);
}

void BodyPlan::make(StepAttrs& attrs) {
  const int inputs = body_.inputs;
  const std::vector<Literal>& constants = body_.constants;
  const size_t first = static_cast<size_t>(inputs) + constants.size();
  const auto* last = body_.steps.empty() ? nullptr : &body_.steps.back();
  SmallVector<Slot, 64> slots(last ? static_cast<size_t>(last->slot + last->outputs) : first);
  for (int i = 0; i < std::min(inputs, 64); ++i) {
    slots[static_cast<size_t>(i)].is_absent = (absent_ >> i & 1U) != 0;
  }
  for (size_t i = 0; is_rule_ && i < constants.size(); ++i) {
    slots[static_cast<size_t>(inputs) + i].is_zero = is_zero(constants[i]);
  }
  slots_ = std::move(slots);
  for (const CompiledStep& step : body_.steps) follow(step, attrs);
  for (size_t i = 0; i < body_.results.size(); ++i) {
    if (is_wanted(i)) at(body_.results[i]).is_live = true;
  }
  for (auto step = body_.steps.rbegin(); step != body_.steps.rend(); ++step) {
    if (runs(*step)) ask_for(*step);
  }
}

}  // namespace tensorlike
