#include "engine/task.h"

#include <cstring>
#include <new>
#include <utility>

#include "base/blocking.h"
#include "base/place.h"
#include "base/pool.h"
#include "engine/profile.h"
#include "tensor/layout.h"
#include "tensor/reductions.h"

namespace tensorlike {
namespace {

struct Running {
  Running() { is_running_task = true; }
  ~Running() { is_running_task = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

}  // namespace

Task::Task(const Op& op, Args args, Specs specs)
    : op_(&op),
      specs_(std::move(specs)),
      own_failure_(std::make_shared<Failure>(Ref<const Op>(&op), place_of_user())) {
  for (Value* arg : args) {
    const Ref<RawTensor> input(static_cast<RawTensor*>(arg));
    if (Task* from = task_of(*input)) from->settle();  // perhaps it is over
    Source source;
    if (Task* from = task_of(*input)) {
      while (from->outputs_[source.output] != input.get()) ++source.output;
      source.task = Ref<Task>(from);
    }
    inputs_.push_back(input);
    sources_.push_back(std::move(source));
  }
}

bool Task::find_operands() {
  const bool is_reduction = is_reducing(*op_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const RawTensor& input = *inputs_[i];
    TileOperand operand = tile_operand(input, is_reduction ? input.shape : specs_[0].shape);
    if (const Task* from = sources_[i].task.get()) {
      // How a result lies that is made under the lock is known when it is there.
      if (from->needs_lock_) return false;
      operand.data = from->storages_[sources_[i].output]->data();
    }
    operands_.push_back(std::move(operand));
  }
  return true;
}

void Task::make_outputs(Values& out) {
  needs_lock_ = (op_->scalar == nullptr && !is_reducing(*op_)) || !find_operands();
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

Ref<RawTensor> Task::result(size_t output) const {
  if (needs_lock_) return results_[output];
  const Spec& spec = specs_[output];
  return make_ref<RawTensor>(spec.dtype, spec.shape, contiguous_strides(spec.shape),
                             element_count(spec.shape), storages_[output]);
}

void Task::run_under_lock() {
  const EmbedderLock lock;
  SmallVector<Ref<RawTensor>, 4> inputs;
  SmallVector<Value*, 4> args;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Source& source = sources_[i];
    inputs.push_back(source.task ? source.task->result(source.output) : inputs_[i]);
    args.push_back(inputs.back().get());
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
  scope.describe(*op_, own_failure_->place, inputs, {specs_.data(), specs_.size()});
}

void Task::run() {
  const Running running;
  for (const Source& source : sources_) {
    if (source.task && source.task->has_failed() && !failure_) failure_ = source.task->failure_;
  }
  if (!failure_) {
    try {
      run_kernel();
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception&) {
      own_failure_->cause = std::current_exception();
      failure_ = own_failure_;
    }
  }
}

void Task::end() {
  state_.store(failure_ ? State::kFailed : State::kDone, std::memory_order_release);
}

// The results stay as long as the task: who needs them may be running.
void Task::settle() {
  if (!is_over()) return;
  const Ref<Task> held(this);  // the tensors may hold the last references
  if (has_failed()) {
    storages_.clear();
    results_.clear();
  } else {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] == nullptr) continue;
      needs_lock_ ? outputs_[i]->fill(*results_[i]) : outputs_[i]->fill(storages_[i]);
      outputs_[i] = nullptr;
    }
  }
  inputs_.clear();
  sources_.clear();
}

void Task::fail_again() {
  const Ref<const Op> op = failure_->op;
  const std::string place = failure_->place;
  failure_->is_told = true;
  try {
    std::rethrow_exception(failure_->cause);
  } catch (const Error& error) {
    throw Error(error.kind(), with_place(error.what(), *op, place));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kMemory, with_place("memory: there was none left.", *op, place));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kMemory, with_place(error.what(), *op, place));
  }
}

void Task::forget(const RawTensor& tensor) {
  for (RawTensor*& output : outputs_) {
    if (output == &tensor) output = nullptr;
  }
}

}  // namespace tensorlike
