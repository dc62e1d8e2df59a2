// Gradient rules and bodies written in code, by the names that declarations use.
#include "op/families.h"
#include "op/registry.h"

namespace tensorlike {

const GradRule* find_grad(std::string_view name) { return find_rule<GradRule>(name); }

ExpandRule find_expand(std::string_view name) {
  const ExpandRule* const rule = find_rule<ExpandRule>(name);
  return rule == nullptr ? nullptr : *rule;
}

}  // namespace tensorlike
