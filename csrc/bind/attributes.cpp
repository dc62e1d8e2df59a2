// Attributes between Python and the core: which forms are read is said by the row of their type.
#include <string>

#include "bind/objects.h"
#include "bind/programs.h"

namespace tensorlike::bind {
namespace {

[[noreturn]] void fail_type(const std::string& owner, const AttrSpec& spec,
                            const std::string& got) {
  fail(ErrorKind::kAttribute, said::op(owner), said::argument(spec.name), "must be ",
       spec.type->wanted, said::got(got));
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

bool is_list(PyObject* object) { return PyTuple_Check(object) || PyList_Check(object); }

// Integers in one sequence, or in pairs: NumPy's ((before, after), ...).
std::vector<int64_t> to_pairs(PyObject* object) {
  Object sequence = own(PySequence_Tuple(object));
  std::vector<int64_t> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(sequence.get(), i);
    if (!is_list(item)) {
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
    fail_type(owner, spec, shown(repr.get()));
  }
}

Attr dtype_attr(PyObject* object, const std::string& owner, const AttrSpec& spec) {
  try {
    return to_dtype(object);
  } catch (const Error& error) {
    ErrorFields fields = error.fields();
    fields.op = owner;
    fields.argument = spec.name;
    throw Error(error.kind(), std::move(fields));
  }
}

Attr int_attr(PyObject* object, const std::string& owner, const AttrSpec& spec) {
  if (spec.type->takes.has(Form::kWide) && PyLong_CheckExact(object)) {
    const unsigned long long wide = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred() == nullptr && wide > static_cast<uint64_t>(INT64_MAX)) {
      return Attr(static_cast<uint64_t>(wide));
    }
    PyErr_Clear();
  }
  const bool takes_floats = spec.type->takes.has(Form::kFloat);
  return converted(owner, spec, object,
                   [&] { return takes_floats ? to_number(object) : Attr(to_int(object)); });
}

Attr float_attr(PyObject* object, const std::string& owner, const AttrSpec& spec) {
  if (is_size(object)) {
    const Literal number = literal_to_calculate(object);
    if (const auto* whole = std::get_if<int64_t>(&number)) return static_cast<double>(*whole);
    return std::get<double>(number);
  }
  const double value = PyFloat_AsDouble(object);
  if (value != -1.0 || PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  fail_type(owner, spec, Py_TYPE(object)->tp_name);
}

Attr text_attr(PyObject* object, const std::string& owner, const AttrSpec& spec) {
  Py_ssize_t size = 0;
  const char* chars = PyUnicode_AsUTF8AndSize(object, &size);
  if (chars != nullptr) return std::string(chars, static_cast<size_t>(size));
  PyErr_Clear();
  fail(ErrorKind::kAttribute, said::op(owner), said::argument(spec.name),
       "must be text that UTF-8 can hold", said::got("'", shown(object), "'"));
}

}  // namespace

Attr to_attr(PyObject* object, const std::string& owner, const AttrSpec& spec) {
  const Forms takes = spec.type->takes;
  const bool may_be_none = !spec.required && std::holds_alternative<Nothing>(spec.fallback);
  // Whether there may be nothing is asked when the op is made; nothing is no boolean anywhere.
  if (object == Py_None && (may_be_none || takes != Forms{Form::kBool})) return Attr();
  if (takes.has(Form::kDType)) return dtype_attr(object, owner, spec);
  if (PyBool_Check(object)) {
    if (takes.has(Form::kBool)) return object == Py_True;
    fail_type(owner, spec, Py_TYPE(object)->tp_name);
  }
  if (takes.has(Form::kInt) && PyIndex_Check(object) && !PySequence_Check(object)) {
    return int_attr(object, owner, spec);
  }
  if (takes.has(Form::kComplex) && PyComplex_Check(object)) {
    return std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
  }
  if (takes.has(Form::kStr) && PyUnicode_Check(object)) return text_attr(object, owner, spec);
  if (takes.has(Form::kInts) && is_list(object)) {
    const bool takes_pairs = takes.has(Form::kPairs);
    return converted(owner, spec, object,
                     [&] { return Attr(takes_pairs ? to_pairs(object) : to_ints(object)); });
  }
  if (takes.has(Form::kFloat)) return float_attr(object, owner, spec);
  fail_type(owner, spec, Py_TYPE(object)->tp_name);
}

PyObject* from_attr(const Attr& attr) {
  struct Converter {
    PyObject* operator()(Nothing) const { return Py_NewRef(Py_None); }
    PyObject* operator()(bool value) const { return PyBool_FromLong(value); }
    PyObject* operator()(int64_t value) const { return from_number(value); }
    PyObject* operator()(uint64_t value) const { return PyLong_FromUnsignedLongLong(value); }
    PyObject* operator()(double value) const { return from_real(value); }
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

}  // namespace tensorlike::bind
