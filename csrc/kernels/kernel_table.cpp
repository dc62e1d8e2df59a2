#include "kernels/kernel_table.h"

#include "base/isa.h"

// Every function that fills a part of the table: one per declaration file, and the fixed ones.
#define TL_PARTS(ISA) TL_PART(casts, ISA) TL_PART(reductions, ISA) TL_PART(rows, ISA) TL_STEMS(ISA)

#include "stems.inc"

namespace tensorlike {

#if defined(__x86_64__)
#define TL_PART(name, ISA) void fill_##name##_##ISA(KernelTable&);
TL_PARTS(v2)
TL_PARTS(v3)
TL_PARTS(v4)
#undef TL_PART
#else
#define TL_PART(name, ISA) void fill_##name##_##ISA(KernelTable&);
TL_PARTS(v2)
#undef TL_PART
#endif

namespace {

#define TL_PART(name, ISA) fill_##name##_##ISA(table);

KernelTable make_table() {
  KernelTable table;
#if defined(__x86_64__)
  switch (isa()) {
    case Isa::kV4:
      TL_PARTS(v4)
      return table;
    case Isa::kV3:
      TL_PARTS(v3)
      return table;
    case Isa::kV2:
      break;
  }
#endif
  TL_PARTS(v2)
  return table;
}

#undef TL_PART

}  // namespace

const KernelTable& kernel_table() {
  static const KernelTable* table = new KernelTable(make_table());
  return *table;
}

}  // namespace tensorlike
