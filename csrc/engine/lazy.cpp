// Running the lazy graph. A chain is the elementwise nodes of one shape below the node that is
// asked for; it becomes one tile program, whose outputs are the results that somebody outside of
// the chain still holds. A reduction swallows the chain that feeds it. What a chain needs beside
// (another shape, a reduction) runs before it.
#include "engine/lazy.h"

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/blocking.h"
#include "base/place.h"
#include "engine/profile.h"
#include "op/infer.h"
#include "op/tile_program.h"
#include "tensor/reduce.h"

namespace tensorlike {
namespace {

constexpr size_t kMaxWaiting = 4096;   // nodes
constexpr size_t kMaxPrograms = 4096;  // that are kept for the next time
constexpr size_t kRemembered = 64;     // programs that `fused_programs` knows

struct Waiting {
  LazyNode* first = nullptr;
  LazyNode* last = nullptr;
  size_t count = 0;
  size_t bytes = 0;
};

Waiting& waiting() {
  static Waiting* instance = new Waiting;
  return *instance;
}

std::deque<FusedProgram>& remembered() {
  static auto* instance = new std::deque<FusedProgram>;
  return *instance;
}

// One flush at a time; a flush may need another one first. A child of fork has no thread that could
// end the flush of another one: its chain is taken apart.
std::recursive_mutex& run_mutex() {
  static auto* instance = [] {
    static auto* mutex = new std::recursive_mutex;
    pthread_atfork(nullptr, nullptr, [] {
      new (mutex) std::recursive_mutex;
      for (LazyNode* node = waiting().first; node != nullptr; node = node->next()) node->mark = -1;
    });
    return mutex;
  }();
  return *instance;
}

LazyNode* node_of(const RawTensor& tensor) { return static_cast<LazyNode*>(tensor.pending.get()); }

size_t result_bytes(const Spec& spec) {
  return static_cast<size_t>(element_count(spec.shape)) * size_of(spec.dtype);
}

// Elementwise nodes of one shape, inputs before users.
class Chain {
 public:
  explicit Chain(const Dims& shape) : shape_(shape) {}
  ~Chain() {
    for (const Ref<LazyNode>& node : nodes_) node->mark = -1;
  }

  // Adds a node and what it can be fused with; returns a node that must run before, or null.
  LazyNode* collect(LazyNode& root);
  // An intermediate result that somebody outside of the chain holds, or null; `users` references
  // to the last node's result are not outside.
  LazyNode* held(int64_t users) const;
  // Runs the chain as one program and fills what is held.
  void run(const char* reason);
  // The chain as the source of a reduction.
  const PreparedProgram& feed(Reducible& source, DType loop);

  const std::vector<Ref<LazyNode>>& nodes() const { return nodes_; }
  FusedProgram describe(const char* reason, const PreparedProgram& prepared) const;
  int64_t bytes_read() const {
    int64_t bytes = 0;
    for (const RawTensor* operand : operands_) bytes += bytes_of(*operand);
    return bytes;
  }

 private:
  // References to a result from inside the chain.
  int64_t inner_uses(const RawTensor& tensor) const;
  void number_operands();
  const PreparedProgram& prepare(const SmallVector<int, 4>& results, DType converted,
                                 bool converts);

  const Dims shape_;
  std::vector<Ref<LazyNode>> nodes_;
  std::vector<RawTensor*> operands_;
  std::vector<ChainStep> steps_;
  std::vector<int> first_slot_;  // of each node's results
};

LazyNode* Chain::collect(LazyNode& root) {
  struct Frame {
    LazyNode* node;
    size_t next;
  };
  std::vector<Frame> stack = {{&root, 0}};
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == node->inputs.size()) {
      node->mark = static_cast<int>(nodes_.size());
      nodes_.push_back(Ref<LazyNode>(node));
      stack.pop_back();
      continue;
    }
    LazyNode* input = node_of(*node->inputs[next++]);
    if (input == nullptr || input->mark >= 0) continue;
    if (!input->is_elementwise() || !(input->result.shape == shape_)) return input;
    stack.push_back({input, 0});
  }
  return nullptr;
}

int64_t Chain::inner_uses(const RawTensor& tensor) const {
  int64_t uses = 0;
  for (const Ref<LazyNode>& node : nodes_) {
    for (const Ref<RawTensor>& input : node->inputs) uses += input.get() == &tensor;
  }
  return uses;
}

