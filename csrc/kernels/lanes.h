// Lanes of a loop over floats that are joined at its end. Included once per ISA level, inside an
// anonymous namespace.
#pragma once

namespace tensorlike {
namespace {

// What the lanes give: the first half joined with the second, lane by lane, and so on until one is
// left. join(a, b) takes numbers, and vectors of them.
template <int kLanes, class T, class F>
[[gnu::always_inline]] inline T joined(T* lanes, F&& join) {
  constexpr int kHalf = kLanes / 2;
  if constexpr (kLanes == 1) {
    return lanes[0];
  } else if constexpr (kLanes == 2) {
    return join(lanes[0], lanes[1]);
  } else {
    typedef T Half __attribute__((vector_size(kHalf * sizeof(T))));
    Half low, high;
    __builtin_memcpy(&low, lanes, sizeof(Half));
    __builtin_memcpy(&high, lanes + kHalf, sizeof(Half));
    low = join(low, high);
    __builtin_memcpy(lanes, &low, sizeof(Half));
    return joined<kHalf>(lanes, join);
  }
}

}  // namespace
}  // namespace tensorlike
