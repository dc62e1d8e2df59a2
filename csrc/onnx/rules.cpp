#include "onnx/rules.h"

#include <algorithm>

#include "base/error.h"

namespace tensorlike::onnx {

const Item& RuleCall::item(std::string_view name) const {
  const auto found = values.find(name);
  if (found == values.end()) refuse(name, "must be known here", "nothing");
  return found->second;
}

void RuleCall::refuse(std::string_view argument, std::string_view must,
                      const std::string& got) const {
  fail(ErrorKind::kArgument, said::op(entry.op), said::argument(argument), must, said::got(got));
}

size_t RuleCall::axis(std::string_view name, size_t rank) const {
  const auto count = static_cast<int64_t>(rank);
  const int64_t given = integer(name);
  if (given < -count || given >= count) {
    refuse(name, text("must be an axis of ", rank, " dimensions"), text(given));
  }
  return static_cast<size_t>(given < 0 ? given + count : given);
}

Item RuleCall::reshaped(const Tensor& x, std::span<const int64_t> shape) const {
  return Item(calls.one("reshape", {Item(x)}, {{"shape", list_of(shape)}}));
}

Tensor part_of(Calls& calls, const Tensor& x, std::span<const Slice> slices) {
  constexpr int64_t kSlice = 1;  // how Subtensor reads an item: a kind and three bounds
  std::vector<int64_t> items;
  for (const Slice& slice : slices) {
    for (int64_t number : {kSlice, slice.first, slice.last, slice.step}) items.push_back(number);
  }
  return calls.one("subtensor", {Item(x)}, {{"items", list_of(items)}});
}

Tensor picked(Calls& calls, const Tensor& x, const Tensor& indices, size_t axis) {
  const std::vector<int64_t> axes{static_cast<int64_t>(axis)};
  const Tensor found = calls.one("gather", {Item(x), Item(indices)}, {{"axes", list_of(axes)}});
  // The axes of the indices come first; they belong in the place of the axis.
  const size_t many = indices.spec.shape.size();
  std::vector<int64_t> order;
  for (size_t i = 0; i < axis; ++i) order.push_back(static_cast<int64_t>(many + i));
  for (size_t i = 0; i < many; ++i) order.push_back(static_cast<int64_t>(i));
  for (size_t i = axis; i + 1 < x.spec.shape.size(); ++i) {
    order.push_back(static_cast<int64_t>(many + i));
  }
  if (std::is_sorted(order.begin(), order.end())) return found;
  return calls.one("permute_dims", {Item(found)}, {{"axes", list_of(order)}});
}

Rule find_rule(std::string_view name) {
  for (const auto rules :
       {making_rules(), shaping_rules(), layer_rules(), resizing_rules(), recurrent_rules(),
        control_flow_rules(), sequence_rules(), quantised_rules(), indexing_rules(), einsum_rules(),
        known_rules(), pooling_rules()}) {
    for (const NamedRule& named : rules) {
      if (named.name == name) return named.rule;
    }
  }
  return nullptr;
}

}  // namespace tensorlike::onnx
