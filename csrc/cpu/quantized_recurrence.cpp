// A long short-term memory whose states are multiplied as bytes. All states become bytes in one
// range, so that sequences go through the steps together. What happens in a cell is a declared
// scalar function.
#include <algorithm>
#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/byte_range.h"
#include "kernels/gemm.h"
#include "kernels/kernel_table.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kCellGrain = 4096;         // elements of cells that are worth a thread
constexpr int64_t kBetweenChecks = 1 << 18;  // products; looking at the clock takes 20 ns

// Sizes, and which step of its sums a sequence is at.
struct Sequences {
  int64_t length, batch, size;
  bool is_reverse;
  const int64_t* lengths;

  int64_t gates() const { return 4 * size; }
  int64_t steps(int64_t row) const { return std::clamp<int64_t>(lengths[row], 0, length); }
  // Where step `step` of a sequence is, counted from the first that is made; -1: it has ended.
  int64_t at(int64_t step, int64_t row) const {
    const int64_t count = steps(row);
    if (step >= count) return -1;
    return (is_reverse ? count - 1 - step : step) * batch + row;
  }
};

// The weight as it came: (gates, size), a row's scale and zero point.
template <class T>
struct Weight {
  const Array& matrix;
  const T* scales;
  const int32_t* zeros;
};

uint32_t bits_of(int32_t x) { return static_cast<uint32_t>(x); }

// gates = states @ weight.T + sums, of integers of any width, as the body of matmul_integer says.
template <class T>
class WideProduct {
 public:
  WideProduct(const Sequences& s, const Weight<T>& weight, Workspace& workspace)
      : s_(s), scales_(weight.scales) {
    const Array wide = prepared(weight.matrix, DType::kInt32, workspace);
    columns_ = workspace.take<int32_t>(s.gates() * s.size);
    for (int64_t i = 0; i < s.gates() * s.size; ++i) {
      columns_[i] =
          static_cast<int32_t>(bits_of(wide.as<int32_t>()[i]) - bits_of(weight.zeros[i / s.size]));
    }
    bytes_ = workspace.take<uint8_t>(s.size);
    rows_ = workspace.take<int32_t>(s.batch * s.size);
    made_ = workspace.take<int32_t>(s.batch * s.gates());
  }

  void run(int64_t step, const T* states, const ByteRange<T>& range, const T* sums, T* gates) {
    const auto zero = static_cast<int32_t>(range.zero);
    for (int64_t i = 0; i < s_.batch; ++i) {
      range.convert(bytes_, states + i * s_.size, s_.size);
      for (int64_t j = 0; j < s_.size; ++j) rows_[i * s_.size + j] = bytes_[j] - zero;
    }
    gemm<int32_t>(s_.batch, s_.gates(), s_.size, rows_, s_.size, 1, columns_, 1, s_.size, made_,
                  s_.gates());
    for (int64_t i = 0; i < s_.batch; ++i) {
      const int64_t at = s_.at(step, i);
      for (int64_t j = 0; at >= 0 && j < s_.gates(); ++j) {
        const int64_t to = i * s_.gates() + j;
        gates[to] =
            static_cast<T>(made_[to]) * (range.scale * scales_[j]) + sums[at * s_.gates() + j];
      }
    }
  }

 private:
  const Sequences& s_;
  const T* scales_;
  int32_t *columns_, *rows_, *made_;
  uint8_t* bytes_;
};

// The same of bytes. (a - za) @ (b - zb) is a @ b - za * (sums of columns of b - zb) - zb * sums of
// rows of a; unsigned weights have 128 taken off, and so have their zero points.
class ByteProduct {
 public:
  ByteProduct(const Sequences& s, const Weight<float>& weight, Workspace& workspace)
      : s_(s),
        scales_(weight.scales),
        flip_(weight.matrix.dtype == DType::kUInt8 ? 128 : 0),
        panels_(weight.matrix.as<int8_t>(), s.size, s.gates(), weight.matrix.strides[1],
                weight.matrix.strides[0], flip_, weight.matrix.forms,
                [&](size_t bytes) { return workspace.bytes(bytes); }) {
    const int64_t columns = panels_.padded_columns();
    nothing_ = workspace.take<int32_t>(columns);
    start_ = workspace.take<int32_t>(columns);
    of_columns_ = workspace.take<int32_t>(columns);
    zeros_ = workspace.take<int32_t>(columns);
    for (int64_t j = 0; j < columns; ++j) {
      nothing_[j] = 0;
      zeros_[j] = j < s.gates() ? static_cast<int32_t>(bits_of(weight.zeros[j]) - flip_) : 0;
      of_columns_[j] = static_cast<int32_t>(bits_of(panels_.sums()[j]) -
                                            static_cast<uint32_t>(s.size) * bits_of(zeros_[j]));
      has_zeros_ = has_zeros_ || zeros_[j] != 0;
    }
    rows_ = workspace.take<char>(s.batch * panels_.row_bytes());
    bytes_ = workspace.take<uint8_t>(s.batch * s.size);
    of_rows_ = workspace.take<int32_t>(s.batch);
  }

  void run(int64_t step, const float* states, const ByteRange<float>& range, const float* sums,
           float* gates) {
    range.convert(bytes_, states, s_.batch * s_.size);
    for (int64_t i = 0; i < s_.batch; ++i) {
      of_rows_[i] = loops_.lay_bytes(rows_ + i * panels_.row_bytes(), panels_.is_wide(),
                                     bytes_ + i * s_.size, 0, s_.size, panels_.row_numbers());
    }
    loops_.take_off(start_, nothing_, of_columns_, static_cast<int32_t>(range.zero),
                    panels_.padded_columns());
    panels_.multiply(s_.batch, rows_, start_,
                     [&](int64_t row, int64_t count, int64_t column, int64_t columns,
                         const int32_t* products, int64_t products_row) {
                       for (int64_t i = row; i < row + count; ++i, products += products_row) {
                         const int64_t at = s_.at(step, i);
                         if (at < 0) continue;
                         finish(i, column, columns, products, range.scale,
                                sums + at * s_.gates() + column, gates + i * s_.gates() + column);
                       }
                     });
  }

