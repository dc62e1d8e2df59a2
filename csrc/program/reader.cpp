#include "program/reader.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/place.h"
#include "op/counts.h"

namespace tensorlike {
namespace {

constexpr double kExact = 1e-12;        // of a number that is whole but for rounding
constexpr double kMostTimes = 1 << 24;  // of a product of sizes, in a number
constexpr int64_t kMostFractions = 8;
constexpr int kMostPartsOfReal = 8;
constexpr double kMostTimesOfReal = 64;
constexpr double kLastBits = 1e-14;  // by which what stands for a number is told
constexpr int64_t kNear = 2;         // of a count, of which a rule takes one or two away

}  // namespace

AttrExpr expression(const AttrExpr& base, const Multiple& multiple) {
  AttrExpr found = base;
  if (multiple.factor != 1) {
    found = arithmetic("multiply", {literal(multiple.factor), std::move(found)});
  }
  if (multiple.rest != 0) found = arithmetic("add", {std::move(found), literal(multiple.rest)});
  return found;
}

void Reader::read(Program::Step& step) {
  for (attr_ = 0; attr_ < op_->attrs.size(); ++attr_) {
    const Attr& attr = op_->attrs[attr_];
    std::optional<AttrExpr> found;
    if (const auto* whole = std::get_if<int64_t>(&attr)) {
      found = read(*whole);
    } else if (const auto* number = std::get_if<double>(&attr)) {
      found = read(*number);
    } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attr)) {
      found = read(*numbers);
    }
    if (found) step.exprs.emplace_back(attr_, std::move(*found));
  }
  if (is_inferred_) step.op = program_.op_at(Program::Side::kFirst, step, {});
}

// A number may be read in several ways, as 2 n + 2 where n + 1 is a dimension too. They must agree.
std::optional<AttrExpr> Reader::read(int64_t number) {
  if (number > -kPlainNumbers && number < kPlainNumbers) return std::nullopt;
  // The largest and the smallest numbers say that a bound was left open.
  if (number > INT64_MAX - kNear || number < kNear - INT64_MAX) return std::nullopt;
  if (number > 0) number = product_of_counts(number, 1);
  // A rule that divided as inference does has what was inferred of a size with other witnesses.
  for (const Program::OwnSize& own : program_.own_) {
    if (own.inferred.first != number || number == own.witness.first) continue;
    if (was_written(number)) refuse("is written, and stands for an unknown size");
    is_inferred_ = true;
    return own.expr;
  }
  const Program::Base* base = nullptr;
  Multiple as_multiple;
  int64_t second = 0;
  for (const Program::Base& known : program_.bases_) {
    const auto multiple = multiple_of(number, known.witness.first);
    if (!multiple || program_.witness_of(multiple->factor)) continue;
    const int64_t other = multiple->factor * known.witness.second + multiple->rest;
    if (base != nullptr && other != second) {
      refuse(text("can be made of unknown sizes in two ways, as in steps of 2 over ",
                  program_.text_of(known.expr)));
    }
    if (base != nullptr) continue;
    base = &known;
    as_multiple = *multiple;
    second = other;
  }
  for (int64_t near = number - kNear; base != nullptr && near <= number + kNear; ++near) {
    if (program_.known_.contains(near))
      refuse("is near a known size, and stands for an unknown one");
  }
  if (base != nullptr && was_written(number)) refuse("is written, and stands for an unknown size");
  if (base != nullptr) return expression(base->expr, as_multiple);
  if (is_fraction(number)) refuse("is made of an unknown size by a division");
  if (is_product(number)) refuse("is an unknown size times what nobody knows");
  return std::nullopt;
}

// What none of the sizes explains, and one of them divides.
bool Reader::is_product(int64_t number) const {
  if (was_written(number)) return false;
  return std::any_of(program_.bases_.begin(), program_.bases_.end(),
                     [&](const Program::Base& base) { return number % base.witness.first == 0; });
}

bool Reader::is_fraction(int64_t number) const {
  if (was_written(number) || std::llabs(number) > INT64_MAX / kMostFractions) return false;
  const Program* owner = program_of(number);
  if (owner != nullptr && owner != &program_) refuse("is made of another program's size");
  for (int64_t parts = 2; parts <= kMostFractions; ++parts) {
    if (program_.witness_of(number * parts)) return true;
  }
  return false;
}

std::optional<AttrExpr> Reader::read(double number) {
  if (const AttrExpr* known = program_.real_expression(number)) return *known;
  if (const AttrExpr* known = program_.real_expression(-number)) {
    return arithmetic("multiply", {literal(int64_t{-1}), *known});
  }
  const Program* const owner = live_witnesses > 0 ? program_of(number) : nullptr;
  if (owner != nullptr) refuse("is made of another program's size");
  if (is_made_of_reals(number)) refuse("was made of one with a fraction that follows from a size");
  if (!(std::fabs(number) < 0x1p62)) return std::nullopt;
  // Rounded as it is there, it may be one more or less.
  if (std::fabs(number) >= 0x1p53) {
    if (is_nearly_made_of_sizes(number)) refuse("stands for more elements than a double counts");
    return std::nullopt;
  }
  if (number == std::trunc(number)) {
    if (const auto found = read(static_cast<int64_t>(number))) return found;
  }
  if (is_made_of_sizes(number)) refuse("is made of an unknown size by a division or a root");
  return std::nullopt;
}

