// A stripe of attention: some queries against the keys that they may see.
#pragma once

#include <cstdint>

namespace tensorlike {

struct AttentionStripe {
  int64_t rows = 0;
  int64_t keys = 0;         // of a row of scores; rows lie one after the other
  int64_t first_seen = -1;  // causal: how many keys the first query sees, each one more; -1: all
  double scale = 1;
  int64_t mask_step = 0;  // elements from a row of the mask to the next

  int64_t seen(int64_t row) const {
    return first_seen < 0 || first_seen + row > keys ? keys : first_seen + row;
  }
};

struct AttentionKernels {
  // Scores become exponentials; factors[r] is what a row of them is to be multiplied by to sum
  // to 1. mask (may be null) is added to the scaled scores.
  void (*weigh)(const AttentionStripe& stripe, void* scores, const void* mask,
                void* factors) = nullptr;
  void (*scale_rows)(const AttentionStripe& stripe, void* out, int64_t width,
                     const void* factors) = nullptr;
  // In place: from the gradient by the weights to that by the scores before scaling.
  void (*score_grad)(const AttentionStripe& stripe, void* dweights, const void* weights) = nullptr;
  void (*add)(void* to, const void* from, int64_t n) = nullptr;
};

}  // namespace tensorlike
