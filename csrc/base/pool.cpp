// The thread pool behind parallel_for: one job at a time, handed out in chunks by atomic counters.
// Its whole state is one constant-initialised object without a destructor, so that there is nothing
// to race with at process exit and nothing to lock around fork().
#include "base/pool.h"

#include <pthread.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/cpus.h"
#include "base/signals.h"

#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tensorlike {
namespace {

constexpr int kSpins = 2000;
constexpr int64_t kChunksPerThread = 6;
constexpr int64_t kMostGrains = 128;          // of a chunk
constexpr int kMaxShares = 32;                // more threads than that share shares
constexpr int64_t kInlineChunk = 256 * 1024;  // how often an inline run looks for an interrupt
constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr auto kLongPiece = std::chrono::milliseconds(20);

// ---- interrupts -------------------------------------------------------------------------------

constinit std::atomic<InterruptHook> g_hook{nullptr};
constinit thread_local bool t_is_worker = false;
constinit thread_local bool t_is_inside = false;  // this thread executes a chunk of a job
constinit thread_local std::chrono::steady_clock::rep t_last_poll = 0;

constinit thread_local int t_held = 0;  // InterruptsHeld of this thread

bool is_interrupted() {
  const InterruptHook hook = g_hook.load(std::memory_order_acquire);
  if (hook == nullptr || t_is_worker || t_held > 0) return false;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (now - std::chrono::steady_clock::duration(t_last_poll) < kPollInterval) return false;
  t_last_poll = now.count();
  return hook();
}

// ---- the pool ---------------------------------------------------------------------------------

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

int current_cpu() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

// While a worker sleeps, it may not run on the CPU of the caller. In virtual machines Linux takes a
// CPU that idled for some milliseconds for one that is not there, and wakes the worker on the
// caller's CPU, to queue behind the very thread that waits for its help (measured: 2 ms and more
// until the load balancer helps; 15 us with this). The CPUs of the main thread, which nobody here
// touches, are those that a worker gets back.
#ifdef __linux__
void allow_cpus(pid_t thread, int but_not) {
  cpu_set_t cpus;
  if (sched_getaffinity(getpid(), sizeof(cpus), &cpus) != 0) return;
  if (but_not >= 0 && but_not < CPU_SETSIZE) CPU_CLR(static_cast<size_t>(but_not), &cpus);
  if (CPU_COUNT(&cpus) > 0) sched_setaffinity(thread, sizeof(cpus), &cpus);
}
pid_t thread_id() { return static_cast<pid_t>(syscall(SYS_gettid)); }
#else
void allow_cpus(pid_t, int) {}
pid_t thread_id() { return 0; }
#endif

// A job lives on the stack of the caller. Each thread has a share of its own, which it takes chunk
// by chunk from the front, and helps the others when it is done. So a loop over the same range
// finds its part of memory in the cache of the core that touched it last, and a thread that comes
// late holds nobody up.
struct Job {
  void (*body)(void*, int64_t, int64_t);
  void* context;
  int64_t n;
  int64_t grain;
  int64_t chunk;
  int shares;
  std::atomic<bool> is_stopped{false};
  std::atomic<bool> has_error{false};
  std::exception_ptr error{};
  struct alignas(64) Next {
    std::atomic<int64_t> chunk;
  };
  Next next[kMaxShares];

  Job(void (*run)(void*, int64_t, int64_t), void* with, int64_t size, int64_t least, int64_t step,
      int threads)
      : body(run), context(with), n(size), grain(least), chunk(step) {
    shares = static_cast<int>(std::min<int64_t>({threads, chunks(), kMaxShares}));
    for (int i = 0; i < shares; ++i) next[i].chunk.store(first(i), std::memory_order_relaxed);
  }

  int64_t chunks() const { return (n - 1) / chunk + 1; }
  int64_t first(int share) const { return share * chunks() / shares; }

  void fail(std::exception_ptr cause) {
    if (!has_error.exchange(true)) error = std::move(cause);
    is_stopped.store(true, std::memory_order_relaxed);
  }

