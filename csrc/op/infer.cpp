// Inference: the shape and dtype of every native op's outputs, and with them the errors that a
// user gets on the line of the call.
#include "op/infer.h"

#include <algorithm>
#include <cmath>

#include "op/families.h"
#include "op/index.h"
#include "op/op.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

using Inputs = std::span<const Spec>;

const std::vector<int64_t>& ints(const Op& op, std::string_view name) {
  return op.get<std::vector<int64_t>>(name);
}

Specs one(DType dtype, Dims shape) {
  Specs specs;
  specs.push_back({dtype, std::move(shape)});
  return specs;
}

Specs infer_same(const Op& op, Inputs inputs) {
  const DType dtype = real_floating(op, "x", inputs[0].dtype);
  if (op.cls.attr_index("axis") >= 0) {
    normalize_axis(op.name(), op.get<int64_t>("axis"),
                   static_cast<int64_t>(inputs[0].shape.size()));
  }
  return one(dtype, inputs[0].shape);
}

Specs infer_reshape(const Op& op, Inputs inputs) {
  Dims shape{std::span<const int64_t>(ints(op, "shape"))};
  const int64_t count = element_count(inputs[0].shape);
  int64_t* unknown = nullptr;
  int64_t known = 1;
  for (int64_t& dim : shape) {
    if (dim == -1) {
      if (unknown != nullptr) {
        fail(ErrorKind::kShape, op.name(), ": multiple -1 in shape ", to_string(shape),
             "; leave one dimension to be worked out.");
      }
      unknown = &dim;
    } else if (dim < 0) {
      fail(ErrorKind::kShape, op.name(), ": dimensions must not be negative (one may be -1); got ",
           to_string(shape), ".");
    } else if (dim != 0 && known > (int64_t{1} << 58) / dim) {
      fail(ErrorKind::kShape, op.name(), ": the shape ", to_string(shape), " is too large.");
    } else {
      known *= dim;
    }
  }
  const bool divides = unknown == nullptr ? known == count : known != 0 && count % known == 0;
  if (!divides) {
    fail(ErrorKind::kShape, op.name(), ": the number of elements must stay the same; got ",
         to_string(inputs[0].shape), " (", count, " elements) into ", to_string(shape), ".");
  }
  if (unknown != nullptr) *unknown = count / known;
  return one(inputs[0].dtype, shape);
}

Specs infer_transpose(const Op& op, Inputs inputs) {
  const Dims& shape = inputs[0].shape;
  const std::vector<int64_t>& axes = ints(op, "axes");
  const int64_t ndim = static_cast<int64_t>(shape.size());
  Dims out(shape.size());
  std::vector<bool> seen(shape.size());
  bool complete = axes.size() == shape.size();
  for (size_t i = 0; complete && i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(normalize_axis(op.name(), axes[i], ndim));
    complete = !seen[axis];
    seen[axis] = true;
    out[i] = shape[axis];
  }
  if (!complete) {
    fail(ErrorKind::kShape, op.name(), ": axes must name each of the ", ndim,
         " dimensions once; got axes=", to_string(std::span<const int64_t>(axes)), ".");
  }
  return one(inputs[0].dtype, out);
}

Specs infer_broadcast(const Op& op, Inputs inputs) {
  const std::vector<int64_t>& shape = ints(op, "shape");
  element_count(shape);
  const Dims result = broadcast_shapes(op.name(), inputs[0].shape, shape);
  if (!std::equal(result.begin(), result.end(), shape.begin(), shape.end())) {
    fail(ErrorKind::kShape, op.name(),
         ": shape must be one that x broadcasts to; got x.shape=", to_string(inputs[0].shape),
         ", shape=", to_string(std::span<const int64_t>(shape)), ".");
  }
  return one(inputs[0].dtype, result);
}

Specs infer_subtensor(const Op& op, Inputs inputs) {
  const Dims strides(inputs[0].shape.size());
  return one(inputs[0].dtype, select(op.name(), inputs[0].shape, strides, ints(op, "items")).shape);
}

