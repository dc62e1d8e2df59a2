#include "program/memory_plan.h"

#include <algorithm>

#include "base/arguments.h"
#include "memory/layout.h"
#include "memory/share_all.h"
#include "op/infer.h"
#include "op/tile_program.h"
#include "program/holder.h"
#include "tensor/kernel_run.h"

namespace tensorlike {
namespace {

constexpr int kOutside = -1;     // memory that is not the run's to plan
constexpr size_t kMost = 4096;   // slices: the search for places is quadratic
constexpr double kWorth = 0.95;  // of what the slices take apart

size_t bytes_of(const Spec& spec) {
  return static_cast<size_t>(element_count(spec.shape)) * size_of(spec.dtype);
}

// Follows a run without its elements: where each variable lies, and who still holds that memory.
class RunOfPlaces {
 public:
  RunOfPlaces(const Program& program, const Program::Schedule& schedule,
              const Program::Bound& bound, bool replaces)
      : program_(program), schedule_(schedule), bound_(bound), replaces_(replaces) {
    places_.resize(program.variables().size());
  }

  MemoryPlan plan() {
    for (size_t i = 0; i < places_.size(); ++i) {
      const Spec& spec = spec_of(static_cast<int>(i));
      places_[i].array = Array(spec.dtype, spec.shape, nullptr);
      places_[i].array.device = spec.device;
    }
    for (size_t turn = 0; turn < schedule_.turns.size();) turn += run(turn);
    for (int result : schedule_.results) {
      if (const int memory = places_[at(result)].memory; memory != kOutside) {
        memories_[at(memory)].stays = true;
      }
    }
    return finish();
  }

 private:
  struct Place {
    Array array;  // without elements
    int memory = kOutside;
  };
  struct Memory {
    Lifetime life;
    int holders = 0;  // variables
    bool stays = false;
  };

  const Spec& spec_of(int variable) const {
    return bound_.specs.empty() ? program_.variables()[at(variable)].spec
                                : bound_.specs[at(variable)];
  }
  const Program::Step& step(size_t turn) const {
    return program_.steps()[schedule_.turns[turn].step];
  }

  // How many turns run together, from this one on.
  size_t run(size_t turn) {
    const Program::Schedule::Turn& first = schedule_.turns[turn];
    if (first.band >= 0) {
      const auto& band = schedule_.bands[at(first.band)];
      for (size_t i = turn; i < turn + band.turns; ++i) read(turn, step(i).inputs);
      for (int written : band.writes) make(turn, written);
      drop(band.drops);
      return band.turns;
    }
    if (first.chain >= 0) {
      const auto& chain = schedule_.chains[at(first.chain)];
      read(turn, chain.operands);
      run_chain(turn, chain);
      drop(chain.drops);
      return chain.turns;
    }
    read(turn, step(turn).inputs);
    run_step(turn);
    drop(first.drops);
    return 1;
  }

  void read(size_t turn, const std::vector<int>& variables) {
    for (int variable : variables) {
      if (const int memory = places_[at(variable)].memory; memory != kOutside) {
        memories_[at(memory)].life.end = turn;
      }
    }
  }

  void drop(const std::vector<int>& variables) {
    for (int variable : variables) {
      if (const int memory = places_[at(variable)].memory; memory != kOutside) {
        --memories_[at(memory)].holders;
      }
    }
  }

  // The variable has memory of its own; -1: what nobody reads, of a spec.
  void make(size_t turn, int variable) { make(turn, variable, spec_of(variable)); }
  void make(size_t turn, int variable, const Spec& spec, bool stays = false) {
    const int memory = static_cast<int>(memories_.size());
    const bool is_known = spec.device.is_cpu() && !stays;
    memories_.push_back({{bytes_of(spec), turn, turn}, 0, !is_known});
    turns_.push_back(turn);
    if (variable >= 0) lie(variable, memory);
  }
  // It lies in this memory.
  void lie(int variable, int memory) {
    places_[at(variable)].memory = memory;
    if (memory != kOutside) ++memories_[at(memory)].holders;
  }

  // Whether a variable that is let go here is the only one in its memory.
  bool is_sole(int variable) const {
    const int memory = places_[at(variable)].memory;
    if (memory != kOutside) return memories_[at(memory)].holders == 1;
    const auto& replaced = schedule_.replaced;
    return replaces_ && std::find(replaced.begin(), replaced.end(), variable) != replaced.end();
  }

  void run_chain(size_t turn, const Program::Schedule::Chain& chain) {
    if (chain.known.reduction != nullptr) {
      make(turn, chain.writes[0]);
      return;
    }
    const Dims& shape = spec_of(chain.inner).shape;
    SmallVector<const Array*, 12> operands;
    for (int operand : chain.operands) operands.push_back(&places_[at(operand)].array);
    const Dims strides = strides_of(chain.known, shape, {operands.data(), operands.size()})
                             .value_or(contiguous_strides(shape));
    std::vector<int> free;
    for (size_t i = 0; i < chain.operands.size(); ++i) {
      const Array& x = *operands[i];
      if (has_argument(chain.donated, i) && x.shape == shape &&
          lie_alike(shape, x.strides, strides) && is_sole(chain.operands[i])) {
        free.push_back(static_cast<int>(i));
      }
    }
    for (size_t k = 0; k < chain.writes.size(); ++k) {
      lay(chain.writes[k], strides);
      const Array* const taken =
          take_operand(chain.known.prepared.program, {operands.data(), operands.size()}, free,
                       size_of(chain.known.prepared.results[k]), static_cast<int>(k));
      if (taken == nullptr) {
        make(turn, chain.writes[k]);
        continue;
      }
      const auto place = std::find(operands.begin(), operands.end(), taken) - operands.begin();
      lie(chain.writes[k], places_[at(chain.operands[static_cast<size_t>(place)])].memory);
    }
  }

