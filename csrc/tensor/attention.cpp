// Attention and its gradient, a stripe of queries at a time: the scores of a stripe stay in the
// caches between the matrix products that make and use them, and the matrix of all scores is never
// in memory. Backward computes the weights anew.
#include "op/attention.h"

#include <algorithm>
#include <cmath>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "kernels/kernel_table.h"
#include "op/families.h"
#include "tensor/layout.h"
#include "tensor/scratch.h"

namespace tensorlike {
namespace {

constexpr int64_t kStripeElements = 128 * 1024;  // scores of a stripe
constexpr int64_t kMaxStripe = 112;              // queries: a whole number of the product's tiles
constexpr int64_t kMinStripe = 8;

// A batch of matrices, with strides of 0 where it repeats.
struct Matrices {
  Ref<RawTensor> held;
  char* data = nullptr;
  Dims batch_strides;
  int64_t row_stride = 0, column_stride = 0;

  template <class T>
  T* at(int64_t index, const Dims& batch) const {
    int64_t offset = 0;
    for (size_t i = batch.size(); i-- > 0;) {
      offset += index % batch[i] * batch_strides[i];
      index /= batch[i];
    }
    return reinterpret_cast<T*>(data) + offset;
  }
};

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

// What is added to scores: a mask of booleans says which keys take part.
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

// to[column, row] = from[row, column]: squares, so that both sides use whole cache lines.
template <class T>
void transpose(T* to, const T* from, int64_t rows, int64_t columns, int64_t row_stride,
               int64_t column_stride) {
  constexpr int64_t kSide = 16;
  for (int64_t i = 0; i < rows; i += kSide) {
    const int64_t row_end = std::min(rows, i + kSide);
    for (int64_t j = 0; j < columns; j += kSide) {
      const int64_t column_end = std::min(columns, j + kSide);
      for (int64_t c = j; c < column_end; ++c) {
        for (int64_t r = i; r < row_end; ++r) {
          to[c * rows + r] = from[r * row_stride + c * column_stride];
        }
      }
    }
  }
}

// The operands of one call and how it is cut into stripes; the cut follows from the shapes alone.
template <class T>
class Attention {
 public:
  Attention(const Op& op, RawArgs inputs, const RawTensor* mask)
      : sizes_(attention_sizes(op, *inputs[0], *inputs[1], *inputs[2])),
        query_(operand(*inputs[0], sizes_.queries, sizes_.width)),
        key_(operand(*inputs[1], sizes_.keys, sizes_.width)),
        value_(operand(*inputs[2], sizes_.keys, sizes_.value_width)),
        kernels_(kernel_table().attention[dtype_of<T>]),
        scale_(attention_scale(op, sizes_.width)),
        is_causal_(op.get<bool>("is_causal")),
        count_(element_count(sizes_.batch)) {
    if (mask != nullptr) {
      mask_ = matrices(added_to_scores(*mask, dtype_of<T>, sizes_.keys), sizes_.batch,
                       sizes_.queries, sizes_.keys);
    }
    const int64_t most =
        std::clamp(kStripeElements / std::max<int64_t>(1, sizes_.keys), kMinStripe, kMaxStripe);
    stripes_ = std::max<int64_t>(1, (sizes_.queries + most - 1) / most);
    stripe_rows_ = (sizes_.queries + stripes_ - 1) / stripes_;
  }

  void forward(RawTensor& out) const {
    const int64_t head = sizes_.queries * sizes_.value_width;
    BlockingRegion blocking(work() > 1e6);
    parallel_for(count_ * stripes_, grain(), [&](int64_t begin, int64_t end) {
      const Buffers buffers(*this, false);
      int64_t known = -1;
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t index = unit / stripes_;
        if (index != known) transpose_keys(index, buffers.keys);
        known = index;
        const AttentionStripe stripe = stripe_at(unit % stripes_);
        const int64_t first = first_row(unit % stripes_);
        weigh(index, first, stripe, buffers);
        T* to = out.as<T>() + index * head + first * sizes_.value_width;
        gemm<T>(stripe.rows, sizes_.value_width, stripe.keys, buffers.weights, stripe.keys, 1,
                value_.at<T>(index, sizes_.batch), value_.row_stride, value_.column_stride, to,
                sizes_.value_width);
        kernels_.scale_rows(stripe, to, sizes_.value_width, buffers.factors);
      }
    });
  }

