#include "kernels/move.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/blocking.h"
#include "base/pool.h"
#include "base/small_vector.h"
#include "kernels/kernel_table.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrainBytes = 65536;   // below this, another thread costs more than it gives
constexpr int64_t kLongBytes = 262144;   // deserves a BlockingRegion
constexpr int64_t kPieceBytes = 131072;  // longer rows are split, to be shared by the threads
constexpr int64_t kTileRows = 64;        // of a transposed block: together they stay in cache
constexpr int64_t kTileColumns = 128;
constexpr int64_t kMaxWord = 16;

struct Dim {
  int64_t size, out, in;  // strides in bytes
};

// What is left of a copy once it is brought into its simplest form.
struct Plan {
  char* out;
  const char* in;
  SmallVector<Dim, 6> dims;  // the last is the innermost of the output
  int64_t word;              // bytes

  Plan(char* out_data, std::span<const int64_t> out_strides, const char* in_data,
       std::span<const int64_t> in_strides, std::span<const int64_t> shape, size_t size)
      : out(out_data), in(in_data), word(static_cast<int64_t>(size)) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 1) continue;
      Dim dim{shape[i], out_strides[i] * word, in_strides[i] * word};
      if (dim.out < 0) {  // backwards on both sides is the same copy
        out += (dim.size - 1) * dim.out;
        in += (dim.size - 1) * dim.in;
        dim.out = -dim.out;
        dim.in = -dim.in;
      }
      dims.push_back(dim);
    }
    std::stable_sort(dims.begin(), dims.end(),
                     [](const Dim& a, const Dim& b) { return a.out > b.out; });
    merge();
    widen();
  }

  // Neighbours that both sides walk in one stride become one.
  void merge() {
    size_t last = 0;
    for (size_t i = 1; i < dims.size(); ++i) {
      Dim& outer = dims[last];
      const Dim& inner = dims[i];
      if (outer.out == inner.out * inner.size && outer.in == inner.in * inner.size) {
        outer = {outer.size * inner.size, inner.out, inner.in};
      } else {
        dims[++last] = inner;
      }
    }
    if (!dims.empty()) dims.resize(last + 1);
  }

  // A short innermost run that both sides have in order is one wider word.
  void widen() {
    if (dims.size() < 2) return;
    const Dim& run = dims.back();
    const int64_t bytes = run.size * word;
    if (run.out != word || run.in != word || bytes > kMaxWord ||
        !std::has_single_bit(static_cast<uint64_t>(bytes))) {
      return;
    }
    word = bytes;
    dims.resize(dims.size() - 1);
  }

  // The dimension to exchange with the innermost: where the input is closest together, when that
  // is elsewhere and both are long enough for tiles.
  size_t transposed() const {
    const Dim& inner = dims.back();
    size_t best = dims.size() - 1;
    if (inner.size < 4 || inner.in == 0) return best;
    for (size_t i = 0; i + 1 < dims.size(); ++i) {
      if (dims[i].size < 4 || dims[i].in == 0) continue;
      if (std::abs(dims[i].in) < std::abs(dims[best].in)) best = i;
    }
    return best;
  }
};

// Blocks of the two chosen dimensions times everything outside of them, counted through.
class Blocks {
 public:
  Blocks(const Plan& plan, bool is_transposed, const Dim& rows, const Dim& columns,
         SmallVector<Dim, 6> outer)
      : plan_(plan), rows_(rows), columns_(columns), outer_(std::move(outer)) {
    const MoveKernels& moves =
        kernel_table().moves[std::countr_zero(static_cast<uint64_t>(plan.word))];
    copy_ = is_transposed ? moves.transpose : moves.rows;
    if (is_transposed) {
      row_step_ = kTileRows;
      column_step_ = kTileColumns;
    } else {
      column_step_ = std::max<int64_t>(1, kPieceBytes / plan.word);
      const int64_t bytes = std::min(columns.size, column_step_) * plan.word;
      row_step_ = std::max<int64_t>(1, kGrainBytes / bytes);
    }
    row_blocks_ = (rows.size + row_step_ - 1) / row_step_;
    column_blocks_ = (columns.size + column_step_ - 1) / column_step_;
    count_ = row_blocks_ * column_blocks_;
    for (const Dim& dim : outer_) count_ *= dim.size;
  }

  int64_t count() const { return count_; }
  int64_t bytes() const {
    return std::min(rows_.size, row_step_) * std::min(columns_.size, column_step_) * plan_.word;
  }

  void copy(int64_t begin, int64_t end) const {
    for (int64_t at = begin; at < end; ++at) copy_block(at);
  }

 private:
  void copy_block(int64_t at) const {
    const int64_t column = at % column_blocks_ * column_step_;
    at /= column_blocks_;
    const int64_t row = at % row_blocks_ * row_step_;
    at /= row_blocks_;
    MoveBlock block{plan_.out + row * rows_.out + column * columns_.out,
                    rows_.out,
                    columns_.out,
                    plan_.in + row * rows_.in + column * columns_.in,
                    rows_.in,
                    columns_.in,
                    std::min(row_step_, rows_.size - row),
                    std::min(column_step_, columns_.size - column)};
    for (size_t i = outer_.size(); i-- > 0;) {
      const int64_t index = at % outer_[i].size;
      at /= outer_[i].size;
      block.out += index * outer_[i].out;
      block.in += index * outer_[i].in;
    }
    copy_(block);
  }

  const Plan& plan_;
  Dim rows_, columns_;
  SmallVector<Dim, 6> outer_;
  void (*copy_)(const MoveBlock&);
  int64_t row_step_, column_step_, row_blocks_, column_blocks_, count_;
};

}  // namespace

void move_strided(char* out, std::span<const int64_t> out_strides, const char* in,
                  std::span<const int64_t> in_strides, std::span<const int64_t> shape,
                  size_t size) {
  for (int64_t dim : shape) {
    if (dim == 0) return;
  }
  const Plan plan(out, out_strides, in, in_strides, shape, size);
  Dim columns{1, plan.word, plan.word};
  Dim rows{1, 0, 0};
  SmallVector<Dim, 6> outer;
  bool is_transposed = false;
  if (!plan.dims.empty()) {
    const size_t last = plan.dims.size() - 1;
    columns = plan.dims[last];
    const size_t inner = plan.transposed();
    is_transposed = inner != last;
    const size_t row = is_transposed ? inner : last - 1;  // wraps around where there is none
    for (size_t i = 0; i < last; ++i) {
      if (i == row) {
        rows = plan.dims[i];
      } else {
        outer.push_back(plan.dims[i]);
      }
    }
  }
  const Blocks blocks(plan, is_transposed, rows, columns, std::move(outer));
  const int64_t total = blocks.count() * blocks.bytes();
  if (total <= kGrainBytes) {
    blocks.copy(0, blocks.count());
    return;
  }
  BlockingRegion blocking(total > kLongBytes);
  parallel_for(blocks.count(), std::max<int64_t>(1, kGrainBytes / blocks.bytes()),
               [&blocks](int64_t begin, int64_t end) { blocks.copy(begin, end); });
}

void move_bytes(char* out, const char* in, int64_t n) {
  BlockingRegion blocking(n > kLongBytes);
  parallel_for(n, kGrainBytes, [&](int64_t begin, int64_t end) {
    std::memcpy(out + begin, in + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace tensorlike
