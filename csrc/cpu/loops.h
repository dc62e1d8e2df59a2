// What the CPU has compiled ahead of time, found by the names of declarations.
#pragma once

#include "kernels/kernel_table.h"
#include "op/op.h"

namespace tensorlike {

struct ScalarLoops {
  // By the dtype that all arguments have: the one loop that computes the whole, where there is
  // one, and the dtype of its result.
  struct Whole {
    TileKernel loop = nullptr;
    DType result = DType::kBool;
  };
  ByDType<Whole> whole;
  ByDType<TileKernel> loops;
  ByDType<NumberLoops> numbers;
};

struct ReductionLoops {
  ByDType<ReductionKernel> kernels;
};

// An op that reduces its one input over the axes that its attribute `axis` names.
struct ReduceRule {
  const ReductionKernel& (*kernel)(DType loop) = nullptr;
  // The dtype of what the kernel gives; what is done to `count` elements' results, in their place
  // (null: nothing).
  DType (*found)(DType loop) = nullptr;
  void (*finish)(const Op& op, const Array& found, int64_t count) = nullptr;
};
const ReduceRule* find_reduce(std::string_view name);

// Fill in what was compiled for a declaration.
void find_loops(Scalar& scalar);
void find_loops(Reduction& reduction);
KernelRule find_kernel(OpClass& cls);

}  // namespace tensorlike