LazyNode* Chain::held(int64_t users) const {
  for (const Ref<LazyNode>& node : nodes_) {
    for (const RawTensor* output : node->outputs) {
      if (output == nullptr) continue;
      const int64_t known = inner_uses(*output) + (node == nodes_.back() ? users : 0);
      if (output->use_count() > known) return node.get();
    }
  }
  return nullptr;
}

void Chain::number_operands() {
  for (const Ref<LazyNode>& node : nodes_) {
    for (const Ref<RawTensor>& input : node->inputs) {
      if (input->pending) continue;
      if (std::find(operands_.begin(), operands_.end(), input.get()) == operands_.end()) {
        operands_.push_back(input.get());
      }
    }
  }
  int slot = static_cast<int>(operands_.size());
  for (const Ref<LazyNode>& node : nodes_) {
    ChainStep& step = steps_.emplace_back();
    step.scalar = node->op->scalar;
    for (const Ref<RawTensor>& input : node->inputs) {
      if (const LazyNode* from = node_of(*input)) {
        step.args.push_back(first_slot_[static_cast<size_t>(from->mark)] +
                            static_cast<int>(from->index_of(*input)));
      } else {
        const auto at = std::find(operands_.begin(), operands_.end(), input.get());
        step.args.push_back(static_cast<int>(at - operands_.begin()));
      }
    }
    first_slot_.push_back(slot);
    slot += node->op->scalar->spec.outputs;
  }
}

int64_t bytes_written(const std::vector<Ref<RawTensor>>& tensors) {
  int64_t bytes = 0;
  for (const Ref<RawTensor>& tensor : tensors) bytes += bytes_of(*tensor);
  return bytes;
}

// Programs by what they do: the same lines of a loop find theirs again.
const PreparedProgram& Chain::prepare(const SmallVector<int, 4>& results, DType converted,
                                      bool converts) {
  using Key = std::u32string;
  static auto* cache = new std::unordered_map<Key, PreparedProgram>;
  Key key;
  SmallVector<DType, 8> dtypes;
  for (const RawTensor* operand : operands_) {
    dtypes.push_back(operand->dtype);
    key.push_back(static_cast<char32_t>(operand->dtype));
  }
  key.push_back(converts ? 1000U + static_cast<char32_t>(converted) : 999U);
  for (const ChainStep& step : steps_) {
    const auto address = reinterpret_cast<uintptr_t>(step.scalar);
    key.push_back(static_cast<char32_t>(address));
    key.push_back(static_cast<char32_t>(address >> 32));
    for (int arg : step.args) key.push_back(static_cast<char32_t>(arg));
  }
  key.push_back(998U);
  for (int result : results) key.push_back(static_cast<char32_t>(result));
  const auto found = cache->find(key);
  if (found != cache->end()) return found->second;
  if (cache->size() >= kMaxPrograms) cache->clear();
  const SmallVector<DType, 4> wanted(converts ? 1 : 0, converted);
  return cache
      ->emplace(std::move(key),
                prepare_chain({dtypes.data(), dtypes.size()}, steps_,
                              {results.data(), results.size()}, {wanted.data(), wanted.size()}))
      .first->second;
}

FusedProgram Chain::describe(const char* reason, const PreparedProgram& prepared) const {
  FusedProgram program;
  program.reason = reason;
  program.shape = shape_;
  program.operands = prepared.program.operands;
  program.outputs = prepared.program.outputs;
  program.instructions = static_cast<int>(prepared.program.instructions.size());
  for (const Ref<LazyNode>& node : nodes_) {
    program.ops.push_back(node->op->name());
    program.places.push_back(node->place);
  }
  return program;
}

// Tells a profile what runs.
void tell(ProfileScope& scope, const FusedProgram& program, int64_t bytes) {
  if (!scope) return;
  for (const std::string& op : program.ops) {
    scope.event.name += (scope.event.name.empty() ? "" : " + ") + op;
  }
  scope.event.ops = program.ops;
  scope.event.place = program.places.back();
  scope.event.shape = to_string(program.shape);
  scope.event.bytes = bytes;
}

void remember(FusedProgram program) {
  remembered().push_back(std::move(program));
  if (remembered().size() > kRemembered) remembered().pop_front();
}

