// Running a body: its calls, applied to any tensor-likes.
#pragma once

#include "tensor/value.h"

namespace tensorlike {

// `op` supplies the attributes that the body names. Inputs that the body does not read may be null
// where `specs` gives their shape and dtype.
Values run_body(const CompiledBody& body, const Op& op, Args inputs,
                std::span<const Spec> specs = {});

// The op's own body, of one kind or another; false where it has none.
bool apply_body(const Op& op, Args args, Values& out);

// Applies an op to tensor-likes of any kind. The dispatch floor defines it.
Values apply(const Op& op, Args args);

// The result of an op that has one; without detours where the arguments are small RawTensors.
Ref<Value> apply_one(const Op& op, Args args);

// A literal as the kind of tensor-like that `like` is.
Ref<Value> lift_literal(Literal literal, Value& like);

}  // namespace tensorlike
