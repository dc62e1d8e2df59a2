// Running the lazy graph. A node runs as the last of a chain of elementwise ones, or as the
// reduction that swallows such a chain. What a chain needs beside (another shape, a reduction) runs
// before it.
#include <deque>

#include "engine/chain.h"
#include "engine/profile.h"
#include "memory/backend.h"
#include "tensor/kernel_run.h"

namespace tensorlike {
namespace {

constexpr size_t kRemembered = 64;  // programs that `fused_programs` knows

std::deque<FusedProgram>& remembered() {
  static auto* instance = new std::deque<FusedProgram>;
  return *instance;
}

void remember(FusedProgram program) {
  remembered().push_back(std::move(program));
  if (remembered().size() > kRemembered) remembered().pop_front();
}

// Tells a profile what runs.
void tell(ProfileScope& scope, const FusedProgram& program, int64_t bytes) {
  if (!scope) return;
  for (const std::string& op : program.ops) {
    scope.event->name += (scope.event->name.empty() ? "" : " + ") + op;
  }
  scope.event->ops = program.ops;
  scope.event->place = program.places.back();
  scope.event->shape = to_string(program.shape);
  scope.event->bytes = bytes;
}

// Somebody is told that the node cannot run, nor what it waits for with it.
void mark_told(LazyNode& node) {
  std::vector<LazyNode*> left = {&node};
  while (!left.empty()) {
    LazyNode* const told = left.back();
    left.pop_back();
    told->is_told = true;
    for (const Ref<RawTensor>& input : told->inputs) {
      LazyNode* const from = LazyNode::of(*input);
      if (from != nullptr && !from->is_told) left.push_back(from);
    }
  }
}

// Both run the node and return null, or return a node that must run before.
LazyNode* run_elementwise(LazyNode& node, const char* reason) {
  Chain chain(node.result.shape, node.strides);
  if (LazyNode* first = chain.collect(node)) return first;
  chain.prepare();
  if (LazyNode* first = chain.written_apart()) return first;
  if (!chain.writes()) {
    chain.fill();
    return nullptr;
  }
  chain.allocate(true);
  FusedProgram program = chain.describe(reason);
  {
    ProfileScope scope;
    chain.run();
    tell(scope, program, chain.bytes());
  }
  chain.fill();
  remember(std::move(program));
  return nullptr;
}

Ref<RawTensor> empty_result(const LazyNode& node) {
  return RawTensor::empty(node.result.dtype, node.result.shape, node.result.device);
}

void run_fill(LazyNode& node) {
  Workspace workspace(node.result.device);
  const Array* const outputs[] = {node.room.get()};
  compute(*node.op, {}, outputs, workspace);
  if (node.outputs[0] != nullptr) node.outputs[0]->fill(node.room->storage);
  node.settle();
}

void run_plain_reduction(LazyNode& node) {
  const RawTensor& x = *node.inputs[0];
  FusedProgram program;
  program.ops = {node.op->name()};
  program.places = {node.place};
  program.shape = x.shape;
  const Ref<RawTensor> out = empty_result(node);
  Workspace workspace(x.device);
  const Array* const inputs[] = {&x};
  const Array* const outputs[] = {out.get()};
  {
    ProfileScope scope;
    compute(*node.op, inputs, outputs, workspace);
    tell(scope, program, bytes_of(x) + bytes_of(*out));
  }
  if (node.outputs[0] != nullptr) node.outputs[0]->fill(out->storage);
  node.settle();
}

// Intermediate results that somebody holds are written on the way where the reduction walks them in
// the order of memory; else the first of them runs before. Operands are not written over: a
// reduction may run out of memory before it begins, and can then be repeated.
LazyNode* run_reduction(LazyNode& node, const char* reason) {
  const RawTensor& x = *node.inputs[0];
  LazyNode* const from = LazyNode::of(x);
  if (from == nullptr) {
    run_plain_reduction(node);
    return nullptr;
  }
  if (!from->is_elementwise()) return from;
  Chain chain(x.shape, x.strides);
  if (LazyNode* first = chain.collect(*from)) return first;
  Backend& device = backend(x.device);
  const DType loop = device.feed_dtype(*node.op, x.dtype);
  chain.prepare_for_reduction(node, loop);
  if (LazyNode* first = chain.written_apart()) return first;
  const bool may_write = chain.is_in_order() && device.writes_meanwhile(*node.op, x.shape, loop);
  if (chain.writes() && !may_write) {
    return chain.written_node();
  }
  chain.allocate(false);
  FusedProgram program = chain.describe(reason);
  program.ops.push_back(node.op->name());
  program.places.push_back(node.place);
  ++program.outputs;
  const Ref<RawTensor> out = empty_result(node);
  Workspace workspace(x.device);
  {
    ProfileScope scope;
    chain.run_into(*node.op, loop, *out, workspace);
    tell(scope, program, chain.bytes() + bytes_of(*out));
  }
  if (node.outputs[0] != nullptr) node.outputs[0]->fill(out->storage);
  node.settle();
  chain.fill();
  remember(std::move(program));
  return nullptr;
}

}  // namespace

void run_node(LazyNode& node, const char* reason) {
  std::vector<Ref<LazyNode>> stack = {Ref<LazyNode>(&node)};
  while (!stack.empty()) {
    LazyNode& top = *stack.back();
    LazyNode* first = nullptr;
    try {
      if (top.room && !top.is_settled) {
        run_fill(top);
      } else if (!top.is_settled) {
        first = top.is_elementwise() ? run_elementwise(top, reason) : run_reduction(top, reason);
      }
    } catch (const Error& error) {
      for (const Ref<LazyNode>& waiting : stack) mark_told(*waiting);
      throw with_place(error, *top.op, top.place);
    }
    if (first != nullptr) {
      stack.push_back(Ref<LazyNode>(first));
    } else {
      stack.pop_back();
    }
  }
}

void forget_programs() { remembered().clear(); }

std::vector<FusedProgram> fused_programs() { return {remembered().begin(), remembered().end()}; }

}  // namespace tensorlike
