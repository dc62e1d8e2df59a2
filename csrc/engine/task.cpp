#include "engine/task.h"

#include <cstring>
#include <utility>

#include "base/blocking.h"
#include "base/place.h"
#include "engine/profile.h"
#include "tensor/layout.h"
#include "tensor/reductions.h"

namespace tensorlike {

Task::Task(const Op& op, Args args, Specs specs)
    : op_(&op), specs_(std::move(specs)), place_(place_of_user()) {
  for (Value* arg : args) inputs_.push_back(Ref<RawTensor>(static_cast<RawTensor*>(arg)));
}

bool Task::find_operands() {
  bool is_known = true;
  const bool is_reduction = is_reducing(*op_);
  for (const Ref<RawTensor>& input : inputs_) {
    // How a result lies that was made under the lock is known when it is there.
    if (Task* from = task_of(*input); from != nullptr && from->needs_lock_) from->settle();
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
  needs_lock_ = op_->scalar == nullptr && !is_reducing(*op_);
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
  const DType loop = reduction_loop(*op_, x.dtype);
  // Where its elements are is not asked of the tensor, which another thread may be filling.
  const Ref<RawTensor> result = reduce(*op_, reducible(x, operands_[0], loop), loop, specs_[0]);
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
  results_.clear();  // a child of fork may find some, of a run that was cut off
  for (const Ref<Value>& value : execute(*op_, {args.data(), args.size()})) {
    results_.push_back(Ref<RawTensor>(static_cast<RawTensor*>(value.get())));
  }
}

void Task::run_kernel() {
  ProfileScope scope;
  if (needs_lock_) {
    run_under_lock();
  } else if (op_->scalar != nullptr) {
    run_elementwise();
  } else {
    run_reduction();
  }
  if (!scope) return;
  std::vector<Spec> inputs;
  for (const Ref<RawTensor>& input : inputs_) inputs.push_back(input->spec());
  scope.describe(*op_, place_, inputs, {specs_.data(), specs_.size()});
}

void Task::fail_with(ErrorKind kind, const std::string& what) {
  failure_ = std::make_shared<Failure>(Error(kind, with_place(what, *op_, place_)));
}

void Task::run() {
  is_running_task = true;
  try {
    for (const Ref<Task>& from : producers_) {
      if (from->has_failed() && !failure_) failure_ = from->failure_;
    }
    if (!failure_) run_kernel();
  } catch (const Error& error) {
    fail_with(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    fail_with(ErrorKind::kMemory, "memory: there was none left.");
  } catch (const std::exception& error) {
    fail_with(ErrorKind::kMemory, error.what());
  }
  is_running_task = false;
  state_.store(failure_ ? State::kFailed : State::kDone, std::memory_order_release);
}

void Task::settle() {
  if (!is_over()) return;
  if (!has_failed()) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      // The tensor may hold the last reference to this task.
      if (RawTensor* tensor = std::exchange(outputs_[i], nullptr)) {
        const Ref<Task> held(this);
        needs_lock_ ? tensor->fill(*results_[i]) : tensor->fill(storages_[i]);
      }
    }
    storages_.clear();
    results_.clear();
  }
  inputs_.clear();
  producers_.clear();
}

void Task::fail_again() {
  failure_->is_told = true;
  throw Error(failure_->error);
}

void Task::forget(const RawTensor& tensor) {
  for (RawTensor*& output : outputs_) {
    if (output == &tensor) output = nullptr;
  }
}

}  // namespace tensorlike
