// What is known of callables that are ops, or calls of ops.
#pragma once

#include "bind/python.h"

namespace tensorlike::bind {

// Of a Function: whether its op is elementwise, reduces, or is made of such.
bool takes_elements_as_they_come(PyObject* function);

// Whether it is a Named (named.cpp): a function of this package.
bool is_named(PyObject* object);

}  // namespace tensorlike::bind
