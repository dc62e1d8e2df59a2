// Reducing some axes of a tensor, or of what a tile program computes, which need then never be
// written to memory. One driver for all reductions: what differs is the kernel.
#pragma once

#include "kernels/kernel_table.h"
#include "memory/array.h"

namespace tensorlike {

// What is reduced: elements of `shape`, which are the first results of `program` on operands
// broadcast to that shape; without a program they are the one operand's.
struct Reducible {
  Dims shape;
  Dims strides;     // as elements lie, or would
  size_t size = 0;  // bytes of an element
  const TileLoops* program = nullptr;
  SmallVector<TileOperand, 4> operands;
  // Where the program's other results go, contiguous; none unless `is_walked_in_order`.
  SmallVector<TileOutput, 2> written;
  // Whether `written` begins with the elements that are reduced.
  bool is_written = false;
};

// x with the reduced axes last, collapsed: kept dimensions, then reduced ones.
struct ReducePlan {
  Dims kept_shape, kept_strides;
  Dims shape, strides;  // of the reduced axes

  // Neighbours belong to different results, so that whole rows of results are made at once.
  bool has_columns(int64_t least) const {
    return !kept_shape.empty() && kept_strides.back() == 1 && kept_shape.back() >= least &&
           (shape.empty() || strides.back() != 1);
  }
};
ReducePlan plan_reduction(std::span<const int64_t> shape, std::span<const int64_t> strides,
                          const Dims& axes);

// The offset of a linear position of a strided shape, in elements.
int64_t offset_of(int64_t position, const Dims& shape, const Dims& strides);

// Whether a program's elements are reduced in the order of memory, so that what else it computes
// can be written on the way.
bool is_walked_in_order(const Dims& shape, const Dims& axes, const ReductionKernel& kernel);

// Writes the contiguous results, `out_size` bytes each, in the order of the kept dimensions. The
// bits do not depend on the number of threads, nor on whether the elements come from memory or
// from a program.
void reduce(const Reducible& x, const Dims& axes, const ReductionKernel& kernel, char* out,
            size_t out_size);

}  // namespace tensorlike
