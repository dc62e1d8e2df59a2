// Lanes of a loop over floats that are joined at its end. Included once per ISA level, inside an
// anonymous namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__AVX__)
#include <immintrin.h>
#endif

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

#if defined(__AVX2__)
// The lanes of 32 bytes of which all bits are set in the mask; 0 in the others, which are not read.
template <class V, class T>
[[gnu::always_inline]] inline V load_lanes(LaneNumbers<V> mask, const T* from) {
  static_assert(sizeof(V) == 32 && sizeof(T) >= 4);
  const __m256i bits = reinterpret_cast<__m256i>(mask);
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<V>(_mm256_maskload_epi32(reinterpret_cast<const int*>(from), bits));
  } else {
    return reinterpret_cast<V>(
        _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), bits));
  }
}
#endif

// Of two vectors, every second run of kCount lanes, from run kFirst on.
template <int kCount, int kFirst, class V, int... kLane>
[[gnu::always_inline]] inline V runs_of(V a, V b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(
      a, b, (kLane / kCount * 2 * kCount + kFirst * kCount + kLane % kCount)...);
}

// What the lanes of each of as many vectors as they have lanes give, in the lane of its number:
// vectors of runs of 2 * kHalf lanes, whose halves are joined, so that two become one.
template <class V, int kHalf = kLanesOf<V> / 2, class F>
[[gnu::always_inline]] inline V join_rows(V* rows, F&& join) {
  if constexpr (kHalf > 0) {
    constexpr std::make_integer_sequence<int, kLanesOf<V>> kAll;
#pragma GCC unroll 8
    for (int v = 0; v < kHalf; ++v) {
      const V a = rows[2 * v], b = rows[2 * v + 1];
      rows[v] = join(runs_of<kHalf, 0>(a, b, kAll), runs_of<kHalf, 1>(a, b, kAll));
    }
    return join_rows<V, kHalf / 2>(rows, join);
  } else {
    return rows[0];
  }
}

// Whether a bit is set in any lane of a vector of integers.
template <class N>
[[gnu::always_inline]] inline bool any_bit(N lanes) {
#if defined(__AVX512F__)
  if constexpr (sizeof(N) == 64) {
    const __m512i bits = reinterpret_cast<__m512i>(lanes);
    return _mm512_test_epi64_mask(bits, bits) != 0;
  }
#endif
#if defined(__AVX__)
  if constexpr (sizeof(N) == 32) {
    const __m256i bits = reinterpret_cast<__m256i>(lanes);
    return _mm256_testz_si256(bits, bits) == 0;
  }
#endif
  return join_lanes(lanes, [](N a, N b) { return a | b; })[0] != 0;
}

// The first lane of a vector of integers in which all bits are set; there is one, and in the others
// none are.
template <class N>
[[gnu::always_inline]] inline int first_set(N lanes) {
  [[maybe_unused]] constexpr int kSize = static_cast<int>(sizeof(lanes[0]));
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
  if constexpr (sizeof(N) == 64) {
    const __m512i bits = reinterpret_cast<__m512i>(lanes);
    if constexpr (kSize == 1) return __builtin_ctzll(_mm512_movepi8_mask(bits));
    if constexpr (kSize == 2) return __builtin_ctz(_mm512_movepi16_mask(bits));
    if constexpr (kSize == 4) return __builtin_ctz(_mm512_movepi32_mask(bits));
    if constexpr (kSize == 8) return __builtin_ctz(_mm512_movepi64_mask(bits));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(N) == 32) {
    const int bytes = _mm256_movemask_epi8(reinterpret_cast<__m256i>(lanes));
    return __builtin_ctz(static_cast<uint32_t>(bytes)) / kSize;
  }
#endif
  int lane = 0;
  while (lanes[lane] == 0) ++lane;
  return lane;
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
