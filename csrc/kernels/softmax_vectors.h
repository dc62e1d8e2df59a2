// Softmax and its kin of rows of some vectors, for one ISA level: rows go through each step
// together. Included by row_tu.cpp alone.
#pragma once

#include "kernels/row.h"
#include "kernels/row_loops.h"
#include "kernels/row_vectors.h"

namespace tensorlike {
namespace {

// f of each lane.
template <class T, class F>
TL_ALWAYS inline Vector<T> lane_by_lane(Vector<T> x, F&& f) {
  alignas(kVectorBytes) T lanes[kLanes<T>];
  store(lanes, x);
#pragma GCC unroll 1  // else the lanes are as many numbers, and no vector
  for (int l = 0; l < kLanes<T>; ++l) lanes[l] = f(lanes[l]);
  return load<Vector<T>>(lanes);
}

template <class T>
TL_ALWAYS inline Vector<T> exp_lanes_of_negative(Vector<T> x) {
  return lane_by_lane<T>(x, [](T value) TL_ALWAYS { return exp_of_negative(value); });
}

// The rows [first, last) of a block, kLanes<T> at most.
template <class T>
struct SoftmaxRows {
  using V = Vector<T>;
  static constexpr int kWidth = kLanes<T>;
  static constexpr auto kAdd = [](V a, V b) TL_ALWAYS { return a + b; };
  static constexpr auto kMost = [](V a, V b) TL_ALWAYS { return a > b ? a : b; };

  const RowBlock& block;
  const VectorRow<T>& row;
  int64_t first, last;

  // As many at a time as go through the steps together.
  template <class F>
  TL_ALWAYS static void over(const RowBlock& block, F&& f) {
    const VectorRow<T> row(block.n);
    in_groups<kWidth>(block.rows, block.n, [&](int64_t first, int64_t last) {
      f(SoftmaxRows{block, row, first, last});
    });
  }

  // The sum of f(r, place) over each row, in its lane.
  template <class F>
  TL_ALWAYS V sums(F&& f) const {
    V found[1];
    const auto of_row = [&](int64_t k) TL_ALWAYS {
      return [&f, r = first + k](auto place, V(&terms)[1]) TL_ALWAYS { terms[0] = f(r, place); };
    };
    row.each(last - first, T(0), found, of_row, kAdd);
    return found[0];
  }

  // As row_largest has it.
  TL_ALWAYS V largest() const {
    V found[1];
    const auto of_row = [&](int64_t k) TL_ALWAYS {
      return [x = block.read<T>(0, first + k)](auto place, V(&terms)[1])
                 TL_ALWAYS { terms[0] = place.load(x); };
    };
    row.each(last - first, -std::numeric_limits<T>::infinity(), found, of_row, kMost);
    return found[0];
  }

  // Keeps exp(x - largest), row after row; the sum of each.
  TL_ALWAYS V exponentials(T* kept) const {
    const V shifts = largest();
    V lanes[kWidth] = {};
    for (int64_t r = first; r < last; ++r, kept += row.kept()) {
      const T* const x = block.read<T>(0, r);
      const T shift = shifts[r - first];
      V sum{};
      row.keep(kept, [&](auto place) TL_ALWAYS {
        const V power = exp_lanes_of_negative<T>(place.load(x) - shift);
        sum = place.joined(sum, power, kAdd);
        return power;
      });
      lanes[r - first] = sum;
    }
    return join_rows(lanes, kAdd);
  }

