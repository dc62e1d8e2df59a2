// Declarations at run time.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace tensorlike::bind {

// Adds lowered specs (opdecl/compiler/specs.py) to the registry and links them.
void declare_specs(const pybind11::iterable& specs);
// The functions of Python that are the kernel and the inference (or None) of an op class.
void set_foreign_rules(const std::string& op, const pybind11::object& kernel,
                       const pybind11::object& infer);
void add_foreign_rules();

}  // namespace tensorlike::bind
