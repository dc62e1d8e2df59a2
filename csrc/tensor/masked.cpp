// MaskedSelect, MaskedScatter and Argwhere: masks read and written. The set elements of each block
// of the mask are counted first, so that every block knows where its share begins, and all blocks
// are worked on at once.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/families.h"
#include "tensor/indexed.h"

namespace tensorlike {
namespace {

constexpr int64_t kBlock = 8192;  // mask elements
constexpr int64_t kTile = 1024;   // compressed at a time, into memory where it may write too far

// The blocks of a mask, and how many elements are set before each.
struct MaskBlocks {
  explicit MaskBlocks(const Array& mask)
      : set(mask.as<uint8_t>()), size(mask.count), before((size + kBlock - 1) / kBlock + 1) {
    each([&](int64_t block, int64_t at, int64_t n) {
      before[static_cast<size_t>(block) + 1] = kernel_table().masks.count(set + at, n);
    });
    for (size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  }

  int64_t count() const { return before.back(); }

  // Calls f(block, its first element, its size), on several threads.
  template <class F>
  void each(F&& f) const {
    BlockingRegion blocking(size > kLongElements);
    parallel_for(static_cast<int64_t>(before.size()) - 1, 4, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        f(block, block * kBlock, std::min(kBlock, size - block * kBlock));
      }
    });
  }

  // Calls f(its part of the mask, its first element, its size, how many are set before it) for each
  // block. The memory may be another library's, which may have written to it since: a part that has
  // not as many set as were counted is refused.
  template <class F>
  void each_share(const Op& op, F&& f) const {
    std::atomic<bool> is_same{true};
    each([&](int64_t block, int64_t first, int64_t n) {
      uint8_t part[kBlock];
      std::memcpy(part, set + first, static_cast<size_t>(n));
      const int64_t place = before[static_cast<size_t>(block)];
      if (place + kernel_table().masks.count(part, n) == before[static_cast<size_t>(block) + 1]) {
        f(part, first, n, place);
      } else {
        is_same.store(false, std::memory_order_relaxed);
      }
    });
    if (!is_same.load(std::memory_order_relaxed)) refuse_changed(op, "masks");
  }

  const uint8_t* set;
  int64_t size;
  std::vector<int64_t> before;
};

// Calls f(positions, how many) for the set elements of a part of a mask that begins at `first`.
template <class F>
void each_position(const uint8_t* part, int64_t first, int64_t n, F&& f) {
  int64_t positions[kTile];
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t step = std::min(kTile, n - at);
    f(positions, kernel_table().masks.positions(positions, first + at, part + at, step));
  }
}

// The size in bytes of what each mask element stands for.
int64_t row_bytes(const Array& x, size_t mask_ndim) {
  int64_t bytes = static_cast<int64_t>(size_of(x.dtype));
  for (size_t i = mask_ndim; i < x.shape.size(); ++i) bytes *= x.shape[i];
  return bytes;
}

// What is counted to know a size, for the kernel that runs afterwards.
void keep(MaskBlocks blocks, Workspace& workspace) {
  workspace.found = std::make_shared<MaskBlocks>(std::move(blocks));
}
const MaskBlocks& kept(const Workspace& workspace) {
  return *static_cast<const MaskBlocks*>(workspace.found.get());
}

void count_selected(const Op&, Arrays inputs, Specs& outputs, Workspace& workspace) {
  MaskBlocks blocks(*inputs[1]);
  outputs[0].shape[0] = blocks.count();
  keep(std::move(blocks), workspace);
}

void masked_select(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const int64_t bytes = row_bytes(*inputs[0], inputs[1]->shape.size());
  const char* from = inputs[0]->data;
  char* to = outputs[0]->data;
  if (outputs[0]->count == 0) return;
  kept(workspace).each_share(op, [&](const uint8_t* part, int64_t first, int64_t n, int64_t place) {
    char* next = to + place * bytes;
    if (!is_word(bytes)) {
      each_position(part, first, n, [&](const int64_t* positions, int64_t count) {
        for (int64_t i = 0; i < count; ++i, next += bytes) {
          std::memcpy(next, from + positions[i] * bytes, static_cast<size_t>(bytes));
        }
      });
      return;
    }
    alignas(64) char tile[kTile * 16];
    for (int64_t at = 0; at < n; at += kTile) {
      const int64_t step = std::min(kTile, n - at);
      const int64_t count =
          picks(bytes).compress(tile, from + (first + at) * bytes, part + at, step);
      std::memcpy(next, tile, static_cast<size_t>(count * bytes));
      next += count * bytes;
    }
  });
}

bool broadcasts_to(const Dims& shape, const Dims& target) {
  if (shape.size() > target.size()) return false;
  const size_t lead = target.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && shape[i] != target[lead + i]) return false;
  }
  return true;
}

// The value's shape depends on how many elements are set, so that only the kernel can check it.
Array values_for(const Op& op, const Array& value, DType dtype, const Dims& shape,
                 Workspace& workspace) {
  if (!broadcasts_to(value.shape, shape)) {
    fail(ErrorKind::kShape, op.name(),
         ": value must broadcast to what the mask selects; got value.shape=",
         to_string(value.shape), " into ", to_string(shape), ".");
  }
  return contiguous(broadcast_to(cast(value, dtype, workspace), shape), workspace);
}

void masked_scatter(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Array& out = *outputs[0];
  const size_t mask_ndim = inputs[1]->shape.size();
  const MaskBlocks blocks(*inputs[1]);
  Dims shape{blocks.count()};
  for (size_t i = mask_ndim; i < out.shape.size(); ++i) shape.push_back(out.shape[i]);
  const Array value = values_for(op, *inputs[2], out.dtype, shape, workspace);
  if (out.data != inputs[0]->data) assign(out, *inputs[0]);
  const int64_t bytes = row_bytes(out, mask_ndim);
  if (value.count == 0) return;
  const char* from = value.data;
  char* to = out.data;
  blocks.each_share(op, [&](const uint8_t* part, int64_t first, int64_t n, int64_t place) {
    const char* next = from + place * bytes;
    if (is_word(bytes)) {
      picks(bytes).expand(to + first * bytes, part, next, n);
      return;
    }
    each_position(part, first, n, [&](const int64_t* positions, int64_t count) {
      for (int64_t i = 0; i < count; ++i, next += bytes) {
        std::memcpy(to + positions[i] * bytes, next, static_cast<size_t>(bytes));
      }
    });
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
  MaskBlocks blocks(prepared(*inputs[0], DType::kBool, workspace));
  outputs[0].shape[0] = blocks.count();
  keep(std::move(blocks), workspace);
}

void argwhere(const Op& op, Arrays inputs, Arrays outputs, Workspace& workspace) {
  const Dims& shape = inputs[0]->shape;
  if (shape.empty()) return;
  kept(workspace).each_share(op, [&](const uint8_t* part, int64_t first, int64_t n, int64_t place) {
    each_position(part, first, n, [&](const int64_t* positions, int64_t count) {
      write_coordinates(*outputs[0], place, positions, count, shape);
      place += count;
    });
  });
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"masked_select", {masked_select, count_selected}},
    {"masked_scatter", masked_scatter},
    {"argwhere", {argwhere, count_nonzero}},
};

}  // namespace

RuleTable<KernelRule> mask_kernels() { return kKernels; }

}  // namespace tensorlike
