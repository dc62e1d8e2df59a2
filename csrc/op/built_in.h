// The built-in declarations as constant data of the library: a process reads those that it asks
// for by name, and most ask for few. The generator writes them (`built_in.cpp`).
#pragma once

#include <span>
#include <string_view>

namespace tensorlike {

// One of them, as JSON.
struct BuiltIn {
  std::string_view name;
  int place;  // in which it was declared among those of its kind
  std::string_view text;
};

// Those of each kind in the order of their names, and what is the same, written in two ways.
struct BuiltIns {
  std::span<const BuiltIn> scalars, reductions, ops, functions;
  std::span<const std::string_view> identities;
};
const BuiltIns& built_ins();

}  // namespace tensorlike