void Chain::run(const char* reason) {
  number_operands();
  SmallVector<int, 4> results;
  std::vector<Ref<RawTensor>> filled;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (size_t k = 0; k < nodes_[i]->outputs.size(); ++k) {
      RawTensor* output = nodes_[i]->outputs[k];
      if (output == nullptr) continue;
      const bool is_asked = i + 1 == nodes_.size();
      if (!is_asked && output->use_count() == inner_uses(*output)) continue;
      results.push_back(first_slot_[i] + static_cast<int>(k));
      filled.push_back(Ref<RawTensor>(output));
    }
  }
  if (!results.empty()) {
    const PreparedProgram& prepared = prepare(results, DType::kBool, false);
    SmallVector<TileOperand, 8> operands;
    for (const RawTensor* operand : operands_) operands.push_back(tile_operand(*operand, shape_));
    std::vector<Ref<Storage>> storages;
    SmallVector<TileOutput, 4> outputs;
    for (const Ref<RawTensor>& tensor : filled) {
      storages.push_back(
          Storage::allocate(static_cast<size_t>(tensor->count) * size_of(tensor->dtype)));
      outputs.push_back({storages.back()->data(), size_of(tensor->dtype)});
    }
    FusedProgram program = describe(reason, prepared);
    {
      ProfileScope scope;
      run_tiles(prepared.program, shape_, {operands.data(), operands.size()},
                {outputs.data(), outputs.size()});
      tell(scope, program, bytes_read() + bytes_written(filled));
    }
    for (size_t i = 0; i < filled.size(); ++i) filled[i]->fill(std::move(storages[i]));
    remember(std::move(program));
  }
  for (const Ref<LazyNode>& node : nodes_) node->settle();
}

const PreparedProgram& Chain::feed(Reducible& source, DType loop) {
  number_operands();
  const int last = first_slot_.back();
  const PreparedProgram& prepared = prepare({last}, loop, true);
  source.shape = shape_;
  source.size = size_of(loop);
  source.program = &prepared.program;
  for (const RawTensor* operand : operands_)
    source.operands.push_back(tile_operand(*operand, shape_));
  return prepared;
}

// Both run the node and return null, or return a node that must run before.
LazyNode* run_elementwise(LazyNode& node, const char* reason) {
  Chain chain(node.result.shape);
  LazyNode* first = chain.collect(node);
  if (first == nullptr) chain.run(reason);
  return first;
}

// From memory, with a cast on the way where the reduction computes in another dtype.
void run_plain_reduction(LazyNode& node, DType loop) {
  const RawTensor& x = *node.inputs[0];
  Reducible source{x.shape, size_of(loop), nullptr, {{x.data, size_of(x.dtype), x.strides}}};
  if (loop != x.dtype) source.program = &prepare_cast(x.dtype, loop).program;
  FusedProgram program;
  program.ops = {node.op->name()};
  program.places = {node.place};
  program.shape = x.shape;
  Ref<RawTensor> out;
  {
    ProfileScope scope;
    out = reduce(*node.op, source, loop, node.result);
    tell(scope, program, bytes_of(x) + bytes_of(*out));
  }
  if (node.outputs[0] != nullptr) node.outputs[0]->fill(out->storage);
  node.settle();
}

LazyNode* run_reduction(LazyNode& node, const char* reason) {
  const RawTensor& x = *node.inputs[0];
  const DType loop = reduction_loop(*node.op->reduction, x.dtype);
  LazyNode* const from = node_of(x);
  if (from == nullptr) {
    run_plain_reduction(node, loop);
    return nullptr;
  }
  if (!from->is_elementwise() || from->outputs.size() != 1) return from;
  Chain chain(x.shape);
  if (LazyNode* first = chain.collect(*from)) return first;
  if (LazyNode* first = chain.held(1)) return first;
  Reducible source;
  FusedProgram program = chain.describe(reason, chain.feed(source, loop));
  program.ops.push_back(node.op->name());
  program.places.push_back(node.place);
  Ref<RawTensor> out;
  {
    ProfileScope scope;
    out = reduce(*node.op, source, loop, node.result);
    tell(scope, program, chain.bytes_read() + bytes_of(*out));
  }
  if (node.outputs[0] != nullptr) node.outputs[0]->fill(out->storage);
  node.settle();
  for (const Ref<LazyNode>& inner : chain.nodes()) inner->settle();
  remember(std::move(program));
  return nullptr;
}

// Runs a node after what it needs, without recursion: what waits may be deeper than the stack. An
// error is told with the op and the line that applied it.
void run_node(LazyNode& node, const char* reason) {
  std::vector<Ref<LazyNode>> stack = {Ref<LazyNode>(&node)};
  while (!stack.empty()) {
    LazyNode& top = *stack.back();
    LazyNode* first = nullptr;
    try {
      if (!top.is_settled) {
        first = top.is_elementwise() ? run_elementwise(top, reason) : run_reduction(top, reason);
      }
    } catch (const Error& error) {
      throw Error(error.kind(), with_place(error.what(), *top.op, top.place));
    }
    if (first != nullptr) {
      stack.push_back(Ref<LazyNode>(first));
    } else {
      stack.pop_back();
    }
  }
}

}  // namespace

