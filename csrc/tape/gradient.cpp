// Gradient rules: the declared ones, run as bodies over any tensor-likes, and the few that need
// code. No rule mentions broadcasting, or that an input is real among complex ones: the result is
// fitted to the input's shape and dtype here, once.
#include "tape/gradient.h"

#include <algorithm>

#include "base/arguments.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

// A saved value as it was on the tape, when the gradient is to be differentiable again.
Ref<Value> restore(const Ref<Value>& saved, const Edge& edge, Tape& tape, bool create_graph) {
  if (!saved || !create_graph || !edge.node) return saved;
  return make_ref<Tracer>(saved, edge, Ref<Tape>(&tape));
}

// Whether a body is one call on its inputs, as most derivatives are; its op, if that is known.
bool is_one_call(const CompiledBody& body) {
  return body.steps.size() == 1 && body.constants.empty() && body.results[0] == body.inputs;
}
const Op* only_step(const CompiledBody& body) {
  return is_one_call(body) ? body.steps[0].op.get() : nullptr;
}

// How many inputs a rule counts: all behind the last argument, if that stands for many, are one.
size_t counted_inputs(const GradCall& call) {
  const std::vector<ArgSpec>& args = call.op.cls.spec.args;
  const bool is_many = call.op.scalar == nullptr && !args.empty() && args.back().variadic;
  return is_many ? args.size() : call.inputs.size();
}

// What is known of the slots whose values were not kept.
std::vector<Spec> slot_specs(const GradCall& call, size_t outputs) {
  std::vector<Spec> specs;
  const size_t count = counted_inputs(call);
  specs.reserve(count + 2 * outputs);
  for (size_t i = 0; i < count; ++i) {
    specs.push_back(i < call.inputs.size() ? call.node.input_spec(i) : Spec());
  }
  for (size_t i = 0; i < 2 * outputs; ++i) {  // and as many cotangents
    const size_t output = i % outputs;
    specs.push_back(output < call.outputs.size() ? call.node.outputs()[output] : Spec());
  }
  return specs;
}

// A rule without a result is that of a slope that the declaration calls unknown.
[[noreturn]] void refuse_unknown(const Op& op, size_t input) {
  const std::string& name =
      op.scalar != nullptr ? op.scalar->spec.args[input].name : op.cls.spec.args[input].name;
  fail(ErrorKind::kAutodiff, said::op(op.name()),
       "gradients must be by inputs whose slope is known",
       said::got("one by ", name, ", whose slope is not"),
       said::fix("detach ", name, ", or give a rule by custom_vjp"));
}

// The rules of one node, run.
class Rules {
 public:
  Rules(const Gradients& gradients, GradCall& call) : gradients_(gradients), call_(call) {
    const std::vector<ArgSpec>& args = call.op.cls.spec.args;
    const size_t count = counted_inputs(call);
    const bool is_many = call.op.scalar == nullptr && !args.empty() && args.back().variadic;
    if (is_many) last_ = static_cast<int>(count) - 1;
    if (is_many) many_ = call.inputs.subspan(std::min(count - 1, call.inputs.size()));
    const size_t single = count - (is_many ? 1 : 0);
    for (size_t i = 0; i < count; ++i) slots_.push_back(i < single ? call.inputs[i] : nullptr);
    for (size_t i = 0; i < outputs(); ++i) {
      slots_.push_back(i < call.outputs.size() ? call.outputs[i] : nullptr);
    }
    for (size_t i = 0; i < outputs(); ++i) {
      Value* const cotangent = i < call.cotangents.size() ? call.cotangents[i] : nullptr;
      if (cotangent == nullptr) absent_ |= uint64_t{1} << slots_.size();
      slots_.push_back(cotangent);
    }
  }

