// The CPython API as this folder uses it: owned references, and the border where C++ exceptions
// become Python's.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <utility>

#include "base/error.h"

namespace tensorlike::bind {

// An owned reference.
class Object {
 public:
  Object() = default;
  static Object steal(PyObject* pointer) {
    Object object;
    object.pointer_ = pointer;
    return object;
  }
  static Object share(PyObject* pointer) { return steal(Py_XNewRef(pointer)); }
  Object(const Object& other) : pointer_(Py_XNewRef(other.pointer_)) {}
  Object(Object&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Object() { Py_XDECREF(pointer_); }
  PyObject* get() const { return pointer_; }
  PyObject* release() { return std::exchange(pointer_, nullptr); }
  explicit operator bool() const { return pointer_ != nullptr; }

 private:
  PyObject* pointer_ = nullptr;
};

// Python's own error is set: unwinds to the border.
struct PythonError : std::exception {};

inline PyObject* checked(PyObject* pointer) {
  if (pointer == nullptr) throw PythonError();
  return pointer;
}
inline Object own(PyObject* pointer) { return Object::steal(checked(pointer)); }
inline void check(int result) {
  if (result < 0) throw PythonError();
}

// Text in UTF-8; what that cannot hold (half of a surrogate pair) is escaped, so that names and
// places can always be told.
std::string shown(PyObject* text);
// An attribute, or null where the object has none; whatever else reading it raises goes on.
Object find_attribute(PyObject* object, PyObject* name);
Object find_attribute(PyObject* object, const char* name);

// Sets the Python error for the C++ exception that is being handled.
void set_error() noexcept;

// Runs f, turning exceptions into a null (or -1) return with the error set.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_error();
    return nullptr;
  }
}
template <class F>
int guarded_status(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (...) {
    set_error();
    return -1;
  }
}

// Runs what takes the GIL. When the interpreter ends, Python ends the threads that wait for it by
// unwinding their stacks, which our frames do not allow, as destructors wait for it: such a thread
// sleeps until the process is gone, as it does from Python 3.14 on.
template <class F>
auto outlive_python(F&& take) {
  try {
    return take();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}
inline PyGILState_STATE ensure_gil() {
  return outlive_python([] { return PyGILState_Ensure(); });
}

// Takes the GIL where the core may call from anywhere.
class Gil {
 public:
  Gil() : state_(ensure_gil()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Casts to the one signature that method and slot tables take, whatever the real one is.
template <class F>
PyCFunction as_method(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}
template <class F>
void* as_slot(F* f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace tensorlike::bind
