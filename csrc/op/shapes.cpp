#include "op/shapes.h"

#include <algorithm>

#include "op/counts.h"
#include "op/found_sizes.h"
#include "op/infer.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

bool is_floating(Category category) {
  return category == Category::kFloating || category == Category::kRealFloating;
}

const ArgSpec& arg_of(const OpSpec& spec, size_t input) {
  return spec.args[std::min(input, spec.args.size() - 1)];
}

class Inference : public FoundSizes {
 public:
  Inference(const Op& op, Inputs inputs) : FoundSizes(op, inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      check_category(op_, arg_of(spec_, i), inputs[i].dtype);
      if (i < spec_.args.size()) groups_[i] = {inputs[i].shape.data(), inputs[i].shape.size()};
    }
  }

  Specs results() {
    const ShapeCase& found = chosen();
    for (const ArgShape& arg : found.args) {
      if (is_given(arg)) arg.broadcasts ? check_fits(arg) : match(arg);
    }
    for (const SizeCondition& condition : shapes_.conditions) check(condition);
    Specs out;
    for (const ResultShape& result : found.results) {
      if (!holds(result.when)) continue;
      out.push_back({dtype_of(result), shape_of(result.parts)});
    }
    return out;
  }

 private:
  static void check_category(const Op& op, const ArgSpec& arg, DType got) {
    if (arg.category == Category::kAll || arg.category == Category::kNumeric) return;
    if (arg.category == Category::kFloating) return;
    const bool is_real = arg.category != Category::kInteger && arg.category != Category::kBoolean;
    if (is_real && kind_of(got) < Kind::kComplex && arg.category != Category::kIntegerOrBoolean)
      return;
    tensorlike::check_category(op.name(), arg, got);
  }

  // Which case it is: the first that has as many dimensions.
  const ShapeCase& chosen() {
    for (const ShapeCase& each : shapes_.cases) {
      if (!holds(each.when)) continue;
      bool has_rank = true;
      for (const ArgShape& arg : each.args) {
        has_rank = has_rank && (arg.broadcasts || !is_given(arg) || fits_rank(arg));
      }
      if (has_rank) return each;
    }
    fail_ranks();
  }

  void match(const ArgShape& arg) {
    const Dims& shape = shape_of_arg(arg);
    size_t at = 0;
    for (size_t i = 0; i < arg.parts.size(); ++i) {
      const ShapePart& part = arg.parts[i];
      if (part.kind == ShapePart::Kind::kReduced) {  // such axes must be there
        check_axes(part.axis, static_cast<int64_t>(shape.size()));
        return;
      }
      if (is_sized(part)) {
        match_size(arg, i, shape[at++]);
        continue;
      }
      const size_t length = length_of(arg, i, at);
      match_group(arg, i, Sizes(shape).subspan(at, length));
      at += length;
    }
  }

  // Throws unless the attribute names axes of so many dimensions.
  void check_axes(const AttrExpr& axis, int64_t ndim) const {
    const Attr& named = attr_of(axis);
    if (const auto* single = std::get_if<int64_t>(&named)) {
      if (*single < -ndim || *single >= ndim) normalize_axis(op_.name(), *single, ndim);
    } else {
      axes_in(op_, axis.attr, named, ndim);
    }
  }

  void match_size(const ArgShape& arg, size_t i, int64_t size) {
    const AttrExpr& wanted = arg.parts[i].size;
    if (wanted.kind == AttrExpr::Kind::kLiteral) {
      if (number(wanted) != size) fail_size(arg, i, Place{nullptr, 0});
      return;
    }
    const size_t name = static_cast<size_t>(wanted.slot);
    if (size_places_[name].arg == nullptr) {
      size_places_[name] = {&arg, i};
      sizes_[name] = size;
    } else if (sizes_[name] != size) {
      fail_size(arg, i, size_places_[name]);
    }
  }

  // How many sizes a group has that begins at a place: as many as it had before, or what is left.
  size_t length_of(const ArgShape& arg, size_t i, size_t at) const {
    const size_t group = static_cast<size_t>(arg.parts[i].group);
    const bool is_known =
        group_places_[group].arg != nullptr && arg.parts[i].group != shapes_.broadcast;
    const size_t ndim = shape_of_arg(arg).size();
    size_t after = 0;
    bool is_last = true;
    for (size_t k = i + 1; k < arg.parts.size(); ++k) {
      is_sized(arg.parts[k]) ? void(++after) : void(is_last = false);
    }
    if (at + after > ndim) fail_group(arg, group_places_[group]);
    const size_t length = is_known ? groups_[group].size : ndim - at - after;
    if (at + length + after > ndim || (is_last && at + length + after != ndim)) {
      fail_group(arg, group_places_[group]);
    }
    return length;
  }

  void match_group(const ArgShape& arg, size_t i, Sizes sizes) {
    const int number = arg.parts[i].group;
    const size_t group = static_cast<size_t>(number);
    if (group_places_[group].arg == nullptr) {
      group_places_[group] = {&arg, i};
      groups_[group] = {sizes.data(), sizes.size()};
    } else if (const Sizes own = groups_[group];
               !std::equal(sizes.begin(), sizes.end(), own.begin(), own.end())) {
      if (number != shapes_.broadcast) fail_group(arg, group_places_[group]);
      batch_ = broadcast_shapes(op_.name(), own, sizes);
      groups_[group] = {batch_.data(), batch_.size()};
    }
  }

  void check_fits(const ArgShape& arg) {
    const Dims& shape = shape_of_arg(arg);
    const Dims target = shape_of(arg.parts);
    if (shape == target) return;
    if (broadcast_shapes(op_.name(), shape, target) == target) return;
    const std::string& name = name_of_arg(arg);
    const bool is_arg = arg.parts.size() == 1 && arg.parts[0].kind == ShapePart::Kind::kGroup;
    fail(ErrorKind::kShape, said::op(op_.name()), said::argument(name), "must broadcast to ",
         is_arg ? arg.text : to_string(target),
         said::got(is_arg ? text(arg.text, ".shape=", to_string(target), ", ") : "", name,
                   ".shape=", to_string(shape)));
  }

  Dims shape_of(const std::vector<ShapePart>& parts) {
    if (parts.size() == 1 && parts[0].kind == ShapePart::Kind::kGroup) {
      Dims shape(static_cast<Sizes>(groups_[static_cast<size_t>(parts[0].group)]));
      if (parts[0].group == shapes_.broadcast) inferred_count(shape);
      return shape;
    }
    if (parts.size() == 1 && parts[0].kind == ShapePart::Kind::kHeld) {
      Dims shape(held(parts[0]));
      inferred_count(shape);
      return shape;
    }
    if (parts.size() == 1 && parts[0].kind != ShapePart::Kind::kSize) {
      Dims shape =
          changed(parts[0], Dims(static_cast<Sizes>(groups_[static_cast<size_t>(parts[0].group)])));
      inferred_count(shape);
      return shape;
    }
    Dims shape;
    bool is_known = true;
    for (const ShapePart& part : parts) {
      if (is_sized(part)) {
        shape.push_back(size_of(part.size));
        is_known = is_known && shape.back() != kUnknownSize;
        continue;
      }
      const bool is_held = part.kind == ShapePart::Kind::kHeld;
      const Sizes sizes =
          is_held ? held(part) : static_cast<Sizes>(groups_[static_cast<size_t>(part.group)]);
      if (is_held || part.kind == ShapePart::Kind::kGroup) {
        for (int64_t size : sizes) shape.push_back(size);
      } else {
        for (int64_t size : changed(part, Dims(sizes))) shape.push_back(size);
      }
    }
    if (is_known) inferred_count(shape);
    return shape;
  }

  Sizes held(const ShapePart& part) const {
    return std::get<std::vector<int64_t>>(attr_of(part.size));
  }

  Dims changed(const ShapePart& part, Dims sizes) {
    if (part.kind == ShapePart::Kind::kPermuted) return permuted(part, sizes);
    if (part.kind == ShapePart::Kind::kResized) {
      const size_t axis = axis_of(part.axis, sizes.size());
      sizes[axis] = number(part.size);
      return sizes;
    }
    const Attr& named = op_.attrs[static_cast<size_t>(part.axis.slot)];
    const Dims axes = axes_in(op_, part.axis.attr, named, static_cast<int64_t>(sizes.size()));
    for (int64_t axis : axes) {
      int64_t& size = sizes[static_cast<size_t>(axis)];
      if (size == 0 && part.kind == ShapePart::Kind::kReducedSome) {
        fail(ErrorKind::kShape, said::op(op_.name()), "an empty axis has no ", op_.name(),
             said::got("x.shape=",
                       to_string(static_cast<Sizes>(groups_[static_cast<size_t>(part.group)])),
                       ", axis=", axis));
      }
      size = kUnknownSize;
    }
    const bool keeps = number(part.size) != 0;
    Dims kept;
    for (int64_t size : sizes) {
      if (size != kUnknownSize || keeps) kept.push_back(size == kUnknownSize ? 1 : size);
    }
    return kept;
  }

  Dims permuted(const ShapePart& part, const Dims& sizes) {
    const auto& axes = std::get<std::vector<int64_t>>(attr_of(part.axis));
    const int64_t ndim = static_cast<int64_t>(sizes.size());
    Dims out = sizes;
    Dims seen(sizes.size());
    bool complete = axes.size() == sizes.size();
    for (size_t i = 0; complete && i < axes.size(); ++i) {
      const size_t axis = static_cast<size_t>(normalize_axis(op_.name(), axes[i], ndim));
      complete = seen[axis]++ == 0;
      out[i] = sizes[axis];
    }
    if (!complete) {
      fail(ErrorKind::kShape, said::op(op_.name()), said::argument(part.axis.attr),
           "must name each of the ", ndim, " dimensions once",
           said::got(part.axis.attr, "=", to_string(attr_of(part.axis))));
    }
    return out;
  }

  // The promoted dtype of the arguments of the first one's category.
  DType joint() const {
    const Category category = spec_.args[0].category;
    DType dtype = inputs_[0].dtype;
    for (size_t i = 1; i < inputs_.size(); ++i) {
      if (arg_of(spec_, i).category == category) dtype = promote(dtype, inputs_[i].dtype);
    }
    if (is_floating(category) && kind_of(dtype) < Kind::kFloating) return DType::kFloat32;
    return category == Category::kNumeric && dtype == DType::kBool ? DType::kInt64 : dtype;
  }

  DType dtype_of(const ResultShape& result) const {
    const size_t from = static_cast<size_t>(result.from);
    switch (result.of) {
      case ResultShape::Of::kJoint:
        return joint();
      case ResultShape::Of::kReal:
        return real_of(joint());
      case ResultShape::Of::kComplex:
        return complex_of(joint());
      case ResultShape::Of::kGiven:
        return result.dtype;
      case ResultShape::Of::kArg: {
        const DType dtype = spec_of_arg(result.from).dtype;
        const bool is_cast = is_floating(spec_.args[from].category);
        return is_cast && kind_of(dtype) < Kind::kFloating ? DType::kFloat32 : dtype;
      }
      case ResultShape::Of::kAttr:
        if (const auto* given = std::get_if<DType>(&op_.attrs[from])) {
          check_converts(op_, inputs_[0].dtype, *given);
          return *given;
        }
        return joint();
      case ResultShape::Of::kScalar:
        break;
    }
    return applied_dtype(op_, spec_.attrs[from].name, std::get<std::string>(op_.attrs[from]),
                         joint());
  }

  Dims batch_;
};