  void run() {
    const CompiledGrad* last = nullptr;
    for (const CompiledGrad& rule : gradients_.rules) {
      if (wanted_of(rule) != 0) last = &rule;
    }
    for (const CompiledGrad& rule : gradients_.rules) {
      const uint64_t wanted = wanted_of(rule);
      if (wanted == 0) continue;
      if (rule.beside.empty()) {
        call_.result(static_cast<size_t>(rule.input)) = result(rule, &rule == last);
        continue;
      }
      Values found = results(rule, wanted);
      call_.result(static_cast<size_t>(rule.input)) = std::move(found[0]);
      for (size_t i = 0; i < rule.beside.size(); ++i) {
        call_.result(static_cast<size_t>(rule.beside[i])) = std::move(found[i + 1]);
      }
    }
  }

 private:
  size_t outputs() const { return static_cast<size_t>(gradients_.outputs); }
  bool is_absent(size_t slot) const { return slot < 64 && (absent_ >> slot & 1U) != 0; }

  // Which results of a rule are asked for, a bit each.
  uint64_t wanted_of(const CompiledGrad& rule) const {
    uint64_t wanted = call_.wants(static_cast<size_t>(rule.input)) ? 1 : 0;
    for (size_t i = 0; i < rule.beside.size(); ++i) {
      if (call_.wants(static_cast<size_t>(rule.beside[i]))) wanted |= uint64_t{2} << i;
    }
    const size_t count = rule.beside.size() + 1;
    const uint64_t all = (uint64_t{1} << count) - 1;
    return wanted == all ? ~uint64_t{0} : wanted;
  }

  Values results(const CompiledGrad& rule, uint64_t wanted) {
    BodyCall call{*rule.body, call_.op, {slots_.data(), slots_.size()}, all_specs()};
    call.many = many_;
    call.last = last_;
    call.absent = rule.body->has_choices || reads_absent(rule) ? absent_ : 0;
    call.wanted = wanted;
    call.is_rule = true;
    return run_body(call);
  }

  // Null where it is zero because of cotangents that are absent.
  Ref<Value> result(const CompiledGrad& rule, bool is_last) {
    const CompiledBody& body = *rule.body;
    if (body.steps.empty() && body.constants.empty()) {
      if (body.results.empty()) refuse_unknown(call_.op, static_cast<size_t>(rule.input));
      return Ref<Value>(slots_[static_cast<size_t>(body.results[0])]);
    }
    const bool is_call = is_one_call(body) && (only_step(body) || body.steps[0].function);
    if (is_call && !reads_absent(rule)) return of_step(rule, is_last);
    return results(rule, ~uint64_t{0})[0];
  }

  bool reads_absent(const CompiledGrad& rule) const {
    if (absent_ == 0) return false;
    auto any = [this](const std::vector<int>& slots) {
      return std::any_of(slots.begin(), slots.end(),
                         [this](int slot) { return is_absent(static_cast<size_t>(slot)); });
    };
    const std::vector<CompiledStep>& steps = rule.body->steps;
    return any(rule.body->results) || std::any_of(steps.begin(), steps.end(),
                                                  [&](const auto& step) { return any(step.args); });
  }

  // The one call that a rule is, over what nobody needs any more: the total, or a cotangent.
  Ref<Value> of_step(const CompiledGrad& rule, bool is_last) {
    const CompiledStep& step = rule.body->steps[0];
    const Ref<Op> op = step.op ? step.op : step_op(step, call_.op, specs_of(step));
    SmallVector<Value*, 4> args;
    Ref<Value> total;
    uint32_t given_up = 0;
    for (int slot : step.args) {
      const size_t place = static_cast<size_t>(slot);
      if (slot == last_) {
        for (Value* value : many_) args.push_back(value);
      } else if (place == slots_.size()) {
        total = call_.take_total(static_cast<size_t>(rule.input));
        given_up |= argument_bit(args.size());
        args.push_back(total.get());
      } else {
        const bool is_cotangent = place + outputs() >= slots_.size();
        if (call_.gives_up && is_last && is_cotangent) given_up |= argument_bit(args.size());
        args.push_back(slots_[place]);
      }
    }
    return apply_over(*op, {args.data(), args.size()}, given_up);
  }

