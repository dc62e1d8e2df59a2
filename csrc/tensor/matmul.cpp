// Matrix products of RawTensors: which matrices a batch is made of, and how it is shared out among
// the threads; and what is done to its rows while they are in the cache. The product itself is
// kernels/gemm.h.
#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "op/families.h"
#include "op/registry.h"
#include "tensor/body.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

// A matrix operand: vectors become matrices of one row (left) or one column (right).
struct Matrix {
  Dims batch_shape, batch_strides;
  int64_t rows, columns, row_stride, column_stride;
};

Matrix as_matrix(const RawTensor& x, bool is_left) {
  const size_t ndim = x.shape.size();
  if (ndim == 1 && is_left) return {{}, {}, 1, x.shape[0], 0, x.strides[0]};
  if (ndim == 1) return {{}, {}, x.shape[0], 1, x.strides[0], 0};
  Matrix m{Dims(x.shape.begin(), x.shape.end() - 2),
           Dims(x.strides.begin(), x.strides.end() - 2),
           x.shape[ndim - 2],
           x.shape[ndim - 1],
           x.strides[ndim - 2],
           x.strides[ndim - 1]};
  return m;
}

int64_t batch_offset(int64_t position, const Dims& common, const Dims& shape, const Dims& strides) {
  int64_t offset = 0;
  const size_t lead = common.size() - shape.size();
  for (size_t i = common.size(); i-- > 0;) {
    const int64_t index = position % common[i];
    position /= common[i];
    if (i >= lead && shape[i - lead] != 1) offset += index * strides[i - lead];
  }
  return offset;
}

// What is done to the rows of a product: a bias is added, a scalar function applied. The bias is
// seen through the product's shape; along a row it is contiguous.
struct Finish {
  TileKernel add = nullptr;         // null: there is no bias
  TileKernel activation = nullptr;  // null: the sum itself
  Values defaults;                  // rows of what the activation takes beside the sum
  const char* bias = nullptr;
  Dims bias_batch;       // strides over the batch, in elements
  int64_t bias_row = 0;  // stride from row to row
};

// The finish of one product of a batch.
struct Block {
  const Finish& finish;
  char* c;
  const char* bias;
  int64_t columns;
  int64_t size;  // of an element

  static void run(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const Block& x = *static_cast<const Block*>(context);
    SmallVector<const void*, 4> args(1);
    for (const Ref<Value>& value : x.finish.defaults) {
      args.push_back(static_cast<const RawTensor&>(*value).data);
    }
    for (int64_t i = row; i < row + rows; ++i) {
      void* out = x.c + (i * x.columns + column) * x.size;
      const void* sum[] = {out, x.bias + (i * x.finish.bias_row + column) * x.size};
      if (x.finish.add != nullptr) x.finish.add(&out, sum, columns);
      args[0] = out;
      if (x.finish.activation != nullptr) x.finish.activation(&out, args.data(), columns);
    }
  }
};

// A product of batches of matrices.
struct Product {
  Matrix left, right;
  Dims batch;

  // Makes rows of the whole batch where they are evenly spaced and all meet the same right operand.
  void merge_rows() {
    if (element_count(right.batch_shape) != 1) return;
    int64_t rows = left.rows;
    for (size_t i = left.batch_shape.size(); i-- > 0;) {
      if (left.batch_shape[i] == 1) continue;
      if (rows != 1 && left.batch_strides[i] != rows * left.row_stride) return;
      if (rows == 1) left.row_stride = left.batch_strides[i];
      rows *= left.batch_shape[i];
    }
    left.rows = rows;
    for (Dims* dims : {&left.batch_shape, &left.batch_strides, &right.batch_shape,
                       &right.batch_strides, &batch}) {
      dims->clear();
    }
  }
};

constexpr double kParallelProduct = 16e6;  // multiply-adds that are worth all threads

template <class T>
void multiply(const T* a, const T* b, T* out, const Product& x, const Finish& finish) {
  const int64_t count = element_count(x.batch);
  const int64_t columns = x.right.columns;
  const int64_t size = x.left.rows * columns;
  const double work = static_cast<double>(size) * static_cast<double>(x.left.columns + 1);
  if (size == 0 || count == 0) return;
  const bool has_finish = finish.add != nullptr || finish.activation != nullptr;
  BlockingRegion blocking(work * static_cast<double>(count) > 1e6);
  auto product = [&](int64_t i) {
    const int64_t left = batch_offset(i, x.batch, x.left.batch_shape, x.left.batch_strides);
    const int64_t right = batch_offset(i, x.batch, x.right.batch_shape, x.right.batch_strides);
    T* c = out + i * size;
    const int64_t bias = batch_offset(i, x.batch, x.batch, finish.bias_batch);
    const Block block{finish, reinterpret_cast<char*>(c),
                      finish.bias + bias * static_cast<int64_t>(sizeof(T)), columns,
                      static_cast<int64_t>(sizeof(T))};
    gemm<T>(x.left.rows, columns, x.left.columns, a + left, x.left.row_stride, x.left.column_stride,
            b + right, x.right.row_stride, x.right.column_stride, c, columns,
            has_finish ? Epilogue{Block::run, &block} : Epilogue{});
  };
  // A few large products share the threads one after the other; many small ones are shared out.
  if (count == 1 || (work > kParallelProduct && count < 8 * num_threads())) {
    for (int64_t i = 0; i < count; ++i) product(i);
    return;
  }
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(5e5 / work));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) product(i);
  });
}

