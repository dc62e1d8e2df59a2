#include "cpu/indexed.h"

#include <algorithm>
#include <atomic>

#include "base/blocking.h"
#include "base/pool.h"
#include "op/index.h"

namespace tensorlike {
namespace {

// Unsigned indices from 2^63 on have become negative, and would count from the end.
void check_unsigned(const Op& op, const Array& index) {
  const int64_t* const end = index.as<int64_t>() + index.count;
  const int64_t* const begin = index.as<int64_t>();
  const int64_t* found = std::find_if(begin, end, [](int64_t value) { return value < 0; });
  if (found == end) return;
  fail(ErrorKind::kIndex, said::op(op.name()), said::argument("indices"), "must be below 2^63",
       said::got(static_cast<uint64_t>(*found), " at position ", found - begin));
}

}  // namespace

void refuse_changed(const Op& op, const char* what) {
  fail(ErrorKind::kIndex, said::op(op.name()), said::argument(what),
       "must stay the same while they are read",
       said::got("memory that somebody wrote to meanwhile"), said::fix("copy them first"));
}

IndexReader::IndexReader(const Op& op, const Array& index, const Dims& shape, int64_t axis,
                         int64_t size, Workspace& workspace)
    : axis_(axis), size_(size) {
  const Array* seen = &index;
  Array made;
  if (index.dtype != DType::kInt32 && index.dtype != DType::kInt64) {
    made = prepared(index, DType::kInt64, workspace);
    seen = &made;
    if (index.dtype == DType::kUInt64) check_unsigned(op, made);
  }
  if (!seen->is_contiguous || !(seen->shape == shape)) {
    made = contiguous(broadcast_to(*seen, shape), workspace);
    seen = &made;
  }
  data_ = seen->data;
  count_ = seen->count;
  width_ = static_cast<int64_t>(size_of(seen->dtype));
  kernels_ = width_ == 4 ? &kernel_table().index32 : &kernel_table().index64;
}

bool IndexReader::fit(int64_t begin, int64_t n) const {
  int64_t least = 0;
  int64_t most = 0;
  kernels_->range(data_ + begin * width_, n, &least, &most);
  return least >= -size_ && most < size_;
}

void IndexReader::check(const Op& op) const {
  std::atomic<bool> all_fit{true};
  {
    BlockingRegion blocking(count_ > kLongElements);
    parallel_for(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      if (!fit(begin, end - begin)) all_fit.store(false, std::memory_order_relaxed);
    });
  }
  if (all_fit.load(std::memory_order_relaxed)) return;
  for (int64_t i = 0; i < count_; ++i) {
    const int64_t value = width_ == 4 ? reinterpret_cast<const int32_t*>(data_)[i]
                                      : reinterpret_cast<const int64_t*>(data_)[i];
    if (value >= -size_ && value < size_) continue;
    fail(ErrorKind::kIndex, said::op(op.name()), said::argument("indices"), "must be in [", -size_,
         ", ", size_ - 1, "] for axis ", axis_, said::got(value, " at position ", i));
  }
}

Indexed::Indexed(const Op& op, const Array& x, Arrays indices, Workspace& workspace) {
  for (const Array* index : indices) shape = broadcast_shapes(op.name(), shape, index->shape);
  count = element_count(shape);
  SmallVector<bool, 8> taken(x.shape.size());
  readers.reserve(indices.size());
  const std::vector<int64_t>& given = op.get<std::vector<int64_t>>("axes");
  for (size_t i = 0; i < given.size(); ++i) {
    const int64_t ndim = static_cast<int64_t>(x.shape.size());
    const size_t axis = static_cast<size_t>(normalize_axis(op.name(), given[i], ndim));
    taken[axis] = true;
    axes.push_back(axis);
    readers.emplace_back(op, *indices[i], shape, static_cast<int64_t>(axis), x.shape[axis],
                         workspace);
  }
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (!taken[i]) rest.push_back(i);
  }
  lead = leading_axes(op.name(), given, x.shape.size());
}

size_t along_axis(const Op& op, size_t ndim) {
  return static_cast<size_t>(
      normalize_axis(op.name(), op.get<int64_t>("axis"), static_cast<int64_t>(ndim)));
}

Along::Along(const Op& op, const Array& index, const Dims& shape, const Dims& table, DType dtype,
             Workspace& workspace)
    : reader_(op, index, shape, static_cast<int64_t>(along_axis(op, table.size())),
              table[along_axis(op, table.size())], workspace),
      count_(element_count(shape)),
      inner_(1),
      size_(static_cast<int64_t>(size_of(dtype))) {
  const size_t axis = along_axis(op, table.size());
  for (size_t i = axis + 1; i < shape.size(); ++i) inner_ *= shape[i];
  row_ = shape[axis] * inner_;
  outer_bytes_ = table[axis] * inner_ * size_;
}

bool Along::offsets(int64_t* offsets, int64_t begin, int64_t n) const {
  if (!reader_.offsets(offsets, begin, n, inner_ * size_, false)) return false;
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
  return true;
}

bool Along::take(char* out, const char* table, int64_t begin, int64_t n) const {
  constexpr int64_t kLeastRun = 8;  // elements that are worth a call
  if (inner_ == 1 && row_ >= kLeastRun) {
    for (int64_t i = 0; i < n;) {
      const int64_t at = begin + i;
      const int64_t run = std::min(n - i, row_ - at % row_);
      const char* const from = table + at / row_ * outer_bytes_;
      if (!reader_.take(out + i * size_, from, size_, at, run)) return false;
      i += run;
    }
    return true;
  }
  int64_t places[kOffsetTile];
  for (int64_t i = 0; i < n; i += kOffsetTile) {
    const int64_t count = std::min(kOffsetTile, n - i);
    if (!offsets(places, begin + i, count)) return false;
    picks(size_).take(out + i * size_, 0, table, 0, 1, places, count);
  }
  return true;
}

}  // namespace tensorlike
