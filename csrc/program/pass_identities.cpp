// The declared identities, where they make a program shorter: those that keep every bit, and at
// OptLevel::kReal those of real numbers.
#include "program/passes.h"
#include "program/search.h"

namespace tensorlike {
namespace {

Patterns& patterns_for(bool is_real) {
  const auto make = [](bool takes_real) {
    auto* made = new Patterns(true);
    for (const auto& identity : identities()) {
      const IdentitySpec::Holds holds = identity->spec.holds;
      const bool is_usable = holds == IdentitySpec::Holds::kExactly ||
                             (takes_real && holds == IdentitySpec::Holds::kNearly);
      const bool is_shorter =
          identity->to.define->steps.size() < identity->from.define->steps.size();
      if (is_usable && is_shorter) made->add(*identity);
    }
    return made;
  };
  static Patterns& exact = *make(false);
  if (!is_real) return exact;
  static Patterns& real = *make(true);
  return real;
}

}  // namespace

int apply_identities(Graph& graph, OptLevel level) {
  return rewrite(graph, patterns_for(level >= OptLevel::kReal), true, false);
}

}  // namespace tensorlike
