// Inference as declarations say it: patterns of the shapes of arguments, and shapes of results made
// of what they find.
#pragma once

#include "op/op.h"

namespace tensorlike {

// The inference of every op whose declaration has `shapes`.
Specs infer_declared(const Op& op, std::span<const Spec> inputs);

// Puts the numbers of attributes in the place of their names.
void resolve_shapes(OpSpec& spec);

// ErrorKind::kDType unless the argument takes the dtype: what is to be floating-point may be cast.
void check_category(const std::string& op, const ArgSpec& arg, DType got);

// The axes that an attribute called `name` holds (None: all), non-negative, each once.
Dims axes_in(const Op& op, std::string_view name, const Attr& axes, int64_t ndim);

// What Python's operator gives for two integers; ErrorKind::kAttribute where that is none of 64
// bits.
int64_t calculate(const Op& op, const std::string& function, int64_t a, int64_t b);
[[noreturn]] void fail_calculation(const Op& op, std::string_view what);

}  // namespace tensorlike
