// Launching: an op on RawTensors. The driver infers, finds memory and lets the backend compute;
// what has no kernel where the operands live has a body, which is applied instead.
#include <optional>

#include "op/infer.h"
#include "tensor/body.h"
#include "tensor/kernel_run.h"
#include "tensor/planned_launch.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

// A view needs no kernel. The inference of an op that has a body may insist on more than that.
Values run_without_kernel(const Op& op, Args args, RawArgs inputs, const Specs& specs,
                          Device device) {
  Values out;
  if (op.cls.infer != nullptr) {
    const Specs results = infer(op, specs);
    if (op.cls.view != nullptr) out = views_of(op, inputs, results);
    if (!out.empty()) return out;
  }
  if (apply_body(op, args, out)) return out;
  fail(ErrorKind::kDevice, said::op(op.name()), "there must be a kernel or a body for ",
       to_string(device), said::fix("move the operands: x.to(\"cpu\")"));
}

// Whether an op says that its results live elsewhere than its operands.
bool leaves(const Specs& results, Device home) {
  return !results.empty() && !(results[0].device == home);
}

void move_all(Values& results, Device device) {
  for (Ref<Value>& result : results) {
    result = moved(static_cast<const RawTensor&>(*result), device);
  }
}

}  // namespace

void fail_for(const Op& op, const Error& error) {
  if (!error.fields().op.empty() || error.kind() != ErrorKind::kMemory) throw;
  ErrorFields fields = error.fields();
  fields.op = op.name();
  throw Error(error.kind(), std::move(fields));
}

bool leaves_alone(const Op& op, Args args) {
  return args.size() == 1 && leaves_alone(op, static_cast<const RawTensor*>(args[0])->dtype);
}

bool leaves_alone(const Op& op, DType dtype) {
  if (op.scalar == nullptr || !op.scalar->spec.unchanged) return false;
  return dtype != DType::kBool && reduces(*op.scalar->spec.unchanged, kind_of(dtype));
}

// The general way. `key`: a plan is made by it; null: none may be.
static Values launch_unplanned(const Op& op, Args args, RawArgs inputs, Arrays arrays,
                               uint32_t donated, int64_t holds, const LaunchKey* key) {
  Specs specs(args.size());
  for (size_t i = 0; i < args.size(); ++i) specs[i] = inputs[i]->spec();
  const Device home = args.empty() ? operands_device(op, specs) : inputs[0]->device;
  for (const RawTensor* x : inputs) {
    if (!(x->device == home)) operands_device(op, specs);  // refuses them
  }
  const KernelRule& kernel = op.cls.kernel(home);
  if (!is_computed(op, home) && kernel.foreign == nullptr) {
    return run_without_kernel(op, args, inputs, specs, home);
  }
  Specs results = infer(op, specs);
  if (kernel.foreign != nullptr) return kernel.foreign(op, inputs, results);
  const Device there = leaves(results, home) ? results[0].device : home;
  for (Spec& spec : results) spec.device = home;
  Values made = views_of(op, inputs, results);
  bool is_direct = false;
  if (made.empty()) {
    Workspace workspace(home);
    std::optional<KernelRun> run;
    if (kernel.run != nullptr) run.emplace(op, arrays, results, workspace);
    if (kernel.sizes != nullptr) run->find_sizes(results);
    made = place_results(op, inputs, results, donated, holds);
    SmallVector<const Array*, 2> outputs;
    for (const Ref<Value>& value : made) outputs.push_back(static_cast<RawTensor*>(value.get()));
    const Arrays written(outputs.data(), outputs.size());
    is_direct = run && run->is_direct(written);
    run ? run->run(written) : compute(op, arrays, written, workspace);
  }
  if (!(there == home)) {
    move_all(made, there);
  } else if (key != nullptr && home.is_cpu() && kernel.sizes == nullptr) {
    plan_launch(op, inputs, *key, results, made, is_direct);
  }
  return made;
}

Values execute(const Op& op, Args args, uint32_t donated, int64_t holds) try {
  SmallVector<RawTensor*, 12> tensors;
  SmallVector<const Array*, 12> arrays;
  for (Value* arg : args) {
    tensors.push_back(static_cast<RawTensor*>(arg));
    arrays.push_back(tensors.back());
  }
  const RawArgs inputs(tensors.data(), tensors.size());
  const Arrays given(arrays.data(), arrays.size());
  LaunchKey key;
  const bool is_plannable = may_plan(given, key);
  Values results;
  if (is_plannable && launch_planned(op, inputs, given, donated, holds, key, results)) {
    return results;
  }
  return launch_unplanned(op, args, inputs, given, donated, holds, is_plannable ? &key : nullptr);
} catch (const Error& error) {
  fail_for(op, error);
}

}  // namespace tensorlike
