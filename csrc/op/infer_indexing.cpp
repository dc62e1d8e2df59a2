// Inference of the ops that pick elements along an axis, and of Pad.
#include <algorithm>

#include "op/counts.h"
#include "op/families.h"
#include "op/infer.h"
#include "op/pad.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

void check_integer(const Op& op, const Spec& indices) {
  if (kind_of(indices.dtype) == Kind::kInteger) return;
  fail(ErrorKind::kDType, said::op(op.name()), said::argument("indices"), "must be integer",
       said::got(name_of(indices.dtype)), said::fix("cast them: indices.astype(int64)"));
}

// The axis, where x and the indices have the same number of dimensions.
size_t shared_axis(const Op& op, const Spec& x, const Spec& indices) {
  check_integer(op, indices);
  if (x.shape.size() != indices.shape.size()) {
    fail(
        ErrorKind::kShape, said::op(op.name()), said::argument("indices"),
        "must have as many dimensions as x",
        said::got("x.shape=", to_string(x.shape), " and indices.shape=", to_string(indices.shape)));
  }
  return static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(x.shape.size())));
}

Specs infer_take_along_axis(const Op& op, Inputs inputs) {
  const size_t axis = shared_axis(op, inputs[0], inputs[1]);
  Dims table = inputs[0].shape;
  table[axis] = 1;
  Dims index = inputs[1].shape;
  const int64_t size = index[axis];
  index[axis] = 1;
  Dims shape = broadcast_shapes(op.name(), table, index);
  shape[axis] = size;
  inferred_count(shape);
  table = shape;
  table[axis] = inputs[0].shape[axis];
  inferred_count(table);  // what x is stretched to
  return one(inputs[0].dtype, shape);
}

void check_broadcasts(const Op& op, const char* name, const Dims& shape, const Dims& target) {
  if (broadcast_shapes(op.name(), shape, target) == target) return;
  fail(ErrorKind::kShape, said::op(op.name()), said::argument(name), "must broadcast to ",
       to_string(target), said::got(name, ".shape=", to_string(shape)));
}

Specs infer_put_along_axis(const Op& op, Inputs inputs) {
  const size_t axis = shared_axis(op, inputs[0], inputs[1]);
  Dims target = inputs[0].shape;
  target[axis] = inputs[1].shape[axis];
  inferred_count(target);
  check_broadcasts(op, "indices", inputs[1].shape, target);
  check_broadcasts(op, "value", inputs[2].shape, target);
  return one(inputs[0].dtype, inputs[0].shape);
}

Specs infer_pad(const Op& op, Inputs inputs) {
  const Dims& shape = inputs[0].shape;
  const std::vector<int64_t>& widths = op.get<std::vector<int64_t>>("widths");
  const PadMode mode = pad_mode(op);
  if (widths.size() != 2 * shape.size()) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("widths"),
         "must give two sizes, before and after, for each of the ", shape.size(), " dimensions",
         said::got("widths=", to_string(std::span<const int64_t>(widths))));
  }
  constexpr int64_t kMost = int64_t{1} << 60;  // sums of three do not overflow
  Dims padded = shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    for (int64_t width : {widths[2 * i], widths[2 * i + 1]}) {
      const bool is_within = mode != PadMode::kReflect || width < std::max<int64_t>(1, shape[i]);
      if (width < 0 || width > kMost || !is_within ||
          (mode != PadMode::kConstant && width > 0 && shape[i] == 0)) {
        fail(ErrorKind::kShape, said::op(op.name()), said::argument("widths"),
             "must not be negative, nor too large",
             mode == PadMode::kReflect ? " (reflected: at most the size less 1)" : "",
             mode == PadMode::kConstant ? "" : ", and what is repeated not empty",
             said::got(width, " for dimension ", i, " of size ", shape[i]));
      }
      padded[i] += width;
    }
  }
  inferred_count(padded);
  return one(inputs[0].dtype, padded);
}

constexpr std::pair<std::string_view, InferRule> kIndexingRules[] = {
    {"take_along_axis", infer_take_along_axis},
    {"put_along_axis", infer_put_along_axis},
    {"pad", infer_pad},
};

}  // namespace

PadMode pad_mode(const Op& op) {
  const std::string& mode = op.get<std::string>("mode");
  constexpr std::pair<std::string_view, PadMode> kModes[] = {
      {"constant", PadMode::kConstant},
      {"edge", PadMode::kEdge},
      {"reflect", PadMode::kReflect},
      {"circular", PadMode::kCircular},
  };
  for (const auto& [name, value] : kModes) {
    if (mode == name) return value;
  }
  fail(ErrorKind::kAttribute, said::op(op.name()), said::argument("mode"),
       "must be 'constant', 'edge', 'reflect' or 'circular'", said::got("'", mode, "'"));
}

RuleTable<InferRule> indexing_rules() { return kIndexingRules; }

}  // namespace tensorlike
