// Products and convolutions of integers less their zero points, in int32: of bytes by
// kernels/integer_product.h and kernels/integer_windows.h, of others as the body says it. And the
// bytes of numbers by their own range.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/byte_range.h"
#include "kernels/convolution.h"
#include "kernels/gemm.h"
#include "kernels/integer_product.h"
#include "kernels/integer_windows.h"
#include "op/families.h"
#include "op/windows.h"

namespace tensorlike {
namespace {

constexpr int64_t kProductGrain = 1 << 15;  // elements that are worth a thread

bool is_byte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }

uint32_t bits(int32_t x) { return static_cast<uint32_t>(x); }

const int32_t* numbers(const Array& x, Dims shape, Workspace& workspace) {
  return prepared(broadcast_to(x, shape), DType::kInt32, workspace).as<int32_t>();
}

// One product of matrices in order, or b of any strides.
struct IntegerProduct {
  int64_t m, n, k;
  const Array& a;
  const Array& b;
  int64_t a_from, b_from;  // elements in front
  int64_t b_row, b_column;
  const int32_t* a_zeros;  // of each row
  const int32_t* b_zeros;  // of each column
  int32_t* y;
};

// Signed bytes of the left operand have 128 added, unsigned ones of the right one 128 taken off,
// and so have their zero points. Then (a - za) @ (b - zb) is a @ b - za * sums of columns of b - zb
// * (sums of rows of a - k * za), in integers that wrap.
void multiply_bytes(const IntegerProduct& p, Workspace& workspace) {
  static const detail::IntegerTable& loops = detail::integer_table(isa());
  const uint8_t flip = p.b.dtype == DType::kUInt8 ? 128 : 0;
  const IntegerPanels panels(p.b.as<int8_t>() + p.b_from, p.k, p.n, p.b_row, p.b_column, flip,
                             p.b.forms, [&](size_t bytes) { return workspace.bytes(bytes); });
  const uint8_t flips = p.a.dtype == DType::kInt8 ? 128 : 0;
  const int64_t row_bytes = panels.row_bytes();
  char* const rows = workspace.take<char>(p.m * row_bytes);
  int32_t* const less = workspace.take<int32_t>(p.n);
  for (int64_t j = 0; j < p.n; ++j) less[j] = static_cast<int32_t>(bits(p.b_zeros[j]) - flip);
  const bool is_any = std::any_of(less, less + p.n, [](int32_t one) { return one != 0; });
  int32_t* const sums_of_rows = workspace.take<int32_t>(p.m);
  const uint8_t* const a = p.a.as<uint8_t>() + p.a_from;
  parallel_for(p.m, std::max<int64_t>(1, kProductGrain / (p.k + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   sums_of_rows[i] = loops.lay_bytes(rows + i * row_bytes, panels.is_wide(),
                                                     a + i * p.k, flips, p.k, panels.row_numbers());
                 }
               });
  int32_t* const start = workspace.take<int32_t>(panels.padded_columns());
  std::fill_n(start, panels.padded_columns(), 0);
  panels.multiply(
      p.m, rows, start,
      [&](int64_t row, int64_t count, int64_t column, int64_t columns, const int32_t* sums,
          int64_t sums_row) {
        for (int64_t i = row; i < row + count; ++i, sums += sums_row) {
          const uint32_t zero = bits(p.a_zeros[i]) + flips;
          const uint32_t rest = bits(sums_of_rows[i]) - static_cast<uint32_t>(p.k) * zero;
          int32_t* const y = p.y + i * p.n + column;
          loops.take_off(y, sums, panels.sums() + column, static_cast<int32_t>(zero), columns);
          if (!is_any) continue;
          loops.take_off(y, y, less + column, static_cast<int32_t>(rest), columns);
        }
      });
}

// Of any integers.
void multiply_wide(const IntegerProduct& p, Workspace& workspace) {
  const Array whole = cast(p.a, DType::kInt32, workspace);
  const Array other = cast(p.b, DType::kInt32, workspace);
  int32_t* const a = workspace.take<int32_t>(p.m * p.k);
  int32_t* const b = workspace.take<int32_t>(p.k * p.n);
  for (int64_t i = 0; i < p.m * p.k; ++i) {
    a[i] = static_cast<int32_t>(bits(whole.as<int32_t>()[p.a_from + i]) - bits(p.a_zeros[i / p.k]));
  }
  for (int64_t i = 0; i < p.k; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const int32_t value =
          other.as<int32_t>()[p.b_from + i * other.strides[0] + j * other.strides[1]];
      b[i * p.n + j] = static_cast<int32_t>(bits(value) - bits(p.b_zeros[j]));
    }
  }
  gemm<int32_t>(p.m, p.n, p.k, a, p.k, 1, b, p.n, 1, p.y, p.n);
}