// Of what stands for a number with a fraction, and has been calculated with.
bool Reader::is_made_of_reals(double number) const {
  if (number == 0 || !std::isfinite(number)) return false;
  const auto is_simple = [](double factor) {
    for (int parts = 1; parts <= kMostPartsOfReal; ++parts) {
      const double scaled = factor * parts;
      const double whole = std::nearbyint(scaled);
      const bool is_it = whole != 0 && std::fabs(whole) <= kMostTimesOfReal;
      if (is_it && std::fabs(scaled - whole) <= kLastBits * std::fabs(scaled)) return true;
    }
    return false;
  };
  return std::any_of(program_.reals_.begin(), program_.reals_.end(), [&](const auto& real) {
    for (const double made : {number, 1 / number, number * number, 1 / (number * number),
                              std::sqrt(std::fabs(number))}) {
      for (const double rest : {0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5}) {
        const double left = made - rest;
        const bool is_told = std::fabs(left) > kLastBits * std::fabs(rest);
        if (is_told && std::isfinite(left) && is_simple(left / real.stands)) return true;
      }
    }
    return static_cast<float>(number) == static_cast<float>(real.stands) &&
           number == static_cast<double>(static_cast<float>(number));
  });
}

bool Reader::is_nearly_made_of_sizes(double number) const {
  return std::any_of(
      program_.bases_.begin(), program_.bases_.end(), [&](const Program::Base& base) {
        const auto size = static_cast<double>(base.witness.first);
        const double factor = std::nearbyint(number / size);
        const bool is_factor = factor != 0 && std::fabs(factor) <= kMostTimes;
        return is_factor && std::fabs(number - factor * size) <= kExact * std::fabs(number);
      });
}

bool Reader::is_made_of_sizes(double number) const {
  for (const double candidate : {1 / number, number * number, 1 / (number * number)}) {
    if (!(std::fabs(candidate) < 0x1p62) || std::fabs(candidate) < kPlainNumbers) continue;
    if (std::fabs(candidate) >= 0x1p53 && is_nearly_made_of_sizes(candidate)) return true;
    const double whole = std::nearbyint(candidate);
    if (std::fabs(candidate - whole) > kExact * std::fabs(candidate)) continue;
    if (program_.witness_of(static_cast<int64_t>(whole))) return true;
  }
  return false;
}

std::optional<AttrExpr> Reader::read(const std::vector<int64_t>& numbers) {
  std::vector<AttrExpr> parts;
  bool is_any = false;
  for (int64_t number : numbers) {
    auto found = read(number);
    is_any = is_any || found;
    parts.push_back(found ? std::move(*found) : literal(number));
  }
  return is_any ? std::optional(tuple_of(std::move(parts))) : std::nullopt;
}

void Reader::refuse(const std::string& why) const {
  fail(ErrorKind::kAttribute, said::op(op_ != nullptr ? op_->name() : "Size"),
       said::argument(op_ != nullptr ? op_->cls.spec.attrs[attr_].name : "a size"),
       "must follow from unknown sizes by sums and products", said::got("a number that ", why),
       said::fix("give the size a number, or say it by values: mean(x), zeros_like(x)"));
}

bool holds(const SizeNumber& a, const SizeNumber& b, std::string_view how) {
  return std::visit(
      [&](auto x, auto y) {
        using Both = std::common_type_t<decltype(x), decltype(y)>;
        const auto p = static_cast<Both>(x), q = static_cast<Both>(y);
        if (how == "==") return p == q;
        return how == "<" ? p < q : p <= q;
      },
      a, b);
}

bool Program::compare(const SizeNumber& a, const SizeNumber& b, const std::string& how,
                      std::string place) {
  const auto size_of = [&](const SizeNumber& number) {
    const auto* const size = std::get_if<int64_t>(&number);
    return size != nullptr ? witness_of(*size) : std::nullopt;
  };
  const auto x = size_of(a), y = size_of(b);
  if (how == "==" && x && y && is_taken_for(*x, *y)) return true;
  const auto value_of = [&](const SizeNumber& number) {
    const auto* const real = std::get_if<double>(&number);
    const AttrExpr* const expr = real != nullptr ? real_expression(*real) : nullptr;
    return expr != nullptr ? number_at(Side::kFirst, *expr).value_or(number) : number;
  };
  const bool answer = holds(value_of(a), value_of(b), how);
  require(a, b, how, answer, std::move(place));
  return answer;
}

void Program::require(const SizeNumber& a, const SizeNumber& b, const std::string& how, bool answer,
                      std::string place, std::string op) {
  Reader reader(*this, nullptr);
  const auto expression_of = [&](const SizeNumber& number) {
    const auto found = std::visit([&](auto value) { return reader.read(value); }, number);
    return found ? *found : literal_of(number);
  };
  require({expression_of(a), expression_of(b), how, answer, std::move(place), std::move(op)});
}

bool Program::is_required(const Guard& guard) const {
  return std::any_of(guards_.begin(), guards_.end(), [&](const Guard& known) {
    return known.how == guard.how && known.answer == guard.answer &&
           text_of(known.a) == text_of(guard.a) && text_of(known.b) == text_of(guard.b);
  });
}

void Program::require(Guard guard) {
  // What an op wanted is found again where its step is: in a copy, and in a file that is read.
  const auto is_it = [&](const Guard& known) {
    return !known.op.empty() && known.how == guard.how && known.answer == guard.answer &&
           text_of(known.a) == text_of(guard.a) && text_of(known.b) == text_of(guard.b);
  };
  if (std::any_of(guards_.begin(), guards_.end(), is_it)) return;
  guards_.push_back(std::move(guard));
  forget_runs();
}

}  // namespace tensorlike
