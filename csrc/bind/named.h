// Named: a function of Python's with a name for its errors, and what its calls are.
#pragma once

#include "bind/made_ops.h"

namespace tensorlike::bind {

struct NamedObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* name;  // None: that of the first argument's class
  PyObject* on_error;
  PyObject* dict;
  PyObject* weak;
  MadeOps* made;      // of a call that is one op; else null
  PyObject* tensors;  // the names of what it is applied to, in order
  PyObject* beside;   // and, behind them, of what may be tensors, numbers or None
  PyObject* quick;    // what may make calls in its place, or null
  PyObject* draw;     // what makes the draw that is an op, in the general way; else null
};

// A call that is one op, or some.
PyObject* call_made(const NamedObject& self, PyObject* const* args, Py_ssize_t n,
                    PyObject* kwnames);
// A call that draws.
PyObject* call_drawing(const NamedObject& self, PyObject* const* args, Py_ssize_t n,
                       PyObject* kwnames);

}  // namespace tensorlike::bind
