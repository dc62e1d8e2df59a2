// Pooling loops over one plane, for one ISA level.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/lanes.h"
#include "kernels/pool_bands.h"
#include "kernels/pool_maxima.h"
#include "kernels/pool_windows.h"

namespace tensorlike {
namespace {

// ---- maxima ------------------------------------------------------------------------------------

template <class T>
void max(const PoolWindow& w, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if (w.is_side_by_side()) return maxima_side_by_side(w, x, y);
  using Own = Held<T>;
  if (w.is_by_window()) {
    if (has_runs(w)) {
      for_parts(w, [&](const Part& part) {
        Own best[kElements];
        part_maxima(w, part, x, best);
        for (int64_t i = 0; i < part.columns; ++i) y[part.place + i] = static_cast<T>(best[i]);
      });
      return;
    }
    for_each_window(w, [&](const Band& window) { y[window.place] = window_maximum(w, window, x); });
    return;
  }
  for_bands(w, [&](const Band& band) {
    fetch_next(w, band, x);
    Own strips[kMostElements];
    Own best[kMostElements];
    column_maxima(w, band, x, strips);
    cell_maxima(w, band, strips, best);
    for_windows(band, [&](int64_t place, int64_t i) { y[place] = static_cast<T>(best[i]); });
  });
}

template <class T>
void max_spread(const PoolWindow& w, const void* x, const void* dy, void* dx) {
  for_maxima<T>(w, x, [&](int64_t out, int64_t in) {
    if (in != PlaceOf<T>::kNone) static_cast<T*>(dx)[in] += static_cast<const T*>(dy)[out];
  });
}

template <class T>
void max_select(const PoolWindow& w, const void* x, const void* values, void* y) {
  for_maxima<T>(w, x, [&](int64_t out, int64_t in) {
    static_cast<T*>(y)[out] = in != PlaceOf<T>::kNone ? static_cast<const T*>(values)[in] : T{0};
  });
}

// ---- means -------------------------------------------------------------------------------------

// What the sum of a window is divided by.
template <class T>
TL_INLINE T count_of(const PoolWindow& w, const Band& band, int64_t row, int64_t column) {
  return static_cast<T>(w.count(0, band.depth) * w.count(1, row) * w.count(2, column));
}

// Sums in double precision of kTogether elements each, which are added as they are.
template <int kTogether, class T>
double run_sum_of(const T* run, int64_t n) {
  double lanes[kLanes] = {};
  const auto add = [&](const T* x) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(x[l]);
  };
  int64_t i = 0;
  if constexpr (kTogether == 4) {
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      const T* const x = run + i;
      for (int l = 0; l < kLanes; ++l) {
        const T four = (x[l] + x[l + kLanes]) + (x[l + 2 * kLanes] + x[l + 3 * kLanes]);
        lanes[l] += static_cast<double>(four);
      }
    }
  }
  for (; i + kLanes <= n; i += kLanes) add(run + i);
  if (i < n) {
    T rest[kLanes] = {};
    for (int l = 0; l < n - i; ++l) rest[l] = run[i + l];
    add(rest);
  }
  return joined<kLanes>(lanes, [](auto a, auto b) { return a + b; });
}

// Of four numbers the sum may be too large where that of all is not: then each is widened.
template <class T>
double run_sum(const T* run, int64_t n) {
  constexpr int64_t kLong = 8 * kLanes;
  if constexpr (sizeof(T) < sizeof(double)) {
    if (n >= kLong) {
      const double found = run_sum_of<4>(run, n);
      if (found - found == 0) return found;  // finite
    }
  }
  if (n >= kLanes) return run_sum_of<1>(run, n);
  double found = 0;
  for (int64_t i = 0; i < n; ++i) found += static_cast<double>(run[i]);
  return found;
}

// Calls f(place of a window in the output, its cell, what its sum is divided by).
template <class T, class F>
TL_INLINE void for_divisors(const PoolWindow& w, const Band& band, F&& f) {
  T counts[kMostElements];
  for (int64_t i = 0; i < band.columns; ++i) {
    counts[i] = static_cast<T>(w.count(2, band.column + i));
  }
  for (int64_t row = 0; row < band.rows; ++row) {
    const T rows = static_cast<T>(w.count(0, band.depth) * w.count(1, band.row + row));
    for (int64_t i = 0; i < band.columns; ++i) {
      f(band.place + row * band.out_step + i, row * band.cells + i, counts[i] * rows);
    }
  }
}

