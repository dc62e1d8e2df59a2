// Attention forward: the keys are gone through in blocks with a running maximum and sum (online
// softmax), so that what a query needs does not grow with the number of keys.
#include <algorithm>
#include <cmath>

#include "base/blocking.h"
#include "cpu/attention_call.h"
#include "op/families.h"

namespace tensorlike {

AttentionMatrices matrices(const Array& x, const Dims& batch) {
  const size_t ndim = batch.size() + 2;
  const size_t missing = ndim - x.shape.size();
  // As `broadcast_to` has them, without an array of it.
  const auto stride = [&](size_t axis) {
    return axis < missing || x.shape[axis - missing] == 1 ? 0 : x.strides[axis - missing];
  };
  AttentionMatrices found;
  found.data = x.data;
  found.batch_strides.resize(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) found.batch_strides[i] = stride(i);
  found.row_stride = stride(ndim - 2);
  found.column_stride = stride(ndim - 1);
  return found;
}

Array added_to_scores(const Array& mask, DType dtype, int64_t keys, Workspace& workspace) {
  Dims shape(std::max<size_t>(1, mask.shape.size()));
  std::copy(mask.shape.begin(), mask.shape.end(), shape.begin());
  shape.back() = keys;
  const Array whole = broadcast_to(mask, shape);
  if (mask.dtype != DType::kBool) return prepared(whole, dtype, workspace);
  const Array takes_part = contiguous(whole, workspace);
  const bool* const first = takes_part.as<bool>();
  if (std::all_of(first, first + takes_part.count, [](bool is_seen) { return is_seen; })) return {};
  Dims roomy = shape;
  roomy.back() = (keys / ScoreBlock::kRound + 2) * ScoreBlock::kRound;
  const Array added = workspace.array(dtype, roomy);
  const auto fill = [&](auto* to) {
    std::fill_n(to, added.count, 0);
    for (int64_t row = 0; row < takes_part.count / keys; ++row, to += roomy.back()) {
      const bool* const is_seen = first + row * keys;
      for (int64_t i = 0; i < keys; ++i) to[i] = is_seen[i] ? 0 : -HUGE_VALF;
    }
  };
  dtype == DType::kFloat32 ? fill(added.as<float>()) : fill(added.as<double>());
  return added.view(shape, added.strides);
}

namespace {

constexpr int64_t kKeyBlock = 512;    // so that the scores of a tile's queries stay in the L1 cache
constexpr int64_t kPackedKeys = 128;  // keys that are packed at once; a multiple of any panel's

template <class T>
class AttentionForward {
 public:
  AttentionForward(const AttentionCall<T>& call, const Array& out)
      : c_(call),
        out_(out.as<T>()),
        key_size_(c_.panels.packed_size(c_.sizes.width, c_.sizes.keys)),
        value_size_(c_.panels.packed_size(c_.sizes.keys, c_.sizes.value_width)),
        rows_(c_.panels.rows()),
        stripes_((c_.sizes.queries + rows_ - 1) / rows_) {}

  void run() const {
    if (c_.is_small()) {
      run_heads(0, c_.heads);
      return;
    }
    BlockingRegion blocking(c_.work() > 1e6);
    // With fewer heads threads share one: its keys are then packed before.
    if (c_.heads >= int64_t{4} * num_threads()) {
      parallel_for(c_.heads, 1, [&](int64_t begin, int64_t end) { run_heads(begin, end); });
    } else {
      share_heads();
    }
  }

 private:
  int64_t step() const { return c_.row_step(std::min(kKeyBlock, c_.sizes.keys)); }
  size_t scratch_bytes() const { return ScoreRows<T>::bytes(rows_, step()); }
  size_t packed_bytes(int64_t heads) const {
    return static_cast<size_t>(heads * (key_size_ + value_size_)) * sizeof(T) + 64;
  }

