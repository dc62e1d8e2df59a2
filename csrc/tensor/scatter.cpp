// ScatterSet, ScatterAdd and PutAlongAxis: elements and rows written, or added, to where indices
// point. Whatever the number of threads, an element receives its values in the order of the
// indices: threads share the destination, never the indices. Where many single values meet in few
// elements, a fixed number of parts sum them apart, and the sums are added in order.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/families.h"
#include "tensor/indexed.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

constexpr int64_t kMostParts = 8;       // sums apart: more would cost more to add than they save
constexpr int64_t kPartValues = 65536;  // values that deserve a part
constexpr int64_t kPartTimes = 4;       // as many as the elements whose sums a part clears and adds

// What is done with the values: by the size of an element, or, to add, by its dtype.
struct Writer {
  int64_t size;
  const AddKernels* adds;  // null: the values replace

  // Of n values, or of those at n places.
  void elements(char* out, const int64_t* offsets, const char* values, int64_t n,
                const int32_t* places = nullptr) const {
    if (adds != nullptr) {
      adds->elements(out, offsets, values, n, places);
    } else {
      picks(size).put(out, offsets, values, n, places);
    }
  }
  void row(char* out, const char* values, int64_t n) const {
    if (adds != nullptr) {
      adds->row(out, values, n);
    } else {
      std::memcpy(out, values, static_cast<size_t>(n * size));
    }
  }
};

// Single values: `offsets(to, begin, n)` tells where those at [begin, begin + n) belong in `out`,
// which has `span` elements, and returns how many of them it told: n, or 0 if one does not fit.
template <class Offsets>
class ElementScatter {
 public:
  ElementScatter(const Writer& writer, char* out, int64_t span, const char* values, int64_t count,
                 const Offsets& offsets)
      : writer_(writer),
        out_(out),
        span_(span),
        values_(values),
        count_(count),
        offsets_(offsets) {}

  // Depends on the sizes alone, and with it the rounding.
  bool sums_apart() const { return writer_.adds != nullptr && parts() > 1; }

  void run() const {
    if (sums_apart()) {
      sum_apart(parts());
      return;
    }
    const int64_t threads = count_ > kElementGrain ? num_threads() : 1;
    parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
      if (end - begin == threads) {
        write_all(0, count_);
      } else {
        write_within(span_ * begin / threads, span_ * end / threads);
      }
    });
  }

  // The values at [begin, end), by this thread alone.
  void write_all(int64_t begin, int64_t end) const {
    int64_t offsets[kOffsetTile];
    for (int64_t at = begin; at < end; at += kOffsetTile) {
      const int64_t n = offsets_(offsets, at, std::min(kOffsetTile, end - at));
      writer_.elements(out_, offsets, values_ + at * writer_.size, n);
    }
  }

 private:
  int64_t parts() const {
    return std::min({kMostParts, count_ / (kPartTimes * span_ + 1), count_ / kPartValues});
  }

  // Those values that belong to the elements [begin, end) of the destination.
  void write_within(int64_t begin, int64_t end) const {
    int64_t offsets[kOffsetTile];
    int32_t places[kOffsetTile];
    const int64_t size = writer_.size;
    for (int64_t at = 0; at < count_; at += kOffsetTile) {
      const int64_t n = offsets_(offsets, at, std::min(kOffsetTile, count_ - at));
      const int64_t m = kernel_table().masks.within(places, offsets, n, begin * size, end * size);
      writer_.elements(out_, offsets, values_ + at * size, m, places);
    }
  }

  void sum_apart(int64_t parts) const {
    const AddKernels& adds = *writer_.adds;
    const size_t bytes = static_cast<size_t>(span_) * adds.sum_size;
    const Ref<Storage> storage = Storage::allocate(bytes * static_cast<size_t>(parts));
    char* sums = storage->data();
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      int64_t offsets[kOffsetTile];
      for (int64_t part = begin; part < end; ++part) {
        char* own = sums + static_cast<size_t>(part) * bytes;
        std::memset(own, 0, bytes);
        const int64_t last = count_ * (part + 1) / parts;
        for (int64_t at = count_ * part / parts; at < last; at += kOffsetTile) {
          const int64_t n = offsets_(offsets, at, std::min(kOffsetTile, last - at));
          adds.sums(own, offsets, values_ + at * writer_.size, n);
        }
      }
    });
    const void* all[kMostParts];
    for (int64_t p = 0; p < parts; ++p) all[p] = sums + static_cast<size_t>(p) * bytes;
    parallel_for(span_, kElementGrain,
                 [&](int64_t begin, int64_t end) { adds.join(out_, all, parts, begin, end); });
  }

  const Writer& writer_;
  char* out_;
  int64_t span_;
  const char* values_;
  int64_t count_;
  const Offsets& offsets_;
};

// A contiguous destination (outer, span, inner) and values (outer, count, inner).
struct Table {
  char* out;
  const char* values;
  int64_t outer, span, count, inner;
};

