// MaskedSelect, MaskedScatter and Argwhere: masks read and written. The set elements of each block
// of the mask are counted first, so that every block knows where its share begins, and all blocks
// are worked on at once.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/indexed.h"
#include "memory/layout.h"
#include "op/families.h"

namespace tensorlike {
namespace {

constexpr int64_t kBlock = 8192;  // mask elements
constexpr int64_t kTile = 1024;   // compressed at a time, into memory where it may write too far

// The blocks of a mask, and how many elements are set before each. The mask may be in another
// library's memory, which may write to it meanwhile: no block gets more than its share.
struct MaskBlocks {
  MaskBlocks(const Array& mask, Workspace& workspace)
      : set(mask.as<uint8_t>()),
        size(mask.count),
        blocks((size + kBlock - 1) / kBlock),
        before(workspace.take<int64_t>(blocks + 1)) {
    before[0] = 0;
    each([&](int64_t block, int64_t at, int64_t n) {
      before[block + 1] = kernel_table().masks.count(set + at, n);
    });
    for (int64_t i = 0; i < blocks; ++i) before[i + 1] += before[i];
  }

  int64_t count() const { return before[blocks]; }

  // Calls f(its first element, its size, how many are set before it, how many in it) for each
  // block; f says whether it found that many.
  template <class F>
  void each_share(const Op& op, F&& f) const {
    std::atomic<bool> are_same{true};
    each([&](int64_t block, int64_t first, int64_t n) {
      const int64_t place = before[block];
      if (f(first, n, place, before[block + 1] - place)) return;
      are_same.store(false, std::memory_order_relaxed);
    });
    if (!are_same.load(std::memory_order_relaxed)) refuse_changed(op, "masks");
  }

  // Calls f(positions, how many) for the set elements of a block, `share` of them; whether there
  // are as many.
  template <class F>
  bool each_position(int64_t first, int64_t n, int64_t share, F&& f) const {
    int64_t positions[kTile];
    for (int64_t at = first; at < first + n; at += kTile) {
      const int64_t step = std::min(kTile, first + n - at);
      const int64_t found = kernel_table().masks.positions(positions, at, set + at, step);
      if (found > share) return false;
      f(positions, found);
      share -= found;
    }
    return share == 0;
  }

  const uint8_t* set;
  int64_t size, blocks;
  int64_t* before;

 private:
  // Calls f(block, its first element, its size), on several threads.
  template <class F>
  void each(F&& f) const {
    BlockingRegion blocking(size > kLongElements);
    parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        f(block, block * kBlock, std::min(kBlock, size - block * kBlock));
      }
    });
  }
};

// The size in bytes of what each mask element stands for.
int64_t row_bytes(const Array& x, size_t mask_ndim) {
  int64_t bytes = static_cast<int64_t>(size_of(x.dtype));
  for (size_t i = mask_ndim; i < x.shape.size(); ++i) bytes *= x.shape[i];
  return bytes;
}

// What is counted to know a size, for the kernel that runs afterwards; in the workspace's memory.
int64_t count_and_keep(const Array& mask, Workspace& workspace) {
  auto* blocks = new (workspace.take<MaskBlocks>(1)) MaskBlocks(mask, workspace);
  workspace.found = std::shared_ptr<void>(std::shared_ptr<void>(), blocks);
  return blocks->count();
}
const MaskBlocks& kept(const Workspace& workspace) {
  return *static_cast<const MaskBlocks*>(workspace.found.get());
}

void count_selected(const Op&, Arrays inputs, Specs& outputs, Workspace& workspace) {
  outputs[0].shape[0] = count_and_keep(*inputs[1], workspace);
}

void masked_select(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const int64_t bytes = row_bytes(*inputs[0], inputs[1]->shape.size());
  const char* from = inputs[0]->data;
  char* to = outputs[0]->data;
  if (outputs[0]->count == 0) return;
  const MaskBlocks& blocks = kept(workspace);
  blocks.each_share(op, [&](int64_t first, int64_t n, int64_t place, int64_t share) {
    char* next = to + place * bytes;
    if (!is_word(bytes)) {
      return blocks.each_position(first, n, share, [&](const int64_t* positions, int64_t count) {
        for (int64_t i = 0; i < count; ++i, next += bytes) {
          std::memcpy(next, from + positions[i] * bytes, static_cast<size_t>(bytes));
        }
      });
    }
    alignas(64) char tile[kTile * 16];
    for (int64_t at = first; at < first + n; at += kTile) {
      const int64_t step = std::min(kTile, first + n - at);
      const int64_t count = picks(bytes).compress(tile, from + at * bytes, blocks.set + at, step);
      if (count > share) return false;
      std::memcpy(next, tile, static_cast<size_t>(count * bytes));
      next += count * bytes;
      share -= count;
    }
    return share == 0;
  });
}