// Attributes by their numbers.
void resolve(const OpSpec& spec, AttrExpr& expr) {
  for (AttrExpr& part : expr.parts) resolve(spec, part);
  if (expr.kind == AttrExpr::Kind::kArithmetic)
    expr.dim = static_cast<int>(size_function(expr.attr));
  if (expr.kind != AttrExpr::Kind::kAttr) return;
  for (size_t i = 0; i < spec.attrs.size(); ++i) {
    if (spec.attrs[i].name == expr.attr) expr.slot = static_cast<int>(i);
  }
}

void resolve(const OpSpec& spec, std::vector<ShapePart>& parts) {
  for (ShapePart& part : parts) {
    resolve(spec, part.size);
    resolve(spec, part.axis);
  }
}

}  // namespace

Specs infer_declared(const Op& op, std::span<const Spec> inputs) {
  return Inference(op, inputs).results();
}

void resolve_shapes(OpSpec& spec) {
  ShapeSpec& shapes = spec.shapes;
  if (static_cast<size_t>(std::max(shapes.sizes, shapes.groups)) > kMostNames) {
    fail(ErrorKind::kDeclaration, spec.source, ": ", spec.name, ": shapes may have ", kMostNames,
         " names.");
  }
  for (ShapeCase& each : shapes.cases) {
    resolve(spec, each.when);
    for (ArgShape& arg : each.args) resolve(spec, arg.parts);
    for (ResultShape& result : each.results) {
      resolve(spec, result.when);
      resolve(spec, result.parts);
    }
  }
  for (SizeCondition& condition : shapes.conditions) resolve(spec, condition.holds);
}

