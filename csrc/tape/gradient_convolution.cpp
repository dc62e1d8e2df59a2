// Gradients of the three convolution ops: each is made of the other two.
#include "op/families.h"
#include "op/windows.h"
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

// The rows of x that no window of the convolution reaches, which its transpose has to add.
Ints unseen_rows(const Convolution& convolution, size_t dims) {
  const Window& w = convolution.window;
  Ints rows;
  for (int d = Window::kDims - static_cast<int>(dims); d < Window::kDims; ++d) {
    const int64_t reach = (w.kernel[d] - 1) * w.dilation[d] + 1;
    rows.push_back((w.in[d] + 2 * w.before[d] - reach) % w.stride[d]);  // "same" has stride 1
  }
  return rows;
}

Ints kernel_of(const Dims& weight) { return {weight.begin() + 2, weight.end()}; }

// The gradient of a bias: a sum over all but the channels.
void add_bias(GradCall& c) {
  if (c.results.size() < 3 || !c.wants(2)) return;
  Ints axes = {0};
  for (size_t i = 2; i < c.node.outputs[0].shape.size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  c.result(2) = call("sum", {c.cotangents[0]}, {{"axis", axes}});
}

void grad_convolution(GradCall& c) {
  const Dims x = c.node.input_spec(0).shape;
  const Dims weight = c.node.input_spec(1).shape;
  if (c.wants(0)) {
    const Ints extra = unseen_rows(convolution_of(c.op, x, weight), x.size() - 2);
    c.result(0) = call("convolution_transpose", {c.cotangents[0], c.inputs[1]},
                       with_window(c, {{"output_padding", extra}}));
  }
  if (c.wants(1)) {
    c.result(1) = call("convolution_weight", {c.inputs[0], c.cotangents[0]},
                       with_window(c, {{"kernel", kernel_of(weight)}}));
  }
  add_bias(c);
}

void grad_convolution_transpose(GradCall& c) {
  const Dims weight = c.node.input_spec(1).shape;
  if (c.wants(0)) {
    c.result(0) = call("convolution", {c.cotangents[0], c.inputs[1]}, with_window(c));
  }
  if (c.wants(1)) {
    c.result(1) = call("convolution_weight", {c.cotangents[0], c.inputs[0]},
                       with_window(c, {{"kernel", kernel_of(weight)}}));
  }
  add_bias(c);
}

void grad_convolution_weight(GradCall& c) {
  const Dims x = c.node.input_spec(0).shape;
  if (c.wants(0)) {
    const Ints extra =
        unseen_rows(weight_convolution_of(c.op, x, c.node.input_spec(1).shape), x.size() - 2);
    c.result(0) = call("convolution_transpose", {c.inputs[1], c.cotangents[0]},
                       with_window(c, {{"output_padding", extra}}));
  }
  if (c.wants(1)) {
    c.result(1) = call("convolution", {c.inputs[0], c.cotangents[0]}, with_window(c));
  }
}

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"convolution", {grad_convolution, 3U, false}},
    {"convolution_transpose", {grad_convolution_transpose, 3U, false}},
    {"convolution_weight", {grad_convolution_weight, 3U, false}},
};

}  // namespace

RuleTable<GradRule> convolution_gradients() { return kRules; }

}  // namespace tensorlike
