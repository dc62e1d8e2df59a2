// Tensors as bytes: safetensors, https://github.com/huggingface/safetensors. A complex number is
// two real ones, along a dimension more, since the format has none.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tensor/raw_tensor.h"

namespace tensorlike {

using NamedTensors = std::map<std::string, Ref<RawTensor>>;

std::string write_tensors(const NamedTensors& tensors);

// What a file says of its tensors; they see the bytes, which must outlive it.
class TensorsInFile {
 public:
  // ErrorKind::kArgument where the bytes are no such file.
  explicit TensorsInFile(std::string_view bytes);
  // A copy of one, the same for all who ask; ErrorKind::kArgument where there is none of the name,
  // or it is of another kind.
  Ref<RawTensor> take(const std::string& name, const Spec& wanted);

 private:
  struct Entry {
    DType dtype;
    Dims shape;
    std::string_view data;
    Ref<RawTensor> copy = {};
  };
  void add(std::string name, Entry entry);

  std::map<std::string, Entry> entries_;
};

}  // namespace tensorlike
