// The generator of all random numbers, Philox4x32-10: Salmon et al. 2011, "Parallel random numbers:
// as easy as 1, 2, 3". A bijection of 128-bit counters under a 64-bit key, no state: whoever knows
// the counter knows its four words. Our counters are (block low, block high, attempt, draw).
// In an anonymous namespace, because it is compiled once per ISA level.
#pragma once

#include <cstdint>

namespace tensorlike {
namespace {

struct PhiloxWords {
  uint32_t word[4];
};

[[gnu::always_inline]] inline PhiloxWords philox(uint64_t key, uint64_t block, uint32_t attempt,
                                                 uint32_t draw) {
  uint32_t c0 = static_cast<uint32_t>(block);
  uint32_t c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = attempt;
  uint32_t c3 = draw;
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53U} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace
}  // namespace tensorlike
