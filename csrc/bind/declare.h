// Declarations at run time.
#pragma once

#include <pybind11/pybind11.h>

#include "op/registry.h"

namespace tensorlike::bind {

// Adds lowered specs, as a text of JSON (opdecl/compiler/specs.py), to the registry and links
// them. `rules` holds, by the names of ops that bring their own kernels, the file of the library,
// or a kernel and an inference (or None) that are functions of Python.
void declare_specs(const std::string& text, const pybind11::dict& rules);
// The names of all functional calls.
PyObject* function_names(PyObject*, PyObject*);
// The rules of such an op.
OwnRules python_rules(PyObject* kernel, PyObject* infer);

}  // namespace tensorlike::bind