  // What the attributes of a step may read of slots.
  std::span<const Spec> specs_of(const CompiledStep& step) {
    for (const auto& [index, expr] : step.attrs) {
      const bool is_plain = expr.kind <= AttrExpr::Kind::kAttr || expr.attr == "inverse";
      if (!is_plain) return all_specs();
    }
    return {};
  }

  // Made once for all rules.
  const std::vector<Spec>& all_specs() {
    if (specs_.empty()) specs_ = slot_specs(call_, outputs());
    return specs_;
  }

  const Gradients& gradients_;
  GradCall& call_;
  std::vector<Spec> specs_;
  SmallVector<Value*, 8> slots_;
  uint64_t absent_ = 0;  // slots, a bit each: cotangents of zero that nobody has made
  Args many_;
  int last_ = -1;  // the slot that stands for many
};

}  // namespace

void run_declared(const Gradients& declared, GradCall& call) {
  Rules(chosen(declared.of(call.node.specs->has_complex), call.op), call).run();
}

namespace {

// A reduction's rule sees its output and cotangent with the reduced axes kept as 1.
void run_reduction(GradCall& call) {
  const Dims& shape = call.node.input_spec(0).shape;
  Dims kept = shape;
  size_t last = 0;
  const Dims axes = named_axes(call.op, static_cast<int64_t>(shape.size()));
  for (int64_t axis : axes) {
    kept[static_cast<size_t>(axis)] = 1;
    last = std::max(last, static_cast<size_t>(axis) + 1);
  }
  // Without leading axes a tensor broadcasts as it is.
  if (last == axes.size() || kept == call.node.outputs()[0].shape) {
    run_declared(*call.op.reduction->gradients, call);
    return;
  }
  Values held;
  auto keep = [&](Value* value) {
    if (value == nullptr || kept == call.node.outputs()[0].shape) return value;
    const std::vector<int64_t> shape(kept.begin(), kept.end());
    held.push_back(tensorlike::call("reshape", {value}, {{"shape", shape}}));
    return held.back().get();
  };
  Value* output[] = {keep(call.outputs[0])};
  Value* cotangent[] = {keep(call.cotangents[0])};
  Node view;
  view.inputs = call.node.inputs;
  const Spec seen{call.node.outputs()[0].dtype, kept};
  view.specs = make_ref<CallSpec>(Specs{call.node.input_spec(0)}, Specs{seen});
  GradCall inner{call.op, view, call.inputs, output, cotangent, Values(1), {}, call.live};
  run_declared(*call.op.reduction->gradients, inner);
  call.result(0) = inner.results[0];
}

}  // namespace

Ref<Value> conjugate(Value& x) {
  const bool is_real = kind_of(spec_of("gradient", x).dtype) != Kind::kComplex;
  return is_real ? Ref<Value>(&x) : call("conj", {&x});
}

namespace {

// What is declared of the gradients of a scalar function, or of a reduction of all axes, whose
// result broadcasts as it is; null: the op is another one.
const Gradients* simple_gradients(const Node& node) {
  const Op& op = *node.op;
  if (op.scalar != nullptr) return &*op.scalar->gradients;
  if (op.reduction == nullptr || !node.outputs()[0].shape.empty()) return nullptr;
  return &*op.reduction->gradients;
}

}  // namespace

