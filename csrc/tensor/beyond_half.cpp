// Numbers that float16 does not hold beside values that are of it, as counts of elements are.
#include <cmath>

#include "op/infer.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

bool holds_half(Value& x) {
  Spec spec;
  return x.spec(spec) && spec.dtype == DType::kFloat16;
}

bool exceeds_half(const Literal& literal) {
  constexpr double kFirst = 65520;  // which is rounded to infinity
  const auto* integer = std::get_if<int64_t>(&literal);
  const auto* real = std::get_if<double>(&literal);
  const double size = integer != nullptr ? std::fabs(static_cast<double>(*integer))
                      : real != nullptr  ? std::fabs(*real)
                                         : 0;
  return size >= kFirst && std::isfinite(size);
}

Values apply_wide(const Op& op, std::span<const Operand> operands) {
  std::vector<Ref<Value>> held;
  Value* like = nullptr;
  for (const Operand& x : operands) {
    const bool is_cast = x.value != nullptr && holds_half(*x.value);
    held.push_back(is_cast ? call("astype", {x.value}, {{"dtype", DType::kFloat32}})
                           : Ref<Value>(x.value));
    if (is_cast) like = held.back().get();
  }
  SmallVector<Value*, 4> args;
  for (size_t i = 0; i < held.size(); ++i) {
    if (!held[i]) held[i] = lift_literal(operands[i].number, *like);
    args.push_back(held[i].get());
  }
  Values made = apply(op, {args.data(), args.size()});
  for (Ref<Value>& y : made) {
    if (spec_of(op.name(), *y).dtype != DType::kFloat32) continue;
    y = call("astype", {y.get()}, {{"dtype", DType::kFloat16}});
  }
  return made;
}

}  // namespace tensorlike
