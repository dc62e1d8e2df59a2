// Declarations at run time.
#pragma once

#include <pybind11/pybind11.h>

namespace tensorlike::bind {

// Adds lowered specs (opdecl/specs.py) to the registry and links them.
void declare_specs(const pybind11::iterable& specs);

}  // namespace tensorlike::bind
