// The ways of the matrix multiply around packing: for tiny and small products, and for few rows or
// columns, whose operands are read where they lie. Included by gemm.cpp only.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>

#include "base/pool.h"
#include "base/small_vector.h"
#include "kernels/gemm_part.h"

namespace tensorlike {
namespace detail {
namespace {

constexpr int64_t kParallelWork = 1000 * 1000;  // multiply-adds; below, waking a thread costs more
constexpr int64_t kTinyWork = 64;
constexpr double kSmallWork = 64 * 64 * 64;
constexpr int64_t kLargeB = int64_t{1} << 20;  // bytes that the second-level cache won't keep
constexpr int64_t kStreamedRows = 8;

ScratchPlace t_buffer_a;
ScratchPlace t_buffer_b;

template <class T>
const GemmKernels<T>& kernels_of(const GemmTable& table) {
  if constexpr (std::is_same_v<T, float>) {
    return table.f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return table.f64;
  } else if constexpr (std::is_same_v<T, Float16>) {
    return table.f16;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return table.bf16;
  } else if constexpr (std::is_same_v<T, BFloat16Pair>) {
    return table.pairs;
  } else if constexpr (sizeof(T) == 4) {
    return table.u32;
  } else {
    return table.u64;
  }
}

// Whether elements are multiplied as they are.
template <class T>
constexpr bool kIsWhole = std::is_same_v<T, PackedOf<T>>;

template <class T>
void multiply_tiny(const Problem<T>& x) {
  for (int64_t i = 0; i < x.m; ++i) {
    for (int64_t j = 0; j < x.n; ++j) {
      SumOf<T> sum = 0;
      for (int64_t p = 0; p < x.k; ++p) {
        sum += static_cast<SumOf<T>>(*x.a.at(i, p)) * static_cast<SumOf<T>>(*x.b.at(j, p));
      }
      x.c[i * x.c_row + j] = sum;
    }
  }
  x.epilogue(0, x.m, 0, x.n);
}

// Calls f(first, last) on ranges of at most `piece` columns that begin at a multiple of it, a whole
// number of cache lines, so that a column's place in a vector does not depend on the threads.
template <class F>
void for_columns(int64_t columns, int64_t piece, bool in_parallel, F&& f) {
  const int64_t pieces = ceil_div(columns, piece);
  parallel_for(pieces, in_parallel ? 1 : pieces, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i > begin) check_interrupt();
      f(i * piece, std::min((i + 1) * piece, columns));
    }
  });
}

// Dot products of the rows of a with the columns of b, which are contiguous along k.
// Row is what rows of a are multiplied as: if need be, copy(to, i) makes one.
template <class Row, class T, class Dots, class Copy>
void multiply_dots(const Problem<T>& x, bool in_parallel, Dots dots, Copy&& copy) {
  constexpr int64_t kRows = 48, kColumns = 64;  // of a piece
  const Row* rows = nullptr;
  int64_t row_stride = x.k;
  ScratchLoan buffer(t_buffer_a);
  if (std::is_same_v<T, Row> && x.a.k_stride == 1) {
    rows = reinterpret_cast<const Row*>(x.a.data);
    row_stride = x.a.lane_stride;
  } else {
    Row* const copies = buffer.reserve<Row>(x.m * x.k);
    for (int64_t i = 0; i < x.m; ++i) copy(copies + i * x.k, i);
    rows = copies;
  }
  const Split down = split_at_most(x.m, kRows);
  const int64_t pieces = down.count * ceil_div(x.n, kColumns);
  parallel_for(pieces, in_parallel ? 1 : pieces, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i > begin) check_interrupt();
      const int64_t row = down.begin(i % down.count), height = down.size(i % down.count);
      const int64_t column = i / down.count * kColumns, width = std::min(kColumns, x.n - column);
      dots(width, x.k, x.b.at(column, 0), x.b.lane_stride, rows + row * row_stride, height,
           row_stride, x.c + row * x.c_row + column, x.c_row);
      x.epilogue(row, height, column, width);
    }
  });
}

