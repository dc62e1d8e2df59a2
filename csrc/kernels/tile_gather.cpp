// Operands of any layout: their elements in C order, and their dimensions as few as they can be.
#include <algorithm>
#include <cstring>

#include "kernels/kernel_table.h"
#include "kernels/tile.h"

namespace tensorlike {
void gather_tile(const TileOperand& operand, std::span<const int64_t> shape, int64_t begin,
                 int64_t n, char* out) {
  const size_t ndim = shape.size();
  if (ndim == 0) {
    std::memcpy(out, operand.data, operand.size);
    return;
  }
  SmallVector<int64_t, 8> index(ndim);
  int64_t rest = begin;
  const char* at = operand.data;
  const int64_t size = static_cast<int64_t>(operand.size);
  for (size_t i = ndim; i-- > 0;) {
    index[i] = rest % shape[i];
    rest /= shape[i];
    at += index[i] * operand.strides[i] * size;
  }
  const MoveKernels& kernels = move_kernels(size);
  const int64_t inner = shape[ndim - 1];
  const int64_t step = operand.strides[ndim - 1] * size;
  const int64_t row_step = ndim > 1 ? operand.strides[ndim - 2] * size : 0;
  while (n > 0) {
    // The rest of a row, or as many whole rows as follow each other.
    const int64_t position = index[ndim - 1];
    int64_t rows = 1;
    if (position == 0 && ndim > 1) {
      rows = std::clamp<int64_t>(n / inner, 1, shape[ndim - 2] - index[ndim - 2]);
    }
    const int64_t columns = std::min(n, inner - position);
    kernels.rows({out, inner * size, size, at, row_step, step, rows, columns});
    out += rows * columns * size;
    n -= rows * columns;
    if (n == 0) return;
    at += rows * row_step - position * step;
    index[ndim - 1] = 0;
    if (ndim == 1) return;
    index[ndim - 2] += rows;
    for (size_t i = ndim - 2; index[i] == shape[i] && i > 0; --i) {
      at += (operand.strides[i - 1] - shape[i] * operand.strides[i]) * size;
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

void collapse(Dims& shape, std::span<TileOperand> operands) {
  size_t last = 0;  // the dimension that is being grown
  bool started = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    bool merges = started;
    for (const TileOperand& o : operands) {
      merges = merges && o.strides[last] == o.strides[i] * shape[i];
    }
    if (merges) {
      shape[last] *= shape[i];
    } else {
      if (started) ++last;
      shape[last] = shape[i];
    }
    for (TileOperand& o : operands) o.strides[last] = o.strides[i];
    started = true;
  }
  const size_t ndim = started ? last + 1 : 0;
  shape.resize(ndim);
  for (TileOperand& o : operands) o.strides.resize(ndim);
}

}  // namespace tensorlike
