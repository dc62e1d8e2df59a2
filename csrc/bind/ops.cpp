// OpBase: ops as Python objects. An instance of a built-in class holds the core's op; of a class
// written in Python, the object itself is the op.
#include <cstring>

#include "bind/config.h"
#include "bind/rules.h"
#include "op/infer.h"
// After Python.h.
#include <structmember.h>

namespace tensorlike::bind {
namespace {

OpObject* as_op(PyObject* self) { return reinterpret_cast<OpObject*>(self); }

const OpClass* native_class(PyTypeObject* cls) {
  const OpClass& found = op_class(cls);
  return found.is_declared ? &found : nullptr;
}

std::string pretty(PyObject* object) { return shown(own(PyObject_Repr(object)).get()); }

// Calls f(name, value) for each item of a dict, which may change meanwhile.
template <class F>
void each_item(PyObject* dict, F&& f) {
  Object items = own(PyDict_Items(dict));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);
    PyObject* name = PyTuple_GET_ITEM(item, 0);
    f(PyUnicode_Check(name) != 0 ? shown(name) : pretty(name), PyTuple_GET_ITEM(item, 1));
  }
}

Ref<Op> make_native(const OpClass& cls, PyObject* args, PyObject* kwargs) {
  if (args != nullptr && PyTuple_GET_SIZE(args) > 0) {
    fail(ErrorKind::kAttribute, said::op(cls.name()), "parameters are given by name",
         said::got(PyTuple_GET_SIZE(args), " positional ones"));
  }
  std::vector<std::pair<std::string, Attr>> attrs;
  std::vector<std::pair<std::string, Attr>> config;
  std::string extra;
  auto add_config = [&](const std::string& name, PyObject* value) {
    config.emplace_back(name, to_attr(value, cls.name(), config_spec(cls, name)));
  };
  auto add = [&](const std::string& name, PyObject* value) {
    const int index = cls.attr_index(name);
    if (index >= 0) {
      attrs.emplace_back(name,
                         to_attr(value, cls.name(), cls.spec.attrs[static_cast<size_t>(index)]));
    } else if (name == "config" && PyDict_Check(value)) {
      each_item(value, add_config);
    } else {
      extra += (extra.empty() ? "" : ", ") + ("'" + name + "': ") + pretty(value);
    }
  };
  if (kwargs != nullptr) each_item(kwargs, add);
  if (!extra.empty())
    fail(ErrorKind::kAttribute, said::op(cls.name()), "extra kwargs: {", extra, "}.");
  Ref<Op> op = make_op(cls, std::move(attrs));
  op->config = std::move(config);
  return op;
}

// Const(value, dtype=None, device=None)
Ref<Op> make_const_op(const OpClass& cls, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"value", "dtype", "device", nullptr};
  PyObject* value = nullptr;
  PyObject* dtype = Py_None;
  PyObject* device = Py_None;
  Object empty = own(PyTuple_New(0));
  if (PyArg_ParseTupleAndKeywords(args == nullptr ? empty.get() : args, kwargs, "O|OO:Const",
                                  const_cast<char**>(names), &value, &dtype, &device) == 0) {
    throw PythonError();
  }
  Literal literal;
  Ref<ConstOp> op;
  if (to_literal(value, literal)) {
    op = make_ref<ConstOp>(cls, literal);
  } else {
    op = make_ref<ConstOp>(cls, as_raw(value, Py_None));
  }
  if (dtype != Py_None) {
    op->dtype = to_dtype(dtype);
    op->attrs[1] = *op->dtype;
  }
  op->attrs[2] = to_attr(device, "Const", cls.spec.attrs[2]);
  results_device(*op, Device());  // there must be one of that name
  return op;
}

PyObject* op_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const OpClass* native = cls == types.op_base ? nullptr : native_class(cls);
    Ref<Op> op;
    if (native != nullptr) {
      op = native == &registry().constant() ? make_const_op(*native, args, kwargs)
                                            : make_native(*native, args, kwargs);
    }
    PyObject* self = checked(cls->tp_alloc(cls, 0));
    as_op(self)->op = op.detach();
    return self;
  });
}

