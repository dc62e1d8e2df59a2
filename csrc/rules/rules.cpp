#include "rules/rules.h"

#include "op/families.h"

namespace tensorlike {

static const GradRule* find_grad(std::string_view name) { return find_rule<GradRule>(name); }

static ExpandRule find_expand(std::string_view name) {
  const ExpandRule* const rule = find_rule<ExpandRule>(name);
  return rule == nullptr ? nullptr : *rule;
}

void register_gradients(Registry& registry) { registry.rules = {find_grad, find_expand}; }

}  // namespace tensorlike
