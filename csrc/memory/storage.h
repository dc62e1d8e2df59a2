// Where elements live. On the CPU a Storage is one block of the caching allocator with its header
// in front; elsewhere the header is alone, and the backend gives the memory. Or it is a slice of an
// arena, or foreign memory (NumPy, DLPack) with the function that gives it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/device.h"
#include "base/kept_forms.h"
#include "base/ref.h"
#include "memory/allocator.h"

namespace tensorlike {

// A block of memory, with `header` bytes more than what was asked for; ErrorKind::kMemory when
// there is none, or the limit is reached.
Block require_block(size_t bytes, size_t header = 0);

class Arena;

class Storage final : public RefCounted {
 public:
  // Memory for `bytes` bytes, 64-byte aligned, not initialised; ErrorKind::kMemory when there is
  // none, or the limit is reached.
  static Ref<Storage> allocate(size_t bytes);
  // A slice of an arena; null while something that lives overlaps it.
  static Ref<Storage> slice(Arena& arena, uint32_t number, size_t bytes);
  static Ref<Storage> allocate(size_t bytes, Device device) {
    return device.is_cpu() ? allocate(bytes) : allocate_elsewhere(bytes, device);
  }
  static Ref<Storage> foreign(void* data, size_t bytes, std::function<void()> give_back,
                              bool is_read_only, Device device = {});
  // The same memory, to which nobody writes any more, with the forms that kernels make of it.
  static Ref<Storage> constant(const Ref<Storage>& of);

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  // Foreign memory is never written over.
  bool is_owned() const { return owner_ != Owner::kForeign; }
  bool is_read_only() const { return is_read_only_; }
  KeptForms* forms() const { return forms_.get(); }

 private:
  enum class Owner : uint8_t { kOwn, kForeign, kArena };

  Storage(char* data, size_t bytes, uint32_t size_class)
      : data_(data), bytes_(bytes), size_class_(size_class) {}
  static Ref<Storage> allocate_elsewhere(size_t bytes, Device device);
  static Ref<Storage> header(char* data, size_t bytes);
  void destroy() override;

  char* data_;
  size_t bytes_;
  uint32_t size_class_;
  Device device_;
  bool is_read_only_ = false;
  Owner owner_ = Owner::kOwn;
  union {
    std::function<void()>* give_back_ = nullptr;  // of foreign memory
    Arena* arena_;
  };
  std::unique_ptr<KeptForms> forms_;  // of constants
  uint32_t slice_ = 0;                // of the arena
};

}  // namespace tensorlike
