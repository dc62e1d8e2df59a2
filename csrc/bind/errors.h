// The exception classes by kind.
#pragma once

#include <string>

#include "base/error.h"
#include "bind/python.h"

namespace tensorlike::bind {

PyObject*& class_of(ErrorKind kind);

// Throws the error in the name of a functional call, where it is in that of an op or another call.
[[noreturn]] void fail_as(const std::string& call, const Error& error);

// Throws a built-in error of Python in the name of a call.
[[noreturn]] void fail_builtin(PyObject* cls, const char* op, const std::string& words);

// Runs a functional call: what is wrong is told in its name, whichever op inside of it noticed.
template <class F>
PyObject* guarded_call(const std::string& call, F&& f) noexcept {
  return guarded([&]() -> PyObject* {
    try {
      return f();
    } catch (const Error& error) {
      fail_as(call, error);
    }
  });
}

}  // namespace tensorlike::bind
