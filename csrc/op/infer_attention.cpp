// Inference for attention and its gradient.
#include <cmath>

#include "op/attention.h"
#include "op/counts.h"
#include "op/families.h"
#include "op/infer.h"

namespace tensorlike {

double attention_scale(const Op& op, int64_t width) {
  const Attr& scale = op.attr("scale");
  if (const auto* given = std::get_if<double>(&scale)) return *given;
  if (const auto* given = std::get_if<int64_t>(&scale)) return static_cast<double>(*given);
  if (const auto* given = std::get_if<bool>(&scale)) return *given ? 1.0 : 0.0;
  return 1.0 / std::sqrt(static_cast<double>(width > 0 ? width : 1));
}

namespace {

using Inputs = std::span<const Spec>;

void check_mask(const Op& op, Inputs masks, const AttentionSizes& sizes) {
  if (masks.empty()) return;
  const Kind kind = kind_of(masks[0].dtype);
  if (kind != Kind::kBool && kind != Kind::kFloating) {
    fail(ErrorKind::kDType, said::op(op.name()), said::argument("mask"),
         "must be boolean (true: takes part) or floating-point (added to the scores)",
         said::got(name_of(masks[0].dtype)), said::fix("cast it: mask.astype(bool_)"));
  }
  Dims scores = sizes.batch;
  scores.push_back(sizes.queries);
  scores.push_back(sizes.keys);
  const Dims both = broadcast_shapes(op.name(), masks[0].shape, scores);
  if (both == scores) return;
  fail(ErrorKind::kShape, said::op(op.name()), said::argument("mask"),
       "must broadcast to the scores ", to_string(scores),
       said::got("mask.shape=", to_string(masks[0].shape)));
}

// Checks query, key and value, and the mask behind them.
AttentionSizes checked_sizes(const Op& op, Inputs inputs, Inputs masks) {
  const Spec& query = inputs[0];
  const Spec& key = inputs[1];
  const Spec& value = inputs[2];
  auto shapes = [&] {
    return text("query.shape=", to_string(query.shape), ", key.shape=", to_string(key.shape),
                ", value.shape=", to_string(value.shape), ".");
  };
  for (const Spec* spec : {&query, &key, &value}) {
    if (spec->shape.size() >= 2) continue;
    fail(ErrorKind::kShape, said::op(op.name()),
         "query, key and value must have the shape (..., length, width); got ", shapes());
  }
  if (query.shape.back() != key.shape.back()) {
    fail(ErrorKind::kShape, said::op(op.name()), "query.shape[-1] must equal key.shape[-1]; got ",
         shapes());
  }
  if (key.shape[key.shape.size() - 2] != value.shape[value.shape.size() - 2]) {
    fail(ErrorKind::kShape, said::op(op.name()), "key.shape[-2] must equal value.shape[-2]; got ",
         shapes());
  }
  AttentionSizes sizes = attention_sizes(op, query, key, value);
  check_mask(op, masks, sizes);
  return sizes;
}

Dims batched(const AttentionSizes& sizes, int64_t rows, int64_t columns) {
  Dims shape = sizes.batch;
  shape.push_back(rows);
  shape.push_back(columns);
  inferred_count(shape);
  return shape;
}

Specs infer_attention(const Op& op, Inputs inputs) {
  const AttentionSizes sizes = checked_sizes(op, inputs, inputs.subspan(3));
  const DType dtype = joint_real_dtype(op, inputs.first(3));
  return Specs(1, Spec{dtype, batched(sizes, sizes.queries, sizes.value_width)});
}

// The gradients of key and value have the whole batch, also where they repeat along it.
Specs infer_attention_grad(const Op& op, Inputs inputs) {
  const AttentionSizes sizes = checked_sizes(op, inputs, inputs.subspan(4));
  const DType dtype = joint_real_dtype(op, inputs.first(4));
  const Dims shape = batched(sizes, sizes.queries, sizes.value_width);
  if (!(inputs[3].shape == shape)) {
    fail(ErrorKind::kShape, said::op(op.name()), "cotangent.shape must be that of the result, ",
         to_string(shape), said::got(to_string(inputs[3].shape)));
  }
  Specs specs;
  specs.push_back({dtype, batched(sizes, sizes.queries, sizes.width)});
  specs.push_back({dtype, batched(sizes, sizes.keys, sizes.width)});
  specs.push_back({dtype, batched(sizes, sizes.keys, sizes.value_width)});
  return specs;
}

constexpr std::pair<std::string_view, InferRule> kAttentionRules[] = {
    {"attention", infer_attention},
    {"attention_grad", infer_attention_grad},
};

}  // namespace

RuleTable<InferRule> attention_rules() { return kAttentionRules; }

}  // namespace tensorlike
