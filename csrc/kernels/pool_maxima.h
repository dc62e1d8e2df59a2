// The largest elements of windows, and where they stand. Included once per ISA level, by
// pool_tu.cpp, inside an anonymous namespace.
#pragma once

#include <limits>

#include "kernels/lanes.h"
#include "kernels/pool_bands.h"
#include "kernels/pool_windows.h"

namespace tensorlike {
namespace {

template <class T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::lowest();

// As what elements are kept meanwhile: a byte that is written may be part of anything, and the
// compiler would read all else again.
template <class T>
struct HeldAs {
  using Type = T;
};
template <>
struct HeldAs<int8_t> {
  using Type = int16_t;
};
template <>
struct HeldAs<uint8_t> {
  using Type = int16_t;
};
template <class T>
using Held = typename HeldAs<T>::Type;

// The larger one; NaN where there is one. In this form compilers see a maximum.
template <class T>
TL_INLINE T larger(T most_yet, T x) {
  const T found = x > most_yet ? x : most_yet;
  return x != x ? x : found;
}

// kLanes elements together, by as many vectors as they take.
template <class T>
struct WideOf {
  typedef T Type __attribute__((vector_size(kLanes * sizeof(T))));
};
template <class T>
using Wide = typename WideOf<T>::Type;

template <class T>
TL_INLINE Wide<T> load_wide(const T* from) {
  Wide<T> x;
  __builtin_memcpy(&x, from, sizeof(x));
  return x;
}

template <class T>
T run_maximum(const T* run, int64_t n) {
  if (n < kLanes) {
    T found = kLowest<T>;
    for (int64_t i = 0; i < n; ++i) found = larger(found, run[i]);
    return found;
  }
  Wide<T> found = load_wide(run);
  for (int64_t i = kLanes; i < n; i += kLanes) {  // the last vector meets the one before
    found = larger(found, load_wide(run + least(i, n - kLanes)));
  }
  return join_lanes(found, [](auto a, auto b) { return larger(a, b); })[0];
}

template <class T>
T window_maximum(const PoolWindow& w, const Band& window, const T* x) {
  T found = kLowest<T>;
  for_runs(w, window,
           [&](int64_t place, int64_t n) { found = larger(found, run_maximum(x + place, n)); });
  return found;
}

// strip[i] = the largest of the elements [i, i + reach) of the strip; reach is a power of two.
template <class Own>
void widen(Own* strip, int64_t length, int64_t reach) {
  for (int64_t step = 1; step < reach; step *= 2) {
    const int64_t n = length - 2 * step + 1;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) strip[i] = larger(strip[i], strip[i + step]);
  }
}

// best[i] = the largest element of the i-th window. Where windows have many elements in common,
// these are compared once.
template <class T, class Own>
void part_maxima(const PoolWindow& w, const Part& part, const T* x, Own* __restrict__ best) {
  Own strip[kElements];
  combine_rows(w, part, x, static_cast<Own>(kLowest<T>), strip,
               [](Own a, Own b) { return larger(a, b); });
  if (w.is_irregular || w.kernel[2] < 4 * w.stride[2]) {
    for (int64_t i = 0; i < part.columns; ++i) {
      best[i] = run_maximum(strip + part.begin[i], part.end[i] - part.begin[i]);
    }
    return;
  }
  int64_t reach = kElements;  // of all windows: those at the edges are shorter
  for (int64_t i = 0; i < part.columns; ++i) reach = least(reach, part.end[i] - part.begin[i]);
  while ((reach & (reach - 1)) != 0) reach &= reach - 1;
  widen(strip, part.length, reach);
  for (int64_t i = 0; i < part.columns; ++i) {
    Own found = kLowest<T>;
    for (int64_t j = part.begin[i]; reach > 0 && j < part.end[i]; j += reach) {
      found = larger(found, strip[least(j, part.end[i] - reach)]);
    }
    best[i] = found;
  }
}

// y[i] = the largest of the elements i * kColumns and on of a row, or of two.
template <class T, int kRows, int kColumns>
TL_INLINE void maxima_of_runs(const T* upper, const T* lower, int64_t first, int64_t end,
                              T* __restrict__ y) {
  const auto at = [&](int64_t i) __attribute__((always_inline)) {
    if constexpr (kRows == 1) {
      return upper[i];
    } else {
      return larger(upper[i], lower[i]);
    }
  };
  for (int64_t i = first; i < end; ++i) {
    const int64_t place = i * kColumns;
    T found = larger(at(place), at(place + 1));
    if constexpr (kColumns == 4) found = larger(larger(found, at(place + 2)), at(place + 3));
    y[i] = found;
  }
}

// Small windows side by side, straight from the input.
template <class T, int kRows, int kColumns>
void maxima_side_by_side(const PoolWindow& w, const T* x, T* y) {
  // Where rows end with their windows, all rows are one.
  const bool is_flat =
      kRows == 1 && w.in[2] == kColumns * w.out[2] && w.in_size() == kColumns * w.out_size();
  const int64_t columns = is_flat ? w.out_size() : w.out[2];
  for (int64_t begin = 0; begin < w.out_size(); begin += columns, y += columns) {
    const int64_t line = begin / w.out[2];
    const int64_t d = w.position(0, line / w.out[1], 0), h = w.position(1, line % w.out[1], 0);
    const T* const from = x + (d * w.in[1] + h) * w.in[2];
    const T* const lower = from + (kRows - 1) * w.dilation[1] * w.in[2];
    const int64_t whole = columns - columns % kLanes;
    maxima_of_runs<T, kRows, kColumns>(from, lower, 0, whole, y);
    // The last vector meets what the one before has made.
    const int64_t rest = whole == columns ? whole : most(0, columns - kLanes);
    maxima_of_runs<T, kRows, kColumns>(from, lower, rest, columns, y);
  }
}

template <class T>
void maxima_side_by_side(const PoolWindow& w, const T* x, T* y) {
  const auto run =
      w.kernel[1] == 1
          ? (w.kernel[2] == 4 ? maxima_side_by_side<T, 1, 4> : maxima_side_by_side<T, 1, 2>)
          : (w.kernel[2] == 4 ? maxima_side_by_side<T, 2, 4> : maxima_side_by_side<T, 2, 2>);
  run(w, x, y);
}

// to[i] = the largest of three rows' elements i: in registers.
template <class T, class Own>
void largest_of(const T* const* rows, int64_t first, int64_t end, Own* __restrict__ to) {
  const T* const upper = rows[0];
  const T* const middle = rows[1];
  const T* const lower = rows[2];
  for (int64_t i = first; i < end; ++i) {
    to[i] = larger<Own>(larger<Own>(upper[i], middle[i]), lower[i]);
  }
}

// The largest element of each column that rows of windows see: of three rows of the input at once,
// then of one by one.
template <class T, class Own>
void column_maxima(const PoolWindow& w, const Band& band, const T* x, Own* __restrict__ strips) {
  constexpr int kTogether = 3;
  const auto [first, last] = inside_of(w, band);
  const int64_t whole = whole_of(w, band);
  for (int64_t row = 0; row < band.rows; ++row) {
    Own* __restrict__ to = strips + row * band.pitch;
    const T* rows[kTogether];
    int count = 0;
    int64_t end = 0;
    for_rows(w, band, band.row + row, [&](int64_t place) __attribute__((always_inline)) {
      end = place + whole <= w.in_size() ? whole : last;
      if (count < kTogether) {
        rows[count++] = x + place;
        if (count == kTogether) largest_of(rows, first, end, to);
      } else {
        for (int64_t i = first; i < end; ++i) {
          to[i] = larger<Own>(to[i], x[place + i]);
        }
      }
    });
    if (count > 0 && count < kTogether) {
      while (count < kTogether) rows[count++] = rows[0];
      largest_of(rows, first, end, to);
    }
    clear_padding(w, band, row, count > 0, [&](int64_t i) { strips[i] = kLowest<T>; });
  }
  for (int64_t i = 0; i < w.span(); ++i) strips[band.rows * band.pitch + i] = kLowest<T>;
}

// The largest of the columns that each window sees, three at a time.
template <class Own>
void cell_maxima(const PoolWindow& w, const Band& band, Own* __restrict__ strips,
                 Own* __restrict__ best) {
  const int64_t apart = w.dilation[2];
  int64_t tap = 1;
  if (w.kernel[2] >= 3) {
    for_cells(w, band, 0, [&](int64_t i, int64_t at) {
      best[i] = larger(larger(strips[at], strips[at + apart]), strips[at + 2 * apart]);
    });
    tap = 3;
  } else {
    for_cells(w, band, 0, [&](int64_t i, int64_t at) { best[i] = strips[at]; });
  }
  for (; tap < w.kernel[2]; ++tap) {
    for_cells(w, band, tap, [&](int64_t i, int64_t at) { best[i] = larger(best[i], strips[at]); });
  }
}

// Places in the input, as wide as elements.
template <class T>
struct PlaceOf;
template <>
struct PlaceOf<float> {
  using Type = int32_t;
  static constexpr Type kNone = INT32_MAX;
};
template <>
struct PlaceOf<double> {
  using Type = int64_t;
  static constexpr Type kNone = INT64_MAX;
};

// Elements with their places.
template <class T>
struct Found {
  using Place = typename PlaceOf<T>::Type;
  T value[kMostElements];
  Place place[kMostElements];

