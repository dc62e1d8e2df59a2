// The gradient of attention: some queries at a time against all keys that they see. All products
// are with packed operands; what queries add to the gradients of keys and values goes straight
// into them.
#include <algorithm>

#include "base/blocking.h"
#include "cpu/attention_call.h"

namespace tensorlike {
namespace {

constexpr int64_t kStripeElements = 128 * 1024;  // scores that stay in the second-level cache
constexpr int64_t kMostTiles = 8;                // of queries in a stripe
constexpr int64_t kMostCausalTiles = 3;  // where smaller stripes see less that they need not
constexpr int64_t kLeastTiles = 2;
constexpr int64_t kLeastParts = 16;  // of the whole batch, so that there is work for threads

template <class T>
class AttentionBackward {
 public:
  AttentionBackward(const AttentionCall<T>& call, const Array& cotangent, Arrays gradients)
      : c_(call),
        s_(call.sizes),
        cotangent_(matrices(cotangent, s_.batch)),
        dquery_(gradients[0]->template as<T>()),
        dkey_(gradients[1]->template as<T>()),
        dvalue_(gradients[2]->template as<T>()) {
    const int64_t tiles = kStripeElements / std::max<int64_t>(1, s_.keys) / c_.panels.rows();
    const int64_t limit = c_.is_causal ? kMostCausalTiles : kMostTiles;
    const int64_t most = std::clamp(tiles, kLeastTiles, limit) * c_.panels.rows();
    stripes_ = std::max<int64_t>(1, (s_.queries + most - 1) / most);
    rows_ = (s_.queries + stripes_ - 1) / stripes_;
    // The cut follows from the shapes alone: sums have the same order for any number of threads.
    parts_ = std::clamp(kLeastParts / std::max<int64_t>(1, c_.heads), int64_t{1}, stripes_);
  }

  void run() const {
    BlockingRegion blocking(c_.work() > 1e6);
    const int64_t key_size = s_.keys * s_.width;
    const int64_t value_size = s_.keys * s_.value_width;
    // Where parts share a head, each has gradients of its own, which are added up at the end.
    const int64_t parts = c_.heads * parts_;
    T* const dkeys = parts_ == 1 ? dkey_ : take(parts * key_size);
    T* const dvalues = parts_ == 1 ? dvalue_ : take(parts * value_size);
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      Scratch scratch(bytes());
      const Buffers buffers(*this, scratch);
      for (int64_t i = begin; i < end; ++i) {
        add_part(i / parts_, i % parts_, buffers, dkeys + i * key_size, dvalues + i * value_size);
      }
    });
    if (parts_ == 1) return;
    add_up(dkeys, dkey_, key_size);
    add_up(dvalues, dvalue_, value_size);
  }

 private:
  struct Buffers {
    Buffers(const AttentionBackward& b, Scratch& scratch)
        : weights(scratch, b.rows_, b.step()),
          dweights(scratch.take<T>(b.rows_ * b.step())),
          keys(scratch.take<T>(b.packed(b.s_.width, b.s_.keys))),
          key_rows(scratch.take<T>(b.packed(b.s_.keys, b.s_.width))),
          values(scratch.take<T>(b.packed(b.s_.value_width, b.s_.keys))),
          queries(scratch.take<T>(b.packed(b.rows_, b.s_.width))),
          cotangents(scratch.take<T>(b.packed(b.rows_, b.s_.value_width))) {}
    ScoreRows<T> weights;
    T* dweights;
    // Packed, of the head: (width, keys), (keys, width), (value_width, keys).
    T *keys, *key_rows, *values;
    // Packed, of the stripe: (rows, width), (rows, value_width).
    T *queries, *cotangents;
  };

  T* take(int64_t count) const { return c_.workspace.template take<T>(count); }
  int64_t step() const { return c_.row_step(s_.keys); }
  int64_t packed(int64_t k, int64_t n) const { return c_.panels.packed_size(k, n); }
  size_t bytes() const {
    const int64_t count = rows_ * step() + packed(s_.width, s_.keys) + packed(s_.keys, s_.width) +
                          packed(s_.value_width, s_.keys) + packed(rows_, s_.width) +
                          packed(rows_, s_.value_width);
    return ScoreRows<T>::bytes(rows_, step()) + static_cast<size_t>(count) * sizeof(T) + 6 * 64;
  }

