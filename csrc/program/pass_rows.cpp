// What is reduced along rows and read again, as in a softmax or a norm that no body knows, comes to
// lie side by side, so that it runs together, some rows at a time: rows stay in the cache from the
// one step to the next. Steps of one chain stay beside each other.
#include <algorithm>

#include "memory/backend.h"
#include "op/infer.h"
#include "op/tile_program.h"
#include "program/passes.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr size_t kMostUnits = 64;  // of a band

class Rows {
 public:
  explicit Rows(Graph& graph) : graph_(graph), unit_of_(graph.variables().size(), -1) {}

  int run() {
    for (Program::Step& step : graph_.steps()) step.band = -1;
    graph_.free_literals();
    find_units();
    for (size_t i = 0; i < units_.size(); ++i) visit(i);
    return put();
  }

 private:
  // Steps that belong together: those of a chain, or one.
  struct Unit {
    size_t begin, end;  // steps
    int band = -1;
  };
  struct Band {
    std::vector<size_t> units;
    int row = -1;  // a variable that has as many rows
    bool is_open = true;
    bool reads_again = false;  // what one of its reductions has found
  };

  const Program::Step& step(size_t place) const { return graph_.steps()[place]; }

  void find_units() {
    const size_t count = graph_.steps().size();
    for (size_t begin = 0; begin < count;) {
      size_t end = begin + 1;
      while (step(begin).chain >= 0 && end < count && step(end).chain == step(begin).chain) ++end;
      for (size_t i = begin; i < end; ++i) {
        for (int output : step(i).outputs) unit_of_[at(output)] = static_cast<int>(units_.size());
      }
      units_.push_back({begin, end});
      begin = end;
    }
  }

  // The variable whose elements a step goes through.
  int over(const Program::Step& step) const {
    return step.op->reduction != nullptr ? step.inputs[0] : step.outputs[0];
  }

  bool has_rows_of(int a, int b) const {
    const Program::Variable& x = graph_.variable(a);
    const Program::Variable& y = graph_.variable(b);
    return !x.spec.shape.empty() && !y.spec.shape.empty() && x.spec.shape[0] == y.spec.shape[0] &&
           x.other.shape[0] == y.other.shape[0];
  }

  // Its results for some rows follow from the same rows of what it reads.
  bool is_member(const Program::Step& step) const {
    if (step.inputs.empty() || !step.exprs.empty() || !is_pure(*step.op)) return false;
    const auto is_on_host = [&](int number) {
      return graph_.variable(number).spec.device == Device();
    };
    if (!std::all_of(step.inputs.begin(), step.inputs.end(), is_on_host) ||
        !std::all_of(step.outputs.begin(), step.outputs.end(), is_on_host)) {
      return false;
    }
    if (is_elementwise(*step.op)) return !graph_.variable(step.outputs[0]).spec.shape.empty();
    return step.op->reduction != nullptr && step.inputs.size() == 1 && reduces_last_axes(step);
  }

  bool reduces_last_axes(const Program::Step& step) const {
    const auto ndim = static_cast<int64_t>(graph_.variable(step.inputs[0]).spec.shape.size());
    Dims axes = named_axes(*step.op, ndim);
    const auto count = static_cast<int64_t>(axes.size());
    if (count == 0 || count >= ndim) return false;
    return std::all_of(axes.begin(), axes.end(),
                       [&](int64_t axis) { return axis >= ndim - count; });
  }

  bool is_member(const Unit& unit) const {
    for (size_t i = unit.begin; i < unit.end; ++i) {
      if (!is_member(step(i)) || !has_rows_of(over(step(i)), over(step(unit.begin)))) return false;
    }
    return true;
  }

