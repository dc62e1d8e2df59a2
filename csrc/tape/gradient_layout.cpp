// Gradients of the ops that move elements: parts, joints, and where indices point.
#include <algorithm>

#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

void grad_transpose(GradCall& c) {
  const std::vector<int64_t>& axes = c.op.get<std::vector<int64_t>>("axes");
  const int64_t ndim = static_cast<int64_t>(axes.size());
  std::vector<int64_t> inverse(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    inverse[static_cast<size_t>(normalize_axis(c.op.name(), axes[i], ndim))] =
        static_cast<int64_t>(i);
  }
  c.result(0) = call("permute_dims", {c.cotangents[0]}, {{"axes", inverse}});
}

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

void grad_set_subtensor(GradCall& c) {
  if (c.wants(0)) {
    const Ref<Value> zero = zeros({c.node.input_spec(1).dtype, {}}, *c.cotangents[0]);
    c.result(0) =
        call("set_subtensor", {c.cotangents[0], zero.get()}, {{"items", c.op.attr("items")}});
  }
  if (c.wants(1)) {
    c.result(1) = call("subtensor", {c.cotangents[0]}, {{"items", c.op.attr("items")}});
  }
}

// The op of an indexing function along the node's axes.
Ref<Op> index_op(const GradCall& c, const char* name) {
  return registry().find_function(name)->make_op({c.op.attr("axes")});
}

// `first`, and behind it the indices that the node has saved.
SmallVector<Value*, 4> with_indices(const GradCall& c, std::initializer_list<Value*> first,
                                    size_t first_index) {
  SmallVector<Value*, 4> args(first.begin(), first.end());
  for (size_t i = first_index; i < c.inputs.size(); ++i) args.push_back(c.inputs[i]);
  return args;
}

Ref<Value> index_call(GradCall& c, const char* name, std::initializer_list<Value*> first,
                      size_t first_index) {
  const SmallVector<Value*, 4> args = with_indices(c, first, first_index);
  return apply(*index_op(c, name), {args.data(), args.size()})[0];
}

// The cotangent's elements where a node wrote; `last_only`: where it wrote one over the other.
Ref<Value> gathered(GradCall& c, bool last_only) {
  const SmallVector<Value*, 4> args = with_indices(c, {c.cotangents[0]}, 2);
  const Ref<Op> op = registry().find_function("gather")->make_op({c.op.attr("axes"), last_only});
  return apply_one(*op, {args.data(), args.size()});
}

void grad_gather(GradCall& c) {
  if (c.op.get<bool>("last_only")) {
    const Ref<Value> empty = zeros(c.node.input_spec(0), *c.cotangents[0]);
    const Ref<Value> own = index_call(c, "scatter_set", {empty.get(), c.cotangents[0]}, 1);
    c.result(0) = c.has_total(0) ? call("add", {c.take_total(0).get(), own.get()}) : own;
    return;
  }
  const SmallVector<Value*, 4> others = with_indices(c, {c.cotangents[0]}, 1);
  c.result(0) =
      apply_over(*index_op(c, "scatter_add"), c.take_total(0), {others.data(), others.size()});
}

void grad_scatter_set(GradCall& c) {
  if (c.wants(0)) {
    const Ref<Value> zero = zeros({c.node.input_spec(0).dtype, {}}, *c.cotangents[0]);
    c.result(0) = index_call(c, "scatter_set", {c.cotangents[0], zero.get()}, 2);
  }
  if (c.wants(1)) c.result(1) = gathered(c, true);
}

void grad_scatter_add(GradCall& c) {
  if (c.wants(0)) c.result(0) = Ref<Value>(c.cotangents[0]);
  if (c.wants(1)) c.result(1) = gathered(c, false);
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
  const size_t ndim = c.node.outputs[0].shape.size();
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
  const size_t ndim = c.node.outputs[0].shape.size();
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
                                              : zeros(c.node.outputs[i], *like));
    parts.push_back(held.back().get());
  }
  const Ref<Op> op = registry().find_function("concat")->make_op({c.op.attr("axis")});
  c.result(0) = apply(*op, {parts.data(), parts.size()})[0];
}

constexpr uint32_t kIndices1 = ~1U;  // every input but the first
constexpr uint32_t kIndices2 = ~3U;

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"transpose", {grad_transpose, 0, false}},
    {"subtensor", {grad_subtensor, 0, false, nullptr, nullptr, true}},
    {"set_subtensor", {grad_set_subtensor, 0, false}},
    {"gather", {grad_gather, kIndices1, false, nullptr, nullptr, true}},
    {"scatter_set", {grad_scatter_set, kIndices2, false}},
    {"scatter_add", {grad_scatter_add, kIndices2, false}},
    {"concat", {grad_concat, 0, false}},
    {"stack", {grad_stack, 0, false}},
    {"split", {grad_split, 0, false}},
};

}  // namespace

RuleTable<GradRule> layout_gradients() { return kRules; }

}  // namespace tensorlike
