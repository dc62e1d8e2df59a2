// Inference of the ops that order elements or search among ordered ones.
#include "op/families.h"
#include "op/infer.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

size_t axis_of(const Op& op, const Spec& x) {
  return static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(x.shape.size())));
}

Specs infer_sort(const Op& op, Inputs inputs) {
  check_real(op, inputs);
  axis_of(op, inputs[0]);
  return Specs(1, inputs[0]);
}

Specs infer_argsort(const Op& op, Inputs inputs) {
  check_real(op, inputs);
  axis_of(op, inputs[0]);
  return Specs(1, Spec{DType::kInt64, inputs[0].shape});
}

Specs infer_topk(const Op& op, Inputs inputs) {
  check_real(op, inputs);
  const Spec& x = inputs[0];
  const size_t axis = axis_of(op, x);
  const int64_t k = op.get<int64_t>("k");
  if (k < 0 || k > x.shape[axis]) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("k"), "must be in [0, ",
         x.shape[axis], "], the size of the axis",
         said::got("k=", k, " for x.shape=", to_string(x.shape), ", axis=", axis));
  }
  Dims shape = x.shape;
  shape[axis] = k;
  return {{x.dtype, shape}, {DType::kInt64, shape}};
}

Specs infer_searchsorted(const Op& op, Inputs inputs) {
  check_real(op, inputs);
  const Dims& sorted = inputs[0].shape;
  const Dims& wanted = inputs[1].shape;
  const bool has_rows = sorted.size() > 1 && sorted.size() == wanted.size() &&
                        std::equal(sorted.begin(), sorted.end() - 1, wanted.begin());
  if (sorted.size() != 1 && !has_rows) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("x1"),
         "must have one dimension, or the dimensions of x2 but for the last",
         said::got("x1.shape=", to_string(sorted), ", x2.shape=", to_string(wanted)));
  }
  if (inputs.size() == 3 && kind_of(inputs[2].dtype) != Kind::kInteger) {
    fail(ErrorKind::kDType, said::op(op.name()), said::argument("sorter"), "must be integer",
         said::got(name_of(inputs[2].dtype)), said::fix("cast it: x.astype(int64)"));
  }
  if (inputs.size() == 3 && !(inputs[2].shape == sorted)) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("sorter"),
         "must have the shape of x1",
         said::got("x1.shape=", to_string(sorted), ", sorter.shape=", to_string(inputs[2].shape)));
  }
  const std::string& side = op.get<std::string>("side");
  if (side != "left" && side != "right") {
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("side"),
         "must be 'left' or 'right'", said::got("'", side, "'"));
  }
  return Specs(1, Spec{DType::kInt64, inputs[1].shape});
}

// The values, then what is asked for beside them: only `inverse` has a shape that is known.
Specs infer_unique(const Op& op, Inputs inputs) {
  Specs specs{{inputs[0].dtype, {kUnknownSize}}};
  if (op.get<bool>("indices")) specs.push_back({DType::kInt64, {kUnknownSize}});
  if (op.get<bool>("inverse")) specs.push_back({DType::kInt64, inputs[0].shape});
  if (op.get<bool>("counts")) specs.push_back({DType::kInt64, {kUnknownSize}});
  return specs;
}

constexpr std::pair<std::string_view, InferRule> kRules[] = {
    {"sort", infer_sort},     {"arg_sort", infer_argsort},
    {"top_k", infer_topk},    {"search_sorted", infer_searchsorted},
    {"unique", infer_unique},
};

}  // namespace

RuleTable<InferRule> sorting_rules() { return kRules; }

}  // namespace tensorlike
