// Branch-free scalar math functions, vm::exp(x), vm::pow(x, y), ..., for float and double, which
// gcc vectorises inside plain loops (-O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast).
// Ours and not libm's, because calls do not vectorise, and libm's bits differ between systems. At
// most 1 to 2 ulp for most and 4 for all (tests/csrc/test_math.cpp has the bounds), and right for
// NaN, infinities, signed zeros and denormals. In an anonymous namespace, because the header is
// compiled once per instruction set: merged copies would leak AVX-512 into the baseline.
//
// Slow paths. vm::sin, vm::cos, vm::tan (huge |x|) and vm::remainder (huge quotient) are wrong for
// rare arguments, so that the common loop vectorises. For each of these names there are
// name_needs_slow(x...) (vectorises) and name_slow(x...) (scalar, for any argument). The declared
// functions use them with scalar.h's Watch; a block of which any argument needs the slow form is
// done again element by element.
#pragma once

#include "kernels/math_erf.h"
#include "kernels/math_exp.h"
#include "kernels/math_gamma.h"
#include "kernels/math_log.h"
#include "kernels/math_pow.h"
#include "kernels/math_trig.h"

#undef TL_INLINE
