// Running programs on values under names: what is fed, and what a scope keeps between runs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/program.h"

namespace tensorlike {

// Values under names. What a scope does not have is looked up in its parent.
class Scope : public RefCounted {
 public:
  Scope() = default;
  ~Scope() override;

  // A scope below this one, which lives until `drop_kids`, or for as long as somebody holds it.
  Ref<Scope> new_scope();
  void drop_kids();
  Scope* parent() const { return parent_; }
  const std::vector<Ref<Scope>>& kids() const { return kids_; }

  // Here, or in the nearest parent that has it; null: nowhere.
  Ref<Value> find(const std::string& name) const;
  void set(const std::string& name, Ref<Value> value) { values_[name] = std::move(value); }
  bool erase(const std::string& name) { return values_.erase(name) > 0; }
  const std::map<std::string, Ref<Value>>& values() const { return values_; }

  // For who embeds the core: the object that stands for this scope.
  void* handle = nullptr;

 private:
  std::map<std::string, Ref<Value>> values_;
  Scope* parent_ = nullptr;
  std::vector<Ref<Scope>> kids_;
};

using Feeds = std::vector<std::pair<std::string, Ref<Value>>>;

// Runs a program: inputs are fed by name, states found in the scope, and those that change set
// there when all has run; an error changes nothing. `replaces`: states of which nobody else has the
// elements are written over, once all else has run; what goes wrong then leaves some of them
// changed. ErrorKind::kArgument where an input is not fed, something else is, or a state is
// nowhere.
Values execute(Program& program, const Feeds& feeds, std::span<const int> results, Scope& scope,
               bool replaces = false);

}  // namespace tensorlike
