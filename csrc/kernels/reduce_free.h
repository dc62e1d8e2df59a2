// Extremes of integers, and whether any or all are true: elements that may be combined in any
// order, and twice, with the same bits, in vectors of them as they are stored. Included once per
// ISA level, inside an anonymous namespace: see gemm_isa.h.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/gemm_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own
#include "kernels/lanes.h"

namespace tensorlike {
namespace {

template <class T, class Combine>
struct FreeElements {
  template <int kBytes>
  using Units = typename VectorOf<T, kBytes>::Type;

  // Elements after which one may look whether all is decided.
  static constexpr int64_t kPiece = (int64_t{32} << 10) / static_cast<int64_t>(sizeof(T));
  static constexpr int kLeastBytes = 16;

  // What n > 0 elements give.
  static T of(const T* in, int64_t n) {
    constexpr int64_t kFew = kLeastBytes / static_cast<int64_t>(sizeof(T));
    constexpr int64_t kMany = kVectorBytes / static_cast<int64_t>(sizeof(T));
    if (n < kFew) {
      T found = in[0];
      for (int64_t i = 1; i < n; ++i) found = Combine{}(found, in[i]);
      return found;
    }
    if (kLeastBytes < kVectorBytes && n < kMany) {
      return in_vectors<kLeastBytes, 1>(in, n);
    }
    return in_vectors<kVectorBytes, 4>(in, n);
  }

 private:
  // kTogether vectors at a time; the last one has some elements again.
  template <int kBytes, int kTogether>
  [[gnu::always_inline]] static T in_vectors(const T* in, int64_t n) {
    using V = Units<kBytes>;
    constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
    const auto join = [](V a, V b) { return static_cast<V>(Combine{}(a, b)); };
    V found[kTogether];
    for (V& some : found) some = load<V>(in + n - kLanes);
    int64_t i = 0;
    for (; i + kTogether * kLanes <= n; i += kTogether * kLanes) {
#pragma GCC unroll 4
      for (int v = 0; v < kTogether; ++v) {
        const T* const from = in + i + v * kLanes;
        __builtin_prefetch(reinterpret_cast<const char*>(from) + kAhead);
        found[v] = join(found[v], load<V>(from));
      }
    }
    for (; i + kLanes <= n; i += kLanes) found[0] = join(found[0], load<V>(in + i));
#pragma GCC unroll 4
    for (int v = kTogether - 1; v > 0; --v) found[0] = join(found[0], found[v]);
    return join_lanes(found[0], join)[0];
  }

  static constexpr int64_t kAhead = 4096;  // bytes, whether or not anything is there
};

}  // namespace
}  // namespace tensorlike
