// Gradients of matrix products. They are products with the adjoint of one operand: transposed,
// which no one copies, and conjugated where it is complex.
#include "op/counts.h"
#include "op/families.h"
#include "op/named_scalar.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

Ref<Value> seen_as(Value& value, const Dims& shape, const Dims& from) {
  if (shape == from) return Ref<Value>(&value);
  return call("reshape", {&value}, {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
}

Ref<Value> swap_last_two(Value& x, size_t ndim) {
  std::vector<int64_t> axes(ndim);
  for (size_t i = 0; i < ndim; ++i) axes[i] = static_cast<int64_t>(i);
  std::swap(axes[ndim - 1], axes[ndim - 2]);
  return call("permute_dims", {&x}, {{"axes", axes}});
}

// Whether an input was made by swapping the last two axes, as a layer's weight (out, in) is.
bool is_swapped(const Node::Input& input) {
  if (!input.node || input.node->op == nullptr || input.node->op->name() != "Transpose")
    return false;
  const std::vector<int64_t>& axes = input.node->op->get<std::vector<int64_t>>("axes");
  const auto ndim = static_cast<int64_t>(axes.size());
  for (int64_t i = 0; i + 2 < ndim; ++i) {
    if (axes[static_cast<size_t>(i)] != i) return false;
  }
  const auto from_end = [&](int64_t place) {
    const int64_t axis = axes[static_cast<size_t>(ndim - place)];
    return axis < 0 ? -axis : ndim - axis;
  };
  return ndim >= 2 && from_end(1) == 2 && from_end(2) == 1;
}

// All leading dimensions as one of rows.
Dims flat_rows(const Dims& shape) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows = product_of_counts(rows, shape[i]);
  return {rows, shape.back()};
}

// The gradients of a @ b, inputs 0 and 1, from that of the product. Vectors are matrices of one row
// (left) or one column (right) while the rule runs.
void product_gradients(GradCall& c, Value& cotangent) {
  const Dims a_shape = c.node.input_spec(0).shape;
  const Dims b_shape = c.node.input_spec(1).shape;
  const Dims y_shape = c.node.outputs()[0].shape;
  Dims a_matrix = a_shape;
  Dims b_matrix = b_shape;
  Dims dy_shape = y_shape;
  if (a_shape.size() == 1) a_matrix.insert(0, 1);
  if (b_shape.size() == 1) b_matrix.push_back(1);
  if (b_shape.size() == 1) dy_shape.push_back(1);
  if (a_shape.size() == 1) dy_shape.insert(dy_shape.size() - 1, 1);
  auto finish = [&](Ref<Value> grad, size_t input, const Dims& matrix, const Dims& shape) {
    grad = fit(grad, {c.node.input_spec(input).dtype, matrix});
    c.result(input) = seen_as(*grad, shape, matrix);
  };
  if (c.wants(0)) {
    const Ref<Value> dy = seen_as(cotangent, dy_shape, y_shape);
    const Ref<Value> b = seen_as(*c.inputs[1], b_matrix, b_shape);
    const Ref<Value> bt = swap_last_two(*conjugate(*b), b_matrix.size());
    finish(call("matmul", {dy.get(), bt.get()}), 0, a_matrix, a_shape);
  }
  if (c.wants(1)) {
    if (b_matrix.size() == 2) {  // one b for all rows: one product, not one per batch to be summed
      a_matrix = flat_rows(a_matrix);
      dy_shape = flat_rows(dy_shape);
    }
    const Ref<Value> dy = seen_as(cotangent, dy_shape, y_shape);
    const Ref<Value> a = seen_as(*c.inputs[0], a_matrix, a_shape);
    if (is_swapped(c.node.inputs[1])) {
      // b is a transpose: the product is made in the order of the tensor that was transposed, so
      // that the gradient of that one is contiguous.
      const Ref<Value> dyt = swap_last_two(*dy, dy_shape.size());
      const Ref<Value> swapped = call("matmul", {dyt.get(), conjugate(*a).get()});
      finish(swap_last_two(*swapped, dy_shape.size()), 1, b_matrix, b_shape);
      return;
    }
    const Ref<Value> at = swap_last_two(*conjugate(*a), a_matrix.size());
    finish(call("matmul", {at.get(), dy.get()}), 1, b_matrix, b_shape);
  }
}

void grad_matmul(GradCall& c) { product_gradients(c, *c.cotangents[0]); }

bool activation_reads_output(const Op& op) {
  const Scalar& activation = named_scalar(op, "activation");
  const uint32_t read =
      activation.gradients->outputs_read | activation.gradients->of(true).outputs_read;
  return activation.spec.name != "positive" && read != 0;
}

// The cotangent before the activation, by the activation's own rule. Most of them read only the
// output; where the input is read, it is computed once more, which is cheaper than to keep it.
Ref<Value> before_activation(GradCall& c) {
  const Scalar& activation = named_scalar(c.op, "activation");
  if (activation.spec.name == "positive") return Ref<Value>(c.cotangents[0]);
  const bool is_complex = kind_of(c.node.outputs()[0].dtype) == Kind::kComplex;
  const Gradients& gradients = activation.gradients->of(is_complex);
  if (!gradients.differentiable || gradients.rules.empty()) {
    fail(ErrorKind::kAutodiff, said::op(c.op.name()), said::argument("activation"),
         "must have a derivative where gradients flow", said::got("'", activation.spec.name, "'"),
         said::fix("detach the inputs"));
  }
  Ref<Value> sum;
  if (gradients.inputs_read != 0) {
    sum = call("linear", {c.inputs[0], c.inputs[1], c.inputs[2]},
               {{"activation", std::string("positive")}});
  }
  // Beside the sum, the activation sees its defaults.
  Values defaults;
  SmallVector<Value*, 4> inputs(1, sum.get());
  for (size_t i = 1; i < activation.spec.args.size(); ++i) {
    const Literal value = literal_of(activation.spec.args[i].fallback);
    defaults.push_back(lift_literal(value, *c.cotangents[0]));
    inputs.push_back(defaults.back().get());
  }
  Node view;
  view.inputs.resize(inputs.size());
  for (const Node::Input& input : c.node.inputs) {
    if (input.node) static_cast<Edge&>(view.inputs[0]) = input;
  }
  const Spec& output = c.node.outputs()[0];
  Specs taken(inputs.size(), Spec{output.dtype, {}});  // a sum, and numbers
  taken[0].shape = output.shape;
  view.specs = make_ref<CallSpec>(std::move(taken), Specs{output});
  const Args seen{inputs.data(), inputs.size()};
  GradCall inner{*activation.op, view, seen, c.outputs, c.cotangents, Values(inputs.size())};
  run_declared(gradients, inner);
  return inner.results[0];
}

void grad_linear(GradCall& c) {
  const Ref<Value> dy = before_activation(c);
  product_gradients(c, *dy);
  if (c.wants(2)) c.result(2) = dy;  // summed to the bias's shape by who called
}

constexpr std::pair<std::string_view, GradRule> kLinearAlgebraGradients[] = {
    {"mat_mul", {grad_matmul, 3U, false}},
    {"linear", {grad_linear, 7U, false, activation_reads_output}},
};

}  // namespace

RuleTable<GradRule> linear_algebra_gradients() { return kLinearAlgebraGradients; }

}  // namespace tensorlike
