// How a matrix multiply is cut up: the problem, and the plan, which says which operand is packed
// and which tile shape is used.
#pragma once

#include <algorithm>

#include "base/pool.h"
#include "kernels/gemm.h"

namespace tensorlike::detail {

// So many products of each element hide what packing it takes: the form is not worth its memory.
constexpr int64_t kManyProducts = 1024;

template <class T>
struct Operand {  // element (lane, p) is at data[lane * lane_stride + p * k_stride]
  const T* data;
  int64_t lane_stride;
  int64_t k_stride;
  const GemmSource<T>* source = nullptr;  // makes the elements instead; data and strides are names
  KeptForms* forms = nullptr;             // keeps them packed

  const T* at(int64_t lane, int64_t p) const { return data + lane * lane_stride + p * k_stride; }
};

template <class T>
struct Problem {
  int64_t m, n, k;
  Operand<T> a;  // lanes are rows
  Operand<T> b;  // lanes are columns
  SumOf<T>* c;
  int64_t c_row;
  Epilogue epilogue = {};
  bool accumulate = false;

  // Whether the ways around packing and tiles are open to it.
  bool is_plain() const { return a.source == nullptr && b.source == nullptr && !accumulate; }
  // Multiply-adds.
  double work() const {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

inline int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

// [0, n) in `count` parts whose sizes differ by one at most.
struct Split {
  int64_t n, count;
  int64_t begin(int64_t part) const { return part * n / count; }
  int64_t size(int64_t part) const { return begin(part + 1) - begin(part); }
};

inline Split split_at_most(int64_t n, int64_t size) {
  return {n, std::max<int64_t>(1, ceil_div(n, size))};
}

// The tile for so many rows and columns, as log2 of its vectors: wide ones for few rows.
template <class T>
int width_for(const GemmKernels<T>& kernels, int64_t m, int64_t n) {
  if (n <= kernels.lanes) return 0;
  for (int wide = GemmKernels<T>::kWidths - 1; wide > 1; --wide) {
    const bool has_columns = n >= kernels.lanes << wide;
    if (has_columns && kernels.max_rows[wide] >= m) return wide;
  }
  return 1;
}

// Rows of b that are read soon: so far ahead that memory has time, unless rows are so many bytes
// apart that they meet in few sets of the cache, which keep few of them.
template <class T>
int64_t distance_ahead(int64_t b_k, int64_t rows) {
  const bool meet = b_k * static_cast<int64_t>(sizeof(T)) % 1024 == 0;
  if (rows <= (meet ? 8 : 6)) return 8;  // of a, or wide ones of b: more bytes in less time
  return meet ? 24 : 64;
}
template <class T>
Ahead<T> rows_ahead(const T* b, int64_t b_k, int64_t rows) {
  return {b + distance_ahead<T>(b_k, rows) * b_k, b_k};
}
// The same of `depth` rows that are followed by those at `next`.
template <class T>
Ahead<T> rows_ahead(const T* b, int64_t b_k, int64_t rows, int64_t depth, const T* next) {
  const int64_t distance = std::min(distance_ahead<T>(b_k, rows), depth / 2);
  return {b + distance * b_k, b_k, depth - distance, next - (b + depth * b_k)};
}

// How much of a problem is packed at once (`super_*`) and how it is cut.
template <class T>
struct Plan {
  static constexpr int64_t kBlockK = 2048 / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t kPackedA = (int64_t{2} << 20) / static_cast<int64_t>(sizeof(T));
  static constexpr int64_t kPackedB = (int64_t{4} << 20) / static_cast<int64_t>(sizeof(T));

  int width;  // log2 of the vectors of a tile
  int64_t tile_columns;
  int64_t tile_rows;
  bool packs_a, packs_b;
  bool packs_a_in_units;  // by the thread that multiplies it, right before; else all at first
  bool packs_b_in_units;  // a tile at a time, where one unit has all rows
  int64_t super_m, super_n, super_k;
  int64_t threads;

  Plan(const GemmKernels<T>& kernels, const Problem<T>& x, bool in_parallel)
      : threads(in_parallel ? num_threads() : 1) {
    width = width_for(kernels, x.m, x.n);
    tile_columns = kernels.lanes << width;
    tile_rows = kernels.max_rows[width];
    const bool keeps_b = x.b.forms != nullptr && x.m > tile_rows;
    packs_b =
        x.b.source != nullptr || keeps_b || !is_read_in_place(x.b, x.m, x.n * x.k, in_parallel);
    // Wide tiles of few rows are done before the next one has come.
    packs_b_in_units = packs_b && x.b.forms == nullptr && x.b.source == nullptr && width <= 1 &&
                       x.m <= unit_panels() * tile_rows &&
                       ceil_div(x.n, tile_columns) >= 2 * threads;
    const bool keeps_a = x.a.forms != nullptr && x.n > tile_columns;
    const bool packs =
        x.a.source != nullptr || keeps_a ||
        ceil_div(x.n, tile_columns) > tiles_in_place(x.a, 64 == kernels.lanes * sizeof(T));
    packs_a_in_units = packs && x.a.source == nullptr && !keeps_a && !has_far_columns(x.a);
    packs_a = packs && !packs_a_in_units;
    super_k = std::min(x.k, 4 * kBlockK);
    // Threads wait for each other after each part: many get larger ones.
    super_m = std::max(tile_rows, std::max<int64_t>(1, threads / 4) * kPackedA / super_k);
    super_n = std::max<int64_t>(1, threads / 8) * kPackedB / super_k / tile_columns * tile_columns;
    super_n = std::max(tile_columns, super_n);
  }

  // Of a unit, which has about 128 x 512 elements of c; smaller if that leaves threads without
  // work.
  int64_t unit_panels() const { return std::max<int64_t>(1, 144 / tile_rows); }
  int64_t unit_tiles() const { return std::max<int64_t>(1, 512 / tile_columns); }

  // As many for each thread, where there are several: who has one more keeps the others waiting.
  Split panels_of(int64_t rows) const {
    const int64_t count = split_at_most(rows, tile_rows).count;
    return {rows, count < 4 * threads ? count : ceil_div(count, threads) * threads};
  }

 private:
  // Whether rows of b are read where they are: for few panels, or for some more if it stays in the
  // second-level cache and threads would have to wait for each other between packing and use.
  bool is_read_in_place(const Operand<T>& b, int64_t m, int64_t size, bool in_parallel) const {
    constexpr int64_t kResident = (int64_t{320} << 10) / static_cast<int64_t>(sizeof(T));
    const int64_t panels = ceil_div(m, tile_rows);
    return b.lane_stride == 1 &&
           (panels <= 8 || (in_parallel && panels <= 24 && size <= kResident));
  }

  // For how many tiles side by side a is read where it is. Wide vectors read most of them so for
  // any number: not rows that are pages apart, which meet in one set of the cache, nor columns that
  // are far apart, which take a cache line each. (Where neither packing nor reading in place was
  // the better by a twentieth, on drawn shapes: note 3.)
  static int64_t tiles_in_place(const Operand<T>& a, bool is_wide) {
    constexpr int64_t kPage = 4096 / static_cast<int64_t>(sizeof(T));
    if (!is_wide) return 4;
    if (a.k_stride == 1) return a.lane_stride % kPage != 0 ? INT64_MAX : 4;
    if (a.lane_stride != 1) return 4;
    return has_far_columns(a) ? 6 : INT64_MAX;
  }

  // Panels of such an operand share cache lines, and are packed several at once.
  static bool has_far_columns(const Operand<T>& a) {
    constexpr int64_t kNear = 1024 / static_cast<int64_t>(sizeof(T));
    return a.lane_stride == 1 && (a.k_stride < 0 || a.k_stride > kNear);
  }
};

}  // namespace tensorlike::detail
