// Elements as unsigned keys whose order is theirs; NaN is the largest. In an anonymous namespace,
// since it is included into code for several ISA levels.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tensorlike {
namespace {

// The order of T's values as that of unsigned integers.
template <class T>
struct SortKey {
  using Key = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;
  static constexpr Key kSign = Key{1} << (sizeof(Key) * 8 - 1);

  // `kSplitsZeros` puts -0 before +0, so that decoding brings both back; else they are equal.
  template <bool kSplitsZeros>
  static Key encode(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      const Key bits = std::bit_cast<Key>(kSplitsZeros ? x : x + T(0));
      const Key key =
          bits ^ (static_cast<Key>(-static_cast<Key>(bits >> (sizeof(Key) * 8 - 1))) | kSign);
      return x != x ? std::numeric_limits<Key>::max() : key;
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<Key>(x) ^ kSign;
    } else {
      return static_cast<Key>(x);
    }
  }

  static T decode(Key key) {
    if constexpr (std::is_floating_point_v<T>) {
      const Key bits = key ^ ((key & kSign) != 0 ? kSign : std::numeric_limits<Key>::max());
      return key == std::numeric_limits<Key>::max() ? std::numeric_limits<T>::quiet_NaN()
                                                    : std::bit_cast<T>(bits);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(key ^ kSign);
    } else {
      return static_cast<T>(key);
    }
  }
};

}  // namespace
}  // namespace tensorlike
