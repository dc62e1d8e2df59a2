#include "cpu/reduce.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/blocking.h"
#include "base/pool.h"
#include "cpu/folding.h"
#include "memory/storage.h"

namespace tensorlike {
namespace {

constexpr int64_t kReduceChunk = 65536;  // elements of one partial result: fixed, so that results
                                         // do not depend on the number of threads
constexpr int64_t kColumns = 4096;       // accumulators that stay in cache
constexpr int64_t kParts =
    16;  // of the rows, as long as they have kReduceChunk to 8 kReduceChunk elements
constexpr int64_t kReduceGrain = 16384;
constexpr int64_t kBuffer = kTile * 16;  // bytes of elements of any dtype that are folded together

// The dimensions in the order in which a reduction walks them: kept ones, reduced ones, and, for
// whole rows of accumulators, the kept ones behind the last reduced axis.
SmallVector<size_t, 8> walking_order(const Dims& shape, const Dims& axes, bool in_columns) {
  auto is_reduced = [&](size_t d) {
    return std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
  };
  size_t inner = shape.size();
  while (in_columns && inner > 0 && (shape[inner - 1] == 1 || !is_reduced(inner - 1))) --inner;
  SmallVector<size_t, 8> order;
  for (size_t d = 0; d < inner; ++d) {
    if (!is_reduced(d)) order.push_back(d);
  }
  for (size_t d = 0; d < inner; ++d) {
    if (is_reduced(d)) order.push_back(d);
  }
  for (size_t d = inner; d < shape.size(); ++d) order.push_back(d);
  return order;
}

class Reducer {
 public:
  Reducer(const Reducible& x, const Dims& axes, const ReductionKernel& kernel, char* out,
          size_t out_size)
      : x_(x),
        kernel_(kernel),
        out_(out),
        out_size_(out_size),
        plan_(plan_reduction(x.shape, x.strides, axes)),
        count_(element_count(plan_.shape)) {
    in_columns_ = plan_.has_columns(kernel.least_columns);
    if (x.program != nullptr) bind(axes);
  }

  void run() {
    const int64_t kept = element_count(plan_.kept_shape);
    if (kept == 0) return;
    BlockingRegion blocking(kept * std::max<int64_t>(count_, 1) > 2 * kReduceGrain);
    if (in_columns_) {
      columns(kept);
    } else if (kept < 16 && count_ > 2 * kReduceChunk) {
      for (int64_t i = 0; i < kept; ++i) one_in_chunks(i);
    } else {
      const int64_t grain = std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(count_, 1));
      parallel_for(kept, grain, [&](int64_t begin, int64_t end) { rows(begin, end); });
    }
  }

 private:
  void bind(const Dims& axes) {
    const auto order = walking_order(x_.shape, axes, in_columns_);
    Dims shape;
    for (size_t d : order) shape.push_back(x_.shape[d]);
    SmallVector<TileOperand, 4> operands(x_.operands);
    for (size_t i = 0; i < operands.size(); ++i) {
      for (size_t d = 0; d < order.size(); ++d) {
        operands[i].strides[d] = x_.operands[i].strides[order[d]];
      }
    }
    bound_.emplace(*x_.program, shape, operands);
  }

  const char* kept_data(int64_t i) const {
    return x_.operands[0].data + offset_of(i, plan_.kept_shape, plan_.kept_strides) * size();
  }
  // Elements [begin, begin + n) in the order of walking, from the program: in the buffer, which has
  // room for them, or where they are written to.
  const char* compute(TileRunner& runner, int64_t begin, int64_t n, char* buffer) const {
    const char* first = nullptr;
    for (int64_t i = 0; i < n; i += kTile) {
      SmallVector<char*, 4> to;
      if (!x_.is_written) to.push_back(buffer + i * size());
      for (const TileOutput& other : x_.written) {
        to.push_back(other.data + (begin + i) * static_cast<int64_t>(other.size));
      }
      runner.run(begin + i, std::min(kTile, n - i), to.data());
      if (i == 0) first = to[0];
    }
    return first;
  }
  char* out_at(int64_t i) const { return out_ + i * static_cast<int64_t>(out_size_); }
  int64_t size() const { return static_cast<int64_t>(x_.size); }

