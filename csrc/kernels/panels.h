// Products with a matrix that is packed once and used many times: the keys of a head, the weights
// of a recurrence. They run in the calling thread; the caller shares out the work.
#pragma once

#include <type_traits>

#include "base/isa.h"
#include "kernels/gemm.h"
#include "kernels/gemm_plan.h"

namespace tensorlike {

// A packed b[k, n] lies in panels of a few columns, each k rows long; the last one is filled up
// with zeros. Rows from p on are at packed + p * columns(), and columns from j on, a multiple of
// columns(), at packed + j * k.
template <class T>
class Panels {
 public:
  Panels() : kernels_(loops()) {}

  // What products are made of at this processor's level.
  static const detail::GemmKernels<T>& loops() {
    const detail::GemmTable& table = detail::gemm_table(isa());
    if constexpr (std::is_same_v<T, float>) {
      return table.f32;
    } else {
      return table.f64;
    }
  }

  int64_t columns() const { return kernels_.lanes << kWidth; }
  // Rows of a tile: other numbers of rows than its multiples leave registers empty.
  int64_t rows() const { return kernels_.max_rows[kWidth]; }
  int64_t packed_size(int64_t k, int64_t n) const {
    return detail::ceil_div(n, columns()) * columns() * k;
  }

  // b[k, n] becomes rows of a packed matrix of `packed_k` rows; b's element (p, j) is at
  // b[p * row_stride + j * column_stride].
  void pack(T* to, int64_t packed_k, const T* b, int64_t row_stride, int64_t column_stride,
            int64_t k, int64_t n) const {
    const int64_t step = columns();
    for (int64_t j = 0; j < n; j += step, to += step * packed_k) {
      kernels_.pack(to, step, b + j * column_stride, column_stride, row_stride,
                    std::min(step, n - j), k);
    }
  }

  // c[rows, n] = (accumulate ? c : 0) + a[rows, k] @ b, for a packed b of `packed_k` >= k rows.
  void multiply(int64_t rows, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_k,
                const T* packed, int64_t packed_k, T* c, int64_t c_row, bool accumulate) const {
    if (rows == 0) return;
    const int64_t step = columns();
    const detail::Split parts = detail::split_at_most(rows, this->rows());
    auto tile = [&](int64_t part, int64_t j) {
      const int64_t row = parts.begin(part);
      const int64_t count = parts.size(part);
      const int64_t left = std::min(step, n - j);
      const int width = left <= kernels_.lanes ? 0 : kWidth;
      const int64_t next = j + step < n ? j + step : 0;  // the first one is that of the next call
      const T* const b = packed + j * packed_k;
      const bool is_done = part + 1 == parts.count;  // with the panel
      kernels_.tile[width][a_row != 1 && count > 1][count - 1](
          k, a + row * a_row, a_row, a_k, b, step,
          is_done ? detail::rows_ahead(b, step, count, k, packed + next * packed_k)
                  : detail::rows_ahead(b, step, count),
          c + row * c_row + j, c_row, left, accumulate);
    };
    if (k * n * static_cast<int64_t>(sizeof(T)) <= kSmall) {
      for (int64_t i = 0; i < parts.count; ++i) {
        for (int64_t j = 0; j < n; j += step) tile(i, j);
      }
      return;
    }
    // A panel is used for all rows while it is in the cache.
    for (int64_t j = 0; j < n; j += step) {
      for (int64_t i = 0; i < parts.count; ++i) tile(i, j);
    }
  }

 private:
  static constexpr int64_t kSmall = 32 * 1024;  // bytes that stay in the first-level cache
  static constexpr int kWidth = 1;  // log2 of a panel's vectors: the widest tile of many rows

  const detail::GemmKernels<T>& kernels_;
};

}  // namespace tensorlike
