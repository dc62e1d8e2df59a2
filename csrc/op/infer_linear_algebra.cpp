// Inference of matrix products.
#include <algorithm>

#include "op/families.h"
#include "op/infer.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

Specs one(DType dtype, Dims shape) {
  Specs specs;
  specs.push_back({dtype, std::move(shape)});
  return specs;
}

// The product of two operands, by the names that the op gives them.
Spec infer_product(const Op& op, const Spec& left, const Spec& right, const char* left_name,
                   const char* right_name) {
  const Dims& a = left.shape;
  const Dims& b = right.shape;
  if (a.empty() || b.empty()) {
    fail(ErrorKind::kShape, said::op(op.name()), "both operands need at least one dimension",
         said::got(left_name, ".shape=", to_string(a), ", ", right_name, ".shape=", to_string(b)),
         said::fix("multiply by a scalar with *"));
  }
  const int64_t inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (a.back() != inner) {
    fail(ErrorKind::kShape, said::op(op.name()), left_name, ".shape[-1] must equal ", right_name,
         ".shape[", b.size() == 1 ? "0" : "-2", "]",
         said::got(left_name, ".shape=", to_string(a), ", ", right_name, ".shape=", to_string(b)));
  }
  DType dtype = promote(left.dtype, right.dtype);
  if (dtype == DType::kBool) dtype = DType::kInt64;
  std::span<const int64_t> a_batch(a.data(), a.size() - std::min<size_t>(a.size(), 2));
  std::span<const int64_t> b_batch(b.data(), b.size() - std::min<size_t>(b.size(), 2));
  Dims shape = broadcast_shapes(op.name(), a_batch, b_batch);
  if (a.size() > 1) shape.push_back(a[a.size() - 2]);
  if (b.size() > 1) shape.push_back(b.back());
  element_count(shape);
  return {dtype, std::move(shape)};
}

Specs infer_matmul(const Op& op, Inputs inputs) {
  Specs specs;
  specs.push_back(infer_product(op, inputs[0], inputs[1], "a", "b"));
  return specs;
}

// The vectors themselves do not broadcast.
Specs infer_vecdot(const Op& op, Inputs inputs) {
  const Dims& a = inputs[0].shape;
  const Dims& b = inputs[1].shape;
  Dims shape = broadcast_shapes(op.name(), a, b);
  const size_t ndim = shape.size();
  const size_t axis = static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(ndim)));
  const size_t from_end = ndim - axis;
  const bool have_it = a.size() >= from_end && b.size() >= from_end;
  if (!have_it || a[a.size() - from_end] != b[b.size() - from_end]) {
    fail(ErrorKind::kShape, said::op(op.name()), "x1 and x2 must have the same size along axis ",
         op.get<int64_t>("axis"), said::got("x1.shape=", to_string(a), ", x2.shape=", to_string(b)),
         said::fix("broadcast_to makes vectors equally long"));
  }
  shape.erase(axis);
  const DType dtypes[] = {inputs[0].dtype, inputs[1].dtype};
  const Scalar& product = *registry().find_scalar("multiply");
  return one(product.result_dtype(product.compute_dtype(dtypes)), shape);
}

// Whether a scalar function of one result can be called with one argument.
bool can_take_one(const ScalarSpec& spec) {
  const auto has_default = [](const ArgSpec& arg) {
    return !std::holds_alternative<Nothing>(arg.fallback);
  };
  return spec.outputs == 1 && !spec.args.empty() &&
         std::all_of(spec.args.begin() + 1, spec.args.end(), has_default);
}

Specs infer_linear(const Op& op, Inputs inputs) {
  const Spec product = infer_product(op, inputs[0], inputs[1], "x", "weight");
  const Dims& bias = inputs[2].shape;
  const Dims joint = broadcast_shapes(op.name(), product.shape, bias);
  if (!(joint == product.shape)) {
    fail(
        ErrorKind::kShape, said::op(op.name()), said::argument("bias"),
        "must broadcast to the product of x and weight",
        said::got("bias.shape=", to_string(bias), " for the product's ", to_string(product.shape)));
  }
  const std::string& name = op.get<std::string>("activation");
  const Scalar* activation = registry().find_scalar(name);
  if (activation == nullptr || !can_take_one(activation->spec)) {
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("activation"),
         "must be a declared scalar function that can take one argument",
         said::got("'", name, "'",
                   activation == nullptr ? registry().did_you_mean(name, true, false) : ""));
  }
  const DType sum = promote(product.dtype, inputs[2].dtype);
  return one(activation->result_dtype(activation->compute_dtype({&sum, 1})), product.shape);
}

constexpr std::pair<std::string_view, InferRule> kRules[] = {
    {"mat_mul", infer_matmul},
    {"linear", infer_linear},
    {"vectors_of_one_size", infer_vecdot},
};

}  // namespace

RuleTable<InferRule> linear_algebra_rules() { return kRules; }

}  // namespace tensorlike
