// Tensor-likes as Python objects.
#include <cstring>

#include "bind/elements.h"
#include "bind/errors.h"
#include "bind/objects.h"
#include "bind/programs.h"
#include "bind/rebinding.h"
#include "op/index.h"
// After Python.h.
#include <structmember.h>

namespace tensorlike::bind {

Types types;
Hooks hooks;

[[noreturn]] void fail_attribute(PyObject* self, const char* name) {
  PyErr_Format(PyExc_AttributeError, "%s has no attribute '%s'", Py_TYPE(self)->tp_name, name);
  throw PythonError();
}

namespace {

TensorObject* as_tensor(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

// Whether a Tensor of this value may be part of a cycle. Elements lead to no Python object.
bool may_hold_python(const Value& value) {
  return value.tag == Value::kTracer || object_of(value) != nullptr;
}

// Wrappers come and go with every op: their memory is kept.
constexpr size_t kPoolSize = 128;
PyObject* pool[kPoolSize];
size_t pooled = 0;
uint64_t made = 0;

PyObject* new_object(PyTypeObject* cls, Ref<Value> value) {
  PyObject* self;
  if (cls == types.tensor && pooled > 0) {
    self = PyObject_Init(pool[--pooled], cls);
  } else {
    self = checked(cls->tp_alloc(cls, 0));
    if (cls == types.tensor) PyObject_GC_UnTrack(self);
  }
  const bool is_collected = cls == types.tensor && value && may_hold_python(*value);
  as_tensor(self)->value = value.detach();
  as_tensor(self)->weakrefs = nullptr;
  as_tensor(self)->born = ++made;
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

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return visit_held(self, visit, arg);
}

// What a wrapper holds can be exchanged, and every cycle leads through something of Python's that
// can: other tensor-likes stay as they are. Nobody can reach the wrapper any more, so no journal
// that is open meanwhile hears of it.
int tensor_clear(PyObject* self) {
  static const Ref<Value>& nothing = *new Ref<Value>(RawTensor::scalar(DType::kBool, false));
  Value* value = value_of(self);
  if (value != nullptr && is_wrapper(self) && may_hold_python(*value))
    rebind_unnoted(self, nothing);
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
    static const AttrSpec kShape{"shape", attr_type("shape"), true, {}};
    const Attr dims = to_attr(shape, "ShapeTensor", kShape);
    if (std::holds_alternative<Nothing>(dims)) {
      fail(ErrorKind::kAttribute, said::op("ShapeTensor"), said::argument("shape"),
           "must be of type shape", said::got("None"));
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

Spec spec_in(PyObject* self) {
  const Ref<Value> value = to_value(self);
  return spec_of(Py_TYPE(self)->tp_name, *value);
}

// A tensor-like of Python's that wraps nothing says these itself, by properties or attributes.
PyObject* own_attribute(PyObject* self, const char* name) {
  Object held = Object::steal(PyObject_GenericGetDict(self, nullptr));
  if (!held) PyErr_Clear();
  PyObject* found = held ? PyDict_GetItemString(held.get(), name) : nullptr;  // borrowed
  if (found == nullptr) fail_attribute(self, name);
  return Py_NewRef(found);
}

int set_own_attribute(PyObject* self, PyObject* value, void* name) {
  const char* text = static_cast<const char*>(name);
  if (value_of(self) != nullptr || value == nullptr) {
    PyErr_Format(PyExc_AttributeError, "attribute '%s' of '%s' objects is not writable", text,
                 Py_TYPE(self)->tp_name);
    return -1;
  }
  Object held = Object::steal(PyObject_GenericGetDict(self, nullptr));
  return held ? PyDict_SetItemString(held.get(), text, value) : -1;
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] {
    if (value_of(self) == nullptr) return own_attribute(self, "shape");
    if (PyObject* said = said_shape(*value_of(self))) return said;
    if (const auto* raw = raw_under(value_of(self))) return from_dims(raw->shape);
    return from_dims(spec_in(self).shape);
  });
}
PyObject* get_dtype(PyObject* self, void*) {
  if (const RawTensor* raw = raw_under(value_of(self))) return from_dtype(raw->dtype);
  return guarded([&] {
    return value_of(self) == nullptr ? own_attribute(self, "dtype")
                                     : from_dtype(spec_in(self).dtype);
  });
}
PyObject* get_ndim(PyObject* self, void*) {
  if (const auto* raw = raw_under(value_of(self))) return PyLong_FromSize_t(raw->shape.size());
  return guarded([&] { return PyLong_FromSize_t(spec_in(self).shape.size()); });
}
PyObject* get_size(PyObject* self, void*) {
  const RawTensor* const raw = live_witnesses == 0 ? raw_under(value_of(self)) : nullptr;
  if (raw != nullptr) return PyLong_FromLongLong(raw->count);
  return guarded([&] {
    if (const Object said = Object::steal(said_shape(*to_value(self)))) return count_of(said.get());
    return PyLong_FromLongLong(element_count(spec_in(self).shape));
  });
}
PyObject* get_device(PyObject* self, void*) {
  static PyObject* const cpu = PyUnicode_InternFromString("cpu");
  const RawTensor* const raw = raw_under(value_of(self));
  if (raw != nullptr && raw->device.is_cpu()) return Py_NewRef(cpu);
  return guarded([&] { return PyUnicode_FromString(to_string(device_of(self)).c_str()); });
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] { return item_in(self); });
}

PyObject* raw_of(PyObject* self, PyObject*) {
  return guarded([&] {
    note_read(self);
    return from_value(elements_of(to_value(self)));
  });
}

// Of what is no Tensor and no RawTensor: as a Tensor around it says.
PyObject* base_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    Object tensor = own(wrap(to_value(self), types.tensor));
    Object method = own(PyObject_GetAttrString(tensor.get(), "__array__"));
    return PyObject_Call(method.get(), args, kwargs);
  });
}

