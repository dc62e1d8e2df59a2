#include "op/found_sizes.h"

#include "op/shapes.h"

namespace tensorlike {

SizeFunction size_function(std::string_view name) {
  static constexpr std::pair<std::string_view, SizeFunction> kFunctions[] = {
      {"where", SizeFunction::kWhere},     {"logical_not", SizeFunction::kNot},
      {"equal", SizeFunction::kEqual},     {"not_equal", SizeFunction::kNotEqual},
      {"logical_and", SizeFunction::kAnd}, {"logical_or", SizeFunction::kOr},
      {"less", SizeFunction::kLess},       {"less_equal", SizeFunction::kLessEqual},
      {"greater", SizeFunction::kGreater}, {"greater_equal", SizeFunction::kGreaterEqual},
      {"minimum", SizeFunction::kMinimum}, {"maximum", SizeFunction::kMaximum},
  };
  for (const auto& [known, function] : kFunctions) {
    if (known == name) return function;
  }
  return SizeFunction::kArithmetic;
}

// The value of an expression that may be no number.
Attr FoundSizes::value(const AttrExpr& expr) const {
  if (expr.kind == AttrExpr::Kind::kLiteral) return expr.literal;
  if (expr.kind == AttrExpr::Kind::kAttr) return op_.attrs[static_cast<size_t>(expr.slot)];
  return number(expr);
}

int64_t FoundSizes::number(const AttrExpr& expr) const {
  switch (expr.kind) {
    case AttrExpr::Kind::kSize:
      return sizes_[static_cast<size_t>(expr.slot)];
    case AttrExpr::Kind::kRank:
      return static_cast<int64_t>(spec_of_arg(expr.slot).shape.size());
    case AttrExpr::Kind::kShape:  // how many elements there are
      return element_count(spec_of_arg(expr.slot).shape);
    case AttrExpr::Kind::kDim: {
      const Dims& shape = spec_of_arg(expr.slot).shape;
      return shape[axis_of(expr.parts[0], shape.size())];
    }
    case AttrExpr::Kind::kArithmetic:
      return calculated(expr);
    default:
      break;
  }
  const Attr& found =
      expr.kind == AttrExpr::Kind::kAttr ? op_.attrs[static_cast<size_t>(expr.slot)] : expr.literal;
  if (const auto* flag = std::get_if<bool>(&found)) return *flag ? 1 : 0;
  if (const auto* whole = std::get_if<int64_t>(&found)) return *whole;
  fail(ErrorKind::kAttribute, said::op(op_.name()), said::argument(expr.attr), "must be an integer",
       said::got(to_string(found)));
}

int64_t FoundSizes::calculated(const AttrExpr& expr) const {
  const auto function = static_cast<SizeFunction>(expr.dim);
  const AttrExpr& first = expr.parts[0];
  switch (function) {
    case SizeFunction::kWhere:
      return number(expr.parts[number(first) != 0 ? 1 : 2]);
    case SizeFunction::kNot:
      return number(first) == 0 ? 1 : 0;
    case SizeFunction::kEqual:
      return value(first) == value(expr.parts[1]) ? 1 : 0;
    case SizeFunction::kNotEqual:
      return value(first) == value(expr.parts[1]) ? 0 : 1;
    case SizeFunction::kAnd:
      return number(first) != 0 && number(expr.parts[1]) != 0 ? 1 : 0;
    case SizeFunction::kOr:
      return number(first) != 0 || number(expr.parts[1]) != 0 ? 1 : 0;
    default:
      break;
  }
  const int64_t a = number(first);
  const int64_t b = number(expr.parts[1]);
  switch (function) {
    case SizeFunction::kLess:
      return a < b ? 1 : 0;
    case SizeFunction::kLessEqual:
      return a <= b ? 1 : 0;
    case SizeFunction::kGreater:
      return a > b ? 1 : 0;
    case SizeFunction::kGreaterEqual:
      return a >= b ? 1 : 0;
    case SizeFunction::kMinimum:
      return std::min(a, b);
    case SizeFunction::kMaximum:
      return std::max(a, b);
    default:
      return calculate(op_, expr.attr, a, b);
  }
}

void FoundSizes::check(const SizeCondition& condition) const {
  const bool knows_all = shapes_.cases.size() == 1 && inputs_.size() >= spec_.args.size();
  if (!knows_all && reads_unknown(condition.holds)) return;
  if (number(condition.holds) != 0) return;
  std::string got;
  show(condition.holds, got);
  fail(ErrorKind::kShape, said::op(op_.name()), condition.text, " must hold", said::got(got));
}

// Whether it reads what this case has not.
bool FoundSizes::reads_unknown(const AttrExpr& expr) const {
  if (expr.kind == AttrExpr::Kind::kSize) {
    return size_places_[static_cast<size_t>(expr.slot)].arg == nullptr;
  }
  const bool is_of_arg = expr.kind == AttrExpr::Kind::kDim || expr.kind == AttrExpr::Kind::kRank;
  if (is_of_arg && static_cast<size_t>(expr.slot) >= inputs_.size()) return true;
  return std::any_of(expr.parts.begin(), expr.parts.end(),
                     [this](const AttrExpr& part) { return reads_unknown(part); });
}

// "k=3, shape(x)[axis]=2": what an expression reads.
void FoundSizes::show(const AttrExpr& expr, std::string& out) const {
  if (expr.kind == AttrExpr::Kind::kArithmetic) {
    for (const AttrExpr& part : expr.parts) show(part, out);
  } else if (!expr.attr.empty()) {
    const std::string part = expr.attr + "=" + to_string(value(expr));
    if (out.find(part) == std::string::npos) out += (out.empty() ? "" : ", ") + part;
  }
}

void FoundSizes::fail_ranks() const {
  std::string wanted;
  std::string got;
  const ArgShape* only = nullptr;
  for (const ShapeCase& each : shapes_.cases) {
    if (number(each.when) == 0) continue;
    std::string shapes;
    for (const ArgShape& arg : each.args) {
      if (arg.broadcasts || arg.text.empty() || !is_given(arg)) continue;
      shapes += (shapes.empty() ? "" : ", ") + name_of_arg(arg) + " " + arg.text;
      if (!fits_rank(arg)) only = &arg;
    }
    wanted += (wanted.empty() ? "" : ", or ") + shapes;
  }
  const bool is_one = shapes_.cases.size() == 1 && only != nullptr;
  for (size_t i = 0; i < std::min(inputs_.size(), spec_.args.size()); ++i) {
    if (is_one && static_cast<size_t>(only->arg) != i) continue;
    got += (got.empty() ? "" : ", ") + spec_.args[i].name + ".shape=" + to_string(inputs_[i].shape);
  }
  if (is_one) {
    fail(ErrorKind::kShape, said::op(op_.name()), said::argument(name_of_arg(*only)),
         "must have the shape ", only->text, said::got(got));
  }
  fail(ErrorKind::kShape, said::op(op_.name()), "shapes must be ", wanted, said::got(got));
}

// "x.shape[-2]": from the end where a group comes before.
std::string FoundSizes::spelled(const Place& place) const {
  const std::vector<ShapePart>& parts = place.arg->parts;
  const bool is_behind =
      std::any_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(place.part),
                  [](const ShapePart& part) { return !is_sized(part); });
  const int64_t at = static_cast<int64_t>(place.part);
  const int64_t index = is_behind ? at - static_cast<int64_t>(parts.size()) : at;
  return text(name_of_arg(*place.arg), ".shape[", index, "]");
}

