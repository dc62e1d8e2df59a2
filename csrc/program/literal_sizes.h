// While what an op makes is inferred with numbers that stand for sizes: no dtype need hold those,
// but the sizes that a run has.
#pragma once

#include <utility>

#include "tensor/raw_tensor.h"

namespace tensorlike {

struct LiteralSizes {
  explicit LiteralSizes(bool is_so) : before(std::exchange(literals_are_sizes, is_so)) {}
  ~LiteralSizes() { literals_are_sizes = before; }
  LiteralSizes(const LiteralSizes&) = delete;
  LiteralSizes& operator=(const LiteralSizes&) = delete;
  const bool before;
};

// While an op is inferred with the witnesses of a program: programs that it holds are bound to
// these, second ones included, which nobody can tell from other numbers.
inline thread_local bool infers_by_witnesses = false;

struct ByWitnesses {
  ByWitnesses() : before(std::exchange(infers_by_witnesses, true)) {}
  ~ByWitnesses() { infers_by_witnesses = before; }
  ByWitnesses(const ByWitnesses&) = delete;
  ByWitnesses& operator=(const ByWitnesses&) = delete;
  const bool before;
};

}  // namespace tensorlike
