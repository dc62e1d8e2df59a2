// Pooling loops over one plane, for one ISA level. Windows beside each other are taken together,
// tap by tap, so that vectors hold neighbours; long or irregular windows one by one, so that
// vectors hold a window's own elements.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/window.h"

#define TL_INLINE inline __attribute__((always_inline))

namespace tensorlike {
namespace {

constexpr int64_t kTile = 64;  // windows of a row that are handled together
constexpr int kLanes = 16;

TL_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
TL_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// The larger one; NaN where there is one.
template <class T>
TL_INLINE T larger(T most_yet, T x) {
  return x > most_yet || x != x ? x : most_yet;
}

// A part of a row of windows.
struct Tile {
  int64_t depth, row, column, count;
  int64_t place;  // of the first in the output
};

template <class F>
TL_INLINE void for_tiles(const Window& w, int64_t size, F&& f) {
  for (int64_t line = 0; line < w.out[0] * w.out[1]; ++line) {
    for (int64_t column = 0; column < w.out[2]; column += size) {
      f(Tile{line / w.out[1], line % w.out[1], column, least(size, w.out[2] - column),
             line * w.out[2] + column});
    }
  }
}

// Calls f(first, last, place in the input of the first) for every tap that windows [first, last) of
// the tile see input through, in the order of the input.
template <class F>
TL_INLINE void for_taps(const Window& w, const Tile& tile, F&& f) {
  for (int64_t plane = 0; plane < w.kernel[0]; ++plane) {
    const int64_t d = w.position(0, tile.depth, plane);
    if (d < 0 || d >= w.in[0]) continue;
    for (int64_t above = 0; above < w.kernel[1]; ++above) {
      const int64_t h = w.position(1, tile.row, above);
      if (h < 0 || h >= w.in[1]) continue;
      for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
        const int64_t start = w.position(2, tile.column, tap);
        // Most tiles lie inside; only others need the divisions.
        const int64_t end = start + (tile.count - 1) * w.stride[2];
        int64_t first = 0;
        int64_t last = tile.count;
        if (start < 0 || end >= w.in[2]) {
          first = most(w.first(2, tap) - tile.column, 0);
          last = least(w.last(2, tap) - tile.column, tile.count);
          if (first >= last) continue;
        }
        f(first, last, (d * w.in[1] + h) * w.in[2] + start + first * w.stride[2]);
      }
    }
  }
}

// Calls f(i) for i < n with the stride as a constant where it is a usual one.
template <class F>
TL_INLINE void with_stride(int64_t stride, int64_t n, F&& f) {
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) f(i, i);
  } else if (stride == 2) {
    for (int64_t i = 0; i < n; ++i) f(i, i * 2);
  } else {
    for (int64_t i = 0; i < n; ++i) f(i, i * stride);
  }
}

// Calls f(place of a run of the input, its length) for the rows of one window.
template <class F>
TL_INLINE void for_runs(const PoolWindow& w, const Tile& cell, F&& f) {
  const int64_t first = w.begin(2, cell.column);
  const int64_t length = w.end(2, cell.column) - first;
  if (length <= 0) return;
  for (int64_t d = w.begin(0, cell.depth); d < w.end(0, cell.depth); ++d) {
    for (int64_t h = w.begin(1, cell.row); h < w.end(1, cell.row); ++h) {
      f((d * w.in[1] + h) * w.in[2] + first, length);
    }
  }
}

template <class T>
constexpr T kLowest = -__builtin_inff();

// ---- maxima ------------------------------------------------------------------------------------

template <class T>
T cell_maximum(const PoolWindow& w, const Tile& cell, const T* x) {
  T lanes[kLanes];
  for (T& lane : lanes) lane = kLowest<T>;
  for_runs(w, cell, [&](int64_t place, int64_t n) {
    const T* run = x + place;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] = larger(lanes[l], run[i + l]);
    }
    for (; i < n; ++i) lanes[0] = larger(lanes[0], run[i]);
  });
  for (int l = 1; l < kLanes; ++l) lanes[0] = larger(lanes[0], lanes[l]);
  return lanes[0];
}

template <class T>
void max(const PoolWindow& w, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if (w.is_by_cell()) {
    for_tiles(w, 1, [&](const Tile& cell) { y[cell.place] = cell_maximum(w, cell, x); });
    return;
  }
  for_tiles(w, kTile, [&](const Tile& tile) {
    T best[kTile];
    for (int64_t i = 0; i < tile.count; ++i) best[i] = kLowest<T>;
    for_taps(w, tile, [&](int64_t first, int64_t last, int64_t place) {
      with_stride(w.stride[2], last - first, [&](int64_t i, int64_t at) {
        best[first + i] = larger(best[first + i], x[place + at]);
      });
    });
    for (int64_t i = 0; i < tile.count; ++i) y[tile.place + i] = best[i];
  });
}

