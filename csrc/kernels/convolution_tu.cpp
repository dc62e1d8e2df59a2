// Convolution loops, for one ISA level: pieces of images on their way into operands of products,
// and the dot products that make the gradient by the weights.
#include "kernels/gemm_isa.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

#define TL_INLINE inline __attribute__((always_inline))

namespace tensorlike {
namespace {

// ---- gathering ----------------------------------------------------------------------------------

#if defined(__AVX512F__)
constexpr int64_t kMaxStride = int64_t{1} << 24;  // 16 steps of it fit the index of a gather

// The lanes [low, high) of a vector.
template <class T>
TL_INLINE uint32_t mask_between(int64_t low, int64_t high) {
  return mask_of<T>(high) & ~mask_of<T>(low);
}

// Every second element, from two vectors beside each other.
template <class T>
TL_INLINE Vector<T> even_lanes(Vector<T> x, Vector<T> y) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  } else {
    return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14);
  }
}

template <class T>
TL_INLINE Vector<T> load_far(uint32_t mask, const T* from, int64_t stride) {
  if constexpr (sizeof(T) == 4) {
    const Vector<int32_t> lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const auto index = reinterpret_cast<__m512i>(lane * static_cast<int32_t>(stride));
    return reinterpret_cast<Vector<T>>(_mm512_mask_i32gather_ps(
        _mm512_setzero_ps(), static_cast<__mmask16>(mask), index, from, 4));
  } else {
    const Vector<int64_t> lane = {0, 1, 2, 3, 4, 5, 6, 7};
    const auto index = reinterpret_cast<__m512i>(lane * stride);
    return reinterpret_cast<Vector<T>>(
        _mm512_mask_i64gather_pd(_mm512_setzero_pd(), static_cast<__mmask8>(mask), index, from, 8));
  }
}

// Whole vectors are written: what a line spills, the next one overwrites.
template <class T>
TL_INLINE void gather_vectors(const GatherLine& line, int64_t length, int64_t stride, const T* from,
                              int64_t next, T* to) {
  constexpr int64_t kStep = kLanes<T>;
  for (int64_t i = 0; i < length; i += kStep) {
    Vector<T> value;
    __builtin_prefetch(from + i * stride + next);
    if (stride == 1) {
      if (i >= line.low && i + kStep <= line.high) {
        value = load<Vector<T>>(from + i);
      } else {
        value = load_masked(mask_between<T>(line.low - i, line.high - i), from + i);
      }
    } else if (stride == 2) {
      const int64_t low = 2 * (line.low - i);
      const int64_t high = 2 * (line.high - i) - 1;
      const T* first = from + 2 * i;
      value = even_lanes<T>(load_masked(mask_between<T>(low, high), first),
                            load_masked(mask_between<T>(low - kStep, high - kStep), first + kStep));
    } else {
      value = load_far(mask_between<T>(line.low - i, line.high - i), from + i * stride, stride);
    }
    store(to + i, value);
  }
}
#endif

template <class T>
TL_INLINE void gather_line(const GatherLine& line, int64_t length, int64_t stride, const T* image,
                           [[maybe_unused]] int64_t next, T* to) {
#if defined(__AVX512F__)
  if (stride <= kMaxStride) {
    gather_vectors(line, length, stride, image + line.from, next, to + line.to);
    return;
  }
#endif
  const T* from = image + line.from;
  to += line.to;
  int64_t i = 0;
  for (; i < line.low; ++i) to[i] = 0;
  if (stride == 1) {
    for (; i < line.high; ++i) to[i] = from[i];
  } else {
    for (; i < line.high; ++i) to[i] = from[i * stride];
  }
  for (; i < length; ++i) to[i] = 0;
}

template <class T>
void gather(const GatherLine* lines, int64_t count, int64_t length, int64_t stride,
            const void* image, int64_t image_step, void* to, int64_t to_step, int64_t channels) {
  const T* from = static_cast<const T*>(image);
  T* operand = static_cast<T*>(to);
  for (int64_t c = 0; c < channels; ++c, from += image_step, operand += to_step) {
    if (stride == 1) {
      for (int64_t l = 0; l < count; ++l)
        gather_line(lines[l], length, 1, from, image_step, operand);
    } else if (stride == 2) {
      for (int64_t l = 0; l < count; ++l)
        gather_line(lines[l], length, 2, from, image_step, operand);
    } else {
      for (int64_t l = 0; l < count; ++l)
        gather_line(lines[l], length, stride, from, image_step, operand);
    }
  }
}

// ---- dot products -------------------------------------------------------------------------------

