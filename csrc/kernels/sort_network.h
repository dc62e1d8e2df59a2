// Sorting within registers, for ISA levels of AVX-512: a bitonic network over a few vectors of
// unsigned keys, and the lanes that it and the quicksort around it speak of. In an anonymous
// namespace, since it is included into code for one ISA level.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace tensorlike {
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
  static Mask differing(Mask mask, __m512i a, __m512i b) {
    return _mm512_mask_cmpneq_epu32_mask(mask, a, b);
  }
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
};

template <>
struct Lanes<uint64_t> {
  static constexpr int kCount = 8;
  using Mask = __mmask8;
  using Vector __attribute__((vector_size(64))) = uint64_t;
  static __m512i broadcast(uint64_t key) { return _mm512_set1_epi64(static_cast<int64_t>(key)); }
  static Mask below(__m512i a, __m512i b) { return _mm512_cmplt_epu64_mask(a, b); }
  static Mask not_above(__m512i a, __m512i b) { return _mm512_cmple_epu64_mask(a, b); }
  static Mask differing(Mask mask, __m512i a, __m512i b) {
    return _mm512_mask_cmpneq_epu64_mask(mask, a, b);
  }
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
struct Network {
  using L = Lanes<Key>;
  using Vector = typename L::Vector;
  static constexpr int kLanes = L::kCount;
  static constexpr int kVectors = 16;  // of the largest one: twice as many leave the registers

  static Vector least(Vector a, Vector b) { return a < b ? a : b; }
  static Vector most(Vector a, Vector b) { return a < b ? b : a; }

  // Lane i beside lane i ^ kWith: the lower lane keeps the smaller key of its own and the other's.
  template <int kWith, size_t... kLane>
  static Vector exchange(Vector own, Vector other, std::index_sequence<kLane...>) {
    constexpr size_t kUpper = std::bit_floor(static_cast<unsigned>(kWith));
    constexpr unsigned kTakesMost = (((kLane & kUpper) != 0 ? 1U << kLane : 0U) | ...);
    const Vector beside = __builtin_shufflevector(other, other, (kLane ^ kWith)...);
    return L::most_where(least(own, beside), kTakesMost, own, beside);
  }
  template <int kWith>
  static Vector exchange(Vector own, Vector other) {
    return exchange<kWith>(own, other, std::make_index_sequence<kLanes>());
  }
  template <int kCount>
  static constexpr int kOdd = kCount % 3 == 0 ? 3 : 1;
  static void put_in_order(Vector& a, Vector& b) {
    const Vector low = least(a, b);
    b = most(a, b);
    a = low;
  }

