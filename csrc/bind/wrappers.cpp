// The tensor-likes that hold another: Tracer, and the wrappers that people hold.
#include <cstring>

#include "bind/elements.h"
#include "bind/errors.h"
#include "bind/objects.h"
#include "bind/rebinding.h"

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
    if (tape == nullptr || tape == Py_None) return wrap(leaf_of(to_value(primal)), cls);
    if (Py_TYPE(tape) != types.tape) {
      fail(ErrorKind::kAttribute, said::op("Tracer"), said::argument("tape"), "must be a Tape",
           said::got(Py_TYPE(tape)->tp_name));
    }
    return wrap(make_leaf(to_value(primal), to_tape(tape)), cls);
  });
}

// Names that a wrapper's constructor does not know, unless a subclass's __init__ takes them.
bool check_names(PyTypeObject* cls, PyObject* kwargs) {
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t at = 0;
  while (cls->tp_init == PyBaseObject_Type.tp_init && kwargs != nullptr &&
         PyDict_Next(kwargs, &at, &name, &value) != 0) {
    const bool is_known = PyUnicode_CompareWithASCIIString(name, "dtype") == 0 ||
                          PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0;
    if (is_known) continue;
    PyErr_Format(PyExc_TypeError, "%s: takes data, dtype and requires_grad; got %A", cls->tp_name,
                 name);
    return false;
  }
  return true;
}

// Whether a gradient is wanted; what is neither true nor false is refused in the class's name.
bool is_wanted(PyTypeObject* cls, PyObject* flag) {
  const int truth = PyObject_IsTrue(flag);
  if (truth >= 0) return truth == 1;
  if (PyErr_ExceptionMatches(PyExc_ValueError) == 0 &&
      PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
    check(truth);
  }
  PyErr_Clear();
  const std::string_view name = cls->tp_name;
  fail(ErrorKind::kAttribute, said::op(name.substr(name.rfind('.') + 1)),
       said::argument("requires_grad"), "must be True or False", said::got(Py_TYPE(flag)->tp_name));
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
    note_read(data);
    const bool keeps = is_tensor_like(data) && dtype == Py_None;
    Ref<Value> value = keeps ? to_value(data) : as_value(data, dtype);
    if (takes_it && records != nullptr && is_wanted(cls, records)) {
      value = leaf_of(std::move(value));
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

// __wrapped__: what a wrapper wraps. A class has none: `inspect` takes it for a decorated function
// otherwise.
PyObject* get_wrapped(PyObject*, PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (self == nullptr || !is_wrapper(self) || value_of(self) == nullptr) {
      PyErr_SetString(PyExc_AttributeError, "__wrapped__: only instances of wrappers have it");
      throw PythonError();
    }
    note_read(self);
    return from_value(Ref<Value>(value_of(self)));
  });
}
int set_wrapped(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_AttributeError, "attribute '__wrapped__' is not writable");
  return -1;
}
PyType_Slot wrapped_slots[] = {
    {Py_tp_descr_get, as_slot(get_wrapped)},
    {Py_tp_descr_set, as_slot(set_wrapped)},
    {Py_tp_doc, const_cast<char*>("The tensor-like that a wrapper wraps.")},
    {0, nullptr},
};
PyType_Spec wrapped_spec = {"tensorlike._C.Wrapped", sizeof(PyObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, wrapped_slots};

void add_wrapped(PyObject* module) {
  const Object type = own(PyType_FromModuleAndSpec(module, &wrapped_spec, nullptr));
  auto* cls = reinterpret_cast<PyTypeObject*>(type.get());
  const Object descriptor = own(cls->tp_alloc(cls, 0));
  check(PyDict_SetItemString(types.wrapper->tp_dict, "__wrapped__", descriptor.get()));
  PyType_Modified(types.wrapper);
}
PyObject* wrapper_reset(PyObject* self, PyObject* other) {
  return guarded([&] {
    rebind(self, to_value(other));
    return Py_NewRef(self);
  });
}
PyObject* wrapper_alias(PyObject* self, PyObject*) {
  return guarded([&] {
    note_read(self);
    return wrap(Ref<Value>(value_of(self)), Py_TYPE(self));
  });
}

// The leaf that holds its gradient; null where it is none.
Ref<Node> leaf_node_of(PyObject* self) {
  Value* value = value_of(self);
  if (value == nullptr || value->tag == Value::kRaw) return nullptr;
  if (value->tag == Value::kTracer) {
    const Ref<Node>& node = static_cast<Tracer*>(value)->edge.node;
    if (node && node->is_leaf()) return node;
  }
  const Ref<Tracer> leaf = base_leaf(value);  // under what goes on
  return leaf ? leaf->edge.node : nullptr;
}

}  // namespace

bool carries_gradient(PyObject* wrapper) {
  Value* value = value_of(wrapper);
  if (value == nullptr) return false;
  const bool is_traced = value->tag == Value::kTracer && static_cast<Tracer*>(value)->edge.node;
  return is_traced || leaf_node_of(wrapper);
}

