// Gather and TakeAlongAxis: elements and rows that indices point to.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/move.h"
#include "op/families.h"
#include "tensor/indexed.h"
#include "tensor/layout.h"
#include "tensor/reduce.h"

namespace tensorlike {
namespace {

constexpr int64_t kAhead = 4;         // rows that are asked for before they are copied
constexpr int64_t kAheadBytes = 512;  // of each; the processor finds the rest by itself
constexpr int64_t kGrainBytes = 65536;

// Copies blocks of x, of any shape and strides, one after another.
class BlockCopy {
 public:
  BlockCopy(const RawTensor& x, std::span<const size_t> axes) : size_(size_of(x.dtype)) {
    for (size_t axis : axes) {
      shape_.push_back(x.shape[axis]);
      strides_.push_back(x.strides[axis]);
    }
    order_ = contiguous_strides(shape_);
    bytes_ = element_count(shape_) * static_cast<int64_t>(size_);
    in_order_ = tensorlike::lies_in_order(shape_, strides_);
  }

  int64_t bytes() const { return bytes_; }

  void copy(char* out, const char* in, const int64_t* offsets, int64_t n) const {
    if (!in_order_) {
      for (int64_t i = 0; i < n; ++i) {
        move_strided(out + i * bytes_, order_, in + offsets[i], strides_, shape_, size_);
      }
    } else if (is_word(bytes_)) {
      picks(bytes_).take(out, in, offsets, n);
    } else {
      copy_rows(out, in, offsets, n);
    }
  }

 private:
  void copy_rows(char* out, const char* in, const int64_t* offsets, int64_t n) const {
    const int64_t ahead = std::min(bytes_, kAheadBytes);
    for (int64_t i = 0; i < n; ++i) {
      if (i + kAhead < n) {
        const char* next = in + offsets[i + kAhead];
        for (int64_t b = 0; b < ahead; b += 64) __builtin_prefetch(next + b);
      }
      std::memcpy(out + i * bytes_, in + offsets[i], static_cast<size_t>(bytes_));
    }
  }

