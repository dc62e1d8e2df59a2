// Exception classes, and the translation of the core's errors into them.
#include "bind/errors.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "base/pool.h"
#include "bind/objects.h"
#include "op/registry.h"

namespace tensorlike::bind {
namespace {

PyObject* classes[16] = {};
PyObject* root = nullptr;

PyObject* to_unicode(const std::string& text) {
  return checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

PyObject* make(PyObject* module, const char* name, PyObject* first, PyObject* second,
               const char* doc) {
  Object bases = own(second == nullptr ? PyTuple_Pack(1, first) : PyTuple_Pack(2, first, second));
  const std::string full = text("tensorlike.", name);
  PyObject* made = checked(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.get(), nullptr));
  check(PyModule_AddObjectRef(module, name, made));
  return made;
}

// The attributes of an error in Python; what must hold is its argument.
constexpr std::pair<const char*, std::string ErrorFields::*> kFields[] = {
    {"op", &ErrorFields::op},
    {"part", &ErrorFields::part},
    {"argument", &ErrorFields::argument},
    {"got", &ErrorFields::got},
    {"fix", &ErrorFields::fix},
    {"slots", &ErrorFields::slots},
    {"place", &ErrorFields::place},
    {"missing", &ErrorFields::missing},
};

PyTypeObject* plain_exception() { return reinterpret_cast<PyTypeObject*>(PyExc_Exception); }

// TensorlikeError(*args, **fields)
int error_init(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded_status([&] {
    check(plain_exception()->tp_init(self, args, nullptr));
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; kwargs != nullptr && PyDict_Next(kwargs, &at, &name, &value) != 0;) {
      const bool is_known = std::any_of(std::begin(kFields), std::end(kFields), [&](auto& field) {
        return PyUnicode_CompareWithASCIIString(name, field.first) == 0;
      });
      if (!is_known) {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R",
                     Py_TYPE(self)->tp_name, name);
        throw PythonError();
      }
      check(PyObject_SetAttr(self, name, value));
    }
  });
}

// The line is made of the fields when it is read, so that who learns more of an error adds a field.
PyObject* error_str(PyObject* self) {
  return guarded([&]() -> PyObject* {
    ErrorFields fields;
    bool is_bare = true;
    for (const auto& [name, member] : kFields) {
      Object value = own(PyObject_GetAttrString(self, name));
      if (value.get() == Py_None) continue;
      fields.*member = shown(own(PyObject_Str(value.get())).get());
      is_bare = false;
    }
    Object must = own(plain_exception()->tp_str(self));
    if (is_bare) return must.release();
    fields.must = shown(must.get());
    return to_unicode(fields.line());
  });
}

PyObject* error_repr(PyObject* self) {
  return guarded([&] {
    Object line = own(error_str(self));
    Object name =
        own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__name__"));
    return checked(PyUnicode_FromFormat("%U(%R)", name.get(), line.get()));
  });
}

PyType_Slot error_slots[] = {
    {Py_tp_doc, const_cast<char*>("The root of what tensorlike raises; each class below is a "
                                  "built-in one too.\n\nop, argument, got, fix and place say what "
                                  "is known of it; None is what is not.")},
    {Py_tp_init, as_slot(error_init)},
    {Py_tp_str, as_slot(error_str)},
    {Py_tp_repr, as_slot(error_repr)},
    {0, nullptr},
};
PyType_Spec error_spec = {"tensorlike.TensorlikeError", 0, 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, error_slots};

PyObject* make_root(PyObject* module) {
  Object bases = own(PyTuple_Pack(1, PyExc_Exception));
  PyObject* made = checked(PyType_FromSpecWithBases(&error_spec, bases.get()));
  for (const auto& field : kFields) check(PyObject_SetAttrString(made, field.first, Py_None));
  check(PyModule_AddObjectRef(module, "TensorlikeError", made));
  return made;
}

// Sets the Python error of one of the core's.
void set_error_of(const Error& error) noexcept {
  guarded_status([&] {
    PyObject* cls = class_of(error.kind());
    if (PyObject_IsSubclass(cls, root) != 1) {
      PyErr_SetString(cls, error.what());
      return;
    }
    Object must = own(to_unicode(error.fields().must));
    Object made = own(PyObject_CallOneArg(cls, must.get()));
    for (const auto& [name, member] : kFields) {
      const std::string& text = error.fields().*member;
      if (text.empty()) continue;
      Object value = own(to_unicode(text));
      check(PyObject_SetAttrString(made.get(), name, value.get()));
    }
    PyErr_SetObject(cls, made.get());
  });
}

