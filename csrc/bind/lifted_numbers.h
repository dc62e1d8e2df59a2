// Python's numbers, and data, beside Tensors in a call of a scalar function.
#pragma once

#include "bind/objects.h"

namespace tensorlike::bind {

// The values of the arguments of a scalar function, where all are Tensors around the core's own
// values, Python's numbers, or arrays and lists, which become what a Const makes of them. False
// where something else is among them, or somebody else may have a say; then nothing has been done.
bool lift_numbers(const Op& op, PyObject* const* args, size_t n,
                  SmallVector<Ref<Value>, 4>& values);

// What the declaration of a scalar function says of numbers holds for those that are given.
void check_given(const Scalar& scalar, PyObject* const* args, size_t n);

}  // namespace tensorlike::bind