  // Whether a unit may read what a band has made, beside it: row by row, with nothing broadcast
  // along an axis in front.
  bool fits(const Unit& unit, int variable, const Band& band) const {
    if (!has_rows_of(variable, band.row)) return false;
    for (size_t i = unit.begin; i < unit.end; ++i) {
      const std::vector<int>& inputs = step(i).inputs;
      if (std::find(inputs.begin(), inputs.end(), variable) == inputs.end()) continue;
      if (graph_.variable(over(step(i))).spec.shape.size() !=
          graph_.variable(variable).spec.shape.size()) {
        return false;
      }
    }
    return has_rows_of(over(step(unit.begin)), band.row);
  }

  // What a unit reads of bands that are open.
  std::vector<int> open_inputs(size_t number) const {
    std::vector<int> found;
    for (size_t i = units_[number].begin; i < units_[number].end; ++i) {
      for (int input : step(i).inputs) {
        const int from = unit_of_[at(input)];
        if (from < 0 || at(from) == number || units_[at(from)].band < 0) continue;
        if (bands_[at(units_[at(from)].band)].is_open) found.push_back(input);
      }
    }
    return found;
  }

  void visit(size_t number) {
    Unit& unit = units_[number];
    const bool takes_part = is_member(unit);
    const std::vector<int> inputs = open_inputs(number);
    for (int input : inputs) {
      Band& band = bands_[at(units_[at(unit_of_[at(input)])].band)];
      if (!takes_part || !fits(unit, input, band)) band.is_open = false;  // it must run before
    }
    if (!takes_part) return;
    int own = -1;
    bool reads_again = false;
    for (int input : inputs) {
      const int one = units_[at(unit_of_[at(input)])].band;
      if (!bands_[at(one)].is_open) continue;
      reads_again = reads_again || is_reduced(input);
      if (one == own) continue;
      const size_t size = own < 0 ? 1 : bands_[at(own)].units.size();
      if (size + bands_[at(one)].units.size() > kMostUnits) {
        bands_[at(one)].is_open = false;
      } else {
        own = own < 0 ? one : joined(own, one);
      }
    }
    if (own < 0) {
      own = static_cast<int>(bands_.size());
      bands_.push_back({{}, over(step(unit.begin)), true, false});
    }
    Band& band = bands_[at(own)];
    band.units.push_back(number);
    band.reads_again = band.reads_again || reads_again;
    unit.band = own;
  }

  bool is_reduced(int variable) const {
    const Unit& unit = units_[at(unit_of_[at(variable)])];
    return step(unit.end - 1).op->reduction != nullptr && step(unit.end - 1).outputs[0] == variable;
  }

  int joined(int a, int b) {
    Band& whole = bands_[at(a)];
    Band& part = bands_[at(b)];
    for (size_t number : part.units) {
      whole.units.push_back(number);
      units_[number].band = a;
    }
    std::sort(whole.units.begin(), whole.units.end());
    whole.reads_again = whole.reads_again || part.reads_again;
    part.units.clear();
    part.is_open = false;
    return a;
  }

  // All of a band come with its last one.
  int put() {
    std::vector<Program::Step> ordered;
    int made = 0;
    for (size_t i = 0; i < units_.size(); ++i) {
      const int band = units_[i].band;
      if (band < 0 || !bands_[at(band)].reads_again) {
        take(units_[i], -1, ordered);
        continue;
      }
      if (bands_[at(band)].units.back() != i) continue;
      for (size_t member : bands_[at(band)].units) take(units_[member], made, ordered);
      ++made;
    }
    graph_.steps() = std::move(ordered);
    return made;
  }

  void take(const Unit& unit, int band, std::vector<Program::Step>& ordered) {
    for (size_t i = unit.begin; i < unit.end; ++i) {
      ordered.push_back(std::move(graph_.steps()[i]));
      ordered.back().band = band;
    }
  }

  Graph& graph_;
  std::vector<int> unit_of_;  // that makes each variable; -1: none
  std::vector<Unit> units_;
  std::vector<Band> bands_;
};

}  // namespace

int fuse_rows(Graph& graph, OptLevel) { return Rows(graph).run(); }

}  // namespace tensorlike
