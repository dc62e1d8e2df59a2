// What the checks of declarations share.
#pragma once

#include <algorithm>

#include "program/declarations.h"

namespace tensorlike::checks {

[[noreturn]] inline void refuse(const std::string& name, const std::string& must) {
  fail(ErrorKind::kArgument, "the declaration of ", name.substr(0, 64), " must have ", must);
}
inline void require(bool holds, const std::string& name, const char* must) {
  if (!holds) refuse(name, must);
}
inline bool is_below(int number, size_t end) {
  return number >= 0 && static_cast<size_t>(number) < end;
}
inline bool has_attribute(const std::vector<AttrSpec>& attrs, const std::string& name) {
  return std::any_of(attrs.begin(), attrs.end(),
                     [&](const AttrSpec& each) { return each.name == name; });
}

// Inference as an op declares it.
void check_shapes(const OpSpec& spec);

}  // namespace tensorlike::checks
