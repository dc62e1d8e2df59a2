// Vectors of numbers of 16 bits as float32 and back, by the processor's own conversions where the
// flags of the translation unit allow them. All is in an anonymous namespace: see gemm_isa.h.
#pragma once

#include "base/half.h"
#include "kernels/gemm_vectors.h"

namespace tensorlike {
namespace {

// The bits of as many numbers as a vector of float32 has.
typedef uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));

// g++ 12 makes several instructions of __builtin_convertvector, and warns of what it does with
// forms without a mask.
TL_INLINE Vector<uint32_t> widened_bits(Halves bits) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector<uint32_t>>(
      _mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(bits)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vector<uint32_t>>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(bits)));
#else
  return __builtin_convertvector(bits, Vector<uint32_t>);
#endif
}

TL_INLINE Vector<float> widened_vector(Halves bits, BFloat16) {
  return reinterpret_cast<Vector<float>>(widened_bits(bits) << 16);
}

TL_INLINE Vector<float> widened_vector(Halves bits, Float16) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(bits));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(reinterpret_cast<__m128i>(bits));
#else
  Vector<float> made;
  for (int i = 0; i < kLanes<float>; ++i) {
    Float16 one;
    one.bits = bits[i];
    made[i] = static_cast<float>(one);
  }
  return made;
#endif
}

// The low halves of all lanes.
TL_INLINE Halves narrowed_bits(Vector<uint32_t> bits) {
#if defined(__AVX512F__)
  return reinterpret_cast<Halves>(
      _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(bits)));
#else
  return __builtin_convertvector(bits, Halves);
#endif
}

// Rounded to the nearest, halves to even. With as many exponents as float32 has, denormal numbers
// round as others do, and infinity follows the largest.
TL_INLINE Halves narrowed_vector(Vector<float> wide, BFloat16) {
#if defined(__AVX512BW__)
  // The same in half as many instructions: an odd number is rounded by one more.
  const __m512i bits = reinterpret_cast<__m512i>(wide);
  const __mmask16 is_odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
  const __m512i even = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_mask_add_epi32(even, is_odd, bits, _mm512_set1_epi32(0x8000));
  const __m512i quiet = _mm512_or_epi32(_mm512_and_epi32(bits, _mm512_set1_epi32(INT32_MIN)),
                                        _mm512_set1_epi32(0x7fc00000));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(wide, wide, _CMP_UNORD_Q);
  const Vector<uint16_t> made =
      reinterpret_cast<Vector<uint16_t>>(_mm512_mask_mov_epi32(rounded, is_nan, quiet));
  return __builtin_shufflevector(made, made, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29,
                                 31);
#else
  using Bits = Vector<uint32_t>;
  const Bits bits = reinterpret_cast<Bits>(wide);
  const Bits rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  const Bits quiet = (bits & 0x80000000u) | 0x7fc00000u;
  return narrowed_bits((wide == wide ? rounded : quiet) >> 16);
#endif
}

#if defined(__F16C__)
TL_INLINE Halves narrowed_vector(Vector<float> wide, Float16) {
#if defined(__AVX512F__)
  return reinterpret_cast<Halves>(
      _mm512_maskz_cvtps_ph(0xffff, wide, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  return reinterpret_cast<Halves>(
      _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
}
#else
TL_INLINE Halves narrowed_vector(Vector<float> wide, Float16) {
  Halves made;
  for (int i = 0; i < kLanes<float>; ++i) made[i] = Float16(wide[i]).bits;
  return made;
}
#endif

}  // namespace
}  // namespace tensorlike
