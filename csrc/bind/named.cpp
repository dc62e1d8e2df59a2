// Named: a function of Python's with a name for its errors. It costs a call of C where nothing
// fails; what is raised goes through `on_error(name, error)`, which gives the error to raise.
//
// A call may be one op, on its first arguments or on nothing: then the function gives the op, and
// it is remembered, since it follows from their shapes and dtypes and the other arguments. So may a
// call be that is some ops more, each on the result of the one before.
//
// A call that draws random numbers may be one op, too, which the function gives without its draw.
//
// Calls may be made by another function, written in C++, as far as it takes them: it gives
// NotImplemented for all others.
#include "bind/named.h"

#include "bind/functions.h"
#include "bind/shortcuts.h"
#include "memory/backend.h"

// After Python.h.
#include <structmember.h>

namespace tensorlike::bind {
namespace {

NamedObject* as_named(PyObject* object) { return reinterpret_cast<NamedObject*>(object); }

// The error on its way becomes the one that `on_error` gives for it.
void name_error(const NamedObject& self, PyObject* const* args, Py_ssize_t n) {
  PyObject* parts[3];
  PyErr_Fetch(&parts[0], &parts[1], &parts[2]);
  PyErr_NormalizeException(&parts[0], &parts[1], &parts[2]);
  if (parts[2] != nullptr) PyException_SetTraceback(parts[1], parts[2]);
  Object name = Object::share(self.name);
  if (self.name == Py_None && n > 0) {
    name = Object::steal(
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(args[0])), "__name__"));
  }
  Object given;
  if (name) {
    PyObject* both[] = {name.get(), parts[1]};
    given = Object::steal(PyObject_Vectorcall(self.on_error, both, 2, nullptr));
  }
  if (given.get() == parts[1]) {
    PyErr_Restore(parts[0], parts[1], parts[2]);
    return;
  }
  if (given) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(given.get())), given.get());
  for (PyObject* part : parts) Py_XDECREF(part);
}

// What a call makes without operands it makes where its first tensor-like lives.
Device device_beside(PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; has_devices() && i < n; ++i) {
    if (is_tensor_like(args[i])) return device_of(args[i]);
  }
  return default_device;
}

PyObject* call_function(const NamedObject& self, PyObject* const* args, size_t nargsf,
                        PyObject* kwnames) {
  if (self.draw != nullptr) return call_drawing(self, args, PyVectorcall_NARGS(nargsf), kwnames);
  if (self.made != nullptr) return call_made(self, args, PyVectorcall_NARGS(nargsf), kwnames);
  if (self.quick != nullptr) {
    PyObject* const found = PyObject_Vectorcall(self.quick, args, nargsf, kwnames);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
  }
  return PyObject_Vectorcall(self.function, args, nargsf, kwnames);
}

PyObject* call_named(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const NamedObject& self = *as_named(object);
  const DeviceScope scope(device_beside(args, PyVectorcall_NARGS(nargsf)));
  PyObject* result = call_function(self, args, nargsf, kwnames);
  if (result != nullptr) [[likely]]
    return result;
  if (PyErr_ExceptionMatches(PyExc_Exception) != 0) {
    name_error(self, args, PyVectorcall_NARGS(nargsf));
  }
  return nullptr;
}

// What functools.update_wrapper does.
void describe_as(PyObject* self, PyObject* function) {
  Object dict = own(PyDict_New());
  if (Object known = find_attribute(function, "__dict__"); known) {
    check(PyDict_Update(dict.get(), known.get()));
  }
  for (const char* name : {"__module__", "__name__", "__qualname__", "__doc__", "__annotations__",
                           "__type_params__"}) {
    if (Object value = find_attribute(function, name); value) {
      check(PyDict_SetItemString(dict.get(), name, value.get()));
    }
  }
  check(PyDict_SetItemString(dict.get(), "__wrapped__", function));
  as_named(self)->dict = dict.release();
}

