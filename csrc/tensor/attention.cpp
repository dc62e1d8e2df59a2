// Attention forward: the keys are gone through in blocks with a running maximum and sum (online
// softmax), so that what a query needs does not grow with the number of keys.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/blocking.h"
#include "op/families.h"
#include "tensor/attention_call.h"

namespace tensorlike {

Matrices matrices(const Ref<RawTensor>& x, const Dims& batch, int64_t rows, int64_t columns) {
  Dims shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  Matrices found;
  found.held = broadcast_to(*x, shape);
  found.data = found.held->data;
  found.batch_strides.assign(found.held->strides.begin(), found.held->strides.end() - 2);
  found.row_stride = found.held->strides[batch.size()];
  found.column_stride = found.held->strides[batch.size() + 1];
  return found;
}

Ref<RawTensor> added_to_scores(const RawTensor& mask, DType dtype, int64_t keys) {
  Dims shape(std::max<size_t>(1, mask.shape.size()));
  std::copy(mask.shape.begin(), mask.shape.end(), shape.begin());
  shape.back() = keys;
  const Ref<RawTensor> whole = contiguous(*broadcast_to(mask, shape));
  if (mask.dtype != DType::kBool) return cast_if_needed(*whole, dtype);
  const Ref<RawTensor> added = RawTensor::empty(dtype, shape);
  const bool* takes_part = whole->as<bool>();
  auto fill = [&](auto* to) {
    for (int64_t i = 0; i < added->size(); ++i) to[i] = takes_part[i] ? 0 : -HUGE_VALF;
  };
  dtype == DType::kFloat32 ? fill(added->as<float>()) : fill(added->as<double>());
  return added;
}

namespace {

constexpr int64_t kKeyBlock = 512;    // so that the scores of a tile's queries stay in the L1 cache
constexpr int64_t kPackedKeys = 128;  // keys that are packed at once; a multiple of any panel's

template <class T>
class Forward {
 public:
  Forward(const AttentionCall<T>& call, RawTensor& out)
      : c_(call),
        out_(out.as<T>()),
        key_size_(c_.panels.packed_size(c_.sizes.width, c_.sizes.keys)),
        value_size_(c_.panels.packed_size(c_.sizes.keys, c_.sizes.value_width)),
        rows_(c_.panels.rows()),
        stripes_((c_.sizes.queries + rows_ - 1) / rows_) {}

  void run() const {
    BlockingRegion blocking(c_.work() > 1e6);
    // With fewer heads threads share one: its keys are then packed before.
    if (c_.heads >= int64_t{4} * num_threads()) {
      parallel_for(c_.heads, 1, [&](int64_t begin, int64_t end) {
        Scratch scratch(scratch_bytes() + packed_bytes(1));
        T* const packed = scratch.take<T>(key_size_ + value_size_);
        const ScoreRows<T> rows(scratch, rows_, step());
        for (int64_t head = begin; head < end; ++head) {
          pack(head, 0, c_.sizes.keys, packed);
          for (int64_t stripe = 0; stripe < stripes_; ++stripe) attend(head, stripe, packed, rows);
        }
      });
      return;
    }
    const std::unique_ptr<T[]> packed(
        new T[static_cast<size_t>(c_.heads * (key_size_ + value_size_))]);
    auto packed_of = [&](int64_t head) { return packed.get() + head * (key_size_ + value_size_); };
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

 private:
  int64_t step() const { return c_.row_step(std::min(kKeyBlock, c_.sizes.keys)); }
  size_t scratch_bytes() const { return ScoreRows<T>::bytes(rows_, step()); }
  size_t packed_bytes(int64_t heads) const {
    return static_cast<size_t>(heads * (key_size_ + value_size_)) * sizeof(T) + 64;
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
    for (int64_t r = 0; r < end - first; ++r) {
      // A row that sees nothing weighs nothing.
      rows.factors[r] = static_cast<T>(rows.totals[r] == 0 ? 0.0 : 1.0 / rows.totals[r]);
    }
    c_.kernels.scale_rows(to, end - first, s.value_width, s.value_width, rows.factors);
  }

  const AttentionCall<T>& c_;
  T* out_;
  int64_t key_size_, value_size_;  // of a head's packed keys and values
  int64_t rows_;                   // of a stripe of queries: a tile's
  int64_t stripes_;
};

Values attention(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Ref<RawTensor> out = RawTensor::empty(dtype, outputs[0].shape);
  const RawTensor* mask = inputs.size() > 3 ? inputs[3] : nullptr;
  auto run = [&](const auto& call) { Forward(call, *out).run(); };
  if (out->size() > 0) {
    dtype == DType::kFloat32 ? run(AttentionCall<float>(op, inputs, mask))
                             : run(AttentionCall<double>(op, inputs, mask));
  }
  return one(cast_if_needed(*out, outputs[0].dtype));
}

Values attention_grad(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  Ref<RawTensor> found[3];
  for (size_t i = 0; i < 3; ++i) found[i] = RawTensor::empty(dtype, outputs[i].shape);
  const RawTensor* mask = inputs.size() > 4 ? inputs[4] : nullptr;
  auto run = [&](const auto& call) {
    attention_backward(call, *inputs[3], *found[0], *found[1], *found[2]);
  };
  dtype == DType::kFloat32 ? run(AttentionCall<float>(op, inputs, mask))
                           : run(AttentionCall<double>(op, inputs, mask));
  Values results;
  for (size_t i = 0; i < 3; ++i) results.push_back(cast_if_needed(*found[i], outputs[i].dtype));
  return results;
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"attention", attention},
    {"attention_grad", attention_grad},
};

}  // namespace

RuleTable<KernelRule> attention_kernels() { return kKernels; }

}  // namespace tensorlike
