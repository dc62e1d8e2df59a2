// A launch that the engine's thread runs: what it needs, what it gives, what went wrong.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "op/tile_program.h"

namespace tensorlike {

// Whether this thread is running one.
inline thread_local bool is_running_task = false;

class Task final : public Pending {
 public:
  Task(const Op& op, Args args, Specs specs);

  // The tensors that wait for it; for elementwise ops, their memory too.
  void make_outputs(Values& out);
  // Waits for the queue to come to it.
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
  bool is_told() const { return failure_ && failure_->is_told; }

 private:
  enum class State : unsigned char { kQueued, kDone, kFailed };

  static Task* task_of(const RawTensor& tensor) { return static_cast<Task*>(tensor.pending.get()); }
  // Finds where the inputs are, or will be when this task runs; false where nobody knows yet.
  bool find_operands();
  void run_elementwise();
  void run_reduction();
  void run_under_lock();
  void run_kernel();
  void fail_with(ErrorKind kind, const std::string& what);

  const Ref<const Op> op_;
  const Specs specs_;
  const std::string place_;
  SmallVector<Ref<RawTensor>, 3> inputs_;
  SmallVector<RawTensor*, 1> outputs_;      // null: nobody can ask for this one
  SmallVector<Ref<Storage>, 1> storages_;   // of the results, unless under the lock
  SmallVector<Ref<RawTensor>, 1> results_;  // under the lock: they lie as the kernel left them
  SmallVector<Ref<Task>, 3> producers_;     // of inputs that were pending
  SmallVector<TileOperand, 4> operands_;
  const PreparedProgram* program_ = nullptr;
  bool needs_lock_ = false;
  std::atomic<State> state_{State::kQueued};
  // What went wrong. Whatever needed the results of the one that failed shares it: who is told of
  // one is told of all.
  struct Failure {
    Error error;
    std::atomic<bool> is_told{false};
  };
  std::shared_ptr<Failure> failure_;
};

}  // namespace tensorlike
