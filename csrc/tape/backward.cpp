// The backward pass: nodes in reverse recorded order, each as soon as all that follows it is done.
#include <algorithm>
#include <unordered_map>

#include "base/stack.h"
#include "engine/expression.h"
#include "op/registry.h"
#include "tape/gradient.h"
#include "tensor/body.h"

namespace tensorlike {
namespace {

struct Awaited {
  Ref<Node> node;
  int waiting = 0;  // edges into the node that have not delivered
  bool is_wanted = false;
  LiveInputs live;
  SmallVector<Ref<Value>, 1> cotangents;
};

// Memory that one pass of a thread leaves to the next.
struct Scratch {
  std::vector<Awaited> pending;
  std::vector<size_t> ready;
};
constexpr size_t kKept = 1024;  // nodes
thread_local Scratch scratch;

thread_local int passes_going_on = 0;

class Pass {
 public:
  Pass(Tape& tape, const BackwardOptions& options, const DeliverGradient& report)
      : tape_(tape),
        options_(options),
        report_(report),
        pending_(std::move(scratch.pending)),
        ready_(std::move(scratch.ready)) {
    ++passes_going_on;
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  ~Pass() {
    --passes_going_on;
    for (Awaited& entry : pending_) leave(entry);
    if (pending_.capacity() > kKept) return;
    pending_.clear();
    ready_.clear();
    scratch = {std::move(pending_), std::move(ready_)};
  }

  void run(std::span<const Edge> roots, Values cotangents) {
    check_stack();  // a hook may begin another pass
    for (const Edge& root : roots) discover(root.node);
    if (!options_.wanted.empty()) prune();
    for (size_t i = 0; i < roots.size(); ++i) {
      deliver(at(*roots[i].node), roots[i].slot, std::move(cotangents[i]));
    }
    for (const Edge& root : roots) {
      Awaited& entry = at(*root.node);
      if (entry.waiting == 0) enqueue(entry);
    }
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end(), Earlier{*this});
      const size_t place = ready_.back();
      ready_.pop_back();
      step(place);
    }
  }

 private:
  struct Earlier {
    const Pass& pass;
    bool operator()(size_t a, size_t b) const {
      return pass.pending_[a].node->sequence < pass.pending_[b].node->sequence;
    }
  };

  // What this pass knows of a node. The node itself says where that is, unless another pass (of
  // another thread, or one that a callback started) was there first.
  size_t* find(Node& node) {
    if (node.pass == this) return &node.place;
    if (elsewhere_.empty()) return nullptr;
    const auto found = elsewhere_.find(&node);
    return found == elsewhere_.end() ? nullptr : &found->second;
  }
  Awaited& at(Node& node) { return pending_[*find(node)]; }

  void leave(Awaited& entry) {
    if (entry.node && entry.node->pass == this) entry.node->pass = nullptr;
    entry.node = nullptr;
  }

  static void refuse_released(const Node& node) {
    if (!node.is_released) return;
    fail(ErrorKind::kAutodiff, said::op("backward"), "the graph must not be used up; ",
         node.op->name(),
         " was released by an earlier backward pass; pass retain_graph=True to that one.");
  }

  size_t visit(const Ref<Node>& node) {
    if (const size_t* known = find(*node)) return *known;
    refuse_released(*node);
    const size_t place = pending_.size();
    Awaited& entry = pending_.emplace_back();
    entry.node = node;
    entry.cotangents.resize(node->outputs().size());
    // Only when the entry is whole: where memory ends before, the node must not say it has one.
    if (node->pass == nullptr) {
      node->pass = this;
      node->place = place;
    } else {
      elsewhere_[node.get()] = place;
    }
    return place;
  }

  // Counts, for every node that the roots lead to, the edges that lead into it.
  void discover(const Ref<Node>& root) {
    size_t next = pending_.size();
    visit(root);
    for (; next < pending_.size(); ++next) {
      Node* node = pending_[next].node.get();
      for (const Edge& edge : node->inputs) {
        if (edge.node) ++pending_[visit(edge.node)].waiting;
      }
    }
  }

  // Leaves alive only the inputs that lead to what is wanted. A node is younger than its inputs.
  void prune() {
    for (const Edge& edge : options_.wanted) {
      if (size_t* place = edge.node ? find(*edge.node) : nullptr) pending_[*place].is_wanted = true;
    }
    std::vector<Awaited*> by_age;
    for (Awaited& entry : pending_) by_age.push_back(&entry);
    std::sort(by_age.begin(), by_age.end(), [](const Awaited* a, const Awaited* b) {
      return a->node->sequence < b->node->sequence;
    });
    for (Awaited* entry : by_age) {
      uint64_t bits = 0;
      for (size_t i = 0; i < entry->node->inputs.size(); ++i) {
        const Ref<Node>& input = entry->node->inputs[i].node;
        if (input && (at(*input).is_wanted || at(*input).live.bits != 0)) {
          bits |= LiveInputs::bit(i);
        }
      }
      entry->live.bits = bits;
    }
    for (Awaited& entry : pending_) entry.waiting = 0;
    for (const Awaited& entry : pending_) {
      for (size_t i = 0; i < entry.node->inputs.size(); ++i) {
        if (entry.live.has(*entry.node, i)) ++at(*entry.node->inputs[i].node).waiting;
      }
    }
  }

  void enqueue(Awaited& entry) {
    if (entry.waiting < 0) return;
    entry.waiting = -1;
    // A leaf is finished at once: whoever waits for its gradient may start.
    if (entry.node->is_leaf()) {
      SmallVector<Ref<Value>, 1> total = std::move(entry.cotangents);
      const Ref<Node> node = entry.node;
      if (total[0] && (entry.is_wanted || options_.wanted.empty())) complete(node, total, true);
      return;
    }
    ready_.push_back(static_cast<size_t>(&entry - pending_.data()));
    std::push_heap(ready_.begin(), ready_.end(), Earlier{*this});
  }

