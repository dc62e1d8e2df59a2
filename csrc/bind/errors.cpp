// Exception classes, and the translation of the core's errors into them.
#include "bind/errors.h"

#include <pybind11/pybind11.h>

#include <cctype>
#include <new>

#include "base/pool.h"
#include "bind/objects.h"
#include "op/registry.h"

namespace tensorlike::bind {
namespace {

PyObject* classes[16] = {};
PyObject* root = nullptr;

PyObject* make(PyObject* module, const char* name, PyObject* first, PyObject* second,
               const char* doc) {
  Object bases = own(second == nullptr ? PyTuple_Pack(1, first) : PyTuple_Pack(2, first, second));
  const std::string full = text("tensorlike.", name);
  PyObject* made = checked(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.get(), nullptr));
  check(PyModule_AddObjectRef(module, name, made));
  return made;
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
  root = make(module, "TensorlikeError", PyExc_Exception, nullptr,
              "The root of what tensorlike raises; each class below is a built-in one too.");
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
  const std::string what = error.what();
  const size_t colon = what.find(": ");
  // Which rules an op has is said of the op.
  const bool is_of_op = error.kind() == ErrorKind::kDispatch ||
                        error.kind() == ErrorKind::kAmbiguity || colon == std::string::npos;
  if (is_of_op) throw error;
  const std::string subject = what.substr(0, colon);
  const bool is_known =
      registry().find_op(subject) != nullptr || registry().find_function(subject) != nullptr;
  const bool is_renamed = is_known && spelt(subject) != spelt(call);
  throw Error(error.kind(), is_renamed ? call + what.substr(colon) : what);
}

void set_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_SystemError, "an error was lost");
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const Error& error) {
    PyErr_SetString(class_of(error.kind()), error.what());
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
