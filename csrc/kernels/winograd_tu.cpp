// The transforms of F(2x2, 3x3), for one ISA level: sums and differences of vectors of channels.
#include "kernels/channel_vectors.h"
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int kTaps = 9;
constexpr int64_t kTogether = 16;  // channels whose kernels are turned together

template <class T>
bool is_zero(Vector<T> x) {
  bool is_zero = true;
  for (int lane = 0; lane < kLanes<T>; ++lane) is_zero &= x[lane] == 0;
  return is_zero;
}

template <class T>
void gather(const void* from, int64_t channels, int64_t plane, int64_t count, void* to,
            int64_t columns, int64_t length) {
  to_vectors(static_cast<const T*>(from), channels, plane, count, static_cast<T*>(to), columns,
             length);
}

template <class T>
void scatter(const void* from, int64_t channels, int64_t plane, int64_t count, void* to) {
  from_vectors(static_cast<const T*>(from), channels, plane, count, static_cast<T*>(to));
}

// A column of a tile times B' = (1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1).
template <class V>
struct Column {
  V at[4];
};
template <class T>
TL_INLINE Column<Vector<T>> column_of(const T* const* rows, int64_t place) {
  using V = Vector<T>;
  const V d0 = load<V>(rows[0] + place), d1 = load<V>(rows[1] + place);
  const V d2 = load<V>(rows[2] + place), d3 = load<V>(rows[3] + place);
  return {{d0 - d2, d1 + d2, d2 - d1, d1 - d3}};
}

// Tiles are two columns apart, so that two of four are those of the tile before.
template <class T>
void transform_tiles(const void* const* from, int64_t count, void* to, int64_t tile_step,
                     int64_t step) {
  using V = Vector<T>;
  constexpr int kCount = kLanes<T>;
  const T* rows[4];
  for (int r = 0; r < 4; ++r) rows[r] = static_cast<const T*>(from[r]);
  Column<V> c0 = column_of<T>(rows, 0), c1 = column_of<T>(rows, kCount);
  T* out = static_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i, out += tile_step) {
    const Column<V> c2 = column_of<T>(rows, (2 * i + 2) * kCount);
    const Column<V> c3 = column_of<T>(rows, (2 * i + 3) * kCount);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      T* const line = out + 4 * r * step;
      store(line, c0.at[r] - c2.at[r]);
      store(line + step, c1.at[r] + c2.at[r]);
      store(line + 2 * step, c2.at[r] - c1.at[r]);
      store(line + 3 * step, c1.at[r] - c3.at[r]);
    }
    c0 = c2;
    c1 = c3;
  }
}

// G g G' for G = (1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1).
template <class T>
TL_INLINE void transform_kernel(const Vector<T>* g, T* to, int64_t step) {
  using V = Vector<T>;
  const V half = V{} + T(0.5);
  V lines[4][3];
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c) {
    const V both = g[c] + g[6 + c];
    lines[0][c] = g[c];
    lines[1][c] = half * (both + g[3 + c]);
    lines[2][c] = half * (both - g[3 + c]);
    lines[3][c] = g[6 + c];
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const V both = lines[r][0] + lines[r][2];
    T* const line = to + 4 * r * step;
    store(line, lines[r][0]);
    store(line + step, half * (both + lines[r][1]));
    store(line + 2 * step, half * (both - lines[r][1]));
    store(line + 3 * step, lines[r][2]);
  }
}

template <class T>
void transform_weights(const void* weights, int64_t row_step, int64_t rows, int64_t channel_step,
                       int64_t channels, bool is_mirrored, void* to, int64_t to_step,
                       int64_t step) {
  constexpr int64_t kAhead = 16;
  const T* from = static_cast<const T*>(weights);
  T* out = static_cast<T*>(to);
  const int64_t together = channel_step == kTaps ? kTogether : 1;
  Vector<T> turned[kTogether * kTaps];
  for (int64_t first = 0; first < channels; first += together) {
    const int64_t count = channels - first < together ? channels - first : together;
    if (together == 1 && first + kAhead < channels) {  // of another page
      const char* next = reinterpret_cast<const char*>(from + (first + kAhead) * channel_step);
      const int64_t bytes = ((rows - 1) * row_step + kTaps) * static_cast<int64_t>(sizeof(T));
      for (int64_t at = 0; at < bytes + 63 && at < 1024; at += 64) __builtin_prefetch(next + at);
    }
    to_vectors(from + first * channel_step, rows, row_step, count * kTaps,
               reinterpret_cast<T*>(turned), count * kTaps, count * kTaps);
    for (int64_t i = 0; i < count; ++i, out += to_step) {
      Vector<T> g[kTaps];
#pragma GCC unroll 9
      for (int t = 0; t < kTaps; ++t) {
        g[t] = turned[i * kTaps + (is_mirrored ? kTaps - 1 - t : t)];
      }
      transform_kernel<T>(g, out, step);
    }
  }
}