// A name as ops and calls have in common: MatMul and matmul are one.
std::string spelt(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

PyObject*& class_of(ErrorKind kind) { return classes[static_cast<int>(kind)]; }

void add_errors(PyObject* module) {
  root = make_root(module);
  class_of(ErrorKind::kShape) = make(module, "ShapeError", root, PyExc_ValueError,
                                     "Shapes do not fit one another or the op.");
  class_of(ErrorKind::kDType) =
      make(module, "DTypeError", root, PyExc_TypeError, "A dtype is outside what the op accepts.");
  class_of(ErrorKind::kDevice) = make(module, "DeviceError", root, PyExc_ValueError,
                                      "Tensors live on different devices, or on none we have.");
  class_of(ErrorKind::kIndex) =
      make(module, "IndexRangeError", root, PyExc_IndexError, "An index or axis is out of range.");
  class_of(ErrorKind::kAttribute) = make(module, "ParameterError", root, PyExc_TypeError,
                                         "An op's parameter is missing, unknown or of the wrong "
                                         "type.");
  class_of(ErrorKind::kArgument) = make(module, "ArgumentError", root, PyExc_ValueError,
                                        "An argument has a value that the call does not take.");
  PyObject* both = checked(PyTuple_Pack(2, PyExc_TypeError, PyExc_NotImplementedError));
  Object bases = own(PyTuple_Pack(3, root, PyExc_TypeError, PyExc_NotImplementedError));
  Py_DECREF(both);
  PyObject* dispatch = checked(PyErr_NewExceptionWithDoc(
      "tensorlike.DispatchError", "No rule says what an op means on these tensor-likes.",
      bases.get(), nullptr));
  check(PyModule_AddObjectRef(module, "DispatchError", dispatch));
  class_of(ErrorKind::kDispatch) = dispatch;
  class_of(ErrorKind::kAmbiguity) =
      make(module, "AmbiguityError", dispatch, nullptr, "Two rules match equally well.");
  class_of(ErrorKind::kAutodiff) = make(module, "AutodiffError", root, PyExc_RuntimeError,
                                        "A gradient was asked for that does not exist.");
  class_of(ErrorKind::kMemory) = make(module, "OutOfMemoryError", root, PyExc_MemoryError,
                                      "Memory is exhausted, or the limit is reached.");
  class_of(ErrorKind::kOverflow) = make(module, "LiteralRangeError", root, PyExc_OverflowError,
                                        "A literal does not fit the dtype that it meets.");
  class_of(ErrorKind::kMatrix) =
      make(module, "MatrixError", root, PyExc_ValueError,
           "A matrix is not what an op needs it to be: invertible, positive definite, finite.");
  class_of(ErrorKind::kDeclaration) = Py_NewRef(PyExc_ValueError);
}

void fail_as(const std::string& call, const Error& error) {
  // Which rules an op has is said of the op.
  const bool is_of_op =
      error.kind() == ErrorKind::kDispatch || error.kind() == ErrorKind::kAmbiguity;
  const std::string& subject = error.fields().op;
  const bool is_known =
      registry().find_op(subject) != nullptr || registry().find_function(subject) != nullptr;
  if (is_of_op || !is_known || spelt(subject) == spelt(call)) throw error;
  ErrorFields fields = error.fields();
  fields.op = call;
  throw Error(error.kind(), std::move(fields));
}

void fail_builtin(PyObject* cls, const char* op, const std::string& words) {
  Object line = own(to_unicode(text(op, ": ", words)));
  Object made = own(PyObject_CallOneArg(cls, line.get()));
  check(PyObject_SetAttrString(made.get(), "op", own(to_unicode(op)).get()));
  check(PyObject_SetAttrString(made.get(), "words", own(to_unicode(words)).get()));
  PyErr_SetObject(cls, made.get());
  throw PythonError();
}

void set_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_SystemError, "an error was lost");
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const Error& error) {
    set_error_of(error);
  } catch (const Interrupted&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(class_of(ErrorKind::kMemory), "memory is exhausted.");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an unknown C++ exception");
  }
}

}  // namespace tensorlike::bind
