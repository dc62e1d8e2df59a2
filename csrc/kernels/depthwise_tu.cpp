// One plane of a depthwise convolution, for one ISA level.
#include <cstddef>

#include "kernels/gemm_vectors.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

struct Tap {
  int64_t offset;  // in the copies, of the first column
  int64_t weight;
};

template <class T>
void copy_rows(const Window& w, const DepthwiseRows& rows, const T* x, T* space) {
  const int64_t stride = w.stride[2];
  for (int64_t row = 0; row < rows.planes; ++row, x += w.in[2]) {
    if (stride == 1) {
      __builtin_memcpy(space + row * rows.length + w.before[2], x,
                       static_cast<size_t>(w.in[2]) * sizeof(T));
      continue;
    }
    for (int64_t phase = 0; phase < rows.phases; ++phase) {
      T* const to = space + (phase * rows.planes + row) * rows.length;
      int64_t place = (w.before[2] - phase + stride - 1) / stride;  // the first in the image
      if (w.before[2] <= phase) place = 0;
      for (int64_t i = place * stride + phase - w.before[2]; i < w.in[2]; i += stride) {
        to[place++] = x[i];
      }
    }
  }
}

// The taps of the window of row (d, h) that lie in the image's rows; `columns`: where those of a
// row of the kernel begin.
int64_t taps_of(const Window& w, const DepthwiseRows& rows, int64_t d, int64_t h,
                const int64_t* columns, Tap* taps) {
  int64_t count = 0;
  for (int64_t plane = 0; plane < w.kernel[0]; ++plane) {
    const int64_t depth = w.position(0, d, plane);
    if (depth < 0 || depth >= w.in[0]) continue;
    for (int64_t above = 0; above < w.kernel[1]; ++above) {
      const int64_t row = w.position(1, h, above);
      if (row < 0 || row >= w.in[1]) continue;
      const int64_t begin = (depth * w.in[1] + row) * rows.length;
      const int64_t weight = (plane * w.kernel[1] + above) * w.kernel[2];
      for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
        taps[count++] = {begin + columns[tap], weight + tap};
      }
    }
  }
  return count;
}

template <class T, int kVectors>
TL_INLINE void sum_columns(const Tap* taps, int64_t count, const T* rows, const T* weight, T bias,
                           T* y, int64_t columns) {
  using V = Vector<T>;
  V sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = V{} + bias;
  for (int64_t t = 0; t < count; ++t) {
    const T* const from = rows + taps[t].offset;
    const T factor = weight[taps[t].weight];
    for (int v = 0; v < kVectors; ++v) sums[v] += load<V>(from + v * kLanes<T>) * factor;
  }
  constexpr int64_t kBefore = (kVectors - 1) * kLanes<T>;
  for (int v = 0; v + 1 < kVectors; ++v) store(y + v * kLanes<T>, sums[v]);
  if (columns >= kBefore + kLanes<T>) {
    store(y + kBefore, sums[kVectors - 1]);
  } else {
    const V last = sums[kVectors - 1];
    __builtin_memcpy(y + kBefore, &last, static_cast<size_t>(columns - kBefore) * sizeof(T));
  }
}

template <class T>
void plane(const Window& w, const DepthwiseRows& layout, const void* in, const void* weights,
           const void* bias, void* out, void* space) {
  const T* const weight = static_cast<const T*>(weights);
  const T start = bias == nullptr ? T{0} : *static_cast<const T*>(bias);
  T* const rows = static_cast<T*>(space);
  T* y = static_cast<T*>(out);
  copy_rows(w, layout, static_cast<const T*>(in), rows);
  Tap taps[DepthwiseRows::kMostTaps];
  int64_t columns[DepthwiseRows::kMostTaps];
  for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
    const int64_t place = tap * w.dilation[2];
    columns[tap] = place % w.stride[2] * layout.planes * layout.length + place / w.stride[2];
  }
  for (int64_t d = 0; d < w.out[0]; ++d) {
    for (int64_t h = 0; h < w.out[1]; ++h, y += w.out[2]) {
      const int64_t count = taps_of(w, layout, d, h, columns, taps);
      for (int64_t i = 0; i < w.out[2]; i += 4 * kLanes<T>) {
        const int64_t left = w.out[2] - i;
        if (left > 3 * kLanes<T>) {
          sum_columns<T, 4>(taps, count, rows + i, weight, start, y + i, left);
        } else if (left > 2 * kLanes<T>) {
          sum_columns<T, 3>(taps, count, rows + i, weight, start, y + i, left);
        } else if (left > kLanes<T>) {
          sum_columns<T, 2>(taps, count, rows + i, weight, start, y + i, left);
        } else {
          sum_columns<T, 1>(taps, count, rows + i, weight, start, y + i, left);
        }
      }
    }
  }
}

}  // namespace

void TL_FILL(depthwise)(KernelTable& table);
void TL_FILL(depthwise)(KernelTable& table) {
  table.depthwise[DType::kFloat32] = plane<float>;
  table.depthwise[DType::kFloat64] = plane<double>;
}

}  // namespace tensorlike
