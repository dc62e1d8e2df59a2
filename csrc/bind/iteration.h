// Iterating over a tensor-like.
#pragma once

#include "bind/python.h"

namespace tensorlike::bind {

// An iterator over x[0], ..., x[count - 1].
PyObject* parts_of(PyObject* x, Py_ssize_t count);

void add_iteration(PyObject* module);

}  // namespace tensorlike::bind
