// Sequences, which are lists, and optional values, which are nothing where there is none.
#include <algorithm>

#include "onnx/rules.h"
#include "onnx/subgraph.h"

namespace tensorlike::onnx {
namespace {

const Items& values(const RuleCall& call) { return call.item("values").list("values"); }

// A place in a sequence from the front; without one, the last.
std::ptrdiff_t place(const RuleCall& call, bool is_new) {
  const auto count = static_cast<int64_t>(values(call).size());
  const int64_t most = is_new ? count : count - 1;
  const int64_t at = call.is_given("position") ? call.integer("position") : is_new ? count : -1;
  if (at < -count || at > most) {
    call.refuse("position", text("must be from ", -count, " to ", most), text(at));
  }
  return static_cast<std::ptrdiff_t>(at < 0 ? at + count : at);
}

Items sequence_empty(const RuleCall&) { return {list_of(Items())}; }
Items sequence_construct(const RuleCall& call) { return {call.item("xs")}; }
Items sequence_insert(const RuleCall& call) {
  Items all = values(call);
  all.insert(all.begin() + place(call, true), call.item("x"));
  return {list_of(std::move(all))};
}
Items sequence_erase(const RuleCall& call) {
  Items all = values(call);
  all.erase(all.begin() + place(call, false));
  return {list_of(std::move(all))};
}
Items sequence_at(const RuleCall& call) {
  return {values(call)[static_cast<size_t>(place(call, false))]};
}

Item scalar(const RuleCall& call, DType dtype, Literal value) {
  return Item(call.calls.known(RawTensor::scalar(dtype, value)));
}
Items sequence_length(const RuleCall& call) {
  return {scalar(call, DType::kInt64, static_cast<int64_t>(values(call).size()))};
}

Items concat_from_sequence(const RuleCall& call) {
  const Items& all = values(call);
  if (all.empty()) call.refuse("values", "must be tensors to join", "none");
  const char* function = call.integer("new_axis") != 0 ? "stack" : "concat";
  return {call.one(function, all, {{"axis", call.item("axis")}})};
}

Items split_to_sequence(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const size_t axis = call.axis("axis", x.spec.shape.size());
  const int64_t size = x.spec.shape[axis];
  std::vector<int64_t> sizes(static_cast<size_t>(size), 1);
  if (call.is_given("split")) {
    const Tensor& split = call.tensor("split");
    sizes = integers_of(split, "split");
    if (split.spec.shape.empty()) {
      const int64_t each = sizes[0];
      if (each <= 0) call.refuse("split", "must be positive", text(each));
      sizes.clear();
      for (int64_t i = 0; i < size; i += each) sizes.push_back(std::min(each, size - i));
    }
  }
  Items parts;
  int64_t begin = 0;
  for (int64_t each : sizes) {
    if (each < 0 || each > size - begin)
      call.refuse("split", "must be parts of an axis", text(each));
    std::vector<Slice> slices(x.spec.shape.size());
    slices[axis] = {begin, begin + each, 1};
    parts.emplace_back(part_of(call.calls, x, slices));
    begin += each;
  }
  if (begin != size) call.refuse("split", text("must have the sum ", size), text(begin));
  if (call.is_given("split") || call.integer("keepdims") != 0) return {list_of(std::move(parts))};
  std::vector<int64_t> shape(x.spec.shape.begin(), x.spec.shape.end());
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  for (Item& part : parts) part = call.reshaped(part.tensor("a part"), shape);
  return {list_of(std::move(parts))};
}

Items sequence_map(const RuleCall& call) {
  const Subgraph& body = call.item("body").graph("body");
  std::vector<Items> rows(body.outputs());
  for (size_t i = 0; i < values(call).size(); ++i) {
    Items given{values(call)[i]};
    for (const Item& other : call.item("others").list("others")) {
      const auto* list = std::get_if<List>(&other.value);
      if (list != nullptr && i >= (*list)->size()) {
        call.refuse("others", "must have as many values", text((*list)->size()));
      }
      given.push_back(list == nullptr ? other : (**list)[i]);
    }
    const Items made = body.run(call.calls, given);
    for (size_t k = 0; k < rows.size(); ++k) rows[k].push_back(made[k]);
  }
  Items found;
  for (Items& row : rows) found.push_back(list_of(std::move(row)));
  return found;
}

Items optional(const RuleCall& call) { return {call.item("x")}; }
Items optional_has_element(const RuleCall& call) {
  return {scalar(call, DType::kBool, call.is_given("x"))};
}
Items optional_get_element(const RuleCall& call) {
  if (!call.is_given("x")) call.refuse("x", "must have a value", "nothing");
  return {call.item("x")};
}

constexpr NamedRule kSequenceRules[] = {
    {"sequence_empty", sequence_empty},
    {"sequence_construct", sequence_construct},
    {"sequence_insert", sequence_insert},
    {"sequence_erase", sequence_erase},
    {"sequence_at", sequence_at},
    {"sequence_length", sequence_length},
    {"concat_from_sequence", concat_from_sequence},
    {"split_to_sequence", split_to_sequence},
    {"sequence_map", sequence_map},
    {"optional", optional},
    {"optional_has_element", optional_has_element},
    {"optional_get_element", optional_get_element},
};

}  // namespace

std::span<const NamedRule> sequence_rules() { return kSequenceRules; }

}  // namespace tensorlike::onnx
