// Inference for any op: shapes and dtypes of the outputs from those of the inputs.
#pragma once

#include <span>

#include "base/shape.h"
#include "op/op.h"

namespace tensorlike {

Specs infer(const Op& op, std::span<const Spec> inputs);
Specs infer_reduce(const Op& op, std::span<const Spec> inputs);

// The dtype where only real floating-point numbers make sense: integers become float32, complex
// numbers are refused; `arg` names the argument in the error.
DType real_floating(const Op& op, const char* arg, DType dtype);
// The joint one of several arguments.
DType joint_real_dtype(const Op& op, std::span<const Spec> inputs);

// The spec of an only result; throws where it has more elements than can be counted.
Specs one(DType dtype, Dims shape);

// Throws unless the op takes `got` tensor-likes.
void check_arity(const Op& op, size_t got);

// Where an op's operands live: all on one device, or ErrorKind::kDevice. Without any, where the
// attribute `device` says, or where this thread makes tensors.
Device operands_device(const Op& op, std::span<const Spec> inputs);
// Where its results live: there, unless the attribute `device` names another one.
Device results_device(const Op& op, Device operands);

// ErrorKind::kDType for an op that no complex number has a meaning for, where an input is one.
void check_real(const Op& op, std::span<const Spec> inputs);

// What a declared scalar function, which an attribute names, makes of one argument of a dtype;
// ErrorKind::kAttribute where there is none that can take one argument.
DType applied_dtype(const Op& op, const std::string& attr, const std::string& name, DType given);

// ErrorKind::kDType where a complex number would have to become a real one.
void check_converts(const Op& op, DType from, DType to);

// The dtype that a sum is asked to be made in; null where it is the usual one.
inline const DType* summed_as(const Op& op) { return std::get_if<DType>(&op.attrs[3]); }

// The axes that the attribute `axis` names (None: all), non-negative, each once.
Dims named_axes(const Op& op, int64_t ndim);

// arange(stop) is arange(0, stop).
struct ArangeRange {
  Attr start;
  Attr stop;
  Attr step;
};
ArangeRange arange_range(const Op& op);
// Length and dtype of an arange; ErrorKind::kOverflow where that does not hold the numbers.
Spec range_spec(const Op& op);

}  // namespace tensorlike
