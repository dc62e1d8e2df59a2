// Captured arrays that a product may read become constants, with which kernels keep what they make
// of them: packed and transformed weights. Nobody else sees those: the arrays of who recorded the
// program stay as they are.
#include "program/passes.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int64_t kFewElements = 1024;  // less is made again as fast as it is found

// The elements as a constant; where somebody else's code may write to them, a copy.
Ref<Value> constant(const RawTensor& x) {
  const bool is_shared = !x.storage->is_owned() && x.storage->forms() == nullptr;
  const Ref<RawTensor> own = is_shared ? copy(x) : Ref<RawTensor>(const_cast<RawTensor*>(&x));
  return make_ref<RawTensor>(own->dtype, own->shape, own->strides, Storage::constant(own->storage),
                             own->data);
}

}  // namespace

int keep_constants(Graph& graph, OptLevel) {
  int changes = 0;
  const size_t count = graph.variables().size();
  const std::vector<int> readers = graph.readers();
  for (size_t i = 0; i < count; ++i) {
    const Program::Variable& variable = graph.variables()[i];
    if (variable.role != Program::Role::kCaptured || readers[i] == 0 || !variable.value) continue;
    if (variable.value->tag != Value::kRaw) continue;
    const auto& x = static_cast<const RawTensor&>(*variable.value);
    if (x.count < kFewElements || x.device != Device() || x.shape.size() < 2) continue;
    const int kept = graph.capture(constant(x.ready("optimize")), variable.note);
    graph.replace(static_cast<int>(i), kept);
    ++changes;
  }
  return changes;
}

}  // namespace tensorlike
