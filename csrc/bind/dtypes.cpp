// dtype objects, and attributes between Python and the core.
#include <string>

#include "bind/objects.h"
#include "bind/programs.h"

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

bool find_dtype(std::string_view name, DType& out) {
  for (int d = 0; d < kDTypeCount; ++d) {
    if (kDTypes[d].name == name) {
      out = static_cast<DType>(d);
      return true;
    }
  }
  return false;
}

// What a value must be, in words: names of lists of integers say nothing to those who call.
std::string wanted(const AttrSpec& spec) {
  if (spec.type == "widths") {
    return "two integers for each dimension, in pairs or in one sequence, such as ((0, 0), (1, 1))";
  }
  if (spec.type == "permutation") return "a sequence of integers";
  if (is_list_of_ints(spec.type)) return "an integer, or a sequence of integers";
  return "of type " + spec.type;
}

[[noreturn]] void fail_type(const std::string& owner, const AttrSpec& spec, PyObject* got) {
  fail(ErrorKind::kAttribute, said::op(owner), said::argument(spec.name), "must be ", wanted(spec),
       said::got(Py_TYPE(got)->tp_name));
}

int64_t to_int(PyObject* object) {
  if (is_size(object)) return number_of_size(object);
  Object index = own(PyNumber_Index(object));
  const long long value = PyLong_AsLongLong(index.get());
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  if (live_witnesses > 0) note_written(value);
  return value;
}

// An integer, or an unknown size that stands for a floating-point number.
Attr to_number(PyObject* object) {
  const Literal literal = is_size(object) ? literal_of_size(object) : Literal(to_int(object));
  if (const auto* number = std::get_if<double>(&literal)) return *number;
  return std::get<int64_t>(literal);
}

std::vector<int64_t> to_ints(PyObject* object) {
  Object items = own(PySequence_Tuple(object));  // reading an item may change a list
  std::vector<int64_t> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    values.push_back(to_int(PyTuple_GET_ITEM(items.get(), i)));
  }
  return values;
}

// Integers in one sequence, or in pairs: NumPy's ((before, after), ...).
std::vector<int64_t> to_widths(PyObject* object) {
  Object sequence = own(PySequence_Tuple(object));
  std::vector<int64_t> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(sequence.get(), i);
    if (!PyTuple_Check(item) && !PyList_Check(item)) {
      values.push_back(to_int(item));
      continue;
    }
    const std::vector<int64_t> pair = to_ints(item);
    if (pair.size() != 2) {
      PyErr_SetString(PyExc_TypeError, "two integers are needed");
      throw PythonError();
    }
    values.insert(values.end(), pair.begin(), pair.end());
  }
  return values;
}

}  // namespace

DType to_dtype(PyObject* object) {
  if (Py_TYPE(object) == types.dtype) return dtype_in(object);
  DType dtype;
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::kBool;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return default_dtype(Kind::kInteger);
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return default_dtype(Kind::kFloating);
  if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return default_dtype(Kind::kComplex);
  Object name = PyUnicode_Check(object) ? Object::share(object) : find_attribute(object, "name");
  if (!name) name = find_attribute(object, "__name__");  // of NumPy's scalar classes
  const bool is_named = name && PyUnicode_Check(name.get());
  const std::string got = is_named ? shown(name.get()) : Py_TYPE(object)->tp_name;
  if (is_named && find_dtype(got, dtype)) return dtype;
  std::string known;
  for (const DTypeInfo& row : kDTypes) known += (known.empty() ? "" : ", ") + std::string(row.name);
  fail(ErrorKind::kDType, said::argument("dtype"), "must be one of ", known, said::got(got));
}

PyObject* from_dtype(DType dtype) { return Py_NewRef(instances[static_cast<int>(dtype)]); }

