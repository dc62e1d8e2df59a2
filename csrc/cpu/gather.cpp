// Gather and TakeAlongAxis: elements and rows that indices point to.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/indexed.h"
#include "kernels/move.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrainBytes = 65536;
constexpr int64_t kSharedOffsets = 16384;  // that are found once for all tables

// Copies blocks of x, of any shape and strides, one after another.
class BlockCopy {
 public:
  BlockCopy(const Array& x, std::span<const size_t> axes) : size_(size_of(x.dtype)) {
    for (size_t axis : axes) {
      shape_.push_back(x.shape[axis]);
      strides_.push_back(x.strides[axis]);
    }
    order_ = contiguous_strides(shape_);
    bytes_ = element_count(shape_) * static_cast<int64_t>(size_);
    in_order_ = tensorlike::lies_in_order(shape_, strides_);
  }

  int64_t bytes() const { return bytes_; }
  bool are_words() const { return in_order_ && is_word(bytes_); }

  // n blocks of each of the tables, which lie in_step bytes apart, to places out_step bytes apart.
  void copy(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t tables,
            const int64_t* offsets, int64_t n) const {
    if (are_words()) return picks(bytes_).take(out, out_step, in, in_step, tables, offsets, n);
    for (int64_t t = 0; t < tables; ++t, out += out_step, in += in_step) {
      if (in_order_) {
        pick_table().rows.take(out, bytes_, in, {offsets, n, nullptr, bytes_});
        continue;
      }
      for (int64_t i = 0; i < n; ++i) {
        move_strided(out + i * bytes_, order_, in + offsets[i], strides_, shape_, size_);
      }
    }
  }

 private:
  Dims shape_, strides_, order_;
  size_t size_;
  int64_t bytes_ = 0;
  bool in_order_ = false;
};

// The result, whose axes are (index, rest), with those of the index behind the first `lead` others.
Array with_index_inside(const Array& out, size_t lead, size_t index_ndim) {
  Dims shape, strides;
  const auto take = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      shape.push_back(out.shape[i]);
      strides.push_back(out.strides[i]);
    }
  };
  take(index_ndim, index_ndim + lead);
  take(0, index_ndim);
  take(index_ndim + lead, out.shape.size());
  return out.view(std::move(shape), std::move(strides));
}

// The tables that x holds one after the other, of which the index picks blocks.
struct Tables {
  Tables(const Array& x, const Indexed& indexed)
      : size(static_cast<int64_t>(size_of(x.dtype))),
        data(x.data),
        shape(x.shape.begin(), x.shape.begin() + indexed.lead),
        block(x, {indexed.rest.begin() + indexed.lead, indexed.rest.end()}) {
    TileOperand across{nullptr, 1, Dims(x.strides.begin(), x.strides.begin() + indexed.lead)};
    collapse(shape, {&across, 1});
    for (int64_t stride : across.strides) steps.push_back(stride * size);
    for (size_t axis : indexed.axes) strides.push_back(x.strides[axis] * size);
  }

  const char* table(int64_t i) const {
    int64_t offset = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      offset += i % shape[d] * steps[d];
      i /= shape[d];
    }
    return data + offset;
  }

  int64_t size;
  const char* data;
  Dims shape, steps;  // of the tables, in bytes
  BlockCopy block;
  Dims strides;  // of the indexed axes, in bytes
};

// The blocks at these offsets in each of the tables; `to` is where those of the first one go, and
// out_step the bytes from one table to the next there.
void gather_from_each(const Tables& tables, const int64_t* offsets, int64_t n, char* to,
                      int64_t out_step) {
  const BlockCopy& block = tables.block;
  const int64_t tile = std::min(n, std::max<int64_t>(1, kGrainBytes / block.bytes()));
  const int64_t tiles = (n + tile - 1) / tile;
  const int64_t jobs = element_count(tables.shape) * tiles;
  const int64_t last = tables.shape.back();
  parallel_for(jobs, std::max<int64_t>(1, kGrainBytes / (tile * block.bytes())),
               [&](int64_t begin, int64_t end) {
                 for (int64_t job = begin; job < end;) {
                   const int64_t o = job / tiles;
                   const int64_t at = job % tiles * tile;
                   const int64_t count = tiles > 1 ? 1 : std::min(end - job, last - o % last);
                   block.copy(to + o * out_step + at * block.bytes(), out_step, tables.table(o),
                              tables.steps.back(), count, offsets + at, std::min(tile, n - at));
                   job += count;
                 }
               });
}

