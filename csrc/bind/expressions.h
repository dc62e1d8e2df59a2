// For operators and functional calls: only while one is applied is it asked where that is.
#pragma once

#include "bind/python.h"

namespace tensorlike::bind {

// How many are; under the GIL.
inline int ops_applied = 0;

class OpApplied {
 public:
  OpApplied() { ++ops_applied; }
  ~OpApplied() { --ops_applied; }
  OpApplied(const OpApplied&) = delete;
  OpApplied& operator=(const OpApplied&) = delete;
};

// Whether it is `passed_on`, which gives what it is given, and says that an op will read that.
bool is_passing_on(PyObject* function);

}  // namespace tensorlike::bind
