// Which loops a processor gets for rows that indices pick.
#include "kernels/picked_rows.h"

namespace tensorlike {

static const PickTable& table_of(Isa level) {
  switch (level) {
#if defined(TL_HAS_v4)
    case Isa::kV4:
      return detail::pick_table_v4();
#endif
#if defined(TL_HAS_v3)
    case Isa::kV3:
      return detail::pick_table_v3();
#endif
#if defined(TL_HAS_v2)
    case Isa::kV2:
      return detail::pick_table_v2();
#endif
    default:
      return table_of(isa());
  }
}

const PickTable& pick_table() {
  static const PickTable& table = table_of(isa());
  return table;
}

}  // namespace tensorlike
