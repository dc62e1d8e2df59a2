#include "kernels/kernel_table.h"

#include <bit>

#include "base/isa.h"

// Every function that fills a part of the table: one per declaration file, and the fixed ones, of
// which the last stand in for what declarations gave.
#define TL_PARTS(ISA)        \
  TL_PART(casts, ISA)        \
  TL_PART(indices, ISA)      \
  TL_PART(moves, ISA)        \
  TL_PART(streams, ISA)      \
  TL_PART(reductions, ISA)   \
  TL_PART(rows, ISA)         \
  TL_PART(columns, ISA)      \
  TL_PART(norms, ISA)        \
  TL_PART(dropout, ISA)      \
  TL_PART(ramps, ISA)        \
  TL_PART(attention, ISA)    \
  TL_PART(convolutions, ISA) \
  TL_PART(winograd, ISA)     \
  TL_PART(depthwise, ISA)    \
  TL_PART(blocks, ISA)       \
  TL_PART(pools, ISA)        \
  TL_PART(args, ISA)         \
  TL_PART(sorts, ISA)        \
  TL_PART(keys, ISA)         \
  TL_PART(scans, ISA)        \
  TL_PART(alignments, ISA)   \
  TL_PART(moments, ISA)      \
  TL_PART(log_sum_exp, ISA)  \
  TL_PART(ffts, ISA)         \
  TL_PART(random, ISA)       \
  TL_STEMS(ISA)              \
  TL_PART(divisions, ISA)

#include "stems.inc"

namespace tensorlike {

#define TL_PART(name, ISA) void fill_##name##_##ISA(KernelTable&);
#if defined(TL_HAS_v2)
TL_PARTS(v2)
#endif
#if defined(TL_HAS_v3)
TL_PARTS(v3)
#endif
#if defined(TL_HAS_v4)
TL_PARTS(v4)
#endif
#undef TL_PART

namespace {

#define TL_PART(name, ISA) fill_##name##_##ISA(table);

KernelTable make_table() {
  KernelTable table;
  switch (isa()) {
#if defined(TL_HAS_v2)
    case Isa::kV2:
      TL_PARTS(v2)
      break;
#endif
#if defined(TL_HAS_v3)
    case Isa::kV3:
      TL_PARTS(v3)
      break;
#endif
#if defined(TL_HAS_v4)
    case Isa::kV4:
      TL_PARTS(v4)
      break;
#endif
    default:
      break;
  }
  // Compilers make no vectors of the loop beside an exponent: that is repeated.
  if (const auto pow = table.numbers.find("pow"); pow != table.numbers.end()) {
    pow->second[DType::kFloat64].beside[1] = nullptr;
  }
  return table;
}

#undef TL_PART

}  // namespace

const KernelTable& kernel_table() {
  static const KernelTable* table = new KernelTable(make_table());
  return *table;
}

const MoveKernels& move_kernels(int64_t size) {
  return kernel_table().moves[std::countr_zero(static_cast<uint64_t>(size))];
}

}  // namespace tensorlike