  // Results [begin, end), each of all its elements.
  void rows(int64_t begin, int64_t end) const {
    Folding folding(kernel_);
    if (!bound_ && lies_in_order()) {
      const int64_t last = plan_.kept_shape.empty() ? 1 : plan_.kept_shape.back();
      for (int64_t i = begin; i < end;) {
        const int64_t n = std::min(end - i, last - i % last);
        whole_rows(folding, i, n, kept_data(i), last == 1 ? 0 : plan_.kept_strides.back());
        i += n;
      }
      return;
    }
    const int64_t together = count_ == 0 ? 1 : std::max<int64_t>(1, kBuffer / size() / count_);
    std::optional<TileRunner> runner;
    if (bound_) runner.emplace(*bound_);
    if (!bound_ || together == 1) {
      alignas(16) char acc[ReductionKernel::kWidest];
      for (int64_t i = begin; i < end; ++i) {
        folding.start(acc, 1);
        fold(folding, runner, acc, i, 0, count_);
        folding.finish(out_at(i), acc, 1, count_);
      }
      return;
    }
    // Several short rows in one run of the program.
    alignas(64) char buffer[kBuffer];
    for (int64_t i = begin; i < end; i += together) {
      const int64_t n = std::min(together, end - i);
      whole_rows(folding, i, n, compute(*runner, i * count_, n * count_, buffer), count_);
    }
  }

  // Whether the elements of a result follow each other.
  bool lies_in_order() const {
    return plan_.shape.empty() || (plan_.shape.size() == 1 && plan_.strides[0] == 1);
  }

  // n results from the i-th on, whose rows lie `step` elements apart.
  void whole_rows(Folding& folding, int64_t i, int64_t n, const char* data, int64_t step) const {
    if (kernel_.each != nullptr) return kernel_.each(out_at(i), data, count_, n, step);
    alignas(16) char acc[ReductionKernel::kWidest];
    for (int64_t k = 0; k < n; ++k) {
      folding.start(acc, 1);
      if (count_ > 0) folding.row(acc, data + k * step * size(), count_);
      folding.finish(out_at(i + k), acc, 1, count_);
    }
  }

  // Combines elements [begin, end) of the i-th result into one accumulator. There is a runner
  // where there is a program.
  void fold(Folding& folding, std::optional<TileRunner>& runner, char* acc, int64_t i,
            int64_t begin, int64_t end) const {
    if (begin == end) return;
    alignas(64) char buffer[kBuffer];
    if (runner) {
      const int64_t most = kBuffer / size();
      for (int64_t at = begin; at < end; at += most) {
        const int64_t n = std::min(most, end - at);
        folding.row(acc, compute(*runner, i * count_ + at, n, buffer), n);
      }
      return;
    }
    const char* data = kept_data(i);
    if (lies_in_order()) {
      folding.row(acc, data + begin * size(), end - begin);
      return;
    }
    const TileOperand operand{data, x_.size, plan_.strides};
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = std::min(kTile, end - at);
      gather_tile(operand, plan_.shape, at, n, buffer);
      folding.row(acc, buffer, n);
    }
  }

