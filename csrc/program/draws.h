// Random numbers of programs that run many times: each run draws anew.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "op/op.h"

namespace tensorlike {

// The key of a generator, and the number of a draw under it.
using Draw = std::pair<int64_t, int64_t>;

// Draws, and whether each was a key for one draw alone.
using DrawSet = std::set<std::pair<Draw, bool>>;

// The draws of one run. Ops that were recorded with the same draw, as a forward op and its gradient
// are, get the same one again.
class Draws {
 public:
  static bool is_random(const Op& op) { return op.cls.spec.effects == "random"; }
  explicit Draws(const DrawSet& recorded) : recorded_(recorded) {}
  // The op with a draw of this run in the place of the one that it was recorded with, if that was
  // one of the process's stream.
  Ref<const Op> anew(Ref<const Op> op);

 private:
  const DrawSet& recorded_;
  std::map<std::pair<Draw, bool>, Draw> taken_;
};

// A key that has nothing to do with `key`, or with those of other data and purposes.
uint64_t derived_key(uint64_t key, uint64_t data, uint32_t purpose);

// Where the process's stream begins anew, for who has no other: the draws that a seed gives.
void seed_draws(uint64_t seed);

// The next draw: a key and a number, or a key that is for one draw alone. For who embeds the core,
// which may have a stream of its own.
inline Draw (*next_draw)(bool is_key_alone) = nullptr;

}  // namespace tensorlike