void check_fits(const Op& op, const Dims& value, const Dims& target) {
  const Dims both = broadcast_shapes(op.name(), value, target);
  if (!(both == target)) {
    fail(ErrorKind::kShape, op.name(),
         ": value must broadcast to what is assigned to; got value"
         ".shape=",
         to_string(value), " into ", to_string(target), ".");
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
    fail(ErrorKind::kShape, op.name(), ": there must be one index per axis; got ", indices.size(),
         " for axes=", to_string(std::span<const int64_t>(axes)), ".");
  }
  GatherShape out;
  std::vector<bool> taken(x.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (kind_of(indices[i].dtype) != Kind::kInteger) {
      fail(ErrorKind::kDType, op.name(), ": indices must be integer; got ",
           name_of(indices[i].dtype), "; cast it: x.astype(int64).");
    }
    const int64_t axis = normalize_axis(op.name(), axes[i], static_cast<int64_t>(x.size()));
    if (taken[static_cast<size_t>(axis)]) {
      fail(ErrorKind::kShape, op.name(),
           ": axes must differ; got axes=", to_string(std::span<const int64_t>(axes)), ".");
    }
    taken[static_cast<size_t>(axis)] = true;
    out.index = broadcast_shapes(op.name(), out.index, indices[i].shape);
  }
  out.result = out.index;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!taken[i]) out.result.push_back(x[i]);
  }
  element_count(out.result);
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

DType joint_dtype(Inputs inputs) {
  DType dtype = inputs[0].dtype;
  for (const Spec& spec : inputs) dtype = promote(dtype, spec.dtype);
  return dtype;
}

void check_some(const Op& op, Inputs inputs) {
  if (inputs.empty()) fail(ErrorKind::kShape, op.name(), ": at least one tensor is needed.");
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
      fail(ErrorKind::kShape, op.name(), ": shapes must be equal but for axis ", axis, "; got ",
           to_string(shape), " and ", to_string(spec.shape), ".");
    }
    total += spec.shape[axis];
  }
  shape[axis] = total;
  element_count(shape);
  return one(joint_dtype(inputs), shape);
}

Specs infer_stack(const Op& op, Inputs inputs) {
  check_some(op, inputs);
  Dims shape = inputs[0].shape;
  for (const Spec& spec : inputs) {
    if (!(spec.shape == shape)) {
      fail(ErrorKind::kShape, op.name(), ": shapes must be equal; got ", to_string(shape), " and ",
           to_string(spec.shape), ".");
    }
  }
  const int64_t axis =
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(shape.size()) + 1);
  shape.insert(static_cast<size_t>(axis), static_cast<int64_t>(inputs.size()));
  element_count(shape);
  return one(joint_dtype(inputs), shape);
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
    fail(ErrorKind::kShape, op.name(), ": sizes must be non-negative and add up to ", shape[axis],
         "; got sizes=", to_string(std::span<const int64_t>(ints(op, "sizes"))), ".");
  }
  return specs;
}

Specs infer_cast(const Op& op, Inputs inputs) {
  check_device(op);
  const DType dtype = op.get<DType>("dtype");
  check_converts(op, inputs[0].dtype, dtype);
  return one(dtype, inputs[0].shape);
}

Specs infer_copy(const Op& op, Inputs inputs) {
  check_device(op);
  return one(inputs[0].dtype, inputs[0].shape);
}

Specs infer_fill(const Op& op, Inputs inputs) {
  (void)inputs;
  check_device(op);
  const Dims shape{std::span<const int64_t>(ints(op, "shape"))};
  element_count(shape);
  const auto* given = std::get_if<DType>(&op.attr("dtype"));
  return one(given != nullptr ? *given : default_dtype(literal_of(op.attr("fill_value"))), shape);
}

Specs infer_arange(const Op& op, Inputs inputs) {
  (void)inputs;
  check_device(op);
  Specs specs;
  specs.push_back(range_spec(op));
  return specs;
}

Specs infer_one_hot(const Op& op, Inputs inputs) {
  const int64_t depth = op.get<int64_t>("depth");
  if (depth < 0) {
    fail(ErrorKind::kShape, op.name(), ": depth must not be negative; got depth=", depth, ".");
  }
  if (kind_of(inputs[0].dtype) != Kind::kInteger) {
    fail(ErrorKind::kDType, op.name(), ": labels must be integer; got ", name_of(inputs[0].dtype),
         "; cast them: labels.astype(int64).");
  }
  Dims shape = inputs[0].shape;
  shape.push_back(depth);
  element_count(shape);
  return one(DType::kBool, shape);
}

constexpr std::pair<std::string_view, InferRule> kRules[] = {
    {"same", infer_same},           {"reshape", infer_reshape},
    {"transpose", infer_transpose}, {"broadcast", infer_broadcast},
    {"subtensor", infer_subtensor}, {"set_subtensor", infer_set_subtensor},
    {"gather", infer_gather},       {"scatter_set", infer_scatter},
    {"scatter_add", infer_scatter}, {"concat", infer_concat},
    {"stack", infer_stack},         {"split", infer_split},
    {"cast", infer_cast},           {"copy", infer_copy},
    {"fill", infer_fill},           {"arange", infer_arange},
    {"one_hot", infer_one_hot},
};

}  // namespace

