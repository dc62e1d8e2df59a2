// Gradients of the three convolution ops: each is made of the other two.
#include <algorithm>

#include "op/families.h"
#include "op/index.h"
#include "tape/gradient.h"

namespace tensorlike {
namespace {

using Attrs = std::vector<NamedAttr>;
using Ints = std::vector<int64_t>;

Attrs with_window(const GradCall& c, Attrs more = {}) {
  for (const char* name : {"stride", "padding", "dilation", "groups"}) {
    more.emplace_back(name, c.op.attr(name));
  }
  return more;
}

// The sizes of x, to which its transpose comes back: rows that no window has reached are its, too.
Ints spatial_of(const Dims& x) { return {x.begin() + 2, x.end()}; }

// The windows that a convolution finds in the transpose's result behind those of x: where rows are
// added by the dilation, more than a stride.
Ints windows_behind(const GradCall& c, size_t dims) {
  const Ints& extra = c.op.get<Ints>("output_padding");
  const Ints& stride = c.op.get<Ints>("stride");
  if (!std::holds_alternative<Nothing>(c.op.attr("output_size"))) return Ints(dims, 0);
  Ints more;
  for (size_t d = 0; d < dims; ++d) {
    more.push_back(extra[extra.size() == 1 ? 0 : d] / stride[stride.size() == 1 ? 0 : d]);
  }
  return more;
}

// Without these windows, and with zeros in their place.
Ref<Value> without_behind(Value& x, const Ints& windows) {
  constexpr int64_t kSlice = static_cast<int64_t>(ItemKind::kSlice);
  Ints items;
  for (size_t i = 0; i < windows.size() + 2; ++i) {
    const bool is_cut = i >= 2 && windows[i - 2] > 0;
    items.insert(items.end(), {kSlice, kNoBound, is_cut ? -windows[i - 2] : kNoBound, kNoBound});
  }
  return call("subtensor", {&x}, {{"items", items}});
}
Ref<Value> with_zeros_behind(Value& x, const Ints& windows) {
  Ints widths(4, 0);
  for (int64_t count : windows) widths.insert(widths.end(), {0, count});
  return call("pad", {&x}, {{"widths", widths}});
}

// The gradient of a bias: a sum over all but the channels.
void add_bias(GradCall& c) {
  if (c.results.size() < 3 || !c.wants(2)) return;
  Ints axes = {0};
  for (size_t i = 2; i < c.node.outputs()[0].shape.size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  c.result(2) = call("sum", {c.cotangents[0]}, {{"axis", axes}});
}

void grad_convolution(GradCall& c) {
  const Dims x = c.node.input_spec(0).shape;
  const Dims weight = c.node.input_spec(1).shape;
  if (c.wants(0)) {
    c.result(0) = call("convolution_transpose", {c.cotangents[0], c.inputs[1]},
                       with_window(c, {{"output_size", spatial_of(x)}}));
  }
  if (c.wants(1)) {
    c.result(1) = call("convolution_weight", {c.inputs[0], c.cotangents[0]},
                       with_window(c, {{"kernel", spatial_of(weight)}}));
  }
  add_bias(c);
}

void grad_convolution_transpose(GradCall& c) {
  const Dims weight = c.node.input_spec(1).shape;
  const Ints behind = windows_behind(c, weight.size() - 2);
  const bool has_behind =
      std::any_of(behind.begin(), behind.end(), [](int64_t n) { return n > 0; });
  if (c.wants(0)) {
    const Ref<Value> found = call("convolution", {c.cotangents[0], c.inputs[1]}, with_window(c));
    c.result(0) = has_behind ? without_behind(*found, behind) : found;
  }
  if (c.wants(1)) {
    const Ref<Value> x =
        has_behind ? with_zeros_behind(*c.inputs[0], behind) : Ref<Value>(c.inputs[0]);
    c.result(1) = call("convolution_weight", {c.cotangents[0], x.get()},
                       with_window(c, {{"kernel", spatial_of(weight)}}));
  }
  add_bias(c);
}

void grad_convolution_weight(GradCall& c) {
  const Dims x = c.node.input_spec(0).shape;
  if (c.wants(0)) {
    c.result(0) = call("convolution_transpose", {c.inputs[1], c.cotangents[0]},
                       with_window(c, {{"output_size", spatial_of(x)}}));
  }
  if (c.wants(1)) {
    c.result(1) = call("convolution", {c.inputs[0], c.cotangents[0]}, with_window(c));
  }
}

constexpr std::pair<std::string_view, GradRule> kConvolutionGradients[] = {
    {"convolution", {grad_convolution, 3U, false}},
    {"convolution_transpose", {grad_convolution_transpose, 3U, false}},
    {"convolution_weight", {grad_convolution_weight, 3U, false}},
};

}  // namespace

RuleTable<GradRule> convolution_gradients() { return kConvolutionGradients; }

}  // namespace tensorlike
