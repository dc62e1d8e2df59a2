// Which loops a processor gets for rows that indices pick.
#include "kernels/picked_rows.h"

#include "kernels/levels.h"

namespace tensorlike {

namespace detail {
static TL_TABLE_BY_LEVEL(PickTable, pick_table)
}  // namespace detail

const PickTable& pick_table() {
  static const PickTable& table = detail::pick_table(isa());
  return table;
}

}  // namespace tensorlike
