// Inference: the shape and dtype of every op's outputs, and with them the errors that a user gets
// on the line of the call. The rules of native ops are in the files of their families.
#include "op/infer.h"

#include <algorithm>
#include <cmath>

#include "memory/backend.h"
#include "op/counts.h"
#include "op/families.h"
#include "op/index.h"
#include "op/op.h"
#include "op/registry.h"
#include "op/shapes.h"

namespace tensorlike {

InferRule find_infer(std::string_view name) {
  const InferRule* const rule = find_rule<InferRule>(name);
  return rule == nullptr ? nullptr : *rule;
}

Specs infer_elemwise(const Op& op, std::span<const Spec> inputs) {
  const Scalar& scalar = *op.scalar;
  check_arity(op, inputs.size());
  SmallVector<DType, 16> dtypes;
  Dims shape = inputs[0].shape;
  bool is_broadcast = false;
  for (const Spec& spec : inputs) {
    dtypes.push_back(spec.dtype);
    if (spec.shape == shape) continue;
    shape = broadcast_shapes(scalar.spec.name, shape, spec.shape);
    is_broadcast = true;
  }
  if (is_broadcast) inferred_count(shape);
  const DType dtype = scalar.result_dtype(scalar.compute_dtype(dtypes));
  return Specs(static_cast<size_t>(scalar.spec.outputs), Spec{dtype, shape});
}

DType real_floating(const Op& op, const char* arg, DType dtype) {
  if (kind_of(dtype) == Kind::kComplex) {
    fail(ErrorKind::kDType, said::op(op.name()), arg, " must be real floating-point",
         said::got(name_of(dtype)), said::fix("take one of its parts: real(x), imag(x), abs(x)"));
  }
  return kind_of(dtype) == Kind::kFloating ? dtype : DType::kFloat32;
}

DType joint_real_dtype(const Op& op, std::span<const Spec> inputs) {
  const std::vector<ArgSpec>& args = op.cls.spec.args;
  DType dtype = real_floating(op, args[0].name.c_str(), inputs[0].dtype);
  for (size_t i = 1; i < inputs.size(); ++i) {
    const ArgSpec& arg = args[std::min(i, args.size() - 1)];
    dtype = promote(dtype, real_floating(op, arg.name.c_str(), inputs[i].dtype));
  }
  return dtype;
}

Specs one(DType dtype, Dims shape) {
  inferred_count(shape);
  return Specs(1, Spec{dtype, std::move(shape)});
}

Dims named_axes(const Op& op, int64_t ndim) { return axes_in(op, "axis", op.attr("axis"), ndim); }

Specs infer_reduce(const Op& op, std::span<const Spec> inputs) {
  const Reduction& reduction = *op.reduction;
  check_arity(op, inputs.size());
  const Spec& x = inputs[0];
  reduction.check_dtype(x.dtype);
  const Dims axes = named_axes(op, static_cast<int64_t>(x.shape.size()));
  if (reduction.spec.single_axis && std::holds_alternative<std::vector<int64_t>>(op.attrs[1])) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("axis"),
         "must be one integer or None", said::got("axis=", to_string(op.attrs[1])));
  }
  Dims shape = x.shape;
  for (int64_t axis : axes) {
    if (!reduction.spec.has_identity && shape[static_cast<size_t>(axis)] == 0) {
      fail(ErrorKind::kShape, said::op(op.name()), "an empty axis has no ", op.name(),
           said::got("x.shape=", to_string(x.shape), ", axis=", axis));
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
  if (wanted == nullptr) return Specs(1, Spec{reduction.result_dtype(x.dtype), shape});
  check_converts(op, x.dtype, *wanted);
  reduction.check_dtype(*wanted);
  return Specs(1, Spec{*wanted, shape});
}

void check_converts(const Op& op, DType from, DType to) {
  if (kind_of(from) != Kind::kComplex || kind_of(to) == Kind::kComplex || to == DType::kBool)
    return;
  fail(ErrorKind::kDType, said::op(op.name()), "a complex number has no ", name_of(to),
       " value; take one of its parts: real(x), imag(x), abs(x).");
}

// "x on cpu, y on emulated:0".
static std::string places_of(const Op& op, std::span<const Spec> inputs) {
  const std::vector<ArgSpec>& args = op.scalar != nullptr ? op.scalar->spec.args : op.cls.spec.args;
  std::string places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_named = i < args.size() && (!args[i].variadic || args[i].optional);
    const std::string name = is_named ? args[i].name : text("operand ", i);
    places += text(i == 0 ? "" : ", ", name, " on ", to_string(inputs[i].device));
  }
  return places;
}

Device operands_device(const Op& op, std::span<const Spec> inputs) {
  if (inputs.empty()) return results_device(op, default_device);
  for (const Spec& spec : inputs) {
    if (spec.device == inputs[0].device) continue;
    fail(ErrorKind::kDevice, said::op(op.name()), "operands must live on one device",
         said::got(places_of(op, inputs)), said::fix("move one: x.to(y.device)"));
  }
  return inputs[0].device;
}

Device results_device(const Op& op, Device operands) {
  if (op.cls.device_attr < 0) return operands;
  const Attr& attr = op.attrs[static_cast<size_t>(op.cls.device_attr)];
  const auto* name = std::get_if<std::string>(&attr);
  return name == nullptr ? operands : require_device(op.name(), *name);
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
  fail(ErrorKind::kDispatch, said::op(op.name()), "takes ", wanted, is_one ? " tensor" : " tensors",
       said::got(got));
}

// What a rule says of an op's results, wherever they live.
static Specs infer_anywhere(const Op& op, std::span<const Spec> inputs) {
  if (op.scalar != nullptr) return infer_elemwise(op, inputs);
  if (op.reduction != nullptr) return infer_reduce(op, inputs);
  check_arity(op, inputs.size());
  return op.cls.infer(op, inputs);
}

// No rule mentions devices.
Specs infer(const Op& op, std::span<const Spec> inputs) {
  const Device device = results_device(op, operands_device(op, inputs));
  Specs results = infer_anywhere(op, inputs);
  for (Spec& spec : results) spec.device = device;
  return results;
}

Selection select(const std::string& op, std::span<const int64_t> shape,
                 std::span<const int64_t> strides, std::span<const int64_t> items) {
  size_t used = 0;
  size_t ellipses = 0;
  for (size_t i = 0; i < items.size(); i += 4) {
    const auto kind = static_cast<ItemKind>(items[i]);
    ellipses += kind == ItemKind::kEllipsis;
    if (items.size() % 4 != 0 || items[i] < 0 || items[i] > 3 || ellipses > 1) {
      fail(ErrorKind::kIndex, said::op(op), said::argument("items"),
           "must be groups of kind, start, stop, step, with at most one ellipsis",
           said::got(to_string(items)));
    }
    if (kind == ItemKind::kInteger || kind == ItemKind::kSlice) ++used;
  }
  if (used > shape.size()) {
    fail(ErrorKind::kIndex, said::op(op), "too many indices: the tensor has ", shape.size(),
         " dimensions", said::got(used, " indices"));
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
          fail(ErrorKind::kIndex, said::op(op), "index ", start, " is out of range for dimension ",
               axis, " of size ", size, ".");
        }
        out.offset += (start < 0 ? start + size : start) * strides[axis];
        ++axis;
        break;
      }
      case ItemKind::kSlice: {
        const int64_t size = shape[axis];
        const int64_t step = items[i + 3] == kNoBound ? 1 : items[i + 3];
        if (step == 0) fail(ErrorKind::kIndex, said::op(op), "a slice's step must not be 0.");
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