RuleTable<InferRule> layout_rules() { return kRules; }

InferRule find_infer(std::string_view name) {
  for (const auto& family : {
           layout_rules(),
           indexing_rules(),
           linear_algebra_rules(),
           row_rules(),
           attention_rules(),
           recurrent_rules(),
           window_rules(),
           scan_rules(),
           sorting_rules(),
           fft_rules(),
           random_rules(),
           linear_solver_rules(),
       }) {
    for (const auto& [key, rule] : family) {
      if (key == name) return rule;
    }
  }
  return nullptr;
}

Specs infer_elemwise(const Op& op, std::span<const Spec> inputs) {
  const Scalar& scalar = *op.scalar;
  check_arity(op, inputs.size());
  SmallVector<DType, 4> dtypes;
  Dims shape = inputs[0].shape;
  for (const Spec& spec : inputs) {
    dtypes.push_back(spec.dtype);
    shape = broadcast_shapes(scalar.spec.name, shape, spec.shape);
  }
  element_count(shape);
  const DType dtype = scalar.result_dtype(scalar.compute_dtype(dtypes));
  return Specs(static_cast<size_t>(scalar.spec.outputs), Spec{dtype, shape});
}

DType real_floating(const Op& op, const char* arg, DType dtype) {
  if (kind_of(dtype) == Kind::kComplex) {
    fail(ErrorKind::kDType, op.name(), ": ", arg, " must be real floating-point; got ",
         name_of(dtype), "; take one of its parts: real(x), imag(x), abs(x).");
  }
  return kind_of(dtype) == Kind::kFloating ? dtype : DType::kFloat32;
}

Dims named_axes(const Op& op, int64_t ndim) {
  const Attr& axis = op.attr("axis");
  Dims axes;
  if (const auto* single = std::get_if<int64_t>(&axis)) {
    axes.push_back(normalize_axis(op.name(), *single, ndim));
  } else if (const auto* several = std::get_if<std::vector<int64_t>>(&axis)) {
    for (int64_t value : *several) {
      const int64_t normal = normalize_axis(op.name(), value, ndim);
      if (std::find(axes.begin(), axes.end(), normal) != axes.end()) {
        fail(ErrorKind::kShape, op.name(), ": an axis may be named once; got axis=",
             to_string(std::span<const int64_t>(*several)), ".");
      }
      axes.push_back(normal);
    }
  } else {
    for (int64_t i = 0; i < ndim; ++i) axes.push_back(i);
  }
  return axes;
}

Specs infer_reduce(const Op& op, std::span<const Spec> inputs) {
  const Reduction& reduction = *op.reduction;
  check_arity(op, inputs.size());
  const Spec& x = inputs[0];
  reduction.check_dtype(x.dtype);
  const Dims axes = named_axes(op, static_cast<int64_t>(x.shape.size()));
  if (reduction.spec.single_axis && std::holds_alternative<std::vector<int64_t>>(op.attrs[1])) {
    fail(ErrorKind::kShape, op.name(),
         ": axis must be one integer or None; got axis=", to_string(op.attrs[1]), ".");
  }
  Dims shape = x.shape;
  for (int64_t axis : axes) {
    if (!reduction.spec.has_identity && shape[static_cast<size_t>(axis)] == 0) {
      fail(ErrorKind::kShape, op.name(), ": an empty axis has no ", op.name(),
           "; got x.shape=", to_string(x.shape), ", axis=", axis, ".");
    }
    shape[static_cast<size_t>(axis)] = 1;
  }
  if (!std::get<bool>(op.attrs[2])) {
    Dims kept;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) {
        kept.push_back(shape[i]);
      }
    }
    shape = kept;
  }
  const DType* wanted = summed_as(op);
  if (wanted == nullptr) return one(reduction.result_dtype(x.dtype), shape);
  check_converts(op, x.dtype, *wanted);
  return one(*wanted, shape);
}

void check_converts(const Op& op, DType from, DType to) {
  if (kind_of(from) != Kind::kComplex || kind_of(to) == Kind::kComplex || to == DType::kBool)
    return;
  fail(ErrorKind::kDType, op.name(), ": a complex number has no ", name_of(to),
       " value; take one of its parts: real(x), imag(x), abs(x).");
}

void check_device(const Op& op) {
  const auto* name = std::get_if<std::string>(&op.attr("device"));
  if (name == nullptr || *name == "cpu") return;
  fail(ErrorKind::kDevice, op.name(), ": device must be one that this build has: 'cpu'; got '",
       *name, "'.");
}

