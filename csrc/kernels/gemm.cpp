// The matrix multiply: chooses the way that suits the shape, and holds the short ways, for tiny
// products and for few rows. The packed way is gemm_part.h.
#include "kernels/gemm.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "base/pool.h"
#include "kernels/gemm_part.h"

namespace tensorlike {
namespace detail {

const GemmTable& gemm_table(Isa isa) {
  switch (isa) {
#if defined(TL_HAS_v4)
    case Isa::kV4:
      return gemm_table_v4();
#endif
#if defined(TL_HAS_v3)
    case Isa::kV3:
      return gemm_table_v3();
#endif
#if defined(TL_HAS_v2)
    case Isa::kV2:
      return gemm_table_v2();
#endif
    default:
      return gemm_table(tensorlike::isa());
  }
}

namespace {

constexpr int64_t kParallelWork = 1000 * 1000;  // multiply-adds; below, waking a thread costs more
constexpr int64_t kTinyWork = 64;
constexpr double kSmallWork = 64 * 64 * 64;
constexpr int64_t kLargeB = int64_t{1} << 20;  // bytes that the second-level cache won't keep
constexpr int64_t kStreamedRows = 8;

thread_local ScratchBuffer t_buffer_a;
thread_local ScratchBuffer t_buffer_b;

template <class T>
const GemmKernels<T>& kernels_of(const GemmTable& table) {
  if constexpr (std::is_same_v<T, float>) {
    return table.f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return table.f64;
  } else if constexpr (sizeof(T) == 4) {
    return table.u32;
  } else {
    return table.u64;
  }
}

template <class T>
void multiply_tiny(const Problem<T>& x) {
  for (int64_t i = 0; i < x.m; ++i) {
    for (int64_t j = 0; j < x.n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < x.k; ++p) sum += *x.a.at(i, p) * *x.b.at(j, p);
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

// Few rows, and a b that is contiguous along k (as the weights of a linear layer are): transposing
// b would cost more than the sums.
template <class T>
void multiply_dots(const GemmKernels<T>& kernels, const Problem<T>& x, bool in_parallel) {
  const T* rows = x.a.data;
  int64_t row_stride = x.a.lane_stride;
  ScratchLoan buffer(t_buffer_a);
  if (x.a.k_stride != 1) {
    T* copy = buffer.reserve<T>(x.m * x.k);
    for (int64_t i = 0; i < x.m; ++i) {
      kernels.pack(copy + i * x.k, 1, x.a.at(i, 0), 0, x.a.k_stride, 1, x.k);
    }
    rows = copy;
    row_stride = x.k;
  }
  for_columns(x.n, 64, in_parallel, [&](int64_t first, int64_t last) {
    kernels.dot_rows(last - first, x.k, x.b.at(first, 0), x.b.lane_stride, rows, x.m, row_stride,
                     x.c + first, x.c_row);
    x.epilogue(0, x.m, first, last - first);
  });
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
  const bool is_single = x.m == 1;
  Operand<T> a = x.a;
  ScratchLoan buffer_a(t_buffer_a);
  if (!is_single) {
    T* packed = buffer_a.reserve<T>(x.m * x.k);
    kernels.pack(packed, x.m, a.data, a.lane_stride, a.k_stride, x.m, x.k);
    a = {packed, 1, x.m};
  }
  // Long runs of memory, but work for all threads; the sums stay in the first-level cache.
  const int64_t share = ceil_div(x.n, 2 * num_threads() * int64_t{64}) * 64;
  const int64_t most = 4096 / x.m / 64 * 64;
  const int64_t piece = in_parallel ? std::clamp(share, std::min<int64_t>(256, most), most) : most;
  for_columns(x.n, piece, in_parallel, [&](int64_t first, int64_t last) {
    T* c = x.c + first;
    const int64_t columns = last - first;
    if (is_single) {
      kernels.sum_rows(1, columns, x.k, a.data, 0, a.k_stride, x.b.at(first, 0), x.b.k_stride, c,
                       x.c_row);
      x.epilogue(0, 1, first, columns);
      return;
    }
    ScratchLoan buffer_b(t_buffer_b);
    T* sums = buffer_b.reserve<T>(x.m * piece);
    kernels.sum_rows(x.m, columns, x.k, a.data, 1, a.k_stride, x.b.at(first, 0), x.b.k_stride, sums,
                     piece);
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

// Whether so many dot products for each row, and the sums of their lanes, are less than tiles whose
// vectors are empty but for these.
template <class T>
bool are_long_dots(const GemmKernels<T>& kernels, int64_t count, int64_t k) {
  constexpr int64_t kSumOfLanes = 80;  // as many multiply-adds
  return count <= 8 && count * (k + kSumOfLanes) < kernels.lanes * k;
}

// Whether there are so few rows that b is better not transposed.
template <class T>
bool has_dots(const GemmKernels<T>& kernels, const Problem<T>& x) {
  if (x.m == 1 || (x.m <= 8 && x.k >= 512)) return true;
  return (x.m <= 4 || x.n <= 32) && are_long_dots(kernels, x.m, x.k);
}

template <class T>
void multiply(const GemmKernels<T>& kernels, const Problem<T>& x);

// c' = b' @ a', if need be through a contiguous result.
template <class T>
void multiply_columns(const GemmKernels<T>& kernels, const Problem<T>& x, bool in_parallel) {
  if (x.n == 1 && x.c_row == 1) {
    multiply<T>(kernels, {1, x.m, x.k, x.b, x.a, x.c, x.m});
  } else {
    const auto result = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(x.m * x.n));
    const Problem<T> turned = {x.n, x.m, x.k, x.b, x.a, result.get(), x.m};
    if (x.n == 1) {
      multiply<T>(kernels, turned);
    } else {
      multiply_dots<T>(kernels, turned, in_parallel);
    }
    for (int64_t i = 0; i < x.m; ++i) {
      for (int64_t j = 0; j < x.n; ++j) x.c[i * x.c_row + j] = result[j * x.m + i];
    }
  }
  x.epilogue(0, x.m, 0, x.n);
}

// Whether one row, or few columns, are better the other way round. A tile of few columns leaves
// most of its vectors empty.
template <class T>
bool is_turned(const GemmKernels<T>& kernels, const Problem<T>& x) {
  if (!x.is_plain() || x.m == 1) return false;
  return x.n == 1 || (x.m > x.n && x.a.k_stride == 1 && are_long_dots(kernels, x.n, x.k));
}

// Whether tiles read both operands where they are, and a plan would cost more than it finds.
template <class T>
bool is_small(const GemmKernels<T>& kernels, const Problem<T>& x, double work) {
  return x.is_plain() && work <= kSmallWork && x.k <= Plan<T>::kBlockK && x.b.lane_stride == 1 &&
         (kernels.reads_partial_b || x.n % kernels.lanes == 0);
}

template <class T>
void multiply_small(const GemmKernels<T>& kernels, const Problem<T>& x) {
  for (int64_t column = 0; column < x.n;) {
    const int width = width_for(kernels, x.m, x.n - column);
    const int64_t columns = std::min(kernels.lanes << width, x.n - column);
    const Split rows = split_at_most(x.m, kernels.max_rows[width]);
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t row = rows.begin(i);
      kernels.tile[width][1][rows.size(i) - 1](
          x.k, x.a.at(row, 0), x.a.lane_stride, x.a.k_stride, x.b.at(column, 0), x.b.k_stride,
          x.c + row * x.c_row + column, x.c_row, columns, false);
    }
    column += columns;
  }
  x.epilogue(0, x.m, 0, x.n);
}

template <class T>
void multiply(const GemmKernels<T>& kernels, const Problem<T>& x) {
  if (x.m == 0 || x.n == 0) return;
  if (x.k == 0) {
    if (x.accumulate) return;
    for (int64_t i = 0; i < x.m; ++i) std::fill_n(x.c + i * x.c_row, x.n, T{0});
    x.epilogue(0, x.m, 0, x.n);
    return;
  }
  const double work =
      static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k);
  const bool in_parallel = work >= kParallelWork && num_threads() > 1;
  if (is_turned(kernels, x)) {
    multiply_columns(kernels, x, in_parallel);
    return;
  }
  if (is_small(kernels, x, work)) {
    multiply_small(kernels, x);
    return;
  }
  if (x.is_plain() && work <= kTinyWork) {
    multiply_tiny(x);
    return;
  }
  if (x.is_plain() && x.m == 1 && x.b.k_stride == 1 && x.k < kernels.lanes) {
    multiply_short(kernels, x, in_parallel);
    return;
  }
  if (x.is_plain() && x.b.k_stride == 1 && has_dots(kernels, x)) {
    multiply_dots(kernels, x, in_parallel);
    return;
  }
  if (x.is_plain() && is_streamed(x)) {
    multiply_rows(kernels, x, in_parallel);
    return;
  }
  const Plan<T> plan(kernels, x, in_parallel);
  ScratchLoan buffer_a(t_buffer_a);
  ScratchLoan buffer_b(t_buffer_b);
  for (int64_t column = 0; column < x.n; column += plan.super_n) {
    const int64_t columns = std::min(plan.super_n, x.n - column);
    for (int64_t from = 0; from < x.k; from += plan.super_k) {
      const int64_t depth = std::min(plan.super_k, x.k - from);
      for (int64_t row = 0; row < x.m; row += plan.super_m) {
        if (column > 0 || from > 0 || row > 0) check_interrupt();
        const int64_t rows = std::min(plan.super_m, x.m - row);
        Part<T> part(kernels, plan, x, buffer_a, buffer_b, row, rows, column, columns, from, depth);
        part.pack(row == 0, in_parallel);
        part.multiply(x.accumulate || from > 0, from + depth == x.k, in_parallel);
      }
    }
  }
}

}  // namespace

template <class T>
void gemm_with(const GemmTable& table, int64_t m, int64_t n, int64_t k, const T* a,
               int64_t a_row_stride, int64_t a_col_stride, const T* b, int64_t b_row_stride,
               int64_t b_col_stride, T* c, int64_t c_row_stride, Epilogue epilogue) {
  if constexpr (std::is_floating_point_v<T>) {
    multiply<T>(kernels_of<T>(table), {m,
                                       n,
                                       k,
                                       {a, a_row_stride, a_col_stride},
                                       {b, b_col_stride, b_row_stride},
                                       c,
                                       c_row_stride,
                                       epilogue});
  } else {  // a signed type may be read and written as its unsigned one
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    multiply<U>(kernels_of<U>(table), {m,
                                       n,
                                       k,
                                       {reinterpret_cast<const U*>(a), a_row_stride, a_col_stride},
                                       {reinterpret_cast<const U*>(b), b_col_stride, b_row_stride},
                                       reinterpret_cast<U*>(c),
                                       c_row_stride,
                                       epilogue});
  }
}

}  // namespace detail

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row_stride, int64_t a_col_stride,
          const T* b, int64_t b_row_stride, int64_t b_col_stride, T* c, int64_t c_row_stride,
          Epilogue epilogue) {
  static const detail::GemmTable& table = detail::gemm_table(isa());
  detail::gemm_with<T>(table, m, n, k, a, a_row_stride, a_col_stride, b, b_row_stride, b_col_stride,
                       c, c_row_stride, epilogue);
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const GemmOperand<T>& a, const GemmOperand<T>& b, T* c,
          int64_t c_row_stride, bool accumulate, Epilogue epilogue) {
  const auto operand = [](const GemmOperand<T>& x) -> detail::Operand<T> {
    return {x.data, x.lane_stride, x.k_stride, x.source, x.forms};
  };
  static const detail::GemmTable& table = detail::gemm_table(isa());
  detail::multiply<T>(detail::kernels_of<T>(table),
                      {m, n, k, operand(a), operand(b), c, c_row_stride, epilogue, accumulate});
}

template void gemm<float>(int64_t, int64_t, int64_t, const GemmOperand<float>&,
                          const GemmOperand<float>&, float*, int64_t, bool, Epilogue);
template void gemm<double>(int64_t, int64_t, int64_t, const GemmOperand<double>&,
                           const GemmOperand<double>&, double*, int64_t, bool, Epilogue);

#define TL_INSTANTIATE(T)                                                                         \
  template void detail::gemm_with<T>(const GemmTable&, int64_t, int64_t, int64_t, const T*,       \
                                     int64_t, int64_t, const T*, int64_t, int64_t, T*, int64_t,   \
                                     Epilogue);                                                   \
  template void gemm<T>(int64_t, int64_t, int64_t, const T*, int64_t, int64_t, const T*, int64_t, \
                        int64_t, T*, int64_t, Epilogue);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
TL_INSTANTIATE(int32_t)
TL_INSTANTIATE(int64_t)
#undef TL_INSTANTIATE

}  // namespace tensorlike