// Rows of `inner` elements. The threads share their columns, or the outer positions, or else the
// rows of the destination.
template <class Offsets>
void scatter_rows(const Writer& writer, const Table& t, const Offsets& offsets_of) {
  const bool is_small = t.outer * t.count * t.inner <= kElementGrain;
  const int64_t pieces = is_small || t.outer >= num_threads() ? 1 : num_threads();
  const bool by_columns = pieces == 1 || t.inner >= 64 * pieces;
  const int64_t row_bytes = t.inner * writer.size;
  auto scatter_piece = [&](int64_t o, int64_t piece) {
    int64_t offsets[kOffsetTile];
    int32_t places[kOffsetTile];
    const int64_t first = by_columns ? t.inner * piece / pieces : 0;
    const int64_t n = by_columns ? t.inner * (piece + 1) / pieces - first : t.inner;
    char* out = t.out + o * t.span * row_bytes + first * writer.size;
    const char* values = t.values + o * t.count * row_bytes + first * writer.size;
    for (int64_t at = 0; at < t.count; at += kOffsetTile) {
      const int64_t tile = offsets_of(offsets, at, std::min(kOffsetTile, t.count - at));
      if (by_columns) {
        for (int64_t i = 0; i < tile; ++i) {
          writer.row(out + offsets[i], values + (at + i) * row_bytes, n);
        }
        continue;
      }
      const int64_t chosen =
          kernel_table().masks.within(places, offsets, tile, t.span * piece / pieces * row_bytes,
                                      t.span * (piece + 1) / pieces * row_bytes);
      for (int64_t i = 0; i < chosen; ++i) {
        writer.row(out + offsets[places[i]], values + (at + places[i]) * row_bytes, n);
      }
    }
  };
  const int64_t jobs = t.outer * pieces;
  parallel_for(jobs, is_small ? jobs : 1, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) scatter_piece(job / pieces, job % pieces);
  });
}

template <class Offsets>
void scatter_elements(const Writer& writer, const Table& t, const Offsets& offsets) {
  auto scatter_at = [&](int64_t o) {
    return ElementScatter(writer, t.out + o * t.span * writer.size, t.span,
                          t.values + o * t.count * writer.size, t.count, offsets);
  };
  if (t.outer < num_threads()) {
    for (int64_t o = 0; o < t.outer; ++o) scatter_at(o).run();
    return;
  }
  parallel_for(t.outer, std::max<int64_t>(1, kElementGrain / (t.count + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t o = begin; o < end; ++o) scatter_at(o).run();
               });
}

// x, or a copy of it that may be written to, with its axes in this order and contiguous.
Ref<RawTensor> writable(RawTensor& x, std::span<const size_t> order, bool is_reusable) {
  Dims shape, strides;
  for (size_t axis : order) {
    shape.push_back(x.shape[axis]);
    strides.push_back(x.strides[axis]);
  }
  Ref<RawTensor> seen = x.view(shape, strides);
  return is_reusable && seen->is_contiguous ? seen : copy(*seen);
}

Ref<RawTensor> in_old_order(const RawTensor& x, std::span<const size_t> order) {
  Dims shape(order.size());
  Dims strides(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    shape[order[i]] = x.shape[i];
    strides[order[i]] = x.strides[i];
  }
  return x.view(shape, strides);
}

// The value, broadcast to `shape` and with its axes in this order: in our own dtype, contiguous,
// and not in the memory that is written to.
Ref<RawTensor> arranged(RawTensor& value, const RawTensor& out, const Dims& shape,
                        std::span<const size_t> order) {
  const Ref<RawTensor> wide = broadcast_to(*cast_if_needed(value, out.dtype), shape);
  Dims new_shape, strides;
  for (size_t axis : order) {
    new_shape.push_back(wide->shape[axis]);
    strides.push_back(wide->strides[axis]);
  }
  const Ref<RawTensor> seen = wide->view(new_shape, strides);
  return seen->storage == out.storage ? copy(*seen) : contiguous(*seen);
}

Writer writer_for(DType dtype, bool adds) {
  return {static_cast<int64_t>(size_of(dtype)), adds ? &kernel_table().adds[dtype] : nullptr};
}

// Sums of a storage dtype are made in the dtype that it is computed in, and rounded once.
Values in_compute_dtype(const Op& op, RawArgs inputs, MakingKernel kernel) {
  const Ref<RawTensor> x = cast(*inputs[0], compute_of(inputs[0]->dtype));
  SmallVector<RawTensor*, 4> args(inputs.begin(), inputs.end());
  args[0] = x.get();
  const Values sums = kernel(op, {args.data(), args.size()}, {}, 1U);
  return one(cast(static_cast<const RawTensor&>(*sums[0]), inputs[0]->dtype));
}

bool is_computed_wider(const RawTensor& x) { return compute_of(x.dtype) != x.dtype; }

