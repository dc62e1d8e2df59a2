// Tensors of ONNX files, of which the elements lie in the message or in a file beside it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tensor/raw_tensor.h"

namespace tensorlike::onnx {

// ErrorKind::kDType where we have no such dtype; `number` is one of TensorProto.DataType.
DType dtype_of(int64_t number);

// The name of a tensor and its elements. `folder` holds the files of tensors that lie in some: they
// are plain files in it or below, with no link on the way.
std::pair<std::string, Ref<RawTensor>> read_tensor(std::string_view message,
                                                   const std::string& folder);

}  // namespace tensorlike::onnx
