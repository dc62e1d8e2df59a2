// Running a body: its calls, applied to any tensor-likes.
#pragma once

#include "tensor/value.h"

namespace tensorlike {

struct BodyCall {
  const CompiledBody& body;
  const Op& op;                      // supplies the attributes that the body names
  Args inputs;                       // null where the body does not read one, or it is absent
  std::span<const Spec> specs = {};  // of inputs that are null, as far as it asks for them
  // What the last argument of the op stands for, and its slot, where the inputs are more than the
  // op's.
  Args many = {};
  int last = -1;
  uint64_t absent = 0;             // bit i: input i is zeros that nobody has made
  uint64_t wanted = ~uint64_t{0};  // bit i: somebody asks for result i
  // Of a gradient: results are fitted to a shape afterwards, and null stands for zeros.
  bool is_rule = false;
};

// The results; null for those that nobody asks for, and in a rule for zeros because of what is
// absent.
Values run_body(const BodyCall& call);

// The op of a step, whose attributes depend on nothing but specs of inputs.
Ref<Op> step_op(const CompiledStep& step, const Op& op, std::span<const Spec> specs);

// Inference of an op through its body, which is applied to shapes.
Specs infer_by_body(const Op& op, std::span<const Spec> inputs);

// The op's own body, of one kind or another; false where it has none.
bool apply_body(const Op& op, Args args, Values& out);

// Applies an op to tensor-likes of any kind. The dispatch floor defines it.
Values apply(const Op& op, Args args);

// The result of an op that has one.
Ref<Value> apply_one(const Op& op, Args args);

// Functional calls for what is written in C++.
using NamedAttr = std::pair<std::string_view, Attr>;
Ref<Value> call(std::string_view function, std::initializer_list<Value*> args,
                std::span<const NamedAttr> attrs);
inline Ref<Value> call(std::string_view function, std::initializer_list<Value*> args,
                       std::initializer_list<NamedAttr> attrs = {}) {
  return call(function, args, std::span<const NamedAttr>(attrs.begin(), attrs.size()));
}

// Zeros of this spec, as the kind of tensor-like that `like` is.
Ref<Value> zeros(const Spec& spec, Value& like);

// A literal as the kind of tensor-like that `like` is.
Ref<Value> lift_literal(Literal literal, Value& like);

// A value, or a number beside values.
struct Operand {
  Value* value;  // null: the number
  Literal number;
};

// Whether float16, which ends at 65504, makes an infinity of a number, a count of elements say.
bool exceeds_half(const Literal& literal);
bool holds_half(Value& x);  // whether it is of float16

// A scalar function of float16 and numbers that exceed it, computed in float32; what it makes is of
// float16 again.
Values apply_wide(const Op& op, std::span<const Operand> operands);

}  // namespace tensorlike
