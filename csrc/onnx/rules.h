// What ops of ONNX mean that no body can say, by the names that entries use: the same rules as in
// export/onnx/importer/rules, where all sizes are known.
#pragma once

#include <span>

#include "onnx/body.h"

namespace tensorlike::onnx {

// A node that is being built: its inputs and attributes under their names.
class RuleCall {
 public:
  RuleCall(const Entry& entry, const Named& values, Calls& calls, size_t outputs)
      : entry(entry), values(values), calls(calls), outputs(outputs) {}

  const Item& item(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const { return item(name).tensor(name); }
  bool is_given(std::string_view name) const { return item(name).is_given(); }
  int64_t integer(std::string_view name) const { return item(name).integer(name); }
  std::vector<int64_t> integers(std::string_view name) const { return item(name).integers(name); }
  // An axis of a tensor, counted from the front.
  size_t axis(std::string_view name, size_t rank) const;
  Item reshaped(const Tensor& x, std::span<const int64_t> shape) const;
  // The first result of a functional call.
  Item one(const std::string& function, const Items& args, const NamedItems& attrs = {}) const {
    return Item(calls.one(function, args, attrs));
  }
  [[noreturn]] void refuse(std::string_view argument, std::string_view must,
                           const std::string& got) const;

  const Entry& entry;
  const Named& values;
  Calls& calls;
  size_t outputs;
};

using Rule = Items (*)(const RuleCall& call);
struct NamedRule {
  std::string_view name;
  Rule rule;
};

// Null: the core has no rule of this name.
Rule find_rule(std::string_view name);

// The rules of each file.
std::span<const NamedRule> making_rules();
std::span<const NamedRule> shaping_rules();
std::span<const NamedRule> layer_rules();
std::span<const NamedRule> resizing_rules();
std::span<const NamedRule> recurrent_rules();
std::span<const NamedRule> control_flow_rules();
std::span<const NamedRule> sequence_rules();
std::span<const NamedRule> quantised_rules();
std::span<const NamedRule> indexing_rules();
std::span<const NamedRule> einsum_rules();
std::span<const NamedRule> known_rules();
std::span<const NamedRule> pooling_rules();

// A slice of an axis; kNoBound: an end that is not given, or a step of 1.
constexpr int64_t kNoBound = INT64_MIN;
struct Slice {
  int64_t first = kNoBound, last = kNoBound, step = kNoBound;
};
// Indices counted from the front; negative ones count from the end.
Item from_front(const RuleCall& call, const Tensor& indices, int64_t size);
// What indices, which count from the front, pick along an axis.
Tensor picked(Calls& calls, const Tensor& x, const Tensor& indices, size_t axis);
// The part of a tensor that a slice for each of its axes selects.
Tensor part_of(Calls& calls, const Tensor& x, std::span<const Slice> slices);

}  // namespace tensorlike::onnx
