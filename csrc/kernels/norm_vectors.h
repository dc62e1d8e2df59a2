// Norms of rows of some vectors, whose weights are the same for all rows or one a row, for one ISA
// level: rows go through each step together, and their statistics lie in lanes. Included by
// norm_tu.cpp alone.
#pragma once

#include "kernels/row.h"
#include "kernels/row_vectors.h"

namespace tensorlike {
namespace {

// What weight and bias have: an element for each of a row, one a row, or one for each run.
enum class Weights : unsigned char { kShared, kEach, kRuns };

// What is known of as many rows as a vector has lanes: each is normalised by (x - mean) * factor.
template <class T>
struct LaneStatistics {
  T mean[kLanes<T>] = {}, factor[kLanes<T>];
  double exact_mean[kLanes<T>] = {}, variance[kLanes<T>];
};

// An element of each of a row's places, less the row's mean.
template <bool kCenters, class T, class Place>
TL_ALWAYS inline Vector<T> centred(const T* x, Place place, Vector<T> mean) {
  return kCenters ? place.load(x) - mean : place.load(x);
}

template <Weights kWeights, class T, class Place>
TL_ALWAYS inline Vector<T> weight_at(const T* weight, Place place) {
  return kWeights == Weights::kShared ? place.load(weight) : Vector<T>{} + *weight;
}

template <class T>
inline constexpr auto kAdd = [](Vector<T> a, Vector<T> b) TL_ALWAYS { return a + b; };

// Of the rows [first, last).
template <class T>
TL_ALWAYS inline void find_means(const RowBlock& block, const VectorRow<T>& row, int64_t first,
                                 int64_t last, LaneStatistics<T>& s) {
  using V = Vector<T>;
  V sums[1];
  const auto elements = [&](int64_t r) TL_ALWAYS {
    return [x = block.read<T>(0, first + r)](auto place, V(&terms)[1])
               TL_ALWAYS { terms[0] = place.load(x); };
  };
  row.each(last - first, T(0), sums, elements, kAdd<T>);
  alignas(kVectorBytes) T totals[kLanes<T>];
  store(totals, sums[0]);
  const double inverse = 1.0 / static_cast<double>(block.n);
  for (int l = 0; l < kLanes<T>; ++l) {
    s.exact_mean[l] = static_cast<double>(totals[l]) * inverse;
    s.mean[l] = static_cast<T>(s.exact_mean[l]);
  }
}

template <class T>
TL_ALWAYS inline void find_factors(const RowBlock& block, Vector<T> sums, LaneStatistics<T>& s) {
  alignas(kVectorBytes) T squares[kLanes<T>];
  store(squares, sums);
  const double inverse = 1.0 / static_cast<double>(block.n);
  const double epsilon = block.parameter;
  for (int l = 0; l < kLanes<T>; ++l) {
    // The mean is rounded: what it is off by comes out of the squares.
    const double off = s.exact_mean[l] - static_cast<double>(s.mean[l]);
    s.variance[l] = static_cast<double>(squares[l]) * inverse - off * off;
    s.factor[l] = static_cast<T>(1.0 / __builtin_sqrt(s.variance[l] + epsilon));
  }
}

template <class T, bool kCenters, Weights kWeights>
void forward_in_vectors(const RowBlock& block) {
  using V = Vector<T>;
  const VectorRow<T> row(block.n);
  in_groups<kLanes<T>>(block.rows, block.n, [&](int64_t first, int64_t last) {
    LaneStatistics<T> s;
    if constexpr (kCenters) find_means(block, row, first, last, s);
    V squares[1];
    const auto deviations = [&](int64_t r) TL_ALWAYS {
      return [x = block.read<T>(0, first + r), mean = V{} + s.mean[r]](auto place, V(&terms)[1])
                 TL_ALWAYS {
                   const V d = centred<kCenters>(x, place, mean);
                   terms[0] = d * d;
                 };
    };
    row.each(last - first, T(0), squares, deviations, kAdd<T>);
    find_factors<T>(block, squares[0], s);
    for (int64_t r = first; r < last; ++r) {
      const T* x = block.read<T>(0, r);
      const T* weight = block.read<T>(1, r);
      const T* bias = kCenters ? block.read<T>(2, r) : nullptr;
      const V mean = V{} + s.mean[r - first], factor = V{} + s.factor[r - first];
      row.map(block.write<T>(0, r), [=](auto place) TL_ALWAYS {
        const V u = centred<kCenters>(x, place, mean) * factor;
        if constexpr (kCenters) {
          return u * weight_at<kWeights>(weight, place) + weight_at<kWeights>(bias, place);
        } else {
          return u * weight_at<kWeights>(weight, place);
        }
      });
      if (block.out[1] != nullptr) {
        *block.write<T>(1, r) = static_cast<T>(s.exact_mean[r - first]);
        *block.write<T>(2, r) = static_cast<T>(s.variance[r - first]);
      }
    }
  });
}

// Sums over rows, by place in a row.
template <class T>
struct PlaceSums {
  explicit PlaceSums(const VectorRow<T>& row) { std::fill_n(at, row.kept(), T(0)); }
  template <class Place>
  TL_ALWAYS void add(Place place, Vector<T> value) {
    T* const to = place.own(at);
    store(to, load<Vector<T>>(to) + value);
  }
  alignas(kVectorBytes) T at[kMostInVectors + kLanes<T>];
};

// dx = (g - mean(g) - u * mean(g * u)) * factor, where u is the normalised row and g = dy * weight.
// The squares and the sums for both means are found in one pass, before the factor is known.
template <class T, bool kCenters, Weights kWeights>
void backward_in_vectors(const RowBlock& block) {
  using V = Vector<T>;
  constexpr bool kIsShared = kWeights == Weights::kShared;
  const VectorRow<T> row(block.n);
  PlaceSums<T> dweight(row), dbias(row);
  in_groups<kLanes<T>>(block.rows, 2 * block.n, [&](int64_t first, int64_t last) {
    LaneStatistics<T> s;
    if constexpr (kCenters) find_means(block, row, first, last, s);
    V sums[3];
    const auto products = [&](int64_t r) TL_ALWAYS {
      return [x = block.read<T>(0, first + r), weight = block.read<T>(1, first + r),
              dy = block.read<T>(2, first + r), mean = V{} + s.mean[r]](auto place, V(&terms)[3])
                 TL_ALWAYS {
                   const V d = centred<kCenters>(x, place, mean);
                   V g = place.load(dy);
                   if constexpr (kWeights == Weights::kShared) g *= place.load(weight);
                   terms[0] = d * d;
                   terms[1] = g;
                   terms[2] = g * d;
                 };
    };
    row.each(last - first, T(0), sums, products, kAdd<T>);
    find_factors<T>(block, sums[0], s);
    const T count = static_cast<T>(block.n);
    for (int64_t r = first; r < last; ++r) {
      const int64_t l = r - first;
      const T* x = block.read<T>(0, r);
      const T* weight = block.read<T>(1, r);
      const T* dy = block.read<T>(2, r);
      const T sum_g = sums[1][l], sum_gu = sums[2][l] * s.factor[l];
      const T own = kIsShared ? T(1) : *weight;
      if constexpr (!kIsShared) {
        *block.write<T>(1, r) = sum_gu;
        if constexpr (kCenters) *block.write<T>(2, r) = sum_g;
      }
      const V mean = V{} + s.mean[l], factor = V{} + s.factor[l];
      const V mean_g = V{} + sum_g * own / count, mean_gu = V{} + sum_gu * own / count;
      row.map(block.write<T>(0, r), [&, x, weight, dy](auto place) TL_ALWAYS {
        const V u = centred<kCenters>(x, place, mean) * factor;
        const V given = place.load(dy);
        if constexpr (kIsShared) {
          dweight.add(place, given * u);
          if constexpr (kCenters) dbias.add(place, given);
        }
        const V g = given * weight_at<kWeights>(weight, place);
        return ((kCenters ? g - mean_g : g) - u * mean_gu) * factor;
      });
    }
  });
  if constexpr (kIsShared) {
    row.add_kept(block.write<T>(1, 0), dweight.at);
    if constexpr (kCenters) row.add_kept(block.write<T>(2, 0), dbias.at);
  }
}

// ---- rows of runs, each of some vectors and of a weight of its own ------------------------------

template <class T, bool kCenters>
void forward_runs(const RowBlock& block, int64_t r, T mean, T factor) {
  const VectorRow<T> run(block.run);
  const T* weight = block.read<T>(1, r);
  const T* bias = kCenters ? block.read<T>(2, r) : nullptr;
  for (int64_t j = 0; j * block.run < block.n; ++j) {
    const T* x = block.read<T>(0, r) + j * block.run;
    const T own = weight[j], shift = kCenters ? bias[j] : T(0);
    run.map(block.write<T>(0, r) + j * block.run, [=](auto place) TL_ALWAYS {
      const auto u = centred<kCenters>(x, place, Vector<T>{} + mean) * factor * own;
      if constexpr (kCenters) {
        return u + shift;
      } else {
        return u;
      }
    });
  }
}

// The sums of dy and of dy * u over each run, as gradients by bias and weight, and those of the row
// of dy * weight and of dy * weight * u.
template <class T, bool kCenters>
void sum_runs(const RowBlock& block, int64_t r, T mean, T factor, double (&sum)[2]) {
  const VectorRow<T> run(block.run);
  const int64_t runs = block.n / block.run;
  const T* weight = block.read<T>(1, r);
  in_groups<kLanes<T>>(runs, block.run, [&](int64_t first, int64_t last) {
    Vector<T> found[2];
    const auto products = [&](int64_t j) TL_ALWAYS {
      const int64_t at = (first + j) * block.run;
      return [x = block.read<T>(0, r) + at, dy = block.read<T>(2, r) + at,
              mean = Vector<T>{} + mean](auto place, Vector<T>(&terms)[2]) TL_ALWAYS {
        terms[0] = place.load(dy);
        terms[1] = terms[0] * centred<kCenters>(x, place, mean);
      };
    };
    run.each(last - first, T(0), found, products, kAdd<T>);
    for (int64_t j = first; j < last; ++j) {
      const T of_dy = found[0][j - first], of_both = found[1][j - first] * factor;
      block.write<T>(1, r)[j] = of_both;
      if constexpr (kCenters) block.write<T>(2, r)[j] = of_dy;
      sum[0] += static_cast<double>(of_dy) * static_cast<double>(weight[j]);
      sum[1] += static_cast<double>(of_both) * static_cast<double>(weight[j]);
    }
  });
}

// dx, for the means of g and of g * u.
template <class T, bool kCenters>
void backward_runs(const RowBlock& block, int64_t r, T mean, T factor, T mean_g, T mean_gu) {
  const VectorRow<T> run(block.run);
  const T* weight = block.read<T>(1, r);
  for (int64_t j = 0; j * block.run < block.n; ++j) {
    const T* x = block.read<T>(0, r) + j * block.run;
    const T* dy = block.read<T>(2, r) + j * block.run;
    const T own = weight[j];
    run.map(block.write<T>(0, r) + j * block.run, [=](auto place) TL_ALWAYS {
      const auto u = centred<kCenters>(x, place, Vector<T>{} + mean) * factor;
      return (place.load(dy) * own - mean_g - u * mean_gu) * factor;
    });
  }
}

}  // namespace
}  // namespace tensorlike
