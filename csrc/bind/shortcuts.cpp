// Shortcut: a method of Python's that is another one of the same object for as long as an attribute
// of it is True: then no frame and no tuple of arguments is made for it. What that one raises goes
// to `on_error(self, error, args, kwargs)`, which raises.
//
// call_with: a call whose keywords are attributes of an object, with no dict for them.
#include "bind/shortcuts.h"

#include "bind/errors.h"
#include "bind/objects.h"

// After Python.h.
#include <structmember.h>

namespace tensorlike::bind {
namespace {

struct ShortcutObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;  // in all other cases
  PyObject* flag;
  PyObject* method;
  PyObject* on_error;
  PyObject* dict;
};

ShortcutObject* as_shortcut(PyObject* object) { return reinterpret_cast<ShortcutObject*>(object); }

// The error on its way, with the arguments as Python's functions get them.
PyObject* tell(const ShortcutObject& self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  PyObject* parts[3];
  PyErr_Fetch(&parts[0], &parts[1], &parts[2]);
  PyErr_NormalizeException(&parts[0], &parts[1], &parts[2]);
  if (parts[2] != nullptr) PyException_SetTraceback(parts[1], parts[2]);
  const Object held[] = {Object::steal(parts[0]), Object::steal(parts[1]), Object::steal(parts[2])};
  return guarded([&] {
    Object positional = own(PyTuple_New(n - 1));
    for (Py_ssize_t i = 1; i < n; ++i) {
      PyTuple_SET_ITEM(positional.get(), i - 1, Py_NewRef(args[i]));
    }
    Object keywords = own(PyDict_New());
    for (Py_ssize_t k = 0; kwnames != nullptr && k < PyTuple_GET_SIZE(kwnames); ++k) {
      check(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, k), args[n + k]));
    }
    PyObject* all[] = {args[0], parts[1], positional.get(), keywords.get()};
    return checked(PyObject_Vectorcall(self.on_error, all, 4, nullptr));
  });
}

PyObject* call_shortcut(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const ShortcutObject& self = *as_shortcut(object);
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  const Object flag = n == 0 ? Object() : Object::steal(PyObject_GetAttr(args[0], self.flag));
  if (flag.get() != Py_True) {
    if (n > 0 && !flag) return nullptr;
    return PyObject_Vectorcall(self.function, args, nargsf, kwnames);
  }
  PyObject* const result = PyObject_VectorcallMethod(self.method, args, nargsf, kwnames);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_Exception) == 0) return result;
  return tell(self, args, n, kwnames);
}

// Shortcut(function, flag, method, on_error): described as the function is.
PyObject* shortcut_new(PyTypeObject* cls, PyObject* args, PyObject*) {
  PyObject *function = nullptr, *flag = nullptr, *method = nullptr, *on_error = nullptr;
  if (PyArg_ParseTuple(args, "OUUO:Shortcut", &function, &flag, &method, &on_error) == 0) {
    return nullptr;
  }
  return guarded([&] {
    Object self = own(cls->tp_alloc(cls, 0));
    ShortcutObject& made = *as_shortcut(self.get());
    made.vectorcall = call_shortcut;
    made.function = Py_NewRef(function);
    made.flag = Py_NewRef(flag);
    made.method = Py_NewRef(method);
    PyUnicode_InternInPlace(&made.flag);
    PyUnicode_InternInPlace(&made.method);
    made.on_error = Py_NewRef(on_error);
    made.dict = checked(PyDict_New());
    for (const char* name : {"__module__", "__name__", "__qualname__", "__doc__"}) {
      if (Object value = find_attribute(function, name); value) {
        check(PyDict_SetItemString(made.dict, name, value.get()));
      }
    }
    check(PyDict_SetItemString(made.dict, "__wrapped__", function));
    return self.release();
  });
}

int shortcut_clear(PyObject* self) {
  Py_CLEAR(as_shortcut(self)->function);
  Py_CLEAR(as_shortcut(self)->on_error);
  Py_CLEAR(as_shortcut(self)->dict);
  return 0;
}

void shortcut_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  shortcut_clear(self);
  Py_CLEAR(as_shortcut(self)->flag);
  Py_CLEAR(as_shortcut(self)->method);
  cls->tp_free(self);
  Py_DECREF(cls);
}

int shortcut_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_shortcut(self)->function);
  Py_VISIT(as_shortcut(self)->on_error);
  Py_VISIT(as_shortcut(self)->dict);
  return 0;
}

// A function in a class is a method.
PyObject* shortcut_get(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

PyGetSetDef shortcut_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef shortcut_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ShortcutObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(ShortcutObject, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot shortcut_slots[] = {
    {Py_tp_new, as_slot(shortcut_new)},
    {Py_tp_dealloc, as_slot(shortcut_dealloc)},
    {Py_tp_traverse, as_slot(shortcut_traverse)},
    {Py_tp_clear, as_slot(shortcut_clear)},
    {Py_tp_call, as_slot(PyVectorcall_Call)},
    {Py_tp_descr_get, as_slot(shortcut_get)},
    {Py_tp_getset, shortcut_getset},
    {Py_tp_members, shortcut_members},
    {0, nullptr},
};
PyType_Spec shortcut_spec = {"tensorlike._C.Shortcut", sizeof(ShortcutObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR,
                             shortcut_slots};

// call_with(function, args, owner, names): function(*args, name=owner.name, ...)
PyObject* call_with(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 4 || PyTuple_Check(args[1]) == 0 || PyTuple_Check(args[3]) == 0) {
    PyErr_SetString(PyExc_TypeError, "call_with: takes a function, a tuple, an object and a tuple");
    return nullptr;
  }
  PyObject* const names = args[3];
  SmallVector<PyObject*, 12> all;
  SmallVector<Object, 8> held;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); ++i) {
    all.push_back(PyTuple_GET_ITEM(args[1], i));
  }
  const size_t given = all.size();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    held.push_back(Object::steal(PyObject_GetAttr(args[2], PyTuple_GET_ITEM(names, i))));
    if (!held.back()) return nullptr;
    all.push_back(held.back().get());
  }
  return PyObject_Vectorcall(args[0], all.data(), given, held.empty() ? nullptr : names);
}

PyMethodDef shortcuts_functions[] = {
    {"call_with", as_method(call_with), METH_FASTCALL, "A call with attributes as keywords."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_shortcuts(PyObject* module) {
  add_type(module, shortcut_spec, nullptr);
  check(PyModule_AddFunctions(module, shortcuts_functions));
}

}  // namespace tensorlike::bind
