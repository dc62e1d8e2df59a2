// ScatterSet, ScatterAdd and PutAlongAxis: elements and rows written, or added, to where indices
// point. Whatever the number of threads, an element receives its values in the order of the
// indices: threads share the destination, never the indices. Where many single values meet in few
// elements, a fixed number of parts sum them apart, and the sums are added in order.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/indexed.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kMostParts = 8;       // sums apart: more would cost more to add than they save
constexpr int64_t kPartValues = 65536;  // values that deserve a part
constexpr int64_t kPartTimes = 4;       // as many as the elements whose sums a part clears and adds

// What is done with the values: by the size of an element, or, to add, by its dtype.
struct Writer {
  DType dtype;
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
  // Of rows, of which those of the values lie `step` bytes apart.
  void rows(char* out, const char* values, int64_t step, const PickedRows& rows) const {
    const RowPicks& picks = pick_table().rows;
    (adds != nullptr ? picks.add[dtype] : picks.put)(out, values, step, rows);
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
    Workspace workspace;  // our own: several threads may sum
    char* const sums = workspace.bytes(bytes * static_cast<size_t>(parts));
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
      int64_t found = offsets_of(offsets, at, std::min(kOffsetTile, t.count - at));
      if (!by_columns) {
        found =
            kernel_table().masks.within(places, offsets, found, t.span * piece / pieces * row_bytes,
                                        t.span * (piece + 1) / pieces * row_bytes);
      }
      writer.rows(out, values + at * row_bytes, row_bytes,
                  {offsets, found, by_columns ? nullptr : places, n * writer.size});
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

// The axes of x as (lead, indexed, others), and those of the value likewise.
struct Orders {
  explicit Orders(const Indexed& indexed) {
    const size_t index_ndim = indexed.shape.size();
    for (size_t i = 0; i < indexed.lead; ++i) {
      x.push_back(i);
      value.push_back(index_ndim + i);
    }
    for (size_t axis : indexed.axes) x.push_back(axis);
    for (size_t i = 0; i < index_ndim; ++i) value.push_back(i);
    for (size_t i = indexed.lead; i < indexed.rest.size(); ++i) {
      x.push_back(indexed.rest[i]);
      value.push_back(index_ndim + i);
    }
  }

  SmallVector<size_t, 8> x, value;
};

Array with_axes(const Array& x, std::span<const size_t> order) {
  Dims shape, strides;
  for (size_t axis : order) {
    shape.push_back(x.shape[axis]);
    strides.push_back(x.strides[axis]);
  }
  return x.view(std::move(shape), std::move(strides));
}

// Where the values go: in order, and holding x. The result itself where it lies so and has the
// dtype that is computed in: sums of a storage dtype are made in that, and rounded once.
class Target {
 public:
  Target(const Array& x, const Array& out, std::span<const size_t> order, bool adds,
         Workspace& workspace)
      : out_(with_axes(out, order)), at_(&out_) {
    const DType dtype = adds ? compute_of(out.dtype) : out.dtype;
    if (!out_.is_contiguous || dtype != out.dtype) {
      made_ = workspace.array(dtype, out_.shape);
      at_ = &made_;
    }
    if (at_->data != x.data) assign(*at_, with_axes(x, order));
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  const Array& at() const { return *at_; }
  void finish() const {
    if (at_ != &out_) assign(out_, *at_);
  }

 private:
  const Array out_;
  Array made_;
  const Array* at_;
};

Writer writer_for(DType dtype, bool adds) {
  return {dtype, static_cast<int64_t>(size_of(dtype)),
          adds ? &kernel_table().adds[dtype] : nullptr};
}

// The value broadcast to `shape`, with its axes in this order: contiguous, in the target's dtype.
Array arranged(const Array& value, DType dtype, const Dims& shape, std::span<const size_t> order,
               Workspace& workspace) {
  const Array wide = broadcast_to(cast(value, dtype, workspace), shape);
  return contiguous(with_axes(wide, order), workspace);
}

void scatter(const Op& op, Arrays inputs, const Array& out, Workspace& workspace, bool adds) {
  const Array& x = *inputs[0];
  const Indexed indexed(op, x, inputs.subspan(2), workspace);
  const Orders orders(indexed);
  const Target target(x, out, orders.x, adds, workspace);
  const Array& at = target.at();
  Dims value_shape = indexed.shape;
  for (size_t axis : indexed.rest) value_shape.push_back(x.shape[axis]);
  const Array value = arranged(*inputs[1], at.dtype, value_shape, orders.value, workspace);
  if (value.count == 0) {  // nothing is written, but wrong indices stay wrong
    indexed.check(op);
    return target.finish();
  }
  Table t{at.data, value.data, 1, 1, indexed.count, 1};
  Dims strides;
  Writer writer = writer_for(at.dtype, adds);
  for (size_t i = 0; i < at.shape.size(); ++i) {
    const bool is_indexed = i >= indexed.lead && i < indexed.lead + indexed.axes.size();
    if (is_indexed) strides.push_back(at.strides[i] * writer.size);
    (is_indexed ? t.span : i < indexed.lead ? t.outer : t.inner) *= at.shape[i];
  }
  if (!adds && is_word(t.inner * writer.size)) {  // a short row moves as one word
    writer.size *= t.inner;
    t.inner = 1;
  }
  // Few offsets are found once. Of many, memory that is someone's input is not written to before
  // all are known to fit.
  int64_t few[kOffsetTile];
  const bool are_few = indexed.count <= kOffsetTile;
  if (are_few && !indexed.offsets(few, 0, indexed.count, strides)) indexed.refuse(op);
  if (!are_few && out.data == x.data) indexed.check(op);
  std::atomic<bool> all_fit{true};
  const auto offsets = [&](int64_t* to, int64_t begin, int64_t n) -> int64_t {
    if (are_few) {
      std::copy_n(few + begin, n, to);
    } else if (!indexed.offsets(to, begin, n, strides)) {
      all_fit.store(false, std::memory_order_relaxed);
      return 0;
    }
    return n;
  };
  {
    BlockingRegion blocking(value.count > kLongElements);
    if (t.inner == 1) {
      scatter_elements(writer, t, offsets);
    } else {
      scatter_rows(writer, t, offsets);
    }
  }
  if (!all_fit.load(std::memory_order_relaxed)) indexed.refuse(op);
  target.finish();
}

void scatter_set(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  scatter(op, inputs, *outputs[0], workspace, false);
}

void scatter_add(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  scatter(op, inputs, *outputs[0], workspace, true);
}

void put_along_axis(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& x = *inputs[0];
  const bool adds = op.get<std::string>("mode") == "add";
  SmallVector<size_t, 8> order;
  for (size_t i = 0; i < x.shape.size(); ++i) order.push_back(i);
  const Target target(x, *outputs[0], order, adds, workspace);
  const Array& at = target.at();
  Dims shape = at.shape;
  const size_t axis = along_axis(op, shape.size());
  shape[axis] = inputs[1]->shape[axis];
  const Along along(op, *inputs[1], shape, at.shape, at.dtype, workspace);
  if (outputs[0]->data == x.data) along.check(op);
  const Array value = arranged(*inputs[2], at.dtype, shape, order, workspace);
  if (along.count() == 0) return target.finish();
  const Writer writer = writer_for(at.dtype, adds);
  std::atomic<bool> all_fit{true};
  const auto offsets = [&](int64_t* to, int64_t begin, int64_t n) -> int64_t {
    if (along.offsets(to, begin, n)) return n;
    all_fit.store(false, std::memory_order_relaxed);
    return 0;
  };
  const ElementScatter scatter(writer, at.data, at.count, value.data, along.count(), offsets);
  {
    BlockingRegion blocking(along.count() > kLongElements);
    if (scatter.sums_apart() || along.outer() < num_threads()) {
      scatter.run();
    } else {
      parallel_for(along.outer(), std::max<int64_t>(1, kElementGrain / along.row()),
                   [&](int64_t begin, int64_t end) {
                     scatter.write_all(begin * along.row(), end * along.row());
                   });
    }
  }
  if (!all_fit.load(std::memory_order_relaxed)) along.refuse(op);
  target.finish();
}

constexpr std::pair<std::string_view, KernelRule> kScatterKernels[] = {
    {"scatter_set", scatter_set},
    {"scatter_add", scatter_add},
    {"put_along_axis", put_along_axis},
};

}  // namespace

RuleTable<KernelRule> scatter_kernels() { return kScatterKernels; }

}  // namespace tensorlike