// Complex products are four of their parts, which are seen with doubled strides.
template <class T>
void multiply_parts(const T* a, const T* b, T* out, int64_t count, Product x) {
  for (Matrix* m : {&x.left, &x.right}) {
    m->row_stride *= 2;
    m->column_stride *= 2;
    for (int64_t& stride : m->batch_strides) stride *= 2;
  }
  const Ref<Storage> memory = Storage::allocate(static_cast<size_t>(count) * 4 * sizeof(T));
  T* part[4];
  for (int64_t i = 0; i < 4; ++i) {
    part[i] = reinterpret_cast<T*>(memory->data()) + i * count;
    multiply<T>(a + i / 2, b + i % 2, part[i], x, {});
  }
  for (int64_t j = 0; j < count; ++j) {
    out[2 * j] = part[0][j] - part[3][j];
    out[2 * j + 1] = part[1][j] + part[2][j];
  }
}

// The product in the dtype that a and b have.
Ref<RawTensor> run(const RawTensor& a, const RawTensor& b, const Dims& shape,
                   const Product& product, const Finish& finish) {
  Ref<RawTensor> out = RawTensor::empty(a.dtype, shape);
  switch (a.dtype) {
    case DType::kComplex64:
      multiply_parts<float>(a.as<float>(), b.as<float>(), out->as<float>(), out->count, product);
      return out;
    case DType::kComplex128:
      multiply_parts<double>(a.as<double>(), b.as<double>(), out->as<double>(), out->count,
                             product);
      return out;
    case DType::kFloat32:
      multiply<float>(a.as<float>(), b.as<float>(), out->as<float>(), product, finish);
      return out;
    case DType::kFloat64:
      multiply<double>(a.as<double>(), b.as<double>(), out->as<double>(), product, finish);
      return out;
    case DType::kInt32:
      multiply<int32_t>(a.as<int32_t>(), b.as<int32_t>(), out->as<int32_t>(), product, finish);
      return out;
    default:  // uint64 has the bits of int64, which wraps
      multiply<int64_t>(a.as<int64_t>(), b.as<int64_t>(), out->as<int64_t>(), product, finish);
      return out;
  }
}

Product product_of(const Op& op, const RawTensor& a, const RawTensor& b) {
  Product product{as_matrix(a, true), as_matrix(b, false), {}};
  product.batch = broadcast_shapes(op.name(), product.left.batch_shape, product.right.batch_shape);
  return product;
}

Values matmul(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType loop = compute_of(outputs[0].dtype);
  const Ref<RawTensor> a = cast_if_needed(*inputs[0], loop);
  const Ref<RawTensor> b = cast_if_needed(*inputs[1], loop);
  Product product = product_of(op, *a, *b);
  product.merge_rows();
  return one(cast_if_needed(*run(*a, *b, outputs[0].shape, product, {}), outputs[0].dtype));
}

// The bias with rows of n elements that lie side by side.
Ref<RawTensor> with_rows(const RawTensor& bias, int64_t n) {
  if (!bias.shape.empty() && bias.shape.back() == n && (n == 1 || bias.strides.back() == 1)) {
    return bias.view(bias.shape, bias.strides);
  }
  Dims shape = bias.shape.empty() ? Dims{n} : bias.shape;
  shape[shape.size() - 1] = n;
  return contiguous(*broadcast_to(bias, shape));
}

Values linear(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = outputs[0].dtype;
  const DType loop = compute_of(dtype);
  const Scalar& add = *registry().scalar_op("add").scalar;
  const Scalar& activation = *registry().scalar_op(op.get<std::string>("activation")).scalar;
  const DType product_dtype = promote(inputs[0]->dtype, inputs[1]->dtype);
  // One dtype throughout, and one loop each: else, step by step. Small integers wrap at each step.
  const bool is_fused = product_dtype == dtype && promote(dtype, inputs[2]->dtype) == dtype &&
                        (loop == dtype || kind_of(dtype) == Kind::kFloating) &&
                        kind_of(dtype) != Kind::kComplex && add.whole[loop] != nullptr &&
                        activation.whole[loop] != nullptr && activation.whole_result[loop] == loop;
  if (!is_fused) {
    Value* args[] = {inputs[0], inputs[1], inputs[2]};
    return run_body(*op.cls.define, op, args);
  }
  const Ref<RawTensor> a = cast_if_needed(*inputs[0], loop);
  const Ref<RawTensor> b = cast_if_needed(*inputs[1], loop);
  Product product = product_of(op, *a, *b);
  const Dims& shape = outputs[0].shape;
  const bool is_column = b->shape.size() == 1;
  Ref<RawTensor> bias = cast_if_needed(*inputs[2], loop);
  if (!is_column) bias = with_rows(*bias, product.right.columns);
  bias = broadcast_to(*bias, shape);
  Dims strides = bias->strides;
  if (is_column) strides.push_back(0);
  if (a->shape.size() == 1) strides.insert(strides.size() - 1, 0);
  Finish finish{add.whole[loop], nullptr, {}, bias->data, {}, strides[strides.size() - 2]};
  if (activation.spec.name != "positive") finish.activation = activation.whole[loop];
  for (size_t i = 1; i < activation.spec.args.size(); ++i) {
    const Literal value = literal_of(activation.spec.args[i].fallback);
    const Dims row{product.right.columns};
    finish.defaults.push_back(contiguous(*broadcast_to(*RawTensor::scalar(loop, value), row)));
  }
  finish.bias_batch = Dims(strides.begin(), strides.end() - 2);
  const bool is_vector =
      std::all_of(strides.begin(), strides.end() - 1, [](int64_t stride) { return stride == 0; });
  if (is_vector) product.merge_rows();
  if (product.batch.empty()) finish.bias_batch.clear();
  return one(cast_if_needed(*run(*a, *b, shape, product, finish), dtype));
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"mat_mul", matmul},
    {"linear", linear},
};

}  // namespace

RuleTable<KernelRule> matmul_kernels() { return kKernels; }

}  // namespace tensorlike