  TL_INLINE void clear(int64_t i) {
    value[i] = kLowest<T>;
    place[i] = PlaceOf<T>::kNone;
  }
  // Takes x where it is larger, or a NaN beside a number, or else the same and earlier.
  TL_INLINE void improve(int64_t i, T x, Place at) {
    const int is_number = value[i] == value[i];
    const int is_nan = x != x;
    const int is_same = (x == value[i]) | (is_nan & ~is_number);
    const int is_better = (x > value[i]) | (is_nan & is_number) | (is_same & (at < place[i]));
    value[i] = is_better != 0 ? x : value[i];
    place[i] = is_better != 0 ? at : place[i];
  }
};

// The number of the first of n elements that is `value`, or NaN where that one is; n without any.
template <class T>
int64_t first_equal(const T* run, int64_t n, T value) {
  if (n < kLanes) {
    int64_t i = 0;
    if (value == value) {
      while (i < n && run[i] != value) ++i;
    } else {
      while (i < n && run[i] == run[i]) ++i;
    }
    return i;
  }
  using Places = LaneNumbers<Wide<T>>;
  using Place = typename PlaceOf<T>::Type;
  constexpr int64_t kTogether = 8 * kLanes;
  const Wide<T> wanted = Wide<T>{} + value;
  const Places seeks_nan = wanted != wanted;
  for (int64_t begin = 0; begin < n; begin += kTogether) {
    const int64_t end = least(n, begin + kTogether);
    Places found = Places{} + PlaceOf<T>::kNone;
    for (int64_t i = begin; i < end; i += kLanes) {  // the last vector meets the one before
      const int64_t from = least(i, n - kLanes);
      const Wide<T> x = load_wide(run + from);
      const Places at = lane_numbers<Wide<T>>() + static_cast<Place>(from);
      const Places is_it = ((x == wanted) | ((x != x) & seeks_nan)) & (at < found);
      found = is_it ? at : found;
    }
    const Place first = join_lanes(found, [](auto a, auto b) { return a < b ? a : b; })[0];
    if (first != PlaceOf<T>::kNone) return first;
  }
  return n;
}

// Where the i-th window of a part has its largest element, the first of them.
template <class T>
int64_t place_of(const PoolWindow& w, const Part& part, int64_t i, const T* x, T value) {
  const int64_t begin = part.begin[i], n = part.end[i] - begin;
  for (int64_t d = part.depths[0]; d < part.depths[1]; ++d) {
    for (int64_t h = part.rows[0]; h < part.rows[1]; ++h) {
      const int64_t place = (d * w.in[1] + h) * w.in[2] + part.first + begin;
      const int64_t at = first_equal(x + place, n, value);
      if (at < n) return place + at;
    }
  }
  return PlaceOf<T>::kNone;
}

// The same of a window with gaps, or a very long one.
template <class T>
int64_t place_of(const PoolWindow& w, const Band& window, const T* x, T value) {
  int64_t found = PlaceOf<T>::kNone;
  for_runs(w, window, [&](int64_t place, int64_t n) {
    if (found != PlaceOf<T>::kNone) return;
    const int64_t at = first_equal(x + place, n, value);
    if (at < n) found = place + at;
  });
  return found;
}

// Calls f(place of a window in the output, place of its first maximum, or of its first NaN, in the
// input, or kNone for a window of padding alone).
template <class T, class F>
TL_INLINE void for_maxima(const PoolWindow& w, const void* in, F&& f) {
  using Place = typename Found<T>::Place;
  const T* x = static_cast<const T*>(in);
  Found<T> strips, best;
  if (w.is_by_window()) {
    if (are_rows(w)) {
      const int64_t n = w.kernel[2];
      for (int64_t i = 0; i < w.out[2]; ++i, x += n) {
        const int64_t at = first_equal(x, n, run_maximum(x, n));
        f(i, at < n ? i * n + at : int64_t{PlaceOf<T>::kNone});
      }
      return;
    }
    if (has_runs(w)) {
      for_parts(w, [&](const Part& part) {
        part_maxima(w, part, x, best.value);
        for (int64_t i = 0; i < part.columns; ++i) {
          f(part.place + i, place_of(w, part, i, x, best.value[i]));
        }
      });
      return;
    }
    for_each_window(w, [&](const Band& window) {
      f(window.place, place_of(w, window, x, window_maximum(w, window, x)));
    });
    return;
  }
  for_bands(w, [&](const Band& band) {
    const auto improve = [&](int64_t i, int64_t place) __attribute__((always_inline)) {
      strips.improve(i, x[place], static_cast<Place>(place));
    };
    fill_strips(
        w, band,
        [&](int64_t i, int64_t place) __attribute__((always_inline)) {
          strips.clear(i);
          improve(i, place);
        },
        improve, [&](int64_t i) { strips.clear(i); });
    for (int64_t i = 0; i < band.all(); ++i) best.clear(i);
    for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
      for_cells(w, band, tap, [&](int64_t i, int64_t at) {
        best.improve(i, strips.value[at], strips.place[at]);
      });
    }
    for_windows(band, [&](int64_t place, int64_t i) { f(place, int64_t{best.place[i]}); });
  });
}

}  // namespace
}  // namespace tensorlike
