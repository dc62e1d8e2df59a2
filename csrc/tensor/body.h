// Running a body: its calls, applied to any tensor-likes.
#pragma once

#include "tensor/value.h"

namespace tensorlike {

// `op` supplies the attributes that the body names. Inputs that the body does not read may be null
// where `specs` gives their shape and dtype. `last` is the slot of an argument that stands for
// `many`, where the body's inputs are more than the op's.
Values run_body(const CompiledBody& body, const Op& op, Args inputs,
                std::span<const Spec> specs = {}, Args many = {}, int last = -1);

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

// A literal as the kind of tensor-like that `like` is.
Ref<Value> lift_literal(Literal literal, Value& like);

}  // namespace tensorlike
