// The queue of tasks and the thread that runs them.
#include "engine/async.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "base/signals.h"
#include "engine/task.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tensor/kernel_run.h"

namespace tensorlike {
namespace {

constexpr size_t kMaxQueued = 1024;
constexpr size_t kMaxFailures = 64;   // that wait until somebody is told
constexpr size_t kMostLookedAt = 64;  // tasks, for one that can run

// The queue and its threads. Its mutex is held for moments only, and never while anything waits for
// the embedder's lock.
struct Queue {
  std::mutex mutex;
  std::condition_variable pushed;
  std::condition_variable over;
  std::deque<Task*> tasks;
  std::vector<Task*> running;  // some of them
  std::vector<std::thread> threads;
  size_t workers = 1;  // how many of the threads may take tasks
  std::atomic<bool> is_stopping{false};
  // The next two are touched under the embedder's lock alone: what is not settled yet, oldest
  // first, and what failed without anybody knowing.
  std::deque<Ref<Task>> alive;
  std::deque<Ref<Task>> failures;

  void work(size_t worker);
  Task* first_ready() const;
  void push(const Ref<Task>& task);
  void settle_some();
  void settle_oldest();
  void start_threads(const std::unique_lock<std::mutex>& held);
  void run(Task* task, std::unique_lock<std::mutex>& held);
  void restart_in_child();
  // Waits until `is_ready`, with the embedder's lock let go.
  template <class F>
  void wait(F&& is_ready);
};

Queue& queue() {
  static auto* instance = new Queue;
  return *instance;
}

void watch_forks() {
  static const int done =
      pthread_atfork([] { queue().mutex.lock(); }, [] { queue().mutex.unlock(); },
                     [] { queue().restart_in_child(); });
  static_cast<void>(done);
}

// A child of fork has no thread; the next push or wait starts one. What was running runs again.
void Queue::restart_in_child() {
  new (&mutex) std::mutex;
  new (&pushed) std::condition_variable;
  new (&over) std::condition_variable;
  new (&threads) std::vector<std::thread>;
  running.clear();
}

// The first that can run; null: there is none.
Task* Queue::first_ready() const {
  const size_t looked_at = std::min(tasks.size(), kMostLookedAt + running.size());
  for (size_t i = 0; i < looked_at; ++i) {
    const bool is_running = std::find(running.begin(), running.end(), tasks[i]) != running.end();
    if (!is_running && tasks[i]->is_ready()) return tasks[i];
  }
  return nullptr;
}

// It is over and leaves the queue at once for whoever holds the mutex, as a fork does; what is
// interrupted stays in its place and runs again.
void Queue::run(Task* task, std::unique_lock<std::mutex>& held) {
  running.push_back(task);
  held.unlock();
  std::exception_ptr interrupt;
  try {
    task->run();
  } catch (const Interrupted&) {
    interrupt = std::current_exception();
  }
  held.lock();
  if (!interrupt) {
    tasks.erase(std::find(tasks.begin(), tasks.end(), task));
    task->end();
  }
  running.erase(std::find(running.begin(), running.end(), task));
  over.notify_all();
  pushed.notify_all();
  if (interrupt) std::rethrow_exception(interrupt);
}

void Queue::work(size_t worker) {
  become_worker();
  std::unique_lock lock(mutex);
  for (;;) {
    Task* task = nullptr;
    pushed.wait(lock, [&] {
      task = worker < workers && running.size() < workers ? first_ready() : nullptr;
      return is_stopping || task != nullptr;
    });
    if (is_stopping) return;
    run(task, lock);
  }
}

// Where the system has no thread for us, whoever waits does the work.
void Queue::start_threads(const std::unique_lock<std::mutex>&) {
  if (threads.size() >= workers || is_stopping) return;
  const SignalsBlocked blocked;
  try {
    while (threads.size() < workers) {
      threads.reserve(workers);
      const size_t worker = threads.size();
      threads.emplace_back([this, worker] { work(worker); });
    }
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
}

template <class F>
void Queue::wait(F&& is_ready) {
  if (is_ready()) return;
  const BlockingRegion blocking(true);
  std::unique_lock lock(mutex);
  start_threads(lock);
  while (!is_ready()) {
    if (threads.empty() && running.empty() && !tasks.empty()) {
      run(tasks.front(), lock);
      continue;
    }
    over.wait_for(lock, std::chrono::milliseconds(20));
    lock.unlock();
    check_interrupt();
    lock.lock();
  }
}

void Queue::settle_oldest() {
  const Ref<Task> task = alive.front();
  if (task->has_failed() && !task->is_told() && failures.size() < kMaxFailures) {
    failures.push_back(task);  // first of all: it may find no memory
  }
  alive.pop_front();
  task->settle();
}

void Queue::settle_some() {
  while (!alive.empty() && alive.front()->is_over()) settle_oldest();
}

void Queue::push(const Ref<Task>& task) {
  watch_forks();
  settle_some();
  while (alive.size() >= kMaxQueued) {
    const Ref<Task> oldest = alive.front();
    wait([&] { return oldest->is_over(); });
    settle_some();
  }
  alive.push_back(task);
  std::unique_lock lock(mutex);
  try {
    tasks.push_back(task.get());
  } catch (...) {
    alive.pop_back();
    throw;
  }
  workers = static_cast<size_t>(engine_options().workers);
  start_threads(lock);
  if (threads.size() > 1) {  // of which not each one may take it
    pushed.notify_all();
  } else {
    pushed.notify_one();
  }
}

}  // namespace

void Task::finish(const char*) {
  const Ref<Task> held(this);
  queue().wait([&] { return is_over(); });
  if (has_failed()) fail_again();
  settle();
}

bool push_async(const Op& op, Args args, Values& out) {
  if (queue().is_stopping) return false;
  // A kernel of Python's own runs where it is called, so that its errors come as they are.
  if (args.empty()) return false;
  const Device device = static_cast<RawTensor*>(args[0])->device;
  if (!is_computed(op, device)) return false;
  check_arity(op, args.size());
  const auto is_there = [](const Value* arg) {
    return !static_cast<const RawTensor*>(arg)->pending;
  };
  // A view of elements that are computed already costs nothing.
  if (op.cls.view != nullptr && std::all_of(args.begin(), args.end(), is_there)) return false;
  SmallVector<Spec, 3> inputs;
  int64_t work = 0;
  for (Value* arg : args) {
    if (is_changeable(*static_cast<RawTensor*>(arg))) return false;
    inputs.push_back(static_cast<RawTensor*>(arg)->spec());
    work = std::max(work, element_count(inputs[inputs.size() - 1].shape));
  }
  Specs specs = infer(op, {inputs.data(), inputs.size()});
  for (const Spec& spec : specs) {
    const bool is_sized =
        std::find(spec.shape.begin(), spec.shape.end(), kUnknownSize) == spec.shape.end();
    if (!is_sized) return false;  // the caller needs the shape at once
    if (!(spec.device == device)) return false;
    work = std::max(work, element_count(spec.shape));
  }
  if (work < engine_options().threshold) return false;
  const auto task = make_ref<Task>(op, args, std::move(specs));
  try {
    task->make_outputs(out);
  } catch (const Error& error) {
    throw with_place(error, op, "");
  }
  queue().push(task);
  return true;
}

void finish_async() {
  Queue& q = queue();
  while (!q.alive.empty()) {
    const Ref<Task> task = q.alive.front();
    q.wait([&] { return task->is_over(); });
    q.settle_some();
  }
  for (const Ref<Task>& task : std::exchange(q.failures, {})) {
    if (!task->is_told()) task->fail_again();
  }
}

void stop_async() {
  Queue& q = queue();
  {
    const BlockingRegion blocking(true);
    {
      const std::lock_guard lock(q.mutex);
      q.is_stopping = true;
      q.pushed.notify_all();
    }
    for (std::thread& thread : q.threads) thread.join();
    const std::lock_guard lock(q.mutex);
    q.threads.clear();
  }
  q.settle_some();
}

}  // namespace tensorlike