// to[r] += the sum of the lanes of sum[r].
template <class T, int kCount>
TL_INLINE void add_lanes(const Vector<T> (&sum)[kCount], T* to) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4 && kCount == 4) {  // together they take half of the instructions
    auto folded = [](const Vector<T>& x, const Vector<T>& y) __attribute__((always_inline)) {
      return __builtin_shufflevector(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13,
                                     29) +
             __builtin_shufflevector(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15,
                                     31);
    };
    const Vector<T> x = folded(sum[0], sum[1]);
    const Vector<T> y = folded(sum[2], sum[3]);
    const Vector<T> all =
        __builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
        __builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    const Vector<T> half = all + __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15, 0,
                                                         1, 2, 3, 4, 5, 6, 7);
    store(to, load<Small<T>>(to) + __builtin_shufflevector(half, half, 0, 1, 2, 3) +
                  __builtin_shufflevector(half, half, 4, 5, 6, 7));
    return;
  }
#endif
  unrolled<kCount>(
      [&](auto r) __attribute__((always_inline)) { to[r.kValue] += sum_lanes<T>(sum[r.kValue]); });
}

template <class T, int kRows, int kCount>
void dot_tile(int64_t n, const T* a, int64_t a_row, const T* b, const int64_t* offsets, T* sums,
              int64_t sums_row) {
  using V = Vector<T>;
  constexpr int kStep = kLanes<T>;
  V sum[kRows][kCount];
  const T* other[kCount];
  unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
    other[r.kValue] = b + offsets[r.kValue];
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) { sum[i.kValue][r.kValue] = V{}; });
  });
  auto add = [&](auto&& get) __attribute__((always_inline)) {
    V column[kCount];
    unrolled<kCount>(
        [&](auto r) __attribute__((always_inline)) { column[r.kValue] = get(other[r.kValue]); });
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      const V row = get(a + i.kValue * a_row);
      unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
        sum[i.kValue][r.kValue] += row * column[r.kValue];
      });
    });
  };
  int64_t p = 0;
  for (; p + kStep <= n; p += kStep) {
    add([&](const T* from) __attribute__((always_inline)) { return load<V>(from + p); });
  }
#if defined(__AVX512F__)
  if (p < n) {
    const uint32_t mask = mask_of<T>(n - p);
    add([&](const T* from) __attribute__((always_inline)) { return load_masked(mask, from + p); });
  }
#endif
  unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
    add_lanes<T, kCount>(sum[i.kValue], sums + i.kValue * sums_row);
  });
#if !defined(__AVX512F__)
  for (; p < n; ++p) {
    for (int i = 0; i < kRows; ++i) {
      for (int r = 0; r < kCount; ++r) sums[i * sums_row + r] += a[i * a_row + p] * other[r][p];
    }
  }
#endif
}

constexpr int kDotRows = kRegisters >= 32 ? 6 : 2;
constexpr int kDotColumns = 4;

template <class T>
using DotTile = void (*)(int64_t n, const T* a, int64_t a_row, const T* b, const int64_t* offsets,
                         T* sums, int64_t sums_row);

template <class T>
struct DotTiles {
  DotTile<T> tile[kDotRows][kDotColumns];  // [rows - 1][columns - 1]

  constexpr DotTiles() : tile() {
    unrolled<kDotRows>([&](auto i) {
      unrolled<kDotColumns>(
          [&](auto r) { tile[i.kValue][r.kValue] = dot_tile<T, i.kValue + 1, r.kValue + 1>; });
    });
  }
};

template <class T>
void add_dots(int64_t n, const void* a, int64_t a_row, int64_t rows, const void* b,
              const int64_t* offsets, int64_t count, void* sums, int64_t sums_row) {
  static constexpr DotTiles<T> kTiles;
  for (int64_t i = 0; i < rows; i += kDotRows) {  // which stay in the first-level cache
    const int64_t height = rows - i < kDotRows ? rows - i : kDotRows;
    for (int64_t r = 0; r < count; r += kDotColumns) {
      const int64_t width = count - r < kDotColumns ? count - r : kDotColumns;
      kTiles.tile[height - 1][width - 1](n, static_cast<const T*>(a) + i * a_row, a_row,
                                         static_cast<const T*>(b), offsets + r,
                                         static_cast<T*>(sums) + i * sums_row + r, sums_row);
    }
  }
}

template <class T>
void add(void* to, const void* x, int64_t n) {
  T* const sums = static_cast<T*>(to);
  const T* const from = static_cast<const T*>(x);
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    store(sums + i, load<Vector<T>>(sums + i) + load<Vector<T>>(from + i));
  }
#if defined(__AVX512F__)
  const uint32_t mask = mask_of<T>(n - i);
  store_masked(sums + i, mask, load_masked(mask, sums + i) + load_masked(mask, from + i));
#else
  for (; i < n; ++i) sums[i] += from[i];
#endif
}

template <class T>
constexpr ConvolutionKernels kernels() {
  return {gather<T>, add_dots<T>, add<T>};
}

}  // namespace

void TL_FILL(convolutions)(KernelTable& table);
void TL_FILL(convolutions)(KernelTable& table) {
  table.convolutions[DType::kFloat32] = kernels<float>();
  table.convolutions[DType::kFloat64] = kernels<double>();
}

}  // namespace tensorlike
