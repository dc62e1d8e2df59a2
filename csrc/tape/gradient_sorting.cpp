// Gradients of ops that order elements: what came out goes back to where it came from.
#include "dispatch/dispatcher.h"
#include "op/families.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tape/gradient.h"

namespace tensorlike {
namespace {

// 0, 1, ... along one axis, with size 1 along the others.
Ref<Value> positions_along(size_t axis, const Dims& shape) {
  const Ref<Op> op = registry().find_function("arange")->make_op(
      {shape[axis], Attr(), int64_t{1}, Attr(), Attr()});
  const Ref<Value> flat = apply(*op, {})[0];
  std::vector<int64_t> spread(shape.size(), 1);
  spread[axis] = shape[axis];
  return call("reshape", {flat.get()}, {{"shape", spread}});
}

// Zeros of the input's shape with dy at `positions` along the op's axis.
Ref<Value> put_back(GradCall& c, Value& positions) {
  const Dims& shape = c.node.outputs[0].shape;
  const int64_t ndim = static_cast<int64_t>(shape.size());
  const size_t axis =
      static_cast<size_t>(normalize_axis(c.op.name(), c.op.get<int64_t>("axis"), ndim));
  Values held;
  held.push_back(zeros(c.node.input_spec(0), *c.cotangents[0]));
  held.push_back(Ref<Value>(c.cotangents[0]));
  std::vector<int64_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    held.push_back(i == axis ? Ref<Value>(&positions) : positions_along(i, shape));
    axes.push_back(static_cast<int64_t>(i));
  }
  SmallVector<Value*, 4> args;
  for (const Ref<Value>& value : held) args.push_back(value.get());
  const Ref<Op> op = registry().find_function("scatter_add")->make_op({axes});
  return apply(*op, {args.data(), args.size()})[0];
}

void grad_sort(GradCall& c) {
  const Ref<Value> positions =
      call("argsort", {c.inputs[0]},
           {{"axis", c.op.attr("axis")}, {"descending", c.op.attr("descending")}});
  c.result(0) = put_back(c, *positions);
}

void grad_top_k(GradCall& c) { c.result(0) = put_back(c, *c.outputs[1]); }

constexpr std::pair<std::string_view, GradRule> kRules[] = {
    {"sort", {grad_sort, 1U, false}},
    {"top_k", {grad_top_k, 0, true}},
};

}  // namespace

RuleTable<GradRule> sorting_gradients() { return kRules; }

}  // namespace tensorlike
