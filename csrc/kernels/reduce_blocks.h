// Blocks of the elements of a row, for one ISA level: each element is combined with its lane, and
// the lanes at the end of the block. Included by reduce_tu.cpp alone.
#pragma once

#include <algorithm>

#include "kernels/half_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own
#include "kernels/lanes.h"
#include "kernels/reduce_types.h"

namespace tensorlike {
namespace {

// Two vectors, lane by lane.
template <class L, class T>
[[gnu::always_inline]] inline Vector<T> combined_lanes(Vector<T> a, Vector<T> b) {
  alignas(kVectorBytes) T first[kLanes<T>];
  alignas(kVectorBytes) T second[kLanes<T>];
  store(first, a);
  store(second, b);
#pragma GCC unroll 1  // else the lanes are as many numbers, and no vector
  for (int l = 0; l < kLanes<T>; ++l) first[l] = L::combine(first[l], second[l]);
  return load<Vector<T>>(first);
}

// Lanes that are vectors of numbers as they are computed with; T's are stored as they are, or as
// halves of them. Vectors stay in registers: a row is read in the order of memory, as processors
// fetch ahead best. Several blocks side by side were slower from each cache.
template <class L, class Stored>
struct VectorLanes {
  using T = typename L::Lane;
  using V = Vector<T>;
  static constexpr int kWidth = kLanes<T>;
  static constexpr int kVectors = L::kLanes / kWidth;
  using Lanes = V[kVectors];
  using Number = std::remove_reference_t<decltype(LaneNumbers<V>{}[0])>;

  // A vector of elements as they are stored.
  using Bits = std::conditional_t<is_half<Stored>, Halves, V>;

  [[gnu::always_inline]] static Bits bits_of(const Stored* x) { return load_bits<Bits>(x); }
  [[gnu::always_inline]] static V widened(Bits bits) {
    if constexpr (is_half<Stored>) {
      return widened_vector(bits, Stored{});
    } else {
      return bits;
    }
  }
  [[gnu::always_inline]] static V elements(const Stored* x) { return widened(bits_of(x)); }
  [[gnu::always_inline]] static V first_elements(const Stored* x, int64_t n) {
    return widened(first_bits(x, n));
  }

