// What a model is fed, held against what it says of its inputs.
#pragma once

#include "onnx/build.h"

namespace tensorlike::onnx {

// ErrorKind::kArgument for what is no input, those that the model fills among them;
// ErrorKind::kShape for other sizes than those that the model knows.
void check_fed(const Graph& graph, const Fed& fed);

}  // namespace tensorlike::onnx
