// Blocks of channels of depthwise convolutions, for one ISA level.
#include <cstddef>

#include "kernels/channel_vectors.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int kMostSums = kRegisters >= 32 ? 14 : 7;  // vectors of results at a time

// ---- results -----------------------------------------------------------------------------------

// A row of the source that a row of the kernel sees, and that row of the kernel.
template <class T>
struct Line {
  const T* seen;
  const T* weights;
};

template <class T, int kSums>
TL_INLINE void sum_columns(const Line<T>* lines, int64_t count, const SeenColumns& columns,
                           int64_t column, Vector<T> bias, T* to) {
  using V = Vector<T>;
  constexpr int kCount = kLanes<T>;
  const int64_t apart = columns.seen_step * kCount;
  V sums[kSums];
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) sums[i] = bias;
  for (int64_t line = 0; line < count; ++line) {
    const T* const seen = lines[line].seen + column * apart;
    for (int64_t t = 0; t < columns.tap_count; ++t) {
      const V weight = load<V>(lines[line].weights + columns.taps[t].tap * kCount);
      const T* from = seen + columns.taps[t].place * kCount;
#pragma GCC unroll 16
      for (int i = 0; i < kSums; ++i) sums[i] += load<V>(from + i * apart) * weight;
    }
  }
  to += (columns.first + column * columns.step) * kCount;
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) store(to + i * columns.step * kCount, sums[i]);
}

template <class T, int kSums = kMostSums>
TL_INLINE void sum_some(int64_t some, const Line<T>* lines, int64_t count,
                        const SeenColumns& columns, int64_t column, Vector<T> bias, T* to) {
  if (some == kSums) {
    sum_columns<T, kSums>(lines, count, columns, column, bias, to);
  } else if constexpr (kSums > 1) {
    sum_some<T, kSums - 1>(some, lines, count, columns, column, bias, to);
  }
}

// The lines that result (d, h) sees.
template <class T>
int64_t lines_of(const BlockPlan& plan, int64_t d, int64_t h, const T* source, const T* weights,
                 Line<T>* lines) {
  int64_t count = 0;
  for (int64_t i = 0; i < plan.kernel[0]; ++i) {
    const int64_t depth = plan.places[0][d * plan.kernel[0] + i];
    for (int64_t k = 0; depth >= 0 && k < plan.kernel[1]; ++k) {
      const int64_t row = plan.places[1][h * plan.kernel[1] + k];
      if (row < 0) continue;
      lines[count++] = {source + (depth * plan.in[1] + row) * plan.length * kLanes<T>,
                        weights + (i * plan.kernel[1] + k) * plan.kernel[2] * kLanes<T>};
    }
  }
  return count;
}

template <class T>
void convolve(const BlockPlan& plan, const BlockPlanes& planes, void* space) {
  constexpr int kCount = kLanes<T>;
  T* const weights = static_cast<T*>(space);
  T* const source = weights + (plan.weights() + plan.length) * kCount;
  T* const results = source + plan.source_size() * kCount;
  if (planes.weight != nullptr) {
    to_vectors(static_cast<const T*>(planes.weight), planes.channels, plan.weights(),
               plan.weights(), weights, plan.weights(), plan.weights());
  }
  to_vectors(static_cast<const T*>(planes.x), planes.channels, plan.in_size(), plan.in_size(),
             source + plan.left * kCount, plan.in[2], plan.length);
  Vector<T> bias{};
  if (planes.bias != nullptr) {
    bias = load_some(static_cast<const T*>(planes.bias), planes.channels);
  }
  Line<T> lines[BlockPlan::kMostLines];
  T* to = results;
  for (int64_t d = 0; d < plan.out[0]; ++d) {
    for (int64_t h = 0; h < plan.out[1]; ++h, to += plan.out[2] * kCount) {
      const int64_t count = lines_of(plan, d, h, source, weights, lines);
      for (int64_t i = 0; i < plan.classes; ++i) {
        const SeenColumns& columns = plan.columns[i];
        const int64_t parts = (columns.count + kMostSums - 1) / kMostSums;
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t column = columns.count * part / parts;
          sum_some<T>(columns.count * (part + 1) / parts - column, lines, count, columns, column,
                      bias, to);
        }
      }
    }
  }
  from_vectors(results, planes.channels, plan.out_size(), plan.out_size(),
               static_cast<T*>(planes.y));
}

// ---- the gradient by the weights ---------------------------------------------------------------

constexpr int kMostTaps = kRegisters >= 32 ? 12 : 7;  // whose sums are kept at a time
constexpr int64_t kFewPlaces = 256;  // after so many, sums go to memory: errors stay small

