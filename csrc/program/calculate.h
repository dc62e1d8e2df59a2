// What is calculated from sizes, by Python and by whoever binds a program: integers, and numbers
// with a fraction, as x.shape[0] / 2 and x.shape[0] ** 0.5 are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/shape.h"
#include "op/spec.h"

namespace tensorlike {

using SizeNumber = std::variant<int64_t, double>;

// By add, multiply, floor_divide, remainder, minimum, maximum, divide and pow as Python has them,
// by floor, ceil, round and trunc, which give integers, and by the scalar functions that are
// declared. ErrorKind::kOverflow for an integer that is too large, ErrorKind::kShape for what has
// no value.
SizeNumber calculate_number(const std::string& how, std::span<const SizeNumber> parts);
using CalculateNumber = SizeNumber (*)(const std::string& how, std::span<const SizeNumber> parts);

// The same of two integers by one of those that give integers.
int64_t calculate_size(const std::string& how, int64_t a, int64_t b);

// The same of numbers that stand for sizes: a product that is too large is a count (op/counts.h).
int64_t calculate_witness(const std::string& how, int64_t a, int64_t b);

// Whether so many numbers are calculated with by a function of this name.
bool is_calculation(std::string_view how, size_t parts);
// Whether it gives an integer where all that it is given are integers; and one whose witnesses are
// what it makes of theirs, where others have some of their own.
bool is_size_arithmetic(std::string_view how);
bool goes_by_witnesses(std::string_view how);
// Whether an expression is a number with a fraction, whatever sizes are; one that reads such.
bool is_real(const AttrExpr& expr);
bool reads_reals(const AttrExpr& expr);

// The number that a literal is.
SizeNumber number_in(const AttrExpr& literal);
inline AttrExpr literal_of(const SizeNumber& number) {
  return std::visit([](auto value) { return literal(value); }, number);
}
std::string to_string(const SizeNumber& number);

// The attribute, or the number, for variables of these specs.
Attr evaluate(const AttrExpr& expr, std::span<const Spec> variables,
              CalculateNumber calculate = calculate_number);
SizeNumber number_of(const AttrExpr& expr, std::span<const Spec> variables,
                     CalculateNumber calculate = calculate_number);
int64_t whole(const AttrExpr& expr, std::span<const Spec> variables,
              CalculateNumber calculate = calculate_number);

}  // namespace tensorlike
