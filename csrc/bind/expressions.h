// For operators and functional calls: only while one is applied is it asked where that is.
#pragma once

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

}  // namespace tensorlike::bind
