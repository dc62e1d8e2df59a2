// Squares of words that are turned in vector registers: rows and columns change places in log2(n)
// rounds of exchanges. Included by translation units that are compiled once per ISA level.
#pragma once

#include <utility>

namespace tensorlike {
namespace {

// kRows words of kSize bytes in each row, which is a vector of kBytes; lanes are of the type Part.
template <class Part, int kSize, int kBytes>
struct Square {
  static constexpr int kRows = kBytes / kSize;
  static constexpr int kLanesPerWord = kSize / static_cast<int>(sizeof(Part));
  static constexpr int kLanes = kRows * kLanesPerWord;
  typedef Part Vector __attribute__((vector_size(kBytes)));

  static void turn(Vector* rows) {
    if constexpr (kRows > 1) exchange<kRows / 2>(rows);
  }

 private:
  // Lane `lane` of the first (or second) result when rows a and a + kDistance exchange blocks of
  // kDistance words; lanes of the second operand are numbered from kLanes on.
  static constexpr int source(int lane, int distance, bool is_second) {
    const int word = lane / kLanesPerWord;
    const int part = lane % kLanesPerWord;
    const bool from_second = (word & distance) != 0;
    const int from =
        is_second ? (from_second ? word : word + distance) : (from_second ? word - distance : word);
    return from * kLanesPerWord + part + (from_second ? kLanes : 0);
  }

  template <int kDistance, bool kSecond, int... kLane>
  static Vector pick(Vector a, Vector b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(a, b, source(kLane, kDistance, kSecond)...);
  }

  template <int kDistance>
  static void exchange(Vector* rows) {
    using Lanes = std::make_integer_sequence<int, kLanes>;
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      if ((i & kDistance) != 0) continue;
      const Vector a = rows[i];
      const Vector b = rows[i + kDistance];
      rows[i] = pick<kDistance, false>(a, b, Lanes{});
      rows[i + kDistance] = pick<kDistance, true>(a, b, Lanes{});
    }
    if constexpr (kDistance > 1) exchange<kDistance / 2>(rows);
  }
};

}  // namespace
}  // namespace tensorlike
