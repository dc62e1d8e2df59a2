// Functional calls that the core has no op for.
#pragma once

#include "onnx/calls.h"

namespace tensorlike::onnx {

using Composed = Tensor (*)(Calls& calls, const Tensor& x, const NamedItems& attrs);

// Null: there is none of this name.
Composed find_composed(std::string_view name);

}  // namespace tensorlike::onnx
