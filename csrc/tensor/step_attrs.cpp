#include "tensor/step_attrs.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/shape.h"
#include "op/index.h"
#include "op/infer.h"
#include "op/shapes.h"

namespace tensorlike {
namespace {

double calculate(const std::string& function, double a, double b) {
  if (function == "add") return a + b;
  if (function == "subtract") return a - b;
  if (function == "multiply") return a * b;
  if (function == "divide") return a / b;
  if (function == "minimum") return std::min(a, b);
  if (function == "maximum") return std::max(a, b);
  const double down = std::floor(a / b);
  return function == "remainder" ? a - down * b : down;
}

double real_number(const Op& op, const Literal& literal) {
  if (std::holds_alternative<std::complex<double>>(literal))
    fail_calculation(op, "be on real numbers");
  return std::visit(
      [](auto value) {
        if constexpr (std::is_same_v<decltype(value), std::complex<double>>) {
          return value.real();
        } else {
          return static_cast<double>(value);
        }
      },
      literal);
}

std::optional<bool> compare(const std::string& function, double a, double b) {
  if (function == "less") return a < b;
  if (function == "less_equal") return a <= b;
  if (function == "greater") return a > b;
  if (function == "greater_equal") return a >= b;
  return std::nullopt;
}

bool is_true(const Attr& attr) {
  if (!is_number(attr)) return false;
  return std::visit([](auto value) { return value != decltype(value)(0); }, literal_of(attr));
}

[[noreturn]] void fail_body(const Op& op, const std::string& what) {
  fail(ErrorKind::kDeclaration, said::op(op.name()), "the body must have ", what);
}

// The axes of such a rank with the last two swapped.
std::vector<int64_t> swapped_axes(const Op& op, int64_t ndim) {
  if (ndim < 2 || ndim > static_cast<int64_t>(kMaxDims)) fail_body(op, "matrices to transpose");
  std::vector<int64_t> axes(static_cast<size_t>(ndim));
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return axes;
}

// Python's list[begin:end].
std::vector<int64_t> sliced(const std::vector<int64_t>& list, int64_t begin, int64_t end) {
  const auto size = static_cast<int64_t>(list.size());
  auto place = [size](int64_t at, int64_t left_out) {
    if (at == kNoBound) return left_out;
    return std::clamp(at < 0 ? at + size : at, int64_t{0}, size);
  };
  const int64_t first = place(begin, 0);
  const int64_t last = std::max(first, place(end, size));
  return {list.begin() + first, list.begin() + last};
}

// Functions of lists: the inverse of a permutation, a shape with another size along an axis, how
// many elements a shape has, a part of it; and the permutation of a rank that swaps the last two
// axes.
bool is_of_list(const std::string& function) {
  return function == "inverse" || function == "resized" || function == "size" ||
         function == "swapped" || function == "sliced";
}

}  // namespace

Attr calculate(const Op& op, const std::string& function, const Literal& a, const Literal& b) {
  auto whole = [](const Literal& literal) -> std::optional<int64_t> {
    if (const auto* value = std::get_if<bool>(&literal)) return *value ? 1 : 0;
    if (const auto* value = std::get_if<int64_t>(&literal)) return *value;
    return std::nullopt;
  };
  const double x = real_number(op, a);
  const double y = real_number(op, b);
  if (const auto found = compare(function, x, y)) return *found;
  const auto m = whole(a);
  const auto n = whole(b);
  if (m && n && function == "minimum") return std::min(*m, *n);
  if (m && n && function == "maximum") return std::max(*m, *n);
  if (m && n && function != "divide") return calculate(op, function, *m, *n);
  return calculate(function, x, y);
}

Attr StepAttrs::evaluate(const AttrExpr& expr) {
  switch (expr.kind) {
    case AttrExpr::Kind::kLiteral:
      return expr.literal;
    case AttrExpr::Kind::kAttr:
      return op_.attr(expr.attr);
    case AttrExpr::Kind::kDType:
      return spec(expr.slot).dtype;
    case AttrExpr::Kind::kShape: {
      const Dims shape = spec(expr.slot).shape;
      return std::vector<int64_t>(shape.begin(), shape.end());
    }
    case AttrExpr::Kind::kArithmetic:
      return is_of_list(expr.attr) ? of_list(expr) : calculated(expr);
    case AttrExpr::Kind::kTuple: {
      std::vector<int64_t> elements;
      for (const AttrExpr& part : expr.parts) {
        const Attr value = evaluate(part);
        if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
          elements.insert(elements.end(), list->begin(), list->end());
        } else {
          elements.push_back(whole_number(part));
        }
      }
      return elements;
    }
    case AttrExpr::Kind::kRank:
      return static_cast<int64_t>(spec(expr.slot).shape.size());
    case AttrExpr::Kind::kFlows:
      return flows(expr.slot);
    case AttrExpr::Kind::kDim:
    case AttrExpr::Kind::kSize:  // of declared shapes alone
      break;
  }
  const Dims shape = spec(expr.slot).shape;
  const int64_t ndim = static_cast<int64_t>(shape.size());
  const int64_t axis = expr.parts.empty() ? expr.dim : whole_number(expr.parts[0]);
  return shape[static_cast<size_t>(normalize_axis(op_.name(), axis, ndim))];
}

