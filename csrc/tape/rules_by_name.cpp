// Gradient rules and bodies written in code, by the names that declarations use.
#include "op/families.h"
#include "op/registry.h"
#include "tape/gradient.h"

namespace tensorlike {

static const GradRule* find_grad(std::string_view name) { return find_rule<GradRule>(name); }

static ExpandRule find_expand(std::string_view name) {
  const ExpandRule* const rule = find_rule<ExpandRule>(name);
  return rule == nullptr ? nullptr : *rule;
}

void register_gradients(Registry& registry) { registry.rules = {find_grad, find_expand}; }

}  // namespace tensorlike
