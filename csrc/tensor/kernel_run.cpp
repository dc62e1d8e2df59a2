#include "tensor/kernel_run.h"

#include <algorithm>

#include "base/arguments.h"
#include "memory/backend.h"
#include "memory/layout.h"
#include "op/tile_program.h"

namespace tensorlike {
namespace {

// The declaration of the input at a position: the last one may stand for many.
size_t declared_as(const Op& op, size_t i) { return std::min(i, op.cls.spec.args.size() - 1); }

// Whether an argument is declared to hold numbers that may have fractions.
bool holds_fractions(const Op& op, size_t i) {
  switch (op.cls.spec.args[declared_as(op, i)].category) {
    case Category::kNumeric:
    case Category::kRealNumeric:
    case Category::kFloating:
    case Category::kRealFloating:
      return true;
    default:
      return false;
  }
}

// The dtype that the kernel computes in, for those inputs.
DType loop_dtype(const Op& op, Arrays inputs, const Specs& specs) {
  if (op.cls.spec.memory.computes_in == ComputesIn::kResult) return compute_of(specs[0].dtype);
  std::optional<DType> joint;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!holds_fractions(op, i)) continue;
    joint = joint ? promote(*joint, inputs[i]->dtype) : inputs[i]->dtype;
  }
  return compute_of(joint.value_or(specs[0].dtype));
}

const TileProgram& program_of(const Op& op, Arrays inputs) {
  SmallVector<DType, 16> dtypes;
  for (const Array* input : inputs) dtypes.push_back(input->dtype);
  return prepare(*op.scalar, {dtypes.data(), dtypes.size()}).program;
}

// Whether output `k` may be written where input `i`, x, is read; `program` is a scalar function's.
bool may_take(const Op& op, const TileProgram* program, Arrays inputs, size_t i, const Spec& spec,
              size_t k) {
  const Array& x = *inputs[i];
  if (!(x.shape == spec.shape) || size_of(x.dtype) != size_of(spec.dtype)) return false;
  if (program != nullptr) {
    return may_write_over(*program, static_cast<int>(i), static_cast<int>(k)) &&
           lie_alike(x.shape, x.strides, result_strides(op, inputs, spec));
  }
  return k == 0 && static_cast<int>(i) == op.cls.spec.memory.reuses && x.dtype == spec.dtype &&
         x.is_contiguous;
}

Dims result_order(const Op& op, Arrays inputs, const Spec& spec) {
  if (op.scalar != nullptr) return order_beside(inputs, spec.shape);
  return op.cls.order == nullptr ? Dims() : op.cls.order(op, inputs, spec);
}

Ref<RawTensor> empty_result(const Op& op, Arrays inputs, const Spec& spec) {
  const Dims order = result_order(op, inputs, spec);
  if (order.empty()) return RawTensor::empty(spec.dtype, spec.shape, spec.device);
  return RawTensor::empty(spec.dtype, spec.shape, strides_in(order, spec.shape), spec.device);
}

// x in a dtype and in order, in the workspace.
Array prepared(const Array& x, DType dtype, Workspace& workspace) {
  Array made = workspace.array(dtype, x.shape);
  backend(x.device).assign(made, x);
  return made;
}

}  // namespace

bool is_ours(const RawTensor& x, int64_t holds) {
  return x.use_count() == holds && x.storage->use_count() == 1 && x.storage->is_owned();
}

uint32_t reusable(const Op& op, RawArgs inputs, uint32_t donated, int64_t holds) {
  uint32_t found = 0;
  for (size_t i = 0; donated != 0 && i < std::min(inputs.size(), kMostInSet); ++i) {
    const bool is_free = has_argument(donated, i) && is_ours(*inputs[i], holds);
    if (is_free && may_overwrite(op, inputs, i)) found |= argument_bit(i);
  }
  return found;
}

Ref<RawTensor> over_tensor(const Spec& spec, RawTensor& x) {
  if (x.dtype == spec.dtype && x.shape == spec.shape) return Ref<RawTensor>(&x);
  return make_ref<RawTensor>(spec.dtype, spec.shape, x.strides, x.storage, x.data);
}

Dims result_strides(const Op& op, Arrays inputs, const Spec& spec) {
  return strides_in(result_order(op, inputs, spec), spec.shape);
}

Values views_of(const Op& op, RawArgs inputs, const Specs& specs) {
  Values results;
  Views views;
  if (op.cls.view == nullptr || !op.cls.view(op, *inputs[0], specs, views)) return results;
  for (const View& view : views) results.push_back(seen_through(*inputs[0], view));
  return results;
}

Ref<Value> seen_through(RawTensor& x, const View& view) {
  const bool is_same = view.offset == 0 && view.shape == x.shape && view.strides == x.strides;
  if (is_same) return Ref<Value>(&x);
  return x.view(view.shape, view.strides, view.offset);
}

