#include "program/executor.h"

#include <algorithm>

#include "op/op.h"
#include "program/recording.h"
#include "program/schedule.h"

namespace tensorlike {
namespace {

std::string listed(const Program& program, const std::vector<int>& variables) {
  std::string out;
  for (int number : variables) {
    out += (out.empty() ? "" : ", ") + program.variables()[static_cast<size_t>(number)].name;
  }
  return out.empty() ? "none" : out;
}

Values in_order(const Program& program, const Feeds& feeds) {
  const auto name_of_input = [&](int input) {
    return program.variables()[static_cast<size_t>(input)].name;
  };
  for (const auto& [name, value] : feeds) {
    const auto is_it = [&](int input) { return name_of_input(input) == name; };
    if (std::any_of(program.inputs().begin(), program.inputs().end(), is_it)) continue;
    fail(ErrorKind::kArgument, said::op("run"), said::argument("feed"),
         "must name inputs of the program: ", listed(program, program.inputs()), said::got(name));
  }
  Values found;
  for (int input : program.inputs()) {
    const auto at = std::find_if(feeds.begin(), feeds.end(), [&](const auto& entry) {
      return entry.first == name_of_input(input);
    });
    if (at == feeds.end()) {
      fail(ErrorKind::kArgument, said::op("run"), said::argument("feed"), "must have a value for ",
           name_of_input(input), ": ", program.describe(input), said::got("none"));
    }
    found.push_back(at->second);
  }
  return found;
}

Values states_of(const Program& program, const Scope& scope) {
  Values found;
  for (int state : program.states()) {
    const Program::Variable& variable = program.variables()[static_cast<size_t>(state)];
    Ref<Value> value = scope.find(variable.name);
    if (!value) {
      // A program that sets a state before anybody reads it needs none: a startup program.
      const auto reads = [&](const Program::Step& step) {
        return std::find(step.inputs.begin(), step.inputs.end(), state) != step.inputs.end();
      };
      if (std::none_of(program.steps().begin(), program.steps().end(), reads)) {
        found.push_back({});
        continue;
      }
      fail(ErrorKind::kArgument, said::op("run"), said::argument(variable.name),
           "must have a value in the scope", said::got("none"),
           said::fix("run the startup program first"));
    }
    const Spec spec = spec_of("run", *value);
    if (spec.dtype != variable.spec.dtype || spec.shape != variable.spec.shape) {
      fail(spec.dtype == variable.spec.dtype ? ErrorKind::kShape : ErrorKind::kDType,
           said::op("run"), said::argument(variable.name), "must be ", program.describe(state),
           " in the scope", said::got(to_string(spec)));
    }
    found.push_back(std::move(value));
  }
  return found;
}

// A run computes, also where calls build a program; on arrays alone, whatever its sizes are: they
// may be those that stand for unknown ones of another program.
class NotRecorded {
 public:
  NotRecorded(Args given, Args states)
      : ran_all_(run_all(are_arrays(given) && are_arrays(states))) {}
  ~NotRecorded() { run_all(ran_all_); }
  NotRecorded(const NotRecorded&) = delete;
  NotRecorded& operator=(const NotRecorded&) = delete;

 private:
  static bool are_arrays(Args values) {
    return std::all_of(values.begin(), values.end(), [](const Value* value) {
      return value == nullptr || value->tag == Value::kRaw;
    });
  }

  const RecordedBlock nothing_{nullptr};
  bool ran_all_;
};

// Where the value of a state is kept: where it is now, or the outermost scope, which stays when
// this one goes.
Scope* owner_of(Scope& scope, const std::string& name) {
  Scope* owner = &scope;
  while (owner->parent() != nullptr && owner->values().count(name) == 0) owner = owner->parent();
  return owner;
}

// Takes states out of their scopes, so that the run alone holds them.
class Exchange final : public Program::Updating {
 public:
  Exchange(const Program& program, Values& states, Scope& scope)
      : program_(program), states_(states), scope_(scope) {}

  void begin(std::span<const int> states) override {
    for (int state : states) {
      Scope* const owner = owners_[state] = owner_of(scope_, name_of_state(state));
      const auto place = std::find(program_.states().begin(), program_.states().end(), state);
      states_[static_cast<size_t>(place - program_.states().begin())] = nullptr;
      owner->erase(name_of_state(state));
    }
  }
  void keep(int state, Ref<Value> value) override {
    owner(state)->set(name_of_state(state), std::move(value));
  }
  Scope* owner(int state) {
    const auto known = owners_.find(state);
    return known != owners_.end() ? known->second : owner_of(scope_, name_of_state(state));
  }

 private:
  const std::string& name_of_state(int state) const {
    return program_.variables()[static_cast<size_t>(state)].name;
  }

  const Program& program_;
  Values& states_;
  Scope& scope_;
  std::map<int, Scope*> owners_;
};

}  // namespace

Scope::~Scope() { drop_kids(); }

Ref<Scope> Scope::new_scope() {
  Ref<Scope> kid = make_ref<Scope>();
  kid->parent_ = this;
  kids_.push_back(kid);
  return kid;
}

void Scope::drop_kids() {
  for (const Ref<Scope>& kid : kids_) kid->parent_ = nullptr;
  kids_.clear();
}

Ref<Value> Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    const auto at = scope->values_.find(name);
    if (at != scope->values_.end()) return at->second;
  }
  return {};
}

Values execute(Program& program, const Feeds& feeds, std::span<const int> results, Scope& scope,
               bool replaces) {
  const Values inputs = in_order(program, feeds);
  Values states = states_of(program, scope);
  std::vector<int> wanted;
  for (int result : results) {
    const auto changed = program.assigned().find(result);
    wanted.push_back(changed == program.assigned().end() ? result : changed->second);
  }
  for (const auto& [state, value] : program.assigned()) wanted.push_back(value);
  std::vector<Value*> given, kept;
  for (const Ref<Value>& value : inputs) given.push_back(value.get());
  for (const Ref<Value>& value : states) kept.push_back(value.get());
  const NotRecorded not_recorded(given, kept);
  Exchange exchange(program, states, scope);
  Values found = program.run(wanted, given, kept, replaces ? &exchange : nullptr);
  size_t at = results.size();
  for (const auto& [state, value] : program.assigned()) {
    exchange.keep(state, std::move(found[at++]));
  }
  found.resize(results.size());
  return found;
}

}  // namespace tensorlike
