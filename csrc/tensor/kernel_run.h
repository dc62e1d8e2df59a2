// One launch of an op that has a kernel: what it needs, in order. The launch of every mode goes
// through it; inference has run before.
#pragma once

#include <algorithm>
#include <vector>

#include "memory/workspace.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

// The results that are views of the first input; none where strides cannot say it.
Values views_of(const Op& op, RawArgs inputs, const Specs& specs);
// Whether its memory may become a result's: ours, and held by nobody else.
bool is_ours(const RawTensor& x, int64_t holds);
// x through a view; x itself where that says no more.
Ref<Value> seen_through(RawTensor& x, const View& view);
// Which of the `available` inputs each result is written over; -1: none.
SmallVector<int, 2> written_over(const Op& op, Arrays inputs, const Specs& specs,
                                 uint32_t available);
// Of each result, all inputs over which it may be written.
SmallVector<uint32_t, 2> overwritable(const Op& op, Arrays inputs, const Specs& specs);
// Whether the op may write over an input while it reads the others: what is elementwise has read an
// element before it writes there; all others must not be given the same tensor twice.
template <class Inputs>
bool may_overwrite(const Op& op, const Inputs& inputs, size_t i) {
  return op.scalar != nullptr || std::count(inputs.begin(), inputs.end(), inputs[i]) == 1;
}
// Which of the donated inputs nobody else has, nor another argument.
uint32_t reusable(const Op& op, RawArgs inputs, uint32_t donated, int64_t holds);
// A result that is written over x: x itself, where it says the same.
Ref<RawTensor> over_tensor(const Spec& spec, RawTensor& x);
// Tensors whose elements are not set, of known sizes. `donated` and `holds` as for `execute`: an
// input that nobody else has gives its memory.
Values place_results(const Op& op, RawArgs inputs, const Specs& specs, uint32_t donated,
                     int64_t holds);
// The strides of a result whose memory is asked for: beside the operands of elementwise work (see
// memory/layout.h), as the op's `order` says, else in order.
Dims result_strides(const Op& op, Arrays inputs, const Spec& spec);

class KernelRun {
 public:
  // Brings the inputs into the dtype and the order that the declaration asks for. `specs` are
  // what was inferred; they may leave sizes open.
  KernelRun(const Op& op, Arrays inputs, const Specs& specs, Workspace& workspace);
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  // Sets the sizes that depend on elements.
  void find_sizes(Specs& specs);
  // Fills the outputs, of the inferred dtypes and shapes.
  void run(Arrays outputs);
  // Whether the kernel takes the inputs and fills the outputs as they are.
  bool is_direct(Arrays outputs) const { return prepared_.empty() && !converts(outputs); }

 private:
  bool converts(Arrays outputs) const;
  void launch(Arrays outputs);

  const Op& op_;
  Workspace& workspace_;
  std::vector<Array> prepared_;  // none for most ops
  SmallVector<const Array*, 4> inputs_;
};

// Computes outputs that have memory, whatever kind of op it is: a scalar function, a reduction, or
// one with a kernel that runs on arrays. On any thread.
void compute(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace);

// Throws what is being handled; memory that was not to be had is told in the op's name, since
// memory knows no ops.
[[noreturn]] void fail_for(const Op& op, const Error& error);

// Whether `compute` can, on a device.
inline bool is_computed(const Op& op, Device device) {
  return op.scalar != nullptr || op.reduction != nullptr || op.cls.kernel(device).run != nullptr;
}

}  // namespace tensorlike
