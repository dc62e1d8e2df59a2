// The axes of ops that go over rows, and the inference of the gradients of norms.
#include <algorithm>
#include <vector>

#include "op/families.h"
#include "op/infer.h"
#include "op/rows.h"
#include "op/shapes.h"

namespace tensorlike {

Dims row_axes(const Op& op, int64_t ndim) {
  const int several = op.cls.attr_index("axes");
  if (several < 0) return axes_in(op, "axis", op.attr("axis"), ndim);
  return axes_in(op, "axes", op.attrs[static_cast<size_t>(several)], ndim);
}

Dims with_ones(Dims shape, std::span<const int64_t> axes) {
  for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return shape;
}

Dims sum_axes(const Op& op, int64_t ndim) {
  Dims axes;
  for (int64_t axis : op.get<std::vector<int64_t>>("sum_axes")) {
    axes.push_back(normalize_axis(op.name(), axis, ndim));
  }
  return axes;
}

namespace {

using Inputs = std::span<const Spec>;

// The joint dtype of all arguments that may be of floating-point numbers.
DType joint_floating(const Op& op, Inputs inputs) {
  DType dtype = real_floating(op, op.cls.spec.args[0].name.c_str(), inputs[0].dtype);
  for (size_t i = 1; i < inputs.size(); ++i) {
    const ArgSpec& arg = op.cls.spec.args[i];
    if (arg.category != Category::kRealFloating) continue;
    dtype = promote(dtype, real_floating(op, arg.name.c_str(), inputs[i].dtype));
  }
  return dtype;
}

void check_same_shape(const Op& op, const char* a, const Spec& x, const char* b, const Spec& y) {
  if (x.shape == y.shape) return;
  fail(ErrorKind::kShape, said::op(op.name()), b, ".shape must equal ", a, ".shape",
       said::got(a, ".shape=", to_string(x.shape), ", ", b, ".shape=", to_string(y.shape)));
}

void check_norm(const Op& op, Inputs inputs) {
  row_axes(op, static_cast<int64_t>(inputs[0].shape.size()));
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Dims both = broadcast_shapes(op.name(), inputs[i].shape, inputs[0].shape);
    if (both == inputs[0].shape) continue;
    fail(ErrorKind::kShape, said::op(op.name()), said::argument(op.cls.spec.args[i].name),
         "must broadcast to x",
         said::got("x.shape=", to_string(inputs[0].shape), ", ", op.cls.spec.args[i].name,
                   ".shape=", to_string(inputs[i].shape)));
  }
}

// Weight and bias repeat between rows, or within them, or along the last axes of rows: then their
// gradients take one pass.
void check_sum_axes(const Op& op, const Dims& x, const Dims& weight, const Dims& summed) {
  const Dims axes = row_axes(op, static_cast<int64_t>(x.size()));
  std::vector<bool> in_row(x.size());
  std::vector<bool> is_summed(x.size());
  for (int64_t axis : axes) in_row[static_cast<size_t>(axis)] = true;
  const size_t lead = x.size() - weight.size();
  bool repeats = true;
  for (int64_t axis : summed) {
    const size_t i = static_cast<size_t>(axis);
    is_summed[i] = true;
    repeats = repeats && (i < lead || weight[i - lead] == 1);
  }
  // Whether no axis of a row that is summed over stands before one that is not.
  bool is_end = !summed.empty();
  bool is_met = false;
  for (size_t i = 0; i < x.size(); ++i) {
    is_end = is_end && (in_row[i] ? is_summed[i] || !is_met : !is_summed[i]);
    is_met = is_met || is_summed[i];
  }
  const bool is_within = is_summed == in_row;
  is_summed.flip();
  if (repeats && (is_within || is_end || is_summed == in_row)) return;
  fail(ErrorKind::kShape, said::op(op.name()), said::argument("sum_axes"),
       "must be axes, or all others, or the last of axes, and weight of size 1 along them",
       said::got("x.shape=", to_string(x), ", weight.shape=", to_string(weight),
                 ", axes=", to_string(axes), ", sum_axes=", to_string(summed)));
}

Specs infer_norm_grad(const Op& op, Inputs inputs) {
  check_norm(op, inputs);
  check_same_shape(op, "x", inputs[0], "cotangent", inputs[2]);
  Specs specs = one(joint_floating(op, inputs), inputs[0].shape);
  const Dims axes = sum_axes(op, static_cast<int64_t>(inputs[0].shape.size()));
  check_sum_axes(op, inputs[0].shape, inputs[1].shape, axes);
  while (specs.size() < static_cast<size_t>(op.cls.spec.outputs)) {
    specs.push_back({specs[0].dtype, with_ones(inputs[0].shape, axes)});
  }
  return specs;
}

constexpr std::pair<std::string_view, InferRule> kRowRules[] = {
    {"layer_norm_grad", infer_norm_grad},
    {"rms_norm_grad", infer_norm_grad},
};

}  // namespace

RuleTable<InferRule> row_rules() { return kRowRules; }

}  // namespace tensorlike
