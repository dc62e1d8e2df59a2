// What is written out as the body of an op becomes the op. Patterns are the bodies themselves, of
// ops that are declared at run time as well: see terms.h for which writings are the same.
#include "program/passes.h"
#include "program/search.h"

namespace tensorlike {
namespace {

Patterns& bodies() {
  static Patterns& patterns = *[] {
    auto* made = new Patterns(false);
    for (const auto& identity : identities()) {
      if (identity->spec.holds == IdentitySpec::Holds::kAsBody) made->add(*identity);
    }
    return made;
  }();
  patterns.add_bodies(registry());  // those that are new
  return patterns;
}

}  // namespace

int fuse_bodies(Graph& graph, OptLevel) { return rewrite(graph, bodies(), false, true); }

}  // namespace tensorlike