  // The logarithms of the sums of exp(x - largest).
  TL_ALWAYS V logarithms(V shifts) const {
    const V found = sums([&](int64_t r, auto place) TL_ALWAYS {
      return exp_lanes_of_negative<T>(place.load(block.read<T>(0, r)) - shifts[r - first]);
    });
    return lane_by_lane<T>(found, [](T total) TL_ALWAYS {
      return static_cast<T>(vm::log(static_cast<double>(total)));
    });
  }
};

template <class T>
void softmax_in_vectors(const RowBlock& block) {
  using V = Vector<T>;
  // Not in y: a part of a vector that has just been written is slow to read.
  alignas(kVectorBytes) T powers[kTogether + kLanes<T> * kLanes<T>];
  SoftmaxRows<T>::over(block, [&](const SoftmaxRows<T>& rows) TL_ALWAYS {
    const V scales = T(1) / rows.exponentials(powers);
    T* kept = powers;
    for (int64_t r = rows.first; r < rows.last; ++r, kept += rows.row.kept()) {
      const T scale = scales[r - rows.first];
      rows.row.map(block.write<T>(0, r),
                   [=](auto place) TL_ALWAYS { return load<V>(place.own(kept)) * scale; });
    }
  });
}

template <class T>
void log_softmax_in_vectors(const RowBlock& block) {
  SoftmaxRows<T>::over(block, [&](const SoftmaxRows<T>& rows) TL_ALWAYS {
    const Vector<T> shifts = rows.largest(), totals = rows.logarithms(shifts);
    for (int64_t r = rows.first; r < rows.last; ++r) {
      const T* const x = block.read<T>(0, r);
      const T shift = shifts[r - rows.first], total = totals[r - rows.first];
      rows.row.map(block.write<T>(0, r),
                   [=](auto place) TL_ALWAYS { return place.load(x) - shift - total; });
    }
  });
}

template <class T>
void softmax_grad_in_vectors(const RowBlock& block) {
  SoftmaxRows<T>::over(block, [&](const SoftmaxRows<T>& rows) TL_ALWAYS {
    const Vector<T> totals = rows.sums([&](int64_t r, auto place) TL_ALWAYS {
      return place.load(block.read<T>(1, r)) * place.load(block.read<T>(0, r));
    });
    for (int64_t r = rows.first; r < rows.last; ++r) {
      const T* const y = block.read<T>(0, r);
      const T* const dy = block.read<T>(1, r);
      const T total = totals[r - rows.first];
      rows.row.map(block.write<T>(0, r),
                   [=](auto place) TL_ALWAYS { return place.load(y) * (place.load(dy) - total); });
    }
  });
}

template <class T>
void log_softmax_grad_in_vectors(const RowBlock& block) {
  SoftmaxRows<T>::over(block, [&](const SoftmaxRows<T>& rows) TL_ALWAYS {
    const Vector<T> totals =
        rows.sums([&](int64_t r, auto place) TL_ALWAYS { return place.load(block.read<T>(1, r)); });
    for (int64_t r = rows.first; r < rows.last; ++r) {
      const T* const y = block.read<T>(0, r);
      const T* const dy = block.read<T>(1, r);
      const T total = totals[r - rows.first];
      rows.row.map(block.write<T>(0, r), [=](auto place) TL_ALWAYS {
        const Vector<T> power =
            lane_by_lane<T>(place.load(y), [](T value) TL_ALWAYS { return vm::exp(value); });
        return place.load(dy) - power * total;
      });
    }
  });
}

template <class T>
void cross_entropy_in_vectors(const RowBlock& block) {
  SoftmaxRows<T>::over(block, [&](const SoftmaxRows<T>& rows) TL_ALWAYS {
    const Vector<T> shifts = rows.largest(), totals = rows.logarithms(shifts);
    for (int64_t r = rows.first; r < rows.last; ++r) {
      const int64_t label = *block.read<int64_t>(1, r);
      const int64_t k = r - rows.first;
      // A row without a label is left out.
      *block.write<T>(0, r) =
          label < 0 ? T(0) : totals[k] - (block.read<T>(0, r)[label] - shifts[k]);
    }
  });
}

template <class T>
void cross_entropy_grad_in_vectors(const RowBlock& block) {
  using V = Vector<T>;
  alignas(kVectorBytes) T powers[kTogether + kLanes<T> * kLanes<T>];
  SoftmaxRows<T>::over(block, [&](const SoftmaxRows<T>& rows) TL_ALWAYS {
    const V scales = T(1) / rows.exponentials(powers);
    T* kept = powers;
    for (int64_t r = rows.first; r < rows.last; ++r, kept += rows.row.kept()) {
      const int64_t label = *block.read<int64_t>(1, r);
      const T dy = *block.read<T>(2, r);
      const T scale = scales[r - rows.first];
      T* const dx = block.write<T>(0, r);
      if (label < 0) {
        std::fill_n(dx, block.n, T(0));
        continue;
      }
      rows.row.map(dx, [=](auto place) TL_ALWAYS { return load<V>(place.own(kept)) * scale * dy; });
      dx[label] = (kept[rows.row.kept_at(label)] * scale - T(1)) * dy;
    }
  });
}

}  // namespace
}  // namespace tensorlike
