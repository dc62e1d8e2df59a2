// Which loops a processor gets for small matrices.
#include "kernels/lane_matrices.h"

#include "kernels/levels.h"

namespace tensorlike {

namespace detail {
static TL_TABLE_BY_LEVEL(LaneTable, lane_table)
}  // namespace detail

const LaneTable& lane_table() {
  static const LaneTable& table = detail::lane_table(isa());
  return table;
}

}  // namespace tensorlike
