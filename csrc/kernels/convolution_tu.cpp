// Convolution loops, for one ISA level: blocks of the matrix whose product with the weights is the
// convolution (its rows are channel and tap, its columns output pixels), made and taken apart
// without the whole of it in memory; and planes for groups of one channel, where a matrix product
// would have a single row.
#include "kernels/gemm_isa.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/window.h"

#define TL_INLINE inline __attribute__((always_inline))

namespace tensorlike {
namespace {

constexpr int64_t kMaxStride = int64_t{1} << 24;  // 16 steps of it fit the index of a gather

TL_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
TL_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// Output pixels of one row that are handled together, and which of them see input through a tap.
struct Run {
  int64_t depth, row, column, count;
  int64_t low, high;  // relative to column
};

template <class T>
TL_INLINE void copy_run(const Run& run, int64_t stride, const T* from, T* to) {
#if defined(__AVX512F__)
  constexpr int64_t kStep = kLanes<T>;
  for (int64_t i = 0; i < run.count; i += kStep) {
    const uint32_t keep = mask_of<T>(run.count - i);
    const uint32_t seen = mask_of<T>(run.high - i) & ~mask_of<T>(run.low - i);
    if (stride == 1) {
      store_masked(to + i, keep, load_masked(seen, from + i));
    } else if constexpr (sizeof(T) == 4) {
      const Vector<int32_t> lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
      const auto index = reinterpret_cast<__m512i>(lane * static_cast<int32_t>(stride));
      const __m512 value = _mm512_mask_i32gather_ps(
          _mm512_setzero_ps(), static_cast<__mmask16>(seen), index, from + i * stride, 4);
      store_masked(to + i, keep, reinterpret_cast<Vector<T>>(value));
    } else {
      const Vector<int64_t> lane = {0, 1, 2, 3, 4, 5, 6, 7};
      const auto index = reinterpret_cast<__m512i>(lane * stride);
      const __m512d value = _mm512_mask_i64gather_pd(
          _mm512_setzero_pd(), static_cast<__mmask8>(seen), index, from + i * stride, 8);
      store_masked(to + i, keep, reinterpret_cast<Vector<T>>(value));
    }
  }
#else
  int64_t i = 0;
  for (; i < run.low; ++i) to[i] = 0;
  if (stride == 1) {
    for (; i < run.high; ++i) to[i] = from[i];
  } else {
    for (; i < run.high; ++i) to[i] = from[i * stride];
  }
  for (; i < run.count; ++i) to[i] = 0;
#endif
}

template <class T>
TL_INLINE void add_run(const Run& run, int64_t stride, const T* from, T* to) {
  int64_t i = run.low;
  if (stride == 1) {
#if defined(__AVX512F__)
    for (; i < run.high; i += kLanes<T>) {
      const uint32_t mask = mask_of<T>(run.high - i);
      store_masked(to + i, mask, load_masked(mask, to + i) + load_masked(mask, from + i));
    }
#else
    for (; i < run.high; ++i) to[i] += from[i];
#endif
  } else {
    for (; i < run.high; ++i) to[i * stride] += from[i];
  }
}

// Calls f(run, place in the image, row of the block or -1 where all is padding, first pixel) for
// rows [row, row + rows) and columns [pixel, pixel + count) of the matrix.
template <class F>
TL_INLINE void for_block(const Window& w, int64_t row, int64_t rows, int64_t pixel, int64_t count,
                         F&& f) {
  const int64_t width = w.out[2];
  const int64_t lines = w.kernel[0] * w.kernel[1];  // taps that differ in more than the column
  for (int64_t done = 0; done < count;) {
    const int64_t at = pixel + done;
    Run run{at / width / w.out[1], at / width % w.out[1], at % width, 0, 0, 0};
    run.count = least(width - run.column, count - done);
    for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
      const int64_t skipped = row - tap;
      int64_t line = skipped <= 0 ? 0 : (skipped - 1) / w.kernel[2] + 1;
      run.low = most(w.first(2, tap) - run.column, 0);
      run.high = least(w.last(2, tap) - run.column, run.count);
      if (run.low >= run.high) run.low = run.high = 0;
      const int64_t column = w.position(2, run.column, tap);
      int64_t channel = line / lines;
      int64_t plane = line % lines / w.kernel[1];
      int64_t above = line % w.kernel[1];
      for (int64_t r = line * w.kernel[2] + tap; r < row + rows; r += w.kernel[2]) {
        const int64_t d = w.position(0, run.depth, plane);
        const int64_t h = w.position(1, run.row, above);
        const bool is_inside = d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1];
        f(run, is_inside ? ((channel * w.in[0] + d) * w.in[1] + h) * w.in[2] + column : 0,
          is_inside, r - row, done);
        if (++above == w.kernel[1]) {
          above = 0;
          if (++plane == w.kernel[0]) {
            plane = 0;
            ++channel;
          }
        }
      }
    }
    done += run.count;
  }
}

template <class T>
void gather(const Window& w, const void* image, int64_t row, int64_t rows, int64_t pixel,
            int64_t count, void* to, int64_t step) {
  const T* x = static_cast<const T*>(image);
  const int64_t stride = w.stride[2];
  for_block(w, row, rows, pixel, count,
            [&](const Run& run, int64_t place, bool is_inside, int64_t r, int64_t first)
                __attribute__((always_inline)) {
                  T* out = static_cast<T*>(to) + r * step + first;
                  if (!is_inside) {
                    for (int64_t i = 0; i < run.count; ++i) out[i] = 0;
                  } else if (stride > kMaxStride) {
                    for (int64_t i = 0; i < run.count; ++i) {
                      out[i] = i >= run.low && i < run.high ? x[place + i * stride] : T{0};
                    }
                  } else {
                    copy_run(run, stride, x + place, out);
                  }
                });
}