// The value's shape depends on how many elements are set, so that only the kernel can check it.
Array values_for(const Op& op, const Array& value, DType dtype, const Dims& shape,
                 Workspace& workspace) {
  if (!broadcasts_to(value.shape, shape)) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("value"),
         "must broadcast to what the mask selects",
         said::got("value.shape=", to_string(value.shape), " into ", to_string(shape)));
  }
  return contiguous(broadcast_to(cast(value, dtype, workspace), shape), workspace);
}

void masked_scatter(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const size_t mask_ndim = inputs[1]->shape.size();
  const MaskBlocks blocks(*inputs[1], workspace);
  Dims shape{blocks.count()};
  for (size_t i = mask_ndim; i < out.shape.size(); ++i) shape.push_back(out.shape[i]);
  const Array value = values_for(op, *inputs[2], out.dtype, shape, workspace);
  if (out.data != inputs[0]->data) assign(out, *inputs[0]);
  const int64_t bytes = row_bytes(out, mask_ndim);
  if (value.count == 0) return;
  const char* from = value.data;
  char* to = out.data;
  blocks.each_share(op, [&](int64_t first, int64_t n, int64_t place, int64_t share) {
    const char* next = from + place * bytes;
    if (!is_word(bytes)) {
      return blocks.each_position(first, n, share, [&](const int64_t* positions, int64_t count) {
        for (int64_t i = 0; i < count; ++i, next += bytes) {
          std::memcpy(to + positions[i] * bytes, next, static_cast<size_t>(bytes));
        }
      });
    }
    uint8_t part[kBlock];  // what is counted is what is read
    std::memcpy(part, blocks.set + first, static_cast<size_t>(n));
    if (kernel_table().masks.count(part, n) != share) return false;
    picks(bytes).expand(to + first * bytes, part, next, n);
    return true;
  });
}

// The coordinates of n positions, from row `place` of `out` on. Positions come in order, so that
// those of one row of x share all coordinates but the last.
void write_coordinates(const Array& out, int64_t place, const int64_t* positions, int64_t n,
                       const Dims& shape) {
  const size_t last = shape.size() - 1;
  const int64_t step = out.strides[0];
  int64_t* const rows = out.as<int64_t>() + place * step;
  for (int64_t i = 0; i < n;) {
    int64_t rest = positions[i] / shape[last];
    const int64_t start = rest * shape[last];
    int64_t* const columns = rows + static_cast<int64_t>(last) * out.strides[1];
    const int64_t first = i;
    for (; i < n && positions[i] - start < shape[last]; ++i) {
      columns[i * step] = positions[i] - start;
    }
    for (size_t d = last; d-- > 0;) {
      int64_t* const row = rows + static_cast<int64_t>(d) * out.strides[1];
      const int64_t coordinate = rest % shape[d];
      for (int64_t k = first; k < i; ++k) row[k * step] = coordinate;
      rest /= shape[d];
    }
  }
}

void count_nonzero(const Op&, Arrays inputs, Specs& outputs, Workspace& workspace) {
  const Array& x = *inputs[0];
  const bool is_mask = x.dtype == DType::kBool && x.is_contiguous;
  outputs[0].shape[0] =
      count_and_keep(is_mask ? x : prepared(x, DType::kBool, workspace), workspace);
}

void argwhere(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Dims& shape = inputs[0]->shape;
  if (shape.empty()) return;
  const MaskBlocks& blocks = kept(workspace);
  blocks.each_share(op, [&](int64_t first, int64_t n, int64_t place, int64_t share) {
    return blocks.each_position(first, n, share, [&](const int64_t* positions, int64_t count) {
      write_coordinates(*outputs[0], place, positions, count, shape);
      place += count;
    });
  });
}

constexpr std::pair<std::string_view, KernelRule> kMaskKernels[] = {
    {"masked_select", {masked_select, count_selected}},
    {"masked_scatter", masked_scatter},
    {"argwhere", {argwhere, count_nonzero}},
};

}  // namespace

RuleTable<KernelRule> mask_kernels() { return kMaskKernels; }

}  // namespace tensorlike
