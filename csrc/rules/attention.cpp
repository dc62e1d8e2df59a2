// The gradient of attention: one op. Beside it, as calls of other ops, the body of that op (for
// second derivatives) and the gradient of a mask.
#include "op/attention.h"

#include <cmath>

#include "op/families.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

Ref<Value> transposed(Value& x) {
  std::vector<int64_t> axes(spec_of("attention", x).shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return call("permute_dims", {&x}, {{"axes", axes}});
}

// Where query i may see key j: j <= i.
Ref<Value> causal_mask(int64_t queries, int64_t keys) {
  auto count = [](int64_t n) { return call("arange", {}, {{"start", int64_t{0}}, {"stop", n}}); };
  const Ref<Value> rows =
      call("reshape", {count(queries).get()}, {{"shape", std::vector<int64_t>{queries, 1}}});
  return call("less_equal", {count(keys).get(), rows.get()});
}

struct Operands {
  Value *query, *key, *value, *mask, *cotangent;  // mask: null where there is none

  double scale(const Op& op) const { return attention_scale(op, shape_of(*query).back()); }
  static Dims shape_of(Value& x) { return spec_of("attention", x).shape; }
  static int64_t length(Value& x) { return shape_of(x)[shape_of(x).size() - 2]; }
};

// The softmax of the scaled and masked scores; a row that sees nothing is 0.
Ref<Value> weights_of(const Op& op, const Operands& x) {
  Value& query = *x.query;
  Ref<Value> scores = call("matmul", {&query, transposed(*x.key).get()});
  scores = call("multiply", {scores.get(), lift_literal(x.scale(op), query).get()});
  const Ref<Value> hidden = lift_literal(-HUGE_VAL, query);
  if (op.get<bool>("is_causal")) {
    const Ref<Value> mask = causal_mask(Operands::length(query), Operands::length(*x.key));
    scores = call("where", {mask.get(), scores.get(), hidden.get()});
  }
  if (x.mask != nullptr) {
    const bool is_boolean = kind_of(spec_of("attention", *x.mask).dtype) == Kind::kBool;
    scores = is_boolean ? call("where", {x.mask, scores.get(), hidden.get()})
                        : call("add", {scores.get(), x.mask});
  }
  const Ref<Value> one = lift_literal(1.0, query);
  const Ref<Value> zero = lift_literal(0.0, query);
  const std::vector<NamedAttr> along = {{"axis", int64_t{-1}}, {"keepdims", true}};
  const Ref<Value> largest = call("max", {scores.get()}, along);
  const Ref<Value> shift =
      call("where", {call("isinf", {largest.get()}).get(), zero.get(), largest.get()});
  const Ref<Value> powers = call("exp", {call("subtract", {scores.get(), shift.get()}).get()});
  const Ref<Value> total = call("sum", {powers.get()}, along);
  const Ref<Value> is_blind = call("equal", {total.get(), zero.get()});
  return call("divide",
              {powers.get(), call("where", {is_blind.get(), one.get(), total.get()}).get()});
}

// What flows back to the scores, where the softmax of them is `weights`.
Ref<Value> scores_flow(const Operands& x, Value& weights) {
  const Ref<Value> flow = call("matmul", {x.cotangent, transposed(*x.value).get()});
  return call("softmax_grad", {&weights, flow.get()}, {{"axis", int64_t{-1}}});
}

Values attention_grad_body(const Op& op, Args inputs) {
  Specs specs;
  for (Value* input : inputs) specs.push_back(spec_of(op.name(), *input));
  const Specs wanted = infer(op, specs);
  const Operands x{inputs[0], inputs[1], inputs[2], inputs.size() > 4 ? inputs[4] : nullptr,
                   inputs[3]};
  Values found;
  if (Operands::length(*x.key) == 0) {
    for (const Spec& spec : wanted) found.push_back(zeros(spec, *x.cotangent));
    return found;
  }
  const Ref<Value> weights = weights_of(op, x);
  const Ref<Value> scale = lift_literal(x.scale(op), *x.cotangent);
  const Ref<Value> scaled = call("multiply", {scores_flow(x, *weights).get(), scale.get()});
  found.push_back(call("matmul", {scaled.get(), x.key}));
  found.push_back(call("matmul", {transposed(*scaled).get(), x.query}));
  found.push_back(call("matmul", {transposed(*weights).get(), x.cotangent}));
  for (size_t i = 0; i < found.size(); ++i) found[i] = fit(std::move(found[i]), wanted[i]);
  return found;
}

void grad_attention(GradCall& c) {
  SmallVector<Value*, 8> args(c.inputs.begin(), c.inputs.begin() + 3);
  args.push_back(c.cotangents[0]);
  for (size_t i = 3; i < c.inputs.size(); ++i) args.push_back(c.inputs[i]);
  const Ref<Op> op = registry()
                         .find_function("attention_grad")
                         ->make_op({c.op.attr("scale"), c.op.attr("is_causal")});
  Values found = apply(*op, {args.data(), args.size()});
  for (size_t i = 0; i < 3; ++i) {
    if (c.wants(i)) c.result(i) = found[i];
  }
  const Dims key = c.node.input_spec(1).shape;
  if (c.inputs.size() < 4 || !c.wants(3) || key[key.size() - 2] == 0) return;
  const Operands x{c.inputs[0], c.inputs[1], c.inputs[2], c.inputs[3], c.cotangents[0]};
  c.result(3) = scores_flow(x, *weights_of(c.op, x));
}

constexpr std::pair<std::string_view, GradRule> kAttentionGradients[] = {
    {"attention", {grad_attention, ~0U, false}},
};
constexpr std::pair<std::string_view, ExpandRule> kAttentionBodies[] = {
    {"attention_grad", attention_grad_body},
};

}  // namespace

RuleTable<GradRule> attention_gradients() { return kAttentionGradients; }
RuleTable<ExpandRule> attention_bodies() { return kAttentionBodies; }

}  // namespace tensorlike
