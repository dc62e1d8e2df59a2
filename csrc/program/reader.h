// Reads the attributes of an op that is added to a program with unknown sizes: those that were made
// of such a size are kept as expressions.
#pragma once

#include <span>

#include "program/program.h"

namespace tensorlike {

// What a comparison of two numbers says: one of == < <=.
bool holds(const SizeNumber& a, const SizeNumber& b, std::string_view how);

// So many times a size, and a number.
AttrExpr expression(const AttrExpr& base, const Multiple& multiple);

// Those of a tuple; of another expression itself.
inline std::span<const AttrExpr> parts_of(const AttrExpr& expr) {
  if (expr.kind == AttrExpr::Kind::kTuple) return expr.parts;
  return {&expr, 1};
}

class Reader {
 public:
  Reader(const Program& program, const Op* op) : program_(program), op_(op) {}
  // Finds the step's expressions. ErrorKind::kAttribute where a number was made of an unknown size,
  // but not so that it can be said how.
  void read(Program::Step& step);

  // The expression that a number is; none for one that is what it is.
  std::optional<AttrExpr> read(int64_t number);
  std::optional<AttrExpr> read(double number);

 private:
  std::optional<AttrExpr> read(const std::vector<int64_t>& numbers);
  // Whether it looks like a fraction of a number that was made of an unknown size.
  bool is_fraction(int64_t number) const;
  bool is_product(int64_t number) const;
  bool is_made_of_sizes(double number) const;
  bool is_nearly_made_of_sizes(double number) const;
  bool is_made_of_reals(double number) const;
  [[noreturn]] void refuse(const std::string& why) const;

  const Program& program_;
  const Op* const op_;  // null: it is about numbers alone
  size_t attr_ = 0;
  bool is_inferred_ = false;  // a number is that of a size that has got witnesses of its own
};

}  // namespace tensorlike
