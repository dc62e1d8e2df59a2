// The matrix multiply kernels of one instruction set level. The build compiles this file once per
// level, with -DTL_ISA=v2, v3 or v4 and the -march flag to match.
#include "kernels/gemm_isa.h"

#ifndef TL_ISA
#error "TL_ISA must name the level that this file is compiled for: v2, v3 or v4"
#endif

#define TL_JOIN_NOW(x, y) x##y
#define TL_JOIN(x, y) TL_JOIN_NOW(x, y)

namespace tensorlike::detail {

namespace {

// A level may have them where this processor of the level does not.
GemmKernels<BFloat16Pair> pair_kernels_here() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512bf16")) return {};
#endif
  return pair_kernels();
}

}  // namespace

const GemmTable& TL_JOIN(gemm_table_, TL_ISA)() {
  static const GemmTable kTable{gemm_kernels<float>(),
                                gemm_kernels<double>(),
                                gemm_kernels<uint32_t>(),
                                gemm_kernels<uint64_t>(),
                                half_kernels<Float16>(),
                                half_kernels<BFloat16>(),
                                pair_kernels_here(),
                                pair,
                                dot_pairs};
  return kTable;
}

}  // namespace tensorlike::detail

#undef TL_JOIN
#undef TL_JOIN_NOW
