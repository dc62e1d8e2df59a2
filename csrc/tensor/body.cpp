#include "tensor/body.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/shape.h"
#include "op/conditions.h"
#include "op/infer.h"
#include "op/registry.h"
#include "op/shapes.h"
#include "op/tile_program.h"
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

double calculate(const std::string& function, double a, double b) {
  if (function == "add") return a + b;
  if (function == "subtract") return a - b;
  if (function == "multiply") return a * b;
  if (function == "divide") return a / b;
  const double down = std::floor(a / b);
  return function == "remainder" ? a - down * b : down;
}

double real_number(const Op& op, const Literal& literal) {
  if (std::holds_alternative<std::complex<double>>(literal))
    fail_calculation(op, "be on real numbers");
  return std::visit(
      [](auto value) {
        if constexpr (std::is_same_v<decltype(value), std::complex<double>>) {
          return value.real();
        } else {
          return static_cast<double>(value);
        }
      },
      literal);
}

// What Python's operator gives for two numbers.
Attr calculate(const Op& op, const std::string& function, const Literal& a, const Literal& b) {
  auto whole = [](const Literal& literal) -> std::optional<int64_t> {
    if (const auto* value = std::get_if<bool>(&literal)) return *value ? 1 : 0;
    if (const auto* value = std::get_if<int64_t>(&literal)) return *value;
    return std::nullopt;
  };
  const auto x = whole(a);
  const auto y = whole(b);
  if (x && y && function != "divide") return calculate(op, function, *x, *y);
  return calculate(function, real_number(op, a), real_number(op, b));
}

class Run {
 public:
  Run(const CompiledBody& body, const Op& op, Args inputs, std::span<const Spec> specs,
      Args many = {}, int last = -1)
      : body_(body), op_(op), specs_(specs), variadic_(last) {
    for (Value* value : many) many_.push_back(Ref<Value>(value));
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

  Ref<Op> make(const CompiledStep& step) {
    std::vector<Attr> values;
    for (const AttrSpec& attr : step.function->spec.attrs) values.push_back(attr.fallback);
    for (const auto& [index, expr] : step.attrs) {
      values[static_cast<size_t>(index)] = evaluate(expr);
    }
    return step.function->make_op(std::move(values));
  }

 private:
  void run(const CompiledStep& step) {
    if (step.function == nullptr && !step.op) {  // size, attribute
      slots_.push_back({nullptr, step.attrs.empty() ? element_count(spec(step.args[0]).shape)
                                                    : number(step.attrs[0].second)});
      return;
    }
    if (fold_numbers(step)) return;
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
      if (std::holds_alternative<Nothing>(fallback)) break;  // apply refuses the call
      lifted.push_back(lift_literal(literal_of(fallback), *like));
      args.push_back(lifted.back().get());
    }
    if (op->scalar != nullptr && !op->scalar->conditions.empty()) check_given(step, *op->scalar);
    slots_.push_back({apply(*op, {args.data(), args.size()})[0], {}});
  }

  // A scalar function of numbers alone is a number.
  bool fold_numbers(const CompiledStep& step) {
    if (!step.op || step.op->scalar == nullptr || step.args.empty()) return false;
    SmallVector<Literal, 4> numbers;
    for (int slot : step.args) {
      const Slot& s = slots_[static_cast<size_t>(slot)];
      if (s.value || slot < body_.body.inputs) return false;
      numbers.push_back(s.literal);
    }
    const std::string& name = step.op->scalar->spec.name;
    if (name == "divide" || name == "subtract" || name == "multiply") {
      slots_.push_back({nullptr, literal_of(calculate(op_, name, numbers[0], numbers[1]))});
      return true;
    }
    const auto folded = fold(*step.op->scalar, {numbers.data(), numbers.size()});
    if (folded) slots_.push_back({nullptr, *folded});
    return folded.has_value();
  }

