// Functional calls whose op takes real numbers, and what such a call means of complex ones: a
// function of Python, which is run where the op has refused the dtype, so that no other call pays.
#include "bind/complex_forms.h"

#include "bind/errors.h"

namespace tensorlike::bind {
namespace {

// Names of calls and their functions; made once, kept for the life of the process.
PyObject* forms = nullptr;

PyObject* set_complex_form(PyObject*, PyObject* args) {
  PyObject* name = nullptr;
  PyObject* form = nullptr;
  if (PyArg_ParseTuple(args, "UO:set_complex_form", &name, &form) == 0) return nullptr;
  if (PyDict_SetItem(forms, name, form) != 0) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef complex_forms_functions[] = {
    {"set_complex_form", set_complex_form, METH_VARARGS, "What a call means of complex numbers."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* call_complex_form(const std::string& name, PyObject* const* args, size_t nargsf,
                            PyObject* kwnames) {
  PyObject* form = PyDict_GetItemString(forms, name.c_str());  // borrowed
  if (form == nullptr || PyErr_ExceptionMatches(class_of(ErrorKind::kDType)) == 0) return nullptr;
  PyObject *kind = nullptr, *error = nullptr, *trace = nullptr;
  PyErr_Fetch(&kind, &error, &trace);
  PyObject* result = PyObject_Vectorcall(form, args, nargsf, kwnames);
  if (result == Py_NotImplemented) {  // no complex number among the arguments
    Py_DECREF(result);
    PyErr_Restore(kind, error, trace);
    return nullptr;
  }
  Py_XDECREF(kind);
  Py_XDECREF(error);
  Py_XDECREF(trace);
  return result;
}

void add_complex_forms(PyObject* module) {
  if (forms == nullptr) forms = checked(PyDict_New());
  check(PyModule_AddFunctions(module, complex_forms_functions));
}

}  // namespace tensorlike::bind
