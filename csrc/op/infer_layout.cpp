// Inference for the native ops that lay elements out anew: views, parts, joins and casts.
#include <algorithm>
#include <cmath>

#include "op/counts.h"
#include "op/divisions.h"
#include "op/families.h"
#include "op/index.h"
#include "op/infer.h"
#include "op/op.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

const std::vector<int64_t>& ints(const Op& op, std::string_view name) {
  return op.get<std::vector<int64_t>>(name);
}

Specs infer_reshape(const Op& op, Inputs inputs) {
  Dims shape{std::span<const int64_t>(ints(op, "shape"))};
  const int64_t count = inferred_count(inputs[0].shape);
  int64_t* unknown = nullptr;
  Dims given;
  for (int64_t& dim : shape) {
    if (dim == -1) {
      if (unknown != nullptr) {
        fail(ErrorKind::kShape, said::op(op.name()), "multiple -1 in shape ", to_string(shape),
             "; leave one dimension to be worked out.");
      }
      unknown = &dim;
    } else if (dim < 0) {
      fail(ErrorKind::kShape, said::op(op.name()), said::argument("dimensions"),
           "must not be negative (one may be -1)", said::got(to_string(shape)));
    } else {
      given.push_back(dim);
    }
  }
  const auto known = count_if_small(given);
  if (!known) {
    fail(ErrorKind::kShape, said::op(op.name()), "the shape ", to_string(shape), " is too large.");
  }
  const bool is_whole = unknown == nullptr
                            ? *known == count
                            : divides(count, *known) || (*known != 0 && is_large_count(count));
  if (!is_whole) {
    fail(ErrorKind::kShape, said::op(op.name()), "the number of elements must stay the same",
         said::got(to_string(inputs[0].shape), " (", count, " elements) into ", to_string(shape)));
  }
  if (unknown != nullptr) *unknown = quotient_of_counts(count, *known);
  return one(inputs[0].dtype, shape);
}

Specs infer_subtensor(const Op& op, Inputs inputs) {
  const Dims strides(inputs[0].shape.size());
  return one(inputs[0].dtype, select(op.name(), inputs[0].shape, strides, ints(op, "items")).shape);
}

void check_fits(const Op& op, const Dims& value, const Dims& target) {
  const Dims both = broadcast_shapes(op.name(), value, target);
  if (!(both == target)) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("value"),
         "must broadcast to what is assigned to",
         said::got("value.shape=", to_string(value), " into ", to_string(target)));
  }
}

Specs infer_set_subtensor(const Op& op, Inputs inputs) {
  check_fits(op, inputs[1].shape, infer_subtensor(op, inputs)[0].shape);
  return one(inputs[0].dtype, inputs[0].shape);
}

// The shape that indices broadcast to, and the shape that gathering along `axes` gives.
struct GatherShape {
  Dims index;
  Dims result;
};

GatherShape gather_shape(const Op& op, const Dims& x, Inputs indices) {
  const std::vector<int64_t>& axes = ints(op, "axes");
  if (axes.size() != indices.size()) {
    fail(ErrorKind::kShape, said::op(op.name()), "there must be one index per axis",
         said::got(indices.size(), " for axes=", to_string(std::span<const int64_t>(axes))));
  }
  if (axes.empty()) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("axes"),
         "must name one axis or more", said::got("axes=()"));
  }
  GatherShape out;
  std::vector<bool> taken(x.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (kind_of(indices[i].dtype) != Kind::kInteger) {
      fail(ErrorKind::kDType, said::op(op.name()), said::argument("indices"), "must be integer",
           said::got(name_of(indices[i].dtype)), said::fix("cast it: x.astype(int64)"));
    }
    const int64_t axis = normalize_axis(op.name(), axes[i], static_cast<int64_t>(x.size()));
    if (taken[static_cast<size_t>(axis)]) {
      fail(ErrorKind::kShape, said::op(op.name()), said::argument("axes"), "must differ",
           said::got("axes=", to_string(std::span<const int64_t>(axes))));
    }
    taken[static_cast<size_t>(axis)] = true;
    out.index = broadcast_shapes(op.name(), out.index, indices[i].shape);
  }
  out.result = out.index;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!taken[i]) out.result.push_back(x[i]);
  }
  inferred_count(out.result);
  return out;
}

