// Steps that run as one tile program, as a schedule has them.
#include <algorithm>
#include <optional>

#include "base/arguments.h"
#include "memory/backend.h"
#include "program/schedule.h"

namespace tensorlike {
namespace {

using Turns = std::span<const Program::Schedule::Turn>;
using Counts = ReaderCounts;

constexpr size_t kMostOperands = 24;

bool has(const std::vector<int>& numbers, int number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

int place_in(const std::vector<int>& numbers, int number) {
  return static_cast<int>(std::find(numbers.begin(), numbers.end(), number) - numbers.begin());
}

void count_readers(const Program& program, Turns turns, Counts& readers) {
  for (const auto& turn : turns) {
    for (int input : program.steps()[turn.step].inputs) ++readers[input];
  }
}

class ChainOfTurns {
 public:
  ChainOfTurns(const Program& program, Turns turns) : program_(program), turns_(turns) {}

  // `readers`: of the whole schedule. Nothing where it reads too much.
  std::optional<Program::Schedule::Chain> make(Counts& readers) {
    find_operands();
    if (made_.operands.empty() || made_.operands.size() > kMostOperands) return std::nullopt;
    count_readers(program_, turns_, inside_);
    SmallVector<DType, 8> dtypes;
    for (int operand : made_.operands) {
      dtypes.push_back(program_.variables()[static_cast<size_t>(operand)].spec.dtype);
    }
    for (const auto& turn : turns_) add(turn, readers);
    if (made_.writes.empty()) return std::nullopt;
    made_.turns = turns_.size();
    made_.inner = program_.steps()[turns_[0].step].outputs[0];
    made_.known.steps = calls_;
    made_.known.written = wanted_;
    made_.known.prepared = prepare_chain({dtypes.data(), dtypes.size()}, calls_, wanted_);
    return made_;
  }

  // After `make`: the same with the reduction that reads its one result, if nobody else does.
  std::optional<Program::Schedule::Chain> make_with(const Program::Schedule::Turn& last,
                                                    Counts& readers) {
    const Program::Step& step = program_.steps()[last.step];
    const bool is_fed = made_.writes.size() == 1 && step.inputs.size() == 1 &&
                        made_.writes[0] == step.inputs[0] && last.writes[0] >= 0 &&
                        readers[step.inputs[0]] == inside_[step.inputs[0]] + 1;
    if (!is_fed) return std::nullopt;
    const DType dtype = program_.variables()[static_cast<size_t>(step.inputs[0])].spec.dtype;
    SmallVector<DType, 8> dtypes;
    for (int operand : made_.operands) {
      dtypes.push_back(program_.variables()[static_cast<size_t>(operand)].spec.dtype);
    }
    made_.known.fed = backend(Device()).feed_dtype(*step.op, dtype);
    made_.known.prepared =
        prepare_chain({dtypes.data(), dtypes.size()}, calls_, wanted_, {&made_.known.fed, 1});
    made_.known.reduction = step.op;
    made_.known.ops.push_back(step.op->name());
    made_.known.place = step.place;
    made_.writes = last.writes;
    ++made_.turns;
    return made_;
  }

 private:
  void find_operands() {
    std::vector<int> made_here;
    for (const auto& turn : turns_) {
      for (int input : program_.steps()[turn.step].inputs) {
        if (!has(made_here, input) && !has(made_.operands, input)) made_.operands.push_back(input);
      }
      for (int written : turn.writes) {
        if (written >= 0) made_here.push_back(written);
      }
    }
    slots_ = made_.operands;
  }

  void add(const Program::Schedule::Turn& turn, Counts& readers) {
    const Program::Step& step = program_.steps()[turn.step];
    ChainStep& call = calls_.emplace_back();
    call.scalar = step.op->scalar;
    if (call.scalar == nullptr) call.to = *conversion_of(*step.op);
    for (int input : step.inputs) call.args.push_back(place_in(slots_, input));
    for (int written : turn.writes) {
      if (written >= 0 && readers[written] > inside_[written]) {
        wanted_.push_back(static_cast<int>(slots_.size()));
        made_.writes.push_back(written);
      }
      slots_.push_back(written);
    }
    made_.known.ops.push_back(step.op->name());
    made_.known.place = step.place;
    for (int dropped : turn.drops) {
      if (!has(made_.operands, dropped)) continue;
      made_.drops.push_back(dropped);
      const int input = place_in(step.inputs, dropped);
      if (has_argument(turn.donated, input)) {
        made_.donated |= argument_bit(place_in(made_.operands, dropped));
      }
    }
  }

  const Program& program_;
  Turns turns_;
  Counts inside_;           // readers of each variable among these turns
  std::vector<int> slots_;  // the operands, then what each call makes
  std::vector<ChainStep> calls_;
  std::vector<int> wanted_;  // slots that are written
  Program::Schedule::Chain made_;
};

}  // namespace

ReaderCounts readers_in(const Program& program, const Program::Schedule& schedule) {
  Counts readers;
  for (int result : schedule.results) ++readers[result];
  count_readers(program, schedule.turns, readers);
  return readers;
}

std::optional<Program::Schedule::Chain> make_chain(const Program& program, Turns turns,
                                                   ReaderCounts& readers) {
  return ChainOfTurns(program, turns).make(readers);
}

void find_chains(const Program& program, Program::Schedule& schedule) {
  const auto step_at = [&](size_t turn) -> const Program::Step& {
    return program.steps()[schedule.turns[turn].step];
  };
  const auto reduces = [&](size_t turn) { return step_at(turn).op->reduction != nullptr; };
  Counts readers = readers_in(program, schedule);
  size_t end = 0;
  for (size_t first = 0; first < schedule.turns.size(); first = end) {
    end = first + 1;
    const int chain = step_at(first).chain;
    while (chain >= 0 && end < schedule.turns.size() && step_at(end).chain == chain &&
           end != schedule.updates && !reduces(end - 1)) {
      ++end;
    }
    if (end - first == 1) continue;
    const bool is_reduced = reduces(end - 1);
    const Turns turns(schedule.turns.data() + first, end - first - (is_reduced ? 1 : 0));
    ChainOfTurns chain_of_turns(program, turns);
    auto made = chain_of_turns.make(readers);
    if (made && is_reduced) {
      if (auto whole = chain_of_turns.make_with(schedule.turns[end - 1], readers)) made = whole;
    }
    if (!made || made->turns == 1) continue;
    schedule.turns[first].chain = static_cast<int>(schedule.chains.size());
    schedule.chains.push_back(std::move(*made));
  }
}

}  // namespace tensorlike
