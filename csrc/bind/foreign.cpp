// Tensor-likes and numbers of Python's own, as the core sees them.
#include <cmath>

#include "bind/programs.h"
#include "bind/rules.h"
#include "memory/backend.h"

namespace tensorlike::bind {

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

[[noreturn]] void fail_shape(PyObject* self, PyObject* shape) {
  fail(ErrorKind::kAttribute, said::op(Py_TYPE(self)->tp_name), said::argument("shape"),
       "must be a tuple of integers", said::got(Py_TYPE(shape)->tp_name));
}

ForeignValue::ForeignValue(PyObject* object)
    : Value(kOther, kind_type(Py_TYPE(object))), object_(Py_NewRef(object)) {
  ++python_parts;
}

ForeignValue::~ForeignValue() {
  Gil gil;
  --python_parts;
  Py_DECREF(object_);
}

double ForeignValue::priority() const {
  if (is_wrapper(object_)) return 10000;
  if (!is_tensor_like(object_)) return -1;
  Object own_priority = find_attribute(object_, names().priority);
  if (!own_priority) return 10;
  const double value = PyFloat_AsDouble(own_priority.get());
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

bool ForeignValue::spec(Spec& out) const {
  Gil gil;
  if (is_wrapper(object_)) return value_of(object_)->spec(out);
  const Object shape = find_attribute(object_, names().shape);
  const Object dtype = shape ? find_attribute(object_, names().dtype) : Object();
  if (!shape || !dtype) return false;
  static const AttrSpec kShape{"shape", attr_type("shape"), true, {}};
  const Attr dims = to_attr(shape.get(), Py_TYPE(object_)->tp_name, kShape);
  const auto* sizes = std::get_if<std::vector<int64_t>>(&dims);
  if (sizes == nullptr) fail_shape(object_, shape.get());
  out.shape = Dims{std::span<const int64_t>(*sizes)};
  out.dtype = to_dtype(dtype.get());
  if (has_devices() && is_tensor_like(object_)) out.device = device_of(object_);
  return true;
}

Ref<Value> ForeignValue::lift(Value& other) {
  if (other.type == type) return Ref<Value>(&other);
  Gil gil;
  if (is_wrapper(object_)) {
    Object wrapped = own(wrap(Ref<Value>(&other), Py_TYPE(object_)));
    return make_ref<ForeignValue>(wrapped.get());
  }
  const Object lift = find_attribute(object_, names().lift);
  if (!lift) return nullptr;
  Object given = own(from_value(Ref<Value>(&other)));
  Object lifted = own(PyObject_CallOneArg(lift.get(), given.get()));
  if (lifted.get() == Py_NotImplemented) return nullptr;
  if (Py_TYPE(lifted.get()) != Py_TYPE(object_)) {
    check_tensor_like(lifted.get(), text(Py_TYPE(object_)->tp_name, ": lift"),
                      "a tensor-like, or NotImplemented");
  }
  return make_ref<ForeignValue>(lifted.get());
}

bool to_literal(PyObject* object, Literal& literal) {
  if (PyFloat_CheckExact(object)) {
    const double value = PyFloat_AS_DOUBLE(object);
    if (live_witnesses > 0 && std::fabs(value) < 0x1p53) note_written(static_cast<int64_t>(value));
    literal = value;
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
      const double wide = PyLong_AsDouble(object);
      if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        fail(ErrorKind::kOverflow, said::op("literal"), "must fit float64",
             said::got("a larger integer"));
      }
      literal = wide;
      return true;
    }
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    if (live_witnesses > 0) note_written(value);
    literal = static_cast<int64_t>(value);
    return true;
  }
  if (is_size(object)) {
    literal = literal_to_calculate(object);
    return true;
  }
  return false;
}

Ref<RawTensor> wide_scalar(PyObject* object, DType dtype, Device device) {
  if (dtype != DType::kUInt64) {
    fail(ErrorKind::kOverflow, said::op("literal"), "must fit ", name_of(dtype),
         said::got("an integer beyond int64"), said::fix("use floats"));
  }
  const unsigned long long value = PyLong_AsUnsignedLongLong(object);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    fail(ErrorKind::kOverflow, said::op("literal"), "must fit uint64",
         said::got("one that does not"), said::fix("use floats"));
  }
  Ref<RawTensor> out = RawTensor::empty(DType::kUInt64, {});
  *out->as<uint64_t>() = value;
  return moved(*out, device);
}

Ref<Value> lift_operand(PyObject* object, Value& like) {
  Literal literal;
  if (to_literal(object, literal)) {
    // A constant carries no gradient: beside a tracer, a plain value will do.
    Value* under = &like;
    while (under->tag == Value::kTracer) under = static_cast<Tracer*>(under)->primal.get();
    if (is_wide_integer(object, literal) && under->tag == Value::kRaw) {
      const Spec spec = static_cast<RawTensor*>(under)->spec();
      if (kind_of(spec.dtype) < Kind::kFloating) {
        return wide_scalar(object, spec.dtype, spec.device);
      }
    }
    return lift_literal(literal, *under);
  }
  Spec spec;
  const Ref<RawTensor> data = as_raw(object, Py_None);
  return like.spec(spec) ? moved(*data, spec.device) : data;
}

}  // namespace tensorlike::bind
