#include "tensor/body.h"

#include <algorithm>

#include "base/shape.h"
#include "op/conditions.h"
#include "op/counts.h"
#include "op/infer.h"
#include "op/registry.h"
#include "op/tile_program.h"
#include "tensor/body_plan.h"
#include "tensor/creation.h"
#include "tensor/raw_tensor.h"
#include "tensor/shape_values.h"

namespace tensorlike {
namespace {

// A slot holds a value or a literal that has not met a tensor yet.
struct Slot {
  Ref<Value> value;
  Literal literal = {};
};

class Run final : public StepAttrs {
 public:
  Run(const BodyCall& call)
      : StepAttrs(call.op),
        body_(call.body),
        plan_(call),
        specs_(call.specs),
        variadic_(call.last) {
    for (Value* value : call.many) many_.push_back(Ref<Value>(value));
    Args inputs = call.inputs;
    // The last argument of an op may stand for any number: its slot, then, for all of them.
    const size_t count = static_cast<size_t>(body_.inputs);
    const bool is_variadic = op_.scalar == nullptr && op_.cls.define.get() == &body_ &&
                             !op_.cls.spec.args.empty() && op_.cls.spec.args.back().variadic;
    if (is_variadic) {
      variadic_ = static_cast<int>(count) - 1;
      for (size_t i = count - 1; i < inputs.size(); ++i) many_.push_back(Ref<Value>(inputs[i]));
      inputs = inputs.first(std::min(count, inputs.size()));
    }
    for (Value* input : inputs) slots_.push_back({Ref<Value>(input), {}});
    if (inputs.size() < count) slots_.push_back({});
    for (const auto& constant : body_.constants) slots_.push_back({nullptr, constant});
  }

  Values results() {
    if (plan_.is_needed()) plan_.make(*this);
    if (!body_.steps.empty()) {
      slots_.resize(static_cast<size_t>(body_.steps.back().slot + body_.steps.back().outputs));
    }
    for (const CompiledStep& step : body_.steps) {
      if (plan_.runs(step)) run(step);
    }
    Values out;
    for (size_t i = 0; i < body_.results.size(); ++i) {
      const int slot = body_.results[i];
      Slot& result = slots_[static_cast<size_t>(slot)];
      const bool is_left_out = !plan_.is_wanted(i) || (plan_.is_made() && plan_.is_absent(slot));
      if (!is_left_out && !result.value) {
        result.value = lift_literal(result.literal, *reference());
      }
      out.push_back(is_left_out ? nullptr : result.value);
    }
    return out;
  }

  Ref<Op> make(const CompiledStep& step) {
    std::vector<Attr> values;
    for (const AttrSpec& attr : step.function->spec.attrs) values.push_back(attr.fallback);
    for (const auto& [index, expr] : step.attrs) {
      values[static_cast<size_t>(index)] = evaluate(expr);
    }
    return step.function->make_op(std::move(values));
  }

 private:
  Slot& slot(int number) { return slots_[static_cast<size_t>(number)]; }
  bool is_constant(int number) const {
    const int inputs = body_.inputs;
    return number >= inputs && number < inputs + static_cast<int>(body_.constants.size());
  }

  void run(const CompiledStep& step) {
    if (plan_.is_made() && stands_for_another(step)) return;
    switch (step.kind) {
      case CompiledStep::Kind::kSize:
        slot(step.slot).literal = count_to_calculate(spec(step.args[0]).shape);
        return;
      case CompiledStep::Kind::kAttribute:
        slot(step.slot).literal = number(step.attrs[0].second);
        return;
      case CompiledStep::Kind::kRefusal:
        fail(ErrorKind::kAutodiff, said::op(op_.name()),
             std::get<std::string>(step.attrs[0].second.literal));
      case CompiledStep::Kind::kChoice:  // made by the plan
      case CompiledStep::Kind::kCall:
        break;
    }
    if (!fold_numbers(step)) apply_step(step);
  }

  void apply_step(const CompiledStep& step) {
    Value* const like = reference(step);
    SmallVector<Ref<Value>, 4> lifted;
    SmallVector<Value*, 4> args;
    bool exceeds = false;  // what float16 holds
    for (int number : step.args) {
      if (number == variadic_) {
        for (const Ref<Value>& value : many_) args.push_back(value.get());
        continue;
      }
      const Slot& given = slot(number);
      if (!given.value && exceeds_half(given.literal)) exceeds = true;
      lifted.push_back(given.value ? given.value : lift_literal(given.literal, *like));
      args.push_back(lifted.back().get());
    }
    Ref<Op> made;
    const Op* op = step.op.get();
    if (op == nullptr) {
      made = make(step);
      op = made.get();
    }
    // A scalar function that an attribute names takes its defaults; elsewhere none are left out.
    const size_t count = op->scalar != nullptr ? op->scalar->spec.args.size() : 0;
    for (size_t i = args.size(); i < count; ++i) {
      const Attr& fallback = op->scalar->spec.args[i].fallback;
      if (std::holds_alternative<Nothing>(fallback)) break;  // apply refuses the call
      lifted.push_back(lift_literal(literal_of(fallback), *like));
      args.push_back(lifted.back().get());
    }
    if (op->scalar != nullptr && !op->scalar->conditions.empty()) check_given(step, *op->scalar);
    Values results = exceeds && op->scalar != nullptr && reads_half(step)
                         ? apply_wide(*op, operands(step, args))
                         : apply(*op, {args.data(), args.size()});
    if (results.size() < static_cast<size_t>(step.outputs)) {
      fail(ErrorKind::kDeclaration, said::op(op_.name()), op->name(), " must have ", step.outputs,
           " results here", said::got(results.size()));
    }
    for (int k = 0; k < step.outputs; ++k) {
      slot(step.slot + k).value = std::move(results[static_cast<size_t>(k)]);
    }
  }