  void work(int thread) {
    try {
      int64_t piece = chunk;
      for (int i = 0; i < shares; ++i) work_on((thread + i) % shares, piece);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void work_on(int share, int64_t& piece) {
    const int64_t end = first(share + 1);
    while (!is_stopped.load(std::memory_order_relaxed)) {
      const int64_t at = next[share].chunk.fetch_add(1, std::memory_order_relaxed);
      if (at >= end) return;
      if (at > 0 && is_interrupted()) throw Interrupted();
      work_through(at * chunk, std::min((at + 1) * chunk, n), piece);
    }
  }

  // Where chunks take long they are worked through in pieces, so that an interrupt and other
  // threads' errors are seen between these. How long a piece may be is known from those before.
  void work_through(int64_t begin, int64_t end, int64_t& piece) {
    for (;;) {
      const int64_t stop = end - begin < piece + grain ? end : begin + piece;
      const auto start = std::chrono::steady_clock::now();
      body(context, begin, stop);
      const auto took = std::chrono::steady_clock::now() - start;
      if (took > kLongPiece) {
        const double part = std::chrono::duration<double>(kLongPiece) / (2 * took);
        piece = std::max(grain, static_cast<int64_t>(static_cast<double>(stop - begin) * part));
        if (piece > 64) piece = (piece + 63) / 64 * 64;  // no two share a cache line
      }
      if (stop == end || is_stopped.load(std::memory_order_relaxed)) return;
      if (is_interrupted()) throw Interrupted();
      begin = stop;
    }
  }
};

// `gate_` counts the workers inside the job in its low half and holds in its high half how many may
// come in: 0 closes it. So a caller waits only for the workers that took part, never for one that
// the system has not yet woken.
class Pool {
 public:
  int threads() {
    int threads = threads_.load(std::memory_order_relaxed);
    if (threads == 0) {
      threads = default_threads();
      int unset = 0;
      if (!threads_.compare_exchange_strong(unset, threads)) threads = unset;
    }
    return threads;
  }

  void set_threads(int n) { threads_.store(n < 1 ? default_threads() : std::min(n, kMaxThreads)); }

  // False: the pool works for another thread, nothing was done.
  bool try_run(Job& job, int threads) {
    if (is_busy_.exchange(true, std::memory_order_acquire)) return false;
    const int helpers = static_cast<int>(std::min<int64_t>(threads - 1, job.chunks() - 1));
    hire(helpers);
    job_ = &job;
    follow_caller();
    gate_.store(static_cast<uint32_t>(helpers) << kLimitShift, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_release);
    if (helpers >= workers_) {
      epoch_.notify_all();
    } else {
      for (int i = 0; i < helpers; ++i) epoch_.notify_one();
    }
    t_is_inside = true;
    job.work(0);
    t_is_inside = false;
    wait_for_helpers();
    is_busy_.store(false, std::memory_order_release);
    return true;
  }

  void forget_workers() {  // in a forked child, which has none of its parent's threads
    workers_ = 0;
    for (auto& follower : followers_) follower = 0;
    gate_.store(0);
    is_busy_.store(false);
  }

 private:
  static constexpr int kLimitShift = 16;
  static constexpr uint32_t kInsideMask = 0xffff;
  static constexpr int kFollowers = 8;

  void hire(int wanted) {  // is_busy_ is held, so nobody else hires
    if (workers_ >= wanted) return;
    if (!is_fork_safe_) {
      is_fork_safe_ = true;
      pthread_atfork(nullptr, nullptr, [] { pool().forget_workers(); });
    }
    const SignalsBlocked blocked;
    try {
      while (workers_ < wanted) {
        std::thread([this, seen = epoch_.load(), index = workers_] {
          if (index < kFollowers) followers_[index] = thread_id();
          serve(seen, index + 1);
        }).detach();
        ++workers_;
      }
    } catch (const std::system_error&) {  // out of threads: fewer must do
    } catch (const std::bad_alloc&) {
    }
  }

  // The caller has moved, perhaps to the one CPU where a sleeping worker may run. A big pool has
  // CPUs enough, and would need too many system calls.
  void follow_caller() {
    const int cpu = current_cpu();
    const int before = caller_cpu_.exchange(cpu, std::memory_order_relaxed);
    if (cpu == before || workers_ > kFollowers) return;
    for (const auto& follower : followers_) {
      if (const pid_t thread = follower.load(std::memory_order_relaxed)) allow_cpus(thread, cpu);
    }
  }

  void wait_for_helpers() {
    uint32_t inside = gate_.fetch_and(kInsideMask, std::memory_order_acq_rel) & kInsideMask;
    for (int spin = 0; inside != 0 && spin < kSpins; ++spin) {
      pause();
      inside = gate_.load(std::memory_order_acquire);
    }
    while (inside != 0) {
      gate_.wait(inside, std::memory_order_acquire);
      inside = gate_.load(std::memory_order_acquire);
    }
  }

  bool enter() {
    uint32_t gate = gate_.load(std::memory_order_acquire);
    while ((gate & kInsideMask) < gate >> kLimitShift) {
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void leave() {
    if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) gate_.notify_all();
  }

  [[noreturn]] void serve(uint32_t seen, int thread) {
    t_is_worker = true;
    t_is_inside = true;
    for (;;) {
      for (int spin = 0; epoch_.load(std::memory_order_acquire) == seen && spin < kSpins; ++spin) {
        pause();
      }
      if (epoch_.load(std::memory_order_acquire) == seen) {
        allow_cpus(0, caller_cpu_.load(std::memory_order_relaxed));
        epoch_.wait(seen, std::memory_order_acquire);
        allow_cpus(0, -1);
      }
      seen = epoch_.load(std::memory_order_acquire);
      if (enter()) {
        job_->work(thread);
        leave();
      }
    }
  }

  static Pool& pool();

  std::atomic<int> threads_{0};
  std::atomic<bool> is_busy_{false};
  std::atomic<int> caller_cpu_{-1};
  std::atomic<pid_t> followers_[kFollowers]{};  // the first workers
  int workers_ = 0;                             // guarded by is_busy_, as are the next two
  bool is_fork_safe_ = false;
  Job* job_ = nullptr;
  alignas(64) std::atomic<uint32_t> gate_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};
};

constinit Pool g_pool;
static_assert(std::is_trivially_destructible_v<Pool>, "workers outlive static destruction");

Pool& Pool::pool() { return g_pool; }

// Of many small indices all threads get as much, in chunks that don't share a cache line, whatever
// the element size.
int64_t chunk_of(int64_t n, int64_t grain, int threads) {
  const int64_t even_share = (n - 1) / (threads * kChunksPerThread) + 1;
  const int64_t chunk = std::max(grain, std::min(even_share, grain * kMostGrains));
  if (chunk < 1024) return chunk;
  const int64_t chunks = (n - 1) / chunk + 1;
  const int64_t even = chunks > threads ? chunks - chunks % threads : chunks;
  return ((n - 1) / even + 64) / 64 * 64;
}

void run_inline(void (*body)(void*, int64_t, int64_t), void* context, int64_t n, int64_t grain) {
  const int64_t chunk = std::max(grain, kInlineChunk);
  for (int64_t begin = 0; begin < n; begin += chunk) {
    if (begin > 0) check_interrupt();
    body(context, begin, std::min(begin + chunk, n));
  }
}

}  // namespace

const char* Interrupted::what() const noexcept { return "interrupted"; }

int num_threads() { return g_pool.threads(); }

void set_num_threads(int n) { g_pool.set_threads(n); }

void set_interrupt_hook(InterruptHook hook) { g_hook.store(hook, std::memory_order_release); }

InterruptsHeld::InterruptsHeld() { ++t_held; }
InterruptsHeld::~InterruptsHeld() { --t_held; }

void become_worker() { t_is_worker = true; }
bool is_worker() { return t_is_worker; }

void check_interrupt() {
  if (is_interrupted()) throw Interrupted();
}

namespace detail {

void run(void (*body)(void*, int64_t, int64_t), void* context, int64_t n, int64_t grain) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int threads = n <= grain || t_is_inside ? 1 : g_pool.threads();
  if (threads > 1) {
    Job job(body, context, n, grain, chunk_of(n, grain, threads), threads);
    if (job.shares > 1 && g_pool.try_run(job, threads)) {
      if (job.error) std::rethrow_exception(job.error);
      return;
    }
  }
  run_inline(body, context, n, grain);
}

}  // namespace detail
}  // namespace tensorlike
