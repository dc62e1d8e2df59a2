// What the tests of the tape's C++ API share.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "expect.h"
#include "program/functions.h"

namespace tensorlike::tape {

using tensorlike::expect;
using tensorlike::failures;

inline void expect_near(double got, double wanted, double tolerance, const std::string& what) {
  if (std::fabs(got - wanted) <= tolerance) return;
  std::printf("FAILED: %s: got %.9g, wanted %.9g\n", what.c_str(), got, wanted);
  ++failures;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline void expect_error(const std::string& got, const std::string& wanted,
                         const std::string& what) {
  expect(got == wanted, what + "\n  got:    " + got + "\n  wanted: " + wanted);
}

inline VariableHandle variable(const char* name, const std::vector<float>& values, Dims shape) {
  return VariableHandle(new Variable(name, make_tensor(values, std::move(shape))));
}

inline VariableHandle ones(const char* name, int64_t rows, int64_t columns) {
  return variable(name, std::vector<float>(static_cast<size_t>(rows * columns), 1.0F),
                  {rows, columns});
}

inline int report() {
  if (failures == 0) std::printf("all tests passed\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace tensorlike::tape