// Non-negative; the op's name, which is a text of its own, is made where an error needs it.
static int64_t counted_axis(const Op& op, int64_t axis, int64_t ndim) {
  if (axis < -ndim || axis >= ndim) return normalize_axis(op.name(), axis, ndim);
  return axis < 0 ? axis + ndim : axis;
}

Dims axes_in(const Op& op, std::string_view name, const Attr& named, int64_t ndim) {
  Dims axes;
  if (const auto* single = std::get_if<int64_t>(&named)) {
    axes.push_back(counted_axis(op, *single, ndim));
  } else if (const auto* several = std::get_if<std::vector<int64_t>>(&named)) {
    for (int64_t value : *several) {
      const int64_t axis = counted_axis(op, value, ndim);
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
        fail(ErrorKind::kShape, said::op(op.name()), "an axis may be named once",
             said::got(name, "=", to_string(std::span<const int64_t>(*several))));
      }
      axes.push_back(axis);
    }
  } else {
    for (int64_t i = 0; i < ndim; ++i) axes.push_back(i);
  }
  return axes;
}

void fail_calculation(const Op& op, std::string_view what) {
  fail(ErrorKind::kAttribute, said::op(op.name()), "the arithmetic on attributes must ", what, ".");
}

int64_t calculate(const Op& op, const std::string& function, int64_t a, int64_t b) {
  int64_t out = 0;
  bool is_wide = false;
  if (function == "add") {
    is_wide = __builtin_add_overflow(a, b, &out);
  } else if (function == "subtract") {
    is_wide = __builtin_sub_overflow(a, b, &out);
  } else if (function == "multiply") {
    is_wide = __builtin_mul_overflow(a, b, &out);
  } else {
    if (b == 0) fail_calculation(op, "not divide by zero");
    if (b == -1) {
      is_wide = __builtin_sub_overflow(int64_t{0}, a, &out);
      if (function == "remainder") return 0;
    } else {
      // Rounded down, as Python does.
      out = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
      if (function == "remainder") out = a - out * b;
    }
  }
  if (is_wide) fail_calculation(op, "stay within 64 bits");
  return out;
}

DType applied_dtype(const Op& op, const std::string& attr, const std::string& name, DType given) {
  const Scalar* scalar = registry().find_scalar(name);
  const auto has_default = [](const ArgSpec& arg) {
    return !std::holds_alternative<Nothing>(arg.fallback);
  };
  const bool takes_one =
      scalar != nullptr && scalar->spec.outputs == 1 && !scalar->spec.args.empty() &&
      std::all_of(scalar->spec.args.begin() + 1, scalar->spec.args.end(), has_default);
  if (!takes_one) {
    fail(ErrorKind::kAttribute, said::op(op.name()), said::argument(attr),
         "must be a declared scalar function that can take one argument",
         said::got("'", name, "'",
                   scalar == nullptr ? registry().did_you_mean(name, true, false) : ""));
  }
  return scalar->result_dtype(scalar->compute_dtype({&given, 1}));
}

}  // namespace tensorlike
