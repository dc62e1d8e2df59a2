#include "tensor/body.h"

#include <algorithm>

#include "base/shape.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

// A slot holds a value or a literal that has not met a tensor yet.
struct Slot {
  Ref<Value> value;
  Literal literal = {};
};

class Run {
 public:
  Run(const CompiledBody& body, const Op& op, Args inputs, std::span<const Spec> specs)
      : body_(body), op_(op), specs_(specs) {
    // The last argument of an op may stand for any number: its slot, then, for all of them.
    const size_t count = static_cast<size_t>(body.body.inputs);
    const bool is_variadic = op.scalar == nullptr && op.cls.define.get() == &body &&
                             !op.cls.spec.args.empty() && op.cls.spec.args.back().variadic;
    if (is_variadic) {
      variadic_ = static_cast<int>(count) - 1;
      for (size_t i = count - 1; i < inputs.size(); ++i) many_.push_back(Ref<Value>(inputs[i]));
      inputs = inputs.first(std::min(count, inputs.size()));
    }
    for (Value* input : inputs) slots_.push_back({Ref<Value>(input), {}});
    if (inputs.size() < count) slots_.push_back({});
    for (const auto& constant : body.body.constants) slots_.push_back({nullptr, constant});
  }

  Values results() {
    for (const CompiledStep& step : body_.steps) run(step);
    Values out;
    for (int slot : body_.body.results) {
      Slot& result = slots_[static_cast<size_t>(slot)];
      if (!result.value) result.value = lift_literal(result.literal, *reference());
      out.push_back(result.value);
    }
    return out;
  }

 private:
  void run(const CompiledStep& step) {
    if (step.function == nullptr && !step.op) {  // size
      slots_.push_back({nullptr, element_count(spec(step.args[0]).shape)});
      return;
    }
    Value* like = nullptr;
    for (int slot : step.args) {
      Value* value = slots_[static_cast<size_t>(slot)].value.get();
      if (value != nullptr && (like == nullptr || value->priority() > like->priority())) {
        like = value;
      }
    }
    if (like == nullptr) like = reference();
    SmallVector<Ref<Value>, 4> lifted;
    SmallVector<Value*, 4> args;
    for (int slot : step.args) {
      if (slot == variadic_) {
        for (const Ref<Value>& value : many_) args.push_back(value.get());
        continue;
      }
      Slot& s = slots_[static_cast<size_t>(slot)];
      lifted.push_back(s.value ? s.value : lift_literal(s.literal, *like));
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
      if (std::holds_alternative<std::monostate>(fallback)) break;  // apply refuses the call
      lifted.push_back(lift_literal(literal_of(fallback), *like));
      args.push_back(lifted.back().get());
    }
    slots_.push_back({apply(*op, {args.data(), args.size()})[0], {}});
  }

  Ref<Op> make(const CompiledStep& step) {
    std::vector<Attr> values;
    for (const AttrSpec& attr : step.function->spec.attrs) values.push_back(attr.fallback);
    for (const auto& [index, expr] : step.attrs) {
      values[static_cast<size_t>(index)] = evaluate(expr);
    }
    return step.function->make_op(std::move(values));
  }

  Attr evaluate(const AttrExpr& expr) {
    switch (expr.kind) {
      case AttrExpr::Kind::kLiteral:
        return expr.literal;
      case AttrExpr::Kind::kAttr:
        return op_.attr(expr.attr);
      case AttrExpr::Kind::kDType:
        return spec(expr.slot).dtype;
      case AttrExpr::Kind::kShape: {
        const Dims shape = spec(expr.slot).shape;
        return std::vector<int64_t>(shape.begin(), shape.end());
      }
      case AttrExpr::Kind::kDim:
        break;
    }
    const Dims shape = spec(expr.slot).shape;
    const int64_t ndim = static_cast<int64_t>(shape.size());
    return shape[static_cast<size_t>(normalize_axis(op_.name(), expr.dim, ndim))];
  }

  Spec spec(int slot) {
    const size_t index = static_cast<size_t>(slot);
    if (slots_[index].value) return spec_of(op_.name(), *slots_[index].value);
    return specs_[index];
  }

  // A value that says what kind of tensor-like a lone literal becomes.
  Value* reference() {
    for (Slot& slot : slots_) {
      if (slot.value) return slot.value.get();
    }
    return nullptr;
  }

  const CompiledBody& body_;
  const Op& op_;
  std::span<const Spec> specs_;
  SmallVector<Slot, 8> slots_;
  int variadic_ = -1;
  std::vector<Ref<Value>> many_;
};

}  // namespace

Values run_body(const CompiledBody& body, const Op& op, Args inputs, std::span<const Spec> specs) {
  const CompiledBody* own = op.scalar != nullptr ? op.scalar->expansion.get() : op.cls.define.get();
  if (&body == own) check_arity(op, inputs.size());  // a gradient's takes more than the arguments
  return Run(body, op, inputs, specs).results();
}

Ref<Value> lift_literal(Literal literal, Value& like) {
  if (like.tag == Value::kRaw) {
    const Kind kind = kind_of(literal);
    return RawTensor::scalar(literal_dtype(kind, static_cast<RawTensor&>(like).dtype), literal);
  }
  Value* args[] = {&like};
  return apply(*const_op(literal), args)[0];
}

}  // namespace tensorlike