void matmul_integer(const Op&, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const size_t rank = out.shape.size();
  const int64_t m = out.shape[rank - 2], n = out.shape[rank - 1];
  const int64_t k = inputs[1]->shape[inputs[1]->shape.size() - 2];
  if (out.count == 0) return;
  const auto whole = [&](int64_t rows, int64_t columns) {
    Dims shape = out.shape;
    shape[rank - 2] = rows;
    shape[rank - 1] = columns;
    return shape;
  };
  const Array a = contiguous(broadcast_to(*inputs[0], whole(m, k)), workspace);
  const int32_t* const a_zeros = numbers(*inputs[2], whole(m, 1), workspace);
  BlockingRegion blocking(static_cast<double>(out.count) * static_cast<double>(k) > 4e6);
  const bool is_bytes = is_byte(a.dtype) && is_byte(inputs[1]->dtype);
  write_as(out, DType::kInt32, workspace, [&](const Array& y) {
    const auto run = [&](const IntegerProduct& product) {
      is_bytes ? multiply_bytes(product, workspace) : multiply_wide(product, workspace);
    };
    if (inputs[1]->shape.size() == 2 && inputs[3]->shape.size() <= 2) {  // the batch is more rows
      const Array& b = *inputs[1];
      run({out.count / n, n, k, a, b, 0, 0, b.strides[0], b.strides[1], a_zeros,
           numbers(*inputs[3], {1, n}, workspace), y.as<int32_t>()});
      return;
    }
    const Array b = contiguous(broadcast_to(*inputs[1], whole(k, n)), workspace);
    const int32_t* const b_zeros = numbers(*inputs[3], whole(1, n), workspace);
    for (int64_t i = 0; i < out.count / (m * n); ++i) {
      const Array one = b.view({k, n}, {n, 1}, i * k * n);
      run({m, n, k, a, one, i * m * k, 0, n, 1, a_zeros + i * m, b_zeros + i * n,
           y.as<int32_t>() + i * m * n});
    }
  });
}

// Sums as they are.
class Integers : public WindowSums {
 public:
  void convert(void* to, const int32_t* sums, int64_t, int64_t, int64_t n) const override {
    std::memcpy(to, sums, static_cast<size_t>(4 * n));
  }
};

// In other steps: bytes.
class Bytes : public WindowSums {
 public:
  const int32_t* bias;
  const float* factors;
  float zero;
  bool is_signed;

  Bytes(const int32_t* bias, const float* factors, float zero, bool is_signed)
      : bias(bias), factors(factors), zero(zero), is_signed(is_signed) {}
  int64_t element_bytes() const override { return 1; }
  void convert(void* to, const int32_t* sums, int64_t, int64_t channel, int64_t n) const override {
    static const detail::IntegerTable& loops = detail::integer_table(isa());
    loops.requantise(to, is_signed, sums, bias[channel], factors[channel], zero, n);
  }
};

void convolve_bytes(const Convolution& c, const Array& x, const Array& weight, int32_t zero,
                    const int32_t* zeros, const WindowSums& made, char* y, Workspace& workspace) {
  const auto allocate = [&](size_t bytes) { return workspace.bytes(bytes); };
  const uint8_t x_flip = x.dtype == DType::kInt8 ? 128 : 0;
  const uint8_t flip = weight.dtype == DType::kUInt8 ? 128 : 0;
  const IntegerWindows windows(c, weight.as<int8_t>(), flip, weight.forms, allocate);
  const int64_t channels = c.groups * c.out_channels;
  int32_t* const less = workspace.take<int32_t>(channels);
  for (int64_t i = 0; i < channels; ++i) less[i] = static_cast<int32_t>(bits(zeros[i]) - flip);
  const bool is_any = std::any_of(less, less + channels, [](int32_t one) { return one != 0; });
  char* const images = allocate(windows.image_bytes());
  windows.lay_out(images, x.as<uint8_t>(), x_flip, zero + x_flip);
  windows.run(images, zero + x_flip, is_any ? less : nullptr, y, made);
}

