// A scalar function of many sets of tensors, whose results take the tensors' memory: the parameters
// of a model, say, each with its gradient and its moments. What every set has in common, numbers,
// is prepared once; a set costs little more than its loops. The results are those of `execute`.
#pragma once

#include <memory>

#include "memory/backend.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

class SetLaunch {
 public:
  // `shared`: what an argument is in every set, null where sets differ; `over`: which argument's
  // memory each result takes; `dtype`: of all that differs.
  SetLaunch(const Op& op, RawArgs shared, std::span<const int> over, DType dtype);

  DType dtype() const { return dtype_; }
  // Runs on one set: its results, in the memory of arguments that only the caller has, who holds
  // them once; `shared` ones may be null. None: it is for `execute`, since the tensors are large,
  // lie otherwise, or are not ours to write to.
  bool run(RawArgs set, Values& results);

 private:
  bool takes(RawArgs set) const;

  const DType dtype_;
  SmallVector<int, 4> differing_;  // arguments
  const SmallVector<int, 4> over_;
  std::unique_ptr<ProgramSets> program_;  // null: no set is taken
};

}  // namespace tensorlike
