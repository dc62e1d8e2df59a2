// Many entries at once: all of them, or none.
#include <algorithm>

#include "op/registry.h"

namespace tensorlike {

void Registry::add(AnySpec spec) {
  std::visit([this](auto& each) { add(std::move(each)); }, spec);
}

void Registry::add_all(std::vector<AnySpec> specs) {
  const size_t first = added_.size();
  try {
    for (AnySpec& spec : specs) add(std::move(spec));
    link();
  } catch (...) {
    remove_from(first);
    throw;
  }
}

void Registry::remove_from(size_t first_added) {
  unlinked_scalars_.clear();
  unlinked_reductions_.clear();
  unlinked_ops_.clear();
  unlinked_functions_.clear();
  // Calls hold ops of scalar functions and classes, so they go first.
  const auto remove = [&](auto& entries, auto* kind) {
    using Kept = decltype(kind);
    for (size_t i = first_added; i < added_.size(); ++i) {
      const auto* entry = std::get_if<Kept>(&added_[i]);
      if (entry == nullptr) continue;
      std::erase_if(entries.added(),
                    [&](const auto& known) { return known.second.get() == *entry; });
    }
  };
  const auto forget = [&](auto& order, auto* kind) {
    std::erase_if(order, [&](const auto* known) {
      return std::any_of(added_.begin() + static_cast<std::ptrdiff_t>(first_added), added_.end(),
                         [&](const Entry& entry) {
                           const auto* own = std::get_if<decltype(kind)>(&entry);
                           return own != nullptr && *own == known;
                         });
    });
  };
  forget(function_order_, static_cast<const Function*>(nullptr));
  {
    const std::lock_guard lock(classes_mutex_);
    forget(classes_, static_cast<const OpClass*>(nullptr));
  }
  remove(functions_, static_cast<const Function*>(nullptr));
  remove(scalars_, static_cast<const Scalar*>(nullptr));
  remove(reductions_, static_cast<const Reduction*>(nullptr));
  remove(ops_, static_cast<const OpClass*>(nullptr));
  added_.resize(first_added);
}

}  // namespace tensorlike
