// Layers whose products are of 8-bit integers: rows of x become integers, sums become numbers
// again, with a bias and a scalar function, while they are in the cache. The product itself is
// kernels/integer_product.h.
#include <algorithm>
#include <cmath>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/activation.h"
#include "cpu/arrays.h"
#include "kernels/gemm.h"
#include "kernels/integer_product.h"
#include "op/families.h"
#include "op/registry.h"

namespace tensorlike {
namespace {

constexpr float kSmallest = 1e-30F;      // row's largest element; as in the body of the op
constexpr int64_t kRowsGrain = 1 << 15;  // elements that are worth a thread

// What a quantised layer computes, all in order: x[m, k], a scale for each row and each column.
template <class T>
struct Layer {
  int64_t m, n, k;
  const T* x;
  const T* row_scales;  // null: such that the largest element of each row is 127
  const T* column_scales;
  const T* bias;
  T* y;
  Activation activation = {};
};

void run_bytes(const Layer<float>& x, const Array& weight, Workspace& workspace) {
  const IntegerPanels panels(weight.as<int8_t>(), x.k, x.n, weight.strides[0], weight.strides[1], 0,
                             weight.forms, [&](size_t bytes) { return workspace.bytes(bytes); });
  static const detail::IntegerTable& loops = detail::integer_table(isa());
  const int64_t row_bytes = panels.row_bytes();
  char* const rows = workspace.take<char>(x.m * row_bytes);
  float* const scales = workspace.take<float>(x.m);
  parallel_for(x.m, std::max<int64_t>(1, kRowsGrain / (x.k + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* const row = x.x + i * x.k;
      float scale;
      if (x.row_scales != nullptr) {
        scale = x.row_scales[i];
      } else {
        const float most = loops.largest(row, x.k);
        scale = (most < kSmallest ? kSmallest : most) / 127.0F;
      }
      scales[i] = scale;
      loops.quantise(rows + i * row_bytes, panels.is_wide(), row, 1.0F / scale, x.k,
                     panels.row_numbers());
    }
  });
  // Bytes have 128 added to them.
  int32_t* const start = workspace.take<int32_t>(panels.padded_columns());
  for (int64_t j = 0; j < panels.padded_columns(); ++j) {
    start[j] = panels.is_wide() ? 0 : -128 * panels.sums()[j];
  }
  panels.multiply(x.m, rows, start,
                  [&](int64_t row, int64_t count, int64_t column, int64_t columns,
                      const int32_t* sums, int64_t sums_row) {
                    for (int64_t i = row; i < row + count; ++i, sums += sums_row) {
                      loops.dequantise(x.y + i * x.n + column, sums, scales[i],
                                       x.column_scales + column, x.bias + column, columns);
                      x.activation.apply(x.y + i * x.n + column, columns);
                    }
                  });
}

// The same with weights of any integers, and in double precision: as the body says it.
template <class T>
void run_wide(const Layer<T>& x, const Array& weight, Workspace& workspace) {
  const Array wide = prepared(weight, DType::kInt32, workspace);
  int32_t* const rows = workspace.take<int32_t>(x.m * x.k);
  int32_t* const sums = workspace.take<int32_t>(x.m * x.n);
  T* const scales = workspace.take<T>(x.m);
  for (int64_t i = 0; i < x.m; ++i) {
    const T* const row = x.x + i * x.k;
    T most = 0;
    for (int64_t p = 0; x.row_scales == nullptr && p < x.k; ++p) {
      const T size = std::abs(row[p]);
      if (most < size || size != size) most = size;
    }
    if (most < static_cast<T>(kSmallest)) most = static_cast<T>(kSmallest);
    scales[i] = x.row_scales != nullptr ? x.row_scales[i] : most / 127;
    const T inverse = 1 / scales[i];
    for (int64_t p = 0; p < x.k; ++p) {
      const T value = std::nearbyint(row[p] * inverse);
      const T limited = value > 127 ? 127 : value < -127 ? -127 : value;
      rows[i * x.k + p] = limited == limited ? static_cast<int32_t>(limited) : 0;
    }
  }
  gemm<int32_t>(x.m, x.n, x.k, rows, x.k, 1, wide.as<int32_t>(), x.n, 1, sums, x.n);
  for (int64_t i = 0; i < x.m; ++i) {
    for (int64_t j = 0; j < x.n; ++j) {
      const T scale = scales[i] * x.column_scales[j];
      x.y[i * x.n + j] = static_cast<T>(sums[i * x.n + j]) * scale + x.bias[j];
    }
    x.activation.apply(x.y + i * x.n, x.n);
  }
}

struct Operands {
  const Array& x;
  const Array& weight;
  const Array* row_scales;  // null: of the rows themselves
  const Array& column_scales;
  const Array& bias;
};

// x, broadcast and in order, in a dtype.
template <class T>
const T* spread(const Array& x, DType dtype, Dims shape, Workspace& workspace) {
  return prepared(broadcast_to(x, shape), dtype, workspace).as<T>();
}

template <class T>
void run_layer(const Operands& operands, const Activation& activation, const Array& out,
               Workspace& workspace) {
  const DType dtype = out.dtype;
  const Array x = prepared(operands.x, dtype, workspace);
  const int64_t k = operands.weight.shape[0];
  const int64_t n = operands.weight.shape[1];
  Dims row_shape = x.shape;
  row_shape[row_shape.size() - 1] = 1;
  Layer<T> layer{element_count(row_shape),
                 n,
                 k,
                 x.as<T>(),
                 nullptr,
                 spread<T>(operands.column_scales, dtype, {n}, workspace),
                 spread<T>(operands.bias, dtype, {n}, workspace),
                 out.as<T>(),
                 activation};
  if (operands.row_scales != nullptr) {
    layer.row_scales = spread<T>(*operands.row_scales, dtype, row_shape, workspace);
  }
  if (layer.m == 0 || n == 0) return;
  BlockingRegion blocking(static_cast<double>(layer.m) * static_cast<double>(n * k) > 4e6);
  if constexpr (std::is_same_v<T, float>) {
    if (operands.weight.dtype == DType::kInt8) return run_bytes(layer, operands.weight, workspace);
  }
  run_wide<T>(layer, operands.weight, workspace);
}

void run(const Op& op, const Operands& operands, const Array& out, Workspace& workspace) {
  const Array* const reals[] = {&operands.x, &operands.column_scales, &operands.bias,
                                operands.row_scales};
  with_real_activation(op, reals, out, workspace,
                       [&](auto tag, const Activation& activation, const Array& made) {
                         using T = typename decltype(tag)::type;
                         run_layer<T>(operands, activation, made, workspace);
                       });
}

void quantized_linear(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  run(op, {*inputs[0], *inputs[1], inputs[2], *inputs[3], *inputs[4]}, *outputs[0], workspace);
}

void dynamic_quantized_linear(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  run(op, {*inputs[0], *inputs[1], nullptr, *inputs[2], *inputs[3]}, *outputs[0], workspace);
}

constexpr std::pair<std::string_view, KernelRule> kQuantizedKernels[] = {
    {"dynamic_quantized_linear", dynamic_quantized_linear},
    {"quantized_linear", quantized_linear},
};

}  // namespace

RuleTable<KernelRule> quantized_kernels() { return kQuantizedKernels; }

}  // namespace tensorlike
