#include "program/pulled_call.h"

#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

bool is_plain(const Value* value) { return value != nullptr && value->tag == Value::kRaw; }

}  // namespace

bool PulledCall::pull(GradCall& call) const {
  SmallVector<Value*, 12> args;
  Values held;
  for (Value* input : call.inputs) {
    if (!is_plain(input)) return false;
    args.push_back(input);
  }
  for (size_t i = results; i < call.outputs.size(); ++i) {
    // What is kept has a cotangent of its own in derivatives of higher order alone.
    if (!is_plain(call.outputs[i]) || call.cotangents[i] != nullptr) return false;
    args.push_back(call.outputs[i]);
  }
  for (size_t i = 0; i < results; ++i) {
    if (!is_differentiable(call.node.outputs()[i].dtype)) continue;
    Value* cotangent = call.cotangents[i];
    if (cotangent == nullptr) {
      held.push_back(zeros(call.node.outputs()[i], *args[0]));
      cotangent = held.back().get();
    }
    if (!is_plain(cotangent)) return false;
    args.push_back(cotangent);
  }
  const Args all(args.data(), args.size());
  if (!meaning.holds_on_elements(*op, all.size())) return false;
  Values found = stretch->run(all);
  size_t at = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    if (call.wants(i)) call.result(i) = std::move(found[at]);
    ++at;
  }
  return true;
}

}  // namespace tensorlike