namespace {

// The node that holds the gradient of this tensor: its leaf, or what computed it and nothing else.
Ref<Node> gradient_node_of(PyObject* self) {
  if (Ref<Node> leaf = leaf_node_of(self)) return leaf;
  const Value* value = value_of(self);
  if (value == nullptr || value->tag != Value::kTracer) return nullptr;
  const Ref<Node>& node = static_cast<const Tracer*>(value)->edge.node;
  return node && node->outputs().size() == 1 ? node : nullptr;
}

PyObject* get_requires_grad(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(carries_gradient(self)); });
}
int set_requires_grad(PyObject* self, PyObject* wanted, void*) {
  return guarded_status([&] {
    if (wanted == nullptr) fail_attribute(self, "requires_grad");
    const bool wants = is_wanted(Py_TYPE(self), wanted);
    Value* value = value_of(self);
    if (wants == carries_gradient(self)) return;
    if (wants) {
      rebind(self, leaf_of(Ref<Value>(value)));
    } else if (base_leaf(value)) {
      bind_on_base(self, Ref<Value>(value), nullptr);
    } else {
      rebind(self, static_cast<Tracer*>(value)->primal);
    }
  });
}
PyObject* get_grad(PyObject* self, void*) {
  return guarded([&] {
    note_read(self);
    const Ref<Node> node = gradient_node_of(self);
    const Accumulator* found = node ? node->accumulator : nullptr;
    if (found == nullptr || !found->gradient) return Py_NewRef(Py_None);
    return wrap(found->gradient, types.tensor);
  });
}
// Makes it the gradient that the node's accumulator holds. A node that is no leaf has none as yet:
// the tensor holds it from now on.
void hold_gradient(PyObject* self, const Ref<Node>& node, PyObject* grad) {
  const Ref<Value> value = to_value(grad);
  const Spec got = spec_of("grad", *value);
  if (!(got.shape == node->outputs()[0].shape)) {
    fail(ErrorKind::kShape, said::op("grad"), "the gradient must have the tensor's shape ",
         to_string(node->outputs()[0].shape), said::got(to_string(got.shape)));
  }
  if (node->accumulator == nullptr) {
    auto* tracer = static_cast<Tracer*>(value_of(self));
    rebind(self, make_ref<Tracer>(tracer->primal, tracer->edge, tracer->tape,
                                  make_ref<Accumulator>(*node)));
  }
  node->accumulator->gradient = value;
  note_gradient(node);
}
int set_grad(PyObject* self, PyObject* grad, void*) {
  return guarded_status([&] {
    note_read(self);
    const Ref<Node> node = leaf_node_of(self);
    const bool has_place = node && node->accumulator != nullptr;
    if (grad == nullptr || grad == Py_None) {  // of a frozen parameter there is none anyway
      if (has_place) node->accumulator->gradient = nullptr;
      return;
    }
    if (!has_place) {
      fail(ErrorKind::kAutodiff, said::op("grad"),
           "only a tensor that requires_grad holds a gradient; set x.requires_grad = True first.");
    }
    hold_gradient(self, node, grad);
  });
}
// What a Grad does for a tensor with a history, which is no leaf.
PyObject* wrapper_hold_gradient(PyObject* self, PyObject* grad) {
  return guarded([&] {
    if (const Ref<Node> node = gradient_node_of(self)) hold_gradient(self, node, grad);
    return Py_NewRef(Py_None);
  });
}
PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(static_cast<bool>(leaf_node_of(self))); });
}

// The elements: those of a Tensor around them itself, else what `numpy` gives, which refuses to
// drop gradients.
int wrapper_buffer(PyObject* self, Py_buffer* view, int flags) {
  Object holder;
  const int status = guarded_status([&] {
    if (is_own_wrapper(Py_TYPE(self))) {
      note_read(self);
      Value* const value = value_of(self);
      if (value->tag == Value::kRaw) holder = own(from_value(Ref<Value>(value)));
    }
    if (!holder) holder = own(PyObject_CallMethod(self, "numpy", nullptr));
  });
  return status == 0 ? PyObject_GetBuffer(holder.get(), view, flags) : -1;
}

PyObject* tensor_from(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 1 && n != 2) {
    PyErr_SetString(PyExc_TypeError, "tensor: takes data and a dtype");
    return nullptr;
  }
  PyObject* const dtype = n == 2 ? args[1] : Py_None;
  static const std::string name = "tensor";
  return guarded_call(name, [&] { return wrap(as_value(args[0], dtype), types.tensor); });
}

// What tensor(data, dtype=None, *, device=None, requires_grad=False) is called with.
struct Given {
  PyObject* dtype = Py_None;
  bool records = false;

