// Matrix products: which matrices a batch is made of, and how it is shared out among
// the threads; and what is done to its rows while they are in the cache. The product itself is
// kernels/gemm.h.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/loops.h"
#include "cpu/products.h"
#include "cpu/scalar_calls.h"
#include "cpu/tiles.h"
#include "kernels/gemm.h"
#include "kernels/kernel_table.h"
#include "kernels/scratch.h"
#include "op/families.h"
#include "op/named_scalar.h"
#include "op/registry.h"
#include "op/tile_program.h"

namespace tensorlike {
namespace {

// What is done to the rows of a product: a bias is added, a scalar function applied; sums of
// numbers of 16 bits become such. The bias is seen through the product's shape; along a row it is
// contiguous.
struct Finish {
  Finish() {}  // written out: `{}` would clear all of it first

  TileKernel add = nullptr;              // null: there is no bias
  TileKernel activation = nullptr;       // null: the sum itself
  SmallVector<const void*, 2> defaults;  // rows of what the activation takes beside the sum
  const char* bias = nullptr;
  Dims bias_batch;              // strides over the batch, in elements
  int64_t bias_row = 0;         // stride from row to row
  TileKernel narrow = nullptr;  // into 16 bits; null: the results stay as wide as the sums
  char* narrowed = nullptr;     // of the first product of the batch

  bool is_none() const { return add == nullptr && activation == nullptr && narrow == nullptr; }
};

// The finish of one product of a batch.
struct Block {
  static constexpr int64_t kNarrow = 2;  // bytes of an element
  const Finish& finish;
  char* c;
  const char* bias;
  char* narrowed;
  int64_t columns;
  int64_t size;  // of an element

