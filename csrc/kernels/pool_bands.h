// How pooling walks over a plane. Rows of windows are taken together, in two steps: what a row of
// windows sees of each column of the input is combined into one element of a strip; then windows
// combine elements of strips that lie side by side, so that vectors go on from one row of windows
// to the next. Long or irregular windows are taken one by one, so that vectors hold a window's own
// elements. Compiled once per ISA level, by pool_tu.cpp.
#pragma once

#include "base/window.h"

#define TL_INLINE inline __attribute__((always_inline))

namespace tensorlike {
namespace {

constexpr int64_t kElements = 1024;  // of the strips that are handled together
constexpr int kLanes = 16;

TL_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
TL_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
TL_INLINE int64_t rounded_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Windows that are handled together: parts of `rows` rows of them, one strip for each.
struct Band {
  int64_t depth, row, rows, column, columns;
  int64_t cells;     // windows of a strip, those without meaning at its end included
  int64_t pitch;     // from strip to strip: cells * stride
  int64_t place;     // of the first window in the output
  int64_t out_step;  // from row to row of the output
  int64_t all() const { return rows * cells; }
};

// The longest band, and what the last windows see beyond it.
constexpr int64_t kMostElements = kElements + PoolWindow::kMostSpan + 4 * kLanes;

template <class F>
TL_INLINE void for_bands(const PoolWindow& w, F&& f) {
  const int64_t stride = w.stride[2];
  const int64_t columns = least(w.out[2], most(1, (kElements - w.span() - kLanes) / stride));
  const int64_t seen = (columns - 1) * stride + w.span();
  Band band{};
  band.cells = (rounded_up(seen, kLanes) + stride - 1) / stride;
  band.pitch = band.cells * stride;
  band.out_step = w.out[2];
  const int64_t rows = most(1, kElements / band.pitch);
  for (band.depth = 0; band.depth < w.out[0]; ++band.depth) {
    for (band.row = 0; band.row < w.out[1]; band.row += rows) {
      for (band.column = 0; band.column < w.out[2]; band.column += columns) {
        band.rows = least(rows, w.out[1] - band.row);
        band.columns = least(columns, w.out[2] - band.column);
        band.place = (band.depth * w.out[1] + band.row) * w.out[2] + band.column;
        f(band);
      }
    }
  }
}

// The input column of the first element of a strip; less than 0 in the padding.
TL_INLINE int64_t lead_of(const Window& w, const Band& band) {
  return band.column * w.stride[2] - w.before[2];
}

// The elements [first, last) of a strip are columns of the input, the others padding.
struct Inside {
  int64_t first, last;
};

TL_INLINE Inside inside_of(const Window& w, const Band& band) {
  return {most(0, -lead_of(w, band)), least(band.pitch, w.in[2] - lead_of(w, band))};
}

// Calls f(place in the input of the strip's element 0) for each row of the input that row `row` of
// windows sees, in order.
template <class F>
TL_INLINE void for_rows(const Window& w, const Band& band, int64_t row, F&& f) {
  for (int64_t plane = 0; plane < w.kernel[0]; ++plane) {
    const int64_t d = w.position(0, band.depth, plane);
    if (d < 0 || d >= w.in[0]) continue;
    for (int64_t above = 0; above < w.kernel[1]; ++above) {
      const int64_t h = w.position(1, row, above);
      if (h < 0 || h >= w.in[1]) continue;
      f((d * w.in[1] + h) * w.in[2] + lead_of(w, band));
    }
  }
}

// Where the strips' whole vectors of columns of the input end: the next strip, or what is behind
// the last one, is written to before it gets its own.
TL_INLINE int64_t whole_of(const Window& w, const Band& band) {
  const auto [first, last] = inside_of(w, band);
  return first + rounded_up(most(last - first, 0), kLanes);
}

// Calls clear(element) for what is padding of the strip of row `row`: all, where it is not begun.
template <class Clear>
TL_INLINE void clear_padding(const Window& w, const Band& band, int64_t row, bool is_begun,
                             Clear&& clear) {
  const auto [first, last] = inside_of(w, band);
  const int64_t strip = row * band.pitch;
  const int64_t inner = is_begun ? least(first, band.pitch) : band.pitch;
  for (int64_t i = 0; i < inner; ++i) clear(strip + i);
  for (int64_t i = most(last, inner); i < band.pitch; ++i) clear(strip + i);
}

// Asks for what the next rows of windows see, while these are computed: of planes that are too
// large to have stayed in a cache near by. The processor's own look ahead ends with the rows of a
// band.
template <class T>
TL_INLINE void fetch_next(const PoolWindow& w, const Band& band, const T* x) {
  constexpr int64_t kLine = 64 / sizeof(T), kNear = (int64_t{1} << 17) / sizeof(T);
  if (w.in_size() < kNear) return;
  const int64_t row = most(0, w.position(1, band.row + band.rows, 0));
  const int64_t first = (band.depth * w.stride[0] * w.in[1] + row) * w.in[2];
  const int64_t last = least(first + band.rows * w.stride[1] * w.in[2], w.in_size());
  for (int64_t i = first; i < last; i += kLine) __builtin_prefetch(x + i);
}

// For all strips of the band, row after row: calls begin(element of a strip, place in the input)
// for the first row that windows see, combine for the others, and clear(element) for padding. What
// it does to elements beyond those that windows see is of no account.
template <class Begin, class Combine, class Clear>
TL_INLINE void fill_strips(const PoolWindow& w, const Band& band, Begin&& begin, Combine&& combine,
                           Clear&& clear) {
  const auto [first, last] = inside_of(w, band);
  const int64_t whole = whole_of(w, band);  // where that does not leave the input
  for (int64_t row = 0; row < band.rows; ++row) {
    const int64_t strip = row * band.pitch;
    bool is_begun = false;
    for_rows(w, band, band.row + row, [&](int64_t place) __attribute__((always_inline)) {
      const int64_t end = place + whole <= w.in_size() ? whole : last;
      if (is_begun) {
        for (int64_t i = first; i < end; ++i) combine(strip + i, place + i);
      } else {
        for (int64_t i = first; i < end; ++i) begin(strip + i, place + i);
      }
      is_begun = true;
    });
    clear_padding(w, band, row, is_begun, clear);
  }
  for (int64_t i = 0; i < w.span(); ++i) clear(band.rows * band.pitch + i);
}

// Calls f(cell, element of a strip) for all that the windows' tap `tap` sees, with the stride as a
// constant where it is a usual one.
template <class F>
TL_INLINE void for_cells(const PoolWindow& w, const Band& band, int64_t tap, F&& f) {
  const int64_t from = tap * w.dilation[2];
  const int64_t n = band.all();
  if (w.stride[2] == 1) {
    for (int64_t i = 0; i < n; ++i) f(i, from + i);
  } else if (w.stride[2] == 2) {
    for (int64_t i = 0; i < n; ++i) f(i, from + i * 2);
  } else if (w.stride[2] == 3) {
    for (int64_t i = 0; i < n; ++i) f(i, from + i * 3);
  } else if (w.stride[2] == 4) {
    for (int64_t i = 0; i < n; ++i) f(i, from + i * 4);
  } else {
    for (int64_t i = 0; i < n; ++i) f(i, from + i * w.stride[2]);
  }
}

// Calls f(place of a window in the output, its cell).
template <class F>
TL_INLINE void for_windows(const Band& band, F&& f) {
  const Band own = band;  // what f writes is no part of it
  for (int64_t row = 0; row < own.rows; ++row) {
    const int64_t place = own.place + row * own.out_step, cell = row * own.cells;
    for (int64_t i = 0; i < own.columns; ++i) f(place + i, cell + i);
  }
}

// Calls f(window) for one window after the other.
template <class F>
TL_INLINE void for_each_window(const PoolWindow& w, F&& f) {
  Band band{0, 0, 1, 0, 1, 1, 1, 0, 1};
  for (band.depth = 0; band.depth < w.out[0]; ++band.depth) {
    for (band.row = 0; band.row < w.out[1]; ++band.row) {
      for (band.column = 0; band.column < w.out[2]; ++band.column) {
        f(band);
        ++band.place;
      }
    }
  }
}

// Windows beside each other that are taken one by one: each has a run of the strip that the rows
// they see are combined into.
struct Part {
  int64_t place;               // of the first of them in the output
  int64_t columns;             // how many there are
  int64_t first, length;       // columns of the input that the strip holds
  int64_t depths[2], rows[2];  // [begin, end) of what they see
  int64_t count;               // of depths and rows, as an average counts them
  int64_t begin[kElements];    // of the windows' runs, in the strip
  int64_t end[kElements];
  int64_t counts[kElements];  // of columns
};

// The columns [begin, end) of one window after the other, without dividing for each.
class ColumnWalk {
 public:
  ColumnWalk(const PoolWindow& w, int64_t column)
      : w_(w), column_(column), step_(w.in[2] / w.out[2]), rest_(w.in[2] % w.out[2]) {
    if (!w.is_irregular) return;
    begin_ = column * w.in[2] / w.out[2];
    part_ = column * w.in[2] % w.out[2];
  }
  int64_t begin() const { return w_.is_irregular ? begin_ : w_.begin(2, column_); }
  int64_t end() const {
    if (!w_.is_irregular) return most(begin(), w_.end(2, column_));
    return begin_ + step_ + (part_ + rest_ + w_.out[2] - 1 >= w_.out[2] ? 1 : 0) +
           (part_ + rest_ > w_.out[2] ? 1 : 0);
  }
  int64_t count() const { return w_.is_irregular ? end() - begin() : w_.count(2, column_); }
  void next() {
    ++column_;
    begin_ += step_;
    part_ += rest_;
    if (part_ < w_.out[2]) return;
    part_ -= w_.out[2];
    ++begin_;
  }