// Of integers that double holds, as the body says it.
void convolve_wide(const Convolution& c, const Array& x, const Array& weight, int32_t zero,
                   const int32_t* zeros, const Array& y, Workspace& workspace) {
  const auto less = [&](const Array& from, auto&& zero_of) {
    const Array given = prepared(from, DType::kFloat64, workspace);
    double* const made = workspace.take<double>(from.count);
    for (int64_t i = 0; i < from.count; ++i) made[i] = given.as<double>()[i] - zero_of(i);
    return made;
  };
  const double* const left = less(x, [&](int64_t) { return zero; });
  const double* const right = less(weight, [&](int64_t i) { return zeros[i / c.rows()]; });
  double* const sums = workspace.take<double>(y.count);
  convolve<double>(c, left, right, nullptr, sums);
  for (int64_t i = 0; i < y.count; ++i) {
    y.as<int32_t>()[i] = static_cast<int32_t>(static_cast<int64_t>(sums[i]));
  }
}

// Writes what is made of the sums into y, in order.
void convolve_integers(const Convolution& c, Arrays inputs, const WindowSums& made, const Array& y,
                       Workspace& workspace) {
  const Array x = contiguous(*inputs[0], workspace);
  const Array weight = contiguous(*inputs[1], workspace);
  const int32_t zero = *numbers(*inputs[2], {1}, workspace);
  const int32_t* const zeros = numbers(*inputs[3], {c.groups * c.out_channels}, workspace);
  BlockingRegion blocking(c.work() > 4e6);
  const int32_t as_byte = zero + (x.dtype == DType::kInt8 ? 128 : 0);
  if (is_byte(x.dtype) && is_byte(weight.dtype) && as_byte >= 0 && as_byte <= 255) {
    return convolve_bytes(c, x, weight, zero, zeros, made, y.data, workspace);
  }
  const Array sums = workspace.array(DType::kInt32, y.shape);
  convolve_wide(c, x, weight, zero, zeros, sums, workspace);
  const int64_t channels = c.groups * c.out_channels;
  const int64_t size = c.window.out_size();
  for (int64_t i = 0; i < c.images * channels; ++i) {
    made.convert(y.data + i * size * made.element_bytes(), sums.as<int32_t>() + i * size,
                 i / channels, i % channels, size);
  }
}

void conv_integer(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Convolution c = convolution_of(op, inputs[0]->shape, inputs[1]->shape);
  if (outputs[0]->count == 0) return;
  write_as(*outputs[0], DType::kInt32, workspace,
           [&](const Array& y) { convolve_integers(c, inputs, Integers(), y, workspace); });
}

void requantized_convolution(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Convolution c = convolution_of(op, inputs[0]->shape, inputs[1]->shape);
  const Array& out = *outputs[0];
  if (out.count == 0) return;
  const Dims channels{c.groups * c.out_channels};
  const Array factors = prepared(broadcast_to(*inputs[5], channels), DType::kFloat32, workspace);
  const Bytes bytes(numbers(*inputs[4], channels, workspace), factors.as<float>(),
                    static_cast<float>(*numbers(*inputs[6], {1}, workspace)),
                    op.get<bool>("is_signed"));
  write_as(out, out.dtype, workspace,
           [&](const Array& y) { convolve_integers(c, inputs, bytes, y, workspace); });
}

template <class T>
void quantise_by_range(const Array& x, Arrays outputs, Workspace& workspace) {
  const int64_t parts = (x.count + kProductGrain - 1) / kProductGrain;
  std::vector<Range<T>> found(static_cast<size_t>(parts));
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i * kProductGrain;
      found[static_cast<size_t>(i)] =
          range_of(x.as<T>() + from, std::min(kProductGrain, x.count - from));
    }
  });
  for (const Range<T>& one : found) found[0].join(one);
  const ByteRange<T> range(found[0]);
  write_as(*outputs[0], DType::kUInt8, workspace, [&](const Array& y) {
    parallel_for(x.count, kProductGrain, [&](int64_t begin, int64_t end) {
      range.convert(y.as<uint8_t>() + begin, x.as<T>() + begin, end - begin);
    });
  });
  const Array made = workspace.array(dtype_of<T>, {});
  *made.as<T>() = range.scale;
  assign(*outputs[1], made);
  assign(*outputs[2], Literal(static_cast<int64_t>(range.zero)));
}

void dynamic_quantize_linear(const Op&, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const bool is_double = inputs[0]->dtype == DType::kFloat64;
  const Array x = prepared(*inputs[0], is_double ? DType::kFloat64 : DType::kFloat32, workspace);
  (is_double ? quantise_by_range<double> : quantise_by_range<float>)(x, outputs, workspace);
}

constexpr std::pair<std::string_view, KernelRule> kIntegerProductKernels[] = {
    {"conv_integer", conv_integer},
    {"dynamic_quantize_linear", dynamic_quantize_linear},
    {"matmul_integer", matmul_integer},
    {"requantized_convolution", requantized_convolution},
};

}  // namespace

RuleTable<KernelRule> integer_product_kernels() { return kIntegerProductKernels; }

}  // namespace tensorlike
