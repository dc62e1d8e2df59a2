// Steps on which no result and no state depends.
#include <algorithm>

#include "program/passes.h"

namespace tensorlike {

int remove_dead_code(Graph& graph, OptLevel) {
  const std::vector<bool> is_live = graph.live_steps();
  graph.keep(is_live);
  return static_cast<int>(std::count(is_live.begin(), is_live.end(), false));
}

}  // namespace tensorlike
