// The operands of one attention: what its forward and its backward pass share. Neither has the
// matrix of all scores in memory: a block of scores stays in a cache between the matrix products
// that make and use it, and backward computes the weights anew.
#pragma once

#include "base/pool.h"
#include "cpu/arrays.h"
#include "cpu/scratch.h"
#include "kernels/kernel_table.h"
#include "kernels/panels.h"
#include "op/attention.h"

namespace tensorlike {

// A batch of matrices, with strides of 0 where it repeats.
struct AttentionMatrices {
  char* data = nullptr;
  Dims batch_strides;
  int64_t row_stride = 0, column_stride = 0;

  // Row `row` of matrix `index` of the batch.
  template <class T>
  const T* at(int64_t index, const Dims& batch, int64_t row) const {
    int64_t offset = row * row_stride;
    for (size_t i = batch.size(); i-- > 0;) {
      offset += index % batch[i] * batch_strides[i];
      index /= batch[i];
    }
    return reinterpret_cast<const T*>(data) + offset;
  }
};

// x as matrices that broadcast over a batch.
AttentionMatrices matrices(const Array& x, const Dims& batch);

// What is added to scores: a mask of booleans says which keys take part. Without memory where all
// do; else its rows have room for whole rounds.
Array added_to_scores(const Array& mask, DType dtype, int64_t keys, Workspace& workspace);

// Scores, and what is known of each of their rows.
template <class T>
struct ScoreRows {
  T* scores;
  int64_t step;  // elements from a row to the next
  T* largest;
  T* factors;
  double* totals;

  ScoreRows(Scratch& scratch, int64_t rows, int64_t row_step)
      : scores(scratch.take<T>(rows * row_step)),
        step(row_step),
        largest(scratch.take<T>(rows)),
        factors(scratch.take<T>(rows)),
        totals(scratch.take<double>(rows)) {}
  static size_t bytes(int64_t rows, int64_t row_step) {
    const size_t count = static_cast<size_t>(rows);
    return count * (static_cast<size_t>(row_step + 2) * sizeof(T) + sizeof(double)) + 4 * 64;
  }
};

template <class T>
struct AttentionCall {
  // The mask, where there is one, is what follows the operands.
  AttentionCall(const Op& op, Arrays inputs, Arrays masks, Workspace& given)
      : sizes(attention_sizes(op, *inputs[0], *inputs[1], *inputs[2])),
        query(matrices(*inputs[0], sizes.batch)),
        key(matrices(*inputs[1], sizes.batch)),
        value(matrices(*inputs[2], sizes.batch)),
        kernels(kernel_table().attention[dtype_of<T>]),
        scale(attention_scale(op, sizes.width)),
        is_causal(op.get<bool>("is_causal")),
        heads(element_count(sizes.batch)),
        workspace(given) {
    if (masks.empty()) return;
    const Array added = added_to_scores(*masks[0], dtype_of<T>, sizes.keys, workspace);
    if (added.data == nullptr) return;
    mask = matrices(added, sizes.batch);
    mask_hides = masks[0]->dtype == DType::kBool;
  }

  const T* at(const AttentionMatrices& x, int64_t head, int64_t row) const {
    return x.at<T>(head, sizes.batch, row);
  }
  double work() const {
    return static_cast<double>(heads) * static_cast<double>(sizes.queries * sizes.keys) *
           static_cast<double>(sizes.width + sizes.value_width);
  }
  // Less than it costs to wake another thread.
  bool is_small() const { return work() <= 6e4; }

  // Rows that are far apart by a power of 2 would push each other out of the caches.
  static int64_t row_step(int64_t keys) { return (keys + 15) / 16 * 16 + 16; }

  // How many keys the queries before `end` see.
  int64_t seen_before(int64_t end) const {
    return is_causal ? std::min(sizes.keys, end) : sizes.keys;
  }

  // The weights, not yet divided by their totals, of `rows` queries from `first` on for `keys` keys
  // from `from` on, which are a multiple of the panels' columns; packed_keys has all.
  ScoreBlock weigh(int64_t head, int64_t first, int64_t rows, int64_t from, int64_t keys,
                   const T* packed_keys, const ScoreRows<T>& to) const {
    panels.multiply(rows, keys, sizes.width, at(query, head, first), query.row_stride,
                    query.column_stride, packed_keys + from * sizes.width, sizes.width, to.scores,
                    to.step, false);
    return weigh_scores(head, first, rows, from, keys, to);
  }

  // The same of scores that are there.
  ScoreBlock weigh_scores(int64_t head, int64_t first, int64_t rows, int64_t from, int64_t keys,
                          const ScoreRows<T>& to) const {
    const ScoreBlock block = {
        rows, keys, to.step, is_causal, first + 1 - from, scale, mask.row_stride, mask_hides};
    const T* added = mask.data != nullptr ? at(mask, head, first) + from : nullptr;
    kernels.weigh(block, to.scores, added, from == 0, to.largest, to.totals, to.factors);
    return block;
  }

  // What results of `rows` queries are divided by; a row that sees nothing weighs nothing.
  void divide(T* results, int64_t rows, const ScoreRows<T>& by) const {
    for (int64_t r = 0; r < rows; ++r) {
      by.factors[r] = static_cast<T>(by.totals[r] == 0 ? 0.0 : 1.0 / by.totals[r]);
    }
    kernels.scale_rows(results, rows, sizes.value_width, sizes.value_width, by.factors);
  }

  AttentionSizes sizes;
  AttentionMatrices query, key, value, mask;
  const AttentionKernels& kernels;
  Panels<T> panels;
  double scale;
  bool is_causal;
  bool mask_hides = false;
  int64_t heads;
  Workspace& workspace;
};

// The results of few queries, which read keys and values where they lie: packing these would cost
// more than the products. False: there are more, or rows lie otherwise.
template <class T>
bool attend_in_place(const AttentionCall<T>& call, const Array& out);

// The gradients of query, key and value, into arrays of the whole batch.
template <class T>
void attention_backward(const AttentionCall<T>& call, const Array& cotangent, Arrays gradients);

}  // namespace tensorlike
