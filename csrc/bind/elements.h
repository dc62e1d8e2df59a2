// The elements of a tensor-like, as Python asks for them.
#pragma once

#include "bind/objects.h"

namespace tensorlike::bind {

// One element as a Python number.
PyObject* item_of(const RawTensor& x);
// The elements behind tracers, and behind what names another's as its own; ready to be read.
Ref<RawTensor> elements_of(Ref<Value> value);

// Tells who asked for it that Python is about to see the value, or the gradient, of a wrapper by
// another way than an op.
void note_read(PyObject* wrapper);
void add_read_hook(PyObject* module);

}  // namespace tensorlike::bind
