// Numbers of Python beside float16 that it does not hold.
#pragma once

#include <cmath>

#include "bind/objects.h"

namespace tensorlike::bind {

bool size_exceeds_half(PyObject* object);  // one that is not known

// Whether it is a number that float16 does not hold.
inline bool exceeds_half(PyObject* object) {
  constexpr int64_t kFirst = 65520;
  if (PyFloat_CheckExact(object)) {
    const double size = std::fabs(PyFloat_AS_DOUBLE(object));
    return size >= kFirst && std::isfinite(size);
  }
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow != 0 || value >= kFirst || value <= -kFirst;
  }
  return !is_tensor_like(object) && size_exceeds_half(object);
}

// A scalar function in float32, where float16 and such a number meet in it among values of the
// core's own; nothing elsewhere, and where a function only chooses, which comes to the same.
Values applied_beyond_half(const Op& op, PyObject* const* args, size_t n);

}  // namespace tensorlike::bind
