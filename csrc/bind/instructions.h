// Instructions of CPython, in all of the versions that this is built for.
#pragma once

namespace tensorlike::bind {

// How many operands an operator of elements has; 0: it is none.
int operands_of(int what, int argument);

// Whether it is an operator that binds its first operand anew: `p -= lr * g` ends with one.
bool is_in_place(int what, int argument);

// Whether it is `@`.
bool is_product(int what, int argument);

bool does_nothing(int what);

}  // namespace tensorlike::bind
