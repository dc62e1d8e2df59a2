// Vectorised quicksort of unsigned keys, for ISA levels that can compress a vector. Keys smaller
// than a pivot go to the front, the rest to the back; few keys are sorted in registers by a bitonic
// network. Elsewhere the table stays empty, and digits sort.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#endif

namespace tensorlike {

#if defined(__AVX512F__) && defined(__AVX512DQ__)
namespace {

// For each mask of 8 lanes, the lanes in it and then the others, a byte each.
constexpr std::array<uint64_t, 256> parting_orders() {
  std::array<uint64_t, 256> orders{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    int at = 0;
    for (unsigned wanted : {1U, 0U}) {
      for (uint64_t lane = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1U) == wanted) orders[mask] |= lane << (8 * at++);
      }
    }
  }
  return orders;
}
constexpr std::array<uint64_t, 256> kPartingOrders = parting_orders();

template <class Key>
struct Lanes;

template <>
struct Lanes<uint32_t> {
  static constexpr int kCount = 16;
  using Mask = __mmask16;
  using Vector __attribute__((vector_size(64))) = uint32_t;
  static __m512i broadcast(uint32_t key) { return _mm512_set1_epi32(static_cast<int>(key)); }
  static Mask below(__m512i a, __m512i b) { return _mm512_cmplt_epu32_mask(a, b); }
  static Mask not_above(__m512i a, __m512i b) { return _mm512_cmple_epu32_mask(a, b); }
  static __m512i compress(Mask mask, __m512i v) { return _mm512_maskz_compress_epi32(mask, v); }
  static __m512i load(const uint32_t* from, int n) {
    return _mm512_maskz_loadu_epi32(static_cast<Mask>((1U << n) - 1), from);
  }
  // The first of `left` lanes; there may be more of them than lanes, or none.
  static Mask first(int64_t left) {
    return static_cast<Mask>((1U << std::clamp<int64_t>(left, 0, kCount)) - 1);
  }
  // What is missing is the largest key.
  static Vector load_or_most(const uint32_t* from, int64_t left) {
    return reinterpret_cast<Vector>(
        _mm512_mask_loadu_epi32(_mm512_set1_epi64(-1), first(left), from));
  }
  static void store(uint32_t* to, int64_t left, Vector v) {
    _mm512_mask_storeu_epi32(to, first(left), reinterpret_cast<__m512i>(v));
  }
  // The larger lanes of a and b where the mask says so, else those of v.
  static Vector most_where(Vector v, unsigned mask, Vector a, Vector b) {
    return reinterpret_cast<Vector>(
        _mm512_mask_max_epu32(reinterpret_cast<__m512i>(v), static_cast<Mask>(mask),
                              reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
  }
  static void store_some(uint32_t* to, unsigned mask, __m512i v) {
    _mm512_mask_compressstoreu_epi32(to, static_cast<Mask>(mask), v);
  }
  // Lane i takes lane i - n, around the end.
  static __m512i rotate(__m512i v, int n) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_maskz_permutexvar_epi32(0xffff, _mm512_sub_epi32(lanes, _mm512_set1_epi32(n)), v);
  }
};

template <>
struct Lanes<uint64_t> {
  static constexpr int kCount = 8;
  using Mask = __mmask8;
  using Vector __attribute__((vector_size(64))) = uint64_t;
  static __m512i broadcast(uint64_t key) { return _mm512_set1_epi64(static_cast<int64_t>(key)); }
  static Mask below(__m512i a, __m512i b) { return _mm512_cmplt_epu64_mask(a, b); }
  static Mask not_above(__m512i a, __m512i b) { return _mm512_cmple_epu64_mask(a, b); }
  // Lanes in the mask first, then the others.
  static __m512i part(Mask mask, __m512i v) {
    const __m128i order = _mm_cvtsi64_si128(static_cast<int64_t>(kPartingOrders[mask]));
    return _mm512_maskz_permutexvar_epi64(0xff, _mm512_maskz_cvtepu8_epi64(0xff, order), v);
  }
  static __m512i compress(Mask mask, __m512i v) { return _mm512_maskz_compress_epi64(mask, v); }
  static __m512i load(const uint64_t* from, int n) {
    return _mm512_maskz_loadu_epi64(static_cast<Mask>((1U << n) - 1), from);
  }
  // The first of `left` lanes; there may be more of them than lanes, or none.
  static Mask first(int64_t left) {
    return static_cast<Mask>((1U << std::clamp<int64_t>(left, 0, kCount)) - 1);
  }
  // What is missing is the largest key.
  static Vector load_or_most(const uint64_t* from, int64_t left) {
    return reinterpret_cast<Vector>(
        _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), first(left), from));
  }
  static void store(uint64_t* to, int64_t left, Vector v) {
    _mm512_mask_storeu_epi64(to, first(left), reinterpret_cast<__m512i>(v));
  }
  // The larger lanes of a and b where the mask says so, else those of v.
  static Vector most_where(Vector v, unsigned mask, Vector a, Vector b) {
    return reinterpret_cast<Vector>(
        _mm512_mask_max_epu64(reinterpret_cast<__m512i>(v), static_cast<Mask>(mask),
                              reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
  }
  static void store_some(uint64_t* to, unsigned mask, __m512i v) {
    _mm512_mask_compressstoreu_epi64(to, static_cast<Mask>(mask), v);
  }
};

template <class Key>
struct Sorter {
  using L = Lanes<Key>;
  static constexpr int kLanes = L::kCount;
  static constexpr int kVectors = 32;  // of the largest network: what registers hold
  static constexpr int64_t kFew = kLanes * kVectors;
  static constexpr int kSamples = 32;
  static constexpr int kHeld = 4;  // vectors from each end
  using Vector = typename L::Vector;

  static Vector least(Vector a, Vector b) { return a < b ? a : b; }
  static Vector most(Vector a, Vector b) { return a < b ? b : a; }

  // Lane i beside lane i ^ kWith: the lower lane keeps the smaller key.
  template <int kWith, size_t... kLane>
  static Vector exchange(Vector v, std::index_sequence<kLane...>) {
    constexpr size_t kUpper = std::bit_floor(static_cast<unsigned>(kWith));
    constexpr unsigned kTakesMost = (((kLane & kUpper) != 0 ? 1U << kLane : 0U) | ...);
    const Vector other = __builtin_shufflevector(v, v, (kLane ^ kWith)...);
    return L::most_where(least(v, other), kTakesMost, v, other);
  }
  template <int kWith>
  static Vector exchange(Vector v) {
    return exchange<kWith>(v, std::make_index_sequence<kLanes>());
  }
  template <size_t... kLane>
  static Vector reverse(Vector v, std::index_sequence<kLane...>) {
    return __builtin_shufflevector(v, v, (kLane ^ (kLanes - 1))...);
  }

  // Sorts each vector whose two halves rise and fall, or fall and rise.
  static Vector merge_lanes(Vector v) {
    if constexpr (kLanes == 16) v = exchange<8>(v);
    return exchange<1>(exchange<2>(exchange<4>(v)));
  }

  static Vector sort_lanes(Vector v) {
    v = exchange<1>(v);
    v = exchange<1>(exchange<3>(v));
    v = exchange<1>(exchange<2>(exchange<7>(v)));
    if constexpr (kLanes == 16) v = exchange<1>(exchange<2>(exchange<4>(exchange<15>(v))));
    return v;
  }

  // Of any number of vectors: those that a power of two would have more hold the largest keys,
  // which every exchange leaves where they are.
  template <int kCount>
  static void network(Vector (&v)[kCount]) {
#pragma GCC unroll 32
    for (int i = 0; i < kCount; ++i) v[i] = sort_lanes(v[i]);
#pragma GCC unroll 32
    for (int size = 2; size < 2 * kCount; size *= 2) {
      // Two sorted runs of vectors: the second one backwards makes them one that rises and falls.
#pragma GCC unroll 32
      for (int i = 0; i < kCount; ++i) {
        if ((i & (size / 2)) != 0 || (i ^ (size - 1)) >= kCount) continue;
        const Vector low = v[i];
        const Vector high = reverse(v[i ^ (size - 1)], std::make_index_sequence<kLanes>());
        v[i] = least(low, high);
        v[i ^ (size - 1)] = most(low, high);
      }
#pragma GCC unroll 32
      for (int step = size / 4; step > 0; step /= 2) {
#pragma GCC unroll 32
        for (int i = 0; i < kCount; ++i) {
          if ((i & step) != 0 || i + step >= kCount) continue;
          const Vector low = v[i];
          const Vector high = v[i + step];
          v[i] = least(low, high);
          v[i + step] = most(low, high);
        }
      }
#pragma GCC unroll 32
      for (int i = 0; i < kCount; ++i) v[i] = merge_lanes(v[i]);
    }
  }

  // At most kCount vectors; missing keys are the largest ones, and stay behind.
  template <int kCount>
  static void sort_in_registers(const Key* from, Key* to, int64_t n) {
    Vector v[kCount];
#pragma GCC unroll 32
    for (int i = 0; i < kCount; ++i) v[i] = L::load_or_most(from + i * kLanes, n - i * kLanes);
    network(v);
#pragma GCC unroll 32
    for (int i = 0; i < kCount; ++i) L::store(to + i * kLanes, n - i * kLanes, v[i]);
  }

  static void sort_few(const Key* from, Key* to, int64_t n) {
    const int64_t vectors = (n + kLanes - 1) / kLanes;
    if (vectors <= 1) return sort_in_registers<1>(from, to, n);
    if (vectors <= 2) return sort_in_registers<2>(from, to, n);
    if (vectors <= 4) return sort_in_registers<4>(from, to, n);
    if (vectors <= 8) return sort_in_registers<8>(from, to, n);
    if (vectors <= 12) return sort_in_registers<12>(from, to, n);
    if (vectors <= 16) return sort_in_registers<16>(from, to, n);
    if (vectors <= 24) return sort_in_registers<24>(from, to, n);
    return sort_in_registers<kVectors>(from, to, n);
  }

  // The ends of the room between the keys that have found their side.
  struct Room {
    Key* front;
    Key* back;
  };

  // Whole vectors are written: what is wrong in them lies in the room, and is written over. Each
  // side must have room for one.
  template <bool kTakesEqual>
  static void place(Room& room, __m512i v, __m512i bound) {
    const typename L::Mask mask = kTakesEqual ? L::not_above(v, bound) : L::below(v, bound);
    const int taken = std::popcount(static_cast<unsigned>(mask));
    if constexpr (kLanes == 8) {
      // One exchange of lanes serves both ends.
      const __m512i parted = L::part(mask, v);
      _mm512_storeu_si512(room.front, parted);
      _mm512_storeu_si512(room.back - kLanes, parted);
    } else {
      const __m512i rest = L::compress(static_cast<typename L::Mask>(~mask), v);
      _mm512_storeu_si512(room.front, L::compress(mask, v));
      _mm512_storeu_si512(room.back - kLanes, L::rotate(rest, taken));
    }
    room.front += taken;
    room.back -= kLanes - taken;
  }

  // The same for the first `count` lanes; nothing else is written.
  template <bool kTakesEqual>
  static void place_some(Room& room, __m512i v, __m512i bound, int count) {
    const unsigned valid = (1U << count) - 1;
    const unsigned mask = (kTakesEqual ? L::not_above(v, bound) : L::below(v, bound)) & valid;
    const int taken = std::popcount(mask);
    L::store_some(room.front, mask, v);
    room.front += taken;
    room.back -= count - taken;
    L::store_some(room.back, valid & ~mask, v);
  }

  // Moves keys below the pivot (or, if `kTakesEqual`, not above it) to the front, and returns how
  // many there are. Vectors from both ends are held back, which makes room; the next ones are
  // taken from the side with less of it, several at a time, because that choice waits for all
  // before it.
  template <bool kTakesEqual>
  static int64_t split(Key* keys, int64_t n, Key pivot) {
    const __m512i bound = L::broadcast(pivot);
    Room room{keys, keys + n};
    Key* next = keys + kHeld * kLanes;  // the unread ones are [next, last)
    Key* last = room.back - kHeld * kLanes;
    __m512i held[2 * kHeld];
    for (int i = 0; i < kHeld; ++i) {
      held[2 * i] = _mm512_loadu_si512(keys + i * kLanes);
      held[2 * i + 1] = _mm512_loadu_si512(last + i * kLanes);
    }
    auto take = [&](int64_t count) {
      const bool takes_last = room.back - last < next - room.front;
      const Key* from = takes_last ? last - count : next;
      last -= takes_last ? count : 0;
      next += takes_last ? 0 : count;
      return from;
    };
    while (last - next >= kHeld * kLanes) {
      const Key* from = take(kHeld * kLanes);
      __m512i v[kHeld];
      for (int i = 0; i < kHeld; ++i) v[i] = _mm512_loadu_si512(from + i * kLanes);
      for (int i = 0; i < kHeld; ++i) place<kTakesEqual>(room, v[i], bound);
    }
    while (last - next >= kLanes) {
      place<kTakesEqual>(room, _mm512_loadu_si512(take(kLanes)), bound);
    }
    const int unread = static_cast<int>(last - next);
    const __m512i remainder = L::load(next, unread);
    for (int i = 1; i < 2 * kHeld; ++i) place<kTakesEqual>(room, held[i], bound);
    place_some<kTakesEqual>(room, held[0], bound, kLanes);
    place_some<kTakesEqual>(room, remainder, bound, unread);
    return room.front - keys;
  }

  // The median of keys from all over: fixed places, so that equal input gives equal work.
  static Key choose_pivot(const Key* from, int64_t n) {
    Key sample[kSamples];
    for (int64_t i = 0; i < kSamples; ++i) sample[i] = from[(2 * i + 1) * n / (2 * kSamples)];
    sort_few(sample, sample, kSamples);
    return sample[kSamples / 2];
  }

  static int64_t part(void* data, int64_t n, bool& is_done) {
    Key* keys = static_cast<Key*>(data);
    const Key pivot = choose_pivot(keys, n);
    const int64_t front = split<false>(keys, n, pivot);
    is_done = front == 0;  // the pivot is the smallest: all that equal it are in their places
    return is_done ? split<true>(keys, n, pivot) : front;
  }

  static void sort_within(Key* keys, int64_t n, int depth) {
    while (n > kFew) {
      if (depth-- == 0) {  // an arrangement against our choice of pivots
        std::sort(keys, keys + n);
        return;
      }
      bool is_done = false;
      const int64_t front = part(keys, n, is_done);
      if (!is_done) sort_within(keys, front, depth);
      keys += front;
      n -= front;
    }
    sort_few(keys, keys, n);
  }

  static int64_t within(void* out, const void* keys, int64_t n, const void* low, const void* high,
                        int64_t* below) {
    Key* to = static_cast<Key*>(out);
    const Key* from = static_cast<const Key*>(keys);
    const __m512i least = L::broadcast(*static_cast<const Key*>(low));
    const __m512i most = L::broadcast(*static_cast<const Key*>(high));
    for (int64_t i = 0; i < n; i += kLanes) {
      const typename L::Mask valid = L::first(n - i);
      const __m512i v = L::load(from + i, static_cast<int>(std::min<int64_t>(n - i, kLanes)));
      const typename L::Mask smaller = L::below(v, least) & valid;
      const typename L::Mask taken = L::not_above(v, most) & valid & ~smaller;
      *below += std::popcount(static_cast<unsigned>(smaller));
      _mm512_storeu_si512(to, L::compress(taken, v));
      to += std::popcount(static_cast<unsigned>(taken));
    }
    return to - static_cast<Key*>(out);
  }

  static void sort(void* keys, int64_t n) {
    const int depth = 2 * static_cast<int>(std::bit_width(static_cast<uint64_t>(n)));
    sort_within(static_cast<Key*>(keys), n, depth);
  }
};

}  // namespace
#endif

void TL_FILL(sorts)(KernelTable& table);
void TL_FILL(sorts)([[maybe_unused]] KernelTable& table) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  table.sort32 = {Sorter<uint32_t>::part, Sorter<uint32_t>::sort, Sorter<uint32_t>::within};
  table.sort64 = {Sorter<uint64_t>::part, Sorter<uint64_t>::sort, Sorter<uint64_t>::within};
#endif
}

}  // namespace tensorlike
