// MaskedSelect, MaskedScatter and Argwhere: masks read and written. The set elements of each block
// of the mask are counted first, so that every block knows where its share begins, and all blocks
// are worked on at once.
#include <algorithm>
#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/families.h"
#include "tensor/indexed.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

constexpr int64_t kBlock = 8192;  // mask elements
constexpr int64_t kTile = 1024;   // compressed at a time, into memory where it may write too far

const uint8_t* bytes_of(const RawTensor& mask) {
  return reinterpret_cast<const uint8_t*>(mask.data);
}

// The blocks of a mask, and how many elements are set before each.
struct MaskBlocks {
  explicit MaskBlocks(const RawTensor& mask)
      : set(bytes_of(mask)), size(mask.count), before((size + kBlock - 1) / kBlock + 1) {
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

  // Calls f(place among the set elements, position) for each set element of a tile.
  template <class F>
  static void each_position(const uint8_t* mask, int64_t first, int64_t n, F&& f) {
    int64_t positions[kTile];
    for (int64_t at = 0; at < n; at += kTile) {
      const int64_t step = std::min(kTile, n - at);
      const int64_t count =
          kernel_table().masks.positions(positions, first + at, mask + first + at, step);
      f(positions, count);
    }
  }

  const uint8_t* set;
  int64_t size;
  std::vector<int64_t> before;
};

// The size in bytes of what each mask element stands for.
int64_t row_bytes(const RawTensor& x, size_t mask_ndim) {
  int64_t bytes = static_cast<int64_t>(size_of(x.dtype));
  for (size_t i = mask_ndim; i < x.shape.size(); ++i) bytes *= x.shape[i];
  return bytes;
}

Dims selected_shape(const RawTensor& x, size_t mask_ndim, int64_t count) {
  Dims shape{count};
  for (size_t i = mask_ndim; i < x.shape.size(); ++i) shape.push_back(x.shape[i]);
  return shape;
}

Values masked_select(const Op&, RawArgs inputs, const Specs&, uint32_t) {
  const Ref<RawTensor> x = contiguous(*inputs[0]);
  const Ref<RawTensor> mask = steady(*inputs[1]);
  const MaskBlocks blocks(*mask);
  const size_t mask_ndim = mask->shape.size();
  const Ref<RawTensor> out =
      RawTensor::empty(x->dtype, selected_shape(*x, mask_ndim, blocks.count()));
  const int64_t bytes = row_bytes(*x, mask_ndim);
  const char* from = x->data;
  char* to = out->data;
  if (out->count == 0) return one(out);
  if (!is_word(bytes)) {
    blocks.each([&](int64_t block, int64_t first, int64_t n) {
      int64_t place = blocks.before[static_cast<size_t>(block)];
      blocks.each_position(blocks.set, first, n, [&](const int64_t* positions, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          std::memcpy(to + (place + i) * bytes, from + positions[i] * bytes,
                      static_cast<size_t>(bytes));
        }
        place += count;
      });
    });
    return one(out);
  }
  blocks.each([&](int64_t block, int64_t first, int64_t n) {
    alignas(64) char tile[kTile * 16];
    char* next = to + blocks.before[static_cast<size_t>(block)] * bytes;
    for (int64_t at = first; at < first + n; at += kTile) {
      const int64_t step = std::min(kTile, first + n - at);
      const int64_t count = picks(bytes).compress(tile, from + at * bytes, blocks.set + at, step);
      std::memcpy(next, tile, static_cast<size_t>(count * bytes));
      next += count * bytes;
    }
  });
  return one(out);
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
Ref<RawTensor> values_for(const Op& op, RawTensor& value, const RawTensor& out, const Dims& shape) {
  if (!broadcasts_to(value.shape, shape)) {
    fail(ErrorKind::kShape, said::op(op.name()), said::argument("value"),
         "must broadcast to what the mask selects",
         said::got("value.shape=", to_string(value.shape), " into ", to_string(shape)));
  }
  const Ref<RawTensor> wide = broadcast_to(*cast_if_needed(value, out.dtype), shape);
  return wide->storage == out.storage ? copy(*wide) : contiguous(*wide);
}

Values masked_scatter(const Op& op, RawArgs inputs, const Specs&, uint32_t reusable) {
  const Ref<RawTensor> mask = steady(*inputs[1]);
  const MaskBlocks blocks(*mask);
  const bool is_ours = (reusable & 1U) != 0 && inputs[0]->is_contiguous;
  const Ref<RawTensor> out = is_ours ? Ref<RawTensor>(inputs[0]) : copy(*inputs[0]);
  const size_t mask_ndim = mask->shape.size();
  const Ref<RawTensor> value =
      values_for(op, *inputs[2], *out, selected_shape(*out, mask_ndim, blocks.count()));
  const int64_t bytes = row_bytes(*out, mask_ndim);
  if (value->count == 0) return one(out);
  const char* from = value->data;
  char* to = out->data;
  blocks.each([&](int64_t block, int64_t first, int64_t n) {
    const char* next = from + blocks.before[static_cast<size_t>(block)] * bytes;
    if (is_word(bytes)) {
      picks(bytes).expand(to + first * bytes, blocks.set + first, next, n);
      return;
    }
    blocks.each_position(blocks.set, first, n, [&](const int64_t* positions, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + positions[i] * bytes, next + i * bytes, static_cast<size_t>(bytes));
      }
      next += count * bytes;
    });
  });
  return one(out);
}

// Rows of `out`, one per dimension, of `count` coordinates each; positions come in order, so that
// those of one row of x share all coordinates but the last.
void write_coordinates(int64_t* out, int64_t count, int64_t place, const int64_t* positions,
                       int64_t n, const Dims& shape) {
  const size_t last = shape.size() - 1;
  for (int64_t i = 0; i < n;) {
    int64_t rest = positions[i] / shape[last];
    const int64_t start = rest * shape[last];
    int64_t* columns = out + static_cast<int64_t>(last) * count + place;
    const int64_t first = i;
    for (; i < n && positions[i] - start < shape[last]; ++i) columns[i] = positions[i] - start;
    for (size_t d = last; d-- > 0;) {
      int64_t* row = out + static_cast<int64_t>(d) * count + place;
      std::fill(row + first, row + i, rest % shape[d]);
      rest /= shape[d];
    }
  }
}

Values argwhere(const Op&, RawArgs inputs, const Specs&, uint32_t) {
  const Ref<RawTensor> mask = steady(*cast_if_needed(*inputs[0], DType::kBool));
  const MaskBlocks blocks(*mask);
  const int64_t ndim = static_cast<int64_t>(mask->shape.size());
  const int64_t count = blocks.count();
  const Ref<RawTensor> out = RawTensor::empty(DType::kInt64, {ndim, count});
  int64_t* to = out->as<int64_t>();
  if (ndim > 0) {
    blocks.each([&](int64_t block, int64_t first, int64_t n) {
      int64_t place = blocks.before[static_cast<size_t>(block)];
      blocks.each_position(blocks.set, first, n, [&](const int64_t* positions, int64_t found) {
        write_coordinates(to, count, place, positions, found, mask->shape);
        place += found;
      });
    });
  }
  // Each dimension's coordinates lie in order, as most callers want them.
  return one(out->view({count, ndim}, {1, std::max<int64_t>(1, count)}));
}

constexpr std::pair<std::string_view, KernelRule> kKernels[] = {
    {"masked_select", masked_select},
    {"masked_scatter", masked_scatter},
    {"argwhere", argwhere},
};

}  // namespace

RuleTable<KernelRule> mask_kernels() { return kKernels; }

}  // namespace tensorlike
