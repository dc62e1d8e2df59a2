// Normalising a row and its gradients, for one ISA level. The mean and the variance are computed in
// two passes, since the square of the mean would drown a small variance; backward computes both
// anew, which costs less than reading what forward could have kept.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/row_loops.h"

namespace tensorlike {
namespace {

// What forward and backward know of a row: it is normalised by (x - mean) * factor.
template <class T>
struct Statistics {
  T mean;
  T factor;
  double exact_mean;
  double variance;
};

// Rows go through each step together: the steps of one row wait for each other, those of several
// need not. Together they stay in the first-level cache.
constexpr int64_t kMostRows = 8;
constexpr int64_t kElements = 4096;

template <class F>
void in_groups(const RowBlock& block, F&& f) {
  const int64_t fitting = kElements / (block.n + 1);
  const int64_t together = fitting < 1 ? 1 : fitting < kMostRows ? fitting : kMostRows;
  for (int64_t first = 0; first < block.rows; first += together) {
    f(first, block.rows - first < together ? block.rows : first + together);
  }
}

// Of the rows [first, last).
template <class T, bool kCenters>
void find_statistics(const RowBlock& block, int64_t first, int64_t last, Statistics<T>* found) {
  const int64_t n = block.n;
  const double count = static_cast<double>(n);
  for (int64_t r = first; r < last; ++r) {
    Statistics<T>& s = found[r - first];
    s = {};
    if constexpr (kCenters) {
      const T* x = block.read<T>(0, r);
      s.exact_mean = row_sum<T>(n, [=](int64_t i) { return x[i]; }) / count;
      s.mean = static_cast<T>(s.exact_mean);
    }
  }
  for (int64_t r = first; r < last; ++r) {
    Statistics<T>& s = found[r - first];
    const T* x = block.read<T>(0, r);
    const T mean = s.mean;
    const double squares = row_sum<T>(n, [=](int64_t i) {
      const T d = x[i] - mean;
      return d * d;
    });
    // The mean is rounded: what it is off by comes out of the squares.
    const double off = s.exact_mean - static_cast<double>(mean);
    s.variance = squares / count - off * off;
    s.factor = static_cast<T>(1.0 / __builtin_sqrt(s.variance + block.parameter));
  }
}

// What weight and bias have: an element for each of a row, one a row, or one for each run.
enum class Weights : unsigned char { kShared, kEach, kRuns };

// Calls f(begin, end, j) for the elements [begin, end) of a row and the place j of their weight:
// for whole runs; f(0, n, 0) where there are none.
template <Weights kWeights, class F>
inline void over_runs(const RowBlock& block, F&& f) {
  const int64_t run = kWeights == Weights::kRuns ? block.run : block.n;
  int64_t j = 0;
  for (int64_t begin = 0; begin < block.n; begin += run) f(begin, begin + run, j++);
}

// ---- short rows --------------------------------------------------------------------------------

// Rows that fill no vectors are turned, so that vectors have an element each of several.
constexpr int64_t kMostShort = 63;
constexpr int kTurned = 16;

// Whether rows are, and weight and bias are the same for all.
inline bool is_short(const RowBlock& block, bool has_bias) {
  const bool is_same = block.in_step[1] == 0 && (!has_bias || block.in_step[2] == 0);
  return is_same && block.n <= kMostShort && block.n % kTurned != 0;
}

template <class T>
using Elements = T[kMostShort][kTurned];

// Of the rows [first, last); the first of them stands for those that are missing.
template <class T>
void turn(const RowBlock& block, int operand, int64_t first, int64_t last, Elements<T>& to) {
  constexpr int64_t kSize = sizeof(T);
  const char* const from = reinterpret_cast<const char*>(block.read<T>(operand, first));
  move_kernels(kSize).transpose({reinterpret_cast<char*>(to), kTurned * kSize, kSize, from, kSize,
                                 block.in_step[operand], block.n, last - first});
  for (int64_t i = 0; last - first < kTurned && i < block.n; ++i) {
    for (int64_t l = last - first; l < kTurned; ++l) to[i][l] = to[i][0];
  }
}

template <class T>
void turn_back(const RowBlock& block, int64_t first, int64_t last, const Elements<T>& from) {
  constexpr int64_t kSize = sizeof(T);
  move_kernels(kSize).transpose({reinterpret_cast<char*>(block.write<T>(0, first)),
                                 block.out_step[0], kSize, reinterpret_cast<const char*>(from),
                                 kSize, kTurned * kSize, last - first, block.n});
}

// What `Statistics` has, of each row.
template <class T>
struct TurnedStatistics {
  T mean[kTurned], factor[kTurned];
  double exact_mean[kTurned], variance[kTurned];
};

template <class T, bool kCenters>
void find_statistics(const RowBlock& block, const Elements<T>& x, TurnedStatistics<T>& s) {
  const double count = static_cast<double>(block.n);
  T sums[kTurned] = {}, squares[kTurned] = {};
  for (int64_t i = 0; kCenters && i < block.n; ++i) {
    for (int l = 0; l < kTurned; ++l) sums[l] += x[i][l];
  }
  for (int l = 0; l < kTurned; ++l) {
    s.exact_mean[l] = static_cast<double>(sums[l]) / count;
    s.mean[l] = static_cast<T>(s.exact_mean[l]);
  }
  for (int64_t i = 0; i < block.n; ++i) {
    for (int l = 0; l < kTurned; ++l) {
      const T d = x[i][l] - s.mean[l];
      squares[l] += d * d;
    }
  }
  for (int l = 0; l < kTurned; ++l) {
    const double off = s.exact_mean[l] - static_cast<double>(s.mean[l]);
    s.variance[l] = static_cast<double>(squares[l]) / count - off * off;
    s.factor[l] = static_cast<T>(1.0 / __builtin_sqrt(s.variance[l] + block.parameter));
  }
}

// f(first, last) for as many rows together as are turned.
template <class F>
void over_turned(const RowBlock& block, F&& f) {
  for (int64_t first = 0; first < block.rows; first += kTurned) {
    f(first, block.rows - first < kTurned ? block.rows : first + kTurned);
  }
}

template <class T, bool kCenters>
void forward_short(const RowBlock& block) {
  Elements<T> x;
  TurnedStatistics<T> s;
  const T* weight = block.read<T>(1, 0);
  const T* bias = kCenters ? block.read<T>(2, 0) : nullptr;
  over_turned(block, [&](int64_t first, int64_t last) {
    turn<T>(block, 0, first, last, x);
    find_statistics<T, kCenters>(block, x, s);
    for (int64_t i = 0; i < block.n; ++i) {
      const T own = weight[i];
      const T shift = kCenters ? bias[i] : T(0);
      for (int l = 0; l < kTurned; ++l) {
        if constexpr (kCenters) {
          x[i][l] = (x[i][l] - s.mean[l]) * s.factor[l] * own + shift;
        } else {
          x[i][l] = x[i][l] * s.factor[l] * own;
        }
      }
    }
    turn_back<T>(block, first, last, x);
    for (int64_t r = first; block.out[1] != nullptr && r < last; ++r) {
      *block.write<T>(1, r) = static_cast<T>(s.exact_mean[r - first]);
      *block.write<T>(2, r) = static_cast<T>(s.variance[r - first]);
    }
  });
}

template <class T, bool kCenters>
void backward_short(const RowBlock& block) {
  const T count = static_cast<T>(block.n);
  Elements<T> u, dy;
  Elements<T> dweight, dbias;
  for (int64_t i = 0; i < block.n; ++i) {
    for (int l = 0; l < kTurned; ++l) dweight[i][l] = dbias[i][l] = 0;
  }
  TurnedStatistics<T> s;
  const T* weight = block.read<T>(1, 0);
  over_turned(block, [&](int64_t first, int64_t last) {
    turn<T>(block, 0, first, last, u);
    turn<T>(block, 2, first, last, dy);
    for (int64_t i = 0; last - first < kTurned && i < block.n; ++i) {
      for (int64_t l = last - first; l < kTurned; ++l) dy[i][l] = 0;
    }
    find_statistics<T, kCenters>(block, u, s);
    T mean_g[kTurned] = {}, mean_gu[kTurned] = {};
    for (int64_t i = 0; i < block.n; ++i) {
      const T own = weight[i];
      for (int l = 0; l < kTurned; ++l) {
        u[i][l] = (u[i][l] - s.mean[l]) * s.factor[l];
        const T g = dy[i][l] * own;
        mean_g[l] += g;
        mean_gu[l] += g * u[i][l];
        dweight[i][l] += dy[i][l] * u[i][l];
        dbias[i][l] += dy[i][l];
      }
    }
    for (int l = 0; l < kTurned; ++l) {
      mean_g[l] = kCenters ? mean_g[l] / count : T(0);
      mean_gu[l] /= count;
    }
    for (int64_t i = 0; i < block.n; ++i) {
      const T own = weight[i];
      for (int l = 0; l < kTurned; ++l) {
        u[i][l] = (dy[i][l] * own - mean_g[l] - u[i][l] * mean_gu[l]) * s.factor[l];
      }
    }
    turn_back<T>(block, first, last, u);
  });
  const auto add = [](auto a, auto b) { return a + b; };
  for (int64_t i = 0; i < block.n; ++i) {
    block.write<T>(1, 0)[i] += joined<kTurned>(dweight[i], add);
    if constexpr (kCenters) block.write<T>(2, 0)[i] += joined<kTurned>(dbias[i], add);
  }
}

// ---- any rows ----------------------------------------------------------------------------------

template <class T, bool kCenters, Weights kWeights>
void forward(const RowBlock& block) {
  if constexpr (kWeights == Weights::kShared) {
    if (is_short(block, kCenters)) return forward_short<T, kCenters>(block);
  }
  Statistics<T> statistics[kMostRows];
  in_groups(block, [&](int64_t first, int64_t last) {
    find_statistics<T, kCenters>(block, first, last, statistics);
    for (int64_t r = first; r < last; ++r) {
      const T* x = block.read<T>(0, r);
      const T* weight = block.read<T>(1, r);
      T* y = block.write<T>(0, r);
      const Statistics<T>& s = statistics[r - first];
      const T mean = s.mean;
      const T factor = s.factor;
      const T* bias = kCenters ? block.read<T>(2, r) : nullptr;
      over_runs<kWeights>(block, [=](int64_t begin, int64_t end, int64_t run) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t j = kWeights == Weights::kShared ? i : run;
          if constexpr (kCenters) {
            y[i] = (x[i] - mean) * factor * weight[j] + bias[j];
          } else {
            y[i] = x[i] * factor * weight[j];
          }
        }
      });
      if (block.out[1] != nullptr) {
        *block.write<T>(1, r) = static_cast<T>(s.exact_mean);
        *block.write<T>(2, r) = static_cast<T>(s.variance);
      }
    }
  });
}

