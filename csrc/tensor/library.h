// Kernels of shared libraries: what a library exports (native/tensorlike_native.h) as the rules of
// an op.
#pragma once

#include <string>

#include "op/registry.h"

namespace tensorlike {

// The rules of an op whose kernel this file has, for Registry::add. The library is loaded, which
// runs its code, and stays so. ErrorKind::kDeclaration where it is none, is of another version, or
// has no such kernel, and where nothing says what shapes the op gives.
OwnRules library_rules(const OpSpec& spec, const std::string& file);

}  // namespace tensorlike