template <class T>
void mean(const PoolWindow& w, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if (w.is_by_window()) {
    if (has_runs(w)) {
      for_parts(w, [&](const Part& part) {
        double strip[kElements];
        combine_rows(w, part, x, 0.0, strip, [](double a, double b) { return a + b; });
        for (int64_t i = 0; i < part.columns; ++i) {
          const double sum = run_sum(strip + part.begin[i], part.end[i] - part.begin[i]);
          y[part.place + i] =
              static_cast<T>(sum / static_cast<double>(part.count * part.counts[i]));
        }
      });
      return;
    }
    for_each_window(w, [&](const Band& window) {
      double sum = 0;
      for_runs(w, window, [&](int64_t place, int64_t n) { sum += run_sum(x + place, n); });
      y[window.place] =
          static_cast<T>(sum / count_of<double>(w, window, window.row, window.column));
    });
    return;
  }
  for_bands(w, [&](const Band& band) {
    fetch_next(w, band, x);
    T strips[kMostElements];
    T sums[kMostElements];
    fill_strips(
        w, band, [&](int64_t i, int64_t place) { strips[i] = T{0} + x[place]; },
        [&](int64_t i, int64_t place) { strips[i] += x[place]; },
        [&](int64_t i) { strips[i] = 0; });
    for (int64_t i = 0; i < band.all(); ++i) sums[i] = 0;
    for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
      for_cells(w, band, tap, [&](int64_t i, int64_t at) { sums[i] += strips[at]; });
    }
    for_divisors<T>(w, band,
                    [&](int64_t place, int64_t i, T divisor)
                        __attribute__((always_inline)) { y[place] = sums[i] / divisor; });
  });
}

template <class T>
void mean_spread(const PoolWindow& w, const void* gradient, void* to) {
  const T* dy = static_cast<const T*>(gradient);
  T* dx = static_cast<T*>(to);
  if (are_rows(w)) {
    for (int64_t i = 0; i < w.out[2]; ++i) {
      const T share = dy[i] / count_of<T>(w, Band{}, 0, i);
      for (int64_t j = 0; j < w.kernel[2]; ++j) dx[i * w.kernel[2] + j] = share;
    }
    return;
  }
  if (w.is_by_window() && has_runs(w)) {
    for_parts(w, [&](const Part& part) {
      T strip[kElements];
      for (int64_t i = 0; i < part.length; ++i) strip[i] = 0;
      for (int64_t i = 0; i < part.columns; ++i) {
        const T share = dy[part.place + i] / static_cast<T>(part.count * part.counts[i]);
        for (int64_t j = part.begin[i]; j < part.end[i]; ++j) strip[j] += share;
      }
      for_rows(w, part, [&](int64_t place) __attribute__((always_inline)) {
        for (int64_t i = 0; i < part.length; ++i) dx[place + i] += strip[i];
      });
    });
    return;
  }
  if (w.is_by_window()) {
    for_each_window(w, [&](const Band& window) {
      const T share = dy[window.place] / count_of<T>(w, window, window.row, window.column);
      for_runs(w, window, [&](int64_t place, int64_t n) {
        for (int64_t i = 0; i < n; ++i) dx[place + i] += share;
      });
    });
    return;
  }
  for_bands(w, [&](const Band& band) {
    T strips[kMostElements] = {};
    T shares[kMostElements] = {};
    for_divisors<T>(w, band,
                    [&](int64_t place, int64_t i, T divisor)
                        __attribute__((always_inline)) { shares[i] = dy[place] / divisor; });
    for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
      for_cells(w, band, tap, [&](int64_t i, int64_t at) { strips[at] += shares[i]; });
    }
    const auto [first, last] = inside_of(w, band);
    for (int64_t row = 0; row < band.rows; ++row) {
      for_rows(w, band, band.row + row, [&](int64_t place) __attribute__((always_inline)) {
        for (int64_t i = first; i < last; ++i) dx[place + i] += strips[row * band.pitch + i];
      });
    }
  });
}

template <class T>
constexpr PoolKernels kernels() {
  return {max<T>, max_spread<T>, max_select<T>, mean<T>, mean_spread<T>};
}
template <class T>
constexpr PoolKernels integer_kernels() {
  return {max<T>, nullptr, nullptr, nullptr, nullptr};
}

}  // namespace

void TL_FILL(pools)(KernelTable& table);
void TL_FILL(pools)(KernelTable& table) {
  table.pools[DType::kFloat32] = kernels<float>();
  table.pools[DType::kFloat64] = kernels<double>();
  table.pools[DType::kBool] = integer_kernels<uint8_t>();
  table.pools[DType::kInt8] = integer_kernels<int8_t>();
  table.pools[DType::kUInt8] = integer_kernels<uint8_t>();
  table.pools[DType::kInt32] = integer_kernels<int32_t>();
  table.pools[DType::kInt64] = integer_kernels<int64_t>();
  table.pools[DType::kUInt64] = integer_kernels<uint64_t>();
}

}  // namespace tensorlike
