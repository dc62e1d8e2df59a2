// Gradients of norms, whose three gradients come from one pass over the rows.
#include "op/rows.h"

#include <algorithm>

#include "op/counts.h"
#include "op/families.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

std::vector<int64_t> as_ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

// Whether an input, broadcast to `ndim` dimensions, repeats along the axis.
bool repeats_along(const Dims& shape, size_t ndim, int64_t axis) {
  const size_t i = static_cast<size_t>(axis);
  const size_t lead = ndim - shape.size();
  return i < lead || shape[i - lead] == 1;
}

struct Parameters {
  std::vector<int64_t> within, between;  // the axes of a row, and the others
  std::vector<int64_t> runs;             // the last of `within`, along which elements share one
  bool vary_within = false;
  bool vary_between = false;
};

// How weight and bias lie. Which gradients are wanted has no say: the one by x is to have the same
// bits with the others and without.
Parameters parameters_of(const GradCall& c) {
  const Dims shape = c.node.input_spec(0).shape;
  const size_t ndim = shape.size();
  const Dims axes = row_axes(c.op, static_cast<int64_t>(ndim));
  Parameters found;
  bool are_shared = false;
  for (size_t i = 0; i < ndim; ++i) {
    const int64_t axis = static_cast<int64_t>(i);
    const bool in_row = std::find(axes.begin(), axes.end(), axis) != axes.end();
    (in_row ? found.within : found.between).push_back(axis);
    if (in_row) found.runs.push_back(axis);
    are_shared = are_shared || (in_row && shape[i] != 1);
    for (size_t input = 1; input < c.inputs.size(); ++input) {
      if (repeats_along(c.node.input_spec(input).shape, ndim, axis)) continue;
      (in_row ? found.vary_within : found.vary_between) = true;
      if (in_row) found.runs.clear();
      if (in_row) are_shared = false;
    }
  }
  if (!are_shared && !found.vary_between) found.runs.clear();
  return found;
}

// All gradients in one pass, by the function `gradient`, where weight and bias repeat within rows,
// or between them, or along the last axes of rows. Else those by weight and bias are left to be
// summed when they are fitted.
Values norm_gradients(GradCall& c, const char* function, const char* gradient, Value& dy) {
  const Parameters parameters = parameters_of(c);
  const bool have_runs = parameters.vary_within && !parameters.runs.empty();
  const bool is_mixed = parameters.vary_within && parameters.vary_between && !have_runs;
  const std::vector<int64_t>& summed = have_runs                              ? parameters.runs
                                       : parameters.vary_between && !is_mixed ? parameters.within
                                                                              : parameters.between;
  const Ref<Op> op =
      registry().find_function(gradient)->make_op({parameters.within, c.op.attr("eps"), summed});
  Value& x = *c.inputs[0];
  Values found;
  if (!is_mixed) {
    Value* args[] = {&x, c.inputs[1], &dy};
    found = apply(*op, args);
  } else {
    const Ref<Value> one = lift_literal(1.0, x);
    const Ref<Value> weighed = call("multiply", {&dy, c.inputs[1]});
    Value* args[] = {&x, one.get(), weighed.get()};
    found = apply(*op, args);
    const std::vector<NamedAttr> attrs = {{"axes", parameters.within}, {"eps", c.op.attr("eps")}};
    const Ref<Value> zero = lift_literal(0.0, x);
    const Ref<Value> normed = c.inputs.size() > 2
                                  ? call(function, {&x, one.get(), zero.get()}, attrs)
                                  : call(function, {&x, one.get()}, attrs);
    found[1] = call("multiply", {&dy, normed.get()});
    if (c.inputs.size() > 2) found[2] = Ref<Value>(&dy);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (!c.wants(i)) found[i] = Ref<Value>();
  }
  return found;
}

void grad_layer_norm(GradCall& c) {
  c.results = norm_gradients(c, "layer_norm", "layer_norm_grad", *c.cotangents[0]);
}

void grad_rms_norm(GradCall& c) {
  c.results = norm_gradients(c, "rms_norm", "rms_norm_grad", *c.cotangents[0]);
}

// What flows back through the mean and the variance: (dmean + 2 (x - mean) dvariance) / n.
Ref<Value> grad_of_statistics(GradCall& c) {
  Value& x = *c.inputs[0];
  const Dims shape = c.node.input_spec(0).shape;
  const std::vector<int64_t> axes = as_ints(row_axes(c.op, static_cast<int64_t>(shape.size())));
  Dims averaged;
  for (int64_t axis : axes) averaged.push_back(shape[static_cast<size_t>(axis)]);
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
  const Literal count = count_to_calculate(averaged);
  const auto* const whole = std::get_if<int64_t>(&count);
  const Literal number = whole != nullptr ? static_cast<double>(*whole) : count;
  if (exceeds_half(number) && holds_half(*total)) {
    const Operand operands[] = {{total.get(), {}}, {nullptr, number}};
    return apply_wide(*registry().find_function("divide")->shared_op, operands)[0];
  }
  return call("divide", {total.get(), lift_literal(number, x).get()});
}

void grad_batch_norm(GradCall& c) {
  Ref<Value> dx;
  if (c.cotangents[0] != nullptr) {
    c.results = norm_gradients(c, "layer_norm", "layer_norm_grad", *c.cotangents[0]);
    dx = c.results[0];
  }
  const Ref<Value> rest = c.wants(0) ? grad_of_statistics(c) : Ref<Value>();
  if (rest && dx) dx = call("add", {dx.get(), rest.get()});
  if (c.wants(0)) c.result(0) = dx ? dx : rest;
}

constexpr std::pair<std::string_view, GradRule> kRowGradients[] = {
    {"layer_norm", {grad_layer_norm, 3U, false}},
    {"rms_norm", {grad_rms_norm, 3U, false}},
    {"batch_norm", {grad_batch_norm, 3U, false}},
};

}  // namespace

RuleTable<GradRule> row_gradients() { return kRowGradients; }

}  // namespace tensorlike
