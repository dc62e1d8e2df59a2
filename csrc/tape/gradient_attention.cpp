// The gradient of attention: one kernel where there are elements to compute with, and where the
// gradient is to be differentiated again, or the mask wants one, the same in plain calls.
#include <algorithm>
#include <cmath>

#include "op/attention.h"
#include "op/families.h"
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

// The softmax of the scaled and masked scores; a row that sees nothing is 0.
Ref<Value> weights_of(GradCall& c, double scale) {
  Value& query = *c.inputs[0];
  const Spec key = c.node.input_spec(1);
  Ref<Value> scores = call("matmul", {&query, transposed(*c.inputs[1]).get()});
  scores = call("multiply", {scores.get(), lift_literal(scale, query).get()});
  const Ref<Value> hidden = lift_literal(-HUGE_VAL, query);
  if (c.op.get<bool>("is_causal")) {
    const Dims shape = c.node.input_spec(0).shape;
    const Ref<Value> mask = causal_mask(shape[shape.size() - 2], key.shape[key.shape.size() - 2]);
    scores = call("where", {mask.get(), scores.get(), hidden.get()});
  }
  if (c.inputs.size() > 3) {
    const bool is_boolean = kind_of(c.node.input_spec(3).dtype) == Kind::kBool;
    scores = is_boolean ? call("where", {c.inputs[3], scores.get(), hidden.get()})
                        : call("add", {scores.get(), c.inputs[3]});
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

// The gradients that are asked for: bit i is input i.
void by_calls(GradCall& c, uint32_t asked) {
  auto wants = [&](size_t i) {
    return i < c.inputs.size() && (asked >> i & 1U) != 0 && c.wants(i);
  };
  Value& dy = *c.cotangents[0];
  const double scale = attention_scale(c.op, c.node.input_spec(0).shape.back());
  const Ref<Value> weights = weights_of(c, scale);
  const Ref<Value> dweights = call("matmul", {&dy, transposed(*c.inputs[2]).get()});
  const Ref<Value> dscores =
      call("softmax_grad", {weights.get(), dweights.get()}, {{"axis", int64_t{-1}}});
  const Ref<Value> scaled = call("multiply", {dscores.get(), lift_literal(scale, dy).get()});
  if (wants(0)) c.result(0) = call("matmul", {scaled.get(), c.inputs[1]});
  if (wants(1)) c.result(1) = call("matmul", {transposed(*scaled).get(), c.inputs[0]});
  if (wants(2)) c.result(2) = call("matmul", {transposed(*weights).get(), &dy});
  if (wants(3)) c.result(3) = dscores;
}

void grad_attention(GradCall& c) {
  constexpr uint32_t kOfMask = 8U;
  SmallVector<Value*, 8> args(c.inputs.begin(), c.inputs.begin() + 3);
  args.push_back(c.cotangents[0]);
  for (size_t i = 3; i < c.inputs.size(); ++i) args.push_back(c.inputs[i]);
  const bool is_plain =
      std::all_of(args.begin(), args.end(), [](Value* x) { return x->tag == Value::kRaw; });
  const Dims key = c.node.input_spec(1).shape;
  const bool has_keys = key[key.size() - 2] > 0;
  if (!is_plain && has_keys) {
    by_calls(c, ~0U);
    return;
  }
  if (!is_plain) {
    for (size_t i = 0; i < c.inputs.size(); ++i)
      c.result(i) = zeros(c.node.input_spec(i), *args[3]);
    return;
  }
  const Ref<Op> op = registry()
                         .find_function("attention_grad")
                         ->make_op({c.op.attr("scale"), c.op.attr("is_causal")});
  Values found = apply(*op, {args.data(), args.size()});
  for (size_t i = 0; i < 3; ++i) {
    if (c.wants(i)) c.result(i) = found[i];
  }
  const bool wants_mask = c.inputs.size() > 3 && c.wants(3);
  if (wants_mask && has_keys) by_calls(c, kOfMask);
}

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"attention", {grad_attention, ~0U, false}},
};

}  // namespace

RuleTable<GradRule> attention_gradients() { return kRules; }

}  // namespace tensorlike
