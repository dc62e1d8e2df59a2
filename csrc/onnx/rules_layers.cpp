// Layers of networks whose windows, axes or results hang on attributes.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "onnx/rules.h"

namespace tensorlike::onnx {
namespace {

using Sizes = std::vector<int64_t>;

// The windows of a node: their sizes, and what is added around.
struct Windows {
  Windows(const RuleCall& call, const Tensor& x, const Item& sizes) : kernel(sizes) {
    const size_t rank = x.spec.shape.size();
    if (rank < 3 || kernel.list("kernel_shape").size() != rank - 2) {
      call.refuse("x", "must have spatial axes, as many as its windows", to_string(x.spec));
    }
    count = Item(static_cast<int64_t>(rank) - 2);
    const Item spatial = list_of(std::span(x.spec.shape).subspan(2));
    strides = calculate("ones_like", {call.item("strides"), count});
    dilations = calculate("ones_like", {call.item("dilations"), count});
    pads = calculate("window_pads", {call.item("auto_pad"), call.item("pads"), spatial, kernel,
                                     strides, dilations});
    is_symmetric = calculate("is_symmetric", {pads}).truth("pads");
    before = calculate("part", {pads, Item(int64_t{0}), count});
  }

  // With margins of a number.
  Item padded(const RuleCall& call, const Tensor& x, double number) const {
    const Item widths = calculate("margins", {pads});
    const Item mode(std::string("constant"));
    return call.one("pad", {Item(x)},
                    {{"widths", widths}, {"mode", mode}, {"value", Item(number)}});
  }
  // Whether our ops of pooling pad so: by at most half of the window.
  bool is_narrow() const {
    const Sizes around = before.integers("pads"), sizes = kernel.integers("kernel_shape");
    bool holds = is_symmetric;
    for (size_t i = 0; i < sizes.size(); ++i) holds = holds && 2 * around[i] <= sizes[i];
    return holds;
  }

