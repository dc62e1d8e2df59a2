// Between elements and the keys that sort them, and the search for those that come early, for one
// ISA level.
#include <algorithm>

#include "kernels/gemm_vectors.h"
#undef TL_INLINE  // the mathematics has one of its own
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/lanes.h"
#include "kernels/sort_key.h"

namespace tensorlike {
namespace {

template <class T>
struct KeyLoops {
  using Key = typename SortKey<T>::Key;
  static constexpr Key flip(bool flips) { return flips ? static_cast<Key>(-1) : Key{0}; }

  static void encode(void* keys, const void* x, int64_t n, bool flips) {
    Key* to = static_cast<Key*>(keys);
    const T* from = static_cast<const T*>(x);
    const Key mask = flip(flips);
    for (int64_t i = 0; i < n; ++i) to[i] = SortKey<T>::template encode<true>(from[i]) ^ mask;
  }

  static void decode(void* keys, int64_t n, bool flips) {
    char* at = static_cast<char*>(keys);
    const Key mask = flip(flips);
    for (int64_t i = 0; i < n; ++i) {
      Key key;
      __builtin_memcpy(&key, at + i * static_cast<int64_t>(sizeof(Key)), sizeof(Key));
      const T value = SortKey<T>::decode(key ^ mask);
      __builtin_memcpy(at + i * static_cast<int64_t>(sizeof(Key)), &value, sizeof(Key));
    }
  }

  static void rank(uint64_t* words, const void* x, int64_t n, bool flips) {
    const T* from = static_cast<const T*>(x);
    const Key mask = flip(flips);
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t key = SortKey<T>::template encode<false>(from[i]) ^ mask;
      words[i] = key << 32 | static_cast<uint64_t>(i);
    }
  }

  static void ranks(void* keys, const void* x, int64_t n, bool flips) {
    Key* to = static_cast<Key*>(keys);
    const T* from = static_cast<const T*>(x);
    const Key mask = flip(flips);
#pragma GCC unroll 1  // a loop, not its iterations, becomes vectors
    for (int64_t i = 0; i < n; ++i) to[i] = SortKey<T>::template encode<false>(from[i]) ^ mask;
  }

  static constexpr int64_t kBlock = 256 / sizeof(Key);

  // Most blocks have none: they are looked at without branches.
  static int64_t below(int32_t* places, const void* x, int64_t n, const void* bound, bool flips) {
    const T* from = static_cast<const T*>(x);
    const Key limit = *static_cast<const Key*>(bound);
    Key keys[kBlock];
    int64_t found = 0;
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t size = n - at < kBlock ? n - at : kBlock;
      if (size == kBlock) {
        ranks(keys, from + at, kBlock, flips);
        Key any = 0;
        for (int64_t k = 0; k < kBlock; ++k) any |= keys[k] < limit ? Key{1} : Key{0};
        if (any == 0) continue;
      } else {
        ranks(keys, from + at, size, flips);
      }
      for (int64_t k = 0; k < size; ++k) {
        places[found] = static_cast<int32_t>(at + k);
        found += keys[k] < limit ? 1 : 0;
      }
    }
    return found;
  }

  static int64_t find_equal(const void* x, int64_t n, const void* key, int64_t skipped,
                            bool flips) {
    const T* from = static_cast<const T*>(x);
    const Key wanted = *static_cast<const Key*>(key);
    Key keys[kBlock];
    int64_t at = 0;
    for (; at + kBlock <= n; at += kBlock) {
      ranks(keys, from + at, kBlock, flips);
      Key equal = 0;
      for (int64_t k = 0; k < kBlock; ++k) equal += keys[k] == wanted ? Key{1} : Key{0};
      if (static_cast<int64_t>(equal) > skipped) break;
      skipped -= static_cast<int64_t>(equal);
    }
    for (; at < n; ++at) {
      ranks(keys, from + at, 1, flips);
      if (keys[0] == wanted && skipped-- == 0) break;
    }
    return at;
  }

