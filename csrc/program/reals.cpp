// What is calculated from sizes: numbers with a fraction, and the integers that they are rounded
// to.
//
// A number with a fraction stands in attributes as one that nobody would write, next to what it
// comes to by the first witnesses: it is found again by its last bits alone. What a rule has made
// of it is none of these numbers, and refused where it is read (reader.cpp).
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/place.h"
#include "program/program.h"
#include "program/reader.h"

namespace tensorlike {
namespace {

constexpr size_t kMostReals = 1024;
constexpr int64_t kLeastOwn = 20'000;  // what is rounded, or a bound, may be small for witnesses

}  // namespace

const AttrExpr* Program::real_expression(double number) const {
  const auto found = std::find_if(reals_.begin(), reals_.end(),
                                  [&](const Real& real) { return real.stands == number; });
  return found == reals_.end() ? nullptr : &found->expr;
}

AttrExpr Program::expression_of(const Operand& number) const {
  if (const auto* size = std::get_if<Witness>(&number)) return expression_of(*size);
  const double real = std::get<double>(number);
  const AttrExpr* const known = real_expression(real);
  return known != nullptr ? *known : literal(real);
}

std::optional<AttrExpr> Program::expression_for(const Operand& number) const {
  AttrExpr found = expression_of(number);
  if (found.kind == AttrExpr::Kind::kLiteral) return std::nullopt;
  return found;
}

std::optional<SizeNumber> Program::number_at(Side side, const AttrExpr& expr) const {
  if (expr.kind == AttrExpr::Kind::kLiteral) return number_in(expr);
  const OwnSize* const own = is_real(expr) ? nullptr : find_own(text_of(expr));
  if (expr.kind == AttrExpr::Kind::kDim || own != nullptr) {
    const Witness size = own != nullptr ? own->witness : dimension(expr.slot, expr.dim);
    return number_at(side, size, {});
  }
  SmallVector<SizeNumber, 2> parts;
  for (const AttrExpr& part : expr.parts) {
    const auto found = number_at(side, part);
    if (!found) return std::nullopt;
    parts.push_back(*found);
  }
  try {
    return calculate_number(expr.attr, {parts.data(), parts.size()});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOverflow || expr.attr != "multiply") return std::nullopt;
  }
  const auto as_real = [](auto value) { return static_cast<double>(value); };
  return std::visit(as_real, parts[0]) * std::visit(as_real, parts[1]);
}

double Program::real_at(Side side, const AttrExpr& expr) const {
  const std::string text = text_of(expr);
  const auto found = std::find_if(reals_.begin(), reals_.end(),
                                  [&](const Real& real) { return text_of(real.expr) == text; });
  const double stands = found == reals_.end() ? NAN : found->stands;
  if (side == Side::kFirst && found != reals_.end()) return stands;
  const auto number = number_at(side, expr);
  const double value = number ? std::get<double>(*number) : stands;
  return std::isfinite(value) ? value : stands;
}

double Program::calculate_real(AttrExpr expr) {
  const std::string text = text_of(expr);
  const auto known = std::find_if(reals_.begin(), reals_.end(),
                                  [&](const Real& real) { return text_of(real.expr) == text; });
  if (known != reals_.end()) return known->stands;
  if (reals_.size() >= kMostReals) {
    fail(ErrorKind::kShape, said::op("Size"), "at most ", kMostReals,
         " numbers with a fraction must follow from the sizes of one program");
  }
  const auto about = number_at(Side::kFirst, expr);
  const double stands = take_real(*this, about ? std::get<double>(*about) : NAN);
  reals_.push_back({stands, std::move(expr)});
  return stands;
}

// What is rounded, and the smaller or larger one of two, has witnesses of its own.
Witness Program::calculate_whole(AttrExpr expr) {
  if (const OwnSize* known = find_own(text_of(expr))) return known->witness;
  const Witness made = witness_of(expr);
  const auto least = [](int64_t number) {
    return std::max<int64_t>(std::llabs(number), kLeastOwn);
  };
  const Witness about{least(made.first), least(made.second)};
  uint64_t roots = ~uint64_t{0};
  own_.push_back({{}, take_witness_below(*this, about), std::move(expr), {about.first, roots}});
  rebuild_bases();
  return own_.back().witness;
}

Program::Operand Program::calculate(const std::string& how, std::span<const Operand> parts) {
  const auto is_size = [](const Operand& part) { return std::holds_alternative<Witness>(part); };
  const bool are_sizes = std::all_of(parts.begin(), parts.end(), is_size);
  if (are_sizes && goes_by_witnesses(how)) {
    return calculate_sizes(how, std::get<Witness>(parts[0]), std::get<Witness>(parts[1]));
  }
  std::vector<AttrExpr> exprs;
  for (const Operand& part : parts) exprs.push_back(expression_of(part));
  AttrExpr expr = arithmetic(how, std::move(exprs));
  const auto is_literal = [](const AttrExpr& part) {
    return part.kind == AttrExpr::Kind::kLiteral;
  };
  if (std::all_of(expr.parts.begin(), expr.parts.end(), is_literal)) {
    const SizeNumber made = number_of(expr, {});
    if (const auto* real = std::get_if<double>(&made)) return *real;
    const int64_t whole = std::get<int64_t>(made);
    return Witness{whole, whole};
  }
  if (is_real(expr)) return calculate_real(std::move(expr));
  return calculate_whole(std::move(expr));
}

// The same of what was recorded before.
Program::Operand Program::calculate(const AttrExpr& expr) {
  if (expr.kind == AttrExpr::Kind::kDim) return witness_of(expr);
  if (expr.kind == AttrExpr::Kind::kLiteral) {
    const SizeNumber number = number_in(expr);
    if (const auto* real = std::get_if<double>(&number)) return *real;
    return witness_of(expr);
  }
  std::vector<Operand> parts;
  for (const AttrExpr& part : expr.parts) parts.push_back(calculate(part));
  return calculate(expr.attr, parts);
}

}  // namespace tensorlike