  // The first n < kWidth elements, and zeros.
  [[gnu::always_inline]] static Bits first_bits(const Stored* x, int64_t n) {
#if defined(__AVX512F__)
    const uint32_t mask = (1U << n) - 1;
    if constexpr (is_half<Stored>) {
      return reinterpret_cast<Halves>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), x));
    } else {
      return load_masked<T>(mask, x);
    }
#else
#if defined(__AVX2__)
    if constexpr (!is_half<Stored>) {
      const auto mask = lane_numbers<V>() < static_cast<Number>(n);
      return load_lanes<V>(mask, x);
    }
#endif
    alignas(kVectorBytes) Stored rest[kWidth]{};
#pragma GCC unroll 1
    for (int64_t i = 0; i < n; ++i) rest[i] = x[i];
    return bits_of(rest);
#endif
  }

  // Whether any of the elements that it has seen is NaN. Of halves the largest magnitude is kept,
  // in vectors of half the size: that of NaN is beyond infinity.
  class NanWatch {
   public:
    [[gnu::always_inline]] void see(Bits bits) {
      if constexpr (is_half<Stored>) {
        const Halves magnitudes = bits & uint16_t{0x7fff};
        seen_ = magnitudes > seen_ ? magnitudes : seen_;
      } else {
#if defined(__AVX512F__)
        if constexpr (sizeof(T) == 4) {
          seen_ |= uint32_t{_mm512_cmp_ps_mask(bits, bits, _CMP_UNORD_Q)};
        } else {
          seen_ |= uint32_t{_mm512_cmp_pd_mask(bits, bits, _CMP_UNORD_Q)};
        }
#else
        seen_ |= bits != bits;
#endif
      }
    }
    [[gnu::always_inline]] bool is_alarmed() const {
      if constexpr (is_half<Stored>) {
        constexpr uint16_t kInfinity = std::is_same_v<Stored, BFloat16> ? 0x7f80 : 0x7c00;
        return any_bit(seen_ > kInfinity);
      } else {
#if defined(__AVX512F__)
        return seen_ != 0;
#else
        return any_bit(seen_);
#endif
      }
    }

   private:
#if defined(__AVX512F__)
    using Seen = uint32_t;  // a bit for each lane
#else
    using Seen = LaneNumbers<V>;
#endif
    std::conditional_t<is_half<Stored>, Halves, Seen> seen_{};
  };

  [[gnu::always_inline]] static V combined(V lanes, V x) {
    alignas(kVectorBytes) T made[kWidth];
    alignas(kVectorBytes) T from[kWidth];
    store(made, lanes);
    store(from, x);
#pragma GCC unroll 1  // else the lanes are as many numbers, and no vector
    for (int l = 0; l < kWidth; ++l) made[l] = L::combine(made[l], L::mapped(from[l]));
    return load<V>(made);
  }

  [[gnu::always_inline]] static void meet(Lanes& lanes, const Stored* x) {
    unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
      lanes[v.kValue] = combined(lanes[v.kValue], elements(x + v.kValue * kWidth));
    });
  }

  // n < kLanes elements.
  [[gnu::always_inline]] static void meet_few(Lanes& lanes, const Stored* x, int64_t n) {
    unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
      const int64_t left = n - v.kValue * kWidth;
      V& some = lanes[v.kValue];
      if (left >= kWidth) {
        some = combined(some, elements(x + v.kValue * kWidth));
      } else if (left > 0) {
        const V met = combined(some, first_elements(x + v.kValue * kWidth, left));
        some = lane_numbers<V>() < static_cast<Number>(left) ? met : some;
      }
    });
  }

  // The lanes of n elements.
  [[gnu::always_inline]] static void meet_all(Lanes& lanes, const Stored* x, int64_t n) {
    constexpr int kSteps = 8;
    for (V& some : lanes) some = V{} + L::first_lane();
    int64_t i = 0;
    for (; i + kSteps * L::kLanes <= n; i += kSteps * L::kLanes) {
      unrolled<kSteps>([&](auto k) __attribute__((always_inline)) {
        meet(lanes, x + i + k.kValue * L::kLanes);
      });
    }
    for (; i + L::kLanes <= n; i += L::kLanes) meet(lanes, x + i);
    if (i < n) meet_few(lanes, x + i, n - i);
  }

  // The first half of the lanes with the second, until they are one vector.
  [[gnu::always_inline]] static V folded(Lanes& lanes) {
#pragma GCC unroll 4
    for (int half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
      for (int v = 0; v < half; ++v) lanes[v] = combined_lanes<L, T>(lanes[v], lanes[v + half]);
    }
    return lanes[0];
  }

  [[gnu::always_inline]] static V folded(const Stored* x, int64_t n) {
    Lanes lanes;
    meet_all(lanes, x, n);
    return folded(lanes);
  }

  // The lanes of an extreme if no element is NaN, of which one instruction finds the more extreme
  // of two; `nans` sees them all. The lanes of kCount vectors are joined at the end.
  template <int kCount>
  [[gnu::always_inline]] static V folded_extreme(const Stored* x, int64_t n, NanWatch& nans) {
    V lanes[kCount];
    for (V& some : lanes) some = V{} + L::first_lane();
    const auto meet = [&](V& some, Bits bits) __attribute__((always_inline)) {
      nans.see(bits);
      some = L::more_extreme(some, widened(bits));
    };
    int64_t i = 0;
    for (; i + kCount * kWidth <= n; i += kCount * kWidth) {
      unrolled<kCount>([&](auto v) __attribute__((always_inline)) {
        meet(lanes[v.kValue], bits_of(x + i + v.kValue * kWidth));
      });
    }
    unrolled<kCount>([&](auto v) __attribute__((always_inline)) {
      const int64_t left = n - i - v.kValue * kWidth;
      V& some = lanes[v.kValue];
      if (left >= kWidth) {
        meet(some, bits_of(x + i + v.kValue * kWidth));
      } else if (left > 0) {
        const V before = some;
        meet(some, first_bits(x + i + v.kValue * kWidth, left));
        some = lane_numbers<V>() < static_cast<Number>(left) ? some : before;
      }
    });
    for (int half = kCount / 2; half > 0; half /= 2) {
      for (int v = 0; v < half; ++v) lanes[v] = L::more_extreme(lanes[v], lanes[v + half]);
    }
    return lanes[0];
  }

  // What n elements give.
  [[gnu::always_inline]] static T of(const Stored* x, int64_t n) {
    const auto join = [](V a, V b)
                          __attribute__((always_inline)) { return combined_lanes<L, T>(a, b); };
    return join_lanes(folded(x, n), join)[0];
  }
};

// L has what a reduction does with elements, which are stored as they are, or as halves of them.
template <class L, class Stored = typename L::Element>
struct RowBlocks {
  using T = typename L::Element;
  using Lane = typename L::Lane;
  using Acc = typename L::Acc;
  using Combine = typename L::CombineTwo;
  static constexpr int kLanes = L::kLanes;
  using Vectors = VectorLanes<L, Stored>;
  // Whether lanes are vectors of elements.
  static constexpr bool kInVectors = L::kSums && std::is_same_v<T, Lane> && std::is_arithmetic_v<T>;
  static_assert(kInVectors || L::kIsExtreme || std::is_same_v<Stored, T>);

