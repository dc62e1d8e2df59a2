// What becomes of what an op gives, as the code says that applies it: whether another op reads it
// before anything could look that is not known to be an op.
#pragma once

#include <vector>

#include "bind/python.h"
#include "engine/expression.h"

namespace tensorlike::bind {

// Of the instruction that applies an op, or calls what gives its result on.
struct Passing {
  enum class To : uint8_t { kNobody, kOp, kCaller };  // who is next
  int at = 0;  // which it is; what is kept behind an instruction for calls that go on is the same
  To to = To::kNobody;
  HeldUntil held;
};

// Of each instruction of a piece of code. What its global names mean is looked up once.
std::vector<Passing> passings_in(PyCodeObject* code, PyObject* globals, PyObject* builtins);

}  // namespace tensorlike::bind
