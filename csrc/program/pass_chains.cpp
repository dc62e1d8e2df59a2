// Elementwise steps of one shape, conversions among them, that follow from each other come to lie
// side by side, so that they run as one tile program: what they make on the way stays in the
// first-level cache. A reduction may end one, and read what it makes from there.
#include <algorithm>

#include "memory/backend.h"
#include "op/tile_program.h"
#include "program/passes.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {
namespace {

constexpr size_t kMostSteps = 64;  // of a chain

class Chains {
 public:
  explicit Chains(Graph& graph)
      : graph_(graph), chain_of_(graph.variables().size(), -1), readers_(graph.readers()) {}

  int run() {
    std::vector<Program::Step>& steps = graph_.steps();
    for (Program::Step& step : steps) step.chain = -1;
    for (size_t i = 0; i < steps.size(); ++i) visit(i);
    std::vector<Program::Step> ordered;
    int made = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const int chain = chain_at_[i];
      if (chain < 0 || chains_[at(chain)].size() < 2) {
        ordered.push_back(std::move(steps[i]));
        continue;
      }
      if (chains_[at(chain)].back() != i) continue;  // all come with the last one
      for (size_t member : chains_[at(chain)]) {
        ordered.push_back(std::move(steps[member]));
        ordered.back().chain = made;
      }
      ++made;
    }
    steps = std::move(ordered);
    return made;
  }

 private:
  // A literal needs the dtype of what it stands beside, and no element: it need not wait for it.
  void free_literal(Program::Step& step) {
    const int chain = chain_of_[at(step.inputs[0])];
    if (chain < 0 || !is_open_[at(chain)]) return;
    const Program::Variable& like = graph_.variable(step.inputs[0]);
    for (size_t member : chains_[at(chain)]) {
      for (int input : graph_.steps()[member].inputs) {
        const Program::Variable& other = graph_.variable(input);
        const bool is_outside = chain_of_[at(input)] < 0 || !is_open_[at(chain_of_[at(input)])];
        if (is_outside && other.spec.dtype == like.spec.dtype &&
            other.spec.device == like.spec.device) {
          step.inputs[0] = input;
          return;
        }
      }
    }
  }

  bool is_elementwise(const Program::Step& step) const {
    if (!tensorlike::is_elementwise(*step.op) || !step.exprs.empty() || !is_pure(*step.op)) {
      return false;
    }
    const auto is_on_host = [&](int number) {
      return graph_.variable(number).spec.device == Device();
    };
    return !step.inputs.empty() &&
           std::all_of(step.inputs.begin(), step.inputs.end(), is_on_host) &&
           std::all_of(step.outputs.begin(), step.outputs.end(), is_on_host);
  }

  // A reduction of what an open chain makes, and nobody else reads.
  bool ends_a_chain(const Program::Step& step) const {
    if (step.op->reduction == nullptr || !step.exprs.empty() || step.inputs.size() != 1)
      return false;
    const int chain = chain_of_[at(step.inputs[0])];
    return chain >= 0 && is_open_[at(chain)] && readers_[at(step.inputs[0])] == 1 &&
           is_pure(*step.op) && backend(Device()).takes_feed(*step.op);
  }

  bool has_shape_of(size_t step, int variable) const {
    const Program::Variable& a = graph_.variable(graph_.steps()[step].outputs[0]);
    const Program::Variable& b = graph_.variable(variable);
    return a.spec.shape == b.spec.shape && a.other.shape == b.other.shape;
  }

  void visit(size_t place) {
    Program::Step& step = graph_.steps()[place];
    if (as_constant(*step.op) != nullptr && step.inputs.size() == 1) free_literal(step);
    chain_at_.push_back(-1);
    if (ends_a_chain(step)) {
      const int chain = chain_of_[at(step.inputs[0])];
      chains_[at(chain)].push_back(place);
      chain_at_[place] = chain;
      is_open_[at(chain)] = false;
      return;
    }
    const bool is_member = is_elementwise(step);
    int own = -1;
    for (int input : step.inputs) {
      const int chain = chain_of_[at(input)];
      if (chain < 0 || chain == own || !is_open_[at(chain)]) continue;
      const size_t size = own < 0 ? 1 : chains_[at(own)].size();
      if (!is_member || !has_shape_of(chains_[at(chain)][0], step.outputs[0]) ||
          size + chains_[at(chain)].size() > kMostSteps) {
        is_open_[at(chain)] = false;  // it must run before this step
      } else {
        own = own < 0 ? chain : joined(own, chain);
      }
    }
    if (!is_member) return;
    if (own < 0) {
      own = static_cast<int>(chains_.size());
      chains_.emplace_back();
      is_open_.push_back(true);
    }
    chains_[at(own)].push_back(place);
    chain_at_[place] = own;
    for (int output : step.outputs) chain_of_[at(output)] = own;
  }

  int joined(int a, int b) {
    std::vector<size_t>& whole = chains_[at(a)];
    for (size_t member : chains_[at(b)]) {
      whole.push_back(member);
      chain_at_[member] = a;
      for (int output : graph_.steps()[member].outputs) chain_of_[at(output)] = a;
    }
    std::sort(whole.begin(), whole.end());
    chains_[at(b)].clear();
    return a;
  }

  Graph& graph_;
  std::vector<int> chain_of_;  // of the step that makes each variable; -1: none
  std::vector<int> readers_;   // of each variable
  std::vector<int> chain_at_;  // of each step
  std::vector<std::vector<size_t>> chains_;
  std::vector<bool> is_open_;  // of each chain: nobody outside of it has read what it makes
};

}  // namespace

int fuse_chains(Graph& graph, OptLevel) { return Chains(graph).run(); }

}  // namespace tensorlike
