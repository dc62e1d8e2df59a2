#include "engine/known_chain.h"

#include <algorithm>

#include "base/arguments.h"
#include "engine/known_operands.h"
#include "memory/backend.h"
#include "memory/layout.h"
#include "memory/workspace.h"

namespace tensorlike {
namespace {

bool is_ours(const RawTensor& x) {
  return x.use_count() == 1 && x.storage->use_count() == 1 && x.storage->is_owned();
}

}  // namespace

const Array* take_operand(const TileProgram& program, Arrays operands, std::vector<int>& free,
                          size_t bytes, int output) {
  const auto fits = std::find_if(free.begin(), free.end(), [&](int i) {
    return size_of(operands[static_cast<size_t>(i)]->dtype) == bytes &&
           may_write_over(program, i, output);
  });
  if (fits == free.end()) return nullptr;
  const Array* const found = operands[static_cast<size_t>(*fits)];
  free.erase(fits);
  return found;
}

std::optional<Dims> strides_of(const KnownChain& chain, const Dims& shape, Arrays operands) {
  const auto is_turned = [&](const Array* x) {
    return !x->is_contiguous && x->shape == shape && !order_in_memory(x->shape, x->strides).empty();
  };
  if (std::none_of(operands.begin(), operands.end(), is_turned)) return contiguous_strides(shape);
  std::vector<Array> slots;
  for (const Array* x : operands) slots.push_back(*x);
  for (const ChainStep& step : chain.steps) {
    SmallVector<const Array*, 4> read;
    for (int slot : step.args) read.push_back(&slots[static_cast<size_t>(slot)]);
    // Alone it would perhaps be let through as it is.
    const bool repeats = read.size() == 1 && read[0]->shape == shape && !has_say(*read[0]);
    if (repeats) return std::nullopt;
    const Array made(DType::kBool, shape, strides_beside({read.data(), read.size()}, shape),
                     nullptr);
    const int outputs = step.scalar == nullptr ? 1 : step.scalar->spec.outputs;
    slots.insert(slots.end(), static_cast<size_t>(outputs), made);
  }
  const Dims& strides = slots[static_cast<size_t>(chain.written[0])].strides;
  for (int slot : chain.written) {
    if (!lie_alike(shape, slots[static_cast<size_t>(slot)].strides, strides)) return std::nullopt;
  }
  return strides;
}

Values launch_chain(const KnownChain& chain, const Dims& shape, Args operands, uint32_t donated) {
  const KnownOperands there(operands);
  if (!there.are_there) return {};
  const Device device = there.device();
  const Arrays inputs = there.seen();
  const std::optional<Dims> strides = strides_of(chain, shape, inputs);
  if (!strides) return {};
  std::vector<int> free;
  for (size_t i = 0; i < operands.size(); ++i) {
    const RawTensor& x = *static_cast<RawTensor*>(operands[i]);
    if (has_argument(donated, i) && x.shape == shape && lie_alike(shape, x.strides, *strides) &&
        is_ours(x)) {
      free.push_back(static_cast<int>(i));
    }
  }
  const TileProgram& program = chain.prepared.program;
  Values results;
  SmallVector<const Array*, 4> outputs;
  for (DType dtype : chain.prepared.results) {
    const int output = static_cast<int>(outputs.size());
    const auto* taken =
        static_cast<const RawTensor*>(take_operand(program, inputs, free, size_of(dtype), output));
    Ref<RawTensor> result = taken == nullptr ? RawTensor::empty(dtype, shape, *strides, device)
                                             : make_ref<RawTensor>(dtype, shape, taken->strides,
                                                                   taken->storage, taken->data);
    outputs.push_back(result.get());
    results.push_back(std::move(result));
  }
  ProfileScope scope;
  backend(device).run(program, shape, inputs, {outputs.data(), outputs.size()});
  tell(scope, chain.ops, chain.place, shape, operands, results);
  return results;
}

Ref<Value> launch_reduction(const KnownChain& chain, const Dims& shape, const Spec& result,
                            Args operands) {
  const KnownOperands there(operands);
  if (!there.are_there || element_count(shape) == 0) return {};
  const std::optional<Dims> strides = strides_of(chain, shape, there.seen());
  if (!strides) return {};
  const Device device = there.device();
  Ref<RawTensor> out = RawTensor::empty(result.dtype, result.shape, device);
  Workspace workspace(device);
  const Feed feed{&chain.prepared.program, chain.fed, shape, there.seen(), {}, false, *strides};
  ProfileScope scope;
  backend(device).reduce(*chain.reduction, feed, *out, workspace);
  Values results;
  results.push_back(out);
  tell(scope, chain.ops, chain.place, shape, operands, results);
  return out;
}

}  // namespace tensorlike
