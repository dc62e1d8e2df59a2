// Which loops a processor gets for small matrices.
#include "kernels/lane_matrices.h"

namespace tensorlike {

static const LaneTable& table_of(Isa level) {
  switch (level) {
#if defined(TL_HAS_v4)
    case Isa::kV4:
      return detail::lane_table_v4();
#endif
#if defined(TL_HAS_v3)
    case Isa::kV3:
      return detail::lane_table_v3();
#endif
#if defined(TL_HAS_v2)
    case Isa::kV2:
      return detail::lane_table_v2();
#endif
    default:
      return table_of(isa());
  }
}

const LaneTable& lane_table() {
  static const LaneTable& table = table_of(isa());
  return table;
}

}  // namespace tensorlike
