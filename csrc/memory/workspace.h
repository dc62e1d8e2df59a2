// Memory of a device that a kernel needs while it runs, and that is given back when the launch is
// over. Any thread may use one of its own, whoever holds the embedder's lock.
#pragma once

#include <memory>
#include <vector>

#include "base/small_vector.h"
#include "memory/allocator.h"
#include "memory/array.h"
#include "memory/storage.h"

namespace tensorlike {

class Workspace {
 public:
  explicit Workspace(Device device = {}) : device_(device) {}
  ~Workspace() {
    for (const Block& block : blocks_) {
      if (block.data != nullptr) free_block(block);  // null: it could not be had
    }
    if (!elsewhere_.empty()) free_elsewhere();
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // `bytes` bytes, 64-byte aligned, not initialised; ErrorKind::kMemory when there are none.
  char* bytes(size_t count);
  template <class T>
  T* take(int64_t count) {
    return reinterpret_cast<T*>(bytes(static_cast<size_t>(count) * sizeof(T)));
  }
  // Elements in order, not set.
  Array array(DType dtype, Dims shape);

  // What a rule of sizes found on the way, for the kernel that runs after it.
  std::shared_ptr<void> found;

 private:
  struct Piece {
    char* data;
    size_t bytes;
  };
  void free_elsewhere() noexcept;

  const Device device_;
  SmallVector<Block, 4> blocks_;
  SmallVector<Ref<Storage>, 2> slices_;  // of the arena of the run that this is for
  std::vector<Piece> elsewhere_;         // on a device that is not the CPU
};

}  // namespace tensorlike
