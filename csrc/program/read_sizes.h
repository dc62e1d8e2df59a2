// What is said of sizes in a file: variables, expressions over their dimensions, guards.
#pragma once

#include "base/json.h"
#include "program/program.h"

namespace tensorlike {

// ErrorKind::kArgument, here and below, where it is none of the program as far as that is read.
int read_variable(const Program& program, const Json::Value& value);
AttrExpr read_expression(const Program& program, const Json::Value& value, bool may_be_tuple);
void read_guard(Program& program, const Json::Value& value);

}  // namespace tensorlike
