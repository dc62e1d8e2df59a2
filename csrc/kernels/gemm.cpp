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

namespace {

// Without what only some processors of the level have, where this one is none of them.
[[maybe_unused]] GemmTable as_processor_has(GemmTable table) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512bf16")) table.pairs = {};
#endif
  return table;
}

}  // namespace

const GemmTable& gemm_table(Isa isa) {
  switch (isa) {
#if defined(TL_HAS_v4)
    case Isa::kV4: {
      static const GemmTable table = as_processor_has(gemm_table_v4());
      return table;
    }
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

// Few rows, and a b that is contiguous along k (as the weights of a linear layer are): transposing
// b would cost more than the sums.
// Row is what rows of a are multiplied as: if need be, copy(to, i) makes one.
template <class Row, class T, class Dots, class Copy>
void multiply_dots(const Problem<T>& x, bool in_parallel, Dots dots, Copy&& copy) {
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
  for_columns(x.n, 64, in_parallel, [&](int64_t first, int64_t last) {
    dots(last - first, x.k, x.b.at(first, 0), x.b.lane_stride, rows, x.m, row_stride, x.c + first,
         x.c_row);
    x.epilogue(0, x.m, first, last - first);
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
  multiply_dots<PackedOf<T>>(x, in_parallel, kernels.dot_rows, [&](PackedOf<T>* to, int64_t i) {
    kernels.pack(to, x.k, x.a.at(i, 0), x.a.k_stride, 0, x.k, 1);
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

template <class T>
void multiply(const GemmTable& table, const Problem<T>& x);

// c' = b' @ a', if need be through a contiguous result.
template <class T>
void multiply_column(const GemmTable& table, const Problem<T>& x) {
  if (x.c_row == 1) {
    multiply<T>(table, {1, x.m, x.k, x.b, x.a, x.c, x.m});
  } else {
    const auto result = std::make_unique<SumOf<T>[]>(static_cast<size_t>(x.m));
    multiply<T>(table, {1, x.m, x.k, x.b, x.a, result.get(), x.m});
    for (int64_t i = 0; i < x.m; ++i) x.c[i * x.c_row] = result[static_cast<size_t>(i)];
  }
  x.epilogue(0, x.m, 0, 1);
}

// The ways around packing. False: none of them suits the shape.
template <class T>
bool multiply_in_place(const GemmTable& table, const Problem<T>& x, double work) {
  if (x.n == 1 && x.m > 1) {
    multiply_column(table, x);
    return true;
  }
  if (work <= kTinyWork) {
    multiply_tiny(x);
    return true;
  }
  const bool in_parallel = work >= kParallelWork && num_threads() > 1;
  if (x.b.k_stride == 1 && (x.m == 1 || (x.m <= 8 && x.k >= 512))) {
    multiply_dots(table, x, in_parallel);
    return true;
  }
  if (!is_streamed(x)) return false;
  multiply_rows(kernels_of<T>(table), x, in_parallel);
  return true;
}

template <class T>
void multiply_packed(const GemmKernels<T>& kernels, const Problem<T>& x, bool in_parallel) {
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

// Numbers of 16 bits become what tiles multiply, one or two of them each, while they are packed.
template <class T, class Packed>
class HalfSource final : public GemmSource<Packed> {
 public:
  using Pack = void (*)(Packed* to, int64_t step, const T* from, int64_t lane_stride,
                        int64_t k_stride, int64_t count, int64_t k);

  HalfSource(const Operand<T>& x, int64_t k, Pack pack) : x_(x), k_(k), pack_(pack) {}

  void pack(Packed* to, int64_t step, int64_t lane, int64_t from, int64_t count,
            int64_t k) const override {
    const int64_t first = from * kOfEach;
    pack_(to, step, x_.at(lane, first), x_.lane_stride, x_.k_stride, count,
          std::min(k * kOfEach, k_ - first));
  }
  Operand<Packed> operand() const {
    return {reinterpret_cast<const Packed*>(x_.data), x_.lane_stride, x_.k_stride, this, x_.forms};
  }

 private:
  static constexpr int64_t kOfEach = std::is_same_v<Packed, BFloat16Pair> ? 2 : 1;
  const Operand<T>& x_;
  const int64_t k_;
  const Pack pack_;
};

template <class T, class Packed>
void multiply_halves(const GemmTable& table, const Problem<T>& x, int64_t depth,
                     typename HalfSource<T, Packed>::Pack pack) {
  const HalfSource<T, Packed> a(x.a, x.k, pack), b(x.b, x.k, pack);
  multiply<Packed>(
      table, {x.m, x.n, depth, a.operand(), b.operand(), x.c, x.c_row, x.epilogue, x.accumulate});
}

template <class T>
void multiply(const GemmTable& table, const Problem<T>& x) {
  if (x.m == 0 || x.n == 0) return;
  if (x.k == 0) {
    if (x.accumulate) return;
    for (int64_t i = 0; i < x.m; ++i) std::fill_n(x.c + i * x.c_row, x.n, SumOf<T>{0});
    x.epilogue(0, x.m, 0, x.n);
    return;
  }
  const double work =
      static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k);
  if constexpr (!std::is_same_v<T, BFloat16Pair>) {
    if (x.is_plain() && multiply_in_place(table, x, work)) return;
  }
  if constexpr (std::is_same_v<T, Float16>) {
    multiply_halves<T, float>(table, x, x.k, table.f16.pack);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    if (table.pairs.lanes != 0) {
      multiply_halves<T, BFloat16Pair>(table, x, ceil_div(x.k, 2), table.pair);
    } else {
      multiply_halves<T, float>(table, x, x.k, table.bf16.pack);
    }
  } else {
    multiply_packed(kernels_of<T>(table), x, work >= kParallelWork && num_threads() > 1);
  }
}

}  // namespace

template <class T>
void gemm_with(const GemmTable& table, int64_t m, int64_t n, int64_t k, const T* a,
               int64_t a_row_stride, int64_t a_col_stride, const T* b, int64_t b_row_stride,
               int64_t b_col_stride, SumOf<T>* c, int64_t c_row_stride, Epilogue epilogue) {
  if constexpr (!std::is_integral_v<T>) {
    multiply<T>(table, {m,
                        n,
                        k,
                        {a, a_row_stride, a_col_stride},
                        {b, b_col_stride, b_row_stride},
                        c,
                        c_row_stride,
                        epilogue});
  } else {  // a signed type may be read and written as its unsigned one
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    multiply<U>(table, {m,
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
void gemm(int64_t m, int64_t n, int64_t k, const GemmOperand<T>& a, const GemmOperand<T>& b,
          SumOf<T>* c, int64_t c_row_stride, bool accumulate, Epilogue epilogue) {
  const auto operand = [](const GemmOperand<T>& x) -> detail::Operand<T> {
    return {x.data, x.lane_stride, x.k_stride, x.source, x.forms};
  };
  static const detail::GemmTable& table = detail::gemm_table(isa());
  detail::multiply<T>(table,
                      {m, n, k, operand(a), operand(b), c, c_row_stride, epilogue, accumulate});
}

#define TL_INSTANTIATE(T)                                                                        \
  template void gemm<T>(int64_t, int64_t, int64_t, const GemmOperand<T>&, const GemmOperand<T>&, \
                        SumOf<T>*, int64_t, bool, Epilogue);
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
TL_INSTANTIATE(Float16)
TL_INSTANTIATE(BFloat16)
#undef TL_INSTANTIATE

#define TL_INSTANTIATE(T)                                                                     \
  template void detail::gemm_with<T>(const GemmTable&, int64_t, int64_t, int64_t, const T*,   \
                                     int64_t, int64_t, const T*, int64_t, int64_t, SumOf<T>*, \
                                     int64_t, Epilogue);
TL_INSTANTIATE(Float16)
TL_INSTANTIATE(BFloat16)
#undef TL_INSTANTIATE

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
