// The kernels of the CPU by the names that declarations use. A family of ops lists its own, one
// table per file: <family>_kernels().
#pragma once

#include "op/families.h"

#define TL_FAMILIES(FAMILY) \
  FAMILY(layout)            \
  FAMILY(matmul)            \
  FAMILY(gather)            \
  FAMILY(scatter)           \
  FAMILY(mask)              \
  FAMILY(pad)               \
  FAMILY(row)               \
  FAMILY(attention)         \
  FAMILY(recurrent)         \
  FAMILY(alignment)         \
  FAMILY(convolution)       \
  FAMILY(pooling)           \
  FAMILY(scan)              \
  FAMILY(search)            \
  FAMILY(sorting)           \
  FAMILY(fft)               \
  FAMILY(random)            \
  FAMILY(linear_solver)     \
  FAMILY(spectral)          \
  FAMILY(determinant)       \
  FAMILY(matrix_exp)

namespace tensorlike {

#define TL_FAMILY(family) RuleTable<KernelRule> family##_kernels();
TL_FAMILIES(TL_FAMILY)
#undef TL_FAMILY

}  // namespace tensorlike
