#include "tensor/indexed.h"

#include <algorithm>
#include <atomic>

#include "base/blocking.h"
#include "base/pool.h"
#include "tensor/layout.h"

namespace tensorlike {
namespace {

// Unsigned indices from 2^63 on have become negative, and would count from the end.
Ref<RawTensor> checked(Ref<RawTensor> index, const Op& op) {
  const int64_t* const end = index->as<int64_t>() + index->count;
  const int64_t* const begin = index->as<int64_t>();
  const int64_t* found = std::find_if(begin, end, [](int64_t value) { return value < 0; });
  if (found == end) return index;
  fail(ErrorKind::kIndex, said::op(op.name()), said::argument("indices"), "must be below 2^63",
       said::got(static_cast<uint64_t>(*found), " at position ", found - begin));
}

Ref<RawTensor> readable(const Op& op, const RawTensor& index, const Dims& shape) {
  const bool has_loops = index.dtype == DType::kInt32 || index.dtype == DType::kInt64;
  Ref<RawTensor> values =
      has_loops ? Ref<RawTensor>(const_cast<RawTensor*>(&index)) : cast(index, DType::kInt64);
  if (index.dtype == DType::kUInt64) values = checked(std::move(values), op);
  return steady(values->shape == shape ? *values : *broadcast_to(*values, shape));
}

}  // namespace

IndexReader::IndexReader(const Op& op, const RawTensor& index, const Dims& shape, int64_t axis,
                         int64_t size, Checks checks)
    : index_(readable(op, index, shape)),
      data_(index_->data),
      width_(static_cast<int64_t>(size_of(index_->dtype))),
      axis_(axis),
      size_(size),
      kernels_(index_->dtype == DType::kInt32 ? &kernel_table().index32 : &kernel_table().index64) {
  if (checks == Checks::kFirst) check(op);
}

bool IndexReader::fits(int64_t begin, int64_t n) const {
  int64_t least = 0;
  int64_t most = 0;
  kernels_->range(data_ + begin * width_, n, &least, &most);
  return least >= -size_ && most < size_;
}

void IndexReader::check(const Op& op) const {
  const int64_t count = index_->count;
  std::atomic<bool> all_fit{true};
  {
    BlockingRegion blocking(count > kLongElements);
    parallel_for(count, kElementGrain, [&](int64_t begin, int64_t end) {
      if (!fits(begin, end - begin)) all_fit.store(false, std::memory_order_relaxed);
    });
  }
  if (all_fit.load(std::memory_order_relaxed)) return;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = width_ == 4 ? index_->as<int32_t>()[i] : index_->as<int64_t>()[i];
    if (value >= -size_ && value < size_) continue;
    fail(ErrorKind::kIndex, said::op(op.name()), said::argument("indices"), "must be in [", -size_,
         ", ", size_ - 1, "] for axis ", axis_, said::got(value, " at position ", i));
  }
}

Indexed::Indexed(const Op& op, const RawTensor& x, std::span<RawTensor* const> indices) {
  for (RawTensor* index : indices) shape = broadcast_shapes(op.name(), shape, index->shape);
  count = element_count(shape);
  SmallVector<bool, 8> taken(x.shape.size());
  readers.reserve(indices.size());
  const std::vector<int64_t>& given = op.get<std::vector<int64_t>>("axes");
  bool is_together = true;
  for (size_t i = 0; i < given.size(); ++i) {
    const int64_t ndim = static_cast<int64_t>(x.shape.size());
    const size_t axis = static_cast<size_t>(normalize_axis(op.name(), given[i], ndim));
    is_together = is_together && (i == 0 || axis == axes[i - 1] + 1);
    taken[axis] = true;
    axes.push_back(axis);
    readers.emplace_back(op, *indices[i], shape, static_cast<int64_t>(axis), x.shape[axis],
                         Checks::kInPassing);
  }
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (!taken[i]) rest.push_back(i);
  }
  if (is_together && !axes.empty()) lead = axes[0];
}

size_t along_axis(const Op& op, size_t ndim) {
  return static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(ndim)));
}

Along::Along(const Op& op, const RawTensor& index, const Dims& shape, const Dims& table,
             DType dtype)
    : reader_(op, index, shape, static_cast<int64_t>(along_axis(op, table.size())),
              table[along_axis(op, table.size())], Checks::kFirst),
      count_(element_count(shape)),
      inner_(1),
      size_(static_cast<int64_t>(size_of(dtype))) {
  const size_t axis = along_axis(op, table.size());
  for (size_t i = axis + 1; i < shape.size(); ++i) inner_ *= shape[i];
  row_ = shape[axis] * inner_;
  outer_bytes_ = table[axis] * inner_ * size_;
}

void Along::offsets(int64_t* offsets, int64_t begin, int64_t n) const {
  reader_.offsets(offsets, begin, n, inner_ * size_, false);
  int64_t place = begin % row_;
  int64_t base = begin / row_ * outer_bytes_;
  int64_t column = begin % inner_;
  for (int64_t i = 0; i < n;) {
    const int64_t run = std::min(n - i, inner_ == 1 ? row_ - place : inner_ - column);
    const int64_t step = inner_ == 1 ? 0 : size_;
    const int64_t first = base + column * step;
    for (int64_t k = 0; k < run; ++k) offsets[i + k] += first + k * step;
    i += run;
    place += run;
    column = 0;
    if (place < row_) continue;
    place = 0;
    base += outer_bytes_;
  }
}

}  // namespace tensorlike