// The places of the first maxima, or of the first NaN; -1 for a window of padding alone.
template <class T>
TL_INLINE void tile_places(const PoolWindow& w, const Tile& tile, const T* x, int64_t* places) {
  T best[kTile];
  for (int64_t i = 0; i < tile.count; ++i) {
    best[i] = kLowest<T>;
    places[i] = -1;
  }
  auto compare = [&](int64_t i, int64_t place) __attribute__((always_inline)) {
    const T value = x[place];
    const bool is_better =
        value > best[i] || places[i] < 0 || (value != value && best[i] == best[i]);
    best[i] = is_better ? value : best[i];
    places[i] = is_better ? place : places[i];
  };
  if (w.is_by_cell()) {
    for_runs(w, tile, [&](int64_t place, int64_t n) {
      for (int64_t i = 0; i < n; ++i) compare(0, place + i);
    });
    return;
  }
  for_taps(w, tile, [&](int64_t first, int64_t last, int64_t place) {
    with_stride(w.stride[2], last - first,
                [&](int64_t i, int64_t at) { compare(first + i, place + at); });
  });
}

// Calls f(place of a window in the output, place of its first maximum in the input).
template <class T, class F>
TL_INLINE void for_maxima(const PoolWindow& w, const void* x, F&& f) {
  for_tiles(w, w.is_by_cell() ? 1 : kTile, [&](const Tile& tile) {
    int64_t places[kTile];
    tile_places(w, tile, static_cast<const T*>(x), places);
    for (int64_t i = 0; i < tile.count; ++i) f(tile.place + i, places[i]);
  });
}

template <class T>
void max_spread(const PoolWindow& w, const void* x, const void* dy, void* dx) {
  for_maxima<T>(w, x, [&](int64_t out, int64_t in) {
    if (in >= 0) static_cast<T*>(dx)[in] += static_cast<const T*>(dy)[out];
  });
}

template <class T>
void max_select(const PoolWindow& w, const void* x, const void* values, void* y) {
  for_maxima<T>(w, x, [&](int64_t out, int64_t in) {
    static_cast<T*>(y)[out] = in >= 0 ? static_cast<const T*>(values)[in] : T{0};
  });
}

// ---- means -------------------------------------------------------------------------------------

// What the sums of a tile are divided by.
template <class T>
TL_INLINE void tile_counts(const PoolWindow& w, const Tile& tile, T* counts) {
  const int64_t rows = w.count(0, tile.depth) * w.count(1, tile.row);
  for (int64_t i = 0; i < tile.count; ++i) {
    counts[i] = static_cast<T>(rows * w.count(2, tile.column + i));
  }
}

template <class T>
T cell_mean(const PoolWindow& w, const Tile& cell, const T* x) {
  double lanes[kLanes] = {};
  for_runs(w, cell, [&](int64_t place, int64_t n) {
    const T* run = x + place;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(run[i + l]);
    }
    for (int l = 0; i < n; ++i, ++l) lanes[l] += static_cast<double>(run[i]);
  });
  double total = 0;
  for (double lane : lanes) total += lane;
  T count;
  tile_counts(w, cell, &count);
  return static_cast<T>(total / static_cast<double>(count));
}

template <class T>
void mean(const PoolWindow& w, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if (w.is_by_cell()) {
    for_tiles(w, 1, [&](const Tile& cell) { y[cell.place] = cell_mean(w, cell, x); });
    return;
  }
  for_tiles(w, kTile, [&](const Tile& tile) {
    T sums[kTile] = {};
    for_taps(w, tile, [&](int64_t first, int64_t last, int64_t place) {
      with_stride(w.stride[2], last - first,
                  [&](int64_t i, int64_t at) { sums[first + i] += x[place + at]; });
    });
    T counts[kTile];
    tile_counts(w, tile, counts);
    for (int64_t i = 0; i < tile.count; ++i) y[tile.place + i] = sums[i] / counts[i];
  });
}

template <class T>
void mean_spread(const PoolWindow& w, const void* gradient, void* to) {
  const T* dy = static_cast<const T*>(gradient);
  T* dx = static_cast<T*>(to);
  const bool is_by_cell = w.is_by_cell();
  for_tiles(w, is_by_cell ? 1 : kTile, [&](const Tile& tile) {
    T shares[kTile];
    tile_counts(w, tile, shares);
    for (int64_t i = 0; i < tile.count; ++i) shares[i] = dy[tile.place + i] / shares[i];
    if (is_by_cell) {
      for_runs(w, tile, [&](int64_t place, int64_t n) {
        for (int64_t i = 0; i < n; ++i) dx[place + i] += shares[0];
      });
      return;
    }
    for_taps(w, tile, [&](int64_t first, int64_t last, int64_t place) {
      with_stride(w.stride[2], last - first,
                  [&](int64_t i, int64_t at) { dx[place + at] += shares[first + i]; });
    });
  });
}

template <class T>
constexpr PoolKernels kernels() {
  return {max<T>, max_spread<T>, max_select<T>, mean<T>, mean_spread<T>};
}

}  // namespace

void TL_FILL(pools)(KernelTable& table);
void TL_FILL(pools)(KernelTable& table) {
  table.pools[DType::kFloat32] = kernels<float>();
  table.pools[DType::kFloat64] = kernels<double>();
}

}  // namespace tensorlike
