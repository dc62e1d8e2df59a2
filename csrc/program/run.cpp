// Running a program on tensor-likes.
#include <algorithm>
#include <optional>

#include "base/pool.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "program/draws.h"
#include "program/late_sizes.h"
#include "program/memory_plan.h"
#include "program/schedule.h"
#include "tensor/body.h"

namespace tensorlike {

namespace {

const Spec& spec_of(const Program& program, const Program::Bound& bound, int variable) {
  const size_t number = static_cast<size_t>(variable);
  return bound.specs.empty() ? program.variables()[number].spec : bound.specs[number];
}

// A chain's or a band's turns by one launch. False: they have to run one by one.
template <typename Group, typename Launch>
bool run_together(const Program& program, const Program::Schedule& schedule, size_t first,
                  const Group& group, std::span<const int> operands,
                  std::vector<Ref<Value>>& values, const Launch& launch) {
  const auto op_at = [&](size_t turn) -> const Op& {
    return *program.steps()[schedule.turns[turn].step].op;
  };
  for (size_t i = first; i < first + group.turns; ++i) {
    if (!op_at(i).cls.plain.load(std::memory_order_relaxed)) return false;
  }
  SmallVector<Value*, 12> read;
  for (int operand : operands) read.push_back(values[static_cast<size_t>(operand)].get());
  Values found;
  try {
    found = launch(Args(read.data(), read.size()));
  } catch (const Error& error) {
    throw with_place(error, op_at(first + group.turns - 1), group.known.place);
  }
  if (found.empty()) return false;
  for (int dropped : group.drops) values[static_cast<size_t>(dropped)] = nullptr;
  for (size_t k = 0; k < found.size(); ++k) {
    values[static_cast<size_t>(group.writes[k])] = std::move(found[k]);
  }
  return true;
}

bool run_chain(const Program& program, const Program::Schedule& schedule, size_t first,
               const Program::Schedule::Chain& chain, const Program::Bound& bound,
               std::vector<Ref<Value>>& values) {
  const Dims& shape = spec_of(program, bound, chain.inner).shape;
  return run_together(program, schedule, first, chain, chain.operands, values, [&](Args args) {
    if (chain.known.reduction == nullptr) {
      return launch_chain(chain.known, shape, args, chain.donated);
    }
    Values found;
    const Spec& made = spec_of(program, bound, chain.writes[0]);
    if (Ref<Value> out = launch_reduction(chain.known, shape, made, args)) {
      found.push_back(std::move(out));
    }
    return found;
  });
}

bool run_band(const Program& program, const Program::Schedule& schedule, size_t first,
              const Program::Schedule::Band& band, const Program::Bound& bound,
              std::vector<Ref<Value>>& values) {
  const std::span<const int> operands(band.slots.data(), band.known.operands);
  return run_together(program, schedule, first, band, operands, values, [&](Args args) {
    std::vector<const Spec*> specs;
    for (int variable : band.slots) specs.push_back(&spec_of(program, bound, variable));
    return launch_rows(band.known, specs, args);
  });
}

// What a turn has made, in the place of what nobody reads any more.
void take_results(const Program::Schedule::Turn& turn, std::span<Ref<Value>> found,
                  std::vector<Ref<Value>>& values) {
  for (int dropped : turn.drops) values[static_cast<size_t>(dropped)] = nullptr;
  for (size_t k = 0; k < turn.writes.size(); ++k) {
    if (turn.writes[k] >= 0) values[static_cast<size_t>(turn.writes[k])] = std::move(found[k]);
  }
}

constexpr size_t kMostPlans = 8;  // for one binding

bool are_arrays(Args values) {
  return std::all_of(values.begin(), values.end(), [](const Value* value) {
    return value == nullptr || value->tag == Value::kRaw;
  });
}

// The plan of memory for a run; null: results have memory of their own.
std::shared_ptr<const MemoryPlan> plan_for(const Program& program, Args given,
                                           const Program::Schedule& schedule,
                                           const Program::Bound* bound, bool replaces) {
  if (!program.shares_memory || bound == nullptr || !runs_at_once() || !are_arrays(given)) {
    return nullptr;
  }
  const std::pair<uint64_t, bool> key(schedule.number, replaces);
  auto& plans = bound->plans;
  auto known =
      std::find_if(plans.begin(), plans.end(), [&](const auto& plan) { return plan.first == key; });
  if (known == plans.end()) {
    if (plans.size() >= kMostPlans) plans.clear();
    auto made = std::make_shared<MemoryPlan>(plan_memory(program, schedule, *bound, replaces));
    plans.emplace_back(key, std::move(made));
    known = std::prev(plans.end());
  }
  const auto& plan = known->second;
  return plan->layout == nullptr || plan->layout->is_off ? nullptr : plan;
}

// Hands on what a step makes; an error names the user's line.
template <typename Take>
void apply_step(const Program::Step& step, const Op& op, Args inputs, uint32_t donated,
                const Take& take) {
  try {
    if (Ref<Value> only = apply_small(op, inputs)) return take(std::span<Ref<Value>>(&only, 1));
    Values found = apply_further(op, inputs, donated);
    take(std::span<Ref<Value>>(found.data(), found.size()));
  } catch (const Error& error) {
    if (!error.fields().place.empty() || step.place.empty()) throw;
    throw with_place(error, op, step.place);
  }
}

// What is known of all variables when a run begins.
std::vector<Ref<Value>> first_values(const Program& program, const Program::Schedule& schedule,
                                     Args given) {
  std::vector<Ref<Value>> values(program.variables().size());
  for (int constant : schedule.constants) {
    const size_t number = static_cast<size_t>(constant);
    values[number] = program.variables()[number].value;
  }
  for (size_t i = 0; i < schedule.given.size(); ++i) {
    values[static_cast<size_t>(schedule.given[i])] = Ref<Value>(given[i]);
  }
  return values;
}

Values results_in(const Program& program, const Program::Schedule& schedule,
                  const std::vector<Ref<Value>>& values) {
  Values out;
  for (int result : schedule.results) {
    const Ref<Value>& found = values[static_cast<size_t>(result)];
    if (!found) {
      fail(ErrorKind::kArgument, said::op("run"),
           said::argument(program.variables()[static_cast<size_t>(result)].name),
           "must have a value", said::got("none"), said::fix("run the startup program first"));
    }
    out.push_back(found);
  }
  return out;
}

// Who keeps the states that may have been written over gets them back, as they are now.
void keep_states(const Program& program, const Program::Schedule& schedule,
                 const std::vector<Ref<Value>>& values, Program::Updating& updating) {
  for (int state : schedule.replaced) {
    const Ref<Value>& changed = values[static_cast<size_t>(program.assigned().at(state))];
    updating.keep(state, changed ? changed : values[static_cast<size_t>(state)]);
  }
}

}  // namespace

Values Program::run(const Schedule& schedule, Args given, const Bound* bound, Updating* updating) {
  const auto plan = plan_for(*this, given, schedule, bound, updating != nullptr);
  ArenaRun arena(plan ? plan->layout : nullptr);  // outlives what this run holds
  std::vector<Ref<Value>> values = first_values(*this, schedule, given);
  std::optional<LateSizes> late;
  if (bound == nullptr) late.emplace(*this, values);
  SmallVector<Value*, 8> args;
  Draws draws_of_run(draws);
  std::optional<InterruptsHeld> held;  // from when states are written over
  try {
    for (size_t i = 0; i < schedule.turns.size(); ++i) {
      if (updating != nullptr && i == schedule.updates && !schedule.replaced.empty()) {
        held.emplace();
        updating->begin(schedule.replaced);
      }
      const Schedule::Turn& turn = schedule.turns[i];
      std::optional<ArenaRun::Turn> place;
      if (plan) place.emplace(arena, plan->at(i));
      if (turn.band >= 0 && bound != nullptr) {
        const Schedule::Band& band = schedule.bands[static_cast<size_t>(turn.band)];
        if (run_band(*this, schedule, i, band, *bound, values)) {
          i += band.turns - 1;
          continue;
        }
      }
      if (turn.chain >= 0 && bound != nullptr) {
        const Schedule::Chain& chain = schedule.chains[static_cast<size_t>(turn.chain)];
        if (run_chain(*this, schedule, i, chain, *bound, values)) {
          i += chain.turns - 1;
          continue;
        }
      }
      const Step& step = steps_[turn.step];
      args.clear();
      for (int input : step.inputs) args.push_back(values[static_cast<size_t>(input)].get());
      const bool is_known = bound != nullptr && !schedule.draws;
      const Ref<const Op> own =
          is_known ? nullptr
                   : draws_of_run.anew(bound != nullptr ? bound->ops[turn.step] : late->op(step));
      const Op& op = is_known ? *bound->ops[turn.step] : *own;
      const Args inputs(args.data(), args.size());
      const uint32_t donated = turn.donated_where(updating != nullptr);
      apply_step(step, op, inputs, donated, [&](std::span<Ref<Value>> found) {
        if (late) late->note(step, found);
        take_results(turn, found, values);
      });
    }
    if (late) late->check_guards();
    return results_in(*this, schedule, values);
  } catch (...) {
    if (!held) throw;
    keep_states(*this, schedule, values, *updating);
    throw;
  }
}

Values Program::run(std::span<const int> results, Args given, Args states, Updating* updating) {
  if (states.size() != states_.size()) {
    fail(ErrorKind::kArgument, said::op("run"), "one value for each of ", states_.size(),
         " states is needed", said::got(states.size()),
         said::fix("run it by an Executor, which finds them in a scope"));
  }
  is_recorded = false;
  take_back(results);
  std::vector<Spec> specs;
  for (Value* value : given) specs.push_back(spec_of("run", *value));
  const std::vector<int64_t> sizes = sizes_of("run", specs);
  const auto bound = is_bound_late() ? nullptr : bind(sizes);
  std::vector<Value*> all(given.begin(), given.end());
  all.insert(all.end(), states.begin(), states.end());
  // It may be run on its own variables, and grow meanwhile.
  const auto kept = schedule(results);
  return run(*kept, all, bound.get(), updating);
}

}  // namespace tensorlike
