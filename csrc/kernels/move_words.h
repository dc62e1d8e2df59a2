// Words of every size of element, and runs of them: what copies of blocks are made of, for one ISA
// level (move_tu.cpp).
#pragma once

#include <cstdint>
#include <cstring>

namespace tensorlike {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Words of each size. Widened elements may stand at any address.
template <int kSize>
struct WordOf;
template <>
struct WordOf<1> {
  using Lane = uint8_t;
};
template <>
struct WordOf<2> {
  using Lane = uint16_t;
};
template <>
struct WordOf<4> {
  using Lane = uint32_t;
};
template <>
struct WordOf<8> {
  using Lane = uint64_t;
};
template <>
struct WordOf<16> {
  using Lane = uint64_t;
};
template <int kSize>
using Lane = typename WordOf<kSize>::Lane;
// The same, at any address.
template <int kSize>
struct LooseOf {
  typedef Lane<kSize> type __attribute__((aligned(1), may_alias));
};
template <int kSize>
using Loose = typename LooseOf<kSize>::type;

template <int kSize>
inline void move_word(char* out, const char* in) {
  std::memcpy(out, in, kSize);
}

// From kMost to 2 * kMost bytes: the last ones may overlap the first.
template <int kMost>
inline void move_ends(char* out, const char* in, int64_t bytes) {
  char first[kMost], last[kMost];
  std::memcpy(first, in, kMost);
  std::memcpy(last, in + bytes - kMost, kMost);
  std::memcpy(out, first, kMost);
  std::memcpy(out + bytes - kMost, last, kMost);
}

// A few words of kLeast bytes each, together 2 * kMost bytes at most.
template <int kMost, int kLeast>
inline void move_few(char* out, const char* in, int64_t bytes) {
  if constexpr (kMost >= kLeast) {
    if (bytes < kMost) return move_few<kMost / 2, kLeast>(out, in, bytes);
    move_ends<kMost>(out, in, bytes);
  }
}

// A run of bytes. Not memcpy: what processors have for copies is slow, up to ten times, where the
// low bits of both addresses are alike.
template <int kSize>
inline void move_run(char* out, const char* in, int64_t bytes) {
  if (bytes < kVectorBytes) return move_few<kVectorBytes / 2, kSize>(out, in, bytes);
  int64_t i = 0;
  for (; i + 4 * kVectorBytes <= bytes; i += 4 * kVectorBytes) {
    char vectors[4 * kVectorBytes];
    std::memcpy(vectors, in + i, sizeof(vectors));
    std::memcpy(out + i, vectors, sizeof(vectors));
  }
  for (; i + kVectorBytes <= bytes; i += kVectorBytes) move_word<kVectorBytes>(out + i, in + i);
  if (i < bytes) move_word<kVectorBytes>(out + bytes - kVectorBytes, in + bytes - kVectorBytes);
}

}  // namespace
}  // namespace tensorlike