// Named(function, name, on_error, tensors=None, quick=None, beside=None, draw=None): `tensors`: the
// function gives the op that the call is, on the first arguments, whose names these are, and on
// those of the names `beside`, as far as they are given. `quick`: what makes the calls that it does
// not give NotImplemented for. `draw(source, op)`: makes the draw that the function gives as an op.
PyObject* named_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"function", "name",   "on_error", "tensors",
                                "quick",    "beside", "draw",     nullptr};
  PyObject *function = nullptr, *name = nullptr, *on_error = nullptr;
  PyObject *tensors = Py_None, *quick = Py_None, *beside = Py_None, *draw = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|OOOO:Named", const_cast<char**>(names),
                                  &function, &name, &on_error, &tensors, &quick, &beside,
                                  &draw) == 0) {
    return nullptr;
  }
  const auto unless_none = [](PyObject* object) {
    return object == Py_None ? nullptr : Py_NewRef(object);
  };
  return guarded([&] {
    Object self = own(cls->tp_alloc(cls, 0));
    NamedObject& made = *as_named(self.get());
    made.vectorcall = call_named;
    made.function = Py_NewRef(function);
    made.name = Py_NewRef(name);
    made.on_error = Py_NewRef(on_error);
    made.tensors = unless_none(tensors);
    made.quick = unless_none(quick);
    made.beside = unless_none(beside);
    made.draw = unless_none(draw);
    if (made.tensors != nullptr || made.draw != nullptr) made.made = new MadeOps;
    describe_as(self.get(), function);
    return self.release();
  });
}

int named_clear(PyObject* self) {
  Py_CLEAR(as_named(self)->function);
  Py_CLEAR(as_named(self)->name);
  Py_CLEAR(as_named(self)->on_error);
  Py_CLEAR(as_named(self)->dict);
  Py_CLEAR(as_named(self)->tensors);
  Py_CLEAR(as_named(self)->beside);
  Py_CLEAR(as_named(self)->quick);
  Py_CLEAR(as_named(self)->draw);
  return 0;
}

void named_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_named(self)->weak != nullptr) PyObject_ClearWeakRefs(self);
  named_clear(self);
  delete as_named(self)->made;
  cls->tp_free(self);
  Py_DECREF(cls);
}

int named_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_named(self)->function);
  Py_VISIT(as_named(self)->name);
  Py_VISIT(as_named(self)->on_error);
  Py_VISIT(as_named(self)->dict);
  Py_VISIT(as_named(self)->quick);
  Py_VISIT(as_named(self)->draw);
  return 0;
}

PyObject* named_repr(PyObject* self) {
  Object name = Object::steal(PyObject_GetAttrString(self, "__qualname__"));
  return name ? PyUnicode_FromFormat("<function %S at %p>", name.get(), self) : nullptr;
}

// A function in a class is a method.
PyObject* named_get(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

// It is found again by its name, as functions are.
PyObject* named_reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(self, "__qualname__");
}
PyObject* named_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

// become(function): what the calls go to from now on.
PyObject* named_become(PyObject* self, PyObject* function) {
  Py_SETREF(as_named(self)->function, Py_NewRef(function));
  Py_CLEAR(as_named(self)->quick);
  Py_RETURN_NONE;
}

PyMethodDef named_methods[] = {
    {"become", as_method(named_become), METH_O, "Calls go to another function from now on."},
    {"__reduce__", as_method(named_reduce), METH_NOARGS, nullptr},
    {"__copy__", as_method(named_copy), METH_NOARGS, nullptr},
    {"__deepcopy__", as_method(named_copy), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef named_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef named_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(NamedObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(NamedObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NamedObject, weak), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot named_slots[] = {
    {Py_tp_new, as_slot(named_new)},
    {Py_tp_dealloc, as_slot(named_dealloc)},
    {Py_tp_traverse, as_slot(named_traverse)},
    {Py_tp_clear, as_slot(named_clear)},
    {Py_tp_call, as_slot(PyVectorcall_Call)},
    {Py_tp_repr, as_slot(named_repr)},
    {Py_tp_descr_get, as_slot(named_get)},
    {Py_tp_getset, named_getset},
    {Py_tp_methods, named_methods},
    {Py_tp_members, named_members},
    {0, nullptr},
};
PyType_Spec named_spec = {"tensorlike._C.Named", sizeof(NamedObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                              Py_TPFLAGS_METHOD_DESCRIPTOR,
                          named_slots};
PyTypeObject* named_type = nullptr;

}  // namespace

bool is_named(PyObject* object) { return Py_TYPE(object) == named_type; }

void add_named(PyObject* module) {
  named_type = add_type(module, named_spec, nullptr);
  add_shortcuts(module);
  add_numbers(module);
}

}  // namespace tensorlike::bind