// Positions [begin, end) of the joint index, from a single table. False: one is out of range.
bool gather_part(const Tables& tables, const Indexed& indexed, int64_t begin, int64_t end,
                 char* to) {
  constexpr int64_t kTile = 256;  // offsets that leave room in the L1 cache for what they pick
  const BlockCopy& block = tables.block;
  const int64_t bytes = block.bytes();
  if (block.are_words() && indexed.readers.size() == 1 && tables.strides[0] == bytes) {
    return indexed.readers[0].take(to + begin * bytes, tables.data, bytes, begin, end - begin);
  }
  int64_t offsets[kTile];
  for (int64_t at = begin; at < end; at += kTile) {
    const int64_t n = std::min(kTile, end - at);
    if (!indexed.offsets(offsets, at, n, tables.strides)) return false;
    block.copy(to + at * bytes, 0, tables.data, 0, 1, offsets, n);
  }
  return true;
}

// From a single table, whose offsets are found by the thread that needs them. False: an index is
// out of range.
bool gather_from_one(const Tables& tables, const Indexed& indexed, char* to) {
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / tables.block.bytes());
  std::atomic<bool> all_fit{true};
  parallel_for(indexed.count, grain, [&](int64_t begin, int64_t end) {
    if (gather_part(tables, indexed, begin, end, to)) return;
    all_fit.store(false, std::memory_order_relaxed);
  });
  return all_fit.load(std::memory_order_relaxed);
}

// Writes the blocks of each table one after the other. False: an index is out of range.
bool gather_blocks(const Tables& tables, const Indexed& indexed, char* to, Workspace& workspace) {
  const int64_t out_step = indexed.count * tables.block.bytes();
  BlockingRegion blocking(element_count(tables.shape) * out_step > kLongElements * tables.size);
  if (tables.shape.empty()) return gather_from_one(tables, indexed, to);
  const int64_t together = std::min(indexed.count, kSharedOffsets);
  int64_t* const offsets = workspace.take<int64_t>(together);
  for (int64_t at = 0; at < indexed.count; at += together) {
    const int64_t n = std::min(together, indexed.count - at);
    if (!indexed.offsets(offsets, at, n, tables.strides)) return false;
    gather_from_each(tables, offsets, n, to + at * tables.block.bytes(), out_step);
  }
  return true;
}

// Clears the rows of (outer, index, row) whose element a later index picks too.
void keep_last(const Op& op, const Indexed& indexed, const Array& x, const Tables& tables,
               char* out) {
  const int64_t outer = element_count(tables.shape);
  const int64_t row_bytes = tables.block.bytes();
  const size_t ndim = indexed.axes.size();
  SmallVector<int64_t, 4> strides(ndim);
  int64_t span = 1;
  for (size_t i = ndim; i-- > 0;) {
    strides[i] = span;
    span *= x.shape[indexed.axes[i]];
  }
  const size_t count = static_cast<size_t>(indexed.count);
  std::vector<int64_t> places(count);
  if (!indexed.offsets(places.data(), 0, indexed.count, {strides.data(), ndim})) {
    indexed.refuse(op);
  }
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

void gather(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const Indexed indexed(op, *inputs[0], inputs.subspan(1), workspace);
  if (out.count == 0) return indexed.check(op);  // nothing is read, but wrong indices stay wrong
  const Array* x = inputs[0];
  Array in_order;
  // Rows that lie in order are worth a copy of x that is no larger than what is read of it.
  if (!x->is_contiguous && x->count <= out.count) {
    in_order = contiguous(*x, workspace);
    x = &in_order;
  }
  const Tables tables(*x, indexed);
  const auto write = [&](char* to) {
    if (!gather_blocks(tables, indexed, to, workspace)) indexed.refuse(op);
    if (op.get<bool>("last_only")) keep_last(op, indexed, *x, tables, to);
  };
  if (indexed.lead == 0 && out.is_contiguous) return write(out.data);
  const Array inside = with_index_inside(out, indexed.lead, indexed.shape.size());
  if (inside.is_contiguous) return write(out.data);
  const Array made = workspace.array(inside.dtype, inside.shape);
  write(made.data);
  assign(inside, made);
}

void take_along_axis(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  Dims table = out.shape;
  const size_t axis = along_axis(op, table.size());
  table[axis] = inputs[0]->shape[axis];
  const Along along(op, *inputs[1], out.shape, table, out.dtype, workspace);
  const Array x = contiguous(broadcast_to(*inputs[0], table), workspace);
  const int64_t size = static_cast<int64_t>(size_of(x.dtype));
  std::atomic<bool> all_fit{true};
  {
    BlockingRegion blocking(along.count() > kLongElements);
    parallel_for(along.count(), kElementGrain, [&](int64_t begin, int64_t end) {
      if (along.take(out.data + begin * size, x.data, begin, end - begin)) return;
      all_fit.store(false, std::memory_order_relaxed);
    });
  }
  if (!all_fit.load(std::memory_order_relaxed)) along.refuse(op);
}

constexpr std::pair<std::string_view, KernelRule> kGatherKernels[] = {
    {"gather", gather},
    {"take_along_axis", take_along_axis},
};

}  // namespace

RuleTable<KernelRule> gather_kernels() { return kGatherKernels; }

}  // namespace tensorlike