 private:
  const PoolWindow& w_;
  int64_t column_;
  int64_t step_, rest_;           // a window's length, and what is left over out[2] for it
  int64_t begin_ = 0, part_ = 0;  // of irregular windows: begin, and what it is rounded down by
};

// Calls f(part) for all windows; none is longer than a strip.
template <class F>
TL_INLINE void for_parts(const PoolWindow& w, F&& f) {
  Part part;
  for (int64_t column = 0; column < w.out[2]; column += part.columns) {
    ColumnWalk walk(w, column);
    part.first = walk.begin();
    part.columns = part.length = 0;
    for (; column + part.columns < w.out[2] && part.columns < kElements; walk.next()) {
      const int64_t end = walk.end() - part.first;
      if (end > kElements) break;
      part.begin[part.columns] = walk.begin() - part.first;
      part.end[part.columns] = end;
      part.counts[part.columns++] = walk.count();
      part.length = most(part.length, end);
    }
    part.place = column;
    for (int64_t d = 0; d < w.out[0]; ++d) {
      part.depths[0] = w.begin(0, d);
      part.depths[1] = w.end(0, d);
      const int64_t count = w.count(0, d);
      for (int64_t h = 0; h < w.out[1]; ++h, part.place += w.out[2]) {
        part.rows[0] = w.begin(1, h);
        part.rows[1] = w.end(1, h);
        part.count = count * w.count(1, h);
        f(part);
      }
    }
  }
}

// Calls f(place in the input of the strip's element 0) for each row that a part's windows see.
template <class F>
TL_INLINE void for_rows(const PoolWindow& w, const Part& part, F&& f) {
  for (int64_t d = part.depths[0]; d < part.depths[1]; ++d) {
    for (int64_t h = part.rows[0]; h < part.rows[1]; ++h) {
      f((d * w.in[1] + h) * w.in[2] + part.first);
    }
  }
}

// strip[i] = what the rows that a part's windows see have in their column i, joined; `none` where
// they see no row.
template <class T, class Own, class Join>
TL_INLINE void combine_rows(const PoolWindow& w, const Part& part, const T* x, Own none,
                            Own* __restrict__ strip, Join&& join) {
  bool is_begun = false;
  for_rows(w, part, [&](int64_t place) __attribute__((always_inline)) {
    const T* const row = x + place;
    if (is_begun) {
      for (int64_t i = 0; i < part.length; ++i) strip[i] = join(strip[i], static_cast<Own>(row[i]));
    } else {
      for (int64_t i = 0; i < part.length; ++i) strip[i] = static_cast<Own>(row[i]);
    }
    is_begun = true;
  });
  if (!is_begun) {
    for (int64_t i = 0; i < part.length; ++i) strip[i] = none;
  }
}

// Calls f(place of a run of the input, its length) for what one window sees, in order.
template <class F>
TL_INLINE void for_runs(const PoolWindow& w, const Band& window, F&& f) {
  if (w.is_dense()) {
    const int64_t first = w.begin(2, window.column);
    const int64_t length = w.end(2, window.column) - first;
    if (length <= 0) return;
    for (int64_t d = w.begin(0, window.depth); d < w.end(0, window.depth); ++d) {
      for (int64_t h = w.begin(1, window.row); h < w.end(1, window.row); ++h) {
        f((d * w.in[1] + h) * w.in[2] + first, length);
      }
    }
    return;
  }
  for_rows(w, window, window.row, [&](int64_t place) __attribute__((always_inline)) {
    for (int64_t tap = 0; tap < w.kernel[2]; ++tap) {
      const int64_t column = w.position(2, window.column, tap);
      if (column >= 0 && column < w.in[2]) f(place + tap * w.dilation[2], 1);
    }
  });
}

}  // namespace
}  // namespace tensorlike
