// Dtypes, shapes and devices of a call, as a tape writes them down. Calls come again, so that nodes
// share what is the same and copy none of it.
#pragma once

#include "tensor/value.h"

namespace tensorlike {

// What a call was applied to and what it gave.
struct CallSpec final : RefCounted {
  CallSpec(Specs inputs, Specs outputs);

  const Specs inputs;
  const Specs outputs;
  const bool has_complex;  // any of them
};

// That of a call of `op`, which is named where a value knows no shape.
Ref<const CallSpec> call_spec(const Op& op, Args inputs, std::span<const Ref<Value>> outputs);

}  // namespace tensorlike