  void run_step(size_t turn) {
    const Program::Schedule::Turn& here = schedule_.turns[turn];
    const Program::Step& step = program_.steps()[here.step];
    const Op& op = *bound_.ops[here.step];
    SmallVector<const Array*, 12> inputs;
    for (int input : step.inputs) inputs.push_back(&places_[at(input)].array);
    Specs specs;
    for (int output : step.outputs) specs.push_back(spec_of(output));
    if (inputs.size() == 1 && leaves_alone(op, inputs[0]->dtype)) {
      see(here.writes[0], step.inputs[0], *inputs[0]);
      return;
    }
    Views views;
    if (op.cls.view != nullptr && op.cls.view(op, *inputs[0], specs, views)) {
      for (size_t k = 0; k < here.writes.size(); ++k) {
        see(here.writes[k], step.inputs[0],
            Array(specs[k].dtype, views[k].shape, views[k].strides, nullptr));
      }
      return;
    }
    place(turn, op, {inputs.data(), inputs.size()}, specs);
  }

  // A view.
  void see(int variable, int of, Array array) {
    if (variable < 0) return;
    places_[at(variable)].array = std::move(array);
    lie(variable, places_[at(of)].memory);
  }

  // What a launch makes: over an input, or in memory of its own.
  void place(size_t turn, const Op& op, Arrays inputs, const Specs& specs) {
    const Program::Schedule::Turn& here = schedule_.turns[turn];
    const Program::Step& step = program_.steps()[here.step];
    const bool is_known = op.cls.plain.load(std::memory_order_relaxed) &&
                          is_computed(op, Device()) && holder_of(op) == nullptr &&
                          op.cls.kernel(Device()).foreign == nullptr;
    const uint32_t donated = here.donated_where(replaces_);
    uint32_t available = 0;
    for (size_t i = 0; is_known && i < std::min(inputs.size(), kMostInSet); ++i) {
      if (has_argument(donated, i) && is_sole(step.inputs[i]) && may_overwrite(op, inputs, i)) {
        available |= argument_bit(i);
      }
    }
    const auto over = written_over(op, inputs, specs, available);
    for (size_t k = 0; k < specs.size(); ++k) {
      if (here.writes[k] >= 0) lay(here.writes[k], result_strides(op, inputs, specs[k]));
      if (over[k] < 0) {
        make(turn, here.writes[k], specs[k], !is_known);
      } else if (here.writes[k] >= 0) {
        lie(here.writes[k], places_[at(step.inputs[at(over[k])])].memory);
      }
    }
  }

  // Where its elements are.
  void lay(int variable, Dims strides) {
    Array& array = places_[at(variable)].array;
    array.is_contiguous = lies_in_order(array.shape, strides);
    array.strides = std::move(strides);
  }

  MemoryPlan finish() const {
    MemoryPlan made;
    std::vector<size_t> chosen;
    const size_t least = least_slice.load(std::memory_order_relaxed);
    for (size_t i = 0; i < memories_.size(); ++i) {
      made.results += memories_[i].life.bytes;
      if (!memories_[i].stays && memories_[i].life.bytes >= least) chosen.push_back(i);
    }
    if (chosen.size() > kMost) {
      std::stable_sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) {
        return memories_[a].life.bytes > memories_[b].life.bytes;
      });
      chosen.resize(kMost);
      std::sort(chosen.begin(), chosen.end());
    }
    std::vector<Lifetime> lives;
    for (size_t i : chosen) lives.push_back(memories_[i].life);
    if (plans_are_wrong.load(std::memory_order_relaxed)) {
      for (Lifetime& life : lives) life.end = life.begin;
    }
    for (const Lifetime& life : lives) made.planned += life.bytes;
    made.least = most_alive(lives);
    auto layout = std::make_shared<ArenaLayout>();
    lay_out(lives, *layout);
    if (lives.empty()) return made;
    const double most = shares_all_memory() ? 2 : kWorth;
    if (static_cast<double>(layout->bytes) > most * static_cast<double>(made.planned)) return made;
    made.layout = std::move(layout);
    made.first.assign(schedule_.turns.size() + 1, 0);
    for (size_t i : chosen) ++made.first[turns_[i] + 1];
    for (size_t turn = 0; turn < schedule_.turns.size(); ++turn) {
      made.first[turn + 1] += made.first[turn];
    }
    for (uint32_t k = 0; k < chosen.size(); ++k) made.slices.push_back(k);
    return made;
  }

  const Program& program_;
  const Program::Schedule& schedule_;
  const Program::Bound& bound_;
  const bool replaces_;
  std::vector<Place> places_;     // of each variable
  std::vector<Memory> memories_;  // in the order in which they are made
  std::vector<size_t> turns_;     // that make them
};

}  // namespace

MemoryPlan plan_memory(const Program& program, const Program::Schedule& schedule,
                       const Program::Bound& bound, bool replaces) {
  return RunOfPlaces(program, schedule, bound, replaces).plan();
}

}  // namespace tensorlike
