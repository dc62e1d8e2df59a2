// The elements of a tensor-like, as Python asks for them.
#pragma once

#include "bind/objects.h"

namespace tensorlike::bind {

// One element as a Python number.
PyObject* item_of(const RawTensor& x);
// The same of what a tensor-like is around, which Python is about to see.
PyObject* item_in(PyObject* tensor_like);
PyObject* number_of(const RawTensor& x);  // the first; there must be one, in the host's memory
// All as nested lists.
PyObject* to_lists(PyObject* tensor);
// Elements of nested lists of Python's own numbers; null where they hold more than that, or where
// the dtype (or None) is not one that they are stored in as they are.
Ref<RawTensor> from_lists(PyObject* data, PyObject* dtype);
bool is_numpy_array(PyObject* object);  // of NumPy's own class
// Elements of a list, or tuple, of NumPy's scalars of one class; null where it is none.
Ref<RawTensor> from_scalars(PyObject* list);
// A copy of an array of NumPy's own class that is small and lies in order, or of one of its
// scalars; null: of all others.
Ref<RawTensor> from_small_array(PyObject* object);
// The elements behind tracers, and behind what names another's as its own; ready to be read.
Ref<RawTensor> elements_of(Ref<Value> value);

// Tells who asked for it that Python is about to see the value, or the gradient, of a wrapper by
// another way than an op.
void note_read(PyObject* wrapper);
void add_elements(PyObject* module);

}  // namespace tensorlike::bind