// Of one row: sums of g and of g * u, where u is the normalised row and g = dy * weight; where
// weight repeats in the row, its gradient and that of bias, which are such sums.
template <class T, bool kCenters, Weights kWeights>
void sum_row(const RowBlock& block, int64_t r, const Statistics<T>& s, double (&sum)[2]) {
  const T* x = block.read<T>(0, r);
  const T* weight = block.read<T>(1, r);
  const T* dy = block.read<T>(2, r);
  const T mean = s.mean;
  const T factor = s.factor;
  sum[0] = sum[1] = 0;
  over_runs<kWeights>(block, [&](int64_t begin, int64_t end, int64_t run) {
    double found[2];
    row_sums<T>(end - begin, found, [=](int64_t k, T(&terms)[2]) {
      const int64_t i = begin + k;
      const T g = kWeights == Weights::kShared ? dy[i] * weight[i] : dy[i];
      terms[0] = g;
      terms[1] = g * ((x[i] - mean) * factor);
    });
    const double own = kWeights == Weights::kShared ? 1.0 : static_cast<double>(weight[run]);
    sum[0] += found[0] * own;
    sum[1] += found[1] * own;
    if constexpr (kWeights != Weights::kShared) {
      block.write<T>(1, r)[run] = static_cast<T>(found[1]);
      if constexpr (kCenters) block.write<T>(2, r)[run] = static_cast<T>(found[0]);
    }
  });
}

