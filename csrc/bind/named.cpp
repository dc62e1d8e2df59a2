// Named: a function of Python's with a name for its errors. It costs a call of C where nothing
// fails; what is raised goes through `on_error(name, error)`, which gives the error to raise.
//
// A call may be one op, on its first arguments or on nothing: then the function gives the op, and
// it is remembered, since it follows from their shapes and the other arguments. So may a call be
// that is one op more, on the result of the first.
//
// Calls may be made by another function, written in C++, as far as it takes them: it gives
// NotImplemented for all others.
#include "bind/expressions.h"
#include "bind/functions.h"
#include "bind/made_ops.h"
#include "bind/programs.h"
#include "bind/shortcuts.h"
#include "dispatch/dispatcher.h"
#include "memory/backend.h"

// After Python.h.
#include <structmember.h>

namespace tensorlike::bind {
namespace {

struct NamedObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* name;  // None: that of the first argument's class
  PyObject* on_error;
  PyObject* dict;
  PyObject* weak;
  MadeOps* made;      // of a call that is one op; else null
  PyObject* tensors;  // the names of what it is applied to, in order
  PyObject* quick;    // what may make calls in its place, or null
};

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

// The shape of a Tensor around elements, which all that is done with it depends on; else null.
const Dims* plain_shape(PyObject* tensor) {
  if (!is_own_wrapper(Py_TYPE(tensor)) || !dispatcher().is_wrapper_plain()) return nullptr;
  const RawTensor* const raw = raw_under(value_of(tensor));
  return raw != nullptr ? &raw->shape : nullptr;
}

using Places = SmallVector<Py_ssize_t, 3>;

// Where the tensors stand among arguments and keywords; -1: nowhere, which the function refuses.
Places places_of(PyObject* names, Py_ssize_t n, PyObject* kwnames) {
  Places places;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    Py_ssize_t found = i < n ? i : -1;
    const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; found < 0 && k < keywords; ++k) {
      const bool is_it =
          PyUnicode_Compare(PyTuple_GET_ITEM(kwnames, k), PyTuple_GET_ITEM(names, i)) == 0;
      if (is_it) found = n + k;
    }
    places.push_back(found);
  }
  return places;
}

PyObject* applied(const Op& op, std::span<PyObject* const> tensors) {
  if (tensors.empty()) return wrap(apply(op, {})[0], types.tensor);
  if (tensors.size() == 1) return apply_to_one(op, tensors[0]);
  return apply_single(op, tensors.data(), tensors.size());
}

PyObject* applied(const MadeOps::Made& made, std::span<PyObject* const> tensors) {
  const OpApplied is_applied;
  if (!made.then) return applied(*made.op, tensors);
  const Object result = own(applied(*made.op, tensors));
  return apply_to_one(*made.then, result.get());
}

bool is_op(PyObject* object) { return PyObject_TypeCheck(object, types.op_base) != 0; }

// The ops that stand in place of a result; none where it is a result.
MadeOps::Made ops_in_place_of(PyObject* result) {
  if (is_op(result)) return to_op(result);
  if (PyTuple_CheckExact(result) == 0 || PyTuple_GET_SIZE(result) != 2) return {};
  PyObject* const first = PyTuple_GET_ITEM(result, 0);
  PyObject* const second = PyTuple_GET_ITEM(result, 1);
  if (!is_op(first) || !is_op(second)) return {};
  return {to_op(first), to_op(second)};
}

// A call that is one op, or two.
PyObject* call_made(const NamedObject& self, PyObject* const* args, Py_ssize_t n,
                    PyObject* kwnames) {
  const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  return guarded([&]() -> PyObject* {
    SmallVector<PyObject*, 8> all(args, args + n + keywords);
    SmallVector<PyObject*, 8> given(args, args + n + keywords);
    SmallVector<Object, 3> converted;
    SmallVector<PyObject*, 3> tensors;
    SmallVector<const Dims*, 3> shapes;
    bool is_known = true;
    for (const Py_ssize_t place : places_of(self.tensors, n, kwnames)) {
      const size_t at = static_cast<size_t>(place);
      is_known = is_known && place >= 0;
      if (place < 0) continue;
      if (!is_own_wrapper(Py_TYPE(all[at])) && !is_tensor_like(all[at])) {
        converted.push_back(own(wrap(as_value(all[at], Py_None), types.tensor)));
        all[at] = converted.back().get();
      }
      given[at] = nullptr;  // it is told by its shape
      tensors.push_back(all[at]);
      shapes.push_back(plain_shape(all[at]));
      is_known = is_known && shapes.back() != nullptr;
    }
    for (Py_ssize_t k = 0; k < keywords; ++k) given.push_back(PyTuple_GET_ITEM(kwnames, k));
    const MadeOps::Given key(given.data(), given.size());
    is_known = is_known && (live_witnesses == 0 || MadeOps::are_plain(key, shapes));
    if (is_known) {
      if (const MadeOps::Made known = self.made->find(key, shapes); known.op) {
        return applied(known, tensors);
      }
    }
    Object found =
        own(PyObject_Vectorcall(self.function, all.data(), static_cast<size_t>(n), kwnames));
    const MadeOps::Made made = ops_in_place_of(found.get());
    if (!made.op) return found.release();
    if (is_known) self.made->keep(key, made, shapes);
    return applied(made, tensors);
  });
}

PyObject* call_function(const NamedObject& self, PyObject* const* args, size_t nargsf,
                        PyObject* kwnames) {
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

// Named(function, name, on_error, tensors=None, quick=None): `tensors`: the function gives the op
// that the call is, on the first arguments, whose names these are. `quick`: what makes
// the calls that it does not give NotImplemented for.
PyObject* named_new(PyTypeObject* cls, PyObject* args, PyObject*) {
  PyObject* function = nullptr;
  PyObject* name = nullptr;
  PyObject* on_error = nullptr;
  PyObject* tensors = Py_None;
  PyObject* quick = nullptr;
  if (PyArg_ParseTuple(args, "OOO|OO:Named", &function, &name, &on_error, &tensors, &quick) == 0) {
    return nullptr;
  }
  return guarded([&] {
    Object self = own(cls->tp_alloc(cls, 0));
    as_named(self.get())->vectorcall = call_named;
    as_named(self.get())->function = Py_NewRef(function);
    as_named(self.get())->name = Py_NewRef(name);
    as_named(self.get())->on_error = Py_NewRef(on_error);
    if (PyTuple_Check(tensors)) {
      as_named(self.get())->made = new MadeOps;
      as_named(self.get())->tensors = Py_NewRef(tensors);
    }
    as_named(self.get())->quick = Py_XNewRef(quick);
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
  Py_CLEAR(as_named(self)->quick);
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
