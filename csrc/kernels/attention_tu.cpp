// What attention does to a block of scores between its matrix products, for one ISA level.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/row_loops.h"

namespace tensorlike {
namespace {

// The scores of a row so far, and what follows from them.
template <class T>
struct RowState {
  T& largest;
  double& total;
  T& factor;
};

// A row that has seen nothing but -inf is not moved, so that it weighs nothing.
template <class T>
inline T shift_of(T largest) {
  return largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
}

template <class T, class F>
inline void weigh_row(T* scores, int64_t n, bool is_first, RowState<T> row, F&& at) {
  const T here = row_largest<T>(n, at);
  const T largest = is_first || here > row.largest ? here : row.largest;
  const T shift = shift_of(largest);
  row.factor = T(1);
  if (is_first) {
    row.total = 0;
  } else if (largest != row.largest) {
    row.factor = exp_of_negative(row.largest - shift);
    row.total *= double{row.factor};
  }
  row.largest = largest;
  row.total += row_sum<T>(n, [=](int64_t i) {
    const T weight = exp_of_negative(at(i) - shift);
    scores[i] = weight;
    return weight;
  });
}

template <class T>
void weigh(const ScoreBlock& block, void* scores, const void* masks, bool is_first, void* largest,
           double* totals, void* factors) {
  const T scale = static_cast<T>(block.scale);
  for (int64_t r = 0; r < block.rows; ++r) {
    T* const x = static_cast<T*>(scores) + r * block.step;
    const int64_t seen = block.seen(r);
    const RowState<T> row = {static_cast<T*>(largest)[r], totals[r], static_cast<T*>(factors)[r]};
    int64_t n = seen;
    if (masks == nullptr && scale > 0) {  // whole rounds of lanes: what is not seen weighs nothing
      n = (seen + kRowLanes - 1) / kRowLanes * kRowLanes;
      for (int64_t i = seen; i < n; ++i) x[i] = -std::numeric_limits<T>::infinity();
    }
    if (masks == nullptr) {
      weigh_row(x, n, is_first, row, [=](int64_t i) { return x[i] * scale; });
    } else {
      const T* const mask = static_cast<const T*>(masks) + r * block.mask_step;
      weigh_row(x, n, is_first, row, [=](int64_t i) { return x[i] * scale + mask[i]; });
    }
    for (int64_t i = seen; i < block.keys; ++i) x[i] = 0;
  }
}

template <class T>
void scale_rows(void* rows, int64_t count, int64_t width, int64_t step, const void* factors) {
  for (int64_t r = 0; r < count; ++r) {
    T* const row = static_cast<T*>(rows) + r * step;
    const T factor = static_cast<const T*>(factors)[r];
    for (int64_t i = 0; i < width; ++i) row[i] *= factor;
  }
}

// dweights = (dweights - sum(dweights * weights)) * weights * scale, row by row.
template <class T>
void score_grad(const ScoreBlock& block, void* dweights, void* weights, const double* totals) {
  const T scale = static_cast<T>(block.scale);
  for (int64_t r = 0; r < block.rows; ++r) {
    T* const d = static_cast<T*>(dweights) + r * block.step;
    T* const w = static_cast<T*>(weights) + r * block.step;
    const int64_t n = block.keys;
    const T factor = static_cast<T>(totals[r] == 0 ? 0.0 : 1.0 / totals[r]);
    const T total = static_cast<T>(row_sum<T>(n, [=](int64_t i) {
      w[i] *= factor;
      return d[i] * w[i];
    }));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) d[i] = (d[i] - total) * w[i] * scale;
  }
}

template <class T>
constexpr AttentionKernels attention_kernels() {
  return {weigh<T>, scale_rows<T>, score_grad<T>};
}

}  // namespace

void TL_FILL(attention)(KernelTable& table);
void TL_FILL(attention)(KernelTable& table) {
  table.attention[DType::kFloat32] = attention_kernels<float>();
  table.attention[DType::kFloat64] = attention_kernels<double>();
}

}  // namespace tensorlike
