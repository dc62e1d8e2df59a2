// The gradient of Pad.
#include <algorithm>

#include "op/families.h"
#include "op/index.h"
#include "op/pad.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

// Where each position of a padded axis read: the positions of its n elements.
Ref<Value> sources(PadMode mode, int64_t before, int64_t n, int64_t after) {
  const Ref<Value> at = call("arange", {}, {{"start", -before}, {"stop", n + after}});
  const Ref<Value> last = lift_literal(n - 1, *at);
  if (mode == PadMode::kCircular) {
    return call("remainder", {at.get(), lift_literal(n, *at).get()});
  }
  if (mode == PadMode::kReflect) {  // last - |last - |at||
    const Ref<Value> apart = call("subtract", {last.get(), call("abs", {at.get()}).get()});
    return call("subtract", {last.get(), call("abs", {apart.get()}).get()});
  }
  const Ref<Value> from = call("maximum", {at.get(), lift_literal(int64_t{0}, *at).get()});
  return call("minimum", {from.get(), last.get()});
}

Ref<Value> middle(Value& dy, const Dims& shape, const std::vector<int64_t>& widths) {
  std::vector<int64_t> items;
  for (size_t i = 0; i < shape.size(); ++i) {
    items.insert(items.end(), {static_cast<int64_t>(ItemKind::kSlice), widths[2 * i],
                               widths[2 * i] + shape[i], kNoBound});
  }
  return call("subtensor", {&dy}, {{"items", items}});
}

void grad_pad(GradCall& c) {
  const Dims& shape = c.node.input_spec(0).shape;
  const std::vector<int64_t>& widths = c.op.get<std::vector<int64_t>>("widths");
  const PadMode mode = pad_mode(c.op);
  if (mode == PadMode::kConstant) {
    c.result(0) = middle(*c.cotangents[0], shape, widths);
    return;
  }
  Ref<Value> dy(c.cotangents[0]);
  Spec spec = c.node.outputs()[0];
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t before = widths[2 * axis];
    const int64_t after = widths[2 * axis + 1];
    if (before == 0 && after == 0) continue;
    const Ref<Value> positions = sources(mode, before, shape[axis], after);
    std::vector<int64_t> order{static_cast<int64_t>(axis)};
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != axis) order.push_back(static_cast<int64_t>(i));
    }
    const Ref<Value> moved = call("permute_dims", {dy.get()}, {{"axes", order}});
    spec.shape[axis] = shape[axis];
    const Ref<Value> empty = zeros(spec, *dy);
    dy = call("scatter_add", {empty.get(), moved.get(), positions.get()},
              {{"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}}});
  }
  c.result(0) = dy;
}

constexpr std::pair<std::string_view, GradRule> kIndexingGradients[] = {
    {"pad", {grad_pad, 0, false}},
};

}  // namespace

RuleTable<GradRule> indexing_gradients() { return kIndexingGradients; }

}  // namespace tensorlike
