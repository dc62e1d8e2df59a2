// Tests the engine without Python: every mode gives the bits of sync, what nobody holds gives its
// memory back, failures come at the wait, and threads, forks and the end find it usable. A mutex
// plays the part of Python's lock, under Python's rules.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/blocking.h"
#include "base/place.h"
#include "base/pool.h"
#include "engine/async.h"
#include "engine/engine.h"
#include "memory/allocator.h"
#include "tape/gradient.h"

namespace tensorlike {
namespace {

std::atomic<int> failures{0};

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}

// ---- the embedder -----------------------------------------------------------------------------

std::mutex embedder;
thread_local bool holds_embedder = false;

void* take_embedder() {
  if (holds_embedder) return nullptr;
  embedder.lock();
  holds_embedder = true;
  return &embedder;
}

void* leave_embedder() {
  if (!holds_embedder) return nullptr;
  holds_embedder = false;
  embedder.unlock();
  return &embedder;
}

void start_embedder() {
  references_are_guarded = true;
  blocking_hooks = {leave_embedder, [](void*) { take_embedder(); }};
  embedder_hooks = {take_embedder, [](void* taken) {
                      if (taken != nullptr) leave_embedder();
                    }};
  user_line = [] { return std::string("model.py:7"); };
}

void set_mode(EngineMode mode) {
  EngineOptions options;
  options.mode = mode;
  options.threshold = 1;
  set_engine_options(options);
}

constexpr EngineMode kModes[] = {EngineMode::kSync, EngineMode::kAsync, EngineMode::kLazy};

// ---- programs ---------------------------------------------------------------------------------

Ref<RawTensor> random_tensor(Dims shape, std::minstd_rand& random) {
  Ref<RawTensor> made = RawTensor::empty(DType::kFloat32, std::move(shape));
  for (int64_t i = 0; i < made->count; ++i) {
    made->as<float>()[i] = 0.5F + 1e-3F * static_cast<float>(random() % 1000);
  }
  return made;
}

std::vector<float> elements(const Ref<Value>& value) {
  const RawTensor& x = static_cast<RawTensor*>(value.get())->ready("the test reads");
  const Ref<RawTensor> whole = contiguous(x);
  return {whole->as<float>(), whole->as<float>() + whole->count};
}

// A random straight-line program; what it holds at the end.
std::vector<std::vector<float>> run_program(unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<Ref<Value>> values;
  for (const Dims& shape : {Dims{60, 400}, Dims{400}, Dims{60, 1}}) {
    values.push_back(random_tensor(shape, random));
  }
  const char* const unary[] = {"exp", "tanh", "abs", "negative", "sigmoid"};
  const char* const binary[] = {"add", "subtract", "multiply", "maximum"};
  for (int step = 0; step < 20; ++step) {
    const Ref<Value> x = values[random() % values.size()];
    const Ref<Value> y = values[random() % values.size()];
    Ref<Value> z;
    switch (random() % 4) {
      case 0:
        z = call(unary[random() % 5], {x.get()});
        break;
      case 1:
        z = call("sum", {x.get()}, {{"axis", int64_t{-1}}, {"keepdims", true}});
        break;
      default:
        z = call(binary[random() % 4], {x.get(), y.get()});
    }
    values.push_back(call("tanh", {z.get()}));
    if (values.size() > 8) values.erase(values.begin() + 3 + static_cast<long>(random() % 4));
  }
  std::vector<std::vector<float>> out;
  for (const Ref<Value>& value : values) out.push_back(elements(value));
  return out;
}

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    if (std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) return false;
  }
  return true;
}

// ---- tests ------------------------------------------------------------------------------------

