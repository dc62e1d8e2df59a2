// The tables of loops that template files fill: one for each ISA level that is built.
#pragma once

#include "base/isa.h"

#if defined(TL_HAS_v2)
#define TL_CASE_V2(table) \
  case Isa::kV2:          \
    return table##_v2();
#else
#define TL_CASE_V2(table)
#endif
#if defined(TL_HAS_v3)
#define TL_CASE_V3(table) \
  case Isa::kV3:          \
    return table##_v3();
#else
#define TL_CASE_V3(table)
#endif
#if defined(TL_HAS_v4)
#define TL_CASE_V4(table) \
  case Isa::kV4:          \
    return table##_v4();
#else
#define TL_CASE_V4(table)
#endif

// Defines table(Isa level); a level that is not built gets the table that this process runs with.
#define TL_TABLE_BY_LEVEL(Table, table)    \
  const Table& table(Isa level) {          \
    switch (level) {                       \
      TL_CASE_V2(table)                    \
      TL_CASE_V3(table)                    \
      TL_CASE_V4(table)                    \
      default:                             \
        return table(::tensorlike::isa()); \
    }                                      \
  }