  static void run(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const Block& x = *static_cast<const Block*>(context);
    SmallVector<const void*, 4> args(1);
    for (const void* row_of_one : x.finish.defaults) args.push_back(row_of_one);
    for (int64_t i = row; i < row + rows; ++i) {
      void* out = x.c + (i * x.columns + column) * x.size;
      const void* sum[] = {out, x.bias + (i * x.finish.bias_row + column) * x.size};
      if (x.finish.add != nullptr) x.finish.add(&out, sum, columns);
      args[0] = out;
      if (x.finish.activation != nullptr) x.finish.activation(&out, args.data(), columns);
      if (x.finish.narrow == nullptr) continue;
      void* narrowed = x.narrowed + (i * x.columns + column) * kNarrow;
      x.finish.narrow(&narrowed, args.data(), columns);
    }
  }
};

constexpr double kParallelProduct = 16e6;  // multiply-adds that are worth all threads

ScratchPlace t_sums;

// Many small products whose matrices are evenly far apart; false where they are not.
template <class T>
bool multiply_evenly(const T* a, const T* b, T* out, const Product& x, int64_t grain) {
  const auto left = even_step(x.batch, x.left), right = even_step(x.batch, x.right);
  if (!left || !right) return false;
  const int64_t columns = x.right.columns, size = x.left.rows * columns;
  parallel_for(element_count(x.batch), grain, [&](int64_t begin, int64_t end) {
    gemm_batch<T>(
        end - begin, {*left, *right, size}, x.left.rows, columns, x.left.columns,
        {a + begin * *left, x.left.row_stride, x.left.column_stride, nullptr, x.left.forms},
        {b + begin * *right, x.right.column_stride, x.right.row_stride, nullptr, x.right.forms},
        out + begin * size);
  });
  return true;
}

// Sums of numbers of 16 bits are written to where the finish says, and `out` is not used.
template <class T>
void multiply(const T* a, const T* b, SumOf<T>* out, const Product& x, const Finish& finish,
              Workspace& workspace) {
  constexpr int64_t kSize = sizeof(SumOf<T>);
  const int64_t count = element_count(x.batch);
  const int64_t columns = x.right.columns;
  const int64_t size = x.left.rows * columns;
  const double work = static_cast<double>(size) * static_cast<double>(x.left.columns + 1);
  if (size == 0 || count == 0) return;
  BlockingRegion blocking(work * static_cast<double>(count) > 1e6);
  auto product = [&](int64_t i, SumOf<T>* c) {
    const int64_t left = batch_offset(i, x.batch, x.left.batch_shape, x.left.batch_strides);
    const int64_t right = batch_offset(i, x.batch, x.right.batch_shape, x.right.batch_strides);
    const int64_t bias = batch_offset(i, x.batch, x.batch, finish.bias_batch);
    const Block block{finish,
                      reinterpret_cast<char*>(c),
                      finish.bias + bias * kSize,
                      finish.narrowed + i * size * Block::kNarrow,
                      columns,
                      kSize};
    const Epilogue epilogue = finish.is_none() ? Epilogue{} : Epilogue{Block::run, &block};
    if constexpr (!std::is_integral_v<T>) {
      gemm<T>(x.left.rows, columns, x.left.columns,
              {a + left, x.left.row_stride, x.left.column_stride, nullptr, x.left.forms},
              {b + right, x.right.column_stride, x.right.row_stride, nullptr, x.right.forms}, c,
              columns, false, epilogue);
    } else {
      gemm<T>(x.left.rows, columns, x.left.columns, a + left, x.left.row_stride,
              x.left.column_stride, b + right, x.right.row_stride, x.right.column_stride, c,
              columns, epilogue);
    }
  };
  // Of numbers of 16 bits, each product's sums are made where those of the one before it were.
  constexpr bool kIsHalf = is_half<T>;
  const auto place = [&](int64_t i, SumOf<T>* sums) { return kIsHalf ? sums : out + i * size; };
  // A few large products share the threads one after the other; many small ones are shared out.
  if (count == 1 || (work > kParallelProduct && count < 8 * num_threads())) {
    SumOf<T>* const sums = kIsHalf ? workspace.take<SumOf<T>>(size) : nullptr;
    for (int64_t i = 0; i < count; ++i) product(i, place(i, sums));
    return;
  }
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(5e5 / work));
  if constexpr (std::is_floating_point_v<T>) {
    if (finish.is_none() && multiply_evenly(a, b, out, x, grain)) return;
  }
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    ScratchLoan loan(t_sums);
    SumOf<T>* const sums = kIsHalf ? loan.reserve<SumOf<T>>(size) : nullptr;
    for (int64_t i = begin; i < end; ++i) product(i, place(i, sums));
  });
}

// Complex products are four of their parts, which are seen with doubled strides.
template <class T>
void multiply_parts(const T* a, const T* b, T* out, int64_t count, Product x,
                    Workspace& workspace) {
  for (Matrix* m : {&x.left, &x.right}) {
    m->forms = nullptr;  // which are of numbers, not of parts of them
    m->row_stride *= 2;
    m->column_stride *= 2;
    for (int64_t& stride : m->batch_strides) stride *= 2;
  }
  T* const parts = workspace.take<T>(4 * count);
  T* part[4];
  for (int64_t i = 0; i < 4; ++i) {
    part[i] = parts + i * count;
    multiply<T>(a + i / 2, b + i % 2, part[i], x, {}, workspace);
  }
  for (int64_t j = 0; j < count; ++j) {
    out[2 * j] = part[0][j] - part[3][j];
    out[2 * j + 1] = part[1][j] + part[2][j];
  }
}

// The product of a and b in the dtype that all three have.
void run(const Array& a, const Array& b, const Array& out, const Product& product,
         const Finish& finish, Workspace& workspace) {
  const auto real = [&](auto tag) {
    using T = typename decltype(tag)::type;
    multiply<T>(a.as<T>(), b.as<T>(), out.as<SumOf<T>>(), product, finish, workspace);
  };
  const auto complex = [&](auto tag) {
    using T = typename decltype(tag)::type;
    multiply_parts<T>(a.as<T>(), b.as<T>(), out.as<T>(), out.count, product, workspace);
  };
  switch (a.dtype) {
    case DType::kComplex64:
      return complex(TypeTag<float>{});
    case DType::kComplex128:
      return complex(TypeTag<double>{});
    case DType::kFloat32:
      return real(TypeTag<float>{});
    case DType::kFloat64:
      return real(TypeTag<double>{});
    case DType::kFloat16:
      return real(TypeTag<Float16>{});
    case DType::kBFloat16:
      return real(TypeTag<BFloat16>{});
    case DType::kInt32:
      return real(TypeTag<int32_t>{});
    default:  // uint64 has the bits of int64, which wraps
      return real(TypeTag<int64_t>{});
  }
}

