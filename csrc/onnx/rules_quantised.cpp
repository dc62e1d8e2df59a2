// Quantised numbers: bytes that stand for reals by a scale and a zero point.
#include <algorithm>
#include <cmath>

#include "onnx/rules.h"
#include "onnx/tensor.h"

namespace tensorlike::onnx {
namespace {

Item as(const RuleCall& call, const Item& x, DType dtype) {
  return call.one("astype", {x}, {{"dtype", Item(dtype)}});
}
DType dtype_of_item(const Item& x) { return x.tensor("x").spec.dtype; }
const Dims& shape_of(const Item& x) { return x.tensor("x").spec.shape; }

// Scales or zero points so that they broadcast: one, one for each row along an axis, or one for
// each block of rows.
Item along(const RuleCall& call, const Item& x, const Item& like, int64_t axis) {
  const Dims &shape = shape_of(x), &whole = shape_of(like);
  if (shape.empty() || (shape.size() == 1 && shape[0] == 1)) {
    return call.reshaped(x.tensor("scale"), {});
  }
  const auto rank = static_cast<int64_t>(whole.size());
  const auto place =
      static_cast<size_t>(calculate("normal_axis", {Item(axis), Item(rank)}).integer("axis"));
  if (const int64_t block = call.integer("block_size"); block != 0) {
    if (block < 0 || shape.size() != whole.size() ||
        shape[place] < (whole[place] + block - 1) / block) {
      call.refuse("block_size", "must go with the blocks that there are scales for", text(block));
    }
    const Ref<RawTensor> blocks = RawTensor::empty(DType::kInt64, {whole[place]});
    for (int64_t i = 0; i < whole[place]; ++i) blocks->as<int64_t>()[i] = i / block;
    return Item(picked(call.calls, x.tensor("scale"), call.calls.known(blocks), place));
  }
  if (shape.size() > 1) return x;
  std::vector<int64_t> sizes(static_cast<size_t>(rank), 1);
  sizes[place] = -1;
  return call.reshaped(x.tensor("scale"), sizes);
}

// Rounded reals as integers of a dtype, which holds at its ends.
Item bounded(const RuleCall& call, const Item& x, DType dtype) {
  const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32;
  if (!is_signed && dtype != DType::kUInt8 && dtype != DType::kUInt16) {
    call.refuse("zero", "must be of a dtype of quantised numbers that the core has",
                std::string(name_of(dtype)));
  }
  const auto bits = static_cast<int>(8 * size_of(dtype)) - (is_signed ? 1 : 0);
  const double high = std::ldexp(1.0, bits) - 1;
  const Item above = call.one("maximum", {x, Item(is_signed ? -high - 1 : 0.0)});
  return as(call, call.one("minimum", {above, Item(high)}), dtype);
}

Item quantized(const RuleCall& call, const Item& x, const Item& scale, const Item& zero,
               DType dtype, int64_t axis) {
  const DType wide = dtype_of_item(x) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Item real =
      call.one("divide", {as(call, x, wide), along(call, as(call, scale, wide), x, axis)});
  Item rounded = call.one("round", {real});
  if (zero.is_given()) {
    rounded = call.one("add", {rounded, along(call, as(call, zero, wide), x, axis)});
  }
  return bounded(call, rounded, dtype);
}

Items quantize(const RuleCall& call) {
  const int64_t number = call.integer("output_dtype");
  DType dtype = number == 0 ? DType::kUInt8 : dtype_of(number);
  if (call.is_given("zero")) dtype = call.tensor("zero").spec.dtype;
  Item x = call.item("x");
  if (call.integer("precision") != 0) x = as(call, x, dtype_of(call.integer("precision")));
  return {quantized(call, x, call.item("scale"), call.item("zero"), dtype, call.integer("axis"))};
}

Items dequantize(const RuleCall& call) {
  const Item &x = call.item("x"), &scale = call.item("scale"), &zero = call.item("zero");
  const int64_t number = call.integer("output_dtype"), axis = call.integer("axis");
  const DType own = dtype_of_item(scale);
  const DType wide = own == DType::kFloat64 ? own : DType::kFloat32;
  Item real = as(call, x, wide);
  if (zero.is_given()) {
    real = call.one("subtract", {real, along(call, as(call, zero, wide), x, axis)});
  }
  real = call.one("multiply", {real, along(call, as(call, scale, wide), x, axis)});
  return {as(call, real, number == 0 ? own : dtype_of(number))};
}

// Quantised tensors, each with its scale and zero point, joined as reals.
Items quantized_concat(const RuleCall& call) {
  const Items& parts = call.item("parts").list("parts");
  if (parts.empty() || parts.size() % 3 != 0) {
    call.refuse("parts", "must be three for each tensor", text(parts.size()));
  }
  Items reals;
  for (size_t i = 0; i < parts.size(); i += 3) {
    const auto number = [&](size_t part) {
      return along(call, as(call, parts[i + part], DType::kFloat32), parts[i], -1);
    };
    const Item whole = call.one("subtract", {as(call, parts[i], DType::kFloat32), number(2)});
    reals.push_back(call.one("multiply", {whole, number(1)}));
  }
  const Item joined = call.one("concat", reals, {{"axis", Item(call.integer("axis"))}});
  const DType dtype = call.tensor("y_zero").spec.dtype;
  return {quantized(call, joined, call.item("y_scale"), call.item("y_zero"), dtype, -1)};
}

constexpr NamedRule kQuantisedRules[] = {
    {"quantize", quantize},
    {"dequantize", dequantize},
    {"quantized_concat", quantized_concat},
};

}  // namespace

std::span<const NamedRule> quantised_rules() { return kQuantisedRules; }

}  // namespace tensorlike::onnx
