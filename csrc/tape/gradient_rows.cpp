// Gradients of norms, whose three gradients come from one pass over the rows.
#include <algorithm>

#include "op/families.h"
#include "op/registry.h"
#include "op/rows.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

std::vector<int64_t> as_ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

// The axes along which the input, broadcast to `ndim` dimensions, repeats.
bool repeats_along(const Dims& shape, size_t ndim, int64_t axis) {
  const size_t i = static_cast<size_t>(axis);
  const size_t lead = ndim - shape.size();
  return i < lead || shape[i - lead] == 1;
}

// The axes that the gradients of weight and bias are summed over: between rows, or within them,
// which is one pass; where neither will do, all along which weight and bias repeat. What is left to
// sum is summed when a gradient is fitted to its input. Which gradients are wanted has no say: the
// one by x is to have the same bits with the others and without.
std::vector<int64_t> axes_to_sum(const GradCall& c, const Dims& axes) {
  const size_t ndim = c.node.input_spec(0).shape.size();
  Dims within;
  Dims between;
  Dims repeated;
  bool is_within = false;
  bool is_between = false;
  for (size_t i = 0; i < ndim; ++i) {
    const int64_t axis = static_cast<int64_t>(i);
    const bool in_row = std::find(axes.begin(), axes.end(), axis) != axes.end();
    (in_row ? within : between).push_back(axis);
    bool repeats = true;
    for (size_t input = 1; input < c.inputs.size(); ++input) {
      const Dims shape = c.node.input_spec(input).shape;
      repeats = repeats && repeats_along(shape, ndim, axis);
    }
    if (repeats) repeated.push_back(axis);
    if (!repeats) (in_row ? is_within : is_between) = true;
  }
  if (!is_between) return as_ints(between);
  return as_ints(is_within ? repeated : within);
}

Values norm_gradients(GradCall& c, const char* function, Value& dy) {
  const Dims axes = row_axes(c.op, static_cast<int64_t>(c.node.input_spec(0).shape.size()));
  const Ref<Op> op = registry().find_function(function)->make_op(
      {as_ints(axes), axes_to_sum(c, axes), c.op.attr("eps")});
  Value* args[] = {c.inputs[0], c.inputs[1], &dy};
  Values found = apply(*op, args);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!c.wants(i)) found[i] = Ref<Value>();
  }
  return found;
}

void grad_layer_norm(GradCall& c) {
  c.results = norm_gradients(c, "layer_norm_grad", *c.cotangents[0]);
}

void grad_rms_norm(GradCall& c) {
  c.results = norm_gradients(c, "rms_norm_grad", *c.cotangents[0]);
}

// What flows back through the mean and the variance: (dmean + 2 (x - mean) dvariance) / n.
Ref<Value> grad_of_statistics(GradCall& c) {
  Value& x = *c.inputs[0];
  const Dims shape = c.node.input_spec(0).shape;
  const std::vector<int64_t> axes = as_ints(row_axes(c.op, static_cast<int64_t>(shape.size())));
  int64_t count = 1;
  for (int64_t axis : axes) count *= shape[static_cast<size_t>(axis)];
  Ref<Value> total;
  if (c.cotangents[2] != nullptr) {
    const Ref<Value> mean = call("mean", {&x}, {{"axis", axes}, {"keepdims", true}});
    const Ref<Value> off = call("subtract", {&x, mean.get()});
    const Ref<Value> two = lift_literal(2.0, x);
    total = call("multiply", {off.get(), call("multiply", {two.get(), c.cotangents[2]}).get()});
  }
  if (c.cotangents[1] != nullptr) {
    total = total ? call("add", {total.get(), c.cotangents[1]}) : Ref<Value>(c.cotangents[1]);
  }
  if (!total) return total;
  return call("divide", {total.get(), lift_literal(static_cast<double>(count), x).get()});
}

void grad_batch_norm(GradCall& c) {
  Ref<Value> dx;
  if (c.cotangents[0] != nullptr) {
    c.results = norm_gradients(c, "layer_norm_grad", *c.cotangents[0]);
    dx = c.results[0];
  }
  const Ref<Value> rest = c.wants(0) ? grad_of_statistics(c) : Ref<Value>();
  if (rest && dx) dx = call("add", {dx.get(), rest.get()});
  if (c.wants(0)) c.result(0) = dx ? dx : rest;
}

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"layer_norm", {grad_layer_norm, 3U, false}},
    {"rms_norm", {grad_rms_norm, 3U, false}},
    {"batch_norm", {grad_batch_norm, 3U, false}},
};

}  // namespace

RuleTable<GradRule> row_gradients() { return kRules; }

}  // namespace tensorlike
