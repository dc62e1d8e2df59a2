// Gradients of parts and joints.
#include <algorithm>

#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

// Each of many parts of one tensor adds to its own elements: they cost what the parts cost.
void grad_subtensor(GradCall& c) {
  const Attr& items = c.op.attr("items");
  Ref<Value> part(c.cotangents[0]);
  if (c.has_total(0)) {
    const Ref<Value> before = call("subtensor", {c.totals[0]->get()}, {{"items", items}});
    part = call("add", {before.get(), part.get()});
  }
  const Ref<Op> set = registry().find_function("set_subtensor")->make_op({items});
  Value* value = part.get();
  c.result(0) = apply_over(*set, c.take_total(0), {&value, 1});
}

std::vector<int64_t> whole_slices(size_t ndim) {
  std::vector<int64_t> items;
  for (size_t i = 0; i < ndim; ++i) {
    items.insert(items.end(),
                 {static_cast<int64_t>(ItemKind::kSlice), kNoBound, kNoBound, kNoBound});
  }
  return items;
}

void grad_concat(GradCall& c) {
  const size_t ndim = c.node.outputs()[0].shape.size();
  const size_t axis = static_cast<size_t>(
      normalize_axis(c.op.name(), c.op.get<int64_t>("axis"), static_cast<int64_t>(ndim)));
  int64_t at = 0;
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    const int64_t end = at + c.node.input_spec(i).shape[axis];
    std::vector<int64_t> items = whole_slices(ndim);
    items[axis * 4 + 1] = at;
    items[axis * 4 + 2] = end;
    if (c.wants(i)) c.result(i) = call("subtensor", {c.cotangents[0]}, {{"items", items}});
    at = end;
  }
}

void grad_stack(GradCall& c) {
  const size_t ndim = c.node.outputs()[0].shape.size();
  const size_t axis = static_cast<size_t>(
      normalize_axis(c.op.name(), c.op.get<int64_t>("axis"), static_cast<int64_t>(ndim)));
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    if (!c.wants(i)) continue;
    std::vector<int64_t> items = whole_slices(ndim);
    items[axis * 4] = static_cast<int64_t>(ItemKind::kInteger);
    items[axis * 4 + 1] = static_cast<int64_t>(i);
    c.result(i) = call("subtensor", {c.cotangents[0]}, {{"items", items}});
  }
}

void grad_split(GradCall& c) {
  Values held;
  SmallVector<Value*, 4> parts;
  Value* like = *std::find_if(c.cotangents.begin(), c.cotangents.end(),
                              [](Value* v) { return v != nullptr; });
  for (size_t i = 0; i < c.cotangents.size(); ++i) {
    held.push_back(c.cotangents[i] != nullptr ? Ref<Value>(c.cotangents[i])
                                              : zeros(c.node.outputs()[i], *like));
    parts.push_back(held.back().get());
  }
  const Ref<Op> op = registry().find_function("concat")->make_op({c.op.attr("axis")});
  c.result(0) = apply(*op, {parts.data(), parts.size()})[0];
}

constexpr std::pair<std::string_view, GradRule> kLayoutGradients[] = {
    {"subtensor", {grad_subtensor, 0, false, nullptr, nullptr, true}},
    {"concat", {grad_concat, 0, false}},
    {"stack", {grad_stack, 0, false}},
    {"split", {grad_split, 0, false}},
};

}  // namespace

RuleTable<GradRule> layout_gradients() { return kLayoutGradients; }

}  // namespace tensorlike
