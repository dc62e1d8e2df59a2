// Products of batches of matrices: where their matrices lie. Included by matmul.cpp only.
#pragma once

#include <optional>
#include <utility>

#include "base/kept_forms.h"
#include "memory/array.h"

namespace tensorlike {
namespace {

// A matrix operand: vectors become matrices of one row (left) or one column (right).
struct Matrix {
  Dims batch_shape, batch_strides;
  int64_t rows, columns, row_stride, column_stride;
  KeptForms* forms;
};

Matrix as_matrix(const Array& x, bool is_left) {
  const size_t ndim = x.shape.size();
  if (ndim == 1 && is_left) return {{}, {}, 1, x.shape[0], 0, x.strides[0], x.forms};
  if (ndim == 1) return {{}, {}, x.shape[0], 1, x.strides[0], 0, x.forms};
  Matrix m{Dims(x.shape.begin(), x.shape.end() - 2),
           Dims(x.strides.begin(), x.strides.end() - 2),
           x.shape[ndim - 2],
           x.shape[ndim - 1],
           x.strides[ndim - 2],
           x.strides[ndim - 1],
           x.forms};
  return m;
}

int64_t batch_offset(int64_t position, const Dims& common, const Dims& shape, const Dims& strides) {
  if (common.size() <= 1) {  // most are of one dimension, or none
    return shape.empty() || shape[0] == 1 ? 0 : position * strides[0];
  }
  int64_t offset = 0;
  const size_t lead = common.size() - shape.size();
  for (size_t i = common.size(); i-- > 0;) {
    const int64_t index = position % common[i];
    position /= common[i];
    if (i >= lead && shape[i - lead] != 1) offset += index * strides[i - lead];
  }
  return offset;
}

// How far the matrices of a batch are from each other, where that is the same everywhere.
std::optional<int64_t> even_step(const Dims& common, const Matrix& x) {
  if (element_count(x.batch_shape) == 1) return 0;
  if (!(x.batch_shape == common)) return {};
  int64_t step = 0, next = 0;  // of the innermost dimension; of the one that is looked at
  for (size_t i = common.size(); i-- > 0;) {
    if (common[i] == 1) continue;
    if (step == 0) step = next = x.batch_strides[i];
    if (step == 0 || x.batch_strides[i] != next) return {};
    next *= common[i];
  }
  return step;
}

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

}  // namespace
}  // namespace tensorlike
