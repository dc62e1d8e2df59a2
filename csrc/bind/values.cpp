// Tensor-likes as Python objects, and the conversions between Python's world and Values.
#include <cstring>

#include "bind/objects.h"
#include "op/index.h"
// After Python.h.
#include <structmember.h>

namespace tensorlike::bind {

Types types;
Hooks hooks;

PyObject* from_dims(const Dims& shape) {
  Object out = own(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(shape[i])));
  }
  return out.release();
}

namespace {

TensorObject* as_tensor(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

// Wrappers come and go with every op: their memory is kept.
constexpr size_t kPoolSize = 128;
PyObject* pool[kPoolSize];
size_t pooled = 0;

PyObject* new_object(PyTypeObject* cls, Ref<Value> value) {
  PyObject* self;
  if (cls == types.tensor && pooled > 0) {
    self = PyObject_Init(pool[--pooled], cls);
  } else {
    self = checked(cls->tp_alloc(cls, 0));
    if (cls == types.tensor) PyObject_GC_UnTrack(self);
  }
  // A Tensor can be part of a cycle only through a tensor-like that is a Python object.
  const bool is_collected = cls == types.tensor && value && value->tag == Value::kForeign;
  as_tensor(self)->value = value.detach();
  as_tensor(self)->weakrefs = nullptr;
  if (is_collected) PyObject_GC_Track(self);
  return self;
}

void tensor_dealloc(PyObject* self) {
  PyTypeObject* cls = Py_TYPE(self);
  // Classes made in Python may be collected; one in the pool must be out of the collector's sight.
  if (PyType_IS_GC(cls)) PyObject_GC_UnTrack(self);
  if (as_tensor(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  Value* value = as_tensor(self)->value;
  as_tensor(self)->value = nullptr;
  if (value != nullptr) value->release();
  if (cls == types.tensor && pooled < kPoolSize) {
    pool[pooled++] = self;
  } else {
    cls->tp_free(self);
  }
  Py_DECREF(cls);
}

// The object that this wrapper alone keeps alive.
PyObject* sole_object(PyObject* self) {
  Value* value = value_of(self);
  const bool is_sole = value != nullptr && value->tag == Value::kForeign && value->use_count() == 1;
  return is_sole ? static_cast<ForeignValue*>(value)->object() : nullptr;
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(sole_object(self));
  return visit_hooks(value_of(self), visit, arg);
}

int tensor_clear(PyObject* self) {
  clear_hooks(value_of(self));
  if (sole_object(self) != nullptr) rebind(self, RawTensor::scalar(DType::kBool, false));
  return 0;
}

PyObject* base_new(PyTypeObject* cls, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (cls == types.tensor_base) {
      PyErr_SetString(PyExc_TypeError, "TensorBase is abstract: derive a tensor-like from it");
      throw PythonError();
    }
    return new_object(cls, nullptr);
  });
}

PyObject* raw_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"data", "dtype", nullptr};
  PyObject* data = nullptr;
  PyObject* dtype = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:RawTensor", const_cast<char**>(names), &data,
                                  &dtype) == 0) {
    return nullptr;
  }
  return guarded([&] { return new_object(cls, as_raw(data, dtype)); });
}

PyObject* shape_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"shape", "dtype", nullptr};
  PyObject* shape = nullptr;
  PyObject* dtype = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:ShapeTensor", const_cast<char**>(names),
                                  &shape, &dtype) == 0) {
    return nullptr;
  }
  return guarded([&] {
    const Attr dims = to_attr(shape, "ShapeTensor", {"shape", "shape", true, {}});
    if (std::holds_alternative<std::monostate>(dims)) {
      fail(ErrorKind::kAttribute, "ShapeTensor: shape must be of type shape; got None.");
    }
    Spec spec;
    spec.dtype = dtype == Py_None ? DType::kFloat32 : to_dtype(dtype);
    if (const auto* single = std::get_if<int64_t>(&dims)) {
      spec.shape.push_back(*single);
    } else {
      spec.shape = Dims{std::span<const int64_t>(std::get<std::vector<int64_t>>(dims))};
    }
    element_count(spec.shape);
    return new_object(cls, make_ref<ShapeTensor>(spec));
  });
}

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
    return new_object(cls, make_leaf(to_value(primal), owner));
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
    return new_object(cls, std::move(value));
  });
}

Spec spec_in(PyObject* self) {
  const Ref<Value> value = to_value(self);
  return spec_of(Py_TYPE(self)->tp_name, *value);
}

