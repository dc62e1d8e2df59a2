// What a gradient rule is given and what it returns.
#pragma once

#include <algorithm>

#include "tape/tape.h"
#include "tensor/body.h"

namespace tensorlike {

// Whether numbers of this dtype have gradients.
bool is_differentiable(DType dtype);

// Those of an op where they differ by the value of an attribute; else the same.
const Gradients& chosen(const Gradients& gradients, const Op& op);
// What a declaration says of an op's gradients; null: it is not differentiable.
const Gradients* declared_gradients(const Op& op, bool is_complex);
// Whether it has a rule of its own; without one an op is differentiated through its body.
bool has_rule(const Op& op, const Gradients* gradients);
// Whether a rule for complex numbers is asked for, as far as the inputs tell.
bool has_complex(Args values);

// The inputs that a gradient is computed for: those that carry one, unless nobody asks for it.
struct LiveInputs {
  uint64_t bits = ~uint64_t{0};  // the last one stands for all inputs from there on

  static uint64_t bit(size_t input) { return uint64_t{1} << std::min<size_t>(input, 63); }
  bool has(const Node& node, size_t input) const {
    return node.inputs[input].node && (bits & bit(input)) != 0;
  }
};

struct GradCall {
  const Op& op;
  const Node& node;
  // The values that the rule reads, as tensor-likes on the tape when the graph is being created;
  // null where it reads only shapes.
  Args inputs;
  Args outputs;
  Args cotangents;  // null where nothing flows into that output
  Values results;   // one per input; null: no gradient
  // What has arrived for the inputs so far; of rules that add to that themselves.
  std::span<Ref<Value>* const> totals = {};
  LiveInputs live = {};
  // Nobody but the caller, who needs them no more, holds the cotangents by way of this call: the
  // last rule may write over those that it holds alone.
  bool gives_up = false;

  bool wants(size_t input) const { return live.has(node, input); }
  Ref<Value>& result(size_t input) { return results[input]; }
  bool has_total(size_t input) const {
    return !totals.empty() && totals[input] != nullptr && *totals[input];
  }
  // The total of an input so far, zeros where there is none; the result is to be the new one.
  Ref<Value> take_total(size_t input);
};

// The same for the commonest nodes: a scalar function of small RawTensors, or a reduction of all of
// one's elements, whose rules are single calls. False when the node is not of this kind; then no
// rule of a user's has seen anything, and what is in `out` counts for nothing.
bool small_gradients(const Node& node, Value& cotangent, LiveInputs live, Values& out);

// The gradients of a node's inputs, in the inputs' own shapes and dtypes.
Values input_gradients(const Node& node, Tape& tape, Args cotangents, bool create_graph,
                       std::span<Ref<Value>* const> totals = {}, LiveInputs live = {},
                       bool gives_up = false);

// Fills call.results by the rules that a declaration gives, those of complex numbers where any
// input or output is complex: one body per input.
void run_declared(const Gradients& gradients, GradCall& call);

// The same by way of the op's body: see Op::is_fused.
void replay(GradCall& call);

// x, conjugated where it is complex: rules written in code pull dy back by the adjoint.
Ref<Value> conjugate(Value& x);

// The op's result; in the memory of one of the arguments given up (a bit each) where it fits and
// nobody else than the caller, who holds it once, has it.
Ref<Value> apply_over(const Op& op, Args args, uint32_t given_up);
// The same, over the first argument.
Ref<Value> apply_over(const Op& op, Ref<Value> first, Args others);

// A gradient of `value`'s shape summed or broadcast, and cast, to `spec`: its real part, where only
// that can move.
Ref<Value> fit(Ref<Value> value, const Spec& spec);

}  // namespace tensorlike