  // The first half with the second, lane by lane, until one is left.
  template <int kCount = kLanes>
  [[gnu::always_inline]] static Lane combine_lanes(Lane* lanes) {
    if constexpr (kCount == 1) {
      return lanes[0];
    } else {
      for (int l = 0; l < kCount / 2; ++l) lanes[l] = L::combine(lanes[l], lanes[l + kCount / 2]);
      return combine_lanes<kCount / 2>(lanes);
    }
  }

  // n < kLanes elements, each into its lane.
  [[gnu::always_inline]] static void few(Lane* lanes, const T* x, int64_t n) {
    if constexpr (kMasks<T>) {
      // All lanes are written: what is stored in part is slow to load.
      for (int l = 0; l < kLanes; ++l) {
        const T value = l < n ? x[l] : T{};
        const Lane combined = L::combine(lanes[l], L::mapped(value));
        lanes[l] = l < n ? combined : lanes[l];
      }
    } else {
      const int count = n < kLanes ? static_cast<int>(n) : kLanes;  // which the compiler can see
      for (int l = 0; l < count; ++l) lanes[l] = L::combine(lanes[l], L::mapped_at(x, l));
    }
  }

  // The lanes of kCount blocks of n <= kRun elements, `step` elements from one to the next.
  template <int kCount>
  [[gnu::always_inline]] static void lanes_of(const T* x, int64_t n, int64_t step,
                                              Lane (&lanes)[kCount][kLanes]) {
    for (auto& row : lanes) std::fill_n(row, kLanes, L::first_lane());
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 4
      for (int s = 0; s < kCount; ++s) {
#pragma GCC unroll 1  // else the lanes of extremes are sixteen numbers, and no vector
        for (int l = 0; l < kLanes; ++l) {
          lanes[s][l] = L::combine(lanes[s][l], L::mapped_at(x, s * step + i + l));
        }
      }
    }
    for (int s = 0; s < kCount; ++s) {
      if (i < n) few(lanes[s], x + s * step + i, n - i);
    }
  }

  // What these blocks give.
  template <int kCount>
  static void of(const T* x, int64_t n, int64_t step, Lane* parts) {
    Lane lanes[kCount][kLanes];
    lanes_of(x, n, step, lanes);
    for (int s = 0; s < kCount; ++s) parts[s] = combine_lanes(lanes[s]);
  }

  // What n <= kRun elements give.
  static Lane of(const Stored* x, int64_t n) {
    if constexpr (kInVectors) {
      return Vectors::of(x, n);
    } else {
      Lane part;
      of<1>(x, n, 0, &part);
      return part;
    }
  }

  static Lane of_whole(const Stored* x) {
    if constexpr (kInVectors) {
      return Vectors::of(x, L::kRun);
    } else {
      Lane lanes[kLanes];
      std::fill_n(lanes, kLanes, L::first_lane());
      for (int64_t i = 0; i < L::kRun; i += kLanes) {
#pragma GCC unroll 1
        for (int l = 0; l < kLanes; ++l) {
          lanes[l] = L::combine(lanes[l], L::mapped_at(x, i + l));
        }
      }
      return combine_lanes(lanes);
    }
  }

  // Asks now and then for what lies far ahead, whether or not anything is there: the processor
  // fetches what is between by itself, since elements are read in the order of memory.
  [[gnu::always_inline]] static void fetch_beyond(const Stored* x, int64_t n) {
    constexpr uintptr_t kFar = 16384;  // bytes
    constexpr uintptr_t kApart = 512;
    const uintptr_t from = reinterpret_cast<uintptr_t>(x) + kFar;
#pragma GCC unroll 8
    for (uintptr_t b = 0; b < static_cast<uintptr_t>(n) * sizeof(Stored); b += kApart) {
      __builtin_prefetch(reinterpret_cast<const void*>(from + b), 0, 2);
    }
  }

  // The extreme of n elements and of what there is; NaN if any is.
  static Acc extreme(Acc total, const Stored* x, int64_t n) {
    const auto more = [](auto a, auto b) { return L::more_extreme(a, b); };
    for (; n > 0; n -= kTile, x += kTile) {
      const int64_t count = std::min(n, kTile);
      typename Vectors::NanWatch nans;
      fetch_beyond(x, count);
      const auto lanes = Vectors::template folded_extreme<4>(x, count, nans);
      if (nans.is_alarmed()) return std::numeric_limits<Acc>::quiet_NaN();
      total = L::combine(total, join_lanes(lanes, more)[0]);
    }
    return total;
  }

  // Of n elements, block by block.
  static Acc row(Acc total, const Stored* x, int64_t n) {
    const auto add = [&](Lane part) {
      total = static_cast<Acc>(Combine{}(total, static_cast<Acc>(part)));
    };
    for (; n >= L::kRun; n -= L::kRun, x += L::kRun) {
      fetch_beyond(x, L::kRun);
      add(of_whole(x));
    }
    if (n > 0) add(of(x, n));
    return total;
  }
};

}  // namespace
}  // namespace tensorlike