// A tensor-like written in Python that wraps nothing must say these itself.
[[noreturn]] void fail_attribute(PyObject* self, const char* name) {
  PyErr_Format(PyExc_AttributeError, "%s has no attribute '%s'", Py_TYPE(self)->tp_name, name);
  throw PythonError();
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] {
    if (value_of(self) == nullptr) fail_attribute(self, "shape");
    return from_dims(spec_in(self).shape);
  });
}
PyObject* get_dtype(PyObject* self, void*) {
  return guarded([&] {
    if (value_of(self) == nullptr) fail_attribute(self, "dtype");
    return from_dtype(spec_in(self).dtype);
  });
}
PyObject* get_ndim(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromSize_t(spec_in(self).shape.size()); });
}
PyObject* get_size(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromLongLong(element_count(spec_in(self).shape)); });
}
PyObject* get_device(PyObject*, void*) { return PyUnicode_FromString("cpu"); }

// One element as a Python number.
PyObject* item_of(const RawTensor& x) {
  if (x.size() != 1) {
    fail(ErrorKind::kShape, "item: the tensor must have one element; got shape ",
         to_string(x.shape), ".");
  }
  return visit_dtype(x.dtype, [&](auto tag) -> PyObject* {
    using T = typename decltype(tag)::type;
    const T value = *x.as<T>();
    if constexpr (std::is_same_v<T, bool>) {
      return PyBool_FromLong(value);
    } else if constexpr (is_complex<T>) {
      return PyComplex_FromDoubles(static_cast<double>(value.re), static_cast<double>(value.im));
    } else if constexpr (std::is_unsigned_v<T>) {
      return PyLong_FromUnsignedLongLong(value);
    } else if constexpr (std::is_integral_v<T>) {
      return PyLong_FromLongLong(value);
    } else {
      return PyFloat_FromDouble(static_cast<double>(value));
    }
  });
}

// What a tensor-like written in Python names as the one whose elements are its own.
Ref<Value> named_elements(const Value& value) {
  PyObject* object = static_cast<const ForeignValue&>(value).object();
  if (!is_tensor_like(object)) return nullptr;
  Object found = Object::steal(PyObject_GetAttrString(object, "elements"));
  if (found) return to_value(found.get());
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonError();
  PyErr_Clear();
  return nullptr;
}

Ref<RawTensor> elements_of(Ref<Value> value) {
  while (value && value->tag != Value::kRaw) {
    Ref<Value> inner;
    if (value->tag == Value::kTracer) inner = static_cast<Tracer*>(value.get())->primal;
    if (value->tag == Value::kForeign) inner = named_elements(*value);
    if (!inner) {
      fail(ErrorKind::kDispatch, "a value is needed; a ", value->type->name(), " has no elements.");
    }
    value = inner;
  }
  if (!value) fail(ErrorKind::kDispatch, "a value is needed; a tensor-like has no elements.");
  static_cast<RawTensor*>(value.get())->ready("read");
  return Ref<RawTensor>(static_cast<RawTensor*>(value.get()));
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] { return item_of(*elements_of(to_value(self))); });
}

PyObject* raw_of(PyObject* self, PyObject*) {
  return guarded([&] { return from_value(elements_of(to_value(self))); });
}

PyObject* array_ufunc(PyObject*, PyObject* args, PyObject* kwargs) {
  return PyObject_Call(hooks.ufunc, args, kwargs);
}

