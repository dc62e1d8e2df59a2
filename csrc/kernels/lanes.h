// Lanes of a loop over floats that are joined at its end. Included once per ISA level, inside an
// anonymous namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tensorlike {
namespace {

// Integers as wide as the elements of a vector, as comparisons give them.
template <class V>
using LaneNumbers = decltype(V{} < V{});

template <class V>
inline constexpr int kLanesOf = static_cast<int>(sizeof(V) / sizeof(std::declval<V>()[0]));

// 0, 1, 2, ...
template <class V>
[[gnu::always_inline]] inline LaneNumbers<V> lane_numbers() {
  return []<int... kLane>(std::integer_sequence<int, kLane...>) {
    return LaneNumbers<V>{kLane...};
  }(std::make_integer_sequence<int, kLanesOf<V>>{});
}

// What all lanes of a vector give, in each of them; join(a, b) takes vectors.
template <class V, class F>
[[gnu::always_inline]] inline V join_lanes(V lanes, F&& join) {
#pragma GCC unroll 8
  for (int half = kLanesOf<V> / 2; half > 0; half /= 2) {
    using Number = std::remove_reference_t<decltype(LaneNumbers<V>{}[0])>;
    lanes = join(lanes, __builtin_shuffle(lanes, lane_numbers<V>() ^ static_cast<Number>(half)));
  }
  return lanes;
}

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
