// Ops that make tensors: constants, shapes, ranges; and conversions between dtypes.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "onnx/rules.h"
#include "onnx/tensor.h"

namespace tensorlike::onnx {
namespace {

Tensor integers(const Sizes& numbers, const Dims& shape) {
  const Ref<RawTensor> made = RawTensor::empty(DType::kInt64, shape);
  std::copy(numbers.begin(), numbers.end(), reinterpret_cast<int64_t*>(made->data));
  return {-1, made, made->spec()};
}
Tensor vector_of(const Sizes& numbers) {
  return integers(numbers, {static_cast<int64_t>(numbers.size())});
}

// Making tensors.
Items constant(const RuleCall& call) {
  for (const char* name : {"value_string", "value_strings"}) {
    if (call.is_given(name)) dtype_of(8);
  }
  if (call.is_given("value")) return {call.item("value")};
  const auto made = [&](const char* name, DType dtype, bool is_list) {
    const Item& given = call.item(name);
    const Items numbers = is_list ? given.list(name) : Items{given};
    const Ref<RawTensor> x = RawTensor::empty(
        DType::kFloat64, is_list ? Dims{static_cast<int64_t>(numbers.size())} : Dims{});
    for (size_t i = 0; i < numbers.size(); ++i) {
      reinterpret_cast<double*>(x->data)[i] = numbers[i].number(name);
    }
    return Items{Item(call.calls.known(cast(*x, dtype)))};
  };
  if (call.is_given("value_float")) return made("value_float", DType::kFloat32, false);
  if (call.is_given("value_floats")) return made("value_floats", DType::kFloat32, true);
  if (call.is_given("value_int")) return {Item(integers({call.integer("value_int")}, {}))};
  if (call.is_given("value_ints")) return {Item(vector_of(call.integers("value_ints")))};
  call.refuse("value", "must be given", "none");
}

Items constant_of_shape(const RuleCall& call) {
  const Sizes shape = call.integers("shape");
  Tensor value = call.calls.known(RawTensor::scalar(DType::kFloat32, 0.0));
  if (call.is_given("value")) value = call.reshaped(call.tensor("value"), {}).tensor("value");
  return {Item(call.calls.one("broadcast_to", {Item(value)}, {{"shape", list_of(shape)}}))};
}

Items shape(const RuleCall& call) {
  const auto count = static_cast<int64_t>(call.tensor("x").spec.shape.size());
  const auto place = [&](const char* name, int64_t fallback) {
    if (!call.is_given(name)) return fallback;
    const int64_t given = call.integer(name);
    return std::clamp<int64_t>(given < 0 ? given + count : given, 0, count);
  };
  const int64_t first = place("start", 0), last = std::max(first, place("end", count));
  const Sizes all = sizes_of(call.tensor("x"));
  return {Item(vector_of({all.begin() + first, all.begin() + last}))};
}

Items same(const RuleCall& call) { return {call.item("x")}; }

Items size(const RuleCall& call) {
  return {Item(integers({element_count(call.tensor("x").spec.shape)}, {}))};
}

Items range_of(const RuleCall& call) {
  double ends[3] = {};
  const char* names[] = {"start", "limit", "delta"};
  DType dtype = DType::kInt64;
  for (size_t i = 0; i < 3; ++i) {
    const Item& given = call.item(names[i]);
    if (!std::holds_alternative<Tensor>(given.value)) {
      ends[i] = given.number(names[i]);
      continue;
    }
    const Tensor& x = given.tensor(names[i]);
    if (!x.known) need_numbers(x, "Range", names[i]);
    if (x.known->count != 1) call.refuse(names[i], "must be one number", to_string(x.spec));
    const Ref<RawTensor> wide = contiguous(*cast(*x.known, DType::kFloat64));
    ends[i] = *reinterpret_cast<const double*>(wide->ready("onnx").data);
    dtype = x.spec.dtype;
  }
  const double steps = std::ceil((ends[1] - ends[0]) / ends[2]);
  if (ends[2] == 0 || !(steps < 0x1p40))
    call.refuse("delta", "must lead to the limit", text(ends[2]));
  const auto count = static_cast<int64_t>(std::max(steps, 0.0));
  const Ref<RawTensor> made = RawTensor::empty(DType::kFloat64, {count});
  for (int64_t i = 0; i < count; ++i) {
    reinterpret_cast<double*>(made->data)[i] = ends[0] + static_cast<double>(i) * ends[2];
  }
  return {Item(call.calls.known(cast(*made, dtype)))};
}

// Conversions.
Item as_dtype(const RuleCall& call, const Tensor& x, DType dtype) {
  if (dtype == DType::kBool) return Item(call.calls.one("not_equal", {Item(x), Item(int64_t{0})}));
  return Item(call.calls.one("astype", {Item(x)}, {{"dtype", Item(dtype)}}));
}
Items cast_to(const RuleCall& call) {
  return {as_dtype(call, call.tensor("x"), dtype_of(call.integer("to")))};
}
Items cast_like(const RuleCall& call) {
  return {as_dtype(call, call.tensor("x"), call.tensor("like").spec.dtype)};
}

constexpr NamedRule kMakingRules[] = {
    {"constant", constant}, {"constant_of_shape", constant_of_shape},
    {"shape", shape},       {"size", size},
    {"same", same},         {"range_of", range_of},
    {"cast", cast_to},      {"cast_like", cast_like},
};

}  // namespace

std::span<const NamedRule> making_rules() { return kMakingRules; }

}  // namespace tensorlike::onnx
