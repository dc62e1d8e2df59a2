// Products of a few rows each by the same captured weights, of which none needs what another gives,
// are one product of all the rows: the weights are read from memory once. So loops over the steps
// of a recurrence that were written out multiply their inputs together.
#include <algorithm>
#include <map>

#include "op/counts.h"
#include "op/registry.h"
#include "program/passes.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr int64_t kFewRows = 16;           // more have products that are as fast as they get
constexpr int64_t kManyBytes = 64 * 1024;  // of weights; fewer are in the cache anyway
constexpr std::string_view kOps[] = {"Linear", "MatMul"};  // of rows, weights, and what is added

class Products {
 public:
  explicit Products(Graph& graph) : graph_(graph) {}

  int run() {
    int changes = 0;
    std::vector<std::vector<int>> known;  // what groups multiply by, that were looked at
    for (size_t i = 0; i < graph_.steps().size(); ++i) {
      if (!is_of_few_rows(graph_.steps()[i])) continue;
      const std::vector<int> weights = weights_of(graph_.steps()[i]);
      if (std::find(known.begin(), known.end(), weights) != known.end()) continue;
      known.push_back(weights);
      std::vector<size_t> group;
      for (size_t j = i; j < graph_.steps().size(); ++j) {
        const Program::Step& other = graph_.steps()[j];
        if (is_of_few_rows(other) && is_like(graph_.steps()[i], other)) group.push_back(j);
      }
      if (group.size() > 1 && join(group)) ++changes;
    }
    return changes;
  }

 private:
  const Spec& spec(int number) const { return graph_.variable(number).spec; }
  static std::vector<int> weights_of(const Program::Step& step) {
    return {step.inputs.begin() + 1, step.inputs.end()};
  }

  bool is_array(int number) const {
    const Program::Variable& variable = graph_.variable(number);
    return variable.role == Program::Role::kCaptured && variable.value &&
           variable.value->tag == Value::kRaw;
  }

  bool is_of_few_rows(const Program::Step& step) const {
    const std::string& name = step.op->cls.spec.name;
    if (std::find(std::begin(kOps), std::end(kOps), name) == std::end(kOps)) return false;
    if (!step.exprs.empty() || step.outputs.size() != 1 || step.inputs.size() < 2) return false;
    const Dims &x = spec(step.inputs[0]).shape, &weight = spec(step.inputs[1]).shape;
    const auto is_known = [](int64_t size) { return size > 0; };
    if (x.size() != 2 || weight.size() != 2 || !std::all_of(x.begin(), x.end(), is_known)) {
      return false;
    }
    const std::vector<int> others = weights_of(step);
    if (!std::all_of(others.begin(), others.end(), [&](int each) { return is_array(each); })) {
      return false;
    }
    if (others.size() > 1) {  // the same is added to each row
      const Dims& bias = spec(others[1]).shape;
      if (bias.size() > 1 && bias[bias.size() - 2] != 1) return false;
    }
    const auto bytes = static_cast<int64_t>(size_of(spec(step.inputs[1]).dtype));
    return x[0] <= kFewRows && inferred_count(weight) * bytes >= kManyBytes && is_pure(*step.op);
  }

  bool is_like(const Program::Step& a, const Program::Step& b) const {
    const Spec &x = spec(a.inputs[0]), &other = spec(b.inputs[0]);
    return is_same_op(*a.op, *b.op) && weights_of(a) == weights_of(b) && x.dtype == other.dtype &&
           x.shape[1] == other.shape[1] && x.device == other.device;
  }

  // Which steps make what a group reads, and what these need; empty: one of the group, or one that
  // may not be moved, is among them.
  std::vector<bool> needed(const std::vector<size_t>& group) const {
    const std::vector<int> makers = graph_.makers();
    std::vector<bool> found(graph_.steps().size(), false);
    std::vector<int> open;
    for (size_t place : group) open.push_back(graph_.steps()[place].inputs[0]);
    while (!open.empty()) {
      const int maker = makers[at(open.back())];
      open.pop_back();
      if (maker < 0 || found[at(maker)]) continue;
      found[at(maker)] = true;
      const Program::Step& step = graph_.steps()[at(maker)];
      if (std::find(group.begin(), group.end(), at(maker)) != group.end()) return {};
      const bool is_late = at(maker) > group[0];
      if (is_late && (!is_pure(*step.op) || !step.exprs.empty() || step.chain >= 0)) return {};
      open.insert(open.end(), step.inputs.begin(), step.inputs.end());
    }
    return found;
  }

  bool join(const std::vector<size_t>& group) {
    const std::vector<bool> is_needed = needed(group);
    if (is_needed.empty()) return false;
    // What the products read is made before the first of them.
    std::vector<Program::Step>& steps = graph_.steps();
    const std::vector<Program::Step> all(steps.begin(), steps.end());
    std::vector<Program::Step> moved(all.begin(),
                                     all.begin() + static_cast<std::ptrdiff_t>(group[0]));
    for (size_t i = group[0]; i < all.size(); ++i) {
      if (is_needed[i]) moved.push_back(all[i]);
    }
    size_t place = moved.size();
    for (size_t i = group[0]; i < all.size(); ++i) {
      if (!is_needed[i]) moved.push_back(all[i]);
    }
    steps = std::move(moved);
    std::vector<int> rows, results;
    std::vector<int64_t> counts;
    for (size_t i : group) {
      rows.push_back(all[i].inputs[0]);
      results.push_back(all[i].outputs[0]);
      counts.push_back(spec(rows.back()).shape[0]);
    }
    const std::string line = all[group[0]].place;
    const auto op = [&](const char* name, std::vector<std::pair<std::string, Attr>> attrs) {
      return make_op(*registry().find_op(name), std::move(attrs));
    };
    const std::vector<int> joined =
        graph_.insert(place++, *op("Concat", {{"axis", int64_t{0}}}), rows, line);
    std::vector<int> inputs = weights_of(all[group[0]]);
    inputs.insert(inputs.begin(), joined[0]);
    const std::vector<int> product = graph_.insert(place++, *all[group[0]].op, inputs, line);
    const std::vector<int> parts = graph_.insert(
        place, *op("Split", {{"sizes", counts}, {"axis", int64_t{0}}}), product, line);
    for (size_t i = 0; i < results.size(); ++i) graph_.replace(results[i], parts[i]);
    return true;
  }

  Graph& graph_;
};

}  // namespace

int join_products(Graph& graph, OptLevel) { return Products(graph).run(); }

}  // namespace tensorlike
