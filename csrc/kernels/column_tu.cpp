// The programs of rows that lie beside each other, for one ISA level: an element of each row at a
// time. What they compute is what the programs of rows do; sums are made of short runs in the rows'
// own precision, and those carried in double.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/row_loops.h"

namespace tensorlike {
namespace {

constexpr int64_t kRun = 32;  // elements that are added up before double takes over

// A number for each row.
template <class T>
using Each = T[ColumnBlock::kMostRows];

template <class T>
void fill(int64_t rows, T value, T* __restrict__ to) {
  for (int64_t r = 0; r < rows; ++r) to[r] = value;
}

// totals[s][r] = the sum over i < n of the terms that f(i, sums) adds: to sums[s][r], for all rows.
// Elements go to two such sums in turn, since adding to what was just stored has to wait for it.
template <class T, int kSums, class F>
void sum_elements(const ColumnBlock& block, double (&totals)[kSums][ColumnBlock::kMostRows],
                  F&& f) {
  T sums[2][kSums][ColumnBlock::kMostRows];
  for (auto& total : totals) fill(block.rows, 0.0, total);
  for (int64_t first = 0; first < block.n; first += kRun) {
    for (auto& turn : sums) {
      for (auto& sum : turn) fill(block.rows, T{0}, sum);
    }
    const int64_t last = first + kRun < block.n ? first + kRun : block.n;
    for (int64_t i = first; i < last; ++i) f(i, sums[i % 2]);
    for (int s = 0; s < kSums; ++s) {
      for (int64_t r = 0; r < block.rows; ++r) {
        totals[s][r] += static_cast<double>(sums[0][s][r]) + static_cast<double>(sums[1][s][r]);
      }
    }
  }
}

// ---- softmax -----------------------------------------------------------------------------------

template <class T>
void keep_largest(int64_t rows, const T* __restrict__ x, T* __restrict__ kept,
                  T* __restrict__ most) {
  for (int64_t r = 0; r < rows; ++r) {
    kept[r] = x[r];
    most[r] = x[r] > most[r] ? x[r] : most[r];
  }
}

// Keeps x; its largest elements.
template <class T>
void find_largest(const ColumnBlock& block, Each<T>& most) {
  T* const kept = static_cast<T*>(block.kept);
  fill(block.rows, -std::numeric_limits<T>::infinity(), most);
  for (int64_t i = 0; i < block.n; ++i) {
    keep_largest(block.rows, block.read<T>(0, i), kept + i * block.rows, most);
  }
}

template <class T>
void add_exponentials(int64_t rows, const T* __restrict__ most, T* __restrict__ kept,
                      T* __restrict__ sums) {
  for (int64_t r = 0; r < rows; ++r) {
    const T power = exp_of_negative(kept[r] - most[r]);
    kept[r] = power;
    sums[r] += power;
  }
}

template <class T>
void scale_each(int64_t rows, const T* __restrict__ kept, const T* __restrict__ scale,
                T* __restrict__ y) {
  for (int64_t r = 0; r < rows; ++r) y[r] = kept[r] * scale[r];
}

template <class T>
void softmax(const ColumnBlock& block) {
  const int64_t rows = block.rows;
  T* const kept = static_cast<T*>(block.kept);
  Each<T> numbers;
  double totals[1][ColumnBlock::kMostRows];
  find_largest<T>(block, numbers);
  sum_elements<T>(block, totals, [&](int64_t i, auto& sums) {
    add_exponentials<T>(rows, numbers, kept + i * rows, sums[0]);
  });
  for (int64_t r = 0; r < rows; ++r) numbers[r] = static_cast<T>(1.0 / totals[0][r]);
  for (int64_t i = 0; i < block.n; ++i) {
    scale_each<T>(rows, kept + i * rows, numbers, block.write<T>(0, i));
  }
}

template <class T>
void sum_exponentials(int64_t rows, const T* __restrict__ most, const T* __restrict__ kept,
                      T* __restrict__ sums) {
  for (int64_t r = 0; r < rows; ++r) sums[r] += exp_of_negative(kept[r] - most[r]);
}

template <class T>
void take_logarithms(int64_t rows, const T* __restrict__ kept, const T* __restrict__ most,
                     const T* __restrict__ logarithm, T* __restrict__ y) {
  for (int64_t r = 0; r < rows; ++r) y[r] = kept[r] - most[r] - logarithm[r];
}

template <class T>
void log_softmax(const ColumnBlock& block) {
  const int64_t rows = block.rows;
  const T* const kept = static_cast<const T*>(block.kept);
  Each<T> most, logarithms;
  double totals[1][ColumnBlock::kMostRows];
  find_largest<T>(block, most);
  sum_elements<T>(block, totals, [&](int64_t i, auto& sums) {
    sum_exponentials<T>(rows, most, kept + i * rows, sums[0]);
  });
  for (int64_t r = 0; r < rows; ++r) logarithms[r] = vm::log(static_cast<T>(totals[0][r]));
  for (int64_t i = 0; i < block.n; ++i) {
    take_logarithms<T>(rows, kept + i * rows, most, logarithms, block.write<T>(0, i));
  }
}

template <class T>
void add_products(int64_t rows, const T* __restrict__ x, const T* __restrict__ y,
                  T* __restrict__ sums) {
  for (int64_t r = 0; r < rows; ++r) sums[r] += x[r] * y[r];
}

template <class T>
void add_elements(int64_t rows, const T* __restrict__ x, T* __restrict__ sums) {
  for (int64_t r = 0; r < rows; ++r) sums[r] += x[r];
}

template <class T>
void round_each(int64_t rows, const double* __restrict__ from, T* __restrict__ to) {
  for (int64_t r = 0; r < rows; ++r) to[r] = static_cast<T>(from[r]);
}

// From y and dy, and from the sum over each row of what `add` adds, rounded once.
template <class T, class Add, class Slope>
void move_by_sums(const ColumnBlock& block, Add&& add, Slope&& slope) {
  const int64_t rows = block.rows;
  double totals[1][ColumnBlock::kMostRows];
  Each<T> total;
  sum_elements<T>(block, totals, [&](int64_t i, auto& sums) {
    add(block.read<T>(0, i), block.read<T>(1, i), sums[0]);
  });
  round_each<T>(rows, totals[0], total);
  for (int64_t i = 0; i < block.n; ++i) {
    const T* y = block.read<T>(0, i);
    const T* dy = block.read<T>(1, i);
    T* dx = block.write<T>(0, i);
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) dx[r] = slope(y[r], dy[r], total[r]);
  }
}

template <class T>
void softmax_grad(const ColumnBlock& block) {
  move_by_sums<T>(
      block, [&](const T* y, const T* dy, T* sums) { add_products<T>(block.rows, dy, y, sums); },
      [](T y, T dy, T total) { return y * (dy - total); });
}

template <class T>
void log_softmax_grad(const ColumnBlock& block) {
  move_by_sums<T>(
      block, [&](const T*, const T* dy, T* sums) { add_elements<T>(block.rows, dy, sums); },
      [](T y, T dy, T total) { return dy - vm::exp(y) * total; });
}

// ---- norms -------------------------------------------------------------------------------------

// What forward and backward know of rows: they are normalised by (x - mean) * factor.
template <class T>
struct Statistics {
  Each<T> mean, factor;
  double exact_mean[ColumnBlock::kMostRows];
  double variance[ColumnBlock::kMostRows];
};

template <class T>
void keep_sums(int64_t rows, const T* __restrict__ x, T* __restrict__ kept, T* __restrict__ sums) {
  for (int64_t r = 0; r < rows; ++r) {
    kept[r] = x[r];
    sums[r] += x[r];
  }
}

template <class T>
void add_squares(int64_t rows, const T* __restrict__ x, const T* __restrict__ mean,
                 T* __restrict__ sums) {
  for (int64_t r = 0; r < rows; ++r) {
    const T d = x[r] - mean[r];
    sums[r] += d * d;
  }
}

// Element i of each row, from where it is near.
template <class T>
const T* element(const ColumnBlock& block, int64_t i) {
  return block.keeps ? static_cast<const T*>(block.kept) + i * block.rows : block.read<T>(0, i);
}

// Keeps x, where that is wanted.
template <class T, bool kCenters>
void find_statistics(const ColumnBlock& block, Statistics<T>& s) {
  const int64_t rows = block.rows;
  const double count = static_cast<double>(block.n);
  T* const kept = static_cast<T*>(block.kept);
  double totals[1][ColumnBlock::kMostRows];
  sum_elements<T>(block, totals, [&](int64_t i, auto& sums) {
    if (block.keeps) {
      keep_sums<T>(rows, block.read<T>(0, i), kept + i * rows, sums[0]);
    } else {
      add_elements<T>(rows, block.read<T>(0, i), sums[0]);
    }
  });
  for (int64_t r = 0; r < rows; ++r) {
    s.exact_mean[r] = kCenters ? totals[0][r] / count : 0.0;
    s.mean[r] = static_cast<T>(s.exact_mean[r]);
  }
  sum_elements<T>(block, totals, [&](int64_t i, auto& sums) {
    add_squares<T>(rows, element<T>(block, i), s.mean, sums[0]);
  });
  for (int64_t r = 0; r < rows; ++r) {
    // The mean is rounded: what it is off by comes out of the squares.
    const double off = s.exact_mean[r] - static_cast<double>(s.mean[r]);
    s.variance[r] = totals[0][r] / count - off * off;
    s.factor[r] = static_cast<T>(1.0 / __builtin_sqrt(s.variance[r] + block.parameter));
  }
}

template <class T, bool kCenters>
void forward(const ColumnBlock& block) {
  const int64_t rows = block.rows;
  Statistics<T> s;
  find_statistics<T, kCenters>(block, s);
  const T* weight = block.read<T>(1, 0);
  const T* bias = kCenters ? block.read<T>(2, 0) : nullptr;
  for (int64_t i = 0; i < block.n; ++i) {
    const T* x = element<T>(block, i);
    T* y = block.write<T>(0, i);
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) {
      if constexpr (kCenters) {
        y[r] = (x[r] - s.mean[r]) * s.factor[r] * weight[r] + bias[r];
      } else {
        y[r] = x[r] * s.factor[r] * weight[r];
      }
    }
  }
  if (block.out[1] != nullptr) {
    round_each<T>(rows, s.exact_mean, block.write<T>(1, 0));
    round_each<T>(rows, s.variance, block.write<T>(2, 0));
  }
}

