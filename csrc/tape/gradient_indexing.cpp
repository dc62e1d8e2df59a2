// Gradients of the ops that pick elements along an axis or by a mask, and of Pad.
#include <algorithm>

#include "op/families.h"
#include "op/index.h"
#include "op/pad.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

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

}  // namespace

bool has_no_duplicates(Value& indices) {
  if (indices.tag != Value::kRaw) return false;
  auto& raw = static_cast<RawTensor&>(indices);
  if (raw.dtype != DType::kInt64 || !raw.is_contiguous) return false;
  raw.ready("read");
  const int64_t* first = raw.as<int64_t>();
  const int64_t* last = first + raw.size();
  if (first == last) return true;
  const auto [least, most] = std::minmax_element(first, last);
  // Counted from the end, an element has two numbers; spread far, a table would cost more.
  if (*least < 0 || *most > 64 * raw.size()) return false;
  std::vector<bool> is_met(static_cast<size_t>(*most) + 1);
  return std::none_of(first, last, [&](int64_t index) {
    const bool before = is_met[static_cast<size_t>(index)];
    is_met[static_cast<size_t>(index)] = true;
    return before;
  });
}

Ref<Value> of_last_written(Ref<Value> gradient, const Dims& target,
                           const std::function<Ref<Value>(Value&, Value&)>& put,
                           const std::function<Ref<Value>(Value&)>& take) {
  const Dims shape = spec_of("index", *gradient).shape;
  const int64_t count = element_count(shape);
  if (count < 2) return gradient;
  const Ref<Value> numbers = call("arange", {}, {{"start", int64_t{0}}, {"stop", count}});
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  const Ref<Value> order = call("reshape", {numbers.get()}, {{"shape", dims}});
  const Ref<Value> written = put(*zeros({DType::kInt64, target}, *order), *order);
  const Ref<Value> is_last = call("equal", {take(*written).get(), order.get()});
  const Ref<Value> none = zero(spec_of("index", *gradient), *gradient);
  return call("where", {is_last.get(), gradient.get(), none.get()});
}

namespace {

void grad_put_along_axis(GradCall& c) {
  const bool adds = c.op.get<std::string>("mode") == "add";
  if (c.wants(0) && adds) c.result(0) = Ref<Value>(c.cotangents[0]);
  if (c.wants(0) && !adds) {
    const Ref<Value> none = zero(c.node.outputs[0], *c.cotangents[0]);
    c.result(0) =
        call("put_along_axis", {c.cotangents[0], c.inputs[1], none.get()}, along(c, "set"));
  }
  if (c.wants(2)) {
    auto take = [&](Value& x) {
      return call("take_along_axis", {&x, c.inputs[1]}, {{"axis", c.op.attr("axis")}});
    };
    c.result(2) = take(*c.cotangents[0]);
    if (!adds) {
      c.result(2) = of_last_written(
          c.result(2), c.node.outputs[0].shape,
          [&](Value& x, Value& value) {
            return call("put_along_axis", {&x, c.inputs[1], &value}, along(c, "set"));
          },
          take);
    }
  }
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
Ref<RawTensor> sources(PadMode mode, int64_t before, int64_t n, int64_t after) {
  Ref<RawTensor> index = RawTensor::empty(DType::kInt64, {before + n + after});
  for (int64_t i = 0; i < index->count; ++i) {
    const int64_t at = i - before;
    int64_t from = std::clamp<int64_t>(at, 0, n - 1);
    if (mode == PadMode::kReflect) from = at < 0 ? -at : at < n ? at : 2 * n - 2 - at;
    if (mode == PadMode::kCircular) from = (at % n + n) % n;
    index->as<int64_t>()[i] = from;
  }
  return index;
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
    const Ref<ConstOp> index =
        make_ref<ConstOp>(registry().constant(), sources(mode, before, shape[axis], after));
    Value* like = dy.get();
    const Ref<Value> positions = apply_one(*index, {&like, 1});
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