  // A long reduction into few results: partial results side by side, joined in order.
  void one_in_chunks(int64_t i) const {
    const int64_t chunks = (count_ + kReduceChunk - 1) / kReduceChunk;
    const size_t width = kernel_.accumulator;
    Ref<Storage> partial = Storage::allocate(static_cast<size_t>(chunks) * width);
    char* accumulators = partial->data();
    // Once one chunk decides, others need not be looked at, unless they are also written.
    const bool may_stop = kernel_.is_decided != nullptr && !x_.is_written && x_.written.empty();
    std::atomic<bool> is_decided{false};
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      Folding folding(kernel_);
      std::optional<TileRunner> runner;
      if (bound_) runner.emplace(*bound_);
      for (int64_t c = begin; c < end; ++c) {
        char* acc = accumulators + static_cast<size_t>(c) * width;
        folding.start(acc, 1);
        if (is_decided.load(std::memory_order_relaxed)) continue;
        fold(folding, runner, acc, i, c * kReduceChunk, std::min(count_, (c + 1) * kReduceChunk));
        if (may_stop && kernel_.is_decided(acc)) {
          is_decided.store(true, std::memory_order_relaxed);
        }
      }
    });
    Folding folding(kernel_);
    for (int64_t c = 1; c < chunks; ++c) {
      folding.join(accumulators, accumulators + static_cast<size_t>(c) * width, 1);
    }
    folding.finish(out_at(i), accumulators, 1, count_);
  }

  // How the columns are shared: tiles of them, and parts of the rows, which are joined in order.
  // What a program computes passes through tile buffers, which are narrower; since the parts are
  // the same, so are the bits.
  struct Columns {
    int64_t inner, width, tiles, rows, parts;

    // Of a tile: the last one has those, too, that would be few by themselves.
    int64_t size(int64_t tile) const { return tile + 1 < tiles ? width : inner - tile * width; }
    int64_t most() const { return std::max(width, size(tiles - 1)); }
  };

  Columns shared_columns(int64_t kept) const {
    const int64_t inner = plan_.kept_shape.back();
    const int64_t chunk = kReduceChunk / std::min(inner, kColumns);
    const int64_t rows = std::max<int64_t>(64, std::clamp(count_ / kParts, chunk, 8 * chunk));
    const int64_t parts = std::max<int64_t>(1, (count_ + rows - 1) / rows);
    // More tiles where threads would have nothing to do, none of them narrow beside others.
    const int64_t most = bound_ ? kTile : kColumns;
    const int64_t jobs = kept / inner * parts;
    const int64_t wanted = num_threads() > 1 ? (2 * num_threads() - 1) / jobs + 1 : 1;
    const int64_t tiles = std::max((inner - 1) / most + 1, std::min(wanted, inner / 64));
    const int64_t width = ((inner - 1) / tiles / 16 + 1) * 16;
    return {inner, width, std::max<int64_t>(1, inner / width + (inner % width >= 16)), rows, parts};
  }

  // The innermost dimension is kept and contiguous: whole rows are combined into accumulators.
  void columns(int64_t kept) const {
    const Columns c = shared_columns(kept);
    const int64_t tiles = kept / c.inner * c.tiles;
    const size_t bytes = static_cast<size_t>(c.most()) * kernel_.accumulator;
    Ref<Storage> partial = Storage::allocate(static_cast<size_t>(tiles * c.parts) * bytes);
    char* accumulators = partial->data();
    const int64_t work = std::max<int64_t>(1, std::min(count_, c.rows) * c.width);
    parallel_for(tiles * c.parts, std::max<int64_t>(1, kReduceGrain / work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t job = begin; job < end; ++job) {
                     // Neighbours in a row of the input follow each other.
                     const int64_t tile = job / (c.tiles * c.parts) * c.tiles + job % c.tiles;
                     const int64_t part = job / c.tiles % c.parts;
                     const int64_t place = tile * c.parts + part;
                     column_part(c, tile, part, accumulators + static_cast<size_t>(place) * bytes);
                   }
                 });
    parallel_for(tiles, std::max<int64_t>(1, kReduceGrain / (c.width * c.parts)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t tile = begin; tile < end; ++tile) {
                     join_parts(c, tile, accumulators + static_cast<size_t>(tile * c.parts) * bytes,
                                bytes);
                   }
                 });
  }

  void join_parts(const Columns& c, int64_t tile, char* first, size_t bytes) const {
    const int64_t at = tile % c.tiles * c.width;
    const int64_t n = c.size(tile % c.tiles);
    Folding folding(kernel_);
    for (int64_t p = 1; p < c.parts; ++p) {
      folding.join(first, first + static_cast<size_t>(p) * bytes, n);
    }
    folding.finish(out_at(tile / c.tiles * c.inner + at), first, n, count_);
  }

  void column_part(const Columns& c, int64_t tile, int64_t part, char* acc) const {
    const int64_t outer = tile / c.tiles;
    const int64_t at = tile % c.tiles * c.width;
    const int64_t n = c.size(tile % c.tiles);
    Folding folding(kernel_);
    folding.start(acc, n);
    const int64_t begin = part * c.rows;
    const int64_t end = std::min(count_, begin + c.rows);
    const char* data = bound_ ? nullptr : kept_data(outer * c.inner + at);
    std::optional<TileRunner> runner;
    if (bound_) runner.emplace(*bound_);
    // Also a program's rows go in such runs: which rows are combined in pairs must not depend on
    // where they come from.
    const int64_t length = plan_.shape.empty() ? end : plan_.shape.back();
    for (int64_t r = begin; r < end;) {
      const int64_t count = std::min(end - r, length - r % length);
      if (runner) {
        computed_rows(folding, *runner, acc, (outer * count_ + r) * c.inner + at, c.inner, n,
                      count);
      } else {
        folding.rows(acc, data + offset_of(r, plan_.shape, plan_.strides) * size(), n, count,
                     plan_.shape.empty() ? 0 : plan_.strides.back());
      }
      r += count;
    }
  }

  // n columns of `rows` rows, the first of which begins at `from`, from the program.
  void computed_rows(Folding& folding, TileRunner& runner, char* acc, int64_t from, int64_t inner,
                     int64_t n, int64_t rows) const {
    const int64_t together = std::max(kTile / n / kRowsTogether, int64_t{1}) * kRowsTogether;
    const int64_t in_one_run = n == inner ? std::max<int64_t>(1, kTile / n) : 1;
    Scratch scratch(static_cast<size_t>(together * n * size()));
    char* const buffer = scratch.data();
    for (int64_t r = 0; r < rows; r += together) {
      const int64_t count = std::min(together, rows - r);
      const char* first = nullptr;
      for (int64_t i = 0; i < count; i += in_one_run) {
        const char* made = compute(runner, from + (r + i) * inner,
                                   std::min(in_one_run, count - i) * n, buffer + i * n * size());
        if (i == 0) first = made;
      }
      folding.rows(acc, first, n, count, x_.is_written ? inner : n);
    }
  }

  const Reducible& x_;
  const ReductionKernel& kernel_;
  char* const out_;
  const size_t out_size_;
  const ReducePlan plan_;
  const int64_t count_;
  bool in_columns_ = false;
  std::optional<BoundProgram> bound_;
};

}  // namespace

