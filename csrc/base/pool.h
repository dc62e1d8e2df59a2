// The one thread pool of the library. It exists so that every parallel loop shares the same
// threads, the same rule for nested loops, exceptions and Ctrl-C, and survives fork(), which the
// OpenMP run-times do not. A loop costs a few microseconds when the workers are still spinning.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

namespace tensorlike {

// Returns true when the user asked to stop (for Python: a signal handler raised). It is called on
// the thread that entered parallel_for, never on a worker, and must not throw.
using InterruptHook = bool (*)();

// Thrown by parallel_for and check_interrupt after the hook returned true.
struct Interrupted : std::exception {
  const char* what() const noexcept override;
};

// The number of threads that a loop may use, the caller included. The default is the smallest of
// the CPU affinity, the cgroup quota and the hardware; TENSORLIKE_NUM_THREADS overrides it.
int num_threads();

// n < 1 restores the default.
void set_num_threads(int n);

void set_interrupt_hook(InterruptHook hook);  // nullptr removes it

// While one lives, its thread is not interrupted: in what must not be left half done.
class InterruptsHeld {
 public:
  InterruptsHeld();
  ~InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;
};

// The calling thread is one of the core's own: it never polls the hook.
void become_worker();
// Whether this thread is the core's own: it never holds a lock of whoever embeds the core.
bool is_worker();

// Polls the hook, at most every 20 ms, and throws Interrupted; for long serial loops. Does nothing
// on a worker thread.
void check_interrupt();

namespace detail {

void run(void (*body)(void*, int64_t, int64_t), void* context, int64_t n, int64_t grain);

}  // namespace detail

// Calls f(begin, end) on disjoint chunks that cover [0, n), on several threads at once. A chunk has
// about `grain` indices or more, but for the last one. Runs in the calling thread alone if n <=
// grain, inside another parallel loop, and while the pool works for another thread. The first
// exception of any chunk is rethrown here after all running chunks ended; the others are skipped.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= grain) {
    if (n > 0) f(int64_t{0}, n);
    return;
  }
  using Body = std::remove_reference_t<F>;
  detail::run(
      [](void* context, int64_t begin, int64_t end) { (*static_cast<Body*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))), n, grain);
}

}  // namespace tensorlike