// What gives a product of this shape.
Product product_of(const Array& a, const Array& b, const Dims& shape) {
  const size_t own = (a.shape.size() > 1 ? 1U : 0U) + (b.shape.size() > 1 ? 1U : 0U);
  return {as_matrix(a, true), as_matrix(b, false), Dims(shape.begin(), shape.end() - own)};
}

// The dtype in which operands are multiplied: numbers of 16 bits as they are where all are such.
DType product_dtype(const Array& a, const Array& b, DType result) {
  const DType wide = compute_of(result);
  const bool is_half = kind_of(result) == Kind::kFloating && wide != result;
  return is_half && a.dtype == result && b.dtype == result ? result : wide;
}

// The product of a and b, which have one dtype, into `out`, whose dtype is computed in it.
void run_into(const Array& out, const Array& a, const Array& b, const Product& product,
              Finish finish, Workspace& workspace) {
  const DType wide = compute_of(out.dtype);
  const bool is_half = kind_of(out.dtype) == Kind::kFloating && wide != out.dtype;
  if (is_half) {
    finish.narrow = kernel_table().casts[static_cast<int>(wide)][static_cast<int>(out.dtype)];
    finish.narrowed = out.data;
  }
  if (a.dtype == out.dtype) return run(a, b, out, product, finish, workspace);
  const Array sums = workspace.array(wide, out.shape);
  run(a, b, sums, product, finish, workspace);
  if (!is_half) assign(out, sums);
}

// An operand in a dtype: what is given, where that has it. A small product takes no longer than to
// copy what says where its operands lie.
class Operand {
 public:
  Operand(const Array& x, DType dtype, Workspace& workspace) : given_(x) {
    if (x.dtype != dtype) made_.emplace(cast(x, dtype, workspace));
  }
  const Array& get() const { return made_ ? *made_ : given_; }
  void replace(Array x) { made_.emplace(std::move(x)); }

 private:
  const Array& given_;
  std::optional<Array> made_;
};

void matmul(const Op&, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const DType dtype = product_dtype(*inputs[0], *inputs[1], out.dtype);
  const Operand a(*inputs[0], dtype, workspace);
  const Operand b(*inputs[1], dtype, workspace);
  Product product = product_of(a.get(), b.get(), out.shape);
  product.merge_rows();
  run_into(out, a.get(), b.get(), product, {}, workspace);
}

// Whether a bias has rows of n elements that lie side by side.
bool has_rows(const Array& bias, int64_t n) {
  return !bias.shape.empty() && bias.shape.back() == n && (n == 1 || bias.strides.back() == 1);
}

Array with_rows(const Array& bias, int64_t n, Workspace& workspace) {
  Dims shape = bias.shape.empty() ? Dims{n} : bias.shape;
  shape[shape.size() - 1] = n;
  return contiguous(broadcast_to(bias, shape), workspace);
}

