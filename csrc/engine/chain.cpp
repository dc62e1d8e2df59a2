#include "engine/chain.h"

#include <algorithm>
#include <unordered_map>

#include "engine/known_chain.h"
#include "engine/profile.h"
#include "memory/backend.h"
#include "memory/layout.h"

namespace tensorlike {
namespace {

constexpr size_t kMaxPrograms = 4096;  // that are kept for the next time

// Programs by what they do: the same lines of a loop find theirs again.
using Key = std::u32string;

std::unordered_map<Key, PreparedProgram>& known_programs() {
  static auto* cache = new std::unordered_map<Key, PreparedProgram>;
  return *cache;
}

}  // namespace

LazyNode* Chain::collect(LazyNode& root) {
  struct Frame {
    LazyNode* node;
    size_t next;
  };
  std::vector<Frame> stack = {{&root, 0}};
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    node->check_lost();
    if (next == node->inputs.size()) {
      nodes_.push_back(Ref<LazyNode>(node));  // first: where it finds no memory, none is marked
      node->mark = static_cast<int>(nodes_.size()) - 1;
      stack.pop_back();
      continue;
    }
    LazyNode* input = LazyNode::of(*node->inputs[next++]);
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

int64_t Chain::uses_that_end(const RawTensor& tensor) const {
  int64_t uses = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (stays_[i]) continue;
    for (const Ref<RawTensor>& input : nodes_[i]->inputs) uses += input.get() == &tensor;
  }
  return uses;
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
      if (const LazyNode* from = LazyNode::of(*input)) {
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

// References to a result of an expression that end with its last op: those of the caller, and that
// of the name or the place on Python's stack where nothing that is known reads it any more.
static int64_t ending_holds(const RawTensor& result, const LazyNode& reader) {
  const LazyNode::Reader& as = LazyNode::of(result)->as;
  if (!as.place.is_passed_on) return 0;
  const auto reads = std::count_if(reader.inputs.begin(), reader.inputs.end(),
                                   [&](const Ref<RawTensor>& x) { return x.get() == &result; });
  return reads * reader.as.holds + (as.place.ends_at(reader.as.place) ? 1 : 0);
}

// `fed`: the result that `reader` reduces, of which its reference does not count; null: the
// reader is the last node, whose results are asked for.
void Chain::choose_written(const LazyNode& reader, const RawTensor* fed) {
  for (const Ref<LazyNode>& node : nodes_) {
    const bool is_asked = node.get() == &reader;
    for (RawTensor* output : node->outputs) {
      if (output == nullptr) continue;
      const int64_t known =
          inner_uses(*output) + (output == fed ? 1 : 0) + ending_holds(*output, reader);
      if (!is_asked && output->use_count() <= known) continue;
      written_.push_back({node.get(), Ref<RawTensor>(output), nullptr});
    }
  }
  find_staying(fed);
}

// Users come before what they read: what stays still reads its inputs.
void Chain::find_staying(const RawTensor* fed) {
  stays_.assign(nodes_.size(), false);
  for (size_t i = nodes_.size(); i-- > 0;) {
    for (RawTensor* output : nodes_[i]->outputs) {
      const auto is_same = [&](const Written& written) { return written.tensor.get() == output; };
      if (output == nullptr || std::any_of(written_.begin(), written_.end(), is_same)) continue;
      const int64_t ends = uses_that_end(*output) + (output == fed ? 1 : 0);
      if (output->use_count() > ends) stays_[i] = true;
    }
  }
}

void Chain::prepare() {
  number_operands();
  choose_written(*nodes_.back(), nullptr);
  if (written_.empty()) return;
  find_program({}, {});
}

void Chain::prepare_for_reduction(const LazyNode& reduction, DType dtype) {
  const RawTensor& fed = *reduction.inputs[0];
  number_operands();
  choose_written(reduction, &fed);
  const auto of_fed = std::find_if(written_.begin(), written_.end(), [&](const Written& written) {
    return written.tensor.get() == &fed && fed.dtype == dtype;
  });
  if (of_fed != written_.end()) {
    std::iter_swap(written_.begin(), of_fed);
    find_program({}, {});
    return;
  }
  const int slot = first_slot_.back() + static_cast<int>(nodes_.back()->index_of(fed));
  first_written_ = 1;
  find_program({slot}, {dtype});
}

LazyNode* Chain::written_apart() const {
  for (const Written& written : written_) {
    if (!lie_alike(shape_, written.node->strides, strides_)) return written.node;
  }
  return nullptr;
}

// Finds the program whose outputs are `results`, converted, and then those that are written.
void Chain::find_program(SmallVector<int, 4> results, const SmallVector<DType, 4>& converted) {
  SmallVector<DType, 4> wanted(converted);
  for (const Written& written : written_) {
    const size_t node = static_cast<size_t>(written.node->mark);
    results.push_back(first_slot_[node] +
                      static_cast<int>(written.node->index_of(*written.tensor)));
    wanted.push_back(written.tensor->dtype);
  }
  Key key;
  SmallVector<DType, 8> dtypes;
  for (const RawTensor* operand : operands_) {
    dtypes.push_back(operand->dtype);
    key.push_back(static_cast<char32_t>(operand->dtype));
  }
  key.push_back(999U);
  for (const ChainStep& step : steps_) {
    const auto address = reinterpret_cast<uintptr_t>(step.scalar);
    key.push_back(static_cast<char32_t>(address));
    key.push_back(static_cast<char32_t>(address >> 32));
    for (int arg : step.args) key.push_back(static_cast<char32_t>(arg));
  }
  key.push_back(998U);
  for (size_t i = 0; i < results.size(); ++i) {
    key.push_back(static_cast<char32_t>(results[i]));
    key.push_back(static_cast<char32_t>(wanted[i]));
  }
  auto& known = known_programs();
  auto found = known.find(key);
  if (found == known.end()) {
    if (known.size() >= kMaxPrograms) known.clear();
    found = known
                .emplace(std::move(key), prepare_chain({dtypes.data(), dtypes.size()}, steps_,
                                                       {results.data(), results.size()},
                                                       {wanted.data(), wanted.size()}))
                .first;
  }
  prepared_ = &found->second;
}

// References to what the last operator of an expression may write over, which end with it.
int64_t Chain::donated_holds(const RawTensor& operand) const {
  const LazyNode& last = *nodes_.back();
  for (size_t i = 0; i < last.inputs.size(); ++i) {
    const bool is_it = (last.as.donated >> i & 1U) != 0 && last.inputs[i].get() == &operand;
    if (is_it) return last.as.holds + 1;
  }
  return 0;
}

// Whether the chain alone holds an operand, and the operand alone its memory.
bool Chain::is_dying(const RawTensor& operand) const {
  return operand.storage->use_count() == 1 && operand.storage->is_owned() &&
         operand.data == operand.storage->data() && operand.shape == shape_ &&
         lie_alike(shape_, operand.strides, strides_) &&
         operand.use_count() == uses_that_end(operand) + donated_holds(operand);
}

void Chain::allocate(bool may_take) {
  const SmallVector<const Array*, 8> operands(operands_.begin(), operands_.end());
  std::vector<int> dying;
  for (size_t i = 0; may_take && i < operands_.size(); ++i) {
    if (is_dying(*operands_[i])) dying.push_back(static_cast<int>(i));
  }
  for (size_t w = 0; w < written_.size(); ++w) {
    const RawTensor& tensor = *written_[w].tensor;
    const auto* taken = static_cast<const RawTensor*>(
        take_operand(prepared_->program, {operands.data(), operands.size()}, dying,
                     size_of(tensor.dtype), first_written_ + static_cast<int>(w)));
    if (taken == nullptr) {
      const size_t bytes = static_cast<size_t>(tensor.count) * size_of(tensor.dtype);
      written_[w].storage = Storage::allocate(bytes, device());
      continue;
    }
    written_[w].storage = taken->storage;
    ++taken_;
  }
}

void Chain::find(Places& places) const {
  for (const RawTensor* operand : operands_) places.operands.push_back(operand);
  for (const Written& written : written_) {
    Array place(written.tensor->dtype, shape_, strides_, written.storage->data());
    place.device = device();
    places.written.push_back(std::move(place));
  }
  for (const Array& place : places.written) places.outputs.push_back(&place);
}

void Chain::run() {
  Places places;
  find(places);
  // Whoever is stopped in here, by an exception or in a child of fork, has no operands any more.
  for (size_t i = 0; taken_ > 0 && i < nodes_.size(); ++i) {
    if (!stays_[i]) nodes_[i]->lose();
  }
  backend(device()).run(prepared_->program, shape_, places.operands, places.outputs);
}

void Chain::run_into(const Op& reduction, DType dtype, const Array& out, Workspace& workspace) {
  Places places;
  find(places);
  const Feed feed{&prepared_->program, dtype,   shape_, places.operands, places.outputs,
                  first_written_ == 0, strides_};
  backend(device()).reduce(reduction, feed, out, workspace);
}

void Chain::fill() {
  for (Written& written : written_) written.tensor->fill(std::move(written.storage));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (stays_[i]) {
      nodes_[i]->is_left = true;
    } else {
      nodes_[i]->settle();
    }
  }
}

FusedProgram Chain::describe(const char* reason) const {
  FusedProgram program;
  program.reason = reason;
  program.shape = shape_;
  program.operands = prepared_->program.operands;
  program.outputs = static_cast<int>(written_.size());
  program.reused = taken_;
  program.instructions = static_cast<int>(prepared_->program.instructions.size());
  for (const Ref<LazyNode>& node : nodes_) {
    program.ops.push_back(node->op->name());
    program.places.push_back(node->place);
  }
  return program;
}

int64_t Chain::bytes() const {
  int64_t bytes = 0;
  for (const RawTensor* operand : operands_) bytes += bytes_of(*operand);
  for (const Written& written : written_) bytes += bytes_of(*written.tensor);
  return bytes;
}

}  // namespace tensorlike
