// A launch that the engine's thread runs: what it needs, what it gives, what went wrong.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

// Whether this thread is running one.
inline thread_local bool is_running_task = false;

class Task final : public Pending {
 public:
  Task(const Op& op, Args args, Specs specs);

  // The tensors that wait for it, and their memory.
  void make_outputs(Values& out);
  // Waits for the queue to come to it.
  void finish(const char* reason) override;
  void forget(const RawTensor& tensor) override;

  // On the engine's thread, or that of whoever waits; throws Interrupted alone. Touches no tensor
  // that others see but for what never changes of it, since an embedder without a lock may be
  // settling what is over meanwhile.
  void run();
  // It has run: the results, or what went wrong, are there for all threads.
  void end();
  // Under the embedder's lock, when it is over: hands the elements out and drops what it needed.
  void settle();
  // Whether all that it needs is over: it can run.
  bool is_ready() const;
  bool is_over() const { return state_.load(std::memory_order_acquire) != State::kQueued; }
  bool has_failed() const { return state_.load(std::memory_order_acquire) == State::kFailed; }
  // Throws what went wrong.
  [[noreturn]] void fail_again();
  bool is_told() const { return failure_ && failure_->is_told; }

 private:
  enum class State : unsigned char { kQueued, kDone, kFailed };

  // Where an input comes from that was not there when this was made; a null task where it was.
  struct Source {
    Ref<Task> task;
    size_t output = 0;
  };
  // What went wrong in a launch. It is made with the task, since memory may have ended when it is
  // needed. Whatever needed the results shares it: who is told of one is told of all.
  struct Failure {
    Ref<const Op> op;
    std::string place;
    std::exception_ptr cause;
    std::atomic<bool> is_told{false};
  };

  static Task* task_of(const RawTensor& tensor) { return static_cast<Task*>(tensor.pending.get()); }
  // A result: where its elements will be, and the tensor that waits for them.
  struct Result {
    Array place;
    Ref<Storage> storage;
    RawTensor* tensor = nullptr;  // null: nobody can ask for it
  };

  // Finds where the inputs are, or will be when this task runs.
  void find_inputs();
  void place_results();
  bool sees_an_input();
  void run_kernel();

  const Ref<const Op> op_;
  const Specs specs_;
  SmallVector<Ref<RawTensor>, 3> inputs_;
  SmallVector<Source, 3> sources_;  // of each input
  SmallVector<Array, 3> arrays_;    // of each input
  SmallVector<Result, 1> results_;
  bool is_view_ = false;  // there is nothing to run
  std::atomic<State> state_{State::kQueued};
  const std::shared_ptr<Failure> own_failure_;
  std::shared_ptr<Failure> failure_;  // its own, or that of a task whose results it needed
};

}  // namespace tensorlike
