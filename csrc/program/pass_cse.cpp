// Common subexpressions: equal ops over the same inputs are computed once, and captured arrays are
// one that are equal and small, or the same memory seen in the same way.
#include <cstring>
#include <unordered_map>

#include "program/passes.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int64_t kSmall = 64;  // elements of arrays that are compared

class Sharing {
 public:
  explicit Sharing(Graph& graph) : graph_(graph) {}

  int run() {
    share_captured();
    for (size_t i = 0; i < graph_.steps().size(); ++i) share(i);
    return changes_;
  }

 private:
  void share_captured() {
    std::unordered_multimap<std::string, int> known;
    for (size_t i = 0; i < graph_.variables().size(); ++i) {
      const int number = static_cast<int>(i);
      const Program::Variable& variable = graph_.variable(number);
      if (variable.role != Program::Role::kCaptured || !variable.value) continue;
      if (variable.value->tag != Value::kRaw) continue;
      const auto& raw = static_cast<const RawTensor&>(*variable.value);
      if (raw.device != Device()) continue;
      const std::string key = raw.size() > kSmall ? place_of(raw.ready("optimize"))
                                                  : elements_of(raw.ready("optimize"));
      const auto [begin, end] = known.equal_range(key);
      int same = -1;
      for (auto at = begin; at != end && same < 0; ++at) {
        if (graph_.is_same_kind(at->second, number)) same = at->second;
      }
      if (same < 0) {
        known.emplace(key, number);
        continue;
      }
      graph_.replace(number, same);
      ++changes_;
    }
  }

  static std::string elements_of(const RawTensor& raw) {
    const Ref<RawTensor> elements = contiguous(raw);
    return {elements->data, static_cast<size_t>(raw.size()) * size_of(raw.dtype)};
  }

  // Where the elements lie.
  static std::string place_of(const RawTensor& raw) {
    std::string key = text(static_cast<const void*>(raw.data));
    for (int64_t stride : raw.strides) key += text(" ", stride);
    return key;
  }

  void share(size_t place) {
    const Program::Step step = graph_.steps()[place];
    if (!is_pure(*step.op) || step.outputs.empty()) return;
    const size_t key = hash(step);
    const auto [begin, end] = known_.equal_range(key);
    for (auto at = begin; at != end; ++at) {
      const Program::Step& other = graph_.steps()[at->second];
      if (!is_same(other, step)) continue;
      for (size_t i = 0; i < step.outputs.size(); ++i) {
        graph_.replace(step.outputs[i], other.outputs[i]);
      }
      ++changes_;
      return;
    }
    known_.emplace(key, place);
  }

  // Numbers that stand for unknown sizes are equal where their expressions are. A literal follows
  // from what its argument is, whatever that is.
  bool is_same(const Program::Step& a, const Program::Step& b) const {
    if (!is_same_op(*a.op, *b.op)) return false;
    if (a.outputs.size() != b.outputs.size() || a.exprs.size() != b.exprs.size()) return false;
    if (a.inputs == b.inputs) return true;
    return as_constant(*a.op) != nullptr && graph_.is_same_kind(a.outputs[0], b.outputs[0]);
  }

  static size_t hash(const Program::Step& step) {
    size_t key = std::hash<const void*>()(&step.op->cls);
    const auto mix = [&](size_t part) { key = key * 1'000'003 + part; };
    mix(std::hash<const void*>()(step.op->scalar));
    mix(std::hash<const void*>()(step.op->reduction));
    if (as_constant(*step.op) != nullptr) return key;
    for (int input : step.inputs) mix(static_cast<size_t>(input));
    return key;
  }

  Graph& graph_;
  int changes_ = 0;
  std::unordered_multimap<size_t, size_t> known_;
};

}  // namespace

int share_subexpressions(Graph& graph, OptLevel) { return Sharing(graph).run(); }

}  // namespace tensorlike
