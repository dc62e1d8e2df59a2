// Declarations as parts of a file: what ops that are not built in are made of.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "op/declaration_text.h"

namespace tensorlike {

// What was declared after the core was built, of all that some names need, in the order in which it
// was declared: ops, scalar functions, reductions and functional calls, by any name of theirs.
std::vector<Registry::Entry> declarations_of(std::set<std::string> names);

// Whether the kernel of an op is code of a library or of Python, which a file does not hold.
bool brings_code(const AnySpec& spec);

// Adds those of a file of so many bytes to the registry, all or none. Those that are known must be
// the same here, if it `compares` them; ErrorKind::kArgument.
void add_declarations(const Json::Value& declarations, size_t bytes, bool compares);

// Whether declarations from outside can be added to the registry: each name, slot and count is what
// it may be, nothing goes through itself, and nothing grows beyond reason when it is written out.
void check_declarations(const std::vector<AnySpec>& specs);

}  // namespace tensorlike
