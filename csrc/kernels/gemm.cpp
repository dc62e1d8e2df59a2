// The matrix multiply: chooses the way that suits the shape. The ways around packing are in
// gemm_in_place.h, the packed way is gemm_part.h.
#include "kernels/gemm.h"

#include <algorithm>
#include <type_traits>

#include "kernels/gemm_in_place.h"
#include "kernels/levels.h"

namespace tensorlike {
namespace detail {

TL_TABLE_BY_LEVEL(GemmTable, gemm_table)

namespace {

template <class T>
void multiply_packed(const GemmKernels<T>& kernels, Problem<T> x, bool in_parallel) {
  if (x.n >= kManyProducts) x.a.forms = nullptr;
  if (x.m >= kManyProducts) x.b.forms = nullptr;
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
  const double work = x.work();
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

template <class T>
void gemm_batch(int64_t count, const BatchSteps& step, int64_t m, int64_t n, int64_t k,
                const GemmOperand<T>& a, const GemmOperand<T>& b, T* c) {
  static const detail::GemmTable& table = detail::gemm_table(isa());
  const detail::Problem<T> first = {
      m, n, k, {a.data, a.lane_stride, a.k_stride}, {b.data, b.lane_stride, b.k_stride}, c, n};
  if (detail::multiply_small_ones(detail::kernels_of<T>(table), first, count, step)) return;
  for (int64_t i = 0; i < count; ++i) {
    GemmOperand<T> left = a, right = b;
    left.data += i * step.a;
    right.data += i * step.b;
    gemm<T>(m, n, k, left, right, c + i * step.c, n, false);
  }
}
template void gemm_batch<float>(int64_t, const BatchSteps&, int64_t, int64_t, int64_t,
                                const GemmOperand<float>&, const GemmOperand<float>&, float*);
template void gemm_batch<double>(int64_t, const BatchSteps&, int64_t, int64_t, int64_t,
                                 const GemmOperand<double>&, const GemmOperand<double>&, double*);

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
