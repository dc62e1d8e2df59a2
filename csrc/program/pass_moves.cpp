// Transposes and reshapes pass elementwise steps, until they meet what undoes them, a product,
// which reads its operands in any order of memory, or, of reshapes, more elementwise steps. What is
// computed then reads and writes memory in order, in longer chains. Broadcasts that elementwise
// steps make by themselves go.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "program/passes.h"

namespace tensorlike {
namespace {

bool is_transpose(const Op& op) { return op.cls.is_declared && op.cls.spec.name == "Transpose"; }

bool is_broadcast(const Op& op) { return op.cls.is_declared && op.cls.spec.name == "Broadcast"; }

// One that may copy its elements where they lie apart.
bool is_reshape(const Op& op) {
  if (!op.cls.is_declared || op.cls.spec.name != "Reshape") return false;
  const bool* copies = std::get_if<bool>(&op.attr("copy"));
  return copies == nullptr || *copies;
}

bool is_move(const Program::Step& step) { return is_transpose(*step.op) || is_reshape(*step.op); }

// The axes of a transpose, from 0 on.
std::vector<int64_t> axes_of(const Op& op) {
  std::vector<int64_t> axes = op.get<std::vector<int64_t>>("axes");
  for (int64_t& axis : axes) {
    if (axis < 0) axis += static_cast<int64_t>(axes.size());
  }
  return axes;
}

// Whether an op takes this argument in any order of memory, and its time is in products: it is
// linear in each of several arguments.
bool is_product(const Op& op, size_t argument) {
  const OpSpec& spec = op.cls.spec;
  return op.cls.is_declared && op.scalar == nullptr && spec.linear.size() > 1 &&
         argument < spec.args.size() && (spec.memory.contiguous >> argument & 1U) == 0;
}

class Moves {
 public:
  explicit Moves(Graph& graph) : graph_(graph) {}

  int run() {
    graph_.free_literals();
    const int dropped = drop_broadcasts();
    find_held();
    accept();
    return dropped + pass() + join();
  }

 private:
  // What a variable is: a move of another one, which is there or will be made.
  struct Held {
    Ref<const Op> move;
    int source;  // its shape; after `pass`, the value
  };

  bool is_shaped(int a, int b) const {
    const Program::Variable& x = graph_.variable(a);
    const Program::Variable& y = graph_.variable(b);
    return x.spec.shape == y.spec.shape && x.other.shape == y.other.shape;
  }

  bool is_single(int variable, size_t most_dims) const {
    const Program::Variable& x = graph_.variable(variable);
    const auto is_one = [](int64_t size) { return size == 1; };
    return x.spec.shape.size() <= most_dims &&
           std::all_of(x.spec.shape.begin(), x.spec.shape.end(), is_one) &&
           std::all_of(x.other.shape.begin(), x.other.shape.end(), is_one);
  }

  // An elementwise step broadcasts by itself, where another of its arguments has the shape.
  int drop_broadcasts() {
    int changes = 0;
    std::unordered_map<int, int> sources;
    for (Program::Step& step : graph_.steps()) {
      if (is_broadcast(*step.op)) sources.emplace(step.outputs[0], step.inputs[0]);
      const bool is_elementwise = step.op->scalar != nullptr && is_pure(*step.op);
      if (!is_elementwise) continue;
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        const auto source = sources.find(step.inputs[i]);
        bool has_shape = false;
        for (size_t k = 0; k < step.inputs.size(); ++k) {
          has_shape = has_shape || (k != i && is_shaped(step.inputs[k], step.outputs[0]));
        }
        if (source == sources.end() || !has_shape) continue;
        step.inputs[i] = source->second;
        ++changes;
      }
    }
    return changes;
  }