// Without an embedder references are counted atomically, and launches at once are free-threaded.
void test_threads_without_an_embedder() {
  std::minstd_rand random(1);
  const Ref<Value> shared = random_tensor({300, 300}, random);
  const std::vector<float> wanted = elements(call("exp", {shared.get()}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const Ref<Value> held = shared;
        expect(elements(call("exp", {held.get()})) == wanted, "threads without an embedder");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void test_modes_agree_to_the_bit() {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    set_mode(EngineMode::kSync);
    const auto wanted = run_program(seed);
    for (const EngineMode mode : {EngineMode::kAsync, EngineMode::kLazy}) {
      set_mode(mode);
      expect(same_bits(run_program(seed), wanted), "a mode has the bits of sync");
    }
  }
  set_mode(EngineMode::kSync);
}

void test_what_is_dropped_gives_its_memory_back() {
  std::minstd_rand random(2);
  const Ref<Value> x = random_tensor({100, 100}, random);
  for (const EngineMode mode : kModes) {
    set_mode(mode);
    const size_t before = memory_stats().allocated;
    {
      Ref<Value> y = x;
      for (int i = 0; i < 3000; ++i) {
        y = call(i % 9 == 8 ? "exp" : "tanh", {y.get()});
        call("sum", {y.get()});  // nobody asks for it
      }
    }
    if (mode == EngineMode::kLazy) expect(waiting_ops().empty(), "nothing waits for nobody");
    finish_all("the test ends");
    // A program prepared for the first time stays, and is no tensor's memory.
    expect(memory_stats().allocated <= before, "dropped tensors give their memory back");
  }
  set_mode(EngineMode::kSync);
}

// What `f` throws, as text.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void test_a_failure_comes_at_the_wait_and_cancels_what_needs_it() {
  std::minstd_rand random(3);
  const Ref<Value> x = random_tensor({100, 3}, random);
  Ref<RawTensor> index = RawTensor::empty(DType::kInt64, {2});
  index->as<int64_t>()[0] = 5;
  index->as<int64_t>()[1] = 1000;
  set_mode(EngineMode::kAsync);
  for (int round = 0; round < 200; ++round) {
    const Ref<Value> picked =
        call("gather", {x.get(), index.get()}, {{"axes", std::vector<int64_t>{0}}});
    const Ref<Value> after = call("exp", {picked.get()});
    const Ref<Value> other = call("exp", {x.get()});
    expect(elements(other).size() == 300, "what does not need it is there");
    const std::string text = error_of([&] { elements(after); });
    expect(text.find("ather") != std::string::npos && text.find("1000") != std::string::npos &&
               text.find("model.py:7") != std::string::npos,
           "the error names the op, what was wrong, and the line");
    expect(error_of([&] { finish_all("the test asks"); }).empty(), "nobody is told twice");
    expect(error_of([&] { finish_all("the test asks"); }).empty(), "once");
  }
  // Failures that nobody asks about hold nothing, and stop nothing.
  const size_t before = memory_stats().allocated;
  for (int i = 0; i < 3000; ++i) {
    call("gather", {x.get(), index.get()}, {{"axes", std::vector<int64_t>{0}}});
  }
  expect(!error_of([&] { set_mode(EngineMode::kSync); }).empty(), "the mode's end tells");
  expect(engine_options().mode == EngineMode::kSync, "and the mode changes all the same");
  expect(memory_stats().allocated <= before, "failures hold no memory");
}

void test_a_flush_that_fails_can_be_repeated() {
  std::minstd_rand random(4);
  const Ref<Value> x = random_tensor({300, 300}, random);
  set_mode(EngineMode::kLazy);
  Ref<Value> y = call("exp", {x.get()});
  y = call("sum", {y.get()}, {{"axis", int64_t{0}}});
  fail_allocation_after(0);
  expect(error_of([&] { elements(y); }).find("model.py:7") != std::string::npos,
         "memory that runs out in a flush is told with the line");
  fail_allocation_after(-1);
  expect(elements(y).size() == 300, "and nothing is lost");
  set_mode(EngineMode::kSync);
}

// What is stopped halfway may have written over its operands: nobody is given the mixture.
void test_a_flush_that_is_stopped_gives_no_wrong_elements() {
  std::minstd_rand random(8);
  const Ref<RawTensor> x = random_tensor({3000, 1000}, random);
  const std::vector<float> wanted =
      elements(call("tanh", {call("exp", {call("tanh", {x.get()}).get()}).get()}));
  set_mode(EngineMode::kLazy);
  for (int round = 0; round < 3; ++round) {
    Ref<Value> y = call("tanh", {x.get()});
    elements(y);
    y = call("exp", {y.get()});
    y = call("tanh", {y.get()});
    const Ref<Value> other = call("exp", {x.get()});
    set_interrupt_hook([] { return true; });
    try {
      elements(y);
    } catch (const Interrupted&) {
    }
    set_interrupt_hook(nullptr);
    std::vector<float> got;
    const std::string error = error_of([&] { got = elements(y); });
    expect(got == wanted || error.find("half overwritten") != std::string::npos,
           "a stopped flush gives its elements later, or none");
    expect(elements(other) == elements(call("exp", {x.get()})), "others are as they were");
    expect(error_of([] { finish_all("the test asks"); }).empty(), "who asks for all is not told");
  }
  set_mode(EngineMode::kSync);
}

void test_threads_under_the_embedders_lock() {
  for (const EngineMode mode : {EngineMode::kAsync, EngineMode::kLazy}) {
    set_mode(EngineMode::kSync);
    const auto wanted = run_program(9);
    std::minstd_rand random(5);
    const Ref<Value> x = random_tensor({200, 200}, random);
    set_mode(mode);
    Ref<Value> shared = call("exp", {x.get()});
    shared = call("sum", {shared.get()}, {{"axis", int64_t{0}}});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const EmbedderLock lock;
        expect(elements(shared).size() == 200, "threads read what waits");
        for (int round = 0; round < 10; ++round) {
          expect(same_bits(run_program(9), wanted), "threads have the bits of sync");
          const Ref<Value> dropped = call("exp", {x.get()});
          const BlockingRegion pause(true);
          std::this_thread::yield();
        }
      });
    }
    const BlockingRegion blocking(true);
    for (std::thread& thread : threads) thread.join();
  }
  set_mode(EngineMode::kSync);
}

