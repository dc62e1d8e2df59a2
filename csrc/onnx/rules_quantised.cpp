// Quantised numbers: bytes that stand for reals by a scale and a zero point. Products of bytes are
// summed exactly, in floating-point numbers that hold the sums.
#include <algorithm>
#include <cmath>

#include "onnx/rules.h"
#include "onnx/tensor.h"

namespace tensorlike::onnx {
namespace {

constexpr double kExact = 1 << 24;  // up to which float32 has all integers
// Windows of 3x3 are multiplied as tiles, whose sums are of quarters of up to 4 elements each, of
// which 9 are added up.
constexpr double kExactOfTiles = kExact / (4 * 4 * 9);
constexpr double kByte = 255;  // the largest difference of two bytes

Item as(const RuleCall& call, const Item& x, DType dtype) {
  return call.one("astype", {x}, {{"dtype", Item(dtype)}});
}
DType dtype_of_item(const Item& x) { return x.tensor("x").spec.dtype; }
const Dims& shape_of(const Item& x) { return x.tensor("x").spec.shape; }

// Scales or zero points so that they broadcast: one, or one for each row along an axis.
Item along(const RuleCall& call, const Item& x, const Item& like, int64_t axis) {
  const Dims& shape = shape_of(x);
  if (element_count(shape) == 1) return call.reshaped(x.tensor("scale"), {});
  if (shape.size() > 1) return x;
  const auto rank = static_cast<int64_t>(shape_of(like).size());
  const Item place = calculate("normal_axis", {Item(axis), Item(rank)});
  std::vector<int64_t> sizes(static_cast<size_t>(rank), 1);
  sizes[static_cast<size_t>(place.integer("axis"))] = -1;
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

void refuse_blocks(const RuleCall& call) {
  if (call.integer("block_size") != 0) call.refuse("block_size", "must be 0 here", "another one");
}

Items quantize(const RuleCall& call) {
  refuse_blocks(call);
  const int64_t number = call.integer("output_dtype");
  DType dtype = number == 0 ? DType::kUInt8 : dtype_of(number);
  if (call.is_given("zero")) dtype = call.tensor("zero").spec.dtype;
  Item x = call.item("x");
  if (call.integer("precision") != 0) x = as(call, x, dtype_of(call.integer("precision")));
  return {quantized(call, x, call.item("scale"), call.item("zero"), dtype, call.integer("axis"))};
}

Items dequantize(const RuleCall& call) {
  refuse_blocks(call);
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

// Reals as bytes by a scale and a zero point of their own range.
Items dynamic_quantize(const RuleCall& call) {
  const Item& x = call.item("x");
  const Item low = call.one("minimum", {call.one("min", {x}), Item(0.0)});
  const Item high = call.one("maximum", {call.one("max", {x}), Item(0.0)});
  const Item scale = call.one("divide", {call.one("subtract", {high, low}), Item(255.0)});
  const Item is_none = call.one("equal", {scale, Item(0.0)});
  const Item safe = call.one("where", {is_none, Item(1.0), scale});
  const auto in_bytes = [&](const Item& number) {
    return call.one("minimum", {call.one("maximum", {number, Item(0.0)}), Item(255.0)});
  };
  const Item own = call.one("divide", {call.one("negative", {low}), safe});
  const Item zero = in_bytes(call.one("round", {own}));
  const Item places = call.one("round", {call.one("divide", {x, safe})});
  const Item found = in_bytes(call.one("add", {places, zero}));
  return {as(call, found, DType::kUInt8), scale, as(call, zero, DType::kUInt8)};
}

// A zero point or scale for each row or column of matrices.
Item for_lines(const RuleCall& call, const Item& x, bool is_row) {
  const Dims& shape = shape_of(x);
  if (element_count(shape) == 1) return call.reshaped(x.tensor("zero"), {});
  if (shape.size() != 1) return x;
  const std::vector<int64_t> sizes =
      is_row ? std::vector<int64_t>{-1, 1} : std::vector<int64_t>{1, -1};
  return call.reshaped(x.tensor("zero"), sizes);
}

// Less its zero point, in float32, which has all such differences.
Item centred(const RuleCall& call, const char* name, const Item& zero) {
  const Item x = as(call, call.item(name), DType::kFloat32);
  return zero.is_given() ? call.one("subtract", {x, zero}) : x;
}
Item zero_of(const RuleCall& call, const char* name) {
  const auto found = call.values.find(name);
  if (found == call.values.end() || !found->second.is_given()) return Item();
  return as(call, found->second, DType::kFloat32);
}

// A dtype in which so many products of bytes are summed exactly.
DType dtype_of_sums(int64_t terms, double most) {
  return static_cast<double>(terms) * kByte * kByte <= most ? DType::kFloat32 : DType::kFloat64;
}

Item product(const RuleCall& call, const char* a_zero, const char* b_zero) {
  Item rows = zero_of(call, a_zero), columns = zero_of(call, b_zero);
  if (rows.is_given()) rows = for_lines(call, rows, true);
  if (columns.is_given()) columns = for_lines(call, columns, false);
  const Item left = centred(call, "a", rows), right = centred(call, "b", columns);
  if (shape_of(left).empty()) call.refuse("a", "must be a matrix", "a scalar");
  const DType dtype = dtype_of_sums(shape_of(left).back(), kExact);
  return call.one("matmul", {as(call, left, dtype), as(call, right, dtype)});
}
Items product_integer(const RuleCall& call) {
  return {as(call, product(call, "a_zero", "b_zero"), DType::kInt32)};
}

// A product of quantised matrices as reals.
Items product_integer_to_float(const RuleCall& call) {
  const Item sums = as(call, product(call, "a_zero", "b_zero"), DType::kFloat32);
  const Item scale = call.one("multiply", {call.item("a_scale"), call.item("b_scale")});
  const Item found = call.one("multiply", {sums, scale});
  if (!call.is_given("bias")) return {found};
  return {call.one("add", {found, call.item("bias")})};
}

// Sums as bytes of another scale.
Item requantized(const RuleCall& call, const Item& sums, const Item& factor, const Item& zero) {
  const DType wide = dtype_of_item(sums) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Item scaled = call.one("multiply", {as(call, sums, wide), as(call, factor, wide)});
  const Item rounded = call.one("round", {scaled});
  const Item moved = call.one("add", {rounded, as(call, zero, wide)});
  return bounded(call, moved, dtype_of_item(zero));
}

Items quantized_product(const RuleCall& call) {
  const auto scale = [&](const char* name, bool is_row) {
    return for_lines(call, as(call, call.item(name), DType::kFloat32), is_row);
  };
  const Item both = call.one("multiply", {scale("a_scale", true), scale("b_scale", false)});
  const Item factor = call.one("divide", {both, scale("y_scale", true)});
  Item zero = call.item("y_zero");
  if (element_count(shape_of(zero)) == 1) zero = call.reshaped(zero.tensor("y_zero"), {});
  return {requantized(call, product(call, "a_zero", "b_zero"), factor, zero)};
}

// One number for each of the channels, which lie along an axis.
Item for_channels(const RuleCall& call, const Item& x, size_t rank, size_t axis) {
  if (element_count(shape_of(x)) == 1) return call.reshaped(x.tensor("w_zero"), {});
  std::vector<int64_t> sizes(rank, 1);
  sizes.at(axis) = -1;
  return call.reshaped(x.tensor("w_zero"), sizes);
}

Item convolution_of_bytes(const RuleCall& call) {
  const Dims shape = shape_of(call.item("w"));
  if (shape.size() < 3) call.refuse("w", "must have spatial axes", to_string(shape));
  Item zero = zero_of(call, "w_zero"), own = zero_of(call, "x_zero");
  if (zero.is_given()) zero = for_channels(call, zero, shape.size(), 0);
  if (own.is_given()) own = call.reshaped(own.tensor("x_zero"), {});
  const bool is_of_tiles = shape.size() == 4 && shape[2] == 3 && shape[3] == 3;
  const int64_t terms = element_count(shape) / std::max<int64_t>(shape[0], 1);
  const DType dtype = dtype_of_sums(terms, is_of_tiles ? kExactOfTiles : kExact);
  return convolved(call, as(call, centred(call, "x", own), dtype),
                   as(call, centred(call, "w", zero), dtype), Item());
}
Items convolution_integer(const RuleCall& call) {
  return {as(call, convolution_of_bytes(call), DType::kInt32)};
}

Items quantized_convolution(const RuleCall& call) {
  Item sums = as(call, convolution_of_bytes(call), DType::kInt32);
  const size_t rank = shape_of(sums).size();
  if (call.is_given("b")) {
    sums = call.one("add", {sums, for_channels(call, call.item("b"), rank, 1)});
  }
  const Item both = call.one("multiply", {call.item("x_scale"), call.item("w_scale")});
  const Item factor = call.one("divide", {both, call.item("y_scale")});
  const Item zero = call.reshaped(call.tensor("y_zero"), {});
  return {requantized(call, sums, for_channels(call, factor, rank, 1), zero)};
}

constexpr NamedRule kRules[] = {
    {"quantize", quantize},
    {"dequantize", dequantize},
    {"dynamic_quantize", dynamic_quantize},
    {"product_integer", product_integer},
    {"product_integer_to_float", product_integer_to_float},
    {"quantized_product", quantized_product},
    {"convolution_integer", convolution_integer},
    {"quantized_convolution", quantized_convolution},
};

}  // namespace

std::span<const NamedRule> quantised_rules() { return kRules; }

}  // namespace tensorlike::onnx
