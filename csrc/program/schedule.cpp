#include "program/schedule.h"

#include <algorithm>

namespace tensorlike {
namespace {

size_t at(int number) { return static_cast<size_t>(number); }

bool has(const std::vector<int>& numbers, int number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

}  // namespace

// From the results back to what is given.
std::shared_ptr<const Program::Schedule> Program::plan(std::span<const int> given,
                                                       std::span<const int> results,
                                                       bool runs_all) const {
  auto made = std::make_shared<Schedule>();
  made->given.assign(given.begin(), given.end());
  made->results.assign(results.begin(), results.end());
  std::vector<bool> is_given(variables_.size()), is_read(variables_.size());
  for (int variable : given) is_given[at(variable)] = true;
  for (int variable : results) is_read[at(variable)] = true;
  for (size_t number = steps_.size(); number-- > 0;) {
    const Step& step = steps_[number];
    Schedule::Turn turn{number, 0, {}, {}, -1};
    bool is_needed = runs_all;
    for (int output : step.outputs) {
      const bool is_written = is_read[at(output)] && !is_given[at(output)];
      turn.writes.push_back(is_written ? output : -1);
      is_needed = is_needed || is_written;
    }
    if (!is_needed) continue;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const int input = step.inputs[i];
      if (is_read[at(input)]) continue;
      if (!has(turn.drops, input)) turn.drops.push_back(input);
      const bool is_made = variables_[at(input)].role == Role::kResult && !is_given[at(input)];
      if (is_made && i < 32) turn.donated |= uint32_t{1} << i;
    }
    for (int input : step.inputs) is_read[at(input)] = true;
    made->draws = made->draws || (!draws.empty() && Draws::is_random(*step.op));
    made->turns.push_back(std::move(turn));
  }
  std::reverse(made->turns.begin(), made->turns.end());
  find_chains(*this, *made);
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (!is_read[i] || is_given[i] || variables_[i].role == Role::kResult) continue;
    if (variables_[i].role != Role::kCaptured) {
      fail(ErrorKind::kArgument, said::op("program"), said::argument(variables_[i].name),
           "must be given, since results depend on it");
    }
    made->constants.push_back(static_cast<int>(i));
  }
  return made;
}

std::shared_ptr<const Program::Schedule> Program::schedule(std::span<const int> results) {
  const auto is_it = [&](const auto& known) {
    return std::equal(known->results.begin(), known->results.end(), results.begin(), results.end());
  };
  const auto known = std::find_if(schedules_.begin(), schedules_.end(), is_it);
  if (known != schedules_.end()) return *known;
  std::vector<int> given = inputs_;
  given.insert(given.end(), states_.begin(), states_.end());
  if (schedules_.size() >= kMostSchedules) schedules_.clear();
  return schedules_.emplace_back(plan(given, results, true));
}

}  // namespace tensorlike
