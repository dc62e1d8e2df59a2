// Row programs: what is done to one row after another (softmax, a norm and its gradient), where a
// row fits the caches and is passed over several times. A program sees rows in order; the driver
// (tensor/row_run.h) brings strided ones in order, and knows shapes and threads.
#pragma once

#include <cstdint>

namespace tensorlike {

struct RowBlock {
  static constexpr int kOperands = 4;

  int64_t rows = 0;
  int64_t n = 0;         // elements of a row
  int64_t run = 0;       // elements of a row that share one of an operand that has one for each run
  double parameter = 0;  // what the program says: an epsilon, a factor
  // The first row of each operand, and the bytes from a row to the next: 0 where all rows share
  // one. An operand has n elements a row, or one, or one for each run; which, the program says.
  const void* in[kOperands] = {};
  int64_t in_step[kOperands] = {};
  void* out[kOperands] = {};
  int64_t out_step[kOperands] = {};

  template <class T>
  const T* read(int operand, int64_t row) const {
    return reinterpret_cast<const T*>(static_cast<const char*>(in[operand]) +
                                      row * in_step[operand]);
  }
  template <class T>
  T* write(int operand, int64_t row) const {
    return reinterpret_cast<T*>(static_cast<char*>(out[operand]) + row * out_step[operand]);
  }
};

using RowProgram = void (*)(const RowBlock& block);

// Rows that lie beside each other: element i of row r is the r-th from read(operand, i) on. So
// vectors hold an element of several rows, and nothing is turned. What an operand has once a row
// lies in order.
struct ColumnBlock {
  static constexpr int64_t kMostRows = 512;

  int64_t rows = 0;
  int64_t n = 0;
  double parameter = 0;
  // The first element of each operand, and the bytes from an element of a row to the next.
  const void* in[RowBlock::kOperands] = {};
  int64_t in_step[RowBlock::kOperands] = {};
  void* out[RowBlock::kOperands] = {};
  int64_t out_step[RowBlock::kOperands] = {};
  void* kept = nullptr;  // room for n * rows elements
  // Whether elements that are read again are better kept: those of the rows lie far apart.
  bool keeps = true;

  template <class T>
  const T* read(int operand, int64_t i) const {
    return reinterpret_cast<const T*>(static_cast<const char*>(in[operand]) + i * in_step[operand]);
  }
  template <class T>
  T* write(int operand, int64_t i) const {
    return reinterpret_cast<T*>(static_cast<char*>(out[operand]) + i * out_step[operand]);
  }
};

using ColumnProgram = void (*)(const ColumnBlock& block);

// For one dtype. In comments: inputs -> outputs; what has one element a row is in brackets.
struct RowPrograms {
  RowProgram softmax = nullptr;             // x -> y
  RowProgram log_softmax = nullptr;         // x -> y
  RowProgram softmax_grad = nullptr;        // y, dy -> dx
  RowProgram log_softmax_grad = nullptr;    // y, dy -> dx
  RowProgram cross_entropy = nullptr;       // x, [label: int64, < 0: none] -> [loss]
  RowProgram cross_entropy_grad = nullptr;  // x, [label: int64], [dy] -> dx
};

// Those that are there for rows beside each other, too.
struct ColumnPrograms {
  ColumnProgram softmax = nullptr;
  ColumnProgram log_softmax = nullptr;
  ColumnProgram softmax_grad = nullptr;
  ColumnProgram log_softmax_grad = nullptr;
  struct Norm {  // weight and bias are one element a row
    ColumnProgram forward = nullptr;
    ColumnProgram backward = nullptr;
  };
  Norm layer, rms;
};

// Normalising a row. `shared`: weight and bias are rows, and their gradients are added to one row
// that all rows share; `each`: they are one element a row, and so are their gradients; `runs`: one
// for each run of elements of a row, as the channels of a group have them.
struct NormPrograms {
  struct Affine {
    RowProgram forward = nullptr;   // x, weight, bias -> y, [mean], [variance]; the last two if set
    RowProgram backward = nullptr;  // x, weight, dy -> dx, dweight, dbias
  };
  Affine layer_shared, layer_each, layer_runs;
  Affine rms_shared, rms_each, rms_runs;  // without bias and mean
};

}  // namespace tensorlike
