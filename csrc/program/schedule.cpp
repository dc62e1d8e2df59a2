#include "program/schedule.h"

#include <algorithm>
#include <unordered_set>

#include "base/arguments.h"
#include "op/tile_program.h"
#include "program/graph.h"
#include "program/holder.h"
#include "program/late_sizes.h"

namespace tensorlike {

// What makes what states become, and is read for nothing else, comes last: until then nothing has
// changed, whatever goes wrong. With a state's new value come the elementwise steps of its chain.
// What draws, or is not the core's, keeps its place.
std::pair<std::vector<size_t>, size_t> Program::order_of_steps() const {
  std::vector<int> maker(variables_.size(), -1);
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (int output : steps_[i].outputs) maker[at(output)] = static_cast<int>(i);
  }
  std::vector<bool> is_update(steps_.size(), false), is_read_before(steps_.size(), false);
  std::unordered_set<int> chains;  // of which the last step makes a state
  for (const auto& [state, value] : assigned_) {
    const int step = is_bound_late() ? -1 : maker[at(value)];
    if (step < 0) continue;
    is_update[at(step)] = true;
    if (steps_[at(step)].chain >= 0) chains.insert(steps_[at(step)].chain);
  }
  for (size_t i = steps_.size(); i-- > 0;) {  // readers come behind what they read
    const Step& step = steps_[i];
    const bool is_candidate =
        is_update[i] || (is_elementwise(*step.op) && chains.count(step.chain) > 0);
    is_update[i] = is_candidate && !is_read_before[i] && is_pure(*step.op);
    if (is_update[i]) continue;
    for (int input : step.inputs) {
      if (maker[at(input)] >= 0) is_read_before[at(maker[at(input)])] = true;
    }
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!is_update[i]) order.push_back(i);
  }
  const size_t before = order.size();
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (is_update[i]) order.push_back(i);
  }
  return {std::move(order), before};
}

bool Program::draws_anew(const Op& op) const {
  if (const Holder* holder = holder_of(op)) return holder->draws();
  return !draws.empty() && Draws::is_random(op);
}

// From the results back to what is given.
std::shared_ptr<const Program::Schedule> Program::plan(std::span<const int> given,
                                                       std::span<const int> results, bool runs_all,
                                                       bool reads_sizes) const {
  auto made = std::make_shared<Schedule>();
  made->given.assign(given.begin(), given.end());
  made->results.assign(results.begin(), results.end());
  std::vector<bool> is_given(variables_.size()), is_read(variables_.size());
  for (int variable : given) is_given[at(variable)] = true;
  for (int variable : results) is_read[at(variable)] = true;
  const auto [order, before] = order_of_steps();
  size_t updates = 0;
  for (size_t place = order.size(); place-- > 0;) {
    const size_t number = order[place];
    const Step& step = steps_[number];
    Schedule::Turn turn{number, 0, 0, {}, {}, -1, -1};
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
      const bool is_known = std::ranges::find(turn.drops, input) != turn.drops.end();
      if (!is_known) turn.drops.push_back(input);
      const bool is_made = variables_[at(input)].role == Role::kResult && !is_given[at(input)];
      const bool is_replaced = place >= before && assigned_.count(input) > 0;
      if (is_made || is_replaced) turn.donated |= argument_bit(i);
      if (!is_replaced) continue;
      turn.replaced |= argument_bit(i);
      made->replaced.push_back(input);
    }
    for (int input : step.inputs) is_read[at(input)] = true;
    if (reads_sizes) {
      for (const auto& [index, expr] : step.exprs) {
        for_each_dim(expr, [&](const AttrExpr& dim) { is_read[at(dim.slot)] = true; });
      }
    }
    made->draws = made->draws || draws_anew(*step.op);
    made->turns.push_back(std::move(turn));
    if (place >= before) ++updates;
  }
  std::reverse(made->turns.begin(), made->turns.end());
  made->updates = made->turns.size() - updates;
  std::sort(made->replaced.begin(), made->replaced.end());
  find_chains(*this, *made);
  find_bands(*this, *made);
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
