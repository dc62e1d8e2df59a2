// For tests: plans of memory take in results of any size, whether anything is gained by it or not.
#pragma once

#include <atomic>

#include "memory/arena.h"

namespace tensorlike {

// Bytes of the least result that has a slice.
inline std::atomic<size_t> least_slice{kLeastSlice};
inline bool shares_all_memory() {
  return least_slice.load(std::memory_order_relaxed) != kLeastSlice;
}
// And say that nothing is read after it was made, which is wrong: it may cost memory alone.
inline std::atomic<bool> plans_are_wrong{false};

}  // namespace tensorlike
