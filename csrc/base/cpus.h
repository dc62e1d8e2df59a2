// How many CPUs the process may use at once: what the machine has is often not what it was given.
#pragma once

namespace tensorlike {

inline constexpr int kMaxThreads = 1024;

// The smallest of the CPU affinity, the cgroup quota and the hardware; TENSORLIKE_NUM_THREADS
// overrides it. From 1 to kMaxThreads.
int default_threads();

}  // namespace tensorlike
