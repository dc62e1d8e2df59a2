#include "engine/async.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/blocking.h"
#include "base/place.h"
#include "base/pool.h"
#include "base/signals.h"
#include "op/infer.h"
#include "op/tile_program.h"
#include "tensor/layout.h"
#include "tensor/reduce.h"

namespace tensorlike {
namespace {

constexpr size_t kMaxQueued = 1024;
constexpr size_t kMaxFailures = 64;  // that wait until somebody is told

class Task final : public Pending {
 public:
  Task(const Op& op, Args args, Specs specs)
      : op_(&op), specs_(std::move(specs)), place_(place_of_user()) {
    for (Value* arg : args) inputs_.push_back(Ref<RawTensor>(static_cast<RawTensor*>(arg)));
  }

  // The tensors that wait for it; for elementwise ops, their memory too.
  void make_outputs(Values& out);
  void finish(const char* reason) override;
  void forget(const RawTensor& tensor) override;

  // On the engine's thread.
  void run();
  // Under the embedder's lock, when it is over: hands the elements out and drops what it held.
  void settle();
  bool is_over() const { return state_.load(std::memory_order_acquire) != State::kQueued; }
  bool has_failed() const { return state_.load(std::memory_order_acquire) == State::kFailed; }
  // Throws what went wrong.
  [[noreturn]] void fail_again();
  bool is_told() const { return is_told_; }

 private:
  enum class State : unsigned char { kQueued, kDone, kFailed };

  static Task* task_of(const RawTensor& tensor) { return static_cast<Task*>(tensor.pending.get()); }
  // Finds where the inputs are, or will be when this task runs; false where nobody knows yet.
  bool find_operands();
  void run_elementwise();
  void run_reduction();
  void run_under_lock();

  const Ref<const Op> op_;
  const Specs specs_;
  const std::string place_;
  SmallVector<Ref<RawTensor>, 3> inputs_;
  SmallVector<RawTensor*, 1> outputs_;     // null: nobody can ask for this one
  SmallVector<Ref<Storage>, 1> storages_;  // of the results; from the start unless under the lock
  SmallVector<Ref<Task>, 3> producers_;    // of inputs that were pending
  SmallVector<TileOperand, 4> operands_;
  const PreparedProgram* program_ = nullptr;
  bool needs_lock_ = false;
  std::atomic<State> state_{State::kQueued};
  ErrorKind kind_ = ErrorKind::kMemory;
  std::string error_;
  bool is_told_ = false;
};

// The queue and its thread. Its mutex is held for moments only, and never while anything waits for
// the embedder's lock.
struct Queue {
  std::mutex mutex;
  std::condition_variable pushed;
  std::condition_variable over;
  std::deque<Task*> tasks;
  Task* running = nullptr;
  std::thread thread;
  bool has_thread = false;
  std::atomic<bool> is_stopping{false};
  // The next two are touched under the embedder's lock alone: what is not settled yet, oldest
  // first, and what failed without anybody knowing.
  std::deque<Ref<Task>> alive;
  std::deque<Ref<Task>> failures;

