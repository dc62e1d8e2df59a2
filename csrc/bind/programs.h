// Programs as Python sees them, and sizes that are not known.
#pragma once

#include "bind/objects.h"
#include "program/program.h"

namespace tensorlike::bind {

// Whether an object is a size that is not known; the number that stands for it.
bool is_size(PyObject* object);
int64_t number_of_size(PyObject* object);
Literal literal_of_size(PyObject* object);
PyObject* from_witness(const Witness& witness, const Program& program);
// A number as Python sees it: what stands for an unknown size as such a size.
PyObject* from_number(int64_t number);

// The shape that a tensor-like written in Python, under tracers, says itself, while sizes in it may
// be unknown; null for any other.
PyObject* said_shape(Value& value);

// The number of elements, a size where one in the shape is unknown.
PyObject* count_of(PyObject* shape);

int visit_held(PyObject* self, const Program& program, visitproc visit, void* arg);
// A size of this program was given to an op.
void use_sizes(PyObject* program);
void add_programs(PyObject* module);
void add_sizes(PyObject* module);

}  // namespace tensorlike::bind