Values scatter(const Op& op, RawArgs inputs, uint32_t reusable, bool adds) {
  const bool in_place = (reusable & 1U) != 0;
  Indexed indexed(op, *inputs[0], inputs.subspan(2));
  // Memory that is someone's input is not written to before all indices are known to fit; and where
  // they are read for several tables, once is enough.
  if (in_place || indexed.lead > 0) indexed.check(op);
  // The axes of x as (lead, indexed, others), those of the value likewise.
  SmallVector<size_t, 8> order;
  SmallVector<size_t, 8> value_order;
  const size_t index_ndim = indexed.shape.size();
  Dims value_shape = indexed.shape;
  for (size_t axis : indexed.rest) value_shape.push_back(inputs[0]->shape[axis]);
  for (size_t i = 0; i < indexed.lead; ++i) {
    order.push_back(i);
    value_order.push_back(index_ndim + i);
  }
  for (size_t axis : indexed.axes) order.push_back(axis);
  for (size_t i = 0; i < index_ndim; ++i) value_order.push_back(i);
  for (size_t i = indexed.lead; i < indexed.rest.size(); ++i) {
    order.push_back(indexed.rest[i]);
    value_order.push_back(index_ndim + i);
  }
  const Ref<RawTensor> out = writable(*inputs[0], order, in_place);
  const Ref<RawTensor> result = in_old_order(*out, order);
  const Ref<RawTensor> value = arranged(*inputs[1], *out, value_shape, value_order);
  if (value->count == 0) {  // nothing is written, but wrong indices stay wrong
    indexed.check(op);
    return one(result);
  }
  Table t{out->data, value->data, 1, 1, indexed.count, 1};
  Dims strides;
  Writer writer = writer_for(out->dtype, adds);
  for (size_t i = 0; i < order.size(); ++i) {
    const bool is_indexed = i >= indexed.lead && i < indexed.lead + indexed.axes.size();
    if (is_indexed) strides.push_back(out->strides[i] * writer.size);
    (is_indexed ? t.span : i < indexed.lead ? t.outer : t.inner) *= out->shape[i];
  }
  if (!adds && is_word(t.inner * writer.size)) {  // a short row moves as one word
    writer.size *= t.inner;
    t.inner = 1;
  }
  std::atomic<bool> all_fit{true};
  const auto offsets = [&](int64_t* to, int64_t begin, int64_t n) -> int64_t {
    if (indexed.offsets(to, begin, n, strides)) return n;
    all_fit.store(false, std::memory_order_relaxed);
    return 0;
  };
  {
    BlockingRegion blocking(value->count > kLongElements);
    if (t.inner == 1) {
      scatter_elements(writer, t, offsets);
    } else {
      scatter_rows(writer, t, offsets);
    }
  }
  if (!all_fit.load(std::memory_order_relaxed)) indexed.check(op);
  return one(result);
}

Values scatter_set(const Op& op, RawArgs inputs, const Specs&, uint32_t reusable) {
  return scatter(op, inputs, reusable, false);
}

Values scatter_add(const Op& op, RawArgs inputs, const Specs&, uint32_t reusable) {
  if (is_computed_wider(*inputs[0])) return in_compute_dtype(op, inputs, scatter_add);
  return scatter(op, inputs, reusable, true);
}

Values put_along_axis(const Op& op, RawArgs inputs, const Specs&, uint32_t reusable) {
  const bool adds = op.get<std::string>("mode") == "add";
  if (adds && is_computed_wider(*inputs[0])) return in_compute_dtype(op, inputs, put_along_axis);
  const size_t ndim = inputs[0]->shape.size();
  SmallVector<size_t, 8> order;
  for (size_t i = 0; i < ndim; ++i) order.push_back(i);
  Dims shape = inputs[0]->shape;
  const size_t axis = along_axis(op, ndim);
  shape[axis] = inputs[1]->shape[axis];
  const Along along(op, *inputs[1], shape, inputs[0]->shape, inputs[0]->dtype);
  const Ref<RawTensor> out = writable(*inputs[0], order, (reusable & 1U) != 0);
  const Ref<RawTensor> value = arranged(*inputs[2], *out, shape, order);
  if (along.count() == 0) return one(out);
  const Writer writer = writer_for(out->dtype, adds);
  const auto offsets = [&](int64_t* to, int64_t begin, int64_t n) {
    along.offsets(to, begin, n);
    return n;
  };
  const ElementScatter scatter(writer, out->data, out->count, value->data, along.count(), offsets);
  BlockingRegion blocking(along.count() > kLongElements);
  if (scatter.sums_apart() || along.outer() < num_threads()) {
    scatter.run();
    return one(out);
  }
  parallel_for(along.outer(), std::max<int64_t>(1, kElementGrain / along.row()),
               [&](int64_t begin, int64_t end) {
                 scatter.write_all(begin * along.row(), end * along.row());
               });
  return one(out);
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"scatter_set", scatter_set},
    {"scatter_add", scatter_add},
    {"put_along_axis", put_along_axis},
};

}  // namespace

RuleTable<KernelRule> scatter_kernels() { return kKernels; }

}  // namespace tensorlike
