// Inference for ops that go over rows: softmax and its kin, norms, dropout, attention.
#include <algorithm>
#include <vector>

#include "op/families.h"
#include "op/infer.h"
#include "op/rows.h"

namespace tensorlike {

Dims row_axes(const Op& op, int64_t ndim) {
  Dims axes;
  const bool has_list = op.cls.attr_index("axes") >= 0;
  const Attr& attr = op.attr(has_list ? "axes" : "axis");
  if (const auto* single = std::get_if<int64_t>(&attr)) {
    axes.push_back(normalize_axis(op.name(), *single, ndim));
  } else if (const auto* several = std::get_if<std::vector<int64_t>>(&attr)) {
    for (int64_t value : *several) {
      const int64_t axis = normalize_axis(op.name(), value, ndim);
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
        fail(
            ErrorKind::kShape, said::op(op.name()), "an axis may be named once",
            said::got(has_list ? "axes=" : "axis=", to_string(std::span<const int64_t>(*several))));
      }
      axes.push_back(axis);
    }
  } else {
    for (int64_t i = 0; i < ndim; ++i) axes.push_back(i);
  }
  return axes;
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

Specs one(DType dtype, Dims shape) { return Specs(1, Spec{dtype, std::move(shape)}); }

void check_same_shape(const Op& op, const char* a, const Spec& x, const char* b, const Spec& y) {
  if (x.shape == y.shape) return;
  fail(ErrorKind::kShape, said::op(op.name()), b, ".shape must equal ", a, ".shape",
       said::got(a, ".shape=", to_string(x.shape), ", ", b, ".shape=", to_string(y.shape)));
}

Specs infer_softmax(const Op& op, Inputs inputs) {
  const DType dtype = real_floating(op, "x", inputs[0].dtype);
  if (op.cls.attr_index("axis") >= 0) {
    normalize_axis(op.name(), op.get<int64_t>("axis"),
                   static_cast<int64_t>(inputs[0].shape.size()));
  }
  return one(dtype, inputs[0].shape);
}

Specs infer_softmax_grad(const Op& op, Inputs inputs) {
  row_axes(op, static_cast<int64_t>(inputs[0].shape.size()));
  check_same_shape(op, "y", inputs[0], "cotangent", inputs[1]);
  return one(joint_floating(op, inputs), inputs[0].shape);
}

Specs infer_log_sum_exp(const Op& op, Inputs inputs) {
  const Dims& x = inputs[0].shape;
  const Dims axes = row_axes(op, static_cast<int64_t>(x.size()));
  for (int64_t axis : axes) {
    if (x[static_cast<size_t>(axis)] != 0) continue;
    fail(ErrorKind::kShape, said::op(op.name()), "an empty axis has no ", op.name(),
         said::got("x.shape=", to_string(x), ", axis=", axis));
  }
  Dims shape;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool is_kept = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end();
    if (is_kept || op.get<bool>("keepdims")) shape.push_back(is_kept ? x[i] : 1);
  }
  return one(joint_floating(op, inputs), shape);
}

void check_labels(const Op& op, const Spec& logits, const Spec& labels) {
  const size_t ndim = logits.shape.size();
  if (ndim == 0 || labels.shape.size() + 1 != ndim ||
      !std::equal(labels.shape.begin(), labels.shape.end(), logits.shape.begin())) {
    fail(ErrorKind::kShape, said::op(op.name()),
         "labels.shape must be logits.shape without its last dimension",
         said::got("logits.shape=", to_string(logits.shape),
                   " and labels.shape=", to_string(labels.shape)));
  }
  if (kind_of(labels.dtype) != Kind::kInteger) {
    fail(ErrorKind::kDType, said::op(op.name()), said::argument("labels"),
         "must be integer class numbers", said::got(name_of(labels.dtype)),
         said::fix("cast them: labels.astype(int64)"));
  }
  if (logits.shape.back() == 0 && element_count(labels.shape) > 0) {
    fail(ErrorKind::kShape, said::op(op.name()), "there must be at least one class",
         said::got("logits.shape=", to_string(logits.shape)));
  }
}

Specs infer_cross_entropy(const Op& op, Inputs inputs) {
  check_labels(op, inputs[0], inputs[1]);
  return one(joint_floating(op, inputs), {});
}

Specs infer_cross_entropy_rows(const Op& op, Inputs inputs) {
  check_labels(op, inputs[0], inputs[1]);
  return one(joint_floating(op, inputs), inputs[1].shape);
}

Specs infer_cross_entropy_grad(const Op& op, Inputs inputs) {
  check_labels(op, inputs[0], inputs[1]);
  check_same_shape(op, "labels", inputs[1], "cotangent", inputs[2]);
  return one(joint_floating(op, inputs), inputs[0].shape);
}

void check_norm(const Op& op, Inputs inputs) {
  row_axes(op, static_cast<int64_t>(inputs[0].shape.size()));
  const double epsilon = op.get<double>("eps");
  if (!(epsilon >= 0)) {
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("eps"), "must not be negative",
         said::got("eps=", epsilon));
  }
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Dims both = broadcast_shapes(op.name(), inputs[i].shape, inputs[0].shape);
    if (both == inputs[0].shape) continue;
    fail(ErrorKind::kShape, said::op(op.name()), said::argument(op.cls.spec.args[i].name),
         "must broadcast to x",
         said::got("x.shape=", to_string(inputs[0].shape), ", ", op.cls.spec.args[i].name,
                   ".shape=", to_string(inputs[i].shape)));
  }
}

Specs infer_norm(const Op& op, Inputs inputs) {
  check_norm(op, inputs);
  Specs specs = one(joint_floating(op, inputs), inputs[0].shape);
  const Dims axes = row_axes(op, static_cast<int64_t>(inputs[0].shape.size()));
  while (specs.size() < static_cast<size_t>(op.cls.spec.outputs)) {
    specs.push_back({joint_floating(op, inputs.first(1)), with_ones(inputs[0].shape, axes)});
  }
  return specs;
}

// Weight and bias repeat between rows, or within them: then their gradients take one pass.
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
  const bool is_within = is_summed == in_row;
  is_summed.flip();
  if (repeats && (is_within || is_summed == in_row)) return;
  fail(ErrorKind::kShape, said::op(op.name()), said::argument("sum_axes"),
       "must be axes, or all others, and weight of size 1 along them",
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

Specs infer_dropout(const Op& op, Inputs inputs) {
  const double p = op.get<double>("p");
  if (!(p >= 0 && p <= 1)) {
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("p"), "must be in [0, 1]",
         said::got("p=", p));
  }
  return one(joint_floating(op, inputs), inputs[0].shape);
}

constexpr std::pair<std::string_view, InferRule> kRules[] = {
    {"softmax", infer_softmax},
    {"log_softmax", infer_softmax},
    {"softmax_grad", infer_softmax_grad},
    {"log_softmax_grad", infer_softmax_grad},
    {"log_sum_exp", infer_log_sum_exp},
    {"cross_entropy", infer_cross_entropy},
    {"cross_entropy_rows", infer_cross_entropy_rows},
    {"cross_entropy_grad", infer_cross_entropy_grad},
    {"layer_norm", infer_norm},
    {"layer_norm_grad", infer_norm_grad},
    {"rms_norm", infer_norm},
    {"rms_norm_grad", infer_norm_grad},
    {"batch_norm", infer_norm},
    {"dropout", infer_dropout},
};

}  // namespace

RuleTable<InferRule> row_rules() { return kRules; }

}  // namespace tensorlike
