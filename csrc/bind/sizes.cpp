// Sizes that are not known, as Python sees them: what stands for one is never shown as a number.
#include "program/sizes.h"

#include "base/place.h"
#include "bind/programs.h"

namespace tensorlike::bind {
namespace {

PyTypeObject* size_class = nullptr;  // set from Python

PyObject* set_size_class(PyObject*, PyObject* cls) {
  size_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
  Py_RETURN_NONE;
}

// compare_sizes(a, b, how): what the witnesses say; the program remembers that it was asked.
PyObject* compare_sizes(PyObject*, PyObject* args) {
  long long a = 0, b = 0;
  const char* how = nullptr;
  if (PyArg_ParseTuple(args, "LLs", &a, &b, &how) == 0) return nullptr;
  return guarded([&] {
    Program* program = program_of(a);
    if (program == nullptr) program = program_of(b);
    if (program == nullptr) {
      fail(ErrorKind::kShape, said::op("Size"), "the size must be of a program that there is",
           said::got("one whose program is gone, or that was made by divisions"));
    }
    return PyBool_FromLong(program->compare(a, b, how, place_of_user()));
  });
}

PyMethodDef module_methods[] = {
    {"compare_sizes", compare_sizes, METH_VARARGS, "What is known of two sizes."},
    {"set_size_class", as_method(set_size_class), METH_O, "Says what unknown sizes are."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* from_witness(const Witness& witness) {
  if (witness.is_known()) return PyLong_FromLongLong(witness.first);
  return checked(PyObject_CallFunction(reinterpret_cast<PyObject*>(size_class), "LL",
                                       static_cast<long long>(witness.first),
                                       static_cast<long long>(witness.second)));
}

bool is_size(PyObject* object) { return Py_TYPE(object) == size_class; }

Literal literal_of_size(PyObject* object) {
  const int64_t number = number_of_size(object);
  Object is_float = own(PyObject_GetAttrString(object, "is_float"));
  if (is_float.get() == Py_True) return static_cast<double>(number);
  return number;
}

int64_t number_of_size(PyObject* object) {
  Object first = own(PyObject_GetAttrString(object, "first"));
  const long long number = PyLong_AsLongLong(first.get());
  if (number == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return number;
}

PyObject* from_number(int64_t number) {
  const Program* program = live_witnesses > 0 ? program_of(number) : nullptr;
  const auto size = program != nullptr ? program->witness_of(number) : std::nullopt;
  return size ? from_witness(*size) : PyLong_FromLongLong(number);
}

PyObject* said_shape(Value& value) {
  if (live_witnesses == 0) return nullptr;
  Value* inner = &value;
  while (inner->tag == Value::kTracer) inner = static_cast<Tracer*>(inner)->primal.get();
  if (inner->tag != Value::kForeign) return nullptr;
  return checked(PyObject_GetAttrString(static_cast<ForeignValue*>(inner)->object(), "shape"));
}

PyObject* from_dims(const Dims& shape) {
  Object out = own(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(shape[i])));
  }
  return out.release();
}

void add_sizes(PyObject* module) { check(PyModule_AddFunctions(module, module_methods)); }

}  // namespace tensorlike::bind
