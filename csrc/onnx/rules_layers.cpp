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

constexpr int64_t kMostAlong = int64_t{1} << 24;  // elements of an axis, and steps between them

// What is cut before and after each axis of a transposed convolution without padding, and what is
// added behind it first.
struct Cut {
  std::vector<int64_t> before, after, more;
};

Cut cut_of(const RuleCall& call, const Windows& windows, std::span<const int64_t> sizes) {
  const auto numbers = [&](const char* name, size_t least) {
    std::vector<int64_t> found(sizes.size(), 0);
    if (call.is_given(name)) found = call.integers(name);
    const bool is_odd =
        std::any_of(found.begin(), found.end(), [](int64_t n) { return n < 0 || n > kMostAlong; });
    if (found.size() < least || is_odd) call.refuse(name, "must be a size for each axis", "others");
    return found;
  };
  const std::string& how = call.item("auto_pad").text("auto_pad");
  const bool is_same = how == "SAME_UPPER" || how == "SAME_LOWER";
  const size_t count = sizes.size();
  Cut found{{}, {}, numbers("output_padding", count)};
  if (!call.is_given("output_shape") && !is_same) {
    const std::vector<int64_t> pads = windows.pads.integers("pads");
    const auto half = pads.begin() + static_cast<std::ptrdiff_t>(count);
    found.before.assign(pads.begin(), half);
    found.after.assign(half, pads.end());
    return found;
  }
  std::vector<int64_t> wanted = numbers("output_shape", count);
  wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(count));
  const std::vector<int64_t> kernel = windows.kernel.integers("kernel_shape"),
                             strides = windows.strides.integers("strides"),
                             dilations = windows.dilations.integers("dilations");
  for (size_t i = 0; i < count; ++i) {
    for (int64_t number : {sizes[i], kernel[i], strides[i], dilations[i]}) {
      if (number < 0 || number > kMostAlong) call.refuse("strides", "must be less", text(number));
    }
    const int64_t full = (sizes[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1;
    const int64_t size = call.is_given("output_shape") ? wanted[i] : sizes[i] * strides[i];
    const int64_t total = std::max<int64_t>(full + found.more[i] - size, 0);
    found.before.push_back(how == "SAME_UPPER" ? total / 2 : total - total / 2);
    found.after.push_back(total - found.before[i]);
    found.more[i] += std::max<int64_t>(size - full - found.more[i], 0);
  }
  return found;
}

// Cut at both ends, with zeros where less than nothing is cut.
Item resized(const RuleCall& call, const Item& y, const Cut& cut) {
  std::vector<Slice> slices(2);
  std::vector<int64_t> widths(4, 0);
  for (size_t i = 0; i < cut.before.size(); ++i) {
    const int64_t begin = cut.before[i], end = cut.more[i] - cut.after[i];
    slices.push_back({std::max<int64_t>(begin, 0), end < 0 ? end : kNoBound, 1});
    widths.push_back(std::max<int64_t>(-begin, 0));
    widths.push_back(std::max<int64_t>(end, 0));
  }
  const Item kept(part_of(call.calls, y.tensor("y"), slices));
  if (std::all_of(widths.begin(), widths.end(), [](int64_t n) { return n == 0; })) return kept;
  const Item mode(std::string("constant"));
  return call.one("pad", {kept}, {{"widths", list_of(widths)}, {"mode", mode}});
}

Items convolution_transpose(const RuleCall& call) {
  const Tensor& x = call.tensor("x");
  const Tensor& w = call.tensor("w");
  // What is said by a size of the result is no padding.
  Named values = call.values;
  const std::string& how = call.item("auto_pad").text("auto_pad");
  if (how == "SAME_UPPER" || how == "SAME_LOWER") values["auto_pad"] = Item(std::string("NOTSET"));
  if (how == "SAME_UPPER" || how == "SAME_LOWER" || call.is_given("output_shape")) {
    values["pads"] = Item();
  }
  const Windows windows({call.entry, values, call.calls, call.outputs}, x, spatial_sizes(call, w));
  const std::vector<int64_t> sizes(x.spec.shape.begin() + 2, x.spec.shape.end());
  const Cut cut = cut_of(call, windows, sizes);
  const std::vector<int64_t> strides = windows.strides.integers("strides"),
                             dilations = windows.dilations.integers("dilations");
  bool is_usual = cut.before == cut.after;
  for (size_t i = 0; i < sizes.size(); ++i) {
    is_usual = is_usual && cut.before[i] >= 0 && cut.more[i] < std::max(strides[i], dilations[i]);
  }
  NamedItems attrs{
      {"stride", windows.strides}, {"groups", call.item("group")}, {"dilation", windows.dilations}};
  if (is_usual) {
    attrs.emplace_back("padding", list_of(cut.before));
    attrs.emplace_back("output_padding", list_of(cut.more));
    return {call.one("convolution_transpose", {Item(x), Item(w), call.item("b")}, attrs)};
  }
  const Item y = resized(call, call.one("convolution_transpose", {Item(x), Item(w)}, attrs), cut);
  if (!call.is_given("b")) return {y};
  std::vector<int64_t> along(x.spec.shape.size(), 1);
  along[1] = -1;
  return {call.one("add", {y, call.reshaped(call.tensor("b"), along)})};
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

constexpr NamedRule kLayerRules[] = {
    {"convolution_transpose", convolution_transpose},
    {"cumulative_sum", cumulative_sum},
    {"cumulative_product", cumulative_product},
    {"dropout", dropout},
    {"mean_of_all", mean_of_all},
};

}  // namespace

std::span<const NamedRule> layer_rules() { return kLayerRules; }

}  // namespace tensorlike::onnx