  // Columns are the keys of a lane. Sorts blocks of 2 kStep of each, where they rise and fall.
  template <int kStep, int kCount>
  [[gnu::always_inline]] static void merge_columns(Vector (&v)[kCount]) {
    if constexpr (kStep >= kOdd<kCount>) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount; i += 2 * kStep) {
#pragma GCC unroll 16
        for (int j = i; j < i + kStep; ++j) put_in_order(v[j], v[j + kStep]);
      }
      merge_columns<kStep / 2>(v);
    } else if constexpr (kOdd<kCount> == 3) {
      sort_threes(v);
    }
  }
  template <int kCount>
  [[gnu::always_inline]] static void sort_threes(Vector (&v)[kCount]) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; i += 3) {
      put_in_order(v[i], v[i + 2]);
      put_in_order(v[i], v[i + 1]);
      put_in_order(v[i + 1], v[i + 2]);
    }
  }
  // Blocks of kSize keys of each column, then larger ones, of which the second half is compared
  // backwards, so that both halves rise and fall.
  template <int kSize, int kCount>
  [[gnu::always_inline]] static void sort_columns(Vector (&v)[kCount]) {
    if constexpr (kSize == 3) sort_threes(v);
    if constexpr (kSize > kOdd<kCount>) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount; i += kSize) {
#pragma GCC unroll 16
        for (int j = 0; j < kSize / 2; ++j) put_in_order(v[i + j], v[i + kSize - 1 - j]);
      }
      merge_columns<kSize / 4>(v);
    }
    if constexpr (kSize < kCount) sort_columns<2 * kSize>(v);
  }

  // Two sorted runs of kWidth / 2 lanes: compared with the second one backwards, they become two
  // that rise and fall, the first of which has the smaller keys.
  template <int kWidth, int kCount>
  [[gnu::always_inline]] static void merge_lanes(Vector (&v)[kCount]) {
#pragma GCC unroll 32
    for (int i = 0; i < (kCount + 1) / 2; ++i) {
      const Vector low = v[i];
      const Vector high = v[kCount - 1 - i];
      v[i] = exchange<kWidth - 1>(low, high);
      v[kCount - 1 - i] = exchange<kWidth - 1>(high, low);
    }
    exchange_lanes<kWidth / 4>(v);
    merge_columns<kCount / 2>(v);
  }
  template <int kStep, int kCount>
  [[gnu::always_inline]] static void exchange_lanes(Vector (&v)[kCount]) {
    if constexpr (kStep > 0) {
#pragma GCC unroll 32
      for (int i = 0; i < kCount; ++i) v[i] = exchange<kStep>(v[i], v[i]);
      exchange_lanes<kStep / 2>(v);
    }
  }

  template <int kPart, size_t... kLane>
  static Vector of_two(Vector a, Vector b, std::index_sequence<kLane...>) {
    return __builtin_shufflevector(a, b, ((kPart * kLanes + kLane) / 2 + kLane % 2 * kLanes)...);
  }
  template <int kPart, size_t... kLane>
  static Vector of_three(Vector a, Vector b, Vector c, std::index_sequence<kLane...>) {
    constexpr auto kFrom = [](size_t lane) { return kPart * kLanes + lane; };
    const Vector two =
        __builtin_shufflevector(a, b, (kFrom(kLane) / 3 + (kFrom(kLane) % 3 == 1 ? kLanes : 0))...);
    return __builtin_shufflevector(two, c,
                                   (kFrom(kLane) % 3 == 2 ? kFrom(kLane) / 3 + kLanes : kLane)...);
  }
  // The keys of a lane side by side, lane after lane: the halves (or thirds) of what there is, key
  // by key in turns, until each vector has had its turn.
  template <int kCount>
  [[gnu::always_inline]] static void turn(Vector (&v)[kCount]) {
    constexpr auto kAll = std::make_index_sequence<kLanes>();
    Vector from[kCount];
    if constexpr (kCount % 3 == 0) {
      constexpr int kThird = kCount / 3;
#pragma GCC unroll 32
      for (int i = 0; i < kCount; ++i) from[i] = v[i];
#pragma GCC unroll 32
      for (int i = 0; i < kThird; ++i) {
        const Vector a = from[i], b = from[i + kThird], c = from[i + 2 * kThird];
        v[3 * i] = of_three<0>(a, b, c, kAll);
        v[3 * i + 1] = of_three<1>(a, b, c, kAll);
        v[3 * i + 2] = of_three<2>(a, b, c, kAll);
      }
    }
#pragma GCC unroll 4
    for (int parts = kCount % 3 == 0 ? kCount / 3 : kCount; parts > 1; parts /= 2) {
#pragma GCC unroll 32
      for (int i = 0; i < kCount; ++i) from[i] = v[i];
#pragma GCC unroll 32
      for (int i = 0; i < kCount / 2; ++i) {
        v[2 * i] = of_two<0>(from[i], from[i + kCount / 2], kAll);
        v[2 * i + 1] = of_two<1>(from[i], from[i + kCount / 2], kAll);
      }
    }
  }

  // Key i of lane l stands at place l * kCount + i until the end, since what is compared most
  // often are neighbours: those of two vectors cost no exchange of lanes.
  template <int kCount>
  [[gnu::always_inline]] static void network(Vector (&v)[kCount]) {
    sort_columns<kOdd<kCount>>(v);
    merge_lanes<2>(v);
    merge_lanes<4>(v);
    merge_lanes<8>(v);
    if constexpr (kLanes == 16) merge_lanes<16>(v);
    turn(v);
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
    return sort_in_registers<kVectors>(from, to, n);
  }
};

}  // namespace
}  // namespace tensorlike