  bool reads_half(const CompiledStep& step) {
    return std::any_of(step.args.begin(), step.args.end(), [this](int number) {
      return slot(number).value && holds_half(*slot(number).value);
    });
  }

  std::vector<Operand> operands(const CompiledStep& step, std::span<Value* const> args) {
    std::vector<Operand> found;
    for (size_t i = 0; i < args.size(); ++i) {
      const Slot* given = i < step.args.size() ? &slot(step.args[i]) : nullptr;
      const bool is_number = given != nullptr && !given->value;
      found.push_back({is_number ? nullptr : args[i], is_number ? given->literal : Literal()});
    }
    return found;
  }

  // What the plan says of a step: it is another slot. Zeros that a step reads are made here.
  bool stands_for_another(const CompiledStep& step) {
    const int same = plan_.same_as(step);
    if (same >= 0) {
      slot(step.slot) = slot(same);
      const bool is_sum = step.kind == CompiledStep::Kind::kCall;
      if (is_sum && plan_.needs_shape(step.slot)) spread(step, same);
      return true;
    }
    for (int number : step.args) {
      if (!slot(number).value && !is_constant(number) && plan_.is_absent(number)) {
        make_zeros(number);
      }
    }
    return false;
  }

  void make_zeros(int number) {
    const int from = chosen(number);
    if (is_constant(from)) {
      slot(number).literal = slot(from).literal;
    } else {
      slot(number).value = zeros(spec(number), *reference());
    }
  }

  // A sum has the shape that zeros would have spread it to.
  void spread(const CompiledStep& step, int same) {
    if (!slot(same).value) return;
    const Specs both = {spec(step.args[0]), spec(step.args[1])};
    const Dims shape = infer(*step.op, both)[0].shape;
    if (shape == spec(same).shape) return;
    slot(step.slot).value = call("broadcast_to", {slot(same).value.get()},
                                 {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
  }

  // A scalar function of numbers alone is a number.
  bool fold_numbers(const CompiledStep& step) {
    if (!step.op || step.op->scalar == nullptr || step.args.empty()) return false;
    SmallVector<Literal, 4> numbers;
    for (int number : step.args) {
      const Slot& s = slot(number);
      if (s.value || number < body_.inputs) return false;
      numbers.push_back(s.literal);
    }
    Slot& result = slot(step.slot);
    const std::string& name = step.op->scalar->spec.name;
    if (const auto made = calculated_by_sizes(name, {numbers.data(), numbers.size()})) {
      result.literal = *made;
      return true;
    }
    if (name == "divide" || name == "subtract" || name == "multiply") {
      result.literal = literal_of(calculate(op_, name, numbers[0], numbers[1]));
      return true;
    }
    const auto folded = fold(*step.op->scalar, {numbers.data(), numbers.size()});
    if (folded) result.literal = *folded;
    return folded.has_value();
  }

  // Numbers that the body gives a scalar function are checked as those of a call are.
  void check_given(const CompiledStep& step, const Scalar& scalar) {
    SmallVector<Given, 4> given;
    for (int number : step.args) {
      given.push_back(slot(number).value ? Given() : Given(slot(number).literal));
    }
    check_numbers(scalar, {given.data(), given.size()});
  }

  bool flows(int number) const override { return !plan_.is_absent(number); }

  Spec spec(int number) override {
    const size_t index = static_cast<size_t>(number);
    if (index < slots_.size() && slots_[index].value) {
      return spec_of(op_.name(), *slots_[index].value);
    }
    if (index < specs_.size()) return specs_[index];
    return is_constant(number) ? Spec{default_dtype(kind_of(slot(number).literal)), {}, device()}
                               : inferred(number);
  }

  // Of a slot whose step has not run.
  Spec inferred(int number) {
    for (const auto& [known, spec] : inferred_) {
      if (known == number) return spec;
    }
    const CompiledStep& step = plan_.step_of(number);
    const bool is_plain_number =
        step.kind == CompiledStep::Kind::kSize || step.kind == CompiledStep::Kind::kAttribute;
    Spec found;
    found.device = device();
    if (step.kind == CompiledStep::Kind::kChoice) {
      found = spec(plan_.same_as(step));
    } else if (!is_plain_number) {
      found = infer_step(step)[static_cast<size_t>(number - step.slot)];
    }
    inferred_.emplace_back(number, found);
    return found;
  }

  Specs infer_step(const CompiledStep& step) {
    Specs specs;
    SmallVector<int, 4> numbers;
    for (int arg : step.args) {
      const int number = chosen(arg);
      numbers.push_back(number);
      if (number == variadic_) {
        for (const Ref<Value>& value : many_) specs.push_back(spec_of(op_.name(), *value));
      } else {
        specs.push_back(is_constant(number) ? Spec{DType::kFloat32, {}, device()} : spec(number));
      }
    }
    // A number takes the dtype of what it stands beside.
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!is_constant(numbers[i])) continue;
      const Kind kind = kind_of(slot(numbers[i]).literal);
      specs[i].dtype = default_dtype(kind);
      for (size_t k = 0; k < numbers.size(); ++k) {
        if (!is_constant(numbers[k])) specs[i].dtype = literal_dtype(kind, specs[k].dtype);
      }
    }
    const Ref<Op> op = step.op ? step.op : make(step);
    return infer(*op, specs);
  }

