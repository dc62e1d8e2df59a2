// Functions of complex numbers. They are compiled once, for all ISA levels, and follow the C
// library in every special case (C17, annex G).
#pragma once

#include "base/complex.h"

// Those of one argument.
// clang-format off
#define TL_COMPLEX_FUNCTIONS(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log1p) X(log2) X(log10) X(sqrt) X(rsqrt) X(sin) X(cos) \
  X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)
// clang-format on

namespace tensorlike::cm {

#define TL_DECLARE(name)                 \
  Complex<float> name(Complex<float> z); \
  Complex<double> name(Complex<double> z);
TL_COMPLEX_FUNCTIONS(TL_DECLARE)
#undef TL_DECLARE

Complex<float> pow(Complex<float> x, Complex<float> y);
Complex<double> pow(Complex<double> x, Complex<double> y);

}  // namespace tensorlike::cm