// Step by step, as the body says: where dtypes differ, or small integers wrap at each step.
void linear_in_steps(const Scalar& add, const Scalar& activation, Arrays inputs, const Array& out,
                     Workspace& workspace) {
  DType dtype = promote(inputs[0]->dtype, inputs[1]->dtype);
  if (dtype == DType::kBool) dtype = DType::kInt64;
  const Array a = cast(*inputs[0], compute_of(dtype), workspace);
  const Array b = cast(*inputs[1], compute_of(dtype), workspace);
  Product product = product_of(a, b, out.shape);
  product.merge_rows();
  const Array wide = workspace.array(a.dtype, out.shape);
  run(a, b, wide, product, {}, workspace);
  const Array terms[] = {cast(wide, dtype, workspace), *inputs[2]};
  SmallVector<Array, 4> args;
  args.push_back(workspace.array(promote(dtype, inputs[2]->dtype), out.shape));
  call(add, terms, args[0]);
  for (size_t i = 1; i < activation.spec.args.size(); ++i) {
    const Literal value = fallback(activation, i);
    args.push_back(repeated(literal_dtype(kind_of(value), args[0].dtype), value, {}, workspace));
  }
  call(activation, args, out);
}

// The bias and the activation as what is done to the rows of a product.
Finish finish_of(const Scalar& add, const Scalar& activation, const Array& bias, const Dims& shape,
                 bool is_left_vector, bool is_right_vector) {
  Dims strides(shape.size());
  const size_t lead = shape.size() - bias.shape.size();
  for (size_t i = lead; i < shape.size(); ++i) {  // as `broadcast_to` has them
    strides[i] = bias.shape[i - lead] == 1 ? 0 : bias.strides[i - lead];
  }
  if (is_right_vector) strides.push_back(0);
  if (is_left_vector) strides.insert(strides.size() - 1, 0);
  Finish finish;
  finish.add = add.loops->whole[bias.dtype].loop;
  finish.bias = bias.data;
  finish.bias_row = strides[strides.size() - 2];
  if (activation.spec.name != "positive")
    finish.activation = activation.loops->whole[bias.dtype].loop;
  finish.bias_batch = Dims(strides.begin(), strides.end() - 2);
  return finish;
}

void linear(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const DType dtype = out.dtype;
  const DType loop = compute_of(dtype);
  static const Scalar& add = *registry().scalar_op("add").scalar;
  const Scalar& activation = named_scalar(op, "activation");
  const DType promoted = promote(inputs[0]->dtype, inputs[1]->dtype);
  // One dtype throughout, and one loop each.
  const bool is_fused = promoted == dtype && promote(dtype, inputs[2]->dtype) == dtype &&
                        (loop == dtype || kind_of(dtype) == Kind::kFloating) &&
                        kind_of(dtype) != Kind::kComplex && is_one_loop(add, loop) &&
                        is_one_loop(activation, loop);
  if (!is_fused) return linear_in_steps(add, activation, inputs, out, workspace);
  const DType multiplied = product_dtype(*inputs[0], *inputs[1], dtype);
  const Operand left(*inputs[0], multiplied, workspace);
  const Operand right(*inputs[1], multiplied, workspace);
  Operand added(*inputs[2], loop, workspace);
  const Array& a = left.get();
  const Array& b = right.get();
  Product product = product_of(a, b, out.shape);
  const bool is_column = b.shape.size() == 1;
  if (!is_column && !has_rows(added.get(), product.right.columns)) {
    added.replace(with_rows(added.get(), product.right.columns, workspace));
  }
  const Array& bias = added.get();
  Finish finish = finish_of(add, activation, bias, out.shape, a.shape.size() == 1, is_column);
  for (size_t i = 1; i < activation.spec.args.size(); ++i) {
    const Literal value = fallback(activation, i);
    finish.defaults.push_back(repeated(loop, value, {product.right.columns}, workspace).data);
  }
  const auto is_zero = [](int64_t stride) { return stride == 0; };
  if (finish.bias_row == 0 &&
      std::all_of(finish.bias_batch.begin(), finish.bias_batch.end(), is_zero)) {
    product.merge_rows();
  }
  if (product.batch.empty()) finish.bias_batch.clear();
  run_into(out, a, b, product, std::move(finish), workspace);
}

constexpr std::pair<std::string_view, KernelRule> kMatmulKernels[] = {
    {"mat_mul", matmul},
    {"linear", linear},
};

}  // namespace

RuleTable<KernelRule> matmul_kernels() { return kMatmulKernels; }

}  // namespace tensorlike
