// The tape as a C++ user's API: a Tape is a program of the ops that were added, and how far it has
// run.
//
//   VariableHandle y = get_global_tape().AddOp("matmul", {x, w});  // infers; nothing runs
//   y->value();                                                    // runs up to y
//   get_global_tape().Backward(loss);                              // then w->Grad()->value()
//
// Every declared op can be added by its class ("MatMul") or functional name ("relu"), those that
// were declared at run time included. Functional calls on variables add to the tape as well: to the
// global one, unless a CurrentTape says otherwise. Gradients are the core's own (tape.h): a tape's
// variables are traced while ops are added, and the rules, applied to symbols, append the ops of
// the backward tape, which is a tape like any other. With the engine in lazy mode (engine/engine.h)
// chains of ops that a tape runs fuse.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "program/dot.h"
#include "program/variable.h"

namespace tensorlike::tape {

using Attributes = std::vector<std::pair<std::string, Attr>>;
using Slots = std::map<std::string, std::vector<VariableHandle>>;

// What an op reads or writes.
struct Operand {
  Ref<const Desc> desc;
};

struct Slot {
  std::string name;  // of the op's argument; of its results "y", or "y0", "y1", ...
  std::vector<Operand> operands;
};

// One op on a tape, as it was when it was asked for.
struct OpHandle {
  Ref<const Op> op;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;

  std::string type() const { return op->name(); }
  Attributes attributes() const;
  const Slot& input(const std::string& name) const;
  const Slot& output(const std::string& name) const;
};

class Tape;

// The ops of a tape, in order.
class Ops {
 public:
  explicit Ops(const Tape& tape) : tape_(tape) {}
  size_t size() const;
  bool empty() const { return size() == 0; }
  OpHandle operator[](size_t index) const;

 private:
  const Tape& tape_;
};

// The results of an op: of one that has a single result, that variable itself.
class Results : public std::vector<VariableHandle> {
 public:
  using std::vector<VariableHandle>::vector;
  operator VariableHandle() const;
};

class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Adds an op. Shapes and dtypes of its results are inferred, and bad ones refused, at once; the
  // op itself runs when somebody asks for a value, or by Forward. Where the shape of a result
  // depends on elements, the tape runs.
  Results AddOp(const std::string& type, const std::vector<VariableHandle>& inputs,
                Attributes attributes = {});
  // The same with the variables by slot. Results are put into the variables given.
  Results AddOp(const std::string& type, const Slots& inputs, const Slots& outputs,
                Attributes attributes);
  // Runs the ops that have not run yet.
  void Forward();
  // Completes Forward, builds the backward tape and runs it; variables that `loss` depends on have
  // their Grad() then. `loss` has one element, or comes with the gradient to start from. Values
  // that nobody holds are freed as soon as the last op that reads them is done. Only once.
  void Backward(const VariableHandle& loss, const VariableHandle& gradient = nullptr);
  // Backward is to give this result of an op a gradient as well.
  void KeepGrad(const VariableHandle& result);

  Ops ops() const { return Ops(*this); }
  // What was added, without elements.
  const Program& program() const { return *program_; }
  // How many of them have run.
  size_t position() const { return position_; }
  // Null before Backward.
  const Tape* backward_tape() const { return backward_.get(); }
  // Both tapes as a graph in Graphviz's language.
  std::string to_dot() const;

  // What applying an op to symbols means: append. For rules of tensor-likes.
  Values append(const Op& op, Args args);
  // A variable as the tape records it.
  Ref<Value> enter(Variable& variable);

 private:
  friend class Ops;
  friend class Symbol;
  // The symbols of a step, until backward is done with it.
  struct Held {
    std::vector<Ref<Symbol>> inputs, outputs;
  };
  struct Leaf {
    Ref<Symbol> symbol;
    Ref<Tracer> tracer;
  };
  // Whose gradient Backward finds where. It holds the variable, so that addresses stay its own.
  struct Asked {
    VariableHandle variable;
    Edge edge;
    Ref<const Desc> desc;
  };

  void run_to(size_t end);
  // The program's variable that a symbol is; it is an input where it comes from elsewhere.
  int number_of(const Symbol& symbol);
  void rename(Desc& desc, std::string name);
  Results wrap(const Values& values) const;
  Results add(const Op& op, const std::vector<VariableHandle>& inputs, Attributes numbers);
  // Of a result of this tape that gradients flow to; null for any other variable.
  const Tracer* find_result(const Variable& variable) const;
  void ask(const VariableHandle& variable, const Tracer& tracer);
  void receive(Asked& asked, Ref<Value> gradient);
  void run_backward();
  // Nobody asks this tape for a value any more.
  void abandon();

  friend bool apply_variable(const Op& op, Args args, Values& out);

  const uint64_t number_;
  const Ref<Program> program_ = make_ref<Program>();
  std::vector<Held> held_;                     // of each step
  std::vector<Ref<const Desc>> descs_;         // of each variable
  std::unordered_map<uint64_t, int> numbers_;  // of what is described
  size_t position_ = 0;
  std::unordered_map<const Variable*, Leaf> leaves_;
  std::map<std::pair<const Node*, int>, Asked> asked_;
  bool asks_for_results_ = false;
  std::vector<VariableHandle> received_;
  std::unique_ptr<Tape> backward_;
  std::vector<std::pair<Ref<const Desc>, Ref<const Desc>>> gradients_;  // of which variable
  bool releases_ = false;                                               // each op once it has run
};

// This thread's tape that ops go to, and a new one in its place.
Tape& get_global_tape();
void reset_global_tape();

// While it lives, ops on variables go to another tape than the global one.
class CurrentTape {
 public:
  explicit CurrentTape(Tape& tape);
  ~CurrentTape();
  CurrentTape(const CurrentTape&) = delete;
  CurrentTape& operator=(const CurrentTape&) = delete;

 private:
  Tape* const previous_;
};
Tape& current_tape();

// The op that a class or functional name and attributes mean; ErrorKind::kAttribute for none.
Ref<Op> op_by_name(const std::string& type, Attributes attributes);
// Takes out of the attributes the numbers that a scalar function has for arguments with a default.
Attributes take_numbers(const std::string& type, Attributes& attributes);
// ErrorKind::kAttribute for a null handle; `who` was given it.
void check_given(const char* who, const void* handle);

}  // namespace tensorlike::tape