SmallVector<uint32_t, 2> overwritable(const Op& op, Arrays inputs, const Specs& specs) {
  const TileProgram* const program = op.scalar != nullptr ? &program_of(op, inputs) : nullptr;
  SmallVector<uint32_t, 2> found;
  for (size_t k = 0; k < specs.size(); ++k) {
    found.push_back(0);
    for (size_t i = 0; i < std::min(inputs.size(), kMostInSet); ++i) {
      if (may_take(op, program, inputs, i, specs[k], k)) found.back() |= argument_bit(i);
    }
  }
  return found;
}

SmallVector<int, 2> written_over(const Op& op, Arrays inputs, const Specs& specs,
                                 uint32_t available) {
  SmallVector<int, 2> found;
  const TileProgram* const program =
      available != 0 && op.scalar != nullptr ? &program_of(op, inputs) : nullptr;
  for (size_t k = 0; k < specs.size(); ++k) {
    const size_t count = available == 0 ? 0 : std::min(inputs.size(), kMostInSet);
    size_t i = 0;
    while (i < count &&
           !(has_argument(available, i) && may_take(op, program, inputs, i, specs[k], k))) {
      ++i;
    }
    found.push_back(i == count ? -1 : static_cast<int>(i));
    if (i != count) available &= ~argument_bit(i);
  }
  return found;
}

Values place_results(const Op& op, RawArgs inputs, const Specs& specs, uint32_t donated,
                     int64_t holds) {
  Values results;
  const SmallVector<const Array*, 12> pointers(inputs.begin(), inputs.end());
  const Arrays arrays(pointers.data(), pointers.size());
  const uint32_t available = reusable(op, inputs, donated, holds);
  if (available == 0) {
    for (const Spec& spec : specs) results.push_back(empty_result(op, arrays, spec));
    return results;
  }
  const auto over = written_over(op, arrays, specs, available);
  for (size_t k = 0; k < specs.size(); ++k) {
    const Spec& spec = specs[k];
    if (over[k] < 0) {
      results.push_back(empty_result(op, arrays, spec));
      continue;
    }
    results.push_back(over_tensor(spec, *inputs[static_cast<size_t>(over[k])]));
  }
  return results;
}

KernelRun::KernelRun(const Op& op, Arrays inputs, const Specs& specs, Workspace& workspace)
    : op_(op), workspace_(workspace), inputs_(inputs.begin(), inputs.end()) {
  const MemorySpec& wanted = op.cls.spec.memory;
  const bool casts = wanted.computes_in != ComputesIn::kAsGiven;
  if (!casts && wanted.contiguous == 0) return;
  const DType loop = casts ? loop_dtype(op, inputs, specs) : DType::kFloat32;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Array& x = *inputs[i];
    const DType dtype = casts && holds_fractions(op, i) ? loop : x.dtype;
    const bool is_fine = x.is_contiguous || (wanted.contiguous >> declared_as(op, i) & 1U) == 0;
    if (is_fine && dtype == x.dtype) continue;
    if (prepared_.empty()) prepared_.resize(inputs.size());
    prepared_[i] = prepared(x, dtype, workspace);
    inputs_[i] = &prepared_[i];
  }
}

void KernelRun::find_sizes(Specs& specs) {
  backend(inputs_[0]->device).find_sizes(op_, {inputs_.data(), inputs_.size()}, specs, workspace_);
}

void KernelRun::launch(Arrays outputs) {
  if (outputs.empty()) return;  // a tensor of length 0, split into its elements
  backend(outputs[0]->device).launch(op_, {inputs_.data(), inputs_.size()}, outputs, workspace_);
}

bool KernelRun::converts(Arrays outputs) const {
  return op_.cls.spec.memory.computes_in != ComputesIn::kAsGiven &&
         std::any_of(outputs.begin(), outputs.end(),
                     [](const Array* out) { return compute_of(out->dtype) != out->dtype; });
}

void KernelRun::run(Arrays outputs) {
  if (!converts(outputs)) {
    launch(outputs);
    return;
  }
  SmallVector<Array, 2> wide(outputs.size());
  SmallVector<const Array*, 2> given(outputs.begin(), outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DType dtype = compute_of(outputs[i]->dtype);
    if (dtype == outputs[i]->dtype) continue;
    wide[i] = workspace_.array(dtype, outputs[i]->shape);
    given[i] = &wide[i];
  }
  launch({given.data(), given.size()});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (given[i] != outputs[i]) backend(wide[i].device).assign(*outputs[i], wide[i]);
  }
}

void compute(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  if (op.reduction != nullptr || op.scalar != nullptr) {
    backend(outputs[0]->device).launch(op, inputs, outputs, workspace);
    return;
  }
  Specs specs;
  for (const Array* out : outputs) specs.push_back({out->dtype, out->shape, out->device});
  KernelRun(op, inputs, specs, workspace).run(outputs);
}

}  // namespace tensorlike
