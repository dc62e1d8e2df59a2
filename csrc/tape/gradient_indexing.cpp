// Gradients of the ops that pick elements along an axis or by a mask, and of Pad.
#include <algorithm>

#include "op/families.h"
#include "op/index.h"
#include "op/pad.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

Ref<Value> zero(const Spec& like, Value& kind) { return zeros({like.dtype, {}}, kind); }

std::vector<NamedAttr> along(const GradCall& c, const char* mode) {
  return {{"axis", c.op.attr("axis")}, {"mode", std::string(mode)}};
}

void grad_take_along_axis(GradCall& c) {
  // x may have been stretched; what is made here is fitted to it afterwards.
  Spec stretched = c.node.outputs[0];
  const size_t axis = static_cast<size_t>(normalize_axis(
      c.op.name(), c.op.get<int64_t>("axis"), static_cast<int64_t>(stretched.shape.size())));
  stretched.shape[axis] = c.node.input_spec(0).shape[axis];
  const Ref<Value> empty = zeros(stretched, *c.cotangents[0]);
  c.result(0) =
      call("put_along_axis", {empty.get(), c.inputs[1], c.cotangents[0]}, along(c, "add"));
}

// The gradient of values that PutAlongAxis wrote: of those that fell on the same element the last
// one counts, and the others get nothing.
Ref<Value> of_last_written(GradCall& c) {
  auto take = [&](Value& x) {
    return call("take_along_axis", {&x, c.inputs[1]}, {{"axis", c.op.attr("axis")}});
  };
  const Ref<Value> gradient = take(*c.cotangents[0]);
  const Dims shape = spec_of("index", *gradient).shape;
  const int64_t count = element_count(shape);
  if (count < 2) return gradient;
  const Ref<Value> numbers = call("arange", {}, {{"start", int64_t{0}}, {"stop", count}});
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  const Ref<Value> order = call("reshape", {numbers.get()}, {{"shape", dims}});
  const Ref<Value> empty = zeros({DType::kInt64, c.node.outputs[0].shape}, *order);
  const Ref<Value> written =
      call("put_along_axis", {empty.get(), c.inputs[1], order.get()}, along(c, "set"));
  const Ref<Value> is_last = call("equal", {take(*written).get(), order.get()});
  const Ref<Value> none = zero(spec_of("index", *gradient), *gradient);
  return call("where", {is_last.get(), gradient.get(), none.get()});
}

void grad_put_along_axis(GradCall& c) {
  const bool adds = c.op.get<std::string>("mode") == "add";
  if (c.wants(0) && adds) c.result(0) = Ref<Value>(c.cotangents[0]);
  if (c.wants(0) && !adds) {
    const Ref<Value> none = zero(c.node.outputs[0], *c.cotangents[0]);
    c.result(0) =
        call("put_along_axis", {c.cotangents[0], c.inputs[1], none.get()}, along(c, "set"));
  }
  if (!c.wants(2)) return;
  c.result(2) =
      adds ? call("take_along_axis", {c.cotangents[0], c.inputs[1]}, {{"axis", c.op.attr("axis")}})
           : of_last_written(c);
}

void grad_masked_select(GradCall& c) {
  const Ref<Value> empty = zeros(c.node.input_spec(0), *c.cotangents[0]);
  c.result(0) = call("masked_scatter", {empty.get(), c.inputs[1], c.cotangents[0]});
}

void grad_masked_scatter(GradCall& c) {
  if (c.wants(0)) {
    const Ref<Value> none = zero(c.node.outputs[0], *c.cotangents[0]);
    c.result(0) = call("masked_scatter", {c.cotangents[0], c.inputs[1], none.get()});
  }
  if (c.wants(2)) c.result(2) = call("masked_select", {c.cotangents[0], c.inputs[1]});
}

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
  Spec spec = c.node.outputs[0];
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

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"take_along_axis", {grad_take_along_axis, 2U, false}},
    {"put_along_axis", {grad_put_along_axis, 2U, false}},
    {"masked_select", {grad_masked_select, 2U, false}},
    {"masked_scatter", {grad_masked_scatter, 2U, false}},
    {"pad", {grad_pad, 0, false}},
};

}  // namespace

RuleTable<GradRule> indexing_gradients() { return kRules; }

}  // namespace tensorlike
