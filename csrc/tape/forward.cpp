// Forward mode. No op has a rule for it: each tangent follows from the rule for gradients. In
// general the map from cotangents to gradients, which is linear, is recorded and transposed; the
// cheaper ways are for what a declaration says to be elementwise or linear.
#include "tape/forward.h"

#include <algorithm>

#include "base/error.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tape/inner_tape.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

void accumulate(Ref<Value>& sum, Ref<Value> term) {
  if (!sum) {
    sum = std::move(term);
    return;
  }
  Value* both[] = {sum.get(), term.get()};
  sum = apply_one(registry().scalar_op("add"), both);
}

bool is_real(const Values& values) {
  return std::none_of(values.begin(), values.end(), [](const Ref<Value>& value) {
    return kind_of(spec_of("jvp", *value).dtype) == Kind::kComplex;
  });
}

// Each element of a real elementwise function has one slope for each argument, by which tangents
// and cotangents alike are multiplied: so the gradient's rule is applied to the tangent. Its result
// is fitted to the output then, not to the argument, which may be smaller or narrower.
void push_elementwise(const Op& op, Args primals, Args tangents, Forward& out) {
  const Ref<Node> node = make_ref<Node>();
  const Spec output = spec_of(op.name(), *out.outputs[0]);
  node->specs = make_ref<CallSpec>(Specs(primals.size(), output), Specs{output});
  node->saved_outputs.push_back(out.outputs[0]);
  node->inputs.resize(primals.size());
  for (size_t i = 0; i < primals.size(); ++i) node->inputs[i].saved = Ref<Value>(primals[i]);
  node->op = Ref<const Op>(&op);
  const Ref<Node> wanted = make_ref<Node>();
  for (size_t i = 0; i < primals.size(); ++i) {
    if (tangents[i] == nullptr) continue;
    node->inputs[i].node = wanted;
    Value* cotangents[] = {tangents[i]};
    Values found = input_gradients(*node, base_tape(), cotangents, false);
    if (found[i]) accumulate(out.tangents[0], std::move(found[i]));
    node->inputs[i].node = nullptr;
  }
}

// The groups of arguments, one after the other, that an op is linear in; empty unless every tangent
// is one of theirs.
std::vector<std::vector<size_t>> linear_groups(const Op& op, Args tangents) {
  if (op.reduction != nullptr) {
    if (!op.reduction->spec.linear) return {};
    return std::vector<std::vector<size_t>>(1, std::vector<size_t>(1, 0));
  }
  const OpSpec& spec = op.cls.spec;
  std::vector<std::vector<size_t>> groups;
  std::vector<bool> is_covered(tangents.size(), false);
  for (const std::vector<int>& members : spec.linear) {
    std::vector<size_t>& group = groups.emplace_back();
    for (int member : members) {
      const size_t first = static_cast<size_t>(member);
      const size_t last = spec.args[first].variadic ? tangents.size() : first + 1;
      for (size_t i = first; i < std::min(last, tangents.size()); ++i) {
        group.push_back(i);
        is_covered[i] = true;
      }
    }
  }
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (tangents[i] != nullptr && !is_covered[i]) return {};
  }
  return groups;
}

// An op that is linear in some arguments gives its tangent by being applied to theirs.
void push_linear(const Op& op, const std::vector<std::vector<size_t>>& groups, Args primals,
                 Args tangents, Forward& out) {
  for (const std::vector<size_t>& group : groups) {
    const auto moves =
        std::find_if(group.begin(), group.end(), [&](size_t i) { return tangents[i] != nullptr; });
    if (moves == group.end()) continue;
    Values held;
    SmallVector<Value*, 4> args;
    for (size_t i = 0; i < primals.size(); ++i) {
      const bool is_member = std::find(group.begin(), group.end(), i) != group.end();
      const bool is_addend =
          op.reduction == nullptr && i < op.cls.spec.args.size() && op.cls.spec.args[i].optional;
      if (!is_member && is_addend) continue;  // it comes last, and belongs to another group
      if (is_member && tangents[i] == nullptr) {
        held.push_back(zeros(spec_of(op.name(), *primals[i]), *tangents[*moves]));
        args.push_back(held.back().get());
      } else {
        args.push_back(is_member ? tangents[i] : primals[i]);
      }
    }
    Values terms = apply(op, {args.data(), args.size()});
    for (size_t i = 0; i < terms.size(); ++i) {
      if (!is_differentiable(spec_of(op.name(), *out.outputs[i]).dtype)) continue;
      accumulate(out.tangents[i], std::move(terms[i]));
    }
  }
}