// A' m A for A' = (1 1 1 0; 0 1 -1 -1). What is not finite is NaN once it is multiplied by 0.
template <class T>
bool transform_products(const void* products, int64_t step, int64_t tile_step, const void* bias,
                        int64_t channels, int64_t count, int64_t columns, void* upper,
                        void* lower) {
  using V = Vector<T>;
  constexpr int kCount = kLanes<T>;
  const T* m = static_cast<const T*>(products);
  V start{};
  if (bias != nullptr) start = load_some(static_cast<const T*>(bias), channels);
  V spoiled{};
  T* to[] = {static_cast<T*>(upper), static_cast<T*>(lower)};
  for (int64_t i = 0; i < count; ++i, m += tile_step) {
    V lines[2][4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const V m0 = load<V>(m + c * step), m1 = load<V>(m + (4 + c) * step);
      const V m2 = load<V>(m + (8 + c) * step), m3 = load<V>(m + (12 + c) * step);
      lines[0][c] = m0 + (m1 + m2);
      lines[1][c] = (m1 - m2) - m3;
    }
#pragma GCC unroll 2
    for (int r = 0; r < 2; ++r) {
      if (to[r] == nullptr) break;
      const V* const line = lines[r];
      const V left = start + (line[0] + (line[1] + line[2]));
      const V right = start + ((line[1] - line[2]) - line[3]);
      spoiled += left * V{};
      store(to[r] + 2 * i * kCount, left);
      if (2 * i + 1 == columns) continue;
      spoiled += right * V{};
      store(to[r] + (2 * i + 1) * kCount, right);
    }
  }
  return is_zero<T>(spoiled);
}

// A x A' for A of `transform_products`: from 2x2 to 4x4.
template <class T>
void transform_gradients(const void* upper, const void* lower, int64_t count, void* to,
                         int64_t tile_step, int64_t step) {
  using V = Vector<T>;
  constexpr int kCount = kLanes<T>;
  const T* const rows[] = {static_cast<const T*>(upper), static_cast<const T*>(lower)};
  T* out = static_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i, out += tile_step) {
    V lines[4][2];
#pragma GCC unroll 2
    for (int c = 0; c < 2; ++c) {
      const V top = load<V>(rows[0] + (2 * i + c) * kCount);
      const V bottom = load<V>(rows[1] + (2 * i + c) * kCount);
      lines[0][c] = top;
      lines[1][c] = top + bottom;
      lines[2][c] = top - bottom;
      lines[3][c] = -bottom;
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      T* const line = out + 4 * r * step;
      store(line, lines[r][0]);
      store(line + step, lines[r][0] + lines[r][1]);
      store(line + 2 * step, lines[r][0] - lines[r][1]);
      store(line + 3 * step, -lines[r][1]);
    }
  }
}

// G' u G for G of `transform_kernel`: from 4x4 to 3x3.
template <class T>
TL_INLINE void sum_kernel(const T* from, int64_t step, Vector<T>* g) {
  using V = Vector<T>;
  const V half = V{} + T(0.5);
  V lines[3][4];
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const V u0 = load<V>(from + c * step), u1 = load<V>(from + (4 + c) * step);
    const V u2 = load<V>(from + (8 + c) * step), u3 = load<V>(from + (12 + c) * step);
    const V middle = half * (u1 + u2);
    lines[0][c] = u0 + middle;
    lines[1][c] = half * (u1 - u2);
    lines[2][c] = middle + u3;
  }
#pragma GCC unroll 3
  for (int r = 0; r < 3; ++r) {
    const V middle = half * (lines[r][1] + lines[r][2]);
    g[3 * r] = lines[r][0] + middle;
    g[3 * r + 1] = half * (lines[r][1] - lines[r][2]);
    g[3 * r + 2] = middle + lines[r][3];
  }
}

template <class T>
bool sum_kernels(const void* sums, int64_t from_step, int64_t step, int64_t rows, int64_t channels,
                 void* to, int64_t row_step) {
  using V = Vector<T>;
  const T* from = static_cast<const T*>(sums);
  T* out = static_cast<T*>(to);
  V turned[kTogether * kTaps];
  V spoiled{};
  for (int64_t first = 0; first < channels; first += kTogether) {
    const int64_t count = channels - first < kTogether ? channels - first : kTogether;
    for (int64_t i = 0; i < count; ++i, from += from_step) {
      sum_kernel<T>(from, step, turned + i * kTaps);
    }
    for (int64_t i = 0; i < count * kTaps; ++i) spoiled += turned[i] * V{};
    from_vectors(reinterpret_cast<const T*>(turned), rows, row_step, count * kTaps,
                 out + first * kTaps);
  }
  return is_zero<T>(spoiled);
}

template <class T>
constexpr WinogradKernels kernels() {
  return {kLanes<T>,
          gather<T>,
          transform_tiles<T>,
          transform_weights<T>,
          transform_products<T>,
          transform_gradients<T>,
          sum_kernels<T>,
          scatter<T>};
}

}  // namespace

void TL_FILL(winograd)(KernelTable& table);
void TL_FILL(winograd)(KernelTable& table) {
  table.winograd[DType::kFloat32] = kernels<float>();
  table.winograd[DType::kFloat64] = kernels<double>();
}

}  // namespace tensorlike
