// What inference and bodies ask of numbers that stand for unknown sizes (op/counts.h).
#include <algorithm>
#include <array>
#include <cstdlib>

#include "op/counts.h"
#include "program/literal_sizes.h"
#include "program/program.h"
#include "program/sizes.h"

namespace tensorlike {
namespace {

constexpr int64_t kLargestExact = int64_t{1} << 53;  // as a double

bool are_sizes(std::span<const int64_t> numbers) {
  return infers_by_witnesses || std::any_of(numbers.begin(), numbers.end(), stands_for);
}

Program* recorded(Program* owner) {
  return owner != nullptr && owner->is_recorded ? owner : nullptr;
}

Witness witness_in(const Program& program, int64_t number) {
  return program.witness_of(number).value_or(Witness{number, number});
}

std::optional<Literal> number_of_sizes(std::span<const int64_t> shape) {
  Program* owner = nullptr;
  for (size_t i = 0; owner == nullptr && i < shape.size(); ++i) {
    owner = recorded(program_of(shape[i]));
  }
  if (owner == nullptr && !infers_by_witnesses) return std::nullopt;
  if (owner == nullptr) {  // nobody reads what second witnesses come to
    double product = 1;
    for (int64_t size : shape) product *= static_cast<double>(size);
    return product;
  }
  Program::Operand made = 1.0;
  for (int64_t size : shape) {
    made =
        owner->calculate("multiply", std::array{made, Program::Operand(witness_in(*owner, size))});
  }
  return std::get<double>(made);
}

// The program that calculates with a number: with one that no double holds, or that has a fraction.
Program* calculating(const Literal& number) {
  if (const auto* real = std::get_if<double>(&number)) return recorded(program_of(*real));
  const auto* const whole = std::get_if<int64_t>(&number);
  const bool is_large = whole != nullptr && std::llabs(*whole) >= kLargestExact;
  return is_large ? recorded(program_of(*whole)) : nullptr;
}

bool is_product(const AttrExpr& expr) {
  if (expr.kind != AttrExpr::Kind::kArithmetic) return true;
  return expr.attr == "multiply" && std::all_of(expr.parts.begin(), expr.parts.end(), is_product);
}

// Of no elements there is nothing to be divided, and bodies go on.
Program::Operand at_least_one(Program& owner, const Program::Operand& count) {
  const auto* const real = std::get_if<double>(&count);
  const AttrExpr* const expr = real != nullptr ? owner.real_expression(*real) : nullptr;
  const bool is_count =
      real == nullptr ? !std::get<Witness>(count).is_known() : expr != nullptr && is_product(*expr);
  const Program::Operand one = Witness{1, 1};
  return is_count ? owner.calculate("maximum", std::array{count, one}) : count;
}

std::optional<Literal> calculate_numbers(const std::string& how, std::span<const Literal> numbers) {
  Program* owner = nullptr;
  for (const Literal& number : numbers) {
    if (owner == nullptr) owner = calculating(number);
  }
  if (owner == nullptr || !is_calculation(how, numbers.size())) return std::nullopt;
  std::vector<Program::Operand> operands;
  for (const Literal& number : numbers) {
    if (const auto* whole = std::get_if<int64_t>(&number)) {
      operands.emplace_back(witness_in(*owner, *whole));
    } else if (const auto* real = std::get_if<double>(&number)) {
      operands.emplace_back(*real);
    } else {
      return std::nullopt;
    }
  }
  if (how == "divide" || how == "floor_divide") operands[1] = at_least_one(*owner, operands[1]);
  const Program::Operand made = owner->calculate(how, operands);
  if (const auto* size = std::get_if<Witness>(&made)) return size->first;
  return std::get<double>(made);
}

constexpr SizeRules kRules = {are_sizes, number_of_sizes, calculate_numbers};

}  // namespace

void watch_sizes(bool are_there) { size_rules = are_there ? &kRules : nullptr; }

}  // namespace tensorlike