 private:
  static constexpr int64_t kTogether = 64;  // columns whose zero points are taken off at once

  void finish(int64_t row, int64_t column, int64_t columns, const int32_t* products, float scale,
              const float* sums, float* gates) const {
    if (!has_zeros_) {
      loops_.dequantise(gates, products, scale, scales_ + column, sums, columns);
      return;
    }
    int32_t less[kTogether];
    for (int64_t j = 0; j < columns; j += kTogether) {
      const int64_t count = std::min(kTogether, columns - j);
      loops_.take_off(less, products + j, zeros_ + column + j, of_rows_[row], count);
      loops_.dequantise(gates + j, less, scale, scales_ + column + j, sums + j, count);
    }
  }

  const Sequences& s_;
  const float* scales_;
  const uint8_t flip_;
  const IntegerPanels panels_;
  const detail::IntegerTable& loops_ = detail::integer_table(isa());
  int32_t *nothing_, *start_, *of_columns_, *zeros_, *of_rows_;
  char* rows_;
  uint8_t* bytes_;
  bool has_zeros_ = false;
};

// All steps. `states` of all of them, `hidden` and `cells` where each sequence ends: these hold
// what they begin with.
template <class T, class Product>
void run_steps(const Sequences& s, Product& product, const T* sums, T* states, T* hidden, T* cells,
               Workspace& workspace) {
  const TileKernel make = kernel_table().scalars.find("lstm_cell")->second[dtype_of<T>];
  const int64_t count = s.batch * s.size;
  const auto bytes = static_cast<size_t>(s.size) * sizeof(T);
  T* const before = workspace.take<T>(count);  // zeros where a sequence has ended
  T* const gates = workspace.take<T>(s.batch * s.gates());
  std::copy_n(hidden, count, before);
  const auto cell = [&](int64_t step, int64_t row) {
    T* const own = before + row * s.size;
    const int64_t at = s.at(step, row);
    if (at < 0) {
      std::fill_n(own, s.size, T{0});
      std::fill_n(states + (step * s.batch + row) * s.size, s.size, T{0});
      return;
    }
    const T* const gate = gates + row * s.gates();
    const void* const in[] = {gate, gate + s.size, gate + 2 * s.size, gate + 3 * s.size,
                              cells + row * s.size};
    void* const out[] = {own, cells + row * s.size};
    make(out, in, s.size);
    std::memcpy(states + at * s.size, own, bytes);
    if (step + 1 == s.steps(row)) std::memcpy(hidden + row * s.size, own, bytes);
  };
  const int64_t between = std::max<int64_t>(1, kBetweenChecks / (count * s.gates()));
  for (int64_t step = 0; step < s.length; ++step) {
    if (step % between == 0) check_interrupt();
    product.run(step, before, ByteRange<T>(range_of(before, count)), sums, gates);
    parallel_for(s.batch, std::max<int64_t>(1, kCellGrain / s.size),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) cell(step, row);
                 });
  }
}

template <class T>
void run(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Dims& shape = outputs[0]->shape;
  const auto spread = [&](size_t i, int64_t n, DType dtype) {
    return prepared(broadcast_to(*inputs[i], Dims{n}), dtype, workspace);
  };
  const Array lengths = spread(6, shape[1], DType::kInt64);
  const Sequences s{shape[0], shape[1], shape[2], op.get<bool>("reverse"), lengths.as<int64_t>()};
  const Array scales = spread(2, s.gates(), dtype_of<T>);
  const Array zeros = spread(3, s.gates(), DType::kInt32);
  const Weight<T> weight{*inputs[1], scales.as<T>(), zeros.as<int32_t>()};
  T* const hidden = outputs[1]->as<T>();
  T* const cells = outputs[2]->as<T>();
  std::copy_n(inputs[4]->as<T>(), s.batch * s.size, hidden);
  std::copy_n(inputs[5]->as<T>(), s.batch * s.size, cells);
  if (outputs[0]->count == 0) return;
  BlockingRegion blocking(
      static_cast<double>(s.length * s.batch) * static_cast<double>(s.size * s.size) > 1e5);
  const auto all = [&](auto&& product) {
    run_steps(s, product, inputs[0]->as<T>(), outputs[0]->as<T>(), hidden, cells, workspace);
  };
  if constexpr (std::is_same_v<T, float>) {
    const DType dtype = weight.matrix.dtype;
    if (dtype == DType::kInt8 || dtype == DType::kUInt8) {
      return all(ByteProduct(s, weight, workspace));
    }
  }
  all(WideProduct<T>(s, weight, workspace));
}

void dynamic_quantized_lstm(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const bool is_float = outputs[0]->dtype == DType::kFloat32;
  (is_float ? run<float> : run<double>)(op, inputs, outputs, workspace);
}

constexpr std::pair<std::string_view, KernelRule> kQuantizedRecurrenceKernels[] = {
    {"dynamic_quantized_lstm", dynamic_quantized_lstm},
};

}  // namespace

RuleTable<KernelRule> quantized_recurrence_kernels() { return kQuantizedRecurrenceKernels; }

}  // namespace tensorlike
