#include "program/read_sizes.h"

namespace tensorlike {

int read_variable(const Program& program, const Json::Value& value) {
  const auto count = static_cast<int64_t>(program.variables().size());
  return static_cast<int>(value.integer("a variable that is there", 0, count - 1));
}

AttrExpr read_expression(const Program& program, const Json::Value& value, bool may_be_tuple) {
  if (value.is(Json::Kind::kFloat)) return literal(value.number("a number"));
  if (!value.is(Json::Kind::kList)) return literal(value.integer("a size"));
  const Json::Parts parts = value.list("an expression");
  if (parts.size() == 0) fail(ErrorKind::kArgument, "an expression must say what it is");
  auto at = parts.begin();
  const std::string_view kind = (*at).text("a kind of expression");
  if (kind == "size" && parts.size() == 3) {
    const int slot = read_variable(program, *++at);
    const auto& shape = program.variables()[static_cast<size_t>(slot)].spec.shape;
    const auto rank = static_cast<int64_t>(shape.size());
    return dim_of(slot, static_cast<int>((*++at).integer("a dimension", 0, rank - 1)));
  }
  const bool is_tuple = kind == "tuple" && may_be_tuple;
  const bool is_sum = is_calculation(kind, parts.size() - 1);
  if (!is_tuple && !is_sum) {
    fail(ErrorKind::kArgument,
         "an expression must be a size, a tuple, or what a function that is known makes of such",
         said::got(kind));
  }
  std::vector<AttrExpr> found;
  for (++at; at != parts.end(); ++at) found.push_back(read_expression(program, *at, false));
  return is_tuple ? tuple_of(std::move(found)) : arithmetic(std::string(kind), std::move(found));
}

void read_guard(Program& program, const Json::Value& value) {
  const Json::Parts parts = value.list("a guard");
  if (parts.size() != 5 && parts.size() != 6) {
    fail(ErrorKind::kArgument, "a guard must have five parts, or six", said::got(parts.size()));
  }
  auto part = parts.begin();
  Program::Guard guard;
  guard.a = read_expression(program, *part, false);
  guard.b = read_expression(program, *++part, false);
  guard.how = (*++part).text("a comparison");
  if (guard.how != "==" && guard.how != "<" && guard.how != "<=") {
    fail(ErrorKind::kArgument, "a comparison must be ==, < or <=", said::got(guard.how));
  }
  guard.answer = (*++part).flag("an answer");
  guard.place = (*++part).text("a line");
  if (parts.size() == 6) guard.op = (*++part).text("the name of an op");
  program.require(std::move(guard));
}

}  // namespace tensorlike
