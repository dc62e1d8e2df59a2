// The caching allocator: freed blocks wait in size classes for the next request, because fresh
// pages cost several times the arithmetic that fills them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tensorlike {

struct MemoryStats {
  size_t allocated = 0;  // bytes in use
  size_t peak = 0;       // the most that was ever in use
  size_t cached = 0;     // bytes that wait for reuse
  size_t limit = 0;      // 0: none
};

struct Block {
  void* data = nullptr;
  uint32_t size_class = 0;
};

// nullptr data when memory is exhausted or the limit is reached.
Block allocate_block(size_t bytes);
void free_block(Block block);

// The bytes that a block of this class really takes.
size_t class_bytes(uint32_t size_class);

MemoryStats memory_stats();
void reset_peak_memory();
void set_memory_limit(size_t bytes);
// For tests: the allocation after `count` more ones fails, once; a negative count takes this back.
void fail_allocation_after(int64_t count);
// For tests: memory is full of a byte that makes no sense when it is handed out.
inline std::atomic<bool> memory_is_poisoned{false};
inline constexpr int kPoison = 0xAB;
// How many allocations are left of that count.
int64_t allocations_before_failure();

// Gives everything that waits for reuse back to the system.
void empty_cache();
// The same of what small objects have left behind: after much work that is not done again.
void trim_heap();

// A per-thread pool of equal small objects (tensors, tape nodes).
template <class T, int kLimit = 256>
class ObjectPool {
 public:
  static void* take() {
    Slot* slot = head_;
    if (slot == nullptr) return ::operator new(sizeof(T));
    head_ = slot->next;
    --count_;
    return slot;
  }
  static void give(void* memory) {
    if (count_ >= kLimit) {
      ::operator delete(memory);
      return;
    }
    if (count_ == 0) watch();
    head_ = new (memory) Slot{head_};
    ++count_;
  }

 private:
  struct Slot {
    Slot* next;
  };
  // Empties the pool when its thread ends; whatever dies after that goes straight back.
  struct Watch {
    ~Watch() {
      count_ = kLimit;
      while (head_ != nullptr) {
        Slot* next = head_->next;
        ::operator delete(head_);
        head_ = next;
      }
    }
  };
  static void watch() {
    static thread_local Watch watch;
    (void)watch;
  }
  static inline thread_local Slot* head_ = nullptr;
  static inline thread_local int count_ = 0;
};

}  // namespace tensorlike
