// Calls that treat the first axes of what they read as examples, known before they run: elementwise
// ones, and reductions along the last axes. They run together, some rows at a time: what one makes
// is in the cache when the next reads it, and is never in memory as a whole.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "engine/known_chain.h"

namespace tensorlike {

struct KnownRows {
  // Slots are the operands, then what calls make, and last what is there for its shape alone.
  struct Call {
    // A tile program, which a reduction may end.
    KnownChain chain = {};
    // A reduction of what is in memory; null: it is a chain.
    Ref<const Op> op = {};
    std::vector<int> in = {}, out = {};
    int over = -1;  // the slot that has the shape which elements are made of
  };
  size_t operands = 0, made = 0;  // how many
  std::vector<Call> calls;
  std::vector<int> results;  // slots that are written; the others are gone when it is over
  std::vector<std::string> ops;
  std::string place;  // the user's line of the last
  // The first axis that is reduced by any call: rows are counted by those before it.
  size_t first_reduced = std::numeric_limits<size_t>::max();
};

// Runs it on values of these specs, one for each slot; the results. Nothing where it has to go
// another way, call by call: values of another kind, an engine in another mode, rows that are too
// few to be worth it or too long for the cache.
Values launch_rows(const KnownRows& rows, std::span<const Spec* const> specs, Args operands);

}  // namespace tensorlike