  // False: something that is left to others.
  bool read(PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    if (n == 2) dtype = args[1];
    const Py_ssize_t keywords = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
      PyObject* const name = PyTuple_GET_ITEM(kwnames, i);
      PyObject* const value = args[n + i];
      if (n == 1 && PyUnicode_CompareWithASCIIString(name, "dtype") == 0) {
        dtype = value;
      } else if (PyBool_Check(value) &&
                 PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0) {
        records = value == Py_True;
      } else {
        return false;
      }
    }
    return true;
  }
};

// Whether it is a Tensor of ours around elements, or around tracers over these.
bool has_elements(PyObject* object) {
  return is_own_wrapper(Py_TYPE(object)) && raw_under(value_of(object)) != nullptr;
}

// The same of data and of elements; NotImplemented of other tensor-likes, which may be anything,
// and where a device is named.
PyObject* tensor_of_data(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Given given;
  const bool is_data = (n == 1 || n == 2) && given.read(args, n, kwnames) &&
                       (!is_tensor_like(args[0]) || has_elements(args[0]));
  if (!is_data) return Py_NewRef(Py_NotImplemented);
  if (guarded_status([&] { note_read(args[0]); }) < 0) return nullptr;
  PyObject* const both[] = {args[0], given.dtype};
  Object made = Object::steal(tensor_from(nullptr, both, 2));
  if (made && given.records && set_requires_grad(made.get(), Py_True, nullptr) < 0) return nullptr;
  return made.release();
}

// asarray(obj): a Tensor as it is; else as above.
PyObject* array_from(PyObject* module, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  if (n != 1 || kwnames != nullptr) return Py_NewRef(Py_NotImplemented);
  if (Py_TYPE(args[0]) == types.tensor) return Py_NewRef(args[0]);
  if (is_tensor_like(args[0])) return Py_NewRef(Py_NotImplemented);
  return tensor_of_data(module, args, n, nullptr);
}

// x.detach(), of a Tensor around elements, or tracers over them.
PyObject* detached(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  if (n != 1 || kwnames != nullptr || !has_elements(args[0])) {
    return Py_NewRef(Py_NotImplemented);
  }
  return guarded([&]() -> PyObject* {
    note_read(args[0]);  // which may bind it to something else
    const RawTensor* const raw = raw_under(value_of(args[0]));
    if (raw == nullptr) return Py_NewRef(Py_NotImplemented);
    return wrap(Ref<Value>(const_cast<RawTensor*>(raw)), types.tensor);
  });
}

PyMethodDef wrappers_functions[] = {
    {"tensor_of_data", as_method(tensor_of_data), METH_FASTCALL | METH_KEYWORDS,
     "tensor(data, ...), of data."},
    {"array_from", as_method(array_from), METH_FASTCALL | METH_KEYWORDS, "asarray(obj)"},
    {"detached", as_method(detached), METH_FASTCALL | METH_KEYWORDS, "x.detach()"},
    {"tensor", as_method(tensor_from), METH_FASTCALL,
     "tensor(data, dtype=None): a Tensor of a copy."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef wrapper_methods[] = {
    {"tolist", as_method(+[](PyObject* self, PyObject*) { return to_lists(self); }), METH_NOARGS,
     "Nested lists of Python numbers."},
    {"_reset", as_method(wrapper_reset), METH_O, "Replaces what is wrapped."},
    {"_hold_gradient", as_method(wrapper_hold_gradient), METH_O,
     "Makes it the `grad` of a tensor that may have a history."},
    {"alias", as_method(wrapper_alias), METH_NOARGS, "Another wrapper around the same value."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef wrapper_getset[] = {
    {"requires_grad", get_requires_grad, set_requires_grad,
     "Whether gradients flow to this tensor.", nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward() accumulated, or None.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether backward() accumulates here.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

void add_wrappers(PyObject* module) {
  types.tracer = make_type(module, "tensorlike._C.Tracer", 4,
                           "Tracer(primal, tape=None)\n--\n\n"
                           "A value and its place on a tape; applying an op records it.",
                           {{Py_tp_new, as_slot(tracer_new)}, {Py_tp_getset, tracer_getset}}, true);
  types.wrapper = make_type(module, "tensorlike._C.TensorWrapper", 1,
                            "TensorWrapper(data, dtype=None, *, requires_grad=False)\n--\n\n"
                            "A mutable face of any tensor-like: mutation replaces what is wrapped.",
                            {{Py_tp_new, as_slot(wrapper_new)},
                             {Py_tp_methods, wrapper_methods},
                             {Py_tp_getset, wrapper_getset},
                             {Py_bf_getbuffer, as_slot(wrapper_buffer)}},
                            true);
  add_wrapped(module);
  types.tensor = types.wrapper;
  dispatcher().set_wrapper_type(kind_type(types.wrapper));
  check(PyModule_AddFunctions(module, wrappers_functions));
  add_rebinding(module);
}

}  // namespace tensorlike::bind
