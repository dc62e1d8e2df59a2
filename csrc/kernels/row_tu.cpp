// The programs around the softmax of a row, for one ISA level. Gradients of cross entropy compute
// the softmax anew: the row is in cache, and nothing has to be kept between the passes.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/row_loops.h"
#include "kernels/softmax_vectors.h"

namespace tensorlike {
namespace {

// y = exp(x - shift); its sum. kOnce: also where y is not x, so that the sum is the same.
template <class T, bool kOnce = false>
double exp_shifted(T* y, const T* x, T shift, int64_t n) {
  auto power = [=](int64_t i) {
    const T value = exp_of_negative(x[i] - shift);
    y[i] = value;
    return value;
  };
  return kOnce || x == y ? row_sum<T, true>(n, power) : row_sum<T>(n, power);
}

// Asks for the block that lies behind this one: more of the row, or the next row. Whether there is
// one does not matter.
template <class T>
inline void fetch_behind(const T* block) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(block + kRowBlock);
  for (uintptr_t i = 0; i < kRowBlock * sizeof(T); i += 64) {
    __builtin_prefetch(reinterpret_cast<const void*>(end + i));
  }
}

// The sum of exp(x - largest). A row is gone through once, a block at a time, with the largest
// element so far. Where a row has NaN, so has the sum.
template <class T>
struct ExpSum {
  T largest = -std::numeric_limits<T>::infinity();
  double total = 0;

  ExpSum(const T* x, int64_t n) {
    for (int64_t at = 0; at < n; at += kRowBlock) {
      const T* const block = x + at;
      const int64_t count = at + kRowBlock < n ? kRowBlock : n - at;
      const T here = row_largest(block, count);
      if (here > largest) {
        if (total != 0) total *= __builtin_exp(double{largest} - double{here});
        largest = here;
      }
      fetch_behind(block);
      const T shift = largest;
      total += row_sum<T>(count, [=](int64_t i) { return exp_of_negative(block[i] - shift); });
    }
  }
  double logarithm() const { return __builtin_log(total); }
};

template <class T>
void softmax(const RowBlock& block) {
  if (block.n <= kMostInVectors) return softmax_in_vectors<T>(block);
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    T* y = block.write<T>(0, r);
    const T scale = static_cast<T>(1.0 / exp_shifted(y, x, row_largest(x, n), n));
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

// The logarithms of some rows are taken together.
template <class T>
void log_softmax(const RowBlock& block) {
  if (block.n <= kMostInVectors) return log_softmax_in_vectors<T>(block);
  constexpr int64_t kTogether = 16;
  const int64_t n = block.n;
  T shifts[kTogether];
  double totals[kTogether];
  for (double& total : totals) total = 1;
  for (int64_t first = 0; first < block.rows; first += kTogether) {
    // Rows that are still in the first-level cache when their turn comes.
    const int64_t fitting = n <= 4 * kRowBlock / kTogether ? kTogether : 1;
    const int64_t end = first + kTogether < block.rows ? first + kTogether : block.rows;
    for (int64_t from = first; from < end; from += fitting) {
      const int64_t to = from + fitting < end ? from + fitting : end;
      for (int64_t r = from; r < to; ++r) {
        const ExpSum<T> sum(block.read<T>(0, r), n);
        shifts[r - from] = sum.largest;
        totals[r - from] = sum.total;
      }
      if (fitting == 1) {
        totals[0] = __builtin_log(totals[0]);
      } else {
        for (double& total : totals) total = vm::log(total);
      }
      for (int64_t r = from; r < to; ++r) {
        const T* x = block.read<T>(0, r);
        T* y = block.write<T>(0, r);
        const T shift = shifts[r - from];
        const T total = static_cast<T>(totals[r - from]);
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] - shift - total;
      }
    }
  }
}

template <class T>
void softmax_grad(const RowBlock& block) {
  if (block.n <= kMostInVectors) return softmax_grad_in_vectors<T>(block);
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* y = block.read<T>(0, r);
    const T* dy = block.read<T>(1, r);
    T* dx = block.write<T>(0, r);
    const T total = static_cast<T>(row_sum<T>(n, [=](int64_t i) { return dy[i] * y[i]; }));
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - total);
  }
}

template <class T>
void log_softmax_grad(const RowBlock& block) {
  if (block.n <= kMostInVectors) return log_softmax_grad_in_vectors<T>(block);
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* y = block.read<T>(0, r);
    const T* dy = block.read<T>(1, r);
    T* dx = block.write<T>(0, r);
    const T total = static_cast<T>(row_sum<T>(n, [=](int64_t i) { return dy[i]; }));
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - vm::exp(y[i]) * total;
  }
}

template <class T>
void cross_entropy(const RowBlock& block) {
  if (block.n <= kMostInVectors) return cross_entropy_in_vectors<T>(block);
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    const int64_t label = *block.read<int64_t>(1, r);
    if (label < 0) {  // a row that is left out
      *block.write<T>(0, r) = T(0);
      continue;
    }
    const ExpSum<T> sum(x, block.n);
    const double of_label = double{x[label]} - double{sum.largest};
    *block.write<T>(0, r) = static_cast<T>(sum.logarithm() - of_label);
  }
}

template <class T>
void cross_entropy_grad(const RowBlock& block) {
  if (block.n <= kMostInVectors) return cross_entropy_grad_in_vectors<T>(block);
  const int64_t n = block.n;
  for (int64_t r = 0; r < block.rows; ++r) {
    const T* x = block.read<T>(0, r);
    const T dy = *block.read<T>(2, r);
    T* dx = block.write<T>(0, r);
    const int64_t label = *block.read<int64_t>(1, r);
    if (label < 0) {
      for (int64_t i = 0; i < n; ++i) dx[i] = T(0);
      continue;
    }
    const double total = exp_shifted<T, true>(dx, x, row_largest(x, n), n);
    const T scale = static_cast<T>(1.0 / total);
    const T of_label = dx[label] * scale - T(1);
    for (int64_t i = 0; i < n; ++i) dx[i] = dx[i] * scale * dy;
    dx[label] = of_label * dy;
  }
}

template <class T>
constexpr RowPrograms row_programs() {
  RowPrograms programs;
  programs.softmax = softmax<T>;
  programs.log_softmax = log_softmax<T>;
  programs.softmax_grad = softmax_grad<T>;
  programs.log_softmax_grad = log_softmax_grad<T>;
  programs.cross_entropy = cross_entropy<T>;
  programs.cross_entropy_grad = cross_entropy_grad<T>;
  return programs;
}

}  // namespace

void TL_FILL(rows)(KernelTable& table);
void TL_FILL(rows)(KernelTable& table) {
  table.rows[DType::kFloat32] = row_programs<float>();
  table.rows[DType::kFloat64] = row_programs<double>();
}

}  // namespace tensorlike
