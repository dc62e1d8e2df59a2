#include "engine/task.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/blocking.h"
#include "base/place.h"
#include "base/pool.h"
#include "engine/profile.h"
#include "tensor/kernel_run.h"

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
      while (from->results_[source.output].tensor != input.get()) ++source.output;
      source.task = Ref<Task>(from);
    }
    inputs_.push_back(input);
    sources_.push_back(std::move(source));
  }
}

void Task::find_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Task* from = sources_[i].task.get();
    arrays_.push_back(from == nullptr ? *inputs_[i] : from->results_[sources_[i].output].place);
  }
}

// Whether the results are views of the first input, wherever that is by then.
bool Task::sees_an_input() {
  Views views;
  if (op_->cls.view == nullptr || !op_->cls.view(*op_, arrays_[0], specs_, views)) return false;
  const Source& source = sources_[0];
  const Ref<Storage>& storage =
      source.task ? source.task->results_[source.output].storage : inputs_[0]->storage;
  for (View& view : views) {
    results_.push_back(
        {arrays_[0].view(std::move(view.shape), std::move(view.strides), view.offset), storage});
  }
  return true;
}

void Task::place_results() {
  is_view_ = sees_an_input();
  if (is_view_) return;
  SmallVector<const Array*, 4> inputs;
  for (const Array& array : arrays_) inputs.push_back(&array);
  for (const Spec& spec : specs_) {
    Array place(spec.dtype, spec.shape, result_strides(*op_, {inputs.data(), inputs.size()}, spec),
                nullptr);
    Ref<Storage> storage =
        Storage::allocate(static_cast<size_t>(place.count) * size_of(spec.dtype), spec.device);
    place.device = spec.device;
    place.data = storage->data();
    results_.push_back({std::move(place), std::move(storage)});
  }
}

void Task::make_outputs(Values& out) {
  find_inputs();
  place_results();
  for (Result& result : results_) {
    auto tensor = make_ref<RawTensor>(result.place, Ref<Pending>(this));
    result.tensor = tensor.get();
    out.push_back(std::move(tensor));
  }
}

void Task::run_kernel() {
  if (is_view_) return;
  ProfileScope scope;
  SmallVector<const Array*, 4> inputs;
  for (const Array& array : arrays_) inputs.push_back(&array);
  SmallVector<const Array*, 2> outputs;
  for (const Result& result : results_) outputs.push_back(&result.place);
  Workspace workspace(specs_[0].device);
  compute(*op_, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, workspace);
  if (!scope) return;
  std::vector<Spec> read;
  for (const Array& array : arrays_) read.push_back({array.dtype, array.shape, array.device});
  scope.describe(*op_, own_failure_->place, read, {specs_.data(), specs_.size()});
}

bool Task::is_ready() const {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](const Source& source) { return !source.task || source.task->is_over(); });
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
  for (Result& result : results_) {
    if (has_failed()) {
      result.storage = nullptr;
    } else if (result.tensor != nullptr) {
      result.tensor->fill(result.storage, result.place.data);
      result.tensor = nullptr;
    }
  }
  inputs_.clear();
  sources_.clear();
}

[[noreturn]] static void fail_memory(const char* must, const Op& op, const std::string& place) {
  ErrorFields fields;
  fields.must = must;
  throw with_place(Error(ErrorKind::kMemory, std::move(fields)), op, place);
}

void Task::fail_again() {
  const Ref<const Op> op = failure_->op;
  const std::string place = failure_->place;
  failure_->is_told = true;
  try {
    std::rethrow_exception(failure_->cause);
  } catch (const Error& error) {
    throw with_place(error, *op, place);
  } catch (const std::bad_alloc&) {
    fail_memory("there was none left.", *op, place);
  } catch (const std::exception& error) {
    fail_memory(error.what(), *op, place);
  }
}

void Task::forget(const RawTensor& tensor) {
  for (Result& result : results_) {
    if (result.tensor == &tensor) result.tensor = nullptr;
  }
}

}  // namespace tensorlike
