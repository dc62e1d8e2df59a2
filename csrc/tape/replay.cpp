// The gradient of an op that has a body and no rule, and was recorded as it is: the body runs
// again, under a tape of its own, and that is differentiated. Ops that are gradients are such: who
// takes a first derivative, on whatever kind of value, sees one op, and the long way through the
// body is paid by who asks for the second.
#include <algorithm>

#include "dispatch/dispatcher.h"
#include "tape/gradient.h"
#include "tape/inner_tape.h"

namespace tensorlike {

void replay(GradCall& call) {
  const InnerTape inner;
  Leaves leaves(call.inputs.size());
  SmallVector<Value*, 8> args;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.wants(i)) leaves.tracers[i] = make_leaf(Ref<Value>(call.inputs[i]), inner.tape());
    args.push_back(leaves.tracers[i] ? leaves.tracers[i].get() : call.inputs[i]);
  }
  Values outputs;
  apply_body(call.op, {args.data(), args.size()}, outputs);
  std::vector<Edge> roots;
  Values cotangents;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tracer* tracer = tracer_on(outputs[i], inner.tape());
    if (tracer == nullptr || call.cotangents[i] == nullptr) continue;
    roots.push_back(tracer->edge);
    cotangents.push_back(fit(Ref<Value>(call.cotangents[i]), spec_of(call.op.name(), *tracer)));
  }
  outputs.clear();
  leaves.pull(inner.tape(), roots, std::move(cotangents));
  call.results = std::move(leaves.found);
  if (call.op.scalar != nullptr) return;  // these give nothing where the slope is 0 everywhere
  Value* const like = *std::find_if(call.cotangents.begin(), call.cotangents.end(),
                                    [](Value* value) { return value != nullptr; });
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (call.wants(i) && !call.results[i]) call.result(i) = zeros(call.node.input_spec(i), *like);
  }
}

}  // namespace tensorlike
