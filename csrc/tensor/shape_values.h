// Inference by applying: to tensor-likes that have a shape and a dtype, and no elements.
#pragma once

#include "tensor/value.h"

namespace tensorlike {

// The specs of what `applied` gives for ShapeTensors of these inputs.
template <class Applied>
Specs specs_on_shapes(const Op& op, std::span<const Spec> inputs, Applied&& applied) {
  Values held;
  SmallVector<Value*, 4> args;
  for (const Spec& input : inputs) {
    held.push_back(make_ref<ShapeTensor>(input));
    args.push_back(held.back().get());
  }
  Specs specs;
  for (const Ref<Value>& value : applied(Args(args.data(), args.size()))) {
    specs.push_back(spec_of(op.name(), *value));
  }
  return specs;
}

}  // namespace tensorlike
