// Which ops reduce, and how: declared reductions, and ops with a ReduceRule. Whoever computes their
// input as a program hands them that instead of elements in memory.
#pragma once

#include "tensor/reduce.h"

namespace tensorlike {

inline bool is_reducing(const Op& op) {
  return op.reduction != nullptr || op.cls.reduce != nullptr;
}

// The dtype in which the elements of an input of this dtype are reduced.
DType reduction_loop(const Op& op, DType dtype);

// The kernel for elements of this dtype.
const ReductionKernel& reduction_kernel(const Op& op, DType loop);

// A tensor's elements, converted on the way where the reduction computes in another dtype.
Reducible reducible(const RawTensor& x, const TileOperand& elements, DType loop);

// Applies a reducing op to elements of its loop dtype.
Ref<RawTensor> reduce(const Op& op, const Reducible& x, DType loop, const Spec& result);

// The same, as a kernel.
Values reduce_memory(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t reusable);

}  // namespace tensorlike
