// Constant folding: what follows from captured arrays and literals alone is computed now, by the
// kernels that would compute it later.
#include "op/counts.h"
#include "program/passes.h"
#include "tensor/body.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int64_t kMostElements = 1 << 16;  // of all inputs and results of a step
// The same of a step whose results have no more elements than what it reads, as weights that are
// made of bytes, or put in another order.
constexpr int64_t kMostOfWeights = 1 << 25;

class Folding {
 public:
  explicit Folding(Graph& graph) : graph_(graph), known_(graph.variables().size()) {}

  int run() {
    for (size_t i = 0; i < known_.size(); ++i) {
      const Program::Variable& variable = graph_.variables()[i];
      const bool is_array = variable.role == Program::Role::kCaptured && variable.value &&
                            variable.value->tag == Value::kRaw;
      if (is_array) known_[i] = variable.value;
    }
    const size_t count = graph_.steps().size();
    for (size_t i = 0; i < count; ++i) fold(graph_.steps()[i]);
    return changes_;
  }

 private:
  template <class Numbers>
  int64_t size_of(const Numbers& numbers) const {
    int64_t count = 0;
    for (int number : numbers) count += inferred_count(graph_.variable(number).spec.shape);
    return count;
  }

  bool is_small(const Program::Step& step) const {
    const int64_t read = size_of(step.inputs), made = size_of(step.outputs);
    return read + made <= (made <= read ? kMostOfWeights : kMostElements);
  }

  bool can_fold(const Program::Step& step) const {
    if (!step.exprs.empty() || step.inputs.empty() || !is_pure(*step.op)) return false;
    for (int input : step.inputs) {
      if (!known_[static_cast<size_t>(input)]) return false;
    }
    return is_small(step);
  }

  void fold(const Program::Step step) {
    if (as_constant(*step.op) != nullptr && step.inputs.size() == 1) {
      note_literal(step);
      return;
    }
    if (!can_fold(step)) return;
    Values found;
    try {
      SmallVector<Value*, 4> args;
      for (int input : step.inputs) args.push_back(known_[static_cast<size_t>(input)].get());
      found = apply(*step.op, {args.data(), args.size()});
      for (const Ref<Value>& value : found) {
        if (value->tag != Value::kRaw) return;
        static_cast<const RawTensor&>(*value).ready("optimize");
      }
    } catch (const Error&) {
      return;  // it is an error when the program runs, and not before
    }
    std::vector<int> made;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      made.push_back(graph_.capture(found[i], "folded"));
      if (!graph_.is_same_kind(made[i], step.outputs[i])) return;
    }
    known_.resize(graph_.variables().size());
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      known_[static_cast<size_t>(made[i])] = found[i];
      graph_.replace(step.outputs[i], made[i]);
    }
    ++changes_;
  }

  // A literal is known as it is; it stays a step, which any kind of tensor-like can take.
  void note_literal(const Program::Step& step) {
    if (!step.exprs.empty() || !is_small(step)) return;
    try {
      known_[static_cast<size_t>(step.outputs[0])] =
          make_const(*step.op, &graph_.variable(step.inputs[0]).spec);
    } catch (const Error&) {
      return;
    }
  }

  Graph& graph_;
  std::vector<Ref<Value>> known_;
  int changes_ = 0;
};

}  // namespace

int fold_constants(Graph& graph, OptLevel) { return Folding(graph).run(); }

}  // namespace tensorlike
