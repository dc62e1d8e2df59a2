#include "memory/workspace.h"

#include <utility>

#include "memory/arena.h"
#include "memory/backend.h"

namespace tensorlike {

char* Workspace::bytes(size_t count) {
  if (!device_.is_cpu()) {
    elsewhere_.push_back({nullptr, 0});
    elsewhere_.back() = {backend(device_).allocate(count), count};
    return elsewhere_.back().data;
  }
  if (Ref<Storage> slice = ArenaRun::scratch(count)) {
    slices_.push_back(std::move(slice));
    return slices_[slices_.size() - 1]->data();
  }
  blocks_.push_back({});  // before there is something to lose
  const Block block = require_block(count);
  blocks_[blocks_.size() - 1] = block;
  return static_cast<char*>(block.data);
}

void Workspace::free_elsewhere() noexcept {
  for (const Piece& piece : elsewhere_) {
    if (piece.data != nullptr) backend(device_).free(piece.data, piece.bytes);
  }
}

Array Workspace::array(DType dtype, Dims shape) {
  Array made(dtype, std::move(shape), nullptr);
  made.device = device_;
  made.data = bytes(static_cast<size_t>(made.count) * size_of(dtype));
  return made;
}

}  // namespace tensorlike