  // Nothing more will be added: users' hooks have their turn, then whoever asked.
  void complete(const Ref<Node>& node, SmallVector<Ref<Value>, 1>& cotangents, bool is_asked_for) {
    const std::vector<Ref<GradientHook>> hooks =
        node->notes ? node->notes->hooks : std::vector<Ref<GradientHook>>();
    for (const Ref<GradientHook>& hook : hooks) {
      Ref<Value>& gradient = cotangents[static_cast<size_t>(hook->slot)];
      if (!gradient) continue;
      gradient = hook->run(gradient);
      // What the hook computed with recorded tensors carries no graph that nobody asked for.
      while (!options_.create_graph && gradient->tag == Value::kTracer &&
             static_cast<Tracer*>(gradient.get())->tape.get() == &tape_) {
        gradient = static_cast<Tracer*>(gradient.get())->primal;
      }
    }
    if (!is_asked_for) return;
    for (size_t slot = 0; slot < cotangents.size(); ++slot) {
      if (cotangents[slot]) report_({node, static_cast<int>(slot)}, cotangents[slot]);
    }
  }

  static void deliver(Awaited& entry, int slot, Ref<Value> cotangent) {
    Ref<Value>& sum = entry.cotangents[static_cast<size_t>(slot)];
    if (!sum) {
      sum = std::move(cotangent);
      return;
    }
    static const Op& add = registry().scalar_op("add");
    Value* args[] = {sum.get(), cotangent.get()};
    sum = apply_over(add, args, 3);  // both end here, unless somebody else holds them
  }

  // Whether a rule of the op adds to what has arrived itself.
  static bool adds_up(const Op& op) {
    if (op.grad_rule().run != nullptr) return op.grad_rule().adds_up;
    const std::vector<CompiledGrad>& rules = op.cls.gradients->rules;
    return std::any_of(rules.begin(), rules.end(), [](const auto& rule) { return rule.adds_up; });
  }

  // The gradients of the inputs, where any cotangent has arrived.
  void run_rule(const Node& node, const SmallVector<Ref<Value>, 1>& cotangents, LiveInputs live,
                Values& gradients) {
    SmallVector<Value*, 2> pointers;
    bool any = false;
    for (const Ref<Value>& cotangent : cotangents) {
      pointers.push_back(cotangent.get());
      any = any || cotangent;
    }
    if (!any) return;
    SmallVector<Ref<Value>*, 2> totals;
    if (adds_up(*node.op)) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const Edge& edge = node.inputs[i];
        totals.push_back(live.has(node, i)
                             ? &at(*edge.node).cotangents[static_cast<size_t>(edge.slot)]
                             : nullptr);
      }
    }
    gradients = input_gradients(node, tape_, {pointers.data(), pointers.size()},
                                options_.create_graph, {totals.data(), totals.size()}, live, true);
  }

  // A node while its rule runs. Another thread's pass may come to it then, where the rule lets the
  // embedder's lock go: the last one to leave a node that is used up frees what it kept.
  class Running {
   public:
    explicit Running(Node& node) : node_(node) { ++node_.running; }
    ~Running() {
      if (--node_.running == 0 && node_.is_released) node_.release_graph();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Node& node_;
  };

  void step(size_t place) {
    const Ref<Node> node = pending_[place].node;
    // Taken out: what this node kept is freed as soon as it has run.
    SmallVector<Ref<Value>, 1> cotangents = std::move(pending_[place].cotangents);
    const LiveInputs live = pending_[place].live;
    const bool is_wanted = pending_[place].is_wanted;
    leave(pending_[place]);
    if (is_wanted || node->notes) complete(node, cotangents, is_wanted);
    refuse_released(*node);  // a hook may have run a pass of its own
    const size_t count = node->inputs.size();
    Values gradients(count);
    Node::Inputs taken;
    {
      const Running running(*node);
      const bool is_small = cotangents.size() == 1 && cotangents[0] && !options_.create_graph &&
                            small_gradients(*node, *cotangents[0], live, gradients);
      if (!is_small && live.bits != 0) run_rule(*node, cotangents, live, gradients);
      if (watch_gradients != nullptr) watch_gradients(*node, gradients);
      if (!options_.retain_graph) {
        refuse_released(*node);
        node->is_released = true;
        taken = node->running == 1 ? std::move(node->inputs) : node->inputs;
      }
    }
    const Node::Inputs& edges = options_.retain_graph ? node->inputs : taken;
    for (size_t i = 0; i < count; ++i) {
      if (options_.retain_graph) refuse_released(*node);
      if (!edges[i].node || (live.bits & LiveInputs::bit(i)) == 0) continue;
      Awaited& target = at(*edges[i].node);
      if (gradients[i]) deliver(target, edges[i].slot, std::move(gradients[i]));
      // Found again: adding may have run Python, and Python another pass.
      Awaited& entry = at(*edges[i].node);
      if (--entry.waiting == 0) enqueue(entry);
    }
  }

  Tape& tape_;
  const BackwardOptions& options_;
  const DeliverGradient& report_;
  std::vector<Awaited> pending_;
  std::unordered_map<Node*, size_t> elsewhere_;
  std::vector<size_t> ready_;  // a heap: the latest recorded first
};

}  // namespace

bool is_pulling() { return passes_going_on != 0; }

void backward(Tape& tape, std::span<const Edge> roots, Values cotangents,
              const BackwardOptions& options, const DeliverGradient& deliver) {
  OneExpression expression;
  Pass(tape, options, deliver).run(roots, std::move(cotangents));
  expression.end();
}

}  // namespace tensorlike
