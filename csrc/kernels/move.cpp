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
constexpr int64_t kLeastSide = 16;   // of a block that is not the only one
constexpr int64_t kLeastBlock = 16;  // elements that are worth a block of their own
constexpr int64_t kMaxWord = 16;
constexpr int64_t kLongRun = 4096;  // bytes that are worth a call of the C library

// A long run, which the C library copies as it suits the processor: some need not read the lines
// that are written as a whole. Not where the low bits of the addresses are nearly alike.
void copy_long(char* out, const char* in, int64_t bytes) {
  constexpr uintptr_t kAlike = 4096;
  const auto apart = static_cast<uintptr_t>(out - in) % kAlike;
  if (apart == 0 || apart >= 64) {
    std::memcpy(out, in, static_cast<size_t>(bytes));
  } else {
    kernel_table().moves[0].rows({out, 0, 1, in, 0, 1, 1, bytes});
  }
}

void copy_long_rows(const MoveBlock& b) {
  for (int64_t r = 0; r < b.rows; ++r) {
    copy_long(b.out + r * b.out_row, b.in + r * b.in_row, b.columns * b.out_step);
  }
}

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
  // is elsewhere and both together are worth a block.
  size_t transposed() const {
    const Dim& inner = dims.back();
    size_t best = dims.size() - 1;
    if (inner.in == 0) return best;
    for (size_t i = 0; i + 1 < dims.size(); ++i) {
      if (dims[i].size * inner.size < kLeastBlock || dims[i].in == 0) continue;
      if (std::abs(dims[i].in) < std::abs(dims[best].in)) best = i;
    }
    return best;
  }
};

// A dimension in steps. What a last step would have too little for belongs to the one before.
struct Steps {
  int64_t size, step, count;

  Steps(int64_t all, int64_t each, int64_t least)
      : size(all), step(each), count(std::max<int64_t>(1, (all - least + each) / each)) {}
  int64_t length(int64_t i) const { return i + 1 == count ? size - i * step : step; }
  int64_t longest() const { return std::max(length(0), length(count - 1)); }
};

// Blocks of the two chosen dimensions times everything outside of them, counted through.
class MovedBlocks {
 public:
  MovedBlocks(const Plan& plan, bool is_transposed, const Dim& rows, const Dim& columns,
              SmallVector<Dim, 6> outer)
      : plan_(plan),
        rows_(rows),
        columns_(columns),
        outer_(std::move(outer)),
        row_steps_(rows.size, row_step(plan, is_transposed, rows, columns), kLeastSide),
        column_steps_(columns.size, column_step(plan, is_transposed, rows), kLeastSide) {
    const MoveKernels& moves = move_kernels(plan.word);
    const bool is_long = columns.out == plan.word && columns.in == plan.word &&
                         column_steps_.longest() * plan.word >= kLongRun;
    copy_ = is_transposed ? moves.transpose : is_long ? copy_long_rows : moves.rows;
    count_ = row_steps_.count * column_steps_.count;
    for (const Dim& dim : outer_) count_ *= dim.size;
  }

  int64_t count() const { return count_; }
  int64_t bytes() const { return row_steps_.longest() * column_steps_.longest() * plan_.word; }

  // Blocks [begin, end), the columns of a row first, then rows, then what is outside.
  void copy(int64_t begin, int64_t end) const {
    int64_t rest = begin;
    int64_t column = rest % column_steps_.count;
    rest /= column_steps_.count;
    int64_t row = rest % row_steps_.count;
    rest /= row_steps_.count;
    char* out = plan_.out;
    const char* in = plan_.in;
    SmallVector<int64_t, 6> index(outer_.size());
    for (size_t i = outer_.size(); i-- > 0;) {
      index[i] = rest % outer_[i].size;
      rest /= outer_[i].size;
      out += index[i] * outer_[i].out;
      in += index[i] * outer_[i].in;
    }
    for (int64_t at = begin; at < end; ++at) {
      copy_block(out, in, row, column);
      if (++column < column_steps_.count) continue;
      column = 0;
      if (++row < row_steps_.count) continue;
      row = 0;
      for (size_t i = outer_.size(); i-- > 0;) {
        out += outer_[i].out;
        in += outer_[i].in;
        if (++index[i] < outer_[i].size) break;
        out -= outer_[i].size * outer_[i].out;
        in -= outer_[i].size * outer_[i].in;
        index[i] = 0;
      }
    }
  }

 private:
  static int64_t row_step(const Plan& plan, bool is_transposed, const Dim& rows,
                          const Dim& columns) {
    if (is_transposed) return side(kTileRows, columns.size);
    const int64_t bytes = std::min(columns.size, column_step(plan, false, rows)) * plan.word;
    return std::max<int64_t>(1, kGrainBytes / bytes);
  }
  static int64_t column_step(const Plan& plan, bool is_transposed, const Dim& rows) {
    if (is_transposed) return side(kTileColumns, rows.size);
    return std::max<int64_t>(1, kPieceBytes / plan.word);
  }
  // Of a block; longer where the other side is short.
  static int64_t side(int64_t usual, int64_t other) {
    const int64_t longest = kTileRows * kTileColumns / other / kLeastSide * kLeastSide;
    return std::max(usual, longest);
  }

  void copy_block(char* out, const char* in, int64_t row, int64_t column) const {
    const int64_t r = row * row_steps_.step;
    const int64_t c = column * column_steps_.step;
    copy_({out + r * rows_.out + c * columns_.out, rows_.out, columns_.out,
           in + r * rows_.in + c * columns_.in, rows_.in, columns_.in, row_steps_.length(row),
           column_steps_.length(column)});
  }

  const Plan& plan_;
  Dim rows_, columns_;
  SmallVector<Dim, 6> outer_;
  Steps row_steps_, column_steps_;
  void (*copy_)(const MoveBlock&);
  int64_t count_;
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
  const MovedBlocks blocks(plan, is_transposed, rows, columns, std::move(outer));
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
    copy_long(out + begin, in + begin, end - begin);
  });
}

}  // namespace tensorlike