bool small_gradients(const Node& node, Value& cotangent, LiveInputs live, Values& out) {
  const Gradients* const declared = simple_gradients(node);
  if (declared == nullptr || cotangent.tag != Value::kRaw || node.outputs().size() != 1) {
    return false;
  }
  const size_t n = node.inputs.size();
  // Slots as the rules number them: inputs, the output, its cotangent.
  Value* slots[5];
  if (n > 3) return false;
  for (size_t i = 0; i < n; ++i) slots[i] = node.inputs[i].saved.get();
  slots[n] = node.saved_output(0).get();
  slots[n + 1] = &cotangent;
  const std::vector<CompiledGrad>& rules = declared->of(node.specs->has_complex).rules;
  if (rules.empty()) return false;  // it is replayed
  for (const CompiledGrad& rule : rules) {
    const size_t input = static_cast<size_t>(rule.input);
    if (!live.has(node, input)) continue;
    const CompiledBody& body = *rule.body;
    Ref<Value> result;
    if (body.steps.empty() && body.constants.empty()) {
      if (body.results.empty()) return false;
      result = Ref<Value>(slots[body.results[0]]);
    } else if (const Op* only = only_step(body)) {
      Value* args[4];
      const size_t count = body.steps[0].args.size();
      bool is_there = count <= 4;
      for (size_t k = 0; is_there && k < count; ++k) {
        args[k] = slots[body.steps[0].args[k]];
        is_there = args[k] != nullptr;
      }
      if (!is_there) return false;
      result = apply_small(*only, {args, count});
    }
    if (!result || result->tag != Value::kRaw) return false;
    out[input] = std::move(result);
  }
  for (size_t i = 0; i < n; ++i) {
    if (out[i]) out[i] = fit(std::move(out[i]), node.input_spec(i));
  }
  return true;
}

Ref<Value> GradCall::take_total(size_t input) {
  if (has_total(input)) return std::move(*totals[input]);
  return zeros(node.input_spec(input), *cotangents[0]);
}

Ref<Value> apply_over(const Op& op, Args args, uint32_t given_up) {
  bool is_plain = given_up != 0 && runs_at_once() && op.cls.plain;
  for (Value* arg : args) is_plain = is_plain && arg->tag == Value::kRaw;
  if (!is_plain) return apply_one(op, args);
  if (Ref<Value> out = apply_small(op, args)) return out;
  return launch(op, args, given_up, 1)[0];
}

Ref<Value> apply_over(const Op& op, Ref<Value> first, Args others) {
  SmallVector<Value*, 4> args{first.get()};
  for (Value* other : others) args.push_back(other);
  return apply_over(op, {args.data(), args.size()}, 1);
}

Values input_gradients(const Node& node, Tape& tape, Args cotangents, bool create_graph,
                       std::span<Ref<Value>* const> totals, LiveInputs live, bool gives_up) {
  const Op& op = *node.op;
  Values held;
  SmallVector<Value*, 4> inputs;
  SmallVector<Value*, 2> outputs;
  for (const Node::Input& input : node.inputs) {
    held.push_back(restore(input.saved, input, tape, create_graph));
    inputs.push_back(held.back().get());
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Edge self{Ref<Node>(const_cast<Node*>(&node)), static_cast<int>(i)};
    held.push_back(restore(node.saved_output(i), self, tape, create_graph));
    outputs.push_back(held.back().get());
  }
  GradCall call{op,
                node,
                {inputs.data(), inputs.size()},
                {outputs.data(), outputs.size()},
                cotangents,
                Values(node.inputs.size()),
                totals,
                live,
                gives_up};
  const GradRule& rule = op.grad_rule();
  const DeviceScope scope(device_beside(cotangents));
  if (op.reduction != nullptr) {
    run_reduction(call);
  } else if (rule.run != nullptr) {
    rule.run(call);
  } else if (const Gradients& declared =
                 op.scalar != nullptr ? *op.scalar->gradients : *op.cls.gradients;
             chosen(declared.of(node.specs->has_complex), op).rules.empty()) {
    replay(call);
  } else {
    run_declared(declared, call);
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (!call.results[i]) continue;
    const Spec& wanted = node.input_spec(i);
    call.results[i] = fit(std::move(call.results[i]), wanted);
  }
  return std::move(call.results);
}

}  // namespace tensorlike