ReducePlan plan_reduction(std::span<const int64_t> shape, std::span<const int64_t> strides,
                          const Dims& axes) {
  ReducePlan plan;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_reduced =
        std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    (is_reduced ? plan.shape : plan.kept_shape).push_back(shape[i]);
    (is_reduced ? plan.strides : plan.kept_strides).push_back(strides[i]);
  }
  auto merge = [&](Dims& merged, Dims& steps) {
    TileOperand operand{nullptr, 1, steps};
    collapse(merged, {&operand, 1});
    steps = operand.strides;
  };
  merge(plan.kept_shape, plan.kept_strides);
  merge(plan.shape, plan.strides);
  return plan;
}

int64_t offset_of(int64_t position, const Dims& shape, const Dims& strides) {
  if (shape.empty()) return 0;
  int64_t offset = 0;
  for (size_t i = shape.size(); i-- > 1;) {
    offset += position % shape[i] * strides[i];
    position /= shape[i];
  }
  // What is left is the outermost index; most plans have only that one, and divisions are slow.
  return offset + position * strides[0];
}

bool is_walked_in_order(const Dims& shape, const Dims& axes, const ReductionKernel& kernel) {
  const ReducePlan plan = plan_reduction(shape, contiguous_strides(shape), axes);
  size_t place = 0;
  for (size_t d : walking_order(shape, axes, plan.has_columns(kernel.least_columns))) {
    // Dimensions of size 1 may stand anywhere.
    if (shape[d] == 1) continue;
    while (shape[place] == 1) ++place;
    if (d != place++) return false;
  }
  return true;
}

void reduce(const Reducible& x, const Dims& axes, const ReductionKernel& kernel, char* out,
            size_t out_size) {
  Reducer(x, axes, kernel, out, out_size).run();
}

}  // namespace tensorlike
