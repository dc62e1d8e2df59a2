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

// So many bytes, in one register. GCC would move an array of char through the stack, in pieces of
// 16 bytes.
template <int kSize>
struct BytesOf {
  typedef uint8_t type __attribute__((vector_size(kSize)));
};
template <int kSize>
  requires(kSize < 16)
struct BytesOf<kSize> {
  using type = Lane<kSize>;
};

template <int kSize>
inline auto load_bytes(const char* in) {
  typename BytesOf<kSize>::type bytes;
  std::memcpy(&bytes, in, kSize);
  return bytes;
}
template <int kSize>
inline void store_bytes(char* out, typename BytesOf<kSize>::type bytes) {
  std::memcpy(out, &bytes, kSize);
}

template <int kSize>
inline void move_word(char* out, const char* in) {
  store_bytes<kSize>(out, load_bytes<kSize>(in));
}

// From kMost to 2 * kMost bytes: the last ones may overlap the first.
template <int kMost>
inline void move_ends(char* out, const char* in, int64_t bytes) {
  const auto first = load_bytes<kMost>(in);
  const auto last = load_bytes<kMost>(in + bytes - kMost);
  store_bytes<kMost>(out, first);
  store_bytes<kMost>(out + bytes - kMost, last);
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
    const auto a = load_bytes<kVectorBytes>(in + i);
    const auto b = load_bytes<kVectorBytes>(in + i + kVectorBytes);
    const auto c = load_bytes<kVectorBytes>(in + i + 2 * kVectorBytes);
    const auto d = load_bytes<kVectorBytes>(in + i + 3 * kVectorBytes);
    store_bytes<kVectorBytes>(out + i, a);
    store_bytes<kVectorBytes>(out + i + kVectorBytes, b);
    store_bytes<kVectorBytes>(out + i + 2 * kVectorBytes, c);
    store_bytes<kVectorBytes>(out + i + 3 * kVectorBytes, d);
  }
  for (; i + kVectorBytes <= bytes; i += kVectorBytes) move_word<kVectorBytes>(out + i, in + i);
  if (i < bytes) move_word<kVectorBytes>(out + bytes - kVectorBytes, in + bytes - kVectorBytes);
}

}  // namespace
}  // namespace tensorlike