  // The move that all of an elementwise step's inputs have in common, numbers excepted.
  std::optional<Held> common(const Program::Step& step) const {
    const bool is_elementwise = step.op->scalar != nullptr && step.outputs.size() == 1;
    if (!is_elementwise || !step.exprs.empty() || !is_pure(*step.op)) return {};
    std::optional<Held> found;
    for (int input : step.inputs) {
      const auto known = held_.find(input);
      if (known == held_.end() || !is_shaped(input, step.outputs[0])) continue;
      if (!found) found = known->second;
      const bool is_same = is_same_op(*found->move, *known->second.move) &&
                           is_shaped(found->source, known->second.source);
      if (!is_same) return {};
    }
    if (!found) return {};
    const size_t ndim = std::min(graph_.variable(found->source).spec.shape.size(),
                                 graph_.variable(step.outputs[0]).spec.shape.size());
    for (int input : step.inputs) {
      const bool is_held = held_.count(input) > 0 && is_shaped(input, step.outputs[0]);
      if (!is_held && !is_single(input, ndim)) return {};
    }
    return found;
  }

  void find_held() {
    for (const Program::Step& step : graph_.steps()) {
      for (int output : step.outputs) maker_.emplace(output, step.op);
      if (is_move(step)) {
        held_[step.outputs[0]] = {step.op, step.inputs[0]};
      } else if (const std::optional<Held> found = common(step)) {
        for (int output : step.outputs) held_[output] = *found;
        candidates_.insert(step.outputs[0]);
      }
    }
  }

  bool is_candidate(const Program::Step& step) const {
    return !step.outputs.empty() && candidates_.count(step.outputs[0]) > 0;
  }

  // Leaves those candidates for which it pays: again and again, since they depend on each other.
  void accept() {
    std::unordered_map<int, std::vector<std::pair<const Program::Step*, size_t>>> readers;
    for (const Program::Step& step : graph_.steps()) {
      for (size_t i = 0; i < step.inputs.size(); ++i) readers[step.inputs[i]].push_back({&step, i});
    }
    const std::vector<int> counts = graph_.readers();
    for (bool changes = true; changes;) {
      changes = false;
      for (size_t i = graph_.steps().size(); i-- > 0;) {
        const Program::Step& step = graph_.steps()[i];
        if (!is_candidate(step)) continue;
        const int output = step.outputs[0];
        const bool is_result = counts[at(output)] != static_cast<int>(readers[output].size());
        if (pays(step, readers[output], is_result) && has_sources(step)) continue;
        candidates_.erase(step.outputs[0]);
        changes = true;
      }
    }
    for (const Program::Step& step : graph_.steps()) {
      if (is_move(step) || is_candidate(step)) continue;
      for (int output : step.outputs) held_.erase(output);
    }
  }

  bool pays(const Program::Step& step,
            const std::vector<std::pair<const Program::Step*, size_t>>& readers,
            bool is_result) const {
    const bool reshapes = is_reshape(*held_.at(step.outputs[0]).move);
    const bool joins = reshapes && reads_elementwise(step);
    if (is_result && !joins) return false;
    return (is_result || !readers.empty()) &&
           std::all_of(readers.begin(), readers.end(), [&](const auto& reader) {
             const Program::Step& by = *reader.first;
             if (is_candidate(by)) return true;
             if (reshapes) return is_reshape(*by.op) || (joins && by.op->scalar == nullptr);
             return is_transpose(*by.op) || is_product(*by.op, reader.second);
           });
  }

  // Whether what it would read, unmoved, comes from an elementwise step, so that a chain goes on.
  bool reads_elementwise(const Program::Step& step) const {
    return std::any_of(step.inputs.begin(), step.inputs.end(), [&](int input) {
      const auto held = held_.find(input);
      if (held == held_.end()) return false;
      const auto maker = maker_.find(candidates_.count(input) > 0 ? input : held->second.source);
      return maker != maker_.end() && maker->second->scalar != nullptr;
    });
  }

