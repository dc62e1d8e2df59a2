#include "memory/storage.h"

#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"
#include "memory/arena.h"
#include "memory/backend.h"
#include "memory/share_all.h"

namespace tensorlike {
namespace {

constexpr size_t kHeader = (sizeof(Storage) + 63) / 64 * 64;

class OwnKeptForms final : public KeptForms {
  Memory allocate(size_t bytes) override {
    const Block block = require_block(bytes);
    const auto give_back = [](char* memory, uint32_t size_class) {
      free_block({memory, size_class});
    };
    return {static_cast<char*>(block.data), {give_back, block.size_class}};
  }
};

}  // namespace

Block require_block(size_t bytes, size_t header) {
  const Block block = allocate_block(bytes + header);
  if (block.data != nullptr) {
    if (memory_is_poisoned.load(std::memory_order_relaxed)) {
      std::memset(block.data, kPoison, bytes + header);
    }
    return block;
  }
  const MemoryStats stats = memory_stats();
  fail(ErrorKind::kMemory, said::part("memory"), bytes, " bytes could not be had; ",
       stats.allocated, " bytes are in use",
       stats.limit != 0 && stats.limit != SIZE_MAX ? text(", the limit is ", stats.limit)
                                                   : std::string(),
       ".");
}

Ref<Storage> Storage::allocate(size_t bytes) {
  if (bytes >= least_slice.load(std::memory_order_relaxed)) {
    if (Ref<Storage> planned = ArenaRun::storage(bytes)) return planned;
  }
  const Block block = require_block(bytes, kHeader);
  char* data = static_cast<char*>(block.data) + kHeader;
  auto* storage = new (block.data) Storage(data, bytes, block.size_class);
  storage->start_owned();
  return Ref<Storage>::adopt(storage);
}

// One that stands beside its memory.
Ref<Storage> Storage::header(char* data, size_t bytes) {
  const Block block = allocate_block(kHeader);
  if (block.data == nullptr) fail(ErrorKind::kMemory, said::part("memory"), "exhausted.");
  return Ref<Storage>(new (block.data) Storage(data, bytes, block.size_class));
}

Ref<Storage> Storage::slice(Arena& arena, uint32_t number, size_t bytes) {
  Ref<Storage> storage = header(nullptr, bytes);
  storage->data_ = arena.take(number);
  if (storage->data_ == nullptr) return {};
  storage->owner_ = Owner::kArena;
  storage->arena_ = &arena;
  storage->slice_ = number;
  return storage;
}

Ref<Storage> Storage::allocate_elsewhere(size_t bytes, Device device) {
  Ref<Storage> storage = header(nullptr, bytes);
  storage->data_ = backend(device).allocate(bytes);
  storage->device_ = device;
  return storage;
}

Ref<Storage> Storage::foreign(void* data, size_t bytes, std::function<void()> give_back,
                              bool is_read_only, Device device) {
  Ref<Storage> storage = header(static_cast<char*>(data), bytes);
  storage->give_back_ = new std::function<void()>(std::move(give_back));
  storage->owner_ = Owner::kForeign;
  storage->is_read_only_ = is_read_only;
  storage->device_ = device;
  return storage;
}

Ref<Storage> Storage::constant(const Ref<Storage>& of) {
  Ref<Storage> storage = foreign(of->data(), of->bytes(), [of] {}, true, of->device());
  storage->forms_ = std::make_unique<OwnKeptForms>();
  return storage;
}

void Storage::destroy() {
  if (owner_ != Owner::kOwn) {
    if (owner_ == Owner::kArena) {
      arena_->give_back(slice_);
    } else {
      (*give_back_)();
      delete give_back_;
    }
  } else if (!device_.is_cpu()) {
    backend(device_).free(data_, bytes_);
  }
  const Block block{this, size_class_};
  this->~Storage();
  free_block(block);
}

}  // namespace tensorlike
