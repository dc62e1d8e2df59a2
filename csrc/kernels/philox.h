// Many counters of the generator at once. In an anonymous namespace, as that is.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace tensorlike {
namespace {

constexpr int64_t kPhiloxWords = 4;
constexpr int64_t kPhiloxBlocks = 64;  // made together, lane by lane

// words[w][b] is word w of block first + b.
template <int64_t kBlocks>
void philox_blocks(uint64_t key, uint64_t first, uint32_t draw,
                   uint32_t (&words)[kPhiloxWords][kBlocks]) {
  for (int64_t b = 0; b < kBlocks; ++b) {
    const PhiloxWords made = philox(key, first + static_cast<uint64_t>(b), 0, draw);
    for (int64_t w = 0; w < kPhiloxWords; ++w) words[w][b] = made.word[w];
  }
}

}  // namespace
}  // namespace tensorlike