  // Into tensors of the whole batch.
  void backward(const RawTensor& cotangent, RawTensor& dquery, RawTensor& dkey,
                RawTensor& dvalue) const {
    const Matrices dy = operand(cotangent, sizes_.queries, sizes_.value_width);
    BlockingRegion blocking(work() > 1e6);
    parallel_for(count_, 1, [&](int64_t begin, int64_t end) {
      const Buffers buffers(*this, true);
      for (int64_t index = begin; index < end; ++index) {
        backward_head(index, dy, buffers, dquery.as<T>(), dkey.as<T>(), dvalue.as<T>());
      }
    });
  }

 private:
  struct Buffers {
    Buffers(const Attention& a, bool is_backward) : scratch(bytes(a, is_backward)) {
      const AttentionSizes& s = a.sizes_;
      keys = scratch.take<T>(s.keys * s.width);
      weights = scratch.take<T>(a.stripe_rows_ * s.keys);
      factors = scratch.take<T>(a.stripe_rows_);
      if (!is_backward) return;
      values = scratch.take<T>(s.keys * s.value_width);
      dweights = scratch.take<T>(a.stripe_rows_ * s.keys);
      part = scratch.take<T>(s.keys * std::max(s.width, s.value_width));
    }
    static size_t bytes(const Attention& a, bool is_backward) {
      const AttentionSizes& s = a.sizes_;
      int64_t count = s.keys * s.width + a.stripe_rows_ * (s.keys + 1);
      if (is_backward) count += a.stripe_rows_ * s.keys + s.keys * s.value_width;
      if (is_backward) count += s.keys * std::max(s.width, s.value_width);
      return static_cast<size_t>(count) * sizeof(T) + 6 * 64;
    }
    Scratch scratch;
    T* keys;  // transposed, as values
    T* weights;
    T* factors;
    T* values = nullptr;
    T* dweights = nullptr;
    T* part = nullptr;
  };

  Matrices operand(const RawTensor& x, int64_t rows, int64_t columns) const {
    return matrices(cast_if_needed(x, dtype_of<T>), sizes_.batch, rows, columns);
  }

  double work() const {
    return static_cast<double>(count_) * static_cast<double>(sizes_.queries * sizes_.keys) *
           static_cast<double>(sizes_.width + sizes_.value_width);
  }

  // Stripes of a head are done together where there are heads for all threads: the head's keys are
  // then transposed once.
  int64_t grain() const { return count_ >= int64_t{4} * num_threads() ? stripes_ : 1; }

  int64_t first_row(int64_t stripe) const { return stripe * stripe_rows_; }

  AttentionStripe stripe_at(int64_t number) const {
    const int64_t first = first_row(number);
    AttentionStripe stripe;
    stripe.rows = std::clamp<int64_t>(sizes_.queries - first, 0, stripe_rows_);
    stripe.keys = is_causal_ ? std::min(sizes_.keys, first + stripe.rows) : sizes_.keys;
    stripe.first_seen = is_causal_ ? first + 1 : -1;
    stripe.scale = scale_;
    stripe.mask_step = mask_.row_stride;
    return stripe;
  }

  void transpose_keys(int64_t index, T* to) const {
    transpose(to, key_.at<T>(index, sizes_.batch), sizes_.keys, sizes_.width, key_.row_stride,
              key_.column_stride);
  }

  void weigh(int64_t index, int64_t first, const AttentionStripe& stripe,
             const Buffers& buffers) const {
    gemm<T>(stripe.rows, stripe.keys, sizes_.width,
            query_.at<T>(index, sizes_.batch) + first * query_.row_stride, query_.row_stride,
            query_.column_stride, buffers.keys, sizes_.keys, 1, buffers.weights, stripe.keys);
    const T* mask = nullptr;
    if (mask_.held) mask = mask_.at<T>(index, sizes_.batch) + first * mask_.row_stride;
    kernels_.weigh(stripe, buffers.weights, mask, buffers.factors);
  }

