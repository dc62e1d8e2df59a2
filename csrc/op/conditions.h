// Conditions on numbers that are given to a call, as declarations state them (`requires`).
#pragma once

#include <optional>
#include <span>

#include "op/op.h"

namespace tensorlike {

// An argument of a call: a number, or nothing where it is a tensor, whose elements nobody reads.
using Given = std::optional<Literal>;

// ErrorKind::kAttribute unless all conditions hold that read numbers alone.
void check_numbers(const Scalar& scalar, std::span<const Given> args);
void check_attributes(const Op& op);

}  // namespace tensorlike
