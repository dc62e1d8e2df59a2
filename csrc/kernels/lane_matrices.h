// Factors and solutions of many small matrices at once: one matrix in each lane of a vector, so
// that all take the same steps. Of a few matrices each is treated alone, by the same steps.
#pragma once

#include <cstdint>

#include "base/complex.h"
#include "base/isa.h"

namespace tensorlike {

// An operand of a block of matrices: element (r, c) of matrix i is at[i][r * row + c * column].
template <class T>
struct LaneOperand {
  const T* const* at = nullptr;
  int64_t row = 0, column = 0;
};
// The same of results, whose matrices lie `matrix` elements apart.
template <class T>
struct LaneResult {
  T* data = nullptr;
  int64_t matrix = 0, row = 0, column = 0;
};

// Of blocks of `count` matrices, up to `lanes`. What they give back says of which matrices
// something holds, as bits.
template <class T>
struct LaneKernels {
  static constexpr int64_t kMostSide = 24;
  using Bits = uint32_t;

  int64_t lanes = 0;
  // Up to which sides lanes pay: of factors and solutions, and of what is found by rotations.
  int64_t most_side = 0, most_turned = 0;

  // The factors of the Hermitian parts. Gives which are not positive definite, and in `infinite`
  // which parts are not finite.
  Bits (*cholesky)(const LaneOperand<T>& x, int64_t count, int64_t n, bool is_upper, T* to,
                   Bits& infinite) = nullptr;
  // Solutions of a x = b, where b has k columns; without a `b` the inverses. Gives which a are
  // singular.
  Bits (*solve)(const LaneOperand<T>& a, const LaneOperand<T>& b, int64_t count, int64_t n,
                int64_t k, T* to) = nullptr;
  // Gives which determinants have to be found with more care: some product on the way to them is no
  // normal number.
  Bits (*determinant)(const LaneOperand<T>& x, int64_t count, int64_t n, T* to) = nullptr;
  // Solutions of triangles. Gives which have a 0 on the diagonal.
  Bits (*solve_triangular)(const LaneOperand<T>& a, const LaneOperand<T>& b, int64_t count,
                           int64_t n, int64_t k, bool is_lower, bool is_unit,
                           const LaneResult<T>& to) = nullptr;
  // q (m, width) and r (width, n). Gives which have to be found with more care, as squares of their
  // elements may be no normal numbers.
  Bits (*qr)(const LaneOperand<T>& x, int64_t count, int64_t m, int64_t n, int64_t width, T* q,
             T* r) = nullptr;
  // The eigenvalues of the Hermitian parts, rising, and the singular values, falling. As `qr` and,
  // in `infinite`, as `cholesky`.
  Bits (*eigenvalues)(const LaneOperand<T>& x, int64_t count, int64_t n, T* to,
                      Bits& infinite) = nullptr;
  Bits (*singular_values)(const LaneOperand<T>& x, int64_t count, int64_t m, int64_t n, T* to,
                          Bits& infinite) = nullptr;
};

struct LaneTable {
  LaneKernels<float> floats;
  LaneKernels<double> doubles;
  // Without QR and what is found by rotations.
  LaneKernels<Complex<float>> complex_floats;
  LaneKernels<Complex<double>> complex_doubles;
};

namespace detail {
// One for each level.
const LaneTable& lane_table_v2();
const LaneTable& lane_table_v3();
const LaneTable& lane_table_v4();
}  // namespace detail

// Those of this process's level.
const LaneTable& lane_table();

}  // namespace tensorlike
