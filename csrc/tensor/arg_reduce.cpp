#include "tensor/arg_reduce.h"

#include <algorithm>

#include "base/blocking.h"
#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "tensor/layout.h"
#include "tensor/reduce.h"

namespace tensorlike {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kChunk = 131072;  // elements of a long row that one thread looks at
constexpr int64_t kColumns = 1024;
constexpr int64_t kFewColumns = 8;  // fewer are gathered into rows
constexpr int64_t kTile = 2048;     // gathered elements
constexpr size_t kWidest = 8;       // bytes of an element

class ArgReducer {
 public:
  ArgReducer(const RawTensor& x, const ReducePlan& plan, const ArgKernel& kernel, int64_t* out)
      : x_(x), plan_(plan), kernel_(kernel), out_(out), count_(element_count(plan.shape)) {}

  void run() const {
    const int64_t kept = element_count(plan_.kept_shape);
    if (kept == 0) return;
    BlockingRegion blocking(kept * count_ > 2 * kGrain);
    if (plan_.has_columns() && plan_.kept_shape.back() >= kFewColumns) {
      columns(kept);
    } else if (count_ >= 2 * kChunk) {
      for (int64_t i = 0; i < kept; ++i) out_[i] = in_chunks(kept_data(i));
    } else {
      parallel_for(kept, std::max<int64_t>(1, kGrain / count_), [&](int64_t begin, int64_t end) {
        alignas(8) char extreme[kWidest];
        for (int64_t i = begin; i < end; ++i) out_[i] = part(kept_data(i), 0, count_, extreme);
      });
    }
  }

 private:
  int64_t size() const { return static_cast<int64_t>(size_of(x_.dtype)); }
  const char* kept_data(int64_t i) const {
    return x_.data + offset_of(i, plan_.kept_shape, plan_.kept_strides) * size();
  }

  // The first extreme of elements [begin, end) of the reduced space.
  int64_t part(const char* data, int64_t begin, int64_t end, char* extreme) const {
    if (plan_.has_rows()) {
      return begin + kernel_.row(data + begin * size(), end - begin, extreme);
    }
    const TileOperand operand{data, size_of(x_.dtype), plan_.strides};
    alignas(64) char tile[kTile * kWidest];
    // The extreme of the tiles before stands in front of each tile: equal ones do not displace it.
    int64_t best = begin;
    for (int64_t at = begin; at < end;) {
      const int64_t before = at > begin ? 1 : 0;
      const int64_t n = std::min(kTile - before, end - at);
      if (before != 0) std::copy_n(extreme, size(), tile);
      gather_tile(operand, plan_.shape, at, n, tile + before * size());
      const int64_t found = kernel_.row(tile, n + before, extreme);
      if (found >= before) best = at + found - before;
      at += n;
    }
    return best;
  }

  // A long row: chunks side by side, then the extreme of their extremes.
  int64_t in_chunks(const char* data) const {
    const int64_t chunks = (count_ + kChunk - 1) / kChunk;
    const Ref<Storage> storage = Storage::allocate(static_cast<size_t>(chunks) * 2 * kWidest);
    int64_t* positions = reinterpret_cast<int64_t*>(storage->data());
    char* extremes = storage->data() + static_cast<size_t>(chunks) * kWidest;
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        positions[c] =
            part(data, c * kChunk, std::min(count_, (c + 1) * kChunk), extremes + c * size());
      }
    });
    alignas(8) char extreme[kWidest];
    return positions[kernel_.row(extremes, chunks, extreme)];
  }

  // Rows of running extremes. A tall tile of columns is cut into parts, whose extremes compete in
  // their order.
  void columns(int64_t kept) const {
    const int64_t inner = plan_.kept_shape.back();
    const int64_t tiles = (inner + kColumns - 1) / kColumns;
    const int64_t width = std::min(inner, kColumns);
    const int64_t rows = std::max<int64_t>(64, 2 * kChunk / width);
    const int64_t parts = (count_ + rows - 1) / rows;
    const int64_t jobs = kept / inner * tiles * parts;
    const int64_t bests = width * size();
    const int64_t positions = width * static_cast<int64_t>(kernel_.position);
    const Ref<Storage> storage = Storage::allocate(static_cast<size_t>(jobs * (bests + positions)));
    char* data = storage->data();
    const int64_t work = std::min(count_, rows) * width;
    parallel_for(jobs, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t at = job / parts % tiles * kColumns;
        const char* column = kept_data(job / parts / tiles * inner + at);
        char* best = data + job * bests;
        const int64_t first = job % parts * rows;
        for (int64_t r = 0; r < std::min(rows, count_ - first); ++r) {
          kernel_.rows(best, data + jobs * bests + job * positions,
                       column + offset_of(first + r, plan_.shape, plan_.strides) * size(),
                       std::min(kColumns, inner - at), r);
        }
      }
    });
    for (int64_t job = 0; job < jobs; job += parts) {
      const int64_t at = job / parts % tiles * kColumns;
      join(data + job * bests, data + jobs * bests + job * positions, parts, rows,
           {bests, positions, std::min(kColumns, inner - at)},
           out_ + job / parts / tiles * inner + at);
    }
  }

  struct Widths {
    int64_t bests, positions, columns;  // bytes, bytes, elements
  };

  void join(const char* bests, const char* positions, int64_t parts, int64_t rows, Widths widths,
            int64_t* out) const {
    alignas(64) char best[kColumns * kWidest];
    alignas(64) char winner[kColumns * sizeof(int64_t)];
    for (int64_t p = 0; p < parts; ++p) {
      kernel_.rows(best, winner, bests + p * widths.bests, widths.columns, p);
    }
    auto position = [&](const char* from, int64_t j) -> int64_t {
      return kernel_.position == sizeof(int32_t) ? reinterpret_cast<const int32_t*>(from)[j]
                                                 : reinterpret_cast<const int64_t*>(from)[j];
    };
    for (int64_t j = 0; j < widths.columns; ++j) {
      const int64_t part = position(winner, j);
      out[j] = part * rows + position(positions + part * widths.positions, j);
    }
  }

  const RawTensor& x_;
  const ReducePlan& plan_;
  const ArgKernel& kernel_;
  int64_t* out_;
  const int64_t count_;
};

}  // namespace

void arg_reduce(const RawTensor& x, const Dims& axes, bool wants_largest, RawTensor& out) {
  const KernelTable& table = kernel_table();
  const ByDType<ArgKernel>& kernels = wants_largest ? table.argmax : table.argmin;
  const DType dtype = x.dtype == DType::kBool ? DType::kInt32 : compute_of(x.dtype);
  const Ref<RawTensor> from = cast_if_needed(x, dtype);
  const ReducePlan plan = plan_reduction(from->shape, from->strides, axes);
  ArgReducer(*from, plan, kernels[dtype], out.as<int64_t>()).run();
}

}  // namespace tensorlike
