#include "memory/workspace.h"

#include "memory/storage.h"

namespace tensorlike {

bool lies_in_order(const Dims& shape, const Dims& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

char* Workspace::bytes(size_t count) {
  blocks_.push_back({});  // before there is something to lose
  const Block block = require_block(count);
  blocks_[blocks_.size() - 1] = block;
  return static_cast<char*>(block.data);
}

Array Workspace::array(DType dtype, Dims shape) {
  Array made(dtype, std::move(shape), nullptr);
  made.data = bytes(static_cast<size_t>(made.count) * size_of(dtype));
  return made;
}

}  // namespace tensorlike
