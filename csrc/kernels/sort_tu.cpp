// Vectorised quicksort of unsigned keys, for ISA levels that can compress a vector. Keys smaller
// than a pivot go to the front, the rest to the back; few keys are sorted in registers by a bitonic
// network. Elsewhere the table stays empty, and digits sort.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include "kernels/sort_network.h"
#endif

namespace tensorlike {

#if defined(__AVX512F__) && defined(__AVX512DQ__)
namespace {

template <class Key>
struct Sorter {
  using L = Lanes<Key>;
  using Few = Network<Key>;
  using Vector = typename L::Vector;
  static constexpr int kLanes = L::kCount;
  static constexpr int64_t kFew = kLanes * Few::kVectors;
  static constexpr int kSamples = 32;
  static constexpr int kHeld = 4;  // vectors from each end

  // The ends of the room between the keys that have found their side.
  struct Room {
    Key* front;
    Key* back;
  };

  // Whole vectors are written to the front, and to the back where one exchange of lanes serves
  // both: what is wrong in them lies in the room, and is written over. Each side must have room for
  // one.
  template <bool kTakesEqual>
  static void place(Room& room, __m512i v, __m512i bound) {
    const typename L::Mask mask = kTakesEqual ? L::not_above(v, bound) : L::below(v, bound);
    const int taken = std::popcount(static_cast<unsigned>(mask));
    if constexpr (kLanes == 8) {
      const __m512i parted = L::part(mask, v);
      _mm512_storeu_si512(room.front, parted);
      _mm512_storeu_si512(room.back - kLanes, parted);
    } else {
      const __m512i rest = L::compress(static_cast<typename L::Mask>(~mask), v);
      _mm512_storeu_si512(room.front, L::compress(mask, v));
      L::store(room.back - (kLanes - taken), kLanes - taken, reinterpret_cast<Vector>(rest));
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
    Few::sort_few(sample, sample, kSamples);
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
    Few::sort_few(keys, keys, n);
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

  static void zeros(void* out, const void* x, int64_t n) {
    Key* to = static_cast<Key*>(out);
    const Key* from = static_cast<const Key*>(x);
    const __m512i least = L::broadcast(1);
    for (int64_t i = 0; i < n; i += kLanes) {
      const __m512i v = L::load(from + i, static_cast<int>(std::min<int64_t>(n - i, kLanes)));
      const auto doubled = reinterpret_cast<Vector>(v) << 1;  // without the sign
      const typename L::Mask taken =
          L::below(reinterpret_cast<__m512i>(doubled), least) & L::first(n - i);
      const int count = std::popcount(static_cast<unsigned>(taken));
      L::store(to, count, reinterpret_cast<Vector>(L::compress(taken, v)));
      to += count;
    }
  }

  static int64_t others(void* out, const void* x, int64_t n, const void* known, int64_t count) {
    Key* to = static_cast<Key*>(out);
    const Key* from = static_cast<const Key*>(x);
    for (int64_t i = 0; i < n; i += kLanes) {
      const __m512i v = L::load(from + i, static_cast<int>(std::min<int64_t>(n - i, kLanes)));
      typename L::Mask taken = L::first(n - i);
      for (int64_t k = 0; k < count; ++k) {
        taken = L::differing(taken, v, L::broadcast(static_cast<const Key*>(known)[k]));
      }
      if (taken == 0) continue;
      const int found = std::popcount(static_cast<unsigned>(taken));
      L::store(to, found, reinterpret_cast<Vector>(L::compress(taken, v)));
      to += found;
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
  table.sort32 = {Sorter<uint32_t>::part, Sorter<uint32_t>::sort, Sorter<uint32_t>::within,
                  Sorter<uint32_t>::zeros, Sorter<uint32_t>::others};
  table.sort64 = {Sorter<uint64_t>::part, Sorter<uint64_t>::sort, Sorter<uint64_t>::within,
                  Sorter<uint64_t>::zeros, Sorter<uint64_t>::others};
#endif
}

}  // namespace tensorlike