  // The stripes of a part of a head's queries.
  void add_part(int64_t head, int64_t part, const Buffers& b, T* dkey, T* dvalue) const {
    const AttentionMatrices& key = c_.key;
    const AttentionMatrices& value = c_.value;
    const T* keys = c_.at(key, head, 0);
    c_.panels.pack(b.keys, s_.width, keys, key.column_stride, key.row_stride, s_.width, s_.keys);
    c_.panels.pack(b.key_rows, s_.keys, keys, key.row_stride, key.column_stride, s_.keys, s_.width);
    c_.panels.pack(b.values, s_.value_width, c_.at(value, head, 0), value.column_stride,
                   value.row_stride, s_.value_width, s_.keys);
    std::fill_n(dkey, s_.keys * s_.width, T{0});
    std::fill_n(dvalue, s_.keys * s_.value_width, T{0});
    const int64_t end = stripes_ * (part + 1) / parts_;
    for (int64_t stripe = stripes_ * part / parts_; stripe < end; ++stripe) {
      const int64_t first = s_.queries * stripe / stripes_;
      const int64_t last = s_.queries * (stripe + 1) / stripes_;
      add_stripe(head, first, last - first, b, dkey, dvalue);
    }
  }

  void add_stripe(int64_t head, int64_t first, int64_t rows, const Buffers& b, T* dkey,
                  T* dvalue) const {
    const int64_t keys = c_.seen_before(first + rows);
    const int64_t step = b.weights.step;
    const T* const query = c_.at(c_.query, head, first);
    const T* const dy = c_.at(cotangent_, head, first);
    const ScoreBlock block = c_.weigh(head, first, rows, 0, keys, b.keys, b.weights);
    c_.panels.multiply(rows, keys, s_.value_width, dy, cotangent_.row_stride,
                       cotangent_.column_stride, b.values, s_.value_width, b.dweights, step, false);
    c_.kernels.score_grad(block, b.dweights, b.weights.scores, b.weights.totals);
    c_.panels.multiply(rows, s_.width, keys, b.dweights, step, 1, b.key_rows, s_.keys,
                       dquery_ + (head * s_.queries + first) * s_.width, s_.width, false);
    // What these queries add to the gradients of all keys that they see.
    c_.panels.pack(b.queries, rows, query, c_.query.row_stride, c_.query.column_stride, rows,
                   s_.width);
    c_.panels.multiply(keys, s_.width, rows, b.dweights, 1, step, b.queries, rows, dkey, s_.width,
                       true);
    c_.panels.pack(b.cotangents, rows, dy, cotangent_.row_stride, cotangent_.column_stride, rows,
                   s_.value_width);
    c_.panels.multiply(keys, s_.value_width, rows, b.weights.scores, 1, step, b.cotangents, rows,
                       dvalue, s_.value_width, true);
  }

  // The parts of each head, in their order.
  void add_up(const T* parts, T* to, int64_t size) const {
    parallel_for(c_.heads * size, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const first = parts + i / size * parts_ * size + i % size;
        T total = first[0];
        for (int64_t part = 1; part < parts_; ++part) total += first[part * size];
        to[i] = total;
      }
    });
  }

  const AttentionCall<T>& c_;
  const AttentionSizes& s_;
  AttentionMatrices cotangent_;
  T *dquery_, *dkey_, *dvalue_;
  int64_t stripes_ = 1;
  int64_t rows_ = 1;  // of a stripe, at most
  int64_t parts_ = 1;
};

}  // namespace

template <class T>
void attention_backward(const AttentionCall<T>& call, const Array& cotangent, Arrays gradients) {
  AttentionBackward<T>(call, cotangent, gradients).run();
}

template void attention_backward(const AttentionCall<float>&, const Array&, Arrays);
template void attention_backward(const AttentionCall<double>&, const Array&, Arrays);

}  // namespace tensorlike