// Indices come first in the result, then what is left of x.
Specs infer_gather(const Op& op, Inputs inputs) {
  return one(inputs[0].dtype, gather_shape(op, inputs[0].shape, inputs.subspan(1)).result);
}

Specs infer_scatter(const Op& op, Inputs inputs) {
  check_fits(op, inputs[1].shape, gather_shape(op, inputs[0].shape, inputs.subspan(2)).result);
  return one(inputs[0].dtype, inputs[0].shape);
}

DType promoted(Inputs inputs) {
  DType dtype = inputs[0].dtype;
  for (const Spec& spec : inputs) dtype = promote(dtype, spec.dtype);
  return dtype;
}

void check_some(const Op& op, Inputs inputs) {
  if (inputs.empty())
    fail(ErrorKind::kShape, said::op(op.name()), "at least one tensor is needed.");
}

Specs infer_concat(const Op& op, Inputs inputs) {
  check_some(op, inputs);
  Dims shape = inputs[0].shape;
  const size_t axis = static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(shape.size())));
  int64_t total = 0;
  for (const Spec& spec : inputs) {
    bool matches = spec.shape.size() == shape.size();
    for (size_t i = 0; matches && i < shape.size(); ++i) {
      matches = i == axis || spec.shape[i] == shape[i];
    }
    if (!matches) {
      fail(ErrorKind::kShape, said::op(op.name()), "shapes must be equal but for axis ", axis,
           said::got(to_string(shape), " and ", to_string(spec.shape)));
    }
    total += spec.shape[axis];
  }
  shape[axis] = total;
  inferred_count(shape);
  return one(promoted(inputs), shape);
}

Specs infer_stack(const Op& op, Inputs inputs) {
  check_some(op, inputs);
  Dims shape = inputs[0].shape;
  for (const Spec& spec : inputs) {
    if (!(spec.shape == shape)) {
      fail(ErrorKind::kShape, said::op(op.name()), "shapes must be equal",
           said::got(to_string(shape), " and ", to_string(spec.shape)));
    }
  }
  const int64_t axis =
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(shape.size()) + 1);
  shape.insert(static_cast<size_t>(axis), static_cast<int64_t>(inputs.size()));
  inferred_count(shape);
  return one(promoted(inputs), shape);
}

Specs infer_split(const Op& op, Inputs inputs) {
  const Dims& shape = inputs[0].shape;
  const size_t axis = static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(shape.size())));
  int64_t total = 0;
  Specs specs;
  for (int64_t size : ints(op, "sizes")) {
    if (size < 0 || size > shape[axis]) total = -1;
    if (total < 0) break;
    total += size;
    Dims part = shape;
    part[axis] = size;
    specs.push_back({inputs[0].dtype, part});
  }
  if (total != shape[axis]) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("sizes"),
         "must be non-negative and add up to ", shape[axis],
         said::got("sizes=", to_string(std::span<const int64_t>(ints(op, "sizes")))));
  }
  return specs;
}

Specs infer_fill(const Op& op, Inputs inputs) {
  (void)inputs;
  const Dims shape{std::span<const int64_t>(ints(op, "shape"))};
  inferred_count(shape);
  const auto* given = std::get_if<DType>(&op.attr("dtype"));
  return one(given != nullptr ? *given : default_dtype(literal_of(op.attr("fill_value"))), shape);
}

Specs infer_arange(const Op& op, Inputs inputs) {
  (void)inputs;
  Specs specs;
  specs.push_back(range_spec(op));
  return specs;
}

constexpr std::pair<std::string_view, InferRule> kLayoutRules[] = {
    {"reshape", infer_reshape},
    {"subtensor", infer_subtensor},
    {"set_subtensor", infer_set_subtensor},
    {"gather", infer_gather},
    {"scatter_set", infer_scatter},
    {"scatter_add", infer_scatter},
    {"concat", infer_concat},
    {"stack", infer_stack},
    {"split", infer_split},
    {"fill", infer_fill},
    {"arange", infer_arange},
};

}  // namespace

RuleTable<InferRule> layout_rules() { return kLayoutRules; }

}  // namespace tensorlike
