#include "tensor/body.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/shape.h"
#include "op/conditions.h"
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

[[noreturn]] void fail_calculation(const Op& op, std::string_view what) {
  fail(ErrorKind::kAttribute, said::op(op.name()), "the arithmetic on attributes must ", what, ".");
}

// Arithmetic on integers, which stays within them.
int64_t calculate(const Op& op, const std::string& function, int64_t a, int64_t b) {
  int64_t out = 0;
  bool is_wide = false;
  if (function == "add") {
    is_wide = __builtin_add_overflow(a, b, &out);
  } else if (function == "subtract") {
    is_wide = __builtin_sub_overflow(a, b, &out);
  } else if (function == "multiply") {
    is_wide = __builtin_mul_overflow(a, b, &out);
  } else {
    if (b == 0) fail_calculation(op, "not divide by zero");
    if (b == -1) {
      is_wide = __builtin_sub_overflow(int64_t{0}, a, &out);
      if (function == "remainder") return 0;
    } else {
      // Rounded down, as Python does.
      out = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
      if (function == "remainder") out = a - out * b;
    }
  }
  if (is_wide) fail_calculation(op, "stay within 64 bits");
  return out;
}

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
    if (step.function == nullptr && !step.op) {  // size, attribute
      slots_.push_back({nullptr, step.attrs.empty() ? element_count(spec(step.args[0]).shape)
                                                    : number(step.attrs[0].second)});
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
      if (std::holds_alternative<Nothing>(fallback)) break;  // apply refuses the call
      lifted.push_back(lift_literal(literal_of(fallback), *like));
      args.push_back(lifted.back().get());
    }
    if (op->scalar != nullptr && !op->scalar->conditions.empty()) check_given(step, *op->scalar);
    slots_.push_back({apply(*op, {args.data(), args.size()})[0], {}});
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
      case AttrExpr::Kind::kArithmetic: {
        SmallVector<Literal, 4> parts;
        for (const AttrExpr& part : expr.parts) parts.push_back(number(part));
        return calculate(op_, expr.attr, parts[0], parts[1]);
      }
      case AttrExpr::Kind::kTuple: {
        std::vector<int64_t> elements;
        for (const AttrExpr& part : expr.parts) elements.push_back(whole_number(part));
        return elements;
      }
      case AttrExpr::Kind::kDim:
        break;
    }
    const Dims shape = spec(expr.slot).shape;
    const int64_t ndim = static_cast<int64_t>(shape.size());
    return shape[static_cast<size_t>(normalize_axis(op_.name(), expr.dim, ndim))];
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
  const DeviceScope scope(device_beside(inputs));
  return Run(body, op, inputs, specs).results();
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
  if (like.tag == Value::kRaw) {
    const Kind kind = kind_of(literal);
    const RawTensor& raw = static_cast<RawTensor&>(like);
    return RawTensor::scalar(literal_dtype(kind, raw.dtype), literal, raw.device);
  }
  Value* args[] = {&like};
  return apply(*const_op(literal), args)[0];
}

}  // namespace tensorlike