LazyNode::LazyNode(const Op& op, Args args, Spec spec)
    : op(&op), result(std::move(spec)), place(place_of_user()) {
  for (Value* arg : args) {
    auto* input = static_cast<RawTensor*>(arg);
    if (const LazyNode* node = node_of(*input)) size += node->size;
    inputs.push_back(Ref<RawTensor>(input));
  }
  Waiting& list = waiting();
  previous_ = list.last;
  (list.last != nullptr ? list.last->next_ : list.first) = this;
  list.last = this;
  ++list.count;
  list.bytes += result_bytes(result);
}

LazyNode::~LazyNode() {
  if (!is_settled) settle();
}

void LazyNode::settle() {
  if (is_settled) return;
  is_settled = true;
  Waiting& list = waiting();
  (previous_ != nullptr ? previous_->next_ : list.first) = next_;
  (next_ != nullptr ? next_->previous_ : list.last) = previous_;
  previous_ = next_ = nullptr;
  --list.count;
  list.bytes -= result_bytes(result);
  drop_inputs();
}

// The inputs' own nodes may have nobody else, and so on down a chain that is deeper than the stack:
// whoever drops first drops for all.
void LazyNode::drop_inputs() {
  static thread_local std::vector<Ref<RawTensor>>* dropping = nullptr;
  const bool is_first = dropping == nullptr;
  std::vector<Ref<RawTensor>> dropped;
  if (is_first) dropping = &dropped;
  for (Ref<RawTensor>& input : inputs) dropping->push_back(std::move(input));
  inputs.clear();
  if (!is_first) return;
  while (!dropped.empty()) {
    const Ref<RawTensor> next = std::move(dropped.back());
    dropped.pop_back();
  }
  dropping = nullptr;
}

size_t LazyNode::index_of(const RawTensor& tensor) const {
  return static_cast<size_t>(std::find(outputs.begin(), outputs.end(), &tensor) - outputs.begin());
}

void LazyNode::forget(const RawTensor& tensor) { outputs[index_of(tensor)] = nullptr; }

void LazyNode::finish(const char* reason) {
  const PatientLock lock(run_mutex());
  if (!is_settled) run_node(*this, reason);
}

bool push_lazily(const Op& op, Args args, Values& out) {
  const EngineOptions options = engine_options();
  const bool is_reduction = op.reduction != nullptr && !op.reduction->spec.single_axis;
  if (op.scalar == nullptr && !is_reduction) return false;
  check_arity(op, args.size());
  SmallVector<Spec, 3> specs;
  for (Value* arg : args) specs.push_back(static_cast<RawTensor*>(arg)->spec());
  const Specs results = infer(op, {specs.data(), specs.size()});
  const Dims& walked = is_reduction ? specs[0].shape : results[0].shape;
  const int64_t work = element_count(walked);
  if (work < options.threshold || work == 0) return false;
  int64_t size = 1;
  for (Value* arg : args) {
    if (const LazyNode* node = node_of(*static_cast<RawTensor*>(arg))) size += node->size;
  }
  if (size > options.max_nodes) {
    for (Value* arg : args) static_cast<RawTensor*>(arg)->ready("the chain is long");
  }
  if (waiting().count >= kMaxWaiting || waiting().bytes >= options.max_bytes) {
    finish_lazy("much is waiting");
  }
  auto node = make_ref<LazyNode>(op, args, results[0]);
  for (const Spec& spec : results) {
    auto tensor = make_ref<RawTensor>(spec.dtype, spec.shape, Ref<Pending>(node));
    node->outputs.push_back(tensor.get());
    out.push_back(std::move(tensor));
  }
  return true;
}

// From the newest on: what the newest need runs with them.
void finish_lazy(const char* reason) {
  const PatientLock lock(run_mutex());
  while (LazyNode* node = waiting().last) {
    const Ref<LazyNode> held(node);
    node->finish(reason);
    if (!node->is_settled) node->settle();
  }
}

void forget_programs() { remembered().clear(); }

std::vector<FusedProgram> fused_programs() { return {remembered().begin(), remembered().end()}; }

std::vector<std::string> waiting_ops() {
  std::vector<std::string> ops;
  for (const LazyNode* node = waiting().first; node != nullptr; node = node->next()) {
    ops.push_back(node->op->name() + (node->place.empty() ? "" : " (" + node->place + ")"));
  }
  return ops;
}

}  // namespace tensorlike
