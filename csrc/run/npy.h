// Arrays in NumPy's own files, .npy.
#pragma once

#include <string>

#include "tensor/raw_tensor.h"

namespace tensorlike::run {

// ErrorKind::kArgument where it is no such file, or one of a dtype that we have not.
Ref<RawTensor> read_npy(const std::string& path);
void write_npy(const std::string& path, const RawTensor& x);

}  // namespace tensorlike::run