  void run_heads(int64_t begin, int64_t end) const {
    Scratch scratch(scratch_bytes() + packed_bytes(1));
    T* const packed = scratch.take<T>(key_size_ + value_size_);
    const ScoreRows<T> rows(scratch, rows_, step());
    for (int64_t head = begin; head < end; ++head) {
      pack(head, 0, c_.sizes.keys, packed);
      for (int64_t stripe = 0; stripe < stripes_; ++stripe) attend(head, stripe, packed, rows);
    }
  }

  void share_heads() const {
    T* const packed = c_.workspace.template take<T>(c_.heads * (key_size_ + value_size_));
    auto packed_of = [&](int64_t head) { return packed + head * (key_size_ + value_size_); };
    const int64_t pieces = (c_.sizes.keys + kPackedKeys - 1) / kPackedKeys;
    parallel_for(c_.heads * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * kPackedKeys;
        pack(i / pieces, first, std::min(kPackedKeys, c_.sizes.keys - first),
             packed_of(i / pieces));
      }
    });
    parallel_for(c_.heads * stripes_, 1, [&](int64_t begin, int64_t end) {
      Scratch scratch(scratch_bytes());
      const ScoreRows<T> rows(scratch, rows_, step());
      for (int64_t i = begin; i < end; ++i) {
        attend(i / stripes_, i % stripes_, packed_of(i / stripes_), rows);
      }
    });
  }

  // The keys as (width, keys), behind them the values as (keys, value_width).
  void pack(int64_t head, int64_t first, int64_t count, T* to) const {
    const AttentionSizes& s = c_.sizes;
    c_.panels.pack(to + first * s.width, s.width, c_.at(c_.key, head, first), c_.key.column_stride,
                   c_.key.row_stride, s.width, count);
    c_.panels.pack(to + key_size_ + first * c_.panels.columns(), s.keys,
                   c_.at(c_.value, head, first), c_.value.row_stride, c_.value.column_stride, count,
                   s.value_width);
  }

  void attend(int64_t head, int64_t stripe, const T* packed, const ScoreRows<T>& rows) const {
    const AttentionSizes& s = c_.sizes;
    const int64_t first = s.queries * stripe / stripes_;
    const int64_t end = s.queries * (stripe + 1) / stripes_;
    const int64_t seen = c_.seen_before(end);
    const T* const values = packed + key_size_;
    T* const to = out_ + (head * s.queries + first) * s.value_width;
    for (int64_t from = 0; from < seen || from == 0; from += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, seen - from);
      c_.weigh(head, first, end - first, from, keys, packed, rows);
      if (from > 0) {
        c_.kernels.scale_rows(to, end - first, s.value_width, s.value_width, rows.factors);
      }
      c_.panels.multiply(end - first, s.value_width, keys, rows.scores, rows.step, 1,
                         values + from * c_.panels.columns(), s.keys, to, s.value_width, from > 0);
    }
    c_.divide(to, end - first, rows);
  }

  const AttentionCall<T>& c_;
  T* out_;
  int64_t key_size_, value_size_;  // of a head's packed keys and values
  int64_t rows_;                   // of a stripe of queries: a tile's
  int64_t stripes_;
};

// Calls f(call) for a call of the element type of the inputs.
template <class F>
void with_call(const Op& op, Arrays inputs, Arrays masks, Workspace& workspace, F&& f) {
  inputs[0]->dtype == DType::kFloat32 ? f(AttentionCall<float>(op, inputs, masks, workspace))
                                      : f(AttentionCall<double>(op, inputs, masks, workspace));
}

void attention(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  if (outputs[0]->count == 0) return;
  with_call(op, inputs, inputs.subspan(3), workspace, [&](const auto& call) {
    if (!attend_in_place(call, *outputs[0])) AttentionForward(call, *outputs[0]).run();
  });
}

void attention_grad(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  with_call(op, inputs, inputs.subspan(4), workspace,
            [&](const auto& call) { attention_backward(call, *inputs[3], outputs); });
}

constexpr std::pair<std::string_view, KernelRule> kAttentionKernels[] = {
    {"attention", attention},
    {"attention_grad", attention_grad},
};

}  // namespace

RuleTable<KernelRule> attention_kernels() { return kAttentionKernels; }

}  // namespace tensorlike