void op_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  if (as_op(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  if (as_op(self)->op != nullptr) as_op(self)->op->release();
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyObject* op_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0) {
      fail(ErrorKind::kAttribute, said::op(Py_TYPE(self)->tp_name),
           "an op takes tensor-likes only, by position; parameters go to its constructor.");
    }
    return apply_objects(self, as_op(self)->op, &PyTuple_GET_ITEM(args, 0),
                         static_cast<size_t>(PyTuple_GET_SIZE(args)));
  });
}

PyObject* op_repr(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Op* op = as_op(self)->op;
    if (op == nullptr) {
      return PyUnicode_FromFormat("%s()", Py_TYPE(self)->tp_name);
    }
    return PyUnicode_FromString(to_string(*op).c_str());
  });
}

bool same_elements(const RawTensor& a, const RawTensor& b) {
  if (a.dtype != b.dtype || !(a.shape == b.shape)) return false;
  const Ref<RawTensor> x = contiguous(*moved(a, Device()));
  const Ref<RawTensor> y = contiguous(*moved(b, Device()));
  return std::memcmp(x->data, y->data, static_cast<size_t>(a.count) * size_of(a.dtype)) == 0;
}

bool same(const Op& a, const Op& b) {
  if (&a.cls != &b.cls) return false;
  if (&a.cls == &registry().constant()) {
    const auto& x = static_cast<const ConstOp&>(a);
    const auto& y = static_cast<const ConstOp&>(b);
    if (!a.equals(b) || x.dtype != y.dtype || !x.array != !y.array) return false;
    return !x.array || same_elements(*x.array, *y.array);
  }
  return a.equals(b);
}

PyObject* op_compare(PyObject* a, PyObject* b, int how) {
  if ((how != Py_EQ && how != Py_NE) || PyObject_TypeCheck(b, types.op_base) == 0) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const Op* x = as_op(a)->op;
  const Op* y = as_op(b)->op;
  const bool equal = x == nullptr || y == nullptr ? a == b : same(*x, *y);
  return PyBool_FromLong(equal == (how == Py_EQ));
}

Py_hash_t op_hash(PyObject* self) {
  const Op* op = as_op(self)->op;
  if (op == nullptr) return static_cast<Py_hash_t>(reinterpret_cast<size_t>(self) >> 4);
  const size_t hash = std::hash<std::string>()(to_string(*op));
  return hash == static_cast<size_t>(-1) ? -2 : static_cast<Py_hash_t>(hash);
}

PyObject* op_getattro(PyObject* self, PyObject* name) {
  if (const Op* op = as_op(self)->op; op != nullptr) {
    Py_ssize_t size = 0;
    const char* chars = PyUnicode_AsUTF8AndSize(name, &size);
    if (chars == nullptr) PyErr_Clear();  // no name of ours
    const int index =
        chars == nullptr ? -1 : op->cls.attr_index({chars, static_cast<size_t>(size)});
    if (index == 0 && &op->cls == &registry().constant()) {
      const auto& constant = static_cast<const ConstOp&>(*op);
      if (constant.array) return guarded([&] { return from_value(constant.array); });
    }
    if (index >= 0) {
      return guarded([&] { return from_attr(op->attrs[static_cast<size_t>(index)]); });
    }
  }
  return PyObject_GenericGetAttr(self, name);
}

PyObject* op_config(PyObject* self, void*) {
  return guarded([&] {
    Object out = own(PyDict_New());
    if (const Op* op = as_op(self)->op; op != nullptr) {
      for (const auto& [name, value] : op->config) {
        Object item = own(from_attr(value));
        check(PyDict_SetItemString(out.get(), name.c_str(), item.get()));
      }
    }
    return out.release();
  });
}

PyObject* op_params(PyObject* self, PyObject*) {
  return guarded([&] {
    Object out = own(PyDict_New());
    if (const Op* op = as_op(self)->op; op != nullptr) {
      for (size_t i = 0; i < op->attrs.size(); ++i) {
        Object item = own(from_attr(op->attrs[i]));
        check(PyDict_SetItemString(out.get(), op->cls.spec.attrs[i].name.c_str(), item.get()));
      }
    }
    return out.release();
  });
}

PyObject* op_register(PyObject* cls, PyObject* registered) {
  if (PyType_Check(registered) == 0) {
    PyErr_SetString(PyExc_TypeError, "register: a class is needed");
    return nullptr;
  }
  return guarded([&] {
    add_virtual_base(reinterpret_cast<PyTypeObject*>(registered),
                     reinterpret_cast<PyTypeObject*>(cls));
    return Py_NewRef(registered);
  });
}

