// From a scalar function to a tile program: its own loop where one was compiled ahead of time,
// else the instructions of its expansion; casts are inserted where the arguments' dtypes differ.
#pragma once

#include <atomic>
#include <span>

#include "kernels/tile.h"
#include "op/op.h"

namespace tensorlike {

struct PreparedProgram {
  TileProgram program;
  SmallVector<DType, 2> results;
};

// Programs by argument dtypes, newest first; a list that only grows, so that readers take no lock.
struct TileProgramCache {
  struct Node {
    uint64_t key;
    PreparedProgram prepared;
    const Node* next;
  };
  std::atomic<const Node*> head{nullptr};
  ~TileProgramCache();
};

// A conversion as a program; ErrorKind::kDType where a complex number would lose its imaginary
// part.
const PreparedProgram& prepare_cast(DType from, DType to);

const PreparedProgram& prepare(const Scalar& scalar, std::span<const DType> args);

}  // namespace tensorlike