  Dims shape_, strides_, order_;
  size_t size_;
  int64_t bytes_ = 0;
  bool in_order_ = false;
};

// The result as its declared shape, (index, rest), over memory in the order (lead, index, rest).
Ref<RawTensor> with_index_first(const RawTensor& made, size_t lead, size_t index_ndim,
                                const Dims& shape) {
  if (lead == 0) return made.view(shape, made.strides);
  Dims strides;
  for (size_t i = 0; i < index_ndim; ++i) strides.push_back(made.strides[lead + i]);
  for (size_t i = 0; i < lead; ++i) strides.push_back(made.strides[i]);
  for (size_t i = lead + index_ndim; i < made.strides.size(); ++i) {
    strides.push_back(made.strides[i]);
  }
  return made.view(shape, strides);
}

// Clears the rows of (outer, index, row) whose element a later index picks too.
void keep_last(const Indexed& indexed, const RawTensor& x, char* out, int64_t outer,
               int64_t row_bytes) {
  const size_t ndim = indexed.axes.size();
  SmallVector<int64_t, 4> strides(ndim);
  int64_t span = 1;
  for (size_t i = ndim; i-- > 0;) {
    strides[i] = span;
    span *= x.shape[indexed.axes[i]];
  }
  const size_t count = static_cast<size_t>(indexed.count);
  std::vector<int64_t> places(count);
  if (!indexed.offsets(places.data(), 0, indexed.count, {strides.data(), ndim})) return;
  std::vector<bool> is_met(static_cast<size_t>(span));  // mostly no two are equal
  const bool are_apart = std::none_of(places.begin(), places.end(), [&](int64_t place) {
    const bool before = is_met[static_cast<size_t>(place)];
    is_met[static_cast<size_t>(place)] = true;
    return before;
  });
  if (are_apart) return;
  std::vector<int64_t> last(static_cast<size_t>(span));
  for (size_t i = 0; i < count; ++i) last[static_cast<size_t>(places[i])] = static_cast<int64_t>(i);
  for (int64_t i = 0; i < indexed.count; ++i) {
    if (last[static_cast<size_t>(places[static_cast<size_t>(i)])] == i) continue;
    for (int64_t o = 0; o < outer; ++o) {
      std::memset(out + (o * indexed.count + i) * row_bytes, 0, static_cast<size_t>(row_bytes));
    }
  }
}

Values gather(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  Ref<RawTensor> x(inputs[0]);
  Indexed indexed(op, *x, inputs.subspan(1));
  const Dims& shape = outputs[0].shape;
  const int64_t total = element_count(shape);
  // Rows that lie in order are worth a copy of x that is no larger than what is read of it.
  if (!x->is_contiguous && x->count <= total) x = contiguous(*x);
  const size_t lead = indexed.lead;
  Dims outer_shape, outer_strides, made;
  for (size_t i = 0; i < lead; ++i) {
    outer_shape.push_back(x->shape[i]);
    outer_strides.push_back(x->strides[i] * static_cast<int64_t>(size_of(x->dtype)));
    made.push_back(x->shape[i]);
  }
  for (int64_t dim : indexed.shape) made.push_back(dim);
  for (size_t i = lead; i < indexed.rest.size(); ++i) made.push_back(x->shape[indexed.rest[i]]);
  const Ref<RawTensor> out = RawTensor::empty(x->dtype, made);
  const Ref<RawTensor> result = with_index_first(*out, lead, indexed.shape.size(), shape);
  if (total == 0) {  // nothing is read, but wrong indices stay wrong
    indexed.check(op);
    return one(result);
  }
  const BlockCopy block(*x, {indexed.rest.begin() + lead, indexed.rest.end()});
  Dims strides;
  for (size_t axis : indexed.axes) {
    strides.push_back(x->strides[axis] * static_cast<int64_t>(size_of(x->dtype)));
  }
  const int64_t tile = std::min(kOffsetTile, std::max<int64_t>(1, kGrainBytes / block.bytes()));
  const int64_t tiles = (indexed.count + tile - 1) / tile;
  const char* data = x->data;
  char* to = out->data;
  std::atomic<bool> all_fit{true};
  {
    BlockingRegion blocking(total > kLongElements);
    const int64_t tile_bytes = std::min(tile, indexed.count) * block.bytes();
    parallel_for(element_count(outer_shape) * tiles, std::max<int64_t>(1, kGrainBytes / tile_bytes),
                 [&](int64_t begin, int64_t end) {
                   int64_t offsets[kOffsetTile];
                   int64_t known = -1;  // the tile whose offsets these are
                   for (int64_t job = begin; job < end; ++job) {
                     const int64_t at = job % tiles * tile;
                     const int64_t n = std::min(tile, indexed.count - at);
                     if (at != known && !indexed.offsets(offsets, at, n, strides)) {
                       all_fit.store(false, std::memory_order_relaxed);
                       return;
                     }
                     known = at;
                     const int64_t o = job / tiles;
                     const char* from = data + offset_of(o, outer_shape, outer_strides);
                     block.copy(to + (o * indexed.count + at) * block.bytes(), from, offsets, n);
                   }
                 });
  }
  if (!all_fit.load(std::memory_order_relaxed)) indexed.check(op);
  if (op.get<bool>("last_only")) {
    keep_last(indexed, *x, to, element_count(outer_shape), block.bytes());
  }
  return one(result);
}

Values take_along_axis(const Op& op, RawArgs inputs, const Specs& outputs, uint32_t) {
  const Dims& shape = outputs[0].shape;
  Dims table = shape;
  const size_t axis = along_axis(op, shape.size());
  table[axis] = inputs[0]->shape[axis];
  const Along along(op, *inputs[1], shape, table, inputs[0]->dtype);
  const Ref<RawTensor> x = contiguous(*broadcast_to(*inputs[0], table));
  const Ref<RawTensor> out = RawTensor::empty(x->dtype, shape);
  const int64_t size = static_cast<int64_t>(size_of(x->dtype));
  const PickKernels& pick = picks(size);
  const char* from = x->data;
  char* to = out->data;
  BlockingRegion blocking(along.count() > kLongElements);
  parallel_for(along.count(), kElementGrain, [&](int64_t begin, int64_t end) {
    int64_t offsets[kOffsetTile];
    for (int64_t at = begin; at < end; at += kOffsetTile) {
      const int64_t n = std::min(kOffsetTile, end - at);
      along.offsets(offsets, at, n);
      pick.take(to + at * size, from, offsets, n);
    }
  });
  return one(out);
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"gather", gather},
    {"take_along_axis", take_along_axis},
};

}  // namespace

RuleTable<KernelRule> gather_kernels() { return kKernels; }

}  // namespace tensorlike
