// The nodes that wait: how they come, when they must run, and how they go.
#include "engine/lazy.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/blocking.h"
#include "base/place.h"
#include "memory/backend.h"
#include "op/infer.h"
#include "op/registry.h"
#include "tensor/kernel_run.h"

namespace tensorlike {
namespace {

constexpr size_t kMaxWaiting = 4096;            // nodes
constexpr size_t kLeastFill = size_t{4} << 20;  // bytes: less is written in no time

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

size_t result_bytes(const Spec& spec) {
  return static_cast<size_t>(element_count(spec.shape)) * size_of(spec.dtype);
}

}  // namespace

// The nodes of a chain that would end with these arguments' user. Adding up the arguments' sizes
// counts what they share twice; where that seems too many, they are looked at one by one.
static int64_t chain_size(Args args) {
  int64_t size = 1;
  for (const Value* arg : args) {
    if (const LazyNode* node = LazyNode::of(*static_cast<const RawTensor*>(arg))) {
      size += node->size;
    }
  }
  if (size <= engine_options().max_nodes) return size;
  static uint64_t counts = 0;
  const uint64_t count = ++counts;
  size = 1;
  std::vector<const LazyNode*> left;
  auto add = [&](const RawTensor& input) {
    const LazyNode* node = LazyNode::of(input);
    if (node == nullptr || node->counted == count) return;
    node->counted = count;
    ++size;
    left.push_back(node);
  };
  for (const Value* arg : args) add(*static_cast<const RawTensor*>(arg));
  while (!left.empty() && size <= engine_options().max_nodes) {
    const LazyNode* node = left.back();
    left.pop_back();
    for (const Ref<RawTensor>& input : node->inputs) add(*input);
  }
  return size;
}

LazyNode::LazyNode(const Op& op, Args args, Spec spec, Dims strides, int64_t size, Reader as)
    : op(&op),
      result(std::move(spec)),
      strides(std::move(strides)),
      place(runs_at_once() ? std::string() : place_of_user()),
      size(size),
      as(as) {
  for (Value* arg : args) {
    auto& x = *static_cast<RawTensor*>(arg);
    const LazyNode* const from = of(x);
    inputs.push_back(Ref<RawTensor>(from != nullptr && from->number ? from->number.get() : &x));
  }
  Waiting& list = waiting();
  previous_ = list.last;
  (list.last != nullptr ? list.last->next_ : list.first) = this;
  list.last = this;
  ++list.count;
  list.bytes += result_bytes(result);
}

void LazyNode::settle() {
  leave_list();
  inputs.clear();
}

void LazyNode::leave_list() {
  if (is_settled) return;
  is_settled = true;
  Waiting& list = waiting();
  (previous_ != nullptr ? previous_->next_ : list.first) = next_;
  (next_ != nullptr ? next_->previous_ : list.last) = previous_;
  previous_ = next_ = nullptr;
  --list.count;
  list.bytes -= result_bytes(result);
}

// The inputs' own nodes may have nobody else, and so on down a chain that is deeper than the stack:
// nodes that die while another one does wait in a list.
void LazyNode::destroy() {
  static thread_local bool is_busy = false;
  static thread_local LazyNode* dying = nullptr;
  leave_list();
  next_ = dying;
  dying = this;
  if (is_busy) return;
  is_busy = true;
  while (dying != nullptr) {
    LazyNode* node = std::exchange(dying, dying->next_);
    delete node;
  }
  is_busy = false;
}

size_t LazyNode::index_of(const RawTensor& tensor) const {
  return static_cast<size_t>(std::find(outputs.begin(), outputs.end(), &tensor) - outputs.begin());
}

void LazyNode::forget(const RawTensor& tensor) {
  std::replace(outputs.begin(), outputs.end(), const_cast<RawTensor*>(&tensor),
               static_cast<RawTensor*>(nullptr));
}

void LazyNode::check_lost() const {
  if (!is_lost_) return;
  ErrorFields fields;
  fields.op = op->name();
  fields.must = "its operands must be whole";
  fields.got = "them half overwritten, since what took their memory was stopped";
  fields.fix = "compute them again";
  fields.place = place;
  throw Error(ErrorKind::kMemory, std::move(fields));
}

void LazyNode::finish(const char* reason) {
  const PatientLock lock(run_mutex());
  if (!is_settled) run_node(*this, reason);
}

bool push_lazily(const Op& op, Args args, int64_t threshold, LazyNode::Reader as, Values& out) {
  const EngineOptions options = engine_options();
  if (args.empty()) return false;
  const Device device = static_cast<RawTensor*>(args[0])->device;
  if (op.scalar == nullptr && !backend(device).takes_feed(op)) return false;
  check_arity(op, args.size());
  SmallVector<Spec, 3> specs;
  bool may_wait = true;
  for (Value* arg : args) {
    const RawTensor& x = *static_cast<RawTensor*>(arg);
    specs.push_back(x.spec());
    may_wait = may_wait && !is_changeable(x);
  }
  if (!may_wait) return false;
  const Specs results = infer(op, {specs.data(), specs.size()});
  const Dims& walked = op.scalar == nullptr ? specs[0].shape : results[0].shape;
  const int64_t work = element_count(walked);
  if (work < threshold || work == 0) return false;
  int64_t size = chain_size(args);
  if (size > options.max_nodes) {
    for (Value* arg : args) static_cast<RawTensor*>(arg)->ready("the chain is long");
    size = 1;
  }
  if (waiting().count >= kMaxWaiting || waiting().bytes >= options.max_bytes) {
    finish_lazy("much is waiting");
  }
  SmallVector<const Array*, 4> arrays;
  for (Value* arg : args) arrays.push_back(static_cast<RawTensor*>(arg));
  Dims strides = result_strides(op, {arrays.data(), arrays.size()}, results[0]);
  auto node = make_ref<LazyNode>(op, args, results[0], std::move(strides), size, as);
  for (const Spec& spec : results) {
    auto tensor = make_ref<RawTensor>(spec, Ref<Pending>(node));
    tensor->lie(node->strides);
    node->outputs.push_back(tensor.get());
    out.push_back(std::move(tensor));
  }
  return true;
}

bool push_fill(const Op& op, Values& out) {
  static const OpClass* const fill = registry().find_op("Fill");
  if (&op.cls != fill || !has_embedder()) return false;
  constexpr int64_t kWidest = 16;  // bytes of an element: few are told without inference
  const auto* const shape = std::get_if<std::vector<int64_t>>(&op.attr("shape"));
  if (shape != nullptr && element_count(*shape) * kWidest < int64_t{kLeastFill}) return false;
  const Spec spec = infer(op, {})[0];
  if (!spec.device.is_cpu() || result_bytes(spec) < kLeastFill) return false;
  if (waiting().count >= kMaxWaiting) finish_lazy("much is waiting");
  Ref<RawTensor> room;
  try {
    room = RawTensor::empty(spec.dtype, spec.shape, spec.device);
  } catch (const Error& error) {
    fail_for(op, error);
  }
  auto node = make_ref<LazyNode>(op, Args(), spec, room->strides, 1, LazyNode::Reader());
  const auto one = RawTensor::scalar(spec.dtype, literal_of(op.attr("fill_value")), spec.device);
  node->number = broadcast_to(*one, spec.shape);
  node->room = std::move(room);
  auto tensor = make_ref<RawTensor>(spec, Ref<Pending>(node));
  node->outputs.push_back(tensor.get());
  out.push_back(std::move(tensor));
  return true;
}

// Begins with the newest nodes, which bring those that they need along. A node that fails does not
// keep the others from running; whoever reads it later gets the error again.
static void finish_nodes(const std::vector<Ref<LazyNode>>& nodes, const char* reason) {
  std::optional<Error> failure;
  for (const Ref<LazyNode>& node : nodes) {
    const bool was_told = node->is_told;
    try {
      node->finish(reason);
    } catch (const Error& error) {
      if (!failure && !was_told) failure = error;
    }
  }
  if (failure) throw Error(*failure);
}

void finish_lazy(const char* reason) {
  if (waiting().count == 0) return;
  const PatientLock lock(run_mutex());
  std::vector<Ref<LazyNode>> nodes;
  nodes.reserve(waiting().count);
  for (LazyNode* node = waiting().last; node != nullptr; node = node->previous_) {
    if (!node->is_lost()) nodes.push_back(Ref<LazyNode>(node));
  }
  finish_nodes(nodes, reason);
}

void finish_read(const UsersPlace& reader, const char* reason) {
  if (waiting().count == 0) return;
  const PatientLock lock(run_mutex());
  std::vector<Ref<LazyNode>> nodes;
  std::unordered_map<const RawTensor*, int64_t> left;  // how many nodes read it that are left
  for (LazyNode* node = waiting().last; node != nullptr; node = node->previous_) {
    const bool is_read =
        std::any_of(node->outputs.begin(), node->outputs.end(), [&](const RawTensor* output) {
          const int64_t ends = node->as.place.ends_at(reader) ? 1 : 0;
          return output != nullptr && output->use_count() > left[output] + ends;
        });
    node->is_left = node->is_left || !is_read || node->room;
    if (node->is_left) {
      for (const Ref<RawTensor>& input : node->inputs) ++left[input.get()];
    } else if (!node->is_lost()) {
      nodes.push_back(Ref<LazyNode>(node));
    }
  }
  finish_nodes(nodes, reason);
}

std::vector<std::string> waiting_ops() {
  std::vector<std::string> ops;
  for (const LazyNode* node = waiting().first; node != nullptr; node = node->next()) {
    ops.push_back(node->op->name() + (node->place.empty() ? "" : " (" + node->place + ")"));
  }
  return ops;
}

}  // namespace tensorlike