// One product for each place of dy, and each of kTaps taps from `from` on.
template <class T, int kTaps>
void add_taps(const BlockPlan& plan, int64_t from, const T* source, const T* zeros, const T* dy,
              T* sums) {
  using V = Vector<T>;
  constexpr int kCount = kLanes<T>;
  const SeenColumns& columns = plan.columns[0];
  const int64_t rows = plan.out[0] * plan.out[1];
  const int64_t at_once = kFewPlaces / plan.out[2] + 1;
  struct {
    int64_t depth, height, column;
  } taps[kTaps];
  for (int k = 0; k < kTaps; ++k) {
    const int64_t line = (from + k) / plan.kernel[2];
    taps[k] = {line / plan.kernel[1], line % plan.kernel[1], (from + k) % plan.kernel[2]};
  }
  for (int64_t first = 0; first < rows; first += at_once) {
    const int64_t last = first + at_once < rows ? first + at_once : rows;
    V added[kTaps];
#pragma GCC unroll 12
    for (int k = 0; k < kTaps; ++k) added[k] = V{};
    for (int64_t row = first; row < last; ++row) {
      const int64_t* const depths = plan.places[0] + row / plan.out[1] * plan.kernel[0];
      const int64_t* const heights = plan.places[1] + row % plan.out[1] * plan.kernel[1];
      const T* seen[kTaps];
      for (int k = 0; k < kTaps; ++k) {
        const int64_t depth = depths[taps[k].depth];
        const int64_t place = heights[taps[k].height];
        const T* const line = depth < 0 || place < 0
                                  ? zeros
                                  : source + (depth * plan.in[1] + place) * plan.length * kCount;
        seen[k] = line + columns.taps[taps[k].column].place * kCount;
      }
      const T* const gradient = dy + row * plan.out[2] * kCount;
      const int64_t apart = columns.seen_step * kCount;
      for (int64_t column = 0; column < plan.out[2]; ++column) {
        const V one = load<V>(gradient + column * kCount);
#pragma GCC unroll 12
        for (int k = 0; k < kTaps; ++k) added[k] += load<V>(seen[k] + column * apart) * one;
      }
    }
#pragma GCC unroll 12
    for (int k = 0; k < kTaps; ++k) {
      T* const to = sums + (from + k) * kCount;
      store(to, load<V>(to) + added[k]);
    }
  }
}

template <class T, int kTaps = kMostTaps>
TL_INLINE void add_some(int64_t some, const BlockPlan& plan, int64_t from, const T* source,
                        const T* zeros, const T* dy, T* sums) {
  if (some == kTaps) {
    add_taps<T, kTaps>(plan, from, source, zeros, dy, sums);
  } else if constexpr (kTaps > 1) {
    add_some<T, kTaps - 1>(some, plan, from, source, zeros, dy, sums);
  }
}

template <class T>
void add_products(const BlockPlan& plan, const BlockPlanes& planes, void* total, void* space) {
  constexpr int kCount = kLanes<T>;
  T* const sums = static_cast<T*>(space);
  T* const zeros = sums + plan.weights() * kCount;
  T* const source = zeros + plan.length * kCount;
  T* const dy = source + plan.source_size() * kCount;
  to_vectors(static_cast<const T*>(planes.x), planes.channels, plan.in_size(), plan.in_size(),
             source + plan.left * kCount, plan.in[2], plan.length);
  to_vectors(static_cast<const T*>(planes.y), planes.channels, plan.out_size(), plan.out_size(), dy,
             plan.out[2], plan.out[2]);
  to_vectors(static_cast<const T*>(total), planes.channels, plan.weights(), plan.weights(), sums,
             plan.weights(), plan.weights());
  const int64_t parts = (plan.weights() + kMostTaps - 1) / kMostTaps;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t from = plan.weights() * part / parts;
    add_some<T>(plan.weights() * (part + 1) / parts - from, plan, from, source, zeros, dy, sums);
  }
  from_vectors(sums, planes.channels, plan.weights(), plan.weights(), static_cast<T*>(total));
}

template <class T>
constexpr BlockKernels kernels_of() {
  return {kLanes<T>, convolve<T>, add_products<T>};
}

}  // namespace

void TL_FILL(blocks)(KernelTable& table);
void TL_FILL(blocks)(KernelTable& table) {
  table.blocks[DType::kFloat32] = kernels_of<float>();
  table.blocks[DType::kFloat64] = kernels_of<double>();
}

}  // namespace tensorlike