void check_arity(const Op& op, size_t got) {
  const std::vector<ArgSpec>& args = op.scalar != nullptr ? op.scalar->spec.args : op.cls.spec.args;
  const size_t most = op.reduction != nullptr ? 1 : args.size();
  const bool may_lack = op.scalar == nullptr && !args.empty() && args.back().variadic;
  const bool is_bounded = !may_lack || args.back().optional;
  const size_t least = may_lack ? most - 1 : most;
  if (got >= least && (got <= most || !is_bounded)) return;
  const std::string wanted = !is_bounded ? text("at least ", least)
                             : may_lack  ? text(least, " or ", most)
                                         : text(most);
  const bool is_one = (is_bounded ? most : least) == 1;
  fail(ErrorKind::kDispatch, op.name(), ": takes ", wanted, is_one ? " tensor" : " tensors",
       "; got ", got, ".");
}

Specs infer(const Op& op, std::span<const Spec> inputs) {
  if (op.scalar != nullptr) return infer_elemwise(op, inputs);
  if (op.reduction != nullptr) return infer_reduce(op, inputs);
  check_arity(op, inputs.size());
  return op.cls.infer(op, inputs);
}

Selection select(const std::string& op, std::span<const int64_t> shape,
                 std::span<const int64_t> strides, std::span<const int64_t> items) {
  size_t used = 0;
  size_t ellipses = 0;
  for (size_t i = 0; i < items.size(); i += 4) {
    const auto kind = static_cast<ItemKind>(items[i]);
    ellipses += kind == ItemKind::kEllipsis;
    if (items.size() % 4 != 0 || items[i] < 0 || items[i] > 3 || ellipses > 1) {
      fail(ErrorKind::kIndex, op,
           ": items must be groups of kind, start, stop, step, with at most "
           "one ellipsis; got ",
           to_string(items), ".");
    }
    if (kind == ItemKind::kInteger || kind == ItemKind::kSlice) ++used;
  }
  if (used > shape.size()) {
    fail(ErrorKind::kIndex, op, ": too many indices: the tensor has ", shape.size(),
         " dimensions; got ", used, " indices.");
  }
  Selection out;
  size_t axis = 0;
  auto keep = [&](size_t count) {
    for (size_t i = 0; i < count; ++i, ++axis) {
      out.shape.push_back(shape[axis]);
      out.strides.push_back(strides[axis]);
    }
  };
  for (size_t i = 0; i < items.size(); i += 4) {
    const int64_t start = items[i + 1];
    switch (static_cast<ItemKind>(items[i])) {
      case ItemKind::kNewAxis:
        out.shape.push_back(1);
        out.strides.push_back(0);
        break;
      case ItemKind::kEllipsis:
        keep(shape.size() - used);
        break;
      case ItemKind::kInteger: {
        const int64_t size = shape[axis];
        if (start < -size || start >= size) {
          fail(ErrorKind::kIndex, op, ": index ", start, " is out of range for dimension ", axis,
               " of size ", size, ".");
        }
        out.offset += (start < 0 ? start + size : start) * strides[axis];
        ++axis;
        break;
      }
      case ItemKind::kSlice: {
        const int64_t size = shape[axis];
        const int64_t step = items[i + 3] == kNoBound ? 1 : items[i + 3];
        if (step == 0) fail(ErrorKind::kIndex, op, ": a slice's step must not be 0.");
        // As Python's slice.indices.
        const int64_t low = step > 0 ? 0 : -1;
        const int64_t high = step > 0 ? size : size - 1;
        auto clamp = [&](int64_t bound, int64_t missing) {
          if (bound == kNoBound) return missing;
          if (bound < 0) bound = bound < -size ? low : bound + size;
          return std::clamp(bound, low, high);
        };
        const int64_t first = clamp(start, step > 0 ? low : high);
        const int64_t stop = clamp(items[i + 2], step > 0 ? high : low);
        int64_t length = 0;
        if (step > 0 && first < stop) length = (stop - first - 1) / step + 1;
        if (step < 0 && stop < first) length = (first - stop - 1) / -step + 1;
        if (length > 0) out.offset += first * strides[axis];
        out.shape.push_back(length);
        // A step beyond the dimension selects one element, whose stride is never used.
        out.strides.push_back(length > 1 ? step * strides[axis] : 0);
        ++axis;
        break;
      }
    }
  }
  keep(shape.size() - axis);
  return out;
}

}  // namespace tensorlike