  Item kernel, count, strides, dilations, pads, before;
  bool is_symmetric = false;
};

Item spatial_sizes(const RuleCall& call, const Tensor& w) {
  if (w.spec.shape.size() < 3) call.refuse("w", "must have spatial axes", to_string(w.spec));
  return list_of(std::span(w.spec.shape).subspan(2));
}

Item zeros(const Item& count) { return calculate("repeated", {Item(int64_t{0}), count}); }

Items convolution(const RuleCall& call) {
  return {convolved(call, call.item("x"), call.item("w"), call.item("b"))};
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

// Pooling.
Items max_pool(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Windows windows(call, x, call.item("kernel_shape"));
  if (call.outputs > 1) call.refuse("Indices", "must not be asked for here", "they are");
  const bool is_floating = kind_of(x.spec.dtype) == Kind::kFloating;
  if (!is_floating && size_of(x.spec.dtype) > 2) {
    call.refuse("x", "must be of numbers that float32 has here", to_string(x.spec));
  }
  const bool pads_here = windows.is_narrow();
  const Item input = pads_here ? Item(x) : windows.padded(call, x, -INFINITY);
  const Tensor made =
      call.calls.one("max_pool", {input},
                     {{"kernel_size", windows.kernel},
                      {"stride", windows.strides},
                      {"padding", pads_here ? windows.before : zeros(windows.count)},
                      {"dilation", windows.dilations},
                      {"ceil_mode", Item(call.integer("ceil_mode") != 0)}});
  if (is_floating) return {Item(made)};
  return {call.one("astype", {Item(made)}, {{"dtype", Item(x.spec.dtype)}})};
}

void refuse_dilations(const RuleCall& call, const Windows& windows) {
  for (int64_t dilation : windows.dilations.integers("dilations")) {
    if (dilation != 1) call.refuse("dilations", "must be 1 here", text(dilation));
  }
}

// The mean of each window of elements that have their margins already.
Item mean_of(const RuleCall& call, const Windows& windows, const Item& x) {
  return call.one("avg_pool", {x},
                  {{"kernel_size", windows.kernel},
                   {"stride", windows.strides},
                   {"padding", zeros(windows.count)},
                   {"ceil_mode", Item(false)},
                   {"count_include_pad", Item(true)}});
}

Items average_pool(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Windows windows(call, x, call.item("kernel_shape"));
  refuse_dilations(call, windows);
  const bool counts_all = call.integer("count_include_pad") != 0;
  if (windows.is_narrow()) {
    return {call.one("avg_pool", {Item(x)},
                     {{"kernel_size", windows.kernel},
                      {"stride", windows.strides},
                      {"padding", windows.before},
                      {"ceil_mode", Item(call.integer("ceil_mode") != 0)},
                      {"count_include_pad", Item(counts_all)}})};
  }
  if (call.integer("ceil_mode") != 0) {
    call.refuse("ceil_mode", "must be 0 here, where pads differ", "1");
  }
  const Item found = mean_of(call, windows, windows.padded(call, x, 0.0));
  if (counts_all) return {found};
  const Item one(call.calls.known(cast(*RawTensor::scalar(DType::kBool, true), x.spec.dtype)));
  const Item ones = call.one("broadcast_to", {one}, {{"shape", list_of(x.spec.shape)}});
  const Item parts = mean_of(call, windows, windows.padded(call, ones.tensor("x"), 0.0));
  return {call.one("divide", {found, parts})};
}

// The p-norm of each window.
Items lp_pool(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Windows windows(call, x, call.item("kernel_shape"));
  refuse_dilations(call, windows);
  if (call.integer("ceil_mode") != 0) call.refuse("ceil_mode", "must be 0 here", "1");
  const auto p = static_cast<double>(call.integer("p"));
  double size = 1;
  for (int64_t each : windows.kernel.integers("kernel_shape")) size *= static_cast<double>(each);
  const Item powers = call.one("pow", {call.one("abs", {Item(x)}), Item(p)});
  const Item means = mean_of(call, windows, windows.padded(call, powers.tensor("x"), 0.0));
  return {call.one("pow", {call.one("multiply", {means, Item(size)}), Item(1 / p)})};
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

// Reductions.
Items reduced(const RuleCall& call, const char* function) {
  const Tensor& x = call.tensor("x");
  const Item axes =
      calculate("axes_or_all", {call.item("axes"), call.item("noop_with_empty_axes")});
  const Item keepdims(call.integer("keepdims") != 0);
  const Tensor made = call.calls.one(function, {Item(x)}, {{"axis", axes}, {"keepdims", keepdims}});
  if (made.spec.dtype == x.spec.dtype) return {Item(made)};
  return {call.one("astype", {Item(made)}, {{"dtype", Item(x.spec.dtype)}})};
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

Items reduce_mean(const RuleCall& call) { return reduced(call, "mean"); }
Items reduce_max(const RuleCall& call) { return reduced(call, "max"); }
Items reduce_min(const RuleCall& call) { return reduced(call, "min"); }

Items mean_of_all(const RuleCall& call) {
  const Items& all = call.item("xs").list("xs");
  if (all.empty()) call.refuse("xs", "must be given", "none");
  Item total = all[0];
  for (size_t i = 1; i < all.size(); ++i) total = Item(call.calls.one("add", {total, all[i]}));
  return {Item(call.calls.one("divide", {total, Item(static_cast<int64_t>(all.size()))}))};
}

constexpr NamedRule kRules[] = {
    {"convolution", convolution},
    {"convolution_transpose", convolution_transpose},
    {"max_pool", max_pool},
    {"average_pool", average_pool},
    {"lp_pool", lp_pool},
    {"reduce_mean", reduce_mean},
    {"reduce_max", reduce_max},
    {"reduce_min", reduce_min},
    {"cumulative_sum", cumulative_sum},
    {"cumulative_product", cumulative_product},
    {"dropout", dropout},
    {"mean_of_all", mean_of_all},
};

}  // namespace

Item convolved(const RuleCall& call, const Item& x, const Item& w, const Item& b) {
  const Windows windows(call, x.tensor("x"), spatial_sizes(call, w.tensor("w")));
  const bool pads_here = windows.is_symmetric;
  const Item input = pads_here ? x : windows.padded(call, x.tensor("x"), 0.0);
  return call.one("convolution", {input, w, b},
                  {{"stride", windows.strides},
                   {"padding", pads_here ? windows.before : zeros(windows.count)},
                   {"dilation", windows.dilations},
                   {"groups", call.item("group")}});
}

std::span<const NamedRule> layer_rules() { return kRules; }

}  // namespace tensorlike::onnx
