// Where the results of a run lie, for known sizes: how long each lives follows from its schedule,
// and so does which may share memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "memory/arena.h"
#include "program/schedule.h"

namespace tensorlike {

struct MemoryPlan {
  std::shared_ptr<const ArenaLayout> layout;  // null: nothing is gained
  std::vector<uint32_t> slices;               // of all turns, one behind the other
  std::vector<size_t> first;                  // of each turn, and the end
  size_t results = 0;                         // bytes of all results with memory of their own
  size_t planned = 0;                         // of those that have slices
  size_t least = 0;                           // the most of these that live at the same time

  std::span<const uint32_t> at(size_t turn) const {
    return {slices.data() + first[turn], first[turn + 1] - first[turn]};
  }
};

// `replaces`: whether states may be written over. What leaves the run, or is made by what the core
// does not know, is not planned.
MemoryPlan plan_memory(const Program& program, const Program::Schedule& schedule,
                       const Program::Bound& bound, bool replaces);

}  // namespace tensorlike
