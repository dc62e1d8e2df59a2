// Reverse-mode autodiff. A Tracer is a tensor-like that holds a value of any kind and its place on
// a tape; applying an op to tracers applies it to their values and records a Node. The graph is
// held by the tracers that lead to it, so what nobody can differentiate any more is freed at once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "memory/allocator.h"
#include "tape/call_spec.h"
#include "tensor/value.h"

namespace tensorlike {

class Node;

// Where a value comes from: an output of a node. Null: it carries no gradient.
struct Edge {
  Ref<Node> node;
  int slot = 0;
};

// The owner of tracers. Tapes nest: the level says which of two is the inner one, and its tracers
// may hold tracers of outer tapes. Level 0 is the tape of `requires_grad`, which never closes.
class Tape final : public RefCounted {
 public:
  explicit Tape(int level) : level(level) {}
  // The tape for leaves made of values of this level: one level further in, so that such leaves
  // wrap those values. It closes with this one. The base tape is its own, and so is such a tape.
  Ref<Tape> of_leaves();
  const int level;
  std::atomic<bool> is_open{true};
  std::atomic<int64_t> recorded{0};  // nodes, ever
  // While others still want the graph, a backward pass does not release it.
  std::atomic<int> sessions{0};

 private:
  friend void close_tape(Tape& tape);
  Ref<Tape> of_leaves_;  // when there are any
  bool holds_leaves_ = false;
};

Tape& base_tape();
// Opens a tape inside the innermost one of this thread; close_tape leaves it.
Ref<Tape> open_tape();
void close_tape(Tape& tape);

// Tapes up to this level do not record in this thread: -1 when all do.
int paused_level();
void set_paused_level(int level);
int innermost_level();

// Where backward() adds up the gradient of a leaf. Tracers of the leaf hold it and its node does
// not: a gradient may have a graph of its own, which leads to the node, and the two would keep one
// another alive for ever.
class Accumulator final : public RefCounted {
 public:
  explicit Accumulator(Node& leaf);
  ~Accumulator() override;
  // Adds to it, whatever other threads add meanwhile.
  void add(const Ref<Value>& gradient);

  Ref<Value> gradient;

 private:
  Node& leaf_;  // whoever holds this holds the leaf as well
};

class Tracer final : public Value {
 public:
  Tracer(Ref<Value> primal, Edge edge, Ref<Tape> tape, Ref<Accumulator> accumulator = nullptr)
      : Value(kTracer, tracer_type()),
        primal(std::move(primal)),
        edge(std::move(edge)),
        tape(std::move(tape)),
        accumulator(std::move(accumulator)),
        depth(this->primal->tag == kTracer ? static_cast<const Tracer&>(*this->primal).depth + 1
                                           : 0) {}
  double priority() const override { return 100 + tape->level; }
  bool spec(Spec& out) const override { return primal->spec(out); }
  Ref<Value> lift(Value& other) override { return Ref<Value>(&other); }

  static void* operator new(size_t) { return ObjectPool<Tracer>::take(); }
  static void operator delete(void* memory) { ObjectPool<Tracer>::give(memory); }

  const Ref<Value> primal;
  const Edge edge;
  const Ref<Tape> tape;
  const Ref<Accumulator> accumulator;  // of a leaf; it goes before the edge does
  const int depth;                     // how many tracers it holds one in the other
};

// A user's function of a gradient, run when that is complete; what it returns takes its place.
class GradientHook : public RefCounted {
 public:
  explicit GradientHook(int slot) : slot(slot) {}
  virtual Ref<Value> run(const Ref<Value>& gradient) = 0;
  const int slot;
};

// What few nodes carry.
struct Notes {
  std::string place;  // the user's line that recorded it, where somebody asked for lines
  std::vector<Ref<GradientHook>> hooks;
};

// One recorded op, or a leaf.
class Node final : public RefCounted {
 public:
  Node() {}          // written out: else all of it would be cleared before it is made
  Ref<const Op> op;  // null: a leaf
  uint64_t sequence = 0;
  Ref<const CallSpec> specs;
  // An input: where it comes from, and its value where the rule reads it.
  struct Input : Edge {
    Ref<Value> saved;
  };
  using Inputs = SmallVector<Input, 3>;
  Inputs inputs;
  SmallVector<Ref<Value>, 1> saved_outputs;  // none where the rule reads none
  bool is_released = false;
  std::unique_ptr<Notes> notes;
  Notes& make_notes();
  // Where the backward pass that is going on keeps what it knows of this node.
  const void* pass = nullptr;
  size_t place = 0;
  // Backward passes that run its rule now: what that reads is kept until the last one is done.
  int running = 0;
  // Of a leaf, while somebody can still ask for its gradient.
  Accumulator* accumulator = nullptr;

  bool is_leaf() const { return !op; }
  const Specs& outputs() const { return specs->outputs; }
  Ref<Value> saved_output(size_t i) const {
    return saved_outputs.empty() ? Ref<Value>() : saved_outputs[i];
  }
  const Spec& input_spec(size_t i) const { return specs->inputs[i]; }
  // Drops what backward needed.
  void release_graph();

  static void* operator new(size_t) { return ObjectPool<Node, 4096>::take(); }
  static void operator delete(void* memory) { ObjectPool<Node, 4096>::give(memory); }

 protected:
  void destroy() override;

 private:
  Node* next_dying_ = nullptr;
};

// What was recorded while it was listening in its thread, described: it keeps no value alive.
class TapeLog final : public RefCounted {
 public:
  struct Input {
    uint64_t node = 0;  // 0: a value that carries no gradient
    int slot = 0;
    Spec spec;
  };
  struct Entry {
    Ref<const Op> op;
    uint64_t node = 0;
    int level = 0;
    std::vector<Input> inputs;
    std::vector<Spec> outputs;
    std::string place;
  };
  std::vector<Entry> entries;

  void listen();
  // False when it is not listening in this thread.
  bool leave();
};

// A tracer without history: what gradients are asked for.
Ref<Tracer> make_leaf(Ref<Value> primal, Ref<Tape> tape);

// Where and by which op a gradient was cut last in this thread, for errors.
struct Cut {
  Ref<const Op> op;
  std::string place;
  int level = -1;
};
Cut& last_cut();

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  // Only these are asked for, leaves or not; what doesn't lead to them is not computed. Empty: all
  // leaves are.
  std::span<const Edge> wanted = {};
};

// Puts on the tape what an op with a rule of its own has made of the values under the arguments:
// results that can carry a gradient become tracers.
void record_applied(const Op& op, Args args, Tape& tape, Args primals, Values& out);

// Pushes cotangents from the roots back. `deliver` is called once per leaf reached, or per wanted
// edge, with the whole gradient, as soon as its last contribution is in.
using DeliverGradient = std::function<void(const Edge&, const Ref<Value>&)>;
void backward(Tape& tape, std::span<const Edge> roots, Values cotangents,
              const BackwardOptions& options, const DeliverGradient& deliver);
// Whether this thread is inside of a backward pass: gradient rules read what was recorded, whatever
// its user has done with it since.
bool is_pulling();

// Sees the gradients of a node's inputs as soon as they are made; while there is one, nodes note
// the user's line. For who looks for the op that made the first NaN.
inline void (*watch_gradients)(const Node&, const Values&) = nullptr;

}  // namespace tensorlike
