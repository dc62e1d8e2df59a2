// A block of attention's scores: some queries against some of the keys that they may see.
#pragma once

#include <cstdint>

namespace tensorlike {

struct ScoreBlock {
  static constexpr int64_t kRound = 32;  // elements that are looked at together

  int64_t rows = 0;
  int64_t keys = 0;  // elements of a row
  int64_t step = 0;  // elements from a row to the next; there is room for whole rounds
  bool is_causal = false;
  int64_t first_seen = 0;  // causal: how many of the keys the first query sees, each one more
  double scale = 1;
  int64_t mask_step = 0;    // elements from a row of the mask to the next
  bool mask_hides = false;  // it has zeros and -inf alone, and room for whole rounds

  int64_t seen(int64_t row) const {
    if (!is_causal || first_seen + row > keys) return keys;
    return first_seen + row < 0 ? 0 : first_seen + row;
  }
};

struct AttentionKernels {
  // Scores become exponentials. Blocks of the same queries come one after the other: largest[r] is
  // the largest score so far, totals[r] the sum of the exponentials, and factors[r] what results
  // made with the weights of earlier blocks are to be multiplied by. mask (may be null) is added to
  // the scaled scores.
  void (*weigh)(const ScoreBlock& block, void* scores, const void* mask, bool is_first,
                void* largest, double* totals, void* factors) = nullptr;
  // rows[r, i] *= factors[r] for i < width.
  void (*scale_rows)(void* rows, int64_t count, int64_t width, int64_t step,
                     const void* factors) = nullptr;
  // In place: from the gradient by the weights to that by the scores before scaling. `weights` are
  // exponentials: they are first divided by their totals.
  void (*score_grad)(const ScoreBlock& block, void* dweights, void* weights,
                     const double* totals) = nullptr;
};

}  // namespace tensorlike