  // Numbers that the body gives a scalar function are checked as those of a call are.
  void check_given(const CompiledStep& step, const Scalar& scalar) {
    SmallVector<Given, 4> given;
    for (int slot : step.args) {
      const Slot& s = slots_[static_cast<size_t>(slot)];
      given.push_back(s.value ? Given() : Given(s.literal));
    }
    check_numbers(scalar, {given.data(), given.size()});
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
      case AttrExpr::Kind::kArithmetic: {
        if (is_of_list(expr.attr)) return of_list(expr);
        SmallVector<Literal, 4> parts;
        for (const AttrExpr& part : expr.parts) parts.push_back(number(part));
        return calculate(op_, expr.attr, parts[0], parts[1]);
      }
      case AttrExpr::Kind::kTuple: {
        std::vector<int64_t> elements;
        for (const AttrExpr& part : expr.parts) elements.push_back(whole_number(part));
        return elements;
      }
      case AttrExpr::Kind::kRank:
        return static_cast<int64_t>(spec(expr.slot).shape.size());
      case AttrExpr::Kind::kDim:
      case AttrExpr::Kind::kSize:  // of declared shapes alone
        break;
    }
    const Dims shape = spec(expr.slot).shape;
    const int64_t ndim = static_cast<int64_t>(shape.size());
    const int64_t axis = expr.parts.empty() ? expr.dim : whole_number(expr.parts[0]);
    return shape[static_cast<size_t>(normalize_axis(op_.name(), axis, ndim))];
  }

  // Functions of lists: the inverse of a permutation, a shape with another size along an axis, how
  // many elements a shape has; and the permutation of a rank that swaps the last two axes.
  static bool is_of_list(const std::string& function) {
    return function == "inverse" || function == "resized" || function == "size" ||
           function == "swapped";
  }

  Attr of_list(const AttrExpr& expr) {
    if (expr.attr == "swapped") {
      std::vector<int64_t> axes(static_cast<size_t>(whole_number(expr.parts[0])));
      for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
      std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
      return axes;
    }
    auto list = std::get<std::vector<int64_t>>(evaluate(expr.parts[0]));
    if (expr.attr == "size") return element_count(list);
    const auto ndim = static_cast<int64_t>(list.size());
    if (expr.attr == "resized") {
      const int64_t axis = normalize_axis(op_.name(), whole_number(expr.parts[1]), ndim);
      list[static_cast<size_t>(axis)] = whole_number(expr.parts[2]);
      return list;
    }
    std::vector<int64_t> inverse(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      inverse[static_cast<size_t>(normalize_axis(op_.name(), list[i], ndim))] =
          static_cast<int64_t>(i);
    }
    return inverse;
  }

  // A number among the attributes.
  Literal number(const AttrExpr& expr) {
    const Attr value = evaluate(expr);
    if (!is_number(value)) {
      fail(ErrorKind::kAttribute, said::op(op_.name()), expr.attr,
           " must be a number, since the body computes with it", said::got(to_string(value)));
    }
    return literal_of(value);
  }

  int64_t whole_number(const AttrExpr& expr) {
    const Attr value = evaluate(expr);
    if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
    fail(ErrorKind::kAttribute, said::op(op_.name()), expr.attr,
         " must be an integer, since the body makes a tuple with it", said::got(to_string(value)));
  }

  Spec spec(int slot) {
    const size_t index = static_cast<size_t>(slot);
    if (slots_[index].value) return spec_of(op_.name(), *slots_[index].value);
    return specs_[index];
  }

  // A value that says what kind of tensor-like a lone literal becomes: the last one that may hold
  // fractions, as cotangents do.
  Value* reference() {
    Value* found = nullptr;
    for (Slot& slot : slots_) {
      if (!slot.value) continue;
      const bool is_first = found == nullptr || slot.value->priority() > found->priority();
      const bool is_better = !is_first && slot.value->priority() == found->priority() &&
                             kind_of(spec_of(op_.name(), *slot.value).dtype) >= Kind::kFloating;
      if (is_first || is_better) found = slot.value.get();
    }
    return found;
  }

  const CompiledBody& body_;
  const Op& op_;
  std::span<const Spec> specs_;
  SmallVector<Slot, 8> slots_;
  int variadic_;
  std::vector<Ref<Value>> many_;
};

}  // namespace

Ref<Op> step_op(const CompiledStep& step, const Op& op, std::span<const Spec> specs) {
  SmallVector<Value*, 8> none(specs.size(), nullptr);
  static const CompiledBody empty;
  return Run(empty, op, {none.data(), none.size()}, specs).make(step);
}

Values run_body(const CompiledBody& body, const Op& op, Args inputs, std::span<const Spec> specs,
                Args many, int last) {
  const CompiledBody* own = op.scalar != nullptr ? op.scalar->expansion.get() : op.cls.define.get();
  if (&body == own) check_arity(op, inputs.size());  // a gradient's takes more than the arguments
  const DeviceScope scope(device_beside(inputs));
  return Run(body, op, inputs, specs, many, last).results();
}

Specs infer_by_body(const Op& op, std::span<const Spec> inputs) {
  return specs_on_shapes(op, inputs,
                         [&](Args shapes) { return run_body(*op.cls.define, op, shapes); });
}

bool apply_body(const Op& op, Args args, Values& out) {
  const bool is_scalar = op.scalar != nullptr;
  if (const auto& body = is_scalar ? op.scalar->expansion : op.cls.define; body != nullptr) {
    out = run_body(*body, op, args);
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
