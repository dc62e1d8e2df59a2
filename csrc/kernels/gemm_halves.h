// How numbers of 16 bits enter the matrix multiply: as vectors of float32 where few rows are
// multiplied, else packed, as float32 or, of bfloat16, in pairs along k. Included by gemm_isa.h
// only, which says why all is in an anonymous namespace.
#pragma once

#include "kernels/gemm.h"
#include "kernels/gemm_packing.h"
#include "kernels/gemm_vectors.h"
#include "kernels/half_vectors.h"

namespace tensorlike {
namespace {

// ---- as float32 -------------------------------------------------------------------------------

template <class T>
TL_INLINE T widened(T x) {
  return x;
}
TL_INLINE float widened(Float16 x) { return static_cast<float>(x); }
TL_INLINE float widened(BFloat16 x) { return static_cast<float>(x); }

// A vector of what sums are made of.
template <class T>
TL_INLINE Vector<SumOf<T>> load_wide(const T* from) {
  if constexpr (is_half<T>) {
    return widened_vector(load_bits<Halves>(from), T{});
  } else {
    return load<Vector<T>>(from);
  }
}

#if defined(__AVX512F__)
// Adds two products to each sum, the second first, and rounds after each; denormal numbers are 0.
// As assembly, since not all processors of the level have it: see integer_product_tu.cpp.
TL_INLINE void add_pairs(Vector<float>& sum, Vector<BFloat16Pair> a, Vector<BFloat16Pair> b) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}
#endif

// ---- packing ----------------------------------------------------------------------------------

// For each step along k, what make(bits of lanes of that step) gives of lanes that follow each
// other in memory, as vectors of kLanes<float>; the last one overlaps the one before it.
template <class To, class T, class Make>
TL_INLINE void pack_half_rows(To* to, int64_t step, const T* from, int64_t k_stride, int64_t count,
                              int64_t k, Make&& make) {
  constexpr int64_t kStep = kLanes<float>;
#if defined(__AVX512F__)
  if (count < kStep) {
    const uint32_t mask = mask_of<float>(count);
    for (int64_t p = 0; p < k; ++p, to += step, from += k_stride) {
      __builtin_prefetch(from + 8 * k_stride);  // rows are in different pages
      store_masked(to, mask, make([&](int64_t ahead) __attribute__((always_inline)) {
                     return reinterpret_cast<Halves>(
                         _mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), from + ahead));
                   }));
    }
    return;
  }
#endif
  for (int64_t p = 0; p < k; ++p, to += step, from += k_stride) {
    for (int64_t done = 0; done < count; done += kStep) {
      const int64_t i = done + kStep <= count ? done : count - kStep;
      store(to + i, make([&](int64_t ahead) __attribute__((always_inline)) {
              return load_bits<Halves>(from + i + ahead);
            }));
    }
  }
}

// Whether lanes that follow each other in memory fill vectors.
TL_INLINE bool is_packed_by_rows(int64_t lane_stride, int64_t count) {
  return lane_stride == 1 && (kHasMasks || count >= kLanes<float>);
}

// Runs along k, which become float32 in a small square before they are transposed.
template <class T>
TL_INLINE void widen_runs(float* to, int64_t step, const T* from, int64_t lane_stride,
                          int64_t count, int64_t k) {
  constexpr int64_t kLong = 64;
  constexpr int64_t kTogether = 16;
  constexpr int64_t kStep = kLanes<float>;
  alignas(kVectorBytes) float square[kTogether][kLong];
  for (int64_t lane = 0; lane < count; lane += kTogether) {
    const int64_t lanes = count - lane < kTogether ? count - lane : kTogether;
    for (int64_t p = 0; p < k; p += kLong) {
      const int64_t length = k - p < kLong ? k - p : kLong;
      for (int64_t i = 0; i < lanes; ++i) {
        const T* const run = from + (lane + i) * lane_stride + p;
        int64_t q = 0;
        for (; q + kStep <= length; q += kStep) store(&square[i][q], load_wide(run + q));
        for (; q < length; ++q) square[i][q] = widened(run[q]);
      }
      pack_runs(to + p * step + lane, step, &square[0][0], kLong, lanes, length);
    }
  }
}

template <class T>
void widen(float* to, int64_t step, const T* from, int64_t lane_stride, int64_t k_stride,
           int64_t count, int64_t k) {
  clear_lanes(to, step, count, k);
  if (is_packed_by_rows(lane_stride, count)) {
    pack_half_rows(to, step, from, k_stride, count, k,
                   [](auto&& bits)
                       __attribute__((always_inline)) { return widened_vector(bits(0), T{}); });
  } else if (k_stride == 1) {
    widen_runs(to, step, from, lane_stride, count, k);
  } else {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = 0; i < count; ++i) {
        to[p * step + i] = widened(from[i * lane_stride + p * k_stride]);
      }
    }
  }
}

// The first number is in the low bits.
TL_INLINE BFloat16Pair pair_of(BFloat16 first, BFloat16 second) {
  return {first.bits | static_cast<uint32_t>(second.bits) << 16};
}

inline void pair(BFloat16Pair* to, int64_t step, const BFloat16* from, int64_t lane_stride,
                 int64_t k_stride, int64_t count, int64_t k) {
  const int64_t pairs = k / 2;
  clear_lanes(to, step, count, (k + 1) / 2);
  if (is_packed_by_rows(lane_stride, count)) {
    pack_half_rows(to, step, from, 2 * k_stride, count, pairs,
                   [&](auto&& bits) __attribute__((always_inline)) {
                     return widened_bits(bits(0)) | widened_bits(bits(k_stride)) << 16;
                   });
  } else if (k_stride == 1) {
    pack_runs(to, step, from, lane_stride, count, pairs);
  } else {
    for (int64_t p = 0; p < pairs; ++p) {
      const BFloat16* const first = from + 2 * p * k_stride;
      for (int64_t i = 0; i < count; ++i) {
        to[p * step + i] = pair_of(first[i * lane_stride], first[i * lane_stride + k_stride]);
      }
    }
  }
  if (k % 2 == 0) return;
  for (int64_t i = 0; i < count; ++i) {
    to[pairs * step + i] = pair_of(from[i * lane_stride + (k - 1) * k_stride], BFloat16{});
  }
}

}  // namespace
}  // namespace tensorlike
