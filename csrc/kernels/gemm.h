// Matrix multiply of our own: the one engine behind matmul and convolutions. It takes any strides
// (packing straightens them), uses the library's own threads, and gives the same bits for any
// number of threads, since work is split over the rows and columns of the result only.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "base/isa.h"
#include "base/kept_forms.h"

namespace tensorlike {

// What is done to a block of c when its sums are complete, while it is still in the cache. Blocks
// are disjoint and cover c; they come on any thread, in any order.
struct Epilogue {
  void (*run)(const void* context, int64_t row, int64_t rows, int64_t column,
              int64_t columns) = nullptr;
  const void* context = nullptr;

  void operator()(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    if (run != nullptr) run(context, row, rows, column, columns);
  }
};

// c = a @ b for a[m, k] and b[k, n] with any element strides, also 0 and negative; c[m, n] has unit
// column stride, is overwritten and overlaps neither operand. k == 0 gives zeros. Integers wrap.
// Defined for float, double, int32_t and int64_t. May throw Interrupted.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row_stride, int64_t a_col_stride,
          const T* b, int64_t b_row_stride, int64_t b_col_stride, T* c, int64_t c_row_stride,
          Epilogue epilogue = {});

// An operand whose elements are not in memory as a matrix: they are made while they are packed.
template <class T>
class GemmSource {
 public:
  virtual ~GemmSource() = default;
  // to[p * step + i] = element (lane + i, from + p) for i < count, and 0 for i from count to
  // step - 1; for p < k. Called from several threads at once.
  virtual void pack(T* to, int64_t step, int64_t lane, int64_t from, int64_t count,
                    int64_t k) const = 0;
};

// Lanes are the rows of a and the columns of b: element (lane, p) is at
// data[lane * lane_stride + p * k_stride], or comes from the source.
template <class T>
struct GemmOperand {
  const T* data = nullptr;
  int64_t lane_stride = 0;
  int64_t k_stride = 0;
  const GemmSource<T>* source = nullptr;
  KeptForms* forms = nullptr;  // where the elements never change: they are packed once
};

// Two numbers of bfloat16 that follow each other along k, as an instruction of some processors
// multiplies and adds them: an element of packed operands alone.
struct BFloat16Pair {
  uint32_t bits;
};

// What products of a type are summed in.
template <class T>
using SumOf = std::conditional_t<is_half<T> || std::is_same_v<T, BFloat16Pair>, float, T>;
// What it is packed as, one by one.
template <class T>
using PackedOf = std::conditional_t<is_half<T>, float, T>;

// As above, for operands of either kind; c = (accumulate ? c : 0) + a @ b. For float and double,
// and of numbers of 16 bits, whose products are float32.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const GemmOperand<T>& a, const GemmOperand<T>& b,
          SumOf<T>* c, int64_t c_row_stride, bool accumulate, Epilogue epilogue = {});

// How far the operands of a product, and its result, are behind those of the one before.
struct BatchSteps {
  int64_t a, b, c;
};

// c[i] = a[i] @ b[i] for i < count, as `gemm` gives each, whose rows follow each other. For float
// and double.
template <class T>
void gemm_batch(int64_t count, const BatchSteps& step, int64_t m, int64_t n, int64_t k,
                const GemmOperand<T>& a, const GemmOperand<T>& b, T* c);

namespace detail {

// What is asked for while a tile is multiplied: for each step along k a row as wide as the tile,
// `run` of them `step` apart, then as many `jump` further.
template <class T>
struct Ahead {
  const T* at;
  int64_t step;
  int64_t run = INT64_MAX;
  int64_t jump = 0;
};

// A row of an operand that lies anywhere, and the number of the packed column that multiplies it.
struct ListedRow {
  int64_t offset, number;
};

// What one instruction set level offers for one element type. Integers come as their unsigned
// types, which wrap without undefined behaviour.
template <class T>
struct GemmKernels {
  // c[rows, columns] = (accumulate ? c : 0) + a @ b for one tile: element (i, p) of a is at
  // a[i * a_row + p * a_k] (a_row == 1 for the kernels that are not strided), row p of b at
  // b[p * b_k]. Reads whole vectors of b unless reads_partial_b.
  using Tile = void (*)(int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b, int64_t b_k,
                        const Ahead<T>& ahead, SumOf<T>* c, int64_t c_row, int64_t columns,
                        bool accumulate);
  // c[rows, columns] = (accumulate ? c : start) + the sum over k listed rows of b, each times its
  // column of a, which is packed; start[i] belongs to row i. Reads whole vectors of b.
  using ListedTile = void (*)(int64_t k, const T* a, const T* b, const ListedRow* listed,
                              const T* start, T* c, int64_t c_row, int64_t columns,
                              bool accumulate);
  static constexpr int kWidths = 4;
  static constexpr int kMaxRows = 14;

