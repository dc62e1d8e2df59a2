#include "engine/known_chain.h"

#include <algorithm>

#include "base/arguments.h"
#include "engine/known_operands.h"
#include "memory/backend.h"
#include "memory/workspace.h"

namespace tensorlike {
namespace {

bool is_ours(const RawTensor& x) {
  return x.use_count() == 1 && x.storage->use_count() == 1 && x.storage->is_owned() &&
         x.is_contiguous;
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

Values launch_chain(const KnownChain& chain, const Dims& shape, Args operands, uint32_t donated) {
  const KnownOperands there(operands);
  if (!there.are_there) return {};
  const Device device = there.device();
  std::vector<int> free;
  for (size_t i = 0; i < operands.size(); ++i) {
    const RawTensor& x = *static_cast<RawTensor*>(operands[i]);
    if (has_argument(donated, i) && x.shape == shape && is_ours(x)) {
      free.push_back(static_cast<int>(i));
    }
  }
  const Arrays inputs = there.seen();
  const TileProgram& program = chain.prepared.program;
  Values results;
  SmallVector<const Array*, 4> outputs;
  for (DType dtype : chain.prepared.results) {
    const int output = static_cast<int>(outputs.size());
    const auto* taken =
        static_cast<const RawTensor*>(take_operand(program, inputs, free, size_of(dtype), output));
    Ref<RawTensor> result = taken == nullptr ? RawTensor::empty(dtype, shape, device)
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
  const Device device = there.device();
  Ref<RawTensor> out = RawTensor::empty(result.dtype, result.shape, device);
  Workspace workspace(device);
  const Feed feed{&chain.prepared.program, chain.fed, shape, there.seen(), {}, false};
  ProfileScope scope;
  backend(device).reduce(*chain.reduction, feed, *out, workspace);
  Values results;
  results.push_back(out);
  tell(scope, chain.ops, chain.place, shape, operands, results);
  return out;
}

}  // namespace tensorlike