Ref<Value> ones(const Spec& spec, Value& like) {
  const Ref<Value> one = lift_literal(1.0, like);
  return fit(one, spec);
}

// Gradients are linear in cotangents: that map is recorded, at ones (rules may take a cotangent of
// zero for "nothing flows"), and tangents are pulled back through it. For complex numbers too:
// cotangents are the adjoints of tangents.
void push_transposed(const Op& op, Args primals, Args tangents, Forward& out) {
  const InnerTape outer;
  const InnerTape inner;
  Leaves inputs(primals.size());
  SmallVector<Value*, 4> args;
  for (size_t i = 0; i < primals.size(); ++i) {
    if (tangents[i] != nullptr) inputs.tracers[i] = make_leaf(Ref<Value>(primals[i]), inner.tape());
    args.push_back(tangents[i] != nullptr ? inputs.tracers[i].get() : primals[i]);
  }
  out.outputs = apply(op, {args.data(), args.size()});
  out.tangents = Values(out.outputs.size());
  Leaves outputs(out.outputs.size());
  std::vector<Edge> roots;
  Values cotangents;
  for (size_t i = 0; i < out.outputs.size(); ++i) {
    Tracer* tracer = tracer_on(out.outputs[i], inner.tape());
    if (tracer == nullptr) continue;
    const Ref<Value> primal = tracer->primal;
    roots.push_back(tracer->edge);
    outputs.tracers[i] = make_leaf(ones(spec_of(op.name(), *primal), *primal), outer.tape());
    cotangents.push_back(outputs.tracers[i]);
    out.outputs[i] = primal;
  }
  inputs.pull(inner.tape(), roots, std::move(cotangents));
  roots.clear();
  Values pulled;
  for (size_t i = 0; i < primals.size(); ++i) {
    if (!inputs.found[i]) continue;
    Tracer* gradient = tracer_on(inputs.found[i], outer.tape());
    const bool is_cut = last_cut().op && last_cut().level == outer.tape()->level;
    if (gradient == nullptr && !is_cut) continue;  // it is zero, whatever flows
    if (gradient == nullptr) {
      fail(ErrorKind::kAutodiff, said::op("jvp"), "the gradient of ", op.name(),
           " must be differentiable by its cotangent",
           said::got("a rule that applies ", last_cut().op->name(), ", which is not"),
           said::fix("give the op a rule whose ops have gradients"));
    }
    roots.push_back(gradient->edge);
    pulled.push_back(fit(Ref<Value>(tangents[i]), spec_of(op.name(), *inputs.found[i])));
  }
  outputs.pull(outer.tape(), roots, std::move(pulled));
  out.tangents = std::move(outputs.found);
}

}  // namespace

bool push_forward(const Op& op, Args primals, Args tangents, Forward& out) {
  const bool any = std::any_of(tangents.begin(), tangents.end(),
                               [](Value* tangent) { return tangent != nullptr; });
  const bool is_complex = has_complex(primals);
  const Gradients* gradients = declared_gradients(op, is_complex);
  const bool flows = any && &op.cls != &registry().constant();
  if (flows && !has_rule(op, gradients) && gradients != nullptr && gradients->differentiable &&
      (op.has_body() || op.is_fused())) {
    return false;
  }
  if (!flows || !has_rule(op, gradients)) {
    out.outputs = apply(op, primals);
    out.tangents = Values(out.outputs.size());
    return true;
  }
  const bool is_scalar = op.scalar != nullptr && op.scalar->spec.outputs == 1 && !is_complex;
  const auto groups = linear_groups(op, tangents);
  if (!is_scalar && groups.empty()) {
    push_transposed(op, primals, tangents, out);
    return true;
  }
  out.outputs = apply(op, primals);
  out.tangents = Values(out.outputs.size());
  if (!groups.empty()) {
    push_linear(op, groups, primals, tangents, out);
  } else if (is_real(out.outputs)) {
    if (!is_differentiable(spec_of(op.name(), *out.outputs[0]).dtype)) return true;
    push_elementwise(op, primals, tangents, out);
  } else {
    push_transposed(op, primals, tangents, out);
  }
  return true;
}

}  // namespace tensorlike