  int64_t lanes;                         // elements of a vector; 0: the level lacks such products
  bool reads_partial_b;                  // never reads beyond `columns`
  int max_rows[kWidths];                 // for tiles of 1, 2, 4, 8 vectors; 0: no such tile
  Tile tile[kWidths][2][kMaxRows];       // [width][is a strided][rows - 1]
  ListedTile listed[kWidths][kMaxRows];  // for real numbers

  // to[p * step + i] = from[i * lane_stride + p * k_stride], and 0 for i from count to step - 1.
  void (*pack)(PackedOf<T>* to, int64_t step, const T* from, int64_t lane_stride, int64_t k_stride,
               int64_t count, int64_t k);

  // c = a @ b for `count` matrices of so few elements that a vector holds some, one behind the
  // other in memory. How many of them are done: none, where they do not fit.
  int64_t (*multiply_few)(int64_t count, int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row,
                          int64_t a_k, const T* b, int64_t b_column, int64_t b_k, SumOf<T>* c);

  // y[j * y_row + i] = dot(a[i], x[j]) for rows that are contiguous along k.
  void (*dot_rows)(int64_t rows, int64_t k, const T* a, int64_t a_row, const PackedOf<T>* x,
                   int64_t x_rows, int64_t x_row, SumOf<T>* y, int64_t y_row);

  // y[i * y_row + j] = sum over p of x[i * x_row + p * x_k] * b[p * b_k + j]: few rows times a
  // matrix of long rows.
  void (*sum_rows)(int64_t rows, int64_t columns, int64_t k, const PackedOf<T>* x, int64_t x_row,
                   int64_t x_k, const T* b, int64_t b_k, SumOf<T>* y, int64_t y_row);
};

struct GemmTable {
  GemmKernels<float> f32;
  GemmKernels<double> f64;
  GemmKernels<uint32_t> u32;
  GemmKernels<uint64_t> u64;
  GemmKernels<Float16> f16;  // without tiles, which are of float or of pairs
  GemmKernels<BFloat16> bf16;
  GemmKernels<BFloat16Pair> pairs;  // AVX512-BF16; what follows is used with it
  // As `pack`, for k numbers: an odd last one is beside 0.
  void (*pair)(BFloat16Pair* to, int64_t step, const BFloat16* from, int64_t lane_stride,
               int64_t k_stride, int64_t count, int64_t k);
  // As `dot_rows`, of numbers.
  void (*dot_pairs)(int64_t rows, int64_t k, const BFloat16* a, int64_t a_row, const BFloat16* x,
                    int64_t x_rows, int64_t x_row, float* y, int64_t y_row);
};

const GemmTable& gemm_table_v2();
const GemmTable& gemm_table_v3();
const GemmTable& gemm_table_v4();
// The kernels of a level, as far as this processor has them; of the best one that was built where
// that one was not.
const GemmTable& gemm_table(Isa isa);

// As gemm, with the kernels of a level that the caller names; for tests.
template <class T>
void gemm_with(const GemmTable& table, int64_t m, int64_t n, int64_t k, const T* a,
               int64_t a_row_stride, int64_t a_col_stride, const T* b, int64_t b_row_stride,
               int64_t b_col_stride, SumOf<T>* c, int64_t c_row_stride, Epilogue epilogue = {});

}  // namespace detail
}  // namespace tensorlike
