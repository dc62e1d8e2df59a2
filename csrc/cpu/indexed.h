// What gathering and scattering have in common: the indices checked, and x seen as a table
// (outer, span, inner) whose middle the indices address.
#pragma once

#include "cpu/arrays.h"
#include "kernels/kernel_table.h"
#include "kernels/picked_rows.h"
#include "op/op.h"

namespace tensorlike {

inline constexpr int64_t kOffsetTile = 1024;     // offsets that are computed at a time
inline constexpr int64_t kElementGrain = 16384;  // elements that deserve a thread
inline constexpr int64_t kLongElements = 65536;  // elements that deserve a BlockingRegion

inline int log2_of_word(int64_t bytes) {
  return bytes == 16 ? 4 : bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2;
}
inline const PickKernels& picks(int64_t bytes) { return kernel_table().picks[log2_of_word(bytes)]; }
inline bool is_word(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

// An index tensor, in order, in the dtype it came in when loops exist for that. The memory may be
// another library's, which may write to it meanwhile: each index is checked as it is read, or they
// all are before anything is written, and are then checked again.
class IndexReader {
 public:
  // Broadcasts the index to `shape`. Each must be in [-size, size).
  IndexReader(const Op& op, const Array& index, const Dims& shape, int64_t axis, int64_t size,
              Workspace& workspace);

  // Throws if one is out of range, and says which.
  void check(const Op& op) const;
  // offsets[i] = (or +=) the offset in bytes of index `begin + i`, of n. False, and nothing
  // of use, if one of them is out of range.
  [[nodiscard]] bool offsets(int64_t* offsets, int64_t begin, int64_t n, int64_t stride,
                             bool adds) const {
    return kernels_->offsets(offsets, data_ + begin * width_, n, size_, stride, adds);
  }
  // The words of a table that the same indices pick, where the words follow each other. False, and
  // nothing of use, likewise.
  [[nodiscard]] bool take(char* out, const char* table, int64_t bytes, int64_t begin,
                          int64_t n) const {
    const PickTable& picked = pick_table();
    const TakeWords* const take = width_ == 4 ? picked.take32 : picked.take64;
    return take[log2_of_word(bytes)](out, table, size_, data_ + begin * width_, n);
  }

 private:
  bool fit(int64_t begin, int64_t n) const;

  const char* data_;
  int64_t count_;
  int64_t width_;
  int64_t axis_;
  int64_t size_;
  const IndexKernels* kernels_;
};

// Where an index was out of range that `check` finds in it no more.
[[noreturn]] void refuse_changed(const Op& op, const char* what);

// The indices of a Gather or Scatter.
struct Indexed {
  Indexed(const Op& op, const Array& x, Arrays indices, Workspace& workspace);

  // The offsets in bytes of the table rows that positions [begin, begin + n) of the joint index
  // address; `strides` has the bytes from one to the next along each of `axes`. False, and nothing
  // of use, if one of them is out of range.
  [[nodiscard]] bool offsets(int64_t* out, int64_t begin, int64_t n,
                             std::span<const int64_t> strides) const {
    for (size_t i = 0; i < readers.size(); ++i) {
      if (!readers[i].offsets(out, begin, n, strides[i], i > 0)) return false;
    }
    return true;
  }

  // Throws if an index is out of range, and says which.
  void check(const Op& op) const {
    for (const IndexReader& reader : readers) reader.check(op);
  }
  // Throws, because one was.
  [[noreturn]] void refuse(const Op& op) const {
    check(op);
    refuse_changed(op, "indices");
  }

  std::vector<IndexReader> readers;
  SmallVector<size_t, 4> axes;  // non-negative, in the order of the indices
  SmallVector<size_t, 4> rest;  // the other axes of x
  Dims shape;                   // of the joint index
  int64_t count;                // its elements
  // Axes before the indexed ones, where these stand side by side: the work is done on memory with
  // the index in their place.
  size_t lead = 0;
};

// The index of a TakeAlongAxis or PutAlongAxis: one per element, along one axis of a table whose
// other dimensions are the index's own.
class Along {
 public:
  // `table` is the shape of the table, `shape` that of the index, which broadcasts to it.
  Along(const Op& op, const Array& index, const Dims& shape, const Dims& table, DType dtype,
        Workspace& workspace);

  // The offsets in bytes, into a contiguous table, of elements [begin, begin + n) of the index.
  // False, and nothing, if an index is out of range.
  [[nodiscard]] bool offsets(int64_t* offsets, int64_t begin, int64_t n) const;
  // These elements of a contiguous table, likewise.
  [[nodiscard]] bool take(char* out, const char* table, int64_t begin, int64_t n) const;

  void check(const Op& op) const { reader_.check(op); }
  [[noreturn]] void refuse(const Op& op) const {
    check(op);
    refuse_changed(op, "indices");
  }

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