  void work();
  void push(Ref<Task> task);
  void settle_some();
  void settle_oldest();
  void start_thread(const std::unique_lock<std::mutex>& held);
  void run_next(std::unique_lock<std::mutex>& held);
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

// A child of fork has no thread; the next push or wait starts one. What was running runs again,
// unless it was over: then nobody need hold it any more.
void Queue::restart_in_child() {
  new (&mutex) std::mutex;
  new (&pushed) std::condition_variable;
  new (&over) std::condition_variable;
  new (&thread) std::thread;
  has_thread = false;
  const Task* interrupted = std::exchange(running, nullptr);
  for (const Ref<Task>& task : alive) {
    if (task.get() == interrupted && !task->is_over()) tasks.push_front(task.get());
  }
}

void Queue::run_next(std::unique_lock<std::mutex>& held) {
  running = tasks.front();
  tasks.pop_front();
  held.unlock();
  running->run();
  held.lock();
  running = nullptr;
  over.notify_all();
}

void Queue::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    pushed.wait(lock, [&] { return !tasks.empty() || is_stopping; });
    if (is_stopping) return;
    run_next(lock);
  }
}

// Where the system has no thread for us, whoever waits does the work.
void Queue::start_thread(const std::unique_lock<std::mutex>&) {
  if (has_thread || is_stopping) return;
  const SignalsBlocked blocked;
  try {
    thread = std::thread([this] { work(); });
    has_thread = true;
  } catch (const std::system_error&) {
  }
}

template <class F>
void Queue::wait(F&& is_ready) {
  if (is_ready()) return;
  const BlockingRegion blocking(true);
  std::unique_lock lock(mutex);
  start_thread(lock);
  while (!is_ready()) {
    if (!has_thread && running == nullptr && !tasks.empty()) {
      run_next(lock);
      continue;
    }
    over.wait_for(lock, std::chrono::milliseconds(20));
    lock.unlock();
    check_interrupt();
    lock.lock();
  }
}

void Queue::settle_oldest() {
  const Ref<Task> task = std::move(alive.front());
  alive.pop_front();
  task->settle();
  if (task->has_failed() && !task->is_told() && failures.size() < kMaxFailures) {
    failures.push_back(task);
  }
}

void Queue::settle_some() {
  while (!alive.empty() && alive.front()->is_over()) settle_oldest();
}

void Queue::push(Ref<Task> task) {
  watch_forks();
  settle_some();
  while (alive.size() >= kMaxQueued) {
    const Ref<Task> oldest = alive.front();
    wait([&] { return oldest->is_over(); });
    settle_some();
  }
  std::unique_lock lock(mutex);
  tasks.push_back(task.get());
  alive.push_back(std::move(task));
  start_thread(lock);
  pushed.notify_one();
}

bool Task::find_operands() {
  bool is_known = true;
  const bool is_reduction = op_->reduction != nullptr;
  for (const Ref<RawTensor>& input : inputs_) {
    TileOperand operand = tile_operand(*input, is_reduction ? input->shape : specs_[0].shape);
    if (Task* from = task_of(*input)) {
      producers_.push_back(Ref<Task>(from));
      for (size_t i = 0; i < from->storages_.size(); ++i) {
        if (from->outputs_[i] == input.get()) operand.data = from->storages_[i]->data();
      }
    }
    is_known = is_known && operand.data != nullptr;
    operands_.push_back(std::move(operand));
  }
  return is_known;
}

void Task::make_outputs(Values& out) {
  const bool is_plain_reduction = op_->reduction != nullptr && !op_->reduction->spec.single_axis;
  needs_lock_ = (op_->scalar == nullptr && !is_plain_reduction);
  if (needs_lock_) {
    for (const Ref<RawTensor>& input : inputs_) {
      if (Task* from = task_of(*input)) producers_.push_back(Ref<Task>(from));
    }
  } else {
    needs_lock_ = !find_operands();
  }
  if (!needs_lock_) {
    if (op_->scalar != nullptr) {
      SmallVector<DType, 4> dtypes;
      for (const Ref<RawTensor>& input : inputs_) dtypes.push_back(input->dtype);
      program_ = &prepare(*op_->scalar, {dtypes.data(), dtypes.size()});
    }
    for (const Spec& spec : specs_) {
      const size_t count = static_cast<size_t>(element_count(spec.shape));
      storages_.push_back(Storage::allocate(count * size_of(spec.dtype)));
    }
  }
  for (const Spec& spec : specs_) {
    auto tensor = make_ref<RawTensor>(spec.dtype, spec.shape, Ref<Pending>(this));
    outputs_.push_back(tensor.get());
    out.push_back(std::move(tensor));
  }
}

void Task::run_elementwise() {
  SmallVector<TileOutput, 2> results;
  for (size_t i = 0; i < storages_.size(); ++i) {
    results.push_back({storages_[i]->data(), size_of(specs_[i].dtype)});
  }
  run_tiles(program_->program, specs_[0].shape, {operands_.data(), operands_.size()},
            {results.data(), results.size()});
}

void Task::run_reduction() {
  const RawTensor& x = *inputs_[0];
  const DType loop = reduction_loop(*op_->reduction, x.dtype);
  Reducible source{x.shape, size_of(loop), nullptr, {operands_[0]}};
  if (loop != x.dtype) source.program = &prepare_cast(x.dtype, loop).program;
  const Ref<RawTensor> result = reduce(*op_, source, loop, specs_[0]);
  std::memcpy(storages_[0]->data(), result->data,
              static_cast<size_t>(result->count) * size_of(result->dtype));
}

void Task::run_under_lock() {
  const EmbedderLock lock;
  SmallVector<Value*, 4> args;
  for (const Ref<RawTensor>& input : inputs_) {
    if (Task* from = task_of(*input)) from->settle();
    args.push_back(input.get());
  }
  storages_.clear();  // a child of fork may find some, of a run that was cut off
  for (const Ref<Value>& value : execute(*op_, {args.data(), args.size()})) {
    Ref<RawTensor> result = contiguous(*static_cast<RawTensor*>(value.get()));
    if (result->data != result->storage->data()) result = copy(*result);
    storages_.push_back(result->storage);
  }
}

void Task::run() {
  State end = State::kDone;
  try {
    for (const Ref<Task>& from : producers_) {
      if (from->has_failed()) throw Error(from->kind_, from->error_);
    }
    if (needs_lock_) {
      run_under_lock();
    } else if (op_->scalar != nullptr) {
      run_elementwise();
    } else {
      run_reduction();
    }
  } catch (const Error& error) {
    kind_ = error.kind();
    error_ = error.what();
    end = State::kFailed;
  } catch (const std::bad_alloc&) {
    error_ = "memory: there was none left.";
    end = State::kFailed;
  } catch (const std::exception& error) {
    error_ = error.what();
    end = State::kFailed;
  }
  if (end == State::kFailed) error_ = with_place(error_, *op_, place_);
  state_.store(end, std::memory_order_release);
}

void Task::settle() {
  if (!is_over()) return;
  if (!has_failed()) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      // The tensor may hold the last reference to this task.
      if (RawTensor* tensor = std::exchange(outputs_[i], nullptr)) {
        const Ref<Task> held(this);
        tensor->fill(storages_[i]);
      }
    }
    storages_.clear();
  }
  inputs_.clear();
  producers_.clear();
}