PyObject* bind_native(PyObject*, PyObject* args) {
  PyObject* cls = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "O!s", &PyType_Type, &cls, &name) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    if (std::strcmp(name, "OpBase") == 0) {
      types.python_op_base = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
      return Py_NewRef(Py_None);
    }
    const OpClass* found = registry().find_op(name);
    if (found == nullptr) {
      fail(ErrorKind::kDeclaration, "there is no built-in op class '", name, "'.");
    }
    bind_op_class(reinterpret_cast<PyTypeObject*>(cls), *found);
    return Py_NewRef(Py_None);
  });
}

PyMethodDef op_methods[] = {
    {"apply", as_method(call_apply), METH_FASTCALL | METH_STATIC,
     "apply(op, *xs): what op(*xs) does."},
    {"params", as_method(op_params), METH_NOARGS, "The parameters by name."},
    {"register", as_method(op_register), METH_O | METH_CLASS,
     "Makes a class count as a subclass of this one in dispatch."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef op_getset[] = {
    {"config", op_config, nullptr, "What was given as config={...}: name, device, dtype.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef op_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OpObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot op_slots[] = {
    {Py_tp_new, as_slot(op_new)},
    {Py_tp_dealloc, as_slot(op_dealloc)},
    {Py_tp_call, as_slot(op_call)},
    {Py_tp_repr, as_slot(op_repr)},
    {Py_tp_richcompare, as_slot(op_compare)},
    {Py_tp_hash, as_slot(op_hash)},
    {Py_tp_getattro, as_slot(op_getattro)},
    {Py_tp_methods, op_methods},
    {Py_tp_getset, op_getset},
    {Py_tp_members, op_members},
    {Py_tp_doc, const_cast<char*>("The root of all ops: constructed with parameters, then called "
                                  "on tensor-likes; returns a tuple.")},
    {0, nullptr},
};
PyType_Spec op_spec = {"tensorlike._C.OpBase", sizeof(OpObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, op_slots};

PyObject* is_native(PyObject*, PyObject* cls) {
  return guarded([&] {
    return PyBool_FromLong(native_class(reinterpret_cast<PyTypeObject*>(cls)) != nullptr);
  });
}

PyObject* virtual_op(PyObject*, PyObject* cls) {
  return guarded(
      [&] { return PyBool_FromLong(is_virtual_op(reinterpret_cast<PyTypeObject*>(cls))); });
}

PyMethodDef ops_functions[] = {
    {"is_virtual_op", as_method(virtual_op), METH_O, "Whether a class was registered as ops."},
    {"is_native_op_class", as_method(is_native), METH_O, "Whether the core knows its parameters."},
    {"bind_op_class", bind_native, METH_VARARGS,
     "Says which built-in op class a class stands for."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Ref<Op> to_op(PyObject* object) {
  if (PyObject_TypeCheck(object, types.op_base) != 0) {
    if (Op* op = as_op(object)->op; op != nullptr) return Ref<Op>(op);
  } else if (!is_virtual_op(Py_TYPE(object))) {
    fail(ErrorKind::kDispatch, said::op("apply"), said::argument("op"),
         "must be an instance of an OpBase", said::got(Py_TYPE(object)->tp_name));
  }
  return make_ref<ForeignOp>(op_class(Py_TYPE(object)), object);
}

PyObject* from_op(const Op& op) {
  if (const auto* foreign = dynamic_cast<const ForeignOp*>(&op)) {
    return Py_NewRef(foreign->object());
  }
  if (op.handle != nullptr) return Py_NewRef(static_cast<PyObject*>(op.handle));
  PyTypeObject* cls = python_class(op.cls);
  if (cls == nullptr) {
    fail(ErrorKind::kDispatch, said::op(op.name()), "this op has no Python class.");
  }
  PyObject* self = checked(cls->tp_alloc(cls, 0));
  as_op(self)->op = Ref<Op>(const_cast<Op*>(&op)).detach();
  // The one op of a scalar function is asked for again and again.
  if (op.scalar != nullptr && op.scalar->op.get() == &op) op.handle = Py_NewRef(self);
  return self;
}

void add_ops(PyObject* module) {
  types.op_base = add_type(module, op_spec, nullptr);
  check(PyModule_AddFunctions(module, ops_functions));
}

}  // namespace tensorlike::bind
