// Kernels that move elements, and what others need of them.
#pragma once

#include "tensor/raw_tensor.h"

namespace tensorlike {

// Writes value, broadcast, into the elements that target sees. Same dtype; only for memory that
// the caller has just made or may reuse.
void write_strided(const RawTensor& target, const RawTensor& value);

// The results of an op that has one.
inline Values one(Ref<RawTensor> value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

Ref<RawTensor> cast_if_needed(const RawTensor& x, DType dtype);

}  // namespace tensorlike
