// The exception classes by kind.
#pragma once

#include "base/error.h"
#include "bind/python.h"

namespace tensorlike::bind {

PyObject*& class_of(ErrorKind kind);

}  // namespace tensorlike::bind