// dx = (g - mean(g) - u * mean(g * u)) * factor.
template <class T, bool kCenters, Weights kWeights>
void backward(const RowBlock& block) {
  if constexpr (kWeights == Weights::kShared) {
    if (is_short(block, false)) return backward_short<T, kCenters>(block);
  }
  const int64_t n = block.n;
  Statistics<T> statistics[kMostRows];
  double sums[kMostRows][2];
  in_groups(block, [&](int64_t first, int64_t last) {
    find_statistics<T, kCenters>(block, first, last, statistics);
    for (int64_t r = first; r < last; ++r) {
      sum_row<T, kCenters, kWeights>(block, r, statistics[r - first], sums[r - first]);
    }
    for (int64_t r = first; r < last; ++r) {
      const T* x = block.read<T>(0, r);
      const T* weight = block.read<T>(1, r);
      const T* dy = block.read<T>(2, r);
      T* dx = block.write<T>(0, r);
      T* dweight = block.write<T>(1, r);
      T* dbias = block.write<T>(2, r);
      const T mean = statistics[r - first].mean;
      const T factor = statistics[r - first].factor;
      const double (&sum)[2] = sums[r - first];
      const T mean_g = kCenters ? static_cast<T>(sum[0] / static_cast<double>(n)) : T(0);
      const T mean_gu = static_cast<T>(sum[1] / static_cast<double>(n));
      over_runs<kWeights>(block, [=](int64_t begin, int64_t end, int64_t run) {
        if constexpr (kWeights != Weights::kShared) {
          const T own = weight[run];
          for (int64_t i = begin; i < end; ++i) {
            const T u = (x[i] - mean) * factor;
            dx[i] = (dy[i] * own - mean_g - u * mean_gu) * factor;
          }
        } else {
#pragma GCC ivdep
          for (int64_t i = begin; i < end; ++i) {
            const T u = (x[i] - mean) * factor;
            dx[i] = (dy[i] * weight[i] - mean_g - u * mean_gu) * factor;
            dweight[i] += dy[i] * u;
            if constexpr (kCenters) dbias[i] += dy[i];
          }
        }
      });
    }
  });
}

template <class T, bool kCenters, Weights kWeights>
constexpr NormPrograms::Affine affine() {
  return {forward<T, kCenters, kWeights>, backward<T, kCenters, kWeights>};
}

template <class T>
constexpr NormPrograms norm_programs() {
  return {affine<T, true, Weights::kShared>(), affine<T, true, Weights::kEach>(),
          affine<T, true, Weights::kRuns>(),   affine<T, false, Weights::kShared>(),
          affine<T, false, Weights::kEach>(),  affine<T, false, Weights::kRuns>()};
}

}  // namespace

void TL_FILL(norms)(KernelTable& table);
void TL_FILL(norms)(KernelTable& table) {
  table.norms[DType::kFloat32] = norm_programs<float>();
  table.norms[DType::kFloat64] = norm_programs<double>();
}

}  // namespace tensorlike
