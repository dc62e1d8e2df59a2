#include "bind/python.h"

namespace tensorlike::bind {

std::string shown(PyObject* text) {
  Py_ssize_t size = 0;
  if (const char* chars = PyUnicode_AsUTF8AndSize(text, &size)) return {chars, chars + size};
  PyErr_Clear();
  if (PyUnicode_Check(text) == 0) {
    PyErr_Format(PyExc_TypeError, "a name must be a string; got %.100s", Py_TYPE(text)->tp_name);
    throw PythonError();
  }
  Object escaped = own(PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace"));
  return {PyBytes_AS_STRING(escaped.get()), static_cast<size_t>(PyBytes_GET_SIZE(escaped.get()))};
}

Object find_attribute(PyObject* object, PyObject* name) {
  Object found = Object::steal(PyObject_GetAttr(object, name));
  if (found) return found;
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonError();
  PyErr_Clear();
  return found;
}

Object find_attribute(PyObject* object, const char* name) {
  return find_attribute(object, own(PyUnicode_InternFromString(name)).get());
}

}  // namespace tensorlike::bind