template <class T>
void scatter_add(const Window& w, void* image, int64_t row, int64_t rows, int64_t pixel,
                 int64_t count, const void* from, int64_t step) {
  T* x = static_cast<T*>(image);
  for_block(w, row, rows, pixel, count,
            [&](const Run& run, int64_t place, bool is_inside, int64_t r, int64_t first)
                __attribute__((always_inline)) {
                  const T* in = static_cast<const T*>(from) + r * step + first;
                  if (is_inside) add_run(run, w.stride[2], in, x + place);
                });
}

// ---- planes: one channel in, one channel out ----------------------------------------------------

// Calls f(tap, place of the first pixel in the input, place in the output, pixels) for every row of
// the output and every tap that sees input from it.
template <class F>
TL_INLINE void for_rows(const Window& w, F&& f) {
  constexpr int64_t kKnown = 32;
  int64_t low[kKnown];
  int64_t high[kKnown];
  const int64_t known = least(w.kernel[2], kKnown);
  for (int64_t tap = 0; tap < known; ++tap) {
    low[tap] = w.first(2, tap);
    high[tap] = w.last(2, tap);
  }
  for (int64_t line = 0; line < w.out[0] * w.out[1]; ++line) {
    for (int64_t plane = 0; plane < w.kernel[0]; ++plane) {
      const int64_t d = w.position(0, line / w.out[1], plane);
      if (d < 0 || d >= w.in[0]) continue;
      for (int64_t above = 0; above < w.kernel[1]; ++above) {
        const int64_t h = w.position(1, line % w.out[1], above);
        if (h < 0 || h >= w.in[1]) continue;
        const int64_t taps = (plane * w.kernel[1] + above) * w.kernel[2];
        for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
          const int64_t first = tap < known ? low[tap] : w.first(2, tap);
          const int64_t last = tap < known ? high[tap] : w.last(2, tap);
          if (first >= last) continue;
          f(taps + tap, (d * w.in[1] + h) * w.in[2] + w.position(2, first, tap),
            line * w.out[2] + first, last - first);
        }
      }
    }
  }
}

// to[i * to_step] += factor * from[i * from_step].
template <class T>
TL_INLINE void add_scaled(T* to, int64_t to_step, const T* from, int64_t from_step, T factor,
                          int64_t n) {
  if (to_step == 1 && from_step == 1) {
#if defined(__AVX512F__)
    for (int64_t i = 0; i < n; i += kLanes<T>) {
      const uint32_t mask = mask_of<T>(n - i);
      store_masked(to + i, mask, load_masked(mask, to + i) + factor * load_masked(mask, from + i));
    }
#else
    for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
#endif
  } else if (to_step == 1 && from_step == 2) {
    for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i * 2];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_step] += factor * from[i * from_step];
  }
}

template <class T>
void plane(const Window& w, const void* x, const void* weight, void* y) {
  for_rows(w, [&](int64_t tap, int64_t in, int64_t out, int64_t n) __attribute__((always_inline)) {
    add_scaled(static_cast<T*>(y) + out, 1, static_cast<const T*>(x) + in, w.stride[2],
               static_cast<const T*>(weight)[tap], n);
  });
}

template <class T>
void plane_data(const Window& w, const void* dy, const void* weight, void* dx) {
  for_rows(w, [&](int64_t tap, int64_t in, int64_t out, int64_t n) __attribute__((always_inline)) {
    add_scaled(static_cast<T*>(dx) + in, w.stride[2], static_cast<const T*>(dy) + out, 1,
               static_cast<const T*>(weight)[tap], n);
  });
}

// The sum of x[i * step] * y[i], lane by lane.
template <class T>
TL_INLINE T dot(const T* x, int64_t step, const T* y, int64_t n) {
  if (step == 1) {
    Vector<T> sum{};
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i < n; i += kLanes<T>) {
      const uint32_t mask = mask_of<T>(n - i);
      sum += load_masked(mask, x + i) * load_masked(mask, y + i);
    }
    return sum_lanes<T>(sum);
#else
    for (; i + kLanes<T> <= n; i += kLanes<T>) {
      sum += load<Vector<T>>(x + i) * load<Vector<T>>(y + i);
    }
    T total = sum_lanes<T>(sum);
    for (; i < n; ++i) total += x[i] * y[i];
    return total;
#endif
  }
  T lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int l = 0; l < 8; ++l) lanes[l] += x[(i + l) * step] * y[i + l];
  }
  for (; i < n; ++i) lanes[i % 8] += x[i * step] * y[i];
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

template <class T>
void plane_weight(const Window& w, const void* x, const void* dy, double* dweight) {
  for_rows(w, [&](int64_t tap, int64_t in, int64_t out, int64_t n) __attribute__((always_inline)) {
    dweight[tap] += static_cast<double>(
        dot(static_cast<const T*>(x) + in, w.stride[2], static_cast<const T*>(dy) + out, n));
  });
}

template <class T>
constexpr ConvolutionKernels kernels() {
  return {gather<T>, scatter_add<T>, plane<T>, plane_data<T>, plane_weight<T>};
}

}  // namespace

void TL_FILL(convolutions)(KernelTable& table);
void TL_FILL(convolutions)(KernelTable& table) {
  table.convolutions[DType::kFloat32] = kernels<float>();
  table.convolutions[DType::kFloat64] = kernels<double>();
}

}  // namespace tensorlike
