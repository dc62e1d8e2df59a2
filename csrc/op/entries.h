// The entries of one kind by name. Built-in ones are made when somebody first asks for them, in
// whichever thread; others are added. None ever moves or goes, but for those of a set that failed.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "op/built_in.h"

namespace tensorlike {

// By name, found without making a string.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};

template <class T>
class Entries {
 public:
  using Added = std::unordered_map<std::string, std::unique_ptr<T>, NameHash, std::equal_to<>>;

  explicit Entries(std::span<const BuiltIn> built_ins)
      : built_ins_(built_ins), owned_(built_ins.size()), complete_(built_ins.size()) {}

  std::span<const BuiltIn> built_ins() const { return built_ins_; }
  // Which built-in one has this name; -1: none.
  int find_built_in(std::string_view name) const {
    const auto at = std::lower_bound(
        built_ins_.begin(), built_ins_.end(), name,
        [](const BuiltIn& each, std::string_view wanted) { return each.name < wanted; });
    return at == built_ins_.end() || at->name != name ? -1
                                                      : static_cast<int>(at - built_ins_.begin());
  }
  // Null: not complete, so that whoever wants it makes it, or waits for who does.
  T* complete(int which) const {
    return complete_[static_cast<size_t>(which)].load(std::memory_order_acquire);
  }

  // The rest is for one thread at a time. One that is being made is `owned` and not complete.
  std::unique_ptr<T>& owned(int which) { return owned_[static_cast<size_t>(which)]; }
  void finish(int which) {
    const size_t i = static_cast<size_t>(which);
    complete_[i].store(owned_[i].get(), std::memory_order_release);
  }
  Added& added() { return added_; }
  const Added& added() const { return added_; }

  template <class Do>
  void for_each(const Do& run) const {
    for (const auto& entry : owned_) {
      if (entry != nullptr) run(*entry);
    }
    for (const auto& [name, entry] : added_) run(*entry);
  }

 private:
  std::span<const BuiltIn> built_ins_;
  std::vector<std::unique_ptr<T>> owned_;
  std::vector<std::atomic<T*>> complete_;
  Added added_;
};

}  // namespace tensorlike
