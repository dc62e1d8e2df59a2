// Context managers over a state of the core. They are written in C++ because a with statement
// enters and leaves these with no line of Python in between, at which Ctrl-C could come after a
// change and before the promise to take it back.
#pragma once

#include <new>
#include <utility>

#include "bind/objects.h"

namespace tensorlike::bind {

// A State is made of the arguments of the call, can be moved until it is entered, has `enter` and
// `exit`, and leaves what it is still in when it is destroyed.
template <class State>
struct Context {
  PyObject_HEAD State state;

  static State& of(PyObject* self) { return reinterpret_cast<Context*>(self)->state; }

  static PyObject* make(PyTypeObject* cls, PyObject* args, PyObject*) {
    return guarded([&] {
      State made(args);
      PyObject* self = checked(cls->tp_alloc(cls, 0));
      new (&of(self)) State(std::move(made));
      return self;
    });
  }

  // An exception may be on its way.
  static void dealloc(PyObject* self) {
    PyTypeObject* cls = Py_TYPE(self);
    PyObject* pending[3];
    PyErr_Fetch(&pending[0], &pending[1], &pending[2]);
    of(self).~State();
    if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(nullptr);
    PyErr_Restore(pending[0], pending[1], pending[2]);
    cls->tp_free(self);
    Py_DECREF(cls);
  }

  static PyObject* enter(PyObject* self, PyObject*) {
    return guarded([&] {
      of(self).enter();
      return Py_NewRef(self);
    });
  }

  static PyObject* exit(PyObject* self, PyObject*) {
    return guarded([&] {
      of(self).exit();
      return Py_NewRef(Py_None);
    });
  }

  // Adds the class, with up to three methods more.
  static void add(PyObject* module, const char* name, const char* doc, PyMethodDef more = {},
                  PyMethodDef another = {}, PyMethodDef third = {}) {
    static PyMethodDef methods[] = {
        {"__enter__", as_method(enter), METH_NOARGS, nullptr},
        {"__exit__", as_method(exit), METH_VARARGS, nullptr},
        more,
        another,
        third,
        {nullptr, nullptr, 0, nullptr},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, as_slot(make)},
        {Py_tp_dealloc, as_slot(dealloc)},
        {Py_tp_methods, methods},
        {Py_tp_doc, const_cast<char*>(doc)},
        {0, nullptr},
    };
    PyType_Spec spec = {name, sizeof(Context), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    add_type(module, spec, nullptr);
  }
};

// Runs what must not fail where nobody could be told.
template <class F>
void run_unraisable(F&& f) noexcept {
  if (guarded_status(std::forward<F>(f)) < 0) PyErr_WriteUnraisable(nullptr);
}

}  // namespace tensorlike::bind
