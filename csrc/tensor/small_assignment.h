// The shortest way for the commonest assignment: a value of x's dtype into the part of x that the
// items of a SetSubtensor select, few elements on the CPU, whose backend sets it.
#pragma once

#include "tensor/raw_tensor.h"

namespace tensorlike {

// Writes the value where the elements lie, which nobody else has; false where the call is not of
// this kind: nothing has been done then.
inline bool (*assign_small)(const Op& op, RawTensor& x, const Array& value) =
    [](const Op&, RawTensor&, const Array&) { return false; };

}  // namespace tensorlike
