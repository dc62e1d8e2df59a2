// Sorting by digits, least significant first: stable, without comparisons, and no slower for
// any arrangement of the input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/pool.h"

namespace tensorlike {

namespace detail {

inline constexpr int64_t kSortGrain = 65536;  // keys of one thread's share of a pass
inline constexpr int64_t kFewKeys = 96;       // up to here, insertion is faster
inline constexpr int kMostShares = 64;

template <class Key>
void insertion_sort(Key* keys, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Key moving = keys[i];
    int64_t j = i;
    for (; j > 0 && moving < keys[j - 1]; --j) keys[j] = keys[j - 1];
    keys[j] = moving;
  }
}

// One digit's pass: every share of the input counts its digits, the counts become places, and
// every share moves its keys there. Returns false, and moves nothing, when all digits are equal.
template <int kBits, class Key>
bool sort_by_digit(const Key* from, Key* to, int64_t n, int shift, int shares, int64_t* counts) {
  constexpr int64_t kDigits = int64_t{1} << kBits;
  auto digit = [shift](const Key& key) {
    return static_cast<size_t>(key >> shift) & (kDigits - 1);
  };
  const int64_t length = (n + shares - 1) / shares;
  parallel_for(shares, 1, [&](int64_t first, int64_t last) {
    for (int64_t s = first; s < last; ++s) {
      int64_t* own = counts + s * kDigits;
      std::fill_n(own, kDigits, int64_t{0});
      const int64_t end = std::min(n, (s + 1) * length);
      for (int64_t i = s * length; i < end; ++i) ++own[digit(from[i])];
    }
  });
  // Where each digit begins, then each share's part of it; share by share, as counts lie.
  int64_t places[kDigits] = {};
  for (int s = 0; s < shares; ++s) {
    for (int64_t d = 0; d < kDigits; ++d) places[d] += counts[s * kDigits + d];
  }
  if (std::find(places, places + kDigits, n) != places + kDigits) return false;
  std::exclusive_scan(places, places + kDigits, places, int64_t{0});
  for (int s = 0; s < shares; ++s) {
    for (int64_t d = 0; d < kDigits; ++d) {
      places[d] += std::exchange(counts[s * kDigits + d], places[d]);
    }
  }
  parallel_for(shares, 1, [&](int64_t first, int64_t last) {
    for (int64_t s = first; s < last; ++s) {
      int64_t* own = counts + s * kDigits;
      const int64_t end = std::min(n, (s + 1) * length);
      for (int64_t i = s * length; i < end; ++i) to[own[digit(from[i])]++] = from[i];
    }
  });
  return true;
}

template <int kBits, class Key>
Key* sort_by_digits(Key* keys, Key* other, int64_t n, int shares, int64_t* counts) {
  constexpr int kWidth = static_cast<int>(sizeof(Key) * 8);
  for (int shift = 0; shift < kWidth; shift += kBits) {
    if (sort_by_digit<kBits>(keys, other, n, shift, shares, counts)) std::swap(keys, other);
  }
  return keys;
}

}  // namespace detail

// Room for the counts of a sort, per share.
inline constexpr int64_t kSortCounts = 2048;

// How many threads may share the sorting of n keys; the result does not depend on it.
inline int sort_shares(int64_t n) {
  const int64_t most = std::min<int64_t>(num_threads(), detail::kMostShares);
  return static_cast<int>(std::clamp<int64_t>(n / detail::kSortGrain, 1, most));
}

// Sorts the keys by their keys, equal ones in their order; returns where they ended: in
// `keys` or in `other`. `counts` has room for kSortCounts of each share.
template <class Key>
Key* radix_sort(Key* keys, Key* other, int64_t n, int shares, int64_t* counts) {
  if (n <= detail::kFewKeys) {
    detail::insertion_sort(keys, n);
    return keys;
  }
  if (n < 4 * kSortCounts) return detail::sort_by_digits<8>(keys, other, n, shares, counts);
  return detail::sort_by_digits<11>(keys, other, n, shares, counts);
}

}  // namespace tensorlike
