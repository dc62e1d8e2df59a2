// What attention does to a block of scores between its matrix products, for one ISA level.
#include "kernels/isa_names.h"
#include "kernels/kernel_table.h"
#include "kernels/row_loops.h"

namespace tensorlike {
namespace {

// A row that has seen nothing but -inf is not moved, so that it weighs nothing.
template <class T>
inline T shift_of(T largest) {
  return largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
}

constexpr int64_t kRowsTogether = 8;  // whose steps need not wait for each other

// Whole rounds of lanes where that may be: what is not seen weighs nothing.
template <class T>
int64_t rounded_row(const ScoreBlock& block, int64_t row, bool may_round, T* x) {
  const int64_t seen = block.seen(row);
  if (!may_round) return seen;
  const int64_t n = (seen + kRowLanes - 1) / kRowLanes * kRowLanes;
  for (int64_t i = seen; i < n; ++i) x[i] = -std::numeric_limits<T>::infinity();
  return n;
}

static_assert(kRowLanes == ScoreBlock::kRound);

// slope * score_at(r)(i) is element i of row r, scaled and masked. The largest is taken away before
// the slope is multiplied by: the other way round a fused operation would leave what rounding the
// largest product has lost, and of huge scores that is huge.
template <class T, class F>
void weigh_rows(const ScoreBlock& block, T* scores, bool may_round, bool is_first, T slope,
                T* largest, double* totals, T* factors, F&& score_at) {
  for (int64_t first = 0; first < block.rows; first += kRowsTogether) {
    const int64_t rest = block.rows - first;
    const int64_t last = rest < kRowsTogether ? block.rows : first + kRowsTogether;
    int64_t counts[kRowsTogether];
    T here[kRowsTogether];
    for (int64_t r = first; r < last; ++r) {
      counts[r - first] = rounded_row(block, r, may_round, scores + r * block.step);
      here[r - first] = row_largest<T>(counts[r - first], score_at(r));
    }
    for (int64_t r = first; r < last; ++r) {
      T* const x = scores + r * block.step;
      const auto at = score_at(r);
      const T before = largest[r];
      const T now = is_first || here[r - first] > before ? here[r - first] : before;
      const T shift = shift_of(now);
      factors[r] = T(1);
      if (is_first) {
        totals[r] = 0;
      } else if (now != before) {
        factors[r] = exp_of_negative(slope * (before - shift));
        totals[r] *= double{factors[r]};
      }
      largest[r] = now;
      totals[r] += row_sum<T, true>(counts[r - first], [=](int64_t i) {
        const T weight = exp_of_negative(slope * (at(i) - shift));
        x[i] = weight;
        return weight;
      });
      for (int64_t i = block.seen(r); i < block.keys; ++i) x[i] = 0;
    }
  }
}

template <class T>
void weigh(const ScoreBlock& block, void* scores, const void* masks, bool is_first, void* largest,
           double* totals, void* factors) {
  const T scale = static_cast<T>(block.scale);
  T* const x = static_cast<T*>(scores);
  const auto weigh_with = [&](bool may_round, T slope, auto&& score_at) {
    weigh_rows(block, x, may_round, is_first, slope, static_cast<T*>(largest), totals,
               static_cast<T*>(factors), score_at);
  };
  if (masks == nullptr && scale > 0) {
    weigh_with(true, scale, [=, step = block.step](int64_t r) {
      return [row = x + r * step](int64_t i) { return row[i]; };
    });
  } else if (masks == nullptr) {
    weigh_with(false, -scale, [=, step = block.step](int64_t r) {
      return [row = x + r * step](int64_t i) { return -row[i]; };
    });
  } else {
    // What a mask that hides lets through weighs what it does without. One call for both masks: of
    // two, compilers make loops without vectors.
    const T* const mask = static_cast<const T*>(masks);
    const bool hides = block.mask_hides && scale > 0;
    const T factor = hides ? T(1) : scale;
    weigh_with(hides, hides ? scale : T(1),
               [=, step = block.step, mask_step = block.mask_step](int64_t r) {
                 return [row = x + r * step, added = mask + r * mask_step, factor](int64_t i) {
                   return row[i] * factor + added[i];
                 };
               });
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
    const T total = static_cast<T>(row_sum<T, true>(n, [=](int64_t i) {
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
