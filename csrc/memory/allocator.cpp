#include "memory/allocator.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace tensorlike {
namespace {

// Eight classes per power of two, and a line for the header of what lies in a block, so that
// tensors of 2^n bytes fill theirs: at most an eighth is wasted.
constexpr int kSteps = 8;
constexpr int kFirstLog2 = 6;
constexpr size_t kHeaderRoom = 64;
constexpr size_t kMostBytes = size_t{1} << 62;  // more is nonsense, and has no class
constexpr int kClasses = (62 - kFirstLog2) * kSteps;
constexpr size_t kMapBytes = size_t{4} << 20;  // from here on: own maps, huge pages
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;
// From here on a request also takes a larger block that waits, up to twice as large.
constexpr size_t kSharedBytes = size_t{64} << 10;
constexpr size_t kCacheLimit = size_t{3} << 30;  // the most that waits for reuse

uint32_t class_of(size_t bytes) {
  bytes = std::max(bytes, kHeaderRoom + (size_t{1} << kFirstLog2)) - kHeaderRoom;
  const int log2 = std::bit_width(bytes - 1) - 1;  // 2^log2 < bytes <= 2^(log2 + 1)
  if (log2 < kFirstLog2) return 0;
  const size_t part = size_t{1} << (log2 - 3);
  const size_t step = (bytes - (size_t{1} << log2) + part - 1) / part;  // 1..8
  return static_cast<uint32_t>((log2 - kFirstLog2) * kSteps) + static_cast<uint32_t>(step);
}

size_t pages_of(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void* map_block(size_t bytes, size_t asked) {
  // Over-map by one huge page and cut the ends, so that the block starts on a 2 MB boundary. What
  // is asked for beyond the last boundary is of small pages, as is what the class has more than
  // that: a huge page would be memory for nothing.
  const size_t rounded = pages_of(bytes);
  const size_t mapped = rounded + kHugePage;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(raw);
  char* aligned = begin + (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
  char* end = begin + mapped;
  if (end > aligned + rounded) {
    munmap(aligned + rounded, static_cast<size_t>(end - (aligned + rounded)));
  }
  madvise(aligned, asked / kHugePage * kHugePage, MADV_HUGEPAGE);
  return aligned;
}

void system_free(void* data, size_t bytes) {
  if (bytes >= kMapBytes) {
    munmap(data, pages_of(bytes));
  } else {
    std::free(data);
  }
}

// A block of so many bytes, of which `asked` are used at first.
void* system_allocate(size_t bytes, size_t asked) {
  if (bytes >= kMapBytes) return map_block(bytes, asked);
  return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
}

struct ThreadCache;

struct Shared {
  std::mutex mutex;
  std::array<std::vector<void*>, kClasses + 1> free;
  std::atomic<size_t> allocated{0};
  std::atomic<size_t> peak{0};
  std::atomic<size_t> cached{0};
  // Not 0: every allocation takes the way that counts. What users set, or the most there can be.
  std::atomic<size_t> limit{0};
  std::atomic<int64_t> until_failure{-1};
  std::vector<ThreadCache*> threads;
  int64_t ended_in_use = 0;  // what ended threads took and others will give back
};

// Leaked on purpose: tensors may die after every static object. A thread that allocates while
// another one forks must not leave the child with a locked mutex.
Shared& shared() {
  static Shared* instance = [] {
    pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); },
                   [] { shared().mutex.unlock(); });
    return new Shared;
  }();
  return *instance;
}

constexpr int kSmallClasses = (12 - kFirstLog2) * kSteps + 1;  // about 4096 bytes, without a lock
constexpr size_t kPerThread = 64;

// What one thread keeps of small blocks, and how many bytes of them it has handed out (negative
// when it gave back more than it took). Only its thread writes; statistics read.
struct ThreadCache {
  std::array<std::array<void*, kPerThread>, kSmallClasses> blocks;
  std::array<size_t, kSmallClasses> count = {};
  std::atomic<int64_t> in_use{0};

