#include "dispatch/power.h"

#include "dispatch/dispatcher.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

Ref<Value> call(const Function* function, Args args) {
  return std::move(tensorlike::apply(*function->shared_op, args)[0]);
}

}  // namespace

void check_exponent(const Value& x, const Literal& exponent) {
  const auto* number = std::get_if<int64_t>(&exponent);
  Spec spec;
  if (number == nullptr || *number >= 0 || !x.spec(spec)) return;
  if (kind_of(spec.dtype) >= Kind::kFloating) return;
  fail(ErrorKind::kOverflow, said::op("pow"),
       "the exponent must not be negative where integers are raised", said::got(*number),
       said::fix("raise floats: astype(x, float64)"));
}

Ref<Value> power_of_number(Value& x, const Literal& exponent) {
  struct Functions {
    const Function* square = registry().find_function("square");
    const Function* multiply = registry().find_function("multiply");
    const Function* sqrt = registry().find_function("sqrt");
    const Function* reciprocal = registry().find_function("reciprocal");
  };
  static const Functions functions;
  check_exponent(x, exponent);
  if (std::holds_alternative<bool>(exponent)) return nullptr;
  if (std::holds_alternative<std::complex<double>>(exponent)) return nullptr;
  const double number = std::holds_alternative<int64_t>(exponent)
                            ? static_cast<double>(std::get<int64_t>(exponent))
                            : std::get<double>(exponent);
  if (number != 2 && number != 3 && number != 0.5 && number != -1) return nullptr;
  Spec spec;
  if (!x.spec(spec)) return nullptr;
  const Kind kind = kind_of(spec.dtype);
  const bool is_whole = std::holds_alternative<int64_t>(exponent) && number > 0;
  if (kind != Kind::kFloating && (kind != Kind::kInteger || !is_whole)) return nullptr;
  Value* args[] = {&x};
  if (number == 0.5) return call(functions.sqrt, args);
  if (number == -1) return call(functions.reciprocal, args);
  Ref<Value> square = call(functions.square, args);
  if (number == 2) return square;
  Value* factors[] = {square.get(), &x};
  return call(functions.multiply, factors);
}

}  // namespace tensorlike
