// Running a program on tensor-likes.
#include <algorithm>

#include "dispatch/dispatcher.h"
#include "program/draws.h"
#include "program/program.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

// What a run for these results does besides applying ops, for each step.
struct Program::Schedule {
  struct Turn {
    uint32_t donated = 0;         // inputs that nobody reads later, and that the run itself made
    std::vector<int> drops = {};  // variables that are dropped after it
  };
  std::vector<int> results;
  std::vector<Turn> turns;
};

std::shared_ptr<const Program::Schedule> Program::schedule(std::span<const int> results) {
  const auto is_it = [&](const auto& known) {
    return std::equal(known->results.begin(), known->results.end(), results.begin(), results.end());
  };
  const auto known = std::find_if(schedules_.begin(), schedules_.end(), is_it);
  if (known != schedules_.end()) return *known;
  auto made = std::make_shared<Schedule>();
  made->results.assign(results.begin(), results.end());
  made->turns.resize(steps_.size());
  std::vector<bool> is_needed(variables_.size(), false);
  for (int result : results) is_needed[static_cast<size_t>(result)] = true;
  for (size_t at = steps_.size(); at-- > 0;) {
    const Step& step = steps_[at];
    Schedule::Turn& turn = made->turns[at];
    for (int output : step.outputs) {
      if (!is_needed[static_cast<size_t>(output)]) turn.drops.push_back(output);
    }
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const int input = step.inputs[i];
      const size_t number = static_cast<size_t>(input);
      if (is_needed[number]) continue;
      if (std::find(turn.drops.begin(), turn.drops.end(), input) == turn.drops.end()) {
        turn.drops.push_back(input);
      }
      if (variables_[number].role == Role::kResult && i < 32) turn.donated |= uint32_t{1} << i;
    }
    for (int input : step.inputs) is_needed[static_cast<size_t>(input)] = true;
  }
  if (schedules_.size() >= kMostSchedules) schedules_.clear();
  schedules_.push_back(made);
  return made;
}

std::vector<Ref<Value>> Program::values_before(Args given, Args states) const {
  std::vector<Ref<Value>> values(variables_.size());
  for (size_t i = 0; i < variables_.size(); ++i) values[i] = variables_[i].value;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    values[static_cast<size_t>(inputs_[i])] = Ref<Value>(given[i]);
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    values[static_cast<size_t>(states_[i])] = Ref<Value>(states[i]);
  }
  return values;
}

const Ref<Value>& Program::value_after(int result, const std::vector<Ref<Value>>& values) const {
  const Ref<Value>& found = values[static_cast<size_t>(result)];
  if (found) return found;
  fail(ErrorKind::kArgument, said::op("run"),
       said::argument(variables_[static_cast<size_t>(result)].name), "must have a value",
       said::got("none"), said::fix("run the startup program first"));
}

Values Program::run(std::span<const int> results, Args given, Args states) {
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
  const auto turns = schedule(results);
  std::vector<Ref<Value>> values = values_before(given, states);
  std::vector<Spec> found_specs(is_bound_late() ? variables_.size() : 0);
  const auto note_spec = [&](size_t variable) {
    if (found_specs.empty() || !values[variable]) return;
    found_specs[variable] = spec_of("run", *values[variable]);
  };
  for (size_t i = 0; i < found_specs.size(); ++i) note_spec(i);
  SmallVector<Value*, 8> args;
  Draws draws_of_run(draws);
  // It may be run on its own variables, and grow meanwhile.
  for (size_t at = 0, count = steps_.size(); at < count; ++at) {
    const Step& step = steps_[at];
    args.clear();
    for (int input : step.inputs) args.push_back(values[static_cast<size_t>(input)].get());
    const Ref<const Op> op = draws_of_run.anew(bound ? bound->ops[at] : op_late(step, found_specs));
    const Schedule::Turn& turn = turns->turns[at];
    Values found = apply_donating(*op, {args.data(), args.size()}, turn.donated);
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const size_t output = static_cast<size_t>(step.outputs[i]);
      if (!bound) found_specs[output] = spec_of("run", *found[i]);
      values[output] = std::move(found[i]);
    }
    for (int dropped : turn.drops) values[static_cast<size_t>(dropped)] = nullptr;
    if (!bound) check_late(step, found_specs);
  }
  if (!bound) {
    for (const Guard& guard : guards_) check(guard, found_specs);
  }
  Values out;
  for (int result : results) out.push_back(value_after(result, values));
  return out;
}

}  // namespace tensorlike
