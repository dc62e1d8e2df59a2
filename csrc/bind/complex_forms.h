// What functional calls on real numbers mean of complex ones.
#pragma once

#include <string>

#include "bind/python.h"

namespace tensorlike::bind {

// After a call of that name has failed: the result of its complex form, if the dtype was why and it
// has one; else null, with the error as it was.
PyObject* call_complex_form(const std::string& name, PyObject* const* args, size_t nargsf,
                            PyObject* kwnames);

void add_complex_forms(PyObject* module);

}  // namespace tensorlike::bind
