// The backward pass: nodes in reverse recorded order, each as soon as all that follows it is done.
#include <queue>
#include <unordered_map>

#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

struct Pending {
  Ref<Node> node;
  int waiting = 0;  // edges into the node that have not delivered
  SmallVector<Ref<Value>, 1> cotangents;
};

class Pass {
 public:
  Pass(Tape& tape, const BackwardOptions& options,
       const std::function<void(Node&, const Ref<Value>&)>& leaf)
      : tape_(tape), options_(options), leaf_(leaf) {}

  void run(std::span<const Edge> roots, Values cotangents) {
    for (const Edge& root : roots) discover(root.node);
    for (size_t i = 0; i < roots.size(); ++i) {
      deliver(roots[i], cotangents[i]);
      cotangents[i] = nullptr;
    }
    for (const Edge& root : roots) {
      if (pending_.at(root.node.get()).waiting == 0) enqueue(root.node.get());
    }
    while (!ready_.empty()) {
      Node* node = ready_.top();
      ready_.pop();
      step(node);
    }
  }

 private:
  struct Earlier {
    bool operator()(const Node* a, const Node* b) const { return a->sequence < b->sequence; }
  };

  // Counts, for every node that the roots lead to, the edges that lead into it.
  void discover(const Ref<Node>& root) {
    std::vector<Node*> stack;
    auto visit = [&](const Ref<Node>& node) {
      auto [at, is_new] = pending_.try_emplace(node.get());
      if (!is_new) return;
      if (node->is_released) {
        fail(ErrorKind::kAutodiff, "backward: the graph must not be used up; ", node->op->name(),
             " was released by an earlier backward pass; pass retain_graph=True to that one.");
      }
      at->second.node = node;
      at->second.cotangents.resize(node->outputs.size());
      stack.push_back(node.get());
    };
    visit(root);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (const Edge& edge : node->inputs) {
        if (!edge.node) continue;
        visit(edge.node);
        ++pending_.at(edge.node.get()).waiting;
      }
    }
  }

  void enqueue(Node* node) {
    Pending& entry = pending_.at(node);
    if (entry.waiting < 0) return;
    entry.waiting = -1;
    // A leaf is finished at once: whoever waits for its gradient may start.
    if (node->is_leaf()) {
      finish_leaf(entry);
    } else {
      ready_.push(node);
    }
  }

  void finish_leaf(Pending& entry) {
    Ref<Value> total = std::move(entry.cotangents[0]);
    if (total) leaf_(*entry.node, total);
  }

  void deliver(const Edge& edge, const Ref<Value>& cotangent) {
    Ref<Value>& slot = pending_.at(edge.node.get()).cotangents[static_cast<size_t>(edge.slot)];
    if (!slot) {
      slot = cotangent;
      return;
    }
    static const Op& add = registry().scalar_op("add");
    Value* args[] = {slot.get(), cotangent.get()};
    slot = apply(add, args)[0];
  }

  void step(Node* raw) {
    // Taken out of the map: what this node kept is freed as soon as it has run.
    auto entry = pending_.extract(raw);
    const Ref<Node> node = entry.mapped().node;
    SmallVector<Value*, 2> cotangents;
    bool any = false;
    for (const Ref<Value>& cotangent : entry.mapped().cotangents) {
      cotangents.push_back(cotangent.get());
      any = any || cotangent;
    }
    Values gradients(node->inputs.size());
    if (any) {
      gradients = input_gradients(*node, tape_, {cotangents.data(), cotangents.size()},
                                  options_.create_graph);
    }
    const SmallVector<Edge, 2> edges = node->inputs;
    if (!options_.retain_graph) node->release_graph();
    for (size_t i = 0; i < edges.size(); ++i) {
      if (!edges[i].node) continue;
      if (gradients[i]) deliver(edges[i], gradients[i]);
      gradients[i] = nullptr;
      Pending& target = pending_.at(edges[i].node.get());
      if (--target.waiting == 0) enqueue(edges[i].node.get());
    }
  }

  Tape& tape_;
  const BackwardOptions& options_;
  const std::function<void(Node&, const Ref<Value>&)>& leaf_;
  std::unordered_map<Node*, Pending> pending_;
  std::priority_queue<Node*, std::vector<Node*>, Earlier> ready_;
};

}  // namespace

void backward(Tape& tape, std::span<const Edge> roots, Values cotangents,
              const BackwardOptions& options,
              const std::function<void(Node&, const Ref<Value>&)>& leaf) {
  Pass(tape, options, leaf).run(roots, std::move(cotangents));
}

}  // namespace tensorlike
