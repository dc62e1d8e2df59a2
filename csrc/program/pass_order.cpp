// Steps that let more memory go than they take run as soon as what they read is there: a weight's
// gradient before the gradient that goes on, after which what came into the layer is free. What
// lives between the two places becomes less, and nothing else changes.
#include <algorithm>
#include <utility>

#include "op/counts.h"
#include "op/tile_program.h"
#include "program/passes.h"

namespace tensorlike {
namespace {

class StepOrder {
 public:
  explicit StepOrder(Graph& graph)
      : graph_(graph),
        maker_(graph.makers()),
        root_(graph.variables().size()),
        reading_(root_.size()),
        stays_(root_.size()) {}

  int run() {
    find_roots();
    std::vector<Program::Step>& steps = graph_.steps();
    for (size_t i = 0; i < steps.size(); ++i) ranks_.push_back({i, 0});
    ends_.resize(steps.size());
    for (size_t i = steps.size(); i-- > 0;) {
      const bool goes_on = i + 1 < steps.size() && is_together(steps[i], steps[i + 1]);
      ends_[i] = goes_on ? ends_[i + 1] : i;
    }
    int changes = 0;
    for (size_t i = 0; i < steps.size(); ++i) changes += hoist(i) ? 1 : 0;
    if (changes == 0) return 0;
    std::vector<size_t> order(steps.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return ranks_[a] < ranks_[b]; });
    std::vector<Program::Step> ordered;
    for (size_t i : order) ordered.push_back(std::move(steps[i]));
    steps = std::move(ordered);
    return changes;
  }

 private:
  // After which step one runs now, and which of those it is: as they came.
  using Rank = std::pair<size_t, size_t>;

  static bool is_alone(const Program::Step& step) { return step.chain < 0 && step.band < 0; }
  static bool is_together(const Program::Step& a, const Program::Step& b) {
    return !is_alone(a) && a.chain == b.chain && a.band == b.band;
  }
  static bool may_move(const Program::Step& step) {
    return step.exprs.empty() && !step.inputs.empty() && is_alone(step) && is_pure(*step.op);
  }
  // When a step and those that run together with it are over.
  Rank end_of(size_t step) const { return ranks_[ends_[step]]; }
  static bool is_view(const Program::Step& step) { return step.op->cls.view != nullptr; }

  // In whose memory each variable lies, who reads that, and whether it is there at the end.
  void find_roots() {
    std::vector<int> unread = graph_.readers();
    for (size_t i = 0; i < root_.size(); ++i) root_[i] = static_cast<int>(i);
    const auto& steps = graph_.steps();
    for (size_t i = 0; i < steps.size(); ++i) {
      for (int input : steps[i].inputs) --unread[at(input)];
      if (is_view(steps[i])) {
        for (int output : steps[i].outputs) root_[at(output)] = root_[at(steps[i].inputs[0])];
        continue;
      }
      for (int input : steps[i].inputs) reading_[at(root_[at(input)])].push_back(i);
    }
    for (size_t i = 0; i < root_.size(); ++i) {
      if (unread[i] > 0) stays_[at(root_[i])] = true;
    }
  }

  int64_t bytes(int variable) const {
    const Spec& spec = graph_.variable(variable).spec;
    return inferred_count(spec.shape) * static_cast<int64_t>(size_of(spec.dtype));
  }

  // When what a step reads is there, and the views through which it sees that.
  void find_inputs(const Program::Step& step, Rank& place, std::vector<size_t>& views) const {
    for (int input : step.inputs) {
      if (maker_[at(input)] < 0) continue;
      const size_t made = at(maker_[at(input)]);
      const Program::Step& maker = graph_.steps()[made];
      if (is_view(maker) && may_move(maker)) {
        views.push_back(made);
        find_inputs(maker, place, views);
      } else {
        place = std::max(place, end_of(made));
      }
    }
  }

  // What is free when a step has run, each with the last of its other readers.
  std::vector<std::pair<Rank, int64_t>> freed(size_t step) const {
    std::vector<std::pair<Rank, int64_t>> found;
    std::vector<int> seen;
    for (int input : graph_.steps()[step].inputs) {
      const int root = root_[at(input)];
      if (std::find(seen.begin(), seen.end(), root) != seen.end()) continue;
      seen.push_back(root);
      if (stays_[at(root)] || graph_.variable(root).role != Program::Role::kResult) continue;
      Rank last{0, 0};
      for (size_t reader : reading_[at(root)]) {
        if (reader != step) last = std::max(last, end_of(reader));
      }
      if (last < ranks_[step]) found.emplace_back(last, bytes(root));
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // To the first place where it lets go more than it takes.
  bool hoist(size_t number) {
    const Program::Step& step = graph_.steps()[number];
    if (!may_move(step) || is_view(step) || is_elementwise(*step.op)) return false;
    int64_t taken = 0;
    for (int output : step.outputs) taken += bytes(output);
    Rank place{0, 0};
    std::vector<size_t> views;
    find_inputs(step, place, views);
    for (const auto& [last, size] : freed(number)) {
      if (taken < 0 && last > place) break;
      place = std::max(place, last);
      taken -= size;
    }
    if (taken >= 0) return false;
    size_t next = place.first + 1;
    while (std::find(views.begin(), views.end(), next) != views.end()) ++next;
    for (size_t view : views) ranks_[view] = std::min(ranks_[view], Rank{place.first, view});
    ranks_[number] = {place.first, number};
    return next < number;  // else it followed already
  }

  Graph& graph_;
  const std::vector<int> maker_;
  std::vector<int> root_;
  std::vector<std::vector<size_t>> reading_;  // of a root: steps that are no views
  std::vector<bool> stays_;                   // of a root
  std::vector<Rank> ranks_;                   // of the steps
  std::vector<size_t> ends_;                  // the last of those that run together with each
};

}  // namespace

int order_steps(Graph& graph, OptLevel) { return StepOrder(graph).run(); }

}  // namespace tensorlike