PyObject* array_ufunc(PyObject*, PyObject* args, PyObject* kwargs) {
  return PyObject_Call(hooks.ufunc, args, kwargs);
}

PyMethodDef base_methods[] = {
    {"__array_ufunc__", as_method(array_ufunc), METH_VARARGS | METH_KEYWORDS,
     "NumPy's functions on tensor-likes are ours."},
    {"__array__", as_method(base_array), METH_VARARGS | METH_KEYWORDS,
     "The elements for NumPy, where there are some."},
    {"item", as_method(item), METH_NOARGS, "The one element, as a Python number."},
    {"_raw", as_method(raw_of), METH_NOARGS, "The RawTensor under tracers and wrappers."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef base_getset[] = {
    {"shape", get_shape, set_own_attribute, "The dimensions, a tuple.", const_cast<char*>("shape")},
    {"dtype", get_dtype, set_own_attribute, "The element type.", const_cast<char*>("dtype")},
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
  return guarded(
      [&] { return PyBool_FromLong(elements_of(Ref<Value>(value_of(self)))->is_contiguous); });
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

PyObject* raw_numpy(PyObject* self, PyObject*) {
  PyObject* given[] = {self, Py_None, Py_None};
  return PyObject_Vectorcall(hooks.to_array, given, 3, nullptr);
}

PyMethodDef raw_methods[] = {
    {"__array__", as_method(raw_array), METH_VARARGS | METH_KEYWORDS, "A NumPy array."},
    {"__dlpack__", as_method(to_dlpack), METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule."},
    {"numpy", as_method(raw_numpy), METH_NOARGS, "The elements as a NumPy array."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef raw_getset[] = {
    {"is_contiguous", raw_is_contiguous, nullptr, "Whether elements lie in C order.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;

// A tensor-like written in Python prints as objects do, unless it says otherwise.
PyObject* base_repr(PyObject* self) {
  if (value_of(self) == nullptr || hooks.repr == nullptr) return PyBaseObject_Type.tp_repr(self);
  return PyObject_CallOneArg(hooks.repr, self);
}

// set_hooks(Tensor, Parameter, getitem, setitem, as_array, to_array, repr, carried, ufunc)
PyObject* set_hooks(PyObject*, PyObject* args) {
  if (PyArg_ParseTuple(args, "O!O!OOOOOOO", &PyType_Type, &types.tensor, &PyType_Type,
                       &types.parameter, &hooks.getitem, &hooks.setitem, &hooks.as_array,
                       &hooks.to_array, &hooks.repr, &hooks.carried, &hooks.ufunc) == 0) {
    return nullptr;
  }
  for (PyObject* object :
       {reinterpret_cast<PyObject*>(types.tensor), reinterpret_cast<PyObject*>(types.parameter),
        hooks.getitem, hooks.setitem, hooks.as_array, hooks.to_array, hooks.repr, hooks.carried,
        hooks.ufunc}) {
    Py_INCREF(object);
  }
  // Tensor adds nothing to the wrapper's memory: Python's general way of freeing it is not needed.
  types.tensor->tp_dealloc = tensor_dealloc;
  Py_RETURN_NONE;
}

PyMethodDef values_functions[] = {
    {"set_hooks", set_hooks, METH_VARARGS, "Says what is written in Python."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

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
  if (PyObject* object = object_of(*value)) return Py_NewRef(object);
  PyTypeObject* const cls = value->tag == Value::kRaw      ? types.raw_tensor
                            : value->tag == Value::kTracer ? types.tracer
                            : value->tag == Value::kShape  ? types.shape_tensor
                                                           : types.tensor_base;
  return new_object(cls, value);  // the last of a kind of the core's without a class in Python
}

uint64_t births() { return made; }

PyObject* wrap(Ref<Value> value, PyTypeObject* cls) { return new_object(cls, std::move(value)); }

void rebind_unnoted(PyObject* wrapper, Ref<Value> value) {
  if (may_hold_python(*value) && PyType_IS_GC(Py_TYPE(wrapper)) &&
      PyObject_GC_IsTracked(wrapper) == 0) {
    PyObject_GC_Track(wrapper);
  }
  Value* previous = as_tensor(wrapper)->value;
  as_tensor(wrapper)->value = value.detach();
  if (previous != nullptr) previous->release();
}

PyTypeObject* make_type(PyObject* module, const char* name, int number, const char* doc,
                        std::initializer_list<PyType_Slot> own_slots, bool is_collected) {
  std::vector<PyType_Slot> slots(own_slots);
  slots.push_back({Py_tp_doc, const_cast<char*>(doc)});
  slots.push_back({Py_tp_dealloc, as_slot(tensor_dealloc)});
  slots.push_back({Py_tp_traverse, as_slot(tensor_traverse)});
  slots.push_back({Py_tp_clear, as_slot(tensor_clear)});
  slots.push_back({0, nullptr});
  const int size =
      static_cast<int>(sizeof(TensorObject) + sizeof(void*) * static_cast<size_t>(number));
  const unsigned flags = kFlags | (is_collected ? Py_TPFLAGS_HAVE_GC : 0U);
  PyType_Spec spec = {name, size, 0, flags, slots.data()};
  return add_type(module, spec, types.tensor_base);
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
  types.raw_tensor = make_type(module, "tensorlike._C.RawTensor", 2,
                               "RawTensor(data, dtype=None)\n--\n\n"
                               "Elements in memory; applying an op launches its kernel.",
                               {{Py_tp_new, as_slot(raw_new)},
                                {Py_tp_methods, raw_methods},
                                {Py_tp_getset, raw_getset},
                                {Py_bf_getbuffer, as_slot(get_buffer)},
                                {Py_bf_releasebuffer, as_slot(release_buffer)}});
  types.shape_tensor =
      make_type(module, "tensorlike._C.ShapeTensor", 3,
                "ShapeTensor(shape, dtype=None)\n--\n\n"
                "No elements; applying an op infers shape and dtype. By default it is float32.",
                {{Py_tp_new, as_slot(shape_new)}});
  add_wrappers(module);
  add_elements(module);
  check(PyModule_AddFunctions(module, values_functions));
}

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, PyTypeObject* base) {
  Object bases = base == nullptr ? Object() : own(PyTuple_Pack(1, base));
  spec.flags |= Py_TPFLAGS_IMMUTABLETYPE;  // what is built in cannot be replaced
  PyObject* type = checked(PyType_FromModuleAndSpec(module, &spec, bases.get()));
  const char* name = std::strrchr(spec.name, '.') + 1;
  check(PyModule_AddObjectRef(module, name, type));
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace tensorlike::bind