  void add(int64_t bytes) {
    in_use.store(in_use.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
};

thread_local ThreadCache* thread_cache = nullptr;
thread_local bool is_thread_ending = false;

// Returns a thread's blocks when it ends.
struct ThreadWatch {
  ~ThreadWatch() {
    is_thread_ending = true;
    ThreadCache* cache = std::exchange(thread_cache, nullptr);
    Shared& s = shared();
    std::lock_guard lock(s.mutex);
    for (int c = 0; c < kSmallClasses; ++c) {
      while (cache->count[static_cast<size_t>(c)] > 0) {
        std::free(cache->blocks[static_cast<size_t>(c)][--cache->count[static_cast<size_t>(c)]]);
      }
    }
    s.ended_in_use += cache->in_use;
    std::erase(s.threads, cache);
    delete cache;
  }
};

// Null where this thread has none: blocks then come from all threads' lists. Freeing makes one,
// too, so that nothing may be thrown.
ThreadCache* make_thread_cache() {
  if (is_thread_ending) return nullptr;
  std::unique_ptr<ThreadCache> made(new (std::nothrow) ThreadCache);
  if (!made) return nullptr;
  Shared& s = shared();
  std::lock_guard lock(s.mutex);
  try {
    s.threads.push_back(made.get());
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  static thread_local ThreadWatch watch;
  (void)watch;
  thread_cache = made.release();
  return thread_cache;
}

inline ThreadCache* this_thread() {
  return thread_cache != nullptr ? thread_cache : make_thread_cache();
}

// All bytes in use; small blocks are counted per thread.
size_t total_in_use(Shared& s) {
  std::lock_guard lock(s.mutex);
  int64_t small = s.ended_in_use;
  for (const ThreadCache* cache : s.threads) small += cache->in_use.load(std::memory_order_relaxed);
  return static_cast<size_t>(static_cast<int64_t>(s.allocated.load()) + small);
}

void raise_peak(Shared& s, size_t now) {
  size_t peak = s.peak.load(std::memory_order_relaxed);
  while (now > peak && !s.peak.compare_exchange_weak(peak, now)) {
  }
}

bool fails_now(Shared& s) {
  int64_t left = s.until_failure.load(std::memory_order_relaxed);
  while (left >= 0 && !s.until_failure.compare_exchange_weak(left, left - 1)) {
  }
  if (left == 0) fail_allocation_after(-1);
  return left == 0;
}

bool count_in(size_t bytes) {
  Shared& s = shared();
  if (fails_now(s)) return false;
  s.allocated.fetch_add(bytes, std::memory_order_relaxed);
  const size_t now = total_in_use(s);
  const size_t limit = s.limit.load(std::memory_order_relaxed);
  if (limit != 0 && now > limit) {
    s.allocated.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  raise_peak(s, now);
  return true;
}

// A block that waits: of this class, or the smallest that is not much larger.
Block take_waiting(Shared& s, uint32_t size_class) {
  const uint32_t most = class_bytes(size_class) < kSharedBytes ? size_class : size_class + kSteps;
  std::lock_guard lock(s.mutex);
  for (uint32_t c = size_class; c <= std::min<uint32_t>(most, kClasses); ++c) {
    std::vector<void*>& list = s.free[c];
    if (list.empty()) continue;
    void* data = list.back();
    list.pop_back();
    s.cached.fetch_sub(class_bytes(c), std::memory_order_relaxed);
    return {data, c};
  }
  return {};
}

// False when enough waits for reuse already.
bool keep(Shared& s, void* data, uint32_t size_class) noexcept {
  const size_t size = class_bytes(size_class);
  std::lock_guard lock(s.mutex);
  if (s.cached.load(std::memory_order_relaxed) + size > kCacheLimit) return false;
  try {
    s.free[size_class].push_back(data);
  } catch (const std::bad_alloc&) {
    return false;
  }
  s.cached.fetch_add(size, std::memory_order_relaxed);
  return true;
}

}  // namespace

size_t class_bytes(uint32_t size_class) {
  if (size_class == 0) return kHeaderRoom + (size_t{1} << kFirstLog2);
  const uint32_t log2 = kFirstLog2 + (size_class - 1) / kSteps;
  return kHeaderRoom + (size_t{1} << log2) +
         (size_t{1} << (log2 - 3)) * ((size_class - 1) % kSteps + 1);
}

Block allocate_block(size_t bytes) {
  if (bytes > kMostBytes) return {};
  const uint32_t c = class_of(bytes);
  const size_t size = class_bytes(c);
  const bool is_small = c < static_cast<uint32_t>(kSmallClasses);
  Shared& s = shared();
  if (is_small && s.limit.load(std::memory_order_relaxed) == 0) {
    if (ThreadCache* cache = this_thread()) {
      cache->add(static_cast<int64_t>(size));
      if (cache->count[c] > 0) return {cache->blocks[c][--cache->count[c]], c};
      if (void* data = system_allocate(size, bytes)) return {data, c};
      cache->add(-static_cast<int64_t>(size));
    }
  }
  if (!count_in(size)) return {};
  if (const Block block = take_waiting(s, c); block.data != nullptr) {
    // Counted as the block that it is, though a limit was held against what was asked for.
    s.allocated.fetch_add(class_bytes(block.size_class) - size, std::memory_order_relaxed);
    return block;
  }
  void* data = system_allocate(size, bytes);
  if (data == nullptr) {
    empty_cache();
    data = system_allocate(size, bytes);
  }
  if (data == nullptr) s.allocated.fetch_sub(size, std::memory_order_relaxed);
  return {data, c};
}

void free_block(Block block) {
  const uint32_t c = block.size_class;
  const size_t size = class_bytes(c);
  if (c < static_cast<uint32_t>(kSmallClasses)) {
    if (ThreadCache* cache = this_thread()) {
      cache->add(-static_cast<int64_t>(size));
      if (cache->count[c] < kPerThread) {
        cache->blocks[c][cache->count[c]++] = block.data;
      } else {
        std::free(block.data);
      }
      return;
    }
  }
  Shared& s = shared();
  s.allocated.fetch_sub(size, std::memory_order_relaxed);
  if (!keep(s, block.data, c)) system_free(block.data, size);
}

MemoryStats memory_stats() {
  Shared& s = shared();
  const size_t now = total_in_use(s);
  raise_peak(s, now);
  return {now, s.peak.load(), s.cached.load(), s.limit.load()};
}

void reset_peak_memory() { shared().peak = total_in_use(shared()); }

void set_memory_limit(size_t bytes) { shared().limit = bytes; }

void fail_allocation_after(int64_t count) {
  Shared& s = shared();
  s.until_failure = count;
  if (count >= 0 && s.limit == 0) s.limit = SIZE_MAX;
  if (count < 0 && s.limit == SIZE_MAX) s.limit = 0;
}

int64_t allocations_before_failure() { return shared().until_failure; }

void trim_heap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void empty_cache() {
  Shared& s = shared();
  std::lock_guard lock(s.mutex);
  for (uint32_t c = 0; c < s.free.size(); ++c) {
    for (void* data : s.free[c]) {
      system_free(data, class_bytes(c));
      s.cached.fetch_sub(class_bytes(c), std::memory_order_relaxed);
    }
    s.free[c].clear();
    s.free[c].shrink_to_fit();
  }
}

}  // namespace tensorlike
