// Reducing: a declared reduction over some axes of a tensor, or of what a tile program computes,
// which is then never written to memory.
#pragma once

#include "kernels/kernel_table.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

// What is reduced: elements of `shape`, which `program` computes from operands broadcast to that
// shape; without a program they are the one operand's.
struct Reducible {
  Dims shape;
  size_t size = 0;  // bytes of an element
  const TileProgram* program = nullptr;
  SmallVector<TileOperand, 4> operands;
};

// x with the reduced axes last, collapsed: kept dimensions, then reduced ones.
struct ReducePlan {
  Dims kept_shape, kept_strides;
  Dims shape, strides;  // of the reduced axes

  // The reduced elements lie side by side.
  bool has_rows() const { return shape.empty() || (shape.size() == 1 && strides[0] == 1); }
  // Neighbours belong to different results, so that whole rows of results are made at once.
  bool has_columns() const {
    return !has_rows() && !kept_shape.empty() && kept_strides.back() == 1 && kept_shape.back() > 1;
  }
};
ReducePlan plan_reduction(std::span<const int64_t> shape, std::span<const int64_t> strides,
                          const Dims& axes);

// The offset of a linear position of a strided shape, in elements.
int64_t offset_of(int64_t position, const Dims& shape, const Dims& strides);

// The dtype that a declared reduction computes in, for elements of this one.
DType reduction_loop(const Reduction& reduction, DType dtype);

// Applies a declared reduction: the elements come in its loop dtype.
Ref<RawTensor> reduce(const Op& op, const Reducible& x, DType loop, const Spec& result);

// Writes the contiguous results, `out_size` bytes each, in the order of the kept dimensions. The
// bits do not depend on the number of threads, nor on whether the elements come from memory or
// from a program.
void reduce(const Reducible& x, const Dims& axes, const ReductionKernel& kernel, char* out,
            size_t out_size);

}  // namespace tensorlike
