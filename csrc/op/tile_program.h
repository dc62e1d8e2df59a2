// From a scalar function to a tile program: its own loop where one was compiled ahead of time,
// else the instructions of its expansion; casts are inserted where the arguments' dtypes differ.
#pragma once

#include <atomic>
#include <optional>
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

// One call of a scalar function in a chain: slots are the operands, then all results in order.
struct ChainStep {
  const Scalar* scalar = nullptr;
  SmallVector<int, 3> args;
};

// The program of a chain of calls: the instructions that the calls would run one by one, rounding
// to each call's dtype included, so that the bits are the same. `converted` (may be empty) says the
// dtypes in which the results are wanted.
PreparedProgram prepare_chain(std::span<const DType> operands, std::span<const ChainStep> steps,
                              std::span<const int> results, std::span<const DType> converted = {});

// Whether an output may be written to an operand's memory: nothing reads the operand after the
// output is there.
bool may_write_over(const TileProgram& program, int operand, int output);

// The program of a body of scalar functions, its results converted to these dtypes (empty: as they
// come).
PreparedProgram prepare_body(const CompiledBody& body, std::span<const DType> operands,
                             std::span<const DType> converted);

const PreparedProgram& prepare(const Scalar& scalar, std::span<const DType> args);

// A function of numbers alone: computed in the widest dtype of their kind, so that it is right in
// the dtype of whatever it meets. Nothing where there is more than one result.
std::optional<Literal> fold(const Scalar& scalar, std::span<const Literal> args);

}  // namespace tensorlike