template <class T>
void add_slopes(int64_t rows, const T* __restrict__ x, const T* __restrict__ dy,
                const Statistics<T>& s, T* __restrict__ sums, T* __restrict__ of_weight) {
  for (int64_t r = 0; r < rows; ++r) {
    sums[r] += dy[r];
    of_weight[r] += dy[r] * ((x[r] - s.mean[r]) * s.factor[r]);
  }
}

// dx = (g - mean(g) - u * mean(g * u)) * factor, where u is the normalised row and g = dy * weight.
template <class T, bool kCenters>
void backward(const ColumnBlock& block) {
  const int64_t rows = block.rows;
  const double count = static_cast<double>(block.n);
  Statistics<T> s;
  find_statistics<T, kCenters>(block, s);
  double totals[2][ColumnBlock::kMostRows];
  sum_elements<T>(block, totals, [&](int64_t i, auto& sums) {
    add_slopes<T>(rows, element<T>(block, i), block.read<T>(2, i), s, sums[0], sums[1]);
  });
  const T* weight = block.read<T>(1, 0);
  Each<T> mean_g, mean_gu;
  for (int64_t r = 0; r < rows; ++r) {
    const double own = static_cast<double>(weight[r]) / count;
    mean_g[r] = kCenters ? static_cast<T>(totals[0][r] * own) : T(0);
    mean_gu[r] = static_cast<T>(totals[1][r] * own);
  }
  for (int64_t i = 0; i < block.n; ++i) {
    const T* x = element<T>(block, i);
    const T* dy = block.read<T>(2, i);
    T* dx = block.write<T>(0, i);
#pragma GCC ivdep
    for (int64_t r = 0; r < rows; ++r) {
      const T u = (x[r] - s.mean[r]) * s.factor[r];
      dx[r] = (dy[r] * weight[r] - mean_g[r] - u * mean_gu[r]) * s.factor[r];
    }
  }
  round_each<T>(rows, totals[1], block.write<T>(1, 0));
  if constexpr (kCenters) round_each<T>(rows, totals[0], block.write<T>(2, 0));
}

template <class T>
constexpr ColumnPrograms column_programs() {
  return {softmax<T>,
          log_softmax<T>,
          softmax_grad<T>,
          log_softmax_grad<T>,
          {forward<T, true>, backward<T, true>},
          {forward<T, false>, backward<T, false>}};
}

}  // namespace

void TL_FILL(columns)(KernelTable& table);
void TL_FILL(columns)(KernelTable& table) {
  table.columns[DType::kFloat32] = column_programs<float>();
  table.columns[DType::kFloat64] = column_programs<double>();
}

}  // namespace tensorlike
