// dtype objects.
#include <optional>
#include <string>

#include "bind/objects.h"

namespace tensorlike::bind {
namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};

PyObject* instances[kDTypeCount] = {};

DType dtype_in(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }

PyObject* dtype_repr(PyObject* self) {
  return PyUnicode_FromString(text("tensorlike.", name_of(dtype_in(self))).c_str());
}
PyObject* dtype_name(PyObject* self, void*) {
  return PyUnicode_FromString(std::string(name_of(dtype_in(self))).c_str());
}
PyObject* dtype_itemsize(PyObject* self, void*) {
  return PyLong_FromSize_t(size_of(dtype_in(self)));
}
PyObject* dtype_kind(PyObject* self, void*) {
  constexpr const char* kNames[] = {"bool", "integer", "floating", "complex"};
  return PyUnicode_FromString(kNames[static_cast<int>(kind_of(dtype_in(self)))]);
}
// The name under which the package has it: `bool` would hide Python's.
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  if (dtype_in(self) == DType::kBool) return PyUnicode_FromString("bool_");
  return PyUnicode_FromString(std::string(name_of(dtype_in(self))).c_str());
}

PyGetSetDef dtype_getset[] = {
    {"name", dtype_name, nullptr, "The name, as NumPy's.", nullptr},
    {"itemsize", dtype_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"kind", dtype_kind, nullptr, "'bool', 'integer', 'floating' or 'complex'.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot dtype_slots[] = {
    {Py_tp_repr, as_slot(dtype_repr)},
    {Py_tp_getset, dtype_getset},
    {Py_tp_methods, dtype_methods},
    {Py_tp_doc, const_cast<char*>("The type of a tensor's elements.")},
    {0, nullptr},
};
PyType_Spec dtype_spec = {"tensorlike.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

}  // namespace

DType to_dtype(PyObject* object) {
  if (Py_TYPE(object) == types.dtype) return dtype_in(object);
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::kBool;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return default_dtype(Kind::kInteger);
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return default_dtype(Kind::kFloating);
  if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return default_dtype(Kind::kComplex);
  Object name = PyUnicode_Check(object) ? Object::share(object) : find_attribute(object, "name");
  if (!name) name = find_attribute(object, "__name__");  // of NumPy's scalar classes
  const bool is_named = name && PyUnicode_Check(name.get());
  const std::string got = is_named ? shown(name.get()) : Py_TYPE(object)->tp_name;
  if (const auto dtype = is_named ? dtype_named(got) : std::nullopt) return *dtype;
  std::string known;
  for (const DTypeInfo& row : kDTypes) known += (known.empty() ? "" : ", ") + std::string(row.name);
  fail(ErrorKind::kDType, said::argument("dtype"), "must be one of ", known, said::got(got));
}

PyObject* from_dtype(DType dtype) { return Py_NewRef(instances[static_cast<int>(dtype)]); }

void add_dtypes(PyObject* module) {
  types.dtype = add_type(module, dtype_spec, nullptr);
  for (int d = 0; d < kDTypeCount; ++d) {
    DTypeObject* object = PyObject_New(DTypeObject, types.dtype);
    checked(reinterpret_cast<PyObject*>(object));
    object->dtype = static_cast<DType>(d);
    instances[d] = reinterpret_cast<PyObject*>(object);
    const std::string name =
        static_cast<DType>(d) == DType::kBool ? "bool_" : std::string(kDTypes[d].name);
    check(PyModule_AddObjectRef(module, name.c_str(), instances[d]));
  }
}

}  // namespace tensorlike::bind