template <class T>
void multiply_dots(const GemmTable& table, const Problem<T>& x, bool in_parallel) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (table.pairs.lanes != 0) {
      return multiply_dots<T>(x, in_parallel, table.dot_pairs, [&](T* to, int64_t i) {
        for (int64_t p = 0; p < x.k; ++p) to[p] = *x.a.at(i, p);
      });
    }
  }
  const GemmKernels<T>& kernels = kernels_of<T>(table);
  const auto multiply = [&](const Problem<T>& given) {
    multiply_dots<PackedOf<T>>(given, in_parallel, kernels.dot_rows,
                               [&](PackedOf<T>* to, int64_t i) {
                                 kernels.pack(to, x.k, x.a.at(i, 0), x.a.k_stride, 0, x.k, 1);
                               });
  };
  if constexpr (kIsWhole<T>) {
    if (x.b.k_stride != 1) {  // columns become rows
      ScratchLoan buffer(t_buffer_b);
      Problem<T> turned = x;
      T* const columns = buffer.reserve<T>(x.n * x.k);
      kernels.pack(columns, x.k, x.b.data, x.b.k_stride, x.b.lane_stride, x.k, x.n);
      turned.b = {columns, x.k, 1};
      return multiply(turned);
    }
  }
  multiply(x);
}

// A row times a matrix whose columns are short and lie one behind the other: many of them at once
// are turned into rows.
template <class T>
void multiply_short(const GemmKernels<T>& kernels, const Problem<T>& x, bool in_parallel) {
  constexpr int64_t kColumns = 512;
  for_columns(x.n, kColumns, in_parallel, [&](int64_t first, int64_t last) {
    const int64_t columns = last - first;
    ScratchLoan buffer(t_buffer_b);
    T* const rows = buffer.reserve<T>(columns * x.k);
    kernels.pack(rows, columns, x.b.at(first, 0), x.b.lane_stride, 1, columns, x.k);
    kernels.sum_rows(1, columns, x.k, x.a.data, 0, x.a.k_stride, rows, columns, x.c + first,
                     x.c_row);
    x.epilogue(0, 1, first, columns);
  });
}

// Few rows, and a b whose rows are long: b is read once, in the order in which it lies in memory.
// Several rows of a and of c are often a power of 2 apart, where they would push each other out of
// the cache: a is packed, and sums are made elsewhere and then copied.
template <class T>
void multiply_rows(const GemmKernels<T>& kernels, const Problem<T>& x, bool in_parallel) {
  using Packed = PackedOf<T>;
  const bool is_single = x.m == 1;
  const Packed* a = reinterpret_cast<const Packed*>(x.a.data);
  int64_t a_k = x.a.k_stride;
  ScratchLoan buffer_a(t_buffer_a);
  if (!is_single || !std::is_same_v<T, Packed>) {
    Packed* const packed = buffer_a.reserve<Packed>(x.m * x.k);
    kernels.pack(packed, x.m, x.a.data, x.a.lane_stride, x.a.k_stride, x.m, x.k);
    a = packed;
    a_k = x.m;
  }
  // Long runs of memory, but work for all threads; the sums stay in the first-level cache.
  const int64_t share = ceil_div(x.n, 2 * num_threads() * int64_t{64}) * 64;
  const int64_t most = 4096 / x.m / 64 * 64;
  const int64_t piece = in_parallel ? std::clamp(share, std::min<int64_t>(256, most), most) : most;
  for_columns(x.n, piece, in_parallel, [&](int64_t first, int64_t last) {
    SumOf<T>* c = x.c + first;
    const int64_t columns = last - first;
    if (is_single) {
      kernels.sum_rows(1, columns, x.k, a, 0, a_k, x.b.at(first, 0), x.b.k_stride, c, x.c_row);
      x.epilogue(0, 1, first, columns);
      return;
    }
    ScratchLoan buffer_b(t_buffer_b);
    SumOf<T>* sums = buffer_b.reserve<SumOf<T>>(x.m * piece);
    kernels.sum_rows(x.m, columns, x.k, a, 1, a_k, x.b.at(first, 0), x.b.k_stride, sums, piece);
    for (int64_t i = 0; i < x.m; ++i) std::copy_n(sums + i * piece, columns, c + i * x.c_row);
    x.epilogue(0, x.m, first, columns);
  });
}

// Whether b, of long rows, is so large that what counts is to read it in order.
template <class T>
bool is_streamed(const Problem<T>& x) {
  if (x.b.lane_stride != 1 || x.n < 256) return false;
  return x.m == 1 ||
         (x.m <= kStreamedRows && x.n >= 1024 && x.n * x.k * int64_t{sizeof(T)} > kLargeB);
}