  // How many of n keys come before each of those from `first` on: as many comparisons as there are
  // pairs, of whole vectors and without branches.
  static constexpr int64_t kRankedAtOnce =
      std::min<int64_t>(kFewRanked, kVectorBytes / static_cast<int64_t>(sizeof(Key)));
  [[gnu::always_inline]] static void rank_among(Key* ranked, const Key* keys, int64_t n,
                                                int64_t first) {
    typedef Key Vector __attribute__((vector_size(kRankedAtOnce * sizeof(Key))));
    const Vector place = reinterpret_cast<Vector>(lane_numbers<Vector>()) + static_cast<Key>(first);
    const Vector own = load<Vector>(keys + first);
    Vector before = {};
    for (int64_t j = 0; j < n; ++j) {
      const Vector other = Vector{} + keys[j];
      before -= reinterpret_cast<Vector>(other < own);
      before -= reinterpret_cast<Vector>((other == own) & (place > static_cast<Key>(j)));
    }
    store(ranked, before);
  }

  // Rows are ranked by their elements' keys.
  static void places(int64_t* out, const void* x, int64_t rows, int64_t n, int64_t skip, int64_t k,
                     bool flips) {
    const T* from = static_cast<const T*>(x);
    for (int64_t r = 0; r < rows; ++r, from += n, out += k) {
      T row[kFewRanked] = {};
      if ((rows - r) * n >= kFewRanked) {
        std::copy_n(from, kFewRanked, row);  // those of the next rows are no matter
      } else {
        std::copy_n(from, n, row);
      }
      Key keys[kFewRanked];
      ranks(keys, row, kFewRanked, flips);
      int64_t in_order[kFewRanked];
      for (int64_t first = 0; first < n; first += kRankedAtOnce) {
        alignas(kVectorBytes) Key ranked[kRankedAtOnce];
        rank_among(ranked, keys, n, first);
        const int64_t count = std::min(n - first, kRankedAtOnce);
        for (int64_t i = 0; i < count; ++i) in_order[ranked[i]] = first + i;
      }
      for (int64_t i = 0; i < k; ++i) out[i] = in_order[skip + i];
    }
  }

  // Most blocks of few values have no end of a run, those of many values have nothing else.
  static int64_t distinct(void* x, int64_t n) {
    T* const at = static_cast<T*>(x);
    int64_t found = 0;
    int64_t i = 0;
    for (; i + kBlock < n; i += kBlock) {
      Key ends = 0;
      for (int64_t k = 0; k < kBlock; ++k) ends += at[i + k] == at[i + k + 1] ? Key{0} : Key{1};
      if (ends == 0) continue;
      T block[kBlock + 1];
      std::copy_n(at + i, kBlock + 1, block);
      if (ends == static_cast<Key>(kBlock)) {
        std::copy_n(block, kBlock, at + found);
        found += kBlock;
        continue;
      }
      for (int64_t k = 0; k < kBlock; ++k) {
        at[found] = block[k];
        found += block[k] == block[k + 1] ? 0 : 1;
      }
    }
    for (; i < n; ++i) {
      const T value = at[i];
      const bool is_last = i + 1 == n || !(value == at[i + 1]);
      at[found] = value;
      found += is_last ? 1 : 0;
    }
    return found;
  }
};

template <class T>
void add_keys(KernelTable& table, DType dtype) {
  using Loops = KeyLoops<T>;
  table.keys[dtype] = {Loops::encode, Loops::decode,  sizeof(T) == 4 ? Loops::rank : nullptr,
                       Loops::ranks,  Loops::below,   Loops::find_equal,
                       Loops::places, Loops::distinct};
}

}  // namespace

void TL_FILL(keys)(KernelTable& table);
void TL_FILL(keys)(KernelTable& table) {
  add_keys<int32_t>(table, DType::kInt32);
  add_keys<int64_t>(table, DType::kInt64);
  add_keys<uint64_t>(table, DType::kUInt64);
  add_keys<float>(table, DType::kFloat32);
  add_keys<double>(table, DType::kFloat64);
}

}  // namespace tensorlike