PyMethodDef base_methods[] = {
    {"__array_ufunc__", as_method(array_ufunc), METH_VARARGS | METH_KEYWORDS,
     "NumPy's functions on tensor-likes are ours."},
    {"item", as_method(item), METH_NOARGS, "The one element, as a Python number."},
    {"_raw", as_method(raw_of), METH_NOARGS, "The RawTensor under tracers and wrappers."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef base_getset[] = {
    {"shape", get_shape, nullptr, "The dimensions, a tuple.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"device", get_device, nullptr, "Where the elements live.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef base_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyObject* raw_is_contiguous(PyObject* self, void*) {
  return PyBool_FromLong(elements_of(Ref<Value>(value_of(self)))->is_contiguous);
}
// NumPy asks for this where the buffer protocol has no format: bfloat16.
PyObject* raw_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject* dtype = Py_None;
  PyObject* wants_copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype,
                                  &wants_copy) == 0) {
    return nullptr;
  }
  PyObject* given[] = {self, dtype, wants_copy};
  return PyObject_Vectorcall(hooks.to_array, given, 3, nullptr);
}

PyMethodDef raw_methods[] = {
    {"__array__", as_method(raw_array), METH_VARARGS | METH_KEYWORDS, "A NumPy array."},
    {"__dlpack__", as_method(to_dlpack), METH_VARARGS | METH_KEYWORDS, "A DLPack capsule."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef raw_getset[] = {
    {"is_contiguous", raw_is_contiguous, nullptr, "Whether elements lie in C order.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

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

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;

PyTypeObject* make_type(PyObject* module, const char* name, PyTypeObject* base, const char* doc,
                        std::initializer_list<PyType_Slot> own_slots) {
  std::vector<PyType_Slot> slots(own_slots);
  slots.push_back({Py_tp_doc, const_cast<char*>(doc)});
  slots.push_back({Py_tp_dealloc, as_slot(tensor_dealloc)});
  slots.push_back({Py_tp_traverse, as_slot(tensor_traverse)});
  slots.push_back({Py_tp_clear, as_slot(tensor_clear)});
  slots.push_back({0, nullptr});
  PyType_Spec spec = {name, sizeof(TensorObject), 0, kFlags, slots.data()};
  return add_type(module, spec, base);
}

// A tensor-like written in Python prints as objects do, unless it says otherwise.
PyObject* base_repr(PyObject* self) {
  if (value_of(self) == nullptr || hooks.repr == nullptr) return PyBaseObject_Type.tp_repr(self);
  return PyObject_CallOneArg(hooks.repr, self);
}

// set_hooks(Tensor, Parameter, getitem, setitem, as_array, to_array, repr, ufunc)
PyObject* set_hooks(PyObject*, PyObject* args) {
  if (PyArg_ParseTuple(args, "O!O!OOOOOO", &PyType_Type, &types.tensor, &PyType_Type,
                       &types.parameter, &hooks.getitem, &hooks.setitem, &hooks.as_array,
                       &hooks.to_array, &hooks.repr, &hooks.ufunc) == 0) {
    return nullptr;
  }
  for (PyObject* object :
       {reinterpret_cast<PyObject*>(types.tensor), reinterpret_cast<PyObject*>(types.parameter),
        hooks.getitem, hooks.setitem, hooks.as_array, hooks.to_array, hooks.repr, hooks.ufunc}) {
    Py_INCREF(object);
  }
  // Tensor adds nothing to the wrapper's memory: Python's general way of freeing it is not needed.
  types.tensor->tp_dealloc = tensor_dealloc;
  Py_RETURN_NONE;
}

PyObject* tensor_from(PyObject*, PyObject* args) {
  PyObject* data = nullptr;
  PyObject* dtype = Py_None;
  if (PyArg_ParseTuple(args, "O|O", &data, &dtype) == 0) return nullptr;
  return guarded([&] { return wrap(as_raw(data, dtype), types.tensor); });
}

PyMethodDef module_methods[] = {
    {"set_hooks", set_hooks, METH_VARARGS, "Says what is written in Python."},
    {"tensor", tensor_from, METH_VARARGS, "tensor(data, dtype=None): a Tensor of a copy."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

namespace {

// Attributes that dispatch asks for again and again.
struct Names {
  PyObject* priority = checked(PyUnicode_InternFromString("priority"));
  PyObject* shape = checked(PyUnicode_InternFromString("shape"));
  PyObject* dtype = checked(PyUnicode_InternFromString("dtype"));
  PyObject* lift = checked(PyUnicode_InternFromString("lift"));
};
const Names& names() {
  static const Names instance;
  return instance;
}

}  // namespace

ForeignValue::ForeignValue(PyObject* object)
    : Value(kForeign, kind_type(Py_TYPE(object))), object_(Py_NewRef(object)) {}

ForeignValue::~ForeignValue() {
  Gil gil;
  Py_DECREF(object_);
}

double ForeignValue::priority() const {
  if (is_wrapper(object_)) return 10000;
  if (!is_tensor_like(object_)) return -1;
  Object own_priority = Object::steal(PyObject_GetAttr(object_, names().priority));
  if (!own_priority) {
    PyErr_Clear();
    return 10;
  }
  const double value = PyFloat_AsDouble(own_priority.get());
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

bool ForeignValue::spec(Spec& out) const {
  Gil gil;
  if (is_wrapper(object_)) return value_of(object_)->spec(out);
  Object shape = Object::steal(PyObject_GetAttr(object_, names().shape));
  Object dtype = Object::steal(shape ? PyObject_GetAttr(object_, names().dtype) : nullptr);
  if (!shape || !dtype) {
    PyErr_Clear();
    return false;
  }
  const Attr dims = to_attr(shape.get(), Py_TYPE(object_)->tp_name, {"shape", "shape", true, {}});
  out.shape = Dims{std::span<const int64_t>(std::get<std::vector<int64_t>>(dims))};
  out.dtype = to_dtype(dtype.get());
  return true;
}

Ref<Value> ForeignValue::lift(Value& other) {
  if (other.type == type) return Ref<Value>(&other);
  Gil gil;
  if (is_wrapper(object_)) {
    Object wrapped = own(wrap(Ref<Value>(&other), Py_TYPE(object_)));
    return make_ref<ForeignValue>(wrapped.get());
  }
  if (PyObject_HasAttr(object_, names().lift) == 0) return nullptr;
  Object given = own(from_value(Ref<Value>(&other)));
  Object lifted = own(PyObject_CallMethodOneArg(object_, names().lift, given.get()));
  if (lifted.get() == Py_NotImplemented) return nullptr;
  return make_ref<ForeignValue>(lifted.get());
}

Ref<Value> to_value(PyObject* object) {
  if (is_tensor_like(object) && value_of(object) != nullptr) return Ref<Value>(value_of(object));
  return make_ref<ForeignValue>(object);
}

Ref<Value> as_argument(PyObject* object) {
  if (is_tensor_like(object) && value_of(object) != nullptr && !is_wrapper(object)) {
    return Ref<Value>(value_of(object));
  }
  return make_ref<ForeignValue>(object);
}

PyObject* from_value(const Ref<Value>& value) {
  switch (value->tag) {
    case Value::kRaw:
      return new_object(types.raw_tensor, value);
    case Value::kTracer:
      return new_object(types.tracer, value);
    case Value::kShape:
      return new_object(types.shape_tensor, value);
    case Value::kForeign:
      break;
  }
  return Py_NewRef(static_cast<ForeignValue*>(value.get())->object());
}

PyObject* wrap(Ref<Value> value, PyTypeObject* cls) { return new_object(cls, std::move(value)); }

void rebind(PyObject* wrapper, Ref<Value> value) {
  if (value->tag == Value::kForeign && PyType_IS_GC(Py_TYPE(wrapper)) &&
      PyObject_GC_IsTracked(wrapper) == 0) {
    PyObject_GC_Track(wrapper);
  }
  Value* previous = as_tensor(wrapper)->value;
  as_tensor(wrapper)->value = value.detach();
  if (previous != nullptr) previous->release();
}

bool to_literal(PyObject* object, Literal& literal) {
  if (PyFloat_CheckExact(object)) {
    literal = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyBool_Check(object)) {
    literal = object == Py_True;
    return true;
  }
  if (PyComplex_CheckExact(object)) {
    literal = std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
    return true;
  }
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) {  // only beside floats has this a meaning
      literal = PyLong_AsDouble(object);
      if (PyErr_Occurred() != nullptr) throw PythonError();
      return true;
    }
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    literal = static_cast<int64_t>(value);
    return true;
  }
  return false;
}

Ref<RawTensor> wide_scalar(PyObject* object, DType dtype) {
  if (dtype != DType::kUInt64) {
    fail(ErrorKind::kOverflow, "literal: must fit ", name_of(dtype),
         "; got an integer beyond int64; use floats.");
  }
  const unsigned long long value = PyLong_AsUnsignedLongLong(object);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    fail(ErrorKind::kOverflow, "literal: must fit uint64; got one that does not; use floats.");
  }
  Ref<RawTensor> out = RawTensor::empty(DType::kUInt64, {});
  *out->as<uint64_t>() = value;
  return out;
}

Ref<Value> lift_operand(PyObject* object, Value& like) {
  Literal literal;
  if (to_literal(object, literal)) {
    // A constant carries no gradient: beside a tracer, a plain value will do.
    Value* under = &like;
    while (under->tag == Value::kTracer) under = static_cast<Tracer*>(under)->primal.get();
    if (is_wide_integer(object, literal) && under->tag == Value::kRaw) {
      const DType dtype = static_cast<RawTensor*>(under)->dtype;
      if (kind_of(dtype) < Kind::kFloating) return wide_scalar(object, dtype);
    }
    return lift_literal(literal, *under);
  }
  return as_raw(object, Py_None);
}

void add_tensors(PyObject* module) {
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, as_slot(base_new)},
      {Py_tp_repr, as_slot(base_repr)},
      {Py_tp_methods, base_methods},
      {Py_tp_getset, base_getset},
      {Py_tp_members, base_members},
      {Py_tp_doc, const_cast<char*>("The root of all tensor-likes.")},
      {Py_tp_dealloc, as_slot(tensor_dealloc)},
      {Py_tp_traverse, as_slot(tensor_traverse)},
      {Py_tp_clear, as_slot(tensor_clear)},
  };
  for (PyType_Slot* slot = number_slots; slot->slot != 0; ++slot) slots.push_back(*slot);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"tensorlike._C.TensorBase", sizeof(TensorObject), 0, kFlags, slots.data()};
  types.tensor_base = add_type(module, spec, nullptr);
  types.raw_tensor = make_type(
      module, "tensorlike._C.RawTensor", types.tensor_base,
      "RawTensor(data, dtype=None): elements in memory; applying an op launches its kernel.",
      {{Py_tp_new, as_slot(raw_new)},
       {Py_tp_methods, raw_methods},
       {Py_tp_getset, raw_getset},
       {Py_bf_getbuffer, as_slot(get_buffer)},
       {Py_bf_releasebuffer, as_slot(release_buffer)}});
  types.shape_tensor = make_type(
      module, "tensorlike._C.ShapeTensor", types.tensor_base,
      "ShapeTensor(shape, dtype=float32): no elements; applying an op infers shape and dtype.",
      {{Py_tp_new, as_slot(shape_new)}});
  types.tracer = make_type(
      module, "tensorlike._C.Tracer", types.tensor_base,
      "Tracer(primal, tape=None): a value and its place on a tape; applying an op records it.",
      {{Py_tp_new, as_slot(tracer_new)}, {Py_tp_getset, tracer_getset}});
  types.wrapper = make_type(
      module, "tensorlike._C.TensorWrapper", types.tensor_base,
      "TensorWrapper(x): a mutable face of any tensor-like: mutation replaces what is wrapped.",
      {{Py_tp_new, as_slot(wrapper_new)},
       {Py_tp_methods, wrapper_methods},
       {Py_tp_getset, wrapper_getset}});
  types.tensor = types.wrapper;
  dispatcher().set_wrapper_type(kind_type(types.wrapper));
  check(PyModule_AddFunctions(module, module_methods));
}

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, PyTypeObject* base) {
  Object bases = base == nullptr ? Object() : own(PyTuple_Pack(1, base));
  PyObject* type = checked(PyType_FromModuleAndSpec(module, &spec, bases.get()));
  const char* name = std::strrchr(spec.name, '.') + 1;
  check(PyModule_AddObjectRef(module, name, type));
  return reinterpret_cast<PyTypeObject*>(type);
}

bool parse_items(PyObject* key, std::vector<int64_t>& items) {
  const bool is_tuple = PyTuple_Check(key) != 0;
  const Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(key) : 1;
  bool has_ellipsis = false;
  auto bound = [](PyObject* object) {
    if (object == Py_None) return kNoBound;
    Object index = own(PyNumber_Index(object));
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    if (overflow != 0) return overflow > 0 ? kMost : -kMost;
    return value == kNoBound ? -kMost : static_cast<int64_t>(value);
  };
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = is_tuple ? PyTuple_GET_ITEM(key, i) : key;
    auto add = [&](ItemKind kind, int64_t start, int64_t stop, int64_t step) {
      items.insert(items.end(), {static_cast<int64_t>(kind), start, stop, step});
    };
    if (item == Py_None) {
      add(ItemKind::kNewAxis, 0, 0, 0);
    } else if (item == Py_Ellipsis) {
      if (has_ellipsis) {
        fail(ErrorKind::kIndex, "index: an index can only have one ellipsis ('...').");
      }
      has_ellipsis = true;
      add(ItemKind::kEllipsis, 0, 0, 0);
    } else if (PySlice_Check(item)) {
      const auto* slice = reinterpret_cast<PySliceObject*>(item);
      const int64_t step = bound(slice->step);
      if (step == 0) fail(ErrorKind::kIndex, "index: a slice's step must not be 0.");
      add(ItemKind::kSlice, bound(slice->start), bound(slice->stop), step);
    } else if (PyLong_CheckExact(item)) {
      add(ItemKind::kInteger, bound(item), 0, 0);
    } else if (PyIndex_Check(item) && !PyBool_Check(item) && !is_tensor_like(item) &&
               !PySequence_Check(item)) {
      add(ItemKind::kInteger, bound(item), 0, 0);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace tensorlike::bind
