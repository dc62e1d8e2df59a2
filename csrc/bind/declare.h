// Declarations at run time.
#pragma once

#include <pybind11/pybind11.h>

#include "op/registry.h"

namespace tensorlike::bind {

// Adds lowered specs (opdecl/compiler/specs.py) to the registry and links them. `rules` holds the
// kernel and the inference (or None) of ops whose own are functions of Python, by their names.
void declare_specs(const pybind11::iterable& specs, const pybind11::dict& rules);
// The rules of such an op.
OwnRules python_rules(PyObject* kernel, PyObject* infer);

}  // namespace tensorlike::bind
