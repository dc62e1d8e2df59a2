#include "kernels/family_tables.h"

#include "base/isa.h"

// Every function that fills one of the tables.
#define TL_PARTS(ISA) \
  TL_PART(ffts, ISA)  \
  TL_PART(random, ISA)

namespace tensorlike {

#define TL_PART(name, ISA) void fill_##name##_##ISA(FamilyTables&);
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

#define TL_PART(name, ISA) fill_##name##_##ISA(tables);

FamilyTables make_tables() {
  FamilyTables tables;
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
  return tables;
}

#undef TL_PART

}  // namespace

const FamilyTables& family_tables() {
  static const FamilyTables* tables = new FamilyTables(make_tables());
  return *tables;
}

}  // namespace tensorlike
