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

}  // namespace tensorlike