// Whether dot products along k take less than tiles, by the multiply-adds of vectors that are due
// for each row or that would fit in the time: the lanes of a dot product are summed, and its last
// vector is not full; a tile's last columns are not, and it is begun and stored. The bits of a
// product hang on it, so neither how the operands lie counts nor how many rows there are, which a
// batch may be a part of: by so much less that b may be turned for it.
template <class T>
bool are_dots_less(const GemmKernels<T>& kernels, const Problem<T>& x) {
  constexpr double kJoin = 3, kBegin = 0.3;  // of each sum
  constexpr double kMuch = 1.25;
  constexpr int64_t kLeastSteps = 64;
  const double k = static_cast<double>(x.k), n = static_cast<double>(x.n);
  const auto whole = [&](int64_t count) {
    return static_cast<double>(ceil_div(count, kernels.lanes));
  };
  return x.k >= kLeastSteps && kMuch * n * (whole(x.k) + kJoin) < whole(x.n) * k + n * kBegin;
}

// Whether dot products are the way: for one row of any b that is contiguous along k, for few of a
// long one, and for small products that take less so.
template <class T>
bool has_dots(const GemmKernels<T>& kernels, const Problem<T>& x) {
  constexpr int64_t kNear = int64_t{512} << 10;  // bytes of b, which are read again for other rows
  const bool is_along = x.b.k_stride == 1;
  if (x.m == 1 || (is_along && x.m <= 8 && x.k >= 512)) return is_along;
  if (!kIsWhole<T> || x.n == 1) return false;
  return x.n * x.k * int64_t{sizeof(T)} <= kNear && are_dots_less(kernels, x);
}

template <class T>
void multiply(const GemmTable& table, const Problem<T>& x);

// One column is c' = b' @ a', if need be through a contiguous result.
template <class T>
void multiply_column(const GemmTable& table, const Problem<T>& x) {
  if (x.c_row == 1) {
    multiply<T>(table, {1, x.m, x.k, x.b, x.a, x.c, x.m});
  } else {
    const auto result = std::make_unique_for_overwrite<SumOf<T>[]>(static_cast<size_t>(x.m));
    multiply<T>(table, {1, x.m, x.k, x.b, x.a, result.get(), x.m});
    for (int64_t i = 0; i < x.m; ++i) x.c[i * x.c_row] = result[i];
  }
  x.epilogue(0, x.m, 0, 1);
}

template <class T>
bool is_column(const Problem<T>& x) {
  return x.n == 1 && x.m > 1;
}

// Whether tiles read both operands where they are, and a plan would cost more than it finds.
template <class T>
bool is_small(const GemmKernels<T>& kernels, const Problem<T>& x, double work) {
  return work <= kSmallWork && x.k <= Plan<T>::kBlockK && x.b.lane_stride == 1 &&
         (kernels.reads_partial_b || x.n % kernels.lanes == 0) &&
         (x.m == 1 ? x.n > 1 : !has_dots(kernels, x));
}

// One tile of a small product.
template <class T>
struct SmallTile {
  typename GemmKernels<T>::Tile multiply;
  int64_t row, rows, column, columns;

  void operator()(const Problem<T>& x, const Ahead<T>& ahead) const {
    multiply(x.k, x.a.at(row, 0), x.a.lane_stride, x.a.k_stride, x.b.at(column, 0), x.b.k_stride,
             ahead, x.c + row * x.c_row + column, x.c_row, columns, false);
  }
};

// Calls f with each of them.
template <class T, class F>
void each_small_tile(const GemmKernels<T>& kernels, int64_t m, int64_t n, F&& f) {
  for (int64_t column = 0; column < n;) {
    const int width = width_for(kernels, m, n - column);
    const int64_t columns = std::min(kernels.lanes << width, n - column);
    const Split split = split_at_most(m, kernels.max_rows[width]);
    for (int64_t i = 0; i < split.count; ++i) {
      const int64_t rows = split.size(i);
      f(SmallTile<T>{kernels.tile[width][1][rows - 1], split.begin(i), rows, column, columns});
    }
    column += columns;
  }
}

template <class T>
void multiply_small(const GemmKernels<T>& kernels, const Problem<T>& x) {
  each_small_tile(kernels, x.m, x.n, [&](const SmallTile<T>& tile) {
    tile(x, rows_ahead(x.b.at(tile.column, 0), x.b.k_stride, tile.rows));
  });
  x.epilogue(0, x.m, 0, x.n);
}