  // Whether what it would read is there, or will be.
  bool has_sources(const Program::Step& step) const {
    return std::all_of(step.inputs.begin(), step.inputs.end(), [&](int input) {
      if (held_.count(input) == 0 || !is_shaped(input, step.outputs[0])) return true;
      return maker_.at(input)->scalar == nullptr || candidates_.count(input) > 0;
    });
  }

  // Computes candidates from what is not moved, and moves what they give.
  int pass() {
    int changes = 0;
    for (size_t i = 0; i < graph_.steps().size(); ++i) {
      const Program::Step step = graph_.steps()[i];
      if (!is_candidate(step)) continue;
      const std::optional<Held> held = common(step);
      held_.erase(step.outputs[0]);
      if (!held) continue;
      std::vector<int> inputs;
      for (int input : step.inputs) {
        const auto known = held_.find(input);
        const bool is_held = known != held_.end() && is_shaped(input, step.outputs[0]);
        inputs.push_back(is_held ? known->second.source : input);
      }
      const int made = graph_.insert(i, *step.op, inputs, step.place)[0];
      const int moved = insert(i + 1, *held->move, made, step.place);
      i += 2;
      if (!graph_.is_same_kind(moved, step.outputs[0])) continue;  // nobody reads what was made
      put(step.outputs[0], moved);
      held_[moved] = {held->move, made};
      ++changes;
    }
    return changes;
  }

  // What was made takes the place of a variable, under its name.
  void put(int old, int made) {
    const std::string name = graph_.variable(old).name, other = graph_.variable(made).name;
    graph_.rename(old, other);
    graph_.rename(made, name);
    graph_.replace(old, made);
  }

  int insert(size_t place, const Op& move, int source, const std::string& line) {
    const int inputs[] = {source};
    return graph_.insert(place, move, inputs, line)[0];
  }

  // A transpose of a transpose is one, or none; a broadcast of a broadcast is one.
  int join() {
    int changes = 0;
    std::unordered_map<int, Program::Step> makers;
    for (size_t i = 0; i < graph_.steps().size(); ++i) {
      const Program::Step step = graph_.steps()[i];
      const bool transposes = is_transpose(*step.op);
      if (!transposes && !is_broadcast(*step.op)) continue;
      makers.emplace(step.outputs[0], step);
      const auto found = makers.find(step.inputs[0]);
      const bool is_second = found != makers.end() && &found->second.op->cls == &step.op->cls;
      const Program::Step* const inner = is_second ? &found->second : nullptr;
      const int source = inner != nullptr ? inner->inputs[0] : step.inputs[0];
      const Ref<const Op> whole = transposes ? transpose(step, inner) : step.op;
      int made = source;
      if (whole) {
        if (inner == nullptr) continue;
        made = insert(i++, *whole, source, step.place);
        makers.insert_or_assign(made, graph_.steps()[i - 1]);
      }
      if (!graph_.is_same_kind(made, step.outputs[0])) continue;
      if (whole) {
        put(step.outputs[0], made);
      } else {
        graph_.replace(step.outputs[0], source);
      }
      ++changes;
    }
    return changes;
  }

  // Both as one; null: they change nothing.
  static Ref<const Op> transpose(const Program::Step& step, const Program::Step* inner) {
    std::vector<int64_t> axes = axes_of(*step.op);
    if (inner != nullptr) {
      const std::vector<int64_t> first = axes_of(*inner->op);
      for (int64_t& axis : axes) axis = first[static_cast<size_t>(axis)];
    }
    if (std::is_sorted(axes.begin(), axes.end())) return {};
    return make_op(step.op->cls, {{"axes", Attr(axes)}});
  }

  Graph& graph_;
  std::unordered_map<int, Held> held_;
  std::unordered_map<int, Ref<const Op>> maker_;
  std::unordered_set<int> candidates_;  // by what they make first
};

}  // namespace

int move_views(Graph& graph, OptLevel) { return Moves(graph).run(); }

}  // namespace tensorlike