Attr StepAttrs::calculated(const AttrExpr& expr) {
  const std::string& function = expr.attr;
  if (function == "logical_not") return !holds(expr.parts[0]);
  if (function == "logical_and") return holds(expr.parts[0]) && holds(expr.parts[1]);
  if (function == "logical_or") return holds(expr.parts[0]) || holds(expr.parts[1]);
  const bool is_equal = function == "equal";
  if (is_equal || function == "not_equal") {
    const Attr a = evaluate(expr.parts[0]);
    const Attr b = evaluate(expr.parts[1]);
    const bool are_numbers = is_number(a) && is_number(b);
    const bool are_same =
        are_numbers ? real_number(op_, literal_of(a)) == real_number(op_, literal_of(b)) : a == b;
    return are_same == is_equal;
  }
  const Literal first = number(expr.parts[0]);
  return calculate(op_, function, first, number(expr.parts[1]));
}

Attr StepAttrs::of_list(const AttrExpr& expr) {
  if (expr.attr == "swapped") return swapped_axes(op_, whole_number(expr.parts[0]));
  const Attr given = evaluate(expr.parts[0]);
  const auto* integers = std::get_if<std::vector<int64_t>>(&given);
  if (integers == nullptr) fail_body(op_, "a list of integers for " + expr.attr);
  std::vector<int64_t> list = *integers;
  if (expr.attr == "size") return element_count(list);
  if (expr.attr == "sliced") {
    return sliced(list, whole_number(expr.parts[1]), whole_number(expr.parts[2]));
  }
  const auto ndim = static_cast<int64_t>(list.size());
  if (expr.attr == "resized") {
    const int64_t axis = normalize_axis(op_.name(), whole_number(expr.parts[1]), ndim);
    list[static_cast<size_t>(axis)] = whole_number(expr.parts[2]);
    return list;
  }
  std::vector<int64_t> inverse(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    inverse[static_cast<size_t>(normalize_axis(op_.name(), list[i], ndim))] =
        static_cast<int64_t>(i);
  }
  return inverse;
}

bool StepAttrs::holds(const AttrExpr& expr) { return is_true(evaluate(expr)); }

Literal StepAttrs::number(const AttrExpr& expr) {
  const Attr value = evaluate(expr);
  if (!is_number(value)) {
    fail(ErrorKind::kAttribute, said::op(op_.name()), expr.attr,
         " must be a number, since the body computes with it", said::got(to_string(value)));
  }
  return literal_of(value);
}

int64_t StepAttrs::whole_number(const AttrExpr& expr) {
  const Attr value = evaluate(expr);
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  fail(ErrorKind::kAttribute, said::op(op_.name()), expr.attr,
       " must be an integer, since the body makes a tuple with it", said::got(to_string(value)));
}

}  // namespace tensorlike
