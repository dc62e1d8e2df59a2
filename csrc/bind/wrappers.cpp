// The tensor-likes that hold another: Tracer, and the wrappers that people hold.
#include <cstring>

#include "bind/objects.h"

namespace tensorlike::bind {
namespace {

PyObject* tracer_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"primal", "tape", nullptr};
  PyObject* primal = nullptr;
  PyObject* tape = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O:Tracer", const_cast<char**>(names),
                                  types.tensor_base, &primal, &tape) == 0) {
    return nullptr;
  }
  return guarded([&] {
    Ref<Tape> owner(&base_tape());
    if (tape != nullptr && tape != Py_None) {
      if (Py_TYPE(tape) != types.tape) {
        fail(ErrorKind::kAttribute, "Tracer: tape must be a Tape; got ", Py_TYPE(tape)->tp_name,
             ".");
      }
      owner = Ref<Tape>(*reinterpret_cast<Tape**>(tape + 1));
    }
    return wrap(make_leaf(to_value(primal), owner), cls);
  });
}

// Names that a wrapper's constructor does not know, unless a subclass's __init__ takes them.
bool check_names(PyTypeObject* cls, PyObject* kwargs) {
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t at = 0;
  while (cls->tp_init == PyBaseObject_Type.tp_init && kwargs != nullptr &&
         PyDict_Next(kwargs, &at, &name, &value) != 0) {
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) return false;
    if (std::strcmp(text, "dtype") == 0 || std::strcmp(text, "requires_grad") == 0) continue;
    PyErr_Format(PyExc_TypeError, "%s: takes data, dtype and requires_grad; got '%s'", cls->tp_name,
                 text);
    return false;
  }
  return true;
}

// TensorWrapper(x, dtype=None, requires_grad=False): around any tensor-like, or data.
PyObject* wrapper_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) < 1) {
    PyErr_Format(PyExc_TypeError, "%s: a tensor-like or data is needed", cls->tp_name);
    return nullptr;
  }
  PyObject* data = PyTuple_GET_ITEM(args, 0);
  PyObject* dtype = PyTuple_GET_SIZE(args) > 1 ? PyTuple_GET_ITEM(args, 1) : Py_None;
  if (PyObject* named = kwargs == nullptr ? nullptr : PyDict_GetItemString(kwargs, "dtype")) {
    dtype = named;
  }
  PyObject* records = kwargs == nullptr ? nullptr : PyDict_GetItemString(kwargs, "requires_grad");
  const bool takes_it = cls->tp_init == PyBaseObject_Type.tp_init;
  if (!check_names(cls, kwargs)) return nullptr;
  return guarded([&] {
    const bool keeps = is_tensor_like(data) && dtype == Py_None;
    Ref<Value> value = keeps ? to_value(data) : Ref<Value>(as_raw(data, dtype));
    if (takes_it && records != nullptr && PyObject_IsTrue(records) == 1) {
      value = make_leaf(std::move(value), Ref<Tape>(&base_tape()));
    }
    return wrap(std::move(value), cls);
  });
}

Tracer& tracer_in(PyObject* self) { return *static_cast<Tracer*>(value_of(self)); }

PyObject* tracer_primal(PyObject* self, void*) {
  return guarded([&] { return from_value(tracer_in(self).primal); });
}
PyObject* tracer_level(PyObject* self, void*) {
  return PyLong_FromLong(tracer_in(self).tape->level);
}
PyObject* tracer_is_leaf(PyObject* self, void*) {
  const Ref<Node>& node = tracer_in(self).edge.node;
  return PyBool_FromLong(node && node->is_leaf());
}
PyObject* tracer_op(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Ref<Node>& node = tracer_in(self).edge.node;
    if (!node || node->is_leaf()) return Py_NewRef(Py_None);
    return from_op(*node->op);
  });
}
PyGetSetDef tracer_getset[] = {
    {"primal", tracer_primal, nullptr, "The value that is traced.", nullptr},
    {"level", tracer_level, nullptr, "How deep its tape is nested.", nullptr},
    {"is_leaf", tracer_is_leaf, nullptr, "Whether gradients are asked for it.", nullptr},
    {"op", tracer_op, nullptr, "The op that made it, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyObject* get_wrapped(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    if (value_of(self) == nullptr) fail_attribute(self, "__wrapped__");
    return from_value(Ref<Value>(value_of(self)));
  });
}
PyObject* wrapper_reset(PyObject* self, PyObject* other) {
  return guarded([&] {
    rebind(self, to_value(other));
    return Py_NewRef(self);
  });
}
PyObject* wrapper_alias(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(Ref<Value>(value_of(self)), Py_TYPE(self)); });
}