std::string FoundSizes::shown(const ArgShape& arg) const {
  return name_of_arg(arg) + ".shape=" + to_string(shape_of_arg(arg));
}

void FoundSizes::fail_size(const ArgShape& arg, size_t i, const Place& first) const {
  const std::string own = spelled({&arg, i});
  if (first.arg == nullptr) {
    fail(ErrorKind::kShape, said::op(op_.name()), own, " must be ",
         to_string(arg.parts[i].size.literal), said::got(shown(arg)));
  }
  const bool is_square = first.arg == &arg && i + 1 == arg.parts.size() && first.part + 1 == i;
  if (is_square) {
    fail(ErrorKind::kShape, said::op(op_.name()), said::argument(name_of_arg(arg)),
         "must be square, shape[-2] equal to shape[-1]", said::got(shown(arg)));
  }
  fail(ErrorKind::kShape, said::op(op_.name()), spelled(first), " must equal ", own,
       said::got(first.arg == &arg ? "" : shown(*first.arg) + ", ", shown(arg)));
}

void FoundSizes::fail_group(const ArgShape& arg, const Place& first) const {
  if (first.arg == nullptr) {
    fail(ErrorKind::kShape, said::op(op_.name()), said::argument(name_of_arg(arg)),
         "must have the shape ", arg.text, said::got(shown(arg)));
  }
  const std::string got = shown(*first.arg) + ", " + shown(arg);
  if (arg.parts.size() == 1 && first.arg->parts.size() == 1) {
    fail(ErrorKind::kShape, said::op(op_.name()), name_of_arg(arg), ".shape must equal ",
         name_of_arg(*first.arg), ".shape", said::got(got));
  }
  fail(ErrorKind::kShape, said::op(op_.name()), name_of_arg(arg), ".shape must be ", arg.text,
       " beside ", name_of_arg(*first.arg), " ", first.arg->text, said::got(got));
}

}  // namespace tensorlike
