// Convolutions, and layers of networks whose axes or results hang on attributes.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "onnx/windows.h"

namespace tensorlike::onnx {
namespace {

Item spatial_sizes(const RuleCall& call, const Tensor& w) {
  if (w.spec.shape.size() < 3) call.refuse("w", "must have spatial axes", to_string(w.spec));
  return list_of(std::span(w.spec.shape).subspan(2));
}

Items convolution_transpose(const RuleCall& call) {
  const Tensor& w = call.tensor("w");
  const std::string& how = call.item("auto_pad").text("auto_pad");
  if (call.is_given("output_shape") || !(how.empty() || how == "NOTSET" || how == "VALID")) {
    call.refuse("auto_pad", "must be NOTSET here, without an output_shape", how);
  }
  const Windows windows(call, call.tensor("x"), spatial_sizes(call, w));
  if (!windows.is_symmetric) call.refuse("pads", "must be the same on both sides here", "others");
  const Item more =
      call.is_given("output_padding") ? call.item("output_padding") : zeros(windows.count);
  return {call.one("convolution_transpose", {Item(call.tensor("x")), Item(w), call.item("b")},
                   {{"stride", windows.strides},
                    {"padding", windows.before},
                    {"output_padding", more},
                    {"groups", call.item("group")},
                    {"dilation", windows.dilations}})};
}

// As it is: nothing is left out where nothing is learnt.
Items dropout(const RuleCall& call) {
  if (call.is_given("training") && call.item("training").truth("training")) {
    call.refuse("training", "must be false here", "true");
  }
  const Tensor& x = call.tensor("x");
  const Tensor all = call.calls.known(RawTensor::scalar(DType::kBool, true));
  return {Item(x), call.one("broadcast_to", {Item(all)}, {{"shape", list_of(x.spec.shape)}})};
}

Items running(const RuleCall& call, const char* function) {
  const Tensor& x = call.tensor("x");
  const auto rank = static_cast<int64_t>(x.spec.shape.size());
  const Item axis = calculate("normal_axis", {call.item("axis"), Item(rank)});
  const bool excludes = call.integer("exclusive") != 0, is_back = call.integer("reverse") != 0;
  const Tensor made = call.calls.one(function, {Item(x)},
                                     {{"axis", axis},
                                      {"dtype", Item(x.spec.dtype)},
                                      {"include_initial", Item(excludes)},
                                      {"reverse", Item(is_back)}});
  if (!excludes) return {Item(made)};
  std::vector<Slice> slices(x.spec.shape.size());
  Slice& kept = slices[static_cast<size_t>(axis.integer("axis"))];
  (is_back ? kept.first : kept.last) = is_back ? 1 : -1;
  return {Item(part_of(call.calls, made, slices))};
}
Items cumulative_sum(const RuleCall& call) { return running(call, "cumulative_sum"); }
Items cumulative_product(const RuleCall& call) { return running(call, "cumulative_prod"); }

Items mean_of_all(const RuleCall& call) {
  const Items& all = call.item("xs").list("xs");
  if (all.empty()) call.refuse("xs", "must be given", "none");
  Item total = all[0];
  for (size_t i = 1; i < all.size(); ++i) total = Item(call.calls.one("add", {total, all[i]}));
  return {Item(call.calls.one("divide", {total, Item(static_cast<int64_t>(all.size()))}))};
}

constexpr NamedRule kRules[] = {
    {"convolution_transpose", convolution_transpose},
    {"cumulative_sum", cumulative_sum},
    {"cumulative_product", cumulative_product},
    {"dropout", dropout},
    {"mean_of_all", mean_of_all},
};

}  // namespace

std::span<const NamedRule> layer_rules() { return kRules; }

}  // namespace tensorlike::onnx