// Whether a small product by itself would have its b packed and be multiplied by tiles.
template <class T>
bool is_packed_small(const GemmKernels<T>& kernels, const Problem<T>& x, double work) {
  return work <= kSmallWork && x.k <= Plan<T>::kBlockK && x.m > 1 && !has_dots(kernels, x);
}

// How many of the products of tiny matrices that lie one behind the other are done.
template <class T>
int64_t multiply_few(const GemmKernels<T>& kernels, const Problem<T>& x, int64_t count,
                     const BatchSteps& step) {
  // In rows or in columns without gaps.
  const auto is_dense = [](const Operand<T>& y, int64_t lanes, int64_t k) {
    return (y.k_stride == 1 && y.lane_stride == k) || (y.lane_stride == 1 && y.k_stride == lanes);
  };
  if (kernels.multiply_few == nullptr || x.c_row != x.n || step.c != x.m * x.n) return 0;
  if (step.a != x.m * x.k || step.b != x.k * x.n) return 0;
  if (!is_dense(x.a, x.m, x.k) || !is_dense(x.b, x.n, x.k)) return 0;
  return kernels.multiply_few(count, x.m, x.n, x.k, x.a.data, x.a.lane_stride, x.a.k_stride,
                              x.b.data, x.b.lane_stride, x.b.k_stride, x.c);
}

// Many small products of one shape, the operands of each `step` elements behind those of the one
// before: their tiles are found once, and nothing is asked for ahead, which the processor does by
// itself where products follow each other. False: another way suits the shape.
template <class T>
bool multiply_small_ones(const GemmKernels<T>& kernels, Problem<T> x, int64_t count,
                         const BatchSteps& step) {
  const double work = x.work();
  if (work == 0 || is_column(x)) return false;
  const bool is_in_place = is_small(kernels, x, work);
  if (!is_in_place && work <= kTinyWork) {
    for (int64_t i = 0; i < count; ++i) {
      multiply_tiny(x);
      x.a.data += step.a;
      x.b.data += step.b;
      x.c += step.c;
    }
    return true;
  }
  if (!is_in_place && !is_packed_small(kernels, x, work)) return false;
  const int64_t done = multiply_few(kernels, x, count, step);
  x.a.data += done * step.a;
  x.c += done * step.c;
  SmallVector<SmallTile<T>, 8> tiles;
  each_small_tile(kernels, x.m, x.n, [&](const SmallTile<T>& tile) { tiles.push_back(tile); });
  ScratchLoan buffer(t_buffer_b);
  const int64_t row = ceil_div(x.n, kernels.lanes) * kernels.lanes;
  T* const packed = is_in_place ? nullptr : buffer.reserve<T>(row * x.k);
  const Operand<T> b = x.b;
  for (int64_t i = done; i < count; ++i) {
    if (is_in_place) {
      x.b.data = b.data + i * step.b;
    } else if (i == done || step.b != 0) {
      kernels.pack(packed, row, b.data + i * step.b, b.lane_stride, b.k_stride, x.n, x.k);
      x.b = {packed, 1, row};
    }
    for (const SmallTile<T>& tile : tiles) tile(x, {x.b.at(tile.column, 0), x.b.k_stride});
    x.a.data += step.a;
    x.c += step.c;
  }
  return true;
}

// The ways around packing. False: none of them suits the shape.
template <class T>
bool multiply_in_place(const GemmTable& table, const Problem<T>& x, double work) {
  const bool in_parallel = work >= kParallelWork && num_threads() > 1;
  const GemmKernels<T>& kernels = kernels_of<T>(table);
  if (is_column(x)) {
    multiply_column(table, x);
    return true;
  }
  if constexpr (kIsWhole<T>) {
    if (is_small(kernels, x, work)) {
      multiply_small(kernels, x);
      return true;
    }
  }
  if (work <= kTinyWork) {
    multiply_tiny(x);
    return true;
  }
  if constexpr (kIsWhole<T>) {
    if (x.m == 1 && x.b.k_stride == 1 && x.k < kernels.lanes) {
      multiply_short(kernels, x, in_parallel);
      return true;
    }
  }
  if (has_dots(kernels, x)) {
    multiply_dots(table, x, in_parallel);
    return true;
  }
  if (!is_streamed(x)) return false;
  multiply_rows(kernels, x, in_parallel);
  return true;
}

}  // namespace
}  // namespace detail
}  // namespace tensorlike
