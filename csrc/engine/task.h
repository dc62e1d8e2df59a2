// A launch that the engine's thread runs: what it needs, what it gives, what went wrong.
#pragma once

#include <atomic>
#include <string>

#include "engine/engine.h"
#include "op/tile_program.h"

namespace tensorlike {

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

}  // namespace tensorlike