void test_a_child_of_fork_reads_what_waits() {
#ifdef __SANITIZE_THREAD__
  return;  // which makes no threads in a child
#endif
  std::minstd_rand random(6);
  const Ref<Value> x = random_tensor({300, 300}, random);
  set_mode(EngineMode::kSync);
  const std::vector<float> wanted = elements(call("tanh", {call("exp", {x.get()}).get()}));
  for (const EngineMode mode : kModes) {
    set_mode(mode);
    for (int round = 0; round < 50; ++round) {
      Ref<Value> y = call("exp", {x.get()});
      y = call("tanh", {y.get()});
      const pid_t child = fork();
      if (child == 0) {
        alarm(30);
        const bool is_right = elements(y) == wanted;
        const Ref<Value> z = call("tanh", {call("exp", {x.get()}).get()});
        _exit(is_right && elements(z) == wanted ? 0 : 1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of fork reads what waits");
      expect(elements(y) == wanted, "and so does its parent");
    }
  }
  set_mode(EngineMode::kSync);
}

void test_what_is_read_after_the_end_is_right() {
  std::minstd_rand random(7);
  const Ref<Value> x = random_tensor({500, 500}, random);
  const std::vector<float> wanted = elements(call("exp", {x.get()}));
  set_mode(EngineMode::kAsync);
  std::vector<Ref<Value>> kept;
  for (int i = 0; i < 200; ++i) kept.push_back(call("exp", {x.get()}));
  stop_async();
  for (size_t i = 0; i < kept.size(); i += 40) {
    expect(elements(kept[i]) == wanted, "what was queued is read after the end");
  }
  expect(elements(call("exp", {x.get()})) == wanted, "later launches run at once");
  stop_async();
}

}  // namespace
}  // namespace tensorlike

int main() {
  using namespace tensorlike;
  alarm(300);
  set_num_threads(2);
  test_threads_without_an_embedder();
  start_embedder();
  {
    const EmbedderLock lock;
    test_modes_agree_to_the_bit();
    test_what_is_dropped_gives_its_memory_back();
    test_a_failure_comes_at_the_wait_and_cancels_what_needs_it();
    test_a_flush_that_fails_can_be_repeated();
    test_a_flush_that_is_stopped_gives_no_wrong_elements();
    test_threads_under_the_embedders_lock();
    test_a_child_of_fork_reads_what_waits();
    test_what_is_read_after_the_end_is_right();
  }
  std::printf("test_engine: %d failures\n", failures.load());
  return failures == 0 ? 0 : 1;
}