Node* leaf_of(PyObject* self) {
  Value* value = value_of(self);
  if (value == nullptr || value->tag != Value::kTracer) return nullptr;
  Node* node = static_cast<Tracer*>(value)->edge.node.get();
  return node != nullptr && node->is_leaf() ? node : nullptr;
}

PyObject* get_requires_grad(PyObject* self, void*) {
  Value* value = value_of(self);
  return PyBool_FromLong(value != nullptr && value->tag == Value::kTracer &&
                         static_cast<Tracer*>(value)->edge.node);
}
int set_requires_grad(PyObject* self, PyObject* wanted, void*) {
  return guarded_status([&] {
    if (wanted == nullptr) fail_attribute(self, "requires_grad");
    const int truth = PyObject_IsTrue(wanted);
    check(truth);
    Value* value = value_of(self);
    const bool has = value->tag == Value::kTracer && static_cast<Tracer*>(value)->edge.node;
    if (truth == has) return;
    if (truth == 1) {
      rebind(self, make_leaf(Ref<Value>(value), Ref<Tape>(&base_tape())));
    } else {
      rebind(self, static_cast<Tracer*>(value)->primal);
    }
  });
}
PyObject* get_grad(PyObject* self, void*) {
  return guarded([&] {
    Node* node = leaf_of(self);
    if (node == nullptr || !node->grad) return Py_NewRef(Py_None);
    return wrap(node->grad, types.tensor);
  });
}
int set_grad(PyObject* self, PyObject* grad, void*) {
  return guarded_status([&] {
    Node* node = leaf_of(self);
    if (node == nullptr) {
      fail(ErrorKind::kAutodiff, "grad: only a tensor that requires_grad holds a gradient.");
    }
    if (grad == nullptr || grad == Py_None) {
      node->grad = nullptr;
      return;
    }
    const Ref<Value> value = to_value(grad);
    const Spec got = spec_of("grad", *value);
    if (!(got.shape == node->outputs[0].shape)) {
      fail(ErrorKind::kShape, "grad: the gradient must have the tensor's shape ",
           to_string(node->outputs[0].shape), "; got ", to_string(got.shape), ".");
    }
    node->grad = value;
  });
}
PyObject* get_is_leaf(PyObject* self, void*) { return PyBool_FromLong(leaf_of(self) != nullptr); }

// The elements as `numpy` gives them, which refuses to drop gradients.
int wrapper_buffer(PyObject* self, Py_buffer* view, int flags) {
  Object array = Object::steal(PyObject_CallMethod(self, "numpy", nullptr));
  return array ? PyObject_GetBuffer(array.get(), view, flags) : -1;
}

PyMethodDef wrapper_methods[] = {
    {"_reset", as_method(wrapper_reset), METH_O, "Replaces what is wrapped."},
    {"alias", as_method(wrapper_alias), METH_NOARGS, "Another wrapper around the same value."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef wrapper_getset[] = {
    {"__wrapped__", get_wrapped, nullptr, "The tensor-like that is wrapped.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad,
     "Whether gradients flow to this tensor.", nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward() accumulated, or None.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether backward() accumulates here.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

void add_wrappers(PyObject* module) {
  types.tracer = make_type(
      module, "tensorlike._C.Tracer", types.tensor_base,
      "Tracer(primal, tape=None): a value and its place on a tape; applying an op records it.",
      {{Py_tp_new, as_slot(tracer_new)}, {Py_tp_getset, tracer_getset}});
  types.wrapper = make_type(
      module, "tensorlike._C.TensorWrapper", types.tensor_base,
      "TensorWrapper(x): a mutable face of any tensor-like: mutation replaces what is wrapped.",
      {{Py_tp_new, as_slot(wrapper_new)},
       {Py_tp_methods, wrapper_methods},
       {Py_tp_getset, wrapper_getset},
       {Py_bf_getbuffer, as_slot(wrapper_buffer)}});
  types.tensor = types.wrapper;
  dispatcher().set_wrapper_type(kind_type(types.wrapper));
}

}  // namespace tensorlike::bind
