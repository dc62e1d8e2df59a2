// Tensors of ONNX files, of which the elements lie in the message or in a file beside it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/raw_tensor.h"

namespace tensorlike::onnx {

// ErrorKind::kDType where we have no such dtype; `number` is one of TensorProto.DataType.
DType dtype_of(int64_t number);

// The folder of a model, with the files that tensors lie in: plain files in it or below, with no
// link on the way.
class DataFolder {
 public:
  explicit DataFolder(const std::string& path) : path_(path) {}
  const std::string& path() const { return path_; }

  // Notes that so many bytes of a file are read. Tensors may share some, but a small file must not
  // fill the memory: ErrorKind::kArgument where all of them together are its size many times over.
  void count(const std::string& location, uint64_t size, uint64_t bytes);

 private:
  const std::string& path_;
  std::map<std::string, uint64_t> read_;  // bytes by the file
};

// The name of a tensor and its elements.
std::pair<std::string, Ref<RawTensor>> read_tensor(std::string_view message, DataFolder& folder);

}  // namespace tensorlike::onnx