namespace {

// Runs a conversion; what Python says about a wrong value is told as a wrong parameter.
template <class F>
Attr converted(const std::string& owner, const AttrSpec& spec, PyObject* object, F&& convert) {
  try {
    return convert();
  } catch (const PythonError&) {
    const bool is_overflow = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
    if (!is_overflow && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw;
    PyErr_Clear();
    if (is_overflow) {
      fail(ErrorKind::kOverflow, said::op(owner), said::argument(spec.name), "must fit 64 bits",
           said::got(Py_TYPE(object)->tp_name));
    }
    Object repr = own(PyObject_Repr(object));
    fail(ErrorKind::kAttribute, said::op(owner), said::argument(spec.name), "must be ",
         wanted(spec), said::got(shown(repr.get())));
  }
}

}  // namespace

Attr to_attr(PyObject* object, const std::string& owner, const AttrSpec& spec) {
  const std::string& type = spec.type;
  const bool may_be_none = !spec.required && std::holds_alternative<Nothing>(spec.fallback);
  if (object == Py_None && may_be_none) return Attr();
  if (type == "bool") {
    if (object == Py_True || object == Py_False) return object == Py_True;
    fail_type(owner, spec, object);
  }
  if (object == Py_None) return Attr();
  if (type == "dtype") {
    try {
      return to_dtype(object);
    } catch (const Error& error) {
      ErrorFields fields = error.fields();
      fields.op = owner;
      fields.argument = spec.name;
      throw Error(error.kind(), std::move(fields));
    }
  }
  if (PyBool_Check(object)) {
    if (type == "scalar" || type == "any") return object == Py_True;
    fail_type(owner, spec, object);
  }
  const bool takes_int = type == "int" || type == "one_axis" || type == "axis" ||
                         type == "scalar" || is_list_of_ints(type) || type == "padding" ||
                         type == "any";
  const bool takes_number = type == "scalar" || type == "any";
  if (takes_int && PyIndex_Check(object) && !PySequence_Check(object)) {
    if (takes_number && PyLong_CheckExact(object)) {
      const unsigned long long wide = PyLong_AsUnsignedLongLong(object);
      if (PyErr_Occurred() == nullptr && wide > static_cast<uint64_t>(INT64_MAX)) {
        return Attr(static_cast<uint64_t>(wide));
      }
      PyErr_Clear();
    }
    return converted(owner, spec, object, [&] { return to_number(object); });
  }
  if (PyComplex_Check(object) && takes_number) {
    return std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
  }
  if (type == "float" || type == "scalar" || (type == "any" && PyFloat_Check(object))) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      fail_type(owner, spec, object);
    }
    return value;
  }
  if (PyUnicode_Check(object) &&
      (type == "str" || type == "device" || type == "padding" || type == "any")) {
    Py_ssize_t size = 0;
    const char* chars = PyUnicode_AsUTF8AndSize(object, &size);
    if (chars != nullptr) return std::string(chars, static_cast<size_t>(size));
    PyErr_Clear();
    fail(ErrorKind::kAttribute, said::op(owner), said::argument(spec.name),
         "must be text that UTF-8 can hold", said::got("'", shown(object), "'"));
  }
  const bool is_list = PyTuple_Check(object) || PyList_Check(object);
  if (is_list && (type == "axis" || is_list_of_ints(type) || type == "padding" || type == "index" ||
                  type == "any")) {
    return converted(owner, spec, object,
                     [&] { return Attr(type == "widths" ? to_widths(object) : to_ints(object)); });
  }
  fail_type(owner, spec, object);
}

PyObject* from_attr(const Attr& attr) {
  struct Converter {
    PyObject* operator()(Nothing) const { return Py_NewRef(Py_None); }
    PyObject* operator()(bool value) const { return PyBool_FromLong(value); }
    PyObject* operator()(int64_t value) const { return from_number(value); }
    PyObject* operator()(uint64_t value) const { return PyLong_FromUnsignedLongLong(value); }
    PyObject* operator()(double value) const { return PyFloat_FromDouble(value); }
    PyObject* operator()(const std::string& value) const {
      return PyUnicode_FromString(value.c_str());
    }
    PyObject* operator()(const std::vector<int64_t>& value) const {
      Object out = own(PyTuple_New(static_cast<Py_ssize_t>(value.size())));
      for (size_t i = 0; i < value.size(); ++i) {
        PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(from_number(value[i])));
      }
      return out.release();
    }
    PyObject* operator()(DType value) const { return from_dtype(value); }
    PyObject* operator()(std::complex<double> value) const {
      return PyComplex_FromDoubles(value.real(), value.imag());
    }
  };
  return checked(std::visit(Converter{}, attr));
}

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
