// For operators: only while one is applied is it asked what becomes of its result.
#pragma once

namespace tensorlike::bind {

// How many are; under the GIL.
inline int operators_applied = 0;

class OperatorApplied {
 public:
  OperatorApplied() { ++operators_applied; }
  ~OperatorApplied() { --operators_applied; }
  OperatorApplied(const OperatorApplied&) = delete;
  OperatorApplied& operator=(const OperatorApplied&) = delete;
};

}  // namespace tensorlike::bind
