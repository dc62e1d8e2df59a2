// Rules and kernels by the names that declarations use. A file that defines some ends with a table
// of them: `RuleTable<InferRule> layout_rules() { return kRules; }`, on a line of its own. The
// build finds these lines, so that no list of them is kept.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "op/op.h"

namespace tensorlike {

template <class Rule>
using RuleTable = std::span<const std::pair<std::string_view, Rule>>;

// All tables of a kind of rule: generated.
template <class Rule>
std::span<const RuleTable<Rule>> rule_tables();
template <>
std::span<const RuleTable<InferRule>> rule_tables<InferRule>();
template <>
std::span<const RuleTable<KernelRule>> rule_tables<KernelRule>();
template <>
std::span<const RuleTable<GradRule>> rule_tables<GradRule>();
template <>
std::span<const RuleTable<ExpandRule>> rule_tables<ExpandRule>();

// The rule of this name; null where there is none.
template <class Rule>
const Rule* find_rule(std::string_view name) {
  for (const RuleTable<Rule>& table : rule_tables<Rule>()) {
    for (const auto& [key, rule] : table) {
      if (key == name) return &rule;
    }
  }
  return nullptr;
}

}  // namespace tensorlike
