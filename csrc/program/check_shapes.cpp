// Inference that is declared: its parts are read by numbers, which must be those of arguments,
// groups, sizes and attributes.
#include <algorithm>
#include <string_view>

#include "op/found_sizes.h"
#include "program/checks.h"

namespace tensorlike::checks {
namespace {

// In declared shapes: slots are arguments, or sizes that patterns name.
void check_size(const OpSpec& spec, const AttrExpr& expr) {
  using Kind = AttrExpr::Kind;
  for (const AttrExpr& part : expr.parts) check_size(spec, part);
  const bool reads_arg =
      expr.kind == Kind::kShape || expr.kind == Kind::kDim || expr.kind == Kind::kRank;
  require(!reads_arg || is_below(expr.slot, spec.args.size()), spec.name, "sizes of its arguments");
  require(expr.kind != Kind::kSize || is_below(expr.slot, static_cast<size_t>(spec.shapes.sizes)),
          spec.name, "names of sizes that are there");
  require(expr.kind != Kind::kAttr || has_attribute(spec.attrs, expr.attr), spec.name,
          "attributes that are its own");
  if (expr.kind == Kind::kDim) require(expr.parts.size() == 1, spec.name, "one axis");
  if (expr.kind != Kind::kArithmetic) return;
  const SizeFunction function = size_function(expr.attr);
  const size_t parts = function == SizeFunction::kWhere ? 3
                       : function == SizeFunction::kNot ? 1
                                                        : 2;
  require(expr.parts.size() == parts, spec.name, "arithmetic on as many parts as it takes");
}

bool is_shape(const OpSpec& spec, const AttrExpr& expr) {
  return expr.kind == AttrExpr::Kind::kAttr &&
         std::any_of(spec.attrs.begin(), spec.attrs.end(), [&](const AttrSpec& attr) {
           return attr.name == expr.attr && attr.type->name == std::string_view("shape");
         });
}

void check_parts(const OpSpec& spec, const std::vector<ShapePart>& parts, bool is_pattern) {
  using Kind = ShapePart::Kind;
  for (const ShapePart& part : parts) {
    check_size(spec, part.size);
    check_size(spec, part.axis);
    require(is_below(part.group, static_cast<size_t>(spec.shapes.groups)), spec.name,
            "groups that are there");
    const bool names_axes = part.kind == Kind::kReduced || part.kind == Kind::kReducedSome ||
                            part.kind == Kind::kPermuted;
    require(!names_axes || part.axis.kind == AttrExpr::Kind::kAttr, spec.name,
            "axes that an attribute names");
    require(part.kind != Kind::kHeld || is_shape(spec, part.size), spec.name,
            "sizes that an attribute holds");
    const bool is_name =
        part.size.kind == AttrExpr::Kind::kSize || part.size.kind == AttrExpr::Kind::kLiteral;
    require(!is_pattern || part.kind != Kind::kSize || is_name, spec.name,
            "names and numbers in patterns");
  }
}

void check_result(const OpSpec& spec, const ResultShape& result) {
  const bool is_of_arg = result.of == ResultShape::Of::kArg;
  const bool is_of_attr =
      result.of == ResultShape::Of::kAttr || result.of == ResultShape::Of::kScalar;
  require(!is_of_arg || is_below(result.from, spec.args.size()), spec.name,
          "dtypes of its arguments");
  require(!is_of_attr || is_below(result.from, spec.attrs.size()), spec.name,
          "dtypes of its attributes");
  check_size(spec, result.when);
  check_parts(spec, result.parts, false);
}

}  // namespace

void check_shapes(const OpSpec& spec) {
  const ShapeSpec& shapes = spec.shapes;
  const auto is_count = [](int number) { return number >= 0 && number <= int{kMostNames}; };
  require(is_count(shapes.sizes) && is_count(shapes.groups), spec.name, "fewer names of sizes");
  require(is_below(static_cast<int>(spec.args.size()) - 1, static_cast<size_t>(shapes.groups)),
          spec.name, "a group for each argument");
  require(shapes.broadcast >= -1 && shapes.broadcast < shapes.groups, spec.name,
          "a known group that broadcasts");
  for (const ShapeCase& each : shapes.cases) {
    check_size(spec, each.when);
    for (const ArgShape& arg : each.args) {
      require(is_below(arg.arg, spec.args.size()), spec.name, "patterns of its arguments");
      check_parts(spec, arg.parts, !arg.broadcasts);
    }
    for (const ResultShape& result : each.results) check_result(spec, result);
  }
  for (const SizeCondition& condition : shapes.conditions) check_size(spec, condition.holds);
}

}  // namespace tensorlike::checks