void Task::fail_again() {
  is_told_ = true;
  throw Error(kind_, error_);
}

void Task::finish(const char*) {
  const Ref<Task> held(this);
  queue().wait([&] { return is_over(); });
  if (has_failed()) fail_again();
  settle();
}

void Task::forget(const RawTensor& tensor) {
  for (RawTensor*& output : outputs_) {
    if (output == &tensor) output = nullptr;
  }
}

}  // namespace

bool push_async(const Op& op, Args args, Values& out) {
  if (queue().is_stopping) return false;
  const bool is_known = op.scalar != nullptr || op.reduction != nullptr || op.cls.kernel != nullptr;
  if (!is_known || args.empty()) return false;
  check_arity(op, args.size());
  SmallVector<Spec, 3> inputs;
  int64_t work = 0;
  for (Value* arg : args) {
    inputs.push_back(static_cast<RawTensor*>(arg)->spec());
    work = std::max(work, element_count(inputs[inputs.size() - 1].shape));
  }
  Specs specs = infer(op, {inputs.data(), inputs.size()});
  for (const Spec& spec : specs) {
    const bool is_sized =
        std::find(spec.shape.begin(), spec.shape.end(), kUnknownSize) == spec.shape.end();
    if (!is_sized) return false;  // the caller needs the shape at once
    work = std::max(work, element_count(spec.shape));
  }
  if (work < engine_options().threshold) return false;
  auto task = make_ref<Task>(op, args, std::move(specs));
  try {
    task->make_outputs(out);
  } catch (const Error& error) {
    throw Error(error.kind(), with_place(error.what(), op, ""));
  }
  queue().push(std::move(task));
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
    if (q.thread.joinable()) q.thread.join();
    const std::lock_guard lock(q.mutex);
    q.has_thread = false;
  }
  q.settle_some();
}

}  // namespace tensorlike
