#include <mutex>

#include "base/philox.h"
#include "program/drawn_op.h"

namespace tensorlike {
namespace {

constexpr uint64_t kWord = 0xFFFFFFFFU;
constexpr uint32_t kNoAttempt = 0xFFFFFFFFU;  // where others count attempts, of which they make few
enum Purpose : uint32_t { kMore = 2, kSeed = 3 };

// Draws under one key, in the order in which they are taken: as imperative/random.py has it.
struct Stream {
  std::mutex mutex;
  uint64_t key = 0, taken = 0;
};
Stream& stream() {
  static Stream& own = *new Stream;
  return own;
}

Draw take(bool is_key_alone) {
  if (next_draw != nullptr) return next_draw(is_key_alone);
  const std::lock_guard lock(stream().mutex);
  const uint64_t key = stream().key, number = stream().taken++;
  if (is_key_alone) return {static_cast<int64_t>(derived_key(key, number, kSeed)), 0};
  const uint64_t own = number > kWord ? derived_key(key, number >> 32, kMore) : key;
  return {static_cast<int64_t>(own), static_cast<int64_t>(number & kWord)};
}

// Where an op that draws says which draw it is: by `key` and `counter`, or by `seed` alone. -1: not
// at all.
struct Places {
  int key, counter;
};
Places places_of(const OpClass& cls) {
  const int seed = cls.attr_index("seed");
  return {seed >= 0 ? seed : cls.attr_index("key"), cls.attr_index("counter")};
}

}  // namespace

uint64_t derived_key(uint64_t key, uint64_t data, uint32_t purpose) {
  const PhiloxWords made = philox(key, data, kNoAttempt, purpose);
  return uint64_t{made.word[1]} << 32 | made.word[0];
}

void seed_draws(uint64_t seed) {
  const std::lock_guard lock(stream().mutex);
  stream().key = seed;
  stream().taken = 0;
}

Ref<const Op> Draws::anew(Ref<const Op> op) {
  if (recorded_.empty() || !is_random(*op)) return op;
  const Places places = places_of(op->cls);
  if (places.key < 0) return op;
  const auto whole = [&](int attr) {
    return std::get<int64_t>(op->attrs[static_cast<size_t>(attr)]);
  };
  const bool is_key_alone = places.counter < 0;
  const std::pair<Draw, bool> recorded{
      {whole(places.key), is_key_alone ? 0 : whole(places.counter)}, is_key_alone};
  if (recorded_.count(recorded) == 0) return op;
  const auto [at, is_new] = taken_.try_emplace(recorded);
  if (is_new) at->second = take(is_key_alone);
  return with_draw(*op, at->second);
}

Ref<Op> with_draw(const Op& op, const Draw& draw) {
  const Places places = places_of(op.cls);
  Ref<Op> made = make_ref<Op>(op.cls);
  made->attrs = op.attrs;
  made->attrs[static_cast<size_t>(places.key)] = draw.first;
  if (places.counter >= 0) made->attrs[static_cast<size_t>(places.counter)] = draw.second;
  return made;
}

}  // namespace tensorlike
