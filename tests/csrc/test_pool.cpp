// Tests the thread pool: every index exactly once, nested loops, exceptions, interrupts, several
// calling threads, use in a forked child, and changes of the number of threads. A hang is a
// failure, too: an alarm ends the program.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/pool.h"

namespace {

using tensorlike::parallel_for;

int g_failures = 0;

void expect(bool is_ok, const char* what) {
  if (is_ok) return;
  ++g_failures;
  std::printf("FAILED: %s\n", what);
}

bool covers_once(int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
  std::atomic<bool> is_small{false};
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    if (end - begin < grain && end != n) is_small = true;
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (const auto& count : seen) {
    if (count != 1) return false;
  }
  return !is_small;
}

void test_every_index_is_visited_once() {
  for (const int threads : {1, 2, 3, 8}) {
    tensorlike::set_num_threads(threads);
    expect(tensorlike::num_threads() == threads, "set_num_threads is read back");
    for (const int64_t n : {0, 1, 2, 7, 64, 1000, 4097, 100003, 700001}) {
      for (const int64_t grain : {1, 3, 100, 5000}) {
        expect(covers_once(n, grain), "chunks cover [0, n) once and are not too small");
      }
    }
  }
}

void test_many_short_loops() {
  tensorlike::set_num_threads(4);
  int64_t total = 0;
  for (int round = 0; round < 20000; ++round) {
    std::atomic<int64_t> sum{0};
    parallel_for(16, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    total += sum;
  }
  expect(total == 16 * 20000, "short loops one after the other");
}

void test_nested_loops_run_inline() {
  tensorlike::set_num_threads(4);
  std::atomic<int64_t> sum{0};
  std::atomic<bool> is_other_thread{false};
  parallel_for(40, 1, [&](int64_t begin, int64_t end) {
    const auto self = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i) {
      parallel_for(1000, 10, [&](int64_t first, int64_t last) {
        if (std::this_thread::get_id() != self) is_other_thread = true;
        sum += last - first;
      });
    }
  });
  expect(sum == 40000, "nested loops do all the work");
  expect(!is_other_thread, "nested loops stay in their thread");
}

void test_the_first_exception_reaches_the_caller() {
  for (const int threads : {1, 4}) {
    tensorlike::set_num_threads(threads);
    for (int round = 0; round < 200; ++round) {
      std::string text;
      try {
        parallel_for(1000, 1, [&](int64_t begin, int64_t end) {
          if (begin <= 500 && 500 < end) throw std::runtime_error("chunk of 500");
        });
      } catch (const std::runtime_error& error) {
        text = error.what();
      }
      expect(text == "chunk of 500", "an exception is rethrown in the caller");
    }
    expect(covers_once(1000, 1), "the pool works after an exception");
  }
}

void test_several_callers() {
  tensorlike::set_num_threads(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  expect(sum == 4 * 500 * 100, "several callers at once");
}

// True if a forked child passes `check`; a hanging child is ended by its alarm.
template <class F>
bool passes_in_child(F check) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void test_a_forked_child_makes_its_own_workers() {
#ifdef __SANITIZE_THREAD__
  return;  // which makes no threads in a child of a process that has some
#endif
  tensorlike::set_num_threads(4);
  expect(covers_once(10000, 1), "before fork");
  for (int round = 0; round < 20; ++round) {
    expect(passes_in_child([] { return covers_once(10000, 1) && covers_once(300, 1); }),
           "in a forked child");
    expect(covers_once(10000, 1), "in the parent after fork");
  }
  std::atomic<bool> is_done{false};  // fork while another thread keeps the pool busy
  std::thread busy([&] {
    while (!is_done) covers_once(20000, 1);
  });
  for (int round = 0; round < 20; ++round) {
    // No vectors here: another thread may have held the allocator's lock (glibc copes, others may
    // not), and that is not what this is about.
    expect(passes_in_child([] {
             std::atomic<int64_t> sum{0};
             parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
             return sum == 1000;
           }),
           "in a child forked from a busy pool");
  }
  is_done = true;
  busy.join();
  // A child that ends by exit() runs the exit handlers and must not wait for threads it lacks.
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::exit(covers_once(1000, 1) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child leaves through exit()");
}

std::atomic<bool> g_wants_stop{false};
std::atomic<int> g_polls{0};

void spend(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

void test_an_interrupt_skips_the_rest() {
  tensorlike::set_interrupt_hook([] {
    ++g_polls;
    return g_wants_stop.load();
  });
  for (const int threads : {1, 3}) {
    tensorlike::set_num_threads(threads);
    g_wants_stop = false;
    g_polls = 0;
    const int64_t step = threads == 1 ? 256 * 1024 : 1;  // what an inline run polls after
    std::atomic<int64_t> done{0};
    const auto body = [&](int64_t begin, int64_t end) {
      spend(std::chrono::milliseconds(2) * ((end - begin) / step));
      done += end - begin;
    };
    const auto start = std::chrono::steady_clock::now();
    parallel_for(60 * step, step, body);
    const auto intervals =
        (std::chrono::steady_clock::now() - start) / std::chrono::milliseconds(20);
    expect(done == 60 * step, "nothing is skipped without an interrupt");
    expect(g_polls >= 1 && g_polls <= intervals + 1, "the hook is polled at most every 20 ms");
    g_wants_stop = true;
    done = 0;
    spend(std::chrono::milliseconds(25));
    bool is_thrown = false;
    try {
      parallel_for(60 * step, step, body);
    } catch (const tensorlike::Interrupted&) {
      is_thrown = true;
    }
    expect(is_thrown, "Interrupted reaches the caller");
    expect(done < 60 * step, "the remaining chunks are skipped");
    spend(std::chrono::milliseconds(25));
    is_thrown = false;
    try {
      tensorlike::check_interrupt();
    } catch (const tensorlike::Interrupted&) {
      is_thrown = true;
    }
    expect(is_thrown, "check_interrupt throws");
  }
  tensorlike::set_interrupt_hook(nullptr);
  expect(covers_once(100000, 1), "the pool works after an interrupt");
}

// Each thread finds out with its first chunk that chunks take long.
void test_long_chunks_are_worked_through_in_pieces() {
  tensorlike::set_num_threads(2);
  constexpr auto kEach = std::chrono::microseconds(300);
  std::mutex mutex;
  std::vector<std::thread::id> known;
  int64_t longest = 0;
  int64_t visited = 0;
  tensorlike::parallel_for(1200, 1, [&](int64_t begin, int64_t end) {
    const auto until = std::chrono::steady_clock::now() + (end - begin) * kEach;
    while (std::chrono::steady_clock::now() < until) {
    }
    const std::lock_guard lock(mutex);
    visited += end - begin;
    const auto self = std::this_thread::get_id();
    if (std::find(known.begin(), known.end(), self) == known.end()) {
      known.push_back(self);
    } else {
      longest = std::max(longest, end - begin);
    }
  });
  expect(visited == 1200, "every index is visited, in pieces too");
  expect(longest <= 50, "pieces of a loop whose chunks take long are short");
}

void test_workers_block_signals() {
  tensorlike::set_num_threads(3);
  const auto self = std::this_thread::get_id();
  std::atomic<int> workers{0}, open{0};
  for (int round = 0; round < 100 && workers == 0; ++round) {
    parallel_for(30, 1, [&](int64_t, int64_t) {
      spend(std::chrono::microseconds(300));
      if (std::this_thread::get_id() == self) return;
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      ++workers;
      if (sigismember(&mask, SIGINT) != 1 || sigismember(&mask, SIGTERM) != 1) ++open;
    });
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  expect(workers > 0, "a worker took part");
  expect(open == 0, "workers block signals");
  expect(sigismember(&mask, SIGINT) == 0, "the caller's mask is as before");
}

}  // namespace

int main() {
  alarm(120);
  tensorlike::set_num_threads(0);
  expect(tensorlike::num_threads() >= 1, "there is a default number of threads");
  test_every_index_is_visited_once();
  test_many_short_loops();
  test_nested_loops_run_inline();
  test_the_first_exception_reaches_the_caller();
  test_several_callers();
  test_a_forked_child_makes_its_own_workers();
  test_an_interrupt_skips_the_rest();
  test_long_chunks_are_worked_through_in_pieces();
  test_workers_block_signals();
  std::printf("test_pool: %d failures\n", g_failures);
  return g_failures == 0 ? 0 : 1;
}
