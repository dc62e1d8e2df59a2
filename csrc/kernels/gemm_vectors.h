// Vectors as wide as the flags of the translation unit allow, for the loops of the matrix multiply.
// Included by gemm_isa.h only, which says why all is in an anonymous namespace.
#pragma once

#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define TL_INLINE inline __attribute__((always_inline))

namespace tensorlike {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRegisters = 32;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kRegisters = 16;
#else
constexpr int kVectorBytes = 16;
#if defined(__aarch64__)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 15;  // without a fused multiply-add the product needs one, too
#endif
#endif

template <class T, int kBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
  typedef T Unaligned __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};

template <class T>
using Vector = typename VectorOf<T, kVectorBytes>::Type;

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

// Elements of another type, as bits.
template <class V>
TL_INLINE V load_bits(const void* from) {
  V bits;
  __builtin_memcpy(&bits, from, sizeof(bits));
  return bits;
}

template <class V, class T>
TL_INLINE V load(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T, static_cast<int>(sizeof(V))>::Unaligned*>(
      from);
}

template <class V, class T>
TL_INLINE void store(T* to, V value) {
  *reinterpret_cast<typename VectorOf<T, static_cast<int>(sizeof(V))>::Unaligned*>(to) = value;
}

// Loops that are sure to be unrolled before the optimiser decides which arrays can live in
// registers: they call f(constant 0) .. f(constant kCount - 1),
template <int kIndex>
struct Constant {
  static constexpr int kValue = kIndex;
};

template <class F, int... kIndices>
TL_INLINE constexpr void call_with(F& f, std::integer_sequence<int, kIndices...>) {
  (f(Constant<kIndices>{}), ...);
}

template <int kCount, class F>
TL_INLINE constexpr void unrolled(F&& f) {
  call_with(f, std::make_integer_sequence<int, kCount>{});
}

// or f(row, column), row by row. (A loop within a loop takes half as long again to compile.)
template <int kColumns, class F, int... kIndices>
TL_INLINE constexpr void call_with_pairs(F& f, std::integer_sequence<int, kIndices...>) {
  (f(Constant<kIndices / kColumns>{}, Constant<kIndices % kColumns>{}), ...);
}

template <int kRows, int kColumns, class F>
TL_INLINE constexpr void unrolled(F&& f) {
  call_with_pairs<kColumns>(f, std::make_integer_sequence<int, kRows * kColumns>{});
}

// The first `count` lanes of a vector; the rest is neither read nor written.
#if defined(__AVX512F__)
constexpr bool kHasMasks = true;

template <class T>
TL_INLINE uint32_t mask_of(int64_t count) {
  if (count <= 0) return 0;
  return count >= kLanes<T> ? 0xffffffffU >> (32 - kLanes<T>) : (1U << count) - 1;
}

template <class T>
TL_INLINE Vector<T> load_masked(uint32_t mask, const T* from) {
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vector<T>>(
        _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from));
  } else {
    return reinterpret_cast<Vector<T>>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from));
  }
}

template <class T>
TL_INLINE void store_masked(T* to, uint32_t mask, Vector<T> value) {
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), reinterpret_cast<__m512i>(value));
  } else {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), reinterpret_cast<__m512i>(value));
  }
}
#else
constexpr bool kHasMasks = false;
#endif

}  // namespace
}  // namespace tensorlike