  void backward_head(int64_t index, const Matrices& cotangent, const Buffers& buffers, T* dquery,
                     T* dkey, T* dvalue) const {
    const AttentionSizes& s = sizes_;
    transpose_keys(index, buffers.keys);
    transpose(buffers.values, value_.at<T>(index, s.batch), s.keys, s.value_width,
              value_.row_stride, value_.column_stride);
    T* const dk = dkey + index * s.keys * s.width;
    T* const dv = dvalue + index * s.keys * s.value_width;
    std::fill_n(dk, s.keys * s.width, T{0});
    std::fill_n(dv, s.keys * s.value_width, T{0});
    for (int64_t number = 0; number < stripes_; ++number) {
      const AttentionStripe stripe = stripe_at(number);
      const int64_t first = first_row(number);
      weigh(index, first, stripe, buffers);
      kernels_.scale_rows(stripe, buffers.weights, stripe.keys, buffers.factors);
      const T* dy = cotangent.at<T>(index, s.batch) + first * cotangent.row_stride;
      const T* query = query_.at<T>(index, s.batch) + first * query_.row_stride;
      gemm<T>(stripe.rows, stripe.keys, s.value_width, dy, cotangent.row_stride,
              cotangent.column_stride, buffers.values, s.keys, 1, buffers.dweights, stripe.keys);
      kernels_.score_grad(stripe, buffers.dweights, buffers.weights);
      gemm<T>(stripe.rows, s.width, stripe.keys, buffers.dweights, stripe.keys, 1,
              key_.at<T>(index, s.batch), key_.row_stride, key_.column_stride,
              dquery + (index * s.queries + first) * s.width, s.width);
      // What this stripe adds to the gradients of all its keys.
      gemm<T>(stripe.keys, s.width, stripe.rows, buffers.dweights, 1, stripe.keys, query,
              query_.row_stride, query_.column_stride, buffers.part, s.width);
      kernels_.add(dk, buffers.part, stripe.keys * s.width);
      gemm<T>(stripe.keys, s.value_width, stripe.rows, buffers.weights, 1, stripe.keys, dy,
              cotangent.row_stride, cotangent.column_stride, buffers.part, s.value_width);
      kernels_.add(dv, buffers.part, stripe.keys * s.value_width);
    }
  }

  AttentionSizes sizes_;
  Matrices query_, key_, value_, mask_;
  const AttentionKernels& kernels_;
  double scale_;
  bool is_causal_;
  int64_t count_;
  int64_t stripes_ = 1;
  int64_t stripe_rows_ = 1;
};

Values attention(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  const Ref<RawTensor> out = RawTensor::empty(dtype, outputs[0].shape);
  const RawTensor* mask = inputs.size() > 3 ? inputs[3] : nullptr;
  if (out->size() > 0) {
    dtype == DType::kFloat32 ? Attention<float>(op, inputs, mask).forward(*out)
                             : Attention<double>(op, inputs, mask).forward(*out);
  }
  return one(cast_if_needed(*out, outputs[0].dtype));
}

Values attention_grad(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const DType dtype = compute_of(outputs[0].dtype);
  Ref<RawTensor> found[3];
  for (size_t i = 0; i < 3; ++i) found[i] = RawTensor::empty(dtype, outputs[i].shape);
  const RawTensor* mask = inputs.size() > 4 ? inputs[4] : nullptr;
  auto run = [&](const auto& attention) {
    attention.backward(*inputs[3], *found[0], *found[1], *found[2]);
  };
  dtype == DType::kFloat32 ? run(Attention<float>(op, inputs, mask))
                           : run(Attention<double>(op, inputs, mask));
  Values results;
  for (size_t i = 0; i < 3; ++i) results.push_back(cast_if_needed(*found[i], outputs[i].dtype));
  return results;
}

constexpr std::pair<std::string_view, Kernel> kKernels[] = {
    {"attention", attention},
    {"attention_grad", attention_grad},
};

}  // namespace

RuleTable<Kernel> attention_kernels() { return kKernels; }

}  // namespace tensorlike
