// Whether what the core knows of an op is all that applying it to some kinds of values means: asked
// once for as long as no rule is registered, enabled or taken away. For who runs an op's programs
// without asking dispatch each time.
#pragma once

#include <span>

#include "dispatch/dispatcher.h"

namespace tensorlike {

class KnownMeaning {
 public:
  // `is_known`: of rules written outside of the core, which may come first: whether this is one
  // whose meaning the caller serves.
  template <class F>
  bool holds(const Op& op, std::span<const Type* const> kinds, F&& is_known) const {
    const uint64_t version = dispatcher().version();
    if (version == version_) return holds_;
    holds_ = find(op, kinds, is_known);
    version_ = version;
    return holds_;
  }
  // On values that the core runs itself.
  bool holds_on_elements(const Op& op, size_t count) const {
    if (dispatcher().version() == version_) return holds_;
    const SmallVector<const Type*, 8> kinds(count, &raw_tensor_type());
    return holds(op, {kinds.data(), kinds.size()}, [](const Rule&) { return false; });
  }

 private:
  template <class F>
  static bool find(const Op& op, std::span<const Type* const> kinds, F&& is_known) {
    // All arguments that are not equal are of the kind that lifts the others: any place says it.
    size_t highest = 0;
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == &tracer_type()) highest = i;
    }
    for (const Candidate& candidate : *dispatcher().resolve(op.cls, kinds, highest)) {
      if (!candidate.rule->is_enabled) continue;
      if (candidate.rule->is_native()) return true;
      if (!is_known(*candidate.rule)) return false;
    }
    return false;
  }

  mutable uint64_t version_ = ~uint64_t{0};
  mutable bool holds_ = false;
};

}  // namespace tensorlike
