// What gathering and scattering have in common: the indices checked, and x seen as a table
// (outer, span, inner) whose middle the indices address.
#pragma once

#include "kernels/kernel_table.h"
#include "tensor/raw_tensor.h"

namespace tensorlike {

inline constexpr int64_t kOffsetTile = 1024;     // offsets that are computed at a time
inline constexpr int64_t kElementGrain = 16384;  // elements that deserve a thread
inline constexpr int64_t kLongElements = 65536;  // elements that deserve a BlockingRegion

inline const PickKernels& picks(int64_t bytes) {
  return kernel_table().picks[bytes == 16 ? 4 : bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2];
}
inline bool is_word(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

// What is read twice, first to check or to count: contiguous, and copied where the memory is shared
// with another library, which may write to it meanwhile.
inline Ref<RawTensor> steady(const RawTensor& x) {
  return x.storage->is_owned() ? contiguous(x) : copy(x);
}

// Who checks the indices: all of them before anything else, or who reads them, tile by tile, which
// saves a pass over them; that is for those who have written nothing but a result of their own.
enum class Checks : uint8_t { kFirst, kInPassing };

// An index tensor, contiguous, in the dtype it came in when loops exist for that.
class IndexReader {
 public:
  // Broadcasts the index to `shape`. Each must be in [-size, size).
  IndexReader(const Op& op, const RawTensor& index, const Dims& shape, int64_t axis, int64_t size,
              Checks checks);

  // Whether the indices at [begin, begin + n) are in range.
  bool fits(int64_t begin, int64_t n) const;
  // Throws if one is not.
  void check(const Op& op) const;

  // offsets[i] = (or +=) the offset in bytes of index `begin + i`, of n.
  void offsets(int64_t* offsets, int64_t begin, int64_t n, int64_t stride, bool adds) const {
    kernels_->offsets(offsets, data_ + begin * width_, n, size_, stride, adds);
  }

 private:
  Ref<RawTensor> index_;  // keeps the memory
  const char* data_;
  int64_t width_;
  int64_t axis_;
  int64_t size_;
  const IndexKernels* kernels_;
};

// The indices of a Gather or Scatter, not checked at first: see Checks.
struct Indexed {
  Indexed(const Op& op, const RawTensor& x, std::span<RawTensor* const> indices);

  // The offsets in bytes of the table rows that positions [begin, begin + n) of the joint index
  // address; `strides` has the bytes from one to the next along each of `axes`. False, and nothing,
  // if one of them is out of range; once they are all checked none is looked at again.
  [[nodiscard]] bool offsets(int64_t* out, int64_t begin, int64_t n,
                             std::span<const int64_t> strides) const {
    for (size_t i = 0; i < readers.size(); ++i) {
      if (!are_checked && !readers[i].fits(begin, n)) return false;
      readers[i].offsets(out, begin, n, strides[i], i > 0);
    }
    return true;
  }

  // Throws if an index is out of range, and says which.
  void check(const Op& op) {
    for (const IndexReader& reader : readers) reader.check(op);
    are_checked = true;
  }

  std::vector<IndexReader> readers;
  bool are_checked = false;
  SmallVector<size_t, 4> axes;  // non-negative, in the order of the indices
  SmallVector<size_t, 4> rest;  // the other axes of x
  Dims shape;                   // of the joint index
  int64_t count;                // its elements
  // Axes before the indexed ones, where these stand side by side: the results lie in memory with
  // the index in their place, which saves the exchange that mostly follows.
  size_t lead = 0;
};

// The index of a TakeAlongAxis or PutAlongAxis: one per element, along one axis of a table whose
// other dimensions are the index's own.
class Along {
 public:
  // `table` is the shape of the table, `shape` that of the index, which broadcasts to it.
  Along(const Op& op, const RawTensor& index, const Dims& shape, const Dims& table, DType dtype);

  // The offsets in bytes, into a contiguous table, of elements [begin, begin + n) of the index.
  void offsets(int64_t* offsets, int64_t begin, int64_t n) const;

  int64_t count() const { return count_; }
  int64_t outer() const { return row_ == 0 ? 0 : count_ / row_; }
  int64_t row() const { return row_; }  // elements of the index for one outer position

 private:
  IndexReader reader_;
  int64_t count_, row_, inner_, size_, outer_bytes_;
};

// The axis of such an op, non-negative.
size_t along_axis(const Op& op, size_t ndim);

}  // namespace tensorlike
