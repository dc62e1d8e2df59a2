// Which ops reduce, and how: declared reductions, and ops with a ReduceRule. Whoever computes their
// input as a program hands them that instead of elements in memory.
#pragma once

#include "cpu/reduce.h"
#include "memory/backend.h"
#include "memory/workspace.h"
#include "op/op.h"

namespace tensorlike {

inline bool is_reducing(const Op& op) {
  return op.reduction != nullptr || op.cls.reduce != nullptr;
}

// The dtype in which the elements of an input of this dtype are reduced.
DType reduction_loop(const Op& op, DType dtype);

// The kernel for elements of this dtype.
const ReductionKernel& reduction_kernel(const Op& op, DType loop);

// Elements in memory, converted on the way where the reduction computes in another dtype.
Reducible reducible(const Array& x, DType loop);
// What a chain computes.
Reducible reducible(const Feed& feed);

// Applies a reducing op to elements of its loop dtype.
void reduce(const Op& op, const Reducible& x, DType loop, const Array& out, Workspace& workspace);

// The same, as a kernel.
void reduce_memory(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace);

}  // namespace tensorlike