  // The slot itself, or that which a choice took.
  int chosen(int number) const {
    while (number >= body_.inputs && !is_constant(number)) {
      const CompiledStep& step = plan_.step_of(number);
      if (step.kind != CompiledStep::Kind::kChoice) break;
      number = plan_.same_as(step);
    }
    return number;
  }

  // A value that says what kind of tensor-like the numbers among a step's arguments become.
  Value* reference(const CompiledStep& step) {
    Value* like = nullptr;
    for (int number : step.args) {
      Value* value = slot(number).value.get();
      if (value != nullptr && (like == nullptr || value->priority() > like->priority())) {
        like = value;
      }
    }
    return like != nullptr ? like : reference();
  }

  // Where numbers become tensors.
  Device device() { return spec_of(op_.name(), *reference()).device; }

  // The same of a lone literal: the last value that may hold fractions, as cotangents do.
  Value* reference() {
    Value* found = nullptr;
    for (Slot& slot : slots_) {
      if (!slot.value) continue;
      const bool is_first = found == nullptr || slot.value->priority() > found->priority();
      const bool is_better = !is_first && slot.value->priority() == found->priority() &&
                             kind_of(spec_of(op_.name(), *slot.value).dtype) >= Kind::kFloating;
      if (is_first || is_better) found = slot.value.get();
    }
    if (found == nullptr) {
      fail(ErrorKind::kDeclaration, said::op(op_.name()),
           "the body must have a tensor among its arguments");
    }
    return found;
  }

  const CompiledBody& body_;
  BodyPlan plan_;
  std::span<const Spec> specs_;
  SmallVector<Slot, 8> slots_;
  int variadic_;
  std::vector<Ref<Value>> many_;
  std::vector<std::pair<int, Spec>> inferred_;
};

}  // namespace

Ref<Op> step_op(const CompiledStep& step, const Op& op, std::span<const Spec> specs) {
  static const CompiledBody empty;
  return Run({empty, op, {}, specs}).make(step);
}

Values run_body(const BodyCall& call) {
  const Op& op = call.op;
  const CompiledBody* own = op.scalar != nullptr ? op.scalar->expansion.get() : op.cls.define.get();
  // A gradient's takes more than the arguments.
  if (&call.body == own) check_arity(op, call.inputs.size());
  const DeviceScope scope(device_beside(call.inputs));
  return Run(call).results();
}

Specs infer_by_body(const Op& op, std::span<const Spec> inputs) {
  return specs_on_shapes(op, inputs,
                         [&](Args shapes) { return run_body({*op.cls.define, op, shapes}); });
}

bool apply_body(const Op& op, Args args, Values& out) {
  const bool is_scalar = op.scalar != nullptr;
  if (const auto& body = is_scalar ? op.scalar->expansion : op.cls.define; body) {
    out = run_body({*body, op, args});
    return true;
  }
  if (op.cls.expand != nullptr) {
    check_arity(op, args.size());
    const DeviceScope scope(device_beside(args));
    out = op.cls.expand(op, args);
    return true;
  }
  return op.run_define(args, out);
}

Ref<Value> lift_literal(Literal literal, Value& like) {
  Value* args[] = {&like};
  if (like.tag == Value::kRaw) {
    Values made;
    if (apply_creation.load(std::memory_order_relaxed) != nullptr &&
        applies_creation(*const_op(literal), {args}, made)) {
      return made[0];
    }
    const Kind kind = kind_of(literal);
    const RawTensor& raw = static_cast<RawTensor&>(like);
    return RawTensor::scalar(literal_dtype(kind, raw.dtype), literal, raw.device);
  }
  return apply(*const_op(literal), args)[0];
}

}  // namespace tensorlike
