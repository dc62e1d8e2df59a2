// The caching allocator: freed blocks wait in size classes for the next request, because fresh
// pages cost several times the arithmetic that fills them.
#pragma once

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
// Gives everything that waits for reuse back to the system.
void empty_cache();

// A per-thread pool of equal small objects (tensors, tape nodes).
template <class T, int kLimit = 256>
class ObjectPool {
 public:
  static void* take() {
    Free& free = list();
    if (free.head == nullptr) return ::operator new(sizeof(T));
    Slot* slot = free.head;
    free.head = slot->next;
    --free.count;
    return slot;
  }
  static void give(void* memory) {
    Free& free = list();
    if (free.count >= kLimit) {
      ::operator delete(memory);
      return;
    }
    free.head = new (memory) Slot{free.head};
    ++free.count;
  }

 private:
  struct Slot {
    Slot* next;
  };
  struct Free {
    Slot* head = nullptr;
    int count = 0;
    ~Free() {
      count = kLimit;  // whatever dies after this thread's pool goes straight back
      while (head != nullptr) {
        Slot* next = head->next;
        ::operator delete(head);
        head = next;
      }
    }
  };
  static Free& list() {
    static thread_local Free free;
    return free;
  }
};

}  // namespace tensorlike
